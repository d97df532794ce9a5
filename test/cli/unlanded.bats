#!/usr/bin/env bats
# No work is lost: what rm, clean, retention rules and `archive --rm` refuse to remove.
load ../helper
load code.bash

setup_more() {
    make_project
    make_trio
    make_team -t trio -n team
    x=$C/x
}

# rm refuses, with each of the words in what it says, and the session stays as it is.
refuses() {
    local word
    mas rm team
    [ "$status" -eq 4 ] || { echo "status $status: $stderr"; return 1; }
    for word in "$@"; do
        [[ $stderr = *"$word"* ]] || { echo "not said: $word in: $stderr"; return 1; }
    done
    [ -d "$ROOT/sessions/$ID/code.git" ]
}

removes() {
    local before
    before=$(project_state)
    mas rm team
    [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
    [ ! -e "$ROOT/sessions/$ID" ]
    [ ! -e "$ROOT/lost" ]
    [ "$(project_state)" = "$before" ]
}

commit() { git -C "$1" add -A && git -C "$1" commit -qm "${2-work}"; }

@test "rm removes a session in which nothing was done" { removes; }

@test "rm refuses a modified file" {
    echo more >>"$x/a"
    refuses 'x: 1 file not committed: a'
    git -C "$x" checkout -q a
    removes
}

@test "rm refuses a deleted file" {
    rm "$x/a"
    refuses 'x: 1 file not committed: a'
}

@test "rm refuses a change of the mode of a file" {
    chmod +x "$x/b"
    refuses 'x: 1 file not committed: b'
}

@test "rm names a few of many files" {
    touch "$x"/new{1..5}
    refuses 'x: 5 files not committed: new1, new2, new3, ...'
}

@test "rm refuses a staged file" {
    echo more >>"$x/a"
    git -C "$x" add a
    refuses 'x: 1 file not committed: a'
}

@test "rm refuses what is staged and reverted in the work tree" {
    echo more >>"$x/a"
    git -C "$x" add a
    git -C "$x" show HEAD:a >"$x/a"
    refuses 'x: 1 file staged, but neither committed nor in the work tree: a'
    git -C "$x" reset -q
    removes
}

@test "rm refuses a new file that is staged and removed again" {
    echo new >"$x/new"
    git -C "$x" add new
    rm "$x/new"
    refuses '1 file staged, but neither committed nor in the work tree: new'
}

@test "rm refuses an untracked file" {
    mkdir "$x/dir"
    echo new >"$x/dir/a file"
    refuses 'x: 1 file not committed: dir/a file'
}

@test "rm refuses a file that git ignores" {
    echo '*.o' >"$x/.gitignore"
    commit "$x" ignore
    "$MAS" merge -q team x
    "$MAS" land -q team
    echo object >"$x/a.o"
    refuses 'x: 1 file ignored by git: a.o'
    rm "$x/a.o"
    removes
}

@test "rm refuses a file that the agent's own exclude file hides" {
    echo secret >>"$x/.git/info/exclude" || { mkdir "$x/.git/info"; echo secret >"$x/.git/info/exclude"; }
    git -C "$x" config core.excludesFile "$x/.git/info/exclude"
    echo secret >"$x/secret"
    refuses 'x: 1 file not committed: secret'
}

@test "rm refuses a change that the agent's index hides" {
    git -C "$x" update-index --assume-unchanged a
    git -C "$x" update-index --skip-worktree b
    echo more >>"$x/a"
    echo more >>"$x/b"
    refuses 'x: 2 files not committed: a, b'
}

@test "rm refuses a file that changed within a second and kept size and time" {
    local time before
    "$MAS" diff team >"$T/diff" || true
    time=$(stat -c %y "$x/a")
    before=$(cat "$x/a")
    for _ in 1 2 3; do
        run "$MAS" diff team
        sed -i 's/a 7/a 8/' "$x/a"
        touch -d "$time" "$x/a"
        refuses 'x: 1 file not committed: a'
        echo "$before" >"$x/a"
        touch -d "$time" "$x/a"
    done
}

@test "rm refuses a repository inside the work tree" {
    git init -q "$x/inner"
    echo new >"$x/inner/file"
    refuses "x: "
    git -C "$x/inner" add file
    git -C "$x/inner" commit -qm inner
    refuses 'x: 1 file not committed: inner'
}

@test "rm refuses a rebase in progress" {
    change x a 3 mine
    git -C "$x" branch other HEAD~1
    git -C "$x" checkout -q other
    change x a 3 theirs
    run git -C "$x" rebase "mas/$L/x"
    refuses 'x: a rebase is in progress'
}

@test "rm refuses a merge in progress" {
    git -C "$x" branch other
    change x a 3 mine
    git -C "$x" checkout -q other
    change x a 3 theirs
    run git -C "$x" merge "mas/$L/x"
    refuses 'x: a merge is in progress'
}

@test "rm refuses a cherry-pick and a revert in progress" {
    change x a 3 mine
    git -C "$x" branch other HEAD~1
    git -C "$x" checkout -q other
    change x a 3 theirs
    run git -C "$x" cherry-pick "mas/$L/x"
    refuses 'x: a cherry-pick is in progress'
    git -C "$x" cherry-pick --abort
    change x a 3 again
    run git -C "$x" revert HEAD~1
    refuses 'x: a revert is in progress'
}

@test "rm refuses a bisect in progress" {
    git -C "$x" bisect start -q
    refuses 'x: a bisect is in progress'
}

@test "rm refuses a stash, and counts several" {
    echo more >>"$x/a"
    git -C "$x" stash -q
    refuses 'x: a stash'
    echo another >>"$x/a"
    git -C "$x" stash -q
    refuses 'x: 2 stashes'
    git -C "$x" pack-refs --all
    refuses 'x: 2 stashes'
    git -C "$x" stash clear
    removes
}

@test "rm refuses commits of a detached HEAD" {
    git -C "$x" checkout -q --detach
    change x a 3 mine
    refuses 'x: 1 commit of a detached HEAD is not landed'
    git -C "$x" checkout -q "mas/$L/x"
    removes # as with git, only what a ref or HEAD names is work
}

@test "rm refuses commits of other branches and tags" {
    git -C "$x" checkout -qb other
    change x a 3 mine
    change x a 4 mine
    git -C "$x" checkout -q "mas/$L/x"
    refuses 'x: 2 commits of other are not landed'
    git -C "$x" pack-refs --all
    refuses 'x: 2 commits of other are not landed'
    git -C "$x" tag -a -m kept kept other
    git -C "$x" branch -qD other
    refuses 'x: 2 commits of refs/tags/kept are not landed'
    git -C "$x" tag -d kept
    removes
}

@test "rm refuses commits of the agent's branch, and after a merge those of the team" {
    change x a 3 mine
    refuses "x: 1 commit of mas/$L/x is not landed"
    [[ $stderr == *'bring it home with: mas merge team all && mas land team; or '* ]]
    "$MAS" merge -q team all
    refuses "the team: 1 commit of mas/$L/main is not landed"
    [[ $stderr != *'x: '* ]]
    "$MAS" land -q team
    removes
}

@test "rm names each reason of each agent" {
    change x a 3 mine
    echo more >>"$C/y/a"
    git -C "$C/z" bisect start -q
    echo more >>"$C/view/c"
    refuses "x: 1 commit of mas/$L/x is not landed" 'y: 1 file not committed: a' \
        'z: a bisect is in progress' 'the view: 1 file changed: c'
    [[ $stderr = *'mas rm -f team'* ]]
}

@test "rm refuses changed, new, staged and ignored files of the view, and commits made there" {
    local view=$C/view head
    echo more >>"$view/a"
    refuses 'the view: 1 file changed: a'
    git -C "$view" checkout -q a
    echo new >"$view/new"
    refuses 'the view: 1 file not in the project: new'
    git -C "$view" add new
    rm "$view/new"
    refuses 'the view: 1 file staged: new'
    git -C "$view" reset -q
    head=$(git -C "$view" rev-parse HEAD)
    echo more >>"$view/a"
    git -C "$view" commit -qam mine
    refuses 'the view: 1 commit of a detached HEAD is not landed'
    git -C "$view" checkout -qb mine
    refuses 'the view: 1 commit of mine is not landed'
    git -C "$view" checkout -q "$head"
    refuses 'the view: 1 commit of mine is not landed'
    git -C "$view" branch -qD mine
    echo more >>"$view/a"
    git -C "$view" stash -q
    refuses 'the view: a stash'
    git -C "$view" stash clear
    removes
}

@test "rm sees a file of the view that kept size and time" {
    local time
    time=$(stat -c %y "$C/view/a")
    sed -i 's/a 7/a 8/' "$C/view/a"
    touch -d "$time" "$C/view/a"
    refuses 'the view: 1 file changed: a'
}

@test "rm refuses while a process works in a work tree" {
    local pid
    (cd "$x" && exec sleep 1000 3>&-) &
    pid=$!
    eventually prints sleep cat "/proc/$pid/comm"
    refuses "x: process $pid (sleep) works there"
    kill "$pid"
    wait "$pid" || true
    (cd "$C/view" && exec sleep 1000 3>&-) &
    pid=$!
    eventually prints sleep cat "/proc/$pid/comm"
    refuses "the view: process $pid (sleep) works there"
    kill "$pid"
    wait "$pid" || true
    removes
}

@test "rm refuses what it cannot read" {
    mv "$x/.git" "$T/git"
    refuses "x: cannot read the repository of agent 'x'"
    echo "gitdir: $T/git" >"$x/.git"
    refuses "x: cannot read the repository of agent 'x'"
    rm "$x/.git"
    mv "$T/git" "$x/.git"
    echo "$P/.git/objects" >>"$x/.git/objects/info/alternates"
    refuses 'it borrows objects from elsewhere'
    echo ../../../../code.git/objects >"$x/.git/objects/info/alternates"
    cp "$x/.git/index" "$T/index"
    echo broken >"$x/.git/index"
    refuses 'x: git diff-index'
    mv "$T/index" "$x/.git/index"
    removes
}

@test "rm refuses what a damaged ref, wherever it is, or refs too deep may hide" {
    local refs=$x/.git/refs deep=refs ref
    mkdir "$refs/mine"
    for ref in mine/1 mine/2 mine/3; do git -C "$x" rev-parse HEAD >"$refs/$ref"; done
    for ref in mine/1 mine/2 mine/3 heads/other; do
        echo damaged >"$refs/$ref"
        refuses "x: cannot read the repository of agent 'x': a ref names no object"
        git -C "$x" rev-parse HEAD >"$refs/$ref"
    done
    for _ in {1..32}; do deep+=/d; done
    mkdir -p "$x/.git/$deep/d"
    refuses "x: cannot read the repository of agent 'x': a directory of its refs cannot be read"
    rmdir "$x/.git/$deep/d"
    change x a 1 deep
    git -C "$x" rev-parse HEAD >"$x/.git/$deep/ref"
    git -C "$x" reset -q --hard HEAD~1
    refuses 'x: 1 commit'
    rm "$x/.git/$deep/ref"
    removes
}

@test "rm refuses a session whose code.git, team or git itself is missing" {
    local dir=$ROOT/sessions/$ID
    mv "$dir/code.git" "$T/code.git"
    mas rm team
    [ "$status" -ne 0 ]
    [ -d "$x" ]
    mv "$T/code.git" "$dir/code.git"
    mv "$dir/config.json" "$T/" 2>/dev/null || mv "$dir/.config" "$T/config.json"
    mas rm team
    [ "$status" -ne 0 ]
    [[ $stderr = *"cannot tell whether session 'team' has work"* ]]
    [ -d "$x" ]
}

# ---- what is landed

# Two commits of x and one of y, merged.
do_work() {
    change x a 3 one
    change x b 4 two
    change y c 5 three
    "$MAS" merge -q team x y
}

# The project's branch goes on, also over the lines that were changed.
move_on() {
    git -C "$P" checkout -q main
    for name in a b c; do
        sed -i '3,5s/$/ and on/' "$P/$name"
        git -C "$P" commit -qam "On $name"
    done
}

@test "rm removes what was landed" {
    do_work
    "$MAS" land -q team
    removes
}

@test "rm removes what was landed by a merge, also when the branch has moved on" {
    do_work
    sed -i '20s/$/ other/' "$P/c"
    git -C "$P" commit -qam other
    "$MAS" land -q team --merge
    move_on
    removes
}

@test "rm removes what was landed as a squash of several commits" {
    do_work
    "$MAS" land -q team --squash
    [ "$(git -C "$P" rev-list --count HEAD)" = 2 ]
    removes
}

@test "rm removes what was squashed when the branch has moved on" {
    do_work
    "$MAS" land -q team --squash
    move_on
    removes
}

@test "rm removes what was squashed twice when the branch has moved on" {
    do_work
    "$MAS" land -q team --squash
    sed -i '6s/$/ other/' "$P/a"
    git -C "$P" commit -qam other
    change x a 9 nine
    "$MAS" merge -q team x
    "$MAS" land -q team --squash
    move_on
    removes
}

@test "rm removes what a person squashed" {
    do_work
    git -C "$P" fetch -q "$G" "refs/heads/mas/$L/main"
    git -C "$P" merge -q --squash FETCH_HEAD
    git -C "$P" commit -qm squashed
    move_on
    removes
}

@test "rm removes what was squashed upstream once it is fetched, to whatever branch" {
    git clone -q --bare "$P" "$T/upstream.git"
    git -C "$P" remote add origin "$T/upstream.git"
    change x a 1 one
    change x a 2 two
    "$MAS" merge -q team x
    git clone -q "$T/upstream.git" "$T/other"
    git -C "$T/other" checkout -q -b next
    git -C "$T/other" fetch -q "$G" "mas/$L/main"
    git -C "$T/other" merge -q --squash FETCH_HEAD
    git -C "$T/other" commit -qm squashed
    sed -i '1s/.*/later/' "$T/other/a" && git -C "$T/other" commit -qam later
    git -C "$T/other" push -q origin next
    refuses '2 commits'
    git -C "$P" fetch -q
    removes
}

@test "rm removes what was cherry-picked" {
    change x a 3 one
    change x b 4 two
    echo other >"$P/other"
    commit "$P" other
    git -C "$P" fetch -q "$x" "mas/$L/x"
    git -C "$P" cherry-pick FETCH_HEAD~2..FETCH_HEAD
    move_on
    removes
}

@test "rm removes what was rebased onto the branch" {
    do_work
    echo other >"$P/other"
    commit "$P" other
    git -C "$P" fetch -q "$G" "refs/heads/mas/$L/main:work"
    git -C "$P" rebase -q main work
    git -C "$P" checkout -q main
    git -C "$P" merge -q --ff-only work
    git -C "$P" branch -qD work
    move_on
    removes
}

@test "rm refuses if only some commits were cherry-picked" {
    change x a 3 one
    change x b 4 two
    git -C "$P" fetch -q "$x" "mas/$L/x"
    echo other >"$P/other"
    commit "$P" other
    git -C "$P" cherry-pick FETCH_HEAD~1
    refuses "x: 2 commits of mas/$L/x are not landed"
}

@test "rm refuses what only the merge of an agent holds" {
    change x a 3 one
    git -C "$x" checkout -qb other HEAD~1
    change x b 4 two
    git -C "$x" checkout -q "mas/$L/x"
    git -C "$x" merge -q --no-commit other
    echo more >>"$x/c" # a change that stands in no other commit
    git -C "$x" add c
    git -C "$x" commit -qm 'A merge with a change of its own'
    echo other >"$P/other"
    commit "$P" other
    git -C "$P" fetch -q "$x" "mas/$L/x"
    git -C "$P" cherry-pick FETCH_HEAD^1 FETCH_HEAD^2
    refuses "x: "
}

@test "rm refuses what was landed and then thrown away" {
    do_work
    "$MAS" land -q team --squash
    git -C "$P" reset -q --hard HEAD~1
    refuses 'the team: '
}

@test "rm refuses commits if the project is gone, and says so" {
    do_work
    mv "$P" "$T/moved"
    refuses "the team: 4 commits of mas/$L/main are not landed" \
        "the project: cannot use project '$P'"
}

@test "rm removes a session in which nothing was done without its project" {
    mv "$P" "$T/moved"
    ok rm team
    [ ! -e "$ROOT/sessions/$ID" ]
}

# ---- the others

@test "clean, retention rules and archive --rm refuse as rm does" {
    change x a 3 mine
    fails 4 archive --rm team
    [[ $stderr = *"x: 1 commit of mas/$L/x is not landed"* ]]
    [ -z "$(find "$ROOT/archive" -type f 2>/dev/null)" ]
    mas clean --older-than 0s
    [ "$status" -ne 0 ]
    [[ $stderr$output = *"x: 1 commit of mas/$L/x is not landed"* ]]
    mas clean --archive --older-than 0s
    [ "$status" -ne 0 ]
    [ -d "$x" ]
    git -C "$P" fetch -q "$x" "mas/$L/x"
    git -C "$P" merge -q FETCH_HEAD
    ok archive --rm team
    [ ! -e "$ROOT/sessions/$ID" ]
}

@test "a session without a project needs no git" {
    local id
    mkdir "$T/bin"
    for program in tmux sh env; do ln -s "$(command -v $program)" "$T/bin/"; done
    id=$("$MAS" new -q -t solo --no-start)
    run --separate-stderr env PATH="$T/bin" "$MAS" rm "$id"
    [ "$status" -eq 0 ]
    id=$("$MAS" new -q -t solo --no-start)
    mkdir "$ROOT/sessions/$id/code" # of the user's own
    run --separate-stderr env PATH="$T/bin" "$MAS" archive --rm "$id"
    [ "$status" -eq 0 ]
    run --separate-stderr env PATH="$T/bin" "$MAS" rm team
    [ "$status" -eq 1 ]
    [[ $stderr = *"cannot run 'git'"* ]]
    [ -d "$x" ]
}

# held SCRIPT: mas runs a git that first runs this line of sh where it has the objects of agent x.
held() {
    local real
    [ "$("${MAS%/*}/mas-wall" --probe | sed -n 's/^landlock=//p')" -gt 0 ] || skip 'the kernel has no Landlock'
    real=$(PATH=${PATH#"$T/git/bin:"} command -v git)
    mkdir -p "$T/git/bin" "$T/outside"
    echo CW-PRIVATE >"$T/outside/file"
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\ncase $GIT_ALTERNATE_OBJECT_DIRECTORIES in *code/x/*)\n%s ;;\nesac 2>/dev/null\nexec %s "$@"\n' \
        "$1" "$real" >"$T/git/bin/git"
    chmod +x "$T/git/bin/git"
    PATH=$T/git/bin:${PATH#"$T/git/bin:"}
}

@test "git reaches nothing else while it looks for what of an agent is not landed" {
    local asked
    # so the first commit is the same in the project, and not of another second
    export GIT_COMMITTER_DATE='2030-01-01T00:00:00Z'
    echo one >>"$x/a"
    commit "$x"
    echo two >>"$x/a"
    commit "$x"
    git -C "$P" fetch -q "$x" "mas/$L/x"
    git -C "$P" cherry-pick FETCH_HEAD~1 FETCH_HEAD
    git -C "$P" commit -q --amend -m reworded
    echo three >>"$x/a"
    commit "$x"
    # shellcheck disable=SC2016 # for the script
    held '{ echo "$1"; cat "'"$T"'/outside/file"; } >>"$GIT_DIR/asked"; true >"'"$T"'/outside/planted"'
    refuses 'x: 2 commits of'
    asked=$(sort -u "$G/asked")
    echo "$asked"
    [[ $asked == *cherry*merge-base*merge-tree*rev-list* ]]
    [[ $asked != *CW-PRIVATE* && ! -e $T/outside/planted ]]
}

@test "git reaches nothing else while rm -f saves the work of an agent" {
    local first=$x
    make_team -t trio -n other
    x=$C/x
    for x in "$first" "$x"; do
        echo one >>"$x/a"
        commit "$x"
        echo two >>"$x/a"
    done
    # shellcheck disable=SC2016 # for the script
    held '[ "$1" != pack-objects ] || exit 99'
    mas rm -f team
    [[ $stderr == *'the project did not get the commits'*'exit code 99'* ]]
    held "! cat '$T/outside/file' >/dev/null || exit 99; ! true >'$T/outside/planted' || exit 99"
    mas rm -f other
    echo "$stderr"
    [[ $status -eq 0 && $stderr != *'did not get'* ]]
    git -C "$P" for-each-ref | grep -F '/x/work'
}

@test "work of a project that borrows its objects is found, landed or not" {
    git clone -q --shared "$P" "$T/borrower"
    git clone -q --shared "$T/borrower" "$T/second borrower"
    P="$T/second borrower"
    make_team -t trio -n other
    x=$C/x
    echo one >>"$x/a"
    commit "$x"
    fails 4 rm other
    [[ $stderr == *'x: 1 commit of'* ]]
    git -C "$P" pull -q "$x" "mas/$L/x"
    git -C "$P" gc -q
    "$MAS" rm other
    [ ! -e "$ROOT/sessions/$ID" ]
}

# ---- linked work trees

# The agent x makes the linked work tree $1; further arguments go to `git worktree add`.
link_tree() { git -C "$x" worktree add -q "$@"; }

@test "rm refuses what was done in linked work trees, wherever they are" {
    local w=$ROOT/sessions/$ID
    link_tree "$C/wt" -b w
    link_tree "$w/unit/x/deep/er" -b v
    link_tree "$T/outside" -b u
    echo un >"$C/wt/un"
    echo un >"$w/unit/x/deep/er/un"
    echo '*.o' >"$T/outside/.gitignore"
    echo un >"$T/outside/a.o"
    refuses "x, work tree 'code/wt': 1 file not committed: un" \
        "x, work tree 'unit/x/deep/er': 1 file not committed: un" \
        "x, work tree '$T/outside': 1 file not committed: .gitignore" \
        "x, work tree '$T/outside': 1 file ignored by git: a.o"
    rm "$C/wt/un" "$w/unit/x/deep/er/un" "$T/outside/.gitignore" "$T/outside/a.o"
    link_tree "$x/in" --detach
    echo more >>"$x/in/a"
    refuses "x, work tree 'code/x/in': 1 file not committed: a"
    git -C "$x" worktree remove --force in
    echo un >"$C/wt/un"
    mas clean --older-than 0s
    [ "$status" -ne 0 ]
    [[ $stderr == *"x, work tree 'code/wt': 1 file not committed: un"* ]]
    rm "$C/wt/un"
    removes
}

@test "rm refuses commits, staged files and operations of linked work trees" {
    link_tree "$C/wt" --detach
    echo one >"$C/wt/one"
    commit "$C/wt"
    refuses "x, work tree 'code/wt': 1 commit of a detached HEAD is not landed"
    git -C "$C/wt" update-ref refs/worktree/kept HEAD
    git -C "$C/wt" checkout -q --detach "mas/$L/x"
    refuses "x, work tree 'code/wt': 1 commit of refs/worktree/kept is not landed"
    git -C "$C/wt" update-ref -d refs/worktree/kept
    git -C "$C/wt" bisect start >/dev/null
    refuses "x, work tree 'code/wt': a bisect is in progress"
    git -C "$C/wt" bisect reset >/dev/null
    echo more >>"$C/wt/a"
    git -C "$C/wt" add a
    git -C "$C/wt" show HEAD:a >"$C/wt/a"
    refuses "x, work tree 'code/wt': 1 file staged, but neither committed nor in the work tree: a"
    rm -r "$C/wt" # what is staged is in the repository
    refuses "x, work tree 'wt': 1 file staged"
    git -C "$x" worktree prune
    removes
}

@test "rm refuses what a rebase has put away" {
    change x a 1 one
    "$MAS" merge -q team x
    "$MAS" land -q team
    echo more >>"$x/b"
    GIT_SEQUENCE_EDITOR='echo break >' git -C "$x" rebase -q -i --autostash HEAD^ 2>/dev/null
    refuses 'x: a stash'
}

@test "rm refuses a linked work tree that nobody can look at, and names it" {
    link_tree "$C/wt" -b w
    mv "$x/.git/worktrees/wt/HEAD" "$T/HEAD"
    refuses "x, work tree 'code/wt': cannot read x, work tree 'code/wt': HEAD cannot be read"
    mkfifo "$x/.git/worktrees/wt/HEAD"
    refuses "x, work tree 'code/wt'"
    rm "$x/.git/worktrees/wt/HEAD"
    mv "$T/HEAD" "$x/.git/worktrees/wt/HEAD"
    mv "$C/wt/.git" "$T/link"
    refuses "x, work tree 'code/wt': its .git cannot be read"
    mv "$T/link" "$C/wt/.git"
    mv "$x/.git/worktrees/wt" "$T/wt"
    refuses "x, work tree 'code/wt': the repository does not know it any more"
    mv "$T/wt" "$x/.git/worktrees/wt"
    removes
}

@test "rm finds linked work trees of a root that was moved, and of the view" {
    link_tree "$C/wt" -b w
    echo un >"$C/wt/un"
    git -C "$C/view" worktree add -q "$C/seen" -b s
    echo un >"$C/seen/un"
    mv "$ROOT" "$T/moved"
    ROOT=$T/moved MAS_ROOT=$T/moved C=$T/moved/sessions/$ID/code
    export MAS_ROOT
    refuses "x, work tree 'code/wt': 1 file not committed: un" "the view, work tree 'code/seen': 1 file not committed: un"
}

@test "on a terminal, rm shows how many repositories it has looked at" {
    mkdir "$T/bin"
    # shellcheck disable=SC2016 # expanded by the other shell
    printf '#!/bin/sh\ncase "$*" in *--others*) sleep 0.5 ;; esac\nexec %s "$@"\n' "$(command -v git)" >"$T/bin/git"
    chmod 755 "$T/bin/git"
    PATH=$T/bin:$PATH script -qec "'$MAS' rm $ID" "$T/shown" >/dev/null
    grep -F 'looking for work that would be lost: 1 of 3 repositories' "$T/shown"
    grep -F 'looking for work that would be lost: 2 of 3 repositories' "$T/shown"
    grep -F 'team removed' "$T/shown"
}

@test "rm asks git five times for each agent" {
    count_git rm team
    echo "$count"
    [ "$count" -le $((5 * 3 + 28)) ] # the latter: of the project, the team and the view
}
