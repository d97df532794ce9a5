#!/usr/bin/env bats
load ../helper

# A template `mine` whose template.ini holds these lines, with a directory for agents a and b.
template() {
    mkdir -p "$ROOT/templates/mine/unit/a" "$ROOT/templates/mine/unit/b" "$ROOT/templates/mine/workflows"
    printf '%s\n' "$@" >"$ROOT/templates/mine/template.ini"
}

window_a=('[window w]' 'agents = a')
agent_a=('[agent a]' 'role = worker' 'rank = worker' 'group = g')

# `mas new` refuses the template with this reason behind its path, and leaves nothing.
refused() {
    local before
    before=$(snapshot)
    mas new -t mine
    if [ "$status" -ne 1 ] || [ "${stderr_lines[0]}" != "mas: cannot use template 'mine': $ROOT/templates/mine/template.ini$1" ]; then
        echo "said ($status): $stderr"
        return 1
    fi
    [ -z "$output" ] && [ "$(snapshot)" = "$before" ] || return
    run tm list-sessions
    [ "$status" -ne 0 ]
}

# agents.ini is refused by new with this text behind its path.
presets_refused() {
    mas new -t solo
    if [ "$status" -ne 1 ] || [ "$stderr" != "mas: $ROOT/templates/agents.ini$1" ]; then
        echo "said ($status): $stderr"
        return 1
    fi
    [ -z "$(ls -A "$ROOT/sessions")" ]
}
presets() { printf '%s\n' "$@" >"$ROOT/templates/agents.ini"; }

@test "the shipped templates are whole and their presets default" {
    for name in default pair solo; do
        ok new -q -t $name --no-start
        config=$ROOT/sessions/$output/config.json
        [ "$(jq -r .template "$config")" = $name ]
        for agent in $(jq -r '.team[].id' "$config"); do
            [ -s "$ROOT/sessions/$output/unit/$agent/AGENTS.md" ]
            [ "$(readlink "$ROOT/sessions/$output/unit/$agent/CLAUDE.md")" = AGENTS.md ]
        done
    done
}

@test "the default template is a meta manager and three units of four" {
    new_session --no-start
    config=$ROOT/sessions/$ID/config.json
    [ "$(jq -r '[.team[].id] | join(" ")' "$config")" = "00 10 11 12 13 20 21 22 23 30 31 32 33" ]
    [ "$(jq -r '[.windows[] | .name + ":" + (.agents | join(","))] | join(" ")' "$config")" = \
        "meta:00 design:10,11,12,13 development:20,21,22,23 business:30,31,32,33" ]
    [ "$(jq -r '[.team[] | select(.rank == "manager") | .id] | join(" ")' "$config")" = "10 20 30" ]
    [ "$(jq -r '[.team[] | select(.rank == "meta") | .id] | join(" ")' "$config")" = "00" ]
}

@test "a smallest template works" {
    template "${window_a[@]}" "${agent_a[@]}"
    ok new -q -t mine
    [ "$(field "$output" .agentsRunning)" = 1 ]
}

@test "config.json holds what template.ini says" {
    template '[template]' 'description = Größe; with a "quote" # and all' 'preset = shell' \
        '[window one]' 'agents = b, a' 'layout = even-vertical' \
        '[agent a]' 'role = the ä role' 'rank = meta' 'group = g1' 'model = m/1 x' 'command = sh -c "echo a; sleep 1"' 'system = be nice' 'wall = require' 'units = team' 'limits.memory = 2G' 'limits.cpus = 1.5' \
        '[agent b]' 'role = r' 'rank = worker' 'group = g2' 'preset = claude' 'start = demand' \
        '[rules]' 'worker = manager, unit' 'meta = all'
    new_session -t mine --no-start
    [ "$(jq -cS . "$ROOT/sessions/$ID/config.json")" = "$(jq -cS . <<'EOF'
{"version":"1.0","template":"mine","description":"Größe; with a \"quote\" # and all","preset":"shell","wall":"default",
 "windows":[{"name":"one","layout":"even-vertical","agents":["b","a"]}],
 "team":[{"id":"a","role":"the ä role","rank":"meta","group":"g1","preset":"","model":"m/1 x","command":"sh -c \"echo a; sleep 1\"","system":"be nice","wall":"require","units":"team","limits":{"memory":"2147483648","cpus":"1.5"}},
         {"id":"b","role":"r","rank":"worker","group":"g2","preset":"claude","model":"","command":"","system":"","start":"demand"}],
 "rules":{"meta":["all"],"manager":[],"worker":["manager","unit"]}}
EOF
)" ]
}

@test "long values are kept whole" {
    long=$(printf '%04000d' 0)
    template "${window_a[@]}" "${agent_a[@]}" "system = $long" "command = sh -c 'sleep 1000' $long"
    new_session -t mine
    [ "$(jq -r .team[0].system "$ROOT/sessions/$ID/config.json")" = "$long" ]
    pid=$(agent_pid "$ID")
    eventually grep -qaz "$long" "/proc/$pid/cmdline"
}

@test "a section, key or value that is wrong is told with file and line" {
    template '[templat]'
    refused ":1: [templat]: unknown section; did you mean '[template]'?"
    [ "${stderr_lines[1]}" = 'see all errors with: mas template check mine' ]
    template '[template]' 'name = x'
    refused ':2: [template] name: unknown key'
    template "${window_a[@]}" 'colour = red' "${agent_a[@]}"
    refused ':3: [window w] colour: unknown key in a window'
    template "${window_a[@]}" "${agent_a[@]}" 'rol = x'
    refused ":7: [agent a] rol: unknown or empty key in an agent; did you mean 'role'?"
    template "${window_a[@]}" 'layout = round' "${agent_a[@]}"
    refused ':3: [window w] layout: a layout must be tiled, even-horizontal, even-vertical, main-horizontal, main-vertical, or COLUMNSxROWS such as 3x2'
    template "${window_a[@]}" "${agent_a[@]}" 'start = later'
    refused ":7: [agent a] start: 'later' is not now or demand"
    template "${window_a[@]}" '[agent a]' 'role = x' 'rank = boss'
    refused ':5: [agent a] rank: a rank must be meta, manager or worker'
    template "${window_a[@]}" "${agent_a[@]}" '[rules]' 'boss = all'
    refused ':8: [rules] boss: a rule must be for meta, manager or worker'
    template "${window_a[@]}" "${agent_a[@]}" '[rules]' 'worker = unit, everyone'
    refused ':8: [rules] worker: a rule must list manager, unit, workers, managers, meta or all'
    template "${window_a[@]}" "${agent_a[@]}" 'preset = no word'
    refused ":7: [agent a] preset: 'no word' is not 1 to 32 characters of A-Z a-z 0-9 _ -"
    template "${window_a[@]}" "${agent_a[@]}" "model = $(printf '%0257d' 0)"
    refused ':7: [agent a] model: it is longer than 256 bytes'
}

@test "names of windows and agents are words" {
    for name in '#(touch ran)' 'a b' 'a;b' 'ä' "$(printf '%033d' 0)" 'a.b' '../a' "\$(touch ran)"; do
        template "[window $name]" 'agents = a' "${agent_a[@]}"
        refused ":1: [window $name]: a window's name must be 1 to 32 characters of A-Z a-z 0-9 _ -"
        template "${window_a[@]}" "[agent $name]" 'role = x'
        refused ":3: [agent $name]: an agent's id must be 1 to 32 characters of A-Z a-z 0-9 _ -, the first not -"
    done
    template "${window_a[@]}" "${agent_a[@]}" '[window w]' 'layout = tiled'
    refused ':7: [window w]: duplicate window name'
    template "${window_a[@]}" "${agent_a[@]}" '[agent a]' 'model = x'
    refused ':7: [agent a]: duplicate agent id'
    run find "$T" -name 'ran*'
    [ -z "$output" ]
}

@test "a role is text without control characters" {
    template "${window_a[@]}" '[agent a]' "role = $(printf '%065d' 0)"
    refused ':4: [agent a] role: a role must be 1 to 64 bytes of UTF-8 without control characters'
    template "${window_a[@]}" '[agent a]' $'role = a\xff'
    refused ':4: [agent a] role: a role must be 1 to 64 bytes of UTF-8 without control characters'
    template "${window_a[@]}" '[agent a]' $'role = a\033[31m'
    refused ':4: the line contains a control character'
    template "${window_a[@]}" '[agent a]' 'role ='
    refused ':4: [agent a] role: a role must be 1 to 64 bytes of UTF-8 without control characters'
}

@test "a hostile role is shown as it is and run nowhere" {
    cd "$T"
    # shellcheck disable=SC2016
    role='#(touch ran)$(touch ran)`touch ran`;#{pane_id}'
    template "${window_a[@]}" '[agent a]' "role = $role" 'rank = worker' 'group = g' \
        'command = sh -c "env >env.new; mv env.new env.txt; exec sleep 1000"'
    new_session -t mine
    [ "$(field "$ID" '.agents[0].role')" = "$role" ]
    eventually [ -f "$ROOT/sessions/$ID/unit/a/env.txt" ]
    grep -qxF "MAS_AGENT_ROLE=$role" "$ROOT/sessions/$ID/unit/a/env.txt"
    [[ $(tm list-panes -s -t "=mas-${ID:0:8}:" -F '#{pane_title}') == *"$role"* ]]
    "$MAS" show "$ID" >/dev/null
    run find "$T" -name 'ran*'
    [ -z "$output" ]
}

@test "a team must fit together" {
    template '[template]' 'description = empty'
    refused ': it has no agents'
    template "${window_a[@]}" '[agent a]' 'rank = worker' 'group = g'
    refused ':3: agent a lacks its role'
    template "${window_a[@]}" '[agent a]' 'role = x' 'group = g'
    refused ':3: agent a lacks its rank'
    template "${window_a[@]}" '[agent a]' 'role = x' 'rank = worker'
    refused ':3: agent a lacks its group'
    template "${window_a[@]}" "${agent_a[@]}" '[agent b]' 'role = x' 'rank = worker' 'group = g'
    refused ':7: agent b is in no window'
    template '[window w]' 'agents = a, c' "${agent_a[@]}"
    refused ':2: agent c is not defined'
    template '[window w]' 'agents = a' '[window v]' 'agents = a' "${agent_a[@]}"
    refused ':4: agent a is in two windows'
    template "${window_a[@]}" '[window v]' "${agent_a[@]}"
    refused ':3: window v has no agents'
}

@test "text that is no INI file is refused with its line" {
    template 'agents = a'
    refused ":1: key 'agents' comes before the first [section]"
    template '[window w]' 'agents a'
    refused ":2: missing '='"
    template '[window w' 'agents = a'
    refused ":1: missing ']'"
    template "${window_a[@]}" 'agents = a' "${agent_a[@]}"
    refused ':3: [window w] agents: duplicate key: first used in line 2'
    printf '[window w]\nagents = a\0b\n' >"$ROOT/templates/mine/template.ini"
    refused ':2: the line contains a NUL byte'
    printf '\xef\xbb\xbf[window w]\n' >"$ROOT/templates/mine/template.ini"
    refused ':1: the file begins with a byte order mark'
    head -c 3000 /dev/urandom | tr -d '\0' >"$ROOT/templates/mine/template.ini"
    fails 1 new -t mine
    [[ $stderr == "mas: cannot use template 'mine': $ROOT/templates/mine/template.ini:"* ]]
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "too many agents are refused" {
    lines=()
    ids=()
    for i in $(seq 257); do
        lines+=("[agent x$i]" 'role = x' 'rank = worker' 'group = g')
        ids+=("x$i")
    done
    template '[window w]' "agents = ${ids[*]}" "${lines[@]}"
    fails 1 new -t mine
    [ "${stderr_lines[0]}" = "mas: cannot use template 'mine': $ROOT/templates/mine/template.ini:1027: [agent x257]: the team has more than 256 agents" ]
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "an agent without a directory is refused" {
    template "${window_a[@]}" "${agent_a[@]}"
    rmdir "$ROOT/templates/mine/unit/a"
    before=$(snapshot)
    fails 1 new -t mine
    [ "$stderr" = "mas: cannot use template 'mine': agent a has no directory unit/a: No such file or directory" ]
    [ "$(snapshot)" = "$before" ]
    echo x >"$ROOT/templates/mine/unit/a"
    fails 1 new -t mine
    [[ $stderr == "mas: cannot use template 'mine': agent a has no directory unit/a: "* ]]
}

@test "links that lead out of the template are not followed" {
    mkdir "$T/out"
    echo secret >"$T/out/file"
    template "${window_a[@]}" "${agent_a[@]}"
    rmdir "$ROOT/templates/mine/unit/a"
    ln -s "$T/out" "$ROOT/templates/mine/unit/a"
    fails 1 new -t mine
    [[ $stderr == "mas: cannot use template 'mine': agent a has no directory unit/a: "* ]]
    rm -r "$ROOT/templates/mine/unit"
    mkdir "$T/out/a"
    ln -s "$T/out" "$ROOT/templates/mine/unit"
    fails 1 new -t mine
    rm "$ROOT/templates/mine/unit"
    mkdir -p "$ROOT/templates/mine/unit/a"
    mv "$ROOT/templates/mine/template.ini" "$T/out"
    ln -s "$T/out/template.ini" "$ROOT/templates/mine/template.ini"
    fails 1 new -t mine
    [[ $stderr == "mas: cannot read '$ROOT/templates/mine/template.ini': "* ]]
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "a template without template.ini, without unit or with a FIFO for it is refused" {
    template "${window_a[@]}" "${agent_a[@]}"
    rm "$ROOT/templates/mine/template.ini"
    mas new -t mine
    [ "$status" -ne 0 ]
    [[ $stderr == "mas: cannot read '$ROOT/templates/mine/template.ini': No such file or directory"* ]]
    mkfifo "$ROOT/templates/mine/template.ini"
    mas new -t mine
    [ "$status" -ne 0 ]
    [[ $stderr == "mas: cannot "*"$ROOT/templates/mine/template.ini"* ]]
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "a template without workflows is fine" {
    template "${window_a[@]}" "${agent_a[@]}"
    rmdir "$ROOT/templates/mine/workflows"
    new_session -t mine --no-start
    [ -d "$ROOT/sessions/$ID/workflows" ]
}

@test "a changed template changes nothing in sessions that were made of it" {
    template "${window_a[@]}" "${agent_a[@]}"
    new_session -t mine --no-start
    template '[broken'
    rm -r "$ROOT/templates/mine/unit"
    ok start "$ID"
    [ "$(field "$ID" .agentsRunning)" = 1 ]
}

@test "an error in agents.ini is told with file and line" {
    presets '[preset shell]' 'command =' 'colour = red'
    presets_refused ':3: [preset shell] colour: unknown key in a preset'
    presets '[presets]'
    presets_refused ":1: [presets]: unknown section; did you mean '[preset NAME]'?"
    presets '[tmux]' 'size = 80x24'
    presets_refused ':1: [tmux]: unknown section'
    presets '[preset a b]'
    presets_refused ":1: [preset a b]: a preset's name must be 1 to 32 characters of A-Z a-z 0-9 _ -"
    presets '[preset a]' 'protocol = http'
    presets_refused ':2: [preset a] protocol: '"'"'http'"'"' is not tty or acp'
    presets '[preset a]' 'permission.paint = ask'
    presets_refused ':2: [preset a] permission.paint: unknown kind of tool'
    presets '[preset a]' 'permission.serch = ask'
    presets_refused ":2: [preset a] permission.serch: unknown kind of tool; did you mean 'search'?"
    presets '[preset a]' 'env.1X = y'
    presets_refused ":2: [preset a] env.1X: '1X' is not a name of an environment variable"
    presets '[preset a]' 'env.A-B = y'
    presets_refused ":2: [preset a] env.A-B: 'A-B' is not a name of an environment variable"
    presets '[preset a]' 'env. = y'
    presets_refused ":2: [preset a] env.: '' is not a name of an environment variable"
    presets '[preset a]' 'env.MAS_SESSION_ID = y'
    presets_refused ':2: [preset a] env.MAS_SESSION_ID: '"'"'MAS_SESSION_ID'"'"' is set by mas itself'
    presets '[preset a]' 'role_env.MAS_ROOT = y'
    presets_refused ":2: [preset a] role_env.MAS_ROOT: 'MAS_ROOT' is set by mas itself"
    presets '[preset a]' 'wall.env.MAS_ROOT = y'
    presets_refused ":2: [preset a] wall.env.MAS_ROOT: 'MAS_ROOT' is set by mas itself"
    presets '[preset a]' 'sandbox_off.env.A-B = y'
    presets_refused ":2: [preset a] sandbox_off.env.A-B: 'A-B' is not a name of an environment variable"
    presets '[preset a]' 'command = x' 'command = y'
    presets_refused ':3: [preset a] command: duplicate key: first used in line 2'
}

@test "every key of a preset is checked" {
    while IFS='|' read -r key value want; do
        presets '[preset a]' "$key = $value"
        presets_refused ":2: [preset a] $key: '$value' is not $want"
    done <<'EOF'
start|later|now or demand
permission|maybe|ask, allow or deny
permission.read||ask, allow or deny
initialize_timeout|soon|a time such as 200ms, 2s or 1m, up to 24h
resume_timeout|25h|a time such as 200ms, 2s or 1m, up to 24h
end_timeout|-1s|a time such as 200ms, 2s or 1m, up to 24h
hibernate|soon|no, or a time such as 30s or 15m, up to 24h
hibernate|0|no, or a time such as 30s or 15m, up to 24h
budget.cost|5|an amount and its currency, such as 5 USD, or none
budget.tokens|many|a number of tokens, such as 200k or 5M, or none
budget.turns|0|a number of turns from 1 on, or none
budget.time|5|a time such as 90m, 8h or 2d, up to a year, or none
limits.agent|much|a size up to 1024T, such as 500M, or none
limits.memory|1M|a size from 16M to 1024T, such as 2G, or none
limits.cpus|1.234|a number of CPUs up to 4096, such as 1.5, or none
limits.processes|-1|a number up to 4194304, or none
tools|maybe|yes or no
tokens|all|turn or session
sandbox_off.args|--a 'b|a program and its arguments, with every quote closed
sandbox_off.session|{"a": 1|a JSON object of at most 4 KiB
sandbox_off.session|[]|a JSON object of at most 4 KiB
command|fix 'it|a program and its arguments, with every quote closed
command|run "|a program and its arguments, with every quote closed
command|back\|a program and its arguments, with every quote closed
operator||yes or no
offers|terminal files|a list of fs, terminal, elicitation, auth, session, subagents
hold|soon|a time such as 200ms, 2s or 1m, up to 24h
executes|maybe|yes or no
wall.level||off, try or require
wall.home|/x|a list of at most 64 paths below the home directory, such as .config/x .gitconfig:ro, none of them below another one
wall.home|a/../b|a list of at most 64 paths below the home directory, such as .config/x .gitconfig:ro, none of them below another one
wall.home|.a:rw|a list of at most 64 paths below the home directory, such as .config/x .gitconfig:ro, none of them below another one
wall.home|.a .a/b:ro|a list of at most 64 paths below the home directory, such as .config/x .gitconfig:ro, none of them below another one
wall.read|x|a list of paths that begin with / or ~/, without . and ..
wall.write|/a/../b|a list of paths that begin with / or ~/, without . and ..
wall.network|a/b|open, none, or hosts: a name, *.NAME or an address, each perhaps with :PORT
wall.nested|on|yes or no
start||now or demand
restart|always|never or on-crash
restart_limit|1001|a number from 0 to 1000
restart_limit|-1|a number from 0 to 1000
restart_delay|soon|a time such as 200ms, 2s or 1m, up to 24h
restart_delay|25h|a time such as 200ms, 2s or 1m, up to 24h
idle|2 s|a time such as 200ms, 2s or 1m, up to 24h
ready_after||a time such as 200ms, 2s or 1m, up to 24h
ready_timeout|1.5s|a time such as 200ms, 2s or 1m, up to 24h
enter_delay|-1ms|a time such as 200ms, 2s or 1m, up to 24h
memory|lots|a size such as 400M or 2G, up to 1024T
memory|1025T|a size such as 400M or 2G, up to 1024T
ready|a(b|an extended regular expression
waiting|[a|an extended regular expression
title_working|*(|an extended regular expression
title_idle|a{2,1}|an extended regular expression
title_waiting|(|an extended regular expression
reads|a/b|a list of at most 16 file names
reads|AGENTS.md, ..|a list of at most 16 file names
role_option|say 'it|a program and its arguments, with every quote closed
told.database.sessions|DELETE FROM session|a SELECT of SQL of at most 1 KiB
picture|path|a text with {path}, such as @{path}
role_file|../AGENTS.md|the name of a file, at most 64 bytes
role_file|.|the name of a file, at most 64 bytes
login_files|/etc/login|a list of at most 4 paths below the home, such as .agent/login.json
login_files|a ../b|a list of at most 4 paths below the home, such as .agent/login.json
login_files|a b c d e|a list of at most 4 paths below the home, such as .agent/login.json
needs_env|A-B|a list of at most 32 names of environment variables
needs_env|A, 1B|a list of at most 32 names of environment variables
EOF
    presets '[preset a]' "waiting = $(printf '%0513d' 0)"
    presets_refused ":2: [preset a] waiting: '$(printf '%0513d' 0)' is not a text of at most 512 bytes"
}

@test "a preset's command is split by the shell's quoting rules and nothing in it is expanded" {
    cat >"$T/args" <<'EOF'
#!/bin/sh
for a in "$@"; do printf '<%s>\n' "$a"; done >"$OUT.new"
mv "$OUT.new" "$OUT"
exec sleep 1000
EOF
    chmod +x "$T/args"
    cd "$T"
    # shellcheck disable=SC2016
    presets '[preset p]' "env.OUT = $T/out" \
        "command = $T/args a 'b  c' \"d \\\" e\" f\\ g '' \$HOME \$(touch ran) \`touch ran\` ~ * ; a#b # {x,y} 'end;'"
    new_session -t solo --agent p
    eventually [ -f "$T/out" ]
    # shellcheck disable=SC2016
    [ "$(cat "$T/out")" = '<a>
<b  c>
<d " e>
<f g>
<>
<$HOME>
<$(touch>
<ran)>
<`touch>
<ran`>
<~>
<*>
<;>
<a#b>
<#>
<{x,y}>
<end;>' ]
    [ ! -e "$T/ran" ]
    [ ! -e "$ROOT/sessions/$ID/unit/solo/ran" ]
}

@test "a quote that is not closed in a command is refused before anything is made" {
    presets '[preset p]' "command = sh -c 'sleep 1"
    mas new -t solo --agent p
    [ "$status" -ne 0 ]
    [[ $stderr == "mas: $ROOT/templates/agents.ini:2: [preset p] command: "*' is not a program and its arguments, with every quote closed' ]]
    [ -z "$(find "$ROOT/sessions" -mindepth 1 -type d)" ]
}

@test "a preset's env is set, and its value is kept whole" {
    # shellcheck disable=SC2016
    presets '[preset p]' 'command = sh -c "env >env.new; mv env.new env.txt; exec sleep 1000"' \
        'env.MY_ONE = a b; c # d $HOME' 'env.PATH = /usr/bin:/bin' 'env.EMPTY ='
    new_session -t solo --agent p
    file=$ROOT/sessions/$ID/unit/solo/env.txt
    eventually [ -f "$file" ]
    # shellcheck disable=SC2016
    grep -qxF 'MY_ONE=a b; c # d $HOME' "$file"
    grep -qxF 'EMPTY=' "$file"
    grep -qE '^PATH=.*/usr/bin:/bin$' "$file"
}

@test "model_option and model are given to the program" {
    presets '[preset p]' "command = sh -c 'sleep 1000; exit' x" 'model_option = --model'
    template "${window_a[@]}" "${agent_a[@]}" 'preset = p' 'model = big one'
    new_session -t mine
    pid=$(agent_pid "$ID")
    eventually grep -qaz 'big one' "/proc/$pid/cmdline"
    [ "$(tr '\0' '|' <"/proc/$pid/cmdline")" = "sh|-c|sleep 1000; exit|x|--model|big one|" ]
}

@test "a preset in mas.ini goes over that of agents.ini, key by key" {
    presets '[preset p]' 'command = sleep 1111' 'env.ONE = 1'
    printf '[preset p]\ncommand = sleep 2222\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent p
    pid=$(agent_pid "$ID")
    eventually grep -qaz 2222 "/proc/$pid/cmdline"
    grep -qaz ONE=1 "/proc/$pid/environ"
}

@test "without agents.ini the presets of mas.ini remain" {
    rm "$ROOT/templates/agents.ini"
    fails 3 new -t solo
    [ "$stderr" = "mas: cannot start agent 'solo': there is no preset 'shell'
presets are in templates/agents.ini and mas.ini" ]
    printf '[preset shell]\ncommand =\n' >>"$ROOT/mas.ini"
    ok new -t solo
}

@test "a template that names a preset that is not there is refused" {
    template "${window_a[@]}" "${agent_a[@]}" 'preset = nope'
    fails 3 new -t mine
    [[ $stderr == "mas: cannot start agent 'a': there is no preset 'nope'"* ]]
    [ -z "$(find "$ROOT/sessions" -mindepth 1 -type d)" ]
}
