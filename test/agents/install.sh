#!/bin/sh
# Installs the real agents that the scenarios run, from the npm registry, each into a directory of
# its own below ${MAS_TEST_AGENTS:-~/.cache/mas-agents}; some 1.5 GB for all five.
#
#   test/agents/install.sh [AGENT...]     claude codex gemini copilot opencode sdk
#
# The versions are those that the scenarios were last run with, by Node 20. AGENT@VERSION takes
# another one, and replaces what is there. `sdk` is the example agent of the protocol's SDK, for sdk.bats.
set -eu

to=${MAS_TEST_AGENTS:-$HOME/.cache/mas-agents}

# package AGENT: "<directory> <what shows that it is there> <package> <version> [<more packages>]"
package() {
    case $1 in
        claude) echo claude-agent-acp .bin/claude-agent-acp @agentclientprotocol/claude-agent-acp 0.49.0 ;;
        codex) echo codex-acp .bin/codex-acp @agentclientprotocol/codex-acp 2.6.0 ;;
        gemini) echo gemini .bin/gemini @google/gemini-cli 0.61.0 ;;
        copilot) echo copilot .bin/copilot @github/copilot 1.0.102 ;;
        opencode) echo opencode .bin/opencode opencode-ai 1.18.33 ;;
        sdk) echo sdk @agentclientprotocol/sdk @agentclientprotocol/sdk 0.8.0 zod ;;
        *)
            echo "install.sh: no such agent: $1 (claude, codex, gemini, copilot, opencode, sdk)" >&2
            return 2
            ;;
    esac
}

if ! command -v npm >/dev/null; then
    echo "install.sh: there is no npm; Node 20 or newer has it" >&2
    exit 1
fi
if [ $# -eq 0 ]; then set -- claude codex gemini copilot opencode sdk; fi

for agent; do
    words=$(package "${agent%%@*}")
    # shellcheck disable=SC2086 # its words
    set -- $words
    dir=$1 mark=$2 package=$3 version=$4
    shift 4
    case $agent in
        *@*) version=${agent#*@} ;;
    esac
    if [ "$agent" = "${agent%@*}" ] && [ -e "$to/$dir/node_modules/$mark" ]; then
        echo "$agent: is there"
        continue
    fi
    # beside it first: an installation that fails leaves what was there
    rm -rf "$to/$dir.new"
    mkdir -p "$to/$dir.new"
    if ! (cd "$to/$dir.new" && echo '{"private": true}' >package.json &&
        npm install --no-audit --no-fund --loglevel=error "$package@$version" "$@") \
        >"$to/$dir.log" 2>&1; then
        rm -rf "$to/$dir.new"
        echo "install.sh: npm cannot install $package@$version:" >&2
        tail -n 5 "$to/$dir.log" >&2
        exit 1
    fi
    rm -rf "${to:?}/$dir"
    mv "$to/$dir.new" "$to/$dir"
    echo "$agent: $package $version"
done
