#!/usr/bin/env bats
# A team is data: any number of agents, any ids, units, windows and layouts.
load ../helper

# make_team NAME LAYOUT UNIT:AGENT...: a template with one window; the first agent of a unit is its
# manager.
make_team() {
    local dir=$ROOT/templates/$1 layout=$2 one unit seen=' ' rank
    shift 2
    mkdir -p "$dir"
    {
        printf '[window all]\nlayout = %s\nagents = %s\n' "$layout" "${*#*:}"
        for one; do
            unit=${one%%:*} rank=worker
            [[ $seen == *" $unit "* ]] || rank=manager
            seen+="$unit "
            mkdir -p "$dir/unit/${one#*:}"
            printf '[agent %s]\nrole = %s of %s\nrank = %s\ngroup = %s\ncommand = cat\n' \
                "${one#*:}" "$rank" "$unit" "$rank" "$unit"
        done
        printf '[rules]\nworker = manager\nmanager = workers, managers\n'
    } >"$dir/template.ini"
}

# The panes' places, sorted by number: "left,top width".
places() { tm list-panes -t "=mas-${ID:0:8}:$1" -F '#{pane_left},#{pane_top} #{pane_width}'; }
# titles_are SED NAMES: of the panes that sed takes; hosts write them when they start.
titles_are() {
    [ "$(tm list-panes -s -t "=mas-${ID:0:8}:" -F '#{pane_title}' | sed -n "$1" | cut -d' ' -f1 | xargs)" = "$2" ]
}
agents_of() { "$MAS" show "$1" --json | jq -r '[.agents[].id] | join(" ")'; }
offered() { "$MAS" complete -- "$@" | xargs; }

@test "a team with other ids works everywhere" {
    make_team odd tiled left:alice left:bob-2 right_side:X_1 right_side:0
    run "$MAS" template check odd
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    new_session -n team -t odd
    [ "$(agents_of team)" = 'alice bob-2 X_1 0' ]
    [ "$("$MAS" list --json | jq .sessions[0].agentsRunning)" = 4 ]

    # targets
    for pair in 'alice alice' 'left alice,bob-2' 'right_side X_1,0' 'managers alice,X_1' \
        'workers bob-2,0' 'all alice,bob-2,X_1,0' '0,alice 0,alice'; do
        run "$MAS" peek team "${pair% *}" --json
        [ "$status" -eq 0 ]
        [ "$(jq -r '[.agents[].id] | join(",")' <<<"$output")" = "${pair#* }" ]
    done
    fails 3 peek team carol
    [[ $stderr == *'the team has: alice, bob-2, X_1, 0, left, right_side, managers, workers, all' ]]

    # messages, logs, states
    "$MAS" send team left 'good morning'
    for agent in alice bob-2; do
        eventually grep -q 'good morning' "$ROOT/sessions/$ID/logs/agent-$agent.log"
    done
    run "$MAS" logs team bob-2
    [[ $output == *'good morning'* ]]
    [ ! -s "$ROOT/sessions/$ID/logs/agent-X_1.log" ]
    run "$MAS" status team --json
    [ "$(jq -r '[.sessions[0].agents[].id] | join(" ")' <<<"$output")" = 'alice bob-2 X_1 0' ]
    "$MAS" restart -q team 0
    "$MAS" wait team right_side --for idle --timeout 10s

    # rules
    "$MAS" send team alice 'from my worker' --from bob-2
    "$MAS" send team X_1 'from a manager' --from alice
    fails 1 send team X_1 'from another unit' --from bob-2
    [[ $stderr == "mas: cannot send to agent 'X_1': the rule for a worker, 'manager', does not let agent 'bob-2' write to it"* ]]

    # completion
    [ "$(offered send team '')" = 'alice bob-2 X_1 0 left right_side managers workers all' ]
    [ "$(offered send team bo)" = bob-2 ]
    [ "$(offered peek team alice X)" = X_1 ]
    [ "$(offered attach team '')" = 'alice bob-2 X_1 0' ]

    "$MAS" stop -q team
    "$MAS" start -q team
    [ "$(agents_of team)" = 'alice bob-2 X_1 0' ]
}

@test "a team of one works" {
    make_team one 3x2 u:only
    new_session -n team -t one
    [ "$(places all)" = '0,1 200' ]
    "$MAS" send team only hello
    eventually grep -q hello "$ROOT/sessions/$ID/logs/agent-only.log"
    run ! "$MAS" attach team nobody
    [ "$(offered logs team '')" = 'only u managers workers all' ]
}

@test "a team of thirty works, in a grid" {
    local agents=()
    for i in {1..30}; do agents+=("unit$((i % 3)):agent-$i"); done
    make_team many 6x5 "${agents[@]}"
    new_session -n team -t many
    [ "$("$MAS" list --json | jq .sessions[0].agentsRunning)" = 30 ]
    [ "$(places all | wc -l)" -eq 30 ]
    # row by row, from left to right
    [ "$(places all | sed -n '1p;2p;7p')" = $'0,1 33\n34,1 33\n0,11 33' ]
    eventually titles_are '1p;30p' 'agent-1 agent-30'
    run "$MAS" peek team unit1 --json
    [ "$(jq '.agents | length' <<<"$output")" -eq 10 ]
    [ "$(offered send team agent-1)" = "$(echo agent-1 agent-{10..19})" ]
    "$MAS" send team all hello
    for i in 1 17 30; do eventually grep -q hello "$ROOT/sessions/$ID/logs/agent-agent-$i.log"; done
}

@test "a grid whose last row is short makes its panes wider" {
    make_team five 3x2 u:a u:b u:c u:d u:e
    new_session -t five
    [ "$(places all)" = $'0,1 66\n67,1 66\n134,1 66\n0,26 100\n101,26 99' ]
}

@test "a grid makes no empty rows, and its panes keep the order of the agents" {
    make_team four 2x9 u:d u:a u:c u:b
    new_session -t four
    [ "$(places all)" = $'0,1 100\n101,1 99\n0,26 100\n101,26 99' ]
    eventually titles_are p 'd a c b'
    make_team row 9x1 u:a u:b u:c
    new_session -t row
    [ "$(places all | cut -d' ' -f1 | xargs)" = '0,1 67,1 134,1' ]
    make_team column 1x9 u:a u:b u:c
    new_session -t column
    [ "$(places all | cut -d, -f1 | xargs)" = '0 0 0' ]
}

@test "every layout is built in the smallest window that has room for it" {
    local layout size
    for one in 'tiled 3x8' 'even-horizontal 9x3' 'even-vertical 1x10' 'main-horizontal 7x4' \
        'main-vertical 3x8' '5x1 9x2' '1x5 1x10' '3x2 5x4' '2x3 3x6'; do
        layout=${one% *} size=${one#* }
        # no setting is smaller than 10x3
        columns=$((${size%x*} < 10 ? 10 : ${size%x*})) rows=$((${size#*x} < 3 ? 3 : ${size#*x}))
        make_team "t-$layout" "$layout" u:a u:b u:c u:d u:e
        MAS_TMUX_SIZE=${columns}x$rows new_session -t "t-$layout"
        [ "$(tm list-windows -t "=mas-${ID:0:8}:" -F '#{window_width}x#{window_height}')" = "${columns}x$rows" ]
        run ! grep -qE '(^| )0x|x0( |$)' <(tm list-panes -t "=mas-${ID:0:8}:" -F '#{pane_width}x#{pane_height}')
        [ "$rows" -eq 3 ] || {
            "$MAS" wait "$ID" --for idle
            before=$(snapshot)
            MAS_TMUX_SIZE=${columns}x$((rows - 1)) mas new -t "t-$layout"
            [ "$status" -eq 6 ]
            [[ $stderr == "mas: cannot start the team: window all of $columns columns and $((rows - 1)) rows has no room for its 5 agents in layout $layout"* ]]
            [ "$(snapshot)" = "$before" ]
        }
        "$MAS" rm -qf "$ID"
    done
}

@test "a grid stays one when its window changes its size" {
    make_team six 3x2 u:a u:b u:c u:d u:e u:f
    new_session -t six
    tm resize-window -t "=mas-${ID:0:8}:all" -x 90 -y 30
    [ "$(places all | cut -d' ' -f1 | cut -d, -f2 | sort | uniq -c | awk '{ print $1 }' | xargs)" = '3 3' ]
    run ! grep -qE '^[01]$' <(tm list-panes -t "=mas-${ID:0:8}:all" -F '#{pane_width}')
}

@test "a grid that is too small for its agents, or none at all, is refused" {
    make_team small 2x2 u:a u:b u:c u:d u:e
    fails 1 new -t small
    [ "$stderr" = "mas: cannot use template 'small': $ROOT/templates/small/template.ini:1: window all has 5 agents, more than the layout 2x2 can hold
see all errors with: mas template check small" ]
    for layout in 0x1 1x0 65x1 2x x2 2x2x2 -1x2 2X2 ' ' 1000x1; do
        make_team "bad" "$layout" u:a
        fails 1 new -t bad
        [[ $stderr == *':2: [window all] layout: a layout must be tiled, '*'COLUMNSxROWS such as 3x2'* ]]
    done
    run tm list-sessions
    [ "$status" -ne 0 ]
}
