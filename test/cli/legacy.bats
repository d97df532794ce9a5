#!/usr/bin/env bats
# Legacy mode: one shared session in the root's own unit/ and workflows/.
load ../helper

legacy() { new_session --mode legacy -t pair "$@"; }

# What the root has beside mas's own.
shared() { (cd "$ROOT" && find unit workflows -printf '%p %m %i %T@\n' 2>/dev/null | sort); }

# Nothing half made: no hidden entry in the root or in sessions/ but the mark, the index and the lock.
no_leftovers() {
    [ -z "$(find "$ROOT" -mindepth 1 -maxdepth 1 -name '.*' ! -name .sessions.mark)" ]
    [ -z "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 -name '.*' ! -name '.sessions.*')" ]
}

@test "new --mode legacy makes unit and workflows in the root, and metadata in sessions" {
    ok new --mode legacy -t pair
    [ -z "$stderr" ]
    ID=${lines[0]##* }
    [ "${lines[0]}" = "mas-tmux  $ID" ]
    [ "${lines[1]}" = "workspace: $ROOT/sessions/$ID" ]
    [ "${lines[2]}" = "agents: $ROOT/unit" ]
    [ "${lines[3]}" = "attach: mas attach mas-tmux" ]
    diff -r "$ROOT/templates/pair/unit" "$ROOT/unit"
    diff -r "$ROOT/templates/pair/workflows" "$ROOT/workflows"
    [ "$(stat -c %a "$ROOT/unit" "$ROOT/unit/lead" "$ROOT/workflows" | xargs)" = "755 755 755" ]
    [ ! -e "$ROOT/sessions/$ID/unit" ]
    [ ! -e "$ROOT/sessions/$ID/workflows" ]
    [ -d "$ROOT/sessions/$ID/logs" ]
    [ -d "$ROOT/sessions/$ID/run" ]
    [ -s "$ROOT/sessions/$ID/config.json" ]
    [ "$(meta "$ID" MODE)" = legacy ]
    [ "$(meta "$ID" TMUX_SESSION)" = mas-tmux ]
    [ "$(meta "$ID" UNIT_DIR)" = "$ROOT/unit" ]
    [ "$(meta "$ID" WORKFLOWS_DIR)" = "$ROOT/workflows" ]
    tm has-session -t =mas-tmux
    no_leftovers
    ok doctor
    [ "$output" = "everything is in order" ]
}

@test "its agents work in the root's unit" {
    legacy
    local pid
    pid=$(agent_pid "$ID" lead)
    [ "$(readlink "/proc/$pid/cwd")" = "$ROOT/unit/lead" ]
    tr '\0' '\n' <"/proc/$pid/environ" >"$T/env"
    grep -qx "MAS_SESSION_MODE=legacy" "$T/env"
    grep -qx "SESSION_NAME=mas-tmux" "$T/env"
    grep -qx "UNIT_DIR=$ROOT/unit" "$T/env"
    grep -qx "WORKFLOWS_DIR=$ROOT/workflows" "$T/env"
    grep -qx "MAS_SESSION_DIR=$ROOT/sessions/$ID" "$T/env"
}

@test "the mode comes from the environment, mas.ini and the command line, the last one first" {
    MAS_SESSION_MODE=legacy new_session -t solo --no-start
    [ "$(field "$ID" .mode)" = legacy ]
    "$MAS" rm -q "$ID"
    printf '[session]\nmode = legacy\n' >>"$ROOT/mas.ini"
    new_session -t solo --no-start
    [ "$(field "$ID" .mode)" = legacy ]
    new_session -t solo --no-start --mode isolated
    [ "$(field "$ID" .mode)" = isolated ]
    MAS_SESSION_MODE=isolated new_session -t solo --no-start
    [ "$(field "$ID" .mode)" = isolated ]
}

@test "sessions of both modes live side by side, and list tells them apart" {
    new_session -t solo -n apart
    local apart=$ID shared
    legacy -n shared
    shared=$ID
    new_session -t solo -n later
    mas list
    [ "${#lines[@]}" -eq 4 ]
    [[ ${lines[1]} =~ ^mas-${apart:0:8}\ +apart\ +solo\ +isolated\ .*active$ ]]
    [[ ${lines[2]} =~ ^mas-tmux\ +shared\ +pair\ +legacy\ .*active$ ]]
    [[ ${lines[3]} =~ \ later\ +solo\ +isolated\ .*active$ ]]
    [ "$("$MAS" list --json | jq -r '[.sessions[].mode] | join(" ")')" = "isolated legacy isolated" ]
    "$MAS" stop -q shared
    [ "$(field apart .status)" = active ]
    "$MAS" stop -q apart
    "$MAS" start shared
    [ "$(field shared .status)" = active ]
    [ "$(field "$shared" .tmuxSession)" = mas-tmux ]
    [ "$(field apart .status)" = stopped ]
    [ "$("$MAS" list --all --json | jq -r '[.sessions[].mode] | join(" ")')" = "isolated legacy isolated" ]
}

@test "every command takes it, by its tmux name too" {
    legacy
    "$MAS" wait mas-tmux --for idle
    [ "$(field mas-tmux .unitDir)" = "$ROOT/unit" ]
    [ "$(field mas-tmux .workflowsDir)" = "$ROOT/workflows" ]
    [ "$(field mas-tmux .workingDir)" = "$ROOT/sessions/$ID" ]
    "$MAS" send mas-tmux lead 'echo hi >greeting'
    eventually test -s "$ROOT/unit/lead/greeting"
    [ "$("$MAS" status mas-tmux --json | jq '.sessions[0].agents | length')" = 2 ]
    "$MAS" logs mas-tmux lead | grep -q greeting
    "$MAS" restart mas-tmux lead
    [ "$(readlink "/proc/$(agent_pid "$ID" lead)/cwd")" = "$ROOT/unit/lead" ]
    eval "$("$MAS" env mas-tmux)"
    [ "$UNIT_DIR" = "$ROOT/unit" ]
    [ "$MAS_SESSION_MODE" = legacy ]
    unset MAS_SESSION_ID
    "$MAS" stop mas-tmux
    run ! tm has-session -t =mas-tmux
    "$MAS" start mas-tmux
    tm has-session -t =mas-tmux
}

@test "what is in the root already is kept, and only what is missing is made" {
    mkdir -p "$ROOT/unit/lead" "$ROOT/unit/mine"
    chmod 700 "$ROOT/unit" "$ROOT/unit/lead"
    echo work >"$ROOT/unit/lead/notes"
    echo mine >"$ROOT/unit/mine/file"
    local before
    before=$(find "$ROOT/unit" -type f -printf '%p %i %m %T@\n' | sort; stat -c '%a %i' "$ROOT/unit" "$ROOT/unit/lead")
    legacy --no-start
    [ "$(ls "$ROOT/unit/lead")" = notes ]
    diff -r "$ROOT/templates/pair/unit/reviewer" "$ROOT/unit/reviewer"
    diff -r "$ROOT/templates/pair/workflows" "$ROOT/workflows"
    [ "$(find "$ROOT/unit" -type f ! -path '*/reviewer/*' -printf '%p %i %m %T@\n' | sort; stat -c '%a %i' "$ROOT/unit" "$ROOT/unit/lead")" = "$before" ]
    no_leftovers
    "$MAS" doctor
}

@test "rm removes the session and leaves the root's directories alone" {
    legacy
    echo work >"$ROOT/unit/lead/notes"
    local before
    before=$(shared)
    fails 4 rm "$ID"
    ok rm -f "$ID"
    [ ! -e "$ROOT/sessions/$ID" ]
    [ "$(shared)" = "$before" ]
    run ! tm has-session -t =mas-tmux
    legacy --no-start
    [ "$(shared)" = "$before" ]
}

@test "a second one is a conflict that names the first" {
    legacy --no-start
    local before
    before=$(snapshot)
    fails 4 new --mode legacy -t solo
    [ -z "$output" ]
    [ "$stderr" = "mas: cannot create a legacy session: '$ID' exists already
a root has at most one: start it with: mas start $ID, or turn it into an isolated session with: mas migrate" ]
    SESSION_NAME=other fails 4 new --mode legacy -t solo
    [ "$(snapshot)" = "$before" ]
}

@test "a damaged one is still the one, with its index or without" {
    legacy --no-start
    echo nonsense >"$ROOT/sessions/$ID/.session"
    fails 4 new --mode legacy -t pair --no-start
    rm "$ROOT/sessions/.sessions.index"
    fails 4 new --mode legacy -t pair --no-start
    [[ $stderr == *"'$ID' exists already"* ]]
    "$MAS" doctor --fix
    [ "$(meta "$ID" MODE)" = legacy ]
    "$MAS" doctor
    [ ! -e "$ROOT/sessions/$ID/unit" ]
}

@test "of eight at once one is made, and the others are conflicts" {
    local i pids=() won=0
    for i in {1..8}; do
        "$MAS" new -q --mode legacy -t pair >"$T/out.$i" 2>"$T/err.$i" &
        pids+=("$!")
    done
    for i in {1..8}; do
        local rc=0
        wait "${pids[i - 1]}" || rc=$?
        if [ "$rc" -eq 0 ]; then
            won=$((won + 1))
            ID=$(<"$T/out.$i")
        else
            [ "$rc" -eq 4 ]
            grep -q '^mas: cannot create ' "$T/err.$i"
        fi
    done
    [ "$won" -eq 1 ]
    [ "$("$MAS" list -q)" = "$ID" ]
    diff -r "$ROOT/templates/pair/unit" "$ROOT/unit"
    no_leftovers
    "$MAS" doctor
}

@test "SESSION_NAME names it in tmux" {
    SESSION_NAME=my_team legacy
    [ "$(field "$ID" .tmuxSession)" = my_team ]
    tm has-session -t =my_team
    "$MAS" stop -q my_team
    "$MAS" start -q "$ID"
    tm has-session -t =my_team
}

@test "inside a team SESSION_NAME and MAS_SESSION_MODE are no settings" {
    new_session -t solo --no-start
    export MAS_SESSION_ID=$ID MAS_SESSION_MODE=legacy SESSION_NAME=mas-${ID:0:8}
    new_session -t solo --no-start
    [ "$(field "$ID" .mode)" = isolated ]
    new_session -t solo --no-start --mode legacy
    [ "$(field "$ID" .tmuxSession)" = mas-tmux ]
}

@test "a bad SESSION_NAME is refused, and makes nothing" {
    local before name
    before=$(snapshot)
    # shellcheck disable=SC2016 # no shell is to read them
    for name in 'a b' 'a:b' '#(touch x)' '$(x)' '=x' "$(printf 'x%.0s' {1..65})" $'a\nb'; do
        SESSION_NAME=$name fails 1 new --mode legacy -t pair
        [[ $stderr == "mas: cannot use SESSION_NAME='"*"': it is not 1 to 64 characters of A-Z a-z 0-9 _ -" ]]
    done
    [ "$(snapshot)" = "$before" ]
    SESSION_NAME='' new_session --mode legacy -t pair --no-start
    [ "$(field "$ID" .tmuxSession)" = mas-tmux ]
}

@test "a tmux session of that name that is not its own is a conflict" {
    tm new-session -d -s mas-tmux
    local before
    new_session -t solo --no-start # the index is there
    before=$(snapshot)
    fails 4 new --mode legacy -t pair
    [ "$stderr" = "mas: cannot create the legacy session: tmux has another session 'mas-tmux'
end that first: tmux -S $SOCK kill-session -t '=mas-tmux'" ]
    [ "$(snapshot)" = "$before" ]
    legacy --no-start
    before=$(snapshot)
    fails 4 start "$ID"
    [[ $stderr == "mas: cannot start the legacy session: tmux has another session 'mas-tmux'"* ]]
    [ "$(snapshot)" = "$before" ]
    tm kill-session -t =mas-tmux
    ok start "$ID"
}

@test "a team that has the name in tmux is never advised to be killed" {
    "$MAS" --root "$T/other" init -q
    local other
    other=$("$MAS" --root "$T/other" new -q --mode legacy -t solo)
    fails 4 new --mode legacy -t solo
    [ "$stderr" = "mas: cannot create the legacy session: tmux has another session 'mas-tmux'
it is the team of session $other; set SESSION_NAME to another name" ]
    legacy --no-start
    fails 4 start "$ID"
    [[ $stderr == *"it is the team of session $other;"* ]]
}

@test "of two legacy sessions made at the same time one is the other's conflict" {
    new_session -t solo # tmux runs, so it is asked
    # a tmux that waits to be let go
    mkdir "$T/bin"
    printf '#!/bin/sh\n: >"%s/asked"\nread -r _ <"%s/go"\nexec %q "$@"\n' "$T" "$T" "$(command -v tmux)" >"$T/bin/tmux"
    chmod +x "$T/bin/tmux"
    mkfifo "$T/go"
    PATH=$T/bin:$PATH "$MAS" new --mode legacy -t solo >"$T/out" 2>"$T/err" 3>&- &
    local second=$! rc=0
    eventually [ -e "$T/asked" ]
    legacy
    exec 9<>"$T/go"
    printf '\n%.0s' {1..100} >&9
    wait "$second" || rc=$?
    exec 9>&-
    cat "$T/err"
    [ "$rc" -eq 4 ]
    [ "$(head -n 1 "$T/err")" = "mas: cannot create a legacy session: '$ID' exists already" ]
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
    tm has-session -t =mas-tmux
}

@test "what is no directory in the place of one is refused, and stays" {
    mkdir "$T/elsewhere"
    ln -s "$T/elsewhere" "$ROOT/unit"
    fails 1 new --mode legacy -t pair --no-start
    [ "$stderr" = "mas: cannot use '$ROOT/unit': it is a symbolic link" ]
    [ -z "$(ls -A "$T/elsewhere")" ]
    rm "$ROOT/unit"
    mkdir "$ROOT/unit"
    echo file >"$ROOT/unit/lead"
    fails 1 new --mode legacy -t pair --no-start
    [[ $stderr == "mas: cannot use '$ROOT/unit/lead': "* ]]
    [ "$(cat "$ROOT/unit/lead")" = file ]
    [ "$(ls "$ROOT/unit")" = lead ]
    [ ! -e "$ROOT/workflows" ]
    no_leftovers
    [ -z "$("$MAS" list -q)" ]
}

@test "a team that cannot be started leaves nothing in the root" {
    mkdir -p "$ROOT/unit/10"
    local before
    new_session -t solo --no-start # the index is there
    before=$(snapshot)
    # a window that has no room for four agents
    MAS_TMUX_SIZE=10x3 fails 6 new --mode legacy -t default
    [ "$(snapshot)" = "$before" ]
    [ "$("$MAS" list -q)" = "$ID" ]
}

@test "what a killed new left in the root goes with the next one, or with doctor --fix" {
    local left=$ROOT/.new-0a0a0a0a-1111-4222-8333-444444444444
    mkdir -p "$left/unit/lead"
    fails 1 doctor
    [[ $output == *"${left##*/}"*"a killed command left it behind"* ]]
    "$MAS" doctor --fix
    [ ! -e "$left" ]
    mkdir -p "$left/unit/lead"
    legacy --no-start
    no_leftovers
}

@test "doctor makes a directory of the root that is missing, and changes no mode there" {
    legacy --no-start
    rm -r "$ROOT/workflows"
    chmod 700 "$ROOT/unit"
    fails 1 doctor
    [[ $output == *"$ID"*"the root's workflows is missing"* ]]
    [[ $output != *unit* ]]
    "$MAS" doctor --fix
    [ -d "$ROOT/workflows" ]
    [ "$(stat -c %a "$ROOT/unit")" = 700 ]
    "$MAS" doctor
}

@test "a root that moved takes the legacy session along" {
    legacy --no-start
    mv "$ROOT" "$T/moved"
    export MAS_ROOT=$T/moved ROOT=$T/moved
    [ "$(field "$ID" .unitDir)" = "$T/moved/unit" ]
    "$MAS" start "$ID"
    [ "$(readlink "/proc/$(agent_pid "$ID" lead)/cwd")" = "$T/moved/unit/lead" ]
}
