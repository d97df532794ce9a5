#!/usr/bin/env bats
# [limits] of mas.ini: how much a session may take, and how much is left free.
load ../helper
load ../disk

setup_more() { quick_idle; }

ws() { echo "$ROOT/sessions/$1"; }
limit() { printf '[limits]\n%s\n' "$@" >>"$ROOT/mas.ini"; }
put() { head -c "$(($2 << 20))" /dev/urandom >"$1"; }

# `mas new` is refused in words that match $1, and leaves everything as it was.
refuses() {
    local before
    before=$(snapshot)
    mas new -t solo
    echo "$stderr"
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    # shellcheck disable=SC2053 # it is a pattern
    [[ $stderr == $1 ]]
    [ "$(snapshot)" = "$before" ]
    [ -z "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 ! -name '.sessions.*')" ]
    run ! tm list-sessions
}

@test "new refuses a template that is more than a session may take" {
    put "$ROOT/templates/solo/unit/solo/data" 3
    limit 'session = 2M'
    refuses "mas: cannot use template 'solo': it needs 3.[0-9]M, but limits.session ($ROOT/mas.ini:*) allows only 2.0M"
    new_session -t pair --no-start
    [ -d "$(ws "$ID")" ]
    new_session -t solo --no-start --limit session=10M
    fails 1 new -t solo --no-start --limit session=1M
    echo "$stderr"
    [[ $stderr = "mas: cannot use template 'solo': it needs 3."[0-9]"M, but limits.session (--limit) allows only 1.0M" ]]
}

@test "a hole in a template takes nothing, so it counts nothing" {
    truncate -s 1G "$ROOT/templates/solo/unit/solo/hole"
    limit 'session = 2M'
    new_session -t solo --no-start
    [ -d "$(ws "$ID")" ]
}

@test "new refuses where less would be left than is to stay free" {
    limit 'free = 1000T'
    refuses "mas: cannot write *K below '$ROOT/sessions': * is free, of which limits.free ($ROOT/mas.ini:*) reserves 1.0P
see what uses the space with: mas du; remove old sessions with: mas clean"
    fails 1 new -t solo --no-start
}

@test "what the template takes has to fit above the floor" {
    small_root
    put "$ROOT/templates/solo/unit/solo/data" 8
    limit "free = $(($(df --output=avail -B1M "$T/fs" | tail -n 1) - 4))M"
    refuses "mas: cannot write 8.[0-9]M below '$ROOT/sessions': *M is free, of which limits.free (*) reserves *M*"
    new_session -t pair --no-start
    [ -d "$(ws "$ID")" ]
    ok doctor
}

@test "in legacy mode only what the root lacks counts" {
    put "$ROOT/templates/solo/unit/solo/data" 3
    limit 'session = 2M'
    fails 1 new -t solo --mode legacy --no-start
    [[ $stderr == *'limits.session'* ]]
    [ ! -e "$ROOT/unit" ]
    mkdir -p "$ROOT/unit/solo"
    ok new -t solo --mode legacy --no-start
}

@test "within the limits nothing is said" {
    limit 'session = 100M' 'free = 1K'
    new_session -t solo
    "$MAS" wait "$ID" --for idle
    ok status "$ID"
    run ! grep -q limit <<<"$output"
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "a session that has grown is told by status, goes on, and starts again" {
    new_session -t solo -n fat
    "$MAS" wait "$ID" --for idle
    mas status "$ID" --json
    [ "$(jq '.sessions[0] | has("diskUsed") or has("diskLimit")' <<<"$output")" = false ]
    put "$(ws "$ID")/unit/solo/data" 3
    limit 'session = 2M'
    ok status
    [[ ${lines[0]} == AGENT* ]]
    [[ ${lines[-1]} == 'fat uses '[34].?'M on disk, more than limits.session (2.0M)' ]]
    mas status "$ID" --json
    [ "$(jq -r '.sessions[0].diskLimit' <<<"$output")" = $((2 << 20)) ]
    [ "$(jq -r '.sessions[0].diskUsed' <<<"$output")" -ge $((3 << 20)) ]
    "$MAS" stop -q "$ID"
    mas status "$ID"
    [[ ${lines[-1]} == 'fat uses '* ]]
    ok start "$ID"
}

@test "doctor finds sessions over their quota, and a file system under its floor" {
    new_session -t solo --no-start
    local thin=$ID before
    new_session -t solo --no-start
    put "$(ws "$ID")/unit/solo/data" 3
    ok doctor
    limit 'session = 2M' 'free = 1000T'
    before=$(snapshot)
    fails 1 doctor --json
    [ "$(jq -r '.findings[] | [.state, .subject] | join(" ")' <<<"$output")" = "by hand $ID
by hand sessions" ]
    [[ $(jq -r '.findings[0].what' <<<"$output") == 'uses 3.'?'M on disk, more than limits.session (2.0M)' ]]
    [[ $(jq -r '.findings[1].what' <<<"$output") == 'its file system has '*' free, less than limits.free (1.0P)' ]]
    [ "$(snapshot)" = "$before" ]
    rm "$(ws "$ID")/unit/solo/data"
    sed -i '/^free/d' "$ROOT/mas.ini"
    ok doctor
    [ -d "$(ws "$thin")" ]
}

@test "what is shared counts for each session that has it" {
    new_session -t solo --no-start
    local one=$ID
    new_session -t solo --no-start
    put "$(ws "$one")/unit/solo/data" 3
    ln "$(ws "$one")/unit/solo/data" "$(ws "$ID")/unit/solo/data"
    limit 'session = 2M'
    mas doctor --json
    [ "$(jq -r '.findings[].subject' <<<"$output" | sort)" = "$(printf '%s\n' "$one" "$ID" | sort)" ]
}

# said AGENT KIND: the limit that holds for an agent, and where it comes from.
said() {
    "$MAS" status --json "$ID" | jq -r --arg agent "$1" --arg kind "$2" \
        '.sessions[0].agents[] | select(.id == $agent) | .limits[$kind] // {} | "\(.amount) \(.from)"'
}
# data_limit AGENT: the limit of memory that the kernel holds its process to, in bytes.
data_limit() {
    sed -n 's/^Max data size *\([0-9a-z]*\) .*/\1/p' "/proc/$("$MAS" status --json "$ID" |
        jq -r --arg agent "$1" '.sessions[0].agents[] | select(.id == $agent).pid')/limits"
}

@test "of several limits the nearest one counts, and show tells where it comes from" {
    printf '[preset made]\ncommand = cat\nlimits.memory = 512M\nlimits.processes = 50000\n' >>"$ROOT/mas.ini"
    limit 'memory = 1G' 'cpus = 4' 'agent = 1T' 'cgroup = no'
    local ini=$ROOT/templates/pair/template.ini
    sed -i 's/^\[agent lead\]/&\nlimits.processes = 40000\nlimits.agent = none/' "$ini"
    new_session -t pair --agent made --limit cpus=2.5 --limit lead.memory=256M
    "$MAS" wait "$ID" all --for idle
    [ "$(said lead memory)" = "268435456 mas set, for agent lead" ]
    [ "$(said reviewer memory)" = "536870912 preset made" ]
    [ "$(said lead processes)" = "40000 the template, for agent lead" ]
    [ "$(said reviewer processes)" = "50000 preset made" ]
    [ "$(said lead cpus)" = "2.5 mas set" ]
    [ "$(said lead agent)" = "null null" ]
    [[ $(said reviewer agent) == "1099511627776 $ROOT/mas.ini:"* ]]
    [ "$(data_limit lead)" = 268435456 ]
    [ "$(data_limit reviewer)" = 536870912 ]
    mas show "$ID"
    output=$(sed -E 's/[0-9.]+[KMGT]? of //g' <<<"$output") # how much is used is there once it is measured
    [[ $output == *"limits "*"lead: memory 256M (mas set, for agent lead), cpus 2.5 (mas set), processes 40000 (the template, for agent lead)"* ]]
    [[ $output == *"reviewer: agent's disk 1.0T ($ROOT/mas.ini:"*"), memory 512M (preset made), "* ]]

    mas set "$ID" lead.limits.memory=default
    [ "$output" = "$ID lead: the limit of memory is the default" ]
    mas set "$ID" limits.memory=128M
    [ "$(said lead memory)" = "134217728 mas set" ]
    mas show "$ID"
    [[ $output == *"limits: they hold when the agent starts next"* ]]
    [ "$(data_limit lead)" = 268435456 ] # nothing can change the limit of a process that runs
    "$MAS" restart "$ID" lead
    "$MAS" wait "$ID" lead --for idle
    [ "$(data_limit lead)" = 134217728 ]
    mas set "$ID" reviewer.limits.memory=none
    [ "$(said reviewer memory)" = "null null" ]
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    "$MAS" wait "$ID" all --for idle
    [ "$(data_limit reviewer)" = unlimited ]
    [ "$(jq -c . "$(ws "$ID")/limits.json")" = '{"memory":134217728,"cpus":250,"agents":{"reviewer":{"memory":-1}}}' ]
}

@test "a limit that is none is refused, and makes no session" {
    local before word
    new_session -t solo --no-start
    before=$(snapshot)
    for word in memory memory=1M cpus=x solo.session=1G .memory=1G disk=1G agent= 'agent=-1'; do
        fails 2 new -t solo --no-start --limit "$word"
        [[ $stderr == "mas: cannot use --limit '$word': expected "* ]]
    done
    fails 2 new -t solo --no-start --limit nobody.memory=1G
    [[ $stderr == "mas: cannot limit agent 'nobody': the team has no such agent"* ]]
    fails 2 set "$ID" limits.memory=1M
    [[ $stderr == "mas: cannot set 'limits.memory=1M': '1M' is not a size from 16M to 1024T, such as 2G, or none, or default"* ]]
    fails 3 set "$ID" nobody.limits.memory=1G
    MAS_AGENT_ID=solo MAS_SESSION_ID=$ID fails 1 set "$ID" limits.memory=none
    [ "$(snapshot)" = "$before" ]
}

@test "a limit of disk space of a preset or a template pauses its agent" {
    printf '[preset made]\ncommand = cat\nlimits.agent = 1M\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent made
    "$MAS" wait "$ID" --for idle
    put "$(ws "$ID")/unit/solo/data" 2
    is_paused() { [ "$("$MAS" status --json "$ID" | jq -r '.sessions[0].agents[0].state')" = paused ]; }
    eventually is_paused
    [ "$(said solo agent)" = "1048576 preset made" ]
    [ "$("$MAS" status --json "$ID" | jq -r '.sessions[0].agents[0].wall.disk')" = watch ]
    mas set "$ID" limits.agent=none
    [ "$("$MAS" status --json "$ID" | jq -r '.sessions[0].agents[0].wall.disk')" = null ]
}

@test "of two limits that are set at once neither is lost" {
    new_session -t pair --no-start
    ok set -q "$ID" lead.limits.agent=2G
    exec 8<>"$ROOT/sessions/.sessions.lock"
    flock 8
    "$MAS" set -q "$ID" reviewer.limits.agent=3G 8>&- 3>&- &
    setter=$!
    waits() { find "/proc/$setter/fd" -lname '*/.sessions.lock' | grep -q .; }
    eventually waits
    sed -i "s/$((2 << 30))/$((4 << 30))/" "$(ws "$ID")/limits.json" # by who has the lock
    exec 8>&-
    wait "$setter"
    [ "$(jq -c '.agents | map_values(.agent)' "$(ws "$ID")/limits.json")" = \
        "{\"lead\":$((4 << 30)),\"reviewer\":$((3 << 30))}" ]
}
