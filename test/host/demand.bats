#!/usr/bin/env bats
# start = demand: the whole team is there at once, and only those who are spoken to run. What a host
# that has nothing to do costs.
# shellcheck disable=SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load lib

hosts() { tm list-panes -s -t "=mas-${ID:0:8}" -F '#{pane_pid}'; }

supervisors() {
    local host
    for host in $(hosts); do pgrep -P "$host"; done
}

all_agents_are() {
    local a
    for a in "${DEFAULT_TEAM[@]}"; do state_is "$a" "$1" || return 1; done
}

@test "a team on demand comes up whole and starts none of its agents" {
    run_team default "sleep $MARK" 'start = demand' 'memory = 400G'
    ok list
    hosts_there "${DEFAULT_TEAM[@]}"
    all_agents_are asleep
    marked_are 0
    [ "$(hosts | wc -l)" = 13 ]
}

@test "only those run that are spoken to, and each key starts one" {
    run_team default "sleep $MARK" 'start = demand'
    hosts_there 10 11 20 30
    took 11 hello
    eventually marked_are 1
    state_is 10 asleep
    PANE=$(of 20 .pane)
    shows 'the agent starts with its first message or key press'
    press x
    eventually marked_are 2
    eventually is 20 .restarts 0
    ask 30 '{"do":"restart"}' | jq -e .ok >/dev/null
    eventually marked_are 3
    "$MAS" stop -q "$ID"
    marked_are 0
    [ -z "$(ls -A "$DIR/run")" ]
}

@test "the first message of an agent on demand arrives whole when it is ready" {
    script agent <<S
stty -echo
sleep 0.3
echo ready
while IFS= read -r line; do printf '%s\n' "\$line" >>'$T/lines'; done
S
    run_agent "bash $T/agent" 'start = demand' 'ready = ^ready'
    hosts_there
    [ "$(say_to solo 'the first' | jq -r .outcome)" = queued ]
    took solo second
    eventually grep -qx second "$T/lines"
    [ "$(cat "$T/lines")" = $'the first\nsecond' ]
}

@test "status wakes nobody, and a stop of one that sleeps is done at once" {
    run_agent "sleep $MARK" 'start = demand'
    hosts_there
    is solo .pid null
    ask solo '{"do":"stop"}' | jq -e '.ok and .terminated == 0 and .killed == 0' >/dev/null
    marked_are 0
}

@test "template and preset both may say demand, and now wakes what the preset lets sleep" {
    cp -R "$ROOT/templates/pair" "$ROOT/templates/mixed"
    sed -i '/^\[agent lead\]/a start = now' "$ROOT/templates/mixed/template.ini"
    run_team mixed "sleep $MARK" 'start = demand'
    hosts_there lead reviewer
    eventually marked_are 1
    state_is reviewer asleep
    run ! state_is lead asleep
}

takes_little() { (($(private_memory "$1") < 1024)); }

@test "hosts and supervisors at rest take no CPU time and less than 1 MB each" {
    if [ -n "${TEST_SAN-}" ]; then skip "sanitizers take more"; fi
    run_team default "sleep $MARK" 'idle = 100ms' 'ready_timeout = 100ms'
    eventually marked_are 13
    hosts_there "${DEFAULT_TEAM[@]}"
    eventually all_agents_are idle
    local before pids pid
    mapfile -t pids < <(hosts; supervisors)
    [ "${#pids[@]}" = 26 ]
    before=$(cpu_time "${pids[@]}")
    run timeout 2 tail -f /dev/null
    (($(cpu_time "${pids[@]}") == before))
    for pid in "${pids[@]}"; do
        takes_little "$pid" || { echo "$pid: $(private_memory "$pid") KiB" >&2; false; }
    done
}

@test "memory is given back after large messages and much output" {
    if [ -n "${TEST_SAN-}" ]; then skip "sanitizers take more"; fi
    script agent <<S
stty raw -echo
echo reading
head -c 4000000 >/dev/null
seq 300000
exec sleep $MARK
S
    run_agent "bash $T/agent" 'idle = 100ms'
    eventually shows reading
    yes | head -c 4000000 >"$T/big"
    ask solo '{"do":"send","enter":false}' "$T/big" | jq -e .ok >/dev/null
    eventually marked_are 1
    eventually state_is solo idle
    local host
    host=$(of solo .hostPid)
    eventually takes_little "$host" # it is given back a moment after the agent rests
}
