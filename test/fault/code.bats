#!/usr/bin/env bats
# kill -9 and errors in the commands on sessions with a project, at system calls that change something
# or start git. After each the session is whole or gone, the project is as before but for what landed
# and refs/mas/lost, and the next command goes on.
load ../helper
load ../cli/code.bash
[ "${TEST_FAULT-}" = full ] || THIN=23 # each point makes a session with three work trees
load code.bash

setup_more() {
    make_project
    make_trio
}

# Every kind of work in a small form.
some_work() {
    change x a 3 mine
    echo more >>"$C/x/b"
    git -C "$C/x" stash -q
    echo new >"$C/y/new"
}

@test "new --project is whole or nothing" {
    local fault point id
    "$MAS" init -q
    remember
    mapfile -t all < <(points new -q --no-start -t trio --project "$P" -n team)
    "$MAS" rm -q team
    [ "${#all[@]}" -gt 5 ]
    mapfile -t all < <(tries signal=KILL error=ENOSPC error=EIO)
    for point in "${all[@]}"; do
        fault=${point%% *} point=${point#* }
        # shellcheck disable=SC2086 # a name and a number
        inject "$fault" $point new -q --no-start -t trio --project "$P" -n team
        same_project || failed project
        repaired || failed doctor
        for id in $("$MAS" list -q --all); do
            G=$ROOT/sessions/$id/code.git
            whole || failed not whole
            "$MAS" rm -q "$id" || failed rm
        done
    done
}

@test "rm of a session in which nothing was done removes it or leaves it whole" {
    local fault point
    make_team -t trio -n team
    remember
    mapfile -t all < <(points rm -q team)
    [ "${#all[@]}" -gt 5 ]
    mapfile -t all < <(tries signal=KILL error=ENOSPC error=EIO)
    for point in "${all[@]}"; do
        fault=${point%% *} point=${point#* }
        [ -n "$("$MAS" list -q --all)" ] || make_team -t trio -n team
        # shellcheck disable=SC2086
        inject "$fault" $point rm -q team
        same_project || failed project
        repaired || failed doctor
        [ ! -d "$G" ] || whole || failed not whole
        [ -z "$(git -C "$P" for-each-ref refs/mas)" ] || failed refs
    done
}

@test "rm never removes work, whatever fails" {
    local fault point
    make_team -t trio -n team
    some_work
    remember
    mapfile -t all < <(points rm -q team)
    mapfile -t all < <(tries signal=KILL error=ENOSPC error=EIO error=EMFILE)
    for point in "${all[@]}"; do
        fault=${point%% *} point=${point#* }
        # shellcheck disable=SC2086
        inject "$fault" $point rm -q team
        [ -f "$C/y/new" ] || failed work is gone
        same_project || failed project
    done
    repaired
    whole
}

@test "rm -f keeps the work in the session or in lost/, whatever fails" {
    local fault point file
    make_team -t trio -n team
    some_work
    remember
    "$MAS" archive -q -o "$T/all.tar.zst" team
    mapfile -t all < <(points rm -qf team)
    rm -rf "$ROOT/lost"
    mapfile -t all < <(tries signal=KILL error=ENOSPC error=EIO)
    for point in "${all[@]}"; do
        fault=${point%% *} point=${point#* }
        [ -d "$C" ] || "$MAS" restore -q "$T/all.tar.zst" >/dev/null
        # shellcheck disable=SC2086
        inject "$fault" $point rm -qf team
        same_project || failed project
        repaired || failed doctor
        if [ ! -d "$C" ]; then
            file=$(find "$ROOT/lost" -name '*.tar.zst' | head -n 1)
            [ -n "$file" ] || failed work is gone
            "$MAS" restore -q "$file" >/dev/null || failed restore
            repaired || failed doctor after restore
        fi
        [ -f "$C/y/new" ] || failed work is gone
        whole || failed not whole
        rm -rf "$ROOT/lost"
    done
}
