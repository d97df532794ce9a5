#!/usr/bin/env bats
# shellcheck disable=SC2153,SC2317 # TOKEN is lib.bash's; called by name
# Archives of sessions as bodies, both ways.
load ../helper
load lib

# What is left of transfers.
left() { find "$ROOT/sessions" -maxdepth 1 -name '.serve.transfer-*'; }
nothing_left() { [ -z "$(left)" ]; }
# download FILE [QUERY]
download() {
    status=$(curl -sS -m 60 -o "$1" -D "$T/head" -w '%{http_code}' -H "Authorization: Bearer $TOKEN" "$URL/sessions/$ID/archive${2-}")
    output=$(head -c 2000 "$1" | tr -d '\0')
}
# upload FILE [QUERY] [CURL OPTION...]
upload() { api POST "/restores${2-}" -H 'Content-Type: application/zstd' "${@:3}" --data-binary "@$1"; }

@test "an archive that is downloaded is one, and restores the session elsewhere" {
    new_session -t solo -n shop --no-start
    echo kept >"$ROOT/sessions/$ID/unit/solo/mine"
    serve
    download "$T/a.tar.zst"
    is 200
    [ "$(header content-type)" = application/zstd ]
    [ "$(header content-length)" = "$(stat -c %s "$T/a.tar.zst")" ]
    [[ $(header content-disposition) == *"$ID.tar.zst"* ]]
    nothing_left
    upload "$T/a.tar.zst"
    refused 409 conflict "$ID"
    nothing_left
    api DELETE "/sessions/$ID"
    is 200
    upload "$T/a.tar.zst"
    is 201 ".sessionId == \"$ID\" and .status == \"stopped\""
    [ "$(cat "$ROOT/sessions/$ID/unit/solo/mine")" = kept ]
    upload "$T/a.tar.zst" '?newId=true&name=copy'
    is 201 '.name == "copy"'
    [ "$(jq -r .sessionId <<<"$output")" != "$ID" ]
    [ "$("$MAS" list -q --all | wc -l)" -eq 2 ]
    nothing_left
    "$MAS" doctor
}

@test "a running session is downloaded only live" {
    new_session -t solo
    serve
    download "$T/a"
    refused 409 conflict ''
    jq -e '.error.hint | test("mas [a-z]") | not' <<<"$output"
    download "$T/a" '?live=true'
    is 200
    "$MAS" restore -q --new-id "$T/a"
    download "$T/a" '?live=maybe'
    refused 400 bad_request live
    nothing_left
}

@test "what is no archive, or not all of one, leaves nothing" {
    new_session -t solo --no-start
    serve
    download "$T/whole"
    "$MAS" rm "$ID"
    head -c 1000 "$T/whole" >"$T/cut"
    head -c 100000 /dev/urandom >"$T/noise"
    : >"$T/empty"
    for file in cut noise empty; do
        upload "$T/$file"
        refused 422 damaged ''
        nothing_left
        [ "$("$MAS" list -q --all | wc -l)" -eq 0 ]
    done
    # a client that goes away in the middle
    exec 9<>"/dev/tcp/127.0.0.1/${URL##*:}"
    printf 'POST /restores HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 100000\r\n\r\nabc' "$TOKEN" >&9
    arrived() { [ -n "$(left)" ]; }
    eventually arrived
    exec 9>&-
    eventually nothing_left
    [ "$("$MAS" list -q --all | wc -l)" -eq 0 ]
    upload "$T/whole" '?name=a%20b'
    refused 400 bad_request name
    upload "$T/whole" '?newId=1'
    refused 400 bad_request newId
    api POST /restores -H 'Content-Length: 99999999999' --data-binary x
    refused 413 too_large ''
    nothing_left
}

@test "only who may do everything sends or gets an archive" {
    new_session -t solo --no-start
    serve
    TOKEN=$("$MAS" serve token add look --read-only)
    download "$T/a"
    refused 403 missing_right full
    upload "$T/a"
    refused 403 missing_right full
    nothing_left
}

@test "a download is cut when its token is removed" {
    new_session -t solo --no-start
    head -c 32M /dev/urandom >"$ROOT/sessions/$ID/unit/solo/large"
    serve
    TOKEN=$("$MAS" serve token add phone --full)
    mkfifo "$T/pipe" # more than the sockets hold waits until it is read
    curl -sS -m 60 -o "$T/pipe" -H "Authorization: Bearer $TOKEN" "$URL/sessions/$ID/archive" 3>&- 2>"$T/said" &
    CURL=$!
    exec 8<"$T/pipe"
    head -c 1000 <&8 >/dev/null
    "$MAS" serve token remove phone
    api GET /sessions
    is 401
    cat <&8 >/dev/null
    exec 8<&-
    wait "$CURL" && ended=0 || ended=$?
    [ "$ended" = 18 ] || { echo "curl ended with $ended: $(cat "$T/said")"; false; } # not all of it came
    eventually nothing_left
}

@test "a restore with an Idempotency-Key is done once" {
    new_session -t solo --no-start
    serve
    download "$T/a"
    upload "$T/a" '?newId=true' -H 'Idempotency-Key: k'
    is 201
    first=$output
    upload "$T/a" '?newId=true' -H 'Idempotency-Key: k'
    is 201
    [ "$output" = "$first" ]
    echo >>"$T/a"
    upload "$T/a" '?newId=true' -H 'Idempotency-Key: k'
    refused 422 key_reused ''
    [ "$("$MAS" list -q --all | wc -l)" -eq 2 ]
    nothing_left
}

@test "the server needs the same memory for an archive of any size" {
    new_session -t solo --no-start
    head -c 64M /dev/urandom >"$ROOT/sessions/$ID/unit/solo/large"
    serve
    # the highest that its memory has been, in KiB
    peak() { awk '/^VmHWM:/ { print $2 }' "/proc/$SERVER/status"; }
    api GET /sessions
    before=$(peak)
    download "$T/a"
    is 200
    [ "$(stat -c %s "$T/a")" -gt $((60 << 20)) ]
    upload "$T/a" '?newId=true'
    is 201
    [ $(($(peak) - before)) -lt $((16 << 10)) ] || { echo "$before, then $(peak)"; false; }
}

@test "what a killed server has left goes with the next one" {
    new_session -t solo --no-start
    serve
    : >"$ROOT/sessions/.serve.transfer-$ID"
    kill -9 "$SERVER"; wait "$SERVER" || true
    serve
    nothing_left
}

@test "an archive has no ranges, and says so before it is made" {
    new_session -t solo --no-start
    serve
    api GET "/sessions/$ID/archive" -H 'Range: bytes=0-9'
    refused 416 no_ranges 'made anew'
    api GET "/sessions/$ID/archive" -H 'Range: bytes=0-9' -H 'If-Range: "x"'
    [ "$status" = 200 ]
    [ "$(header Accept-Ranges)" = none ]
    describe
    jq -e '.paths["/sessions/{id}/archive"].get.responses["416"]' "$T/openapi.json"
}
