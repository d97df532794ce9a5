#!/usr/bin/env bats
# An agent that ends leaves its pane readable.
load ../helper
load tmux

# A template `made` whose agent is this command
make_template() {
    cp -R "$ROOT/templates/solo" "$ROOT/templates/made"
    sed -i "/^\[agent solo\]/a command = $1" "$ROOT/templates/made/template.ini"
}

has_exited_with() { [ "$(field "$1" '.agents[0].exitStatus')" = "$2" ]; }

has_exited() { [ "$(field "$1" '[.agents[].state] | unique | join(" ")')" = exited ]; }

@test "an agent that ends leaves its pane readable, with its exit status" {
    make_template "sh -c 'echo last words; exit 7'"
    new_session -t made
    eventually has_exited_with "$ID" 7
    [ "$("$MAS" show "$ID" | awk '$1 == "solo" { print $4, $5 }')" = 'exited 7' ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(field "$ID" .agentsRunning) $(field "$ID" .agentsEnded)" = '0 1' ]
    tm capture-pane -p -S - -t "=$(tmux_name "$ID"):" | grep -qx 'last words'
}

@test "an agent that was killed shows the signal" {
    new_session -t solo
    kill -KILL "$(agent_pid "$ID")"
    eventually has_exited_with "$ID" 137
    [ "$(field "$ID" '.agents[0] | "\(.state) \(.signal)"')" = 'crashed 9' ]
}

@test "with remain-on-exit off in the tmux.conf the pane is readable all the same" {
    conf <<<'set -g remain-on-exit off'
    make_template "sh -c 'echo last words; exit 7'"
    new_session -t made
    eventually has_exited "$ID"
    tm capture-pane -p -S - -t "=$(tmux_name "$ID"):" | grep -qx 'last words'
}

@test "an agent that ends at once leaves a pane" {
    make_template true
    for _ in 1 2 3 4 5; do
        new_session -t made
        eventually has_exited_with "$ID" 0
    done
    [ "$("$MAS" list --active -q | wc -l)" -eq 5 ]
}

@test "a whole team that ends at once leaves 13 panes" {
    printf '[preset quick]\ncommand = true\n' >>"$ROOT/mas.ini"
    conf <<<'set -g remain-on-exit off'
    for _ in 1 2 3; do
        new_session --agent quick
        eventually has_exited "$ID"
        [ "$(field "$ID" .agentsEnded)" = 13 ]
        [ "$(windows_of "$(tmux_name "$ID")")" = "$(default_team)" ]
    done
}

@test "a team whose agents have all ended can be stopped and started" {
    make_template true
    new_session -t made
    eventually has_exited "$ID"
    ok stop "$ID"
    ok start "$ID"
    eventually has_exited "$ID"
}
