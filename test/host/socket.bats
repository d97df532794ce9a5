#!/usr/bin/env bats
# The host's socket among hostile clients: it stays alive, answers the others, and lets nobody else in.
# shellcheck disable=SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load lib

# The hostile clients of this test
teardown_last() { jobs -p | xargs -r kill 2>/dev/null || true; }

quiet_agent() {
    run_agent "sleep $MARK" 'idle = 100ms' 'ready_timeout = 100ms'
    eventually marked_are 1
    hosts_there
    eventually state_is solo idle
    HOST=$(of solo .hostPid)
}

# It answers at once, and is the one that it was.
is_well() {
    local start end
    start=$(date +%s%3N)
    is solo .hostPid "$HOST"
    end=$(date +%s%3N)
    ((end - start < 4000)) # much else may run
    marked_are 1
}

# true where process $1 takes no CPU time for half a second
is_calm() {
    local before
    before=$(cpu_time "$1")
    run timeout 0.5 tail -f /dev/null
    (($(cpu_time "$1") - before <= 1))
}

@test "clients that connect and say nothing, watch and read nothing, or send half a frame" {
    quiet_agent
    ask_badly solo mute
    is_well
    ask_badly solo deaf
    is_well
    ask_badly solo half
    is_well
    local i
    for i in $(seq 30); do ask solo '{"do":"restart"}'; done >"$T/answers" # changes for the deaf one
    [ "$(grep -c '"ok":true' "$T/answers")" = 30 ]
    is_well
    eventually is_calm "$HOST"
}

@test "clients that hang up in the middle" {
    quiet_agent
    local i
    for i in 1 2 3 4 5; do ask solo --leave; done
    is_well
    eventually is_calm "$HOST"
}

@test "1 GB as a head, as a body, as frames: refused early, and none of it is kept" {
    quiet_agent
    local kind
    for kind in flood-head flood-body flood-frames; do
        ask_badly solo "$kind"
        [[ $WORDS == 'refused after '* ]] || { echo "$kind: $WORDS" >&2; false; }
        read -r _ _ n _ <<<"$WORDS"
        ((n < 16 << 20))
        is_well
    done
    eventually is_calm "$HOST"
    (($(private_memory "$HOST") < ${TEST_SAN:+4*}1024)) # sanitizers take more
}

@test "garbage is answered with an error or with nothing, and no byte of it is echoed raw" {
    quiet_agent
    ask solo --garbage >"$T/answers"
    [ "$(wc -l <"$T/answers")" = 19 ]
    run ! grep -q '"ok":true' "$T/answers"
    run ! grep -q $'\033' "$T/answers"
    is_well
    is solo .queued 0
}

@test "200 connections at once that say nothing keep nobody out" {
    quiet_agent
    ask_badly solo crowd
    [ "$WORDS" = connected ]
    is_well
    took solo hello
    eventually is_calm "$HOST"
}

@test "as many watchers as there is room for: the rest is turned away, and the host goes on" {
    quiet_agent
    ask_badly solo watchers
    ((WORDS >= 32))
    is_well # for who asks and goes there is a place yet
    fails 1 wait "$ID" --for waiting --timeout 10s
    [[ $stderr == *"'solo'"*'too many clients watch it'* ]] || { echo "$stderr" >&2; false; }
    took solo hello
    eventually is_calm "$HOST"
    kill %%
    eventually is_well
}

@test "clients that watch and read nothing lock nobody out" {
    quiet_agent
    ask_badly solo deaf-watchers
    is_well
    took solo hello
    ask solo '{"do":"restart"}' | jq -e .ok
    eventually state_is solo idle
    [ "$("$MAS" peek "$ID" solo --json | jq '.agents | length')" = 1 ]
    timeout 10 "$MAS" send "$ID" solo hello
    timeout 20 "$MAS" wait "$ID" --for idle
    is_well
}

@test "a watcher that asks for messages is told each, between the states" {
    quiet_agent
    ask solo '{"do":"watch","messages":true}' >"$T/told" &
    ask solo '{"do":"watch"}' >"$T/plain" &
    eventually grep -q idle "$T/told"
    eventually grep -q idle "$T/plain"
    "$MAS" send "$ID" solo 'hello
{"ok":false}'
    eventually grep -qx '{"event":"prompt","from":null,"bytes":18}' "$T/told"
    mas send "$ID" solo --from nobody again
    [ "$status" -ne 0 ]
    eventually grep -q working "$T/told"
    eventually grep -q working "$T/plain"
    grep -qx hello "$T/told"
    run ! grep -q again "$T/told"
    run ! grep -q 'prompt\|hello' "$T/plain"
    "$MAS" restart -q "$ID" solo
    eventually grep -q '"state":"starting"' "$T/told"
}

@test "a hundred askers at the same time are all answered" {
    quiet_agent
    local i pids=()
    PATH=/usr/bin:$PATH python3 -ES - "$DIR/run" <<'PY'
import os, socket, sys
os.chdir(sys.argv[1])
all_of_them = []
for _ in range(60):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect("solo.sock")
    all_of_them.append(s)
for s in all_of_them:
    s.sendall(b'{"do":"status"}\n')
for s in all_of_them:
    assert b'"ok":true' in s.recv(65536)
PY
    is_well
}

@test "a request that comes a byte at a time is understood" {
    quiet_agent
    PATH=/usr/bin:$PATH python3 -ES - "$DIR/run" <<'PY'
import os, socket, sys
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.settimeout(10)
s.connect("solo.sock")
for b in b'{"do":"send","bytes":5}\nhello':
    s.send(bytes([b]))
assert b'"ok":true' in s.recv(65536)
PY
    is_well
}

@test "a refusal is heard, also by a client that says more than it may" {
    quiet_agent
    PATH=/usr/bin:$PATH python3 -ES - "$DIR/run" <<'PY'
import os, socket, sys
os.chdir(sys.argv[1])
for first in (b'{"do":"send","bytes":99999999}\n', b"no frame\n", b'{"do":"nothing"}\n') * 10:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect("solo.sock")
    try:
        s.sendall(first + b"x" * 150000)
    except BrokenPipeError:
        pass
    assert b'"ok":false' in s.recv(65536), first
PY
    is_well
}

@test "a client that shuts its side down behind the request gets its answer" {
    quiet_agent
    PATH=/usr/bin:$PATH python3 -ES - "$DIR/run" "$HOST" <<'PY'
import os, signal, socket, sys
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.settimeout(10)
s.connect("solo.sock")
os.kill(int(sys.argv[2]), signal.SIGSTOP)  # it finds both at once
s.sendall(b'{"do":"status"}\n')
s.shutdown(socket.SHUT_WR)
os.kill(int(sys.argv[2]), signal.SIGCONT)
assert b'"ok":true' in s.recv(65536)
PY
    is_well
}

@test "another user is refused, even where the file would let them in" {
    [ "$(id -u)" = 0 ] || skip "only root can be somebody else"
    quiet_agent
    [ "$(stat -c %a "$DIR/run/solo.sock")" = 600 ]
    [ "$(stat -c %a "$DIR/run")" = 700 ]
    chmod 755 "$T" "$ROOT" "$ROOT/sessions" "$DIR" "$DIR/run"
    local dir=$DIR/run
    cat >"$T/other.py" <<'PY'
import os, socket, sys
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.settimeout(10)
try:
    s.connect("solo.sock")
    s.sendall(b'{"do":"status"}\n')
    print(s.recv(65536))
except (PermissionError, ConnectionError) as e:
    print(type(e).__name__)
PY
    chmod 644 "$T/other.py"
    run setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 -ES "$T/other.py" "$dir"
    [ "$output" = PermissionError ]
    chmod 666 "$dir/solo.sock"
    run setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 -ES "$T/other.py" "$dir"
    [[ "$output" == "b''" || $output == *Error ]]
    is_well
}

@test "a root whose path is longer than a socket's may be works" {
    local deep=$T
    while [ "${#deep}" -lt 250 ]; do deep+=/a-directory-with-a-long-name; done
    export MAS_ROOT=$deep/root
    ROOT=$MAS_ROOT
    mkdir -p "$deep"
    "$MAS" init -q "$MAS_ROOT"
    quiet_agent
    took solo hello
    is_well
    "$MAS" stop -q "$ID"
    marked_are 0
}

@test "what stands at the socket's name does not stop a host, and no link is followed" {
    quiet_agent
    "$MAS" stop -q "$ID"
    mkdir -p "$DIR/run"
    ln -s "$T/elsewhere" "$DIR/run/solo.sock"
    "$MAS" start -q "$ID"
    eventually marked_are 1
    hosts_there
    [ ! -L "$DIR/run/solo.sock" ]
    [ ! -e "$T/elsewhere" ]
}

@test "a socket that was removed harms nobody: stop works" {
    quiet_agent
    rm "$DIR/run/solo.sock"
    "$MAS" stop -q "$ID"
    marked_are 0
    is_gone "$HOST"
}
