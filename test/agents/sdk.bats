# The example agent of the protocol's official SDK, which checks all that it is sent by the schema.
# Installed by test/agents/install.sh; release 0.8.0 of the SDK is the last known to hold it.
load ../helper
load ../host/lib

setup_more() {
    local agents=${MAS_TEST_AGENTS:-$REAL_HOME/.cache/mas-agents}
    local example=$agents/sdk/node_modules/@agentclientprotocol/sdk/dist/examples/agent.js

    command -v node >/dev/null || skip "there is no node"
    [ -f "$example" ] || skip "the SDK is not installed: test/agents/install.sh sdk"
    preset sdk "node '$example'" 'protocol = acp'
    preset willing "node '$example'" 'protocol = acp' 'permission = allow'
}

REAL_HOME=$HOME

begin() {
    new_session -t solo --agent "$1"
    find_agent
}

tell() { mas ask --timeout 60s "$ID" solo "$1"; }

ask_slowly() { timeout 60 "$MAS" ask "$ID" solo "$1" >"$T/out" 2>&1 3>&- & }

asks() { [[ $(of solo .permission) != @(|null) ]]; }

@test "a whole turn of the SDK's example agent: text, tools, a permission by policy" {
    begin willing
    tell hello
    [ "$status" -eq 0 ]
    [[ $output == "I'll help you with that."*"Perfect! I've successfully updated the configuration."* ]]
    state_is solo idle
    is solo .continuity fresh
    tell again
    [ "$status" -eq 0 ]
}

@test "a permission of the SDK's example agent is granted and refused by hand" {
    begin sdk
    ask_slowly one
    within 60 asks
    ok approve "$ID" solo
    wait
    grep -q 'Perfect!' "$T/out"
    ask_slowly two
    within 60 asks
    ok deny "$ID" solo
    wait
    grep -q 'prefer not to make that change' "$T/out"
}

@test "a turn of the SDK's example agent is cancelled, before its permission and in it" {
    begin sdk
    ask_slowly one
    eventually state_is solo working
    eventually grep -q 'help you' "$T/out"
    ok cancel "$ID" solo
    wait || true
    grep -q cancelled "$T/out"
    ask_slowly two
    within 60 asks
    mas cancel "$ID" solo
    wait || true # it ends that turn as a good one
    within 60 state_is solo idle
    is solo .permission null
}

@test "the SDK's example agent, which can neither resume nor load, is told what was said, once" {
    begin willing
    tell CW-ONE
    "$MAS" stop -q "$ID" && "$MAS" start -q "$ID"
    tell CW-TWO
    [ "$status" -eq 0 ]
    is solo .continuity injected
}

@test "the SDK's example agent is cleared, and goes on in a new session" {
    begin willing
    tell one
    ok clear "$ID" solo --then 'go on'
    within 60 state_is solo idle
    tell two
    [ "$status" -eq 0 ]
}
