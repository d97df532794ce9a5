#!/usr/bin/env bats
# Verbs on another machine end there when they end at the front, however they end.

load ../helper
load lib

setup_file() {
    bed_up
    if [ -z "$BED" ]; then return; fi
    fleet_config
    fleet_slurm 'submit = -w n1'
}

# Each test has a team on n1: over ssh, or as a job. HOST reaches it, ROOT_THERE has it.
over_ssh() {
    HOST=n1 ROOT_THERE=/home/ann/.local/share/mas
    as n1 mas new -q -t solo --agent scripted --name team
}
over_srun() {
    HOST=gpu ROOT_THERE=/tmp/mas-4242-$(front new -q --host gpu -t solo --agent scripted --name team)
    eventually front --host gpu wait team --for idle
}
teardown_more() {
    if [ -z "$BED" ]; then return; fi
    window_close
    as n1 mas rm -f -q team 2>/dev/null || front stop -q team || :
    eventually prints '' queue
    front rm -q team 2>/dev/null || :
    wait || :
}
there() { as n1 mas --root "$ROOT_THERE" "$@"; }
is_state() { [ "$(there status team --json | jq -r '.sessions[].agents[].state')" = "$1" ]; }

# left: what runs there of a verb, and not of watch(). find_verb VERB: sets VERB_PID to its process there, the first of
# its name, for one that it starts has that too until it is another program. Over srun a process seals its output.
left() { verbs n1 | grep -vE -- '--for idle|mas (run|lease) ' || :; }
find_verb() {
    VERB_PID=$(left | grep -v -- '--seal=' | grep -m 1 -E "mas (--root [^ ]* )?$1 " | cut -d' ' -f1)
    [ -n "$VERB_PID" ]
}

# watch VERB: from now on, $ENDED and $IDLE bring when its process there ends and when the agent is idle, in ms.
watch() {
    eventually find_verb "$1"
    exec {ENDED}< <(on n1 /usr/bin/python3 -c '
import os, select, sys, time
fd = os.pidfd_open(int(sys.argv[1]))
print("watching", flush=True)
select.select([fd], [], [])
print(time.time_ns() // 1000000)' "$VERB_PID")
    # shellcheck disable=SC2016 # for the shell there
    exec {IDLE}< <(as n1 sh -c 'mas --root "$0" wait team --for idle >/dev/null && date +%s%3N' "$ROOT_THERE")
    [ "$(next "$ENDED")" = watching ]
    if [ "$1" = ask ]; then eventually eval 'verbs n1 | grep -q -- "--for idle"'; fi
}

# next FD: prints the line that comes; where none does, what runs instead. Less than run-tests.sh waits for a test.
next() {
    local line machine
    if read -rt 240 line <&"$1"; then
        echo "$line"
        return
    fi
    for machine in front n1; do
        echo "no line has come; on $machine runs"
        on "$machine" ps -u ann -o pid,ppid,stat,wchan:20,args --forest
    done >&2
    return 1
}

# ends_once HOW VERB: how long it took, in ms, until the agent is idle and no process of the verb is left.
ends_once() {
    local start idle ended
    in_window "mas --host $HOST $2"
    if [[ $2 == ask* ]]; then eventually is_state working; fi
    watch "${2%% *}"
    start=$(date +%s%3N)
    "$1"
    ended=$(next "$ENDED")
    idle=$(next "$IDLE")
    exec {ENDED}<&- {IDLE}<&-
    eventually prints '' left || { left; false; }
    is_state idle
    window_close
    took=$(((idle > ended ? idle : ended) - start))
    echo "$2: $took ms"
}

# ends_by HOW: each verb that waits is ended so, and is over within 2 s. There is no timer in that, so that only a busy
# machine makes it longer: then it may try again, but whatever makes it wait for 2 s itself fails each time.
ends_by() {
    local verb try took
    for verb in 'ask team solo SAY:begun HANG' 'wait team --for exit' 'status --watch team' 'logs -f team solo'; do
        for try in 1 2 3 4 5; do
            ends_once "$1" "$verb"
            if [ "$took" -lt 2000 ]; then break; fi
        done
        [ "$took" -lt 2000 ] || { echo "not one of $try within 2 s" && false; }
    done
}

interrupt() { keys C-c; }
kill_client() { on front pkill -KILL -u ann -x mas; }
kill_ssh() { on front pkill -KILL -u ann -f '^ssh .* exec '; }
close_window() { window_close; }

@test "Ctrl-C at the front ends a verb on the other machine, and cancels what it asked" { over_ssh && ends_by interrupt; }

@test "a client that is killed at the front ends the verb on the other machine" { over_ssh && ends_by kill_client; }

@test "an ssh that is killed at the front ends the verb on the other machine" { over_ssh && ends_by kill_ssh; }

@test "a terminal that closes at the front ends the verb on the other machine" { over_ssh && ends_by close_window; }

@test "Ctrl-C at the front ends a verb in a job, and cancels what it asked" { over_srun && ends_by interrupt; }

@test "a client that is killed at the front ends the verb in a job" { over_srun && ends_by kill_client; }

@test "a terminal that closes at the front ends the verb in a job" { over_srun && ends_by close_window; }
