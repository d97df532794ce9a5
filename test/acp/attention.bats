#!/usr/bin/env bats
# What the host of an ACP agent knows of the person who looks at it.
load ../helper
load ../host/lib
load lib

done_ms() { of solo .doneMs; }
seen_ms() { of solo .seenMs; }
done_after() { [ "$(of "$1" .doneMs)" -gt "$2" ] 2>/dev/null; }
is_done() { [ "$(done_ms)" -gt "${1-0}" ] 2>/dev/null; }

@test "the end of a turn that nobody follows is not seen" {
    acp_agent
    "$MAS" ask --no-wait "$ID" solo hello
    eventually is_done
    eventually state_is solo idle
    [ "$(seen_ms)" = null ]
}

@test "the end of a turn that a person waits for has been seen, that of an agent not" {
    acp_team pair
    "$MAS" ask "$ID" reviewer hello
    local before
    before=$(of reviewer .doneMs)
    [ "$(of reviewer .seenMs)" -ge "$before" ]
    "$MAS" ask --from lead "$ID" reviewer again
    eventually done_after reviewer "$before"
    [ "$(of reviewer .seenMs)" -lt "$(of reviewer .doneMs)" ]
}

@test "each turn of a queue has an end" {
    acp_agent
    local before
    "$MAS" ask --no-wait "$ID" solo hello
    "$MAS" ask --no-wait "$ID" solo SLOW:2000
    eventually is_done
    before=$(done_ms)
    eventually is_done "$before"
}
