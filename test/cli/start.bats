#!/usr/bin/env bats
# Starting again: what was stopped or has crashed comes back; what cannot start stays as it was.
load ../helper

# A template `made`: one agent that runs the shell script on stdin.
make_template() {
    cp -R "$ROOT/templates/solo" "$ROOT/templates/made"
    cat >"$ROOT/templates/made/unit/solo/agent.sh"
    sed -i '/^\[agent solo\]/a command = sh agent.sh' "$ROOT/templates/made/template.ini"
}

unit() { echo "$ROOT/sessions/$1/unit/solo"; }

# The agent of session $1 is in directory $2.
works_in() { [ "$(tm display-message -p -t "=mas-${1:0:8}:" '#{pane_current_path}')" = "$2" ]; }

is_tmux_session() { tm has-session -t "=mas-${1:0:8}:" 2>/dev/null; }
is_no_tmux_session() { ! is_tmux_session "$1"; }

# What `list` says, but for the times
rows() { "$MAS" list --all --json | jq -S '[.sessions[] | del(.lastActivity)]'; }

teardown_more() {
    grep -lsz "^MAS_SESSION_DIR=$T/" /proc/[0-9]*/environ | cut -d/ -f3 |
        xargs -r kill -KILL 2>/dev/null || true
}

# A start that fails leaves disk and list as they were, and nothing in tmux.
fails_to_start() {
    local disk rows
    disk=$(snapshot)
    rows=$(rows)
    mas start "$1"
    [ "$status" -ne 0 ]
    [ -z "$output" ]
    [ "$(snapshot)" = "$disk" ]
    [ "$(rows)" = "$rows" ]
    is_no_tmux_session "$1"
}

@test "start brings a stopped session back" {
    new_session -t pair
    echo kept >"$ROOT/sessions/$ID/unit/lead/work.txt"
    "$MAS" stop -q "$ID"
    ok start "$ID"
    [ "$output" = "$ID started" ]
    [ -z "$stderr" ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(field "$ID" .agentsRunning)" = 2 ]
    [ "$(field "$ID" .tmuxSession)" = "mas-${ID:0:8}" ]
    [ "$(cat "$ROOT/sessions/$ID/unit/lead/work.txt")" = kept ]
}

@test "start brings all 13 agents of the default team back to their places" {
    new_session
    local before
    before=$(tm list-panes -s -t "=mas-${ID:0:8}:" -F '#{window_name} #{pane_left},#{pane_top} #{pane_start_command}')
    "$MAS" stop -q "$ID"
    ok start "$ID"
    [ "$(tm list-panes -s -t "=mas-${ID:0:8}:" -F '#{window_name} #{pane_left},#{pane_top} #{pane_start_command}')" = "$before" ]
    [ "$(wc -l <<<"$before")" -eq 13 ]
}

@test "the metadata and the row say that it runs" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    [ -n "$(meta "$ID" STOPPED_AT)" ]
    "$MAS" start -q "$ID"
    [ "$(meta "$ID" STATUS)" = active ]
    [ -z "$(meta "$ID" STOPPED_AT)" ]
    [ "$(jq -r '.sessions[0].status' "$ROOT/sessions/.sessions.index")" = active ]
    grep -q ' start ' "$ROOT/sessions/$ID/logs/session.log"
    eventually test ! -e "$ROOT/sessions/$ID/run/env"
}

@test "start starts what was made with --no-start" {
    new_session -t solo --no-start
    [ "$(field "$ID" .status)" = stopped ]
    ok start "$ID"
    [ "$(field "$ID" .agentsRunning)" = 1 ]
}

@test "starting what runs is no error and touches nothing" {
    new_session -t solo
    eventually test ! -e "$ROOT/sessions/$ID/run/env"
    local pid disk
    pid=$(agent_pid "$ID")
    disk=$(snapshot)
    ok start "$ID"
    [ "$output" = "$ID is already running" ]
    [ "$(agent_pid "$ID")" = "$pid" ]
    [ "$(snapshot)" = "$disk" ]
}

@test "start of a team that runs brings back the agents that have no host, and no other" {
    new_session -t pair -n half
    pkill -KILL -f "mas host $ID lead"
    local reviewer
    reviewer=$(agent_pid "$ID" reviewer)
    ok start half
    [ "$output" = "half is running, started agents again: lead" ]
    [ -z "$stderr" ]
    [ "$(agent_pid "$ID" reviewer)" = "$reviewer" ]
    mas start half
    [ "$output" = "half is already running" ]
    orphan_agents "$ID"
    ok start half
    [ "$output" = "half is running, started agents again: lead,reviewer" ]
    [ "$(field half .agentsRunning)" = 2 ]
    [ "$("$MAS" doctor)" = 'everything is in order' ]
}

@test "what status says of an agent without a host brings it back, whether tmux lives or not" {
    new_session -t solo -n alone
    local advice
    advised() { advice=$("$MAS" status alone | sed -n 's/.*(mas \(.*\))$/\1/p') && [ -n "$advice" ]; }
    for gone in host tmux; do
        agent_pid "$ID"
        if [ "$gone" = host ]; then pkill -KILL -f "mas host $ID solo"; else tm kill-server; fi
        hosts_gone "$ID"
        eventually advised # tmux may not have seen it yet
        # shellcheck disable=SC2086 # words
        mas $advice
        [ "$status" -eq 0 ] || { echo "$gone: mas $advice: $stderr" >&2; false; }
        agent_pid "$ID"
    done
}

@test "after kill-server all sessions that ran are stopped and crashed, at once" {
    new_session -t solo
    new_session -t pair
    new_session -t solo --no-start
    tm kill-server
    ok list --json
    [ "$(jq '[.sessions[] | select(.status == "stopped")] | length' <<<"$output")" = 3 ]
    [ "$(jq '[.sessions[] | select(.crashed)] | length' <<<"$output")" = 2 ]
    [ "$(field "$ID" .crashed)" = false ]
}

@test "start --crashed brings all of them back, and only them" {
    new_session -t solo
    new_session -t pair
    new_session -t solo
    local stopped=$ID
    "$MAS" stop -q "$ID"
    new_session -t solo --no-start
    local active
    active=$("$MAS" list --active -q)
    tm kill-server
    ok start --crashed
    [ "${#lines[@]}" -eq 2 ]
    [ "$("$MAS" list --active -q)" = "$active" ]
    [ "$(field "$ID" .status)" = stopped ]
    [ "$(field "$stopped" .status)" = stopped ]
    [ "$(tm list-sessions | wc -l)" -eq 2 ]
    ok start --crashed
    [ -z "$output$stderr" ]
}

@test "start --crashed goes on after one that cannot start" {
    new_session -t solo
    local broken=$ID
    new_session -t solo
    tm kill-server
    eventually is_no_tmux_session "$broken"
    echo '{' >"$ROOT/sessions/$broken/config.json"
    fails 5 start --crashed
    [ "$output" = "$ID started" ]
    [ "$(field "$ID" .status)" = active ]
    # it did crash, and still says so
    [ "$(field "$broken" .crashed)" = true ]
}

@test "start --crashed beside a session is a usage error" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    fails 2 start --crashed "$ID"
    [ "$(field "$ID" .status)" = stopped ]
}

@test "only one tmux session was killed: that one has crashed" {
    new_session -t solo
    local killed=$ID
    new_session -t solo
    tm kill-session -t "=mas-${killed:0:8}:"
    [ "$(field "$killed" .crashed)" = true ]
    [ "$(field "$ID" .status)" = active ]
    ok start --crashed
    [ "$output" = "$killed started" ]
}

@test "a session whose program is gone is not started, and stays as it was" {
    printf '#!/bin/sh\nexec sleep 1000\n' >"$T/agent"
    chmod +x "$T/agent"
    cp -R "$ROOT/templates/solo" "$ROOT/templates/made"
    sed -i "/^\[agent solo\]/a command = $T/agent" "$ROOT/templates/made/template.ini"
    new_session -t made
    "$MAS" stop -q "$ID"
    rm "$T/agent"
    fails_to_start "$ID"
    [ "$status" -eq 1 ]
    [[ $stderr == "mas: cannot start"*"'$T/agent'"* ]]
    [ "$(field "$ID" .status)" = stopped ]
}

@test "a session whose preset is gone is not started" {
    printf '[preset mine]\ncommand = sh\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent mine
    "$MAS" stop -q "$ID"
    sed -i 's/preset mine/preset yours/' "$ROOT/mas.ini"
    fails_to_start "$ID"
    [ "$status" -eq 3 ]
    [[ $stderr == "mas: cannot start"*"there is no preset 'mine'"* ]]
}

@test "a session whose config.json is broken is not started" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    echo '{"agents":' >"$ROOT/sessions/$ID/config.json"
    fails_to_start "$ID"
    [ "$status" -eq 5 ]
    [[ $stderr == "mas: cannot start"*"config.json is damaged"* ]]
}

@test "a session whose metadata is broken is not started" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    echo 'STATUS=stopped' >"$ROOT/sessions/$ID/.session"
    fails_to_start "$ID"
    [ "$status" -eq 5 ]
    [[ $stderr == "mas: cannot start session '$ID': its .session is damaged"* ]]
    [[ $stderr == *'mas doctor'* ]]
}

@test "a session that runs code in its metadata is not started and runs none" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    echo "NAME=\$(touch $T/ran)" >>"$ROOT/sessions/$ID/.session"
    fails_to_start "$ID"
    [ "$status" -eq 5 ]
    [ ! -e "$T/ran" ]
}

@test "a session whose tmux session cannot be built stays stopped" {
    new_session
    "$MAS" stop -q "$ID"
    export MAS_TMUX_SIZE=20x4
    fails_to_start "$ID"
    [ "$status" -eq 6 ]
    [[ $stderr == "mas: cannot start"*'20 columns and 4 rows'* ]]
    unset MAS_TMUX_SIZE
    ok start "$ID"
    [ "$(field "$ID" .agentsRunning)" = 13 ]
}

@test "without tmux nothing is started" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    mkdir "$T/bin"
    local disk
    disk=$(snapshot)
    run --separate-stderr env PATH="$T/bin" "$MAS" start "$ID"
    [ "$status" -eq 6 ]
    [[ $stderr == *"cannot run 'tmux'"* ]]
    [ "$(snapshot)" = "$disk" ]
}

@test "a session with an agent that has no directory is not started; agent and reason are named" {
    new_session -t pair
    "$MAS" stop -q "$ID"
    local at=$ROOT/sessions/$ID/unit how
    mv "$at/reviewer" "$T/reviewer"
    for how in missing file link all; do
        case $how in
        file) echo >"$at/reviewer" ;;
        link) ln -sfT "$T/reviewer" "$at/reviewer" ;;
        all) rm "$at/reviewer" && mv "$at/lead" "$T/lead" && rmdir "$at" ;;
        esac
        fails_to_start "$ID"
        [ "$status" -eq 1 ]
        case $how in
        missing) [ "${stderr%%$'\n'*}" = "mas: cannot start agent 'reviewer' of session '$ID': its directory '$at/reviewer' is missing" ] ;;
        file | link) [ "${stderr%%$'\n'*}" = "mas: cannot start agent 'reviewer' of session '$ID': '$at/reviewer' is no directory" ] ;;
        all) [ "${stderr%%$'\n'*}" = "mas: cannot start agent 'lead' of session '$ID': its directory '$at/lead' is missing" ] ;;
        esac
        case $how in
        file | link) [ "${stderr#*$'\n'}" = "move that away, and put the directory back, or make it empty with: mkdir -p $at/reviewer" ] ;;
        *) [[ $stderr == *$'\n'"put it back, or make it empty with: mkdir -p $at/"* ]] ;;
        esac
    done
    mkdir -p "$at/lead" "$at/reviewer"
    rm -r "$ROOT/sessions/$ID/logs"
    fails_to_start "$ID"
    [[ $stderr == "mas: cannot start session '$ID': cannot open its logs: "*"mas doctor --fix" ]]
    "$MAS" doctor --fix
    "$MAS" start -q "$ID"
    agent_pid "$ID" reviewer
}

@test "a session with an agent that has no work tree is not started; agent and reason are named" {
    load ../project
    make_project
    new_session -t pair --project "$P"
    "$MAS" stop -q "$ID"
    local at how
    at=$(tree_of lead)
    mv "$at" "$T/tree"
    for how in missing file link; do
        case $how in
        file) echo >"$at" ;;
        link) ln -sfT "$T/tree" "$at" ;;
        esac
        fails_to_start "$ID"
        [ "$status" -eq 1 ]
        case $how in
        missing) [ "${stderr%%$'\n'*}" = "mas: cannot start agent 'lead' of session '$ID': its directory '$at' is missing" ] ;;
        file | link) [ "${stderr%%$'\n'*}" = "mas: cannot start agent 'lead' of session '$ID': '$at' is no directory" ] ;;
        esac
        [[ $stderr == *'put it back'* ]]
        hosts_gone "$ID"
    done
    rm "$at"
    mv "$T/tree" "$at"
    "$MAS" start -q "$ID"
    agent_pid "$ID" lead
}

@test "in a running team, an agent that has lost host and directory is told, each time, and no other is touched" {
    new_session -t pair
    local reviewer
    reviewer=$(agent_pid "$ID" reviewer)
    pkill -KILL -f "mas host $ID lead"
    hosts_gone "$ID" lead
    rm -r "$ROOT/sessions/$ID/unit/lead"
    for _ in 1 2; do
        fails 1 start "$ID"
        [ -z "$output" ]
        [[ $stderr == "mas: cannot start agent 'lead' of session '$ID': its directory "*" is missing"* ]]
    done
    [ "$(agent_pid "$ID" reviewer)" = "$reviewer" ]
    mas doctor
    [[ $output == *"cannot start agent 'lead' "*"is missing"* ]]
}

@test "a session whose workspace is gone is not started" {
    new_session -t solo -n gone
    "$MAS" stop -q "$ID"
    rm -r "$ROOT/sessions/$ID"
    mas start gone
    [ "$status" -ne 0 ]
    [[ $stderr == "mas: cannot start session '$ID': its workspace is missing"* ]]
    [ ! -e "$ROOT/sessions/$ID" ]
}

@test "the agents get the environment of the start, not that of the new" {
    make_template <<'EOS'
printf '%s\n' "$COLOUR" "${ONLY_NEW-none}" "${ONLY_START-none}" >out.tmp
mv out.tmp out
exec sleep 1000
EOS
    COLOUR=red ONLY_NEW=1 new_session -t made
    eventually test -e "$(unit "$ID")/out"
    [ "$(tr '\n' ' ' <"$(unit "$ID")/out")" = 'red 1 none ' ]
    "$MAS" stop -q "$ID"
    rm "$(unit "$ID")/out"
    COLOUR=blue ONLY_START=1 "$MAS" start -q "$ID"
    eventually test -e "$(unit "$ID")/out"
    [ "$(tr '\n' ' ' <"$(unit "$ID")/out")" = 'blue none 1 ' ]
}

@test "start uses the server that the session was made on" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    MAS_TMUX_SOCKET=$T/elsewhere ok start "$ID"
    is_tmux_session "$ID"
    [ ! -e "$T/elsewhere" ]
    [ "$(meta "$ID" TMUX_SOCKET)" = "$SOCK" ]
}

@test "start takes a longer name where a session of the user has the short one" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    tm -f /dev/null new-session -d -s "mas-${ID:0:8}" 'exec sleep 1000'
    ok start "$ID"
    [ "$(field "$ID" .tmuxSession)" = "mas-${ID:0:13}" ]
    [ "$(meta "$ID" TMUX_SESSION)" = "mas-${ID:0:13}" ]
    [ "$(field "$ID" .status)" = active ]
    # that of the user is as it was
    [ "$(tm list-panes -s -t "=mas-${ID:0:8}:" -F '#{pane_start_command}')" = '"exec sleep 1000"' ]
}

@test "a session that was renamed in tmux and stopped can be started" {
    new_session -t solo
    tm rename-session -t "=mas-${ID:0:8}:" 'my work'
    "$MAS" stop -q "$ID"
    ok start "$ID"
    [ "$(field "$ID" .status)" = active ]
    [ "$(field "$ID" .agentsRunning)" = 1 ]
}

@test "several sessions are started, the exit code is that of the first failure" {
    new_session -t solo -n one
    local one=$ID
    new_session -t solo -n two
    "$MAS" stop -q --all
    fails 3 start one nothing two
    [[ $stderr == *"cannot find session 'nothing'"* ]]
    [ "$(field "$one" .status)" = active ]
    [ "$(field "$ID" .status)" = active ]
}

@test "start without a session is a usage error" {
    new_session -t solo --no-start
    fails 2 start
    [[ $stderr == *'needs a SESSION'* ]]
    [ "$(field "$ID" .status)" = stopped ]
}

@test "start -q prints nothing" {
    new_session -t solo --no-start
    ok start -q "$ID"
    [ -z "$output$stderr" ]
}

@test "a session can be stopped and started many times" {
    new_session -t solo
    for _ in 1 2 3 4 5 6 7 8; do
        "$MAS" stop -q "$ID"
        "$MAS" start -q "$ID"
    done
    [ "$(field "$ID" .agentsRunning)" = 1 ]
    [ "$(tm list-sessions | wc -l)" -eq 1 ]
}

@test "what an interrupted start has left in run/ is no hindrance" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    printf 'MASENV1\n.\nSECRET=old' >"$ROOT/sessions/$ID/run/env"
    ok start "$ID"
    eventually test ! -e "$ROOT/sessions/$ID/run/env"
    [ "$(field "$ID" .agentsRunning)" = 1 ]
}

@test "agents that outlived their hosts and their tmux server end before new ones start" {
    printf '[stop]\nhangup = 0\nterminate = 0\n' >>"$ROOT/mas.ini"
    make_template <<'EOS'
trap '' HUP TERM
: >"ready.$$"
while :; do sleep 1000; done
EOS
    new_session -t made
    local pid
    pid=$(agent_pid "$ID")
    eventually test -e "$(unit "$ID")/ready.$pid"
    orphan_agents "$ID"
    tm kill-server
    [ -e "/proc/$pid" ]
    ok start "$ID"
    eventually test ! -e "/proc/$pid"
    [ "$(field "$ID" .agentsRunning)" = 1 ]
    "$MAS" stop -q "$ID"
}

@test "a session that was moved with its root is started in the new place" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    mv "$ROOT" "$T/moved"
    ok --root "$T/moved" start "$ID"
    eventually works_in "$ID" "$T/moved/sessions/$ID/unit/solo"
    grep -qx "SESSION_DIR=$T/moved/sessions/$ID" "$T/moved/sessions/$ID/.session"
}
