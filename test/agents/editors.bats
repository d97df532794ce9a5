#!/usr/bin/env bats
# `mas acp` and `mas mcp` with clients of others: the official SDKs of both protocols, which check
# all by the schemas, and acpx, a client that people use.
load ../helper
load ../host/lib
load ../acp/lib

REAL_HOME=$HOME

# needs CLIENT: where that is installed, in $DIR_OF.
needs() {
    DIR_OF=${MAS_TEST_AGENTS:-$REAL_HOME/.cache/mas-agents}/$1
    command -v node >/dev/null || skip "there is no node"
    [ -d "$DIR_OF/node_modules" ] || skip "$1 is not installed: test/agents/install.sh $1"
}

@test "the official SDK's client takes all that mas acp sends" {
    needs sdk-client
    acp_agent
    timeout 120 node "$BATS_TEST_DIRNAME/editor.mjs" "$DIR_OF" "$MAS" "$ID"
}

@test "the official client of the tools' protocol takes all that mas mcp sends" {
    needs mcp-client
    acp_agent
    timeout 120 node "$BATS_TEST_DIRNAME/tools.mjs" "$DIR_OF" "$MAS" "$ID"
}

# acpx WORD...: with the agent behind `mas acp`.
acpx() { timeout 120 "$DIR_OF/node_modules/.bin/acpx" --ttl 1 --agent "$MAS acp $ID" "$@"; }

@test "acpx: sessions, prompts, clears, permissions and modes" {
    needs acpx
    export PATH=$DIR_OF/node_modules/.bin:$PATH
    acp_agent
    mkdir "$T/project"
    cd "$T/project"
    acpx exec 'hello CW-EXEC' | grep -F 'seen=[CW-EXEC] users=1'
    acpx sessions new --name one
    acpx prompt -s one 'keep CW-KEPT' | grep -F 'seen=[CW-KEPT]'
    acpx prompt -s one 'more' | grep -F 'seen=[CW-KEPT] users=2'
    acpx --approve-all prompt -s one 'ASK:edit' | grep -F 'permit='
    acpx prompt -s one '/clear from CW-NEW' | grep -F 'seen=[CW-NEW] users=1'
    acpx set-mode -s one plan
    "$MAS" stop "$ID"
    "$MAS" start "$ID"
    acpx prompt -s one 'again' | grep -F 'seen=[CW-NEW] users=2'
    "$MAS" ask "$ID" solo 'from the shell' | grep -F 'seen=[CW-NEW] users=3'
}
