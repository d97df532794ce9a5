#!/usr/bin/env bats
# The reserve of a running session: its stop and its history can be written on a full disk.
load ../helper
load ../disk
load lib
load ../acp/lib

# blocks FILE: prints how many bytes the file of run/ takes on disk.
blocks() { echo $(($(stat -c '%b * %B' "$DIR/run/$1"))); }

@test "a running session has a reserve of real blocks, a stopped one has none" {
    new_session -t solo
    find_agent
    eventually test -e "$DIR/run/reserve.memory"
    [ "$(blocks reserve)" -ge $((512 << 10)) ]
    [ "$(blocks reserve.memory)" -ge $((512 << 10)) ]
    [ "$(stat -c %a "$DIR/run/reserve")" = 600 ]
    "$MAS" stop -q "$ID"
    [ -z "$(ls -A "$DIR/run")" ]
    "$MAS" start -q "$ID"
    eventually test -e "$DIR/run/reserve"
    "$MAS" doctor
}

@test "a link in place of the reserve is neither filled nor emptied" {
    new_session -t solo --no-start
    DIR=$ROOT/sessions/$ID
    echo mine >"$T/mine"
    ln -s "$T/mine" "$DIR/run/reserve"
    ln "$T/mine" "$DIR/run/reserve.memory"
    "$MAS" start -q "$ID"
    hosts_there
    [ "$(<"$T/mine")" = mine ]
    "$MAS" stop -q "$ID"
    [ "$(<"$T/mine")" = mine ]
    [ -z "$(ls -A "$DIR/run")" ]
}

@test "a disk with little room gets no reserve" {
    small_root
    head -c 60M /dev/zero >"$T/fs/fill"
    new_session -t solo
    find_agent
    hosts_there
    [ ! -e "$DIR/run/reserve" ]
    "$MAS" stop -q "$ID"
}

# stop_without_room: mas stop, whose first try to write down that it stopped finds no room.
stop_without_room() {
    strace -f -qq -o "$T/trace" -P "$DIR/.session.new" -e trace=fsync \
        -e inject=fsync:error=ENOSPC:when=1 "$MAS" stop "$ID" 2>&1
}

@test "stop gives the reserve back when there is no room, and is written down" {
    command -v strace >/dev/null || skip 'strace is missing'
    new_session -t solo
    find_agent
    eventually test -e "$DIR/run/reserve"
    run stop_without_room
    [ "$status" -eq 0 ]
    [[ $output != *warning* ]]
    grep -q 'ENOSPC' "$T/trace"
    [ "$(meta "$ID" STATUS)" = stopped ]
    "$MAS" start -q "$ID"
    eventually test -e "$DIR/run/reserve.memory"
    rm "$DIR/run/reserve"
    run stop_without_room
    [ "$status" -eq 0 ]
    [[ $output == *"its status could not be written"* ]]
}

@test "on a full disk status, stop, start and the history go on" {
    small_root
    acp_agent
    tell CW-BEFORE
    [ "$status" -eq 0 ]
    eventually test -e "$DIR/run/reserve.memory"
    fill
    ok status "$ID" --json
    tell CW-FULL
    [ "$status" -eq 0 ]
    [ ! -e "$DIR/run/reserve.memory" ] # it was needed
    [ -e "$DIR/run/reserve" ]
    "$MAS" history "$ID" solo | grep -q CW-FULL
    run ! grep -q 'cannot be stored' <<<"$(notes)"
    fill
    ok stop "$ID"
    [[ $stderr != *warning* ]]
    [ "$(meta "$ID" STATUS)" = stopped ]
    rm "$T/fs/fill"
    "$MAS" start -q "$ID"
    eventually test -e "$DIR/run/reserve.memory"
    eventually test -e "$DIR/run/reserve"
    tell hello
    knows CW-BEFORE CW-FULL
}

@test "without its reserve the history would be lost" {
    small_root
    acp_agent
    tell CW-BEFORE
    eventually test -e "$DIR/run/reserve.memory"
    rm "$DIR/run/reserve.memory"
    fill
    for _ in {1..40}; do "$MAS" ask "$ID" solo "CW-FULL $(printf 'x%.0s' {1..9000})" >"$T/out" 2>&1 || break; done
    grep -qx "mas: cannot write to 'memory.db': No space left on device" "$T/out"
}

# in_turn: the agent works, and what it says then does not fit on the disk.
in_turn() {
    "$MAS" ask "$ID" solo --no-wait "ASK BIG:3000 $1"
    eventually asks
    rm -f "$DIR/run/reserve.memory"
    fill
    "$MAS" approve "$ID" solo >/dev/null
    eventually of_has .memory 'not written: '
}
of_has() { [[ $(of solo "$1") == "$2"* ]]; }
# answered WORDS: the turn of this prompt has ended well, with all that was said.
answered() {
    "$MAS" history "$ID" solo --json | jq -e --arg words "$1" '.messages |
        (.[] | select(.role == "user" and (.text | contains($words)))) as $prompt | $prompt.stopReason == "end_turn" and
        ([.[] | select(.role == "agent" and .triggerId == $prompt.id) | .text | length] | add) > 3000000' >/dev/null
}

@test "what a full disk does not take is kept, shown as not written, and written once there is room" {
    small_root
    acp_agent
    tell CW-BEFORE
    eventually test -e "$DIR/run/reserve.memory"
    in_turn CW-LATE
    eventually state_is solo idle
    "$MAS" status "$ID" | grep -qF 'memory: not written: '
    rm "$T/fs/fill"
    eventually is solo .memory null
    eventually answered CW-LATE
    tell CW-AFTER
    [ "$status" -eq 0 ]
    # and if the host is killed before that, the turn was stopped
    in_turn CW-LOST
    kill -KILL "$(of solo .hostPid)"
    rm "$T/fs/fill"
    "$MAS" start -q "$ID"
    hosts_there
    [ "$(of solo .turnEnd)" = stopped ]
    run ! answered CW-LOST
}

@test "on a full disk an agent whose host was killed is restarted" {
    small_root ext4
    new_session -t solo
    find_agent
    eventually test -e "$DIR/run/reserve"
    "$MAS" doctor
    fill
    fails 1 doctor
    [[ $output == *"$ROOT"*'its disk is full'* ]]
    kill -KILL "$(of solo .hostPid)"
    eventually hosts_gone "$ID"
    ok restart "$ID" solo
    [ ! -e "$DIR/run/reserve" ] # it was needed
    [ -e "$DIR/run/reserve.memory" ]
    agent_pid "$ID" solo
}
