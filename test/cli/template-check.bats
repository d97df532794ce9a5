#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2011 # text for editors, templates and listings
# mas template check
load ../helper

setup_more() { D=$ROOT/templates/mine I=$ROOT/templates/mine/template.ini; }

template() {
    mkdir -p "$D/unit/a" "$D/unit/b"
    printf '%s\n' "$@" >"$I"
}
window_a=('[window w]' 'agents = a')
agent_a=('[agent a]' 'role = r' 'rank = worker' 'group = g')

# finds LINE...: check prints exactly these, fails, and `new` fails with it; says nothing of others.
finds() {
    mas template check mine
    if [ "$status" -ne 1 ] || [ "$output" != "$(printf '%s\n' "$@")" ]; then
        echo "said ($status): $output $stderr"
        return 1
    fi
    [ "$stderr" = "mas: cannot use 1 of 1 templates" ]
    mas new -t mine
    [ "$status" -ne 0 ] && [ -z "$(find "$ROOT/sessions" -mindepth 1 -type d)" ]
}

@test "the shipped templates are in order, and check says nothing" {
    ok template check
    [ -z "$output$stderr" ]
    mas template check default pair solo --json
    [ "$output" = '{"remarks":[],"errors":0,"warnings":0}' ]
}

@test "all that is wrong with template.ini is found at once, each with its line" {
    template '[templat]' 'x = 1' '[window w]' 'agents = a, c' 'layout = round' 'colour = red' \
        'agents = b' '[agent a]' 'role =' 'rank = boss' 'group = g' 'no equals sign' \
        '[agent b]' 'role = r' 'start = later' '[agent x y]' 'role = r' '[rules]' 'boss = all' \
        'worker = everyone' '[window v]'
    finds "$I:1: [templat]: unknown section; did you mean '[template]'?" \
        "$I:4: agent c is not defined" \
        "$I:5: [window w] layout: a layout must be tiled, even-horizontal, even-vertical, main-horizontal, main-vertical, or COLUMNSxROWS such as 3x2" \
        "$I:6: [window w] colour: unknown key in a window" \
        "$I:7: [window w] agents: duplicate key: first used in line 4" \
        "$I:9: [agent a] role: a role must be 1 to 64 bytes of UTF-8 without control characters" \
        "$I:10: [agent a] rank: a rank must be meta, manager or worker" \
        "$I:12: missing '='" \
        "$I:13: agent b lacks its group" \
        "$I:13: agent b lacks its rank" \
        "$I:15: [agent b] start: 'later' is not now or demand" \
        "$I:16: [agent x y]: an agent's id must be 1 to 32 characters of A-Z a-z 0-9 _ -, the first not -" \
        "$I:19: [rules] boss: a rule must be for meta, manager or worker" \
        "$I:20: [rules] worker: a rule must list manager, unit, workers, managers, meta or all" \
        "$I:21: window v has no agents"
}

@test "keys behind a header that cannot be read belong to nothing" {
    template "${window_a[@]}" "${agent_a[@]}" '[agent b' 'role = other' 'rank = boss' '[]' 'role = x'
    finds "$I:7: missing ']'" "$I:10: missing section name"
    template '[agent bad id]' 'role = x' 'rank = boss' 'nonsense = 1' "${window_a[@]}" "${agent_a[@]}"
    finds "$I:1: [agent bad id]: an agent's id must be 1 to 32 characters of A-Z a-z 0-9 _ -, the first not -"
}

@test "agents in no window, in two, and windows that are too small" {
    template "${window_a[@]}" 'layout = 1x1' '[window v]' 'agents = a' \
        "${agent_a[@]}" '[agent b]' 'role = r' 'rank = worker' 'group = g'
    finds "$I:4: window v has no agents" "$I:5: agent a is in two windows" "$I:10: agent b is in no window"
    template '[window w]' 'layout = 1x1' 'agents = a, b' "${agent_a[@]}" '[agent b]' 'role = r' 'rank = worker' 'group = g'
    finds "$I:1: window w has 2 agents, more than the layout 1x1 can hold"
}

@test "a window that has no room for its panes at [tmux] size is found" {
    template '[window w]' 'layout = 1x2' 'agents = a, b' "${agent_a[@]}" '[agent b]' 'role = r' 'rank = worker' 'group = g'
    export MAS_TMUX_SIZE=20x3
    finds "$I:1: window w of 20 columns and 3 rows has no room for its 2 agents in layout 1x2"
}

@test "missing directories, and files that cannot be copied, are all found" {
    template "${window_a[@]}" "${agent_a[@]}"
    rmdir "$D/unit/a"
    mkdir -p "$D/unit/b/deep" "$D/workflows"
    mkfifo "$D/unit/b/deep/fifo"
    touch "$D/workflows/suid"
    chmod 4755 "$D/workflows/suid"
    tm new-session -d -s keep # anything with a socket
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$D/unit/b/socket"
    finds "$I:3: agent a has no directory unit/a: No such file or directory" \
        "$D/unit/b/deep/fifo: it cannot be copied: it is a FIFO" \
        "$D/unit/b/socket: it cannot be copied: it is a socket" \
        "$D/workflows/suid: it cannot be copied: it is setuid or setgid"
}

@test "a tree that is too deep is found at its first level too many" {
    template "${window_a[@]}" "${agent_a[@]}"
    # unit/a is a first level below the top
    deep=$(printf 'd/%.0s' {1..127})
    mkdir -p "$D/unit/a/$deep"
    ok template check mine
    mkdir -p "$D/unit/a/${deep}e/f"
    finds "$D/unit/a/${deep}e: it cannot be copied: it is nested too deeply"
}

@test "a file that cannot be read is found" {
    template "${window_a[@]}" "${agent_a[@]}"
    echo secret >"$D/unit/a/secret"
    mkdir "$D/unit/a/closed"
    chmod 000 "$D/unit/a/secret" "$D/unit/a/closed"
    if [ "$(id -u)" -eq 0 ]; then
        chown -R nobody "$T"
        chmod 755 "$T"
        as=(setpriv --reuid nobody --regid nogroup --clear-groups)
    fi
    run --separate-stderr "${as[@]}" "$MAS" template check mine
    [ "$status" -eq 1 ]
    [ "$output" = "$D/unit/a/closed: it cannot be copied: Permission denied
$D/unit/a/secret: it cannot be copied: Permission denied" ]
}

@test "links that lead out are none of its directories, and links in them are copied" {
    template "${window_a[@]}" "${agent_a[@]}"
    ln -s /nowhere "$D/unit/a/dangling"
    ok template check mine
    mv "$D/unit" "$T/unit"
    ln -s "$T/unit" "$D/unit"
    fails 1 template check mine
    [[ $output == "$I:3: agent a has no directory unit/a: "* ]]
}

@test "presets that do not exist are errors; what the machine lacks is a warning" {
    printf '[preset far]\ncommand = no-such-program\n[preset keyed]\ncommand = cat\nneeds_env = MAS_TEST_KEY\n' >>"$ROOT/mas.ini"
    template '[template]' 'preset = far' '[window w]' 'agents = a, b, c' \
        "${agent_a[@]}" '[agent b]' 'role = r' 'rank = worker' 'group = g' 'preset = keyed' \
        '[agent c]' 'role = r' 'rank = worker' 'group = g' 'command = cat'
    mkdir "$D/unit/c"
    ok template check mine
    [ -z "$stderr" ]
    [ "$output" = "$I:5: warning: cannot start agent 'a': preset 'far' needs the program 'no-such-program', which is missing
$I:9: warning: cannot start agent 'b': preset 'keyed' needs the variable MAS_TEST_KEY, which is not set" ]
    MAS_TEST_KEY=1 mas template check mine --json
    [ "$(jq -c '[.errors, .warnings, .remarks[0].file, .remarks[0].line, .remarks[0].severity]' <<<"$output")" = "[0,1,\"$I\",5,\"warning\"]" ]
    template "${window_a[@]}" "${agent_a[@]}" 'preset = nope'
    finds "$I:3: cannot start agent 'a': there is no preset 'nope'"
    template "${window_a[@]}" "${agent_a[@]}" "command = sh -c 'unclosed"
    finds "$I:3: cannot start agent 'a': its command: unterminated single quote"
    printf '[preset torn]\ncommand = cat %s\n' "\\" >>"$ROOT/mas.ini"
    template "${window_a[@]}" "${agent_a[@]}" 'preset = torn'
    fails 1 template check mine
    [[ $stderr == "mas: $ROOT/mas.ini:"*": [preset torn] command: 'cat \\' is not a program and its arguments, with every quote closed" ]]
}

@test "rules that mean nobody are warned of" {
    template "${window_a[@]}" "${agent_a[@]}" '[rules]' 'worker = unit, managers' 'meta = all'
    ok template check mine
    [ "$output" = "$I:8: warning: [rules] worker: no agent of this team matches: unit, managers
$I:9: warning: [rules] meta: no agent of this team matches: all" ]
}

@test "what stands among the templates and is none is found by a check of all" {
    mkdir "$ROOT/templates/bad name" "$ROOT/templates/empty" "$ROOT/templates/.new-left"
    fails 1 template check
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} == "$ROOT/templates/bad name: cannot use template 'bad name': a name must be 1 to 32 characters"* ]]
    [[ ${lines[1]} == "$ROOT/templates/empty/template.ini: cannot read "*"No such file or directory" ]]
    [ "$stderr" = 'mas: cannot use 2 of 5 templates' ]
    fails 1 template check default nope
    [[ $output == "$ROOT/templates/nope: cannot use template 'nope': there is no such template" ]]
}

@test "a directory that is called by its path is checked" {
    cp -r "$ROOT/templates/pair" "$T/out"
    cd "$T/out"
    ok template check .
    [ -z "$output" ]
    sed -i 's/^rank = worker/rank = w/' template.ini
    fails 1 template check ../out
    [ "$output" = "$T/out/template.ini:$(grep -n '^rank = w$' template.ini | cut -d: -f1): [agent reviewer] rank: a rank must be meta, manager or worker" ]
    chmod o+w template.ini
    mas template check .
    [[ $output == "$T/out/template.ini: cannot use template '$T/out': everybody may write to template.ini" ]]
}

@test "a binary or hostile template.ini does no harm, and moves no terminal" {
    mkdir -p "$D"
    head -c 200000 /dev/urandom >"$I"
    fails 1 template check mine
    [ "${#lines[@]}" -gt 100 ]
    head -c 2000000 /dev/zero | tr '\0' 'x' >"$I"
    fails 1 template check mine
    template '[window w]' 'agents = $(touch ran)' '[agent #(touch ran)]' $'role = \033[31m'
    cd "$T"
    fails 1 template check mine
    [[ $output != *$'\033'* ]]
    run find "$T" -name ran
    [ -z "$output" ]
}

@test "of more than 200 remarks the first are printed, and how many more there are" {
    local i
    template "${window_a[@]}" "${agent_a[@]}"
    for ((i = 0; i < 250; i++)); do mkfifo "$D/unit/a/fifo-$i"; done
    fails 1 template check mine
    [ "${#lines[@]}" -eq 201 ]
    [ "${lines[200]}" = '50 more errors and warnings' ]
    [ "$stderr" = 'mas: cannot use 1 of 1 templates' ]
    [ "$("$MAS" template check --json mine | jq -c '[(.remarks | length), .errors, .warnings]')" = '[200,250,0]' ]
    rm "$D"/unit/a/fifo-{200..249}
    mas template check mine
    [ "${#lines[@]}" -eq 200 ]
    [[ ${lines[199]} == *': it cannot be copied: it is a '* ]]
}

@test "warnings make room for what is wrong" {
    local lines=('[window w]' "agents = $(seq -s , 20)")
    local i
    for ((i = 1; i <= 20; i++)); do
        lines+=("[agent $i]" 'role = r' 'rank = worker' 'group = g' 'preset = keyed')
    done
    printf '[preset keyed]\ncommand = sh\nneeds_env = NOT_SET_ANYWHERE\n' >>"$ROOT/mas.ini"
    template "${lines[@]}"
    mkdir -p "$D/unit/"{1..20}
    for ((i = 0; i < 195; i++)); do mkfifo "$D/unit/1/fifo-$i"; done
    [ "$("$MAS" template check --json mine |
        jq -c '[(.remarks | length), ([.remarks[] | select(.severity == "error")] | length), .errors, .warnings]')" = '[200,195,195,20]' ]
}
