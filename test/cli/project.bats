#!/usr/bin/env bats
load ../helper

# A session with a project: what `mas new --project` makes, takes and refuses.
#
#   $P   the project: branches main (checked out) and side, the tag v1
#   $W   the workspace of the session in $ID

setup_more() {
    git config --global user.name Person
    git config --global user.email person@example.org
    git config --global init.defaultBranch main
    git config --global protocol.file.allow always
    git config --global advice.detachedHead false
    make_template
    P=$T/project
    fill_project "$P"
}

teardown_more() {
    if [ -n "${ELSEWHERE-}" ]; then rm -rf "$ELSEWHERE"; fi
}

# The template `crew`: 10 and 11 write, 00 reads.
make_template() {
    local id dir=$ROOT/templates/crew
    mkdir -p "$dir/workflows"
    {
        printf '[template]\ndescription = crew\npreset =\n[window w]\nagents = 00, 10, 11\nlayout = tiled\n'
        for id in 00 10 11; do
            printf '[agent %s]\nrole = r\nrank = %s\ngroup = g\npreset =\nmodel =\ncode = %s\n' "$id" \
                "$([ "$id" = 00 ] && echo manager || echo worker)" \
                "$([ "$id" = 00 ] && echo view || echo worktree)"
            mkdir -p "$dir/unit/$id"
            echo "$id" >"$dir/unit/$id/AGENTS.md"
        done
        printf '[rules]\nmanager = workers\nworker = manager\n'
    } >"$dir/template.ini"
    echo flow >"$dir/workflows/flow.md"
}

fill_project() {
    git init -q "${@:1:$#-1}" -- "${@: -1}"
    local dir=${*: -1}
    mkdir "$dir/src"
    printf 'one\ntwo\n' >"$dir/src/a.txt"
    printf '#!/bin/sh\n' >"$dir/run.sh"
    chmod 755 "$dir/run.sh"
    ln -s src/a.txt "$dir/link"
    printf 'with blank\n' >"$dir/with blank"
    git -C "$dir" add .
    git -C "$dir" commit -qm 'Begin'
    git -C "$dir" tag -a v1 -m v1
    git -C "$dir" branch side
    echo more >>"$dir/src/a.txt"
    git -C "$dir" commit -qam 'Go on'
}

# Prints everything of a project: names, modes, owners, times, contents.
state_of() {
    (cd -- "$1" && find . -printf '%P %m %u %T@ %l %n\n' | sed -E '/^(\.git\/)?(.*\/)?objects\//s/ [0-9]+$//' | sort
        find . -type f -print0 | sort -z | xargs -0 -r sha256sum)
}

# Makes a session that is not started on project $1; passes the rest to `mas new`.
make_on() {
    ID=$("$MAS" new -q --no-start -t crew --project "$@") || return
    W=$ROOT/sessions/$ID
}

# Makes a session on $1 and checks that nothing of the directory $2 (default: $1) changed and that the
# session's work begins at commit $3 (default: HEAD of $2).
check_on() {
    local dir=${2:-$1} before id base label id8
    base=${3:-$(git -C "$dir" rev-parse HEAD)}
    before=$(state_of "$dir")
    make_on "$1" || return
    [ "$(state_of "$dir")" = "$before" ] || { echo "changed: $dir"; return 1; }
    id8=${ID:0:8}
    [ "$(GIT_DIR=$W/code.git git rev-parse "refs/heads/mas/$id8/main")" = "$base" ] || return
    [ "$(GIT_DIR=$W/code.git git rev-parse refs/mas/base)" = "$base" ] || return
    for id in 10 11; do
        [ "$(git -C "$W/code/$id" symbolic-ref HEAD)" = "refs/heads/mas/$id8/$id" ] || return
        [ "$(git -C "$W/code/$id" rev-parse HEAD)" = "$base" ] || return
    done
    [ "$(git -C "$W/code/view" rev-parse HEAD)" = "$base" ] || return
    whole
}

# Each repository is whole and clean, and is so without a refresh of its index.
whole() {
    local id
    for id in 10 11 view; do
        [ -z "$(git -C "$W/code/$id" --no-optional-locks diff-files --name-only)" ] ||
            { echo "stale index: $id"; return 1; }
        [ -z "$(git -C "$W/code/$id" status --porcelain --ignored)" ] || { echo "not clean: $id"; return 1; }
        git -C "$W/code/$id" fsck --strict --no-progress --no-dangling 2>&1 || return
    done
    GIT_DIR=$W/code.git git fsck --strict --no-progress --no-dangling 2>&1 || return
    [ ! -e "$W/code.git/objects/info/alternates" ]
}

# `mas new --project $1` fails with exit code 2 and makes nothing; $stderr matches the pattern $2.
refuses() {
    local before
    before=$(snapshot)
    mas new --no-start -t crew --project "$1"
    [ "$status" -eq 2 ] || { echo "exit $status: $stderr"; return 1; }
    # shellcheck disable=SC2053 # a pattern
    [[ $stderr == $2 ]] || { echo "said: $stderr"; return 1; }
    [ "$(snapshot)" = "$before" ]
}

@test "a session begins with the commit that is checked out" {
    check_on "$P"
    [ "$(cat "$W/code/10/src/a.txt")" = "$(printf 'one\ntwo\nmore')" ]
    [ -x "$W/code/11/run.sh" ]
    [ "$(readlink "$W/code/11/link")" = src/a.txt ]
    [ "$(jq -r .project.onto "$W/config.json")" = refs/heads/main ]
    [ "$(jq -r .project.path "$W/config.json")" = "$P" ]
}

@test "each repository has a configuration of its own and nothing of the project's" {
    git -C "$P" config user.name Local
    git -C "$P" config core.hooksPath "$T/hooks"
    printf '#!/bin/sh\n' >"$P/.git/hooks/pre-commit"
    chmod 755 "$P/.git/hooks/pre-commit"
    echo 'a.o' >"$P/.git/info/exclude"
    make_on "$P"
    run git config --file "$W/code/10/.git/config" --list
    [ "$output" = "core.repositoryformatversion=0
core.filemode=true
core.bare=false
core.logallrefupdates=true
core.autocrlf=false
core.eol=lf
user.name=Local
user.email=person@example.org
gc.auto=0
maintenance.auto=false
remote.team.url=../../code.git
remote.team.fetch=+refs/heads/mas/${ID:0:8}/*:refs/remotes/team/*" ]
    cmp "$W/code/10/.git/config" "$W/code/11/.git/config"
    [ -z "$(find "$W/code" "$W/code.git" -path '*/hooks/*')" ]
    [ "$(cat "$W/code/10/.git/objects/info/alternates")" = ../../../../code.git/objects ]
    git -C "$W/code/10" fetch -q team
    [ "$(git -C "$W/code/10" rev-parse team/main)" = "$(git -C "$P" rev-parse HEAD)" ]
    [ "$(git -C "$W/code/10" ls-files -v | cut -c1 | sort -u)" = H ]
}

@test "a name of the person with any characters is the name in each repository" {
    git -C "$P" config user.name $' "A\tB" \\n; #[x]\n'
    make_on "$P"
    who() { git "$@" var GIT_AUTHOR_IDENT | sed 's/>.*//'; }
    for dir in "$W/code/10/.git" "$W/code.git"; do
        [ "$(env -u HOME git config --file "$dir/config" user.name)" = "$(who -C "$P" | sed 's/ <.*//')" ]
        [ "$(who --git-dir="$dir")" = "$(who -C "$P")" ]
    done
}

@test "without a name, git would refuse to commit, and so does new, with the commands that give it one" {
    git config --global --unset user.name
    git config --global --unset user.email
    git config --global user.useConfigOnly true # whatever git could find out of this machine
    fails 2 new -t solo --project "$P"
    [[ $stderr == "mas: cannot use project '$P': git does not know in whose name to commit"$'\n'* ]]
    [[ $stderr == *"git config --global user.name 'YOUR NAME' && git config --global user.email 'YOU@EXAMPLE.ORG'" ]]
    [ -z "$(ls "$ROOT/sessions")" ]
    # git takes a name from the environment, too
    export GIT_AUTHOR_NAME=Env GIT_AUTHOR_EMAIL=env@example.org
    make_on "$P"
    [ "$(git config --file "$W/code.git/config" user.name)" = Env ]
}

@test "the index of each repository knows its files without reading them" {
    make_on "$P"
    for agent in 10 11; do
        # this names each file that git would have to read
        run -0 git -C "$W/code/$agent" diff-files
        [ -z "$output" ]
        # compares the sum at the end of the index
        git -C "$W/code/$agent" fsck --no-dangling
    done
}

@test "git gc in the view removes no object that an agent may borrow" {
    local oid
    make_on "$P"
    oid=$(echo borrowed | GIT_DIR=$W/code.git git hash-object -w --stdin)
    touch -d '1 year ago' "$W/code.git/objects/${oid:0:2}/${oid:2}"
    git -C "$W/code/view" gc -q
    git -C "$W/code/10" cat-file -e "$oid"
    [ "$(git -C "$W/code/view" config gc.auto)" = 0 ]
}

@test "REF names a branch, a tag or a commit" {
    local first
    first=$(git -C "$P" rev-parse 'v1^{commit}')
    check_on "$P@side" "$P" "$first"
    [ "$(jq -r .project.onto "$W/config.json")" = refs/heads/side ]
    check_on "$P@v1" "$P" "$first"
    [ "$(jq -r .project.onto "$W/config.json")" = "" ]
    check_on "$P@$first" "$P" "$first"
    check_on "$P@${first:0:9}" "$P" "$first"
    [ "$(jq -r .project.onto "$W/config.json")" = "" ]
}

@test "a branch comes before a tag of its name and before a commit that begins so" {
    local tip
    tip=$(git -C "$P" rev-parse HEAD)
    git -C "$P" tag side "$tip"
    check_on "$P@side" "$P" "$(git -C "$P" rev-parse refs/heads/side)"
    git -C "$P" branch "${tip:0:8}" v1
    check_on "$P@${tip:0:8}" "$P" "$(git -C "$P" rev-parse 'v1^{commit}')"
    [ "$(jq -r .project.onto "$W/config.json")" = "refs/heads/${tip:0:8}" ]
}

@test "a REF that is none is refused" {
    git -C "$P" update-ref refs/mas/x HEAD
    git -C "$P" update-ref refs/heads/-x HEAD
    git -C "$P" tag blob "$(git -C "$P" rev-parse HEAD:run.sh)"
    refuses "$P@-x" "mas: cannot use '-x' of project '$P': it is not a name of a branch, a tag or a commit*"
    refuses "$P@HEAD" "mas: cannot use 'HEAD' of project *"
    refuses "$P@refs/mas/x" "mas: cannot use 'refs/mas/x' of project '$P': refs/mas/ belongs to mas*"
    refuses "$P@mas/x" "*: refs/mas/ belongs to mas*"
    refuses "$P@none" "mas: cannot use 'none' of project '$P': there is no such branch, tag or commit*"
    refuses "$P@blob" "*: there is no such branch, tag or commit*"
    refuses "$P@" "mas: cannot use '' of project *"
    refuses "$P@main:run.sh" "*: it is not a name of a branch*"
    refuses "$P@--all" "*: it is not a name of a branch*"
    refuses "$P@main..side" "*: it is not a name of a branch*"
    refuses "$P@0123456789012345678901234567890123456789" "*: there is no such branch, tag or commit*"
}

@test "a directory that holds an @ needs no REF, and a REF may hold one" {
    mv "$P" "$T/pro@ject"
    check_on "$T/pro@ject"
    check_on "$T/pro@ject@side" "$T/pro@ject" "$(git -C "$T/pro@ject" rev-parse side)"
    git -C "$T/pro@ject" branch fix@2 v1
    check_on "$T/pro@ject@fix@2" "$T/pro@ject" "$(git -C "$T/pro@ject" rev-parse side)"
    [ "$(jq -r .project.onto "$W/config.json")" = refs/heads/fix@2 ]
}

@test "a directory may have any name" {
    local name
    # shellcheck disable=SC2016 # names
    for name in 'a b' $'a\nb' $'end\n' '#(touch x)' -dash a:b 'a"b' "a'b" '$HOME' 'a\b' '*'; do
        fill_project "$T/$name"
        check_on "$T/$name" || { echo "name: $name"; return 1; }
        GIT_DIR=$W/code.git git cat-file -e HEAD || return
        "$MAS" show "$ID" >/dev/null
        "$MAS" rm -q "$ID"
    done
    cd "$T"
    make_on ./-dash
    run "$MAS" new -q --no-start -t crew --project=-dash
    [ "$status" -eq 0 ]
    run ! test -e "$T/x"
}

@test "a project may be reached by a link, a directory in it, and a linked work tree" {
    ln -s "$P" "$T/way"
    check_on "$T/way" "$P"
    [ "$(jq -r .project.path "$W/config.json")" = "$P" ]
    check_on "$P/src" "$P"
    git -C "$P" worktree add -q "$T/linked" side
    check_on "$T/linked"
    [ "$(jq -r .project.onto "$W/config.json")" = refs/heads/side ]
    [ "$(git -C "$W/code/10" rev-parse HEAD)" = "$(git -C "$P" rev-parse side)" ]
}

@test "a bare project works, and the inside of another is refused" {
    git clone -q --bare "$P" "$T/bare.git"
    check_on "$T/bare.git"
    check_on "$T/bare.git@side" "$T/bare.git" "$(git -C "$P" rev-parse side)"
    git -C "$T/bare.git" worktree add -q "$T/of-bare" side
    check_on "$T/of-bare"
    git config --global safe.bareRepository explicit
    check_on "$T/bare.git" "$T/bare.git" "$(git -C "$P" rev-parse main)"
    refuses "$P/.git" "mas: cannot use project '$P/.git': it is the inside of a repository that has a work tree*"
}

@test "a submodule's checkout is a project" {
    git init -q "$T/super"
    git -C "$T/super" submodule --quiet add "$P" sub
    git -C "$T/super" commit -qm sub
    check_on "$T/super/sub"
}

@test "a project on a detached HEAD, in a rebase or with changes begins with its HEAD" {
    git -C "$P" checkout -q --detach side
    check_on "$P"
    [ "$(jq -r .project.onto "$W/config.json")" = "" ]
    git -C "$P" checkout -q -B topic side
    echo other >>"$P/src/a.txt"
    git -C "$P" commit -qam other
    run git -C "$P" rebase main
    [ -d "$P/.git/rebase-merge" ]
    check_on "$P"
    git -C "$P" rebase --abort
    echo dirty >>"$P/run.sh"
    echo staged >"$P/staged"
    git -C "$P" add staged
    echo new >"$P/new"
    rm "$P/link"
    check_on "$P"
    [ ! -e "$W/code/10/new" ]
    [ -L "$W/code/10/link" ]
}

@test "a directory without a repository or a commit is refused" {
    mkdir "$T/plain"
    refuses "$T/plain" "mas: cannot use project '$T/plain': git rev-parse: not a git repository*
make it a repository with: git init"
    refuses "$T/none" "mas: cannot use project '$T/none': No such file or directory*"
    refuses "$T/none@main" "mas: cannot use project '$T/none': No such file or directory*"
    refuses "" "mas: cannot use project '': *"
    refuses "$P/run.sh" "mas: cannot use project '$P/run.sh': it is not a directory*"
    git init -q "$T/empty"
    refuses "$T/empty" "mas: cannot use project '$T/empty': it has no commit yet
make one with: git commit"
    git init -q --bare "$T/empty.git"
    refuses "$T/empty.git" "*: it has no commit yet*"
}

@test "a shallow clone works, a partial one is refused" {
    git clone -q --depth 1 "file://$P" "$T/shallow"
    check_on "$T/shallow"
    [ "$(git -C "$W/code/10" rev-list --count HEAD)" = 1 ]
    git -C "$P" config uploadpack.allowFilter true
    git clone -q --filter=blob:none --no-checkout "file://$P" "$T/partial"
    refuses "$T/partial" "mas: cannot use project '$T/partial': it is a partial clone, which lacks objects
use a whole clone: git clone without --filter"
}

@test "a clone that borrows objects gives the session its own" {
    git clone -q --shared "$P" "$T/shared"
    echo own >"$T/shared/own"
    git -C "$T/shared" add own
    git -C "$T/shared" commit -qm own
    check_on "$T/shared"
    rm -rf "$P" "$T/shared"
    whole
}

@test "SHA-256, packed objects and packed refs work" {
    fill_project --object-format=sha256 "$T/sha256"
    check_on "$T/sha256"
    echo work >>"$W/code/10/run.sh"
    git -C "$W/code/10" commit -qam work
    run "$MAS" merge "$ID" 10
    [ "$status" -eq 0 ]
    whole
    git -C "$P" gc -q
    git -C "$P" pack-refs --all
    echo loose >"$P/loose"
    git -C "$P" add loose
    git -C "$P" commit -qm loose
    check_on "$P"
    check_on "$P@v1" "$P" "$(git -C "$P" rev-parse 'v1^{commit}')"
}

@test "objects are linked where that is possible, and copied to another file system" {
    local object
    object=$(git -C "$P" rev-parse HEAD)
    object=objects/${object:0:2}/${object:2}
    make_on "$P"
    [ "$P/.git/$object" -ef "$W/code.git/$object" ]
    for place in /tmp /dev/shm /var/tmp; do
        [ "$(stat -c %d "$place" 2>/dev/null)" != "$(stat -c %d "$T")" ] || continue
        ELSEWHERE=$(mktemp -d "$place/mas-project-XXXXXX") || continue
        break
    done
    [ -n "${ELSEWHERE-}" ] || skip 'there is one file system here'
    cp -a "$P" "$ELSEWHERE/p"
    check_on "$ELSEWHERE/p"
    [ ! "$ELSEWHERE/p/.git/$object" -ef "$W/code.git/$object" ]
    cmp "$ELSEWHERE/p/.git/$object" "$W/code.git/$object"
}

@test "agents called main and view are refused, and only with a project" {
    local name
    for name in main view; do
        sed "s/\b10\b/$name/g" "$ROOT/templates/crew/template.ini" >"$T/ini"
        cp -r "$ROOT/templates/crew" "$ROOT/templates/t-$name"
        mv "$ROOT/templates/t-$name/unit/10" "$ROOT/templates/t-$name/unit/$name"
        cp "$T/ini" "$ROOT/templates/t-$name/template.ini"
        fails 2 new --no-start -t "t-$name" --project "$P"
        [[ $stderr == "mas: cannot use a project with agent '$name': "* ]]
        ok new --no-start -q -t "t-$name"
    done
}

@test "another user's project is refused" {
    [ "$(id -u)" -eq 0 ] || skip 'only root can give files to another user'
    chown -R 12345 "$P"
    refuses "$P" "mas: cannot use project '$P': it belongs to another user (uid 12345), and mas does not read git's safe.directory
use a clone of your own: git clone DIR"
    git config --global safe.directory '*'
    refuses "$P" "mas: cannot use project '$P': it belongs to another user*"
    chown -R 0 "$P"
    chown -R 12345 "$P/.git"
    refuses "$P" "mas: cannot use project '$P/.git': it belongs to another user*"
    git config --global --unset-all safe.directory
    refuses "$P" "*dubious ownership*git clone DIR"
}

@test "a work tree that the configuration moved elsewhere is refused" {
    git -C "$P" config core.worktree "$HOME"
    refuses "$P" "mas: cannot use project '$P': its work tree is '$HOME'*"
}

@test "links among a project's objects are refused" {
    mv "$P/.git/objects/pack" "$T/pack"
    ln -s "$T/pack" "$P/.git/objects/pack"
    refuses "$P" "mas: cannot use project '$P': there is a symbolic link in its objects/pack*"
    [ -d "$T/pack" ]
}

@test "git is needed for a project alone, and must not be too old" {
    mkdir "$T/bin"
    for program in tmux sh; do ln -s "$(command -v $program)" "$T/bin/$program"; done
    before=$(snapshot)
    run --separate-stderr env PATH="$T/bin" "$MAS" new --no-start -t crew --project "$P"
    [ "$status" -eq 1 ]
    [[ $stderr == "mas: cannot run 'git': there is no such program in PATH
install git 2.38 or newer"* ]]
    [ "$(snapshot)" = "$before" ]
    run --separate-stderr env PATH="$T/bin" "$MAS" new -q --no-start -t crew
    [ "$status" -eq 0 ]
    before=$(snapshot)
    for version in 2.37.9 1.99 2.4.11; do
        printf '#!/bin/sh\necho git version %s\n' "$version" >"$T/bin/git"
        chmod 755 "$T/bin/git"
        run --separate-stderr env PATH="$T/bin" "$MAS" new --no-start -t crew --project "$P"
        [ "$status" -eq 1 ]
        [ "$stderr" = "mas: cannot use 'git version $version': git 2.38 or newer is needed" ]
        [ "$(snapshot)" = "$before" ]
    done
}

@test "the project may be collected or deleted: nothing is missing" {
    local lost
    lost=$(printf 'nobody needs this\n' | git -C "$P" hash-object -w --stdin)
    make_on "$P"
    # git stores nothing for a blob that code.git has
    printf 'nobody needs this\n' >"$W/code/10/found"
    git -C "$W/code/10" add found
    git -C "$W/code/10" commit -qm found
    [ "$(git -C "$W/code/10" rev-parse HEAD:found)" = "$lost" ]
    git -C "$P" reflog expire --expire=now --all
    git -C "$P" gc -q --prune=now
    run ! git -C "$P" cat-file -e "$lost"
    whole
    run "$MAS" merge "$ID" 10
    [ "$status" -eq 0 ]
    rm -rf "$P"
    whole
    [ "$(GIT_DIR=$W/code.git git show "mas/${ID:0:8}/main:found")" = 'nobody needs this' ]
    "$MAS" show "$ID" >/dev/null
}
