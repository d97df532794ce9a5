#!/usr/bin/env bats
# Each agent has ten ports of its own.
# shellcheck disable=SC2016 # for other shells
load ../helper

setup_more() { RECORD=$HOME/.local/state/mas/ports; }

# Prints the first ports of session $1, one a line.
ports() { "$MAS" show "$1" --json | jq -r '.agents[].port'; }
# Waits until the hosts of session $1 have told them.
have() { eventually eval "[ \"\$(ports $1 | grep -c '^[0-9]')\" = $2 ]"; }

# listens PORT...: occupies ports until the test ends.
listens() {
    python3 -c 'import socket, sys, time
held = [socket.create_server(("127.0.0.1", int(port))) for port in sys.argv[1:]]
print("up", flush=True)
time.sleep(600)' "$@" 3>&- >"$T/up" &
    LISTENER=$!
    eventually grep -q up "$T/up"
}
teardown_more() { [ -z "${LISTENER-}" ] || kill "$LISTENER"; }

@test "an agent is told the first of ten ports, which show has, and keeps them over restarts" {
    printf '[preset says]\ncommand = sh -c "echo port=$MAS_PORT.; exec cat"\n' >>"$ROOT/mas.ini"
    new_session --name one -t solo --agent says
    have one 1
    port=$(ports one)
    read -r low high </proc/sys/net/ipv4/ip_local_port_range
    [ $((port + 9)) -lt "$low" ] || [ "$port" -gt "$high" ]
    eventually eval "'$MAS' logs one solo | grep -qxF 'port=$port.'"
    "$MAS" show one | grep -qE "^ports +$port-$((port + 9))\$"
    "$MAS" stop -q one
    [ "$(ports one)" = "$port" ]
    "$MAS" show one | grep -qE "^ports +$port-$((port + 9))\$"
    listens "$port" # its own server, which goes on
    "$MAS" start -q one
    have one 1
    [ "$(ports one)" = "$port" ]
    eventually eval "COLUMNS=250 '$MAS' top --once one | grep -q 'one/solo .* $port\$'"
    [ "$(stat -c %a "$RECORD")" = 600 ]
}

@test "thirteen agents have different ports, none that somebody listens on, also of two roots at once" {
    new_session -t solo
    have "$ID" 1
    first=$(ports "$ID")
    listens $((first + 13)) $((first + 29)) $((first + 30))
    "$MAS" init -q "$T/other"
    MAS_ROOT=$T/other "$MAS" new -q --name there >/dev/null 2>&1 &
    new_session --name here
    wait $!
    have here 13
    there() { MAS_ROOT=$T/other "$MAS" show there --json | jq -r '.agents[].port'; }
    eventually eval '[ "$(there | grep -c "^[0-9]")" = 13 ]'
    all=$(ports here; there; echo "$first")
    [ "$(sort -u <<<"$all" | wc -l)" = 27 ]
    for taken in 10 20 30; do
        run ! grep -qx "$((first + taken))" <<<"$all"
    done
}

@test "ports are given back with their session, and those of a lost one when others are taken" {
    new_session --name one -t solo
    have one 1
    port=$(ports one)
    "$MAS" rm -qf one
    [ ! -s "$RECORD" ]
    new_session --name two -t solo
    have two 1
    [ "$(ports two)" = "$port" ]
    "$MAS" stop -q two
    mv "$ROOT/sessions/$ID" "$T/away"
    new_session --name three -t solo
    have three 1
    [ "$(ports three)" = "$port" ]
    # a root whose disk is away keeps what it has
    sed -i "s,$ROOT,$T/unmounted," "$RECORD"
    new_session --name four -t solo
    have four 1
    [ "$(ports four)" != "$port" ]
}

@test "an agent that joins has ports, and gives them back when it leaves" {
    new_session --name one -t solo
    have one 1
    "$MAS" add -q one --agent shell --as rev
    have one 2
    [ "$(ports one | sort -u | wc -l)" = 2 ]
    kept=$(ports one | head -n 1)
    "$MAS" remove -qf one rev
    [ "$(cut -d ' ' -f 1,3 "$RECORD")" = "$kept solo" ]
}

@test "a damaged record costs no start, and what is whole in it stays" {
    new_session --name one -t solo
    have one 1
    port=$(ports one)
    "$MAS" stop -q one
    line=$(cat "$RECORD")
    printf '%s\n' 'x' "80 $ID solo /r" "$((port + 1)) $ID solo /r" "$port" "99999990 $ID solo /r" \
        "$((port + 10)) ../../etc solo /r" "$((port + 20)) $ID a/b /r" "$((port + 30)) $ID solo r" \
        "$line" "$line" >"$RECORD"
    head -c 100 /dev/zero >>"$RECORD"
    "$MAS" start -q one
    have one 1
    [ "$(ports one)" = "$port" ]
    new_session --name two -t solo
    have two 1
    [ "$(wc -l <"$RECORD")" = 2 ]
    # nothing of it can be read
    rm "$RECORD"
    mkdir "$RECORD"
    new_session --name three -t solo
    eventually grep -q 'cannot take ports' "$ROOT/sessions/$ID/logs/session.log"
    [ "$(ports three)" = null ]
    "$MAS" status three --json | jq -e '.sessions[0].agents[0].pid > 0'
}

@test "a host that is killed while it takes ports leaves the old record or the new one" {
    new_session --name one -t solo --no-start
    local killed=0
    for call in openat renameat fsync bind; do
        for n in 1 2 4 8 16 32; do
            rm -f "$RECORD"
            strace -f -qq -o /dev/null -e "trace=$call" -e "inject=$call:signal=KILL:when=$n" \
                "$MAS" host "$ID" solo </dev/null >/dev/null 2>&1 3>&- || [ $? != 137 ] || killed=$((killed + 1))
            [ ! -e "$RECORD" ] || grep -qE "^[0-9]+0 $ID solo $ROOT\$" "$RECORD"
        done
    done
    [ "$killed" -ge 8 ]
    "$MAS" start -q one
    have one 1
}

@test "behind a wall whose network is open the ports are the agent's" {
    bwrap --ro-bind / / true 2>/dev/null || skip 'no user namespaces'
    printf '[preset says]\ncommand = sh -c "echo port=$MAS_PORT.; exec cat"\nexecutes = no\n' >>"$ROOT/mas.ini"
    new_session --name one -t solo --agent says --wall=require
    have one 1
    eventually eval "'$MAS' logs one solo | grep -qxF 'port=$(ports one).'"
}
