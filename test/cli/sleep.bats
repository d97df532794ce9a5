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
    mas sleep "$ID"
    [ "$status" -eq 0 ]
    [ "$output" = "reviewer is asleep" ]
    [ -z "$stderr" ]
    state_is reviewer asleep
    state_is lead idle
    mas sleep -q "$ID"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    mas sleep "$ID" lead
    [ "$status" -eq 4 ]
    [[ $stderr == "mas: cannot put agent 'lead' to sleep: it runs on a terminal, and could not take up its conversation again"*"to end it, stop its session: mas stop "* ]]
    grep -q 'sleep agent=reviewer' "$DIR/logs/session.log"
}

@test "sleep names each agent that stays awake, and the others sleep" {
    acp_team pair
    "$MAS" wait -s "$ID" --timeout 30s --for idle
    "$MAS" ask --no-wait "$ID" lead HANG >/dev/null
    eventually state_is lead working
    mas sleep -s "$ID"
    [ "$status" -eq 4 ]
    [ "$output" = "reviewer is asleep" ]
    [[ $stderr == *"cannot put agent 'lead' to sleep: it is working"*"see what it does: mas status "*" lead" ]]
}

@test "a team without ACP agents cannot sleep" {
    new_session -t pair
    "$MAS" wait -s "$ID" --for idle
    mas sleep "$ID"
    [ "$status" -eq 4 ]
    [[ $stderr == "mas: cannot put session "*" to sleep: its agents run on terminals"* ]]
}

@test "sleep refuses a session that does not run, and an agent or session that there is not" {
    new_session -t solo --no-start
    mas sleep "$ID"
    [ "$status" -eq 4 ]
    mas sleep "$ID" nobody
    [ "$status" -eq 3 ]
    mas sleep nothing
    [ "$status" -eq 3 ]
}
