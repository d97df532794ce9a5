#!/usr/bin/env bats
# Two roots on one tmux server, with sessions of the same ids: no command of one touches the other.
load ../helper

SAME=0a0a0a0a-1111-4222-8333-444444444444

setup_more() {
    OTHER=$T/other
    "$MAS" init -q "$OTHER"
}

teardown_more() {
    grep -lsz "^MAS_SESSION_DIR=$T/" /proc/[0-9]*/environ | cut -d/ -f3 |
        xargs -r kill -KILL 2>/dev/null || true
}

# mas in the other root
other() { "$MAS" --root "$OTHER" "$@"; }

# The same session runs in both roots.
start_both() {
    "$MAS" new -q -t solo --id "$SAME" -n mine
    other new -q -t solo --id "$SAME" -n theirs
    agent_pid "$SAME"
    MAS_ROOT=$OTHER agent_pid "$SAME"
    WHOLE=$(whole_other)
}

# All of the other root: on disk, in tmux and its processes
whole_other() {
    (ROOT=$OTHER && snapshot)
    cat "$OTHER/sessions/.sessions.index"
    tm list-panes -a -f "#{==:#{@mas_root},$OTHER}" -F '#{session_name} #{@mas_id} #{pane_id} #{pane_pid} #{pane_dead}' 2>/dev/null || true
    processes "$OTHER"
}

# Pids of the processes of teams of root $1
processes() { grep -lsz "^MAS_SESSION_DIR=$1/" /proc/[0-9]*/environ | cut -d/ -f3 | sort; }

is_gone() { [ -z "$(processes "$1")" ]; }

other_is_untouched() {
    diff <(echo "$WHOLE") <(whole_other)
    [ "$(other show "$SAME" --json | jq -r '.status, .agentsRunning')" = $'active\n1' ]
}

@test "the same id runs in two roots on one server, under two names" {
    start_both
    [ "$(tm list-sessions -F '#{@mas_id} #{@mas_root}' | sort)" = "$(printf '%s\n' "$SAME $OTHER" "$SAME $ROOT" | sort)" ]
    [ "$(field "$SAME" .tmuxSession)" = mas-0a0a0a0a ]
    [ "$(other show "$SAME" --json | jq -r .tmuxSession)" = mas-0a0a0a0a-1111 ]
    [ "$(grep -c . <<<"$WHOLE")" -gt 10 ]
}

@test "list shows each root its own" {
    start_both
    "$MAS" new -q -t solo --no-start
    [ "$("$MAS" list -q | wc -l)" -eq 2 ]
    [ "$("$MAS" list --active --json | jq -r '.sessions[].name')" = mine ]
    [ "$(other list --json | jq -r '.sessions[].name')" = theirs ]
    [ "$(other list --json | jq -r '.sessions[].workingDir')" = "$OTHER/sessions/$SAME" ]
    other_is_untouched
}

@test "a session of the other root is unknown here" {
    other new -q -t solo -n theirs
    local verb
    for verb in show env start stop rm attach; do
        fails 3 "$verb" theirs
        [[ $stderr == *"cannot find session 'theirs': there is no such session"* ]]
    done
    fails 3 stop "mas-$(other list -q | cut -c1-8)"
    [ "$(other list --active -q | wc -l)" -eq 1 ]
}

@test "show of one root shows its own panes" {
    start_both
    [ "$(field "$SAME" '.agents[0].pid')" != "$(other show "$SAME" --json | jq -r '.agents[0].pid')" ]
    [ "$(field "$SAME" '.agents[0].pane')" != "$(other show "$SAME" --json | jq -r '.agents[0].pane')" ]
    [ "$(field "$SAME" '.agentsRunning')" = 1 ]
    [ "$(readlink "/proc/$(field "$SAME" '.agents[0].pid')/cwd")" = "$ROOT/sessions/$SAME/unit/solo" ]
    [ "$(readlink "/proc/$(other show "$SAME" --json | jq -r '.agents[0].pid')/cwd")" = "$OTHER/sessions/$SAME/unit/solo" ]
}

@test "stop of one root touches nothing of the other" {
    start_both
    ok stop "$SAME"
    is_gone "$ROOT"
    other_is_untouched
}

@test "stop --all of one root touches nothing of the other" {
    start_both
    ok stop --all
    [ "${#lines[@]}" -eq 1 ]
    is_gone "$ROOT"
    other_is_untouched
}

@test "the second of the two can be stopped, too" {
    start_both
    other stop -q "$SAME"
    is_gone "$OTHER"
    [ "$(field "$SAME" .status)" = active ]
    [ "$(field "$SAME" .agentsRunning)" = 1 ]
}

@test "stop of a session that is stopped or crashed here touches nothing of the other" {
    start_both
    tm kill-session -t =mas-0a0a0a0a:
    [ "$(field "$SAME" .crashed)" = true ]
    ok stop "$SAME"
    other_is_untouched
    ok stop "$SAME"
    other_is_untouched
}

@test "start here touches nothing of the other" {
    start_both
    "$MAS" stop -q "$SAME"
    ok start "$SAME"
    [ "$(field "$SAME" .agentsRunning)" = 1 ]
    tm kill-session -t =mas-0a0a0a0a:
    ok start --crashed
    [ "$output" = "mine started" ]
    other_is_untouched
}

@test "rm and rm -f of one root touch nothing of the other" {
    start_both
    "$MAS" stop -q "$SAME"
    ok rm "$SAME"
    other_is_untouched
    "$MAS" new -q -t solo --id "$SAME"
    ok rm -f "$SAME"
    is_gone "$ROOT"
    other_is_untouched
}

@test "rm -f of a damaged session touches nothing of the other" {
    start_both
    echo nonsense >"$ROOT/sessions/$SAME/.session"
    ok rm -f "$SAME"
    is_gone "$ROOT"
    other_is_untouched
}

@test "rm -f of a row without a workspace touches nothing of the other" {
    start_both
    "$MAS" stop -q "$SAME"
    eventually rm -rf "$ROOT/sessions/$SAME"
    ok rm -f "$SAME"
    other_is_untouched
}

@test "doctor of one root finds nothing of the other" {
    start_both
    rm -r "$OTHER/sessions/$SAME"
    ok doctor
    [ "$output" = 'everything is in order' ]
    ok doctor --fix
    # the other root's orphan is the other root's
    tm has-session -t =mas-0a0a0a0a-1111:
    [ ! -e "$ROOT/lost" ]
}

@test "doctor --fix of one root mends its own and touches nothing of the other" {
    start_both
    echo nonsense >"$ROOT/sessions/$SAME/.session"
    mkdir "$ROOT/sessions/.new-0c0c0c0c-1111-4222-8333-444444444444"
    ok doctor --fix
    [ "$(meta "$SAME" TMUX_SESSION)" = mas-0a0a0a0a ]
    other_is_untouched
    eventually rm -rf "$ROOT/sessions/$SAME"
    fails 1 doctor --fix
    [[ $output == *"run without a workspace"* ]]
    "$MAS" rm -q -f "$SAME"
    run ! tm has-session -t =mas-0a0a0a0a:
    other_is_untouched
}

@test "doctor --fix after a crash here touches nothing of the other" {
    start_both
    tm kill-session -t =mas-0a0a0a0a:
    ok doctor --fix
    other_is_untouched
}

@test "new here while the name is taken by the other root's" {
    other new -q -t solo --id "$SAME" -n theirs
    MAS_ROOT=$OTHER agent_pid "$SAME"
    WHOLE=$(whole_other)
    "$MAS" new -q -t solo --id "$SAME"
    [ "$(field "$SAME" .tmuxSession)" = mas-0a0a0a0a-1111 ]
    [ "$(field "$SAME" .status)" = active ]
    other_is_untouched
}

@test "a new that fails here touches nothing of the other" {
    other new -q -t default --id "$SAME" -n theirs
    other wait "$SAME" --for idle
    mas new -q -t solo --id "$SAME" -n mine
    "$MAS" stop -q mine
    local before
    before=$(processes "$OTHER")
    MAS_TMUX_SIZE=20x4 fails 6 new --id 0a0a0a0a-2222-4222-8333-444444444444
    [ "$(processes "$OTHER")" = "$before" ]
    [ "$(other show "$SAME" --json | jq -r .agentsRunning)" = 13 ]
}

@test "two roots with a server for each session keep apart, too" {
    export MAS_TMUX_SERVER=per-session
    start_both
    [ "$(field "$SAME" .status)" = active ]
    [ "$(other show "$SAME" --json | jq -r .status)" = active ]
    ok stop "$SAME"
    is_gone "$ROOT"
    other_is_untouched
    ok rm "$SAME"
    other_is_untouched
}

@test "a copy of a root is a root of its own" {
    start_both
    cp -a "$OTHER" "$T/copy"
    [ "$("$MAS" --root "$T/copy" list --all --json | jq -r '.sessions[0].status')" = stopped ]
    ok --root "$T/copy" stop "$SAME"
    other_is_untouched
    ok --root "$T/copy" start "$SAME"
    other_is_untouched
    ok --root "$T/copy" rm -f "$SAME"
    is_gone "$T/copy"
    other_is_untouched
}

@test "one root within the other keeps apart from it" {
    OTHER=$ROOT/inner
    "$MAS" init -q "$OTHER"
    start_both
    ok stop --all
    other_is_untouched
}

@test "a root reached by a link is the same root" {
    new_session -t solo
    ln -s "$ROOT" "$T/link"
    [ "$("$MAS" --root "$T/link" list --active -q)" = "$ID" ]
    ok --root "$T/link" doctor
    [ "$output" = 'everything is in order' ]
    ok --root "$T/link" stop "$ID"
    is_gone "$ROOT"
}
