#!/usr/bin/env bats
# mas logs of an ACP agent: what was said, as plain lines.
load ../helper
load ../host/lib
load lib

logged() { "$MAS" logs "$ID" solo "$@"; }

@test "logs shows prompts, answers, tools, permissions and ends, beside what the agent prints to stderr" {
    run_acp ''
    tell 'first SAY:one STDERR:oops SAY:two'
    [ "$status" -eq 0 ]
    logged >"$T/log"
    [ "$(grep -cx '> first SAY:one STDERR:oops SAY:two' "$T/log")" = 1 ]
    grep -qx 'oops' "$T/log"
    grep -qx '\[end\] end_turn' "$T/log"
    [ "$(grep -c '^one' "$T/log")" = 1 ]
    tell $'second\nline TOOL:look'
    logged >"$T/log"
    grep -qx '> second' "$T/log"
    grep -qx 'line TOOL:look' "$T/log"
    [[ $(grep '^\[tool\]' "$T/log" | tail -n 1) == '[tool] completed: '* ]]
}

@test "-n, --json, --since and -f are as for any other agent" {
    run_acp ''
    tell 'SAY:hello'
    [ "$(logged -n 1)" = '[end] end_turn' ]
    [ "$(logged --json -n 1)" = '{"agent":"solo","text":"[end] end_turn"}' ]
    logged --since 1h | grep -qx '> SAY:hello'
    logged -f -n 0 >"$T/follow" 3>&- &
    pid=$!
    tell 'SAY:again'
    eventually grep -qx '\[end\] end_turn' "$T/follow"
    [ "$(head -n 1 "$T/follow")" = '> SAY:again' ]
    kill $pid
    wait $pid || :
    # stopped, and of several agents
    "$MAS" stop -q "$ID"
    logged | grep -qx '> SAY:again'
}

@test "nothing that an agent says can move the terminal that its log is shown on" {
    run_acp ''
    tell 'SAY:"\u001b[2J\u001b]0;title\u0007\u009b31m" QUIET'
    logged -n all | grep -qF '\x1b[2J\x1b]0;title\x07'
    "$MAS" logs "$ID" solo --raw >"$T/raw"
    run ! grep -q $'\x1b\|\xc2\x9b' "$T/raw"
}
