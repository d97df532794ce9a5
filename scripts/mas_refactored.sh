#!/bin/sh
# The old entry point, for those who have the habit. All work is done by mas, which also says what is
# wrong, in whose words and with whose exit code this ends.
#
#     mas_refactored.sh start [OPTION...]         options as for `mas new`, where one is made
#     mas_refactored.sh stop
#     mas_refactored.sh send TARGET TEXT...
#     mas_refactored.sh status
#     mas_refactored.sh help | version
#
# Which session that is:
#
#     MAS_SESSION_ID=UUID         the one of this id; start makes an isolated one where there is none
#     MAS_SESSION_MODE=legacy     the legacy session, which works in the root's own unit/ and
#     (or unset)                  workflows/ and is called $SESSION_NAME, or mas-tmux, in tmux
#     MAS_SESSION_MODE=isolated   without an id: start makes a new one each time, status tells all
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

# The program: $MAS, else mas on PATH, else the one that this tree has built.
if [ -z "${MAS-}" ]; then
    MAS=$(command -v mas) || MAS=$(dirname -- "$(readlink -f -- "$0")")/../build/mas
fi
[ -x "$MAS" ] || command -v "$MAS" >/dev/null ||
    fail 1 "cannot find the program '$MAS': it is not there" 'build it with: make'

verb=${1-help}
[ $# -eq 0 ] || shift
mode=${MAS_SESSION_MODE:-legacy}
id=${MAS_SESSION_ID-}
case $mode in
    legacy | isolated) ;;
    *) fail 2 "cannot use MAS_SESSION_MODE='$mode': it is not legacy or isolated" \
        'unset it, or set it to one of these' ;;
esac

# need_id: finds out which session is meant.
need_id() {
    [ -z "$id" ] || return 0
    [ "$mode" = legacy ] || fail 2 "cannot run '$verb': many sessions may be isolated" \
        'set MAS_SESSION_ID to the id of the one; list them with: mas list'
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
    *) fail 2 "cannot run '$verb': it is no command" \
        "usage: ${0##*/} start|stop|send|status|help|version" ;;
esac
