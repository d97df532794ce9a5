# Isolates a test that runs mas: its own root, home, tmux server and working directory. Sourced by
# helper.bash and fault/lib.bash.
# shellcheck shell=bash
#
#   make_place DIR      sets it up in DIR, which is empty
#   left_outside        prints files that mas created in the working directory; should print nothing
#
# No root of the caller can affect the test: neither one named in the environment, nor one above the
# current directory or below the home. The working directory is a trap: if mas looks for a root above
# it, it finds one whose mas.ini stops it with an error. So a test that runs mas without naming a root
# fails. A test of the search for a root first changes to a directory of its own, $T or below.

make_place() {
    local name
    T=$1
    ROOT=$T/root
    SOCK=$T/tmux
    while IFS= read -r name; do
        case $name in
            MAS | MAS_TEST_*) ;;
            MAS_* | XDG_* | TMUX* | SESSION_NAME | UNIT_DIR | WORKFLOWS_DIR) unset "$name" ;;
            NO_COLOR | COLUMNS | LINES | ENV | BASH_ENV | CDPATH | DBUS_SESSION_BUS_ADDRESS) unset "$name" ;;
        esac
    done < <(compgen -e)
    export HOME=$T/home XDG_CONFIG_HOME=$T/home/.config XDG_DATA_HOME=$T/home/.local/share
    export XDG_STATE_HOME=$T/home/.local/state XDG_CACHE_HOME=$T/home/.cache
    export MAS_ROOT=$ROOT MAS_TMUX_SOCKET=$SOCK TMUX_TMPDIR=$T
    export TERM=screen LC_ALL=C.UTF-8
    mkdir -p "$HOME" "$T/.outside/here"
    echo 'no test names this root, so no test may use it' >"$T/.outside/mas.ini"
    cd "$T/.outside/here" || return
}

left_outside() {
    find "$T/.outside" -mindepth 1 ! -path "$T/.outside/here" ! -path "$T/.outside/mas.ini" 2>/dev/null
}
