#!/usr/bin/env bats
# A project of this machine goes to another one, and the work of its team comes home.
# shellcheck disable=SC2016 # scripts for the other machine
load ../helper
load ../project
load ../ssh

setup_more() {
    make_machines n1
    make_project
    cd "$P" || return
}

teardown_more() {
    there n1 "$MAS" stop -q --all 2>/dev/null || :
    close_connections
}

STATE() { echo "$HOME/.local/state/mas/home/n1"; }

# The agent's work tree there; what a team did there: commits file $1 with content $2, and merges it.
far_tree() { echo "$T/n1/root/sessions/$ID/code/solo"; }
work() {
    echo "$2" >"$(far_tree)/$1"
    git -C "$(far_tree)" add -- "$1"
    git -C "$(far_tree)" commit -qm "Write $1"
    there n1 "$MAS" merge "$ID" solo >/dev/null
}

# Runs mas at n1 by a program that does TEXT before it is mas.
n1_does() {
    printf '#!/bin/bash\n%s\nexec "%s" "$@"\n' "$1" "$MAS" >"$T/n1/tool"
    chmod +x "$T/n1/tool"
    sed -i "/^\[host n1\]/,/^mas = /s|^mas = .*|mas = $T/n1/tool|" "$ROOT/mas.ini"
}
n1_is_well() { sed -i "/^\[host n1\]/,/^mas = /s|^mas = .*|mas = $MAS|" "$ROOT/mas.ini"; }

# The checkout is as it was at HEAD, and nothing is at work there.
is_whole() {
    [ -z "$(git status --porcelain)" ]
    [ -z "$(find .git -name '*.lock')" ]
    git fsck --strict 2>&1 | (! grep -vE '^(dangling|notice)')
}

new_there() {
    ok --host n1 new -q --no-start -t solo -n fix --project .
    ID=$output
}

@test "a project goes to another machine, and its team begins with it" {
    local bare
    new_there
    [ "$(cat "$(far_tree)/a")" = a ]
    bare=$(echo "$T"/n1/root/projects/project-*.git)
    [ "$(git -C "$bare" rev-parse main)" = "$(git rev-parse HEAD)" ]
    [ "$(git -C "$bare" config mas.home)" = "$(hostname):$P" ]
    [ "$(git -C "$(far_tree)" config user.name)" = Person ]
    [ -z "$(git status --porcelain)" ]
    [ "$(cat "$(STATE)"/project-*)" = "$P" ]
}

@test "what a team made elsewhere lands here, and counts there from then on" {
    new_there
    work c new
    run ! there n1 "$MAS" rm -q fix
    ok diff n1:fix main
    ok land n1:fix
    echo "$output $stderr"
    [[ $output == '1 commit landed on main of '* ]]
    [ "$(cat c)" = new ]
    [ -z "$(git status --porcelain)" ]
    [ "$(echo "$(STATE)"/*)" = "$(echo "$(STATE)"/project-*)" ]
    ok land n1:fix
    [[ $output == 'nothing to land: main has all of mas/'*/main ]]
    there n1 "$MAS" rm -q fix
}

@test "a second session of an unchanged project sends no object" {
    local bare before
    new_there
    bare=$(echo "$T"/n1/root/projects/project-*.git)
    before=$(find "$bare/objects" -type f | sort)
    ok new --host n1 -q --no-start -t solo -n again --project=./.
    [ "$(find "$bare/objects" -type f | sort)" = "$before" ]
    echo more >a
    git commit -qam 'More'
    ok --host n1 new -q --no-start -t solo -n third --project "../${P##*/}"
    ID=$output
    [ "$(cat "$(far_tree)/a")" = more ]
    [ "$(find "$bare" -path '*objects/??/*' | wc -l)" -eq "$(($(wc -l <<<"$before") + 3))" ]
}

@test "sessions that take the same project along at the same time" {
    local n pids=()
    # each takes long enough that the others would come meanwhile
    n1_does 'case $* in *"carried receive"*)
        mkdir "'"$T/inside"'" || : >"'"$T/meet"'"
        read -rt 0.5 <> <(:)
        "'"$MAS"'" "$@" && rmdir "'"$T/inside"'"; exit ;; esac'
    for n in 0 1 2; do
        "$MAS" --host n1 new -q --no-start -t solo --project . >"$T/out.$n" 2>&1 3>&- &
        pids+=($!)
    done
    for n in 0 1 2; do wait "${pids[n]}" || { cat "$T"/out.*; false; }; done
    [ ! -e "$T/meet" ]
    [ "$(there n1 "$MAS" list -q | wc -l)" -eq 3 ]
    [ "$(cat "$(STATE)"/project-*)" = "$P" ]
}

@test "which paths are here, and which are there" {
    git init -q "$T/n1/home/far"
    git -C "$T/n1/home/far" config user.name Ann
    git -C "$T/n1/home/far" config user.email ann@example.org
    git -C "$T/n1/home/far" commit -q --allow-empty -m 'Of n1'
    ok --host n1 new -q --no-start -t solo --project "$T/n1/home/far"
    [ ! -e "$T/n1/root/projects" ]
    fails 2 --host n1 new -q --no-start -t solo --project nowhere
    [[ $stderr == "mas: cannot use project 'nowhere': No such file or directory" ]]
    fails 2 --host n1 new -q --no-start -t solo --project "$HOME/nowhere"
    [[ $stderr == "mas: cannot use project '$HOME/nowhere': No such file or directory
an absolute path is one on host 'n1'; "* ]]
    mkdir below
    cd below
    ok --host n1 new -q --no-start -t solo --project .
    ID=$output
    [ "$(cat "$(STATE)"/project-*)" = "$P" ]
    [ "$(cat "$(far_tree)/b")" = b ]
}

@test "a branch, and a commit without one" {
    git branch other
    echo main >a
    git commit -qam 'On main'
    ok --host n1 new -q --no-start -t solo --project .@other
    ID=$output
    [ "$(cat "$(far_tree)/a")" = a ]
    git checkout -q --detach other
    ok --host n1 new -q --no-start -t solo --project .
    ID=$output
    [ "$(cat "$(far_tree)/a")" = a ]
    work c new
    fails 2 land "n1:$ID"
    [[ $stderr == *'the session began at no branch'* ]]
    ok land "n1:$ID" --onto other
    [ "$(git show other:c)" = new ]
    there n1 "$MAS" rm -q "$ID"
}

@test "a branch goes where one was that it cannot be beside" {
    local bare name
    for name in one one/two one/three one/two/four one; do
        git checkout -q --detach main
        git for-each-ref --format='delete %(refname)' refs/heads/one | git update-ref --stdin
        git checkout -q -b "$name"
        ok --host n1 new -q --no-start -t solo --project .
        ID=$output
        work "c${name//\//-}" new
        git checkout -q --detach
        git branch -q -m "$name" aside
        git branch -q "$name/below" # that lands instead, and is then beside none
        ok land "n1:$ID" --onto "$name/below"
        git branch -q -D "$name/below" aside
        there n1 "$MAS" rm -q "$ID"
    done
    bare=$(echo "$T"/n1/root/projects/project-*.git)
    [ "$(git -C "$bare" for-each-ref --format='%(refname)' refs/heads/)" = refs/heads/one/below ]
    fails 2 --host n1 carried receive "${bare##*/}" ../x
    fails 2 --host n1 carried receive .. main
}

@test "what stays here is told, and what cannot go is refused" {
    echo changed >a
    echo secret >.worktreeinclude
    git clone -q "$P" "$T/part"
    git -c protocol.file.allow=always submodule --quiet add "$T/part" sub
    git commit -qm 'Add a submodule' .gitmodules sub
    ok --host n1 new -q --no-start -t solo --project .
    echo "$stderr"
    [[ $stderr == *'submodules are not taken along'* ]]
    [[ $stderr == *'what is changed and not committed is not taken along: a'* ]]
    [[ $stderr == *'the files that .worktreeinclude names are not taken along'* ]]
    ID=$output
    [ "$(cat "$(far_tree)/a")" = a ]
    fails 2 --host n1 new -q --no-start -t solo --with-changes --project .
    [[ $stderr == *'cannot use --with-changes'*'commit them first'* ]]
    git clone -q --depth 1 "file://$P" "$T/shallow"
    fails 2 --host n1 new -q --no-start -t solo --project "../shallow"
    [[ $stderr == *'it is a shallow clone'* ]]
    [ "$(there n1 "$MAS" list -q | wc -l)" -eq 1 ]
}

@test "killed at each step of a new session: run again, it goes on, and nothing is half there" {
    local step when
    for step in 'carried -- make' 'carried receive' 'new '; do
        for when in before after; do
            git commit -q --allow-empty -m "$step $when"
            if [ "$when" = before ]; then
                n1_does 'case $* in *"'"$step"'"*) kill -9 $$ ;; esac'
            else
                n1_does 'case $* in *"'"$step"'"*) "'"$MAS"'" "$@"; kill -9 $$ ;; esac'
            fi
            mas --host n1 new -q --no-start -t solo -n fix --project .
            echo "$step $when: $status $stderr"
            # a push that has arrived is all that its command was for
            [ "$status" -eq 12 ] || [ "$step $when $status" = 'carried receive after 0' ]
            n1_is_well
            if [ "$status" -eq 12 ] && { [ "$step" != 'new ' ] || [ "$when" = before ]; }; then
                [ -z "$(there n1 "$MAS" list -q)" ]
                ok --host n1 new -q --no-start -t solo -n fix --project .
            fi
            ID=$(there n1 "$MAS" list -q)
            [ "$(git -C "$(far_tree)" rev-parse HEAD)" = "$(git rev-parse HEAD)" ]
            there n1 "$MAS" rm -q fix
            is_whole
        done
    done
}

@test "killed at each step of a landing: run again, it goes on, and it lands once" {
    local step when n=0
    new_there
    for step in 'carried -- show' 'carried send' 'carried receive' 'carried landed'; do
        for when in before after; do
            n=$((n + 1))
            work "c$n" "$step $when"
            if [ "$when" = before ]; then
                n1_does 'case $* in *"'"$step"'"*) kill -9 $$ ;; esac'
            else
                n1_does 'case $* in *"'"$step"'"*) "'"$MAS"'" "$@"; kill -9 $$ ;; esac'
            fi
            mas land n1:fix
            echo "$step $when: $status $output $stderr"
            if [ "$n" -le 4 ]; then
                [ "$status" -eq 12 ]
                [ ! -e "c$n" ]
            else
                [ "$status" -eq 0 ]
                [ "$step $when" = 'carried receive after' ] ||
                    [[ $stderr == *"it has landed, but host 'n1' does not know: "* ]]
                [ -e "c$n" ]
            fi
            is_whole
            [ "$n" -gt 5 ] || run ! there n1 "$MAS" rm -q fix
            n1_is_well
            ok land n1:fix
            [ -e "c$n" ]
            is_whole
            [ "$(there n1 "$MAS" show --json fix | jq '.project.unlanded // 0')" -eq 0 ]
        done
    done
    [ "$(git rev-list --count HEAD)" -eq $((n + 1)) ]
    there n1 "$MAS" rm -q fix
}

@test "mas here killed at any moment of a landing: the next one goes on" {
    local n pid
    new_there
    for n in 1 2 3 4 5 6 7 8; do
        work "c$n" "$n"
        "$MAS" land n1:fix >/dev/null 2>&1 &
        pid=$!
        # the moments differ with the machine; each of them has to be harmless
        read -rt "0.0$((n * 11))" <> <(:) || :
        kill -9 "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
        ok land n1:fix
        [ "$(cat "c$n")" = "$n" ]
        is_whole
    done
    [ "$(git rev-list --count HEAD)" -eq 9 ]
    there n1 "$MAS" rm -q fix
}

@test "landings of one session at the same time" {
    local n pids=()
    new_there
    work c new
    n1_does 'case $* in *"carried send"*) read -rt 0.3 <> <(:) ;; esac' # so that the other one comes
    for n in 0 1 2; do
        "$MAS" land n1:fix >"$T/out.$n" 2>&1 3>&- &
        pids+=($!)
    done
    for n in 0 1 2; do wait "${pids[n]}" || { cat "$T"/out.*; false; }; done
    [ "$(cat "$T"/out.* | sed 's/ of .*//' | sort | uniq -c | xargs)" = '1 1 commit landed on main 2 nothing to land: main has all' ]
    [ "$(git rev-list --count HEAD)" -eq 2 ]
    is_whole
}

@test "what has moved on since it was shown does not land" {
    new_there
    work c one
    ok diff n1:fix main
    [[ $output == *'+one'* ]]
    work c two
    fails 4 land n1:fix
    [[ $stderr == *"cannot land session 'n1:fix': it has moved on since it was shown"*'look again with: mas diff n1:fix main' ]]
    [ ! -e c ]
    ok diff n1:fix main --stat
    fails 4 land n1:fix
    ok diff n1:fix
    fails 4 land n1:fix
    ok --host n1 diff fix main
    ok land n1:fix
    [ "$(cat c)" = two ]
}

@test "what landing would overwrite here is named, and a branch that moved is merged" {
    new_there
    work a theirs
    echo mine >a
    fails 4 land n1:fix
    [[ $stderr == *"'a'"* || $stderr == *' a'* ]]
    [ "$(cat a)" = mine ]
    git checkout -q a
    echo mine >d
    git add d
    git commit -qm 'Mine'
    ok land n1:fix --dry-run
    [[ $output == '1 commit would land on main of '*': by a merge' ]]
    [ "$(cat a)" = a ]
    ok land n1:fix
    [ "$(cat a d)" = $'theirs\nmine' ]
    is_whole
    there n1 "$MAS" rm -q fix
}

@test "a conflict changes nothing here, and its other side goes there" {
    new_there
    work a theirs
    echo mine >a
    git commit -qam 'Mine'
    fails 4 land n1:fix
    [[ $stderr == *"cannot land session 'n1:fix': it conflicts in a"*'mas sync --project n1:fix' ]]
    is_whole
    [ "$(git -C "$T"/n1/root/projects/project-*.git show main:a)" = mine ]
    run ! there n1 "$MAS" rm -q fix
    n1_does 'case $* in *"carried receive"*) exit 1 ;; esac'
    fails 4 land n1:fix
    [[ $stderr == *"host 'n1' does not have that branch as it is here: "*'it conflicts in a'* ]]
    n1_is_well
    # what is told to do there brings the other side
    fails 4 sync --project n1:fix
    [[ $stderr =~ 'merge it: '(git fetch .*)' && '(git merge .*)$ ]]
    (
        cd "$(far_tree)"
        eval "${BASH_REMATCH[1]}" && ! eval "${BASH_REMATCH[2]}"
        echo both >a && git commit -qam 'Both'
    )
    there n1 "$MAS" merge -q "$ID" solo
    ok land n1:fix
    [ "$(git show HEAD:a)" = both ]
    there n1 "$MAS" rm -q fix
}

@test "sync --project brings what is new here there first" {
    new_there
    commit_here() { echo "$1" >b && git commit -qam "$1"; }
    commit_here one
    ok sync --project n1:fix
    [ "$output" = $'project: 1 new commit\nsolo: updated' ]
    [ "$(cat "$(far_tree)/b")" = one ]
    commit_here two
    cd /
    ok --host n1 sync --project fix
    [ "$(cat "$(far_tree)/b")" = two ]
    # without --project, and of a session that works on another project, nothing is looked for here
    mv "$P" "$P.moved"
    ok sync n1:fix
    fails 3 sync --project n1:fix
    [[ $stderr == *"cannot find project '$P'"*$'\n'"put it back there, or a symbolic link to it" ]]
    fails 3 land n1:fix
    [[ $stderr == *"cannot find project '$P'"*$'\n'"put it back there, or a symbolic link to it" ]]
    ln -s "$P.moved" "$P"
    ok sync --project n1:fix
    ok land n1:fix
    fails 2 --host n1 sync --project
    [[ $stderr == *'it needs a SESSION'* ]]
}

@test "a squash lands, counts there, and other branches do" {
    new_there
    work c one
    work d two
    ok land n1:fix --squash -m 'Both'
    [ "$(git log -1 --format=%s)" = Both ]
    [ "$(git rev-list --count HEAD)" -eq 2 ]
    work e three
    git branch other
    ok land n1:fix --onto other
    [ "$(git show other:e)" = three ]
    there n1 "$MAS" rm -q fix
}

@test "an exit code that is none of mas does not become that of mas here" {
    n1_does 'case $* in *"carried -- make"*) "'"$MAS"'" --no-such-option "$@"; exit 200 ;; esac'
    fails 1 --host n1 new -q --no-start -t solo --project .
}

@test "objects that git would not take from a stranger do not come" {
    local tree main
    new_there
    cd "$T/n1/root/sessions/$ID/code.git"
    printf '100644 .git\0%b' "$(echo x | git hash-object -w --stdin | sed 's/../\\x&/g')" >"$T/tree"
    tree=$(git hash-object -t tree -w --literally --stdin <"$T/tree")
    main=$(git commit-tree "$tree" -p refs/mas/base -m 'Hostile')
    git update-ref refs/heads/mas/fix/main "$main"
    cd "$P"
    mas land n1:fix
    echo "$status $stderr"
    [ "$status" -eq 1 ]
    [[ $stderr == *"hasDotgit: contains '.git'"* ]]
    run ! git cat-file -e "$main"
    is_whole
}

@test "a machine names only projects that were carried there, and what it says is checked" {
    local words
    new_there
    work c new
    git init -q "$T/other"
    git -C "$T/other" commit -q --allow-empty -m 'Other'
    for words in '"project":"../../../other"' '"project":"other-0123456789abcdef"' '"project":".ssh"' \
        '"label":"../x"' '"onto":"refs/heads/../x"' '"onto":"main"' '"base":"HEAD"' '"main":"--upload-pack=x"' \
        '"sessionId":"../.."'; do
        n1_does 'case $* in *"carried -- show"*) "'"$MAS"'" "$@" | sed "s|\"'"$(cut -d'"' -f2 <<<"$words")"'\":\"[^\"]*\"|'"${words//\"/\\\"}"'|"; exit ;; esac'
        mas land n1:fix
        echo "$words: $status $stderr"
        if [[ $words == *project* ]]; then
            [[ $stderr == *'its project is on another machine'* ]]
        else
            [ "$stderr" = "mas: host 'n1' answers as no mas of this version does" ]
        fi
        [ ! -e c ]
        is_whole
    done
    n1_is_well
    ok land n1:fix
}

@test "a machine names only branches that went there" {
    git branch release
    new_there
    work c new
    n1_does 'case $* in *"carried -- show"*) "'"$MAS"'" "$@" | sed s,refs/heads/main,refs/heads/release,; exit ;; esac'
    fails 4 land n1:fix
    [[ $stderr == *"host 'n1' says that it began at branch 'release', which never went there"*'--onto BRANCH' ]]
    [ "$(git rev-parse release)" = "$(git rev-parse main)" ]
    ok land n1:fix --onto release --dry-run
    n1_is_well
    ok land n1:fix
    is_whole
}

@test "a session of a project from elsewhere does not land there" {
    new_there
    work c new
    run --separate-stderr there n1 "$MAS" land fix
    [ "$status" -eq 4 ]
    [[ $stderr == *"cannot land session 'fix': its project is on another machine, $(hostname):$P"*'land it from there, where this machine is a host' ]]
    rm -r "$(STATE)"
    fails 4 land n1:fix
    [[ $stderr == *'its project is on another machine'* ]]
    [ ! -e c ]
}

@test "a root and a project with blanks, and settings of git that would do more" {
    local of at=$T/'a %S $(touch x) = root'
    cp -r "$ROOT" "$at"
    git clone -q "$P" "$T/my 100% \$shop; x"
    cd "$T/my 100% \$shop; x"
    git config push.followTags true
    git config push.pushOption x
    git tag -am Tag v1
    printf '#!/bin/sh\n: >"%s/ran"\n' "$T" | tee .git/hooks/pre-push .git/hooks/reference-transaction >/dev/null
    chmod +x .git/hooks/*
    MAS_ROOT='' ok --root "$at" --host n1 new -q --no-start -t solo -n fix --project .
    ID=$output
    work c new
    MAS_ROOT='' ok --root "$at" land n1:fix
    [ "$(cat c)" = new ]
    [ ! -e "$T/ran" ]
    [ -z "$(git -C "$T"/n1/root/projects/my*.git tag)" ]
    # what would have git talk to another one, of an address that it knows or of any
    for of in ext:: ''; do
        git config "url.ext::touch $T/ran-instead .insteadOf" "$of"
        git config "url.ext::touch $T/ran-instead .pushInsteadOf" "$of"
        git commit -q --allow-empty -m "More $of"
        MAS_ROOT='' ok --root "$at" --host n1 new -q --no-start -t solo --project .
        [ ! -e "$T/ran-instead" ]
    done
    there n1 "$MAS" rm -q fix
}

@test "agents can neither take a project along nor land it" {
    local words
    new_there
    work c new
    for words in 'land n1:fix' '--host n1 new --project .' "carried show $ID" "carried landed $ID $(git rev-parse HEAD)"; do
        # shellcheck disable=SC2086 # words
        MAS_SOCKET=$T/none mas $words </dev/null
        echo "$words: $status $stderr"
        [ "$status" -ne 0 ]
    done
    [ ! -e c ]
}
