#!/usr/bin/env bats
# Many at once, and commands that are interrupted.
load ../helper

teardown_more() {
    grep -lsz "^MAS_SESSION_DIR=$T/" /proc/[0-9]*/environ | cut -d/ -f3 |
        xargs -r kill -KILL 2>/dev/null || true
}

ws() { echo "$ROOT/sessions/$1"; }

# Runs the command line $2 as often as $1 says, all at once; exit codes go to $T/codes, output to
# $T/out and $T/err.
at_once() {
    local i
    for ((i = 0; i < $1; i++)); do
        { bash -c "$2" >>"$T/out" 2>>"$T/err" && echo 0 >>"$T/codes" || echo "$?" >>"$T/codes"; } 3>&- &
    done
    wait
}

count() { sort "$T/codes" | uniq -c | awk '{ printf "%s%sx%s", n++ ? " " : "", $1, $2 }'; }

# The first session leaves an index, which no later snapshot shall show as new.
make_index() { "$MAS" rm -q "$("$MAS" new -q -t solo --no-start)"; }

@test "50 new at once beside 10 listing loops give 50 sessions, rows and tmux sessions" {
    local i pids=()
    for ((i = 0; i < 10; i++)); do
        {
            until [ -e "$T/done" ]; do
                { "$MAS" list --json >"$T/list.$i" &&
                    jq -e '.total == (.sessions | length)' "$T/list.$i" >/dev/null; } 2>"$T/list-err.$i" &&
                    [ ! -s "$T/list-err.$i" ] || cat "$T/list-err.$i" >>"$T/list-failed"
            done
        } 3>&- &
        pids+=($!)
    done
    for ((i = 0; i < 50; i++)); do
        { "$MAS" new -q -t solo >>"$T/ids" 2>>"$T/err" || echo "$?" >>"$T/new-failed"; } 3>&- &
        pids[i + 10]=$!
    done
    wait "${pids[@]:10}"
    touch "$T/done"
    wait "${pids[@]:0:10}"
    [ ! -e "$T/new-failed" ]
    [ ! -s "$T/err" ]
    if [ -e "$T/list-failed" ]; then cat "$T/list-failed"; fi
    [ ! -e "$T/list-failed" ]
    [ "$(sort -u "$T/ids" | wc -l)" -eq 50 ]
    [ "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 -type d | wc -l)" -eq 50 ]
    [ "$(jq '.sessions | length' "$ROOT/sessions/.sessions.index")" = 50 ]
    [ "$(tm list-sessions -F '#{@mas_id}' | sort)" = "$(sort "$T/ids")" ]
    [ "$("$MAS" list --active -q | sort)" = "$(sort "$T/ids")" ]
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "many new of the same name: one gets it, the others say who has it" {
    make_index
    at_once 8 "'$MAS' new -q -t solo --no-start -n wanted"
    [ "$(count)" = '1x0 7x4' ]
    [ "$(grep -c "cannot name a session 'wanted': another session has that name" "$T/err")" -eq 7 ]
    [ "$("$MAS" list --all -q)" = "$(cat "$T/out")" ]
    [ "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 -type d | wc -l)" -eq 1 ]
}

@test "many new of the same id: one gets it, the others are in conflict" {
    local id=0a0a0a0a-1111-4222-8333-444444444444
    make_index
    at_once 8 "'$MAS' new -q -t solo --id $id"
    cat "$T/err" "$T/codes"
    [ "$(count)" = '1x0 7x4' ]
    [ "$("$MAS" list --all -q)" = "$id" ]
    [ "$(tm list-sessions | wc -l)" -eq 1 ]
    [ "$(field "$id" .agentsRunning)" = 1 ]
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "new with an id that another new is just making is a conflict" {
    local id=0a0a0a0a-1111-4222-8333-444444444444 before
    make_index
    mkdir -m 700 "$(ws ".new-$id")"
    exec 8>"$(ws ".new-$id")/.session.lock"
    flock 8
    before=$(snapshot)
    fails 4 new -t solo --no-start --id "$id"
    [[ $stderr == "mas: cannot create session '$id': "* ]]
    [ "$(snapshot)" = "$before" ]
}

@test "new with an id that a killed new was making makes it" {
    local id=0a0a0a0a-1111-4222-8333-444444444444
    mkdir -m 700 "$(ws ".new-$id")"
    : >"$(ws ".new-$id")/.session.lock"
    ok new -q -t solo --no-start --id "$id"
    [ "$(field "$id" .status)" = stopped ]
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "many new whose ids share 8 digits all get names of their own" {
    local i
    for ((i = 0; i < 8; i++)); do
        "$MAS" new -q -t solo --id "0a0a0a0a-111$i-4222-8333-444444444444" 3>&- &
    done
    wait
    [ "$("$MAS" list --active -q | wc -l)" -eq 8 ]
    [ "$(tm list-sessions -F '#{session_name}' | sort -u | wc -l)" -eq 8 ]
    [ "$(jq -r '.sessions[].tmuxSession' "$ROOT/sessions/.sessions.index" | sort -u | wc -l)" -eq 8 ]
    [ "$(jq -r '.sessions[].tmuxSession' "$ROOT/sessions/.sessions.index" | sort)" = \
        "$(tm list-sessions -F '#{session_name}' | sort)" ]
}

@test "many start of one session start it once" {
    new_session -t solo --no-start
    at_once 8 "'$MAS' start $ID"
    # who comes while another works is told so; who comes after finds it running
    run ! grep -qvx '[04]' "$T/codes"
    [ "$(grep -c ' started$' "$T/out")" -eq 1 ]
    # the holder may not have had the time to write who it is
    run ! grep -vE "cannot lock session '$ID': (pid [0-9]+ \(start\)|another process) holds the lock" "$T/err"
    [ "$(tm list-sessions | wc -l)" -eq 1 ]
    [ "$(field "$ID" .agentsRunning)" = 1 ]
}

@test "many stop of one session all end well" {
    new_session -t solo
    at_once 8 "'$MAS' stop $ID"
    [ "$(count)" = 8x0 ]
    [ "$(grep -c '^[^ ]* stopped$' "$T/out")" -eq 1 ]
    [ "$(grep -c ' is already stopped$' "$T/out")" -eq 7 ]
    [ "$(meta "$ID" STATUS)" = stopped ]
}

@test "many rm of one session remove it once, and nothing is left" {
    new_session -t solo
    at_once 8 "'$MAS' rm -f $ID"
    # removed by this one, in conflict with that one, or gone already
    run ! grep -qvx '[034]' "$T/codes"
    grep -qx 0 "$T/codes"
    [ -z "$(find "$ROOT/sessions" -name "*$ID*")" ]
    [ -z "$("$MAS" list --all -q)" ]
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "start, stop and rm of one session at once leave it whole or gone" {
    local round
    for round in 1 2 3 4 5; do
        new_session -t solo --no-start
        rm -f "$T/codes" "$T/out" "$T/err"
        {
            { "$MAS" start "$ID" || echo "$?" >>"$T/codes"; } &
            { "$MAS" stop "$ID" || echo "$?" >>"$T/codes"; } &
            { "$MAS" rm "$ID" || echo "$?" >>"$T/codes"; } &
            { "$MAS" start "$ID" || echo "$?" >>"$T/codes"; } &
        } >>"$T/out" 2>>"$T/err" 3>&-
        wait
        if [ -e "$T/codes" ]; then
            cat "$T/codes" "$T/err"
            # not found, in conflict, or damaged because it went under the hand
            run ! grep -qvx '[345]' "$T/codes"
        fi
        if [ -d "$(ws "$ID")" ]; then
            ok show "$ID" --json
            [[ $(jq -r .status <<<"$output") =~ ^(active|stopped)$ ]]
            [ "$(jq -r .crashed <<<"$output")" = false ]
            [ "$(meta "$ID" STATUS)" = "$(jq -r .status <<<"$output")" ]
        else
            run ! tm has-session -t "=mas-${ID:0:8}:"
        fi
        mas doctor
        echo "round $round: $output"
        [ "$output" = 'everything is in order' ]
    done
}

@test "a second start or rm names the holder of the lock, stop waits for it" {
    new_session -t solo --no-start
    printf 'pid 4711 (migrate)\n' >"$(ws "$ID")/.session.lock"
    exec 8<"$(ws "$ID")/.session.lock"
    flock 8
    fails 4 start "$ID"
    [ "${stderr%%$'\n'*}" = "mas: cannot lock session '$ID': pid 4711 (migrate) holds the lock" ]
    fails 4 rm "$ID"
    [[ $stderr == *'pid 4711 (migrate) holds the lock'* ]]
    { "$MAS" stop "$ID" >"$T/out" 2>&1 && : >"$T/stopped"; } 3>&- 8<&- &
    local waiter=$!
    # it waits for the lock
    eventually eval "grep -q FLOCK.*WRITE /proc/locks && pgrep -f \"\$MAS stop $ID\""
    [ ! -e "$T/stopped" ]
    exec 8<&-
    wait "$waiter"
    [ "$(cat "$T/out")" = "$ID is already stopped" ]
}

@test "readers never see half of an index or of metadata" {
    local ids=() i
    for i in 1 2 3 4 5; do
        new_session -t solo --no-start -n "s$i"
        ids+=("$ID")
    done
    {
        until [ -e "$T/done" ]; do
            jq -e '.sessions | length == 5' "$ROOT/sessions/.sessions.index" >/dev/null || echo index >>"$T/half"
            for ID in "${ids[@]}"; do
                [ "$(meta "$ID" SESSION_ID)" = "$ID" ] && [ -n "$(meta "$ID" LAST_ACTIVITY)" ] || echo meta >>"$T/half"
            done
        done
    } 3>&- &
    local reader=$!
    for i in 1 2 3; do
        "$MAS" start -q s1 s2 s3 s4 s5
        "$MAS" stop -q s1 s2 s3 s4 s5
    done
    touch "$T/done"
    wait "$reader"
    [ ! -e "$T/half" ]
}

@test "a lock of metadata that another holds for a moment delays but does not break" {
    new_session -t solo --no-start
    exec 8<"$ROOT/sessions/.sessions.lock"
    flock 8
    # readers do not wait
    mas list -q
    [ "$output" = "$ID" ]
    ok show "$ID"
    { "$MAS" new -q -t solo --no-start -n later >"$T/out" 2>"$T/err" || echo "$?" >>"$T/codes"; } 3>&- 8<&- &
    local waiter=$!
    eventually eval "pgrep -f \"\$MAS new -q -t solo --no-start -n later\""
    exec 8<&-
    wait "$waiter"
    [ ! -e "$T/codes" ]
    [ "$("$MAS" list -q | wc -l)" -eq 2 ]
}

@test "a reader does not wait for a lock to write an index that is gone or broken" {
    new_session -t solo --no-start
    local broken
    exec 8<"$ROOT/sessions/.sessions.lock"
    flock 8
    rm "$ROOT/sessions/.sessions.index"
    for broken in no yes; do
        ok list -q
        [ "$output" = "$ID" ]
        ok show "$ID"
        [ "$broken" = yes ] || [ ! -e "$ROOT/sessions/.sessions.index" ]
        echo broken >"$ROOT/sessions/.sessions.index"
    done
    exec 8<&-
    mas list -q
    [ "$output" = "$ID" ]
    [ "$(jq -r '.sessions[].sessionId' "$ROOT/sessions/.sessions.index")" = "$ID" ]
}

# ---- interrupted

# A template of many directories; each takes its time under slowly(), so that a copy can be caught in
# the middle.
make_big_template() {
    local dir=$ROOT/templates/big/unit/solo/many i
    cp -R "$ROOT/templates/solo" "$ROOT/templates/big"
    for ((i = 0; i < 60; i++)); do
        mkdir -p "$dir/$i"
        : >"$dir/$i/file"
    done
}

# Becomes mas with these words, each mkdir of which takes 50 ms longer. -D: the process is mas itself.
slowly() {
    exec strace -D -f -qq -o /dev/null -e trace=mkdirat -e inject=mkdirat:delay_enter=50000 \
        env --default-signal=INT,TERM,HUP "$MAS" "$@"
}

is_copying() {
    [ -n "$(find "$ROOT/sessions" -path '*/.new-*/unit/solo/many/1*' -print -quit 2>/dev/null)" ]
}

# `mas new` with a big template gets signal $1 in the middle of its copy; nothing is left.
interrupted_in_copy() {
    make_big_template
    make_index
    local before
    before=$(snapshot)
    slowly new -q -t big >"$T/out" 2>"$T/err" 3>&- &
    local pid=$! rc=0
    eventually is_copying
    kill -"$1" "$pid"
    wait "$pid" || rc=$?
    cat "$T/err"
    # it ends by the signal itself, as shells and make want it
    [ "$rc" -eq $((128 + $(kill -l "$1"))) ]
    [ ! -s "$T/out" ]
    [ "$(snapshot)" = "$before" ]
    [ -z "$(find "$ROOT/sessions" -name '.new-*')" ]
    run ! tm list-sessions
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "SIGINT in the middle of a copy leaves nothing" { interrupted_in_copy INT; }

@test "SIGTERM in the middle of a copy leaves nothing" { interrupted_in_copy TERM; }

@test "SIGHUP in the middle of a copy leaves nothing" { interrupted_in_copy HUP; }

@test "SIGKILL in the middle of a copy leaves what doctor or the next new cleans up" {
    make_big_template
    make_index
    slowly new -q -t big 3>&- &
    local pid=$!
    eventually is_copying
    kill -KILL "$pid"
    wait "$pid" || true
    ok list --all -q
    [ -z "$output" ]
    ok doctor --fix
    [ -z "$(find "$ROOT/sessions" -name '.new-*')" ]
    mas doctor
    [ "$output" = 'everything is in order' ]
}

# A tmux in PATH that takes its time before it does what is asked
slow_tmux() {
    mkdir "$T/bin"
    cat >"$T/bin/tmux" <<EOS
#!/bin/sh
case " \$* " in *' source-file '*)
    [ -e '$T/in-tmux' ] || {
        : >'$T/in-tmux'
        while [ ! -e '$T/go-on' ]; do sleep 0.02; done
    } ;;
esac
exec $(type -P tmux) "\$@"
EOS
    chmod +x "$T/bin/tmux"
}

# `mas new` gets signal $1 while tmux builds the team; nothing is left.
interrupted_in_tmux() {
    slow_tmux
    make_index
    local before
    before=$(snapshot)
    # the shell ignores SIGINT in what it starts in the background
    PATH=$T/bin:$PATH env --default-signal=INT,TERM,HUP "$MAS" new -q -t solo >"$T/out" 2>"$T/err" 3>&- &
    local pid=$! rc=0
    eventually test -e "$T/in-tmux"
    kill -"$1" "$pid"
    : >"$T/go-on"
    wait "$pid" || rc=$?
    cat "$T/err"
    # it ends by the signal itself, as shells and make want it
    [ "$rc" -eq $((128 + $(kill -l "$1"))) ]
    [ ! -s "$T/out" ]
    [ "$(snapshot)" = "$before" ]
    [ -z "$(tm list-sessions 2>/dev/null)" ]
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "SIGINT while tmux works leaves nothing" { interrupted_in_tmux INT; }

@test "SIGTERM while tmux works leaves nothing" { interrupted_in_tmux TERM; }

@test "SIGHUP while tmux works leaves nothing" { interrupted_in_tmux HUP; }

@test "control-C at a terminal while tmux works leaves nothing" {
    slow_tmux
    make_index
    local before
    before=$(snapshot)
    tmux -S "$T/outer" -f /dev/null new-session -d \
        "trap : INT; env -u TMUX PATH='$T/bin:$PATH' '$MAS' new -q -t solo >'$T/out' 2>'$T/err'; echo \$? >'$T/code'; exec sleep 1000"
    eventually test -e "$T/in-tmux"
    tmux -S "$T/outer" send-keys C-c
    : >"$T/go-on"
    eventually test -s "$T/code"
    [ "$(cat "$T/code")" -eq 130 ]
    [ "$(snapshot)" = "$before" ]
    [ -z "$(tm list-sessions 2>/dev/null)" ]
}

@test "a signal that the caller ignores ends nothing" {
    slow_tmux
    { PATH=$T/bin:$PATH bash -c "trap '' HUP; exec '$MAS' new -q -t solo" >"$T/out" 2>"$T/err" || echo "$?" >"$T/code"; } 3>&- &
    eventually test -e "$T/in-tmux"
    local pid
    # A child that mas forks bears its command line until it runs tmux.
    pid=$(pgrep -o -f "^$MAS new -q -t solo")
    kill -HUP "$pid"
    : >"$T/go-on"
    wait
    [ ! -e "$T/code" ]
    [ "$(field "$(cat "$T/out")" .status)" = active ]
}
