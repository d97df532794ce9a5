#!/usr/bin/env bats
# Removing: the whole session goes, and nothing but that session.
load ../helper

setup_more() { quick_idle; }

is_tmux_session() { tm has-session -t "=mas-${1:0:8}:" 2>/dev/null; }

processes() { grep -lsxzF "MAS_SESSION_ID=$1" /proc/[0-9]*/environ | cut -d/ -f3 | sort; }

is_gone() { [ -z "$(processes "$1")" ]; }

# Nothing on disk, in the index or in tmux speaks of session $1.
left_nothing() {
    [ -z "$(find "$ROOT/sessions" -name "*$1*")" ]
    run ! grep -q "$1" "$ROOT/sessions/.sessions.index"
    run ! is_tmux_session "$1"
    is_gone "$1"
}

teardown_more() {
    grep -lsz "^MAS_SESSION_DIR=$ROOT/" /proc/[0-9]*/environ | cut -d/ -f3 |
        xargs -r kill -KILL 2>/dev/null || true
}

@test "rm removes a stopped session with all its files" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    ok rm "$ID"
    [ "$output" = "$ID removed" ]
    [ -z "$stderr" ]
    left_nothing "$ID"
    mas list -q
    [ -z "$output" ]
}

@test "rm of a running session is refused and touches nothing" {
    new_session -t solo -n busy
    "$MAS" wait "$ID" --for idle
    local disk pids
    disk=$(snapshot)
    pids=$(processes "$ID")
    fails 4 rm busy
    [ "$stderr" = "mas: cannot remove session 'busy': it is running
stop it first, or remove it with: mas rm -f busy" ]
    [ "$(snapshot)" = "$disk" ]
    [ "$(processes "$ID")" = "$pids" ]
    [ "$(field "$ID" .status)" = active ]
}

@test "rm -f stops it first" {
    new_session -t pair
    ok rm -f "$ID"
    [ "$output" = "$ID removed" ]
    left_nothing "$ID"
}

@test "rm of a crashed session needs no -f" {
    new_session -t solo
    tm kill-server
    ok rm "$ID"
    left_nothing "$ID"
}

# A crashed session whose agent ignores the end of its terminal, and has no host to end it
crash_with_an_agent_left() {
    printf '[stop]\nhangup = 0\nterminate = 0\n' >>"$ROOT/mas.ini"
    cp -R "$ROOT/templates/solo" "$ROOT/templates/made"
    printf '%s\n' 'trap "" HUP TERM' ': >ready' 'while :; do sleep 1000; done' \
        >"$ROOT/templates/made/unit/solo/agent.sh"
    sed -i '/^\[agent solo\]/a command = sh agent.sh' "$ROOT/templates/made/template.ini"
    new_session -t made
    eventually test -e "$ROOT/sessions/$ID/unit/solo/ready"
    local pid hosts=()
    for pid in $(processes "$ID"); do
        if grep -qxz host "/proc/$pid/cmdline"; then hosts+=("$pid"); fi
    done
    kill -STOP "${hosts[@]}" # none sees that another has gone
    kill -KILL "${hosts[@]}"
    tm kill-server 2>/dev/null || true
    eventually eval "! tm list-sessions"
    [ -n "$(processes "$ID")" ]
}

@test "rm -f ends what a killed tmux server left running" {
    crash_with_an_agent_left
    ok rm -f "$ID"
    left_nothing "$ID"
}

@test "rm of a crashed session ends what is left of its team, too" {
    crash_with_an_agent_left
    ok rm "$ID"
    left_nothing "$ID"
}

@test "an unknown session is exit 3, with -f too" {
    fails 3 rm nothing
    [ "${stderr%%$'\n'*}" = "mas: cannot find session 'nothing': there is no such session in '$ROOT'" ]
    fails 3 rm -f nothing
}

@test "what is removed is unknown" {
    new_session -t solo --no-start
    "$MAS" rm -q "$ID"
    fails 3 rm "$ID"
    fails 3 show "$ID"
}

@test "rm never takes the session from the environment" {
    new_session -t solo --no-start
    MAS_SESSION_ID=$ID fails 2 rm
    MAS_SESSION_ID=$ID fails 2 rm -f
    [[ $stderr == *'needs a SESSION'* ]]
    [ -d "$ROOT/sessions/$ID" ]
}

@test "several are removed, the exit code is that of the first failure" {
    new_session -t solo --no-start
    local first=$ID
    new_session -t solo
    local running=$ID
    new_session -t solo --no-start
    fails 4 rm "$first" "$running" nothing "$ID"
    [ "${#lines[@]}" -eq 2 ]
    [[ $stderr == *"cannot remove session '$running'"* ]]
    [[ $stderr == *"cannot find session 'nothing'"* ]]
    left_nothing "$first"
    left_nothing "$ID"
    [ "$("$MAS" list -q)" = "$running" ]
}

@test "no other session is touched" {
    new_session -t solo
    local other=$ID pids
    "$MAS" wait "$ID" --for idle
    pids=$(processes "$ID")
    local disk
    disk=$(snapshot)
    new_session -t solo
    "$MAS" rm -q -f "$ID"
    [ "$(snapshot)" = "$disk" ]
    [ "$(processes "$other")" = "$pids" ]
    [ "$(field "$other" .status)" = active ]
}

@test "a damaged session is removed only with -f" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    echo nonsense >"$ROOT/sessions/$ID/.session"
    local disk
    disk=$(snapshot)
    fails 5 rm "$ID"
    [[ $stderr == "mas: cannot remove session '$ID': its .session is damaged"*"mas rm -f $ID" ]]
    [ "$(snapshot)" = "$disk" ]
    ok rm -f "$ID"
    left_nothing "$ID"
}

@test "rm -f of a damaged session that runs ends its team" {
    new_session -t solo
    echo nonsense >"$ROOT/sessions/$ID/.session"
    ok rm -f "$ID"
    left_nothing "$ID"
}

@test "rm -f of a damaged session that runs on a server of its own ends its team" {
    export MAS_TMUX_SERVER=per-session
    new_session -t solo
    local socket
    socket=$(meta "$ID" TMUX_SOCKET)
    eventually eval "[ -n \"\$(processes $ID)\" ]"
    echo nonsense >"$ROOT/sessions/$ID/.session"
    ok rm -f "$ID"
    left_nothing "$ID"
    run ! tmux -S "$socket" has-session
}

@test "a row whose workspace was deleted by hand goes" {
    new_session -t solo -n ghost
    "$MAS" stop -q "$ID"
    rm -r "$ROOT/sessions/$ID"
    ok rm ghost
    left_nothing "$ID"
}

@test "a tmux session whose workspace was deleted by hand goes only with -f" {
    new_session -t solo -n ghost
    # again when its host wrote something in between
    eventually rm -rf "$ROOT/sessions/$ID"
    fails 4 rm ghost
    is_tmux_session "$ID"
    ok rm -f ghost
    left_nothing "$ID"
}

@test "what a link in the workspace points to stays" {
    new_session -t solo --no-start
    mkdir "$T/precious"
    echo treasure >"$T/precious/file"
    ln -s "$T/precious" "$ROOT/sessions/$ID/unit/solo/link"
    ln -s "$T/precious/file" "$ROOT/sessions/$ID/unit/solo/file"
    ln "$T/precious/file" "$ROOT/sessions/$ID/unit/solo/hard"
    ok rm "$ID"
    left_nothing "$ID"
    [ "$(cat "$T/precious/file")" = treasure ]
}

@test "a link in the place of a workspace is not followed" {
    new_session -t solo --no-start
    mv "$ROOT/sessions/$ID" "$T/elsewhere"
    ln -s "$T/elsewhere" "$ROOT/sessions/$ID"
    mas rm -f "$ID"
    [ "$(find "$T/elsewhere" -type f | wc -l)" -ge 4 ]
    [ -e "$T/elsewhere/.session" ]
}

@test "odd files in a workspace are no hindrance" {
    new_session -t solo --no-start
    local unit=$ROOT/sessions/$ID/unit/solo
    mkdir -p "$unit/locked/inner" "$unit/-rf" "$unit"/$'new\nline'
    : >"$unit/locked/inner/file"
    : >"$unit/-rf/"$'\xff\xfe'
    mkfifo "$unit/fifo"
    chmod 000 "$unit/locked/inner" "$unit/locked"
    ok rm "$ID"
    left_nothing "$ID"
}

@test "a deep tree is removed" {
    new_session -t solo --no-start
    (
        cd "$ROOT/sessions/$ID/unit/solo"
        for _ in {1..40}; do
            mkdir -p dddddddddddddddddddddddddddddddddddddddddddddddddddddddd/dddddddddddddddddddddddddddddddddd
            cd dddddddddddddddddddddddddddddddddddddddddddddddddddddddd/dddddddddddddddddddddddddddddddddd
        done
    )
    ok rm "$ID"
    left_nothing "$ID"
}

@test "a session that is being worked on is not removed" {
    new_session -t solo --no-start
    printf 'pid 4711 (archive)\n' >"$ROOT/sessions/$ID/.session.lock"
    exec 8<"$ROOT/sessions/$ID/.session.lock"
    flock 8
    fails 4 rm "$ID"
    [[ $stderr == *"session '$ID'"*'pid 4711 (archive)'* ]]
    fails 4 rm -f "$ID"
    exec 8<&-
    [ "$(field "$ID" .status)" = stopped ]
    ok rm "$ID"
}

@test "rm -q prints nothing" {
    new_session -t solo --no-start
    ok rm -q "$ID"
    [ -z "$output$stderr" ]
}

@test "rm of a team from within its own pane works" {
    new_session -t solo
    local pane
    pane=$(field "$ID" '.agents[0].pane')
    tm send-keys -t "$pane" -l "'$MAS' rm -f $ID" \; send-keys -t "$pane" Enter
    eventually eval "[ -z \"\$(find '$ROOT/sessions' -name '*$ID*')\" ]"
    eventually is_gone "$ID"
    left_nothing "$ID"
}

@test "what a killed removal has left of a session with this id is not in the way" {
    new_session -t solo --no-start
    mkdir "$ROOT/sessions/.trash-$ID"
    echo old >"$ROOT/sessions/.trash-$ID/file"
    ok rm "$ID"
    left_nothing "$ID"
}

@test "the id of a removed session can be used again" {
    local id=0a0a0a0a-1111-4222-8333-444444444444
    "$MAS" new -q -t solo --no-start --id "$id"
    "$MAS" rm -q "$id"
    ok new -q -t pair --no-start --id "$id"
    [ "$(field "$id" .template)" = pair ]
}

@test "of several sessions all but the one that is none are removed, wherever it stands, and each failure is said" {
    local at i ids kept
    for at in 0 1 2; do
        ids=()
        for i in 1 2; do
            new_session -t solo --no-start
            ids+=("$ID")
        done
        fails 3 rm -f "${ids[@]:0:at}" nosuch "${ids[@]:at}"
        [[ $stderr == *"cannot find session 'nosuch'"* ]]
        [ -z "$("$MAS" list -q --all)" ]
    done
    fails 3 rm -f nosuch neither
    [[ $stderr == *"'nosuch'"* && $stderr == *"'neither'"* ]]
    # all are found before the first is removed: what comes to be the last meanwhile is not meant
    new_session -t solo --no-start
    kept=$ID
    new_session -t solo --no-start
    mas rm -f @last @last
    [ "$("$MAS" list -q --all)" = "$kept" ]
}
