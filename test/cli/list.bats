#!/usr/bin/env bats
load ../helper

setup_more() { quick_idle; }

# One session in each state: $RUNNING, $STOPPED, $CRASHED (its tmux session was killed), $BROKEN.
four_states() {
    new_session -t solo -n running
    RUNNING=$ID
    new_session -t solo -n stopped --no-start
    STOPPED=$ID
    new_session -t solo -n crashed
    CRASHED=$ID
    tm kill-session -t "=mas-${ID:0:8}"
    new_session -t solo -n broken
    BROKEN=$ID
    for id in "$RUNNING" "$BROKEN"; do
        "$MAS" wait "$id" --for idle
    done
    echo 'not a line of metadata' >>"$ROOT/sessions/$ID/.session"
}

# The ids that a list prints, sorted, on one line.
ids() { "$MAS" list -q "$@" | sort | xargs; }
sorted() { printf '%s\n' "$@" | sort | xargs; }

@test "list without sessions prints no row and says how to begin" {
    ok list
    [ -z "$output" ]
    [ "$stderr" = "no sessions in '$ROOT'; create a session with: mas new" ]
    ok list -q
    [ -z "$output$stderr" ]
    ok list --json
    [ "$output" = '{"sessions":[],"total":0}' ]
}

@test "mas alone and ls are list" {
    is_list() { [ "$("$MAS" "$@")" = "$("$MAS" list)" ]; }
    new_session -t solo -n one --no-start
    eventually is_list # a second that passes in between changes the age
    eventually is_list --root "$ROOT"
    [ "$("$MAS" ls -q)" = "$ID" ]
}

@test "list prints a row a session under a head" {
    new_session -t solo -n one
    ok list
    [ -z "$stderr" ]
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} =~ ^SESSION\ +NAME\ +TEMPLATE\ +MODE\ +AGE\ +ACTIVE\ +AGENTS\ +STATUS$ ]]
    [[ ${lines[1]} =~ ^mas-${ID:0:8}\ +one\ +solo\ +isolated\ +[0-9]+s\ +[0-9]+s\ +1/1\ +active$ ]]
}

@test "list counts the agents that run" {
    printf '[preset true]\ncommand = true\n' >>"$ROOT/mas.ini"
    new_session -t pair
    new_session -t pair --agent true
    # shellcheck disable=SC2329
    all_ended() { [ "$(field "$ID" .agentsEnded)" = 2 ]; }
    eventually all_ended
    mas list
    [[ $output == *" 2/2 "*active* ]]
    [[ $output == *" 0/2 "*active* ]]
}

@test "list tells active, stopped, crashed and error apart" {
    four_states
    ok list
    [ "${#lines[@]}" -eq 5 ]
    [[ $output =~ mas-${RUNNING:0:8}\ +running\ [^$'\n']*\ active($'\n'|$) ]]
    [[ $output =~ mas-${STOPPED:0:8}\ +stopped\ [^$'\n']*\ stopped($'\n'|$) ]]
    [[ $output =~ mas-${CRASHED:0:8}\ +crashed\ [^$'\n']*\ stopped\ \(crashed\)($'\n'|$) ]]
    [[ $output =~ mas-${BROKEN:0:8}\ +broken\ [^$'\n']*\ error:\ [^$'\n']*KEY=value ]]
}

@test "the filters pick by what is so now, and add up" {
    four_states
    [ "$(ids)" = "$(sorted "$RUNNING" "$STOPPED" "$CRASHED" "$BROKEN")" ]
    [ "$(ids --active)" = "$RUNNING" ]
    [ "$(ids --stopped)" = "$(sorted "$STOPPED" "$CRASHED")" ]
    [ "$(ids --error)" = "$BROKEN" ]
    [ "$(ids --active --error)" = "$(sorted "$RUNNING" "$BROKEN")" ]
    [ "$(ids --active --stopped --error)" = "$(ids)" ]
    mas list --active
    [ "${#lines[@]}" -eq 2 ]
    mas list --error --json
    [ "$(jq -r '.total, .sessions[].sessionId' <<<"$output" | xargs)" = "1 $BROKEN" ]
}

@test "a filter that picks nothing prints no row and does not say that there are no sessions" {
    new_session -t solo --no-start
    ok list --active
    [ -z "$output$stderr" ]
}

@test "list --json has exactly the keys of the contract" {
    new_session -t solo -n one
    ok list --json
    [ -z "$stderr" ]
    [ "$(jq -r 'keys_unsorted | join(" ")' <<<"$output")" = "sessions total" ]
    [ "$(jq -r .total <<<"$output")" = 1 ]
    for key in sessionId tmuxSession status createdAt lastActivity workingDir mode name template; do
        [ "$(jq -r ".sessions[0].$key | type" <<<"$output")" = string ]
    done
    [ "$(jq -r '.sessions[0] | .crashed | type' <<<"$output")" = boolean ]
    [ "$(jq -r '.sessions[0] | .reason' <<<"$output")" = null ]
    [ "$(jq -r '.sessions[0] | [.sessionId, .tmuxSession, .status, .workingDir, .mode, .name, .template] | join(" ")' <<<"$output")" = \
        "$ID mas-${ID:0:8} active $ROOT/sessions/$ID isolated one solo" ]
    [ "$(jq -r .sessions[0].createdAt <<<"$output")" = "$(meta "$ID" CREATED_AT)" ]
}

@test "list --json tells a crash and the reason of an error" {
    four_states
    ok list --json
    # shellcheck disable=SC2329
    of() { jq -r --arg id "$1" '.sessions[] | select(.sessionId == $id) | '"$2" <<<"$output"; }
    [ "$(of "$CRASHED" '[.status, .crashed] | join(" ")')" = "stopped true" ]
    [ "$(of "$STOPPED" '[.status, .crashed] | join(" ")')" = "stopped false" ]
    [ "$(of "$RUNNING" '[.status, .crashed] | join(" ")')" = "active false" ]
    [ "$(of "$BROKEN" .status)" = error ]
    [[ $(of "$BROKEN" .reason) == "its .session is damaged: line "*" is not KEY=value" ]]
}

@test "list says crashed at once when the tmux server is gone" {
    new_session -t pair
    tm kill-server
    mas list --json
    [ "$(jq -r '.sessions[0] | [.status, .crashed] | join(" ")' <<<"$output")" = "stopped true" ]
    [ "$(meta "$ID" STATUS)" = active ]
}

# Prints when session $ID was last active.
activity() { "$MAS" list --all --json | jq -r --arg id "$ID" '.sessions[] | select(.sessionId == $id).lastActivity'; }

@test "the last activity is the newest of any agent, also once the session is stopped" {
    new_session -t pair
    # shellcheck disable=SC2329
    later_than() { "$MAS" send "$ID" "$1" : >/dev/null && [[ $(activity) > $2 ]]; }
    for agent in $("$MAS" status "$ID" --json | jq -r '.sessions[0].agents[].id'); do
        eventually later_than "$agent" "$(activity)"
    done
    last=$(activity)
    [[ $last > $(field "$ID" .createdAt) ]]
    ok stop -q "$ID"
    [[ ! $(activity) < $last ]]
}

@test "a crashed session was last active when its agents last wrote something" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    sed -i '/^STOPPED_AT=/d; s/^STATUS=.*/STATUS=active/; s/^LAST_ACTIVITY=.*/LAST_ACTIVITY=2020-01-01T00:00:00Z/' \
        "$ROOT/sessions/$ID/.session"
    find "$ROOT/sessions/$ID/logs" -type f -exec touch -d 2021-02-03T00:00:00Z {} +
    rm "$ROOT/sessions/.sessions.index" # it is made from .session
    touch -d 2021-02-03T04:05:06Z "$ROOT/sessions/$ID/logs/agent-solo.log"
    [ "$(activity)" = 2021-02-03T04:05:06Z ]
    mas clean --older-than "$((($(date +%s) - $(date -d 2020-06-01 +%s)) / 86400))d" --status crashed
    [ "$output" = '0 sessions removed, 0B freed' ]
    mas stop -q "$ID"
    [ "$(activity)" = 2021-02-03T04:05:06Z ]
}

@test "a .session of the four keys SESSION_ID, TMUX_SESSION, STATUS and CREATED_AT is whole" {
    local file
    new_session -t solo -n one --no-start
    file=$ROOT/sessions/$ID/.session
    grep -E '^(SESSION_ID|TMUX_SESSION|STATUS|CREATED_AT)=' "$file" >"$T/four"
    cp "$T/four" "$file"
    mas list --all --json
    [ "$(jq -r '.sessions[0] | [.status, .reason // ""] | join(" ")' <<<"$output")" = 'stopped ' ]
    "$MAS" start -q "$ID"
    [ "$(field "$ID" .status)" = active ]
    [ "$(meta "$ID" TMUX_SOCKET)" = "$SOCK" ]
    "$MAS" stop -q "$ID"
    cp "$T/four" "$file"
    sed -i '/^TMUX_SESSION=/d' "$file"
    mas list --all
    [[ $output == *'TMUX_SESSION is missing'* ]]
}

@test "list writes nothing" {
    four_states
    before=$(snapshot)
    index=$(stat -c '%i %Y %s' "$ROOT/sessions/.sessions.index")
    for option in '' --active --all --json -q; do
        # shellcheck disable=SC2086
        "$MAS" list $option >/dev/null
    done
    [ "$(snapshot)" = "$before" ]
    [ "$(stat -c '%i %Y %s' "$ROOT/sessions/.sessions.index")" = "$index" ]
}

@test "list sorts by age, the oldest first" {
    made=()
    for second in 07 03 05 01 06 02 04; do
        new_session -t solo --no-start
        sed -i "s/^CREATED_AT=.*/CREATED_AT=2024-01-01T00:00:$second""Z/" "$ROOT/sessions/$ID/.session"
        made[10#$second]=$ID
    done
    rm "$ROOT/sessions/.sessions.index"
    mas list -q
    [ "$(xargs <<<"$output")" = "${made[*]}" ]
    mas list --json
    [ "$(jq -r '[.sessions[].sessionId] | join(" ")' <<<"$output")" = "${made[*]}" ]
    [ "$(jq -r '[.sessions[].createdAt] | . == sort' <<<"$output")" = true ]
    mas list
    for i in 1 2 3 4 5 6 7; do
        [[ ${lines[i]} == mas-${made[i]:0:8}* ]]
    done
}

@test "list of 50 sessions" {
    for _ in {1..50}; do
        "$MAS" new -q -t solo --no-start
    done >"$T/ids"
    [ "$(sort -u "$T/ids" | wc -l)" -eq 50 ]
    [ "$(ids)" = "$(sort "$T/ids" | xargs)" ]
    [ "$("$MAS" list | wc -l)" -eq 51 ]
    [ "$("$MAS" list --json | jq '.total, (.sessions | length)' | xargs)" = "50 50" ]
    [ "$("$MAS" list --stopped -q | wc -l)" -eq 50 ]
    [ -z "$("$MAS" list --active -q)" ]
    [ "$(jq '.sessions | length' "$ROOT/sessions/.sessions.index")" -eq 50 ]
}

@test "list prints ids or JSON, never both" {
    new_session -t solo --no-start
    mas list -q --json
    if [ "$status" -eq 0 ]; then
        [ "$output" = "$ID" ] || jq -e '.total == 1' <<<"$output"
    else
        [ "$status" -eq 2 ]
    fi
}

@test "a full disk behind stdout is an error" {
    new_session -t solo --no-start
    for option in '' -q --json; do
        # shellcheck disable=SC2016
        run --separate-stderr bash -c '"$1" list $2 >/dev/full' - "$MAS" "$option"
        [ "$status" -eq 1 ]
        [ "$stderr" = "mas: cannot write to standard output: No space left on device" ]
    done
}

@test "a reader that goes away is no reason to hang" {
    for _ in {1..5}; do "$MAS" new -q -t solo --no-start; done
    # shellcheck disable=SC2016
    run bash -c '"$1" list --json | head -c 1' - "$MAS"
    [ "$output" = "{" ]
}

@test "list has colours only on a terminal, and never with NO_COLOR" {
    new_session -t solo
    mas list
    [[ $output != *$'\033'* ]]
    run script -qec "'$MAS' list" /dev/null
    [[ $output == *$'\033[2mSESSION\033[0m'* ]]
    NO_COLOR=1 run script -qec "'$MAS' list" /dev/null
    [[ $output != *$'\033'* ]]
    TERM=dumb run script -qec "'$MAS' list" /dev/null
    [[ $output != *$'\033'* ]]
}

@test "on a terminal lists fit its width; a pipe gets all" {
    local long
    long=a$(printf 'n%.0s' {1..40})
    new_session -t solo -n "$long"
    new_session -t default -n big
    echo rubbish >"$ROOT/sessions/$ID/.session"
    mas list --all
    [[ ${lines[0]} =~ ^SESSION\ +NAME\ +TEMPLATE\ +MODE\ +AGE\ +ACTIVE\ +AGENTS\ +STATUS$ ]]
    [[ ${lines[1]} == *"$long "*' default '* || ${lines[1]} == *"$long "*' solo '* ]]
    for columns in 80 60; do
        NO_COLOR=1 run script -qec "stty cols $columns; '$MAS' list --all" /dev/null
        [ "$status" -eq 0 ]
        [ "${#lines[@]}" -eq 3 ]
        [[ ${lines[0]} =~ ^SESSION\ +NAME ]]
        [[ $output == *...* ]]
        [ -z "$(tr -d '\r' <<<"$output" | awk -v n=$columns 'length($0) > n')" ]
    done
    for verb in du presets 'template list'; do
        NO_COLOR=1 run script -qec "stty cols 80; '$MAS' $verb" /dev/null
        [ "$status" -eq 0 ]
        [ -z "$(tr -d '\r' <<<"$output" | awk 'length($0) > 80')" ] || { echo "$verb: $output"; return 1; }
    done
    new_session -n shown
    mas show shown
    [[ $output =~ AGENT\ +ROLE\ +UNIT\ +STATE\ +SINCE\ +PID\ +RESTARTS\ +PANE ]]
    NO_COLOR=1 run script -qec "stty cols 60; '$MAS' show shown" /dev/null
    [[ $output =~ AGENT\ +ROLE\ +STATE\ +SINCE ]]
    [[ $output == *"$ROOT/sessions/$ID"* ]] # a path is never cut
    [ -z "$(tr -d '\r' <<<"$output" | sed '1,/^AGENT/d' | awk 'length($0) > 60')" ]
}

@test "list takes no operand" {
    fails 2 list one
    [[ $stderr == "mas: cannot run 'list': unexpected operand 'one'"$'\n'"usage: mas list"* ]]
}

@test "another environment sees the same sessions" {
    new_session -t solo -n one
    run env -i HOME=/nonexistent "$MAS" --root "$ROOT" list --active -q
    [ "$status" -eq 0 ]
    [ "$output" = "$ID" ]
    run env -i HOME=/nonexistent TMUX_TMPDIR=/nonexistent PATH=/usr/bin:/bin "$MAS" --root "$ROOT" list --json
    [ "$(jq -r .sessions[0].status <<<"$output")" = active ]
}

@test "a session that was renamed in tmux is still known" {
    new_session -t solo -n one
    tm rename-session -t "=mas-${ID:0:8}" 'other name'
    mas list --json
    [ "$(jq -r '.sessions[0] | [.sessionId, .status, .tmuxSession] | join(" ")' <<<"$output")" = "$ID active other name" ]
    ok show 'other name'
}

@test "what a tmux session was renamed to cannot move the terminal" {
    new_session -t solo
    # tmux runs what stands in #() itself; ## is the character; 3.7 takes no control character
    tm rename-session -t "=mas-${ID:0:8}" $'x\033[31mred$(touch ran)##(touch ran)' ||
        tm rename-session -t "=mas-${ID:0:8}" $'x[31mred$(touch ran)##(touch ran)'
    cd "$T"
    ok list
    [[ $(tm list-sessions -F '#S') == *'#(touch ran)' ]]
    [[ $output != *$'\033'* ]]
    [[ $output == *" active" ]]
    [ ! -e ran ]
}

@test "a stopped session that is damaged is listed as an error by every list, and the others as they are" {
    new_session -t solo --no-start -n fine
    local fine=$ID
    new_session -t solo --no-start -n bad
    local bad=$ID
    mas list --error -q
    [ -z "$output" ]
    # shellcheck disable=SC2016 # nobody is to run it
    echo 'STATUS=$(date)' >>"$ROOT/sessions/$bad/.session"
    ok list --json
    [ "$(jq -r '.sessions[] | .name + " " + .status' <<<"$output")" = $'fine stopped\nbad error' ]
    [[ $(jq -r '.sessions[1].reason' <<<"$output") == *.session* ]]
    mas list --error -q
    [ "$output" = "$bad" ]
    mas list --stopped -q
    [ "$output" = "$fine" ]
    # also once another session has written the index
    new_session -t solo --no-start
    mas list --error -q
    [ "$output" = "$bad" ]
    "$MAS" doctor --fix >/dev/null
    mas list --error -q
    [ -z "$output" ]
}

@test "a damaged session is found by list --error also where its file looks as it was" {
    new_session -t solo --no-start
    touch -r "$ROOT/sessions/$ID/.session" "$T/time"
    sed -i 's/^STATUS=stopped/STATUS=stoqqed/' "$ROOT/sessions/$ID/.session"
    touch -r "$T/time" "$ROOT/sessions/$ID/.session"
    mas list --error -q
    [ "$output" = "$ID" ]
}

@test "sessions of one second stay in the order in which they were made, whatever changes, also without an index" {
    local ids='' name
    for name in a b c d e f; do ids+=" $("$MAS" new -q -n "$name" -t solo --no-start)"; done
    order() { [ "$("$MAS" list --all --json | jq -r '[.sessions[].sessionId] | join(" ")')" = "${ids# }" ]; }
    order
    "$MAS" set -q a private=yes
    "$MAS" set -q c private=yes
    order
    rm "$ROOT/sessions/.sessions.index"
    order
    # made by a script that did not say the nanoseconds, all in one second: by the ids, every time
    sed -i '/^CREATED_NSEC=/d; s/^CREATED_AT=.*/CREATED_AT=2026-01-02T03:04:05Z/' "$ROOT"/sessions/*/.session
    ids=" $(xargs -n 1 <<<"$ids" | sort | xargs)"
    rm -f "$ROOT/sessions/.sessions.index"
    order
}

@test "where nothing is set up, list says on a terminal how to begin, with the agents that are installed" {
    mkdir "$T/bin" "$T/empty"
    printf '#!/bin/sh\n' >"$T/bin/codex"
    chmod +x "$T/bin/codex"
    run env -u MAS_ROOT HOME="$T/empty" PATH="$T/bin:/usr/bin:/bin" script -qec "cd '$T/empty' && '$MAS'" /dev/null
    [ "$status" -eq 0 ]
    [[ $output == *'no sessions in '*'agents that are installed here: '*codex-tty*'mas new --template solo'* ]]
    [ "${#lines[@]}" -le 6 ]
    [ ! -e "$T/empty/.local" ]
    # not to a program
    run --separate-stderr env -u MAS_ROOT HOME="$T/empty" sh -c "cd \"\$HOME\" && \"$MAS\""
    [[ $stderr != *$'\n'* ]]
}
