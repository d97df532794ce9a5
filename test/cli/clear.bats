#!/usr/bin/env bats
# After mas clear the model sees nothing from before, and that is on disk before it is said.
load ../helper
load ../host/lib
load ../acp/lib

@test "after a clear the agent sees nothing from before" {
    acp_agent
    "$MAS" ask "$ID" solo CW-OLD
    ok clear "$ID" solo
    [ -z "$output$stderr" ]
    mas ask "$ID" solo CW-NEXT
    [[ $output == *"seen=[CW-NEXT] users=1"* ]]
}

@test "a cleared context stays cleared after a restart, and what came since is known" {
    acp_agent
    "$MAS" ask "$ID" solo CW-OLD
    "$MAS" clear "$ID" solo
    "$MAS" ask "$ID" solo CW-NEXT
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    mas ask "$ID" solo after
    [[ $output == *CW-NEXT* ]]
    [[ $output != *CW-OLD* ]]
}

@test "--then is the first prompt of the fresh query, and just that" {
    acp_agent
    "$MAS" ask "$ID" solo CW-OLD
    ok clear "$ID" solo --then 'CW-THEN go' --json
    jq -e --arg id "$ID" '.sessionId == $id and .agent == "solo" and .query == 2 and
        (.prompt | startswith($id + ":")) and (.conversation | length == 36)' <<<"$output"
    mas ask "$ID" solo more
    [[ $output == *"seen=[CW-THEN] users=2"* ]]
    "$MAS" clear "$ID" solo --then - <<<'CW-STDIN go'
    mas ask "$ID" solo more
    [[ $output == *"seen=[CW-STDIN] users=2"* ]]
}

@test "a clear without --then has no prompt" {
    acp_agent
    ok clear "$ID" solo --json
    jq -e '.prompt == null' <<<"$output"
}

@test "the turn in flight is cancelled, and prompts that wait fail as cleared" {
    acp_agent
    local first second
    "$MAS" ask "$ID" solo 'SAY:begun HANG' >"$T/first" 2>&1 3>&- &
    first=$!
    eventually grep -q begun "$T/first"
    "$MAS" ask "$ID" solo CW-WAITS >"$T/second" 2>&1 3>&- &
    second=$!
    eventually is solo .queued 1
    "$MAS" clear "$ID" solo
    status=0
    wait "$first" || status=$?
    [ "$status" -eq 11 ]
    status=0
    wait "$second" || status=$?
    [ "$status" -eq 4 ]
    grep -q "cleared: the context was cleared before its turn" "$T/second"
    run grep -c CW-WAITS "$TRACE"
    [ "$output" = 0 ]
}

@test "--mode is the mode of the fresh query" {
    acp_agent
    "$MAS" ask "$ID" solo hello
    ok clear "$ID" solo --mode bypass --then CW-MODE
    eventually grep -q "set_mode.*bypass" "$TRACE"
}

@test "what cannot be cleared is said" {
    acp_agent
    fails 2 clear "$ID" solo words
    [[ $stderr == *"--then TEXT"* ]]
    fails 2 clear "$ID" solo --then ''
    fails 3 clear "$ID" nobody
    "$MAS" stop -q "$ID"
    fails 4 clear "$ID" solo
    new_session -t solo --agent shell
    fails 4 clear "$ID" solo
    [[ $stderr == "mas: cannot clear"*"'solo': it is not an ACP agent"* ]]
}
