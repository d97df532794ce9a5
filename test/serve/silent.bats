#!/usr/bin/env bats
# shellcheck disable=SC2153 # URL is set by serve
# Hosts that do not answer: they keep nobody waiting but those who ask their own session.
load ../helper
load ../host/lib
load ../acp/lib
load lib

# silent_session FILE: makes $silent, whose host listens and says nothing; what it is asked goes into the file.
silent_session() {
    new_session -t solo --agent scripted
    silent=$ID
    find_agent
    eventually test -S "$DIR/run/solo.sock"
    python3 -ES "$PROJECT/test/host/ask.py" "$DIR/run" solo --silent >"$1" 2>&1 3>&- &
    STAND_IN+=${STAND_IN:+ }$!
    eventually grep -qx connected "$1"
}

# Makes $other and $silent.
two_sessions() {
    acp_agent
    other=$ID
    sessions=2
    silent_session "$T/asked"
}

# asks_silent COUNT: asks what an agent may take three minutes for. Answers go into $T/answer.NUMBER.
asks_silent() {
    curl -sS --no-progress-meter -Z --parallel-immediate --parallel-max 300 -o "$T/answer.#1" -m 170 \
        -H "Authorization: Bearer $TOKEN" "$URL/sessions/$silent/agents/solo/kept#[1-$1]" 2>"$T/curl.err" 3>&- &
    CURL=$!
}

asked() { grep -c '"kept"' "$T/asked"; }
answered() { find "$T" -name 'answer.*' -size +0 | wc -l; }
connected() { [ "$(curl -sS -H "Authorization: Bearer $TOKEN" "$URL/metrics" | awk '$1 == "mas_http_connections" { print $2 }')" -ge "$1" ]; }

others_are_served() {
    api GET "/sessions/$other/agents/solo"
    is 200 '.state == "idle"'
    api GET "/sessions/$other"
    is 200
    api GET /sessions
    is 200 ".total == $sessions"
    api GET "/sessions/$other/usage"
    is 200
    post "/sessions/$other/messages" '{"target":"solo","message":"SAY:hello"}'
    is 200
}

@test "an agent that does not answer keeps only its own session waiting" {
    two_sessions
    serve
    asks_silent 40
    eventually connected 41
    for i in 1 2 3; do api GET /healthz; done # the server has read what came before
    four() { [ "$(asked)" -ge 4 ]; }
    eventually four
    others_are_served
    [ "$(asked)" -eq 4 ]
    [ "$(answered)" -eq 0 ]
    # a stop passes what waits
    post "/sessions/$silent/stop" '{}'
    is 200
    [ "$(asked)" -eq 4 ]
    [ "$(answered)" -eq 0 ]
    kill "$STAND_IN"
    eventually prints 40 answered
}

@test "a session has its share of the places; more is told to come again" {
    two_sessions
    serve
    asks_silent 200
    eventually prints 47 answered # it gets 153
    api GET "/sessions/$silent/agents/solo/kept"
    refused 503 unavailable 'too many requests wait for this session'
    [ "$(header Retry-After)" = 1 ]
    # those who share a question have places, too
    api GET "/sessions/$silent/agents/solo/screen"
    refused 503 unavailable 'too many requests wait for this session'
    others_are_served
    [ "$(asked)" -eq 4 ]
    [ "$(answered)" -eq 47 ]
    post "/sessions/$silent/stop" '{}'
    is 200
    # as does its removal
    api DELETE "/sessions/$silent"
    is 200 .removed
    kill "$STAND_IN"
    eventually prints 200 answered
    api GET "/sessions/$silent/agents/solo/kept"
    [ "$status" != 503 ]
}

@test "twelve sessions whose agents do not answer leave room for another" {
    acp_agent
    other=$ID
    sessions=13
    for i in {1..12}; do
        silent_session "$T/asked.$i"
        asking+=("$silent")
    done
    serve
    urls=$(IFS=,; printf '%s/sessions/{%s}/agents/solo/kept#[1-10]' "$URL" "${asking[*]}")
    curl -sS --no-progress-meter -Z --parallel-immediate --parallel-max 300 -o "$T/answer.#1.#2" -m 170 \
        -H "Authorization: Bearer $TOKEN" "$urls" 2>"$T/curl.err" 3>&- &
    CURL=$!
    eventually connected 121
    each_asked() { [ "$(grep -lF '"kept"' "$T"/asked.* | wc -l)" -eq 12 ]; }
    eventually each_asked
    others_are_served
    [ "$(answered)" -eq 0 ]
}

@test "what an agent does is known soon, or it is said that it does not answer" {
    two_sessions
    serve
    # an act that was asked before has more time
    curl -sS -o "$T/act" -H "Authorization: Bearer $TOKEN" -d '{}' "$URL/sessions/$silent/agents/solo/cancel" 3>&- &
    CURL=$!
    eventually grep -qF '"cancel"' "$T/asked"
    for what in solo solo/permissions; do
        api GET "/sessions/$silent/agents/$what"
        refused 504 timeout solo
    done
    kill -0 "$CURL"
    [ ! -s "$T/act" ]
}
