#!/bin/sh
# Installs the clients that editors.bats runs, from the npm registry, each into a directory of its
# own below ${MAS_TEST_AGENTS:-~/.cache/mas-agents}; some 150 MB in all.
#
#   test/agents/install-editors.sh [CLIENT...]     acpx sdk-client mcp-client
#
# acpx wants Node 22, which it gets beside it.
set -eu

to=${MAS_TEST_AGENTS:-$HOME/.cache/mas-agents}

packages() {
    case $1 in
        acpx) echo acpx@0.19.1 node@22.23.3 ;;
        sdk-client) echo @agentclientprotocol/sdk@2.4.0 zod ;;
        mcp-client) echo @modelcontextprotocol/sdk@1.32.2 ;;
        *)
            echo "install-editors.sh: no such client: $1 (acpx, sdk-client, mcp-client)" >&2
            return 2
            ;;
    esac
}

if ! command -v npm >/dev/null; then
    echo "install-editors.sh: there is no npm; Node 20 or newer has it" >&2
    exit 1
fi
if [ $# -eq 0 ]; then set -- acpx sdk-client mcp-client; fi

for client; do
    words=$(packages "$client")
    if [ -d "$to/$client/node_modules" ]; then
        echo "$client: is there"
        continue
    fi
    # beside it first: an installation that fails leaves nothing
    rm -rf "$to/$client.new"
    mkdir -p "$to/$client.new"
    # shellcheck disable=SC2086 # a list of packages
    if ! (cd "$to/$client.new" && echo '{"private": true}' >package.json &&
        npm install --no-audit --no-fund --loglevel=error $words) >"$to/$client.log" 2>&1; then
        rm -rf "$to/$client.new"
        echo "install-editors.sh: npm cannot install $words:" >&2
        tail -n 5 "$to/$client.log" >&2
        exit 1
    fi
    mv "$to/$client.new" "$to/$client"
    echo "$client: $words"
done
