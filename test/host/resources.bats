#!/usr/bin/env bats
# What holds the memory, CPUs and processes of agents, and what mas tells of their use.

load ../helper
load lib

teardown_last() {
    [ -z "${DAEMON-}" ] || kill "$DAEMON" 2>/dev/null || :
    drop_group
}

# group_of AGENT: the directory of its group.
group_of() { echo "$GROUP/mas-$ID/$1"; }
pids_of() { cat "$(group_of "$1")"/*/cgroup.procs; }

# held AGENT: prints what holds its resources; used AGENT MEMBER: a figure of what it uses.
held() { of "$1" .wall | jq -r .resources; }
used() { of "$1" .resources | jq -r ".$2"; }

# Writes a program that ignores all signals that it can, and keeps 100 processes: each in a session
# of its own, and some of them live for 20 ms, in which they start the next one. After two minutes
# they end by themselves.
bomb() {
    script bomb <<'END'
import os, signal, sys, time
for sig in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
    signal.signal(sig, signal.SIG_IGN)
end = time.time() + 120
for i in range(100):
    if os.fork() == 0:
        os.setsid()
        while time.time() < end:
            if i < 10 and os.fork() != 0:
                os._exit(0)
            time.sleep(0.02 if i < 10 else 1)
        os._exit(0)
print("ready", flush=True)
while time.time() < end:
    time.sleep(1)
END
}
bombs() { pgrep -fc "$T/bomb"; }
no_bombs() { ! pgrep -f "$T/bomb" >/dev/null; }
many_bombs() { [ "$(bombs)" -ge 90 ]; }

@test "an agent and all that it starts are in a group of their own, the host and the supervisor are not" {
    need_group
    script agent <<'END'
setsid sleep "$MARK" &
echo ready
exec sleep "$MARK"
END
    run_agent "sh $T/agent"
    eventually marked_are 2
    run pids_of solo
    [ "${#lines[@]}" -eq 2 ]
    for pid in "${lines[@]}"; do [ "$(tr '\0' ' ' <"/proc/$pid/cmdline")" = "sleep $MARK " ]; done
    [ "$(held solo)" = null ] # no limit is asked for
    "$MAS" stop "$ID"
    marked_are 0
    run ls -d "$GROUP"/mas-*
    [ "$status" -ne 0 ]
}

@test "a program that forks and ignores all signals ends with its agent, by its group" {
    need_group
    bomb
    run_agent "python3 -ES $T/bomb"
    eventually many_bombs
    run --separate-stderr timeout 60 "$MAS" stop "$ID"
    [ "$status" -eq 0 ]
    [[ $output == *" killed"* ]]
    no_bombs
    run ls -d "$GROUP"/mas-*
    [ "$status" -ne 0 ]
}

@test "the same without a group" {
    printf '[limits]\ncgroup = no\n' >>"$ROOT/mas.ini"
    bomb
    run_agent "python3 -ES $T/bomb"
    eventually many_bombs
    run --separate-stderr timeout 60 "$MAS" stop "$ID"
    [ "$status" -eq 0 ]
    no_bombs
}

@test "a tmux server that was started inside outlives the end of its agent in the group" {
    need_group
    script agent <<END
env -u TMUX tmux -S "$T/own" -f /dev/null new-session -d "sleep $MARK"
trap '' HUP TERM
echo ready
while :; do sleep 1; done
END
    run_agent "sh $T/agent"
    eventually marked_are 1
    eventually grep -q ready "$DIR/logs/agent-solo.log"
    [ "$(pids_of solo | wc -l)" -ge 2 ]
    timeout 60 "$MAS" stop "$ID"
    marked_are 1
    tmux -S "$T/own" kill-server
    eventually marked_are 0
}

@test "what a killed host and supervisor leave in the group ends with the next start, and the group with the next stop" {
    need_group
    script agent <<'END'
echo ready
sleep "$MARK"
END
    run_agent "sh $T/agent"
    eventually marked_are 1
    local host supervisor
    host=$(of solo .hostPid)
    supervisor=$(pgrep -P "$host" -x mas-supervisor)
    kill -KILL "$supervisor" "$host"
    eventually is_gone "$host"
    [ -d "$(group_of solo)" ]
    "$MAS" start "$ID"
    hosts_there
    eventually marked_are 1
    [ "$(pids_of solo | wc -l)" -eq 2 ]
    timeout 60 "$MAS" stop "$ID"
    marked_are 0
    run ls -d "$GROUP"/mas-*
    [ "$status" -ne 0 ]
}

@test "the group of a killed host goes with the stop of its session, or with its removal" {
    need_group
    local host verb
    preset made "sleep $MARK"
    for verb in stop 'rm -f'; do
        new_session -t solo --agent made
        find_agent
        eventually marked_are 1
        host=$(of solo .hostPid)
        kill -KILL "$(pgrep -P "$host" -x mas-supervisor)" "$host"
        eventually is_gone "$host"
        [ -d "$(group_of solo)" ]
        # shellcheck disable=SC2086 # words
        timeout 60 "$MAS" $verb "$ID"
        marked_are 0
        run ls -d "$GROUP"/mas-*
        [ "$status" -ne 0 ]
    done
}

@test "doctor removes groups that nobody has, and leaves that of an agent that sleeps" {
    need_group
    local left=0c0c0c0c-1111-4222-8333-444444444444
    preset made cat 'start = demand' 'wall.level = off'
    new_session -t solo --agent made
    find_agent
    hosts_there
    [ -d "$(group_of solo)" ]
    [ -z "$(pids_of solo 2>/dev/null)" ]
    mas doctor
    [ "$output" = 'everything is in order' ]
    mkdir -p "$GROUP/mas-$left/solo/1" "$GROUP/mas-no-session"
    fails 1 doctor --json
    [ "$(jq -r '.findings[] | "\(.subject) \(.state) \(.what)"' <<<"$output")" = "$left open it does not run, but its cgroup is left" ]
    [ -d "$GROUP/mas-$left" ]
    ok doctor --fix
    [ ! -e "$GROUP/mas-$left" ]
    [ -d "$(group_of solo)" ]
    [ -d "$GROUP/mas-no-session" ]
    rmdir "$GROUP/mas-no-session"
    "$MAS" send "$ID" solo hello
    "$MAS" wait "$ID" --for idle
    [ "$(pids_of solo | wc -l)" -eq 1 ]
}

@test "the status tells the CPU time, memory and processes of the agent's tree, with a group and without one" {
    local cgroup
    script agent <<'END'
import os, time
data = bytearray(48 << 20)
for i in range(0, len(data), 4096):
    data[i] = 1
if os.fork() == 0:
    while time.process_time() < 0.5:
        pass
    os._exit(0)
os.wait()
if os.fork() == 0:
    time.sleep(1000)
print("ready", flush=True)
time.sleep(1000)
END
    [ -n "${NO_GROUP-}" ] || need_group
    run_agent "python3 -ES $T/agent"
    eventually grep -q ready "$DIR/logs/agent-solo.log"
    used_enough() { [ "$(used solo cpuMs)" -ge 400 ]; }
    within 20 used_enough
    [ "$(used solo memory)" -gt $((48 << 20)) ]
    [ "$(used solo processes)" -eq 2 ]
    "$MAS" status "$ID" --json | jq -e '.sessions[0].agents[0].resources | .cpuMs >= 400 and .processes == 2'
    # and in words, as `top` has it
    "$MAS" status "$ID" >"$T/table"
    grep -qE '^AGENT .* CPU +MEM +PID ' "$T/table"
    grep -qE '^solo .* 0:0[0-9]+ +([5-9][0-9]|1[0-9][0-9])M +[0-9]+ ' "$T/table"
    "$MAS" top --once "$ID" | grep -qE 'solo .* 0:0[0-9] +([5-9][0-9]|1[0-9][0-9])M'
    cgroup=$GROUP
    "$MAS" stop -q "$ID"
    sed -i "s|^cgroup = .*|cgroup = no|" "$ROOT/mas.ini"
    "$MAS" start -q "$ID"
    hosts_there
    within 20 used_enough
    [ "$(used solo memory)" -gt $((48 << 20)) ]
    [ "$(used solo processes)" -eq 2 ]
    run find "$cgroup" -mindepth 1 -type d
    [ -z "$output" ]
}

@test "without a group, each process has the memory that limits.memory allows" {
    printf '[limits]\ncgroup = no\nmemory = 64M\ncpus = 1\n' >>"$ROOT/mas.ini"
    script agent <<'END'
try:
    hog = bytearray(200 << 20)
    print("it got everything", flush=True)
except MemoryError:
    print("it got too little", flush=True)
import time
time.sleep(1000)
END
    run_agent "python3 -ES $T/agent"
    eventually shows_line "it got too little"
    [ "$(held solo)" = rlimits ]
}

@test "the kernel ends workers for memory before managers, and these before mas, its hosts before tmux" {
    run_team default "sleep $MARK"
    hosts_there "${DEFAULT_TEAM[@]}"
    local own worker manager meta
    running() { [ "$(of 11 .pid)" -gt 0 ] && [ "$(of 10 .pid)" -gt 0 ] && [ "$(of 00 .pid)" -gt 0 ]; }
    eventually running
    own=$(<"/proc/$(of 11 .hostPid)/oom_score_adj")
    worker=$(<"/proc/$(of 11 .pid)/oom_score_adj")
    manager=$(<"/proc/$(of 10 .pid)/oom_score_adj")
    meta=$(<"/proc/$(of 00 .pid)/oom_score_adj")
    [ "$(<"/proc/$(tm display-message -p '#{pid}')/oom_score_adj")" -lt "$own" ]
    [ "$own" -gt 100 ] # the user manager's in systemd
    [ "$own" -lt "$meta" ]
    [ "$meta" -lt "$manager" ]
    [ "$manager" -lt "$worker" ]
}

# Starts a bus with a manager that makes scopes below $GROUP, as systemd's would; $BUS.
start_manager() {
    command -v busctl >/dev/null || skip "there is no busctl"
    BUS=$T/bus
    dbus-daemon --session --nofork --address="unix:path=$BUS" >/dev/null 2>&1 3>&- &
    DAEMON=$!
    eventually test -S "$BUS"
    python3 -ES "$PROJECT/test/host/manager.py" "$BUS" "$GROUP" "$T/units" >"$T/manager" 3>&- &
    eventually grep -q ready "$T/manager"
    export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$BUS
}

@test "systemd is asked for a cgroup if limits are set and none is delegated" {
    [ "$(id -u)" = 0 ] || skip "only root may move processes to any cgroup"
    need_group
    start_manager
    sed -i "s|^cgroup = .*|cgroup = auto\nprocesses = 50|" "$ROOT/mas.ini"
    run_agent "sleep $MARK" 'env.DBUS_SYSTEM_BUS_ADDRESS = none'
    eventually marked_are 1
    [ "$(held solo)" = rlimits ] # this kernel's group has no such controller, but it is there
    local host unit agent
    host=$(of solo .hostPid)
    unit=mas-$ID-solo-$host.scope
    [ "$(jq -r '.[0]' "$T/units")" = "$unit" ]
    [ "$(jq -c '[.[1], .[2].Delegate, .[2].CollectMode, .[2].PIDs, .[3]]' "$T/units")" = "[\"fail\",1,\"inactive-or-failed\",[$host],[]]" ]
    grep -q "^0::.*/$unit/mas$" "/proc/$host/cgroup"
    agent=$(of solo .pid)
    grep -q "^0::.*/$unit/mas-$ID/solo/1$" "/proc/$agent/cgroup"
    timeout 60 "$MAS" stop "$ID"
    kill "$DAEMON"
    [ "$(wc -l <"$T/units")" -eq 1 ]
}

@test "an agent without limits asks nobody, and one with limits starts without systemd" {
    [ "$(id -u)" = 0 ] || skip "the manager of a user is that of the machine"
    script busctl <<END
#!/bin/sh
echo asked >>"$T/asked"
echo 'Failed to connect to bus' >&2
exit 1
END
    chmod +x "$T/busctl"
    export PATH=$T:$PATH
    run_agent "sleep $MARK"
    eventually marked_are 1
    [ ! -e "$T/asked" ]
    "$MAS" stop -q "$ID"
    printf '[limits]\nprocesses = 50\n' >>"$ROOT/mas.ini"
    "$MAS" start -q "$ID"
    hosts_there
    eventually marked_are 1
    [ -e "$T/asked" ]
    [ "$(held solo)" = rlimits ]
}

@test "with require, an agent does not start if no cgroup holds its limits, and says what to do" {
    local why="cannot put up the wall of agent 'solo': limits.cpus: limits.cgroup is 'no'"
    printf '[limits]\ncgroup = no\n[wall]\nlevel = require\n' >>"$ROOT/mas.ini"
    run_agent "sleep $MARK" 'restart = never'
    eventually marked_are 1
    # the host finds it out
    "$MAS" set -q "$ID" limits.cpus=1
    run --separate-stderr "$MAS" restart "$ID" solo
    [[ $status -eq 1 && $stderr == *"$why; name a cgroup in limits.cgroup"* ]]
    could_not() { [[ $(of solo .note) == *"limits.cpus: limits.cgroup is 'no'"* ]]; }
    eventually could_not
    state_is solo exited
    marked_are 0
    # and who starts it
    "$MAS" stop -q "$ID"
    run -1 --separate-stderr "$MAS" start -q "$ID"
    [[ $stderr == *"$why"*$'\n''name a cgroup in limits.cgroup'* ]]
    sed -i 's/^level = require/level = try/' "$ROOT/mas.ini"
    "$MAS" start -q "$ID"
    hosts_there
    held_is() { [ "$(held solo)" = "$1" ] && [[ $(of solo .pid) == [1-9]* ]]; }
    eventually held_is rlimits
}
