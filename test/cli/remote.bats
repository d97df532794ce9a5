#!/usr/bin/env bats
# mas remote: the hosts of mas.ini, and what they have.
# shellcheck disable=SC2016 # for the other machines
load ../helper
load ../ssh

# A loaded machine may need more than the usual time.
setup_more() {
    make_machines n1 n2
    printf '[fleet]\nanswer = 1m\n' >>"$ROOT/mas.ini"
}
teardown_more() { close_connections; }

version() { "$MAS" version | cut -d' ' -f2; }
# fact HOST NAME: its state and its text.
fact() { awk -v host="$1" -v name="$2" '$1 == host && $2 == name { $1 = $2 = ""; print substr($0, 3) }' <<<"$output"; }
# json HOST FILTER: of its entry.
json() { jq -r --arg host "$1" ".hosts[] | select(.host == \$host) | $2" <<<"$output"; }
# says ANSWER [MEMBERS]: what a machine runs that is in order, but for these members of its greeting, and answers this.
says() {
    local line
    line=$(jq -nc --arg mas "$(version)" "{mas: \$mas, free: 999999999, tmux: \"3.3a\"} + {${2-}}")
    echo "echo '{\"timeMs\":'\$(date +%s%3N)',${line#\{}'; $1"
}
# answers FINDINGS PRESETS [MEMBERS]: likewise, with these answers.
answers() { says "case \$* in *presets*) echo '{\"presets\":$2}' ;; *) echo '{\"findings\":$1}' ;; esac" "${3-}"; }

@test "remote lists the hosts of mas.ini, and reaches none" {
    printf '[host gpu]\nvia = slurm:teams\nstore = /srv/store\n' >>"$ROOT/mas.ini"
    ok remote
    [[ ${lines[0]} == HOST*VIA*MAS*ROOT*STORE*FROM* ]]
    [[ ${lines[1]} == n1*ssh:n1*"$MAS"*"$T/n1/root"*"$ROOT/mas.ini:"* ]]
    [[ ${lines[3]} == gpu*slurm:teams*/srv/store* ]]
    [ "${#lines[@]}" -eq 4 ]
    local table=$output
    ok remote list
    [ "$output" = "$table" ]
    ok remote list -q
    [ "$output" = $'n1\nn2\ngpu' ]
    ok remote list --json
    [ "$(json gpu .via)" = slurm:teams ]
    [ "$(json n1 .root)" = "$T/n1/root" ]
    [ "$(jq .total <<<"$output")" = 3 ]
    [ ! -d "$T/runtime/mas" ]
}

@test "remote without hosts says how to add one; list, where sessions of others are" {
    ok list
    [[ $stderr == "no sessions in '$ROOT'; create a session with: mas new; those of other machines: mas list --all-hosts" ]]
    sed -i '/^\[host/,$d' "$ROOT/mas.ini"
    ok remote
    [ -z "$output" ]
    [ "$stderr" = 'no hosts; add one with: mas remote add NAME DESTINATION' ]
    ok remote --json
    [ "$output" = '{"hosts":[],"total":0}' ]
}

@test "remote list shows a section that is wrong, and fails" {
    printf '[host bad]\nvia = http:n3\n' >>"$ROOT/mas.ini"
    fails 1 remote list
    [[ $output == *$'\n'bad* ]]
    [[ $stderr == *'ssh:DESTINATION'* ]]
    fails 1 remote list --json
    [[ $(json bad .wrong) == *'via'* ]]
}

@test "remote check has a line for each fact of each host" {
    mkdir "$T/store"
    printf '[fleet]\nstore = %s\n' "$T/store" >>"$T/n1/root/mas.ini"
    ok remote check
    [[ ${lines[0]} == HOST*WHAT*STATE*FOUND* ]]
    for host in n1 n2; do
        [ "$(fact $host reached)" = 'ok over ssh' ]
        [ "$(fact $host mas)" = "ok $(version)" ]
        [ "$(fact $host tmux)" = "ok $(tmux -V | cut -d' ' -f2)" ]
        [ "$(fact $host git)" = "ok $(git --version | cut -d' ' -f3-)" ]
        [[ $(fact $host walls) == ok* || $(fact $host walls) == note* ]]
        [ "$(fact $host clock)" = 'ok +0.0 s' ]
        [[ $(fact $host root) == 'ok '*' free' ]]
        [[ $(fact $host doctor) == *'everything is in order' || $(fact $host doctor) == *' note'* ]]
    done
    [[ $(fact n1 store) == 'ok '*' free' ]]
    [ -z "$(fact n2 store)" ]
    ok remote check n1
    [[ $output != *n2* ]]
    ok remote check --json
    [ "$(json n1 .version)" = "$(version)" ]
    [ "$(json n2 '.facts[] | select(.name == "tmux") | .state')" = ok ]
    [ "$(json n2 '.free > 0')" = true ]
}

@test "remote check says which agents are installed there" {
    acts_as n1 "$(answers '[]' '[{"name":"shell","install":"","installed":true},{"name":"claude","install":"npm","installed":true,"login":"x","loggedIn":true},{"name":"pi","install":"npm","installed":true,"loggedIn":false},{"name":"own","install":"npm","installed":true,"loggedIn":null},{"name":"codex","install":"npm","installed":false},{"name":"gemini","install":"npm","installed":false}]')"
    acts_as n2 "$(answers '[]' '[{"name":"codex","install":"npm","installed":false}]' 'git: "3.0"')"
    ok remote check
    [ "$(fact n2 git)" = 'ok 3.0' ]
    [ "$(fact n1 agents)" = 'ok claude, pi, own' ]
    [ "$(fact n1 logins)" = 'note claude; none found of pi' ]
    [ -z "$(fact n2 logins)" ]
    [ "$(fact n1 absent)" = 'note codex, gemini' ]
    [ "$(fact n2 agents)" = 'note none is installed, see: mas --host n2 presets' ]
    ok remote check --json
    [ "$(json n1 '.agents | map("\(.name) \(.installed) \(.loggedIn)") | join(",")')" = \
        'claude true true,pi true false,own true null,codex false null,gemini false null' ]
}

@test "remote check marks what is wrong, and fails as doctor does" {
    local now
    now=$(($(date +%s%3N) - 3600000))
    acts_as n1 'echo "{\"mas\":\"0.9\",\"timeMs\":'"$now"',\"free\":100,\"tmux\":\"3.2a\",\"git\":\"-\",\"storeFree\":0}"; case $* in *presets*) echo "{}" ;; *) echo "{\"findings\":[{\"state\":\"open\"},{\"state\":\"note\"}]}"; exit 1 ;; esac'
    fails 1 remote check
    [ "$(fact n1 mas)" = "wrong 0.9, here is $(version); install it there with: mas remote add n1 n1" ]
    [ "$(fact n1 tmux)" = 'wrong 3.2a is too old: 3.3 is the first that will do' ]
    [ "$(fact n1 git)" = 'note missing' ]
    [[ $(fact n1 clock) == 'wrong -'*' s' ]]
    [[ $(fact n1 root) == 'wrong '*' free' ]]
    [[ $(fact n1 store) == 'wrong '*' free' ]]
    [ "$(fact n1 doctor)" = 'wrong 1 problem, see: mas --host n1 doctor' ]
    [ "$stderr" = "mas: cannot use host 'n1' as it is
see the lines marked 'wrong', and then run: mas remote check n1" ]
    acts_as n1 "$(answers '[]' '[]' 'git: "2.20.1", free: -1')"
    fails 1 remote check n1
    [ "$(fact n1 git)" = 'note 2.20.1 is too old: 2.38 is the first that will do' ]
    # each of these alone
    for member in 'free: 1' 'tmux: "-"' 'storeFree: 1' 'mas: "0.9"'; do
        acts_as n1 "$(answers '[]' '[]' "$member")"
        fails 1 remote check n1
        [ "$(grep -c ' wrong ' <<<"$output")" -eq 1 ]
    done
}

@test "remote check says why a host was not reached, and fails with 12" {
    sed -i '/^Host n2/,/ProxyCommand/s|ProxyCommand .*|ProxyCommand false|' "$T/ssh/config"
    fails 12 remote check
    [ "$(fact n1 reached)" = 'ok over ssh' ]
    [[ $(fact n2 reached) == 'wrong not reached: '* ]]
    [ "$(grep -c '^n2 ' <<<"$output")" -eq 1 ]
    fails 12 remote check --json
    [ "$(json n2 .reached)" = false ]
    fails 3 remote check n9
    [[ $stderr == *n9* ]]
}

@test "what a host answers is shown as text, and within limits" {
    local agents
    acts_as n1 "$(answers '[]' '[{"name":"a\u001b[31mred\u0007","install":"x","installed":true}]' 'git: "\u001b]0;title\u0007"')"
    ok remote check n1
    [[ $output != *$'\x1b'* && $output != *$'\x07'* ]]
    [[ $output == *'title'* ]]
    agents=$(jq -nc '[range(150) | {name: "agent-\(.)", install: "x", installed: true}]')
    acts_as n1 "$(answers '[]' "$agents")"
    ok remote check n1
    [[ $(fact n1 agents) == *', agent-99 and 50 more' ]]
    for answer in 'yes x | head -c 20000000' 'echo "{}"' 'echo "{\"findings\":5}"' 'printf "\377"'; do
        acts_as n1 "$(says "$answer")"
        fails 1 remote check n1
        [ "$(fact n1 reached | cut -d' ' -f1)" = wrong ] || { echo "$answer: $output"; false; }
    done
}

@test "an agent may not have hosts checked" {
    MAS_BROKERED=10 mas remote check
    [ "$status" -ne 0 ]
    [ ! -d "$T/runtime/mas" ]
}

# ---- add

# installed: installs mas below $T/inst, and has `mas` run that one. forget: mas.ini has no hosts.
installed() {
    make -s -C "$BATS_TEST_DIRNAME/../.." -o all install BUILD="${MAS%/*}" DESTDIR="$T/inst" PREFIX=/usr >&2
    MAS=$T/inst/usr/bin/mas
}
forget() { sed -i '/^\[host/,$d' "$ROOT/mas.ini"; }
# left HOST: what an installation left in the home there. section: that of mas.ini.
left() { find "$T/$1/home/.local/lib/mas" "$T/$1/home/.local/bin" 2>/dev/null | head -n 5; }
section() { sed -n '/^\[host/,$p' "$ROOT/mas.ini"; }

@test "remote add installs mas on a machine without it, makes a root and writes the section" {
    local own=$T/n1/home/.local before
    installed
    forget
    rm -r "$T/n1/root"
    ok remote add --yes n1 n1
    [[ $output == *"n1: mas is missing there"*"n1: sending "*"n1: is a host now; see what it has: mas remote check n1" ]]
    [ "$(section)" = $'[host n1]\nvia = ssh:n1\nmas = '"$own/bin/mas" ]
    [ "$(readlink "$own/bin/mas")" = "../lib/mas/$(version)/bin/mas" ]
    cmp "$MAS" "$own/bin/mas"
    diff -r "$T/inst/usr/libexec/mas" "$own/lib/mas/$(version)/libexec/mas"
    diff -r "$T/inst/usr/share/mas/templates" "$own/lib/mas/$(version)/share/mas/templates"
    [ -e "$own/lib/mas/$(version)/share/man/man1/mas.1" ]
    [ "$(ls "$own/lib/mas")" = "$(version)" ]
    [ -e "$T/n1/root/mas.ini" ]
    ok --host n1 new -q -t solo
    ok remote check n1
    # again: nothing is sent, and nothing is written
    before=$(cat "$ROOT/mas.ini")
    ok remote add n1 n1
    [[ $output != *sending* && $output != *'? free'* && $output == *"n1: is a host already"* ]]
    [ "$(cat "$ROOT/mas.ini")" = "$before" ]
    # an earlier version of it is replaced
    rm "$own/bin/mas"
    mkdir -p "$own/lib/mas/0.9/bin"
    printf '#!/bin/sh\necho mas 0.9\n' >"$own/lib/mas/0.9/bin/mas"
    chmod +x "$own/lib/mas/0.9/bin/mas"
    ln -s ../lib/mas/0.9/bin/mas "$own/bin/mas"
    ok remote add --yes n1 n1
    [[ $output == *"n1: mas 0.9 is there, '$own/bin/mas'; here is $(version)"*'n1: sending '*"n1: has mas $(version) now; see"* ]]
    cmp "$MAS" "$own/bin/mas"
    [ "$(cat "$ROOT/mas.ini")" = "$before" ]
}

@test "remote add uses a mas of the same version that is there" {
    forget
    ok remote add --mas "$MAS" --root-there "$T/n1/teams" n1 ssh:n1
    [ "$(section)" = $'[host n1]\nvia = ssh:n1\nmas = '"$MAS"$'\nroot = '"$T/n1/teams" ]
    [ -e "$T/n1/teams/mas.ini" ]
    [ -z "$(left n1)" ]
    ok --host n1 list
}

@test "remote add refuses another version, with both numbers, and a program that is no mas" {
    forget
    printf '#!/bin/sh\necho mas 0.9 "(0123)"\n' >"$T/n1/mas"
    printf '#!/bin/sh\necho 5\n' >"$T/n1/other"
    chmod +x "$T/n1/mas" "$T/n1/other"
    fails 4 remote add --yes --mas "$T/n1/mas" n1 n1
    [[ $stderr == "mas: cannot add host 'n1': '$T/n1/mas' there is mas 0.9, and here is $(version)
install "* ]]
    fails 4 remote add --yes --mas "$T/n1/other" n1 n1
    [[ $stderr == *"'$T/n1/other' there is no mas"* ]]
    fails 4 remote add --yes --mas "$T/n1/none" n1 n1
    [ -z "$(section)" ]
    [ -z "$(left n1)" ]
}

@test "remote add asks nobody without a terminal: it installs nothing and writes nothing" {
    installed
    forget
    fails 4 remote add n1 n1
    [[ $stderr == "mas: cannot add host 'n1': mas $(version) is not there
install it there by hand, or have it done with: mas remote add --yes n1 n1" ]]
    ok remote add --dry-run n1 n1
    [[ $output == *"would be installed in $T/n1/home/.local ("* ]]
    [ -z "$(left n1)" ]
    [ -z "$(section)" ]
}

@test "remote add refuses names, destinations and paths that are none, and another host of the name" {
    local before
    before=$(cat "$ROOT/mas.ini")
    fails 2 remote add 'n 3' n3
    fails 2 remote add n3 -oProxyCommand=x
    fails 2 remote add n3 ssh:-oProxyCommand=x
    fails 2 remote add gpu slurm:teams
    [[ $stderr == "mas: cannot add host 'gpu': 'slurm:teams' is not reached by ssh"* ]]
    fails 2 remote add --mas relative n3 n1
    fails 2 remote add --root-there $'/a\n[host x]' n3 n1
    fails 4 remote add n1 ssh:n2
    [[ $stderr == "mas: cannot add host 'n1': '$ROOT/mas.ini:"*"' has it, with via = ssh:n1
take another name, or change that section by hand" ]]
    fails 4 remote add --root-there /else n1 n1
    [ ! -d "$T/runtime/mas" ]
    [ "$(cat "$ROOT/mas.ini")" = "$before" ]
}

@test "remote add refuses a host key that is not known, whatever ssh_config says" {
    forget
    cp "$T/ssh/known_hosts" "$T/known"
    sed -i '/^n1 /d' "$T/ssh/known_hosts"
    sed -i '1iStrictHostKeyChecking accept-new' "$T/ssh/config"
    fails 12 remote add --mas "$MAS" n1 n1
    [ "$stderr" = "mas: cannot reach host 'n1': Host key verification failed: it is not known here
compare it with that of the machine, and accept it once: ssh n1 true" ]
    run ! grep '^n1 ' "$T/ssh/known_hosts"
    [ -z "$(section)" ]
}

@test "remote add says what is missing there, and refuses what cannot run there" {
    local program
    installed
    forget
    mkdir "$T/n1/bin"
    for program in sh tar sha256sum ldd df head sed sort tr uname mkdir cat rm rmdir ln mv sync readlink; do
        ln -s "$(command -v $program)" "$T/n1/bin/$program"
    done
    sed -i "s|PATH=.*|PATH=$T/n1/bin|" "$T/n1/sshd_config"
    ok remote add --dry-run n1 n1
    [[ $output == *'n1: tmux is missing there: '*'n1: git is missing there: '*'n1: mas is missing there'* ]]
    rm "$T/n1/bin/tar"
    fails 4 remote add --yes n1 n1
    [[ $stderr == *"cannot install mas on host 'n1': it has no tar"* ]]
    ln -s "$(command -v tar)" "$T/n1/bin/tar"
    rm "$T/n1/bin/uname"
    printf '#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo vax\n' >"$T/n1/bin/uname"
    chmod +x "$T/n1/bin/uname"
    fails 4 remote add --yes n1 n1
    [[ $stderr == *"it is Linux vax, and this mas is for Linux $(uname -m)"* ]]
    rm "$T/n1/bin/uname"
    ln -s "$(command -v uname)" "$T/n1/bin/uname"
    rm "$T/n1/bin/ldd"
    printf '#!/bin/sh\nprintf "\\tlibodd.so.3 => not found\\n\\tlibc.so.6 => /lib/libc.so.6 (0x1)\\n"\n' >"$T/n1/bin/ldd"
    chmod +x "$T/n1/bin/ldd"
    fails 4 remote add --yes n1 n1
    [[ $stderr == *'shared libraries are missing there: libodd.so.3
install them there, or its Debian package, which brings them' ]]
    rm "$T/n1/bin/ldd"
    ln -s "$(command -v ldd)" "$T/n1/bin/ldd"
    rm "$T/n1/bin/df"
    printf '#!/bin/sh\necho Filesystem; echo disk 9 8 1000 x /\n' >"$T/n1/bin/df"
    chmod +x "$T/n1/bin/df"
    fails 4 remote add --yes n1 n1
    [[ $stderr == *"cannot install mas on host 'n1': it needs "*", and '$T/n1/home' has 1000K free
make room there" || $stderr == *' free
make room there' ]]
    [ -z "$(left n1)" ]
    [ -z "$(section)" ]
}

@test "remote add takes nothing that has another checksum, and no place that is somebody's" {
    installed
    forget
    mkdir -p "$T/n1/bin" "$T/n1/home/.local/bin"
    printf '#!/bin/sh\necho 00 -\n' >"$T/n1/bin/sha256sum"
    chmod +x "$T/n1/bin/sha256sum"
    sed -i "s|PATH=|PATH=$T/n1/bin:|" "$T/n1/sshd_config"
    fails 4 remote add --yes n1 n1
    [[ $stderr == *'what has arrived has the SHA-256 00, which is not that of what was sent'* ]]
    [ "$(left n1)" = "$T/n1/home/.local/bin" ]
    rm "$T/n1/bin/sha256sum"
    echo mine >"$T/n1/home/.local/bin/mas"
    fails 4 remote add --yes n1 n1
    [[ $stderr == *"'$T/n1/home/.local/bin/mas' there is another program"* ]]
    [ "$(cat "$T/n1/home/.local/bin/mas")" = mine ]
    [ -z "$(section)" ]
}

@test "what a killed remote add left there is replaced by the next one" {
    local at=$T/n1/home/.local/lib/mas
    installed
    forget
    mkdir -p "$at/$(version).new/bin" "$at/$(version)/bin" "$at/$(version).old"
    echo half >"$at/$(version).new/bin/mas"
    echo half >"$at/$(version).new/tar"
    echo broken >"$at/$(version)/bin/mas"
    ok remote add --yes n1 n1
    [ "$(ls "$at")" = "$(version)" ]
    cmp "$MAS" "$at/$(version)/bin/mas"
    [ ! -e "$at/$(version)/tar" ]
}

@test "remote add where walls are required refuses a machine that has none" {
    forget
    printf '[wall]\nlevel = require\n' >>"$ROOT/mas.ini"
    printf '#!/bin/sh\nPATH=/none exec "%s" "$@"\n' "$MAS" >"$T/n1/mas"
    chmod +x "$T/n1/mas"
    fails 4 remote add --mas "$T/n1/mas" n1 n1
    [[ $stderr == *"cannot add host 'n1': it cannot hold agents, and [wall] level is require: "* ]]
    [ -z "$(section)" ]
}

@test "two that add a host at the same time write it once, and another one of its name is refused" {
    local n pids=()
    forget
    for n in 1 2 3 4; do
        "$MAS" remote add -q --mas "$MAS" --root-there "$T/n$((n % 2 + 1))/root" n1 n$((n % 2 + 1)) >"$T/out.$n" 2>&1 &
        pids+=($!)
    done
    for n in 0 1 2 3; do wait "${pids[n]}" || [ $? -eq 4 ]; done
    cat "$T"/out.*
    [ "$(section | grep -c '^\[host n1\]')" -eq 1 ]
    ok --host n1 version
}

# ---- forward

# team_there: a session with an agent that listens on its first port; sets PORT and LISTENER.
team_there() {
    local i state=$T/n1/home/.local/state/mas
    mkdir -p "$state"
    chmod 700 "$state"
    for ((i = 20000; i < 30000; i += 10)); do # beside which other tests may look for theirs
        echo "$i 11111111-1111-4111-8111-111111111111 solo $T/away"
    done >"$state/ports"
    there n1 "$MAS" new -q -t solo --agent shell -n team >/dev/null
    eventually eval 'there n1 "$MAS" show team --json | jq -e ".agents[0].port"' >/dev/null
    PORT=$(there n1 "$MAS" show team --json | jq '.agents[0].port')
    python3 -ES - "$PORT" >"$T/listens" 3>&- <<'PY' &
import socket, sys
at = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("yes", flush=True)
while True:
    at.accept()[0].sendall(b"of the agent")
PY
    LISTENER=$!
    eventually test -s "$T/listens"
}
end_team() {
    kill "$LISTENER"
    there n1 "$MAS" rm -qf team
}
# forwards ARGUMENT...: begins; sets FORWARD, and HERE, the first port here.
forwards() {
    setsid "$MAS" remote forward "$@" >"$T/forward" 2>"$T/why" 3>&- &
    FORWARD=$!
    eventually grep -q solo "$T/forward"
    HERE=$(sed -nE '2s/.*127\.0\.0\.1:([0-9]+)-.*n1:.*/\1/p' "$T/forward")
}
reads() { python3 -ESc 'import socket, sys
print(socket.create_connection(("127.0.0.1", int(sys.argv[1]))).recv(100).decode())' "$1"; }
# there_runs NAME: a program of that name runs on n1.
there_runs() {
    local file
    while read -r file; do
        if grep -qsxE "$1" "${file%/*}/comm"; then return 0; fi
    done < <(grep -lzs "^HOME=$T/n1/home" /proc/[0-9]*/environ)
    return 1
}
# What forwards is gone, here and there.
is_over() { run ! reads "$HERE" && run ! pgrep -f "127.0.0.1:$HERE:127.0.0.1:" && run ! there_runs 'cat|sleep'; }

@test "remote forward brings the ports of agents here, until it is ended" {
    team_there
    forwards n1:team
    [ "$HERE" != "$PORT" ] # that is taken here
    [[ $(cat "$T/forward") == *"solo "*"127.0.0.1:$HERE-$((HERE + 9))"*"n1:$PORT-$((PORT + 9))"* ]]
    [ "$(reads "$HERE")" = 'of the agent' ]
    there_runs cat
    kill -INT "$FORWARD"
    wait "$FORWARD" || code=$?
    [ "$code" -eq 130 ]
    eventually is_over
    [ ! -s "$T/why" ]
    forwards n1:team solo
    [ "$(reads "$HERE")" = 'of the agent' ]
    kill -KILL "$FORWARD"
    eventually is_over
    end_team
}

@test "remote forward does not take the port of another program for its own" {
    local other
    team_there
    # that program takes the port while ssh logs in
    cat >"$T/bin/ssh" <<END
#!/bin/bash
for word in "\$@"; do
    [[ \$word != 127.0.0.1:*:* || -e $T/other ]] || {
        python3 -ESc 'import os, socket, sys, time
os.closerange(3, 10)
at = socket.create_server(("127.0.0.1", int(sys.argv[1])))
if child := os.fork():
    print(child)
else:
    os.closerange(0, at.fileno())
    time.sleep(60)' "\$(cut -d: -f2 <<<"\$word")" >"$T/other"
    }
done
exec /usr/bin/ssh -F "$T/ssh/config" "\$@"
END
    fails 1 remote forward n1:team
    [[ $stderr == *"cannot forward port $PORT of host 'n1': ssh does not get port "*'try again' ]]
    [ -z "$output" ]
    kill "$(cat "$T/other")"
    end_team
}

@test "remote forward whose connection is lost says so" {
    team_there
    forwards n1:team
    pkill -KILL -f "127.0.0.1:$HERE:127.0.0.1:$PORT" # the ssh that has it
    wait "$FORWARD" || code=$?
    [ "$code" -eq 12 ]
    grep -q "cannot reach host 'n1': the connection was lost" "$T/why"
    end_team
}

@test "remote forward refuses what cannot be forwarded" {
    local where want
    there n1 "$MAS" new -q -t solo --no-start -n team >/dev/null
    printf '[host gpu]\nvia = slurm:teams\n' >>"$ROOT/mas.ini"
    while IFS='|' read -r code where want; do
        # shellcheck disable=SC2086 # a session, and maybe an agent
        fails "$code" remote forward $where
        [[ $stderr == *"$want"* ]] || { echo "$where: $stderr"; false; }
    done <<'EOF'
2|team|it is not HOST:SESSION
2|n1:|it is not HOST:SESSION
3|n3:team|no section [host n3]
2|gpu:team|it is not reached over ssh
3|n1:other|host 'n1': cannot find session 'other'
3|n1:team dev|no such agent
4|n1:team solo|no agent has any yet
EOF
}

@test "remote forward believes no port that cannot be one" {
    local port
    for port in -1 0 22 65530 99999999999 '"20000"' null; do
        acts_as n1 "echo '{\"agents\":[{\"id\":\"solo\",\"port\":$port},{\"id\":\"../x\",\"port\":20000}]}'"
        fails 4 remote forward n1:team
    done
    acts_as n1 "echo '[[['"
    fails 5 remote forward n1:team
    [[ $stderr == *"cannot read what host 'n1' answers"* ]]
}
