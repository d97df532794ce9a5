#!/usr/bin/env bats
# mas doctor: the repositories of a session with a project.
load ../helper
load doctor
load code.bash

setup_more() {
    make_project
    make_trio
    make_team -t trio
    x=$C/x
}

# `mas doctor` says $1, which a person has to set right, and --fix changes nothing about it.
by_hand() {
    local option
    for option in '' --fix; do
        # shellcheck disable=SC2086 # no option is no word
        fails 1 doctor --json $option
        jq -e --arg subject "$ID" --arg what "$1" \
            'any(.findings[]; .subject == $subject and .state == "by hand" and (.what | contains($what)))' \
            <<<"$output"
    done
}

@test "new repositories are in order, also after work" {
    is_in_order
    change x a 3 one
    "$MAS" merge -q "$ID" x
    "$MAS" diff "$ID" >/dev/null
    "$MAS" land -q "$ID"
    echo more >>"$C/y/a"
    is_in_order
}

@test "a session without a project needs no git" {
    "$MAS" rm -q "$ID"
    "$MAS" new -q -t solo --no-start
    mkdir "$T/bin"
    for program in tmux sh; do ln -s "$(command -v $program)" "$T/bin/"; done
    run --separate-stderr env PATH="$T/bin" "$MAS" doctor
    [ "$status" -eq 0 ]
}

@test "without git the repositories are not looked at" {
    mkdir "$T/bin"
    for program in tmux sh; do ln -s "$(command -v $program)" "$T/bin/"; done
    run --separate-stderr env PATH="$T/bin" "$MAS" doctor
    [ "$status" -eq 1 ]
    [[ $output = *"its repositories were not looked at: cannot run 'git'"* ]]
}

@test "a code.git that is missing, damaged or borrows is told" {
    mv "$G" "$T/code.git"
    by_hand 'its code.git is missing'
    mv "$T/code.git" "$G"
    is_in_order
    mv "$G/objects" "$T/objects"
    by_hand 'code.git/objects is missing'
    mv "$T/objects" "$G/objects"
    echo "$P/.git/objects" >"$G/objects/info/alternates"
    by_hand 'code.git borrows objects from elsewhere'
    rm "$G/objects/info/alternates"
    mv "$G/refs/heads/mas/$L/main" "$T/main"
    by_hand 'code.git is damaged: '
    mv "$T/main" "$G/refs/heads/mas/$L/main"
    is_in_order
}

@test "an agent's repository that is missing, moved, a link or borrows is told" {
    mv "$x" "$T/x"
    by_hand "cannot read the repository of agent 'x': its directory is missing"
    ln -s "$T/x" "$x"
    by_hand "cannot read the repository of agent 'x'"
    rm "$x"
    mv "$T/x" "$x"
    mv "$x/.git" "$T/git"
    by_hand "its .git is missing"
    echo "gitdir: $T/git" >"$x/.git"
    by_hand "its .git is missing, a file or a link"
    rm "$x/.git"
    mv "$T/git" "$x/.git"
    echo "$P/.git/objects" >"$x/.git/objects/info/alternates"
    by_hand 'it borrows objects from elsewhere'
    echo '../../../../code.git/objects' >"$x/.git/objects/info/alternates"
    is_in_order
    change x a 3 one
    rm -rf "$x/.git/objects"/??
    by_hand 'code/x/.git lacks the commit'
}

@test "a project that is gone is a note" {
    mv "$P" "$T/moved"
    notes "$ID" "its project '$P' is gone; only mas land"
    mv "$T/moved" "$P"
    is_in_order
}

@test "locks and half objects of a killed git go, but not those that a process needs" {
    local lock pid
    for lock in "$x/.git/index.lock" "$x/.git/HEAD.lock" "$x/.git/refs/heads/mas/$L/x.lock" \
        "$G/packed-refs.lock" "$G/refs/heads/mas/$L/main.lock" "$G/worktrees/view/index.lock" \
        "$x/.git/objects/ab/tmp_obj_Xy12" "$G/objects/ab/tmp_obj_Xy12" "$G/objects/pack/tmp_pack_Xy12"; do
        mkdir -p "${lock%/*}"
        : >"$lock"
        exec 7<"$lock"
        is_in_order
        exec 7<&-
        finds "$ID" "a killed git left ${lock#"$ROOT/sessions/$ID/"}"
        mends "$ID" "a killed git left ${lock#"$ROOT/sessions/$ID/"}"
        [ ! -e "$lock" ]
    done
    git -C "$x" status >/dev/null
}

@test "a lock that git has closed stays while git works there" {
    local pid
    echo more >>"$x/a"
    printf '#!/bin/sh\ntouch "%s/edits"; exec sleep 1000\n' "$T" >"$T/editor"
    chmod +x "$T/editor"
    GIT_EDITOR=$T/editor git -C "$x" commit -a 3>&- &
    pid=$!
    eventually test -e "$T/edits"
    [ -e "$x/.git/index.lock" ]
    is_in_order
    kill -KILL "$pid"
    wait "$pid" || true
    finds "$ID" 'a killed git left code/x/.git/index.lock'
    mends "$ID" 'a killed git left code/x/.git/index.lock'
    pkill -KILL -f "$T/editor" || true
}

@test "what killed commands left in code.git goes" {
    mkdir "$G/incoming" "$G/scratch" "$G/objects/tmp_objdir-mas-abcdef"
    echo half >"$G/incoming/pack"
    for left in incoming scratch objects/tmp_objdir-mas-abcdef; do
        finds "$ID" "a killed command left code.git/$left"
    done
    mends "$ID" 'a killed command left code.git/incoming'
    whole
}

@test "repositories that a command works on are left alone" {
    mkdir "$G/scratch"
    exec 8>"${G%.git}.locks/mas.lock"
    flock 8
    notes "$ID" 'busy, its repositories were not looked at'
    mas doctor --fix
    [ -d "$G/scratch" ]
    exec 8>&-
    finds "$ID" 'a killed command left code.git/scratch'
}

@test "a view that is behind is moved, but not over changes" {
    change x a 3 one
    "$MAS" merge -q "$ID" x
    git -C "$C/view" checkout -q HEAD~1
    finds "$ID" 'its view does not show the integration branch'
    echo more >>"$C/view/a"
    fails 1 doctor --fix
    [ "$(tail -n 1 "$C/view/a")" = more ]
    git -C "$C/view" checkout -q a
    mends "$ID" 'its view does not show the integration branch'
    [ "$(sed -n 3p "$C/view/a")" = one ]
}

@test "a landing that was killed is finished, not while git works there" {
    local old
    change x a 3 one
    "$MAS" merge -q "$ID" x
    old=$(git -C "$P" rev-parse HEAD)
    "$MAS" land -q "$ID"
    # as if it had been killed before it moved the work tree
    git -C "$P" read-tree -u --reset "$old"
    jq -nc --arg project "$P" --arg old "$old" --arg new "$(git -C "$P" rev-parse HEAD)" \
        '{project: $project, dir: ($project + "/.git"), onto: "refs/heads/main", old: $old, new: $new,
          tree: $project}' >"$G/landing"
    : >"$P/.git/index.lock"
    exec 7<"$P/.git/index.lock"
    fails 1 doctor --fix
    [ -e "$P/.git/index.lock" ]
    exec 7<&-
    finds "$ID" 'a landing was interrupted'
    mends "$ID" 'a landing was interrupted'
    [ -z "$(git -C "$P" status --porcelain)" ]
    [ "$(sed -n 3p "$P/a")" = one ]
}

# As if mas and its git had been killed while git moved branch $onto of the project.
leave_landing() {
    jq -nc --arg project "$P" --arg onto "refs/heads/$onto" --arg old "$old" --arg new "$(main_of)" \
        '{project: $project, dir: ($project + "/.git"), onto: $onto, old: $old, new: $new}
         + if $onto == "refs/heads/main" then {tree: $project} else {} end' >"$G/landing"
    : >"$P/.git/refs/heads/$onto.lock"
    : >"$P/.git/HEAD.lock"
}

@test "the locks of a landing that was killed go at the next, not while a process has them" {
    local old onto
    change x a 3 one
    "$MAS" merge -q "$ID" x
    old=$(git -C "$P" rev-parse HEAD)
    git -C "$P" branch other
    for onto in main other; do
        leave_landing
        exec 7<"$P/.git/refs/heads/$onto.lock"
        fails 4 land --onto "$onto" "$ID"
        [ -e "$P/.git/refs/heads/$onto.lock" ]
        exec 7<&-
        leave_landing
        ok land --onto "$onto" "$ID"
        [ "$(git -C "$P" rev-parse "$onto")" = "$(main_of)" ]
        [ -z "$(find "$P/.git" -name '*.lock')" ]
    done
    [ -z "$(git -C "$P" status --porcelain)" ]
}
