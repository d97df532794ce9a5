#!/usr/bin/env bats
# Agents join and leave a team of ACP agents, by a person and, as far as the template says, by a manager.
load ../helper
load ../host/lib
load lib

# The template `grow` with the manager m of unit u and the worker x of unit v; $1 is for [template].
make_grow() {
    mkdir -p "$ROOT/templates/grow/unit"/{m,x} "$ROOT/templates/grow/workflows"
    cat >"$ROOT/templates/grow/template.ini" <<INI
[template]
preset = scripted
$1
[window w]
agents = m, x
layout = tiled
[agent m]
role = manager
rank = manager
group = u
[agent x]
role = worker
rank = worker
group = v
[rules]
manager = workers
worker = manager
INI
}

# by AGENT WORD...: the agent runs mas; $output has what it says and its exit code.
by() {
    local agent=$1 words
    shift
    words=$(jq -n --arg words "($*) 2>&1; echo rc=\$?" '$words')
    run --separate-stderr timeout 300 "$MAS" ask "$ID" "$agent" "OWN:$words"
}
agents() { "$MAS" status "$ID" --json | jq -r '[.sessions[0].agents[].id] | join(" ")'; }

@test "what waits for an agent goes with it, and another of its name begins a new conversation" {
    acp_agent
    ok add -q "$ID" --agent scripted --as rev
    ok ask "$ID" rev 'CW-ONE'
    "$MAS" send "$ID" rev 'HANG'
    eventually is rev .state working
    "$MAS" send "$ID" rev 'CW-TWO'
    fails 4 remove "$ID" rev
    [[ $stderr == "mas: cannot remove agent 'rev': it is working"$'\n'* ]]
    ok set -q "$ID" rev.budget.turns=7
    ok remove -f "$ID" rev
    [ "$output" = 'rev removed, with 1 message that waited for it' ]
    ok search CW-ONE --session "$ID" --json
    [ "$(jq '.results | length' <<<"$output")" -ge 1 ] || echo "$output"
    ok add -q "$ID" --agent scripted --as rev
    ok ask "$ID" rev 'CW-THREE'
    [[ $output == *'seen=[CW-THREE]'* ]]
    is rev .queued 0
    [ "$("$MAS" set "$ID" | grep -c '^rev.budget')" = 0 ]
}

@test "a manager adds agents to its unit until it is refused, and only what the template lists" {
    acp_preset scripted
    acp_preset other
    make_grow $'grow = 2\ngrow.presets = scripted, shell'
    new_session -t grow
    by m mas add --agent scripted --as n1 --role helper
    [[ $output == *'n1 added'*'rc=0'* ]]
    [ "$("$MAS" show "$ID" --json | jq -r '.agents[] | select(.id == "n1") | .rank + " " + .group + " " + .role')" = 'worker u helper' ]
    ok ask "$ID" n1 CW-HELLO
    by m mas send n1 --from m CW-FROM
    [[ $output == *'rc=0'* ]]
    by m mas add --agent other
    [[ $output == *"agent 'm' may not add an agent of preset 'other'"*'the template of the team allows: scripted, shell'*'rc=1'* ]]
    by m mas add --agent shell
    [[ $output == *'it would act as a person'*'rc=1'* ]]
    by m mas add --agent scripted --unit v
    [[ $output == *'a manager may do that only in its own unit'*'rc=1'* ]]
    by x mas add --agent scripted
    [[ $output == *'only managers may'*'rc=1'* ]]
    by n1 mas add --agent scripted
    [[ $output == *'only managers may'*'rc=1'* ]]
    by m mas remove n1
    [[ $output == *'only a person may'*'rc=1'* || $output == *rc=[1-9]* ]]
    by m mas add --agent scripted
    [[ $output == *'scripted added'*'rc=0'* ]]
    by m mas add --agent scripted
    [[ $output == *'the team has grown by 2, and its template allows no more (grow = 2)'*'rc=1'* ]]
    [ "$(agents)" = 'm x n1 scripted' ]
    # what a person adds does not count, and a place is free again when one goes
    ok add -q "$ID" --agent scripted --as own --unit u
    ok remove -q -f "$ID" n1
    by m mas add --agent scripted --as n2
    [[ $output == *'n2 added'*'rc=0'* ]]
    ok stop "$ID"
    ok start "$ID"
    [ "$(agents)" = 'm x scripted own n2' ]
}

@test "without grow a manager adds nobody, and through no back door" {
    acp_preset scripted
    make_grow 'grow.presets = scripted'
    new_session -t grow
    by m mas add --agent scripted
    [[ $output == *'does not let it grow (grow = 0)'*'rc=1'* ]]
    # an agent that hides who it is, is one
    by m env -u MAS_SOCKET -u MAS_AGENT_ID -u MAS_SESSION_ID mas add "$ID" --agent scripted
    [[ $output == *'only a person may add an agent'*'rc=1'* ]]
    [ "$(agents)" = 'm x' ]
    ok template check grow
    for wrong in 'grow = 257' 'grow = -1' 'grow = x' 'grow.presets = a/b'; do
        make_grow "$wrong"
        fails 1 template check grow
    done
}

@test "the wall of a new agent is no weaker than that of who adds it" {
    acp_preset scripted
    acp_preset open 
    printf '%s\n' 'wall.network = open' >>"$ROOT/mas.ini"
    acp_preset writes
    printf '%s\n' 'wall.network = none' "wall.write = $T/shared" >>"$ROOT/mas.ini"
    acp_preset same
    printf '%s\n' 'wall.network = none' 'wall.level = off' >>"$ROOT/mas.ini"
    sed -i 's/^\[preset scripted\]$/&\nwall.level = try\nwall.network = none/' "$ROOT/mas.ini"
    make_grow $'grow = 5\ngrow.presets = open, writes, same'
    mkdir "$T/shared"
    printf '[wall]\nread = %s, %s\nwrite = %s\n' "$PROJECT" "${MAS%/*}" "$T" >>"$ROOT/mas.ini"
    new_session -t grow
    by m mas add --agent open
    [[ $output == *'its wall would be weaker (wall.network)'*'rc=1'* ]]
    by m mas add --agent writes
    [[ $output == *'its wall would be weaker (wall.write)'*'rc=1'* ]]
    by m mas add --agent same
    [[ $output == *'rc=0'* ]]
    [ "$(jq -r '.team[] | select(.id == "same") | .wall' "$DIR/config.json" 2>/dev/null ||
        jq -r '.team[] | select(.id == "same") | .wall' "$ROOT/sessions/$ID/config.json")" = try ]
}
