#!/usr/bin/env bats
load ../helper

setup_more() { quick_idle; }

pid_of() { field "$ID" ".agents[$1].pid"; }
host_of() { field "$ID" ".agents[$1].hostPid"; }

# Pids of the processes of agent $1 of the session
of_agent() {
    grep -lsxzF "MAS_SESSION_ID=$ID" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
        grep -lsxzF "MAS_AGENT_ID=$1" "/proc/$pid/environ" | cut -d/ -f3
    done
}

@test "restart starts the agents that are meant anew, in their panes" {
    new_session -t pair
    "$MAS" wait "$ID" --for idle
    lead=$(pid_of 0) reviewer=$(pid_of 1) host=$(host_of 0) pane=$(field "$ID" '.agents[0].pane')
    ok restart "$ID" lead
    [ "$output" = "lead restarted" ]
    [ -z "$stderr" ]
    [ ! -e "/proc/$lead" ]
    [ "$(pid_of 0)" != "$lead" ]
    [ "$(field "$ID" '.agents[0].restarts')" = 1 ]
    [ "$(host_of 0) $(field "$ID" '.agents[0].pane')" = "$host $pane" ]
    [ "$(pid_of 1)" = "$reviewer" ]
    grep -q 'restart agent=lead' "$ROOT/sessions/$ID/logs/session.log"
}

@test "all agents restart at the same time, whatever they have started" {
    new_session
    "$MAS" wait "$ID" --for idle
    "$MAS" send "$ID" all 'sleep 1000 & setsid sleep 1000 &'
    # shellcheck disable=SC2329
    grown() { [ "$(of_agent 33 | wc -l)" -eq 3 ]; }
    eventually grown
    ok restart -q "$ID" all
    [ -z "$output" ]
    [ "$(field "$ID" '[.agents[].restarts] | add')" = 13 ]
    [ "$(of_agent 33 | wc -l)" -eq 1 ]
}

@test "an agent that has exited is started again" {
    new_session -t solo
    "$MAS" send "$ID" solo 'exit 3'
    "$MAS" wait "$ID" --for exit
    ok restart "$ID" solo
    "$MAS" wait "$ID" --for idle --timeout 10s
}

@test "an agent keeps the environment that it had" {
    # shellcheck disable=SC2030
    export HOLDS=yes
    new_session -t solo
    unset HOLDS
    "$MAS" wait "$ID" --for idle
    "$MAS" restart -q "$ID" solo
    grep -qxz HOLDS=yes "/proc/$(pid_of 0)/environ"
}

@test "a host that was killed comes back in its pane" {
    new_session
    "$MAS" wait "$ID" --for idle
    before=$(field "$ID" '[.agents[].pane] | join(" ")')
    kill -KILL "$(host_of 3)" "$(host_of 5)"
    # shellcheck disable=SC2329
    two_gone() { [ "$(field "$ID" '[.agents[] | select(.problem == "no host")] | length')" = 2 ]; }
    eventually two_gone
    # shellcheck disable=SC2031
    HOLDS=new ok restart "$ID" all
    [ "$(wc -l <<<"$output")" -eq 13 ]
    "$MAS" wait "$ID" --for idle --timeout 20s
    [ "$(field "$ID" '[.agents[].pane] | join(" ")')" = "$before" ]
    grep -qxz HOLDS=new "/proc/$(pid_of 3)/environ"
    [ ! -e "$ROOT/sessions/$ID/run/env" ]
    [ "$(of_agent 12 | wc -l)" -eq 1 ]
}

# Each pane of the team: window, place and size, who is in it, and what its border says.
panes() {
    tm list-panes -s -t "=mas-${ID:0:8}:" -F '#{window_index} #{window_name} #{pane_left},#{pane_top} #{pane_width}x#{pane_height} #{@mas_agent} #{pane_start_command} #{remain-on-exit} #{pane-border-status}'
}

@test "a pane that is gone comes back in its place, and no other agent is touched" {
    new_session
    "$MAS" wait "$ID" --for idle
    before=$(panes)
    mine=$(tm display-message -p -t "=mas-${ID:0:8}:" '#{pane_id}')
    pids=$(field "$ID" '[.agents[] | select(.id != "00" and .id != "10" and .id != "22") | .pid] | join(" ")')
    # the first of a window, one in the middle, and one with a window of its own, each in a window
    for agent in 10 22 00; do
        tm kill-pane -t "$(field "$ID" ".agents[] | select(.id == \"$agent\") | .pane")"
        hosts_gone "$ID" "$agent"
    done
    [ "$(panes)" != "$before" ]
    ok restart "$ID" 10 22 00
    [ "$(sort <<<"$output")" = $'00 restarted\n10 restarted\n22 restarted' ]
    diff <(echo "$before") <(panes)
    "$MAS" wait "$ID" --for idle --timeout 20s
    [ "$(field "$ID" '[.agents[] | select(.id != "00" and .id != "10" and .id != "22") | .pid] | join(" ")')" = "$pids" ]
    [ "$("$MAS" doctor)" = 'everything is in order' ]
    # beside a pane of the user's the window keeps its arrangement
    tm split-window -d -t "=mas-${ID:0:8}:design" 'sleep 1000'
    tm kill-pane -t "$(field "$ID" '.agents[] | select(.id == "11") | .pane')"
    hosts_gone "$ID" 11
    mas start "$ID"
    [ "$output" = "$ID is running, started agents again: 11" ]
}

@test "what an agent has left without its host ends before it is started" {
    new_session -t solo
    "$MAS" wait "$ID" --for idle
    # shellcheck disable=SC2016
    "$MAS" send "$ID" solo '(trap "" HUP TERM; while :; do sleep 1000; done) & echo $! >left'
    eventually test -s "$ROOT/sessions/$ID/unit/solo/left"
    left=$(cat "$ROOT/sessions/$ID/unit/solo/left")
    host=$(host_of 0)
    supervisor=$(pgrep -P "$host")
    kill -STOP "$host" "$supervisor"
    kill -KILL "$host" "$supervisor"
    # shellcheck disable=SC2329
    dead() { [ "$(field "$ID" '.agents[0].problem')" = "no host" ]; }
    eventually dead
    ok restart "$ID" solo
    run ! grep -qxzs MAS_AGENT_ID=solo "/proc/$left/environ" # nor where nobody has reaped it
    agent_pid "$ID"
    [ "$(of_agent solo | wc -l)" -eq 1 ]
}

@test "an agent may be restarted from inside the team" {
    new_session -t pair
    "$MAS" wait "$ID" --for idle
    MAS_SESSION_ID=$ID ok restart reviewer
    [ "$(field "$ID" '.agents[1].restarts')" = 1 ]
}

@test "a session that does not run is exit 4" {
    new_session -t solo --no-start
    fails 4 restart "$ID" solo
    [ "$stderr" = "mas: cannot restart session '$ID': it is not running
start it with: mas start $ID" ]
}

@test "restart needs to be told whom" {
    new_session -t solo
    fails 2 restart "$ID"
    [[ $stderr == "mas: cannot run 'restart': it needs a TARGET"* ]]
    fails 3 restart "$ID" nobody
}

@test "an agent whose program is gone is told, and stays as it is" {
    printf '#!/bin/sh\nexec cat\n' >"$T/agent"
    chmod +x "$T/agent"
    printf '[preset own]\ncommand = %s\n' "$T/agent" >>"$ROOT/mas.ini"
    new_session -t solo --agent own
    "$MAS" wait "$ID" --for idle
    rm "$T/agent"
    fails 1 restart "$ID" solo
    [[ $stderr == "mas: cannot start agent 'solo': "* ]]
}

@test "a host that is killed while it is asked comes back, too" {
    new_session -t solo
    "$MAS" wait "$ID" --for idle
    host=$(host_of 0)
    tmux=$(tm display-message -p '#{pid}')
    kill -STOP "$tmux" "$host" # tmux would wake it
    "$MAS" restart "$ID" solo >"$T/out" 2>&1 3>&- &
    asking=$!
    # shellcheck disable=SC2329
    is_connected() { find "/proc/$asking/fd" -lname 'socket:*' | grep -q .; }
    eventually is_connected
    kill -KILL "$host"
    kill -CONT "$tmux"
    wait "$asking" || { cat "$T/out" >&2; false; }
    [ "$(<"$T/out")" = "solo restarted" ]
    [ "$(host_of 0)" != "$host" ]
}
