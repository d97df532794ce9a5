#!/usr/bin/env bats
# What an agent reaches whose wall names hosts. All servers are in network namespaces that a test
# makes, see network-world.sh; nothing leaves them.
# shellcheck disable=SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load lib

LIST='good.test *.sub.test other.test:8443 intranet.test rebind.test metadata.test myself.test within.test mesh.test both.test'

setup_more() {
    local program
    NETWORK=${MAS%/*}/mas-network
    inside+=(--bind "$T" "$T" --) # what is in /dev/shm is hidden by --dev
    for program in bwrap tinyproxy ip unshare nsenter curl; do
        command -v "$program" >/dev/null || skip "there is no $program"
    done
    PYTHON=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))') # a wall hides links to it
    NETWORK_WORLD=try bash "$PROJECT/test/host/network-world.sh" "$T/world" true 2>/dev/null ||
        skip 'no network namespaces with veth can be made here (a container, or no user namespaces)'
}

# inside: what the next commands put around a program. $WALL is the list.
inside=(/usr/bin/bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-net --ro-bind / / --dev /dev
    --proc /proc --cap-drop ALL --die-with-parent)

# world COMMAND...: runs it in the small internet. `$wall` there puts the wall of $LIST around a command,
# and `try` tries something, see network.py.
world() {
    cat >"$T/lib.sh" <<S
PROJECT='$PROJECT' NETWORK='$NETWORK' T='$T'
try() { '$PYTHON' -ES '$PROJECT/test/host/network.py' try "\$@"; }
wall=$T/wall
export wall
export -f try
S
    cat >"$T/wall" <<S
#!/bin/bash
exec '$NETWORK' outside '$T/network.log' "\${LIST-$LIST}" -- ${inside[*]@Q} '$NETWORK' inside "\${LIST-$LIST}" \\
    '$(command -v tinyproxy)' -- "\$@"
S
    chmod +x "$T/wall"
    printf '%s\n' "$@" >"$T/inside.sh"
    run timeout 60 bash "$PROJECT/test/host/network-world.sh" "$T/world" \
        bash -c ". '$T/lib.sh'; . '$T/inside.sh'" 2>&1 3>&-
    [ "$status" = 0 ] || { echo "$output"; cat "$T/network.log"; return 1; }
}

# all_as_said: stdin holds lines "WHAT... = RESULT", which all come out so in one wall.
all_as_said() {
    cat >"$T/tries"
    world "\$wall '$PYTHON' -ES '$PROJECT/test/host/network.py' tries <$T/tries"
    [ "$output" = 'all tried' ] || { echo "$output"; cat "$T/network.log"; return 1; }
}

@test "hosts of the list are reached, with HTTP, by CONNECT and by SOCKS, in any spelling" {
    all_as_said <<'S'
through good.test:443 = world
through good.test:80 = world
through GOOD.Test:443 = world
through good.test.:443 = world
through a.sub.test:443 = world
through other.test:8443 = world
raw 'GET http://good.test/x HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n' = world
raw 'GET http://Good.TEST./x HTTP/1.0\r\n\r\n' = world
socks good.test 443 = world
socks good.test. 443 = world
S
    grep -q ' allowed good.test:443 at 9.9.9.2$' "$T/network.log"
}

@test "nothing else is reached: other names, ports, addresses, and names dressed up as those of the list" {
    all_as_said <<'S'
through evil.test:443 = 403
through sub.test:443 = 403
through xsub.test:443 = 403
through other.test:443 = nothing
through good.test:22 = 403
through good.test:8443 = nothing
through 9.9.9.2:443 = 403
through 151587074:443 = 403
through 0x09090902:443 = 403
through [::ffff:9.9.9.2]:443 = 403
through good.test@evil.test:443 = 403
through evil.test:443#good.test:443 = 403
raw 'GET http://evil.test/ HTTP/1.0\r\nHost: good.test\r\n\r\n' = 403
raw 'GET http://good.test@evil.test/ HTTP/1.0\r\n\r\n' = 403
raw 'GET http://good.test:80@evil.test/ HTTP/1.0\r\n\r\n' = 403
raw 'GET / HTTP/1.0\r\nHost: evil.test\r\n\r\n' = 403
raw 'GET http://evil.test#good.test/ HTTP/1.0\r\n\r\n' = 403
raw 'GET http://evil.test\\.good.test/ HTTP/1.0\r\n\r\n' = 403
raw 'GET http://evil.test%00.sub.test/ HTTP/1.0\r\n\r\n' = nothing
raw 'GET http://evil.test\x00.sub.test/ HTTP/1.0\r\n\r\n' = 403
raw 'GET ftp://evil.test/ HTTP/1.0\r\n\r\n' = 403
raw 'CONNECT evil.test:443\x00good.test HTTP/1.0\r\n\r\n' = 400
socks evil.test 443 = refused
socks good.test 22 = refused
socks 9.9.9.2 443 = refused
socks 'evil.test\x00.sub.test' 443 = refused
socks 'evil.test#.sub.test' 443 = refused
socks 'evil.test/.sub.test' 443 = refused
socks 'good.test..' 443 = refused
socks '9.9.9.2' 443 = refused
socks '::ffff:9.9.9.2' 443 = refused
socks '\x39.9.9.2' 443 = refused
socks 151587074 443 = refused
socks good.test 0 = refused
S
    grep -q 'refused inside: Proxying refused on filtered domain "evil.test"$' "$T/network.log"
    grep -q ' refused evil.test:443: it is not in the list$' "$T/network.log"
    run ! grep -q 'evil.test.*allowed\|allowed.*evil' "$T/network.log"
}

@test "an allowed name leads nowhere that the world cannot reach: loopback, link, private, this machine" {
    all_as_said <<'S'
socks rebind.test 443 = refused
socks metadata.test 80 = refused
socks intranet.test 443 = refused
socks myself.test 80 = refused
socks within.test 80 = refused
socks mesh.test 80 = refused
through rebind.test:443 = nothing
raw 'GET http://intranet.test/ HTTP/1.0\r\n\r\n' = nothing
socks both.test 443 = world
S
    grep -q 'refused both.test:443: it is at 10.9.9.2' "$T/network.log"
    grep -q 'allowed both.test:443 at 9.9.9.2' "$T/network.log"
    grep -q 'refused myself.test:80: it is at 9.9.9.1' "$T/network.log"
    grep -q 'refused within.test:80: it is at 2002:909:901::1' "$T/network.log"
    grep -q 'refused within.test:80: it is at 64:ff9b::909:901' "$T/network.log"
}

@test "an address that the list names is reached, by itself and by an allowed name" {
    export LIST='intranet.test 10.9.9.0/24 rebind.test:8765 127.0.0.1:8765 9.9.9.2:22'
    all_as_said <<'S'
socks intranet.test 443 = world
through intranet.test:443 = world
through 10.9.9.2:443 = world
through 127.0.0.1:8765 = mine
socks rebind.test 8765 = mine
socks 9.9.9.2 22 = world
socks 9.9.9.2 443 = refused
socks 127.0.0.1 443 = refused
S
}

@test "nothing goes around the proxy: no connection, no datagram, no DNS, no server of this machine" {
    all_as_said <<'S'
direct 9.9.9.2 443 = error OSError
direct 9.9.9.1 80 = error OSError
direct 10.9.9.2 443 = error OSError
direct 127.0.0.1 8765 = error ConnectionRefusedError
direct 169.254.169.254 80 = error OSError
datagram 9.9.9.2 53 = error OSError
datagram 127.0.0.53 53 = error
packet = error PermissionError
icmp = error PermissionError
S
    [ ! -s "$T/world/asked" ]
}

@test "a name outside of the list is never asked for" {
    printf 'hosts: files dns\n' >"$T/dns"
    world "mount --bind $T/dns /etc/nsswitch.conf" \
        "\$wall /bin/bash -c '. $T/lib.sh; try socks secret.evil.test 443; try through secret.evil.test:443
            try resolve secret.evil.test; try socks nowhere.sub.test 443'"
    [ "$output" = $'refused\n403\nerror gaierror\nfailed 4' ]
    run cat "$T/world/asked"
    [[ $output == *nowhere* && $output != *secret* ]]
}

@test "malformed requests, and what follows an allowed one on its connection, lead nowhere else" {
    local evil='GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n' post='POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\n'
    local ask='\x05\x01\x00\x03\x09good.test\x01\xbb' no=05010001000000000000
    all_as_said <<S
raw 'GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nConnection: keep-alive\r\n\r\n$evil' = world
raw '${post}Content-Length: 0\r\nContent-Length: 52\r\n\r\n$evil' = world
raw '${post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n$evil' = world
raw '${post}Content-Length: -1\r\n\r\n$evil' = world
long 5000000 = ended
through good.test:443:80 = 403
through good.test:-1 = 403
through good.test:65558 = 403
through good.test:22x = 403
through [::1]:443 = 403
through 0177.0.0.1:443 = 403
through 127.1:443 = 403
through localhost:443 = 403
through [fe80::1%25lo]:443 = 403
bare '\x04\x01\x01\xbb\x09\x09\x09\x02x\x00' = $no
bare '\x05\x00' = $no
bare '\x05\x01\x02' = $no
bare 'GET http://evil.test/ HTTP/1.0\r\n\r\n' = $no
bare '\x05\x01\x00\x05\x02\x00\x03\x09good.test\x01\xbb' = 0500$no
bare '\x05\x01\x00\x05\x03\x00\x01\x00\x00\x00\x00\x00\x01' = 0500$no
bare '\x05\x01\x00\x05\x01\x00\x03\x00\x01\xbb' = 0500$no
bare '\x05\x01\x00\x05\x01\x00\x09good.test\x01\xbb' = 0500$no
bare '\x05\x01\x00${ask}GET / HTTP/1.0\r\n\r\n' = 0500$no
bare '\x05\x01\x00\x05\x01\x00\x03\x63good.test' = 0500$no
socks 'x\n2026 allowed.sub.test' 443 = refused
socks 'x\x1b[31m.sub.test' 443 = refused
socks '%s%n.sub.test' 443 = refused
socks good.test 443 = world
S
    run grep 'allowed.*evil\|^2026 allowed' "$T/network.log"
    [ "$status" = 1 ]
    run grep -c -P '[^\x20-\x7e]' "$T/network.log"
    [ "$output" = 0 ]
}

@test "thousands of connections that say little or nothing leave the way open" {
    echo 'crowd 3000 = world' | all_as_said
}

@test "a redirect leads only to hosts of the list, and programs find the proxy by themselves" {
    world 'export ALL_PROXY=socks5://9.9.9.1:1' "\$wall /bin/sh -c 'curl -sSL http://good.test/to/http://a.sub.test/x
        curl -sSL http://good.test/to/http://evil.test/x
        curl -sSL http://good.test/to/http://9.9.9.1/x
        curl -sSL http://good.test/to/http://127.0.0.1:8765/x
        curl -sS -p http://good.test/x; curl -sS https://evil.test/
        echo \$HTTP_PROXY \$HTTPS_PROXY \$http_proxy \$https_proxy \$NO_PROXY \$no_proxy
        echo \${ALL_PROXY-none}'"
    [[ ${lines[0]} == 'world /x' ]]
    [ "$(grep -c 'mas: the wall of this agent does not let it reach that. wall.network = good.test' <<<"$output")" = 2 ]
    [[ $output == *'curl: (7) Failed to connect to 127.0.0.1 port 8765'* ]]
    [[ $output == *'world /x'*'CONNECT tunnel failed, response 403'* ]]
    local proxy=http://127.0.0.1:3128 direct=localhost,127.0.0.1,::1
    [[ $output == *"$proxy $proxy $proxy $proxy $direct $direct"* ]]
    [ "${lines[-1]}" = none ]
}

@test "the proxy is no relay for others: only its own namespace can connect to it" {
    world '$wall /bin/sleep 500 & until pgrep -P $! >/dev/null; do :; done' \
        'try direct 127.0.0.1 3128; try direct 127.0.0.1 1080; try direct 9.9.9.1 3128' \
        '$wall /bin/bash -c ". $T/lib.sh; try socks good.test 443; try socks 127.0.0.1 1080"' \
        'ss -ltnH | grep -c ":3128\|:1080" || :; kill -KILL $!; wait $! 2>/dev/null; true'
    [ "$output" = "$(printf '%s\n' 'error ConnectionRefusedError' 'error ConnectionRefusedError' \
        'error ConnectionRefusedError' world refused 0)" ]
}

@test "what ends by SIGKILL is started again; without guard and spare the way out is closed" {
    cat >"$T/steps" <<'S'
mkfifo $T/asks
$wall /bin/bash -c ". $T/lib.sh; while read -r what; do eval \"try \$what\"; done" >$T/answers <$T/asks &
bwrap=$!
exec 8>$T/asks
# ask WANT: asks until the answer is that
ask() {
    local n want=$1
    while :; do
        n=$(wc -l <$T/answers)
        echo "$2" >&8
        while [ "$(wc -l <$T/answers)" = "$n" ]; do sleep 0.02; done
        [ "$(tail -n 1 $T/answers)" != "$want" ] || break
        sleep 0.1
    done
    echo "$want"
}
# the processes that listen for the agent, as they are here: the guard and its gate are outside
outside() { for pid in $(pgrep -x mas-network); do
    [ "$(readlink /proc/$pid/ns/pid)" != "$(readlink /proc/self/ns/pid)" ] || [ -z "$(ls /proc/$pid/task 2>/dev/null)" ] ||
        [ "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/self/ns/net)" ] || echo $pid; done; }
guard=
gate() { for pid in $(outside); do
    if [ "$(ps -o comm= -p "$(ps -o ppid= -p $pid | tr -d ' ')")" = mas-network ]; then echo $pid; else guard=$pid; fi
done; }
ask world 'through good.test:443'
gate >$T/gate; [ "$(wc -l <$T/gate)" = 1 ]
for pid in $(outside); do [ $pid = $(cat $T/gate) ] || guard=$pid; done
until pgrep -x mas-net-spare -P $guard >/dev/null; do sleep 0.02; done
for pid in $(outside) $(pgrep -x mas-net-spare -P $guard); do sed -n 's/^Seccomp:\t//p' /proc/$pid/status; done >$T/filters
kill -KILL $(cat $T/gate)
ask world 'through good.test:443'
inner=$(for pid in $(pgrep -x tinyproxy); do
    [ "$(readlink /proc/$pid/ns/net)" = "$(readlink /proc/$(pgrep -P $bwrap | tail -n 1)/ns/net)" ] && echo $pid; done)
kill -KILL $inner
ask world 'through good.test:443'
gate >/dev/null
was=$guard
kill -KILL $guard
ask world 'through good.test:443'
gate >/dev/null; [ "$guard" != "$was" ]
spare() { pgrep -x mas-net-spare -P $guard; }
until spare >/dev/null; do sleep 0.02; done # the next one
kill -STOP $guard $(spare) # so that neither can start another one
kill -KILL $guard $(spare)
ask 'error ConnectionRefusedError' 'socks good.test 443'
exec 8>&-
wait $bwrap
S
    world ". $T/steps"
    [ "$output" = $'world\nworld\nworld\nworld\nerror ConnectionRefusedError' ] || { echo "$output"; cat "$T/network.log"; false; }
    grep -q ' the gate has ended; it is started again$' "$T/network.log"
    grep -q ' the guard has ended; another process takes its place$' "$T/network.log"
    [ -n "$TEST_SAN" ] || [ "$(<"$T/filters")" = $'2\n2\n2' ] # all have a filter of system calls
}

@test "nothing is left once the program has ended, however that happens" {
    world 'left() { for pid in $(pgrep -x "mas-network|mas-net-spare|mas-net-inside|tinyproxy"); do
                [ "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/self/ns/net)" ] || echo "$pid is left"; done; }' \
        'gone() { while [ -n "$(left)" ]; do sleep 0.02; done; echo gone; }' \
        '$wall /bin/true; gone; $wall /bin/sh -c "kill -KILL \$\$" || :; gone' \
        '$wall /bin/sleep 500 & until [ "$(left | wc -l)" = 3 ]; do sleep 0.02; done; kill -KILL $!; wait $! 2>/dev/null; gone'
    [ "$output" = $'gone\ngone\ngone' ]
    run find "$T" -newer "$T/inside.sh" -type f ! -name network.log ! -path '*/world/*'
    [ -z "$output" ]
}

@test "a hundred connections at once all get through, and the ones that say nothing do not last" {
    world '$wall /bin/bash -c ". $T/lib.sh
            for i in {1..100}; do exec {fd}<>/dev/tcp/127.0.0.1/1080; done
            seq 60 | xargs -P 30 -I{} curl -sS -o /dev/null -w \"%{http_code}\n\" http://good.test/{} | sort | uniq -c"'
    [ "$(tr -d ' ' <<<"$output")" = 60200 ] || [ "$(tr -s ' ' <<<"$output")" = ' 60 200' ]
}

@test "without its parts it starts nothing" {
    run "$NETWORK" outside "$T/network.log" 'https://x' -- /bin/echo started
    [ "$status" = 2 ]
    [[ $output == "mas: cannot read the list of hosts: expected open, none or hosts, not 'https://x'"* ]]
    run "$NETWORK" outside "$T/network.log" open -- /bin/echo started
    [[ $status == 2 && $output != *started* ]]
    run "$NETWORK" outside "$T/missing/network.log" good.test -- /bin/echo started
    [[ $status == 1 && $output == "mas: cannot open '$T/missing/'"* ]]
    run "$NETWORK" outside "$T/network.log" good.test -- "${inside[@]}" "$NETWORK" inside good.test \
        /nonexistent/tinyproxy -- /bin/echo started
    [[ $status == 1 && $output == "mas: cannot start the proxy '/nonexistent/tinyproxy' inside of the wall"* ]]
    [[ $output == *'install tinyproxy-bin'* && $output != *started* ]]
    run "$NETWORK" inside good.test /usr/bin/tinyproxy -- /bin/echo started
    [[ $status == 1 && $output != *started* ]]
}

# agent_in_world LIST: runs an agent behind a required wall with this wall.network in the small
# internet; it tries the lines of $T/tries and leaves what came of it in $T/shared/out. Then runs the file
# $T/more there.
agent_in_world() {
    local prefix
    prefix=$(dirname "$(dirname "$PYTHON")")
    mkdir -p "$T/shared" "$HOME"
    cat >"$T/tries"
    [ -e "$T/more" ] || : >"$T/more"
    printf '%s\n' "exec >$T/shared/out.new 2>&1" "'$PYTHON' -ES '$PROJECT/test/host/network.py' tries <$T/tries" \
        'env | grep -i "^https_proxy"; mas show --json | jq -r .agents[0].wall.network' \
        "mv $T/shared/out.new $T/shared/out; exec cat" >"$T/inside"
    preset made "sh $T/inside" 'wall.level = require' "wall.network = $1" "wall.write = $T/shared" \
        "wall.read = $prefix, $PROJECT/test/host, $T/tries, $T/inside"
    # shellcheck disable=SC2016 # for the shell in there
    world "ROOT='$ROOT'" 'ID=$("$MAS" new -q -t solo --agent made) && echo "$ID" >$T/id' \
        'for i in {1..300}; do [ ! -e $T/shared/out ] || break; sleep 0.1; done; cat $T/shared/out' ". $T/more"
    ID=$(cat "$T/id")
    DIR=$ROOT/sessions/$ID
}

@test "an agent whose wall names hosts reaches these and no others, and stop leaves nothing" {
    printf '%s\n' 'of() { for pid in $(pgrep -x "mas-network|mas-net-spare|mas-net-inside|tinyproxy"); do
        ! tr "\\0" "\\n" </proc/$pid/environ | grep -qx "MAS_SESSION_ID=$ID" || echo $pid; done; }' \
        'pgrep -f "mas-network outside .*$ID" >/dev/null || echo "the guard has another name now"' \
        '"$MAS" stop -q $ID; [ -z "$(pgrep -f "$ID")" ] && echo all gone' >"$T/more"
    agent_in_world 'good.test, *.sub.test other.test:8443' <<'S'
through good.test:443 = world
through a.sub.test:443 = world
through other.test:8443 = world
through evil.test:443 = 403
socks evil.test 443 = refused
socks rebind.test 443 = refused
direct 9.9.9.2 443 = error OSError
direct 127.0.0.1 8765 = error ConnectionRefusedError
datagram 9.9.9.2 53 = error OSError
packet = error OSError
icmp = error PermissionError
S
    [[ $output == $'all tried\nHTTPS_PROXY=http://127.0.0.1:3128\nhttps_proxy=http://127.0.0.1:3128\n'* ]]
    [[ $output == *$'\nall gone' ]]
    grep -q 'allowed good.test:443 at 9.9.9.2' "$DIR/logs/network-solo.log"
    [ "$(stat -c %a "$DIR/logs/network-solo.log")" = 600 ]
    [ -z "$(ls -A "$DIR/run")" ]
}

@test "nothing of the way out is left after kill -9 of the host" {
    printf '%s\n' 'kill -KILL $("$MAS" status $ID --json | jq .sessions[0].agents[0].hostPid)' \
        'for i in {1..300}; do [ -n "$(pgrep -f "$ID")" ] || break; sleep 0.1; done; pgrep -fa "$ID" || echo all gone' >"$T/more"
    agent_in_world good.test <<'S'
through good.test:443 = world
S
    [[ $output == 'all tried'*$'\nall gone' ]] || { echo "$output"; false; }
}

@test "an agent whose guard and then spare are killed says so, and a restart mends it" {
    cat >"$T/more" <<'S'
guards() { for pid in $(pgrep -x "mas-network|mas-net-spare"); do
    ! tr "\0" "\n" </proc/$pid/environ | grep -qx "MAS_SESSION_ID=$ID" || echo $pid; done; }
# one may end while they are listed, and another take its place: then none is killed yet
until all=$(guards) && [ "$(wc -w <<<"$all")" = 3 ] && kill -STOP $all; do
    [ -z "$all" ] || kill -CONT $all
    sleep 0.02
done
# the spare last, and not before the end of its guard is seen: it is asked about, too
spare=$(for pid in $all; do ! grep -qx mas-net-spare /proc/$pid/comm || echo $pid; done)
for pid in $all; do [ $pid = $spare ] || kill -KILL $pid; done
until [ "$(guards)" = $spare ]; do sleep 0.02; done
"$MAS" show $ID >/dev/null
kill -KILL $spare
for i in {1..300}; do ! "$MAS" show $ID | grep "reaches nothing" || break; sleep 0.1; done
"$MAS" restart -q $ID solo
until [ "$(guards | wc -l)" = 3 ]; do sleep 0.02; done
"$MAS" show $ID | grep -c "reaches nothing" || echo mended
S
    agent_in_world good.test <<'S'
through good.test:443 = world
S
    [[ $output == *'network: nothing, '*"; network: what let its hosts through was killed, so that it reaches nothing; mend that with: mas restart "*$'\nmended' ]] || { echo "$output"; false; }
    grep -q 'network: what let its hosts through was killed' "$DIR/logs/session.log"
}

@test "an agent whose wall is without network reaches nothing" {
    agent_in_world none <<'S'
direct 9.9.9.2 443 = error OSError
direct 127.0.0.1 8765 = error ConnectionRefusedError
direct 127.0.0.1 3128 = error ConnectionRefusedError
datagram 9.9.9.2 53 = error OSError
S
    [[ $output == 'all tried'* ]]
    "$MAS" stop -q "$ID"
}

@test "without tinyproxy a required list of hosts fails, and a wished one lets nothing through" {
    mkdir -p "$T/shared" "$HOME" "$T/empty"
    # shellcheck disable=SC2016 # for the shell in there
    printf '%s\n' 'for f in /usr/bin /usr/sbin; do [ ! -e $f/tinyproxy ] || mount --bind /dev/null $f/tinyproxy; done' \
        '"$MAS" new -t solo --agent made --wall=require; echo $?; "$MAS" list --json | jq .total' \
        'ID=$("$MAS" new -q -t solo --agent made --wall=try)' \
        'for i in {1..300}; do [ ! -e $T/shared/out ] || break; sleep 0.1; done; cat $T/shared/out' \
        '"$MAS" show $ID --json | jq -r ".agents[0].wall | .network, .missing"; "$MAS" stop -q $ID' >"$T/steps"
    printf '%s\n' "cat /proc/net/dev | tail -n +3 | tr -dc 'a-z0-9:\n' >$T/shared/out; exec cat" >"$T/inside"
    preset made "sh $T/inside" 'wall.network = good.test' "wall.write = $T/shared" "wall.read = $T/inside"
    world ". $T/steps"
    [[ $output == "mas: cannot put up the wall of agent 'solo': cannot let hosts through: there is no program 'tinyproxy'"*'install tinyproxy: apt install tinyproxy-bin'* ]]
    [[ ${lines[2]} == 1 && ${lines[3]} == 0 ]] # nothing was made
    [[ $output == *$'\nnamespace\ncannot let hosts through: there is no program '* ]]
}
