#!/usr/bin/env bats
# shellcheck disable=SC2153,SC2317 # TOKEN is lib.bash's; called by name
# Idempotency-Key: the same request with the same key is done once.
load ../helper
load ../disk
load lib

# keyed KEY PATH JSON
keyed() { api POST "$2" -H "Idempotency-Key: $1" -d "$3"; }
count() { "$MAS" list -q | wc -l; }
# hold: no session is made until descriptor 8 is closed
hold() { exec 8>>"$ROOT/sessions/.sessions.lock" && flock 8; }
# begun COUNT: so many keys are known
begun() { [ "$(find "$ROOT/sessions/.serve.keys" -type f 2>/dev/null | wc -l)" -eq "$1" ]; }
body='{"agents":{},"template":"solo"}'

@test "a run is made once, and the second request gets the answer of the first" {
    serve
    keyed k1 /runs "$body"
    is 201
    first=$output
    [ -z "$(header idempotency-replayed)" ]
    keyed k1 /runs "$body"
    is 201
    [ "$output" = "$first" ]
    [ "$(header idempotency-replayed)" = true ]
    [ "$(count)" -eq 1 ]
    keyed k2 /runs "$body"
    is 201
    [ "$output" != "$first" ]
    post /runs "$body"
    is 201
    [ "$(count)" -eq 3 ]
}

@test "on a full disk a key is kept in memory, and written once there is room" {
    small_root
    new_session -t solo --no-start
    serve
    keyed k0 "/sessions/$ID/stop" '{}'
    is 200
    fill
    "$MAS" doctor | grep -q 'its disk is full'
    for key in k1 k2; do
        keyed "$key" "/sessions/$ID/stop" '{}'
        is 200
        [ -z "$(header idempotency-replayed)" ]
        keyed "$key" "/sessions/$ID/stop" '{}'
        is 200
        [ "$(header idempotency-replayed)" = true ]
        keyed "$key" "/sessions/$ID/start" '{}'
        refused 422 key_reused 'another request'
    done
    rm "$T/fs"/fill "$T/fs"/rest
    keyed k3 "/sessions/$ID/stop" '{}'
    eventually begun 4
    kill "$SERVER"
    wait "$SERVER" || :
    serve
    keyed k1 "/sessions/$ID/stop" '{}'
    is 200
    [ "$(header idempotency-replayed)" = true ]
}

@test "a key stands for one request: another body, address or query is refused" {
    new_session -t solo --no-start
    serve
    keyed k "/sessions/$ID/stop" '{}'
    is 200
    keyed k "/sessions/$ID/stop" ''
    refused 422 key_reused 'another request'
    keyed k /runs "$body"
    refused 422 key_reused 'another request'
    [ "$(count)" -eq 1 ]
    # GET and DELETE do not look at it
    api GET /sessions -H 'Idempotency-Key: k'
    is 200
}

@test "keys belong to tokens, and what is no key is refused" {
    serve
    "$MAS" serve token add other --full >"$T/token"
    keyed k /runs "$body"
    TOKEN=$(cat "$T/token")
    keyed k /runs "$body"
    is 201
    [ -z "$(header idempotency-replayed)" ]
    [ "$(count)" -eq 2 ]
    for key in "$(printf 'x%.0s' {1..256})" 'a b' $'\xc3\xa4'; do
        keyed "$key" /runs "$body"
        refused 400 bad_request Idempotency-Key
    done
    api POST /runs -H 'Idempotency-Key: a' -H 'Idempotency-Key: b' -d "$body"
    refused 400 bad_request 'duplicate header Idempotency-Key'
    [ "$(count)" -eq 2 ]
    run ! grep -rq "$TOKEN" "$ROOT/sessions"
}

@test "an operation and a message are begun once" {
    new_session -t solo
    serve
    keyed op /doctor '{}'
    is 202
    first=$(jq -r .operation <<<"$output")
    keyed op /doctor '{}'
    is 202 ".operation == \"$first\""
    api GET /operations
    is 200 '.operations | length == 1'
    keyed msg "/sessions/$ID/messages" '{"target":"solo","message":"echo once >>'"$T"'/said"}'
    is 200
    keyed msg "/sessions/$ID/messages" '{"target":"solo","message":"echo once >>'"$T"'/said"}'
    is 200
    "$MAS" send -s "$ID" solo "echo end >>$T/said"
    ended() { grep -q end "$T/said"; }
    eventually ended
    [ "$(grep -c once "$T/said")" -eq 1 ]
}

@test "answers outlive the server, and a request that it left unanswered is not done again" {
    serve
    keyed whole /runs "$body"
    is 201
    first=$output
    hold
    curl -sS -m 30 -H "Authorization: Bearer $TOKEN" -H 'Idempotency-Key: cut' -d "$body" "$URL/runs" >/dev/null 2>&1 3>&- 8>&- &
    eventually begun 2
    kill -9 "$SERVER"
    wait "$SERVER" || true
    exec 8>&-
    serve
    keyed whole /runs "$body"
    is 201
    [ "$output" = "$first" ]
    keyed cut /runs "$body"
    refused 409 outcome_unknown 'the server ended'
    settled() { ! compgen -G "$ROOT/sessions/.new-*" >/dev/null; }
    eventually settled
    [ "$(count)" -le 2 ]
}

@test "what goes on is not begun again" {
    serve
    hold
    curl -sS -m 30 -H "Authorization: Bearer $TOKEN" -H 'Idempotency-Key: k' -d "$body" -o "$T/first" "$URL/runs" 3>&- 8>&- &
    first=$!
    eventually begun 1
    keyed k /runs "$body"
    refused 409 in_progress 'not answered yet'
    exec 8>&-
    wait "$first"
    keyed k /runs "$body"
    is 201
    [ "$output" = "$(cat "$T/first")" ]
    [ "$(count)" -eq 1 ]
}

@test "an answer that nothing was done is not kept" {
    serve
    keyed k /runs '{"agents":7}'
    is 400
    keyed k /runs "$body"
    is 201
    [ "$(count)" -eq 1 ]
}

@test "keys are forgotten after a day, and there are at most 4,096" {
    serve
    keyed old /runs "$body"
    is 201
    kill "$SERVER"; wait "$SERVER" || true
    dir=$ROOT/sessions/.serve.keys
    [ "$(stat -c %a "$dir")" = 700 ]
    [ "$(find "$dir" -type f -printf '%m')" = 600 ]
    printf "$dir/%064x\n" {1..4096} | xargs touch
    serve
    keyed new /runs "$body"
    refused 503 unavailable '4096 keys are remembered'
    find "$dir" -type f -exec touch -d '25 hours ago' {} +
    keyed new /runs "$body"
    is 201
    [ "$(find "$dir" -type f | wc -l)" -eq 1 ]
    # damaged, or made by a person
    : >"$(find "$dir" -type f)"
    keyed new /runs "$body"
    refused 409 outcome_unknown ''
    rm -r "$dir"; mkdir -m 700 "$dir"
    [ "$(count)" -eq 2 ]
}

# shellcheck disable=SC2153 # of lib.bash
@test "each address that does something is done once for a key, and a key is no other token's, body's or right's" {
    local path body done=0
    . "$BATS_TEST_DIRNAME/../host/lib.bash"
    . "$BATS_TEST_DIRNAME/../acp/lib.bash"
    acp_preset scripted --fork --plan-clears
    new_session -t solo --agent scripted
    serve
    "$MAS" serve token add other --full >"$T/other"
    "$MAS" serve token add look --read-only >"$T/look"
    while read -r path body other; do
        path=/sessions/$ID/$path
        api POST "$path" -d "$body" -H 'Idempotency-Key: one'
        [[ $status = 20[0-2] ]] || { echo "$path: $status $output"; false; }
        first=$output
        api POST "$path" -d "$body" -H 'Idempotency-Key: one'
        [ "$(header Idempotency-Replayed)" = true ]
        [ "$output" = "$first" ]
        api POST "$path" -d "$other" -H 'Idempotency-Key: one'
        refused 422 key_reused .
        TOKEN=$(cat "$T/look") api POST "$path" -d "$body" -H 'Idempotency-Key: one'
        [ "$status" = 403 ]
        TOKEN=wrong api POST "$path" -d "$body" -H 'Idempotency-Key: one'
        [ "$status" = 401 ]
        run ! grep -qF "$first" "$T/body"
        TOKEN=$(cat "$T/other") api POST "$path" -d "$body" -H 'Idempotency-Key: one'
        [ -z "$(header Idempotency-Replayed)" ]
        rm -f "$ROOT/sessions/.serve.keys"/*
        done=$((done + 1))
    done <<'END'
agents/solo/prompts {"prompt":"SAY:a"} {"prompt":"SAY:b"}
agents/solo/asides {"prompt":"SAY:a"} {"prompt":"SAY:b"}
messages {"target":"solo","message":"SAY:a"} {"target":"solo","message":"SAY:b"}
agents/solo/seen {} {"x":1}
agents/solo/cancel {} {"prompt":"x"}
agents/solo/mode {"mode":"plan"} {"mode":"default"}
agents/solo/options/model {"value":"large"} {"value":"small"}
agents/solo/clear {} {"then":"SAY:c"}
agents/solo/restart {} {"x":1}
archive {"live":true} {"live":false}
END
    [ "$done" -eq 10 ]
}
