#!/usr/bin/env bats
# What a host cannot write on a full disk is kept and shown, and written once there is room.
load ../helper
load ../disk
load lib
load ../acp/lib

unwritten() { [[ $(of solo .memory) == 'not written: '* ]]; }
all_written() { is solo .memory null; }
# full: nothing more fits, not even in the reserve.
full() {
    eventually test -e "$DIR/run/reserve.memory"
    rm -f "$DIR/run/reserve.memory"
    fill
}
first_asked() { [ "$("$MAS" history "$ID" solo --role user --json | jq -r '[.messages[].text] | join(",")')" = CW-FIRST ]; }

# first_prompt: a session starts with a first prompt, and memory.db does not fit on its disk.
first_prompt() {
    small_root
    acp_preset scripted
    new_session -t solo --agent scripted --no-start --prompt solo=CW-FIRST
    fill
    make_room 64
    "$MAS" start -q "$ID"
    find_agent
    eventually unwritten
    eventually state_is solo idle
    run ! was_sent CW-FIRST
}

@test "the first prompt of a session waits for room, and is asked once then" {
    first_prompt
    rm "$T/fs/fill"
    eventually first_asked
    eventually all_written
    eventually state_is solo idle
    [ "$(prompts CW-FIRST)" = 1 ]
    "$MAS" restart -q "$ID" solo
    tell CW-AFTER
    knows CW-AFTER CW-FIRST
    came_back resumed # its session was recorded, though it is older than memory.db
    [ "$(prompts CW-FIRST)" = 1 ]
}

@test "a first prompt that its host could not store before it was killed is asked by the next one" {
    first_prompt
    kill -KILL "$(of solo .hostPid)"
    eventually hosts_gone "$ID"
    rm "$T/fs/fill"
    "$MAS" start -q "$ID"
    eventually first_asked
    eventually state_is solo idle
    is solo .memory null
    again
    "$MAS" rm -qf "$ID"
    [ "$(prompts CW-FIRST)" = 1 ]
}

used() { [ "$("$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0].usage | "\(.cost) \(.tokens) \(.contextUsed)"')" = "$1" ]; }

@test "what a turn has used on a full disk is counted once there is room" {
    small_root
    acp_agent
    tell "USAGE:100/1000 COST:0.25 TOKENS:7/5/12"
    used '0.25 12 1000'
    "$MAS" ask "$ID" solo --no-wait "ASK BIG:3000 COST:0.5 TOKENS:1/1/2 USAGE:200/1000"
    eventually asks
    full
    "$MAS" approve "$ID" solo >/dev/null
    eventually unwritten
    eventually state_is solo idle
    tell "CW-NEXT COST:0.5"
    [ "$status" -ne 0 ] # it has no room
    rm "$T/fs/fill"
    eventually all_written
    eventually state_is solo idle
    used '0.75 14 200'
    again
    eventually state_is solo idle
    used '0.75 14 200'
}

@test "an agent that says more than is kept is read again once there is room" {
    small_root
    acp_agent
    for word in CW-ONE CW-TWO; do
        "$MAS" ask "$ID" solo --no-wait "ASK BIG:6000 SAY:$word"
        eventually asks
        rm -f "$DIR/run/reserve.memory"
        fill
        "$MAS" approve "$ID" solo >/dev/null
        eventually unwritten
        rm "$T/fs/fill"
        eventually all_written
        eventually state_is solo idle
        "$MAS" history "$ID" solo | grep -q "$word"
    done
}

@test "a refused prompt and an agent that sleeps are marked once there is room" {
    printf '[limits]\nretry = 10m\n' >>"$ROOT/mas.ini"
    run_acp "--limited $T/limit"
    eventually state_is solo idle
    tell CW-ONE
    mkdir "$DIR/run/solo.asleep.new" # in its way
    sleeps() { "$MAS" sleep "$ID" solo; }
    eventually sleeps
    unwritten
    [ ! -e "$DIR/run/solo.asleep" ]
    state_is solo asleep
    rmdir "$DIR/run/solo.asleep.new"
    eventually all_written
    [ -e "$DIR/run/solo.asleep" ]
    touch "$T/limit"
    mkdir "$DIR/run/solo.limit.new"
    "$MAS" ask "$ID" solo --no-wait CW-TWO
    eventually state_is solo limited
    unwritten
    [ ! -e "$DIR/run/solo.limit" ]
    [ ! -e "$DIR/run/solo.asleep" ]
    rmdir "$DIR/run/solo.limit.new"
    eventually all_written
    grep -q ' 1 .* 0$' "$DIR/run/solo.limit"
}

# late: an agent that reads what is sent to it once $T/go is there.
late() {
    script agent <<S
stty -echo
until [ -e '$T/go' ]; do sleep 0.01; done
echo now
while IFS= read -r line; do printf '%s\n' "\$line" >>'$T/lines'; done
S
    preset made "bash $T/agent" 'ready = ^now' 'ready_timeout = 1h'
}
lines_are() { [ "$(cat "$T/lines" 2>/dev/null)" = "$1" ]; }

@test "a message to a terminal that cannot be marked as begun is not typed before it can, and once" {
    small_root
    late
    new_session -t solo --agent made
    find_agent
    hosts_there
    took solo first
    took solo second
    full
    [[ $(say_to solo "$(yes third | head -n 20000)") == *'No space left'* ]] # is not accepted
    touch "$T/go"
    eventually unwritten
    [ ! -e "$T/lines" ]
    rm "$T/fs/fill"
    eventually lines_are $'first\nsecond'
    eventually all_written
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    hosts_there
    is solo .queued 0
    lines_are $'first\nsecond'
}

@test "the first message to a terminal, which has no room, is shown as not written, and typed" {
    small_root
    late
    new_session -t solo --agent made --no-start --prompt solo=CW-FIRST
    fill
    make_room 64
    "$MAS" start -q "$ID"
    find_agent
    eventually unwritten
    [[ $(say_to solo more) != *'"ok":true'* ]] # has no room either, and takes nothing with it
    touch "$T/go"
    eventually lines_are CW-FIRST
    eventually all_written
}
