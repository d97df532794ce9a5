#!/usr/bin/env bats
# [workspace] lazy = yes, as a host does it: when the directory of its agent is made, where agent and
# pane are before and after, and what happens when it cannot be made.
# shellcheck disable=SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load lib
load ../project

setup_more() { printf '[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"; }

pane_path() { tm display-message -p -t "$PANE" '#{pane_current_path}'; }
pane_is_in() { [ "$(pane_path)" = "$1" ]; }

@test "the first message of an agent on demand makes its directory, and arrives there" {
    script agent <<S
stty -echo
echo ready
while IFS= read -r line; do printf '%s %s %s\n' "\$(pwd -P)" "\$PWD" "\$line" >>'$T/lines'; done
S
    run_agent "bash $T/agent" 'start = demand' 'ready = ^ready'
    hosts_there
    eventually state_is solo asleep
    [ ! -e "$DIR/unit/solo" ]
    eventually pane_is_in "$DIR/unit"
    echo later >"$ROOT/templates/solo/unit/solo/later"
    took solo 'the first'
    took solo second
    eventually grep -q second "$T/lines"
    [ "$(cat "$T/lines")" = "$DIR/unit/solo $DIR/unit/solo the first
$DIR/unit/solo $DIR/unit/solo second" ]
    pane_is_in "$DIR/unit/solo"
    [ -e "$DIR/unit/solo/AGENTS.md" ]
    [ ! -e "$DIR/unit/solo/later" ]
    [ ! -e "$DIR/.snapshot" ]
    [ ! -e "$ROOT/sessions/.snapshots" ]
}

@test "an agent with a work tree starts there, also if its own directory is made first" {
    script agent <<S
stty -echo
echo ready
while IFS= read -r line; do printf '%s %s\n' "\$(pwd -P)" "\$PWD" >>'$T/lines'; done
S
    make_project
    preset made "bash $T/agent" 'start = demand' 'ready = ^ready'
    new_session -t solo --agent made --project "$P"
    find_agent
    hosts_there
    [ ! -e "$DIR/unit/solo" ]
    took solo first
    eventually grep -q . "$T/lines"
    [ "$(cat "$T/lines")" = "$DIR/code/solo $DIR/code/solo" ]
    [ -e "$DIR/unit/solo/AGENTS.md" ]
}

@test "of a team on demand only those have directories that were spoken to" {
    run_team default "sleep $MARK" 'start = demand'
    hosts_there "${DEFAULT_TEAM[@]}"
    [ "$(ls -A "$DIR/unit")" = '' ]
    took 11 hello
    PANE=$(of 20 .pane)
    press x
    ask 30 '{"do":"restart"}' | jq -e .ok >/dev/null
    eventually marked_are 3
    [ "$(find "$DIR/unit" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' ')" = '11 20 30 ' ]
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    hosts_there "${DEFAULT_TEAM[@]}"
    [ "$(find "$DIR/unit" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' ')" = '11 20 30 ' ]
    PANE=$(of 11 .pane)
    eventually pane_is_in "$DIR/unit/11"
}

@test "a start that failed for want of its directory can be tried again, by Enter and by restart" {
    run_agent "sleep $MARK" 'start = demand'
    hosts_there
    mv "$ROOT/sessions/.snapshots" "$T/snapshots"
    run ! took solo hello
    eventually shows "agent solo could not be started: cannot create 'unit/solo' from its snapshot: No such file"
    eventually state_is solo exited
    run "$MAS" restart "$ID" solo
    [ "$status" -ne 0 ]
    [ ! -e "$DIR/unit/solo" ]
    mv "$T/snapshots" "$ROOT/sessions/.snapshots"
    press Enter
    eventually marked_are 1
    pane_is_in "$DIR/unit/solo"
}
