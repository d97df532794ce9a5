#!/usr/bin/env bats
# Prompts to an agent that speaks ACP, its history and context, and the events of both.
load ../helper
load ../host/lib
load ../acp/lib
load lib

@test "a prompt is taken, answered, told as events and kept in the history" {
    acp_agent
    serve
    hear
    post "/sessions/$ID/agents/solo/prompts" '{"prompt":"SAY:forty-two","tags":["ticket:7"]}'
    is 202 '.agent == "solo" and (.prompt | length > 0)'
    prompt=$(jq -r .prompt <<<"$output")
    told() {
        sed -n 's/^data: //p' "$T/events" | jq -se 'any(.[]; .role == "'"$1"'" and (.text | test("forty-two")))' >/dev/null
    }
    eventually told user
    eventually told agent
    api GET "/sessions/$ID/agents/solo/history?role=user,agent"
    is 200 '.total == 2 and .sessionId == "'"$ID"'" and any(.messages[]; .id == "'"$prompt"'")'
    [ "$(jq -S . <<<"$output")" = "$("$MAS" history "$ID" solo --json --role user,agent | jq -S .)" ]
    api GET "/sessions/$ID/agents/solo/history?limit=1"
    is 200 '.messages | length == 1'
    api GET "/sessions/$ID/agents/solo/history?limit=x"
    is 400
    api GET "/sessions/$ID/agents/solo/context?for=forty-two"
    is 200 '(keys | sort) == ["chat_history", "current_conversation", "relevant_history"] and
        (.current_conversation | length) == 2 and
        all(.current_conversation[]; .source == "session" and .session_id == "'"$ID"'")'
    api GET "/sessions/$ID/agents/zz/history"
    refused 404 not_found zz
    "$MAS" stop -q "$ID"
    api GET "/sessions/$ID/agents/solo/history"
    is 200
    post "/sessions/$ID/agents/solo/prompts" '{"prompt":"SAY:x"}'
    refused 410 gone ''
}

@test "what a context is asked for stands on no command line" {
    acp_agent
    # it sees the command line of who runs it
    # shellcheck disable=SC2016 # for the program
    printf '#!/bin/sh\ntr "\\0" " " <"/proc/$PPID/cmdline" >>"%s/lines"\nexit 1\n' "$T" >"$T/embed"
    chmod +x "$T/embed"
    printf '[memory]\nembed_command = %s/embed\n' "$T" >>"$ROOT/mas.ini"
    "$MAS" ask "$ID" solo SAY:one >/dev/null
    serve
    api GET "/sessions/$ID/agents/solo/context?for=a%20secret"
    is 200
    grep -q 'context --json .*--for -' "$T/lines"
    run ! grep secret "$T/lines"
}

@test "what new sessions are told and asked at once is told, once" {
    local i
    acp_preset talks
    serve
    hear
    for i in {1..5}; do
        new_session -t solo
        "$MAS" send "$ID" solo "true sent $i"
        post "/sessions/$ID/messages" '{"target":"solo","message":"true posted '"$i"'"}'
        is 200
        new_session -t solo --agent talks
        post "/sessions/$ID/agents/solo/prompts" '{"prompt":"SAY:asked '"$i"'"}'
        is 202
    done
    answers() { [ "$(data message | jq -s '[.[] | select(.role == "agent")] | length')" -eq 5 ]; }
    eventually answers
    "$MAS" send "$ID" solo "SAY:last"
    eventually came message '.[]; .role == "agent" and (.text | startswith("last"))'
    diff <(data message | jq -r 'if .role == "agent" then .stopReason else .text end' | sort) <(
        printf '%s\n' SAY:asked\ {1..5} SAY:last end_turn{,,,,,} 'true posted '{1..5} 'true sent '{1..5})
}

@test "metrics and the session have what agents have used" {
    acp_agent
    serve
    mkdir -p "$ROOT/sessions/.limits"
    printf 'claude\n5h 102 0 %s000\nold 50 1 1\n' "$(date +%s)" >"$ROOT/sessions/.limits/x.quota"
    tell "COST:0.25 TOKENS:7/5/12 USAGE:100/1000"
    used() {
        api GET /metrics
        grep -qxF "mas_agent_tokens{session=\"$ID\"} 12" <<<"$output" &&
            [ "$(grep '^mas_quota' <<<"$output")" = 'mas_quota_used_ratio{preset="claude",login="x",window="5h"} 1.02' ] &&
            grep -qE "^mas_agent_memory_bytes\{session=\"$ID\"\} [1-9][0-9]{5,}$" <<<"$output" &&
            grep -qxF "mas_agent_cost{session=\"$ID\",currency=\"USD\"} 0.25" <<<"$output"
    }
    eventually used
    api GET "/sessions/$ID"
    is 200 '.agents[0].usage == {contextUsed: 100, contextSize: 1000, tokens: 12, cost: 0.25, currency: "USD"}'
}

@test "a message for now is seen in the same turn, and one that cannot be says why" {
    run_acp --steer
    serve
    post "/sessions/$ID/agents/solo/prompts" '{"prompt":"CW-FIRST STEERED"}'
    is 202
    eventually grep -qF CW-FIRST "$TRACE"
    post "/sessions/$ID/messages" '{"target":"solo","message":"CW-NOW","now":true}'
    is 200 '.agents == [{"id":"solo","outcome":"steered"}]'
    answered() { "$MAS" history "$ID" solo --json | jq -e '[.messages[] | select(.role == "agent")] | length == 1' >/dev/null; }
    eventually answered
    for bad in '"now":7' '"now":true,"execute":false'; do
        post "/sessions/$ID/messages" "{\"target\":\"solo\",\"message\":\"x\",$bad}"
        refused 400 bad_request now
    done
}

@test "a question aside is an operation whose output is the answer, and leaves no trace" {
    run_acp "--fork --delete"
    serve
    "$MAS" ask "$ID" solo CW-ONE >/dev/null
    "$MAS" history "$ID" solo --json >"$T/before"
    post "/sessions/$ID/agents/solo/asides" '{"prompt":"CW-ASIDE"}'
    is 202 '.verb == "ask" and (has("output") | not)'
    op=$(jq -r .operation <<<"$output")
    over() { api GET "/operations/$op" && jq -e '.ended != null' <<<"$output"; }
    eventually over
    is 200 '.state == "done" and (.output | contains("CW-ASIDE") and contains("CW-ONE"))'
    "$MAS" history "$ID" solo --json | diff "$T/before" -
    run ! grep -rqF CW-ASIDE "$ROOT"
    # cancelled, it ends
    post "/sessions/$ID/agents/solo/asides" '{"prompt":"HANG"}'
    op=$(jq -r .operation <<<"$output")
    forked() { [ "$(grep -c session/fork "$TRACE")" -ge 2 ]; }
    eventually forked
    api DELETE "/operations/$op"
    is 202
    eventually over
    is 200 '.state == "cancelled"'
    post "/sessions/$ID/agents/solo/asides" '{"prompt":""}'
    refused 400 bad_request prompt
}
