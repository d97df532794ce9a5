#!/usr/bin/env bats
# mas doctor: tmux sessions and agents that do not agree with what is on disk.
load ../helper
load doctor

is_tmux_session() { tm has-session -t "=$1:" 2>/dev/null; }

# `mas doctor` says that agents of $1 run without a workspace, and --fix leaves them alone.
lost() {
    local before
    before=$(snapshot)
    for fix in '' --fix; do
        # shellcheck disable=SC2086 # nothing or one word
        fails 1 doctor $fix --json
        jq -e --arg subject "$1" 'any(.findings[]; .subject == $subject and .state == "by hand" and
            (.what | contains("run without a workspace") and contains("mas rm -f \($subject)")))' <<<"$output"
    done
    [ "$(snapshot)" = "$before" ]
}

@test "a team without its workspace goes on until a person removes it; what it showed is kept" {
    a_running_session
    local pane pid
    pane=$(field "$ID" '.agents[0].pane')
    pid=$(agent_pid "$ID")
    tm send-keys -t "$pane" -l 'echo the-last-wo''rds' \; send-keys -t "$pane" Enter
    eventually eval "tm capture-pane -p -t '$pane' | grep -qx the-last-words"
    mv "$(ws "$ID")" "$T/away"
    [ "$("$MAS" list --json | jq -r '.sessions[0].status')" = error ]
    lost "$ID"
    mv "$T/away" "$(ws "$ID")"
    is_in_order
    [ "$(agent_pid "$ID")" = "$pid" ]
    eventually rm -rf "$(ws "$ID")"
    "$MAS" rm -q -f "$ID"
    run ! is_tmux_session "$(tmux_name "$ID")"
    eventually test ! -e "/proc/$pid"
    grep -qx the-last-words "$ROOT/lost/$ID"-*.txt
    [ "$(mode "$ROOT/lost")" = 700 ]
    [ "$(stat -c %a "$ROOT/lost/$ID"-*.txt)" = 600 ]
    [ -z "$("$MAS" list --all -q)" ]
}

@test "a tmux session without its workspace in which nothing runs is ended" {
    a_running_session
    pkill -KILL -f "mas host $ID"
    hosts_gone "$ID"
    rm -r "$(ws "$ID")"
    finds "$ID" 'is left without a workspace'
    mends "$ID" 'is left without a workspace'
    run ! is_tmux_session "$(tmux_name "$ID")"
    [ "$(find "$ROOT/lost" -name "$ID-*.txt" | wc -l)" -eq 1 ]
}

@test "the history above the screen of an orphan is kept too, of every pane" {
    new_session -t pair
    settled "$ID"
    local pane
    for pane in $(field "$ID" '.agents[].pane'); do
        tm send-keys -t "$pane" -l "seq -f 'line-%g' 300" \; send-keys -t "$pane" Enter
        eventually eval "tm capture-pane -p -t '$pane' | grep -qx line-300"
    done
    eventually rm -rf "$(ws "$ID")"
    "$MAS" rm -q -f "$ID"
    [ "$(grep -cx line-1 "$ROOT/lost/$ID"-*.txt)" -eq 2 ]
    [ "$(grep -cx line-300 "$ROOT/lost/$ID"-*.txt)" -eq 2 ]
}

@test "an orphan on a server of its own is found and ended" {
    export MAS_TMUX_SERVER=per-session
    a_running_session
    local pid socket
    pid=$(agent_pid "$ID")
    socket=$(meta "$ID" TMUX_SOCKET)
    eventually rm -rf "$(ws "$ID")"
    lost "$ID"
    "$MAS" rm -q -f "$ID"
    eventually test ! -e "/proc/$pid"
    run ! tmux -S "$socket" list-sessions
    [ "$(find "$ROOT/lost" -name "$ID-*.txt" | wc -l)" -eq 1 ]
}

@test "a row without a workspace goes" {
    a_stopped_session
    rm -r "$(ws "$ID")"
    [ "$("$MAS" list --json | jq -r '.sessions[0].status')" = error ]
    finds "$ID" 'it is in the index, but has no workspace'
    mends "$ID" 'it is in the index, but has no workspace'
    [ -z "$("$MAS" list -q)" ]
}

@test "a tmux session killed by hand is a crash: told, no fault, brought back by start" {
    a_running_session
    tm kill-session -t "=$(tmux_name "$ID"):"
    [ "$(field "$ID" .status)" = stopped ]
    [ "$(field "$ID" .crashed)" = true ]
    hosts_gone "$ID"
    local before
    before=$(snapshot)
    notes "$ID" "it has crashed; start it again with: mas start $ID"
    ok doctor --fix
    [ "$(snapshot)" = "$before" ]
    [ "$(field "$ID" .crashed)" = true ]
    mas start --crashed
    [ "$output" = "busy started" ]
    is_in_order
}

@test "a session that its user renamed in tmux keeps that name" {
    a_running_session
    local pid
    pid=$(agent_pid "$ID")
    tm rename-session -t "=$(tmux_name "$ID"):" 'my work'
    [ "$(field "$ID" .status)" = active ]
    [ "$(field "$ID" .tmuxSession)" = 'my work' ]
    finds "$ID" "its tmux session is now called 'my work'"
    mends "$ID" "its tmux session is now called 'my work'"
    [ "$(meta "$ID" TMUX_SESSION)" = 'my work' ]
    is_tmux_session 'my work'
    [ "$(agent_pid "$ID")" = "$pid" ]
    ok stop 'my work'
}

@test "a name in tmux that is a format or a command runs nothing" {
    a_running_session
    tm rename-session -t "=$(tmux_name "$ID"):" "##(touch $T/ran);\$(touch $T/ran)'"
    ok doctor --fix
    is_in_order
    ok stop "$ID"
    ok start "$ID"
    (. "$(ws "$ID")/.session")
    [ ! -e "$T/ran" ]
}

@test "a team that runs although it was to be stopped is active again" {
    a_running_session
    local pid
    pid=$(agent_pid "$ID")
    sed -i 's/^STATUS=.*/STATUS=stopped/' "$(ws "$ID")/.session"
    echo 'STOPPED_AT=2025-01-01T00:00:00Z' >>"$(ws "$ID")/.session"
    [ "$("$MAS" list --all --json | jq -r '.sessions[0].status')" = active ]
    finds "$ID" 'it is running although its status is stopped'
    mends "$ID" 'it is running although its status is stopped'
    [ "$(meta "$ID" STATUS)" = active ]
    [ -z "$(meta "$ID" STOPPED_AT)" ]
    [ "$(agent_pid "$ID")" = "$pid" ]
}

@test "sessions of the user on the same server are left alone, whatever they are called" {
    a_running_session
    tm new-session -d -s own 'exec sleep 1000'
    tm new-session -d -s mas-0c0c0c0c 'exec sleep 1000'
    tm new-session -d -s mas-1c1c1c1c 'exec sleep 1000'
    tm set-option -t =mas-1c1c1c1c: @mas_id 'not an id'
    local before
    before=$(tm list-panes -a -F '#{session_name} #{pane_pid}')
    ok doctor --fix
    [ "$output" = 'everything is in order' ]
    [ "$(tm list-panes -a -F '#{session_name} #{pane_pid}')" = "$before" ]
}

@test "without tmux nothing that runs is taken for stopped" {
    a_running_session
    mkdir "$T/bin"
    local disk
    disk=$(snapshot)
    run --separate-stderr env PATH="$T/bin" "$MAS" doctor --fix
    [ "$(snapshot)" = "$disk" ]
    [[ $output == "by hand "*"$ID "*"it was not checked: cannot run 'tmux': there is no such program in PATH" ]]
    is_in_order
    [ "$(field "$ID" .status)" = active ]
}

@test "a tmux that is too old is told" {
    a_running_session
    mkdir "$T/bin"
    # shellcheck disable=SC2016 # the script expands them
    printf '#!/bin/sh\n[ "$1" != -V ] || { echo tmux 3.2a; exit; }\nexec %s "$@"\n' "$(command -v tmux)" >"$T/bin/tmux"
    chmod +x "$T/bin/tmux"
    PATH=$T/bin:$PATH fails 1 doctor --json
    jq -e '.findings | length == 1 and .[0].subject == "tmux" and
        .[0].what == "version 3.2a is too old: 3.3 is the first that will do"' <<<"$output"
    is_in_order
}

@test "a tmux that cannot be asked is told once, not at each of its sessions" {
    a_running_session
    new_session -t solo
    mkdir "$T/bin"
    run --separate-stderr env PATH="$T/bin" "$MAS" doctor --fix
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ $output == "by hand "*" tmux "*"2 sessions were not checked: cannot run 'tmux': "*'; install tmux'* ]]
}

# A team whose agent ignores the hang-up
an_agent_that_stays() {
    cp -R "$ROOT/templates/solo" "$ROOT/templates/made"
    printf '%s\n' 'trap "" HUP TERM' ': >ready' 'while :; do sleep 1000; done' \
        >"$ROOT/templates/made/unit/solo/agent.sh"
    sed -i '/^\[agent solo\]/a command = sh agent.sh' "$ROOT/templates/made/template.ini"
    new_session -t made
    eventually test -e "$(ws "$ID")/unit/solo/ready"
    PID=$(agent_pid "$ID")
}

# One whose hosts and tmux server were killed
an_agent_without_tmux() {
    printf '[stop]\nhangup = 0\nterminate = 0\n' >>"$ROOT/mas.ini"
    an_agent_that_stays
    orphan_agents "$ID"
    tm kill-server
}

@test "hosts that are ending their agents are no fault, and left to it" {
    printf '[stop]\nhangup = 60s\n' >>"$ROOT/mas.ini"
    an_agent_that_stays
    tm kill-server
    notes "$ID" "its agents are ending; end them now with: mas stop $ID"
    ok doctor --fix
    [ -e "/proc/$PID" ]
    kill -KILL -- "-$PID"
    hosts_gone "$ID"
    notes "$ID" 'crashed'
    [[ $output != *'being ended'* ]]
}

@test "agents that outlived their tmux server are found and ended" {
    an_agent_without_tmux
    [ "$(field "$ID" .crashed)" = true ]
    finds "$ID" 'it does not run, but processes of its agents do'
    [ -e "/proc/$PID" ]
    ok doctor --fix --json
    jq -e --arg id "$ID" 'any(.findings[]; .subject == $id and .state == "mended" and (.what | contains("processes of its agents")))' <<<"$output"
    eventually test ! -e "/proc/$PID"
    [ "$(field "$ID" .crashed)" = true ]
    ok doctor
}

@test "processes of other sessions are not ended with them" {
    a_running_session
    local other=$ID pid
    pid=$(agent_pid "$ID")
    tm kill-session -t "=$(tmux_name "$other"):"
    an_agent_without_tmux
    new_session -t solo
    pid=$(agent_pid "$ID")
    ok doctor --fix
    [ "$(agent_pid "$ID")" = "$pid" ]
    [ -e "/proc/$pid" ]
}
