# What the benchmarks share. Sourced by run.sh.
# shellcheck shell=bash
#
#   $MAS    the program       $SOCK   a tmux server that runs all the time
#   $FAST   a work directory in memory    $SLOW   one on a disk    $ROUNDS  runs of each side

MET=0
MISSED=0
SKIPPED=0
MOUNTS=()
declare -A T    # medians in microseconds, of the last measure()
declare -A BEST # the shortest times, where others work, too

set_up() {
    local tool memory=/dev/shm
    [[ -w $memory ]] || memory=${TMPDIR:-/tmp}
    MAS=$(realpath -- "${MAS:-../../build/mas}")
    if [[ ! -x $MAS ]]; then
        echo "run.sh: there is no program '$MAS'; make it with: make" >&2
        return 1
    fi
    FAST=$(mktemp -d "$memory/mas-bench-XXXXXX") || return 1
    SLOW=$(mktemp -d "${BENCH_DISK:-/tmp}/mas-bench-XXXXXX") || return 1
    # ext4: in other block groups than where somebody has just deleted a lot, which makes it slow
    chattr +T "$SLOW" 2>/dev/null
    for tool in timer populate pour key; do
        "${CC:-cc}" -std=c17 -D_GNU_SOURCE -O2 -o "$FAST/$tool" "$tool.c" -lutil || return 1
    done

    export MAS FAST SLOW SOCK=$FAST/tmux
    export HOME=$FAST/home XDG_CONFIG_HOME=$FAST/home/.config XDG_DATA_HOME=$FAST/home/.local/share
    export XDG_STATE_HOME=$FAST/home/.local/state
    export MAS_ROOT=$FAST/none # each benchmark names its own
    export MAS_TMUX_SOCKET=$SOCK TMUX_TMPDIR=$FAST LC_ALL=C.UTF-8 TERM=screen
    SHELL=$(command -v bash) && export SHELL
    unset TMUX TMUX_PANE ENV BASH_ENV XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS SESSION_NAME
    unset "${!MAS_SESSION@}" MAS_TEMPLATE MAS_PRESET MAS_TMUX_SERVER MAS_TMUX_SIZE
    unset MAS_AGENT_ID MAS_AGENT_ROLE
    mkdir "$HOME"
    : >"$HOME/.bashrc"
    tmux -S "$SOCK" -f /dev/null new-session -d -s keep -x 200 -y 50 'exec sleep 1000000' \; \
        set-option -g default-shell "$SHELL" \; set-option -g default-size 200x50 || return 1
    echo "mas $("$MAS" version | grep -o '[0-9][0-9.]*' | head -n 1), $(tmux -V)," \
        "$(nproc) processors, medians of $ROUNDS runs"
    say_load 'at the start'
}

tear_down() {
    local socket directory
    tmux -S "$SOCK" kill-server 2>/dev/null # and with it hosts, whose sockets are no server's
    while IFS= read -r socket; do
        timeout 5 tmux -S "$socket" kill-server 2>/dev/null
    done < <(find "$FAST" "$SLOW" -xdev -type s)
    for directory in ${MOUNTS[@]+"${MOUNTS[@]}"}; do
        umount "$directory" || return
    done
    # agents may still be writing their last
    rm -rf "$FAST" "$SLOW" 2>/dev/null || { sleep 1 && rm -rf "$FAST" "$SLOW"; }
}

# The load of the last minute; what others do in that time is in every number.
say_load() {
    local load rest
    read -r load rest </proc/loadavg
    echo "load $1: $load"
    : "$rest"
}

# measure [OPTION...] NAME=COMMAND...: the medians go to T[NAME].
measure() {
    local times name median best rest
    T=() BEST=()
    times=$("$FAST/timer" -n "$ROUNDS" "$@") || return 1
    while read -r name median best rest; do
        T[$name]=$median
        BEST[$name]=$best
    done <<<"$times"
    : "$rest"
}

# calc EXPRESSION: a number with three digits behind the point.
calc() { awk "BEGIN { printf \"%.3f\", $1 }"; }

# ms NAME: a median in milliseconds, for people.
ms() { awk "BEGIN { t = ${T[$1]} / 1000; printf t < 9.95 ? \"%.2f ms\" : \"%.1f ms\", t }"; }

# at_most WHAT VALUE LIMIT DETAIL, at_least likewise: one target.
at_most() { judge "$1" "$2" '<=' "$3" "$4"; }
at_least() { judge "$1" "$2" '>=' "$3" "$4"; }
judge() {
    local verdict=MISSED
    if awk "BEGIN { exit !($2 $3 $4) }"; then
        verdict=ok
        ((MET += 1))
    else
        ((MISSED += 1))
    fi
    printf '%-6s %-48s %8.2f %s %-6.4g  %s\n' "$verdict" "$1" "$2" "$3" "$4" "$5"
}

# For information only.
note() { printf '%-6s %-48s %s\n' - "$1" "$2"; }

skip() {
    ((SKIPPED += 1))
    printf '%-6s %-48s %s\n' skip "$1" "$2"
}

fail() {
    ((MISSED += 1))
    printf '%-6s %s\n' FAILED "$1"
}

# make_root DIRECTORY: a root with the templates that come with the program.
make_root() { "$MAS" init -q "$1"; }

# make_full_root DIRECTORY COUNT: a root with that many stopped sessions of the template solo. Its index is made
# anew, as the rows of populate have no file of their own, and commands would read each session's.
make_full_root() {
    make_root "$1" && "$MAS" --root "$1" new -q -t solo --no-start >/dev/null &&
        "$FAST/populate" "$1" $(($2 - 1)) && rm "$1/sessions/.sessions.index" &&
        "$MAS" --root "$1" doctor >/dev/null
}

# make_script NAME: an executable script in $FAST, from standard input.
make_script() {
    { echo '#!/bin/sh' && cat; } >"$FAST/$1" && chmod +x "$FAST/$1"
}
