# shellcheck disable=SC2016 # what the other machine expands
load ../helper
load ../ssh
load ../project

# A loaded machine may need more than the usual two seconds.
setup_more() {
    make_machines n1 n2
    printf '[fleet]\nanswer = 1m\n' >>"$ROOT/mas.ini"
}
teardown_more() { close_connections; }

# row HOST: the lines of the table that are about a host.
row() { grep -E "^$1 " <<<"$output"; }
# greeting: what prints the line with which a machine answers that is in order.
greeting() { echo 'echo "{\"mas\":\"$('"$MAS"' version | cut -d" " -f2)\",\"timeMs\":$(date +%s%3N),\"free\":999999999}"'; }
# of HOST FILTER: of its entry in "hosts".
of() { jq -r --arg host "$1" ".hosts[] | select(.host == \$host) | $2" <<<"$output"; }

@test "list --all-hosts has the sessions of this machine and of all hosts" {
    local a b
    new_session --name here -t solo
    a=$(there n1 "$MAS" new -q --name shop -t solo)
    b=$(there n2 "$MAS" new -q --name cafeteria -t solo)
    ok list --all-hosts
    [[ ${lines[0]} = HOST*SESSION*NAME*STATUS* ]]
    [[ $(row -) = *here*active* ]]
    [[ $(row n1) = *shop*active* ]]
    [[ $(row n2) = *cafeteria*active* ]]
    [ "${#lines[@]}" -eq 4 ]
    mas list --all-hosts --json
    [ "$(jq -r '.sessions | map([.host, .sessionId] | join(" ")) | join(",")' <<<"$output")" = " $ID,n1 $a,n2 $b" ]
    [ "$(jq -r '.hosts | map(.reached) | all' <<<"$output")" = true ]
    [ "$(of n1 .version)" = "$("$MAS" version | cut -d' ' -f2)" ]
    mas list --all-hosts --active -q
    [ "$output" = "$ID"$'\n'"n1:$a"$'\n'"n2:$b" ]
    mas stop "n1:$a"
    mas list --all-hosts --active -q
    [ "$output" = "$ID"$'\n'"n2:$b" ]
}

@test "a login that failed before the machine was started anew stops no other" {
    ok list --all-hosts
    close_connections
    for file in "$T"/runtime/mas/*.lock; do
        echo '9999999999999 gone' >"${file%.lock}.failed" # its clock begins with the machine
    done
    ok list --all-hosts --json
    [ "$(jq -r '.hosts | map(.reached) | all' <<<"$output")" = true ]
}

@test "list --all-hosts has what list has: a column a member, and each word of the status" {
    local columns
    local team='"sessionId":"'$NONE'","tmuxSession":"mas-1","status":"active"'
    printf '{"sessions":[{%s,"private":true,"code":{"agents":1,"ahead":2,"behind":1,"changed":3}}]}\n' "$team" >"$T/n1.json"
    printf '{"sessions":[{%s,"elsewhere":true,"machine":"far","crashed":true,"migrating":true,"leaseLost":true,"movedTo":"away"}]}\n' \
        "$team" >"$T/n2.json"
    acts_as n1 "$(greeting); cat $T/n1.json"
    acts_as n2 "$(greeting); cat $T/n2.json"
    make_project
    new_session -t solo --private --project "$P"
    # shellcheck disable=SC2329
    has_code() { mas list && [[ ${lines[0]} == *' CODE '* ]]; }
    eventually has_code
    columns=$(xargs <<<"${lines[0]}")
    ok list --all-hosts
    [ "$(xargs <<<"${lines[0]}")" = "HOST $columns" ]
    [[ $(row -) == *' = '*' active (private)' ]]
    [[ $(row n1) == *' +2 -1 ~3 '*' active (private)' ]]
    [[ $(row n2) == *' active on far (crashed) (migrating) (lease lost) (moved to away)' ]]
}

@test "status, du, usage, search and top --all-hosts" {
    new_session --name here -t solo
    there n1 "$MAS" new -q --name shop -t solo
    for verb in status du usage 'search nothing' 'top --once'; do
        # shellcheck disable=SC2086 # words
        ok $verb --all-hosts
        [[ ${lines[0]} = HOST* ]]
        [ "$stderr" = '' ]
    done
    mas status --all-hosts
    [[ $(row n1) = *shop*lead* || $(row n1) = *shop* ]]
    mas du --all-hosts --json
    [ "$(jq -r '.sessions | map(.host) | join(",")' <<<"$output")" = ,n1 ]
    fails 2 status --all-hosts "$ID"
    for verb in 'status n1:shop' 'du n1:shop' 'search -s n1:shop nothing'; do
        # shellcheck disable=SC2086 # words
        fails 2 $verb --all-hosts
        [[ $stderr = *'it takes a SESSION or --all-hosts, not both'* ]]
    done
    fails 2 search --all-hosts -
    fails 2 doctor --all-hosts --fix
    fails 2 status --all-hosts --watch
}

@test "usage --all-hosts shows the turns, tokens and costs of each line, where they are known" {
    acts_as n1 "$(greeting); echo '{\"usage\":[{\"agent\":\"lead\",\"turns\":3,\"tokens\":{\"all\":4711},\"costs\":[{\"cost\":1.5,\"currency\":\"USD\"},{\"cost\":0.25,\"currency\":\"EUR\"},{\"currency\":\"XXX\"}]},{\"agent\":\"none\",\"turns\":0,\"costs\":[]}]}'"
    ok usage --all-hosts
    grep -qE '^n1 +lead +3 +4711 +1\.50 USD, 0\.25 EUR *$' <<<"$output" || { echo "$output"; false; }
    grep -qE '^n1 +none +0 +- +-$' <<<"$output" || { echo "$output"; false; }
}

@test "top --all-hosts orders agents that began to wait within one second by the millisecond, and then by their places" {
    local team='{\"sessions\":[{\"sessionId\":\"'$NONE'\",\"name\":\"shop\",\"status\":\"active\",\"agents\":['
    local waits='\"state\":\"waiting\",\"since\":\"2026-01-02T03:04:05Z\",\"sinceMs\":1767323045'
    acts_as n1 "$(greeting); echo \"$team{\\\"id\\\":\\\"late\\\",${waits}900},{\\\"id\\\":\\\"same1\\\",${waits}500}]}]}\""
    acts_as n2 "$(greeting); echo \"$team{\\\"id\\\":\\\"same2\\\",${waits}500},{\\\"id\\\":\\\"early\\\",${waits}100},{\\\"id\\\":\\\"same3\\\",${waits}500}]}]}\""
    ok top --once --all-hosts
    [ "$(grep -oE '(late|early|same[0-9])' <<<"$output" | xargs)" = 'early same1 same2 same3 late' ]
}

@test "a host that does not answer is a row, with what was last known, within three seconds" {
    local began took
    make_machine n3
    there n2 "$MAS" new -q --name shop -t solo --no-start
    mas list --all-hosts
    mas list --all-hosts --error # some of the sessions are not what is known of all
    mas list --all-hosts --active
    close_connections
    # n2 takes connections and says nothing; n3 is gone
    sed -i "/^Host n2/,/ProxyCommand/s|ProxyCommand .*|ProxyCommand sleep 10|; /^Host n3/,/ProxyCommand/s|ProxyCommand .*|ProxyCommand false|" "$T/ssh/config"
    new_session --name here -t solo
    sed -i '/^answer = /d' "$ROOT/mas.ini"
    began=$(date +%s%3N)
    mas list --all-hosts
    took=$(($(date +%s%3N) - began))
    [ "$status" -eq 12 ]
    [[ $(row n2) = *"not reached: "*" ago it had 1 session, 0 active" ]]
    [[ $(row n3) = *"not reached: "*" ago it had 0 sessions, 0 active" ]]
    [[ $(row -) = *here* ]]
    [ "$took" -lt 3000 ] || echo "$took ms" >&3
    mas list --all-hosts --json
    [ "$(of n2 '[.reached, .lastKnown.sessions] | join(" ")')" = 'false 1' ]
    [ "$(stat -c %a "$XDG_STATE_HOME/mas/hosts")" = 600 ]
}

@test "a login that takes longer than a list waits goes on, and the next list finds its connection" {
    local ssh='exec /usr/sbin/sshd -i -f '$T/n2/sshd_config
    there n2 "$MAS" new -q --name shop -t solo --no-start
    printf '#!/bin/sh\necho x >>%s/logins\nuntil [ -e %s/go ]; do sleep 0.1; done\n%s\n' "$T" "$T" "$ssh" >"$T/slow"
    chmod +x "$T/slow"
    sed -i "/^Host n2/,/ProxyCommand/s|ProxyCommand .*|ProxyCommand $T/slow|" "$T/ssh/config"
    sed -i 's/^answer = .*/answer = 1s/' "$ROOT/mas.ini"
    for _ in 1 2; do
        fails 12 list --all-hosts
        [[ $(row n2) = *'not reached: still connecting'* ]]
    done
    touch "$T/go"
    sed -i 's/^answer = .*/answer = 1m/' "$ROOT/mas.ini"
    ok list --all-hosts
    [[ $(row n2) = *shop* ]]
    [ "$(grep -c . "$T/logins")" -eq 1 ]
}

@test "a slow login that fails after the list has gone on is told by the next one" {
    printf '#!/bin/sh\nuntil [ -e %s/go ]; do sleep 0.1; done\nexit 1\n' "$T" >"$T/slow"
    chmod +x "$T/slow"
    sed -i "/^Host n2/,/ProxyCommand/s|ProxyCommand .*|ProxyCommand $T/slow|" "$T/ssh/config"
    sed -i 's/^answer = .*/answer = 1s/' "$ROOT/mas.ini"
    mas list --all-hosts
    [[ $(row n2) = *'not reached: still connecting, ask again' ]]
    touch "$T/go"
    eventually eval 'ls "$T"/runtime/mas/*.failed'
    rm "$T/go"
    fails 12 list --all-hosts
    [[ $(row n2) = *'not reached: still connecting, ask again; the last login failed: '*[Cc]onnection* ]]
    touch "$T/go" # and ends
}

@test "what is wrong with a host that answers is a row" {
    acts_as n1 'echo "{\"mas\":\"0.0.1\",\"timeMs\":$(date +%s%3N),\"free\":-1}"; echo "{\"sessions\":[],\"total\":0}"'
    acts_as n2 'echo "{\"mas\":\"$('"$MAS"' version | cut -d" " -f2)\",\"timeMs\":$((($(date +%s) + 3600) * 1000)),\"free\":999999999}"; echo "{\"sessions\":[]}"'
    ok list --all-hosts
    [[ $(row n1) = *"it has mas 0.0.1, here is "* ]]
    [[ $(row n2) = *"its clock is 1h ahead" || $(row n2) = *"its clock is 60m ahead" || $(row n2) = *"its clock is 59m ahead" ]]
    acts_as n1 'echo "{\"mas\":\"$('"$MAS"' version | cut -d" " -f2)\",\"timeMs\":$(date +%s%3N),\"free\":0}"; echo "{\"sessions\":[]}"'
    acts_as n2 "echo \"mas: cannot run 'mas': there is no option '--greet'\" >&2; exit 2"
    fails 1 list --all-hosts
    [[ $(row n1) = *"its disk is full" ]]
    [[ $(row n2) = *"another version of mas"* ]]
    ssh-keygen -q -t ed25519 -N '' -f "$T/other_key"
    sed -i "s|^HostKey .*|HostKey $T/other_key|" "$T/n1/sshd_config"
    close_connections
    sed -i 's|^root = .*|root = /no/such/root|; s|^mas = .*n2/tool|mas = '"$MAS"'|' "$ROOT/mas.ini"
    mas list --all-hosts
    [[ $(row n1) = *"not reached: Host key verification failed"* ]]
    [[ $(row n2) = *"/no/such/root"* ]]
}

@test "a host without mas, and one that nothing says how to reach, are rows that say so" {
    sed -i '/^\[host n1\]/,/^mas = /s|^mas = .*|mas = /no/such/mas|' "$ROOT/mas.ini"
    printf '[host n9]\n' >>"$ROOT/mas.ini"
    mas list --all-hosts
    echo "$output"
    [ "$status" -eq 12 ]
    [[ $(row n1) = *" not reached: '/no/such/mas' does not run there: "*"No such file or directory" ]]
    [[ $(row n9) = *' mas.ini does not say how to reach it' ]]
    fails 12 status --all-hosts
    [[ $(row n1) = *" not reached: '/no/such/mas' does not run there: "*"No such file or directory" ]]
    [[ $(row n9) = *' mas.ini does not say how to reach it' ]]
}

@test "hostile answers are rows, or cut" {
    local greet
    greet=$(greeting)
    acts_as n1 "$greet; printf '%s' '{\"sessions\":[{\"host\":\"n2\",\"name\":\"a\\u001b[31mb\\nc\",\"status\":[],\"createdAt\":5,\"agentStates\":null,\"sessionId\":{}},7,null,[]]}'"
    acts_as n2 "$greet; yes '[' | head -c 100000"
    fails 1 list --all-hosts
    [[ $(row n1) = *'a\x1b[31mb\x0ac'* ]]
    [[ $(row n2) = *"its answer is not that of this verb"* ]]
    mas list --all-hosts --json
    [ "$(jq -r '.sessions | map(.host) | join(",")' <<<"$output")" = n1 ]
    mas list --all-hosts -q
    [ "$output" = '' ]
    acts_as n1 "$greet; head -c 20000000 /dev/zero"
    acts_as n2 'printf "%0100000d" 7; exit 3'
    mas list --all-hosts
    [[ $(row n1) = *"printed too much"* ]]
    [[ $(row n2) = *"it does not answer as mas does"* ]]
}

@test "the reason of a machine is what its mas says, not what ssh or a login script has said before" {
    acts_as n1 'printf "%s\n" "Control socket connect(x): Connection refused" "mas: warning: odd" "mas: cannot read the root" "mas: more" >&2; '"$(greeting)"'; exit 5'
    acts_as n2 'echo "no mas speaks" >&2; echo more >&2; '"$(greeting)"'; exit 5'
    fails 1 list --all-hosts
    [[ $(row n1) = *' cannot read the root' ]]
    [[ $(row n2) = *' no mas speaks' ]]
}

@test "no command mas a host without --all-hosts" {
    mas list
    mas status
    mas doctor
    [ ! -d "$T/runtime/mas" ]
    MAS_BROKERED=10 mas list --all-hosts
    [ "$status" -ne 0 ]
    [ ! -d "$T/runtime/mas" ]
}

@test "the exit code is that of the first machine on which the verb fails" {
    acts_as n1 'echo "{\"mas\":\"1\"}"; echo "{\"findings\":[]}"; exit 1'
    sed -i '/^Host n2/,/ProxyCommand/s|ProxyCommand .*|ProxyCommand false|' "$T/ssh/config"
    fails 1 doctor --all-hosts --json
    acts_as n1 'echo "{\"mas\":\"$('"$MAS"' version | cut -d" " -f2)\",\"timeMs\":$(date +%s%3N)}"; echo "{\"findings\":[]}"'
    fails 12 doctor --all-hosts --json
    [ "$(of n2 .reached)" = false ]
    fails 1 top --all-hosts --once
    fails 1 list --all-hosts -q
    [[ $stderr = *"host 'n2': not reached"* ]]
}

@test "doctor --all-hosts says versions, clock and free space of each machine, and its findings" {
    local version tmux
    version=$("$MAS" version | cut -d' ' -f2)
    tmux=$(tmux -V | cut -d' ' -f2)
    mkdir "$T/store"
    printf '[fleet]\nstore = %s\n' "$T/store" >>"$T/n1/root/mas.ini"
    printf '[fleet]\nstore = %s\n' "$T/none" >>"$T/n2/root/mas.ini"
    mkdir "$T/n2/root/sessions/.new-0123456789abcdef"
    fails 1 doctor --all-hosts
    [[ $(row -) = *"mas $version, tmux $tmux, clock +0.0 s, "*" free" ]]
    [[ $(row n1) = *"mas $version, tmux $tmux, clock "*" free, "*" free in the store" ]]
    [[ $(row n2) = *"its store is full, or missing"* ]]
    mas doctor --all-hosts --json
    [ "$(of n1 '.storeFree > 0')" = true ]
    [ "$(of n1 .tmux)" = "$tmux" ]
}

@test "doctor --all-hosts tells a machine without tmux, and one whose tmux is too old" {
    acts_as n1 'PATH=/none exec '"$MAS"' "$@"'
    mkdir "$T/old"
    printf '#!/bin/sh\necho tmux 3.2a\n' >"$T/old/tmux"
    chmod +x "$T/old/tmux"
    acts_as n2 'PATH='"$T/old"':$PATH exec '"$MAS"' "$@"'
    fails 1 doctor --all-hosts
    [[ $(row n1) = *"it has no tmux"* ]]
    [[ $(row n2) = *"its tmux 3.2a is too old"* ]]
}

# pretends_slurm: a partition `gpu` with a store, of whose jobs `squeue` says what $T/queue has.
pretends_slurm() {
    mkdir -m 700 "$T/store"
    printf '[host gpu]\nvia = slurm:teams\nstore = %s\n' "$T/store" >>"$ROOT/mas.ini"
    printf '#!/bin/sh\ncat "%s/queue"\n' "$T" >"$T/bin/squeue"
    chmod +x "$T/bin/squeue"
}

@test "list --all-hosts has the jobs of Slurm, each once, and doctor says whether it answers" {
    local id=11111111-2222-4333-8444-555555555555
    pretends_slurm
    mkdir -m 700 "$T/store/$id"
    printf 'SESSION_ID=%s\nHOST=gpu\nNAME=big\nTEMPLATE=solo\nPARTITION=teams\nSUBMITTED_AT=2026-01-01T00:00:00Z\nJOB=7\nSCRIPT=/x\nROOT=/r\nCOMMAND=x\nOPTIONS=x\n' "$id" >"$T/store/$id/job"
    chmod 600 "$T/store/$id/job"
    echo "7|PENDING|0|0|n/a|mas:$id|Priority" >"$T/queue"
    sed "/^\[host/,\$d" "$ROOT/mas.ini" >"$T/n1/root/mas.ini"
    printf '[host gpu]\nvia = slurm:teams\nstore = %s\n' "$T/store" >>"$T/n1/root/mas.ini"
    mas list --all-hosts
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [[ $(row gpu) = *"mas-11111111"*" big "*"job pending: Priority" ]]
    [ "${#lines[@]}" -eq 2 ]
    mas list --all-hosts --json
    [ "$(jq -r '.jobs | map([.host, .state] | join(" ")) | join(",")' <<<"$output")" = 'gpu pending' ]
    [ "$(of gpu .reached)" = true ]
    mas doctor --all-hosts
    [[ $(row gpu) = *"Slurm answers, "*" free in the store" ]]
    # what it said a moment ago is no answer for doctor, which is asked when something is wrong
    mv "$T/bin/squeue" "$T/bin/answers"
    printf '#!/bin/sh\necho "no controller" >&2\nexit 1\n' >"$T/bin/squeue"
    chmod +x "$T/bin/squeue"
    fails 12 doctor --all-hosts
    [[ $(row gpu) = *'not reached: '*'no controller' ]]
    mv "$T/bin/answers" "$T/bin/squeue"
    printf '#!/bin/sh\necho "squeue: error: no controller" >&2\nexit 1\n' >"$T/bin/squeue"
    rm "$T/store/.jobs/answer"
    fails 12 list --all-hosts
    [[ $(row gpu) = *"no controller"* ]]
}

# runs_job NUMBER NAME [ROOT]: a session that runs as a job, in this root on its node.
runs_job() {
    local id
    id=$(printf '11111111-2222-4333-8444-%012d' "$1")
    mkdir -m 700 "$T/store/$id"
    printf 'SESSION_ID=%s\nHOST=gpu\nNAME=%s\nTEMPLATE=solo\nPARTITION=teams\nSUBMITTED_AT=2026-01-01T00:00:00Z\nJOB=%s\nSCRIPT=/x\nROOT=%s\nCOMMAND=x\nOPTIONS=x\n' \
        "$id" "$2" "$1" "${3-/r}" >"$T/store/$id/job"
    chmod 600 "$T/store/$id/job"
    printf 'JOB=%s\nRESTARTS=0\nNODE=n1\nSTARTED_AT=2026-01-01T00:00:00Z\n' "$1" >"$T/store/$id/run"
    echo "$1|RUNNING|0|0|n1|mas:$id|None" >>"$T/queue"
}
# srun_is SCRIPT: what `srun` does; "$@" is the command for the node, $JOB the number of the job, `seal` prints the
# seal. It notes its calls.
srun_is() {
    cat >"$T/bin/srun" <<END
#!/bin/bash
while [ "\$1" != -- ]; do case \$1 in --jobid=*) JOB=\${1#*=} ;; esac; shift; done
shift
echo "\$JOB" >>"$T/steps"
# shellcheck disable=SC2317
seal() { printf '\36%s\n' "\${SEAL#*=}"; }
SEAL=\$2
$1
END
    chmod +x "$T/bin/srun"
}
steps() { grep -c . "$T/steps"; }

@test "status, du, usage, search and top ask the running jobs, each by a step of its own" {
    local verb
    pretends_slurm
    sed -i "s|^via = slurm:.*|&\nmas = $MAS|" "$ROOT/mas.ini"
    mkdir "$T/job"
    "$MAS" init "$T/job/a" >/dev/null
    "$MAS" init "$T/job/b" >/dev/null
    "$MAS" --root "$T/job/a" new -q --name big -t solo
    "$MAS" --root "$T/job/b" new -q --name small -t solo
    runs_job 7 big "$T/job/a"
    runs_job 8 small "$T/job/b"
    srun_is 'exec "$@"'
    new_session --name here -t solo
    for verb in status du usage 'search nothing' 'top --once'; do
        # shellcheck disable=SC2086 # words
        mas $verb --all-hosts
        echo "$verb: $output $stderr"
        [ "$status" -eq 0 ]
        [ "$stderr" = '' ]
        case $verb in
            status* | du* | top*) [[ $(row gpu) = *big* && $(row gpu) = *small* && $(row -) = *here* ]] ;;
            *) [ "$(row gpu)" = '' ] ;;
        esac
        [ "$(sort -n "$T/steps" | tr '\n' ' ')" = '7 8 ' ]
        rm "$T/steps"
    done
    mas status --all-hosts --json
    [ "$(jq -r '.sessions | map([.host, .name] | join(" ")) | sort | join(",")' <<<"$output")" = ' here,gpu big,gpu small' ]
    [ "$(jq -r '.hosts | map(select(.host == "gpu") | [.session[-1:], .reached, .problem] | join(" ")) | join(",")' <<<"$output")" = '7 true ,8 true ' ]
    mas list --all-hosts
    [ "$(steps)" -eq 2 ] # it has what Slurm says
}

@test "a running job that is not reached, or does not answer as it should, is a row with the reason" {
    local start=$SECONDS
    pretends_slurm
    sed -i 's/^answer = .*/answer = 4s/' "$ROOT/mas.ini"
    runs_job 7 ended
    runs_job 8 hangs
    runs_job 9 cut
    runs_job 10 other
    srun_is 'case $JOB in
        7) echo "srun: error: Unable to create step for job 7: Job/step already completing or completed" >&2; exit 255 ;;
        8) exec sleep 100 ;;
        9) seal; '"$(greeting)"'; printf "{\"sessions\": [" ;;
        10) echo "mas: cannot run '\''mas'\'': there is no option '\''--seal=x'\''" >&2; exit 2 ;;
    esac'
    mas status --all-hosts
    echo "$output $stderr"
    [ "$status" -eq 12 ]
    [ $((SECONDS - start)) -lt 30 ]
    [[ $(row gpu:ended) = *'not reached: srun: error: Unable to create step'* ]]
    [[ $(row gpu:hangs) = *'not reached: no answer in time' ]]
    [[ $(row gpu:cut) = *'not reached: the end of its output is missing' ]]
    [[ $(row gpu:other) = *'--seal'* || $(row gpu:other) = *'end of its output'* ]]
    mas du --all-hosts -q
    [[ $stderr = *"host 'gpu:hangs': not reached: no answer in time"* ]]
}

@test "of many running jobs 64 are asked, and of the others it is said how many they are" {
    local n verb
    pretends_slurm
    for n in {1..70}; do runs_job "$n" "team$n"; done
    srun_is "seal; $(greeting)"'; echo "{\"sessions\":[],\"usage\":[],\"messages\":[]}"; seal'
    for verb in status du usage 'search nothing' 'top --once'; do
        rm -f "$T/steps"
        # shellcheck disable=SC2086 # words
        mas $verb --all-hosts
        echo "$verb: $output $stderr"
        [ "$status" -eq 0 ]
        [ "$(steps)" -eq 64 ]
        case $verb in
            search*) verb='search -s' ;;
            top*) verb=status ;;
        esac
        [[ $(row gpu) = *" 6 more running jobs, not asked; ask one: mas $verb gpu:team65" ]]
    done
    mas du --all-hosts --json
    [ "$(jq -r '.hosts[] | select(.host == "gpu" and .session == null) | [.reached, .problem] | join(" ")' <<<"$output")" = \
        'true 6 more running jobs, not asked; ask one: mas du gpu:team65' ]
}

@test "jobs that wait are not asked, and without an answer of Slurm none is" {
    pretends_slurm
    runs_job 7 big
    sed -i 's/RUNNING/PENDING/' "$T/queue"
    srun_is 'exit 255'
    mas status --all-hosts
    [ "$(row gpu)" = '' ]
    [ "$status" -eq 0 ]
    sed -i 's/PENDING/RUNNING/' "$T/queue"
    rm "$T/store/.jobs/answer"
    mas list --all-hosts >/dev/null
    printf '#!/bin/sh\necho "squeue: error: no controller" >&2\nexit 1\n' >"$T/bin/squeue"
    sed -i "1s/\t[0-9]*\t/\t00000000000000000000\t/" "$T/store/.jobs/answer"
    mas status --all-hosts
    echo "$output"
    [ "$status" -eq 12 ]
    [[ $(row gpu) = *'not reached: '*'no controller; 1 running job, not asked; ask one: mas status gpu:big' ]]
    [ ! -e "$T/steps" ]
}

@test "a command for a session that is a job says that it is one, and how to reach it" {
    pretends_slurm
    runs_job 7 bigger
    fails 3 send bigger all hello
    [ "${stderr_lines[1]}" = "it is a job on host 'gpu': mas send gpu:bigger" ]
    fails 3 move bigger n1
    [[ ${stderr_lines[1]} = "it is a job on host 'gpu', and jobs are not moved"* ]]
    mas status nobody
    [ "${stderr_lines[1]}" = 'list the sessions with: mas list' ]
    sed -i 's/RUNNING/PENDING/' "$T/queue"
    rm "$T/store/.jobs/answer"
    fails 4 status gpu:bigger
    [ "${stderr_lines[1]}" = 'these work on it in any state: mas show, logs, stop and rm bigger' ]
}

@test "a command for a partition of Slurm and no session is refused, with what works" {
    local words
    pretends_slurm
    runs_job 7 big
    for words in 'doctor|all hosts are asked by: mas doctor --all-hosts' 'status|all hosts are asked by: mas status --all-hosts' \
        'top|all hosts are asked by: mas top --all-hosts' 'list|its sessions are: mas list --jobs' \
        'config|its sessions are: mas list --jobs' 'ask|its sessions are: mas list --jobs' \
        'new -t solo|submit a session with: mas new --host gpu'; do
        # shellcheck disable=SC2086 # words
        mas --host gpu ${words%|*}
        echo "$words: $status $stderr"
        [ "$status" -eq 2 ]
        [ "${stderr_lines[-1]}" = "${words#*|}" ] || [ "$words" != "${words#ask}" ]
    done
    mas --host gpu doctor
    [ "${stderr_lines[0]}" = "mas: cannot run 'doctor' on host 'gpu': it is a partition of Slurm, and no session is named" ]
    fails 2 --host gpu # the list
    fails 2 status gpu:
    [ "${stderr_lines[-1]}" = 'all hosts are asked by: mas status --all-hosts' ]
    # a mistake is called what it is
    fails 2 --host gpu status big --nonsense
    [[ $stderr = *nonsense* ]]
    [ ! -e "$T/steps" ]
}

@test "a job that Slurm has forgotten is shown as how it ended, and one that never started as that" {
    local id=11111111-2222-4333-8444-000000000007
    pretends_slurm
    runs_job 7 big
    rm "$T/store/$id/run"
    : >"$T/queue"
    mas list
    [[ $output = *'gone: it did not start, or was killed before it could say so'* ]]
    ok logs big
    [ "$output" = '' ]
    [[ $stderr = *"job 7 of session 'big' is gone: it did not start"* ]]
    printf 'JOB=7\nRESTARTS=0\nNODE=n1\nSTARTED_AT=2026-01-01T00:00:00Z\n' >"$T/store/$id/run"
    chmod 600 "$T/store/$id/run"
    rm "$T/store/.jobs/answer"
    mas list
    [[ $output = *'gone: it was killed, or its node went down'* ]]
    printf 'JOB=7\nRESTARTS=0\nNODE=n1\nSTARTED_AT=2026-01-01T00:00:00Z\nENDED_AT=2026-01-01T01:00:00Z\nHOW=idle\n' >"$T/store/$id/run"
    rm "$T/store/.jobs/answer"
    mas list
    [[ $output = *'ended: idle'* ]]
    mas list --error
    [[ $output != *big* ]]
}

@test "a partition whose store does not exist yet is no error" {
    pretends_slurm
    rmdir "$T/store"
    ok list --all-hosts
    [ "$stderr" = '' ]
    [ "${#lines[@]}" -eq 1 ]
    ok list --all-hosts --json
    [ "$(of gpu '[.reached, .problem] | join(" ")')" = 'true ' ]
    ok doctor --all-hosts
    [[ $(row gpu) = *note*"its store does not exist yet" ]]
    # it is not that it cannot be read
    : >"$T/store"
    fails 12 list --all-hosts
    [[ $(row gpu) = *"$T/store"* ]]
}

# top_screen ROWS: runs `mas top --all-hosts` on a terminal with so many lines until it has drawn once, presses q, and
# sets $output to what was on the screen and $status.
top_screen() {
    local pid
    mkfifo "$T/keys"
    : >"$T/screen"
    script -qefc "stty rows $1 cols 100; exec '$MAS' top --all-hosts" "$T/screen" <>"$T/keys" >/dev/null 3>&- &
    pid=$!
    eventually grep -q 'q quits' "$T/screen"
    printf 'xq' >"$T/keys"
    status=0
    wait "$pid" || status=$?
    rm "$T/keys"
    output=$(tr -d '\r' <"$T/screen" | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g')
}

@test "top --all-hosts is a screen: hosts that are not reached first, then agents that need a person, q ends it" {
    local greet i agents=''
    sed -i '/^Host n2/,/ProxyCommand/s|ProxyCommand .*|ProxyCommand false|' "$T/ssh/config"
    for i in idle working waiting idle crashed; do agents+="{\"id\":\"a-$i\",\"state\":\"$i\"},"; done
    for i in {1..9}; do agents+="{\"id\":\"b-$i\",\"state\":\"idle\"},"; done
    printf '%s' "{\"sessions\":[{\"name\":\"shop\",\"agents\":[${agents%,}]}]}" >"$T/answer"
    acts_as n1 'echo "{\"mas\":\"$('"$MAS"' version | cut -d" " -f2)\",\"timeMs\":$(date +%s%3N)}"; cat '"$T/answer"
    top_screen 10
    [ "$status" -eq 0 ]
    echo "$output"
    mapfile -t lines < <(grep -E '^(HOST|n1|n2|\.\.\.|q quits)' <<<"$output")
    [[ ${lines[0]} = HOST*STATE* ]]
    [[ ${lines[1]} = n2*'not reached: '* ]]
    [[ ${lines[2]} = n1*a-waiting* ]]
    [[ ${lines[3]} = n1*a-crashed* ]]
    [[ ${lines[4]} = n1*a-working* ]]
    [[ ${lines[5]} = n1*a-idle* ]]
    [[ ${lines[8]} = '... and 8 more' ]]
    [[ ${lines[9]} = 'q quits'* ]]
    grep -qF $'\x1b[?1049h' "$T/screen"
    [[ $(tail -c 200 "$T/screen") = *$'\x1b[?25h\x1b[?1049l'* ]]
    fails 12 top --all-hosts --once
    [ "${#lines[@]}" -eq 16 ]
    [[ ${lines[2]} = n1*a-waiting* ]]
}

@test "top --all-hosts asks running jobs once in 30 s, and shows what they said in between" {
    local pid
    pretends_slurm
    runs_job 7 big
    srun_is "seal; $(greeting)"'; echo "{\"sessions\":[{\"name\":\"big\",\"agents\":[{\"id\":\"one\",\"state\":\"idle\"}]}]}"; seal'
    mkfifo "$T/keys"
    : >"$T/screen"
    script -qefc "stty rows 20 cols 100; exec '$MAS' top --all-hosts" "$T/screen" <>"$T/keys" >/dev/null 3>&- &
    pid=$!
    drawn() { [ "$(grep -c 'q quits' "$T/screen")" -ge 3 ]; }
    eventually drawn
    printf q >"$T/keys"
    wait "$pid"
    [ "$(steps)" -eq 1 ]
    [ "$(grep -c 'gpu .*big.*one' "$T/screen")" -ge 3 ]
}

@test "a signal to top --all-hosts leaves the terminal as it was" {
    mkfifo "$T/keys"
    # the shell that stays has the terminal afterwards
    printf '%s\n' 'sh -c "echo \$\$ >$1/pid; exec $2 top --all-hosts"' 'stty -a >"$1/stty"' 'echo all done' >"$T/terminal"
    script -qefc "sh '$T/terminal' '$T' '$MAS'" "$T/screen" <>"$T/keys" >/dev/null 3>&- &
    eventually grep -q 'q quits' "$T/screen"
    kill -TERM "$(cat "$T/pid")"
    eventually grep -q 'all done' "$T/screen"
    sed -n '/q quits/,$p' "$T/screen" >"$T/rest"
    grep -qF $'\x1b[?25h\x1b[?1049l' "$T/rest"
    grep -qE '(^|[ ;])icanon' "$T/stty"
    grep -qE '(^|[ ;])echo( |;)' "$T/stty"
}
