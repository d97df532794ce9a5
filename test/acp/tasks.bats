#!/usr/bin/env bats
# Subagents, which have sessions of their own, and tasks: they are shown, the agent is busy while one
# works, also behind its turn, and what a subagent asks for is asked and served as for the agent.
load ../helper
load ../host/lib
load lib

# lines: the history's tool calls, as "title status"
lines() { "$MAS" history "$ID" solo --role tool --json | jq -r '.messages[].data | "\(.title) \(.status)"'; }
has_line() { lines | grep -qxF -- "$1"; }
tool_text() { "$MAS" history "$ID" solo --role tool --json | jq -r '.messages[].text'; }

@test "mas says that it knows subagents" {
    run_acp ""
    eventually state_is solo idle
    grep '^<' "$TRACE" | grep -F '"initialize"' | cut -c3- | jq -e '.params.clientCapabilities.subagents == {}' >/dev/null
}

@test "a subagent is a line of the history, with what it was told and what it answered" {
    run_acp ""
    tell 'SUB QUIET SAY:answered'
    [ "$status" -eq 0 ]
    [ "$output" = answered ] # nothing of the subagent is the agent's answer
    has_line 'subagent: look around completed'
    has_line 'look around: Read a file completed'
    tool_text | grep -qxF CW-TOLD
    tool_text | grep -qxF CW-FOUND
    [[ $("$MAS" history "$ID" solo --json) != *CW-HIDDEN* ]]
    eventually shows 'subagent: look around'
    state_is solo idle
    tell 'SUB:fails QUIET' # the next one has a line of its own
    [ "$(lines | grep -c '^subagent: look around')" = 2 ]
    has_line 'subagent: look around failed'
    tool_text | grep -qxF CW-BROKEN
}

@test "an agent is working while its subagent works behind the turn, and says which" {
    run_acp ""
    tell "SUB:until=$T/go"
    [ "$status" -eq 0 ]
    eventually state_is solo working
    [ "$(of solo .note)" = "its subagent 'look around' works" ]
    "$MAS" status "$ID" | grep -F "its subagent 'look around' works"
    run timeout 60 "$MAS" wait --timeout 200ms "$ID" solo
    [ "$status" -eq 7 ]
    fails 4 sleep "$ID" solo
    [[ $stderr == *"its subagent 'look around' works"* ]]
    tell CW-TWO # it takes prompts meanwhile
    [ "$status" -eq 0 ]
    touch "$T/go"
    eventually state_is solo idle
    [ "$(of solo .note)" != "its subagent 'look around' works" ]
    has_line 'subagent: look around completed'
    "$MAS" sleep "$ID" solo
}

@test "an agent with a task behind its turn is working, and is not put to sleep" {
    run_acp ""
    tell "TASK:$T/go"
    eventually state_is solo working
    [ "$(of solo .note)" = "its task 'build it' works" ]
    fails 4 sleep "$ID" solo
    has_line 'task: build it in_progress'
    touch "$T/go"
    eventually state_is solo idle
    has_line 'task: build it completed'
    tool_text | grep -qxF CW-TASKDONE
}

@test "an idle agent falls asleep only after the last of its subagents" {
    run_acp "" hibernate=100ms
    tell "SUB:until=$T/go"
    eventually state_is solo working
    tell CW-TWO
    [ "$(of solo .pid)" != null ]
    state_is solo working
    touch "$T/go"
    eventually state_is solo asleep
}

@test "one of which the agent knows nothing any more keeps it awake, but not working" {
    run_acp ""
    tell 'SUB:lost'
    eventually state_is solo idle
    has_line 'subagent: look around pending'
    fails 4 sleep "$ID" solo
}

@test "a subagent asks a person for a permission and a form, in the turn and behind it" {
    run_acp ""
    ("$MAS" ask "$ID" solo 'SUB:ask,form' >"$T/asked" 2>&1 3>&-) &
    eventually asks
    [ "$(of solo .asks)" = 'look around: May it?' ]
    "$MAS" approve "$ID" solo
    eventually form_is_open
    "$MAS" approve "$ID" solo --answer which=CW-THIS
    wait $!
    tool_text | grep -F 'permit=y form={"action": "accept", "content": {"which": "CW-THIS"}} CW-FOUND'

    tell "SUB:ask,until=$T/go"
    eventually asks
    state_is solo waiting
    "$MAS" deny "$ID" solo
    eventually state_is solo working
    touch "$T/go"
    eventually state_is solo idle
    tool_text | grep -F 'permit=n CW-FOUND'
}

@test "a subagent that asks after a cancel of the turn is answered as cancelled, and nobody is asked" {
    run_acp ""
    ("$MAS" ask "$ID" solo "SUB:after=$T/go,ask,form" >"$T/asked" 2>&1 3>&-) &
    eventually grep -qs 'sessionUpdate": "tool_call"' "$TRACE"
    "$MAS" cancel "$ID" solo
    touch "$T/go"
    eventually state_is solo idle
    wait $! || true
    tool_text | grep -F 'permit=cancelled form={"action": "cancel"} CW-FOUND'
    [ "$(stored 5)" = 0 ]
}

form_is_open() { [ "$(of solo .asks)" = 'look around: Which?' ]; }

@test "a subagent reads files and runs programs in the workspace, and they end with it" {
    run_acp ""
    echo CW-FILE >"$DIR/unit/solo/file"
    tell "SUB:read=$DIR/unit/solo/file,run,until=$T/go"
    eventually pgrep -f '^sleep 1234$'
    "$MAS" clear "$ID" solo
    eventually_not pgrep -f '^sleep 1234$'
    state_is solo idle
    has_line 'subagent: look around failed'
    touch "$T/go"
}

eventually_not() { eventually is_not "$@"; }
is_not() { ! "$@"; }

@test "nothing of a subagent goes on after a clear or the end of the agent" {
    run_acp ""
    tell "SUB:until=$T/go"
    eventually state_is solo working
    "$MAS" clear "$ID" solo
    eventually state_is solo idle
    tell "SUB:until=$T/go2"
    eventually state_is solo working
    "$MAS" restart "$ID" solo
    eventually state_is solo idle
    [ "$(lines | grep -c '^subagent: look around failed$')" = 2 ]
    [ "$(lines | grep -c '^look around: Read a file failed$')" = 2 ]
    touch "$T/go" "$T/go2"
}

@test "mas cancel stops a subagent that works behind the turn, if the agent lets it be stopped" {
    run_acp ""
    tell "SUB:stop"
    eventually state_is solo working
    "$MAS" cancel "$ID" solo
    eventually state_is solo idle
    has_line 'subagent: look around failed'
    tell "SUB:until=$T/go"
    eventually state_is solo working
    run --separate-stderr "$MAS" cancel "$ID" solo
    state_is solo working
    touch "$T/go"
}

@test "subagents have subagents, and odd news of them does no harm" {
    run_acp ""
    tell 'SUB:nested'
    [ "$(lines | grep -c '^subagent: look around completed$')" = 2 ]
    tell 'SUB:odd'
    [ "$status" -eq 0 ]
    eventually state_is solo idle
    tell CW-TWO
    [ "$status" -eq 0 ]
}

@test "what a loaded session tells again of its subagents is not shown as new" {
    run_acp "--no-resume"
    tell 'SUB QUIET'
    before=$(lines)
    again
    tell CW-TWO
    came_back loaded
    [ "$(lines)" = "$before" ]
    tell "SUB:until=$T/go"
    eventually state_is solo working
    touch "$T/go"
}
