#!/usr/bin/env bats
# Where teams have tmux servers of their own, hosts answer instead of them, see src/client/servers.h.
load ../helper
load ../host/lib
load tmux

setup_more() {
    unset MAS_TMUX_SOCKET
    export MAS_TMUX_SERVER=per-session
    preset quiet 'sleep 1000000'
}

# make NAME [TEMPLATE]: a session; $SOCKET is that of its server.
make() {
    new_session -n "$1" -t "${2-solo}" --agent quiet
    SOCKET=$(meta "$ID" TMUX_SOCKET)
}

# seen WORD...: runs mas; prints how many clients of tmux that started.
seen() {
    strace -f -qq -e trace=execve -o "$T/trace" "$MAS" "$@" >"$T/out"
    grep -cE 'execve\("[^"]*/tmux".* = 0$' "$T/trace" || :
}

# asked N: the next list starts N clients of tmux.
asked() { [ "$(seen list --json)" = "$1" ]; }

# told NAME FILTER: what the last list says of the session.
told() { jq -r --arg name "$1" ".sessions[] | select(.name == \$name) | $2" "$T/out"; }

need_strace() {
    strace -f -o /dev/null true 2>/dev/null || skip 'strace cannot trace here'
    case ${TEST_SAN-} in *address*) skip 'LeakSanitizer cannot work below strace' ;; esac
}

@test "a list asks no server of a team whose hosts all answer" {
    need_strace
    make one
    make two pair
    eventually asked 0
    [ "$(told one '"\(.status) \(.attached) \(.agentsRunning) \(.agentsEnded) \(.tmuxSession)"')" = \
        "active 0 1 0 $(tmux -S "$(meta "$("$MAS" list -q | head -n 1)" TMUX_SOCKET)" list-sessions -F '#S')" ]
    [ "$(told two '"\(.status) \(.agentsRunning)"')" = 'active 2' ]
    [ "$(seen list)" = 0 ]
    [ "$(seen list --all)" = 0 ]
    [ "$(seen show two)" -le 1 ]
    [ "$(seen status)" = 0 ]
    MAS_TMUX_SERVER=shared new_session -n three -t solo --agent quiet
    eventually asked 1
    [ "$(told one .status)" = active ]
    [ "$(told three .status)" = active ]
}

@test "a killed host, a killed server and a stopped team are seen" {
    need_strace
    make one pair
    make two
    make three
    eventually asked 0
    "$MAS" stop -q three
    asked 0
    [ "$(told three .status)" = stopped ]
    tmux -S "$SOCKET" kill-server 2>/dev/null || :
    tmux -S "$(meta "$("$MAS" show two --json | jq -r .sessionId)" TMUX_SOCKET)" kill-server
    eventually asked 0
    [ "$(told two '"\(.status) \(.crashed)"')" = 'stopped true' ]
    kill -KILL "$("$MAS" status one --json | jq '.sessions[0].agents[0].hostPid')"
    eventually asked 1
    [ "$(told one '"\(.status) \(.agentsRunning) \(.agentsEnded)"')" = 'active 1 1' ]
}

@test "clients, other windows and what happens in them are seen" {
    need_strace
    make one
    eventually asked 0
    mkfifo "$T/keys"
    tmux -S "$SOCKET" -C attach <"$T/keys" >/dev/null 3>&- &
    exec 8>"$T/keys"
    # shellcheck disable=SC2317 # called by eventually
    is_attached() { [ "$(seen list --json)" = 1 ] && [ "$(told one .attached)" = 1 ]; }
    eventually is_attached
    exec 8>&-
    wait
    eventually asked 0
    [ "$(told one .attached)" = 0 ]
    tmux -S "$SOCKET" new-window -d 'while :; do echo x; sleep 1; done'
    asked 1
    # shellcheck disable=SC2317
    is_new() { asked 1 && [ $(($(date +%s) - $(date -d "$(told one .lastActivity)" +%s))) -le 2 ]; }
    eventually is_new
}

@test "what hosts tell of the newest output is what tmux knows" {
    need_strace
    preset talks 'sh'
    new_session -n one -t solo --agent talks
    SOCKET=$(meta "$ID" TMUX_SOCKET)
    eventually asked 0
    tmux -S "$SOCKET" send-keys -t "mas-${ID:0:8}:" 'echo ready' Enter
    # shellcheck disable=SC2317
    is_same() {
        asked 0 && [ "$(date -d "$(told one .lastActivity)" +%s)" = \
            "$(tmux -S "$SOCKET" list-windows -F '#{window_activity}')" ]
    }
    eventually is_same
}

@test "a session that a person has renamed is found by its new name" {
    make one
    tmux -S "$SOCKET" rename-session fresh
    ok show fresh --json
    [ "$(jq -r .sessionId <<<"$output")" = "$ID" ]
}
