# shellcheck shell=sh
# Sessions of mas for shell scripts: to be sourced by bash, zsh or a POSIX shell (dash, busybox sh).
#
#     . /usr/local/share/mas/lib/session.sh
#
#   function                                  prints                       sets
#   generate_uuid                             a new random id
#   create_session_workspace ID [CONFIG]      the workspace's directory
#   initialize_session_units DIR
#   load_session ID                                                        the session's variables
#   find_session_by_id ID                     the workspace's directory
#   find_active_session                       the id of the newest session that runs
#   update_session_status ID STATUS [WHY]
#   stop_session ID
#
# generate_uuid             A version 4 UUID, of the kernel's randomness.
# create_session_workspace  Makes an isolated session of this id and starts nothing: that is done by
#                           `update_session_status ID active`, or `mas start ID`. CONFIG is a file as
#                           for `mas new -c`; empty is none. An ID that exists is a conflict, 4.
# initialize_session_units  Copies from the template what unit/ and workflows/ of the workspace DIR
#                           lack. What is there stays as it is.
# load_session              Sets and exports MAS_ROOT MAS_TMUX_SOCKET MAS_SESSION_MODE MAS_SESSION_ID
#                           MAS_SESSION_DIR SESSION_NAME UNIT_DIR WORKFLOWS_DIR, and sets, from
#                           .session, SESSION_ID TMUX_SESSION STATUS CREATED_AT. If it fails, all of
#                           them stay as they were.
# find_active_session       Where none runs: 3.
# update_session_status     `active` is `mas start`, `stopped` is `mas stop`. `error` notes WHY, one
#                           line, as the reason that `mas list` shows; for a session that does not
#                           run, else 4. The next start or stop takes it back.
# stop_session              `mas stop`; a session that is stopped already is no error.
#
# An ID, but for create_session_workspace, is anything that `mas` takes for a SESSION: an id, a name,
# the beginning of an id, @last. Nothing else is printed; what is wrong is said on standard error.
#
# Each returns the exit code of mas: 0 done; 1 failed; 2 called wrongly; 3 no such session; 4 a
# conflict; 5 the session's data is damaged; 6 tmux is missing or failed; 7 timed out.
#
# The program is $MAS, else `mas` on PATH, else the one of the tree that this file is in; then MAS is
# set to it. Where there is none, reading this file fails with 1. Besides MAS and what load_session
# sets, no variable, option or positional parameter of the caller is changed, and names that begin
# with _mas belong to this file.

# _mas OPERAND...: runs the program, whatever functions and aliases there are.
_mas() {
    command "${MAS:-mas}" "$@"
}

# _mas_usage WORDS: says how a function is called.
_mas_usage() {
    printf 'mas: usage: %s\n' "$1" >&2
    return 2
}

# _mas_look: finds the program. A relative name of this file is that from where the script is now.
_mas_look() {
    if _mas version >/dev/null 2>&1; then return 0; fi
    if [ -z "${MAS-}" ]; then
        # shellcheck disable=SC3028 # unset but in bash
        set -- "${BASH_SOURCE-}"
        if [ -n "${ZSH_VERSION-}" ]; then eval 'set -- "${(%):-%x}"'; fi
        # other shells do not tell what they read, but have it open
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
        echo 'mas: cannot find an active session: none runs' >&2
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
