#!/usr/bin/env bats
# Logs over HTTP: whole, in ranges, and as they grow.
load ../helper
load ../host/lib
load lib

# A session with an agent that prints what it is told, and its log
talker() {
    [ -n "${LOG-}" ] || preset talker "sh -c 'stty -echo -onlcr; while IFS= read -r line; do printf \"%s\n\" \"\$line\"; done'"
    new_session -t solo --agent talker
    DIR=$ROOT/sessions/$ID
    LOG=$DIR/logs/agent-solo.log
    at=/sessions/$ID/agents/solo/log
}
tell() {
    "$MAS" send "$ID" solo "$1"
    eventually grep -qF "$1" "$LOG"
}
# range BYTES CURL-OPTION...: asks for a range of the log
range() { api GET "$at" -H "Range: bytes=$1" "${@:2}"; }
body_is() { cmp "$T/body" "$1"; }

# follow [CURL OPTION...]: what comes is in $T/grown
follow() {
    : >"$T/grown"
    curl -sSN -m 60 -o "$T/grown" -D "$T/grown.head" -H "Authorization: Bearer $TOKEN" "$@" "$URL$at?follow=true" 3>&- &
    FOLLOWER=$!
    eventually test -s "$T/grown.head"
}
descriptors() { find "/proc/$SERVER/fd" -lname "$1" 2>/dev/null | wc -l; }

@test "a log is what the agent has printed, whole and in each range" {
    talker
    tell "$(printf 'line %s ' {1..100})"
    serve
    size=$(stat -c %s "$LOG")
    api GET "$at"
    is 200
    body_is "$LOG"
    [ "$(header Accept-Ranges)" = bytes ]
    [ "$(header Content-Type)" = application/octet-stream ]
    etag=$(header ETag)
    local first last
    for one in "0-0 0 0" "5-9 5 9" "5- 5 $((size - 1))" "-7 $((size - 7)) $((size - 1))" "-999999 0 $((size - 1))" \
        "10-999999999999999999999 10 $((size - 1))" "$((size - 1))- $((size - 1)) $((size - 1))"; do
        read -r asked first last <<<"$one"
        range "$asked"
        is 206
        [ "$(header Content-Range)" = "bytes $first-$last/$size" ]
        [ "$(header Content-Length)" = $((last - first + 1)) ]
        body_is <(tail -c +$((first + 1)) "$LOG" | head -c $((last - first + 1)))
    done
    for asked in "$size-" "$((size + 5))-$((size + 9))" -0 999999999999999999999-; do
        range "$asked"
        refused 416 no_such_range "$size bytes"
        [ "$(header Content-Range)" = "bytes */$size" ]
    done
    # what is no range, or several, is ignored
    for asked in x 5 5-4 - 1-2,4-5 '1 - 2' ' 1-2x'; do
        range "$asked"
        is 200
        body_is "$LOG"
    done
    range 0-3 -H "If-Range: $etag"
    is 206
    range 0-3 -H 'If-Range: "0"'
    is 200
    # it grows, and the tag stays
    tell more
    range "$size-" -H "If-Range: $etag"
    is 206
    body_is <(tail -c +$((size + 1)) "$LOG")
    at=/sessions/$ID/log
    api GET "$at"
    is 200
    body_is "$DIR/logs/session.log"
}

@test "a tag changes when other bytes get the same numbers" {
    talker
    tell first
    serve
    api GET "$at"
    etag=$(header ETag)
    cp "$LOG" "$LOG.1"
    tell second
    range 0-3 -H "If-Range: $etag"
    is 200
    [ "$(header ETag)" != "$etag" ]
    body_is <(cat "$LOG.1" "$LOG")
}

@test "a log that is followed grows until the client leaves" {
    talker
    tell first
    serve
    size=$(stat -c %s "$LOG")
    before=$(descriptors 'anon_inode:inotify')
    follow
    eventually cmp -s "$T/grown" "$LOG"
    grep -q '^HTTP/1.1 200' "$T/grown.head"
    for i in 1 2 3; do tell "line $i" && eventually cmp -s "$T/grown" "$LOG"; done
    kill "$FOLLOWER"
    gone() { [ "$(descriptors anon_inode:inotify)" -eq "$before" ]; }
    eventually gone
    follow -H "Range: bytes=$size-"
    rest() { tail -c +$((size + 1)) "$LOG" | cmp -s - "$T/grown"; }
    eventually rest
    tr -d '\r' <"$T/grown.head" | grep -qx "Content-Range: bytes $size-9007199254740991/\*"
    tell last
    eventually rest
    # with an end, it ends there
    api GET "$at?follow=true" -H "Range: bytes=2-5"
    is 206
    body_is <(head -c 6 "$LOG" | tail -c 4)
    kill "$FOLLOWER"
    eventually gone
}

@test "who follows a log is hung up on when the session is removed, the token goes, or the server ends" {
    talker
    tell first
    serve
    follow
    eventually cmp -s "$T/grown" "$LOG"
    "$MAS" rm -qf "$ID"
    wait "$FOLLOWER"
    talker
    tell first
    own=$TOKEN
    TOKEN=$("$MAS" serve token add look --read-only)
    follow
    eventually cmp -s "$T/grown" "$LOG"
    "$MAS" serve token remove look
    rc=0
    wait "$FOLLOWER" || rc=$?
    [ "$rc" -ne 28 ]
    TOKEN=$own
    follow
    eventually cmp -s "$T/grown" "$LOG"
    kill "$SERVER"
    wait "$FOLLOWER"
    wait "$SERVER" || true
    SERVER=
}

@test "what is not there has no log" {
    talker
    serve
    at=/sessions/$ID/agents/nobody/log
    api GET "$at"
    refused 404 not_found nobody
    is 404 '.error.hint | startswith("the team has: ")'
    at=/sessions/11111111-1111-4111-8111-111111111111/agents/solo/log
    api GET "$at"
    refused 404 not_found 'no session'
    at=/sessions/$ID/agents/solo/log
    api GET "$at?follow=perhaps"
    refused 400 bad_request 'follow: it is neither'
    rm -r "$DIR/logs"
    mkdir "$DIR/logs"
    ln -s /etc/passwd "$DIR/logs/agent-solo.log"
    api GET "$at"
    run ! grep -q root: "$T/body"
}
