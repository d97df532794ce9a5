#!/bin/sh
# Installs the real agents that the scenarios run, from the npm registry, each into a directory of
# its own below ${MAS_TEST_AGENTS:-~/.cache/mas-agents}; some 1.5 GB for all five.
#
#   test/agents/install.sh [AGENT...]     claude codex gemini copilot opencode
#
# The versions are those that the scenarios were last run with, by Node 20. AGENT@VERSION takes
# another one, and replaces what is there.
set -eu

to=${MAS_TEST_AGENTS:-$HOME/.cache/mas-agents}

# package AGENT: "<directory, which is also the program> <package> <version>"
package() {
    case $1 in
        claude) echo claude-agent-acp @agentclientprotocol/claude-agent-acp 0.49.0 ;;
        codex) echo codex-acp @agentclientprotocol/codex-acp 2.6.0 ;;
        gemini) echo gemini @google/gemini-cli 0.61.0 ;;
        copilot) echo copilot @github/copilot 1.0.102 ;;
        opencode) echo opencode opencode-ai 1.18.33 ;;
        *)
            echo "install.sh: no such agent: $1 (claude, codex, gemini, copilot, opencode)" >&2
            return 2
            ;;
    esac
}

if ! command -v npm >/dev/null; then
    echo "install.sh: there is no npm; Node 20 or newer has it" >&2
    exit 1
fi
if [ $# -eq 0 ]; then set -- claude codex gemini copilot opencode; fi

for agent; do
    words=$(package "${agent%%@*}")
    # shellcheck disable=SC2086 # three words
    set -- $words
    case $agent in
        *@*) version=${agent#*@} ;;
        *) version=$3 ;;
    esac
    if [ "$agent" = "${agent%@*}" ] && [ -x "$to/$1/node_modules/.bin/$1" ]; then
        echo "$agent: is there"
        continue
    fi
    # beside it first: an installation that fails leaves what was there
    rm -rf "$to/$1.new"
    mkdir -p "$to/$1.new"
    if ! (cd "$to/$1.new" && echo '{"private": true}' >package.json &&
        npm install --no-audit --no-fund --loglevel=error "$2@$version") >"$to/$1.log" 2>&1; then
        rm -rf "$to/$1.new"
        echo "install.sh: npm cannot install $2@$version:" >&2
        tail -n 5 "$to/$1.log" >&2
        exit 1
    fi
    rm -rf "${to:?}/$1"
    mv "$to/$1.new" "$to/$1"
    echo "$agent: $2 $version"
done
