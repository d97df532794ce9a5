#!/usr/bin/env bats
# The command line of mas sleep; test/acp/sleep.bats has what it does to agents.
load ../helper
load ../host/lib
load ../acp/lib

@test "sleep without a target puts all ACP agents to sleep and passes over the others" {
    acp_preset scripted
    mkdir "$ROOT/templates/mixed"
    cp -r "$ROOT/templates/pair/." "$ROOT/templates/mixed"
    sed -i '/^\[agent reviewer\]/,$ s/^preset =$/preset = scripted/' "$ROOT/templates/mixed/template.ini"
    new_session -t mixed
    DIR=$ROOT/sessions/$ID
    "$MAS" wait -s "$ID" --timeout 30s --for idle
    ok sleep "$ID"
    [ "$output" = "reviewer is asleep" ]
    [ -z "$stderr" ]
    state_is reviewer asleep
    state_is lead idle
    ok sleep -q "$ID"
    [ -z "$output" ]
    fails 4 sleep "$ID" lead
    [[ $stderr == "mas: cannot put agent 'lead' to sleep: it runs on a terminal, which would be empty then"*"to end it, stop its session: mas stop "* ]]
    grep -q 'sleep agent=reviewer' "$DIR/logs/session.log"
}

@test "sleep names each agent that stays awake, and the others sleep" {
    acp_team pair
    "$MAS" wait -s "$ID" --timeout 30s --for idle
    "$MAS" ask --no-wait "$ID" lead HANG >/dev/null
    eventually state_is lead working
    fails 4 sleep -s "$ID"
    [ "$output" = "reviewer is asleep" ]
    [[ $stderr == *"cannot put agent 'lead' to sleep: it is working"*"see what it does: mas status "*" lead" ]]
}

@test "a team without ACP agents cannot sleep" {
    new_session -t pair
    "$MAS" wait -s "$ID" --for idle
    fails 4 sleep "$ID"
    [[ $stderr == "mas: cannot put session "*" to sleep: its agents run on terminals"* ]]
}

@test "sleep refuses a session that does not run, and an agent or session that there is not" {
    new_session -t solo --no-start
    fails 4 sleep "$ID"
    fails 3 sleep "$ID" nobody
    fails 3 sleep nothing
}
