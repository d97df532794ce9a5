# A place of its own for whatever runs mas in a test: a root, a home, a tmux server, a working
# directory. Sourced by helper.bash and fault/lib.bash.
# shellcheck shell=bash
#
#   make_place DIR      makes it in DIR, which is empty
#   left_outside        prints what mas did outside of it; there is nothing
#
# Nothing of the caller's reaches it: a root named by his environment, found above his directory or
# below his home. The working directory is in a trap: mas looks for a root above it, and finds one
# whose mas.ini stops it with words. A test that runs mas without naming a root fails by that; one
# that wants a root to be looked for goes to a directory of its own first, $T or below.

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
