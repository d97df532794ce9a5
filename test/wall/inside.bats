#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# What a program finds behind a wall: directories that the user's variables name, what belongs to the
# script that it runs, and mas.
load ../helper
load lib

# Landlock alone holds the files.
no_bwrap() {
    [ "$("${MAS%/*}/mas-wall" --probe | sed -n 's/^landlock=//p')" -gt 0 ] || skip 'the kernel has no Landlock'
    mkdir "$T/bin"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/bwrap"
    chmod +x "$T/bin/bwrap"
    PATH=$T/bin:$PATH
}

# Directories of the user, some of which are nowhere inside.
uses_directories() {
    mkdir -p "$T/mine/tmp" "$T/mine/run" "$HOME/.cache" "$HOME/.config/git" "$T/kept"
    touch "$HOME/.config/git/config"
    export TMPDIR=$T/mine/tmp TMP=/tmp/user/1000 TEMP=$T/kept XDG_RUNTIME_DIR=$T/mine/run
    export XDG_CACHE_HOME=$T/mine/cache XDG_CONFIG_HOME=$HOME/.config XDG_STATE_HOME=$HOME/.state
    compromise "$1" 'wall.home = .config/git/config:ro' "wall.write = $T/kept" 'env.XDG_DATA_HOME = /tmp/data'
    # shellcheck disable=SC2016 # for the shell inside
    inside 'echo in "$(mktemp)"; echo "config $([ -e "$XDG_CONFIG_HOME/git/config" ] && echo there)"
        for name in TMPDIR TMP TEMP XDG_RUNTIME_DIR XDG_CACHE_HOME XDG_STATE_HOME XDG_DATA_HOME; do
            eval "echo $name \${$name-unset}"
        done'
    [ "$rc" -eq 0 ]
    cat "$TREE/said"
    said 'config there'
    for name in TMP XDG_RUNTIME_DIR XDG_CACHE_HOME XDG_STATE_HOME; do said "$name unset"; done
    said "TEMP $T/kept"
    said 'XDG_DATA_HOME /tmp/data' # the preset's word
}

@test "a variable names no directory that is not there" {
    need_wall
    uses_directories require
    said 'in /tmp/'
    said 'TMPDIR unset'
}

@test "nor where Landlock alone holds the files" {
    no_bwrap
    need_wall() { :; }
    uses_directories try
    said "in $DIR/home/bad/"
}
