#!/usr/bin/env bats
load ../helper
load ../project

# Nothing of a session is left: no workspace, no staging, no tmux session.
nothing_made() {
    [ -z "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 ! -name '.sessions.*')" ] || return
    run tm list-sessions
    [ "$status" -ne 0 ]
}

mas_without_programs() { run --separate-stderr env PATH=/nowhere "$MAS" "$@"; }

@test "a limit on the size of files is told, and leaves nothing" {
    before=$(snapshot)
    run --separate-stderr bash -c "ulimit -f 1 && exec '$MAS' new -t solo"
    [ "$status" -eq 1 ]
    [[ $stderr == "mas: cannot "*"File too large"* ]]
    [ "$(snapshot)" = "$before" ]
    run --separate-stderr bash -c "ulimit -f 1 && exec '$MAS' init '$T/small'"
    [ "$status" -eq 1 ]
    [[ $stderr == "mas: cannot "*"File too large"* ]]
    # what mas starts has the signal as it was
    new_session -t solo
    [ $((0x$(awk '/^SigIgn/ {print $2}' "/proc/$(agent_pid "$ID")/status") >> 24 & 1)) -eq 0 ]
}

@test "new makes the default team of 13 and says where it is and how to attach" {
    ok new
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
    ok new -q -t solo
    [[ $output =~ ^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$ ]]
    [ -z "$stderr" ]
    [ "$("$MAS" new -q -t solo)" != "$output" ]
}

@test "new --json prints what show --json prints" {
    ok new --json -t solo -n one
    [ "$(jq -r '.status + " " + .name + " " + .template' <<<"$output")" = "active one solo" ]
    local steady='del(.disk, .lastActivity, .agentStates, .agents)'
    [ "$(jq -cS "$steady" <<<"$output")" = "$("$MAS" show one --json | jq -cS "$steady")" ]
}

@test "new --name gives a name that is said in the attach line" {
    ok new -t solo --name my_team-1
    [ "${lines[2]}" = "attach: mas attach my_team-1" ]
    [ "$(field my_team-1 .name)" = my_team-1 ]
}

@test "new with a name that is taken is a conflict, also when its owner is stopped" {
    new_session -t solo -n one
    "$MAS" wait "$ID" --for idle
    before=$(snapshot)
    fails 4 new -t solo -n one
    [ "$stderr" = "mas: cannot name a session 'one': another session has that name
see it with: mas show one" ]
    [ -z "$output" ]
    [ "$(snapshot)" = "$before" ]
    [ "$(tm list-sessions | wc -l)" -eq 1 ]
    "$MAS" stop -q one
    fails 4 new -t solo -n one
    "$MAS" rm -q one
    ok new -t solo -n one
}

@test "names that differ by case are two names" {
    new_session -t solo -n Team --no-start
    ok new -t solo -n team --no-start
    [ "$(field Team .sessionId)" = "$ID" ]
}

@test "new takes the longest name and no longer one" {
    name=n$(printf '%063d' 0)
    [ "${#name}" -eq 64 ]
    ok new -t solo --no-start -n "$name"
    [ "$(field "$name" .name)" = "$name" ]
    fails 2 new -t solo --no-start -n "${name}x"
    [ "$stderr" = "mas: cannot use name '${name}x': a name must be one of A-Z a-z and at most 63 more characters of A-Z a-z 0-9 _ -" ]
    [ "$("$MAS" list -q | wc -l)" -eq 1 ]
}

@test "new refuses a name that could be the beginning of an id" {
    fails 2 new -t solo -n deadbeef
    [[ $stderr == "mas: cannot use name 'deadbeef': "*hex* ]]
    for name in FACE a1b2c3d4- Deadbeef-4bad a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d; do
        fails 2 new -t solo -n "$name"
        [[ $stderr == "mas: cannot use name '$name': "*'beginning of an id' ]]
    done
    nothing_made
    # a prefix has four digits at least, and dashes where an id has them
    for name in F ed c1 bad deadbeefs deadbeef_cafe fade-bad; do
        ok new -t solo -n "$name" --no-start
        [ "$(field "$name" .name)" = "$name" ]
    done
}

@test "new -t of a template that is not there lists those that are" {
    fails 3 new -t nope
    [[ $stderr == "mas: cannot use template 'nope': there is no such template"$'\n'"the templates are: "* ]]
    for name in default pair solo; do
        [[ ${stderr#*here: } == *"$name"* ]]
    done
    nothing_made
}

@test "new --agent runs the whole team by that preset" {
    printf '[preset nap]\ncommand = sleep 4321\n' >>"$ROOT/mas.ini"
    new_session -t pair --agent nap
    for agent in lead reviewer; do
        eventually grep -qaz 4321 "/proc/$(agent_pid "$ID" "$agent")/cmdline"
    done
    [ "$(jq -r '[.team[].preset] | unique | join(" ")' "$ROOT/sessions/$ID/config.json")" = nap ]
}

@test "new --agent of a preset that is not there is refused" {
    fails 3 new -t solo --agent nope
    [[ $stderr == "mas: cannot use preset 'nope': there is no such preset
the presets are: shell, claude, "*", opencode-tty" ]]
    nothing_made
}

@test "new refuses a preset whose program is missing, names it and how to get it, and makes nothing" {
    mas_without_programs new --agent gemini
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot start agent '00': preset 'gemini' needs the program 'gemini', which is missing
install it with: npm install -g @google/gemini-cli" ]
    nothing_made
    printf '[preset gone]\ncommand = /no/such/program x\n' >>"$ROOT/mas.ini"
    fails 1 new -t solo --agent gone
    [[ $stderr == *"preset 'gone' needs the program '/no/such/program'"* ]]
    nothing_made
}

@test "new --no-start makes the workspace alone" {
    ok new -t solo -n idle --no-start
    [ "${lines[2]}" = "start: mas start idle" ]
    [ "$(field idle .status)" = stopped ]
    [ "$(field idle .crashed)" = false ]
    run tm list-sessions
    [ "$status" -ne 0 ]
    ok start idle
    [ "$(field idle .status)" = active ]
}

@test "new --no-start asks for the program of a preset that it is given, but not for tmux or a template's" {
    mas_without_programs new -q -t solo --agent gemini --no-start
    [ "$status" -eq 1 ]
    [[ $stderr == *"preset 'gemini' needs the program 'gemini'"* ]]
    nothing_made
    sed -i 's/^preset =$/preset = gemini/' "$ROOT/templates/solo/template.ini"
    mas_without_programs new -q -t solo --no-start
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
    fails 2 new -t solo --mode wild
    [ "$stderr" = "mas: cannot use --mode 'wild': it is not isolated or legacy" ]
    [ "$("$MAS" list -q)" = "$ID" ]
}

@test "new --id makes the session of that id" {
    id=550e8400-e29b-41d4-a716-446655440000
    ok new -q -t solo --id $id
    [ "$output" = $id ]
    [ "$(field mas-550e8400 .sessionId)" = $id ]
    tm has-session -t =mas-550e8400
}

@test "new -a without a terminal is refused before anything is made" {
    fails 1 new -t solo -a
    [[ $stderr == "mas: cannot attach: stdin or stdout is not a terminal"$'\n'* ]]
    nothing_made
    fails 2 new -t solo -a --no-start
    [[ $stderr == "mas: cannot use --attach with --no-start"* ]]
    nothing_made
}

@test "new takes no unknown option" {
    fails 2 new --nope
    [[ $stderr == "mas: cannot run 'new': "*"--nope"*$'\n'"usage: mas new "* ]]
    fails 2 new -n
    [[ $stderr == "mas: cannot run 'new': option '-n' needs a value"* ]]
    fails 2 new -Z
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

# The first messages that a session's config.json holds, "id=text" a line.
prompts() { jq -r '.team[] | select(.prompt) | .id + "=" + .prompt' "$ROOT/sessions/$1/config.json"; }

@test "new -c takes the first messages and presets of single agents from a file" {
    cat >"$T/c.json" <<'EOF'
{"agents":{"metaManager":{"id":"00","prompt":"Plan it.\n\tThen \"tell\" ü."},
 "units":[{"unitId":1,"manager":{"id":"10","prompt":"Design.","preset":"shell"},"workers":[{"id":"11","prompt":"Read."},{"id":"12"}]},
          {"unitId":2,"manager":{"id":"20","command":"sleep 1000","system":"be nice"},"workers":[{"id":"21","model":"m1","prompt":""}]}]}}
EOF
    ok new -q -c "$T/c.json" --no-start
    [ "$(prompts "$output")" = $'00=Plan it.\n\tThen "tell" ü.\n10=Design.\n11=Read.' ]
    config=$ROOT/sessions/$output/config.json
    [ "$(jq -r '.team[] | select(.preset != "") | .id + " " + .preset' "$config")" = '10 shell' ]
    [ "$(jq -r '.team[] | select(.command != "") | .id + " " + .command + " " + .system' "$config")" = '20 sleep 1000 be nice' ]
    [ "$(jq -r '.team[] | select(.model != "") | .id + " " + .model' "$config")" = '21 m1' ]
    ok new -q -c - --no-start <"$T/c.json"
    ln -s c.json "$T/link"
    ok new -q --config "$T/link" --no-start
}

@test "an agent's preset in -c goes over --agent, and over the command of the template" {
    sed -i '/^\[agent solo\]/a command = sleep 1' "$ROOT/templates/solo/template.ini"
    mas new -q -t solo --no-start -c - --agent claude <<<'{"agents":{"units":[{"manager":{"id":"solo","preset":"shell"}}]}}'
    [ "$(jq -r '.team[] | .preset + "," + .command' "$ROOT/sessions/$output/config.json")" = 'shell,' ]
}

@test "new -p gives single agents a first message, and goes over -c" {
    echo '{"agents":{"units":[{"manager":{"id":"lead","prompt":"old"},"workers":[{"id":"reviewer","prompt":"kept"}]}]}}' >"$T/c.json"
    ok new -q -t pair --no-start -c "$T/c.json" -p 'lead=new = text
and more'
    [ "$(prompts "$output")" = $'lead=new = text\nand more\nreviewer=kept' ]
    mas new -q -t pair --no-start -p lead=one --prompt reviewer=two
    [ "$(prompts "$output")" = $'lead=one\nreviewer=two' ]
}

@test "what is wrong with -p is told before anything is made" {
    while IFS='|' read -r code value why; do
        mas new -t pair -p "$value"
        [ "$status" -eq "$code" ]
        [ "${stderr%%$'\n'*}" = "mas: $why" ] || { echo "$stderr" >&2; false; }
        nothing_made
    done <<'EOF'
2|lead|cannot use prompt 'lead': it is not AGENT=TEXT
2|=text|cannot use prompt '=text': it is not AGENT=TEXT
2|lead=|cannot use a prompt for agent 'lead': it is empty
2|lead=  |cannot use a prompt for agent 'lead': it is empty
3|99=x|cannot use a prompt for agent '99': the template has no such agent
3|lead =x|cannot use a prompt for agent 'lead ': the template has no such agent
EOF
    fails 2 new -t pair -p lead=a -p lead=b
    [ "$stderr" = "mas: cannot use a prompt for agent 'lead': the agent has a prompt already" ]
    fails 2 new -t pair -p $'lead=\e[31m'
    [ "$stderr" = "mas: cannot use a prompt for agent 'lead': it contains a control character other than tab and newline" ]
    fails 2 new -t pair -p $'lead=\xff'
    [ "$stderr" = "mas: cannot use a prompt for agent 'lead': it is not UTF-8" ]
    nothing_made
}

@test "what is wrong with -c is told with its place, before anything is made" {
    while IFS='|' read -r code json why; do
        echo "$json" >"$T/c.json"
        mas new -c "$T/c.json"
        [ "$status" -eq "$code" ] && [ "${stderr%%$'\n'*}" = "mas: cannot use '$T/c.json': $why" ] ||
            { echo "$json: $status $stderr" >&2; false; }
        nothing_made
    done <<'EOF'
1|[]|it is not an object
1|{"agents":[]}|agents: it is not an object
1|{"agent":{}}|agent: unknown member
1|{"agents":{"unit":[]}}|agents.unit: unknown member
1|{"agents":{"units":{}}}|agents.units: it is not a list
1|{"agents":{"units":[{},[]]}}|agents.units[1]: it is not an object
1|{"agents":{"units":[{"unitId":"1"}]}}|agents.units[0].unitId: it is not the number of a unit
1|{"agents":{"units":[{"unitId":-1}]}}|agents.units[0].unitId: it is not the number of a unit
1|{"agents":{"units":[{"workers":{"id":"11"}}]}}|agents.units[0].workers: it is not a list
1|{"agents":{"units":[{"workers":["11"]}]}}|agents.units[0].workers[0]: it is not an object
1|{"agents":{"units":[{"boss":{"id":"10"}}]}}|agents.units[0].boss: unknown member
1|{"agents":{"metaManager":{"prompt":"x"}}}|agents.metaManager.id: it is missing
1|{"agents":{"metaManager":{"id":0}}}|agents.metaManager.id: it is not a string
3|{"agents":{"units":[{"workers":[{"id":"11"},{"id":"99"}]}]}}|agents.units[0].workers[1].id: the template has no agent '99'
1|{"agents":{"units":[{"manager":{"id":"11"}}]}}|agents.units[0].manager.id: agent '11' has the rank worker in the template
1|{"agents":{"units":[{"manager":{"id":"10"}},{"manager":{"id":"10"}}]}}|agents.units[1].manager.id: duplicate agent '10'
1|{"agents":{"metaManager":{"id":"00","prompt":7}}}|agents.metaManager.prompt: it is not a string
1|{"agents":{"metaManager":{"id":"00","prompt":"a\u001bb"}}}|agents.metaManager.prompt: it contains a control character other than tab and newline
1|{"agents":{"metaManager":{"id":"00","prompt":"a\u009bb"}}}|agents.metaManager.prompt: it contains a control character other than tab and newline
1|{"agents":{"metaManager":{"id":"00","promt":"x"}}}|agents.metaManager.promt: unknown member
3|{"agents":{"metaManager":{"id":"00","preset":"nope"}}}|agents.metaManager.preset: it names an unknown preset
1|{"agents":{"metaManager":{"id":"00","command":"a 'b"}}}|agents.metaManager.command: it has an unterminated quote or backslash
1|{"agents":{"metaManager":{"id":"00","model":"a\nb"}}}|agents.metaManager.model: it contains a control character
1|{"agents":{"metaManager":{"id":"00","id":"10"}}}|line 1, column 37: duplicate key 'id' in an object
1|{"agents":{}} x|line 1, column 15: unexpected text after the value
EOF
    mas new -c "$T/c.json"
    fails 1 new -c "$T/nope"
    [ "$stderr" = "mas: cannot read '$T/nope': No such file or directory" ]
    head -c 5000000 /dev/zero | tr '\0' ' ' >"$T/c.json"
    fails 1 new -c "$T/c.json"
    [ "$stderr" = "mas: cannot read '$T/c.json': it is larger than 4194304 bytes" ]
    fails 1 new -c /dev/zero
    [[ $stderr == *"it is larger than"* ]]
    fails 1 new -c "$T"
    nothing_made
}

@test "first messages that config.json has no room for are refused before anything is made" {
    { printf '{"agents":{"units":[{"manager":{"id":"solo","prompt":"' && head -c 4194000 /dev/zero | tr '\0' x && printf '"}}]}}'; } >"$T/c.json"
    fails 1 new -t solo -c "$T/c.json"
    [ "$stderr" = "mas: cannot write 'config.json': the template and the prompts have more than 4194304 bytes" ]
    nothing_made
    { printf '{"agents":{"units":[{"manager":{"id":"solo","prompt":"' && head -c 4190000 /dev/zero | tr '\0' x && printf '"}}]}}'; } >"$T/c.json"
    ok new -q -t solo -c "$T/c.json" --no-start
    [ "$(prompts "$output" | wc -c)" -eq 4190006 ]
}

@test "that first messages were handed out is noted at the first start" {
    mas new -q -t solo -p solo=hello
    [ "$(meta "$output" PROMPTED)" = yes ]
    mas new -q -t solo -p solo=hello --no-start
    id=$output
    [ -z "$(meta "$id" PROMPTED)" ]
    "$MAS" start -q "$id"
    [ "$(meta "$id" PROMPTED)" = yes ]
    "$MAS" stop -q "$id"
    [ "$(meta "$id" PROMPTED)" = yes ]
    # nothing to hand out
    new_session -t solo
    [ -z "$(meta "$ID" PROMPTED)" ]
}

@test "a first start that fails leaves the first messages to the next one" {
    MAS_TMUX_SIZE=20x4 new_session --no-start -p 00=hello
    MAS_TMUX_SIZE=20x4 fails 6 start "$ID"
    [ -z "$(meta "$ID" PROMPTED)" ]
    ok start "$ID"
    [ "$(meta "$ID" PROMPTED)" = yes ]
}

@test "new and start warn where the agents are likely to take more memory than is free" {
    printf '%s\n' '[preset shell]' 'memory = 9T' >"$ROOT/mas.ini"
    ok new -q -t pair
    [[ $stderr == "mas: warning: the agents will probably need 18T of memory, but only "*" is free; with start = demand, each agent starts with its first message" ]]
    "$MAS" stop -q "$output"
    ok start -q "$output"
    [[ $stderr == "mas: warning: the agents will probably need 18T of memory, but only "* ]]
    mas new -q -t pair --no-start
    [ -z "$stderr" ]
    # only what starts now counts, which an agent with a first message does
    printf '%s\n' '[preset shell]' 'memory = 9T' 'start = demand' >"$ROOT/mas.ini"
    mas new -q -t pair
    [ -z "$stderr" ]
    mas new -q -t pair -p lead=hello
    [[ $stderr == "mas: warning: the agents will probably need 9.0T of memory, "* ]]
    sed -i '/^\[agent reviewer\]/a start = now' "$ROOT/templates/pair/template.ini"
    mas new -q -t pair
    [[ $stderr == "mas: warning: the agents will probably need 9.0T of memory, "* ]]
    printf '%s\n' '[preset shell]' 'memory = 1K' >"$ROOT/mas.ini"
    mas new -q -t pair
    [ -z "$stderr" ]
}

@test "start counts the memory of all sessions that it starts" {
    a=$("$MAS" new -q -t solo --no-start)
    b=$("$MAS" new -q -t solo --no-start)
    printf '%s\n' '[preset shell]' 'memory = 9T' >"$ROOT/mas.ini"
    ok start -q "$a" "$b"
    [[ $stderr == "mas: warning: the agents will probably need 18T of memory, "* ]]
}

@test "a first message reaches its agent at the first start, and never again" {
    new_session -t pair --no-start -p 'lead=echo x >>got'
    unit=$ROOT/sessions/$ID/unit
    "$MAS" start -q "$ID"
    eventually test -s "$unit/lead/got"
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    "$MAS" send "$ID" lead 'echo y >>got'
    eventually grep -qx y "$unit/lead/got"
    [ "$(xargs <"$unit/lead/got")" = 'x y' ]
    [ ! -e "$unit/reviewer/got" ]
}

@test "an agent with start = demand comes with its first message" {
    sed -i '/^\[agent/a start = demand' "$ROOT/templates/pair/template.ini"
    new_session -t pair -p 'lead=echo x >got'
    eventually test -s "$ROOT/sessions/$ID/unit/lead/got"
    [ "$("$MAS" status "$ID" --json | jq -r '[.. | objects | select(.state?) | .state] | map(select(. == "asleep")) | length')" = 1 ]
}

# offers NAME: `mas new -t solo` on a terminal of its own, with the programs in $T/bin alone.
offers() {
    tm new-session -d -s "$1" -x 150 -y 50 \
        "sh -c 'PATH=$T/bin:$(dirname "$(command -v tmux)"):/usr/bin:/bin; \"\$0\" new -t solo --name $1; echo code \$?; sleep 100' '$MAS'"
}
on_screen() { tm capture-pane -p -t "=$1:" | grep -qF -- "$2"; }
runs_claude() { [ "$(cat "/proc/$("$MAS" show "$1" --json | jq -r '.agents[0].pid')/comm" 2>/dev/null)" = sleep ]; }

@test "on a terminal, the only agent's program that is installed is offered, once" {
    for program in claude codex gemini copilot opencode; do
        [ ! -e "/usr/bin/$program" ] && [ ! -e "/bin/$program" ] || skip "$program is in /usr/bin"
    done
    mkdir "$T/bin"
    before=$(cat "$ROOT/mas.ini")
    for program in claude codex; do # two, then one
        printf '#!/bin/sh\nexec sleep 100\n' >"$T/bin/$program"
        chmod +x "$T/bin/$program"
    done
    offers two
    eventually on_screen two 'code 0'
    run ! on_screen two 'is installed'
    rm "$T/bin/codex"
    offers later
    eventually on_screen later "'claude' is installed"
    tm send-keys -t =later: Enter
    eventually on_screen later 'code 0'
    run ! runs_claude later
    [ "$(cat "$ROOT/mas.ini")" = "$before" ]
    offers yes
    eventually on_screen yes '[y/n]'
    tm send-keys -t =yes: y Enter
    eventually on_screen yes 'code 0'
    eventually runs_claude yes
    [ "$(cat "$ROOT/mas.ini")" = "$before

[session]
preset = claude-tty" ]
    offers again
    eventually on_screen again 'code 0'
    run ! on_screen again 'is installed'
    eventually runs_claude again
}

@test "new -c takes the config.json of a session and makes the same team again" {
    make_project
    printf '[preset talker]\ncommand = cat\nexecutes = no\n' >>"$ROOT/mas.ini"
    cp -r "$ROOT/templates/pair" "$ROOT/templates/duo"
    printf '[budget]\nturns = 9\n' >>"$ROOT/templates/duo/template.ini"
    ok new -q -t duo --no-start --project "$P" --wall=off -n first -p lead='Begin.' -p reviewer=$'Wait.\nThen look.' --agent talker
    config=$ROOT/sessions/$output/config.json
    (cd "$P" && echo new >fresh && git add fresh && git commit -qm fresh)
    sed -i 's/turns = 9/turns = 1/' "$ROOT/templates/duo/template.ini"
    ok new -q -c "$config" --no-start -n second
    again=$ROOT/sessions/$output
    # all is the same but the commit to begin with and the name
    diff <(jq 'del(.project.base, .project.label)' "$config") <(jq 'del(.project.base, .project.label)' "$again/config.json")
    [ "$(jq -r '.project.base + " " + .project.label' "$again/config.json")" = "$(git -C "$P" rev-parse HEAD) second" ]
    [ "$(meta "$output" TEMPLATE)" = duo ]
    [ -d "$again/unit/lead" ]
    [ -f "$again/code/lead/fresh" ]
    # from standard input; options go over it
    ok new -q -c - --no-start -t pair -p lead='Else.' <"$config"
    [ "$(prompts "$output")" = $'lead=Else.\nreviewer=Wait.\nThen look.' ]
    [ "$(meta "$output" TEMPLATE)" = pair ]
    # a team without a project gets none
    ok new -q -t solo --no-start
    ok new -q -c "$ROOT/sessions/$output/config.json" --no-start
    [ "$(jq -c .project "$ROOT/sessions/$output/config.json")" = null ]
}

@test "tries can be made again from their config.json, and a check stays the session's" {
    make_project
    printf '[preset talker]\ncommand = cat\nexecutes = no\n' >>"$ROOT/mas.ini"
    cd "$P"
    ok new -q -d --no-start --tries 3 --agent talker --check-with 'make bench' 'make it faster'
    config=$ROOT/sessions/$output/config.json
    ok new -q --no-start -c "$config"
    diff <(jq 'del(.project.base, .project.label)' "$config") <(jq 'del(.project.base, .project.label)' "$ROOT/sessions/$output/config.json")
    [ "$(jq -r .project.check "$ROOT/sessions/$output/config.json")" = 'make bench' ]
    for id in $(jq -r '.team[].id' "$config"); do
        diff -r "$ROOT/templates/solo/unit/solo" "$ROOT/sessions/$output/unit/$id"
    done
}

@test "what is wrong with a config.json is told with file and key, before anything is made" {
    ok new -q -t pair --no-start
    saved=$(cat "$ROOT/sessions/$output/config.json")
    ok rm -q "$output"
    while IFS='~' read -r code change why; do
        jq "$change" <<<"$saved" >"$T/c.json"
        mas new -c "$T/c.json"
        [ "$status" -eq "$code" ] && [ "${stderr%%$'\n'*}" = "mas: cannot use '$T/c.json': $why" ] ||
            { echo "$change: $status $stderr" >&2; false; }
        nothing_made
    done <<'EOF2'
1~.team[1].rank = "boss"~agent reviewer has a bad rank
1~.team[0].limits.memory = "x"~agent lead has a bad limits
1~.team[0].id = "../x"~an agent's id is missing, bad or used twice
1~.team = []~window pair: agent lead is not defined
1~.wall = 1~it has a bad wall
1~.windows[0].layout = "round"~window pair has a bad layout
1~.project = {"path":"here","onto":"","base":"","label":"x"}~it has a bad project
3~.team[1].preset = "nope"~agent reviewer has an unknown preset 'nope'
1~.team[1].id = "rev" | .windows[0].agents[1] = "rev"~cannot use template 'pair': agent rev has no directory unit/rev: No such file or directory
EOF2
    jq '.template = "nope"' <<<"$saved" >"$T/c.json"
    fails 3 new -c "$T/c.json"
    [[ $stderr == "mas: cannot use template 'nope': there is no such template"* ]]
    nothing_made
}
