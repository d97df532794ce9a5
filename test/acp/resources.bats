#!/usr/bin/env bats
# Agents that take all that they can get, beside others that work.

load ../helper
load ../host/lib
load lib

# Three programs that take what there is, and hold it for two minutes at most. Each ignores what a
# program can ignore. The first keeps 150 processes, some of which live for 20 ms, in which they
# start the next one; the second all memory that it can get, up to 4 GiB; the third all
# descriptors, in 20 processes.
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
hogs_run() { [ -e "$T/took.processes" ] && [ -e "$T/took.memory" ] && [ -e "$T/took.files" ]; }

@test "a fork bomb, a memory hog and a descriptor hog leave the other agents their answers, and stop ends them" {
    printf '[limits]\nmemory = 300M\nprocesses = 400\n' >>"$ROOT/mas.ini"
    hogs
    acp_team default
    hosts_there "${DEFAULT_TEAM[@]}"
    "$MAS" wait "$ID" --for idle
    hog 11 processes
    hog 21 memory
    hog 31 files
    within 60 hogs_run
    local agent
    for agent in "${DEFAULT_TEAM[@]}"; do
        case $agent in 11 | 21 | 31) continue ;; esac
        timeout 30 "$MAS" ask "$ID" "$agent" SAY:here >"$T/answer"
        grep -q here "$T/answer"
    done
    "$MAS" status "$ID" >/dev/null
    run --separate-stderr timeout 120 "$MAS" stop "$ID"
    [ "$status" -eq 0 ]
    run pgrep -f "$T/hog.py"
    [ "$status" -ne 0 ]
}
