#!/usr/bin/env bats
# `mas try` puts an agent's files into the person's checkout, and `mas try --off` puts back every byte.
load ../helper
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/code.bash"

setup_more() {
    make_project
    make_trio
}

# All that is in the checkout, and its index: names, modes, links and contents.
all_of() {
    (cd "${1:-$P}" && find . -name .git -prune -o -printf '%P %y %m %l\n' | sort
        find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 -r sha256sum)
    sha256sum <"$(git -C "${1:-$P}" rev-parse --absolute-git-dir)/index"
}

# Remembers the checkout, and checks that it is so again and that nothing is left of a try.
remember() { BEFORE=$(all_of "${1:-$P}"); }
restored() {
    local top=${1:-$P} git
    git=$(git -C "$top" rev-parse --absolute-git-dir)
    [ "$(all_of "$top")" = "$BEFORE" ] || { diff <(echo "$BEFORE") <(all_of "$top"); return 1; }
    [ ! -e "$git/mas-try" ] && [ ! -e "$git/index.lock" ] && [ ! -e "$git/mas-kept" ]
}

# The checkout has agent $1's files, but for what is listed in the rest of the arguments.
shows() {
    local agent=$1 name
    shift
    for name in $(cd "$C/$agent" && git ls-files -co --exclude-standard); do
        case " $* " in *" $name "*) continue ;; esac
        [ "$(cat "$C/$agent/$name" 2>/dev/null)" = "$(cat "$P/$name" 2>/dev/null)" ] || { echo "not as the agent's: $name"; return 1; }
    done
}

# An agent's work of each kind: committed, not committed, new, in new directories, removed, executable, a link,
# a directory in place of a file and a file in place of a directory.
work_of() {
    change "$1" a 1 one
    (
        cd "$C/$1" || exit
        echo two >>b
        git rm -q c
        mkdir -p new/deep && echo new >new/deep/file && ln -s deep/file new/link
        echo '#!/bin/sh' >run.sh && chmod +x run.sh
        rm -r dir && echo file >dir
        rm f && mkdir f && echo inside >f/inside
    )
}

make_both() {
    mkdir "$P/dir" && echo 1 >"$P/dir/one" && echo 2 >"$P/dir/two" && echo f >"$P/f"
    git -C "$P" add . && git -C "$P" commit -qm more
    make_team -t trio -n team
}

@test "all that an agent has, committed or not, is in the checkout, and taken out again to the byte" {
    make_both
    work_of x
    remember
    index=$(stat -c %i "$P/a")
    ok try team x
    [ "$output" = "x: 7 files, and 4 gone, in $P" ]
    shows x
    [ ! -e "$P/c" ]
    [ -x "$P/run.sh" ]
    [ "$(readlink "$P/new/link")" = deep/file ]
    [ -f "$P/dir" ]
    [ "$(cat "$P/f/inside")" = inside ]
    [ -z "$(git -C "$P" log --oneline "HEAD..mas/$L/x" 2>/dev/null)" ]
    ok try
    [[ ${lines[1]} == "team"*"x"*"$P" ]]
    ok try --json
    [ "$(echo "$output" | jq -r '.tried[0] | .agent + .dir + (.half | tostring)')" = "x${P}false" ]
    cd "$P/new"
    ok try --off
    [ "$output" = "$P is as it was before agent 'x'" ]
    cd "$T"
    restored
    [ "$(stat -c %i "$P/a")" = "$index" ]
    [ -z "$(git -C "$P" status --porcelain)" ]
    ok try
    [ -z "$output" ]
    ok try --off
    whole
}

@test "what did not change is not touched" {
    make_both
    work_of x
    before=$(stat -c '%i %Y %Z' "$P/dir/.." "$P/.git" >/dev/null; stat -c '%n %i %y %z' "$P/a" "$P/b")
    echo same >"$P/same" && echo same >"$C/x/same"
    git -C "$C/x" checkout -q -- b
    was=$(stat -c '%i %y %z' "$P/b" "$P/same")
    ok try team x
    [ "$(stat -c '%i %y %z' "$P/b" "$P/same")" = "$was" ]
    ok try --off
    [ "$(stat -c '%i %y %z' "$P/b" "$P/same")" = "$was" ]
}

@test "what the person has not committed is kept: dirty, staged, marked, untracked and ignored files" {
    make_both
    work_of x
    printf 'ign\n' >"$P/.gitignore"
    echo mine >>"$P/a"                                  # dirty, and the agent has it otherwise
    echo staged >"$P/b" && git -C "$P" add b && echo more >>"$P/b"
    echo kept >"$P/local" && git -C "$P" add -N local   # intent to add, not the agent's
    echo mine >"$P/new"                                 # untracked, where directories are to be
    echo ignored >"$P/ign" && echo theirs >"$C/x/ign"   # ignored here, in the way
    git -C "$P" update-index --skip-worktree c && echo skip >>"$P/c"
    echo untracked >"$P/run.sh"
    mkfifo "$P/dir/pipe"
    remember
    ok try team x
    shows x
    [ ! -e "$P/c" ]
    [ "$(cat "$P/local")" = kept ]
    git -C "$P" status >/dev/null # refreshes the index
    ok try --off team
    restored
    [ "$(git -C "$P" ls-files -v c)" = 'S c' ]
}

@test "a skipped file that the agent has as it is committed stays" {
    make_both
    change x a 1 one
    git -C "$P" update-index --skip-worktree b && echo local >>"$P/b"
    remember
    ok try team x
    [ "$(tail -n 1 "$P/b")" = local ]
    ok try --off
    restored
}

@test "settings are held back and listed, links that lead out are refused" {
    make_both
    change x a 1 one
    (
        cd "$C/x" || exit
        mkdir .vscode .idea .claude sub .github
        for name in .envrc .vscode/tasks.json .idea/a .claude/settings.json .mcp.json sub/.gitattributes .github/w \
            sub/.EnvRC CLAUDE.md sub/fine; do echo x >"$name"; done
    )
    remember
    ok try --json team x
    [ "$(echo "$output" | jq -r '.held[]' | sort | xargs)" = \
        '.claude/settings.json .envrc .github/w .idea/a .mcp.json .vscode/tasks.json CLAUDE.md sub/.EnvRC sub/.gitattributes' ]
    [ -e "$P/sub/fine" ]
    run find "$P" -name '.[a-z]*' -not -name .git -not -path '*/.git/*'
    [ -z "$output" ]
    ok try --off
    restored
    for target in /etc/passwd ../out sub/../../out ../../x .git/hooks/pre-commit sub/.GIT/config; do
        ln -sfn "$target" "$C/x/link"
        fails 4 try team x
        [[ $stderr == "mas: cannot try agent 'x': its link link leads out of its tree, or into .git"* ]]
        restored
    done
    ln -sfn sub/fine "$C/x/link"
    ok try team x
    [ "$(cat "$P/link")" = x ]
}

@test "hooks and repositories of the agent stay out, wherever they are" {
    make_both
    mkdir -p "$P/fixture/refs" && echo 'ref: refs/heads/main' >"$P/fixture/HEAD"
    (
        cd "$C/x" || exit
        mkdir -p tools/hooks lib/objects lib/refs fixture/hooks head
        for name in tools/hooks/pre-commit lib/HEAD lib/objects/x fixture/config fixture/hooks/post-x \
            lefthook.toml head/fine tools/fine; do echo x >"$name"; done
    )
    for dir in tools/hooks ./tools/hooks/ "$P/tools/hooks"; do
        git -C "$P" config core.hooksPath "$dir"
        ok try --json team x
        [ "$(echo "$output" | jq -r '.held[]' | sort | xargs)" = \
            'fixture/config fixture/hooks/post-x lefthook.toml lib/HEAD tools/hooks/pre-commit' ]
        [ -e "$P/tools/fine" ]
        [ -e "$P/head/fine" ]
        ok try --off
    done
    git -C "$P" config core.hooksPath /nowhere
    ok try team x
    [ -e "$P/tools/hooks/pre-commit" ]
}

@test "names that begin with white space come back as they are" {
    local name
    make_both
    printf mine >"$P/keep.me"
    printf 'mine, too' >>"$P/a"
    change x b 1 one
    for name in ' a' $'\ta' $'\na' ' ' ' keep.me' ' sub/ x'; do
        mkdir -p "$C/x/$(dirname "$name")"
        printf mine >"$C/x/$name"
    done
    remember
    ok try team x
    [ "$(cat "$P/ keep.me")" = mine ]
    ok try --off
    restored
}

@test "no link of the checkout is followed" {
    make_both
    mkdir "$T/outside" "$C/x/d" && echo theirs >"$C/x/d/file" && echo mine >"$T/outside/file"
    ln -s "$T/outside" "$P/d"
    remember
    ok try team x
    [ "$(cat "$P/d/file")" = theirs ]
    [ ! -L "$P/d" ]
    [ "$(cat "$T/outside/file")" = mine ]
    # the person puts a link there meanwhile
    mv "$P/d" "$T/moved" && ln -s "$T/outside" "$P/d"
    ok try --off
    [ "$(cat "$T/outside/file")" = mine ]
    [ "$(readlink "$P/d")" = "$T/outside" ]
}

@test "a repository that names a work tree elsewhere moves nothing there" {
    make_both
    change x a 1 one
    echo dirty >>"$P/b" && echo b >"$C/x/b"
    remember
    ok try team x
    # an agent's directory says that it belongs to the person's repository
    mkdir "$C/x/sub" && echo "gitdir: $P/.git" >"$C/x/sub/.git"
    cd "$C/x/sub"
    fails 4 try --off
    [[ $stderr == *'its work tree is not that of'* ]]
    [ "$(ls -A)" = .git ]
    # and one that its work tree is the person's
    cp -r "$P/.git/mas-try" "$C/x/.git/mas-try"
    git -C "$C/x" config core.worktree "$P"
    cd "$C/x"
    fails 4 try --off
    git -C "$C/x" config --unset core.worktree
    # moved, the checkout is still the one
    mv "$P" "$T/moved"
    fails 3 try --off team
    [ "$stderr" = "mas: cannot take out what is tried in '$P': it is not there"$'\n'"if it was moved, run where it is now: mas try --off" ]
    cd "$T/moved"
    ok try --off
    restored "$T/moved"
    ok try --off team
    [ "$stderr" = 'nothing is tried' ]
}

@test "what the person changed while it was tried is kept and named" {
    make_both
    work_of x
    remember
    ok try team x
    echo edited >>"$P/a"
    echo edited >"$P/new/deep/file"
    rm "$P/run.sh"
    echo mine >"$P/c"
    echo extra >"$P/f/extra"
    touch "$P/b" # nothing but the time
    ok try --off
    [[ $stderr == *"a file was changed while it was tried, and is kept: $P/.git/mas-kept/"*/a* ]]
    [ "$(grep -c 'is kept' <<<"$stderr")" = 4 ]
    [ "$(tail -n 1 "$P"/.git/mas-kept/*/a)" = edited ]
    [ "$(cat "$P"/.git/mas-kept/*/new/deep/file)" = edited ]
    [ "$(cat "$P"/.git/mas-kept/*/c)" = mine ]
    [ "$(cat "$P"/.git/mas-kept/*/f/extra)" = extra ]
    rm -r "$P/.git/mas-kept"
    restored
}

@test "a second try follows what the agent has done since, and another agent takes the place of the first" {
    make_both
    work_of x
    remember
    ok try team x
    was=$(stat -c '%i %y %z' "$P/run.sh")
    (
        cd "$C/x" || exit
        echo three >>b && rm -r new && git checkout -q HEAD -- dir 2>/dev/null
        rm -rf dir && git checkout -q HEAD -- dir && echo late >late
    )
    ok try team x
    shows x
    [ ! -e "$P/new" ] || [ -z "$(find "$P/new" -type f)" ]
    [ -f "$P/dir/one" ]
    [ -f "$P/late" ]
    [ "$(stat -c '%i %y %z' "$P/run.sh")" = "$was" ]
    ok try team x
    [ "$output" = "x: no file differs in $P" ]
    change y a 2 other
    ok try team y
    shows y
    [ ! -e "$P/late" ]
    [ "$(head -n 1 "$P/a")" = 'a 1' ]
    ok try
    [[ ${lines[1]} == "team"*"y"* ]]
    ok try --off
    restored
    # of another session
    one=$ID
    ok try team x
    make_team -t trio -n second
    change z a 3 third
    ok try second z
    shows z
    ok try --json
    [ "$(echo "$output" | jq -r '.tried[].sessionId')" = "$ID" ]
    [ ! -e "$ROOT/sessions/$one/code.git/tried" ]
    ok try --off
    restored
}

@test "a detached checkout, a linked work tree and a submodule take it; a bare or rebasing one does not" {
    make_both
    work_of x
    git -C "$P" checkout -q --detach
    remember
    ok try team x
    ok try --off team
    restored
    git -C "$P" checkout -q main
    # a linked work tree
    git -C "$P" worktree add -q "$T/linked" -b linked
    "$MAS" new -q --no-start -t trio -n inlinked --project "$T/linked" >/dev/null
    echo linked >"$ROOT/sessions/$("$MAS" list --json | jq -r '.sessions[] | select(.name == "inlinked").sessionId')/code/x/a"
    remember "$T/linked"
    ok try inlinked x
    [ "$(cat "$T/linked/a")" = linked ]
    [ "$(head -n 1 "$P/a")" = 'a 1' ]
    (cd "$T/linked" && ok try --off)
    restored "$T/linked"
    # a submodule
    git init -q "$T/super"
    git -C "$T/super" -c protocol.file.allow=always submodule add -q "$P" sub
    git -C "$T/super" commit -qm sub
    "$MAS" new -q --no-start -t trio -n insub --project "$T/super/sub" >/dev/null
    echo sub >"$ROOT/sessions/$("$MAS" list --json | jq -r '.sessions[] | select(.name == "insub").sessionId')/code/x/a"
    remember "$T/super/sub"
    ok try insub x
    [ "$(cat "$T/super/sub/a")" = sub ]
    ok try --off insub
    restored "$T/super/sub"
    # what cannot take it
    change_here() { echo "$1" >"$P/a" && git -C "$P" commit -qam "$1"; }
    git -C "$P" branch side
    change_here one
    git -C "$P" checkout -q side && change_here two
    git -C "$P" rebase -q main 2>/dev/null || true
    fails 4 try team x
    [[ $stderr == "mas: cannot try in '$P': a rebase is in progress"$'\n'* ]]
    git -C "$P" rebase --abort
    echo mine >"$P/a" && git -C "$P" stash -q && git -C "$P" checkout -q main && { git -C "$P" stash pop -q 2>/dev/null || true; }
    [ "$(git -C "$P" status --porcelain a)" = 'UU a' ]
    remember
    ok try team x
    ok try --off
    restored
    git -C "$P" reset -q --hard
    touch "$P/.git/index.lock" && exec 4<"$P/.git/index.lock"
    fails 4 try team x
    [[ $stderr == *'git is at work there'* ]]
    exec 4<&-
    rm "$P/.git/index.lock"
    [ ! -e "$P/.git/mas-try" ]
    git -C "$P" symbolic-ref HEAD refs/heads/none
    fails 4 try team x
    [ "$stderr" = "mas: cannot try in '$P': it has no commit yet" ]
    git -C "$P" symbolic-ref HEAD refs/heads/main
    git clone -q --bare "$P" "$T/bare.git"
    "$MAS" new -q --no-start -t trio -n inbare --project "$T/bare.git" >/dev/null
    fails 4 try inbare x
    [[ $stderr == "mas: cannot try in '$T/bare.git': it has no work tree"$'\n'* ]]
}

@test "a linked work tree is not removed while files are tried in it" {
    make_team -t trio
    git -C "$P" worktree add -q "$T/linked"
    new_session -q -n other -t trio --project "$T/linked"
    tree=$ROOT/sessions/$ID/code/x
    echo mine >>"$T/linked/a"
    echo new >"$tree/new"
    ok try other x
    git -C "$T/linked" checkout -q a && rm -f "$T/linked/new"
    run ! git -C "$P" worktree remove "$T/linked"
    ok try --off other
    [ "$(tail -n 1 "$T/linked/a")" = mine ]
    git -C "$P" worktree remove --force "$T/linked"
}

@test "HEAD moves meanwhile: commit, pull and switch" {
    make_both
    change x a 1 one
    echo new >"$C/x/new"
    remember
    files() { all_of | head -n -1; }
    was=$(files)
    # a commit of another file
    ok try team x
    echo mine >"$P/mine" && git -C "$P" add mine && git -C "$P" commit -qm mine
    ok try --off
    [[ $stderr == *'the index was changed meanwhile'*'HEAD has moved meanwhile'* ]]
    [ -z "$(git -C "$P" status --porcelain)" ]
    [ "$(head -n 1 "$P/a")" = 'a 1' ]
    [ -e "$P/mine" ]
    # a commit of the agent's: it stays in the history, and the files are back
    ok try team x
    git -C "$P" add -A && git -C "$P" commit -qm all
    ok try --off
    [ "$(git -C "$P" show HEAD:a | head -n 1)" = one ]
    [ "$(head -n 1 "$P/a")" = 'a 1' ]
    [ ! -e "$P/new" ]
    git -C "$P" reset -q --hard HEAD^
    # a switch to a branch where other files differ
    git -C "$P" branch other && git -C "$P" checkout -q other && echo o >"$P/b" && git -C "$P" commit -qam o
    git -C "$P" checkout -q main
    ok try team x
    git -C "$P" checkout -q other
    ok try --off
    [ -z "$(git -C "$P" status --porcelain)" ]
    [ "$(cat "$P/b")" = o ]
    git -C "$P" checkout -q main
    # a pull
    git clone -q "$P" "$T/up" && echo up >"$T/up/b" && git -C "$T/up" commit -qam up
    git -C "$P" remote add up "$T/up"
    ok try team x
    git -C "$P" pull -q --ff-only up main
    ok try --off
    [ -z "$(git -C "$P" status --porcelain)" ]
    [ "$(cat "$P/b")" = up ]
    # what was tried is reset by the person: nothing of it is worth keeping
    ok try team x
    git -C "$P" checkout -q -- . && git -C "$P" clean -fdq
    ok try --off
    [ -z "$(git -C "$P" status --porcelain)" ]
    [ ! -e "$P/.git/mas-kept" ]
    # what was staged meanwhile stays staged
    ok try team x
    git -C "$P" add a
    ok try --off
    [[ $stderr == *'the index was changed meanwhile, and stays'* ]]
    [ "$(git -C "$P" status --porcelain a)" = 'MM a' ]
}

@test "land and new --with-changes wait for it; sync, merge, rm, archive and move go by" {
    make_both
    change x a 1 one
    "$MAS" merge -q team x
    echo two >>"$C/x/a"
    remember
    ok try team x
    fails 4 land team
    [[ $stderr == "mas: cannot land onto 'main': files of agent 'x' are tried in '$P'"$'\n'*'mas try --off'* ]]
    fails 4 new -q --no-start -t trio --project "$P" --with-changes
    [[ $stderr == "mas: cannot use --with-changes: files of agent 'x' are tried in '$P'"$'\n'*'mas try --off'* ]]
    [ "$("$MAS" list -q | wc -l)" = 1 ]
    ok land --onto other team || git -C "$P" branch other
    ok land --onto other team
    ok new -q --no-start -t trio --project "$P"
    ok sync team y
    ok sync --project team
    ok set team name=renamed
    ok try
    [[ ${lines[1]} == renamed* ]]
    ok show renamed
    [[ $output == *"tried in $P"* ]]
    ok archive renamed
    fails 4 rm renamed
    ok rm -f renamed
    [ -n "$("$MAS" list -q)" ]
    cd "$P"
    ok try --json # its session is gone
    jq -e --arg dir "$P" '.tried == [.tried[0]] and .tried[0].dir == $dir and .tried[0].sessionId == null' <<<"$output"
    ok try --off
    [ "$(all_of | head -n -1)" = "$(head -n -1 <<<"$BEFORE")" ]
    [ ! -e "$P/.git/mas-try" ]
}

@test "an agent may not try, and words that fit nothing are refused" {
    make_both
    MAS_AGENT_ID=x MAS_SESSION_ID=$ID fails 1 try team y
    fails 2 try team x more
    fails 2 try --off --follow
    fails 3 try team nobody
    fails 3 try --off nothing
    fails 2 try team w
    fails 2 try team x --follow </dev/null
    [[ $stderr == *'--yes'* ]]
    [ ! -e "$P/.git/mas-try" ]
}

@test "doctor notices what is half tried, and mends it" {
    make_both
    work_of x
    remember
    ok try team x
    run -0 "$MAS" doctor
    mv "$P/.git/mas-try/tried" "$P/.git/mas-try/journal"
    ok try
    [[ ${lines[1]} == *'half done'* ]]
    run "$MAS" doctor
    [ "$status" != 0 ]
    [[ $output == *"files of agent 'x' are half tried in '$P'"* ]]
    ok doctor --fix
    restored
    run -0 "$MAS" doctor
}

@test "--follow brings what the agent does until it is interrupted, and leaves it there" {
    make_both
    remember
    "$MAS" try team x --follow --yes >"$T/told" 2>"$T/errors" 3>&- &
    follower=$!
    eventually grep -q 'no file differs' "$T/told"
    echo one >"$C/x/late"
    eventually prints one cat "$P/late"
    # what cannot be brought is told once, and what is there stays
    ln -s /etc "$C/x/link" && echo two >"$C/x/late"
    eventually grep -q 'leads out of its tree' "$T/errors"
    [ "$(cat "$P/late")" = one ]
    rm "$C/x/link"
    eventually prints two cat "$P/late"
    kill -INT "$follower"
    wait "$follower"
    grep -q 'mas try --off' "$T/errors"
    [ "$(cat "$P/late")" = two ]
    ok try --off
    restored
    # taken out by another mas, it ends
    "$MAS" try team x --follow --yes >"$T/told" 2>"$T/errors" 3>&- &
    follower=$!
    eventually grep -q ' in ' "$T/told"
    ok try --off
    rc=0
    wait "$follower" || rc=$?
    [ "$rc" = 3 ]
    grep -q 'not tried in .* any more' "$T/errors"
    restored
    # and so it does when its agent is gone, which another one could take the name of
    "$MAS" try team x --follow --yes >"$T/told" 2>"$T/errors" 3>&- &
    follower=$!
    eventually grep -q ' in ' "$T/told"
    ok rm -f team
    rc=0
    wait "$follower" || rc=$?
    [ "$rc" = 3 ]
    grep -q "cannot follow agent 'x': its work tree is gone" "$T/errors"
}

@test "killed at any call, try and try --off leave what the next one makes whole" {
    [ -z "${TEST_SAN-}" ] || skip 'strace is not for sanitizers'
    command -v strace >/dev/null || skip 'strace is missing'
    make_both
    work_of x
    echo mine >>"$P/a" && echo staged >>"$P/b" && git -C "$P" add b && echo local >"$P/new"
    remember
    # every which call that changes something or starts git
    points() {
        strace -qq -e trace=renameat,renameat2,unlinkat,mkdirat,linkat,fsync,clone,clone3,vfork,utimensat,unlink -e signal=none \
            -o "$T/calls" "$MAS" "$@" >/dev/null 2>&1 3>&-
        sed -n 's/^\([a-z0-9]*\)(.*/\1/p' "$T/calls" | awk -v step="${TRY_STEP:-7}" '{ n = ++count[$1] } NR % step == 1 || step == 1 { print $1, n }'
    }
    kill_at() {
        strace -qq -o "$T/trace" -e trace="$1" -e signal=none -e "inject=$1:signal=KILL:when=$2" \
            "$MAS" "${@:3}" >"$T/out" 2>&1 3>&- || true
    }
    # off WHAT: what was killed is taken out, to the byte
    off() {
        (cd "$P" && "$MAS" try -q --off >"$T/out" 2>&1) || { echo "at $*"; cat "$T/out"; return 1; }
        restored || { echo "at $*"; cat "$T/out"; return 1; }
    }
    # the session is looked at for the first time, and later
    mapfile -t all < <(points try team x)
    [ "${#all[@]}" -gt 5 ]
    off clean
    for point in "${all[@]}"; do
        # shellcheck disable=SC2086 # a name and a number
        kill_at $point try team x
        off "$point of try"
    done
    "$MAS" try -q team x
    mapfile -t all < <(points try --off team)
    [ "${#all[@]}" -gt 5 ]
    for point in "${all[@]}"; do
        "$MAS" try -q team x
        shows x
        # shellcheck disable=SC2086
        kill_at $point try --off team
        off "$point of try --off"
    done
    # a second try, when the agent has gone on
    "$MAS" try -q team x
    go_on() { echo "$1" >>"$C/x/a" && rm -f "$C/x"/late* && echo "$1" >"$C/x/late$1"; }
    go_on 0
    mapfile -t all < <(points try team x)
    number=0
    for point in "${all[@]}"; do
        "$MAS" try -q team x
        number=$((number + 1))
        go_on "$number"
        # shellcheck disable=SC2086
        kill_at $point try team x
        off "$point of the second try"
    done
    "$MAS" try -q team x
    off end
    whole
}
