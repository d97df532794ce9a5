#!/usr/bin/env bats
# GET /events, /metrics, /openapi.json.
load ../helper
load lib

# hear [CURL OPTION...]: listens; what comes is in $T/events
hear() {
    : >"$T/events"
    curl -sSN -m 60 -o "$T/events" -H "Authorization: Bearer $TOKEN" "$@" "$URL/events" 3>&- 2>/dev/null &
    LISTENER=$!
    eventually test -s "$T/events"
}
unhear() { kill "$LISTENER"; wait "$LISTENER" || true; }

# data TYPE: the objects of the events of a type
data() { awk -v type="$1" '/^event: / { is = $2 == type } /^data: / && is { print substr($0, 7) }' "$T/events"; }
came() { data "$1" | jq -se "any($2)" >/dev/null; }

@test "a session's life is told: created, started, its agents, stopped, removed" {
    serve
    hear
    new_session -t solo
    eventually came session.created '.[]; .sessionId == "'"$ID"'"'
    eventually came session.started '.[]; .sessionId == "'"$ID"'" and .status == "active"'
    eventually came agent.state '.[]; .agent == "solo" and .state == "idle"'
    "$MAS" stop -q "$ID"
    eventually came session.stopped '.[]; .sessionId == "'"$ID"'" and .crashed == false'
    "$MAS" start -q "$ID"
    twice() { [ "$(data session.started | wc -l)" -eq 2 ]; }
    eventually twice
    tm kill-session -t "=mas-${ID:0:8}"
    eventually came session.crashed '.[]; .sessionId == "'"$ID"'"'
    "$MAS" rm -qf "$ID"
    eventually came session.removed '.[]; .sessionId == "'"$ID"'"'
    grep '^id: ' "$T/events" | cut -c5- >"$T/ids"
    sort -nuc "$T/ids"
}

@test "damage is told" {
    new_session -t solo --no-start
    serve
    hear
    echo nonsense >"$ROOT/sessions/$ID/.session"
    "$MAS" new -q -t solo --no-start
    eventually came session.created '.[]; .sessionId != "'"$ID"'"'
    "$MAS" doctor || true
}

@test "messages are told" {
    new_session -t solo
    serve
    hear
    post "/sessions/$ID/messages" '{"target":"all","message":"true"}'
    is 200
    eventually came message '.[]; .agent == "solo" and .role == "user" and .text == "true"'
}

@test "who comes back with Last-Event-ID gets what it missed" {
    serve
    hear
    new_session -t solo --no-start
    eventually came session.created '.[]; .sessionId == "'"$ID"'"'
    last=$(awk '/^id: / { id = $2 } END { print id }' "$T/events")
    unhear
    first=$ID
    new_session -t solo --no-start
    hear -H "Last-Event-ID: $last"
    eventually came session.created '.[]; .sessionId == "'"$ID"'"'
    run ! grep -q "$first" "$T/events"
    unhear
    hear -H 'Last-Event-ID: 17'
    eventually grep -q '^event: reset' "$T/events"
}

@test "many listen" {
    serve
    for n in {1..40}; do
        curl -sSN -m 60 -o "$T/events.$n" -H "Authorization: Bearer $TOKEN" "$URL/events" 2>/dev/null 3>&- &
    done
    for n in {1..40}; do eventually test -s "$T/events.$n"; done
    new_session -t solo --no-start
    for n in {1..40}; do eventually grep -q "$ID" "$T/events.$n"; done
    api GET /metrics
    grep -qx 'mas_event_listeners 40' <<<"$output"
    jobs -p | grep -vx "$SERVER" | xargs kill
}

@test "one that does not read is hung up on, the others go on" {
    serve
    hear
    python3 - "${URL##*:}" "$TOKEN" "$T/deaf" 3>&- <<'END' &
import socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
s.connect(("127.0.0.1", int(sys.argv[1])))
s.send(b"GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + sys.argv[2].encode() + b"\r\n\r\n")
open(sys.argv[3], "w").write("x")
time.sleep(50)
END
    eventually test -s "$T/deaf"
    new_session -t solo --no-start
    eventually came session.created '.[]; .sessionId == "'"$ID"'"'
    api GET /sessions
    is 200
}

@test "metrics are what is so, in the text format" {
    new_session -t solo
    "$MAS" new -q -t solo --no-start
    serve
    api GET /sessions
    api GET /nothing
    api GET /metrics
    is_metric() { grep -qxF "$1" <<<"$output"; }
    [ "$status" = 200 ]
    [[ $(header content-type) == text/plain* ]]
    is_metric 'mas_sessions{status="active"} 1'
    is_metric 'mas_sessions{status="stopped"} 1'
    is_metric 'mas_http_requests_total{route="/sessions",method="GET",status="200"} 1'
    is_metric 'mas_http_requests_total{route="other",method="",status="404"} 1'
    run ! grep -vE '^(# (HELP|TYPE) mas_[a-z_]+ .*|mas_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.]+)$' <<<"$output"
}

@test "the description names every address and method, and no other" {
    serve
    api GET /openapi.json
    is 200 '.openapi == "3.1.0"'
    [ "$(jq -r '.paths | to_entries[] | .key as $p | .value | keys[] | select(. != "parameters") | "\(.) \($p)"' \
        <<<"$output" | sort)" = "$(sed -n 's/^    {METHOD_\([A-Z]*\), "\([^"]*\)".*/\1 \2/p' "$PROJECT/src/serve/api.c" |
        awk '{ print tolower($1), $2 }' | sort)" ]
    jq -r '.. | objects | select(has("$ref")) | .["$ref"]' <<<"$output" | sort -u | while IFS= read -r ref; do
        jq -e "getpath(\"${ref#\#/}\" | split(\"/\"))" <<<"$output" >/dev/null
    done
}
