#!/usr/bin/env bash
# Runs the scenarios with each real agent and prints a table of them. What is no agent but has a file
# NAME.bats runs that: `sdk`, the example agent of the protocol's SDK; `editors`, clients of other
# people; `openapi`, what mas serve answers by its description; `code`, the agents with a
# project; `attention`, agents that nobody looks at; `typed`, programs in a terminal and what a person types.
# claude-tty and so on run told.bats: the program in its own terminal, which tells what it does.
#
#   test/agents/run.sh [-knu] [-f SCENARIO] [NAME...]
#
# NAME is claude codex claude-code zed-codex gemini copilot opencode sdk code walls attention typed editors
# openapi claude-tty codex-tty gemini-tty copilot-tty opencode-tty.
#
# The agents are those that install.sh put into ${MAS_TEST_AGENTS:-~/.cache/mas-agents}; one that is
# not there is skipped with a word, and all of them where there is no node. Nothing leaves the
# machine: where a network namespace can be had they run in one that has only loopback.
#
# -u, for root: the agents run as a user who is not root, 65534, who has to be able to read mas and this
# directory. -n: walls may be nested. -f runs the scenarios whose names match; -k keeps what those that failed
# left, in build/agents/kept; MAS_TEST_TRACE=DIR keeps what the agents and mas said to each other, which needs
# agents without walls. The exit code is 1 if a scenario failed. What an agent makes impossible stands in the
# file `impossible`, with the trace.
set -u

here=$(cd "$(dirname "$0")" && pwd -P)
project=$(cd "$here/../.." && pwd -P)
export MAS=${MAS:-$project/build/mas}
export MAS_TEST_AGENTS=${MAS_TEST_AGENTS:-$HOME/.cache/mas-agents}
out=$project/build/agents
filter=.
user=

while getopts knuf: option; do
    case $option in
        k) export MAS_TEST_KEEP=$out/kept ;;
        n) export MAS_TEST_NESTED=yes ;;
        u) user=65534 ;;
        f) filter=$OPTARG ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if (($# == 0)); then
    set -- claude codex claude-code zed-codex gemini copilot opencode
    for file in "$here"/*.bats; do
        name=$(basename "$file" .bats)
        case $name in scenarios | told) ;; *) set -- "$@" "$name" ;; esac
    done
    set -- "$@" claude-tty codex-tty gemini-tty copilot-tty opencode-tty
fi

if ! command -v node >/dev/null; then
    echo "skipped: there is no node, which the agents need (20 or newer)"
    exit 0
fi

private=()
for try in "unshare -n" "unshare -rn"; do
    if $try sh -c 'ip link set lo up' 2>/dev/null; then
        # the address is for what programs would not ask a proxy for at 127.0.0.1
        # shellcheck disable=SC2016,SC2206 # for the inner shell; two words
        private=($try sh -c 'ip link set lo up && { ip address add 9.9.9.1/32 dev lo || :; } && exec "$@"' sh)
        break
    fi
done
if ((${#private[@]} == 0)); then
    echo "no network namespace can be had: the agents run with the network there is" >&2
fi

if [ -n "$user" ]; then
    if [ "${private[1]-}" != -n ]; then
        echo 'run.sh: -u needs root and network namespaces' >&2
        exit 2
    fi
    # what root has installed in its home is where the user can read it; the mount ends with the run
    mkdir -p "$out/programs"
    # shellcheck disable=SC2016 # for the inner shell
    private+=(unshare -m --propagation private sh -c 'mount --bind "$MAS_TEST_AGENTS" "$1" && user=$2 && shift 2 &&
        exec setpriv --reuid "$user" --regid "$user" --clear-groups --bounding-set=-all --inh-caps=-all "$@"' sh
        "$out/programs" "$user" env HOME=/nonexistent MAS_TEST_AGENTS="$out/programs")
fi

# cell AGENT NAME: what became of a scenario.
cell() {
    local line
    line=$(grep -E '^(not )?ok [0-9]+ ' "$out/$1.tap" | grep -F " $2" | head -n 1)
    case $line in
        '') echo - ;;
        *'# skip'*) echo skipped ;;
        not*) if grep -qF "$1: $2" "$here/impossible"; then echo impossible; else echo FAILED; fi ;;
        *) echo ok ;;
    esac
}

mkdir -p "$out"
export MAS_TEST_OFFERS=${MAS_TEST_OFFERS:-$out/offers}
: >"$MAS_TEST_OFFERS"
rc=0
agents=() terminals=()
for agent; do
    file=$here/$agent.bats
    case $agent in
        *-tty) file=$here/told.bats terminals+=("$agent") ;;
        *) [ -e "$file" ] || { file=$here/scenarios.bats && agents+=("$agent"); } ;;
    esac
    MAS_TEST_AGENT=${agent%-tty} "${private[@]}" timeout 3600 bats --formatter tap --filter "$filter" "$file" \
        >"$out/$agent.tap" 2>&1 </dev/null 3>&-
    grep -q '^1\.\.[1-9]' "$out/$agent.tap" || {
        cat "$out/$agent.tap"
        rc=1
    }
    grep -m 1 -o 'skip .*' "$out/$agent.tap" | sed "s/^skip /$agent: skipped, /"
    awk '/^not ok/ { show = 1 } /^ok/ { show = 0 } show' "$out/$agent.tap"
    echo "$agent: $(grep -c '^ok [0-9]* [^#]*$' "$out/$agent.tap") of $(grep -cE '^(not )?ok' "$out/$agent.tap")"
    if [[ $file != */scenarios.bats && $file != */told.bats ]] && grep -q '^not ok' "$out/$agent.tap"; then rc=1; fi
done

# table FILE AGENT...: what became of the scenarios of a file.
table() {
    local name agent cell row file=$1
    shift
    (($# > 0)) || return 0
    printf '%-72s' scenario
    printf ' %11s' "$@"
    echo
    while IFS= read -r name; do
        row=$(printf '%-72s' "${name:0:72}")
        for agent; do
            cell=$(cell "$agent" "$name")
            [ "$cell" != FAILED ] || rc=1
            row+=$(printf ' %11s' "$cell")
        done
        echo "$row"
    done < <(sed -n 's/^@test "\(.*\)" {$/\1/p' "$here/$file.bats" | grep -E -- "$filter")
}

[ ! -s "$MAS_TEST_OFFERS" ] || (echo 'agent what offered used' && cat "$MAS_TEST_OFFERS") | column -t
table scenarios "${agents[@]}"
table told "${terminals[@]}"
exit "$rc"
