#!/bin/sh
# The old entry point, for users who are accustomed to it. mas does all the work; its error messages
# and exit code are those of this script.
#
#     mas_refactored.sh start [OPTION...]         options as for `mas new`, if it creates a session
#     mas_refactored.sh stop
#     mas_refactored.sh send TARGET TEXT...
#     mas_refactored.sh status
#     mas_refactored.sh help | version
#
# Which session it uses:
#
#     MAS_SESSION_ID=UUID         the one with this id; start creates an isolated one if it is missing
#     MAS_SESSION_MODE=legacy     the legacy session, which works in the root's own unit/ and
#     (or unset)                  workflows/; its tmux name is $SESSION_NAME, or mas-tmux
#     MAS_SESSION_MODE=isolated   without an id: start creates a new one, status shows all
set -eu

usage() {
    echo 'usage:'
    sed -n '/^#     mas_refactored.sh/s/^#     /    /p' "$0"
    echo
    sed -n '/^# Which session/,/^set -eu/{/^set -eu/d;s/^# \{0,1\}//;p;}' "$0"
}

# fail CODE WORDS HINT
fail() {
    printf 'mas: %s\n%s\n' "$2" "$3" >&2
    exit "$1"
}

# The program: $MAS, or mas in PATH, or the one built in this tree.
if [ -z "${MAS-}" ]; then
    MAS=$(command -v mas) || MAS=$(dirname -- "$(readlink -f -- "$0")")/../build/mas
fi
[ -x "$MAS" ] || command -v "$MAS" >/dev/null ||
    fail 1 "cannot find the program '$MAS': there is no such program" 'build it with: make'

verb=${1-help}
[ $# -eq 0 ] || shift
mode=${MAS_SESSION_MODE:-legacy}
id=${MAS_SESSION_ID-}
case $mode in
    legacy | isolated) ;;
    *) fail 2 "cannot use MAS_SESSION_MODE='$mode': it is not legacy or isolated" \
        'unset it, or set it to one of these' ;;
esac

# need_id: sets $id to the session to use, or fails.
need_id() {
    [ -z "$id" ] || return 0
    [ "$mode" = legacy ] || fail 2 "cannot run '$verb': a root may have many isolated sessions" \
        'set MAS_SESSION_ID to the id of one of them; list the sessions with: mas list'
    id=$("$MAS" library legacy) || exit
}

case $verb in
    start)
        rc=0
        if [ -n "$id" ]; then
            "$MAS" env -- "$id" >/dev/null 2>&1 || rc=$?
            [ "$rc" -ne 3 ] || exec "$MAS" new --mode isolated --id "$id" "$@"
        elif [ "$mode" = legacy ]; then
            id=$("$MAS" library legacy 2>/dev/null) || rc=$?
            [ "$rc" -eq 0 ] || exec "$MAS" new --mode legacy "$@"
        else
            exec "$MAS" new --mode isolated "$@"
        fi
        exec "$MAS" start -s "$id" "$@"
        ;;
    stop)
        need_id
        exec "$MAS" stop -s "$id" "$@"
        ;;
    send)
        need_id
        exec "$MAS" send -s "$id" "$@"
        ;;
    status)
        if [ -z "$id" ] && [ "$mode" = isolated ]; then exec "$MAS" status "$@"; fi
        need_id
        exec "$MAS" status -s "$id" "$@"
        ;;
    help | -h | --help) usage ;;
    version | -V | --version) exec "$MAS" version "$@" ;;
    *) fail 2 "cannot run '$verb': there is no such command" \
        "usage: ${0##*/} start|stop|send|status|help|version" ;;
esac
