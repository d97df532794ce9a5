#!/usr/bin/env bash
# Runs test programs and bats files in parallel and counts single tests.
#
#   scripts/run-tests.sh [-j JOBS] [-t SECONDS] [-i SECONDS] FILE...
#
# A FILE that ends in .bats is run by bats, of FILE.bats:plain those tests that ask whether they run under
# sanitizers ($TEST_SAN); any other is a program that prints TAP. Each is one job
# with its own HOME (also its working directory), TMPDIR and default tmux server, so tests affect
# neither each other nor the user's files. After a job its remaining processes are killed, and what its
# tests have left of the places that they made under the name $TEST_JOB.* is removed.
#
# On a machine of any speed, a job continues as long as it makes progress. It is ended if one test uses
# -t SECONDS of processor time (default 1800), or no processor time for -i SECONDS (default 300).
#
# For a failed job, the failed tests are printed with their output; if the job itself failed, all of
# its output. The last line is "N passed, N failed", followed by ", N skipped" if any were skipped. The
# exit code is 1 if a test failed, or if a job ran no test, fewer tests than planned, left a sanitizer
# report, or exited with a code other than 0.
#
# Before it stand the ten slowest tests of bats, with their seconds beside what else ran.
#
# With TEST_AGAIN=N, if at most N jobs failed, each of them runs once more with the machine to itself, and
# that result counts. What passes only then is named before the last line: it is a test to mend, because
# it depends on what else runs. A job that left a sanitizer report is not run again.
#
# With TEST_ON=bindfs, the roots and homes of tests are on FUSE: a file system that knows no flags of renameat2() and
# keeps removed files that are open under another name. TEST_PLACE=DIR puts them into a directory instead.
#
# TEST_ONLY is a pattern: of the files of bats, only tests are run whose names match it.
#
# Tests find the program in $MAS and the project in $TEST_ROOT; $TEST_FAULT is `quick` or `full`,
# $TEST_SAN is not empty under sanitizers.
set -u

jobs=$(($(nproc) * 3)) # most of them wait for something most of the time
limit=1800
idle=300
TEST_ROOT=${TEST_ROOT:-$(cd "$(dirname "$0")/.." && pwd -P)}

# count_tap FILE: prints "<plan or -> <passed> <failed> <skipped>".
count_tap() {
    awk '
        /^1\.\.[0-9]+/ && plan == "" { plan = substr($1, 4) + 0 }
        /^not ok/ { failed++ }
        /^ok/ { if (tolower($0) ~ /# skip( |$)/) skipped++; else passed++ }
        END { print (plan == "" ? "-" : plan), passed + 0, failed + 0, skipped + 0 }
    ' "$1"
}

# found_of DIR: prints the directories in /proc of a job's processes. It finds them by the job's unique
# HOME, by its TMPDIR, which stays when a test has a home of its own, and by the place of a test.
found_of() {
    {
        grep -lsxzF -e "HOME=$1/home" -e "TMPDIR=$1" /proc/[0-9]*/environ
        grep -lsF "/$(job_of "$1")." /proc/[0-9]*/{environ,cmdline}
    } | sed -E 's|/[a-z]+$||' | sort -u
}

# job_of DIR: prints what the names of the places of a job's tests begin with.
job_of() { echo "${RUN_DIR##*.}.${1##*/}"; }

# sweep DIR: kills the processes that a job left behind and prints their names.
sweep() {
    local process name names=''

    for process in $(found_of "$1"); do
        read -r name 2>/dev/null <"$process/comm" || continue
        kill -KILL "${process#/proc/}" 2>/dev/null && names+="${names:+, }$name"
    done
    echo "$names"
}

# clear_places JOB: removes what tests that were ended have left of their places, with what is mounted there.
clear_places() {
    local place mount

    for place in "${TEST_PLACE:-/dev/shm}/$1".* "/tmp/$1".*; do
        [[ -d $place ]] || continue
        while read -r mount; do umount -l "$mount"; done < <(awk -v in_it="$place/" 'index($5, in_it) == 1 { print $5 }' /proc/self/mountinfo)
        chmod -R u+rwX "$place" 2>/dev/null
        rm -rf --one-file-system "$place"
    done
}

# failures FILE: prints the failed tests in it with their output.
failures() { awk '/^(not )?ok/ { shown = /^not/ } shown' "$1"; }

# has_report DIR: succeeds if a sanitizer wrote a report. A thread that ended during the leak check is
# not a report.
has_report() { cat "$1"/* 2>/dev/null | grep -vqE '^==[0-9]+==Unable to get registers from thread'; }

# used_by PID: prints the processor time, in ticks, of a process, its descendants, and the children
# that these have waited for.
used_by() {
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v top="$1" '
        {
            pid = $1
            sub(/.*\) /, "") # a name may contain anything
            parent[pid] = $2
            used[pid] = $12 + $13 + $14 + $15
        }
        END {
            for (pid in parent) {
                for (at = pid; at in parent && at != top; at = parent[at]);
                if (at == top) sum += used[pid]
            }
            print sum + 0
        }'
}

# processes_of DIR: prints the processes of a job, one per line: state, where it waits, command.
processes_of() {
    local process stat wchan

    for process in $(found_of "$1"); do
        stat=$(sed 's/.*) //; s/ .*//' "$process/stat" 2>/dev/null) || continue
        wchan=$(cat "$process/wchan" 2>/dev/null)
        echo "  $stat ${wchan:--} $(tr '\0\n' '  ' <"$process/cmdline" 2>/dev/null | cut -c 1-200)"
    done
}

# watch PID FILE DIR: ends a job whose tests make no progress, and prints why. Using the processor is
# progress, up to the limit of one test; a test has ended when FILE grows.
watch() {
    local pid=$1 ticks size used last_size=-1 last_used=0 began=0 quiet=0 pause=5

    ticks=$(getconf CLK_TCK)
    ((TEST_IDLE >= pause)) || pause=1
    while kill -0 "$pid" 2>/dev/null; do
        size=$(stat -c %s "$2" 2>/dev/null) used=$(used_by "$pid")
        if [[ $size != "$last_size" ]]; then began=$used; fi
        # a waiting job uses less than a hundredth of the time
        if [[ $size != "$last_size" ]] || ((used - last_used > pause * ticks / 100 || used < last_used)); then
            quiet=0
        else
            quiet=$((quiet + pause))
        fi
        last_size=$size last_used=$used
        if ((used - began > TEST_LIMIT * ticks)); then
            echo "used $TEST_LIMIT s of the processor for one test"
        elif ((quiet >= TEST_IDLE)); then
            echo "did nothing for $TEST_IDLE s, in"
            processes_of "$3"
        else
            read -rt "$pause" <> <(:)
            continue
        fi
        kill "$pid" 2>/dev/null
        return
    done
}

# asking FILE: prints a pattern for the names of the tests of this file that ask for $TEST_SAN.
asking() {
    awk '
        /^@test / { name = $0; gsub(/^@test .|. \{$/, "", name); gsub(/[^A-Za-z0-9 ,-]/, "\\\\&", name) }
        /TEST_SAN/ && !(name in seen) { seen[name]; all = all (all == "" ? "" : "|") name }
        END { print "^(" all ")$" }' "$1"
}

# run_one NUMBER FILE: runs one job in $RUN_DIR/NUMBER and writes its counts to the file `result` there.
run_one() {
    local dir=$RUN_DIR/$1 file=$2 start=${EPOCHREALTIME/[.,]/} why='' how leaks=1 watcher
    local rc plan passed failed skipped left name seconds pid job
    local command=("$file")

    job=$(job_of "$dir")
    mkdir -p "$dir/home" "$dir/tmux" "$dir/report"
    chmod 700 "$dir/tmux"
    echo "$BASHPID" >"$dir/job"
    if [[ $file == *.bats?(:plain) ]]; then
        local text=${file%:plain} only=${TEST_ONLY-}
        if [[ $file == *:plain ]]; then only=$(asking "$text"); fi
        command=(bats --timing --formatter tap ${only:+--filter "$only"} "$text")
        # The leak checker cannot work under strace.
        if grep -q strace "$text"; then leaks=0; fi
    fi
    # The shell ignores SIGINT in background commands, and the parent of this script may ignore SIGPIPE.
    # `timeout` sets no time limit here: when it is killed, it ends its process group within 10 s.
    timeout -k 10 0 env -C "$dir/home" --default-signal=INT,QUIT,PIPE \
        HOME="$dir/home" TMPDIR="$dir" TMUX_TMPDIR="$dir/tmux" TEST_JOB="$job" \
        ASAN_OPTIONS="halt_on_error=1:exitcode=86:detect_leaks=$leaks:log_path=$dir/report/asan" \
        UBSAN_OPTIONS="halt_on_error=1:exitcode=86:print_stacktrace=1:log_path=$dir/report/ubsan" \
        "${command[@]}" >"$dir/out" 2>&1 </dev/null &
    pid=$!
    trap 'kill "$pid" 2>/dev/null' TERM INT
    watch "$pid" "$dir/out" "$dir" >"$dir/hangs" &
    watcher=$!
    wait "$pid" 2>/dev/null
    rc=$?
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    ((rc > 128)) && how="signal $((rc - 128))" || how="exit code $rc"
    left=$(sweep "$dir")
    clear_places "$job"

    read -r plan passed failed skipped < <(count_tap "$dir/out")
    if [[ -s $dir/hangs ]]; then
        why=$(<"$dir/hangs")
    elif [[ $plan == - || $plan -eq 0 ]]; then
        why="gave no test ($how)"
    elif ((passed + failed + skipped != plan)); then
        why="gave $((passed + failed + skipped)) of $plan tests ($how)"
    elif has_report "$dir/report"; then
        why='left reports of a sanitizer'
        : >"$dir/final"
    elif ((rc != 0 && failed == 0)); then
        why="ended with $how"
    fi
    if [[ -n $why ]]; then
        # Each missing test counts as failed; there is at least one failure.
        if [[ $plan != - ]] && ((passed + failed + skipped < plan)); then
            failed=$((plan - passed - skipped))
        elif ((failed == 0)); then
            failed=1
        fi
    fi
    echo "$passed $failed $skipped" >"$dir/result"

    name=${file#"$TEST_ROOT"/}
    sed -nE "s|^(not )?ok [0-9]+ (.*) in ([0-9]+)ms( # skip.*)?$|\\3 $name: \\2|p" "$dir/out" >"$dir/times"
    seconds=$((${EPOCHREALTIME/[.,]/} - start))
    printf -v seconds '%d.%d s' $((seconds / 1000000)) $((seconds / 100000 % 10))
    {
        flock 9
        if ((failed > 0)); then
            echo "FAILED $name: $failed of $((passed + failed + skipped)), $seconds${why:+; it $why}"
            if [[ -n $why ]]; then cat "$dir/out"; else failures "$dir/out"; fi | sed 's/^/    /'
            find "$dir/report" -type f -size +0 -exec sed 's/^/    /' {} +
        else
            echo "passed $name: $passed, $seconds"
            grep -i '^ok.*# skip' "$dir/out" | sed 's/^/    /'
        fi
        if [[ -n $left ]]; then echo "    (left running, ended: $left)"; fi
    } 9>"$RUN_DIR/print.lock"
    # --one-file-system: a test may have mounted something.
    chmod -R u+rwX "$dir" 2>/dev/null
    find "$dir" -mindepth 1 -maxdepth 1 ! -name result ! -name final ! -name times -exec rm -rf --one-file-system {} +
}

if [[ ${1-} == --one ]]; then
    run_one "$2" "$3"
    exit 0
fi

while getopts j:t:i: option; do
    case $option in
        j) jobs=$OPTARG ;;
        t) limit=$OPTARG ;;
        i) idle=$OPTARG ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if (($# == 0)); then
    echo 'run-tests.sh: no test given' >&2
    echo '0 passed, 1 failed'
    exit 1
fi

# Hide the variables of a team, a terminal, a user's settings and an outer make from the tests.
for name in $(compgen -e); do
    case $name in
        MAS) ;;
        MAS_* | XDG_* | TMUX* | BATS_* | MAKEFLAGS | MFLAGS | MAKELEVEL | MAKEOVERRIDES) unset "$name" ;;
        SESSION_NAME | UNIT_DIR | WORKFLOWS_DIR | NO_COLOR | COLUMNS | LINES | CDPATH) unset "$name" ;;
    esac
done
export MAS=${MAS:-$TEST_ROOT/build/mas} TEST_FAULT=${TEST_FAULT:-quick} TEST_SAN=${TEST_SAN-}
export TEST_ROOT TEST_LIMIT=$limit TEST_IDLE=$idle

# A short path: sockets below it must stay under 108 bytes.
RUN_DIR=$(mktemp -d /tmp/mas.XXXXXX) || exit 1
export RUN_DIR
trap 'unmount_place; rm -rf --one-file-system "$RUN_DIR"' EXIT

# mount_place: sets TEST_PLACE to a directory of the file system that TEST_ON names.
place='' behind=''
mount_place() {
    local memory=/tmp
    if [ -w /dev/shm ]; then memory=/dev/shm; fi
    behind=$(mktemp -d "$memory/mas.XXXXXX") && place=$(mktemp -d /tmp/on.XXXX) || return
    # as on a disk, programs of other users and devices count, where root mounts it
    local options=()
    if [ "$(id -u)" = 0 ]; then options=(-o 'suid,dev'); fi
    bindfs --multithreaded "${options[@]}" "$behind" "$place" || return
    export TEST_PLACE=$place
}
unmount_place() {
    if [ -z "$place" ]; then return; fi
    fusermount -u "$place" 2>/dev/null || fusermount -uz "$place"
    rmdir "$place"
    rm -rf "$behind"
}
case ${TEST_ON-} in
    '') ;;
    bindfs) mount_place || { echo 'run-tests.sh: cannot mount bindfs' >&2; exit 1; } ;;
    *) echo "run-tests.sh: TEST_ON is bindfs or nothing, not '$TEST_ON'" >&2; exit 2 ;;
esac

# A python3 that is a wrapper takes ten times as long to start as the real program, so link that; not below /tmp,
# which each agent behind a wall has for itself.
if python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null); then
    mkdir -p "$TEST_ROOT/build/bin" && ln -sfn "$python" "$TEST_ROOT/build/bin/python3" && PATH=$TEST_ROOT/build/bin:$PATH
fi

# Ends all jobs; each cleans up after itself. Waits for them as long as `timeout -k` does.
interrupted() {
    local tenths=0
    trap '' INT TERM HUP
    kill "$starter" 2>/dev/null
    cat "$RUN_DIR"/*/job 2>/dev/null | xargs -r kill 2>/dev/null
    while compgen -G "$RUN_DIR/*/job" >/dev/null && ((tenths++ < 120)); do sleep 0.1; done
    echo 'interrupted' >&2
    exit 130
}
starter=
trap interrupted INT TERM HUP

number=0
for file in "$@"; do
    number=$((number + 1))
    case $file in /*) ;; *) file=$PWD/$file ;; esac
    printf '%s\0' "$number" "$file"
done | xargs -0 -n 2 -P "$jobs" "$0" --one &
starter=$!
wait "$starter"

# failed_jobs: prints the numbers of the jobs that failed.
failed_jobs() {
    local number
    for number in $(seq 1 "$count"); do
        if [[ $(cut -d ' ' -f 2 "$RUN_DIR/$number/result" 2>/dev/null) != 0 ]]; then echo "$number"; fi
    done
}
count=$#
mapfile -t again < <(failed_jobs)
mended=()
if ((${#again[@]} > 0 && ${#again[@]} <= ${TEST_AGAIN:-0})); then
    for number in "${again[@]}"; do
        if [[ -e $RUN_DIR/$number/final ]]; then continue; fi
        file=${!number}
        case $file in /*) ;; *) file=$PWD/$file ;; esac
        echo "again, alone: ${!number}"
        "$0" --one "$number" "$file" &
        starter=$!
        wait "$starter"
        if [[ $(cut -d ' ' -f 2 "$RUN_DIR/$number/result" 2>/dev/null) == 0 ]]; then mended+=("${!number}"); fi
    done
fi
if ((${#mended[@]} > 0)); then echo "PASSED ONLY WHEN RUN AGAIN: ${mended[*]}"; fi

cat "$RUN_DIR"/*/times 2>/dev/null | sort -rn | head -n 10 |
    awk 'NR == 1 { print "slowest:" } { ms = $1; sub(/[0-9]+ /, ""); printf "%8.1f s  %s\n", ms / 1000, $0 }'
passed=0 failed=0 skipped=0
for ((number = 1; number <= $#; number++)); do
    if read -r p f s 2>/dev/null <"$RUN_DIR/$number/result"; then
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    else
        echo "FAILED ${!number}: the job itself did not end"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed$( ((skipped > 0)) && echo ", $skipped skipped")"
((failed == 0))
