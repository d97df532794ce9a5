#!/usr/bin/env bats
# GET /events, /metrics, /openapi.json.
load ../helper
load ../host/lib
load ../acp/lib
load lib
load ../project

is_state() { [ "$("$MAS" status "$ID" --json | jq -r ".sessions[].agents[] | select(.id == \"$1\").state")" = "$2" ]; }

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
    new_session -t solo
    serve
    hear
    echo nonsense >"$ROOT/sessions/$ID/.session"
    eventually came session.error '.[]; .sessionId == "'"$ID"'" and .status == "error"'
}

@test "what becomes of agents is told, with how they ended" {
    new_session -t pair
    eventually is_state lead idle
    serve
    hear
    "$MAS" send "$ID" lead 'sleep 1000'
    eventually came agent.state '.[]; .sessionId == "'"$ID"'" and .agent == "lead" and .state == "working"'
    "$MAS" send "$ID" reviewer 'exit 3'
    eventually came agent.state '.[]; .agent == "reviewer" and .state == "exited" and .exitCode == 3'
    "$MAS" restart -q "$ID" reviewer
    eventually came agent.state '.[]; .agent == "reviewer" and .state == "idle"'
}

@test "what an agent on a terminal is sent is told once, whoever sends it" {
    new_session -t pair
    eventually is_state reviewer idle
    serve
    hear
    "$MAS" send "$ID" lead 'true "one"'
    "$MAS" send "$ID" reviewer --from lead 'true two'
    post "/sessions/$ID/messages" '{"target":"all","message":"true three"}'
    is 200
    four() { [ "$(data message | wc -l)" -ge 4 ]; }
    eventually four
    "$MAS" send "$ID" lead 'true last'
    eventually came message '.[]; .text == "true last"'
    [ "$(data message | jq -c '[.agent, .role, .from, .text]' | sort)" = "$(sort <<'END'
["lead","user",null,"true \"one\""]
["reviewer","user","lead","true two"]
["lead","user",null,"true three"]
["reviewer","user",null,"true three"]
["lead","user",null,"true last"]
END
)" ]
    [ "$(data message | jq -r .sessionId | sort -u)" = "$ID" ]
}

@test "a long message is told cut, between characters" {
    new_session -t solo
    serve
    hear
    printf '%.0s# 123456789 123456789 12345 äöü\n' {1..2000} >"$T/long"
    "$MAS" send "$ID" solo --file "$T/long"
    eventually came message '.[]; .truncated'
    data message | jq -rj .text | cmp -n 65000 - "$T/long"
    [ "$(data message | jq -rj .text | wc -c)" -le 65536 ]
    data message | jq -rj .text | iconv -f UTF-8 -t UTF-8 >/dev/null
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
    for old in 17 -1 "$last"x 99999999999999999999; do
        unhear
        hear -H "Last-Event-ID: $old"
        eventually grep -q '^event: reset' "$T/events"
    done
}

@test "who has heard nothing yet gets what happened since as well" {
    serve
    hear
    last=$(awk '/^id: / { id = $2 } END { print id }' "$T/events")
    unhear
    new_session -t solo --no-start
    hear -H "Last-Event-ID: $last"
    eventually came session.created '.[]; .sessionId == "'"$ID"'"'
    run ! grep -q '^event: reset' "$T/events"
}

@test "another server knows nothing of before, and says so" {
    serve
    hear
    new_session -t solo --no-start
    eventually came session.created '.[]; .sessionId == "'"$ID"'"'
    last=$(awk '/^id: / { id = $2 } END { print id }' "$T/events")
    kill "$SERVER"
    wait "$SERVER" "$LISTENER" || true
    serve
    hear -H "Last-Event-ID: $last"
    eventually grep -q '^event: reset' "$T/events"
}

@test "a listener to whom nothing is told gets a comment every 15 seconds" {
    serve
    hear
    comments() { [ "$(grep -c '^:' "$T/events")" -ge "$1" ]; }
    eventually comments 1
    [ "$SECONDS" -lt 30 ]
    n=$(grep -c '^:' "$T/events")
    eventually comments $((n + 1))
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
    new_session -t solo
    eventually is_state solo idle
    serve
    hear
    python3 - "${URL##*:}" "$TOKEN" "$ID" "$T/deaf" 3>&- <<'END'
import http.client, json, socket, sys, time
port, token, session = int(sys.argv[1]), sys.argv[2], sys.argv[3]
auth = {"Authorization": "Bearer " + token}
deaf = socket.socket()
deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
deaf.connect(("127.0.0.1", port))
deaf.send(b"GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n")

def ask(method, path, body=None):
    c = http.client.HTTPConnection("127.0.0.1", port)
    c.request(method, path, body, auth)
    text = c.getresponse().read()
    c.close()
    return text.decode()

def listeners():
    return int(ask("GET", "/metrics").split("mas_event_listeners ")[-1].split()[0])

while listeners() != 2:
    time.sleep(0.02)
said = json.dumps({"target": "solo", "message": "#\t\t\t\t\t\t\t\t\n" * 6000})
sent = 0
while listeners() == 2:
    assert sent < 200, "it is never hung up on"
    ask("POST", "/sessions/%s/messages" % session, said)
    sent += 1
deaf.settimeout(10)
try:
    while deaf.recv(65536):
        pass
except ConnectionResetError:
    pass
open(sys.argv[4], "w").write(str(sent))
END
    new_session -t solo --no-start
    eventually came session.created '.[]; .sessionId == "'"$ID"'"'
    all() { [ "$(data message | wc -l)" -eq "$(cat "$T/deaf")" ]; }
    eventually all
}

@test "hosts that go while a command is being started are forgotten" {
    command -v strace >/dev/null || skip "strace is not installed"
    export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 # not to be looked for under strace
    new_session -t solo
    local first=$ID
    new_session -t solo
    serve
    hear
    strace -f -qq -o "$T/trace" -e trace=execve -e inject=execve:delay_enter=1000000 -p "$SERVER" 3>&- &
    local strace=$!
    traced() { [ "$(awk '/^TracerPid/ { print $2 }' "/proc/$SERVER/status")" != 0 ]; }
    eventually traced
    curl -sS -m 30 -o "$T/stopped" -X POST -H "Authorization: Bearer $TOKEN" "$URL/sessions/$first/stop" 3>&- &
    local stop=$!
    starts() { pgrep -P "$SERVER" >/dev/null; }
    eventually starts
    tm kill-session -t "=mas-${ID:0:8}"
    wait "$stop"
    kill "$strace"
    wait "$strace" || true
    jq -e '.status == "stopped"' "$T/stopped"
    eventually came session.crashed '.[]; .sessionId == "'"$ID"'"'
    api GET /sessions
    is 200 '.total == 2'
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

@test "metrics count what all starts of agents came to, also without a server and of sessions that are gone" {
    # shellcheck disable=SC2329 # called by eventually
    counts() {
        api GET /metrics
        grep -qxF "mas_agent_starts_total{outcome=\"resumed\"} $1" <<<"$output" &&
            grep -qxF "mas_agent_starts_total{outcome=\"fresh\"} $2" <<<"$output"
    }
    acp_team pair
    eventually is_state reviewer idle
    "$MAS" ask "$ID" lead CW-ONE >/dev/null
    "$MAS" restart -q "$ID" lead
    eventually is_state lead idle
    "$MAS" restart -q "$ID" lead
    serve
    eventually counts 2 2
    grep -qxF '# TYPE mas_agent_starts_total counter' <<<"$output"
    "$MAS" clear "$ID" lead # a new session of a process is no start
    "$MAS" ask "$ID" lead CW-TWO >/dev/null
    "$MAS" rm -qf "$ID"
    counts 2 2
    "$MAS" doctor
    echo x >"$ROOT/sessions/.starts"
    counts 0 0
    new_session -t solo --agent scripted
    eventually counts 0 1
}

@test "a mode or an option that is set anywhere is told" {
    acp_agent
    serve
    hear
    "$MAS" ask "$ID" solo SAY:there >/dev/null
    eventually came message '.[]; .role == "agent"'
    before=$(data agent.settings | wc -l)
    told() { [ "$(data agent.settings | wc -l)" -ge $((before + $1)) ]; }
    "$MAS" set "$ID" solo mode=plan
    eventually told 1
    "$MAS" set "$ID" solo model=large
    eventually told 2
    [ "$(data agent.settings | tail -n 1 | jq -c .)" = '{"sessionId":"'"$ID"'","agent":"solo"}' ]
}

@test "the description is one of OpenAPI that names nothing which is not in it" {
    serve
    describe
    jq -e '.openapi == "3.1.0" and (.paths | length) > 50' "$T/openapi.json"
    # whoever follows it asks the server that it came from
    jq -e '.servers == [{"url": "/"}]' "$T/openapi.json"
    jq -r '.. | objects | select(has("$ref")) | .["$ref"]' "$T/openapi.json" | sort -u | while IFS= read -r ref; do
        jq -e "getpath(\"${ref#\#/}\" | split(\"/\"))" "$T/openapi.json" >/dev/null
    done
    # and has nothing that no address names, or another part that one does
    jq -r '.components | to_entries[] | .key as $k | .value | keys[] | "#/components/\($k)/\(.)"' "$T/openapi.json" |
        grep -v securitySchemes | while IFS= read -r part; do
        grep -qF "\"$part\"" "$T/openapi.json" || { echo "nothing names $part"; return 1; }
    done
}

@test "the manual names every address" {
    local path bad=0
    serve
    describe
    # "POST /sessions/id/stop , /start" are two
    sed -n 's/^\.\(It \)\{0,1\}Cm //p' "$PROJECT/man/mas-serve.8" |
        sed 's/ Ns Ar \([a-z]*\)/\1/g; s/ Ns Cm //g; s/ , Cm / , /g; s/ [,;.]$//; s/^[A-Z]* //' | awk '{
            n = split($0, part, / , /); base = part[1]; sub("/[^/]*$", "", base); print part[1]
            for (i = 2; i <= n; i++) { print part[i]; print base part[i] }
        }' >"$T/told"
    while IFS= read -r path; do
        path=${path//\{id\}/id} path=${path//\{agent\}/agent} path=${path//\{item\}/[a-z]*}
        grep -qx "$path" "$T/told" || { echo "mas-serve.8 does not name $path"; bad=1; }
    done < <(jq -r '.paths | keys[]' "$T/openapi.json")
    [ "$bad" = 0 ]
}

# A session with two agents that have a repository each.
code_session() {
    make_project
    sed -i '/^\[agent reviewer\]/,/^\[/s/^code = .*/code = worktree/' "$ROOT/templates/pair/template.ini"
    new_session -t pair -n one --no-start --project "$P"
}

@test "what becomes of the code of a session is told: merged, conflict, landed" {
    code_session
    serve
    hear
    eventually grep -q '^id: ' "$T/events"
    commit lead c 'of lead'
    commit reviewer c 'of reviewer'
    "$MAS" merge -q one lead
    eventually came merged ".[]; .sessionId == \"$ID\" and .agent == \"lead\" and .branch == \"mas/one/main\" and .commits == 1"
    [ "$(data merged | jq -r .commit)" = "$(git -C "$(tree_of lead)" rev-parse HEAD)" ]
    run ! "$MAS" merge -q one reviewer
    eventually came conflict '.[]; .agent == "reviewer" and .files == ["c"] and .more == 0'
    "$MAS" land -q one
    eventually came landed '.[]; .agent == null and .branch == "main" and .commits == 1 and .files == []'
    # what does nothing tells nothing; what comes from the project is told too
    "$MAS" merge -q one lead
    echo more >>"$P/a"
    git -C "$P" commit -qam 'More'
    "$MAS" sync -q one lead --project
    eventually came merged '.[]; .agent == null'
    [ "$(data merged | wc -l)" -eq 2 ]
    # a client that comes later is told nothing old
    kill "$LISTENER"
    hear
    eventually grep -q '^id: ' "$T/events"
    commit lead d 'd'
    "$MAS" merge -q one lead
    eventually came merged '.[]; .agent == "lead"'
    [ "$(data merged | wc -l)" -eq 1 ]
    run "$MAS" logs one
    [[ $output == *'merged agent=lead branch=mas/one/main commits=1 '* ]]
    [[ $output == *'conflict agent=reviewer branch=mas/one/main commits=1 '*'files=c'* ]]
    [[ $output == *'landed branch=main commits=1 '* ]]
    [[ $output == *'synced agent=lead '* ]]
    [ "$(stat -c %a "$ROOT/sessions/.sessions.events")" = 600 ]
    run "$MAS" doctor
    [[ $output != *sessions.events* ]]
}

@test "names of files in a conflict are told whole, or made visible" {
    code_session
    local odd=$'a b\n"x"\e[31m'
    commit lead "$odd" 1
    commit reviewer "$odd" 2
    "$MAS" merge -q one lead
    serve
    hear
    eventually grep -q '^id: ' "$T/events"
    run ! "$MAS" merge -q one reviewer
    eventually came conflict '.[]; .files == ["a b\\x0a\"x\"\\x1b[31m"]'
}

@test "lines that are no events of code, and too long ones, are skipped" {
    code_session
    serve
    hear
    eventually grep -q '^id: ' "$T/events"
    {
        echo nonsense
        echo '{"event":"session.removed","sessionId":"'"$ID"'"}'
        echo '{"event":"merged","sessionId":"../x"}'
        head -c 200000 /dev/zero | tr '\0' x
        echo
        printf '{"event":"merged","sessionId":"%s","agent":"half"' "$ID"
    } >>"$ROOT/sessions/.sessions.events"
    echo '}' >>"$ROOT/sessions/.sessions.events"
    commit lead c 'of lead'
    "$MAS" merge -q one lead
    eventually came merged '.[]; .agent == "lead"'
    [ "$(data merged | jq -r .agent | xargs)" = 'half lead' ]
    [ -z "$(data session.removed)" ]
}
