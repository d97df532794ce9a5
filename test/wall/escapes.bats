#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# What an agent may reach is decided by its wall. Every way out of escape.py is tried from inside of
# one, where none may work, and without one, where each has to work, or it would prove nothing.
load ../helper
load lib

# Runs all ways as agent `bad`, behind the wall that the words say (KEY=VALUE of the preset), and
# leaves a line for each in $T/verdicts.
try_ways() {
    make_session "$PYTHON '$READABLE/escape.py' try places" "$@"
    start_target
    cp "$T/places.agent" "$TREE/.places" && mv "$TREE/.places" "$TREE/places"
    within 120 test -e "$TREE/places.done"
    stop_target
    "$PYTHON" "$READABLE/escape.py" judge "$T/places" "$TREE/places.done" >"$T/verdicts"
    [ "$(wc -l <"$T/verdicts")" -gt 100 ]
}

# verdict_is NEEDS GROUP VERDICT: prints the ways with these words; each is a pattern of awk.
verdict_is() { awk -v n="^($1)$" -v g="^($2)$" -v v="^($3)$" '$2 ~ n && $3 ~ g && $4 ~ v' "$T/verdicts"; }

# none LINES: succeeds if there is no line, otherwise prints them.
none() { [ -z "$1" ] || { printf '%s\n' "$1" >&2; return 1; }; }

@test "without a wall, each way out works: what follows proves something" {
    try_ways
    none "$(verdict_is nothing '.*' 'held|absent')"
    [ "$(id -u)" -ne 0 ] || none "$(verdict_is root '.*' held)"
    none "$(verdict_is never '.*' through)"
    # kernels and machines differ, but not in all
    [ "$(verdict_is kernel '.*' through | wc -l)" -gt 10 ]
}

@test "no way out of a wall without a network works" {
    need_wall
    try_ways 'wall.level = require' 'wall.network = none' "wall.read = $READABLE"
    [ "$(field "$ID" '.agents[] | select(.id == "bad") | .wall.network')" != open ]
    none "$(verdict_is '.*' '.*' through)"
}

@test "with an open network, the network is all that is open" {
    need_wall
    try_ways 'wall.level = require' 'wall.network = open' "wall.read = $READABLE"
    none "$(verdict_is '.*' wall through)"
    verdict_is '.*' network through | grep -q '^loopback '
}

@test "without bubblewrap, nobody is held up by a lease either" {
    [ "$("${MAS%/*}/mas-wall" --probe | sed -n 's/^landlock=//p')" -gt 0 ] || skip 'the kernel has no Landlock'
    mkdir "$T/bin"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/bwrap"
    chmod +x "$T/bin/bwrap"
    PATH=$T/bin:$PATH try_ways 'wall.level = try' "wall.read = $READABLE"
    none "$(awk '$1 ~ /^(lease|notices)-/ && $4 == "through"' "$T/verdicts")"
}
