#!/usr/bin/env bats
# Sessions that are jobs of Slurm: what places them, what ends them, and what is shown of them.

# shellcheck disable=SC2016 # shells of the machines expand it

load ../helper
load lib

# Each test has a store of its own, and sessions on whatever node Slurm picks unless OPTIONS names one.
setup_last() {
    STORE=/srv/shared/store$BATS_TEST_NUMBER
    AT=/tmp/mas-4242-
    machine_ini front ''
}

teardown_more() {
    [ -n "${BED-}" ] || return 0
    on front pkill -CONT -x slurmctld || :
    as front scancel -u ann || :
    eventually nothing_queued
    as front rm -rf .config/mas
    [ -z "${PURGES-}" ] || slurm_set MinJobAge=300
}
nothing_queued() { [ -z "$(queue)" ]; }

# machine_ini MACHINE SUBMIT: mas.ini of the user there.
machine_ini() {
    as "$1" mkdir -p .config/mas
    as "$1" sh -c 'printf "[host gpu]\nvia = slurm:teams\nmas = /usr/local/bin/mas\nstore = %s\nsubmit = %s\n[fleet]\nsave = 1s\n" "$1" "$2" >.config/mas/mas.ini' sh "$STORE" "$2"
}

# submit NAME OPTION...: submits a session and prints its id.
submit() {
    local name=$1
    shift
    as front mas new -q --host gpu -n "$name" -t solo --agent shell "$@"
}
# jobs FILTER: of the list of jobs, with what Slurm says now.
jobs_now() {
    as front sh -c 'rm -f "$1/.jobs/answer"' sh "$STORE"
    as front mas list --json | jq -r ".jobs[] | $1"
}
is_now() { [ "$(jobs_now "$1")" = "$2" ]; }
# there NODE ID VERB...: mas on the node of a job.
there() {
    local node=$1 id=$2
    shift 2
    as "$node" mas --root "$AT$id" "$@"
}
answers() { [ -n "$(there "$1" "$2" status "$2" --json | jq '.sessions[0].agents[0] | select(.state == "idle") | .pid')" ]; }
# pids NODE ID: the processes of a session there.
pids() {
    on "$1" sh -c 'grep -lz "^MAS_SESSION_ID=$1\$" /proc/[0-9]*/environ 2>/dev/null | grep -o "[0-9]*"' sh "$2" || :
}
none_left() { [ -z "$(pids "$1" "$2")" ]; }
# number ID: the number of its job, as it was submitted.
number() { as front sed -n 's/^JOB=//p' "$STORE/$1/job"; }
saved() { as front sh -c 'ls "$1"/save-*' sh "$STORE/$1" 2>/dev/null; }
printed() { as front grep -q "$2" "$STORE/$1/output"; }

@test "of two jobs on one node one is cancelled: the other keeps its pids, and nothing of the first is left" {
    local a b before
    machine_ini front '-w n1'
    a=$(submit first --mem 100M)
    b=$(submit second --mem 100M)
    eventually answers n1 "$a"
    eventually answers n1 "$b"
    before=$(there n1 "$b" status "$b" --json | jq '.sessions[0].agents[0] | .pid, .hostPid')
    [ -n "$(pids n1 "$a")" ]
    as front mas stop first
    eventually none_left n1 "$a"
    eventually printed "$a" 'saved: '
    [ "$(there n1 "$b" status "$b" --json | jq '.sessions[0].agents[0] | .pid, .hostPid')" = "$before" ]
    eventually is_now 'select(.name == "first").state' cancelled
    is_now 'select(.name == "second").state' running
    run ! on n1 test -e "$AT$a"
}

@test "an agent that takes more than --mem dies alone" {
    [ -d /sys/fs/cgroup/memory ] || skip 'no controller of cgroups version 1 for memory'
    local id before
    machine_ini front '-w n2'
    id=$(submit hog --mem 120M)
    eventually answers n2 "$id"
    before=$(there n2 "$id" status "$id" --json | jq '.sessions[0].agents[0] | .pid, .hostPid')
    there n2 "$id" send "$id" all 'python3 -c "x = bytearray(b\"a\" * 600000000)"; echo "it $((40 + 2)) ended"'
    told() { there n2 "$id" logs "$id" solo | grep -q 'it 42 ended'; }
    eventually told
    there n2 "$id" logs "$id" solo | grep -q Killed
    [ "$(there n2 "$id" status "$id" --json | jq '.sessions[0].agents[0] | .pid, .hostPid')" = "$before" ]
    is_now 'select(.name == "hog").state' running
}

@test "a job that is told of its time limit goes on in another one, with its files" {
    local id first second
    machine_ini front '-w n1'
    id=$(submit shop)
    eventually answers n1 "$id"
    first=$(jobs_now .job)
    there n1 "$id" send "$id" all 'echo the-code-word >word'
    word() { as n1 test -s "$AT$id/sessions/$id/unit/solo/word"; }
    eventually word
    as front scancel --batch --signal=USR1 "$first"
    eventually printed "$id" "goes on in job"
    another() { second=$(jobs_now .job) && [ "$second" != "$first" ] && is_now .state running; }
    eventually another
    eventually answers n1 "$id"
    [ "$(as n1 cat "$AT$id/sessions/$id/unit/solo/word")" = the-code-word ]
    as front grep -q '^HOW=requeued$' "$STORE/$id/run" || as front grep -q "^JOB=$second\$" "$STORE/$id/run"
}

@test "a chain of two jobs ends with the second, and what Slurm puts back does not count" {
    local id first second
    machine_ini front '-w n1'
    id=$(submit shop --chain 2)
    eventually answers n1 "$id"
    first=$(jobs_now .job)
    # as after the loss of its node; it waits as long as a credential is valid
    as front scontrol requeue "$first"
    again() { [ "$(jobs_now '.restarts')" -ge 1 ] && is_now .state running; }
    eventually again
    eventually answers n1 "$id"
    [ "$(jobs_now .link)" = 1 ]
    as front scancel --batch --signal=USR1 "$first"
    second_runs() { second=$(jobs_now .job) && [ "$second" != "$first" ] && is_now .state running; }
    eventually second_runs
    eventually answers n1 "$id"
    [ "$(jobs_now .link)" = 2 ]
    as front scancel --batch --signal=USR1 "$second"
    eventually is_now '.state + ": " + .reason' 'ended: the last job of its chain'
    [ "$(jobs_now .job)" = "$second" ]
    [ -z "$(queue)" ]
    as front mas show "$id" | grep -q 'chain  *job 2 of 2$'
    [[ $(as front mas list --jobs) == *'ended: the last job of its chain'* ]]
    [ -n "$(saved "$id")" ]
}

@test "a session is saved before its job's time limit, and goes on" {
    need_full
    local id
    machine_ini front '-w n1'
    id=$(submit shop --time 1m)
    eventually printed "$id" 'goes on in job'
    as front grep -q '^.* saved: ' "$STORE/$id/output"
}

@test "when the power of its node is cut, a session comes back on another one with what was saved" {
    need_full # cut.bats does the same with an agent that remembers
    local id node other
    local machine
    for machine in n1 n2 n3; do machine_ini "$machine" ''; done
    id=$(submit shop)
    eventually is_now .state running
    node=$(jobs_now .node)
    eventually answers "$node" "$id"
    there "$node" "$id" send "$id" all 'echo the-code-word >word'
    kept() { as front sh -c 'for f in "$1"/save-*; do zstd -dcq "$f" | grep -aq the-code-word && exit 0; done; exit 1' sh "$STORE/$id"; }
    eventually kept
    power_off "$node"
    elsewhere() { other=$(jobs_now .node) && [ -n "$other" ] && [ "$other" != "$node" ] && [ "$other" != null ] && is_now .state running; }
    eventually elsewhere
    eventually answers "$other" "$id"
    [ "$(as "$other" cat "$AT$id/sessions/$id/unit/solo/word")" = the-code-word ]
    [ "$(jobs_now .restarts)" -ge 1 ]
    power_on "$node"
}

@test "a submission whose answer is lost, or that is killed after it, and is tried again makes one job" {
    local id=550e8400-e29b-41d4-a716-446655440000
    as front mkdir -p bin
    as front sh -c 'printf "#!/bin/sh\n/usr/bin/sbatch \"\$@\" >/dev/null; kill -KILL \$PPID\n" >bin/sbatch; chmod +x bin/sbatch'
    run as front sh -c 'PATH=$HOME/bin:$PATH exec mas new -q --host gpu --id "$1" -t solo' sh "$id"
    [ "$status" -ne 0 ]
    as front sh -c 'printf "#!/bin/sh\n/usr/bin/sbatch \"\$@\" >/dev/null\n" >bin/sbatch'
    as front sh -c 'PATH=$HOME/bin:$PATH exec mas new -q --host gpu --id "$1" -t solo' sh "$id"
    [ "$(queue | wc -l)" -eq 1 ]
    as front mas new -q --host gpu --id "$id" -t solo
    [ "$(queue | wc -l)" -eq 1 ]
    as front rm -r bin
}

@test "jobs that wait, are held and fail early are shown as that, with Slurm's reason and what they printed" {
    local id
    machine_ini front --hold
    submit held >/dev/null
    machine_ini front '--begin=now+1hour'
    submit later >/dev/null
    machine_ini front ''
    as front sh -c 'mkdir -p .config/mas/slurm; printf "#!/bin/sh\necho this node lacks a module >&2\nexit 3\n" >.config/mas/slurm/team.sbatch'
    id=$(submit early)
    failed() { is_now 'select(.name == "early").state' failed; }
    eventually failed
    is_now 'select(.name == "held") | .state + ": " + .reason' 'held: JobHeldUser'
    is_now 'select(.name == "later") | .state + ": " + .reason' 'pending: BeginTime'
    is_now 'select(.name == "early") | .reason + " " + (.exitCode | tostring)' 'NonZeroExitCode 3'
    [ "$(as front mas logs early 2>/dev/null)" = 'this node lacks a module' ]
    [ "$(as front mas logs gpu:early 2>/dev/null)" = 'this node lacks a module' ]
    as front mas logs gpu:held 2>&1 | grep -q "is held: JobHeldUser"
    as front mas stop held later
    is_now 'select(.name == "held").state' cancelled
    as front mas rm held early
    run as front test -e "$STORE/$id"
    [ "$status" -eq 1 ]
}

@test "jobs that slurmctld has purged are shown as what they were, and are stopped and removed like others" {
    local seen early ended killed
    machine_ini front '-w n1'
    ended=$(submit ended)
    killed=$(submit killed)
    eventually answers n1 "$ended"
    eventually answers n1 "$killed"
    as front sh -c 'mkdir -p .config/mas/slurm; printf "#!/bin/sh\nexit 3\n" >.config/mas/slurm/team.sbatch'
    seen=$(submit seen)
    has_failed() { is_now 'select(.name == "seen").state' failed; }
    eventually has_failed
    # from here to the purge nobody asks Slurm; slurmctld looks every 10 s then, and once a minute otherwise
    PURGES=1
    slurm_set MinJobAge=2
    early=$(submit early)
    there n1 "$ended" stop -q "$ended"
    on n1 pkill -KILL -u ann -f "mas run .*$killed" # as what nobody is told of ends a job
    purged() { run ! as front scontrol show job "$(number "$1")" && [[ $output == *'Invalid job id'* ]]; }
    eventually purged "$seen"
    eventually purged "$early"
    eventually purged "$ended"
    eventually purged "$killed"
    none_left n1 "$killed"
    run as front mas status gpu:killed # asks Slurm, and keeps what it said before its purge
    [ "$status" -eq 4 ]
    [[ $output == *'is gone: it was killed, or its node went down'* ]]
    as front mas list --json | jq -r '.jobs[] | "\(.name) \(.state) on \(.node): \(.reason), \(.exitCode)"' | sort >"$T/shown"
    diff "$T/shown" - <<'END'
early gone on null: it did not start, or was killed before it could say so, null
ended ended on n1: all agents ended, null
killed gone on n1: it was killed, or its node went down, null
seen failed on n1: NonZeroExitCode, 3
END
    as front mas stop seen early ended killed
    as front mas rm seen early ended killed
    is_now .name ''
}

@test "a job that has begun says that its team is not up yet, also when it begins again, and is reached when it is" {
    local id job words
    machine_ini front '-w n1'
    # each time the job begins, it waits for its turn
    as front sh -c 'mkdir -p .config/mas/slurm; cat >.config/mas/slurm/team.sbatch' <<END
#!/bin/bash
#SBATCH --requeue
echo this node is being prepared
until mv "$STORE/turn" "$STORE/taken"; do sleep 0.1; done 2>/dev/null
exec "\$@"
END
    id=$(submit shop)
    not_yet() {
        run as front mas --host gpu status shop
        [ "$status" -eq 4 ] && [[ $output == *"session 'shop' does not run yet: its job "*' has begun, and its team is not up'* ]]
    }
    reached() { as front mas --host gpu wait shop --for idle; }
    prepared() { as front mas logs gpu:shop 2>/dev/null | grep -qx 'this node is being prepared'; }
    eventually not_yet
    eventually prepared
    for words in 'status gpu:shop' 'send gpu:shop all hello' '--host gpu peek shop solo'; do
        # shellcheck disable=SC2086 # words
        run as front mas $words
        [ "$status" -eq 4 ]
        [[ $output == *'what it does now: mas logs shop'* ]]
    done
    run ! on n1 test -e "$AT$id"
    as front touch "$STORE/turn"
    eventually reached
    job=$(jobs_now .job)
    as front scontrol requeue "$job"
    eventually is_now .restarts 1
    eventually not_yet
    as front touch "$STORE/turn"
    eventually reached
    as front grep -qx RESTARTS=1 "$STORE/$id/run"
}

@test "a job that a more urgent one displaces is saved, and shown as waiting for another turn" {
    local id
    machine_ini front '-w n3'
    id=$(submit shop)
    eventually answers n3 "$id"
    as front sbatch -Q -p urgent -w n3 --exclusive -o /dev/null --wrap 'sleep 600'
    displaced() { case $(jobs_now .state) in requeued | preempted | pending) ;; *) false ;; esac; }
    eventually displaced
    eventually none_left n3 "$id"
    # its agents have ended before the last save
    eventually saved "$id"
}

@test "a dead controller does not hold a list, which says that its jobs are old" {
    local start
    submit shop >/dev/null
    eventually is_now .state running
    on front pkill -STOP -x slurmctld
    as front sh -c 'sed -i "1s/\t[0-9]*\t/\t00000000000000000000\t/" "$1/.jobs/answer"' sh "$STORE"
    start=$SECONDS
    run --separate-stderr as front mas list
    [ $((SECONDS - start)) -lt 10 ]
    [ "$status" -eq 0 ]
    # shellcheck disable=SC2154 # set by run
    [[ "$stderr" == *'cannot ask Slurm for its jobs'* && "$output" == *running* ]]
    on front pkill -CONT -x slurmctld
}

@test "a store whose disk hangs does not hold a list, and is named by what needs it" {
    local words
    submit shop >/dev/null
    eventually is_now .state running
    as front mas new -q -n here -t solo --agent shell
    shared_hang front
    # not as long as the disk hangs
    tries() { run --separate-stderr as front timeout -s KILL 30 mas "$@"; }
    tries list
    [ "$status" -eq 0 ]
    [[ "$output" == *here*active* && "$output" != *shop* ]]
    [ "$stderr" = "mas: warning: the jobs are not shown: cannot use the store '$STORE': its disk does not answer" ]
    for words in 'status gpu:shop' 'logs gpu:shop' 'stop gpu:shop' 'new --host gpu -t solo'; do
        # shellcheck disable=SC2086 # words
        tries $words
        echo "$words: $status $output $stderr"
        [ "$status" -eq 12 ]
        [[ "$stderr" == *"cannot use the store '$STORE': its disk does not answer"* ]]
    done
    for words in list status doctor; do
        tries $words --all-hosts
        echo "$words: $status $output $stderr"
        [ "$status" -eq 12 ]
        [[ "$output" == *gpu*"the store '$STORE': its disk does not answer"* ]]
    done
    shared_go front
    as front mas rm -q -f here
    # what has looked at the disk has ended
    eventually eval '! on front pgrep -u ann -x mas >/dev/null'
    [ "$(jobs_now .name)" = shop ]
}

@test "no secret of the environment, and no message, is in Slurm's spool, its logs, or any argument" {
    local id machine
    machine_ini front '-w n1'
    id=$(as front env A_SECRET=hush-hush-1 SBATCH_EXPORT=ALL mas new -q --host gpu -t solo --agent shell -p 'solo=: hush-hush-2')
    eventually answers n1 "$id"
    for machine in front n1; do
        run on "$machine" sh -c 'grep -rlaE "hush-hush-[12]" /var/spool/slurm* /var/log /proc/[0-9]*/cmdline 2>/dev/null'
        [ -z "$output" ] || { echo "$machine: $output" >&2; return 1; }
    done
    run as front grep -r hush-hush "$STORE/$id/job" "$STORE/$id/output"
    [ "$status" -eq 1 ]
    run on n1 sh -c 'cat /proc/[0-9]*/environ 2>/dev/null | grep -ac hush-hush-1'
    [ "$output" = 0 ]
}

@test "verbs reach a session on its node, by --host and by its address, and say why they cannot" {
    local id
    machine_ini front '-w n1'
    id=$(submit shop)
    eventually answers n1 "$id"
    is_now .state running
    [ "$(as front mas --host gpu status shop --json | jq -r '.sessions[0].agents[0].state')" = idle ]
    as front mas send gpu:shop all 'echo it-$((40 + 2))'
    told() { as front mas logs gpu:shop solo | grep -q it-42; }
    eventually told
    run as front mas --host gpu status nobody
    [ "$status" -eq 3 ]
    as front mas stop gpu:shop
    run as front mas --host gpu status shop
    [ "$status" -eq 4 ]
    [[ "$output" == *'does not run: its job '*' is '* ]]
}
