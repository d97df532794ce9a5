# shellcheck shell=sh
# Sessions of mas for shell scripts. Source it in bash, zsh or a POSIX shell (dash, busybox sh).
#
#     . /usr/local/share/mas/lib/session.sh
#
#   function                                  prints                       sets
#   generate_uuid                             a new random id
#   create_session_workspace ID [CONFIG]      the workspace's directory
#   initialize_session_units DIR
#   load_session ID                                                        the session's variables
#   find_session_by_id ID                     the workspace's directory
#   find_active_session                       the id of the newest running session
#   update_session_status ID STATUS [WHY]
#   stop_session ID
#
# generate_uuid             Prints a random version 4 UUID.
# create_session_workspace  Creates an isolated session with this id. Starts nothing: call
#                           `update_session_status ID active` or `mas start ID` for that. CONFIG is a
#                           file as for `mas new -c`; if it is empty, there is none. If the ID exists,
#                           returns 4.
# initialize_session_units  Copies from the template what is missing in unit/ and workflows/ of the
#                           workspace DIR. Existing files stay as they are.
# load_session              Sets and exports MAS_ROOT MAS_TMUX_SOCKET MAS_SESSION_MODE MAS_SESSION_ID
#                           MAS_SESSION_DIR SESSION_NAME UNIT_DIR WORKFLOWS_DIR, and sets SESSION_ID
#                           TMUX_SESSION STATUS CREATED_AT from .session. On failure, all of them stay
#                           unchanged.
# find_active_session       Returns 3 if no session is running.
# update_session_status     `active` calls `mas start`, `stopped` calls `mas stop`. `error` records the
#                           line WHY as the reason that `mas list` shows; if the session is running,
#                           returns 4. The next start or stop clears the error.
# stop_session              Calls `mas stop`. It is not an error if the session is already stopped.
#
# Except for create_session_workspace, an ID is anything that `mas` accepts as a SESSION: an id, a
# name, the beginning of an id, @last. The functions print nothing else on standard output, and errors
# on standard error.
#
# Each function returns the exit code of mas: 0 success; 1 failure; 2 usage error; 3 no such session;
# 4 conflict; 5 the session's data is damaged; 6 tmux is missing or failed; 7 timeout.
#
# The program is $MAS, else `mas` on PATH, else the one in the tree that contains this file, and then
# MAS is set to its path. If there is no program, sourcing this file fails with 1. Apart from MAS and
# the variables of load_session, the functions change no variable, option or positional parameter of
# the caller. Names that begin with _mas belong to this file.

# _mas OPERAND...: runs the program, not a function or alias of this name.
_mas() {
    command "${MAS:-mas}" "$@"
}

# _mas_usage WORDS: prints how to call a function.
_mas_usage() {
    printf 'mas: usage: %s\n' "$1" >&2
    return 2
}

# _mas_look: finds the program. A relative name of this file is relative to the current directory.
_mas_look() {
    if _mas version >/dev/null 2>&1; then return 0; fi
    if [ -z "${MAS-}" ]; then
        # shellcheck disable=SC3028 # set only in bash
        set -- "${BASH_SOURCE-}"
        if [ -n "${ZSH_VERSION-}" ]; then eval 'set -- "${(%):-%x}"'; fi
        # other shells do not name the file that they read, but have it open
        if [ -z "$1" ]; then
            set -- "$(readlink "/proc/$$/fd/"* 2>/dev/null | grep '/session\.sh$' | tail -n 1)"
        fi
        case $1 in
            /*) ;;
            */*) set -- "$PWD/$1" ;;
            ?*) set -- "$PWD/./$1" ;;
        esac
        set -- "${1%/*}"
        for MAS in "$1/../build/mas" "$1/../bin/mas" "$1/../../../bin/mas"; do
            if [ -n "$1" ] && [ -f "$MAS" ] && [ -x "$MAS" ]; then return 0; fi
        done
        unset MAS
    fi
    printf "mas: cannot find the program '%s': it does not run\\n" "${MAS:-mas}" >&2
    printf 'put it on PATH, or set MAS to its path\n' >&2
    return 1
}

generate_uuid() {
    _mas library uuid
}

create_session_workspace() (
    case "$#" in
        1 | 2) ;;
        *) _mas_usage 'create_session_workspace ID [CONFIG]' || exit ;;
    esac
    if [ -n "${2-}" ]; then set -- "$1" -c "$2"; else set -- "$1"; fi
    _mas new -q --no-start --mode isolated --id "$@" >/dev/null || exit
    find_session_by_id "$1"
)

initialize_session_units() {
    [ "$#" -eq 1 ] || { _mas_usage 'initialize_session_units DIR' || return; }
    _mas library fill -- "$1"
}

load_session() {
    [ "$#" -eq 1 ] || { _mas_usage 'load_session ID' || return; }
    _mas_text=$(_mas library load -- "$1") || { set -- "$?"; unset _mas_text; return "$1"; }
    eval "$_mas_text"
    unset _mas_text
    export MAS_ROOT MAS_TMUX_SOCKET MAS_SESSION_MODE MAS_SESSION_ID MAS_SESSION_DIR
    export SESSION_NAME UNIT_DIR WORKFLOWS_DIR
}

find_session_by_id() (
    [ "$#" -eq 1 ] || { _mas_usage 'find_session_by_id ID' || exit; }
    load_session "$1" || exit
    printf '%s\n' "$MAS_SESSION_DIR"
)

find_active_session() (
    ids=$(_mas list --active -q) || exit
    if [ -z "$ids" ]; then
        echo 'mas: cannot find an active session: no session is running' >&2
        exit 3
    fi
    # oldest first
    printf '%s\n' "${ids##*
}"
)

update_session_status() {
    case "$#:${2-}" in
        2:active) _mas start -q -- "$1" ;;
        2:stopped) _mas stop -q -- "$1" ;;
        2:error | 3:error) _mas library mark -- "$1" "${3-}" ;;
        *) _mas_usage 'update_session_status ID active|stopped|error [WHY]' ;;
    esac
}

stop_session() {
    [ "$#" -eq 1 ] || { _mas_usage 'stop_session ID' || return; }
    _mas stop -q -- "$1"
}

_mas_look
