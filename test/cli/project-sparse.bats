#!/usr/bin/env bats
load ../helper
load code

# A project whose checkout is sparse: the work trees of the session leave out the same files.

setup_more() {
    make_project
    mkdir -p "$P/src/keep" "$P/src/other" "$P/docs"
    for file in src/s src/keep/k src/other/o docs/d; do
        for i in {1..20}; do echo "$file $i"; done >"$P/$file"
    done
    git -C "$P" add .
    git -C "$P" commit -qm More
    make_trio
}

cone() { git -C "$P" sparse-checkout set --cone src/keep; }
patterns() { git -C "$P" sparse-checkout set --no-cone '/*' '!/docs/' '!*/other/*' '!/b'; }

# The files of a work tree, without .git.
files_in() { (cd "$1" && find . -name .git -prune -o -type f -printf '%P\n' | sort | xargs); }
clean() { [ -z "$(git -C "$C/${1-x}" status --porcelain --ignored)" ]; }
# The files that the index of a work tree says are left out.
left_out() { git -C "$1" ls-files -t | sed -n 's/^S //p' | sort | xargs; }

@test "work trees and the view leave out what a checkout with a cone leaves out" {
    cone
    before=$(project_state)
    make_team -t trio
    [ "$(project_state)" = "$before" ]
    for tree in view x y z; do
        [ "$(files_in "$C/$tree")" = 'a b c src/keep/k src/s' ]
    done
    for tree in x y z view; do
        [ "$(left_out "$C/$tree")" = 'docs/d src/other/o' ]
        clean "$tree"
    done
    mas diff "$ID" --stat
    [[ $output != *docs* ]] || { echo "$output"; false; }
    ok doctor
    ok rm "$ID"
}

@test "patterns without a cone are inherited too" {
    patterns
    make_team -t trio
    for tree in x y view; do
        [ "$(files_in "$C/$tree")" = 'a c src/keep/k src/s' ]
        clean "$tree"
        [ "$(left_out "$C/$tree")" = 'b docs/d src/other/o' ]
    done
    [ "$(field "$ID" '.agents[] | select(.id == "x").code.changed')" = 0 ]
    ok rm "$ID"
}

@test "a checkout with all files, and a bare project, give all files" {
    cone
    git -C "$P" sparse-checkout disable
    make_team -t trio
    [ "$(files_in "$C/x")" = 'a b c docs/d src/keep/k src/other/o src/s' ]
    [ ! -e "$G/info/sparse-checkout" ]
    cone
    git clone -q --bare "$P" "$T/bare"
    P=$T/bare make_team -t trio
    [ "$(files_in "$C/x")" = 'a b c docs/d src/keep/k src/other/o src/s' ]
}

@test "the patterns of a linked work tree are its own" {
    git -C "$P" worktree add -q "$T/linked" -b side
    git -C "$T/linked" sparse-checkout set --cone docs
    P=$T/linked make_team -t trio
    [ "$(files_in "$C/x")" = 'a b c docs/d' ]
    clean
}

@test "changes are seen, merged and synced, and nothing that is left out is touched" {
    cone
    make_team -t trio
    change x src/keep/k 3 'three of x'
    echo new >"$C/y/src/keep/new"
    git -C "$C/y" add . && git -C "$C/y" commit -qm 'y: new'
    echo draft >>"$C/z/a"
    run "$MAS" diff "$ID" x --stat
    [[ $output == *src/keep/k* && $output != *docs* ]]
    run "$MAS" diff "$ID" z
    [[ $output == *+draft* && $output != *docs* ]]
    [ "$(field "$ID" '.agents[] | select(.id == "z").code.changed')" = 1 ]
    "$MAS" merge "$ID" x y
    [ "$(team_git ls-tree -r --name-only "mas/$L/main" | xargs)" = 'a b c docs/d src/keep/k src/keep/new src/other/o src/s' ]
    [ "$(files_in "$C/view")" = 'a b c src/keep/k src/keep/new src/s' ]
    git -C "$C/z" checkout -q a
    "$MAS" sync "$ID" z
    [ "$(files_in "$C/z")" = 'a b c src/keep/k src/keep/new src/s' ]
    [ "$(left_out "$C/z")" = 'docs/d src/other/o' ]
    for tree in x y z view; do clean "$tree"; done
    whole
}

@test "an agent adds a file outside of the patterns and changes one there" {
    cone
    make_team -t trio
    # as git does: the agent widens its own checkout
    git -C "$C/x" sparse-checkout add docs
    change x docs/d 2 'two of x'
    "$MAS" merge "$ID" x
    [ "$(team_git show "mas/$L/main:docs/d" | sed -n 2p)" = 'two of x' ]
    [ "$(files_in "$C/view")" = 'a b c src/keep/k src/s' ]
    # what is not committed there is work
    echo more >>"$C/x/docs/d"
    mkdir "$C/y/docs" && echo own >"$C/y/docs/own"
    "$MAS" land -q "$ID"
    fails 4 rm "$ID"
    [[ $stderr == *"x: 1 file not committed: docs/d"* ]]
    [[ $stderr == *"y: 1 file not committed: docs/own"* ]]
    ok rm -f "$ID"
    [ "$(git -C "$P" show "refs/mas/lost/$ID/y/work:docs/own")" = own ]
    [ "$(git -C "$P" show "refs/mas/lost/$ID/y/work:src/other/o" | wc -l)" = 20 ]
}

@test "landing makes and deletes no file that the project's checkout leaves out" {
    cone
    make_team -t trio
    git -C "$C/x" sparse-checkout disable
    change x docs/d 2 'two of x'
    change x src/keep/k 2 'two of x'
    mkdir "$C/x/far" && echo far >"$C/x/far/away"
    git -C "$C/x" rm -q src/other/o
    git -C "$C/x" add . && git -C "$C/x" commit -qm far
    "$MAS" merge "$ID" x
    "$MAS" land -q "$ID"
    [ "$(files_in "$P")" = 'a b c src/keep/k src/s' ]
    [ "$(sed -n 2p "$P/src/keep/k")" = 'two of x' ]
    [ -z "$(git -C "$P" status --porcelain)" ]
    [ "$(git -C "$P" ls-tree -r --name-only HEAD | xargs)" = 'a b c docs/d far/away src/keep/k src/s' ]
    [ "$(left_out "$P")" = 'docs/d far/away' ]
    whole
}

@test "landing that was killed is finished without the files that are left out" {
    cone
    make_team -t trio
    git -C "$C/x" sparse-checkout disable
    change x docs/d 2 'two of x'
    change x src/keep/k 2 'two of x'
    git -C "$C/x" rm -q c
    git -C "$C/x" commit -qm c
    "$MAS" merge "$ID" x
    old=$(git -C "$P" rev-parse main) new=$(main_of)
    # as a kill leaves it behind the move of the branch
    git -C "$P" fetch -q "$G" "mas/$L/main"
    rm -f "$P/.git/FETCH_HEAD"
    git -C "$P" update-ref refs/heads/main "$new" "$old"
    jq -n --arg p "$P" --arg old "$old" --arg new "$new" \
        '{project: $p, dir: ($p + "/.git"), onto: "refs/heads/main", old: $old, new: $new, tree: $p}' >"$G/landing"
    "$MAS" land -q "$ID"
    [ -z "$(git -C "$P" status --porcelain)" ]
    [ "$(files_in "$P")" = 'a b src/keep/k src/s' ]
    [ "$(left_out "$P")" = 'docs/d src/other/o' ]
    [ "$(sed -n 2p "$P/src/keep/k")" = 'two of x' ]
    whole
}

@test "what was changed meanwhile, a deleted file made again too, is kept by the end of a killed landing" {
    make_team -t trio
    git -C "$C/x" rm -q c
    git -C "$C/x" commit -qm c
    "$MAS" merge "$ID" x
    old=$(git -C "$P" rev-parse main) new=$(main_of)
    git -C "$P" fetch -q "$G" "mas/$L/main"
    git -C "$P" update-ref refs/heads/main "$new" "$old"
    jq -n --arg p "$P" --arg old "$old" --arg new "$new" \
        '{project: $p, dir: ($p + "/.git"), onto: "refs/heads/main", old: $old, new: $new, tree: $p}' >"$G/landing"
    echo 'made again' >"$P/c"
    "$MAS" land -q "$ID" || true
    [ "$(cat "$P/c")" = 'made again' ]
}

@test "uncommitted changes of a sparse checkout come along, in both formats of its index" {
    cone
    echo changed >>"$P/src/keep/k"
    make_team -t trio --with-changes
    [ "$(files_in "$C/x")" = 'a b c src/keep/k src/s' ]
    [ "$(tail -1 "$C/x/src/keep/k")" = changed ]
    [ "$(team_git diff --name-only refs/mas/base refs/mas/changes)" = src/keep/k ]
    git -C "$P" sparse-checkout set --sparse-index --cone src/keep
    make_team -t trio --with-changes
    clean
    [ "$(team_git diff --name-only refs/mas/base refs/mas/changes)" = src/keep/k ]
}

@test "a check runs on the files that the team has" {
    cone
    printf '[code]\ncheck = sh -c "ls *; test ! -e docs"\n' >>"$ROOT/mas.ini"
    make_team -t trio
    change x a 1 one
    ok merge "$ID" x
    grep -q keep "$ROOT/sessions/$ID/logs/check.log"
}

@test "a session with a sparse checkout is archived, moved and restored" {
    cone
    make_team -t trio
    change x src/keep/k 3 three
    "$MAS" archive -q "$ID" -o "$T/a.tar.zst"
    "$MAS" rm -qf "$ID"
    "$MAS" restore -q "$T/a.tar.zst"
    clean
    [ "$(files_in "$C/x")" = 'a b c src/keep/k src/s' ]
    "$MAS" merge "$ID" x
    [ "$(files_in "$C/view")" = 'a b c src/keep/k src/s' ]
    clean view
}

@test "patterns that are too large, or a link, are refused" {
    cone
    head -c 1100000 /dev/zero | tr '\0' '\n' >>"$P/.git/info/sparse-checkout"
    fails 2 new --no-start -t trio --project "$P"
    [[ $stderr == *"its patterns of a sparse checkout cannot be read"* ]]
    rm "$P/.git/info/sparse-checkout"
    ln -s /dev/zero "$P/.git/info/sparse-checkout"
    fails 2 new --no-start -t trio --project "$P"
    [ -z "$(ls "$ROOT/sessions")" ]
}
