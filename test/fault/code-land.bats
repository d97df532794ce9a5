#!/usr/bin/env bats
# kill -9 and errors in `land`: after each the branch is the old or the new one, nothing else in the
# project has changed but its work tree if it follows the branch, both repositories are whole, and
# `doctor --fix` or the next `land` finishes what was begun.
load ../helper
load ../cli/code.bash
load code.bash

setup_more() {
    make_project
    make_trio
    git -C "$P" config branch.main.remote origin
    git -C "$P" branch other
    [ "${TEST_FAULT-}" = full ] || THIN=${LAND_THIN-41}
    make_team -t trio -n team
    number=0 syncs='' mine=''
}

# Everything in the project but what landing on branch $onto changes.
rest() {
    local follows=' \./[ab]$|^[ab] | \./\.git/index$|\.git/index |\.git/logs'
    [ "$onto" = main ] || follows='\.git/logs'
    project_state | grep -vE "$follows|refs/heads/$onto( |\$)|refs/(mas|remotes)|packed-refs|ORIG_HEAD"
}

new_work() {
    # a squash in the project has no commit of the team as its parent
    [ -z "$syncs" ] || "$MAS" sync -q --project team
    number=$((number + 1))
    change x a 1 "x $number"
    change y b 1 "y $number"
    "$MAS" merge -q team x y
}

lines() { git -C "$P" show "$onto:a" | head -n 1; git -C "$P" show "$onto:b" | head -n 1; }
tip() { git -C "$P" rev-parse "$onto"; }

# The work tree of the project is as its branch, but for $mine.
follows() {
    [ "$(git -C "$P" status --porcelain)" = "$mine" ] && [ "$(git -C "$P" symbolic-ref HEAD)" = refs/heads/main ]
}

# enumerate ARGUMENT...: a fault at each place of `mas land ARGUMENT...` onto $onto.
enumerate() {
    local fault point old was all
    new_work
    "$MAS" land -q "$@" team
    new_work
    mapfile -t all < <(points land -q "$@" team)
    [ "${#all[@]}" -gt 1 ]
    was=$(rest)
    mapfile -t all < <(tries signal=KILL error=ENOSPC error=EIO)
    for point in "${all[@]}"; do
        fault=${point%% *} point=${point#* }
        new_work
        old=$(tip)
        # shellcheck disable=SC2086 # a name and a number
        inject "$fault" $point land -q "$@" team
        git -C "$P" fsck --strict --no-dangling --no-progress >"$T/fsck" 2>&1 || failed fsck "$(<"$T/fsck")"
        team_git fsck --strict --no-dangling --no-progress >"$T/fsck" 2>&1 || failed fsck "$(<"$T/fsck")"
        git -C "$P" merge-base --is-ancestor "$old" "$(tip)" || failed the branch has lost commits
        [[ $(lines | tr '\n' ' ') == @("x $((number - 1)) y $((number - 1)) "|"x $number y $number ") ]] ||
            failed landed the half
        if ((number % 2)); then
            repaired || failed doctor
            follows || failed the work tree after doctor
        fi
        "$MAS" land -q "$@" team >"$T/out" 2>&1 || failed again
        [ "$(lines | tr '\n' ' ')" = "x $number y $number " ] || failed not landed
        follows || failed the work tree
        [ "$(rest)" = "$was" ] || failed changed: "$(diff <(echo "$was") <(rest))"
        whole || failed not whole
    done
    repaired
}

@test "land onto a branch that is not checked out" {
    onto=other
    enumerate --onto other
}

@test "land onto the branch that is checked out, beside changes of other files" {
    onto=main mine='MM c'
    echo staged >>"$P/c" && git -C "$P" add c && echo changed >>"$P/c"
    enumerate
    [ "$(head -n 1 "$P/a")" = "x $number" ]
}

@test "land --squash" {
    onto=main syncs=yes
    enumerate --squash
}

@test "land --rebase" {
    onto=main
    enumerate --rebase
}

@test "land --push" {
    onto=main
    git init -q --bare "$T/remote.git"
    git -C "$P" remote add origin "$T/remote.git"
    enumerate --push
    [ "$(git -C "$T/remote.git" rev-parse main)" = "$(tip)" ]
}
