#!/usr/bin/env bats
# The commands that speak to hosts, against hosts and agents that work, hang, and are gone.
# shellcheck disable=SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load lib

# Clients in the background
teardown_last() { jobs -p | xargs -r kill 2>/dev/null || true; }

# A team of lead and reviewer whose agents append each line that they read to $T/<id>.
readers() {
    script reader <<S
printf 'reading\n'
while IFS= read -r line; do printf '%s\n' "\$line" >>"$T/\$MAS_AGENT_ID"; done
S
    run_team pair "bash $T/reader" 'idle = 200ms'
}

# File $1 holds line $2 and nothing else.
got() { [ "$(cat "$T/$1" 2>/dev/null)" = "$2" ]; }

agent_state() { "$MAS" status "$ID" --json | jq -r --arg a "$1" '[.. | objects | select(.id? == $a or .agent? == $a)][0].state'; }
agent_is() { [ "$(agent_state "$1")" = "$2" ]; }

# elapsed COMMAND...: runs it; milliseconds go to $MS
elapsed() {
    local start
    start=$(date +%s%3N)
    "$@"
    MS=$(($(date +%s%3N) - start))
}

@test "send reaches one, several, a unit and all" {
    readers
    "$MAS" send "$ID" lead one
    eventually got lead one
    "$MAS" send "$ID" lead,reviewer two words '$(touch x)'
    eventually got lead $'one\ntwo words $(touch x)'
    eventually got reviewer 'two words $(touch x)'
    "$MAS" send -s "$ID" workers three
    eventually got reviewer $'two words $(touch x)\nthree'
    "$MAS" send "$ID" all -- --four
    eventually got lead $'one\ntwo words $(touch x)\n--four'
}

@test "send takes the text from stdin and from a file, whole" {
    readers
    seq 3000 >"$T/text"
    "$MAS" send "$ID" lead - <"$T/text"
    eventually has_lines lead 3000
    "$MAS" send "$ID" reviewer --file "$T/text"
    eventually has_lines reviewer 3000
    cmp "$T/lead" "$T/text"
    cmp "$T/reviewer" "$T/text"
}

has_lines() { [ "$(wc -l <"$T/$1")" = "$2" ]; }

@test "send --no-enter leaves the line open" {
    readers
    "$MAS" send --no-enter "$ID" lead 'half '
    "$MAS" send "$ID" lead 'and half'
    eventually got lead 'half and half'
}

@test "inside a team send needs no session, and is from that agent" {
    run_team default 'bash --norc' 'idle = 200ms'
    eventually agent_is 11 idle
    "$MAS" send "$ID" 11 'mas send 10 "echo do\ne"; echo code-$?-'
    eventually session_log 'send from=11 to=10 bytes=10 outcome=delivered'
    PANE=$(of 11 .pane)
    eventually shows 'code-0-'
    "$MAS" send "$ID" 11 'mas send 21 hello; echo refused-$?-'
    eventually shows 'refused-1-'
    eventually shows 'manager, unit'
    session_log 'send from=11 to=21 bytes=5 outcome=refused'
    "$MAS" send "$ID" 11 'mas send --from 00 20 hello; echo lied-$?-'
    eventually shows 'lied-'
}

@test "send says which targets did not take it and why, and the others get it" {
    readers
    eventually agent_is reviewer idle
    ask reviewer '{"do":"stop"}' >/dev/null
    fails 4 send "$ID" lead,reviewer hello
    [[ $stderr == *"cannot send to agent 'reviewer'"*stopped* ]]
    [[ $stderr != *"'lead'"* ]]
    eventually got lead hello
}

@test "send to a session that is stopped is a conflict, to an agent that is not there it is unknown" {
    readers
    fails 3 send "$ID" nobody hello
    "$MAS" stop -q "$ID"
    fails 4 send "$ID" lead hello
    [ ! -e "$T/lead" ]
}

@test "send to a host that hangs fails in time, and reaches the others" {
    readers
    eventually agent_is lead idle
    ask_badly reviewer impostor
    elapsed mas send --wait --timeout 2s "$ID" all hello
    [ "$status" -ne 0 ]
    [[ $stderr == *"'reviewer'"* ]] || { echo "$stderr" >&2; false; }
    ((MS < 15000))
    eventually got lead hello
}

@test "status and list show a host that hangs as such, and are not delayed by it" {
    run_team default "sleep $MARK" 'idle = 100ms' 'ready_timeout = 100ms'
    "$MAS" wait "$ID" --for idle
    ask_badly 22 impostor
    # a busy machine may take longer once; a command that waits for that host always does
    # shellcheck disable=SC2329
    is_quick() { elapsed mas "$@" && [ "$status" -eq 0 ] && ((MS < 3000)); }
    eventually is_quick status "$ID"
    [[ $output == *22* ]]
    "$MAS" status "$ID" | grep -E '^ *22' | grep -qvE 'idle|working'
    eventually agent_is 21 idle
    eventually is_quick list
    eventually is_quick show "$ID"
}

@test "stop ends a team one of whose hosts hangs" {
    printf '[stop]\nhangup = 0\nterminate = 1\n' >>"$ROOT/mas.ini"
    run_team pair "sleep $MARK"
    eventually marked_are 2
    hosts_there lead
    local host
    host=$(of lead .hostPid)
    ask_badly lead impostor
    ok stop "$ID"
    eventually marked_are 0
    is_gone "$host"
    [ -z "$(ls -A "$DIR/run")" ]
}

@test "stop says what had to be killed" {
    printf '[stop]\nhangup = 1\nterminate = 1\n' >>"$ROOT/mas.ini"
    script deaf <<<"trap '' HUP TERM; sleep $MARK & wait; sleep $MARK"
    run_team pair "sh $T/deaf"
    eventually marked_are 2
    ok stop "$ID"
    [[ $output$stderr == *kill* ]]
    [[ $output$stderr == *sleep* ]]
    marked_are 0
}

@test "restart brings an agent back, and a host that was killed too" {
    readers
    eventually agent_is lead idle
    local host pid
    host=$(of lead .hostPid)
    pid=$(of lead .pid)
    ok restart "$ID" lead
    is_gone "$pid"
    [ "$(of lead .hostPid)" = "$host" ]
    kill -KILL "$host"
    eventually is_gone "$host"
    ok restart "$ID" lead
    "$MAS" send "$ID" lead again
    eventually got lead again
    [ "$(tm list-panes -s -t "=mas-${ID:0:8}" | wc -l)" = 2 ]
}

@test "a host that was brought back by restart has the environment of the team" {
    script agent <<<"echo \"\$TOKEN\" >>'$T/tokens'; exec sleep $MARK"
    export TOKEN=secret-1
    run_team solo "sh $T/agent"
    unset TOKEN
    eventually marked_are 1
    hosts_there
    kill -KILL "$(of solo .hostPid)"
    eventually marked_are 0
    export TOKEN=secret-2
    "$MAS" restart -q "$ID" solo
    eventually marked_are 1
    [[ $(tail -n 1 "$T/tokens") == secret-* ]]
}

@test "wait comes back when it is so, without asking again and again" {
    script agent <<S
echo ready
read -r x
sleep 0.5
exit 3
S
    run_team pair "bash $T/agent" 'idle = 200ms'
    "$MAS" wait "$ID" all --for idle --timeout 20s
    agent_is lead idle
    "$MAS" send "$ID" lead go
    elapsed "$MAS" wait "$ID" lead --for exit --timeout 20s
    ((MS > 300 && MS < 5000))
    agent_is lead exited
    fails 1 wait "$ID" lead --for idle --timeout 20s
    elapsed mas wait "$ID" reviewer --for exit --timeout 300ms
    [ "$status" -eq 7 ]
    ((MS < 3000))
}

@test "wait --for exit does not take a host that it cannot understand for an exit" {
    run_team solo "sleep $MARK" 'idle = 100ms' 'ready_timeout = 100ms'
    eventually marked_are 1
    eventually agent_is solo idle
    ask_badly solo liar
    fails 1 wait "$ID" solo --for exit --timeout 10s
    [[ $stderr == *"'solo'"*'sent an invalid answer'* ]] || { echo "$stderr" >&2; false; }
    marked_are 1
}

@test "wait --for exit waits for the agent whose host was killed" {
    printf '[stop]\nhangup = 2\nterminate = 0\n' >>"$ROOT/mas.ini"
    run_team solo "sh -c 'trap \"\" HUP TERM; exec sleep $MARK'"
    eventually marked_are 1
    hosts_there
    local host fds
    host=$(of solo .hostPid)
    fds=$(fds_of "$host")
    (
        rc=0
        "$MAS" wait "$ID" --for exit --timeout 20s || rc=$?
        echo "$rc $(count_marked)" >"$T/came"
    ) 3>&- &
    eventually more_fds "$host" "$fds"
    kill -KILL "$host"
    eventually test -s "$T/came"
    [ "$(cat "$T/came")" = '0 0' ]
}

@test "wait --for exit waits for the agent whose host was killed before, and whose supervisor was" {
    printf '[stop]\nhangup = 2\nterminate = 0\n' >>"$ROOT/mas.ini"
    run_team solo "sh -c 'trap \"\" HUP TERM; exec sleep $MARK'"
    eventually marked_are 1
    hosts_there
    local host
    host=$(of solo .hostPid)
    kill -KILL "$host"
    eventually is_gone "$host" # tmux may collect it late
    ok wait "$ID" --for exit --timeout 20s
    marked_are 0
    mas restart "$ID" solo
    eventually marked_are 1
    orphan_agents "$ID"
    fails 7 wait "$ID" --for exit --timeout 200ms
    [ "${stderr%%$'\n'*}" = 'mas: cannot wait for agents to exit: after 200ms their processes are still running' ]
    pkill -KILL -f "^sleep $MARK\$"
    ok wait "$ID" --for exit --timeout 20s
}

@test "wait ends when the team does" {
    readers
    eventually agent_is lead idle
    "$MAS" wait "$ID" lead --for waiting --timeout 60s 3>&- >"$T/out" 2>&1 &
    local waiter=$!
    eventually pgrep -f "wait $ID"
    "$MAS" stop -q "$ID"
    run wait "$waiter"
    eventually is_gone "$waiter"
}

@test "a killed client of wait or status --watch leaves nothing in the host" {
    readers
    eventually agent_is lead idle
    local host i fds client
    host=$(of lead .hostPid)
    fds=$(fds_of "$host")
    for i in 1 2 3 4 5; do
        "$MAS" wait "$ID" lead --for waiting 3>&- >"$T/out" 2>&1 &
        client=$!
        eventually more_fds "$host" "$fds"
        kill -KILL "$client" || { cat "$T/out" >&2; false; }
        eventually fds_are "$host" "$fds"
    done
}

fds_of() { find "/proc/$1/fd" -type l | wc -l; }
more_fds() { (($(fds_of "$1") > $2)); }
fds_are() { (($(fds_of "$1") == $2)); }

@test "peek shows what the screens show, of many agents at once" {
    script agent <<<'printf "\033[2J\033[Hscreen of $MAS_AGENT_ID\033[31m red\033[0m"; read -r x'
    run_team pair "bash $T/agent"
    eventually peek_shows 'screen of lead red'
    eventually peek_shows 'screen of reviewer red'
    run ! grep -q $'\033' <("$MAS" peek "$ID" all)
}

peek_shows() { "$MAS" peek "$ID" all | grep -qF "$1"; }

@test "attach AGENT lands on that agent's pane" {
    run_team pair 'bash --norc'
    hosts_there lead reviewer
    tm new-session -d -s outer "env -u TMUX MAS_ROOT='$ROOT' MAS_TMUX_SOCKET='$SOCK' '$MAS' attach '$ID' reviewer"
    eventually selected reviewer
}

selected() { [ "$(tm display -pt "=mas-${ID:0:8}:" '#{pane_id}')" = "$(of "$1" .pane)" ]; }
