# What the tests of tmux share: a team as it must be, and servers of a test.
# shellcheck shell=bash

conf() { cat >"$HOME/.tmux.conf"; }

tmux_name() { field "$1" .tmuxSession; }

socket_in_tmp() { echo "/tmp/tmux-$UID/mas-test-$$-$BATS_TEST_NUMBER"; }

teardown_more() {
    # the one server that is not below $T
    tmux -S "$(socket_in_tmp)" kill-server 2>/dev/null || true
    rm -f "$(socket_in_tmp)"
    grep -lsz "^MAS_SESSION_DIR=$T/" /proc/[0-9]*/environ | cut -d/ -f3 |
        xargs -r kill -KILL 2>/dev/null || true
}

# Each agent of the template by window, in the order of its panes
default_team() {
    echo 'meta 00
design 10 11 12 13
development 20 21 22 23
business 30 31 32 33'
}

# The same as tmux has it: a window's name, then who was started in its panes
windows_of() {
    tm list-panes -s -t "=$1:" -F '#{window_name} #{pane_start_command}' |
        awk '{ if ($1 != window) { printf "%s%s", n++ ? "\n" : "", window = $1 } printf " %s", $NF }
             END { print "" }'
}

# The first session leaves an index, which no later snapshot shall show as new.
make_index() { "$MAS" rm -q "$("$MAS" new -q -t solo --no-start)"; }

# `mas new` with these words fails with exit 6 and leaves nothing on disk or in tmux.
new_is_refused() {
    local disk
    make_index
    disk=$(snapshot)
    fails 6 new "$@"
    [ -z "$output" ]
    [[ $stderr == 'mas: cannot '* ]]
    [ "$(snapshot)" = "$disk" ]
    [ -z "$("$MAS" list --all -q)" ]
    run ! grep -q sessionId "$ROOT/sessions/.sessions.index"
    [ "$(tm list-sessions -F '#{session_name}' 2>/dev/null | grep -vcx own)" = 0 ]
}
