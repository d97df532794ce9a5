# Isolates a test that runs mas: its own root, home, tmux server and working directory. Sourced by
# helper.bash and fault/lib.bash.
# shellcheck shell=bash
#
#   make_place DIR      sets it up in DIR, which is empty
#   place_base          prints where such directories are made: in memory, if possible. TEST_PLACE names
#                       another directory, on a file system that the tests are to be tried on.
#   forget_leases       removes what killed sessions left in shared memory
#   left_outside        prints files that mas created in the working directory; should print nothing
#
# These run before and after each of some thousand tests, and a process costs as much as mas itself: what bash
# can do, it does.
#
# No root of the caller can affect the test: neither one named in the environment, nor one above the
# current directory or below the home. The working directory is a trap: if mas looks for a root above
# it, it finds one whose mas.ini stops it with an error. So a test that runs mas without naming a root
# fails. A test of the search for a root first changes to a directory of its own, $T or below.

place_base() { echo "${TEST_PLACE:-$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)}"; }

make_place() {
    local name
    # without it, the paths below are those of the machine
    [ -d "$1" ] || { echo "there is no directory for the test: '$1'" >&2; exit 1; }
    T=$1
    ROOT=$T/root
    SOCK=$T/tmux
    for name in "${!MAS_@}" "${!XDG_@}" "${!TMUX@}"; do
        case $name in MAS_TEST_*) ;; *) unset "$name" ;; esac
    done
    unset SESSION_NAME UNIT_DIR WORKFLOWS_DIR
    unset NO_COLOR COLUMNS LINES ENV BASH_ENV CDPATH DBUS_SESSION_BUS_ADDRESS
    export HOME=$T/home XDG_CONFIG_HOME=$T/home/.config XDG_DATA_HOME=$T/home/.local/share
    export XDG_STATE_HOME=$T/home/.local/state XDG_CACHE_HOME=$T/home/.cache
    export MAS_ROOT=$ROOT MAS_TMUX_SOCKET=$SOCK TMUX_TMPDIR=$T
    export TERM=screen LC_ALL=C.UTF-8
    mkdir -p "$HOME" "$T/.outside/here"
    echo 'no test names this root, so no test may use it' >"$T/.outside/mas.ini"
    cd "$T/.outside/here" || return
}

# Removes the pages in shared memory of the leases of all sessions below $T: nobody stops a session that a
# test has killed.
forget_leases() {
    local pages=(/dev/shm/mas-lease-*)
    [ -e "${pages[0]}" ] || return 0
    find "$T" -name .session -type f -exec sed -n 's/^LEASE=//p' {} + 2>/dev/null |
        while IFS= read -r page; do rm -f "/dev/shm/mas-lease-$page"; done || true
}

left_outside() {
    local name
    for name in "$T"/.outside/* "$T"/.outside/.[!.]* "$T"/.outside/here/* "$T"/.outside/here/.[!.]*; do
        case $name in
            "$T/.outside/here" | "$T/.outside/mas.ini") ;;
            *) [ ! -e "$name" ] && [ ! -L "$name" ] || printf '%s\n' "$name" ;;
        esac
    done
}
