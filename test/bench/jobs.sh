# 10,000 sessions that are jobs, in one store, and a squeue that lists all of them: what mas adds to reading that.
# shellcheck shell=bash
# A pretended squeue prints a recorded answer.

JOBS=10000
STORE=$FAST/jobs-store
ROOT=$FAST/jobs
make_root "$ROOT" && mkdir -p "$FAST/jobs-bin" && mkdir -m 700 "$STORE" || return 1
printf '[host gpu]\nvia = slurm:teams\nstore = %s\n' "$STORE" >>"$ROOT/mas.ini"
python3 - "$STORE" "$JOBS" >"$FAST/queue" <<'END' || return 1
import os, sys
store, count = sys.argv[1], int(sys.argv[2])
for i in range(count):
    id = "%08x-e29b-41d4-a716-446655440000" % i
    os.mkdir(f"{store}/{id}", 0o700)
    with open(f"{store}/{id}/job", "w") as f:
        f.write(f"SESSION_ID={id}\nHOST=gpu\nNAME=team{i}\nTEMPLATE=solo\nSUBMITTED_AT=2026-01-01T00:00:00Z\n"
                f"JOB={i + 1}\nPARTITION=teams\nSCRIPT=/opt/mas/share/mas/slurm/team.sbatch\nROOT=/tmp/mas-1000-{id}\n"
                f"COMMAND='/opt/mas/bin/mas run --store {store} --id {id}'\nOPTIONS=\n")
    state = ("RUNNING|0|0|n%d" % (i % 1000)) if i % 2 else "PENDING|0|0|n/a"
    print(f"{i + 1}|{state}|mas:{id}|" + ("None" if i % 2 else "Priority"))
END
printf '#!/bin/sh\nexec cat "%s"\n' "$FAST/queue" >"$FAST/jobs-bin/squeue"
printf '#!/bin/sh\nrm -f "%s/.jobs/answer"\nexec "%s" --root "%s" list\n' "$STORE" "$MAS" "$ROOT" >"$FAST/jobs-bin/asks"
printf '#!/bin/sh\nsqueue >/dev/null\nfind "%s" -name job -exec cat {} +\n' "$STORE" >"$FAST/jobs-bin/reads"
chmod +x "$FAST/jobs-bin"/*
jobs_measure() {
    local PATH=$FAST/jobs-bin:$PATH start took
    [[ $("$MAS" --root "$ROOT" list --json | jq '.jobs | length') == "$JOBS" ]] || return
    measure asks="$FAST/jobs-bin/asks" reads="$FAST/jobs-bin/reads" || return
    at_most "list that asks a squeue of $JOBS jobs / reading all of it" "$(calc "${T[asks]} / ${T[reads]}")" 1.2 \
        "($(ms asks), $(ms reads))"
    measure again="$MAS --root $ROOT list" asks="$FAST/jobs-bin/asks" || return
    at_most "the next list / the one that asks" "$(calc "${T[again]} / ${T[asks]}")" 0.5 "($(ms again), $(ms asks))"
    # one that hangs
    printf '#!/bin/sh\nexec sleep 1000\n' >"$FAST/jobs-bin/squeue"
    start=${EPOCHREALTIME/[.,]/}
    "$FAST/jobs-bin/asks" >/dev/null 2>&1
    took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
    at_most 'list with a squeue that hangs, in seconds' "$(calc "$took / 1000")" 4 "(its time limit is 2 s)"
}
jobs_measure
