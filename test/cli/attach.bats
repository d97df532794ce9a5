#!/usr/bin/env bats
# Attaching for real: an outer tmux server is the terminal that `mas attach` runs in.
load ../helper

outer() { tmux -u -S "$T/outer" -f /dev/null "$@"; }

# Runs a command line in a new terminal, outside of any tmux as far as it can see. The server stays
# when that has ended: one that is about to exit takes no next session.
in_terminal() {
    outer new-session -d -x 120 -y 40 \
        "exec env -u TMUX -u TMUX_PANE TERM=screen sh -c '$1 2>\"$T/err\"; echo \$? >\"$T/rc\"'" \; \
        set-option -s exit-empty off
}

has_ended() { [ -s "$T/rc" ]; }

is_attached_to() { [ "$(tm list-clients -F '#{session_name}' 2>&1)" = "$1" ]; }

has_client() { [ -n "$(tm list-clients 2>/dev/null)" ]; }

tmux_name() { field "$1" .tmuxSession; }

# The pane that a client of session $1 types into
current_pane() { tm list-panes -s -t "=$1:" -f '#{&&:#{window_active},#{pane_active}}' -F '#{pane_id}'; }

pane_of() { field "$1" ".agents[] | select(.id == \"$2\") | .pane"; }

# Types a line into a pane of a team
type_line() { tm send-keys -t "$1" -l "$2" \; send-keys -t "$1" Enter; }

@test "attach makes this terminal a client of the session" {
    new_session -t solo
    in_terminal "\"$MAS\" attach $ID"
    eventually is_attached_to "$(tmux_name "$ID")"
    [ "$(field "$ID" .attached)" = 1 ]
    [ "$("$MAS" list --json | jq '.sessions[0].attached')" = 1 ]
}

@test "attach makes the socket of its server again if the file is gone" {
    new_session -t solo
    rm "$SOCK"
    in_terminal "\"$MAS\" attach"
    eventually is_attached_to "$(tmux_name "$ID")"
    rm "$SOCK"
    in_terminal "\"$MAS\" attach $ID"
    eventually test -e "$SOCK"
    eventually eval "[ \"\$(tm list-clients | wc -l)\" -eq 2 ]"
}

@test "after a detach attach has ended well and the team goes on" {
    new_session -t solo
    in_terminal "\"$MAS\" attach $ID"
    eventually is_attached_to "$(tmux_name "$ID")"
    tm detach-client -s "=$(tmux_name "$ID"):"
    eventually has_ended
    [ "$(cat "$T/rc")" = 0 ]
    [ ! -s "$T/err" ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(field "$ID" .agentsRunning)" = 1 ]
}

@test "what is typed at the terminal reaches the agent" {
    new_session -t solo
    in_terminal "\"$MAS\" attach $ID"
    eventually is_attached_to "$(tmux_name "$ID")"
    outer send-keys -l 'echo typed >typed.txt' \; send-keys Enter
    eventually test -s "$ROOT/sessions/$ID/unit/solo/typed.txt"
    [ "$(cat "$ROOT/sessions/$ID/unit/solo/typed.txt")" = typed ]
}

@test "a terminal that terminfo does not know is named, with a way out" {
    new_session -t solo
    in_terminal "TERM=nosuch-term \"$MAS\" attach $ID 2>$T/err"
    eventually grep -q "terminfo does not know this terminal, 'nosuch-term'" "$T/err"
    grep -q 'export TERM=xterm-256color' "$T/err"
}

@test "attach with an agent selects that agent's window and pane" {
    new_session -n team
    [ "$(current_pane "$(tmux_name "$ID")")" = "$(pane_of "$ID" 00)" ]
    in_terminal "\"$MAS\" attach team 32"
    eventually is_attached_to "$(tmux_name "$ID")"
    [ "$(current_pane "$(tmux_name "$ID")")" = "$(pane_of "$ID" 32)" ]
    [ "$(tm display-message -p -t "=$(tmux_name "$ID"):" '#{window_name}')" = business ]
}

@test "attach -s names the session, the operand is then the agent" {
    new_session -t pair
    in_terminal "\"$MAS\" attach -s $ID reviewer"
    eventually is_attached_to "$(tmux_name "$ID")"
    [ "$(current_pane "$(tmux_name "$ID")")" = "$(pane_of "$ID" reviewer)" ]
}

@test "the agent is found by its pane, whatever the pane is titled or numbered" {
    new_session -t pair
    tm set-option -g pane-base-index 7
    tm select-pane -t "$(pane_of "$ID" lead)" -T reviewer
    tm select-pane -t "$(pane_of "$ID" reviewer)" -T lead
    in_terminal "\"$MAS\" attach $ID reviewer"
    eventually is_attached_to "$(tmux_name "$ID")"
    [ "$(current_pane "$(tmux_name "$ID")")" = "$(pane_of "$ID" reviewer)" ]
}

@test "attach without a session takes the newest that runs" {
    new_session -t solo -n oldest
    new_session -t solo -n newer
    local newer=$ID
    new_session -t solo -n newest --no-start
    # they were made within one second; only the time of creation tells them apart
    sed -i 's/^CREATED_AT=.*/CREATED_AT=2020-01-01T00:00:00Z/' "$ROOT/sessions/"*/.session
    sed -i 's/^CREATED_AT=.*/CREATED_AT=2020-01-01T00:00:01Z/' "$ROOT/sessions/$newer/.session"
    sed -i 's/^CREATED_AT=.*/CREATED_AT=2020-01-01T00:00:02Z/' "$ROOT/sessions/$ID/.session"
    rm "$ROOT/sessions/.sessions.index"
    in_terminal "\"$MAS\" attach"
    eventually is_attached_to "$(tmux_name "$newer")"
}

@test "attach finds a session that its user has renamed in tmux" {
    new_session -t solo -n mine
    tm rename-session -t "=$(tmux_name "$ID"):" holiday
    in_terminal "\"$MAS\" attach mine"
    eventually is_attached_to holiday
}

@test "two terminals can attach to one session" {
    new_session -t solo
    in_terminal "\"$MAS\" attach $ID"
    outer new-window "exec env -u TMUX -u TMUX_PANE '$MAS' attach $ID"
    eventually is_attached_to "$(tmux_name "$ID")
$(tmux_name "$ID")"
    [ "$(field "$ID" .attached)" = 2 ]
}

@test "inside the same tmux server attach switches the client" {
    new_session -t solo -n here
    local here=$ID
    new_session -t pair -n there
    in_terminal "\"$MAS\" attach here"
    eventually is_attached_to "$(tmux_name "$here")"
    type_line "$(pane_of "$here" solo)" "'$MAS' attach there reviewer"
    eventually is_attached_to "$(tmux_name "$ID")"
    [ "$(current_pane "$(tmux_name "$ID")")" = "$(pane_of "$ID" reviewer)" ]
    # switched, not nested
    [ "$(tm list-clients | wc -l)" -eq 1 ]
}

@test "inside another tmux server attach is refused and names it" {
    new_session -t solo
    outer new-session -d -x 120 -y 40 \
        "'$MAS' attach $ID 2>'$T/err'; echo \$? >'$T/rc'"
    eventually has_ended
    [ "$(cat "$T/rc")" = 6 ]
    [ "$(head -n 1 "$T/err")" = "mas: cannot attach: this terminal is inside another tmux server ('$T/outer')" ]
    [ "$(wc -l <"$T/err")" -eq 2 ]
    [ -z "$(tm list-clients)" ]
}

@test "new -a attaches to the session that it makes" {
    in_terminal "MAS_PRESET=shell \"$MAS\" new -t solo -n fresh -a"
    eventually has_client
    eventually is_attached_to "$(tmux_name fresh)"
}

@test "a team on a server of its own is attached to there" {
    export MAS_TMUX_SERVER=per-session
    new_session -t pair
    in_terminal "\"$MAS\" attach $ID reviewer"
    SOCK=$(meta "$ID" TMUX_SOCKET)
    eventually is_attached_to "$(tmux_name "$ID")"
    [ "$(current_pane "$(tmux_name "$ID")")" = "$(pane_of "$ID" reviewer)" ]
}

@test "without a terminal attach is refused" {
    new_session -t solo
    fails 1 attach "$ID"
    [ "$stderr" = "mas: cannot attach: stdin or stdout is not a terminal
see an agent's screen with: mas peek SESSION AGENT" ]
    [ -z "$output" ]
    fails 1 new -t solo -a
    [[ $stderr == 'mas: cannot attach: stdin or stdout is not a terminal'$'\n'* ]]
    [ "$("$MAS" list -q)" = "$ID" ]
}

@test "in a terminal whose kind is not known attach and new -a say what to set" {
    local env
    new_session -t solo
    for env in '-u TERM' TERM= TERM=dumb; do
        for command in "attach $ID" 'new -t solo -a'; do
            rm -f "$T/rc" "$T/err"
            in_terminal "env $env \"$MAS\" $command"
            eventually has_ended
            [ "$(cat "$T/rc")" = 1 ]
            [[ $(cat "$T/err") == 'mas: cannot attach: '*'TERM'*$'\n''set it, '*'TERM=xterm'* ]] || { cat "$T/err" >&2; false; }
        done
    done
    [ "$("$MAS" list -q)" = "$ID" ]
}

@test "new -a inside another tmux server is refused before anything is made" {
    outer new-session -d -x 120 -y 40 "'$MAS' new -t solo -a 2>'$T/err'; echo \$? >'$T/rc'"
    eventually has_ended
    [ "$(cat "$T/rc")" = 6 ]
    [ "$(head -n 1 "$T/err")" = "mas: cannot attach: this terminal is inside another tmux server ('$T/outer')" ]
    [ -z "$("$MAS" list -q)" ]
}

@test "without tmux attach does not say that nothing runs" {
    new_session -t solo
    run --separate-stderr env PATH=/nowhere "$MAS" attach
    [ "$status" -eq 6 ]
    [ "$stderr" = "mas: cannot attach: cannot run 'tmux': there is no such program in PATH
install tmux 3.3 or newer, for example: apt-get install tmux" ]
}

@test "attach says so when nothing runs" {
    fails 3 attach
    [[ $stderr == "mas: cannot attach: no session is running in '$ROOT'"$'\n'*'mas new'* ]]
}

@test "where only stopped sessions are, attach names the newest to start" {
    new_session -t solo --no-start -n older
    new_session -t solo --no-start -n newer
    fails 3 attach
    [ "${stderr#*$'\n'}" = 'start a session with: mas start newer  (all sessions: mas list)' ]
    "$MAS" rm -q older newer
    new_session -t solo --no-start
    mas attach
    [ "${stderr#*$'\n'}" = "start a session with: mas start mas-${ID:0:8}  (all sessions: mas list)" ]
}

# What the terminal's last line shows.
status_line() { outer capture-pane -p | grep . | tail -n 1; }
status_line_is() { [[ $(status_line) =~ $1 ]]; }

@test "tmux's status line tells the session's name and every window, on 80 columns" {
    new_session -n shop
    outer new-session -d -x 80 -y 30 "exec env -u TMUX -u TMUX_PANE TERM=screen MAS_ROOT='$ROOT' '$MAS' attach shop"
    eventually status_line_is '^\[shop\] 0:meta.* 1:design.* 2:development.* 3:business.* [0-9][0-9]:[0-9][0-9]$'
}

@test "a status line that is the user's own stays" {
    tm -f /dev/null new-session -d -s mine cat
    tm set-option -g status-left 'my own ' \; set-option -g status-right 'mine too'
    new_session -t solo -n shop
    [ "$(tm show-options -t "=mas-${ID:0:8}:" -v status-left)" = '' ]
    [ "$(tm display-message -p -t "=mas-${ID:0:8}:" '#{status-left}|#{status-right}')" = 'my own |mine too' ]
}

@test "attach to a stopped session is a conflict and tells how to start it" {
    new_session -t solo -n idle
    "$MAS" stop -q "$ID"
    fails 4 attach idle
    [ "$stderr" = "mas: cannot attach to session 'idle': it is stopped
start it with: mas start idle" ]
}

@test "attach to a session whose tmux server was killed says that it is stopped" {
    new_session -t solo
    tm kill-server
    fails 4 attach "$ID"
    [[ $stderr == *'it is stopped'* ]]
}

@test "attach to what is not there is an error" {
    new_session -t solo
    fails 3 attach nothing
    [ "${stderr%%$'\n'*}" = "mas: cannot find session 'nothing': there is no such session in '$ROOT'" ]
    fails 2 attach "$ID" solo more
    [[ $stderr == *"unexpected operand 'more'"* ]]
}

@test "attach to an agent that the team has not is an error and attaches nobody" {
    new_session -t solo
    in_terminal "\"$MAS\" attach $ID 99"
    eventually has_ended
    [ "$(cat "$T/rc")" = 3 ]
    [ "$(head -n 1 "$T/err")" = "mas: cannot attach to agent '99': the team has no such pane" ]
    [ -z "$(tm list-clients)" ]
}

@test "attach runs no format or command that stands in the name of an agent" {
    new_session -t solo
    in_terminal "\"$MAS\" attach $ID \"#(touch $T/ran)\""
    eventually has_ended
    [ "$(cat "$T/rc")" = 3 ]
    [ ! -e "$T/ran" ]
}
