#!/usr/bin/env bats
# A server shared by all or one of its own for each team, and where its socket is.
load ../helper
load tmux

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
    ok doctor
    [ "$output" = 'everything is in order' ]
}

@test "teams on servers of their own are stopped, started and removed" {
    export MAS_TMUX_SERVER=per-session
    new_session -t solo -n one
    local one=$ID socket
    socket=$(meta "$ID" TMUX_SOCKET)
    new_session -t solo -n two
    ok stop one
    run ! tmux -S "$socket" list-sessions
    [ "$(field two .status)" = active ]
    mas doctor
    [ "$output" = 'everything is in order' ]
    ok start one
    [ "$(field one .status)" = active ]
    [ "$(meta "$one" TMUX_SOCKET)" = "$socket" ]
    ok rm -f one
    [ ! -e "$ROOT/sessions/$one" ]
    run ! tmux -S "$socket" list-sessions
    [ "$("$MAS" list -q)" = "$ID" ]
    ok stop --all
    [ -z "$("$MAS" list --active -q)" ]
}

@test "one server of its own is killed: the others go on, and it is brought back" {
    export MAS_TMUX_SERVER=per-session
    new_session -t solo -n one
    tmux -S "$(meta "$ID" TMUX_SOCKET)" kill-server
    new_session -t solo -n two
    [ "$(field one .crashed)" = true ]
    [ "$(field two .status)" = active ]
    ok start --crashed
    [ "$(field one .status)" = active ]
}

@test "teams of both kinds are seen together, whatever the setting is now" {
    new_session -t solo
    local shared=$ID
    MAS_TMUX_SERVER=per-session new_session -t solo
    [ "$("$MAS" list --active -q | sort)" = "$(printf '%s\n' "$shared" "$ID" | sort)" ]
    [ "$(MAS_TMUX_SERVER=per-session "$MAS" list --active -q | wc -l)" -eq 2 ]
    ok stop --all
    [ "${#lines[@]}" -eq 2 ]
    MAS_TMUX_SERVER=per-session ok start "$shared"
    tm has-session -t "=mas-${shared:0:8}:"
}

@test "what has a session's marks on another server is not that session" {
    MAS_TMUX_SERVER=per-session new_session -t solo -n shop
    local own
    own=$(meta "$ID" TMUX_SOCKET)
    tm -f /dev/null new-session -d -s copy 'exec sleep 1000' \; \
        set-option -t =copy: @mas_id "$ID" \; set-option -t =copy: @mas_root "$ROOT"
    [ "$(field shop .status)" = active ]
    tmux -S "$own" kill-server
    eventually prints true field shop .crashed
    [ "$("$MAS" list --json | jq -r '.sessions | map("\(.name) \(.status)") | join(", ")')" = 'shop stopped' ]
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
    ok stop "$ID"
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
    ok stop "$ID"
}

# ---- another environment

# What mas says from cron: nothing of the caller's environment but these
from_cron() { env -i PATH="$PATH" HOME="$HOME" "$MAS" --root "$ROOT" "$@"; }

# Its list in JSON, but for what agents do just now and when they last printed
rows_of() { jq -S 'del(.sessions[] | .agentStates, .lastActivity)'; }

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

# ---- a server whose socket file is gone

# The cleaner comes by: the file of session $1's socket is gone, its directory too if that is empty.
clean_socket() {
    SOCKET=$(meta "$1" TMUX_SOCKET)
    rm "$SOCKET"
    rmdir "${SOCKET%/*}" 2>/dev/null || true
}

@test "a server without its socket file is told, and is no crash; doctor --fix makes it again" {
    local server pid kind
    for kind in shared per-session; do
        (
            export MAS_TMUX_SERVER=$kind
            if [ "$kind" = per-session ]; then unset MAS_TMUX_SOCKET; fi
            new_session -t solo -n "$kind"
            pid=$(agent_pid "$ID")
            server=$(tmux -S "$(meta "$ID" TMUX_SOCKET)" display-message -p '#{pid}')
            clean_socket "$ID"
            [ "$("$MAS" list --json | jq -r ".sessions[] | select(.sessionId == \"$ID\") |
                \"\(.crashed) \(.reason)\"")" = "false the tmux server on '$SOCKET', process $server, runs, but the file of its socket is gone" ]
            fails 1 doctor
            [[ $output == *open*"the tmux server on '$SOCKET', process $server, runs, but the file of its socket is gone"* ]]
            [ ! -e "$SOCKET" ]
            "$MAS" doctor --fix
            [ "$("$MAS" doctor)" = 'everything is in order' ]
            [ "$(field "$ID" .status)" = active ]
            [ "$(agent_pid "$ID")" = "$pid" ]
            [ "$(tmux -S "$SOCKET" display-message -p '#{pid}')" = "$server" ]
        )
    done
}

@test "start and stop reach a server whose socket file is gone; a server that is gone is not signalled" {
    new_session -t solo
    local pid server
    pid=$(agent_pid "$ID")
    server=$(tm display-message -p '#{pid}')
    clean_socket "$ID"
    ok start "$ID"
    [ "$output" = "$ID is already running" ]
    [ "$(agent_pid "$ID")" = "$pid" ]
    clean_socket "$ID"
    ok stop "$ID"
    [ "$(field "$ID" .status)" = stopped ]
    run ! tm has-session -t "=mas-${ID:0:8}:"
    # another program in the server's place is left alone
    "$MAS" start -q "$ID"
    agent_pid "$ID"
    tm kill-server
    hosts_gone "$ID"
    rm -f "$SOCKET"
    [ "$("$MAS" list --all --json | jq -r '.sessions[0].crashed')" = true ]
}

@test "a server of a tmux that hangs up on this one has not crashed, and what to do is said" {
    new_session -t solo -n one
    local server pid
    pid=$(agent_pid "$ID")
    mv "$MAS_TMUX_SOCKET" "$T/away"
    python3 - "$MAS_TMUX_SOCKET" 3>&- <<'P' &
import socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.bind(sys.argv[1])
    s.listen()
    while True:
        s.accept()[0].close()
P
    server=$!
    eventually test -S "$MAS_TMUX_SOCKET"
    [ "$("$MAS" list --json | jq -r '.sessions[0] | "\(.status) \(.crashed) \(.reason)"')" = "error false cannot query tmux on \
'$MAS_TMUX_SOCKET': its server, process $server, hangs up; it is of another version than this tmux" ]
    fails 6 attach one
    [[ $stderr == "mas: cannot attach: cannot query tmux "*"hangs up"*$'\n'"copy the tmux that runs there, "* ]]
    fails 6 new -t solo -n two
    [[ $stderr == *"hangs up"*$'\n'"copy the tmux that runs there, /proc/$server/exe, and use mas with that first in PATH; "* ]]
    kill "$server"
    mv "$T/away" "$MAS_TMUX_SOCKET"
    [ "$("$MAS" list --json | jq -r '.sessions[].status')" = active ]
    [ "$(agent_pid "$ID")" = "$pid" ]
}
