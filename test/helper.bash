# Shared by all bats files: gives each test its own root and tmux server, which teardown ends.
# shellcheck shell=bash
#
#   $MAS    the program under test        $ROOT  the root of this test, also in MAS_ROOT
#   $SOCK   the socket of its tmux server, also in MAS_TMUX_SOCKET
#   $T      the directory of the test, which contains all of that and whatever else the test creates
#
# A test runs in a directory where mas finds a root only if the test names one; see place.bash.

bats_require_minimum_version 1.5.0

# shellcheck source=test/place.bash
. "${BASH_SOURCE[0]%/*}/place.bash"

setup() {
    PROJECT=${BATS_TEST_DIRNAME%/*/*}
    MAS=${MAS:-$PROJECT/build/mas}
    case $MAS in /*) ;; *) MAS=$(realpath -s -- "$MAS") ;; esac
    export MAS
    # a short path: a socket's path has at most 107 bytes
    make_place "$(mktemp -d "$(place_base)/${TEST_JOB:-mas-test}.XXXXXX")"
    export SHELL=/bin/sh
    "$MAS" init -q
    if declare -F setup_more >/dev/null; then setup_more; fi
}

teardown() {
    if declare -F teardown_more >/dev/null; then teardown_more; fi
    # every server of this test has its socket below $T; a server that a test stopped does not answer
    local found
    while IFS= read -r found; do
        timeout 20 tmux -S "$found" kill-server 2>/dev/null || true
    done < <(find "$T" -type s 2>/dev/null)
    forget_leases
    if declare -F release_disk >/dev/null; then release_disk; fi
    found=$(left_outside)
    rm -rf "$T" 2>/dev/null || { chmod -R u+rwx "$T" 2>/dev/null || true; rm -rf "$T"; }
    [ -z "$found" ] || { echo "the test ran mas without naming a root: $found" >&2; return 1; }
}

# Runs mas with separate streams: $output is stdout, $stderr is stderr.
mas() { run --separate-stderr "$MAS" "$@"; }

# ok ARGUMENT...: runs mas, which has to succeed. fails CODE ARGUMENT...: it has to end with this exit
# code. Both show what it printed if it ends otherwise.
ok() { fails 0 "$@"; }
fails() {
    mas "${@:2}"
    [ "$status" -eq "$1" ] || {
        printf 'mas %s\nended with %s, not %s\n%s\n%s\n' "${*:2}" "$status" "$1" "$output" "$stderr" >&2
        return 1
    }
}

# Makes $MAS a mas whose user cannot read what the modes of files forbid, also if that is root.
hold_to_modes() {
    [ "$EUID" -eq 0 ] || return 0
    printf '#!/bin/sh\nexec setpriv --bounding-set -dac_override,-dac_read_search -- "%s" "$@"\n' "$MAS" >"$T/held-mas"
    chmod +x "$T/held-mas"
    MAS=$T/held-mas
}

# Lets a shell count as idle after 100 ms without output instead of 2 s. For tests that wait until an
# agent is idle and do not care when.
quick_idle() { printf '[preset shell]\nidle = 100ms\n' >>"$ROOT/mas.ini"; }

# shellcheck disable=SC2034 # read by the tests
# Creates a session and sets $ID to its id; passes its arguments to `mas new`.
new_session() { ID=$("$MAS" new -q "$@"); }

# Waits until a command succeeds. Fails after 90 s and 100 tries, which take longer on a slow machine.
# For facts that have no event to wait for.
eventually() {
    local end=$((SECONDS + 90)) tries=100
    local pause=2 # hundredths of a second; a long wait polls less often and leaves the CPU to others
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || [ "$tries" -gt 0 ] || { echo "never came true: $*" >&2; return 1; }
        read -rt "0.$((pause / 10))$((pause % 10))" <> <(:) || :
        pause=$((pause < 16 ? pause * 2 : 20)) tries=$((tries - 1))
    done
}

# Succeeds if a command prints exactly $1. Use it as in `eventually prints 3 count_them`;
# `eventually [ "$(count_them)" = 3 ]` would count only once.
prints() { [ "$("${@:2}" 2>/dev/null)" = "$1" ]; }

# Runs tmux on this test's server.
tm() { tmux -u -S "$SOCK" "$@"; }

# Makes $T/kept/tmux, which does everything that tmux does but ends no session.
make_keeping_tmux() {
    mkdir "$T/kept"
    cat >"$T/kept/tmux" <<SH
#!/bin/sh
text=
case " \$* " in *" source-file "*) text=\$(cat) ;; esac
case "\$* \$text" in *kill-session*) echo no >&2; exit 1 ;; esac
[ -n "\$text" ] || exec "$(command -v tmux)" "\$@"
printf %s "\$text" | "$(command -v tmux)" "\$@"
SH
    chmod +x "$T/kept/tmux"
}

# Prints the value of key $2 in the metadata of session $1.
# shellcheck disable=SC1090 # made by the program under test
meta() { (. "$ROOT/sessions/$1/.session" && eval "printf '%s' \"\${$2-}\""); }

# Prints a field of `mas show --json`: session $1, jq filter $2.
field() { "$MAS" show "$1" --json | jq -r "$2"; }

# Prints the complete state of the root on disk (names, modes and contents), to compare before and
# after. Leaves out the agents' logs, because agents print at any time, the register of who waits and the count of starts.
snapshot() {
    local known=(! -name .sessions.lock ! -name .session.lock ! -path '*/logs/agent-*' ! -name '.waiting*' ! -name .wall-probe ! -name '.starts*')
    (cd "$ROOT" && find . -mindepth 1 "${known[@]}" -printf '%P %m %l\n' | sort &&
        find . -type f "${known[@]}" ! -name .sessions.index -print0 |
        sort -z | xargs -0 -r sha256sum)
}

# Waits for and prints the pid of agent $2, or of the first agent that runs, in session $1.
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

# with_mounts COMMAND...: runs it in its own mount namespace. need_mounts: skips the test if that is
# impossible, as in a chroot.
with_mounts() { unshare --user --map-root-user --mount "$@"; }
need_mounts() {
    with_mounts mount -t tmpfs none "$ROOT/sessions" 2>/dev/null ||
        skip 'there are no mount namespaces here (a chroot, or no user namespaces)'
}

# Skips a test that exchanges two names at once where the file system of the tests cannot.
need_exchange() {
    mkdir "$T/.a" "$T/.b"
    python3 -ESc 'import ctypes, sys
sys.exit(ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2) != 0)' "$T/.a" "$T/.b" ||
        skip 'the file system has no RENAME_EXCHANGE'
    rmdir "$T/.a" "$T/.b"
}

# Waits until session $1, or its agent $2, has no host left.
hosts_gone() { eventually eval "! pgrep -f 'mas host $1 ${2:-}' >/dev/null"; }

# Kills the hosts and supervisors of session $1 so that its agents survive: it stops them all first,
# so none of them can react to the end of another.
orphan_agents() {
    local processes
    processes=$(pgrep -f "mas host $1 ") || return
    # shellcheck disable=SC2086 # numbers
    kill -STOP $processes && kill -KILL $processes
}
