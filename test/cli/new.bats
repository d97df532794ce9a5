#!/usr/bin/env bats
load ../helper

# Nothing of a session is left: no workspace, no staging, no tmux session.
nothing_made() {
    [ -z "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 ! -name '.sessions.*')" ] || return
    run tm list-sessions
    [ "$status" -ne 0 ]
}

mas_without_programs() { run --separate-stderr env PATH=/nowhere "$MAS" "$@"; }

@test "new makes the default team of 13 and says where it is and how to attach" {
    mas new
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    id=$("$MAS" list -q)
    [ "$output" = "mas-${id:0:8}  $id
workspace: $ROOT/sessions/$id
attach: mas attach mas-${id:0:8}" ]
    [ "$(field "$id" .status)" = active ]
    [ "$(field "$id" .template)" = default ]
    [ "$(field "$id" .agentsRunning)" = 13 ]
    [ "$(tm list-panes -s -t "=mas-${id:0:8}:" | wc -l)" -eq 13 ]
    [ "$(tm list-windows -t "=mas-${id:0:8}" -F '#{window_name}' | xargs)" = "meta design development business" ]
    [ "$(find "$ROOT/sessions/$id/unit" -mindepth 1 -maxdepth 1 | wc -l)" -eq 13 ]
}

@test "new -q prints the id alone, a random version 4 UUID" {
    mas new -q -t solo
    [ "$status" -eq 0 ]
    [[ $output =~ ^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$ ]]
    [ -z "$stderr" ]
    [ "$("$MAS" new -q -t solo)" != "$output" ]
}

@test "new --json prints what show --json prints" {
    mas new --json -t solo -n one
    [ "$status" -eq 0 ]
    [ "$(jq -r '.status + " " + .name + " " + .template' <<<"$output")" = "active one solo" ]
    [ "$(jq -cS 'del(.disk, .lastActivity)' <<<"$output")" = "$("$MAS" show one --json | jq -cS 'del(.disk, .lastActivity)')" ]
}

@test "new --name gives a name that is said in the attach line" {
    mas new -t solo --name my_team-1
    [ "$status" -eq 0 ]
    [ "${lines[2]}" = "attach: mas attach my_team-1" ]
    [ "$(field my_team-1 .name)" = my_team-1 ]
}

@test "new with a name that is taken is a conflict, also when its owner is stopped" {
    new_session -t solo -n one
    eventually [ ! -e "$ROOT/sessions/$ID/run/env" ] # its agents have taken their environment
    before=$(snapshot)
    mas new -t solo -n one
    [ "$status" -eq 4 ]
    [ "$stderr" = "mas: cannot name a session 'one': another has that name
see it with: mas show one" ]
    [ -z "$output" ]
    [ "$(snapshot)" = "$before" ]
    [ "$(tm list-sessions | wc -l)" -eq 1 ]
    "$MAS" stop -q one
    mas new -t solo -n one
    [ "$status" -eq 4 ]
    "$MAS" rm -q one
    mas new -t solo -n one
    [ "$status" -eq 0 ]
}

@test "names that differ by case are two names" {
    new_session -t solo -n Team --no-start
    mas new -t solo -n team --no-start
    [ "$status" -eq 0 ]
    [ "$(field Team .sessionId)" = "$ID" ]
}

@test "new takes the longest name and no longer one" {
    name=n$(printf '%063d' 0)
    [ "${#name}" -eq 64 ]
    mas new -t solo --no-start -n "$name"
    [ "$status" -eq 0 ]
    [ "$(field "$name" .name)" = "$name" ]
    mas new -t solo --no-start -n "${name}x"
    [ "$status" -eq 2 ]
    [ "$stderr" = "mas: cannot use name '${name}x': a name is a letter and at most 63 more letters, digits, _ or -" ]
    [ "$("$MAS" list -q | wc -l)" -eq 1 ]
}

@test "new refuses a name that could be the beginning of an id" {
    mas new -t solo -n deadbeef
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot use name 'deadbeef': "*hex* ]]
    mas new -t solo -n F
    [ "$status" -eq 2 ]
    nothing_made
    mas new -t solo -n deadbeefs --no-start
    [ "$status" -eq 0 ]
}

@test "new -t of a template that is not there lists those that are" {
    mas new -t nope
    [ "$status" -eq 3 ]
    [[ $stderr == "mas: cannot use template 'nope': there is none of that name"$'\n'"templates here: "* ]]
    for name in default pair solo; do
        [[ ${stderr#*here: } == *"$name"* ]]
    done
    nothing_made
}

@test "new --agent runs the whole team by that preset" {
    printf '[preset nap]\ncommand = sleep 4321\n' >>"$ROOT/mas.ini"
    new_session -t pair --agent nap
    for pid in $(field "$ID" '.agents[].pid'); do
        eventually grep -qaz 4321 "/proc/$pid/cmdline"
    done
    [ "$(jq -r '[.team[].preset] | unique | join(" ")' "$ROOT/sessions/$ID/config.json")" = nap ]
}

@test "new --agent of a preset that is not there is refused" {
    mas new -t solo --agent nope
    [ "$status" -eq 3 ]
    [ "$stderr" = "mas: cannot use preset 'nope': there is none of that name
presets are in templates/agents.ini and mas.ini" ]
    nothing_made
}

@test "new refuses a preset whose program is missing, names it and how to get it, and makes nothing" {
    mas_without_programs new --agent gemini
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot start agent '00': preset 'gemini' needs the program 'gemini', which is not there
install it with: npm install -g @google/gemini-cli" ]
    nothing_made
    printf '[preset gone]\ncommand = /no/such/program x\n' >>"$ROOT/mas.ini"
    mas new -t solo --agent gone
    [ "$status" -eq 1 ]
    [[ $stderr == *"preset 'gone' needs the program '/no/such/program'"* ]]
    nothing_made
}

@test "new --no-start makes the workspace alone" {
    mas new -t solo -n idle --no-start
    [ "$status" -eq 0 ]
    [ "${lines[2]}" = "start: mas start idle" ]
    [ "$(field idle .status)" = stopped ]
    [ "$(field idle .crashed)" = false ]
    run tm list-sessions
    [ "$status" -ne 0 ]
    mas start idle
    [ "$status" -eq 0 ]
    [ "$(field idle .status)" = active ]
}

@test "new --no-start asks neither for tmux nor for the preset's program" {
    mas_without_programs new -q -t solo --agent gemini --no-start
    [ "$status" -eq 0 ]
    mas_without_programs start "$output"
    [ "$status" -eq 1 ]
    [[ $stderr == *"needs the program 'gemini'"* ]]
    [ "$("$MAS" list --stopped -q | wc -l)" -eq 1 ]
}

@test "new without tmux says so and makes nothing" {
    mas_without_programs new -t solo
    [ "$status" -eq 6 ]
    [[ $stderr == "mas: cannot "*tmux* ]]
    nothing_made
}

@test "new --private is written down" {
    new_session -t solo --no-start --private
    [ "$(meta "$ID" PRIVATE)" = yes ]
    new_session -t solo --no-start
    [ "$(meta "$ID" PRIVATE)" = no ]
}

@test "new --mode takes isolated, and refuses what is no mode" {
    new_session -t solo --no-start --mode isolated
    [ "$(meta "$ID" MODE)" = isolated ]
    mas new -t solo --mode wild
    [ "$status" -eq 2 ]
    [ "$stderr" = "mas: cannot use --mode 'wild': it is not isolated or legacy" ]
    [ "$("$MAS" list -q)" = "$ID" ]
}

@test "new --id makes the session of that id" {
    id=550e8400-e29b-41d4-a716-446655440000
    mas new -q -t solo --id $id
    [ "$status" -eq 0 ]
    [ "$output" = $id ]
    [ "$(field mas-550e8400 .sessionId)" = $id ]
    tm has-session -t =mas-550e8400
}

@test "new -a without a terminal is refused before anything is made" {
    mas new -t solo -a
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot attach: this is no terminal" ]
    nothing_made
    mas new -t solo -a --no-start
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot use --attach with --no-start"* ]]
    nothing_made
}

@test "new takes no operand and no unknown option" {
    mas new solo
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot run 'new': 'solo' is one operand too many"$'\n'"usage: mas new "* ]]
    mas new --nope
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot run 'new': "*"--nope"*$'\n'"usage: mas new "* ]]
    mas new -n
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot run 'new': option '-n' needs a value"* ]]
    mas new -Z
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot run 'new': there is no option '-Z'"* ]]
    nothing_made
}

@test "the template of new without -t is that of the settings" {
    printf '[session]\ntemplate = pair\n' >"$ROOT/mas.ini"
    new_session --no-start
    [ "$(meta "$ID" TEMPLATE)" = pair ]
    MAS_TEMPLATE=solo new_session --no-start
    [ "$(meta "$ID" TEMPLATE)" = solo ]
    MAS_TEMPLATE=solo new_session -t pair --no-start
    [ "$(meta "$ID" TEMPLATE)" = pair ]
}

@test "two sessions of one template share nothing" {
    new_session -t solo
    one=$ID
    new_session -t solo
    echo changed >"$ROOT/sessions/$one/unit/solo/AGENTS.md"
    diff "$PROJECT/templates/solo/unit/solo/AGENTS.md" "$ROOT/sessions/$ID/unit/solo/AGENTS.md"
    diff "$PROJECT/templates/solo/unit/solo/AGENTS.md" "$ROOT/templates/solo/unit/solo/AGENTS.md"
    [ "$(tm list-sessions | wc -l)" -eq 2 ]
}

@test "an agent gets the variables of its team and finds mas" {
    # shellcheck disable=SC2016
    printf '[preset tell]\ncommand = sh -c "env >env.new; command -v mas >>env.new; mv env.new env.txt; exec sleep 1000"\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent tell
    dir=$ROOT/sessions/$ID
    eventually [ -f "$dir/unit/solo/env.txt" ]
    while IFS= read -r line; do
        grep -qxF -- "$line" "$dir/unit/solo/env.txt" || {
            echo "not there: $line"
            return 1
        }
    done <<EOF
MAS_ROOT=$ROOT
MAS_TMUX_SOCKET=$SOCK
MAS_SESSION_MODE=isolated
MAS_SESSION_ID=$ID
MAS_SESSION_DIR=$dir
SESSION_NAME=mas-${ID:0:8}
UNIT_DIR=$dir/unit
WORKFLOWS_DIR=$dir/workflows
MAS_AGENT_ID=solo
MAS_AGENT_ROLE=generalist
EOF
    [ "$(readlink -f "$(tail -n 1 "$dir/unit/solo/env.txt")")" = "$(readlink -f "$MAS")" ]
}

@test "new leaves its error on stderr when stdout is full, and the session stays" {
    # shellcheck disable=SC2016
    run --separate-stderr bash -c '"$1" new -q -t solo --no-start >/dev/full' - "$MAS"
    [ "$status" -eq 1 ]
    [[ $stderr == "mas: cannot write to standard output: "* ]]
    [ "$("$MAS" list -q | wc -l)" -eq 1 ]
}

@test "a new that is interrupted leaves nothing" {
    for i in $(seq 300); do
        mkdir -p "$ROOT/templates/solo/unit/solo/d$((i % 20))"
        head -c 200000 /dev/zero >"$ROOT/templates/solo/unit/solo/d$((i % 20))/f$i"
    done
    shopt -s dotglob
    "$MAS" new -q -t solo >"$T/out" 2>"$T/err" 3>&- &
    pid=$!
    eventually compgen -G "$ROOT/sessions/*-4*/unit/solo" >/dev/null
    kill -TERM $pid || true
    rc=0
    wait $pid || rc=$?
    # it may have come too late: then the whole session is there
    if [ -s "$T/out" ]; then
        [ "$("$MAS" list --active -q)" = "$(cat "$T/out")" ]
    else
        [ "$rc" -eq 143 ]
        grep -q "interrupted" "$T/err" || [ ! -s "$T/err" ]
        nothing_made
    fi
}
