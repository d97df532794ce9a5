#!/usr/bin/env bats
# Permission requests are seen from everywhere, and answered from anywhere.
load ../helper
load ../host/lib
load ../acp/lib

# Asks `solo` in the background for something that needs a permission; the answer goes to $T/out.
# The process is $ASKER.
ask_for() {
    "$MAS" ask "$ID" solo "$@" >"$T/out" 2>"$T/err" 3>&- &
    ASKER=$!
    eventually asks
}

@test "approve lets the agent go on" {
    acp_agent
    ask_for ASK:execute
    ok approve "$ID" solo
    [ "$output$stderr" = "approved: May I execute?" ]
    wait "$ASKER"
    grep -q permit=yes "$T/out"
}

@test "deny tells it no" {
    acp_agent
    ask_for ASK
    ok deny "$ID" solo --json
    jq -e --arg id "$ID" '.sessionId == $id and .agent == "solo" and has("permission") and
        (.option | startswith("no")) and (.title | length > 0)' <<<"$output"
    wait "$ASKER"
    grep -q permit=no "$T/out"
}

@test "status, wait and the exit of ask know that it waits" {
    acp_agent
    ask_for ASK
    "$MAS" wait "$ID" solo --for waiting --timeout 10s
    mas status "$ID"
    [[ $output == *waiting*"asks: "*"(mas approve ${ID:0:8} solo)"* ]]
    mas status "$ID" --json
    jq -e '.sessions[0].agents[0] | .protocol == "acp" and .state == "waiting" and
        .permission != null and .asks != null and (.conversation | length == 36)' <<<"$output"
    "$MAS" deny "$ID" solo
    wait "$ASKER"
    "$MAS" wait "$ID" solo --for idle --timeout 10s
    is solo .permission null
}

@test "an option is known by its id, always by its kind, and no option says yes to deny" {
    acp_agent
    ask_for ASK
    yes=$("$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0].permission')
    mas approve "$ID" solo nonsense
    [ "$status" -ne 0 ]
    asks
    fails 2 deny "$ID" solo yes-1
    asks
    fails 3 approve "$ID" solo --permission "$ID:999999"
    ok approve "$ID" solo --permission "$yes" always
    wait "$ASKER"
    grep -q permit= "$T/out"
}

@test "where nothing is asked, the exit status is 3" {
    acp_agent
    fails 3 approve "$ID" solo
    [[ $stderr == "mas: cannot answer agent 'solo': "* ]]
    fails 3 deny "$ID" solo
}

@test "cancel takes the request back" {
    acp_agent
    ask_for ASK
    ok cancel "$ID" solo --json
    jq -e '.cancelled' <<<"$output"
    wait "$ASKER" || true
    eventually state_is solo idle
    fails 3 approve "$ID" solo
    ok cancel "$ID" solo --json
    jq -e '.cancelled == false' <<<"$output"
}

@test "no agent permits itself anything, and the rules hold for others" {
    acp_team default
    "$MAS" ask "$ID" 11 ASK >"$T/out" 2>/dev/null 3>&- &
    ASKER=$!
    eventually asks 11
    MAS_SESSION_ID=$ID MAS_AGENT_ID=11 fails 1 approve 11
    MAS_SESSION_ID=$ID MAS_AGENT_ID=20 fails 1 approve 11
    [[ $stderr == *"the rule"* ]]
    asks 11
    MAS_SESSION_ID=$ID MAS_AGENT_ID=10 ok approve 11
    wait "$ASKER"
    grep -q permit=yes "$T/out"
}
