#!/bin/sh
# Installs what `make test-agents` runs, from the npm registry, each into a directory of its own below
# ${MAS_TEST_AGENTS:-~/.cache/mas-agents}; some 2 GB in all.
#
#   test/agents/install.sh [NAME...]
#
# The versions are those that the scenarios were last run with, by Node 20. What wants Node 22 gets it
# beside it, from the package `node`. NAME@VERSION takes another one, and replaces what is there.
set -eu

to=${MAS_TEST_AGENTS:-$HOME/.cache/mas-agents}

# name, directory, what shows that it is there, packages
table='
claude      claude-agent-acp  .bin/claude-agent-acp       @agentclientprotocol/claude-agent-acp@0.101.0 node@22.23.3
codex       codex-acp         .bin/codex-acp              @agentclientprotocol/codex-acp@2.6.0 @openai/codex@0.171.0
claude-code claude-code-acp   .bin/claude-code-acp        @zed-industries/claude-code-acp@0.16.2
zed-codex   zed-codex-acp     .bin/codex-acp              @zed-industries/codex-acp@0.16.0
gemini      gemini            .bin/gemini                 @google/gemini-cli@0.61.0
copilot     copilot           .bin/copilot                @github/copilot@1.0.102
opencode    opencode          .bin/opencode               opencode-ai@1.18.33
sdk         sdk               @agentclientprotocol/sdk/dist/examples/agent.js  @agentclientprotocol/sdk@0.8.0 zod
sdk-client  sdk-client        @agentclientprotocol/sdk    @agentclientprotocol/sdk@2.4.0 zod
mcp-client  mcp-client        @modelcontextprotocol/sdk   @modelcontextprotocol/sdk@1.32.2
acpx        acpx              .bin/acpx                   acpx@0.19.1 node@22.23.3
axe         axe               axe-core/axe.min.js         axe-core@4.14.1
openapi     openapi           ajv                         @seriousme/openapi-schema-validator@2.11.0 ajv@8.20.0
openapi-client  openapi-client  .bin/openapi-ts  @hey-api/openapi-ts@0.95.0 typescript@5.9 esbuild@0.28.2 ajv@8.20.0
'
names=$(echo "$table" | awk 'NF { print $1 }')

if ! command -v npm >/dev/null; then
    echo "install.sh: there is no npm; Node 20 or newer has it" >&2
    exit 1
fi
if [ $# -eq 0 ]; then
    # shellcheck disable=SC2086 # a list
    set -- $names
fi

for wish; do
    name=${wish%%@*}
    words=$(echo "$table" | awk -v name="$name" '$1 == name')
    if [ -z "$words" ]; then
        echo "install.sh: there is no $name; there are:" "$(echo "$names" | tr "\n" " ")" >&2
        exit 2
    fi
    # shellcheck disable=SC2086 # its words
    set -- $words
    dir=$2 mark=$3 package=$4
    shift 4
    case $wish in
        *@*) package=${package%@*}@${wish#*@} ;;
        *) if [ -e "$to/$dir/node_modules/$mark" ]; then
            echo "$name: is there"
            continue
        fi ;;
    esac
    # beside it first: an installation that fails leaves what was there
    rm -rf "$to/$dir.new"
    mkdir -p "$to/$dir.new"
    if ! (cd "$to/$dir.new" && echo '{"private": true}' >package.json &&
        npm install --no-audit --no-fund --loglevel=error "$package" "$@") >"$to/$dir.log" 2>&1; then
        rm -rf "$to/$dir.new"
        echo "install.sh: npm cannot install $package $*:" >&2
        tail -n 5 "$to/$dir.log" >&2
        exit 1
    fi
    rm -rf "${to:?}/$dir"
    mv "$to/$dir.new" "$to/$dir"
    echo "$name: $package $*"
done
