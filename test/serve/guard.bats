#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2153,SC2317 # quotes that are meant; TOKEN is lib.bash's; called by name
# Who is let through: tokens, Host, Origin, where it listens; what is too large or too slow; one
# server a root; how it ends.
load ../helper
load lib

code() { curl -sS -m 30 -o "$T/body" -w '%{http_code}' "$@"; }

@test "without the right token nothing is told but health" {
    serve
    [ "$(code "$URL/healthz")" = 200 ]
    [ "$(jq -r .status <"$T/body")" = ok ]
    for path in /sessions /metrics /openapi.json /events /sessions/x /nothing; do
        [ "$(code "$URL$path")" = 401 ]
        [ "$(jq -r .error.code <"$T/body")" = unauthorized ]
    done
    for token in '' x "${TOKEN%?}" "${TOKEN}x" "$TOKEN$TOKEN" "$(tr a-f A-F <<<"$TOKEN")"; do
        [ "$(code -H "Authorization: Bearer $token" "$URL/sessions")" = 401 ]
    done
    [ "$(code -H "Authorization: Basic $TOKEN" "$URL/sessions")" = 401 ]
    [ "$(code -X POST -d '{"agents":{}}' "$URL/runs")" = 401 ]
    [ "$("$MAS" list -q | wc -l)" -eq 0 ]
}

@test "each address in the description needs the token, and refuses a foreign Host and Origin" {
    serve
    api GET /openapi.json
    is 200
    jq -r '.paths | to_entries[] | .key as $p | .value | keys[] | select(. != "parameters") | "\(ascii_upcase) \($p)"' \
        <<<"$output" | grep -vE ' (/healthz|/|/page/\{item\})$|^(POST|DELETE) /pair$' >"$T/addresses"
    [ "$(wc -l <"$T/addresses")" -gt 20 ]
    while read -r method path; do
        path=${path//\{id\}/11111111-1111-4111-8111-111111111111}
        path=${path//\{agent\}/solo} path=${path//\{item\}/x}
        [ "$(code -X "$method" -d '{}' "$URL$path")" = 401 ]
        for header in 'Host: evil.example' 'Origin: https://evil.example' 'Origin: null'; do
            [ "$(code -X "$method" -d '{}' -H "Authorization: Bearer $TOKEN" -H "$header" "$URL$path")" = 403 ]
        done
    done <"$T/addresses"
}

@test "the token is made once, for the owner alone; one that others can read is refused" {
    serve
    [ "$(stat -c %a "$ROOT/serve.token")" = 600 ]
    [ "${#TOKEN}" -eq 64 ]
    kill "$SERVER"; wait "$SERVER"
    serve
    [ "$(cat "$ROOT/serve.token")" = "$TOKEN" ]
    kill "$SERVER"; wait "$SERVER"; SERVER=
    chmod 644 "$ROOT/serve.token"
    fails 1 serve --listen 127.0.0.1:0
    [[ $stderr == *'others may read it'*chmod* ]]
    chmod 600 "$ROOT/serve.token"; echo short >"$ROOT/serve.token"
    fails 1 serve --listen 127.0.0.1:0
    [[ $stderr == *'16 to 1024'* ]]
}

@test "a token file of one's own" {
    (umask 077 && echo my-own-secret-token-1234 >"$T/token")
    "$MAS" serve --listen 127.0.0.1:0 --token-file "$T/token" >"$T/serve.out" 3>&- &
    SERVER=$!
    eventually test -s "$T/serve.out"
    [ "$(code -H 'Authorization: Bearer my-own-secret-token-1234' "$(cat "$T/serve.out")/sessions")" = 200 ]
    [ ! -e "$ROOT/serve.token" ]
}

@test "a Host that is a foreign name, or an Origin that is not ours, is forbidden" {
    printf '[serve]\nhosts = team.example\n' >>"$ROOT/mas.ini"
    serve
    for host in evil.example localhost.evil.example 127.0.0.1.evil.example '[::1' 'localhost:x' ''; do
        api GET /sessions -H "Host: $host"
        [[ $status = 403 || $status = 400 ]]
    done
    for host in localhost LOCALHOST:99 127.0.0.1:8765 '[::1]:80' 192.168.0.7 team.example; do
        api GET /sessions -H "Host: $host"
        is 200
    done
    for origin in null http://evil.example https://192.168.0.7 http://localhost.evil.example file://localhost \
        http://localhost http://localhost:3000 http://127.0.0.1:1 'http://[::1]:80' http://team.example:3000 "http://localhost:0${URL##*:}"; do
        api GET /sessions -H "Origin: $origin"
        refused 403 forbidden Origin
    done
    for origin in "http://localhost:${URL##*:}" "$URL" "http://team.example:${URL##*:}" https://team.example; do
        api GET /sessions -H "Origin: $origin"
        is 200
    done
    api GET /sessions -H 'Host: localhost:3000' -H 'Origin: http://localhost:3000' # by a tunnel
    is 200
}

@test "no path leads out, and no method is taken that is not there" {
    serve
    for path in /../etc/passwd /sessions/../../etc /sessions/%2e%2e /sessions/..%2f..%2fetc /sessions// \
        //sessions /sessions/ /sessions/a/b/c/d/e/f/g/h '/sessions/$(id)' /sessions%00 /Sessions \
        /sessions/11111111-1111-4111-8111-111111111111/agents/..%2f/history; do
        api GET "$path" --path-as-is
        is 404
    done
    api PUT /usage
    refused 405 bad_method PUT
    [ "$(header allow)" = 'GET, HEAD' ]
    api PUT /sessions
    [ "$(header allow)" = 'GET, HEAD, POST' ]
    api DELETE /runs
    is 405
    [ "$(header allow)" = POST ]
    api GET "/sessions/$(printf 'x%.0s' {1..4000})"
    is 404
    api GET "/sessions/$(printf 'x%.0s' {1..5000})"
    refused 414 too_long 4096
    api GET "/sessions?limit=$(printf '1%.0s' {1..5000})"
    refused 414 too_long 4096
}

@test "beyond loopback it needs TLS, or to be told" {
    fails 1 serve --listen 0.0.0.0:0
    [[ $stderr == *'others can reach it'*--tls-cert*--allow-remote* ]]
    fails 1 serve --listen '[::]:0'
    fails 2 serve --listen example.com:80
    serve --listen 0.0.0.0:0 --allow-remote
    [ "$(code "http://127.0.0.1:${URL##*:}/healthz")" = 200 ]
}

@test "TLS" {
    command -v openssl >/dev/null || skip "openssl is not installed"
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
        -keyout "$T/key" -out "$T/cert" 2>/dev/null
    mas serve --listen 127.0.0.1:0 --tls-cert "$T/cert"
    [ "$status" -ne 0 ]
    serve --tls-cert "$T/cert" --tls-key "$T/key"
    [[ $URL == https://127.0.0.1:* ]]
    [ "$(code --cacert "$T/cert" -H "Authorization: Bearer $TOKEN" "https://localhost:${URL##*:}/sessions")" = 200 ]
}

@test "the Unix socket needs no token, and is the owner's alone" {
    "$MAS" serve --unix "$T/sock" >"$T/serve.out" 3>&- &
    SERVER=$!
    eventually test -s "$T/serve.out"
    [ "$(cat "$T/serve.out")" = "unix:$T/sock" ]
    [ "$(stat -c %a "$T/sock")" = 600 ]
    [ ! -e "$ROOT/serve.token" ]
    [ "$(code --unix-socket "$T/sock" http://mas/sessions)" = 200 ]
    [ "$(code --unix-socket "$T/sock" -H 'Origin: http://evil.example' http://mas/sessions)" = 403 ]
    kill "$SERVER"; wait "$SERVER"; SERVER=
    [ ! -e "$T/sock" ]
}

@test "a socket that a killed server left is replaced, another file is not" {
    "$MAS" serve --unix "$T/sock" >"$T/serve.out" 3>&- &
    SERVER=$!
    eventually test -s "$T/serve.out"
    kill -9 "$SERVER"; wait "$SERVER" || true
    : >"$T/serve.out"
    "$MAS" serve --unix "$T/sock" >"$T/serve.out" 3>&- &
    SERVER=$!
    eventually test -s "$T/serve.out"
    kill "$SERVER"; wait "$SERVER"; SERVER=
    echo precious >"$T/sock"
    fails 4 serve --unix "$T/sock"
    [ "$(cat "$T/sock")" = precious ]
}

@test "a second server of a root says so; an address that is taken says so" {
    serve
    fails 4 serve --listen 127.0.0.1:0
    [[ $stderr == *"cannot serve '$ROOT'"*"$SERVER"* ]]
    "$MAS" init -q "$T/other"
    fails 1 --root "$T/other" serve --listen "127.0.0.1:${URL##*:}"
    [[ $stderr == *'in use'* ]]
}

@test "SIGTERM finishes what runs, and closes what only waits" {
    serve
    curl -sSN -m 30 -o "$T/events" -H "Authorization: Bearer $TOKEN" "$URL/events" 3>&- &
    listener=$!
    eventually test -s "$T/events"
    curl -sS -m 30 -o "$T/run" -w '%{http_code}' -H "Authorization: Bearer $TOKEN" \
        -d '{"agents":{},"template":"solo"}' "$URL/runs" >"$T/code" 3>&- &
    run=$!
    begun() { compgen -G "$ROOT/sessions/.new-*" >/dev/null || compgen -G "$ROOT/sessions/*-*-4*" >/dev/null; }
    eventually begun
    kill "$SERVER"
    wait "$run"
    [ "$(cat "$T/code")" = 201 ]
    wait "$listener"
    wait "$SERVER"
    SERVER=
    [ "$(field "$(jq -r .sessionId <"$T/run")" .status)" = active ]
}

@test "killed at any time it leaves sessions as they are" {
    new_session -t solo
    serve
    curl -sS -m 30 -H "Authorization: Bearer $TOKEN" -d '{"agents":{},"template":"solo"}' "$URL/runs" >/dev/null 2>&1 3>&- &
    begun() { compgen -G "$ROOT/sessions/.new-*" >/dev/null || [ "$("$MAS" list -q | wc -l)" -eq 2 ]; }
    eventually begun
    kill -9 "$SERVER"
    wait "$SERVER" || true
    settled() { ! compgen -G "$ROOT/sessions/.new-*" >/dev/null && [ "$("$MAS" list -q --active | wc -l)" -ge 1 ]; }
    eventually settled
    [ "$(field "$ID" .status)" = active ]
    "$MAS" doctor
    serve
    api GET /sessions
    is 200
}

@test "bodies that are too large are refused, also without a length" {
    new_session -t solo --no-start
    serve
    head -c 6000000 /dev/zero | tr '\0' x >"$T/large"
    api POST /runs --data-binary "@$T/large"
    refused 413 too_large ''
    api POST /runs -H 'Transfer-Encoding: chunked' --data-binary "@$T/large"
    refused 413 too_large ''
    api POST "/sessions/$ID/stop" --data-binary "@$T/large"
    refused 413 too_large ''
    # one of exactly the limit is taken
    local most
    most=$(jq -r '.error.message | capture("larger than (?<n>[0-9]+) bytes").n' <"$T/body")
    printf '{}%*s' "$((most - 2))" '' >"$T/most"
    printf '{}%*s' "$((most - 1))" '' >"$T/more"
    for length in 'X-None: x' 'Transfer-Encoding: chunked'; do
        api POST "/sessions/$ID/stop" -H "$length" --data-binary "@$T/most"
        is 200
        api POST "/sessions/$ID/stop" -H "$length" --data-binary "@$T/more"
        refused 413 too_large "larger than $most bytes"
    done
    api GET /sessions --data-binary x
    refused 413 too_large ''
    api GET /sessions -H "X-Long: $(head -c 60000 /dev/zero | tr '\0' x)"
    [[ $status = 431 || $status = 413 || $status = 414 ]]
    api GET /healthz
    is 200
}

# raw TEXT: what the server says to it; \r\n stand behind each line
raw() {
    printf '%s\n' "$1" | sed 's/$/\r/' >"$T/raw"
    exec 9<>"/dev/tcp/127.0.0.1/${URL##*:}"
    cat "$T/raw" >&9
    timeout 10 cat <&9 3>&- >"$T/said" || true
    exec 9>&-
}

@test "a head that can be read in two ways is refused" {
    serve
    local common="Connection: close"$'\n'"Authorization: Bearer $TOKEN"
    while IFS='|' read -r lines what; do
        raw "POST /runs HTTP/1.1"$'\n'"$common"$'\n'"$(tr ';' '\n' <<<"$lines")"$'\n\n{}'
        head -n 1 "$T/said" | grep -q ' 400 ' || { echo "$lines: $(cat "$T/said")"; return 1; }
        grep -q "$what" "$T/said" || { echo "$lines: $(cat "$T/said")"; return 1; }
    done <<'END'
Host: localhost;Host: evil.example;Content-Length: 2|duplicate header Host
Host: localhost;Origin: http://localhost;Origin: http://evil.example;Content-Length: 2|duplicate header Origin
Host: localhost;Authorization: Bearer x;Content-Length: 2|duplicate header Authorization
Host: localhost;Content-Length: 2;Content-Length: 200|duplicate header Content-Length
Host: localhost;Content-Length: 2;Transfer-Encoding: chunked|both Content-Length and Transfer-Encoding
Host: localhost;Transfer-Encoding: chunked;Transfer-Encoding: gzip|duplicate header Transfer-Encoding
Host: localhost;Transfer-Encoding: gzip, chunked|not chunked
Host: localhost;Transfer-Encoding: identity|not chunked
END
    [ "$("$MAS" list -q | wc -l)" -eq 0 ]
}

@test "what follows a body in pieces on its connection is not answered" {
    new_session -t solo --no-start
    serve
    local head="Host: localhost\r\nAuthorization: Bearer $TOKEN\r\n"
    printf '%b' "POST /sessions/$ID/stop HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" \
        "GET /sessions HTTP/1.1\r\n$head\r\n" >"$T/raw"
    exec 9<>"/dev/tcp/127.0.0.1/${URL##*:}"
    cat "$T/raw" >&9 # in one piece
    timeout 30 cat <&9 3>&- >"$T/said"
    exec 9>&-
    head -n 1 "$T/said" | grep -q '^HTTP/1.1 200 '
    [ "$(grep -o 'HTTP/1\.[01] [0-9]' "$T/said" | wc -l)" -eq 1 ] || { cat "$T/said"; false; }
}

@test "a line of a head that can be read in two ways is refused once, and what follows it is not answered" {
    serve
    local line version head="Host: localhost\r\nAuthorization: Bearer $TOKEN\r\n"
    while IFS='|' read -r version line; do
        printf '%b' "GET /sessions HTTP/$version\r\n$head$line\r\n\r\nGET /sessions HTTP/1.1\r\n$head\r\n" >"$T/raw"
        exec 9<>"/dev/tcp/127.0.0.1/${URL##*:}"
        cat "$T/raw" >&9 # in one piece
        timeout 30 cat <&9 3>&- >"$T/said" || { echo "$line: it is still open: $(cat "$T/said")"; return 1; }
        exec 9>&-
        head -n 1 "$T/said" | grep -q '^HTTP/1.1 400 ' || { echo "$line: $(cat "$T/said")"; return 1; }
        [ "$(grep -o 'HTTP/1\.[01] [0-9]' "$T/said" | wc -l)" -eq 1 ] || { echo "$line: $(cat "$T/said")"; return 1; }
    done <<'END'
1.1 HTTP/1.1|X: y
1.1\tHTTP/1.1|X: y
1.1\rX: y\r\rGET / HTTP/1.1|X: y
1.1|X : y
1.1|Content-Length\t: 0
1.1|X: a\r\n b
1.1|X: a\r\n\tTransfer-Encoding: chunked
1.1|X: a\nY: b
1.1|X: a\rY: b
1.1|X: a\0b
1.1|X\0: b
1.1|X: a\01b
1.1|: b
1.1|X b
1.1|Content-Length: +0
1.1|Content-Length: -0
1.1|Content-Length: 0 0
1.1|Content-Length: 0,0
1.1|Content-Length: 0x0
1.1|Content-Length: 99999999999999999999
1.1|Content-Length:
1.1|Content-Length: 0\r\nContent-Length: 0
1.0|Transfer-Encoding: chunked
1.1|Content-Length: 0\r\nTransfer-Encoding: chunked
END
    # what is common is not refused: a long head in pieces, an empty value, blanks around one
    exec 9<>"/dev/tcp/127.0.0.1/${URL##*:}"
    printf '%b' "GET /sessions?limit=1&offset=0 HTTP/1.1\r\n${head}Cookie: a=b; c=d\r\nX:\r\nY:  z \r\nLo" >&9
    printf '%b' "ng: $(head -c 20000 /dev/zero | tr '\0' x)\r" >&9
    printf '%b' "\nConnection: close\r\n\r\n" >&9
    timeout 30 cat <&9 3>&- >"$T/said"
    exec 9>&-
    head -n 1 "$T/said" | grep -q '^HTTP/1.1 200 '
}

@test "requests in one piece are answered one after the other, a half one is nothing" {
    serve
    local one="GET /sessions HTTP/1.1"$'\n'"Host: localhost"$'\n'"Authorization: Bearer $TOKEN"
    raw "$one"$'\n\n'"$one"$'\n\n'"$one"$'\n'"Connection: close"$'\n'
    [ "$(grep -c '^HTTP/1.1 200' <(sed 's/}HTTP/}\nHTTP/' "$T/said"))" -eq 3 ]
    for _ in {1..20}; do
        exec 9<>"/dev/tcp/127.0.0.1/${URL##*:}"
        printf 'POST /runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 99\r\n\r\n{"ag' "$TOKEN" >&9
        exec 9>&-
    done
    api GET /sessions
    is 200 '.total == 0'
    kill "$SERVER"; wait "$SERVER"; SERVER=
}

@test "on a full disk a run is a 507, and works once there is space" {
    local enter=(unshare --mount) small
    ((EUID == 0)) || enter+=(--user --map-root-user)
    mkdir "$T/small"
    "${enter[@]}" mount -t tmpfs -o size=2m none "$T/small" 2>/dev/null ||
        skip 'a tmpfs cannot be mounted here (no root, no user namespaces)'
    "${enter[@]}" bash -c 'mount -t tmpfs -o size=2m none "$1" && "$2" init -q "$1/root" &&
        exec "$2" --root "$1/root" serve --listen 127.0.0.1:0' _ "$T/small" "$MAS" >"$T/serve.out" 3>&- &
    SERVER=$!
    eventually test -s "$T/serve.out"
    small=/proc/$SERVER/root$T/small # where it is mounted
    URL=$(cat "$T/serve.out")
    TOKEN=$(cat "$small/root/serve.token")
    post /runs '{"agents":{},"template":"solo"}'
    is 201
    ID=$(jq -r .sessionId <<<"$output")
    post "/sessions/$ID/messages" '{"target":"solo","message":"true"}'
    is 200
    # a message to a busy agent waits in memory.db
    is_idle() { api GET "/sessions/$ID/agents/solo" && jq -e '.state == "idle" and .queued == 0' <<<"$output"; }
    eventually is_idle
    cat /dev/zero >"$small/fill" 2>/dev/null || true
    post /runs '{"agents":{},"template":"solo"}'
    refused 507 no_space 'No space left'
    post "/sessions/$ID/messages" '{"target":"solo","message":"true"}'
    is 200
    # a team that fills the disk can be stopped
    api POST "/sessions/$ID/stop"
    is 200 '.status == "stopped"'
    api GET /sessions
    is 200 '.total == 1 and .sessions[0].status == "stopped"'
    rm "$small/fill"
    api POST "/sessions/$ID/stop"
    is 200 '.status == "stopped"'
    post /runs '{"agents":{},"template":"solo"}'
    is 201
}

@test "500 connections that say nothing, and one that never ends its request, disturb nobody" {
    serve
    python3 - "${URL##*:}" "$T/ready" 3>&- <<'END' &
import socket, sys, time
all = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(500)]
all[0].send(b"POST /runs HTTP/1.1\r\nHost: localhost\r\nX: ")
open(sys.argv[2], "w").write("x")
time.sleep(60)
END
    idle=$!
    eventually test -s "$T/ready"
    for _ in 1 2 3; do
        api GET /sessions
        is 200
    done
    kill "$idle"
}

# half_open COUNT: so many connections to the server that have sent half a head. $T/ready tells that
# they stand, $T/ended how many of them the server has hung up on. $half is the process.
half_open() {
    python3 - "${URL##*:}" "$1" "$T" 3>&- <<'END' &
import select, socket, sys
port, count, place = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
poll, all = select.poll(), {}
for _ in range(count):
    s = socket.create_connection(("127.0.0.1", port))
    s.send(b"GET /sessions HTTP/1.1\r\nHost: localhost\r\nX: ")
    all[s.fileno()] = s
    poll.register(s, select.POLLIN)
open(place + "/ready", "w").write("x")
ended = 0
while all:
    for fd, _ in poll.poll():
        poll.unregister(fd)
        all.pop(fd).close()
        ended += 1
    with open(place + "/ended", "w") as f:
        f.write(str(ended))
END
    half=$!
    eventually test -s "$T/ready"
}

@test "1,500 half requests without a token keep nobody out" {
    serve --unix "$T/sock"
    half_open 1500
    for _ in 1 2 3; do
        api GET /sessions
        is 200
        [ "$(curl -sS -m 30 -o "$T/body" -w '%{http_code}' --unix-socket "$T/sock" http://mas/sessions)" = 200 ]
    done
    eventually eval '[ "$(cat "$T/ended")" -ge 1244 ]'
    kill "$half"
}

@test "a connection that has shown the token outlives a flood of strangers, and has its own places" {
    serve
    python3 - "${URL##*:}" "$TOKEN" <<'END'
import http.client, socket, sys
port, token = int(sys.argv[1]), sys.argv[2]
head = {"Authorization": "Bearer " + token}
def ask(c):
    c.request("GET", "/sessions", headers=head)
    r = c.getresponse()
    r.read()
    return r.status
known = [http.client.HTTPConnection("127.0.0.1", port, timeout=30) for _ in range(300)]
assert all(ask(c) == 200 for c in known)
socks = [c.sock for c in known]
strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(600)]
assert all(ask(c) == 200 for c in known)
assert [c.sock for c in known] == socks, "a connection was made anew"
strangers[0].settimeout(30)
assert strangers[0].recv(1) == b"", "the oldest stranger still has its place"
END
}

@test "where requests cannot be logged they are answered all the same" {
    mkdir "$ROOT/sessions/.serve.log"
    serve
    api GET /sessions
    is 200
}

@test "without its root a server has nothing to tell, and goes on when it is back" {
    serve
    mv "$ROOT" "$T/away"
    for path in /healthz /sessions /metrics "/sessions/11111111-1111-4111-8111-111111111111"; do
        api GET "$path"
        refused 503 unavailable "root '$ROOT' is gone"
    done
    "$MAS" init -q "$ROOT"
    post /runs '{"agents":{},"template":"solo"}'
    refused 503 unavailable "root '$ROOT' is gone"
    [ "$("$MAS" list -q | wc -l)" -eq 0 ]
    rm -r "$ROOT"
    mv "$T/away" "$ROOT"
    api GET /healthz
    is 200
    post /runs '{"agents":{},"template":"solo"}'
    is 201
}

@test "mas-serve by itself says what it is" {
    run "${MAS%/*}/mas-serve"
    [ "$status" -eq 2 ]
    [[ $output == *'mas help serve'* ]]
}

# inherits KIND: becomes a server that gets a socket as from systemd: unix, closed, or an address
inherits() {
    exec python3 - "$MAS" "$T/s" "$1" 3>&- <<'END'
import os, socket, sys
kind = sys.argv[3]
if kind == "unix":
    s = socket.socket(socket.AF_UNIX)
    s.bind(sys.argv[2])
else:
    s = socket.socket(socket.AF_INET)
    s.bind(("127.0.0.1" if kind == "closed" else kind, 0))
if kind != "closed":
    s.listen(5)
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], [sys.argv[1], "serve"])
END
}

@test "sockets of systemd are taken over" {
    (inherits unix) >"$T/serve.out" &
    SERVER=$!
    eventually test -s "$T/serve.out"
    [ "$(code --unix-socket "$T/s" http://mas/sessions)" = 200 ]
}

@test "sockets of systemd that others can reach need TLS, or to be told" {
    run --separate-stderr timeout 30 bash -c "$(declare -f inherits); inherits 0.0.0.0"
    echo "$status $stderr"
    [ "$status" -eq 1 ]
    [[ $stderr == "mas: cannot listen at '0.0.0.0:"*"': others can reach it"*--tls-cert*--allow-remote* ]]
    run --separate-stderr timeout 30 bash -c "$(declare -f inherits); inherits closed"
    [ "$status" -eq 1 ]
    [[ $stderr == 'mas: cannot use descriptor 3: it is not a listening socket'* ]]
    (inherits 127.0.0.1) >"$T/serve.out" &
    SERVER=$!
    eventually test -s "$T/serve.out"
    local url
    url=$(grep -o 'http://127[0-9.:]*' "$T/serve.out" | head -n 1)
    [ "$(code "$url/healthz")" = 200 ]
    [ "$(code "$url/sessions")" = 401 ]
}

@test "halves of a browser's token that come twice, or from elsewhere, are nobody's" {
    serve
    "$MAS" serve pair --json >"$T/offer"
    code=$(jq -r .code <"$T/offer")
    [ "$(code -X POST -d "{\"code\":\"$code\"}" -D "$T/head" "$URL/pair")" = 201 ]
    cookie=$(header Set-Cookie)
    cookie=${cookie%%;*} half=$(jq -r .pageToken <"$T/body")
    [ "$(code -H "Cookie: $cookie" -H "Mas-Page-Token: $half" "$URL/sessions")" = 200 ]
    [ "$(code -H "Cookie: $cookie" -H "Mas-Page-Token: $half" -H "Mas-Page-Token: $half" "$URL/sessions")" = 400 ]
    [ "$(code -H "Cookie: $cookie" -H "Mas-Page-Token: $half" -H 'Sec-Fetch-Site: same-origin' -H 'Sec-Fetch-Site: cross-site' "$URL/sessions")" = 400 ]
    for site in cross-site same-site none; do
        [ "$(code -H "Cookie: $cookie" -H "Mas-Page-Token: $half" -H "Sec-Fetch-Site: $site" "$URL/sessions")" = 401 ]
    done
    [ "$(code -H "Cookie: $cookie" -H "Mas-Page-Token: $half" -H 'Origin: http://localhost:1' "$URL/sessions")" = 403 ]
    [ "$(code -H "Cookie: $cookie" "$URL/sessions")" = 401 ]
    [ "$(code -H "Mas-Page-Token: $half" "$URL/sessions")" = 401 ]
    [ "$(code -H "Cookie: ${cookie%%=*}=$half" -H "Mas-Page-Token: ${cookie#*=}" "$URL/sessions")" = 401 ]
}

@test "errors of every address say what a client can do, in words of the API" {
    local count=0 method path wrong
    new_session -t solo --no-start
    serve
    api GET /openapi.json
    is 200
    jq -r '.paths | to_entries[] | .key as $p | .value | keys[] | select(. != "parameters") | "\(ascii_upcase) \($p)"' \
        <<<"$output" >"$T/addresses"
    jq '.components.schemas.Failure.properties.code.enum' <<<"$output" >"$T/codes"
    # said STATUS...: one of these, with a hint that names nothing of the command line
    said() {
        [[ " $* " = *" $status "* ]] || { echo "$method $path: $status, not $*: $output"; return 1; }
        jq -e --slurpfile codes "$T/codes" '.error | (.code | IN($codes[0][])) and (.message != "") and (.hint // "" | length > 0)
            and ([.message, .hint] | all(test("(^|[^a-z./])mas [a-z]|--[a-z]") | not))' <<<"$output" >/dev/null ||
            { echo "$method $path: $output"; return 1; }
        count=$((count + 1))
    }
    while read -r method path; do
        path=${path//\{id\}/11111111-1111-4111-8111-111111111111}
        path=${path//\{agent\}/solo} path=${path//\{item\}/x}
        api PATCH "$path" -d '{}'
        said 405
        api "$method" "$path" -H 'Host: evil.example'
        said 403
        api "$method" "$path" -H 'Origin: http://evil.example'
        said 403
        api "$method" "$path?nosuch=1"
        said 400
        case $method:$path in DELETE:*/kept) path+='?all=true' ;; esac # it has to name what it deletes
        case $path in /page/* | */doctor | /operations/*) ;; *11111111*)
            if [ "$method" != POST ]; then api "$method" "$path" && said 404; fi ;;
        esac
        case $method:$path in
        POST:/restores | POST:*/pictures) ;; # a body is a file
        POST:*)
            for wrong in '{' '[]' '{"nosuch":1}'; do
                api POST "$path" -d "$wrong"
                said 400
            done ;;
        *)
            api "$method" "$path" -d '{"x":1}'
            said 413 ;;
        esac
        case $path in / | /page/* | /pair | /healthz) ;; *)
            TOKEN=wrong api "$method" "$path"
            said 401 ;;
        esac
    done <"$T/addresses"
    method=GET
    for path in /nothing "/sessions/$ID/nothing" /sessions/x "/sessions/$ID/agents/nobody/log" /operations/x /templates/x /page/x; do
        api GET "$path"
        said 404
    done
    method=POST path=/pair
    post /pair '{"code":"AAAA-AAAA"}'
    said 403
    path=$(printf '/%04100d' 0)
    api GET "$path"
    said 414
    path=/sessions/$ID/log
    api GET "$path" -H 'Range: bytes=999999-'
    said 416
    path=/sessions/$ID/archive
    api GET "$path" -H 'Range: bytes=1-'
    said 416
    path=/sessions/$ID/agents/solo/prompts
    post "$path" '{"prompt":"x"}'
    said 410
    echo "$count errors"
    [ "$count" -gt 300 ]
}
