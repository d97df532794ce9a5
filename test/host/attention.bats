#!/usr/bin/env bats
# What a host knows of the person who looks at its agent: done, seen.
load ../helper
load lib
load clients

# Each line is work, and its end is the end of a turn.
run_cat() {
    run_agent cat 'idle = 100ms'
    eventually state_is solo idle
}

done_ms() { of solo .doneMs; }
seen_ms() { of solo .seenMs; }
# has AGENT .MEMBER: succeeds if this time is known.
has() { [ "$(of "$@")" -gt 0 ] 2>/dev/null; }
is_done() { [ "$(done_ms)" -gt 0 ] 2>/dev/null; }
is_seen() { [ "$(seen_ms)" -gt 0 ] 2>/dev/null; }
# Succeeds once the newest work has been seen.
all_seen() { is_done && is_seen && [ "$(seen_ms)" -ge "$(done_ms)" ]; }

@test "an agent that has done nothing is neither done nor seen" {
    run_cat
    [ "$(done_ms)" = null ]
    [ "$(seen_ms)" = null ]
    [ "$("$MAS" status "$ID" --json | jq -c '.sessions[0].agents[0] | [.done, .seen]')" = '[null,null]' ]
}

@test "an agent that has worked while nobody looked is done, and has not been seen" {
    run_cat
    took solo hello
    eventually is_done
    eventually state_is solo idle
    [ "$(seen_ms)" = null ]
}

@test "an agent whose pane a client shows has been seen when it is done" {
    run_cat
    attach_client one "$ID"
    took solo hello
    eventually all_seen
}

@test "an agent in a pane beside the active one has not been seen until a key comes there" {
    run_team pair cat 'idle = 100ms'
    hosts_there lead reviewer
    eventually state_is lead idle
    attach_client one "$ID" reviewer
    took lead hello
    eventually has lead .doneMs
    eventually state_is lead idle
    # the question to tmux has been answered by the time that another of the other host's has
    took reviewer hello
    eventually has reviewer .seenMs
    [ "$(of lead .seenMs)" = null ]
    tm select-pane -t "$(pane_of lead)"
    [ "$(of lead .seenMs)" = null ]
    outer send-keys x
    eventually has lead .seenMs
}

@test "keys that a program sends to a pane that nobody shows are no look" {
    run_cat
    took solo hello
    eventually is_done
    eventually state_is solo idle
    press x
    eventually shows x
    eventually state_is solo idle
    [ "$(seen_ms)" = null ]
}

@test "a person can tell a host of a look, and an agent cannot" {
    run_cat
    took solo hello
    eventually is_done
    eventually state_is solo idle
    [ "$(ask solo '{"do":"seen","from":"solo"}' | jq -r .ok)" = false ]
    [ "$(seen_ms)" = null ]
    [ "$(ask solo '{"do":"seen"}' | jq -r .ok)" = true ]
    all_seen
}

@test "what a program prints before it is ready is not work" {
    run_agent "sh -c 'echo hello; sleep 0.05; echo there; exec cat'" 'idle = 100ms'
    eventually shows there
    eventually state_is solo idle
    [ "$(done_ms)" = null ]
    took solo more
    eventually is_done
}

@test "a host asks tmux nothing while nothing happens" {
    count_tmux
    run_cat
    took solo hello
    eventually is_done
    eventually state_is solo idle
    # one question for the end of the work
    eventually prints 1 tmux_calls display-message
    ask solo '{"do":"status"}' >"$T/before"
    attach_client one "$ID"
    eventually prints 1 tmux_calls attach-session
    [ "$(ask solo '{"do":"seen"}' | jq -r .ok)" = true ]
    [ "$(tmux_calls display-message)" -le 2 ] # the second one is for the new size of the pane
}

@test "a program on a terminal that exits with an error has failed, and says with what code" {
    new_session -t solo --agent shell
    find_agent
    eventually state_is solo idle
    "$MAS" send "$ID" solo 'exit 3'
    eventually state_is solo exited
    [ "$(of solo .turnEnd)" = failed ]
    [[ $(of solo .turnWhy) == "exited with code 3"* ]]
    [[ $("$MAS" next --dry-run) == *" solo failed" ]]
}
