load ../helper
load ../host/lib
load lib

@test "after a clear the model is shown nothing from before, after clear and restart only what came since" {
    for way in "" "--no-resume" "--no-resume --no-load"; do
        rm -rf "$T/store"
        run_acp "$way"
        tell CW-OLD
        ok clear "$ID" solo
        tell CW-NEW
        knows CW-NEW
        again
        tell CW-LAST
        knows CW-LAST CW-NEW
        "$MAS" stop -q "$ID" >/dev/null
        : >"$ROOT/mas.ini"
    done
}

@test "after a clear and a restart with nothing said in between the agent knows nothing" {
    run_acp "--no-resume --no-load"
    tell CW-OLD
    "$MAS" clear "$ID" solo
    again
    tell CW-NEW
    knows CW-NEW
    came_back fresh
}

@test "clears while a session is being opened open no other" {
    run_acp "--new-until $T/open"
    hosts_there
    eventually was_sent session/new
    for _ in 1 2 3; do "$MAS" clear "$ID" solo; done
    touch "$T/open"
    tell CW-NEW
    knows CW-NEW
    [ "$(sent session/new)" = 1 ]
    came_back fresh
}

@test "clear with the agent's own store gone" {
    run_acp ""
    tell CW-OLD
    "$MAS" clear "$ID" solo
    tell CW-NEW
    "$MAS" stop -q "$ID" >/dev/null
    rm -rf "$T/store"
    "$MAS" start -q "$ID" >/dev/null
    tell CW-LAST
    knows CW-LAST CW-NEW
}

@test "--then is the first prompt of the new query, in the mode that was asked for" {
    run_acp ""
    tell CW-OLD
    run --separate-stderr timeout 30 "$MAS" clear "$ID" solo --then "CW-THEN" --mode acceptEdits
    [ "$status" -eq 0 ]
    tell CW-NEW
    knows CW-NEW CW-THEN
    [[ $output == *"users=2 "* ]]
    grep '^<' "$T/trace" | grep -F session/set_mode | tail -n 1 | grep -qF acceptEdits
    again
    tell CW-LAST
    knows CW-LAST CW-NEW CW-THEN
}

@test "a clear into a mode that the agent does not have is refused, and nothing is cleared" {
    run_acp ""
    tell CW-ONE
    fails 3 clear "$ID" solo --mode nonsense
    [[ $stderr == *"the agent has no mode 'nonsense'"*"its modes are: default, plan"* ]]
    tell CW-TWO
    knows CW-ONE CW-TWO
}

@test "a clear into a mode of an agent that does not run says that the mode is not known" {
    run_acp "" "start = demand"
    ok clear "$ID" solo --mode nonsense
    [ "$stderr" = "mas: warning: agent 'solo' is not running, so its modes are unknown: it gets mode 'nonsense' when it starts, if it has this mode" ]
    tell CW-ONE
    ok clear "$ID" solo --mode plan
    [ -z "$stderr" ]
}

@test "an agent that has ended is known to have the modes that it told" {
    run_acp "" "start = demand"
    tell CW-ONE EXIT
    eventually state_is solo exited
    fails 3 clear "$ID" solo --mode nonsense
    [[ $stderr == *"the agent has no mode 'nonsense'"*"its modes are: default, plan"* ]]
    ok clear "$ID" solo --mode plan
    [ -z "$stderr" ]
}

@test "a clear in mid-turn ends that turn as cancelled, and what waited as cleared" {
    run_acp ""
    timeout 30 "$MAS" ask "$ID" solo "CW-OLD HANG" >"$T/out1" 2>&1 3>&- &
    eventually state_is solo working
    timeout 30 "$MAS" ask "$ID" solo CW-WAITS >"$T/out2" 2>&1 3>&- &
    eventually is solo .queued 1
    "$MAS" clear "$ID" solo
    wait || true
    grep -q cancelled "$T/out1"
    grep -q cleared "$T/out2"
    tell CW-NEW
    knows CW-NEW
}

@test "an agent that goes on after a clear is ended, and nothing of what it says then is kept" {
    run_acp ""
    timeout 30 "$MAS" ask "$ID" solo "CW-OLD DEAF" >"$T/out" 2>&1 3>&- &
    eventually state_is solo working
    agent=$(of solo .pid)
    "$MAS" clear "$ID" solo
    tell CW-NEW
    knows CW-NEW
    is_gone "$agent"
    wait || true
}

@test "a clear while nothing runs, or while the agent starts, is one all the same" {
    run_acp "" "start = demand"
    hosts_there
    tell CW-OLD
    "$MAS" restart -q "$ID" solo >/dev/null || true
    "$MAS" clear "$ID" solo
    tell CW-NEW
    knows CW-NEW
    again
    "$MAS" clear "$ID" solo
    tell CW-LAST
    knows CW-LAST
}

@test "news of the old session that come late are not heard" {
    run_acp ""
    tell "CW-OLD LATE:300"
    "$MAS" clear "$ID" solo
    tell "SLOW:500 CW-NEW"
    knows CW-NEW
    [[ $output != *late* ]]
}

@test "a clear is durable when it is reported: a host that is killed then does not bring back what was" {
    run_acp ""
    tell CW-OLD
    agent=$(of solo .pid)
    host=$(of solo .hostPid)
    "$MAS" clear "$ID" solo
    kill -KILL "$host"
    eventually is_gone "$agent"
    "$MAS" stop -q "$ID" >/dev/null
    "$MAS" start -q "$ID" >/dev/null
    tell CW-NEW
    knows CW-NEW
}

@test "clears pile up neither processes nor memory, nor sessions in the agent" {
    run_acp ""
    hosts_there
    clears() {
        local n
        for ((n = 0; n < $1; n++)); do echo '{"do":"clear"}'; done >"$T/many"
        ask solo "$(<"$T/many")" >/dev/null
        tell "CW-$2"
        knows "CW-$2"
    }
    host=$(of solo .hostPid)
    clears 20 FIRST
    before=$(private_memory "$host")
    count=$(pgrep -cf "$T/agent|$T/store")
    clears 100 SECOND
    after=$(private_memory "$host")
    [ "$(pgrep -cf "$T/agent|$T/store")" = "$count" ]
    echo "$before KiB, then $after KiB" >&2
    [ -n "${TEST_SAN-}" ] || [ $((after - before)) -lt 1024 ]
    [ $(($(sent session/new) - $(sent session/close))) -le 2 ]
}

@test "a cleared session is deleted in the agent that can; one that is left for another conversation is not" {
    run_acp "--delete"
    tell CW-ONE
    local first
    first=$(ls "$STORE")
    ask solo '{"do":"conversation","new":true}' >/dev/null
    tell CW-TWO
    [ "$(sent session/delete)" -eq 0 ]
    "$MAS" ask "$ID" solo --no-wait "CW-THREE HANG"
    eventually state_is solo working
    "$MAS" clear "$ID" solo
    tell CW-FOUR
    knows CW-FOUR
    [ "$(sent session/delete)" -eq 1 ]
    [ -e "$STORE/$first" ]
    [ "$(find "$STORE" -name '*.json' | wc -l)" -eq 2 ] # the first, and the present one
    again # and it comes back as ever
    tell CW-FIVE
    knows CW-FIVE CW-FOUR
}

@test "a cleared session that the agent does not delete, or cannot, disturbs nobody" {
    local how
    run_acp "--delete --delete-error"
    for how in "--delete --delete-error" ""; do
        options "$how"
        again
        tell CW-ONE
        "$MAS" clear "$ID" solo
        tell CW-TWO
        knows CW-TWO
    done
    [ "$(sent session/delete)" -eq 1 ]
}

@test "an agent that keeps the MCP servers of closed sessions does not pile them up" {
    run_acp "--keep-servers"
    eventually state_is solo idle
    agent=$(of solo .pid)
    # of this root: other tests run some at the same time
    servers() {
        pgrep -f "^$MAS mcp" | sed 's|.*|/proc/&/environ|' | xargs -r grep -lszxF "MAS_ROOT=$ROOT" | wc -l
    }
    for n in {1..12}; do
        "$MAS" clear "$ID" solo
        tell "CW-N$n"
        knows "CW-N$n"
        (($(servers) <= 6))
        (($(servers) >= 1))
    done
    [ "$(of solo .pid)" != "$agent" ]
}

@test "an agent that cannot close sessions is started anew now and then" {
    run_acp "--no-close"
    eventually state_is solo idle
    agent=$(of solo .pid)
    for n in 1 2 3 4 5 6; do
        "$MAS" clear "$ID" solo
        tell "CW-N$n"
        knows "CW-N$n"
    done
    [ "$(of solo .pid)" != "$agent" ]
}
