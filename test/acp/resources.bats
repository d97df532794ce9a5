#!/usr/bin/env bats
# Agents that take all that they can get, beside others that work.

load ../helper
load ../host/lib
load lib

teardown_last() { drop_group; }

# Four programs that take what there is, and hold it for two minutes at most. Each ignores what a
# program can ignore. The first keeps 150 processes, some of which live for 20 ms, in which they
# start the next one; the second all memory that it can get, up to 4 GiB; the third all
# descriptors, in 20 processes; the fourth writes files, up to 1 GiB.
hogs() {
    script hog.py <<'END'
import os, signal, sys, time
for sig in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
    signal.signal(sig, signal.SIG_IGN)
end = time.time() + 120
what = sys.argv[1]
if what == "processes":
    for i in range(150):
        try:
            if os.fork() != 0:
                continue
        except OSError:
            break
        os.setsid()
        while time.time() < end:
            try:
                if i < 10 and os.fork() != 0:
                    os._exit(0)
            except OSError:
                pass
            time.sleep(0.02 if i < 10 else 1)
        os._exit(0)
elif what == "memory":
    kept = []
    try:
        while len(kept) < 4096:
            kept.append(bytearray(b"x" * (1 << 20)))
    except MemoryError:
        kept.pop()
elif what == "disk":
    with open("filling", "wb", 0) as f:
        for i in range(1024):
            f.write(b"x" * (1 << 20))
            if i == 16:
                open(sys.argv[2] + "." + what, "w").close()
            time.sleep(0.01)
else:
    for i in range(20):
        if os.fork() == 0:
            break
    try:
        for i in range(20000):
            last = os.open("/dev/null", os.O_RDONLY)
    except OSError:
        os.close(last)
open(sys.argv[2] + "." + what, "w").close()
while time.time() < end:
    time.sleep(1)
END
}

hog() { "$MAS" send "$ID" "$1" "RUN:\"python3 -ES $T/hog.py $2 $T/took\"" >/dev/null; }
hogs_run() { [ -e "$T/took.processes" ] && [ -e "$T/took.memory" ] && [ -e "$T/took.files" ] && [ -e "$T/took.disk" ]; }
is_paused() { state_is 33 paused; }

# now_ms: the time; slowest AGENT...: asks each of them, and sets $slowest to the time in ms of the slowest.
now_ms() { date +%s%3N; }
slowest() {
    local agent begun took
    slowest=0
    for agent; do
        begun=$(now_ms)
        "$MAS" ask "$ID" "$agent" SAY:here >"$T/answer"
        took=$(($(now_ms) - begun))
        grep -q here "$T/answer"
        ((took <= slowest)) || slowest=$took
    done
}

# An agent each takes what it can, in the template `default`. What the others need for an answer before it
# tells how fast this machine is.
others_answer() {
    local agent others=() before begun
    hogs
    acp_team default
    hosts_there "${DEFAULT_TEAM[@]}"
    "$MAS" wait "$ID" --for idle
    for agent in "${DEFAULT_TEAM[@]}"; do
        case $agent in 11 | 21 | 31 | 33) ;; *) others+=("$agent") ;; esac
    done
    [ "${#others[@]}" -ge 8 ]
    slowest "${others[@]}"
    before=$slowest
    hog 11 processes
    hog 21 memory
    hog 31 files
    hog 33 disk
    within 120 hogs_run
    within 120 is_paused
    slowest "${others[@]}"
    ((slowest <= 2000 + 10 * before)) || { echo "$slowest ms with the hogs, $before ms before"; return 1; }
    [ "$(stat -c %s "$DIR/unit/33/filling")" -lt $((1 << 30)) ]
    "$MAS" status "$ID" >/dev/null
    begun=$(now_ms)
    ok stop "$ID"
    # 2 s for a hang-up, 3 s for SIGTERM, and then SIGKILL
    (($(now_ms) - begun <= 5000 + 2000 + 20 * before)) || { echo "the stop took $(($(now_ms) - begun)) ms"; return 1; }
    run pgrep -f "$T/hog.py"
    [ "$status" -ne 0 ]
}

LIMITS='memory = 300M\nprocesses = 400\nagent = 64M\n'

@test "four agents that take processes, memory, descriptors and disk leave the others their answers, and stop ends them" {
    # shellcheck disable=SC2059 # lines
    printf "[limits]\ncgroup = no\n$LIMITS" >>"$ROOT/mas.ini"
    others_answer
}

@test "the same where a cgroup of version 2 freezes and kills them" {
    need_group
    # shellcheck disable=SC2059 # lines
    printf "$LIMITS" >>"$ROOT/mas.ini"
    others_answer
    run ls -d "$GROUP"/mas-*
    [ "$status" -ne 0 ]
}
