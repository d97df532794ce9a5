# What every bats file shares: a root and a tmux server of its own for each test, ended by teardown.
# shellcheck shell=bash
#
#   $MAS    the program under test        $ROOT  the root of this test, also in MAS_ROOT
#   $SOCK   the socket of its tmux server, also in MAS_TMUX_SOCKET
#   $T      the directory of the test, in which all of that is, and what else it makes
#
# It runs in a directory where mas finds a root only if one is named; place.bash says how.

bats_require_minimum_version 1.5.0

# shellcheck source=test/place.bash
. "${BASH_SOURCE[0]%/*}/place.bash"

setup() {
    PROJECT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    MAS=$(realpath -s -- "${MAS:-$PROJECT/build/mas}")
    # short: a socket's path ends at 107 bytes
    export MAS
    make_place "$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)/mas-test-XXXXXX")"
    export SHELL=/bin/sh
    "$MAS" init -q
    if declare -F setup_more >/dev/null; then setup_more; fi
}

teardown() {
    if declare -F teardown_more >/dev/null; then teardown_more; fi
    # every server of this test has its socket below $T; one that a test has stopped does not answer
    local s
    while IFS= read -r s; do
        timeout 20 tmux -S "$s" kill-server 2>/dev/null || true
    done < <(find "$T" -type s 2>/dev/null)
    chmod -R u+rwx "$T" 2>/dev/null || true
    s=$(left_outside)
    rm -rf "$T"
    [ -z "$s" ] || { echo "the test ran mas without naming a root: $s" >&2; return 1; }
}

# mas with its error text apart: $output is stdout, $stderr the rest
mas() { run --separate-stderr "$MAS" "$@"; }

# shellcheck disable=SC2034 # read by the tests
# A new session whose id is left in $ID; arguments go to `mas new`.
new_session() { ID=$("$MAS" new -q "$@"); }

# Waits until a command succeeds, at most 90 s and 100 tries, which take longer where the machine is
# slow; for facts that have no event to wait for.
eventually() {
    local end=$((SECONDS + 90)) tries=100
    local pause=2 # hundredths of a second; whoever waits long asks less, for others need the machine
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || [ "$tries" -gt 0 ] || { echo "never came true: $*" >&2; return 1; }
        read -rt "0.$((pause / 10))$((pause % 10))" <> <(:) || :
        pause=$((pause < 16 ? pause * 2 : 20)) tries=$((tries - 1))
    done
}

# Whether a command prints just $1. To be waited for, as in `eventually prints 3 count_them`, where
# `eventually [ "$(count_them)" = 3 ]` would count once.
prints() { [ "$("${@:2}" 2>/dev/null)" = "$1" ]; }

# tmux on this test's server
tm() { tmux -u -S "$SOCK" "$@"; }

# The value of KEY in the metadata of session $1
# shellcheck disable=SC1090 # made by the program under test
meta() { (. "$ROOT/sessions/$1/.session" && eval "printf '%s' \"\${$2-}\""); }

# A field of `mas show --json`
field() { "$MAS" show "$1" --json | jq -r "$2"; }

# The whole state of the root on disk, names, modes and contents, to be compared before and after.
# What agents print is left out, which they do whenever they like.
snapshot() {
    local known=(! -name .sessions.lock ! -name .session.lock ! -path '*/logs/agent-*')
    (cd "$ROOT" && find . -mindepth 1 "${known[@]}" -printf '%P %m %l\n' | sort &&
        find . -type f "${known[@]}" ! -name .sessions.index -print0 |
        sort -z | xargs -0 -r sha256sum)
}

# The process of agent $2, or else of the first one, of session $1, once it has one.
agent_pid() {
    # shellcheck disable=SC2317 # called by eventually
    agent_runs() {
        pid=$("$MAS" status "$1" --json | jq -r --arg agent "${2-}" \
            'first(.sessions[0].agents[] | select($agent == "" or .id == $agent)).pid // empty')
        [ -n "$pid" ]
    }
    local pid
    eventually agent_runs "$@" && echo "$pid"
}

# with_mounts COMMAND...: where it can mount what nobody else sees. need_mounts: skips the test where
# that cannot be had, as in a chroot.
with_mounts() { unshare --user --map-root-user --mount "$@"; }
need_mounts() {
    with_mounts mount -t tmpfs none "$ROOT/sessions" 2>/dev/null ||
        skip 'there are no mount namespaces here (a chroot, or no user namespaces)'
}

# Waits until no host of session $1 is left.
hosts_gone() { eventually eval "! pgrep -f 'mas host $1 ' >/dev/null"; }

# Kills the hosts and supervisors of session $1 in a way that leaves its agents alone: none of them can
# act on the end of another.
orphan_agents() {
    local processes
    processes=$(pgrep -f "mas host $1 ") || return
    # shellcheck disable=SC2086 # numbers
    kill -STOP $processes && kill -KILL $processes
}
