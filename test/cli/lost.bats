#!/usr/bin/env bats
# What `rm -f` keeps: an archive in lost/, and refs/mas/lost/ID/ in the project.
load ../helper
load code.bash

setup_more() {
    make_project
    make_trio
    make_team -t trio -n team
    x=$C/x
}

lost_refs() { git -C "$P" for-each-ref --format='%(refname)' refs/mas/ | sed "s,^refs/mas/lost/$ID/,,"; }
lost() { git -C "$P" "$1" "refs/mas/lost/$ID/$2$3"; }

# Everything of the project but the refs below refs/mas/lost and objects.
others() {
    project_state | grep -v refs/mas | grep -v ' \.git/refs$'
    git -C "$P" for-each-ref | grep -v refs/mas/lost/ || true
}

# Every kind of work at once.
do_everything() {
    git -C "$x" checkout -qb other
    change x a 3 other
    git -C "$x" checkout -q "mas/$L/x"
    echo first >>"$x/a"
    git -C "$x" stash -q
    echo second >>"$x/a"
    git -C "$x" stash -q
    change x b 4 mine
    echo staged >"$x/staged"
    git -C "$x" add staged
    echo unstaged >"$x/staged"
    echo untracked >"$x/untracked"
    echo ignored >"$x/.gitignore"
    echo ignored >"$x/ignored"
    git -C "$C/y" checkout -q --detach
    change y c 5 detached
    change z c 9 merged
    "$MAS" merge -q team z
    echo seen >"$C/view/new"
}

@test "rm -f keeps every kind of work in an archive and in the project" {
    local before file
    do_everything
    before=$(others)
    ok rm -f team
    [ -z "$stderr" ]
    file=$(sed -n 's/^its work is kept; bring it back with: mas restore //p' <<<"$output")
    [ -f "$file" ]
    [ ! -e "$ROOT/sessions/$ID" ]
    [ "$(stat -c %a "$ROOT/lost")" = 700 ]
    [ "$(others)" = "$before" ]
    [ "$(lost_refs | sed 's,/stash/.*,/stash,')" = "$(printf '%s\n' main view/work x/heads/mas/team/x x/heads/other \
        x/staged x/stash x/stash x/work y/work)" ]
    [ "$(lost show main :c | sed -n 9p)" = merged ]
    [ "$(lost show view/work :new)" = seen ]
    [ "$(lost show x/work :staged)" = unstaged ]
    [ "$(lost show x/work :untracked)" = untracked ]
    [ "$(lost show x/work :b | sed -n 4p)" = mine ]
    [ "$(lost show x/staged :staged)" = staged ]
    [ "$(lost show x/heads/other :a | sed -n 3p)" = other ]
    [ "$(lost show y/work :c | sed -n 5p)" = detached ]
    git -C "$P" for-each-ref --format='%(refname)' "refs/mas/lost/$ID/x/stash/" | while read -r ref; do
        git -C "$P" show "$ref:a" | tail -n 1
    done | sort | tr '\n' ' ' >"$T/stashes"
    [ "$(cat "$T/stashes")" = 'first second ' ]
    git -C "$P" fsck --strict --no-dangling
    git -C "$P" gc -q --prune=now
    [ "$(lost show x/work :untracked)" = untracked ]
}

@test "rm -f keeps what is in linked work trees" {
    git -C "$x" worktree add -q "$C/wt" -b w
    echo untracked >"$C/wt/untracked"
    echo staged >"$C/wt/staged"
    git -C "$C/wt" add staged
    rm "$C/wt/staged"
    git -C "$x" worktree add -q "$ROOT/sessions/$ID/unit/x/other" --detach
    (C=$ROOT/sessions/$ID/unit && change x/other a 3 detached)
    git -C "$x" worktree add -q "$C/gone" --detach
    (change gone b 4 gone)
    rm -r "$C/gone"
    git -C "$C/view" worktree add -q "$C/seen" -b s
    echo more >>"$C/seen/a"
    ok rm -f team
    [ -z "$stderr" ]
    [ "$(lost_refs)" = "$(printf '%s\n' view/worktrees/seen/work x/worktrees/{gone/work,other/work,wt/staged,wt/work})" ]
    [ "$(lost show x/worktrees/wt/work :untracked)" = untracked ]
    [ "$(lost show x/worktrees/wt/staged :staged)" = staged ]
    [ "$(lost show x/worktrees/other/work :a | sed -n 3p)" = detached ]
    [ "$(lost show x/worktrees/gone/work :b | sed -n 4p)" = gone ]
    [ "$(lost show view/worktrees/seen/work :a | tail -n 1)" = more ]
}

@test "restore brings everything back, also without the project" {
    local file
    do_everything
    git -C "$x" status --porcelain --ignored >"$T/status"
    git -C "$x" stash list >>"$T/status"
    git -C "$x" for-each-ref >>"$T/status"
    mas rm -f team
    file=$(find "$ROOT/lost" -name '*.tar.zst')
    rm -rf "$P"
    ok restore "$file"
    git -C "$x" status --porcelain --ignored >"$T/after"
    git -C "$x" stash list >>"$T/after"
    git -C "$x" for-each-ref >>"$T/after"
    diff "$T/status" "$T/after"
    [ "$(cat "$x/ignored" "$C/view/new")" = "$(printf 'ignored\nseen')" ]
    [ "$(git -C "$C/y" show HEAD:c | sed -n 5p)" = detached ]
    for tree in x y z view; do git -C "$C/$tree" fsck --strict --no-dangling; done
    whole
    fails 4 rm team
    change z a 1 again
    "$MAS" merge -q team z
}

@test "rm -f of a session without work of its own keeps nothing" {
    local before
    before=$(project_state)
    ok rm -f team
    [ ! -e "$ROOT/lost" ]
    [ "$(project_state)" = "$before" ]
}

@test "rm -f gives no ref to agents whose work has landed" {
    change x a 3 mine
    "$MAS" merge -q team x
    "$MAS" land -q team
    echo more >>"$C/y/a"
    ok rm -f team
    [ "$(lost_refs)" = y/work ]
}

@test "rm -f keeps the archive alone if the project is gone" {
    change x a 3 mine
    mv "$P" "$T/moved"
    ok rm -f team
    [[ $stderr = *"the project did not get the commits of 'team': cannot find project '$P'"* ]]
    [ -n "$(find "$ROOT/lost" -name '*.tar.zst')" ]
    [ ! -e "$ROOT/sessions/$ID" ]
}

@test "rm -f keeps the archive alone if the project cannot be written" {
    local before
    change x a 3 mine
    mkdir "$P/.git/refs/mas"
    echo in the way >"$P/.git/refs/mas/lost"
    before=$(project_state)
    ok rm -f team
    [[ $stderr = *"the project did not get the commits of 'team': "* ]]
    [ -n "$(find "$ROOT/lost" -name '*.tar.zst')" ]
    [ "$(project_state)" = "$before" ]
    [ -z "$(find "$P/.git" -name 'tmp_*' -o -name '*.lock')" ]
}

@test "rm -f saves the others if the repository of one agent is damaged" {
    change x a 3 mine
    rm "$C/y/.git/HEAD"
    ok rm -f team
    [[ $stderr = *"cannot read the repository of agent 'y'"* ]]
    [ "$(lost_refs)" = x/work ]
    [ -n "$(find "$ROOT/lost" -name '*.tar.zst')" ]
}

@test "rm -f keeps a session whose code.git or metadata is damaged, as an archive" {
    change x a 3 mine
    rm -r "$G/objects"
    ok rm -f team
    [ -n "$(find "$ROOT/lost" -name '*.tar.zst')" ]
    make_team -t trio -n second
    echo more >>"$C/x/a"
    echo damaged >"$ROOT/sessions/$ID/.session"
    rm -r "$ROOT/lost"
    ok rm -f "$ID"
    tar --zstd -xOf "$(find "$ROOT/lost" -name '*.tar.zst')" --wildcards '*code/x/a' | grep -x more
}

@test "rm -f copies into a project on another file system" {
    need_mounts
    change x a 3 mine
    mkdir "$T/other"
    # shellcheck disable=SC2016 # expanded by the other shell
    with_mounts sh -ec 'mount -t tmpfs none "$1/other"; cp -a "$2" "$1/other/project"
        mount --bind "$1/other/project" "$2"; "$3" rm -f team
        git -C "$2" rev-parse "refs/mas/lost/$4/x/work"; git -C "$2" fsck --strict --no-dangling' \
        sh "$T" "$P" "$MAS" "$ID"
}

@test "rm -f fails and keeps the session if there is no room for the archive" {
    need_mounts
    head -c 3000000 /dev/urandom >"$x/large"
    mkdir "$ROOT/lost"
    # shellcheck disable=SC2016 # expanded by the other shell
    run --separate-stderr with_mounts sh -c 'mount -t tmpfs -o size=1m none "$1/lost"; "$2" rm -f team; rc=$?
        find "$1/lost" -type f; exit $rc' sh "$ROOT" "$MAS"
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [[ $stderr = *"cannot keep the work of session 'team'"*'No space left on device'* ]]
    [ -f "$x/large" ]
    whole
    ok rm -f team
}

@test "an archive of a session works as another one, under another name, and in another root" {
    local file=$T/one.tar.zst other
    change x a 3 mine
    "$MAS" archive -q -o "$file" team
    other=$("$MAS" restore -q --new-id --name second "$file")
    for tree in x y z view; do git -C "$ROOT/sessions/$other/code/$tree" status --porcelain; done
    [ "$(git -C "$ROOT/sessions/$other/code/view" rev-parse --git-common-dir |
        xargs realpath)" = "$(realpath "$ROOT/sessions/$other/code.git")" ]
    "$MAS" merge -q second x
    [ "$(sed -n 3p "$ROOT/sessions/$other/code/view/a")" = mine ]
    [ "$(sed -n 3p "$C/view/a")" = 'a 3' ]
    "$MAS" land -q second
    "$MAS" rm -q second
    removed=$(git -C "$P" show HEAD:a | sed -n 3p)
    [ "$removed" = mine ]
}

@test "a root that was moved keeps its repositories, and git does not drop the view" {
    change x a 3 mine
    mv "$ROOT" "$T/moved"
    ROOT=$T/moved MAS_ROOT=$T/moved
    C=$ROOT/sessions/$ID/code G=$ROOT/sessions/$ID/code.git
    git -C "$C/view" status --porcelain
    git -C "$C/view" worktree prune
    git -C "$C/view" gc -q
    "$MAS" merge -q team x
    [ "$(sed -n 3p "$C/view/a")" = mine ]
    "$MAS" land -q team
    ok rm team
}
