#!/usr/bin/env bats
# kill -9 and errors in `archive`, `archive --rm` and `restore` of a session with a project: the session
# or a whole archive of it is always there, and the project stays as it was.
load ../helper
load ../cli/code.bash
load code.bash

setup_more() {
    make_project
    make_trio
    make_team -t trio -n team
    change x a 3 mine
    "$MAS" merge -q team x
    "$MAS" land -q team
    remember
    FILE=$T/team.tar.zst
}

# The session has all of its commits and files.
complete() {
    [ "$(git -C "$C/x" show HEAD:a | sed -n 3p)" = mine ] && [ "$(sed -n 3p "$C/view/a")" = mine ] &&
        [ -z "$(git -C "$C/x" status --porcelain)" ] && [ "$(git -C "$C/y" rev-parse HEAD)" = "$(team_git rev-parse refs/mas/base)" ] &&
        whole
}

@test "archive makes a whole archive or none" {
    local fault point
    mapfile -t all < <(points archive -q team -o "$FILE")
    [ "${#all[@]}" -gt 0 ]
    mapfile -t all < <(tries signal=KILL error=ENOSPC error=EIO)
    for point in "${all[@]}"; do
        fault=${point%% *} point=${point#* }
        rm -f "$FILE"
        # shellcheck disable=SC2086 # a name and a number
        inject "$fault" $point archive -q team -o "$FILE"
        same_project || failed project
        complete || failed the session
        [ ! -e "$FILE" ] || "$MAS" restore -q --new-id -n copy "$FILE" >"$T/id" || failed the archive is damaged
        if [ -s "$T/id" ]; then "$MAS" rm -q "$(<"$T/id")"; fi
        rm -f "$T/id"
    done
    repaired
}

@test "archive --rm removes the session only after the archive is whole" {
    local fault point
    mapfile -t all < <(points archive -q --rm team -o "$FILE")
    [ "${#all[@]}" -gt 0 ]
    mapfile -t all < <(tries signal=KILL error=ENOSPC error=EIO)
    for point in "${all[@]}"; do
        fault=${point%% *} point=${point#* }
        [ -d "$C" ] || "$MAS" restore -q "$FILE" >"$T/out" || failed restore
        rm -f "$FILE"
        # shellcheck disable=SC2086
        inject "$fault" $point archive -q --rm team -o "$FILE"
        same_project || failed project
        repaired || failed doctor
        if [ -d "$C" ]; then complete || failed the session; fi
        [ -d "$C" ] || [ -f "$FILE" ] || failed everything is gone
    done
}

@test "restore brings all of the session back or nothing" {
    local fault point
    "$MAS" archive -q --rm team -o "$FILE"
    mapfile -t all < <(points restore -q "$FILE")
    "$MAS" rm -q team
    [ "${#all[@]}" -gt 0 ]
    mapfile -t all < <(tries signal=KILL error=ENOSPC error=EIO)
    for point in "${all[@]}"; do
        fault=${point%% *} point=${point#* }
        # shellcheck disable=SC2086
        inject "$fault" $point restore -q "$FILE"
        same_project || failed project
        repaired || failed doctor
        if [ -d "$C" ]; then
            complete || failed the session
            "$MAS" rm -q team || failed rm
        fi
    done
    "$MAS" restore -q "$FILE"
    complete
}
