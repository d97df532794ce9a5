#!/usr/bin/env bats
# shellcheck disable=SC2153 # URL is set by serve
# Hosts that answer what is no answer: whoever asks them says so, does not crash and does not grow.
load ../helper
load ../host/lib
load ../acp/lib
load lib

# Makes $ID, whose host answers as tells() says, and $other.
lying_session() {
    acp_agent
    other=$ID
    new_session -t solo --agent scripted
    find_agent
    eventually test -S "$DIR/run/solo.sock"
    tells nothing
    python3 -ES "$PROJECT/test/host/ask.py" "$DIR/run" solo --lying >"$T/lying" 2>&1 3>&- &
    STAND_IN=$!
    eventually grep -qx connected "$T/lying"
}
tells() { echo "$1" >"$DIR/run/lie"; }

LIES=(types nothing not-ok error-types error-code other-agent unknown-state long-line deep deeper no-utf8 nul nul-within
    large-body negative-body half-body half-line endless-line endless-states endless-events)

# survives CODES WORD...: the command ends by itself with one of the codes; what it says is clean.
survives() {
    local codes=$1
    shift
    mas_timed "$@"
    [[ " $codes " = *" $status "* ]] || { echo "$lie: $*: $status: ${stderr:0:300}" >&2; return 1; }
    [[ $stderr != *Sanitizer* && $stderr != *$'\e'* && $output != *$'\e'* ]] || { echo "$lie: $*: ${stderr:0:900}" >&2; return 1; }
    [ "$status" -eq 0 ] || [ -n "$stderr" ] || { echo "$lie: $*: says nothing" >&2; return 1; }
}
mas_timed() { run --separate-stderr timeout -s KILL 60 "$MAS" "$@"; }

@test "commands survive the lies of a host" {
    lying_session
    for lie in "${LIES[@]}"; do
        tells "$lie"
        survives '0' status "$ID"
        survives '0' status "$ID" --json
        jq -e . <<<"$output" >/dev/null
        survives '0' show "$ID"
        survives '0' show "$ID" --json
        jq -e . <<<"$output" >/dev/null
        survives '0' list
        survives '0 1 3 4 5 6 7' send "$ID" solo hello
        survives '0 1 3 4 5 6 7' wait "$ID" solo --for idle --timeout 1s
        survives '0 1 3 4 5 6 7 8 9 10 11' ask --timeout 1s "$ID" solo hello
    done
}

@test "a host that says nonsense is named, and its word is not taken" {
    lying_session
    serve
    local lie
    for lie in types unknown-state; do
        tells "$lie"
        fails 5 send "$ID" solo hello
        [ "$stderr" = "mas: cannot send to agent 'solo': its host reported an unknown outcome" ]
        post "/sessions/$ID/messages" '{"target":"solo","message":"hi"}'
        refused 422 damaged "agent 'solo'.*unknown outcome"
        api GET "/sessions/$ID/agents/solo"
        refused 422 damaged "agent 'solo'.*unknown state"
    done
    tells nothing
    api GET "/sessions/$ID/agents/solo/permissions"
    refused 500 internal "agent 'solo'.*refused the request without a reason"
}

@test "mas serve survives the lies of a host, and does not grow" {
    lying_session
    serve
    local before fds lie what
    for lie in "${LIES[@]}" again "${LIES[@]}"; do
        if [ "$lie" = again ]; then
            before=$(private_memory "$SERVER")
            fds=$(find "/proc/$SERVER/fd" -mindepth 1 | wc -l)
            continue
        fi
        tells "$lie"
        for what in '' /agents/solo /agents/solo/permissions /agents/solo/kept /agents/solo/screen; do
            api GET "/sessions/$ID$what"
            [[ $status = [245]?? ]] || { echo "$lie: GET $what: $status $output" >&2; false; }
            jq -e . <<<"$output" >/dev/null || { echo "$lie: GET $what: ${output:0:200}" >&2; false; }
        done
        post "/sessions/$ID/messages" '{"target":"solo","message":"hi"}'
        [[ $status = [245]?? ]] || { echo "$lie: POST messages: $status $output" >&2; false; }
        post "/sessions/$ID/agents/solo/cancel" '{}'
        [[ $status = [245]?? ]] || { echo "$lie: POST cancel: $status $output" >&2; false; }
        api GET "/sessions/$other/agents/solo"
        is 200 '.state == "idle"'
    done
    kill -0 "$SERVER"
    # workers hold nothing, and no connection is left
    left() { [ "$(find "/proc/$SERVER/fd" -mindepth 1 | wc -l)" -le "$fds" ]; }
    eventually left
    echo "memory $before $(private_memory "$SERVER")"
    [ -n "${TEST_SAN-}" ] || [ "$(private_memory "$SERVER")" -lt $((before + 4096)) ]
    [ ! -s "$T/serve.err" ] || ! grep Sanitizer "$T/serve.err"
}
