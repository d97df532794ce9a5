#!/usr/bin/env bats
# What mas makes of tmux: a team comes up right whatever the user's tmux.conf says, on a shared
# server or on one of its own, and where it cannot come up nothing is left behind.
load ../helper

conf() { cat >"$HOME/.tmux.conf"; }

tmux_name() { field "$1" .tmuxSession; }

socket_in_tmp() { echo "/tmp/tmux-$UID/mas-test-$$-$BATS_TEST_NUMBER"; }

outer() { tmux -u -S "$T/outer" -f /dev/null "$@"; }

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

# Columns and rows of panes in each window of a unit: "<lefts>x<tops>"
grids_of() {
    local window
    for window in design development business; do
        tm list-panes -t "=$1:=$window" -F '#{pane_left} #{pane_top}' |
            awk '{ left[$1]; top[$2] } END { print length(left) "x" length(top) }'
    done
}

titles_of() { tm list-panes -s -t "=$1:" -F '#{pane_title}' | sort; }

# The ids and roles of the default template, as the panes must be titled
titles_wanted() {
    awk '/^\[agent /{ id = $2; sub(/]/, "", id) } /^role/{ sub(/^role *= */, ""); print id " " $0 }' \
        "$ROOT/templates/default/template.ini" | sort
}

has_titles() { [ "$(titles_of "$1")" = "$(titles_wanted)" ]; }

# Session $1 is a whole default team of the right shape.
is_right() {
    local name
    name=$(tmux_name "$1")
    [ "$(windows_of "$name")" = "$(default_team)" ]
    [ "$(grids_of "$name" | sort -u)" = 2x2 ]
    [ "$(tm list-windows -t "=$name:" -F '#{window_width}' | sort -u)" = 200 ]
    [ "$(tm list-windows -t "=$name:" -F '#{window_height}' | sort -u)" -ge 47 ]
    eventually has_titles "$name"
    [ "$(field "$1" .agentsRunning)" = 13 ]
    [ "$(field "$1" .status)" = active ]
    [ "$(tm display-message -p -t "=$name:" '#{window_name}')" = meta ]
}

# The default team comes up right with the tmux.conf on stdin.
comes_up_right() {
    conf
    new_session
    is_right "$ID"
    mas stop -q "$ID"
    [ "$status" -eq 0 ]
}

# The first session leaves an index, which no later snapshot shall show as new.
make_index() { "$MAS" rm -q "$("$MAS" new -q -t solo --no-start)"; }

# `mas new` with these words fails with exit 6 and leaves nothing on disk or in tmux.
new_is_refused() {
    local disk
    make_index
    disk=$(snapshot)
    mas new "$@"
    [ "$status" -eq 6 ]
    [ -z "$output" ]
    [[ $stderr == 'mas: cannot '* ]]
    [ "$(snapshot)" = "$disk" ]
    [ -z "$("$MAS" list --all -q)" ]
    run ! grep -q sessionId "$ROOT/sessions/.sessions.index"
    [ "$(tm list-sessions -F '#{session_name}' 2>/dev/null | grep -vcx own)" = 0 ]
}

# ---- the user's tmux.conf

@test "without a tmux.conf the default team comes up right" {
    new_session
    is_right "$ID"
}

@test "other numbers of windows and panes are no matter" {
    comes_up_right <<'EOC'
set -g base-index 1
set -g pane-base-index 5
set -g renumber-windows on
EOC
}

@test "the user's default command and shell run in none of the panes" {
    comes_up_right <<EOC
set -g default-command 'touch $T/ran; exec sleep 1000'
set -g default-shell /bin/false
EOC
    [ ! -e "$T/ran" ]
}

@test "a team outlives remain-on-exit off and destroy-unattached on" {
    comes_up_right <<'EOC'
set -g remain-on-exit off
set -g destroy-unattached on
EOC
}

@test "with destroy-unattached on a team outlives its last client" {
    conf <<<'set -g destroy-unattached on'
    new_session -t solo
    outer new-session -d "exec env -u TMUX -u TMUX_PANE '$MAS' attach $ID"
    eventually eval "[ \"\$(tm list-clients | wc -l)\" -eq 1 ]"
    tm detach-client -s "=$(tmux_name "$ID"):"
    eventually eval "[ \"\$(tm list-clients | wc -l)\" -eq 0 ]"
    [ "$(field "$ID" .status)" = active ]
    # the user's own setting is as it was
    [ "$(tm show-options -gv destroy-unattached)" = on ]
}

@test "window names stay those of the units" {
    comes_up_right <<'EOC'
set -g automatic-rename on
set -g automatic-rename-format 'renamed'
set -g allow-rename on
set -g status-interval 1
EOC
}

@test "an agent cannot rename its window by an escape sequence" {
    conf <<<'set -g allow-rename on'
    new_session -t solo
    local pane
    pane=$(field "$ID" '.agents[0].pane')
    tm send-keys -t "$pane" -l "printf '\\033kmine\\033\\\\'; : >done" \; send-keys -t "$pane" Enter
    eventually test -e "$ROOT/sessions/$ID/unit/solo/done"
    [ "$(tm display-message -p -t "$pane" '#{window_name}')" = solo ]
}

@test "options of size, status and history are no matter" {
    comes_up_right <<'EOC'
set -g default-size 80x24
set -g window-size smallest
set -g status off
set -g history-limit 10
set -g default-terminal xterm-256color
set -g main-pane-width 10
set -g pane-border-status bottom
set -g aggressive-resize on
EOC
}

@test "errors in the tmux.conf are no matter" {
    comes_up_right <<'EOC'
set -g no-such-option on
set -g base-index 1
EOC
    comes_up_right <<<'no-such-command'
}

@test "sessions that the tmux.conf makes are no matter" {
    comes_up_right <<<"new-session -d -s own 'exec sleep 1000'"
    tm has-session -t =own:
}

@test "hooks that rename windows are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-new-session 'rename-window hooked'
set-hook -g after-new-window 'rename-window hooked'
set-hook -g after-split-window 'rename-window hooked'
set-hook -g after-select-layout 'rename-window hooked'
EOC
}

@test "hooks that select panes and windows are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-new-window 'select-window -t 0'
set-hook -g after-split-window 'select-pane -t :.0'
set-hook -g after-select-layout 'last-pane'
set-hook -g after-new-session 'new-window -d -n extra true'
EOC
}

@test "hooks that change the layout are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-split-window 'select-layout even-horizontal'
set-hook -g after-select-layout 'select-layout main-vertical'
set-hook -g after-new-window 'split-window'
EOC
}

@test "hooks that kill panes while a team is built are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-new-window 'kill-pane'
set-hook -g after-split-window 'kill-pane'
set-hook -g after-select-layout 'kill-pane'
set-hook -g after-rename-window 'kill-pane'
set-hook -g after-set-option 'kill-pane'
EOC
}

@test "hooks on the selection of a pane or window are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-select-pane 'kill-pane'
set-hook -g after-select-window 'kill-window'
EOC
}

@test "a hook that renames a window whose pane is selected is no matter" {
    comes_up_right <<<"set-hook -g after-select-pane 'rename-window hooked'"
}

@test "hooks on the last steps of a build are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-set-hook 'kill-pane'
set-hook -g after-list-panes 'kill-pane'
EOC
}

# These run once the team stands, for the user's own reasons: what they do to names and layouts is
# the user's wish. Every agent is known all the same.
@test "hooks on events leave every agent known" {
    conf <<'EOC'
set-hook -g session-created 'rename-window hooked'
set-hook -g window-linked 'select-layout even-horizontal'
set-hook -g window-pane-changed 'select-layout even-vertical'
set-hook -g window-layout-changed 'rename-window hooked'
EOC
    new_session
    [ "$(field "$ID" .agentsRunning)" = 13 ]
    all_known() {
        [ "$(field "$ID" '[.agents[] | select(.hostPid > 0) | .pane] | unique | length')" = 13 ]
    }
    eventually all_known
    mas stop "$ID"
    [ "$status" -eq 0 ]
}

@test "the user's hooks are there again once the team stands" {
    conf <<EOC
set-hook -g after-new-window 'run-shell "touch $T/hooked"'
EOC
    new_session -t solo
    [ ! -e "$T/hooked" ]
    tm new-window -d -t "=$(tmux_name "$ID"):" 'exec sleep 1000'
    eventually test -e "$T/hooked"
}

@test "a hook that leaves no pane makes new fail, and nothing is left" {
    conf <<EOC
new-session -d -s own 'exec sleep 1000'
set-hook -g after-new-session 'kill-session'
EOC
    new_is_refused
}

@test "the title of a pane is the agent and its role" {
    new_session -t pair
    eventually eval "[ \"\$(titles_of '$(tmux_name "$ID")')\" = \$'lead lead\nreviewer reviewer' ]"
}

@test "exit-unattached is refused with the reason" {
    conf <<<'set -g exit-unattached on'
    new_is_refused
    [[ $stderr == *'exit-unattached on'*'tmux.conf'* ]]
}

@test "exit-unattached on a server that runs is refused with the reason, the server stays" {
    conf <<<''
    outer new-session -d "exec env -u TMUX tmux -S '$SOCK' new-session -s own 'exec sleep 1000'"
    eventually tm has-session -t =own:
    eventually eval "[ -n \"\$(tm list-clients)\" ]"
    tm set-option -g exit-unattached on
    new_is_refused -t solo
    [[ $stderr == *'exit-unattached on'* ]]
    tm has-session -t =own:
}

@test "size is that of the setting" {
    export MAS_TMUX_SIZE=120x40
    new_session
    [ "$(tm list-windows -t "=$(tmux_name "$ID"):" -F '#{window_width}x#{window_height}' | sort -u)" = 120x39 ] ||
        [ "$(tm list-windows -t "=$(tmux_name "$ID"):" -F '#{window_width}x#{window_height}' | sort -u)" = 120x40 ]
    [ "$(windows_of "$(tmux_name "$ID")")" = "$(default_team)" ]
}

# ---- agents that end

# A template `made` whose agent is this command
make_template() {
    cp -R "$ROOT/templates/solo" "$ROOT/templates/made"
    sed -i "/^\[agent solo\]/a command = $1" "$ROOT/templates/made/template.ini"
}

has_exited_with() { [ "$(field "$1" '.agents[0].exitStatus')" = "$2" ]; }

has_exited() { [ "$(field "$1" '[.agents[].state] | unique | join(" ")')" = exited ]; }

@test "an agent that ends leaves its pane readable, with its exit status" {
    make_template "sh -c 'echo last words; exit 7'"
    new_session -t made
    eventually has_exited_with "$ID" 7
    [ "$("$MAS" show "$ID" | awk '$1 == "solo" { print $4, $5 }')" = 'exited 7' ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(field "$ID" .agentsRunning) $(field "$ID" .agentsEnded)" = '0 1' ]
    tm capture-pane -p -S - -t "=$(tmux_name "$ID"):" | grep -qx 'last words'
}

@test "an agent that was killed shows the signal" {
    new_session -t solo
    kill -KILL "$(agent_pid "$ID")"
    eventually has_exited_with "$ID" 137
    [ "$(field "$ID" '.agents[0] | "\(.state) \(.signal)"')" = 'crashed 9' ]
}

@test "with remain-on-exit off in the tmux.conf the pane is readable all the same" {
    conf <<<'set -g remain-on-exit off'
    make_template "sh -c 'echo last words; exit 7'"
    new_session -t made
    eventually has_exited "$ID"
    tm capture-pane -p -S - -t "=$(tmux_name "$ID"):" | grep -qx 'last words'
}

@test "an agent that ends at once leaves a pane" {
    make_template true
    for _ in 1 2 3 4 5; do
        new_session -t made
        eventually has_exited_with "$ID" 0
    done
    [ "$("$MAS" list --active -q | wc -l)" -eq 5 ]
}

@test "a whole team that ends at once leaves 13 panes" {
    printf '[preset quick]\ncommand = true\n' >>"$ROOT/mas.ini"
    conf <<<'set -g remain-on-exit off'
    for _ in 1 2 3; do
        new_session --agent quick
        eventually has_exited "$ID"
        [ "$(field "$ID" .agentsEnded)" = 13 ]
        [ "$(windows_of "$(tmux_name "$ID")")" = "$(default_team)" ]
    done
}

@test "a team whose agents have all ended can be stopped and started" {
    make_template true
    new_session -t made
    eventually has_exited "$ID"
    mas stop "$ID"
    [ "$status" -eq 0 ]
    mas start "$ID"
    [ "$status" -eq 0 ]
    eventually has_exited "$ID"
}

# ---- what cannot be

@test "a window too small for its agents is refused" {
    MAS_TMUX_SIZE=20x4 new_is_refused
    [[ $stderr == *'20 columns and 4 rows has no room'*'size'* ]]
}

@test "without tmux new says so and makes nothing" {
    mkdir "$T/bin"
    local disk
    make_index
    disk=$(snapshot)
    run --separate-stderr env PATH="$T/bin" "$MAS" new
    [ "$status" -eq 6 ]
    [[ $stderr == "mas: cannot run 'tmux': there is no such program in PATH"*'3.2'* ]]
    [ "$(snapshot)" = "$disk" ]
    # a workspace alone needs no tmux
    run --separate-stderr env PATH="$T/bin" "$MAS" new -q --no-start
    [ "$status" -eq 0 ]
    [ -d "$ROOT/sessions/$output" ]
}

# A tmux in PATH that says it is $1 and can do nothing
fake_tmux() {
    mkdir "$T/bin"
    cat >"$T/bin/tmux" <<EOS
#!/bin/sh
case \$1 in -V) echo 'tmux $1' && exit ;; esac
echo 'unknown command' >&2
exit 1
EOS
    chmod +x "$T/bin/tmux"
    export PATH=$T/bin:$PATH
}

@test "a tmux too old is refused, and told which is needed" {
    fake_tmux 3.1c
    new_is_refused
    [[ $stderr == *'tmux 3.1c is too old'*'3.2'* ]]
}

@test "a tmux of the last century is refused too" {
    fake_tmux 1.8
    new_is_refused -t solo
    [[ $stderr == *'tmux 1.8 is too old'* ]]
}

@test "a tmux that fails is told with its own words" {
    fake_tmux 3.4
    new_is_refused -t solo
    [[ $stderr == *'unknown command'* ]]
}

@test "a server with few descriptors left is not asked for a team" {
    bash -c "ulimit -n 40 && exec tmux -S '$SOCK' -f /dev/null new-session -d -s own 'exec sleep 1000'" 3>&-
    new_is_refused
    [[ $stderr == *"cannot start 13 agents: the tmux server on '$SOCK' has "*' of 40 descriptors in use'*'per-session'* ]]
    # a server of its own has them
    MAS_TMUX_SERVER=per-session mas new -t solo -q
    [ "$status" -eq 0 ]
}

@test "a limit of descriptors too low for a new server is refused" {
    local disk
    make_index
    disk=$(snapshot)
    run --separate-stderr bash -c "ulimit -n 30 && exec '$MAS' new"
    [ "$status" -eq 6 ]
    [[ $stderr == *'cannot start 13 agents'*descriptors* ]]
    [ "$(snapshot)" = "$disk" ]
}

@test "what is no socket is no server" {
    echo mine >"$SOCK"
    local disk
    make_index
    disk=$(snapshot)
    mas new -t solo
    [ "$status" -eq 6 ]
    [ "$(snapshot)" = "$disk" ]
    [ "$(cat "$SOCK")" = mine ]
}

# ---- the server's socket

@test "a server of its own for each team" {
    printf '[tmux]\nserver = per-session\n' >>"$ROOT/mas.ini"
    unset MAS_TMUX_SOCKET
    new_session -t pair -n one
    local one=$ID
    new_session -t solo -n two
    [ "$(meta "$one" TMUX_SOCKET)" = "$T/tmux-$UID/mas-${one:0:8}" ]
    [ "$(meta "$ID" TMUX_SOCKET)" = "$T/tmux-$UID/mas-${ID:0:8}" ]
    [ "$(tmux -S "$(meta "$one" TMUX_SOCKET)" list-sessions -F '#{session_name}')" = "mas-${one:0:8}" ]
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
    [ "$(field one .agentsRunning)" = 2 ]
    [ "$(field two .tmuxSocket)" = "$(meta "$ID" TMUX_SOCKET)" ]
    mas doctor
    [ "$status" -eq 0 ]
    [ "$output" = 'everything is in order' ]
}

@test "teams on servers of their own are stopped, started and removed" {
    export MAS_TMUX_SERVER=per-session
    new_session -t solo -n one
    local one=$ID socket
    socket=$(meta "$ID" TMUX_SOCKET)
    new_session -t solo -n two
    mas stop one
    [ "$status" -eq 0 ]
    run ! tmux -S "$socket" list-sessions
    [ "$(field two .status)" = active ]
    mas doctor
    [ "$output" = 'everything is in order' ]
    mas start one
    [ "$status" -eq 0 ]
    [ "$(field one .status)" = active ]
    [ "$(meta "$one" TMUX_SOCKET)" = "$socket" ]
    mas rm -f one
    [ "$status" -eq 0 ]
    [ ! -e "$ROOT/sessions/$one" ]
    run ! tmux -S "$socket" list-sessions
    [ "$("$MAS" list -q)" = "$ID" ]
    mas stop --all
    [ "$status" -eq 0 ]
    [ -z "$("$MAS" list --active -q)" ]
}

@test "one server of its own is killed: the others go on, and it is brought back" {
    export MAS_TMUX_SERVER=per-session
    new_session -t solo -n one
    tmux -S "$(meta "$ID" TMUX_SOCKET)" kill-server
    new_session -t solo -n two
    [ "$(field one .crashed)" = true ]
    [ "$(field two .status)" = active ]
    mas start --crashed
    [ "$status" -eq 0 ]
    [ "$(field one .status)" = active ]
}

@test "teams of both kinds are seen together, whatever the setting is now" {
    new_session -t solo
    local shared=$ID
    MAS_TMUX_SERVER=per-session new_session -t solo
    [ "$("$MAS" list --active -q | sort)" = "$(printf '%s\n' "$shared" "$ID" | sort)" ]
    [ "$(MAS_TMUX_SERVER=per-session "$MAS" list --active -q | wc -l)" -eq 2 ]
    mas stop --all
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
    MAS_TMUX_SERVER=per-session mas start "$shared"
    [ "$status" -eq 0 ]
    tm has-session -t "=mas-${shared:0:8}:"
}

@test "a socket is a name or a path" {
    MAS_TMUX_SOCKET=teams new_session -t solo
    [ "$(meta "$ID" TMUX_SOCKET)" = "$T/tmux-$UID/teams" ]
    [ "$(tmux -L teams list-sessions -F '#{session_name}')" = "mas-${ID:0:8}" ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(stat -c %a "$T/tmux-$UID")" = 700 ]
}

@test "without a setting the socket is that of plain tmux, whatever TMUX says" {
    unset MAS_TMUX_SOCKET
    TMUX=$T/other,1,0 new_session -t solo
    [ "$(meta "$ID" TMUX_SOCKET)" = "$T/tmux-$UID/default" ]
    [ "$(tmux list-sessions -F '#{session_name}')" = "mas-${ID:0:8}" ]
    [ ! -e "$T/other" ]
}

@test "a TMUX_TMPDIR that does not exist is /tmp, as it is for tmux" {
    MAS_TMUX_SOCKET=$(basename "$(socket_in_tmp)")
    export TMUX_TMPDIR=$T/missing
    new_session -t solo
    [ "$(meta "$ID" TMUX_SOCKET)" = "$(socket_in_tmp)" ]
    [ "$(tmux -L "$MAS_TMUX_SOCKET" list-sessions -F '#{session_name}')" = "mas-${ID:0:8}" ]
    [ "$(field "$ID" .status)" = active ]
    mas stop "$ID"
    [ "$status" -eq 0 ]
    [ ! -e "$T/missing" ]
}

@test "a directory for sockets that others may enter is not used" {
    unset MAS_TMUX_SOCKET
    mkdir -m 777 "$T/tmux-$UID"
    chmod 777 "$T/tmux-$UID"
    new_is_refused -t solo
    [[ $stderr == *"others may write to '$T/tmux-$UID'"* ]]
}

@test "a socket that cannot be made is named, with the reason" {
    export MAS_TMUX_SOCKET=$T/missing/socket
    new_is_refused -t solo
    [[ $stderr == *"$T/missing/socket"*'No such file or directory'* ]] || { echo "$stderr" >&2; false; }
}

@test "a socket that a dead server left is used again" {
    new_session -t solo
    kill -9 "$(tm display-message -p '#{pid}')"
    eventually eval '! tm list-sessions'
    [ -S "$SOCK" ]
    new_session -t solo
    [ "$(field "$ID" .status)" = active ]
}

@test "new right after kill-server works, ten times in a row" {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        new_session -t solo
        [ "$(field "$ID" .status)" = active ]
        tm kill-server
    done
    new_session -t pair
    [ "$(field "$ID" .agentsRunning)" = 2 ]
    [ "$("$MAS" list --json | jq '[.sessions[] | select(.crashed)] | length')" = 10 ]
}

@test "a socket path with a space, quotes and a semicolon works" {
    mkdir "$T/it's \"a\" #(x) dir;"
    export MAS_TMUX_SOCKET="$T/it's \"a\" #(x) dir;/s;"
    SOCK=$MAS_TMUX_SOCKET
    new_session -t solo
    [ "$(field "$ID" .status)" = active ]
    [ "$(meta "$ID" TMUX_SOCKET)" = "$SOCK" ]
    mas stop "$ID"
    [ "$status" -eq 0 ]
}

# ---- names

@test "a tmux name that somebody else has: new takes more digits" {
    tm -f /dev/null new-session -d -s mas-12345678 'exec sleep 1000'
    "$MAS" new -q -t solo --id 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa
    ID=12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa
    [ "$(tmux_name "$ID")" = mas-12345678-aaaa ]
    [ "$(meta "$ID" TMUX_SESSION)" = mas-12345678-aaaa ]
    [ "$(jq -r '.sessions[0].tmuxSession' "$ROOT/sessions/.sessions.index")" = mas-12345678-aaaa ]
    [ "$(tm list-panes -s -t =mas-12345678: -F '#{pane_start_command}')" = '"exec sleep 1000"' ]
    mas rm -f "$ID"
    [ "$status" -eq 0 ]
    tm has-session -t =mas-12345678:
}

@test "two names taken: still more digits" {
    tm -f /dev/null new-session -d -s mas-12345678 'exec sleep 1000'
    tm new-session -d -s mas-12345678-aaaa 'exec sleep 1000'
    "$MAS" new -q -t solo --id 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa
    [ "$(tmux_name 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa)" = mas-12345678-aaaa-4aaa ]
}

@test "every name taken is a conflict, and nothing is left" {
    local id=12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa digits disk
    tm -f /dev/null new-session -d -s own 'exec sleep 1000'
    for digits in 8 13 18 23 36; do
        tm new-session -d -s "mas-${id:0:digits}" 'exec sleep 1000'
    done
    make_index
    disk=$(snapshot)
    mas new -t solo --id "$id"
    [ "$status" -eq 4 ]
    [ "$(snapshot)" = "$disk" ]
    [ "$(tm list-sessions | wc -l)" -eq 6 ]
}

@test "two ids with the same 8 digits get names of their own" {
    "$MAS" new -q -t solo --id 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa
    "$MAS" new -q -t solo --id 12345678-bbbb-4bbb-8bbb-bbbbbbbbbbbb
    [ "$(tmux_name 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa)" = mas-12345678 ]
    [ "$(tmux_name 12345678-bbbb-4bbb-8bbb-bbbbbbbbbbbb)" = mas-12345678-bbbb ]
    mas stop 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa
    [ "$status" -eq 0 ]
    [ "$("$MAS" list --active -q)" = 12345678-bbbb-4bbb-8bbb-bbbbbbbbbbbb ]
    mas start mas-12345678
    [ "$status" -eq 0 ]
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
}

@test "a session of the user whose name begins like ours is not taken for it" {
    new_session -t solo
    tm new-session -d -s "mas-${ID:0:8}x" 'exec sleep 1000'
    tm kill-session -t "=mas-${ID:0:8}:"
    [ "$(field "$ID" .status)" = stopped ]
    mas stop "$ID"
    [ "$status" -eq 0 ]
    tm has-session -t "=mas-${ID:0:8}x:"
}

# ---- another environment

# What mas says from cron: nothing of the caller's environment but these
from_cron() { env -i PATH="$PATH" HOME="$HOME" "$MAS" --root "$ROOT" "$@"; }

# Its list in JSON, but for what agents do just now
rows_of() { jq -S 'del(.sessions[].agentStates)'; }

@test "cron sees the same as the user who set a socket" {
    new_session -t solo -n one
    "$MAS" new -q -t pair -n two --no-start
    local here cron
    here=$("$MAS" list --json | rows_of)
    cron=$(from_cron list --json | rows_of)
    [ "$(jq '.sessions | length' <<<"$here")" = 2 ]
    [ "$cron" = "$here" ]
    [ "$(from_cron list --active -q)" = "$ID" ]
    [ "$(MAS_TMUX_SOCKET=$T/elsewhere "$MAS" list --json | rows_of)" = "$here" ]
}

@test "cron can stop and start what the user started" {
    new_session -t solo
    run --separate-stderr from_cron stop "$ID"
    [ "$status" -eq 0 ]
    [ "$(field "$ID" .status)" = stopped ]
    run --separate-stderr from_cron start "$ID"
    [ "$status" -eq 0 ]
    [ "$(field "$ID" .status)" = active ]
    tm has-session -t "=mas-${ID:0:8}:"
}

@test "a root with letters beyond ASCII is the same in the C locale" {
    mv "$ROOT" "$T/wörk ⚙"
    ROOT=$T/wörk\ ⚙
    export MAS_ROOT=$ROOT
    new_session -t solo
    [ "$(field "$ID" .status)" = active ]
    [ "$(env -u LC_ALL LANG=C "$MAS" show "$ID" --json | jq -r .status)" = active ]
    [ "$(from_cron list --active -q)" = "$ID" ]
    [ "$(env -u LC_ALL LANG=C "$MAS" list --json | jq -r '.sessions[0].workingDir')" = "$ROOT/sessions/$ID" ]
    env -u LC_ALL LANG=C "$MAS" stop -q "$ID"
    LC_ALL=C "$MAS" start -q "$ID"
    [ "$(field "$ID" .status)" = active ]
}
