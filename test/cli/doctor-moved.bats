#!/usr/bin/env bats
# mas doctor: a root that was moved or copied.
load ../helper
load doctor

@test "a root that was moved while a team runs is put right" {
    a_running_session
    local pid
    pid=$(agent_pid "$ID")
    mv "$ROOT" "$T/moved"
    ROOT=$T/moved
    export MAS_ROOT=$ROOT
    [ "$(field "$ID" .status)" = active ]
    finds "$ID" 'its paths are those of another directory'
    finds "$ID" 'its tmux session names the old root'
    mends "$ID" 'its tmux session names the old root'
    [ "$(meta "$ID" SESSION_DIR)" = "$ROOT/sessions/$ID" ]
    [ "$(meta "$ID" UNIT_DIR)" = "$ROOT/sessions/$ID/unit" ]
    [ "$(meta "$ID" WORKFLOWS_DIR)" = "$ROOT/sessions/$ID/workflows" ]
    [ "$(tm show-options -v -t "=$(tmux_name "$ID"):" @mas_root)" = "$ROOT" ]
    [ "$(tm show-environment -t "=$(tmux_name "$ID"):" MAS_SESSION_DIR)" = "MAS_SESSION_DIR=$ROOT/sessions/$ID" ]
    [ "$(agent_pid "$ID")" = "$pid" ]
    ok stop "$ID"
    eventually test ! -e "/proc/$pid"
}

@test "a moved root with an odd name is put right, and nothing in the name is run" {
    a_running_session
    local odd="$T/it's \"#(touch $T/ran)\" \$(touch ran) ü;"
    mkdir -p "$(dirname "$odd")"
    mv "$ROOT" "$odd"
    ROOT=$odd
    export MAS_ROOT=$odd
    [ "$(field "$ID" .status)" = active ]
    mends "$ID" 'its tmux session names the old root'
    [ "$(tm show-options -v -t "=$(tmux_name "$ID"):" @mas_root)" = "$odd" ]
    ok stop "$ID"
    [ "$(find "$T" -name ran | wc -l)" -eq 0 ]
}

@test "a root that was moved while all was stopped is put right" {
    a_stopped_session
    mv "$ROOT" "$T/moved"
    ROOT=$T/moved
    export MAS_ROOT=$ROOT
    finds "$ID" 'its paths are those of another directory'
    mends "$ID" 'its paths are those of another directory'
    [ "$(meta "$ID" SESSION_DIR)" = "$ROOT/sessions/$ID" ]
}

@test "a copy of a root takes nothing of the first one's teams" {
    a_running_session
    local pid
    pid=$(agent_pid "$ID")
    cp -a "$ROOT" "$T/copy"
    "$MAS" --root "$T/copy" doctor --fix || true
    [ "$(tm show-options -v -t "=$(tmux_name "$ID"):" @mas_root)" = "$ROOT" ]
    [ "$(agent_pid "$ID")" = "$pid" ]
    [ "$("$MAS" --root "$T/copy" list --all --json | jq -r '.sessions[0].status')" = stopped ]
    is_in_order
}
