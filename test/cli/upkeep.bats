#!/usr/bin/env bats
# The repositories of a session stay small: packs are put together, and no object goes.
load ../helper
load code.bash

setup_more() {
    make_project
    git -C "$P" repack -qad
    make_trio
    make_team -t trio
    x=$C/x
}

# packs: how many code.git has that may be put together. objects_of GIT_DIR: the names of all.
packs() { echo $(($(find "$G/objects/pack" -name '*.pack' | wc -l) - $(find "$G/objects/pack" -name '*.keep' | wc -l))); }
objects_of() { git --git-dir="$1" cat-file --batch-all-objects --batch-check='%(objectname)' | sort; }
loose() { find "$x/.git/objects"/?? -type f | wc -l; }

# Commits 600 files as agent x. mas looks at those whose names begin with 17, of which these are six.
commit_many() {
    local i
    for i in {1..600}; do echo "line $i" >"$x/many-$i"; done
    git -C "$x" add . && git -C "$x" commit -qm many
    [ "$(loose)" -gt 600 ]
}

@test "many merges leave few packs, all objects, and the packs of the project as they were" {
    local i link=$G/objects/pack kept
    kept=$(find "$link" -name '*.pack' -links +1)
    [ -n "$kept" ]
    [ "$(find "$link" -name '*.keep' | sed 's/keep$/pack/' | sort)" = "$(sort <<<"$kept")" ]
    unnamed=$(echo unnamed | team_git hash-object -w --stdin)
    for i in {1..20}; do
        change x a $((i % 20 + 1)) "round $i"
        "$MAS" merge -q "$ID" x
        objects_of "$G" >>"$T/seen"
    done
    [ "$(packs)" -le 17 ]
    [ -z "$(sort -u "$T/seen" | comm -23 - <(objects_of "$G"))" ]
    [ "$(team_git cat-file -p "$unnamed")" = unnamed ]
    [ "$(find "$link" -name '*.pack' -links +1)" = "$kept" ]
    "$MAS" sync -q "$ID"
    [ "$(git -C "$C/y" rev-parse HEAD)" = "$(main_of)" ]
    whole
}

@test "what code.git has goes from an agent's loose objects, and nothing else" {
    commit_many
    mine=$(echo mine | git -C "$x" hash-object -w --stdin)
    objects_of "$x/.git" >"$T/before"
    "$MAS" merge -q "$ID" x
    [ "$(loose)" -eq 1 ]
    [ "$(git -C "$x" cat-file -p "$mine")" = mine ]
    [ -z "$(comm -23 "$T/before" <(objects_of "$x/.git"))" ]
    git -C "$x" fsck --strict --no-dangling --no-progress
    [ -z "$(git -C "$x" status --porcelain)" ]
}

@test "under the hands of a git, or of an agent that borrows nothing, all stays" {
    commit_many
    mkfifo "$T/fifo"
    # shellcheck disable=SC2016 # the editor expands it
    printf '#!/bin/sh\ntouch "%s/edits"; read -r line <"%s/fifo"; echo edited >"$1"\n' "$T" "$T" >"$T/editor"
    chmod +x "$T/editor"
    echo more >>"$x/a"
    GIT_EDITOR=$T/editor git -C "$x" commit -a 3>&- &
    pid=$!
    eventually test -e "$T/edits"
    many=$(loose)
    "$MAS" merge -q "$ID" x
    [ "$(loose)" -eq "$many" ]
    echo >"$T/fifo"
    wait "$pid"
    git -C "$x" repack -qa
    rm "$x/.git/objects/info/alternates"
    many=$(loose)
    "$MAS" merge -q "$ID" x
    [ "$(loose)" -eq "$many" ]
    git -C "$x" fsck --strict --no-dangling --no-progress
}

@test "a link in the place of an agent's objects leads nowhere" {
    commit_many
    mkdir "$T/other"
    cp -a "$x/.git/objects/17" "$T/other/17"
    rm -r "$x/.git/objects/18"
    cp -a "$T/other/17" "$T/other/18"
    ln -s "$T/other/18" "$x/.git/objects/18"
    before=$(find "$T/other" -type f | wc -l)
    "$MAS" merge -q "$ID" x || true
    [ "$(find "$T/other" -type f | wc -l)" -eq "$before" ]
}
