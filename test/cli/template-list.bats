#!/usr/bin/env bats
# mas template list, mas template show
load ../helper

@test "list shows each template with its agents, where it is from and its description" {
    cp -r "$ROOT/templates/pair" "$ROOT/templates/mine"
    sed -i 's/^description.*/description = solo, changed/' "$ROOT/templates/solo/template.ini"
    ok template list
    [ -z "$stderr" ]
    [ "${lines[0]}" = 'TEMPLATE  AGENTS  FROM     DESCRIPTION' ]
    [[ ${lines[1]} == 'default   13      shipped  13 agents: '* ]]
    [[ ${lines[2]} == 'mine      2       own      2 agents: '* ]]
    [[ ${lines[3]} == 'pair      2       shipped  2 agents: '* ]]
    [ "${lines[4]}" = 'solo      1       changed  solo, changed' ]
    [ "${#lines[@]}" -eq 5 ]
}

@test "list as JSON has the path of each, and -q prints names" {
    mas template list --json
    [ "$(jq -r '.templates[] | "\(.name) \(.agents) \(.origin) \(.problem) \(.path)"' <<<"$output")" = \
        "default 13 shipped null $ROOT/templates/default
pair 2 shipped null $ROOT/templates/pair
solo 1 shipped null $ROOT/templates/solo" ]
    mas template list -q
    [ "$output" = $'default\npair\nsolo' ]
}

@test "broken templates are listed with the reason, and the others are none the worse" {
    mkdir "$ROOT/templates/empty" "$ROOT/templates/bad name" "$ROOT/templates/wrong" "$ROOT/templates/"$'a\033[31m'
    printf '[window w]\nagents = a\n[agent a]\nrank = king\n' >"$ROOT/templates/wrong/template.ini"
    ln -s /nowhere "$ROOT/templates/gone"
    ok template list
    grep -q '^default  *13  *shipped' <<<"$output"
    [[ $output == *"wrong "*"-  "*"own "*"broken: $ROOT/templates/wrong/template.ini:4: [agent a] rank: a rank must be meta, manager or worker"* ]]
    [[ $output == *"empty "*"broken: cannot read '$ROOT/templates/empty/template.ini': No such file or directory"* ]]
    [[ $output == *"bad name "*'broken: a name must be 1 to 32 characters'* ]]
    [[ $output != *$'\033'* ]]
    [[ $output == *'a\x1b[31m '* ]]
    [ "$("$MAS" template list --json | jq -r '.templates[] | select(.name == "wrong") | .description, .agents, .problem')" = \
        "null
0
$ROOT/templates/wrong/template.ini:4: [agent a] rank: a rank must be meta, manager or worker" ]
    mas template list -q
    [ "$output" = $'default\npair\nsolo\nwrong' ]
}

@test "list of a root without templates is empty" {
    rm -r "$ROOT/templates"
    ok template list
    [ "$output" = 'TEMPLATE  AGENTS  FROM  DESCRIPTION' ]
    mas template list --json
    [ "$output" = '{"templates":[]}' ]
}

@test "show tells the windows, the agents with role, unit and preset, the rules and the size" {
    sed -i 's/^layout = even-horizontal/layout = 2x1/; s/^preset =$/preset = claude/' "$ROOT/templates/pair/template.ini"
    ok template show pair
    grep -qx 'template  *pair' <<<"$output"
    grep -qx "path  *$ROOT/templates/pair" <<<"$output"
    grep -qx 'agents  *2' <<<"$output"
    grep -qx 'a manager writes to  *workers' <<<"$output"
    grep -qx 'a worker writes to  *manager' <<<"$output"
    grep -qx 'pair  *2x1  *lead  *lead  *pair  *manager  *claude' <<<"$output"
    grep -qx '  *reviewer  *reviewer  *pair  *worker  *claude' <<<"$output"
    files=$(find "$ROOT/templates/pair/unit" "$ROOT/templates/pair/workflows" ! -type d | wc -l)
    grep -qE "^files +$files, [0-9.]+K\$" <<<"$output"
}

@test "show as JSON has all that template.ini says" {
    mas template show default --json
    [ "$(jq -r '[.windows[].name] | join(" ")' <<<"$output")" = 'meta design development business' ]
    [ "$(jq -r '[.team[].id] | join(" ")' <<<"$output")" = '00 10 11 12 13 20 21 22 23 30 31 32 33' ]
    [ "$(jq -r '.rules.worker | join(" ")' <<<"$output")" = 'manager unit' ]
    [ "$(jq -r .path <<<"$output")" = "$ROOT/templates/default" ]
    files=$(find "$ROOT/templates/default/unit" "$ROOT/templates/default/workflows" ! -type d | wc -l)
    bytes=$(find "$ROOT/templates/default/unit" "$ROOT/templates/default/workflows" ! -type d -printf '%s\n' | awk '{ n += $1 } END { print n }')
    [ "$(jq -r '"\(.files) \(.bytes)"' <<<"$output")" = "$files $bytes" ]
}

@test "show of a directory tells its path" {
    cp -r "$ROOT/templates/pair" "$T/else where"
    cd "$T"
    for path in './else where' "$T/else where" 'else where/../else where/'; do
        mas template show "$path" --json
        [ "$(jq -r '"\(.name) \(.path)"' <<<"$output")" = "$T/else where $T/else where" ]
    done
    cd "$ROOT/templates/pair"
    mas template show . --json
    [ "$(jq -r .name <<<"$output")" = pair ]
}

@test "show of what is not there or broken fails and says what to do" {
    fails 3 template show nope
    [ "$stderr" = "mas: cannot use template 'nope': there is no such template"$'\n'"the templates are: default, pair, solo" ]
    fails 3 template show ./nope
    [ "$stderr" = "mas: cannot use template './nope': there is no such directory" ]
    echo broken >"$ROOT/templates/solo/template.ini"
    fails 1 template show solo
    [[ $stderr == *"template.ini:1: "*$'\n''see all errors with: mas template check solo' ]]
    fails 2 template show
    fails 2 template show a b
}

@test "template without an action, or with one that is not there, is a usage error" {
    fails 2 template
    [[ $stderr == "mas: cannot run 'template': it needs ACTION [OPERAND...]"$'\n'"usage: mas template "* ]]
    fails 2 template nope
    [ "$stderr" = "mas: cannot run 'template': there is no action 'nope'"$'\n''see: mas help template' ]
    fails 2 template list --nope
    [[ $stderr == *"usage: mas template list [OPTION...]"* ]]
    fails 2 template list extra
}

@test "help of template lists its actions, and each has help of its own" {
    ok help template
    actions=$(sed -n '/^actions:/,/^$/s/^  \([a-z]*\)  .*/\1/p' <<<"$output")
    [ "$(xargs <<<"$actions")" = 'list show check copy make diff edit' ]
    for action in $actions; do
        ok help template "$action"
        [[ ${lines[0]} == "usage: mas template $action [OPTION...]"* ]]
        [ "$("$MAS" template "$action" --help)" = "$output" ]
        [ "$("$MAS" template --help "$action")" = "$output" ]
    done
    fails 2 help template nope
    fails 2 help list nope
    [ "$stderr" = "mas: cannot show help for 'list nope': there is no such action"$'\n''see: mas help list' ]
}

# shellcheck disable=SC2154 # set by run
@test "list marks what was changed and what is outdated, agents.ini too, and diff shows how" {
    local mas=$T/newer/build/mas
    mkdir -p "$T/newer/build"
    cp "$MAS" "$mas"
    cp -a "$PROJECT/templates" "$T/newer/templates"
    mas template list --json
    [ "$(jq -c '[.agents_ini, (.templates[] | .origin, .outdated)]' <<<"$output")" = \
        '[{"origin":"shipped","outdated":false},"shipped",false,"shipped",false,"shipped",false]' ]
    ok template diff
    [ -z "$output$stderr" ]
    printf 'newer\n' >>"$T/newer/templates/solo/template.ini"
    printf 'newer\n' >>"$T/newer/templates/pair/unit/lead/AGENTS.md"
    printf '# mine\033[31m\n' >>"$ROOT/templates/agents.ini"
    printf 'mine\n' >>"$ROOT/templates/default/workflows/mine.md"
    printf 'mine\n' >>"$ROOT/templates/pair/unit/lead/AGENTS.md"
    MAS=$mas ok template list
    [[ ${lines[1]} == 'default   13      changed            13 agents: '* ]]
    [[ ${lines[2]} == 'pair      2       changed, outdated  2 agents: '* ]]
    [[ ${lines[3]} == 'solo      1       shipped, outdated  '* ]]
    [[ $output == *$'\nagents.ini: changed' ]]
    [ "$("$mas" template list --json | jq -c '[.agents_ini, (.templates[] | .origin, .outdated)]')" = \
        '[{"origin":"changed","outdated":false},"changed",false,"changed",true,"shipped",true]' ]
    MAS=$mas ok template diff pair
    grep -qxF -- '-newer' <<<"$output"
    grep -qxF -- '+mine' <<<"$output"
    [[ $output != *solo* ]]
    MAS=$mas mas template diff
    grep -qF -- '+# mine\x1b[31m' <<<"$output"
    [[ $output == *"+++ $ROOT/templates/default/workflows/mine.md"* ]]
    [[ $output == *"+++ $ROOT/templates/solo/template.ini"* ]]
    [[ $output != *$'\033'* ]]
}

@test "diff refuses what is not shipped, and what the root has no more" {
    cp -r "$ROOT/templates/pair" "$ROOT/templates/mine"
    rm -r "$ROOT/templates/solo"
    fails 3 template diff mine
    [ -z "$output" ]
    [[ $stderr == "mas: cannot compare 'mine': mas does not ship it"* ]]
    fails 3 template diff solo
    [[ $stderr == "mas: cannot compare 'solo': it is missing in the root"*'mas init'* ]]
    mkdir "$T/none"
    run --separate-stderr env "PATH=$T/none" "$MAS" template diff pair
    [ "$status" -eq 0 ]
    echo mine >>"$ROOT/templates/pair/template.ini"
    run --separate-stderr env "PATH=$T/none" "$MAS" template diff pair
    [ "$status" -eq 1 ]
    [[ $stderr == "mas: cannot compare 'pair': diff is not installed"* ]]
}
