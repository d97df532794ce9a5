#!/usr/bin/env bash
# Runs the scenarios with each real agent and prints a table.
#
#   test/agents/run.sh [-k] [AGENT...]     claude codex gemini copilot opencode
#
# The agents are those that install.sh put into $MAS_TEST_AGENTS (~/.cache/mas-agents); one that is
# not there is skipped with a word, all of them where there is no node. Nothing leaves the machine:
# where a network namespace can be had the tests run in one that has only loopback. The exit code
# is 1 if a scenario failed. -k keeps what tests that failed left, below build/agents.
#
# A scenario that an agent makes impossible stands in `known` beside this file, with its reason; it
# counts as such, and as a failure once it passes.
set -u

here=$(cd "$(dirname "$0")" && pwd -P)
project=$(cd "$here/../.." && pwd -P)
export MAS=${MAS:-$project/build/mas}
export MAS_TEST_AGENTS=${MAS_TEST_AGENTS:-$HOME/.cache/mas-agents}
out=$project/build/agents
if [ "${1-}" = -k ]; then
    export MAS_TEST_KEEP=$out/kept
    shift
fi
(($# > 0)) || set -- claude codex gemini copilot opencode

if ! command -v node >/dev/null; then
    echo "agents: skipped, there is no node (20 or newer)" >&2
    exit 0
fi

# in_private_network COMMAND...
in_private_network() {
    # shellcheck disable=SC2016 # for the inner shell
    local inner='ip link set lo up && exec "$@"' how
    for how in "unshare -n" "unshare -rn"; do
        if $how sh -c 'ip link set lo up' 2>/dev/null; then
            $how sh -c "$inner" sh "$@"
            return
        fi
    done
    echo "agents: no network namespace can be had; they run with the network there is" >&2
    "$@"
}

# "passed", "failed" or "skipped" for a line of TAP, with what is known
result_of() {
    local agent=$1 line=$2 name
    name=$(sed -E 's/^(not )?ok [0-9]+ //; s/ # skip.*//' <<<"$line")
    case $line in
        *'# skip'*) echo "skipped|$name" ;;
        not*) grep -qF "$agent: ${name%%:*}: " "$here/known" && echo "known|$name" || echo "failed|$name" ;;
        *) echo "passed|$name" ;;
    esac
}

mkdir -p "$out"
rc=0
for agent; do
    tap=$out/$agent.tap
    MAS_TEST_AGENT=$agent in_private_network \
        timeout 1800 bats --formatter tap "$here/scenarios.bats" >"$tap" 2>&1 </dev/null 3>&-
    if grep -q '^not ok' "$tap" || ! grep -q '^1\.\.' "$tap"; then rc=1; fi
    printf '%-10s %s passed, %s failed, %s skipped\n' "$agent" "$(grep -c '^ok [^#]*$' "$tap")" \
        "$(grep -c '^not ok' "$tap")" "$(grep -c '^ok .*# skip' "$tap")"
    grep -A 30 '^not ok' "$tap" | grep -v '^ok'
done
exit "$rc"
