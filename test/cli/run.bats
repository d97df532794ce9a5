#!/usr/bin/env bats
# mas run without Slurm: from the store, into the store, and what ends it. With a fake Slurm: jobs.
load ../helper

ID=550e8400-e29b-41d4-a716-446655440000

setup_more() {
    STORE=$T/store
    JOBROOT=$T/jobroot
    quick_idle
    RUNNER=''
}

teardown_more() {
    if [ -n "$RUNNER" ]; then kill -KILL "$RUNNER" 2>/dev/null || :; fi
}

# begin OPTION...: `mas run` in the background, in $ROOT or the root that an option names; waits until it says that the
# session has started. ended: waits for its end and sets $status.
begin() {
    rm -f "$T/said"
    "$MAS" run --id "$ID" "$@" >"$T/said" 2>"$T/complaints" 3>&- &
    RUNNER=$!
    eventually grep -qE ' (started|it runs already|started a new session)$' "$T/said"
}
ended() {
    status=0
    wait "$RUNNER" || status=$?
    RUNNER=''
}
saves() { find "$STORE/$ID" -name 'save-*.tar.zst' | wc -l; }
agent_pid() { "$MAS" status --json "$ID" | jq -e '.sessions[0].agents[0].pid'; }

@test "run makes a session, TERM stops it and saves it, and another root gets it back with its files" {
    begin --store "$STORE" -t solo -n shop
    echo work >"$ROOT/sessions/$ID/unit/solo/file"
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
    [ "$(saves)" -eq 1 ]
    [ "$("$MAS" show "$ID" --json | jq -r .status)" = stopped ]
    grep -q ' ending: stopped$' "$T/said"
    grep -q '^HOW=stopped$' "$STORE/$ID/run"

    begin --root "$JOBROOT" --store "$STORE"
    [ "$(cat "$JOBROOT/sessions/$ID/unit/solo/file")" = work ]
    [ "$("$MAS" --root "$JOBROOT" show shop --json | jq -r .status)" = active ]
    kill -INT "$RUNNER"
    ended
    [ "$status" -eq 0 ]
}

@test "the tmux server of a run is its own, whatever the settings say" {
    begin -t solo
    local socket
    socket=$("$MAS" show "$ID" --json | jq -r .tmuxSocket)
    [ "${socket##*/}" = mas-550e8400 ]
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
}

@test "a run whose session another machine has saved since ends, and saves nothing" {
    printf '[fleet]\nsave = 300ms\n' >>"$ROOT/mas.ini"
    begin --store "$STORE" -t solo
    saved() { [ "$(saves)" -gt 0 ]; }
    eventually saved
    : >"$STORE/$ID/save-99-20260101T000000Z.tar.zst"
    ended
    [ "$status" -eq 4 ]
    grep -q 'another machine has taken the session over' "$T/complaints"
    [ "$("$MAS" show "$ID" --json | jq -r .status)" = stopped ]
}

@test "run ends after --idle, and not while an agent works" {
    begin --store "$STORE" -t solo --idle 1s
    ended
    [ "$status" -eq 0 ]
    grep -q ' ending: idle$' "$T/said"
    [ "$(saves)" -eq 1 ]
}

@test "run ends when all agents have ended" {
    begin --store "$STORE" -t pair
    "$MAS" send "$ID" all 'exit 0'
    ended
    [ "$status" -eq 0 ]
    grep -q ' ending: all agents ended$' "$T/said"
    [ "$(saves)" -eq 1 ]
}

@test "a restart of the only agent is no end of the run" {
    local before
    begin --store "$STORE" -t solo
    eventually agent_pid >/dev/null
    before=$(agent_pid)
    # its tree takes a while to end
    "$MAS" send "$ID" all "trap '' HUP; touch deaf; sleep 1000"
    eventually test -e "$ROOT/sessions/$ID/unit/solo/deaf"
    ok restart "$ID" solo
    [ "$(agent_pid)" != "$before" ]
    "$MAS" send "$ID" all 'exit 0'
    ended
    [ "$status" -eq 0 ]
    [ "$(grep -c ' restart agent=solo$' "$ROOT/sessions/$ID/logs/session.log")" -eq 1 ]
}

@test "run fails if all agents have failed, and says which; the session is saved" {
    begin --store "$STORE" -t solo
    "$MAS" send "$ID" all 'exit 3'
    ended
    [ "$status" -eq 1 ]
    grep -q 'all agents have crashed (solo: exit code 3)' "$T/complaints"
    [ "$(saves)" -eq 1 ]
    grep -q '^HOW=failed$' "$STORE/$ID/run"
}

@test "stop from elsewhere ends the run with 0" {
    begin --store "$STORE" -t solo
    "$MAS" stop -q "$ID"
    ended
    [ "$status" -eq 0 ]
    [ "$(saves)" -eq 1 ]
}

@test "USR1 saves a session outside of Slurm, and its agents keep their pids" {
    begin --store "$STORE" -t solo
    eventually agent_pid
    local before
    before=$(agent_pid)
    kill -USR1 "$RUNNER"
    eventually grep -q ' saved: ' "$T/said"
    [ "$(saves)" -eq 1 ]
    [ "$(agent_pid)" = "$before" ]
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
}

@test "run saves as often as [fleet] save says" {
    printf '[fleet]\nstore = %s\nsave = 300ms\n' "$STORE" >>"$ROOT/mas.ini"
    begin -t solo
    two_saved() { [ "$(grep -c ' saved: ' "$T/said")" -ge 2 ]; }
    eventually two_saved
    kill -KILL "$RUNNER"
    wait "$RUNNER" || :
    RUNNER=''
    "$MAS" stop -q "$ID"
    begin --root "$JOBROOT" --store "$STORE"
    grep -q ' restoring save-' "$T/said"
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
}

@test "a run whose session another machine has gone on with ends, and saves over nothing" {
    printf '[fleet]\nstore = %s\nsave = 300ms\n' "$STORE" >>"$ROOT/mas.ini"
    begin -t solo
    eventually grep -q ' saved: ' "$T/said"
    echo newer >"$STORE/$ID/save-9-20300101T000000Z.tar.zst"
    eventually grep -q ' ending: another machine has it$' "$T/said"
    ended
    [ "$status" -eq 4 ]
    grep -q 'another machine has taken the session over' "$T/complaints"
    [ "$(cat "$STORE/$ID/save-9-20300101T000000Z.tar.zst")" = newer ]
    grep -q '^HOW=failed$' "$STORE/$ID/run"
    [ "$("$MAS" show "$ID" --json | jq -r .status)" = stopped ]
    # a save that only fails is tried again
    rm "$STORE/$ID/save-9-20300101T000000Z.tar.zst"
    begin
    mv "$STORE" "$STORE.gone"
    eventually grep -q ' not saved: ' "$T/said"
    mv "$STORE.gone" "$STORE"
    eventually grep -q ' saved: ' "$T/said"
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
}

@test "a damaged newest save is passed over for the one before it, and that is said; without one it is an error" {
    local newest how
    for how in 'truncate -s 2000' 'truncate -s 0' 'dd if=/dev/urandom bs=64 count=1 seek=20 conv=notrunc status=none of='; do
        begin --store "$STORE" -t solo
        eventually agent_pid
        echo old >"$ROOT/sessions/$ID/unit/solo/note"
        kill -USR1 "$RUNNER"
        eventually grep -q ' saved: ' "$T/said"
        echo new >"$ROOT/sessions/$ID/unit/solo/note"
        kill -TERM "$RUNNER"
        ended
        [ "$(saves)" -eq 2 ]
        newest=$(cd "$STORE/$ID" && printf '%s\n' save-* | tail -n 1)
        if [[ $how = *= ]]; then eval "$how\"$STORE/$ID/$newest\""; else $how "$STORE/$ID/$newest"; fi
        begin --root "$JOBROOT" --store "$STORE"
        grep -q " passed over a damaged save: cannot restore '$STORE/$ID/$newest': " "$T/said"
        [ "$(cat "$JOBROOT/sessions/$ID/unit/solo/note")" = old ]
        kill -TERM "$RUNNER"
        ended
        [ "$status" -eq 0 ]
        rm -rf "$JOBROOT"
        "$MAS" rm -qf "$ID"
        truncate -s 100 "$STORE/$ID"/save-*
        fails 5 run --root "$JOBROOT" --store "$STORE" --id "$ID"
        [[ $stderr == *"$ID"* ]]
        rm -rf "$JOBROOT" "${STORE:?}/$ID"
        ID=$(cat /proc/sys/kernel/random/uuid)
    done
}

@test "a run that was killed goes on with the team that still runs" {
    begin --store "$STORE" -t solo
    eventually agent_pid
    local before
    before=$(agent_pid)
    kill -KILL "$RUNNER"
    wait "$RUNNER" || :
    begin --store "$STORE"
    grep -q ' it runs already$' "$T/said"
    [ "$(agent_pid)" = "$before" ]
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
}

@test "a first message of a session that was only saved is delivered by its run" {
    # shellcheck disable=SC2016 # the agent expands it
    "$MAS" new -q --id "$ID" -t solo --no-start -p 'solo=echo first-$((40+2))'
    mkdir -m 700 "$STORE" "$STORE/$ID"
    "$MAS" archive -q "$ID" -o "$STORE/$ID/save-1-20260101T000000Z.tar.zst"
    begin --root "$JOBROOT" --store "$STORE"
    said() { "$MAS" --root "$JOBROOT" logs "$ID" solo | grep -q first-42; }
    eventually said
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
}

@test "run refuses a session that another machine has gone on with; --scratch replaces it" {
    begin --store "$STORE" -t solo
    kill -TERM "$RUNNER"
    ended
    begin --root "$JOBROOT" --store "$STORE"
    kill -TERM "$RUNNER"
    ended
    fails 4 run --id "$ID" --store "$STORE"
    # shellcheck disable=SC2154 # set by run
    [[ "$stderr" == *'the store has a save of epoch 2, and this is 1'* ]]
    begin --store "$STORE" --scratch --idle 1s
    grep -q 'replacing the session' "$T/said"
    ended
    [ "$status" -eq 0 ]
}

@test "start does not run a copy that its store knows to be old, also if no store is configured" {
    begin --store "$STORE" -t solo -n shop
    kill -TERM "$RUNNER"
    ended
    begin --root "$JOBROOT" --store "$STORE"
    kill -TERM "$RUNNER"
    ended
    fails 4 start shop
    [ "$stderr" = "mas: cannot start session 'shop': it has run on $(uname -n)
its store '$STORE' has what came of it; this copy is started by: mas start --takeover shop" ]
    # the newer one is
    "$MAS" --root "$JOBROOT" start shop
    "$MAS" --root "$JOBROOT" rm -f shop
    ok start --takeover shop
    mas stop shop
    # a store that is gone says nothing
    mv "$STORE" "$STORE.gone"
    ok start shop
}

@test "--scratch removes the root at the end, but not one with another session" {
    begin --root "$JOBROOT" --store "$STORE" -t solo --scratch
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
    [ ! -e "$JOBROOT" ]
    "$MAS" init -q "$JOBROOT"
    "$MAS" --root "$JOBROOT" new -q -t solo --no-start
    begin --root "$JOBROOT" --store "$STORE" --scratch
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
    [ "$("$MAS" --root "$JOBROOT" list -q | wc -l)" -eq 2 ]
}

@test "a store that nobody can write to: run fails after TERM, and the session is here" {
    begin --store "$STORE" -t solo
    rm -rf "$STORE"
    : >"$STORE"
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 1 ]
    grep -q 'cannot save the session' "$T/complaints"
    [ "$("$MAS" show "$ID" --json | jq -r .status)" = stopped ]
}

@test "bad words are refused before anything is made" {
    fails 2 run --id nonsense
    fails 2 run --idle never
    fails 2 run --idle 1ms
    fails 2 run --scratch
    fails 2 run --store relative
    fails 2 run something
    [ -z "$("$MAS" list -q)" ]
}

# ---- with programs that answer as those of Slurm do

# fake NAME LINE...: a program of Slurm; $T/calls gets its arguments.
fake() {
    local name=$1
    shift
    mkdir -p "$T/bin"
    { printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\n' "$name" "$T"; printf '%s\n' "$@"; } >"$T/bin/$name"
    chmod +x "$T/bin/$name"
}

with_slurm() {
    export PATH=$T/bin:$PATH
    fake squeue "cat '$T/jobs' 2>/dev/null || :"
    fake sbatch "echo '12|PENDING|0|0|n/a|mas:$ID|Priority' >'$T/jobs'; echo 12"
    fake scancel
    fake scontrol
    printf '[host gpu]\nvia = slurm:teams\nstore = %s\nsubmit = --qos "low prio"\n' "$STORE" >>"$ROOT/mas.ini"
}
# ask_again: lets the next list ask squeue.
ask_again() { [ ! -f "$STORE/.jobs/answer" ] || sed -i '1s/\t[0-9]*\t/\t00000000000000000000\t/' "$STORE"/.jobs/answer; }
job_state() { "$MAS" list --json | jq -r '.jobs[0] | .state + ":" + (.reason // "")'; }

@test "new --host moves the session into the store and submits one job, with its options" {
    with_slurm
    ok new -q --host gpu --id "$ID" -n shop -t solo -p 'solo=my secret' --cpus 4 --mem 2G --gpus 1 --time 90m
    [ "$output" = "$ID" ]
    [ "$(saves)" -eq 1 ]
    [ -z "$("$MAS" list -q)" ]
    grep -q "^sbatch .*--qos low prio .*--cpus-per-task=4 --mem=2097152K --gpus=1 --time=90 .*--export=NONE.*--comment=mas:$ID" "$T/calls"
    run ! grep -r 'my secret' "$T/calls" "$STORE/$ID/job"
    [ "$(stat -c %a "$STORE/$ID/job")" = 600 ]
    [ "$("$MAS" show shop --json | jq -r .state)" = pending ]
}

@test "a submission whose answer is lost and is tried again makes one job" {
    with_slurm
    # the job is there, but sbatch does not say so
    fake sbatch "echo '7|PENDING|0|0|n/a|mas:$ID|Priority' >'$T/jobs'"
    ok new -q --host gpu --id "$ID" -t solo
    ok new --host gpu --id "$ID" -t solo
    [[ "$output" == *'job 7 on gpu, submitted before'* ]]
    [ "$(grep -c ^sbatch "$T/calls")" -eq 1 ]
}

@test "of a submission that Slurm refuses nothing is left, unless a job may come of it" {
    local words
    with_slurm
    fake sbatch "echo 'sbatch: error: invalid partition specified: teams' >&2; exit 1"
    for words in "--id $ID" ''; do
        # shellcheck disable=SC2086 # words
        fails 1 new --host gpu $words -t solo
        [[ "${stderr_lines[0]}" == "mas: cannot submit session '"*"': sbatch: invalid partition specified: teams" ]]
        [ "${stderr_lines[1]}" = "nothing is left of the session; see what Slurm has with: sinfo" ]
        [ -z "$(ls "$STORE")" ]
        [ -z "$("$MAS" list -q)" ]
        [ "$("$MAS" list --json | jq '.jobs | length')" = 0 ]
    done
    fake sbatch "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1"
    fails 7 new --host gpu --id "$ID" -t solo
    [[ "$stderr" == *'Socket timed out'* && "$stderr" == *"it is saved; try again with: mas new --host gpu --id $ID" ]]
    [ "$(saves)" -eq 1 ]
    # and what was there before stays
    fake sbatch "echo 'sbatch: error: invalid partition specified: teams' >&2; exit 1"
    fails 1 new --host gpu --id "$ID" -t solo
    [[ "$stderr" == *"it is saved; try again with: mas new --host gpu --id $ID" ]]
    fake sbatch 'echo 13'
    ok new --host gpu --id "$ID" -t solo
    [ "$(saves)" -eq 1 ]
}

@test "a job of another cluster is cancelled and refused, and one of a federation is followed" {
    with_slurm
    # as with #SBATCH --clusters in the user's script: squeue here knows nothing of it
    fake sbatch 'echo "15;far"'
    fails 1 new --host gpu --id "$ID" -t solo
    [[ "$stderr" == *"job 15 went to cluster 'far'"*'was cancelled'*'--clusters'* ]]
    grep -qx 'scancel --quiet --clusters=far 15' "$T/calls"
    fake scancel 'echo "scancel: error: no cluster far" >&2; exit 1'
    fails 1 new --host gpu --id "$ID" -t solo
    [[ "$stderr" == *'could not be cancelled: scancel: no cluster far'* ]]
    fake sbatch "echo '16|PENDING|0|0|n/a|mas:$ID|Priority' >'$T/jobs'; echo '16;near'"
    ok new --host gpu --id "$ID" -t solo
    [[ "$output" == *'job 16 on gpu'* ]]
    [ "$(saves)" -eq 1 ]
}

@test "the cluster that the environment names for sbatch does not count" {
    with_slurm
    # shellcheck disable=SC2016 # for the program
    fake sbatch 'echo "${SBATCH_CLUSTERS-none} ${SBATCH_ACCOUNT-none}" >"'"$T"'/environment"; echo 12'
    SBATCH_CLUSTERS=far SBATCH_ACCOUNT=lab ok new --host gpu --id "$ID" -t solo
    [ "$(cat "$T/environment")" = 'none lab' ]
}

@test "list shows each state of a job with Slurm's reason, and keeps that of one that Slurm has forgotten" {
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -n shop -t solo
    local line want
    while IFS='=' read -r line want; do
        echo "$line" >"$T/jobs"
        ask_again
        [ "$(job_state)" = "$want" ] || { echo "$line: $(job_state)" >&2; return 1; }
    done <<END
12|PENDING|0|0|n/a|mas:$ID|Priority=pending:Priority
12|PENDING|0|0|n/a|mas:$ID|JobHeldUser=held:JobHeldUser
12|PENDING|1|0|n/a|mas:$ID|BeginTime=requeued:BeginTime
12|RUNNING|0|0|n1|mas:$ID|None=running:
12|PREEMPTED|0|0|n1|mas:$ID|None=preempted:
12|NODE_FAIL|0|1|n1|mas:$ID|NodeDown=node failed:NodeDown
12|TIMEOUT|0|0|n1|mas:$ID|TimeLimit=timed out:TimeLimit
12|OUT_OF_MEMORY|0|125|n1|mas:$ID|OutOfMemory=out of memory:OutOfMemory
12|FAILED|0|768|n1|mas:$ID|NonZeroExitCode=failed:NonZeroExitCode
END
    : >"$T/jobs"
    ask_again
    [ "$(job_state)" = failed:NonZeroExitCode ]
    mas list
    [[ "$output" == *'failed (exit code 3): NonZeroExitCode'* ]]
}

@test "a job that Slurm has forgotten while it ran is gone, or has ended as its run said" {
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -t solo
    echo "12|RUNNING|0|0|n1|mas:$ID|None" >"$T/jobs"
    ask_again
    [ "$(job_state)" = running: ]
    : >"$T/jobs"
    ask_again
    [[ "$(job_state)" == gone:* ]]
    printf 'JOB=12\nRESTARTS=0\nNODE=n1\nSTARTED_AT=2026-01-01T00:00:00Z\nENDED_AT=2026-01-01T00:10:00Z\nHOW=idle\n' \
        >"$STORE/$ID/run"
    echo "12|RUNNING|0|0|n1|mas:$ID|None" >"$T/jobs"
    ask_again
    [ "$(job_state)" = running: ]
    : >"$T/jobs"
    ask_again
    [ "$(job_state)" = ended:idle ]
}

@test "squeue is asked once for a list within 30 s, and a list does not wait for one that hangs" {
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -t solo
    : >"$T/calls"
    "$MAS" list >/dev/null
    "$MAS" list >/dev/null
    [ "$(grep -c ^squeue "$T/calls")" -eq 1 ]
    fake squeue 'exec sleep 1000'
    ask_again
    ok list
    [[ "$output" == *pending* && "$stderr" == *'cannot ask Slurm for its jobs'* ]]
    mas list
    [ "$(grep -c ^squeue "$T/calls")" -eq 2 ]
}

@test "what helps with a job that has ended, ends, or was never submitted is said" {
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -n shop -t solo
    for line in "12|COMPLETED|0|0|n1|mas:$ID|None" "12|FAILED|0|256|n1|mas:$ID|NonZeroExitCode"; do
        echo "$line" >"$T/jobs"
        ask_again
        fails 4 status gpu:shop
        [ "${stderr_lines[1]}" = "run it again from its newest save with: mas new --host gpu --id $ID" ]
    done
    echo "12|COMPLETING|0|0|n1|mas:$ID|None" >"$T/jobs"
    ask_again
    for words in 'rm shop' 'rm -f shop'; do
        # shellcheck disable=SC2086 # words
        fails 4 $words
        [ "$stderr" = "mas: cannot remove 'shop': its job 12 is ending"$'\n''wait until it has ended: mas list' ]
    done
    # sbatch refused it, a minute and more ago
    rm "$T/jobs"
    sed -i 's/^JOB=.*/JOB=0/; s/^SUBMITTED_AT=.*/SUBMITTED_AT=2026-01-01T00:00:00Z/' "$STORE/$ID/job"
    ask_again
    [ "$(job_state)" = 'gone:Slurm knows no job of it' ]
    fails 4 status gpu:shop
    [[ "${stderr_lines[0]}" = *"session 'shop' does not run: it is gone: Slurm knows no job of it" ]]
    [ "${stderr_lines[1]}" = "run it again from its newest save with: mas new --host gpu --id $ID" ]
    mas logs shop
    [ "$stderr" = "mas: warning: session 'shop' is gone: Slurm knows no job of it" ]
}

@test "a job is named as lists show it; of two with one name the one that lives is meant, and none is guessed" {
    local other=660e8400-e29b-41d4-a716-446655440000 words
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -n shop -t solo
    fails 4 new --host gpu --id "$other" -n shop -t solo
    [ "$stderr" = "mas: cannot name a session 'shop': another session has that name"$'\n''see it with: mas show shop' ]
    [ ! -e "$STORE/$other" ]
    "$MAS" new -q --host gpu --id "$other" -n other -t solo
    sed -i 's/^NAME=other$/NAME=shop/' "$STORE/$other/job" # as two commands at the same time make them
    printf '%s\n' "12|RUNNING|0|0|n1|mas:$ID|None" "13|PENDING|0|0|n/a|mas:$other|Priority" >"$T/jobs"
    ask_again
    ok show mas-660e8400
    [[ $output == *"$other"* ]]
    for words in 'show shop' 'stop shop' 'logs shop' 'rm shop' 'stop gpu:shop' 'status gpu:shop'; do
        # shellcheck disable=SC2086 # words
        mas $words
        echo "$words: $status $output $stderr"
        [ "$status" -eq 4 ]
        [ "${stderr_lines[0]}" = "mas: cannot find session 'shop': 2 jobs match" ]
        [ "${stderr_lines[1]}" = "candidates: $ID (running), $other (pending)" ]
    done
    run ! grep -q scancel "$T/calls"
    printf '%s\n' "12|COMPLETED|0|0|n1|mas:$ID|None" "13|PENDING|0|0|n/a|mas:$other|Priority" >"$T/jobs"
    ask_again
    ok stop shop
    grep -q '^scancel .*13$' "$T/calls"
    fails 3 status gpu:nobody
    [ "$stderr" = "mas: there is no job of a session 'nobody'"$'\n''list the jobs with: mas list --jobs' ]
    # in another store, too
    printf '[host far]\nvia = slurm:far\nstore = %s\n' "$T/far" >>"$ROOT/mas.ini"
    "$MAS" new -q --host far -n shop -t solo
    fails 4 show shop
    [ "$stderr" = "mas: cannot find session 'shop': jobs of gpu and far match"$'\n''name the host: gpu:shop or far:shop' ]
}

@test "stop cancels a job, rm removes its record and saves; a running one only after its end" {
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -n shop -t solo
    echo "12|RUNNING|0|0|n1|mas:$ID|None" >"$T/jobs"
    ask_again
    fails 4 rm shop
    ok stop shop
    grep -q '^scancel .*12' "$T/calls"
    echo "12|CANCELLED|0|0|n1|mas:$ID|None" >"$T/jobs"
    ok rm shop
    [ ! -e "$STORE/$ID" ]
    fails 3 show shop
}

@test "logs prints what a job has printed that never started mas, without its control characters" {
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -n shop -t solo
    printf 'one\nmodule: command not found\033[2J\n' >"$STORE/$ID/output"
    echo "12|FAILED|0|32512|n1|mas:$ID|NonZeroExitCode" >"$T/jobs"
    ask_again
    ok logs shop
    [ "$output" = $'one\nmodule: command not found\\x1b[2J' ]
    [[ "$stderr" == *'failed (exit code 127): NonZeroExitCode'* ]]
    mas logs shop -n 1
    [ "$output" = 'module: command not found\x1b[2J' ]
    [[ "$stderr" != *'printed nothing'* ]]
    # Slurm starts nothing where it cannot write what that prints
    rm "$STORE/$ID/output"
    ok logs shop
    [[ "$stderr" == *"it has printed nothing; look whether its node has the store '$STORE'"* ]]
}

# up RESTARTS=N [LINE...]: what the job writes when its team is up.
up() { printf '%s\n' JOB=12 NODE=n1 STARTED_AT=2026-01-01T00:00:00Z "$@" >"$STORE/$ID/run"; }
# team_is_up: a verb reaches the node.
team_is_up() {
    mas status gpu:shop
    [ "$status" -eq 0 ] && [ "$output" = reached ]
}

@test "a verb for a job that has begun says that its team is not up yet, and reaches it from then on" {
    local words
    with_slurm
    # shellcheck disable=SC2016 # for the shell there
    fake srun 'while [ "$1" != -- ]; do shift; done; seal=${3#--seal=}; printf "\036%s\nreached\n\036%s\n" "$seal" "$seal"'
    "$MAS" new -q --host gpu --id "$ID" -n shop -t solo
    echo "12|RUNNING|0|0|n1|mas:$ID|None" >"$T/jobs"
    ask_again
    for words in '--host gpu status shop' 'status gpu:shop' 'send gpu:shop all hello' '--host gpu start shop'; do
        # shellcheck disable=SC2086 # words
        mas $words
        echo "$words: $status $stderr"
        [ "$status" -eq 4 ]
        [ "$stderr" = "mas: session 'shop' does not run yet: its job 12 has begun, and its team is not up
wait for it; what it does now: mas logs shop  (all jobs: mas list)" ]
    done
    run ! grep '^srun' "$T/calls"
    ok status --all-hosts
    [[ $output == *gpu*'1 job has begun, and the team is not up yet'* ]]
    up RESTARTS=0
    team_is_up
    # the same job after a requeue, on another node: what the first time has written counts no more
    echo "12|RUNNING|1|0|n2|mas:$ID|None" >"$T/jobs"
    ask_again
    fails 4 status gpu:shop
    [[ "$stderr" == *'does not run yet'* ]]
    up RESTARTS=1
    team_is_up
    # the job has stopped its team, and Slurm has not noticed
    up RESTARTS=1 ENDED_AT=2026-01-01T01:00:00Z HOW=idle
    fails 4 status gpu:shop
    [[ "$stderr" == *"session 'shop' does not run: its job 12 is ending"* ]]
}

@test "a job writes that its team is up, with how often it was put back, and again if it could not" {
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -t solo
    echo "12|RUNNING|2|0|n1|mas:$ID|None" >"$T/jobs"
    mkdir "$STORE/$ID/run" # cannot be replaced
    mkdir -p "$HOME/.config/mas"
    printf '[fleet]\nsave = 1s\n' >"$HOME/.config/mas/mas.ini"
    SLURM_JOB_ID=12 SLURM_RESTART_COUNT=2 begin --root "$JOBROOT" --store "$STORE"
    eventually grep -q ' not recorded: ' "$T/said"
    rmdir "$STORE/$ID/run"
    eventually grep -q '^RESTARTS=2$' "$STORE/$ID/run"
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
    grep -q '^HOW=stopped$' "$STORE/$ID/run"
}

@test "logs, show, stop and rm with the host do what they do without it, while the team is not up" {
    local line words other
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -n shop -t solo
    echo 'module: command not found' >"$STORE/$ID/output"
    other=$("$MAS" new -q --no-start -n shop -t solo) # another one, here
    for line in "12|PENDING|0|0|n/a|mas:$ID|JobHeldUser" "12|RUNNING|0|0|n1|mas:$ID|None" \
        "12|FAILED|0|32512|n1|mas:$ID|NonZeroExitCode"; do
        echo "$line" >"$T/jobs"
        ask_again
        for words in 'logs gpu:shop' '--host gpu logs shop' 'logs -s gpu:shop' '--host=gpu logs --session=shop'; do
            # shellcheck disable=SC2086 # words
            mas $words
            echo "$words: $status $output $stderr"
            [ "$status" -eq 0 ]
            [ "$output" = 'module: command not found' ]
            [[ "$stderr" == "mas: warning: job 12 of session 'shop' is "* ]]
        done
        mas show gpu:shop --json
        [ "$(jq -r .job <<<"$output")" = 12 ]
    done
    "$MAS" restore -q -n back "$STORE/$ID/"save-*.tar.zst >/dev/null # with the same id
    mas stop gpu:shop
    [ "$output" = 'shop has ended already' ]
    fails 2 --host gpu rm shop "$other"
    [[ $stderr = *'mas rm gpu:SESSION...' ]]
    ok rm gpu:shop
    [ ! -e "$STORE/$ID" ]
    [ -d "$ROOT/sessions/$ID" ]
    [ -d "$ROOT/sessions/$other" ]
    fails 3 logs gpu:shop
}

@test "a verb that srun cannot take to the job says where to look" {
    with_slurm
    fake srun 'exit 255'
    "$MAS" new -q --host gpu --id "$ID" -n shop -t solo
    echo "12|RUNNING|0|0|n1|mas:$ID|None" >"$T/jobs"
    printf 'JOB=12\nRESTARTS=0\nNODE=n1\nSTARTED_AT=2026-01-01T00:00:00Z\n' >"$STORE/$ID/run"
    ask_again
    fails 12 status gpu:shop
    [[ "${stderr_lines[0]}" == "mas: cannot reach host 'gpu': "* ]]
    [ "${stderr_lines[1]}" = 'see whether Slurm answers: mas doctor --all-hosts' ]
}

@test "a session that is a job is not moved, whatever its job does" {
    local line words
    with_slurm
    fake srun 'exit 9'
    printf '[host n1]\nvia = ssh:n1\n' >>"$ROOT/mas.ini"
    "$MAS" new -q --host gpu --id "$ID" -n shop -t solo
    printf 'JOB=12\nRESTARTS=0\nNODE=n1\nSTARTED_AT=2026-01-01T00:00:00Z\n' >"$STORE/$ID/run"
    for line in "12|RUNNING|0|0|n1|mas:$ID|None" "12|PENDING|0|0|n/a|mas:$ID|Priority"; do
        echo "$line" >"$T/jobs"
        ask_again
        for words in 'move gpu:shop n1' '--host gpu move shop n1'; do
            # shellcheck disable=SC2086 # words
            mas $words
            echo "$words: $status $output $stderr"
            [ "$status" -eq 4 ]
            [ "${stderr_lines[0]}" = "mas: cannot move session 'shop': it is a job on host 'gpu', and jobs are not moved" ]
            [ "${stderr_lines[1]}" = "when it has ended, restore a save on that machine: $STORE/$ID" ]
        done
    done
    run ! grep -q ^srun "$T/calls"
}

@test "stop and rm with the host are for the job while the team is up, too: they are not run in what they end" {
    local words
    with_slurm
    fake srun 'exit 9'
    "$MAS" new -q --host gpu --id "$ID" -n shop -t solo
    echo "12|RUNNING|0|0|n1|mas:$ID|None" >"$T/jobs"
    printf 'JOB=12\nRESTARTS=0\nNODE=n1\nSTARTED_AT=2026-01-01T00:00:00Z\n' >"$STORE/$ID/run"
    for words in 'stop gpu:shop' '--host gpu stop shop' 'stop -s gpu:shop'; do
        rm -f "$T/calls"
        ask_again
        # shellcheck disable=SC2086 # words
        mas $words
        echo "$words: $status $output $stderr"
        [ "$status" -eq 0 ]
        [ "$output" = 'shop cancelled' ]
        grep -q '^scancel .*12$' "$T/calls"
        run ! grep -q '^srun' "$T/calls"
    done
    for words in 'rm gpu:shop' 'rm -f gpu:shop' '--host gpu rm -f shop'; do
        ask_again
        # shellcheck disable=SC2086 # words
        mas $words
        echo "$words: $status $output $stderr"
        [ "$status" -eq 4 ]
        [[ $stderr = *'mas stop shop' ]]
        run ! grep -q '^srun' "$T/calls"
    done
    mas show gpu:shop # which asks the team
    grep -q '^srun' "$T/calls"
}

@test "USR1 in a job submits another one and ends; a job that cannot submit is requeued" {
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -t solo
    echo "12|RUNNING|0|0|n1|mas:$ID|None" >"$T/jobs"
    fake sbatch 'echo 13'
    SLURM_JOB_ID=12 begin --root "$JOBROOT" --store "$STORE"
    kill -USR1 "$RUNNER"
    ended
    [ "$status" -eq 0 ]
    grep -q 'goes on in job 13' "$T/said"
    grep -q '^HOW=requeued$' "$STORE/$ID/run"
    grep -q '^JOB=13$' "$STORE/$ID/job"

    fake sbatch 'echo "sbatch: error: not from here" >&2; exit 1'
    echo "13|RUNNING|0|0|n1|mas:$ID|None" >"$T/jobs"
    SLURM_JOB_ID=13 begin --root "$JOBROOT" --store "$STORE"
    kill -USR1 "$RUNNER"
    ended
    [ "$status" -eq 0 ]
    grep -q '^scontrol requeue 13$' "$T/calls"
}

# link: which job of its chain the session is in, as `show` says.
link() { ask_again && "$MAS" show "$ID" --json | jq -c '[.link, .chain]'; }
# next_job NUMBER: sbatch gives this number from now on.
next_job() { fake sbatch "echo '$1|PENDING|0|0|n/a|mas:$ID|Dependency' >'$T/jobs'; echo $1"; }
# usr1 NUMBER: runs the session as this job, which is told of its time limit.
usr1() {
    echo "$1|RUNNING|0|0|n1|mas:$ID|None" >"$T/jobs"
    SLURM_JOB_ID=$1 begin --root "$JOBROOT" --store "$STORE"
    kill -USR1 "$RUNNER"
    ended
    [ "$status" -eq 0 ]
}

@test "a chain of jobs ends after --chain N, and show, list and a notice say so" {
    with_slurm
    "$MAS" init -q "$JOBROOT"
    printf '[notify]\ncommand = tee %s\n' "$T/told" >>"$JOBROOT/mas.ini"
    "$MAS" new -q --host gpu --id "$ID" -t solo --chain 2
    [ "$(link)" = '[1,2]' ]
    mas show "$ID"
    [[ $output == *'chain '*' job 1 of 2'* ]]
    next_job 13
    usr1 12
    grep -q 'goes on in job 13' "$T/said"
    [ "$(link)" = '[2,2]' ]
    [ ! -e "$T/told" ]
    next_job 14
    usr1 13
    grep -q 'no other job follows: this is the last of 2$' "$T/said"
    grep -q ' saved: ' "$T/said"
    [ "$(grep -c ^sbatch "$T/calls")" -eq 2 ]
    run ! grep -q '^scontrol' "$T/calls"
    [ "$(jq -r '.notice + ": " + .text' "$T/told")" = 'limit: this was the last of 2 jobs (--chain)' ]
    # as long as Slurm remembers it, and then
    echo "13|COMPLETED|0|0|n1|mas:$ID|None" >"$T/jobs"
    ask_again
    [ "$(job_state)" = 'ended:the last job of its chain' ]
    : >"$T/jobs"
    ask_again
    [ "$(job_state)" = 'ended:the last job of its chain' ]
    mas show "$ID"
    [[ $output == *'ended: the last job of its chain'*'job 2 of 2'* ]]
    # a person lets it go on, in a new chain or without an end
    next_job 15
    "$MAS" new -q --host gpu --id "$ID" --chain 3
    [ "$(link)" = '[1,3]' ]
    : >"$T/jobs"
    next_job 16
    "$MAS" new -q --host gpu --id "$ID"
    [ "$(link)" = '[null,null]' ]
    next_job 17
    usr1 16
    grep -q 'goes on in job 17' "$T/said"
}

@test "what is tried again, put back or killed makes no chain longer" {
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -t solo --chain 3
    next_job 13
    usr1 12
    [ "$(link)" = '[2,3]' ]
    # the same command again finds the job
    "$MAS" new -q --host gpu --id "$ID" --chain 3
    [ "$(link)" = '[2,3]' ]
    # killed between the count and its job
    fake sbatch "kill -KILL \"\$(cat '$T/runner')\""
    echo "13|RUNNING|0|0|n1|mas:$ID|None" >"$T/jobs"
    SLURM_JOB_ID=13 begin --root "$JOBROOT" --store "$STORE"
    echo "$RUNNER" >"$T/runner"
    kill -USR1 "$RUNNER"
    ended
    [ "$status" -eq 137 ]
    [ "$(link)" = '[3,3]' ]
    # Slurm begins it again, as after a power cut
    next_job 14
    usr1 13
    grep -q 'this is the last of 3$' "$T/said"
    [ "$(grep -c ^sbatch "$T/calls")" -eq 3 ]
}

@test "a job that cannot submit is put back and counted, and not put back if it cannot be counted" {
    with_slurm
    "$MAS" new -q --host gpu --id "$ID" -t solo --chain 3
    fake sbatch 'exit 1'
    usr1 12
    grep -q '^scontrol requeue 12$' "$T/calls"
    [ "$(link)" = '[2,3]' ]
    : >"$T/calls"
    mkdir "$STORE/$ID/job.new" "$STORE/$ID/job.new/in-the-way"
    usr1 12
    grep -q 'no other job follows, because it cannot be counted: ' "$T/said"
    run ! grep -q '^sbatch\|^scontrol' "$T/calls"
}

@test "options of a job need --host, a host of Slurm and a store" {
    fails 2 new --cpus 4
    fails 3 new --host nowhere
    printf '[host far]\nvia = ssh:far\n[host near]\nvia = slurm:p\n' >>"$ROOT/mas.ini"
    fails 2 new --host far --mem 1G # ssh reaches it, so the job's options are refused before that
    [[ "$stderr" == *'cannot use --mem with --host far'* ]]
    fails 1 new --host near
    [[ "$stderr" == *'it has no store'* ]]
    printf 'store = %s\n' "$STORE" >>"$ROOT/mas.ini"
    local bad
    for bad in --cpus=0 --cpus=x --gpus=-1 --mem=1 --mem=lots --time=10s --time=x --idle=0; do
        mas new --host near "$bad"
        [ "$status" -eq 2 ] || { echo "$bad: $status" >&2; return 1; }
    done
    fails 2 new --host near --attach
    [ -z "$("$MAS" list -q)" ] && [ ! -e "$STORE" ]
}

@test "a store that others can write to is refused" {
    with_slurm
    mkdir "$STORE"
    local mode
    for mode in 777 770 707; do
        chmod "$mode" "$STORE"
        fails 1 new --host gpu -t solo
        [[ "$stderr" == *'others may write to it'* ]]
    done
    [ -z "$("$MAS" list -q)" ]
}

@test "the user's own script is submitted in place of the one that comes with mas" {
    with_slurm
    "$MAS" new -q --host gpu -t solo
    grep -q '^sbatch .*/slurm/team.sbatch ' "$T/calls"
    local config=${XDG_CONFIG_HOME:-$HOME/.config}/mas/slurm
    mkdir -p "$config"
    printf '#!/bin/sh\nexec "$@"\n' >"$config/team.sbatch"
    "$MAS" new -q --host gpu -t solo
    grep -qF " $(realpath "$config/team.sbatch") " "$T/calls"
}

@test "archive --live --save from the root of a session that run was given a store for uses that store" {
    begin --store "$STORE" -t solo -n shop
    [ "$(saves)" -eq 0 ]
    ok archive --live --save -q shop
    [ "$(saves)" -eq 1 ]
    kill -TERM "$RUNNER"
    ended
    [ "$status" -eq 0 ]
}

@test "run refuses a task of an array job" {
    SLURM_ARRAY_TASK_ID=1 fails 2 run --store "$STORE" --id "$ID"
    [[ $stderr = 'mas: cannot run a session in an array job: '*$'\n'*--array* ]]
    [ ! -e "$STORE/$ID" ]
    [ ! -e "$ROOT/sessions/$ID" ]
}
