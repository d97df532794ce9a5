# shellcheck disable=SC2016 # what the other machine expands
load ../helper
load ../ssh

setup_more() { make_machines n1; }
teardown_more() { close_connections; }

@test "a verb runs on another machine, in its root" {
    there n1 "$MAS" new -q --name shop >/dev/null
    new_session --name here
    ok --host n1 list --json
    [ "$(jq -r '.sessions[].name' <<<"$output")" = shop ]
    ok --host=n1 list -q
    [ "$output" = "$(there n1 "$MAS" list -q)" ]
    ok --host n1
    [[ $output = *shop* ]]
}

@test "forty hostile arguments arrive as they are, whatever the login shell there is" {
    local words long shell
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    words=("" " " "  a  b " $'a\nb' $'\n' $'\t' "'" "''" "'''" '"' '""' "\\" "\\\\" "\\'" "'\\" "a'b\"c\\d" '$(touch x)' '`touch x`'
        '$HOME' '${HOME}' '*' '?' '[a-z]*' '~' '~root' '!' '!!' '; touch x' '& touch x' '| cat' '> x' '< x' '#x' '-' '--' '-x' '--host'
        'Grüße, 世界 🦊' $'\x01\x7f\x1b[31m' $'\xff\xfe' '%s%n' '{a,b}' "$long")
    [ "${#words[@]}" -ge 40 ]
    acts_as n1 'printf "%s\0" "as $MAS_REACHED_AS" "$@"'
    "$MAS" --host n1 send "${words[@]}" >"$T/got"
    printf '%s\0' 'as n1' --root "$T/n1/root" send "${words[@]}" >"$T/want"
    cmp "$T/want" "$T/got"
    [ ! -e "$T/n1/home/x" ]
    [ ! -e x ]
    close_connections
    for shell in dash zsh fish tcsh mksh bsd-csh; do
        if ! shell=$(command -v "$shell"); then continue; fi
        # as sshd runs a command of a user whose login shell this is
        sed -i '/^ForceCommand/d' "$T/n1/sshd_config"
        echo "ForceCommand exec $shell -c \"\$SSH_ORIGINAL_COMMAND\"" >>"$T/n1/sshd_config"
        [[ $shell != *bsd-csh ]] || words=("${words[@]::${#words[@]}-1}") # it allows no long words
        "$MAS" --host n1 send "${words[@]}" >"$T/got"
        printf '%s\0' 'as n1' --root "$T/n1/root" send "${words[@]}" >"$T/want"
        cmp "$T/want" "$T/got"
        [ ! -e "$T/n1/home/x" ]
        [ ! -e x ]
        close_connections
        eventually eval '[ -z "$(find "$T/runtime" -type s)" ]'
    done
}

@test "a command line that is too long for a shell is refused, whatever it consists of" {
    local words
    words=$(head -c 120000 /dev/zero | tr '\0' "'")
    acts_as n1 'printf "%s" "${@: -1}" | wc -c'
    ok --host n1 send "$words"
    [ "$output" = 120000 ]
    words=$(head -c 131000 /dev/zero | tr '\0' "x")
    fails 2 --host n1 send "$words" more words
    [[ $stderr = "mas: cannot run 'send' on host 'n1': the command line is too long for ssh"* ]]
}

@test "64 MB of standard input arrive, and as much comes back" {
    acts_as n1 'tee >(sha256sum >&2)'
    head -c 67108864 /dev/urandom >"$T/data"
    "$MAS" --host n1 ask <"$T/data" 2>"$T/sum" >"$T/back"
    cmp "$T/back" "$T/data"
    [ "$(cut -d' ' -f1 "$T/sum")" = "$(sha256sum <"$T/data" | cut -d' ' -f1)" ]
}

@test "output, errors and exit codes from 0 to 12 are those of the verb there" {
    local code
    acts_as n1 'echo "out $4"; echo "err $4" >&2; exit "$4"'
    for code in {0..12} 130; do
        mas --host n1 wait "$code"
        [ "$status" -eq "$code" ]
        [ "$output" = "out $code" ]
        [ "$stderr" = "err $code" ]
    done
}

@test "a host that is not reached is exit code 12, with the reason" {
    printf '[host gone]\nvia = ssh:gone\n' >>"$ROOT/mas.ini"
    printf 'Host gone\n    ProxyCommand /bin/false\n' >>"$T/ssh/config"
    fails 12 --host gone list
    [[ $stderr = "mas: cannot reach host 'gone': "* ]]
    [[ $stderr = *"try: ssh -o BatchMode=yes gone true"* ]]

    ssh-keygen -q -t ed25519 -N '' -f "$T/other_key"
    sed -i "s|^HostKey .*|HostKey $T/other_key|" "$T/n1/sshd_config"
    fails 12 --host n1 list
    [[ $stderr = "mas: cannot reach host 'n1': Host key verification failed: it has changed"$'\n'*"forget the old key: ssh-keygen -"*-R* ]]
    : >"$T/ssh/known_hosts"
    fails 12 --host n1 list
    [[ $stderr = "mas: cannot reach host 'n1': Host key verification failed: it is not known here"$'\n'*"ssh n1 true"* ]]
    echo "@revoked * $(<"$T/other_key.pub")" >"$T/ssh/known_hosts"
    fails 12 --host n1 list
    [[ $stderr = "mas: cannot reach host 'n1': Host key verification failed: it was revoked"$'\n'* ]]
    # another way of ssh to say it
    echo "* $(<"$T/other_key.pub")" >"$T/ssh/known_hosts"
    cp "$T/other_key.pub" "$T/ssh/revoked"
    sed -i "1i RevokedHostKeys $T/ssh/revoked" "$T/ssh/config"
    fails 12 --host n1 list
    [[ $stderr = "mas: cannot reach host 'n1': Host key verification failed: it was revoked"$'\n'* ]]
}

@test "a machine that does not let the user in, or has no mas, is exit code 12" {
    sed -i 's|^mas = .*|mas = /no/such/mas|' "$ROOT/mas.ini"
    fails 12 --host n1 list
    [[ $stderr = *"mas: cannot reach host 'n1': '/no/such/mas' does not run there: "*"No such file or directory"$'\n'* ]]
    [ "$(wc -l <<<"$stderr")" -eq 2 ]
    close_connections
    : >"$T/ssh/id.pub"
    eventually eval '[ -z "$(find "$T/runtime" -type s)" ]'
    fails 12 --host n1 list
    [[ $stderr = "mas: cannot reach host 'n1': "*"Permission denied"* ]]
}

@test "the last words of ssh are in the error of a verb, and mas there is heard at once" {
    ok --host n1 list
    acts_as n1 'echo "mas: warning: low" >&2; until [ -e "$HOME/go" ]; do read -rt 0.05 <> <(:); done; echo ended
        printf "lost\\033[31m it\\n" >&2; exit 255'
    "$MAS" --host n1 show shop >"$T/out" 2>"$T/err" &
    local pid=$!
    eventually grep -qx 'mas: warning: low' "$T/err"
    touch "$T/n1/home/go"
    local status=0
    wait "$pid" || status=$?
    [ "$status" -eq 12 ]
    [ "$(cat "$T/out")" = ended ]
    grep -qFx "mas: cannot reach host 'n1': the connection was lost, or the command was killed there: lost\x1b[31m it" "$T/err"

    # before mas there has begun, it is the reason, and not printed besides
    sed -i '2i case " $* " in *" true "* | *" -N "*) ;; *) echo first >&2; echo "ssh: no\x1b[31m way" >&2; exit 255 ;; esac' "$T/bin/ssh"
    fails 12 --host n1 list
    [ "${stderr%%$'\n'*}" = "mas: cannot reach host 'n1': no\x1b[31m way" ]
    [[ $stderr != *first* ]]
}

@test "what answers in the place of mas is not believed, and its words are the reason" {
    local verb
    for verb in 'echo {}' 'echo This account is not available.; exit 1' 'echo sealed; exit 42' 'exit 0'; do
        sed -i '/^ForceCommand/d' "$T/n1/sshd_config"
        echo "ForceCommand $verb" >>"$T/n1/sshd_config"
        close_connections
        fails 12 --host n1 list --json
        [ "$output" = '' ]
        [[ $stderr = "mas: cannot reach host 'n1': what answers there is not mas"*ForceCommand*~/.bashrc*"ssh n1 $MAS version" ]]
        [[ $verb != *account* || $stderr = *": This account is not available."$'\n'* ]]
        fails 12 list --all-hosts
        [[ $output = *'n1 '*'not reached: what answers there is not mas'* ]]
    done
}

@test "what a login script prints before mas is left out, and named" {
    close_connections
    # as a shell does that reads ~/.bashrc for ssh
    printf '%s\n' 'ForceCommand printf "\n  Welcome\033[5m to n1\nmail: 3"; eval "$SSH_ORIGINAL_COMMAND"' >>"$T/n1/sshd_config"
    there n1 "$MAS" new -q --name shop -t solo --no-start >/dev/null
    ok --host n1 list --json
    [ "$(jq -r '.sessions[].name' <<<"$output")" = shop ]
    [ "$stderr" = "mas: warning: host 'n1' prints 'Welcome\x1b[5m to n1' before mas does, which is left out; have ~/.bashrc there print only on a terminal" ]
    ok list --all-hosts
    [[ $output = *'n1 '*shop* ]]
    [ "$stderr" = '' ]
}

@test "a machine that hangs after the login is given up, unless the command waits by its nature" {
    local pids=() words
    printf '[fleet]\nsilence = 3s\n' >>"$ROOT/mas.ini"
    acts_as n1 'case "$*" in
        *" show "*) echo begun; exec sleep 100 ;;
        *) until [ -e "$HOME/go" ]; do read -rt 0.05 <> <(:); done; echo ended ;;
        esac'
    for words in 'wait shop' 'logs -f shop' 'status --watch shop'; do
        # shellcheck disable=SC2086 # words
        "$MAS" --host n1 $words >"$T/out.${words%% *}" &
        pids+=($!)
    done
    fails 12 --host n1 show shop
    [ "$output" = begun ]
    [[ $stderr = "mas: cannot reach host 'n1': mas there has printed nothing for 3 s"$'\n'*'[fleet] silence'* ]]
    fails 12 show n1:shop
    touch "$T/n1/home/go"
    for words in "${pids[@]}"; do wait "$words"; done
    [ "$(cat "$T"/out.*)" = $'ended\nended\nended' ]
    close_connections
    echo 'ForceCommand exec sleep 100' >>"$T/n1/sshd_config"
    fails 12 --host n1 list
    [[ $stderr = "mas: cannot reach host 'n1': mas has not begun there after 3 s"$'\n'* ]]
}

@test "only hosts of a mas.ini that the user wrote or accepted are reached" {
    mkdir -p "$T/found/sub" "$T/found/sessions" "$T/found/templates"
    printf '[host n1]\nvia = ssh:n1\nmas = %s\n' "$MAS" >"$T/found/mas.ini"
    acts_as n1 'touch "$HOME/ran"'
    cp "$ROOT/mas.ini" "$T/accepted.ini"
    cd "$T/found/sub"
    unset MAS_ROOT
    fails 3 --host n1 list
    [[ $stderr = *"mas.ini has no [host n1]"*"mas init DIR"* ]]
    mas config
    [[ $output != *host.n1* ]]
    "$MAS" init "$T/found" >/dev/null
    ok --host n1 version
}

@test "mas config shows hosts, and bad ones are errors" {
    local bad
    mas config
    [[ $output = *"host.n1.via"*"ssh:n1"*"$ROOT/mas.ini:"* ]]
    for bad in 'via = ssh:-oProxyCommand=x' 'via = ssh:a b' 'via = ssh:$(x)' 'via = ssh:u@-x' 'via = ssh:' 'via = rsh:n1' 'via = slurm:-x' \
        'mas = mas' 'root = here' 'store = here' "submit = '" \
        'submit = --array=1-3' 'port = 22'; do
        printf '[host bad]\n%s\n' "$bad" >"$ROOT/mas.ini"
        fails 1 config
        [[ $stderr = *"$ROOT/mas.ini:2: [host bad] "* ]]
    done
    printf '[host -x]\nvia = ssh:n1\n' >"$ROOT/mas.ini"
    mas config
    [[ $stderr = *"a host's name must be"* ]]
    printf '[host later]\nstore = /s\n' >"$ROOT/mas.ini"
    fails 1 --host later list
    [[ $stderr = *"does not say how to reach it"* ]]
}

@test "a wrong [host] section stops only what reaches that host" {
    local before
    before=$(<"$ROOT/mas.ini")
    for bad in 'via = rsh:n1' 'port = 22' 'a line' $'mas = /x\nmas = /y' ': = x'; do
        printf '%s\n[host bad]\nvia = ssh:n1\n%s\n' "$before" "$bad" >"$ROOT/mas.ini"
        ok list
        [[ $stderr != *mas.ini* ]]
        ok --host n1 list -q
        fails 1 --host bad list
        [[ $stderr = "mas: cannot use host 'bad': $ROOT/mas.ini:"* ]]
        fails 1 config
        [[ $output = *"host.n1.via"* && $stderr = *"$ROOT/mas.ini:"* ]]
    done
    mas doctor
    [[ $output$stderr = *"$ROOT/mas.ini: "* ]]
    fails 12 list --all-hosts
    [[ $output = *"bad "*"$ROOT/mas.ini:"* ]]
    printf '%s\n[host bad]\nport = 22\n[tmux\x01]\n' "$before" >"$ROOT/mas.ini"
    fails 1 list
}

@test "an agent may not reach hosts" {
    MAS_SOCKET=$T/none fails 1 --host n1 list
    [[ $stderr = *"cannot reach host 'n1': only a person may"* ]]
    MAS_BROKERED=10 fails 1 --host n1 list
    [ ! -d "$T/runtime/mas" ]
}

@test "commands to one machine share connections, which only the user may use" {
    for _ in 1 2 3; do "$MAS" --host n1 list -q; done
    [ "$(find "$T/runtime/mas" -type s | wc -l)" -eq 1 ]
    [ "$(stat -c %a "$T/runtime/mas")" = 700 ]
    chmod 755 "$T/runtime/mas"
    fails 1 --host n1 list
    [[ $stderr = *"cannot use '$T/runtime/mas'"* ]]
}

@test "a master that was killed is replaced" {
    local socket
    "$MAS" --host n1 list -q
    socket=$(find "$T/runtime/mas" -type s)
    kill -KILL "$(ssh -o ControlPath="$socket" -O check any 2>&1 | tr -dc 0-9)"
    ok --host n1 list -q
}

@test "an interrupt here closes the connection to the verb there" {
    acts_as n1 'echo $$ >"$HOME/pid"; exec cat'
    mkfifo "$T/open"
    "$MAS" --host n1 wait <>"$T/open" &
    local pid=$!
    eventually test -s "$T/n1/home/pid"
    kill -TERM "$pid"
    wait "$pid" || status=$?
    [ "$status" -eq 143 ]
    eventually eval '! kill -0 "$(cat "$T/n1/home/pid")" 2>/dev/null'
}

@test "a killed mas ends the verb there" {
    acts_as n1 'echo $$ >"$HOME/pid"; exec cat'
    mkfifo "$T/open"
    "$MAS" --host n1 wait <>"$T/open" &
    local pid=$!
    eventually test -s "$T/n1/home/pid"
    kill -KILL "$pid"
    wait "$pid" || true
    eventually eval '! kill -0 "$(cat "$T/n1/home/pid")" 2>/dev/null'
}

@test "the terminal's team and multiplexer do not pass to ssh" {
    printf '#!/bin/sh\nenv >%s/env\nexec /usr/bin/ssh -F %s "$@"\n' "$T" "$T/ssh/config" >"$T/bin/ssh"
    sed -i '2i case "$*" in *ConnectTimeout*) exit 1 ;; esac # it is for ~/.ssh/config to say' "$T/bin/ssh"
    TMUX=/x,1,0 TMUX_PANE=%1 MAS_SESSION_ID=abc ok --host n1 list
    run ! grep -E '^(TMUX=|TMUX_PANE|MAS_)' "$T/env"
}

@test "sixteen commands at once on an sshd as it comes, and none fails" {
    local port i pids=()
    # a listener, because limits of unauthenticated connections are its own
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    /usr/sbin/sshd -D -e -o ListenAddress=127.0.0.1 -p "$port" -f "$T/n1/sshd_config" 2>"$T/sshd.log" &
    local sshd=$!
    sed -i "s|^    ProxyCommand .*|    HostName 127.0.0.1\n    Port $port|" "$T/ssh/config"
    eventually grep -q 'Server listening' "$T/sshd.log"
    # each waits for all
    acts_as n1 'mkdir "$HOME/in.$$"
        until [ "$(find "$HOME" -name "in.*" | wc -l)" -eq 16 ]; do read -rt 0.05 <> <(:); done
        cat'
    for i in {1..16}; do
        echo "$i" | "$MAS" --host n1 ask >"$T/out.$i" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    for i in {1..16}; do [ "$(cat "$T/out.$i")" = "$i" ]; done
    close_connections
    kill "$sshd"
}

@test "NAME:SESSION names a session of another machine, wherever a session stands" {
    local id
    id=$(there n1 "$MAS" new -q --name shop -t pair)
    ok show n1:shop --json
    [ "$(jq -r .sessionId <<<"$output")" = "$id" ]
    mas show -s "n1:${id:0:8}" --json
    [ "$(jq -r .sessionId <<<"$output")" = "$id" ]
    ok send n1:shop all "hello there"
    ok send -s n1:@last all -- "-x: y"
    fails 3 wait n1:nothing
    [[ $stderr = *"'nothing'"* ]]
    fails 1 attach n1:shop
    [[ $stderr = *terminal* ]]
}

@test "options and operands of NAME:SESSION arrive as they were parsed" {
    acts_as n1 'printf "%s\0" "$@"'
    "$MAS" send n1:shop 10 --no-enter --from=1 -- -a 'b c' n1:x >"$T/got"
    printf '%s\0' --root "$T/n1/root" send --no-enter --from=1 -- shop 10 -a 'b c' n1:x >"$T/want"
    cmp "$T/want" "$T/got"
    "$MAS" attach --root "$ROOT" n1:shop lead >"$T/got"
    printf '%s\0' --root "$T/n1/root" attach -- shop lead >"$T/want"
    cmp "$T/want" "$T/got"
    "$MAS" search -s n1:shop --json 'n1:x' >"$T/got"
    printf '%s\0' --root "$T/n1/root" search --session=shop --json -- n1:x >"$T/want"
    cmp "$T/want" "$T/got"
}

@test "sessions of several machines: each in turn, and the first exit code but 0" {
    local here
    make_machine n2
    new_session
    here=$ID
    acts_as n1 'echo "n1 $*"; exit 4'
    acts_as n2 'echo "n2 $*"; exit 5'
    fails 5 stop "$here" n2:a n1:b n2:c
    [ "${lines[0]}" = "n2 --root $T/n2/root stop -- a c" ]
    [ "${lines[1]}" = "n1 --root $T/n1/root stop -- b" ]
    [ "$(field "$here" .status)" = stopped ]
    acts_as n1 'exit 0'
    fails 3 rm n1:b none
    fails 3 stop n3:x
    [[ $stderr = *"mas.ini has no [host n3]"* ]]
}

@test "an agent's NAME:SESSION is not another machine's" {
    MAS_BROKERED=10 mas show n1:shop
    [ "$status" -ne 0 ]
    [ ! -d "$T/runtime/mas" ]
}

# completes WORD...: the candidates, on one line.
completes() { "$MAS" complete -- "$@" | tr '\n' ' '; }

@test "completion offers hosts, and the sessions of a host within a second" {
    local began
    there n1 "$MAS" new -q --name shop -t solo --no-start >/dev/null
    new_session --name north -t solo --no-start
    [ "$(completes --host '')" = 'n1 ' ]
    [ "$(completes --host = n)" = 'n1 ' ]
    [ "$(completes show n)" = 'n1: north ' ]
    [ "$(completes show n1:sh)" = 'n1:shop ' ]
    [ "$(completes show n1 : sh)" = 'shop ' ]
    [[ " $(completes show n1 :)" = *' shop '* ]]
    [[ " $(completes show -s n1:sh)" = ' n1:shop ' ]]
    [[ " $(completes --host n1 show '')" = *' shop '* ]]
    [[ " $(completes --host n1 show '')" != *north* ]]
    [[ " $(completes --host n1 sho)" = ' show ' ]]
    [ "$(completes show other:)" = '' ]
    [ "$(completes ask n1:shop '')" = 'solo ' ]
    [ "$(completes ask n1 : shop so)" = 'solo ' ]
    [ "$(completes ask -s n1:shop so)" = 'solo ' ]
    [[ " $(completes send n1:shop solo,al)" = ' solo,all ' ]]
    [[ " $(completes --host n1 ask shop '')" = ' solo ' ]]
    [ "$(completes ask n1:none '')" = '' ]
    [ "$(completes new --host '')" = 'n1 ' ]
    [ "$(completes move north '')" = 'n1 ' ]
    close_connections
    sed -i "s|ProxyCommand .*|ProxyCommand sleep 100|" "$T/ssh/config"
    began=$(date +%s%3N)
    [ "$(completes show n1:sh)" = '' ]
    [ $(($(date +%s%3N) - began)) -lt 3000 ]
    acts_as n1 'printf "{\"sessions\":[{\"name\":\"\$(x)\",\"tmuxSession\":\"a\\nb\"}]}"'
    [ "$(completes show n1:)" = '' ]
}

@test "NAME:SESSION with a host that mas.ini does not have says so, on whatever machine that is" {
    local text
    for text in none:shop none:0123abcd; do
        fails 3 status "$text"
        [ "$stderr" = "mas: cannot find host 'none': mas.ini has no [host none]"$'\n''the hosts are: n1' ]
    done
    # what cannot be a session is no place either
    for text in 'none: do it' :shop none: no/ne:shop; do
        fails 3 status "$text"
        [ "${stderr%%$'\n'*}" = "mas: cannot find session '$text': there is no such session in '$ROOT'" ]
    done
    fails 3 status n1:none:shop
    [ "${stderr_lines[0]}" = "mas: cannot find host 'none': mas.ini on n1 has no [host none]" ]
    there n1 "$MAS" new -q --name shop --no-start >/dev/null
    fails 3 move n1:shop n2
    [ "${stderr_lines[0]}" = "mas: cannot find host 'n2': mas.ini on n1 has no [host n2]" ]
    [ "${stderr_lines[1]}" = 'add it there, or take the session home, and move it on from there: mas --host n1 move shop .' ]
    rm -r "$ROOT/sessions"
    mkdir -p "$XDG_CONFIG_HOME/mas"
    mv "$ROOT/mas.ini" "$XDG_CONFIG_HOME/mas/mas.ini"
    cd "$T"
    run --separate-stderr env -u MAS_ROOT "$MAS" status none:shop
    [ "$status" -eq 3 ]
    [ "${stderr_lines[0]}" = "mas: cannot find host 'none': mas.ini has no [host none]" ]
}

@test "new --host on a machine that ssh reaches creates the session there" {
    ok new --host n1 --name shop -t solo -q
    [ "$output" = "$(there n1 "$MAS" list -q)" ]
    [ "$(there n1 "$MAS" show shop --json | jq -r .status)" = active ]
    [ "$("$MAS" list -q)" = '' ]
    fails 4 new --host n1 --name shop
    fails 3 new --host none
    [[ $stderr = *"cannot find host 'none'"* ]]
    fails 2 new --host n1 --cpus 2
    [[ $stderr = "mas: cannot use --cpus with --host n1: Slurm does not place sessions there"* ]]
    MAS_BROKERED=10 fails 1 new --host n1
}

@test "new --host passes everything but --host, and makes no root here" {
    acts_as n1 'printf "%s\0" "$@"; cat'
    printf hello | "$MAS" new --host=n1 -n shop -p 'lead=-x y' --private -c - --json >"$T/got"
    printf '%s\0' --root "$T/n1/root" new --name=shop '--prompt=lead=-x y' --private --config=- --json -- >"$T/want"
    printf hello >>"$T/want"
    cmp "$T/want" "$T/got"
    mkdir -p "$XDG_CONFIG_HOME/mas"
    mv "$ROOT/mas.ini" "$XDG_CONFIG_HOME/mas/mas.ini"
    cd "$T/ssh"
    MAS_ROOT='' "$MAS" new --host n1 >/dev/null
    [ ! -e "$XDG_DATA_HOME/mas" ]
}

@test "new --attach on another machine gets a terminal there" {
    acts_as n1 'test -t 0 && test -t 1 && echo "a terminal for $*"'
    for words in 'new --host n1 --attach' '--host n1 new -a' '--host n1 new -qa'; do
        run script -qec "$MAS $words" /dev/null
        [[ $output = *"a terminal for"*new* ]]
    done
    run script -qec "$MAS --host n1 new -q" /dev/null
    [[ $output != *"a terminal for"* ]]
}

@test "what a machine says to do can be done from here: its command lines have its name" {
    there n1 "$MAS" new -q --no-start -t solo --agent shell --name shop
    fails 4 --host n1 send shop all hello
    [[ $stderr = *': mas --host n1 start shop'* ]]
    mas status n1:shop
    [ "$stderr" = '' ]
    fails 3 start n1:nobody
    [[ $stderr = *': mas --host n1 list'* ]]
    mas --host n1 start --nonsense
    [[ $stderr = *': mas help start'* ]]
    fails 1 --host n1 open shop solo
    [[ $stderr = *': mas --host n1 stop shop && mas --host n1 start --wall shop' ]]
    mas --host n1 new --no-start -t solo --agent shell --name bench
    [[ $output = *$'\nstart: mas --host n1 start bench' ]]
    # as it is said
    ok --host n1 start shop
    [ "$(there n1 "$MAS" show shop --json | jq -r .status)" = active ]
    # agents are told nothing of it, nor is the server that begins with a session, and all that begins in it
    mas --host n1 send shop all 'echo "reached as <$MAS_REACHED_AS>"'
    eventually eval 'there n1 "$MAS" logs shop solo | grep -q "reached as <>"'
    there n1 tmux -S "$T/n1/tmux" show-environment -g >"$T/global"
    grep -q '^PATH=' "$T/global"
    run ! grep REACHED "$T/global"
}

@test "a machine is told how it is reached by a variable" {
    acts_as n1 'echo "as $MAS_REACHED_AS"'
    ok --host n1 version
    [ "$output" = 'as n1' ]
    # a path that looks like a variable runs, too
    mv "$T/n1/tool" "$T/n1/tool=1"
    mv "$T/n1/tool.does" "$T/n1/tool=1.does"
    sed -i "s|^mas = .*|mas = $T/n1/tool=1|" "$ROOT/mas.ini"
    ok --host n1 version
}

@test "a variable that is no name of a host does not get into a hint" {
    local name long
    printf -v long '%033d' 0
    for name in '' ' ' -x 'n1 list; touch x' '$(touch x)' $'n1\e[31m' $'n1\n' "n1'" n1:shop ../n1 "$long"; do
        MAS_REACHED_AS=$name fails 3 show nobody
        [[ $stderr = *'see: mas list'* || $stderr = *': mas list'* ]]
    done
    MAS_REACHED_AS=n1 mas show nobody
    [[ $stderr = *': mas --host n1 list'* ]]
}

@test "what a machine says to programs has no word of how it was reached" {
    local verb want
    there n1 "$MAS" new -q --no-start -t solo --agent shell --name shop
    rm "$T/n1/root/sessions/"*/.session
    for verb in list 'doctor' 'status' 'show shop' 'config'; do
        # shellcheck disable=SC2086 # words
        mas --host n1 $verb --json
        [ -n "$output" ] || [ "$verb" = 'show shop' ]
        [[ $output != *'--host n1'* ]]
        # shellcheck disable=SC2086 # words
        want=$(there n1 "$MAS" --root "$T/n1/root" $verb --json 2>/dev/null) || :
        diff <(echo "$want") <(echo "$output")
    done
    mas --host n1 doctor
    [[ $output$stderr = *'mas --host n1 doctor --fix'* ]]
}
