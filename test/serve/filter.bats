#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2153,SC2317 # quotes that are meant; TOKEN is lib.bash's; called by name
# What the server can no longer do, what that leaves to all that it has started, and how its two
# processes end.
load ../helper
load ../host/lib
load lib

# A line of /proc/PID/status
of() { sed -n "s/^$1:[[:blank:]]*//p" "/proc/$2/status"; }
# The process that starts programs for the server
starter() { pgrep -P "$SERVER" -x mas-serve-start; }
# All processes with this test's home
of_test() { grep -lszxF "HOME=$HOME" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3; }

@test "the server has a filter, what starts programs and what it has started have none" {
    serve
    post /runs '{"agents":{},"template":"solo"}'
    is 201
    ID=$(jq -r .sessionId <<<"$output")
    STARTER=$(starter)
    [ "$(of Seccomp "$STARTER")" = 0 ]
    [ "$(of NoNewPrivs "$STARTER")" = 0 ]
    if [ -z "$TEST_SAN" ] && [ -e /proc/sys/kernel/seccomp ]; then [ "$(of Seccomp "$SERVER")" = 2 ]; fi
    [ "$(of NoNewPrivs "$SERVER")" = 1 ]
    count=0
    for pid in $(of_test); do
        [[ $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") == *"host $ID"* || $(of Name "$pid") == tmux* ]] || continue
        [ "$(of Seccomp "$pid")" = 0 ]
        [ "$(of NoNewPrivs "$pid")" = 0 ]
        count=$((count + 1))
    done
    [ "$count" -ge 2 ]
}

@test "what starts programs knows no token and has no socket of the network" {
    serve
    STARTER=$(starter)
    run ! grep -qaF "$TOKEN" "/proc/$STARTER/environ"
    ready() { readlink "/proc/$STARTER/fd"/* | grep -q signalfd; } # it has closed what is not its own
    eventually ready
    for fd in "/proc/$STARTER/fd"/*; do
        case $(readlink "$fd") in
            /dev/null | "$T/serve.err" | "$ROOT" | "$ROOT/sessions" | anon_inode:*) ;;
            socket:*) sockets+=("$fd") ;;
            *) echo "$fd: $(readlink "$fd")" && false ;;
        esac
    done
    [ "${#sockets[@]}" -eq 1 ]
    inode=$(readlink "${sockets[0]}" | tr -dc 0-9)
    grep -q " $inode\$" /proc/net/unix
}

@test "the server ends with what starts programs, and says so" {
    serve
    kill -9 "$(starter)"
    rc=0
    wait "$SERVER" || rc=$?
    [ "$rc" -eq 1 ]
    SERVER=
    grep -q 'cannot go on serving: the process that starts programs has ended' "$T/serve.err"
    run ! curl -sS -m 5 "$URL/healthz"
    serve
    api GET /sessions
    is 200
}

@test "what starts programs ends with the server, and a verb goes on" {
    serve
    STARTER=$(starter)
    curl -sS -m 30 -o "$T/run" -H "Authorization: Bearer $TOKEN" \
        -d '{"agents":{},"template":"default"}' "$URL/runs" >/dev/null 2>&1 3>&- &
    begun() { compgen -G "$ROOT/sessions/.new-*" >/dev/null || compgen -G "$ROOT/sessions/*-*-4*" >/dev/null; }
    eventually begun
    kill -9 "$SERVER"
    wait "$SERVER" || true
    SERVER=
    eventually is_gone "$STARTER"
    made() { [ "$("$MAS" list --json | jq -r '.sessions[].status')" = active ]; }
    eventually made
    "$MAS" doctor
}

@test "an orderly end leaves neither" {
    serve
    STARTER=$(starter)
    kill "$SERVER"
    wait "$SERVER"
    SERVER=
    is_gone "$STARTER"
}

@test "fifty verbs at once" {
    serve
    for i in {1..50}; do
        curl -sS -m 60 -o "$T/out.$i" -w '%{http_code}\n' -H "Authorization: Bearer $TOKEN" \
            "$URL/presets" >"$T/code.$i" 3>&- &
        asked+=($!)
    done
    wait "${asked[@]}"
    [ "$(cat "$T"/code.* | sort | uniq -c | tr -s ' ')" = ' 50 200' ]
    for i in {2..50}; do cmp "$T/out.1" "$T/out.$i"; done
    none() { ! pgrep -P "$(starter)" >/dev/null; }
    eventually none
    api GET /presets
    is 200
}
