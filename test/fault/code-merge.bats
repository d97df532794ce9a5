#!/usr/bin/env bats
# kill -9 and errors in `merge` and `sync`: after each the integration branch and the agents' branches
# are the old or the new ones, both repositories are whole, the project is as it was, and the same
# command does the rest.
load ../helper
load ../cli/code.bash
load code.bash

setup_more() {
    make_project
    make_trio
    make_team -t trio -n team
    remember
}

# What git finds wrong in the repositories of the session, at once after a fault.
sound() {
    local agent
    team_git fsck --strict --no-dangling --no-progress >"$T/fsck" 2>&1 || { cat "$T/fsck"; return 1; }
    for agent in x y z; do
        git -C "$C/$agent" fsck --no-dangling --no-progress >"$T/fsck" 2>&1 || { cat "$T/fsck"; return 1; }
    done
}

line_of() { team_git show "$(main_of):$1" | head -n 1; }

# One agent's branch moves the integration branch forward, the other's is merged.
new_work() {
    number=$((number + 1))
    change x a 1 "x $number"
    change y b 1 "y $number"
    old=$(main_of)
}

@test "merge moves the branch or leaves it, and goes on when it is run again" {
    local fault point old number=0
    new_work
    "$MAS" merge -q team x y
    new_work
    mapfile -t all < <(points merge -q team x y)
    [ "${#all[@]}" -gt 1 ]
    mapfile -t all < <(tries signal=KILL error=ENOSPC error=EIO)
    for point in "${all[@]}"; do
        fault=${point%% *} point=${point#* }
        new_work
        # shellcheck disable=SC2086 # a name and a number
        inject "$fault" $point merge -q team x y
        same_project || failed project
        sound || failed not whole
        team_git merge-base --is-ancestor "$old" "$(main_of)" || failed the branch has lost commits
        [[ $(line_of a),$(line_of b) == "x "@($((number - 1))|$number)",y "@($((number - 1))|$number) ]] ||
            failed neither the old lines nor the new ones
        ((number % 2)) || repaired || failed doctor
        "$MAS" merge -q team x y >"$T/out" 2>&1 || failed again
        [ "$(line_of a)$(line_of b)" = "x ${number}y $number" ] || failed not merged
        [ "$(head -n 1 "$C/view/a")$(head -n 1 "$C/view/b")" = "x ${number}y $number" ] || failed view
        whole || failed not whole
    done
    repaired
    # each commit of an agent once
    [ "$(team_git rev-list --no-merges --count "mas/$L/main" ^refs/mas/base)" = $((2 * number)) ]
}

# fault_git NAME NUMBER: from now on mas and its git are killed at this call of the git that moves the view.
# That git, and so strace, may write into the view and the store only.
fault_git() {
    local git
    git=$(PATH=$WITHOUT command -v git)
    mkdir -p "$T/bin"
    cat >"$T/bin/git" <<SH
#!/bin/sh
case " \$* " in
*" read-tree -u -m "*)
    strace -o /dev/null -e trace=$1 -e signal=none -e inject=$1:signal=KILL:when=$2 "$git" "\$@"
    kill -KILL \$PPID
    ;;
*) exec "$git" "\$@" ;;
esac
SH
    chmod +x "$T/bin/git"
}

@test "a view whose files were being written at a kill is finished by doctor, or by the next merge" {
    local fault=killed point number=0 killed=0 WITHOUT=$PATH
    new_work
    "$MAS" merge -q team x y
    for point in 'unlink 1' 'unlink 2' 'write 1' 'write 2'; do
        for _ in 1 2; do
            new_work
            # shellcheck disable=SC2086 # a name and a number
            fault_git $point
            PATH=$T/bin:$PATH "$MAS" merge -q team x y >"$T/out" 2>&1 || true
            if [ "$(head -n 1 "$C/view/a" 2>&1)" != "x $((number - 1))" ]; then killed=$((killed + 1)); fi
            same_project || failed project
            ((number % 2)) || repaired || failed doctor
            "$MAS" merge -q team x y >"$T/out" 2>&1 || failed again
            [ "$(line_of a)$(line_of b)" = "x ${number}y $number" ] || failed not merged
            [ "$(head -n 1 "$C/view/a")$(head -n 1 "$C/view/b")" = "x ${number}y $number" ] || failed view
            whole || failed not whole
        done
    done
    [ "$killed" -ge 4 ] # the first file had been touched
    repaired
}

@test "sync moves an agent to the integration branch or leaves it, and goes on when it is run again" {
    local fault point agent old new number=0
    change z c 1 'z 0'
    "$MAS" merge -q team z
    mapfile -t all < <(points sync -q team)
    [ "${#all[@]}" -gt 1 ]
    mapfile -t all < <(tries signal=KILL signal=KILL error=ENOSPC error=EIO)
    for point in "${all[@]}"; do
        fault=${point%% *} point=${point#* }
        number=$((number + 1))
        old=$(main_of)
        change z c 1 "z $number"
        echo "$number" >"$C/z/new$number"
        git -C "$C/z" rm -q --ignore-unmatch "new$((number - 1))"
        git -C "$C/z" add -A && git -C "$C/z" commit -qm "z new $number"
        "$MAS" merge -q team z
        new=$(main_of)
        # shellcheck disable=SC2086
        inject "$fault" $point sync -q team
        same_project || failed project
        sound || failed not whole
        for agent in x y; do
            [[ $(git -C "$C/$agent" rev-parse HEAD) == @("$old"|"$new") ]] || failed "$agent"
        done
        # after each second fault, so after one of the two kills, doctor repairs before sync does
        ((number % 2)) || repaired || failed doctor
        "$MAS" sync -q team >"$T/out" 2>&1 || failed again
        for agent in x y; do
            [ "$(git -C "$C/$agent" rev-parse HEAD)" = "$new" ] || failed "$agent" is behind
            [ "$(git -C "$C/$agent" symbolic-ref HEAD)" = "refs/heads/mas/$L/$agent" ] || failed HEAD
            [ -z "$(git -C "$C/$agent" status --porcelain)" ] || failed "$agent" is changed
        done
        whole || failed not whole
    done
    repaired
}
