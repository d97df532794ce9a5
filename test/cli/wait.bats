#!/usr/bin/env bats
# Waiting for agents, without asking again and again.
load ../helper
load ../host/lib

setup_more() {
    cat >>"$ROOT/mas.ini" <<END
[preset busy]
command = sh -c "while [ ! -e $T/enough ]; do echo x; sleep 0.05; done; exec cat"
[preset asks]
command = sh -c "sleep 0.3; echo 'may I? [y/n]'; exec cat"
waiting = y/n
[preset sleeps]
command = cat
start = demand
[preset breaks]
command = sh -c "sleep 0.2; exit 3"
restart = on-crash
restart_limit = 1
restart_delay = 200ms
END
}

@test "wait comes back when all agents are idle" {
    new_session --agent busy
    fails 7 wait "$ID" --for idle --timeout 300ms
    [[ $stderr == "mas: cannot wait for agents to be idle: after 300ms 00 is "*", 10 is "* ]]
    : >"$T/enough"
    ok wait "$ID" --for idle --timeout 20s
    [ -z "$output$stderr" ]
    [ "$("$MAS" status "$ID" --json | jq -r '[.sessions[].agents[].state] | unique | join(" ")')" = idle ]
}

@test "wait for some of them" {
    new_session -t pair --agent busy
    fails 7 wait "$ID" lead --for idle --timeout 100ms
    [[ $stderr != *reviewer* ]]
    MAS_SESSION_ID=$ID fails 7 wait lead --for idle --timeout 100ms
    MAS_SESSION_ID=$ID fails 7 wait --for idle --timeout 100ms
    [[ $stderr == *reviewer* ]]
}

@test "wait uses no processor time" {
    new_session -t pair --agent busy
    run --separate-stderr bash -c "TIMEFORMAT=%U+%S; time '$MAS' wait $ID --for exit --timeout 1s"
    [[ $stderr == *0.0?[0-9]+0.0?[0-9]* ]]
}

@test "wait for the exit of agents" {
    new_session -t pair
    "$MAS" send "$ID" lead 'exit 3'
    ok wait "$ID" lead --for exit --timeout 10s
    fails 7 wait "$ID" --for exit --timeout 100ms
    (mas wait "$ID" --for exit --timeout 20s && [ "$status" -eq 0 ] && : >"$T/done") 3>&- &
    "$MAS" stop -q "$ID"
    eventually test -e "$T/done"
    ok wait "$ID" --for exit
}

@test "wait waits for each of several, whichever is late" {
    sed -e 's/^agents = .*/agents = a, b, c/' -e '/^\[agent/,$d' "$ROOT/templates/pair/template.ini" >"$T/head"
    mkdir -p "$ROOT"/templates/trio/unit/{a,b,c}
    { cat "$T/head" && printf '[agent %s]\nrole = r\nrank = worker\ngroup = g\n' a b c; } >"$ROOT/templates/trio/template.ini"
    new_session -t trio
    local late one
    for late in c b a; do
        for one in a b c; do
            [ "$one" = "$late" ] || "$MAS" send "$ID" "$one" exit >/dev/null
        done
        for one in a b c; do
            [ "$one" = "$late" ] || "$MAS" wait "$ID" "$one" --for exit --timeout 90s
        done
        fails 7 wait "$ID" --for exit --timeout 50ms
        [[ $stderr == "mas: cannot wait for agents to exit: after 50ms $late is "* && $stderr != *,* ]]
        fails 1 wait "$ID" --for waiting
        "$MAS" restart -q "$ID" a b c
    done
}

@test "an agent that has exited while a message waits has not ended" {
    new_session -t solo
    "$MAS" send "$ID" solo 'exit 0'
    "$MAS" wait "$ID" --for exit
    DIR=$ROOT/sessions/$ID
    ask solo '{"do":"status"}' >"$T/told"
    ask_badly solo telling
    local goal
    for goal in exit idle; do
        jq -c '.queued = 1' "$T/told" >"$DIR/run/tell"
        fails 7 wait "$ID" --for $goal --timeout 50ms
        [[ $stderr == *"solo is exited with 1 message queued" ]]
    done
    jq -c '.queued = 0' "$T/told" >"$DIR/run/tell"
    ok wait "$ID" --for exit --timeout 20s
    fails 1 wait "$ID" --for idle --timeout 20s
    kill %%
}

@test "what can never come is exit 1 and says why" {
    new_session -t pair
    "$MAS" send "$ID" lead 'exit 3'
    "$MAS" wait "$ID" lead --for exit
    fails 1 wait "$ID" --for idle
    [ "$stderr" = "mas: cannot wait for agent 'lead' to be idle: it has exited and does not start again
start it with: mas restart $ID lead" ]
    fails 1 wait "$ID" lead --for waiting
}

@test "wait for an agent that asks" {
    new_session -t solo --agent asks
    ok wait "$ID" --for waiting --timeout 10s
    [ "$("$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0].state')" = waiting ]
}

@test "an agent that sleeps is idle, and has exited" {
    new_session -t solo --agent sleeps
    for goal in idle exit; do
        ok wait "$ID" --for $goal --timeout 5s
    done
}

@test "an agent that is started again has not exited" {
    new_session -t solo --agent breaks
    ok wait "$ID" --for exit --timeout 20s
    [ "$("$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0] | "\(.state) \(.restarts)"')" = "crashed 1" ]
}

@test "a host that is killed is an exit, and else an error" {
    new_session -t solo --agent busy
    agent_pid "$ID"
    host=$(field "$ID" '.agents[0].hostPid')
    (mas wait "$ID" --for exit --timeout 20s && [ "$status" -eq 0 ] && : >"$T/done") 3>&- &
    (mas wait "$ID" --for idle --timeout 20s && [ "$status" -eq 1 ] && : >"$T/failed") 3>&- &
    kill -KILL "$host"
    eventually test -e "$T/done"
    eventually test -e "$T/failed"
}

@test "a session that does not run is not waited for" {
    new_session -t solo --no-start
    fails 4 wait "$ID" --for idle
    [[ $stderr == "mas: cannot wait for session '$ID': it is not running"* ]]
    ok wait "$ID" --for exit
}

@test "what is wrong with the words is exit 2 or 3" {
    new_session -t solo
    for words in "wait $ID" "ask $ID solo x" "send $ID solo --wait x"; do
        # shellcheck disable=SC2086 # words
        fails 2 $words --timeout soon
        [ "$stderr" = "mas: cannot use --timeout 'soon': it is not a time such as 500ms, 30s or 5m" ]
    done
    for words in "$ID --for ever" "$ID --for idle --timeout soon" "$ID solo x --for idle" ""; do
        # shellcheck disable=SC2086
        fails 2 wait $words
    done
    fails 3 wait "$ID" nobody --for idle
}

@test "wait without --for waits for idle" {
    new_session -t pair -n shop
    ok wait shop
    [ -z "$output$stderr" ]
    [ "$("$MAS" status shop --json | jq -r '[.sessions[].agents[].state] | unique | join(" ")')" = idle ]
    fails 2 wait shop --for nothing
    [[ $stderr == "mas: cannot use --for 'nothing': it is not idle, exit or waiting"$'\n'* ]]
}

@test "wait --any comes back with the first agent, and fails once none of them can" {
    new_session -t pair
    "$MAS" wait "$ID"
    fails 7 wait "$ID" --for exit --any --timeout 300ms
    "$MAS" send "$ID" lead 'exit 0'
    ok wait "$ID" --for exit --any --timeout 20s
    ok wait "$ID" --for idle --any --timeout 20s
    "$MAS" send "$ID" reviewer 'exit 0'
    "$MAS" wait "$ID" --for exit
    fails 1 wait "$ID" --for idle --any
    [[ $stderr == *'has exited and does not start again'* ]]
}
