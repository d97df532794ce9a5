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
    local bare before inode
    new_there
    bare=$(echo "$T"/n1/root/projects/project-*.git)
    before=$(find "$bare/objects" -type f | sort)
    inode=$(stat -c %i "$bare/config")
    ok new --host n1 -q --no-start -t solo -n again --project=./.
    [ "$(find "$bare/objects" -type f | sort)" = "$before" ]
    [ "$(stat -c %i "$bare/config")" = "$inode" ]
    cp "$bare/config" "$T/config"
    echo x >>"$bare/config" # somebody there has changed it
    echo more >a
    git commit -qam 'More'
    ok --host n1 new -q --no-start -t solo -n third --project "../${P##*/}"
    ID=$output
    cmp "$bare/config" "$T/config"
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
    touch loose "$(printf 'odd\nname')"
    ok --host n1 new -q --no-start -t solo --project .
    echo "$stderr"
    [[ $stderr == *'what is changed and not committed is not taken along: a'* ]]
    [[ $stderr == *"what git does not know is not taken along: loose, 'odd\x0aname'"* ]]
    [[ $stderr != *worktreeinclude* ]]
    ID=$output
    [ "$(cat "$(far_tree)/a")" = a ]
    fails 2 --host n1 new -q --no-start -t solo --with-changes --project .
    [[ $stderr == *'cannot use --with-changes'*'commit them first'* ]]
    git clone -q --depth 1 "file://$P" "$T/shallow"
    fails 2 --host n1 new -q --no-start -t solo --project "../shallow"
    [[ $stderr == *'it is a shallow clone'* ]]
    [ "$(there n1 "$MAS" list -q | wc -l)" -eq 1 ]
}

# A project with files that git ignores.
with_secrets() {
    printf '.env\n*.key\n' >.gitignore
    printf '.env\n/deep/*\nmine\n' >.worktreeinclude
    git add .gitignore .worktreeinclude
    git commit -qm 'Ignore some'
    echo mine >>.git/info/exclude
    mkdir deep
    echo SECRET=1 >.env
    printf '#!/bin/sh\n' >deep/tool.key
    chmod 700 deep/tool.key
    echo of-the-user >mine
    echo not-named >other.key
}

# Nothing of them is anywhere but in the checkout and in the agents' directories.
no_secret_left() {
    local files
    eventually nothing_held
    files=$(grep -rlI --exclude-dir="${P##*/}" -e SECRET=1 "$T" || :)
    [ "$files" = "${1:-}" ] || { echo "has it: $files"; return 1; }
    run ! git -C "$T"/n1/root/projects/project-*.git cat-file -e "$(git hash-object .env)"
}
nothing_held() { [ -z "$(find "$T/n1/root/projects" -name '.files-*')" ]; }

@test "what .worktreeinclude names goes along where that is allowed, and stays nowhere else" {
    with_secrets
    ok --host n1 new -q --no-start -t solo --project .
    ID=$output
    [ "$stderr" = 'mas: warning: what .worktreeinclude names is not taken along: .env, deep/tool.key, mine; it goes with: --with-included' ]
    [ ! -e "$(far_tree)/.env" ]
    no_secret_left
    ok --host n1 new -q --no-start -t solo -n fix --project . --with-included
    ID=$output
    [ -z "$stderr" ]
    cmp .env "$(far_tree)/.env"
    cmp mine "$(far_tree)/mine"
    [ "$(stat -c %a "$(far_tree)/deep/tool.key")" = 700 ]
    [ ! -e "$(far_tree)/other.key" ]
    [ -z "$(git -C "$(far_tree)" status --porcelain)" ]
    [ "$(wc -l <"$T/n1/root/sessions/$ID/code.git/placed/solo")" -eq 3 ]
    no_secret_left "$(far_tree)/.env"
    # it is no work there until it is changed, and with an id that a person gives
    there n1 "$MAS" rm -q fix
    rm .env mine deep/tool.key
    ok --host n1 new -q --no-start -t solo --project . --with-included --id 11111111-2222-4333-8444-555555555555
    [ "$output" = 11111111-2222-4333-8444-555555555555 ]
    fails 2 --host n1 new -q --no-start -t solo --project . --with-included --id x
}

@test "a person is shown what .worktreeinclude names, and says yes or not" {
    local said
    with_secrets
    on_screen() { tm capture-pane -p -t "=$1:" | grep -qF "$2"; }
    asks() {
        tm new-session -d -s "$1" -x 150 -y 40 -c "$P" "sh -c '\"\$0\" --host n1 new --no-start -t solo -n $1 --project .; echo code \$?; exec sleep 1000' $MAS"
        eventually on_screen "$1" '[y/n]'
    }
    asks yes
    on_screen yes '  | .env (9 bytes)' || on_screen yes '  | .env (9'
    on_screen yes "May they go to host 'n1'?"
    tm send-keys -t =yes: y Enter
    eventually on_screen yes 'code 0'
    ID=$(there n1 "$MAS" list -q)
    cmp .env "$(far_tree)/.env"
    no_secret_left "$(far_tree)/.env"
    there n1 "$MAS" rm -q yes
    asks enter
    tm send-keys -t =enter: Enter
    eventually on_screen enter 'code 0'
    on_screen enter 'it goes with: --with-included'
    no_secret_left
}

@test "what git ignores stays nowhere on another machine where no session comes of it" {
    local step pid
    with_secrets
    ok --host n1 new -q --no-start -t solo -n fix --project .
    # the session is refused there
    fails 4 --host n1 new -q --no-start -t solo -n fix --project . --with-included
    no_secret_left
    # it is killed there, or never begins
    for step in 'kill -9 $$' 'exit 1' 'rm "$HOME"/../root/projects/.files-*'; do
        n1_does 'case $* in *" new "*) '"$step"' ;; esac'
        mas --host n1 new -q --no-start -t solo --project . --with-included
        echo "$step: $status $stderr"
        [ "$status" -ne 0 ]
        no_secret_left
    done
    [[ $stderr == *'cannot use --with-included: the files that git ignores have not come'* ]]
    # what brings them is killed there: the next one removes them
    n1_does 'case $* in *"carried put"*) "'"$MAS"'" "$@" <&0 & echo $! >"'"$T/putter"'"; wait; exit ;; *" new "*) kill -9 "$(cat "'"$T/putter"'")"; exit 1 ;; esac'
    mas --host n1 new -q --no-start -t solo --project . --with-included 3>&-
    [ "$status" -ne 0 ]
    n1_is_well
    ok --host n1 new -q --no-start -t solo --project .
    no_secret_left
    # mas here is killed
    n1_does 'case $* in *" new "*) echo $$ >"'"$T/there"'"; exec sleep 1000 ;; esac'
    "$MAS" --host n1 new -q --no-start -t solo --project . --with-included >/dev/null 2>&1 3>&- &
    pid=$!
    eventually test -s "$T/there"
    run ! nothing_held
    kill -9 "$pid" && kill "$(cat "$T/there")"
    wait "$pid" || :
    no_secret_left
    [ "$(there n1 "$MAS" list -q | wc -l)" -eq 2 ]
}

@test "what comes as files that git ignores is checked" {
    local id=11111111-2222-4333-8444-555555555555 sum text put names
    put() { there n1 "$MAS" carried put "$id" "${2-${#1}}" "${3-$(printf %s "$1" | sha256sum | cut -d' ' -f1)}" <<<"$1"; }
    new_there
    for names in "$id 9x $(printf x | sha256sum | cut -c-64)" "$id 400000000 $(printf x | sha256sum | cut -c-64)" "../x 1 $(printf x | sha256sum | cut -c-64)" "$id 1 x"; do
        # shellcheck disable=SC2086 # words
        run -2 there n1 "$MAS" carried put $names </dev/null
    done
    run -5 put abc 3 "$(printf x | sha256sum | cut -c-64)"
    run -1 put abc 100
    nothing_held
    run -0 put abc
    nothing_held
}

@test "what is big goes on behind what came before the connection was lost" {
    local size bare x=0
    head -c 10000000 /dev/urandom >big
    git add big
    git commit -qm 'Something big'
    # the link is cut after 4.5 MB, and again after 2 more
    for size in 4500000 2000000; do
        n1_does 'case $* in *"carried append"*) head -c '$size' | "'"$MAS"'" "$@"; kill -9 $$ ;; *" new "*) exit 1 ;; esac'
        mas --host n1 new -q --no-start -t solo --project .
        echo "$status $stderr"
        [ "$status" -eq 12 ]
        [[ $stderr == *'what has come there stays; run it again to go on' ]]
        x=$((x + size))
        [ "$(stat -c %s "$T"/n1/root/projects/project-*.git/incoming-*)" -eq "$x" ]
    done
    n1_does 'case $* in *"carried append"*) tee >(wc -c >"'"$T/came"'") | "'"$MAS"'" "$@"; exit ;; *"carried receive"*) : >"'"$T/pushed"'" ;; esac'
    new_there
    cmp big "$(far_tree)/big"
    eventually test -s "$T/came"
    [ "$(cat "$T/came")" -lt 4000000 ]
    bare=$(echo "$T"/n1/root/projects/project-*.git)
    [ -z "$(find "$bare" -name 'incoming-*')$(find "$(STATE)" -name '*.pack')" ]
    [ "$(git -C "$bare" count-objects -v | sed -n 's/^size-pack: //p')" -lt 10300 ]
    git -C "$bare" rev-list --objects --quiet --all
    # what comes next is small, and goes as ever; what is there already goes not at all
    echo more >a
    git commit -qam 'More'
    rm "$T/came" "$T/pushed"
    ok --host n1 new -q --no-start -t solo --project .
    [ -e "$T/pushed" ]
    [ ! -e "$T/came" ]
    rm "$T/pushed"
    ok --host n1 new -q --no-start -t solo --project .
    [ ! -e "$T/pushed" ]
}

@test "a big pack that is damaged on its way, or is another one by now, is not taken" {
    local bare
    head -c 10000000 /dev/urandom >big
    git add big
    git commit -qm 'Something big'
    n1_does 'case $* in *"carried append"*) head -c 4500000 | tr "\0" "\1" | "'"$MAS"'" "$@"; exit ;; esac'
    fails 1 --host n1 new -q --no-start -t solo --project .
    n1_is_well
    fails 5 --host n1 new -q --no-start -t solo --project .
    bare=$(echo "$T"/n1/root/projects/project-*.git)
    [ -z "$(find "$bare" -name 'incoming-*')$(git -C "$bare" for-each-ref)" ]
    # the next one begins again; it is made anew for another commit
    n1_does 'case $* in *"carried append"*) head -c 4500000 | "'"$MAS"'" "$@"; exit ;; esac'
    fails 1 --host n1 new -q --no-start -t solo --project .
    n1_is_well
    echo more >a
    git commit -qam 'More'
    new_there
    cmp big "$(far_tree)/big"
    [ "$(cat "$(far_tree)/a")" = more ]
    [ -z "$(find "$bare" -name 'incoming-*')$(find "$(STATE)" -name '*.pack')" ]
    for x in "../x $(printf x | sha256sum | cut -c-64)" "${bare##*/} x" "project $(printf x | sha256sum | cut -c-64) 9 8 $(git rev-parse HEAD)" "project $(printf x | sha256sum | cut -c-64) 1 8 HEAD"; do
        # shellcheck disable=SC2086 # words
        run -2 there n1 "$MAS" carried "$([ "$(wc -w <<<"$x")" -gt 2 ] && echo append || echo begun)" $x </dev/null
    done
}

# A project with a submodule, lib, in which there is another one, lib/in, and one that is not checked out.
with_submodules() {
    local name
    git config --global protocol.file.allow always
    for name in inner outer other; do
        git init -q "$T/$name"
        echo "$name" >"$T/$name/$name"
        git -C "$T/$name" add .
        git -C "$T/$name" commit -qm "$name"
    done
    git -C "$T/outer" submodule --quiet add "$T/inner" in
    git -C "$T/outer" commit -qm in
    git submodule --quiet add "$T/outer" lib
    git submodule --quiet add "$T/other" other
    git submodule --quiet update --init --recursive
    git commit -qm 'Add submodules'
    git submodule --quiet deinit -f other
    rm -r .git/modules/other "$T/inner" "$T/outer" "$T/other"
}

@test "submodules that are checked out here go along, those in them, too" {
    local bare before
    with_submodules
    new_there
    echo "$stderr"
    [ "$stderr" = "mas: warning: submodule 'other' is not checked out in '$P', and is left out" ]
    [ "$(cat "$(far_tree)/lib/outer" "$(far_tree)/lib/in/inner")" = $'outer\ninner' ]
    [ -z "$(git -C "$(far_tree)" status --porcelain --ignored)" ]
    [ -z "$(git -C "$(far_tree)/lib/in" status --porcelain --ignored)" ]
    [ -z "$(ls "$(far_tree)/other")" ]
    [ -z "$(git status --porcelain)$(git -C lib status --porcelain)" ]
    bare=$(echo "$T"/n1/root/projects/project-*.git)
    before=$(find "$bare/objects" -type f | sort)
    ok --host n1 new -q --no-start -t solo -n again --project .
    [ "$(find "$bare/objects" -type f | sort)" = "$before" ]
    there n1 "$MAS" rm -q fix
    there n1 "$MAS" rm -q again
}

@test "an agent that is added there has the submodules, also at commits of the team" {
    local code=$T/n1/root/sessions
    with_submodules
    new_there
    ok add "n1:$ID" --agent shell --as second
    [ -z "$stderr" ]
    [ "$(cat "$code/$ID/code/second/lib/outer" "$code/$ID/code/second/lib/in/inner")" = $'outer\ninner' ]
    echo more >>"$(far_tree)/lib/outer"
    git -C "$(far_tree)/lib" commit -qam outside
    git -C "$(far_tree)" commit -qam 'Move lib'
    there n1 "$MAS" merge -q "$ID" solo
    ok add "n1:$ID" --agent shell --as third
    ok fork "n1:$ID" solo --as fourth
    [ -z "$stderr" ]
    for name in third fourth; do
        [ "$(cat "$code/$ID/code/$name/lib/outer" "$code/$ID/code/$name/lib/in/inner")" = $'outer\nmore\ninner' ]
        [ -z "$(git -C "$code/$ID/code/$name" status --porcelain)" ]
    done
    there n1 "$MAS" rm -qf fix
}

@test "work in submodules lands in their checkouts here, and counts there from then on" {
    local x
    with_submodules
    new_there
    echo more >>"$(far_tree)/lib/in/inner"
    git -C "$(far_tree)/lib/in" commit -qam inside
    echo more >>"$(far_tree)/lib/outer"
    git -C "$(far_tree)/lib" commit -qam outside
    x=$(git -C "$(far_tree)/lib" rev-parse HEAD)
    git -C "$(far_tree)" commit -qam 'Move lib'
    there n1 "$MAS" merge -q "$ID" solo
    run ! there n1 "$MAS" rm -q fix
    ok land n1:fix
    [[ $output == *$'\n'"submodules are at other commits; get their files with: git -C $P submodule update" ]]
    [ "$(git rev-parse HEAD:lib)" = "$x" ]
    git submodule --quiet update --no-fetch --recursive lib
    [ "$(cat lib/outer lib/in/inner)" = $'outer\nmore\ninner\nmore' ]
    [ ! -d "$(STATE)/$ID" ]
    # what is new here goes there, and what came from there is known there
    echo mine >lib/mine
    git -C lib add mine
    git -C lib commit -qm mine
    git commit -qam 'Move lib here'
    ok sync --project n1:fix
    [ "$(cat "$(far_tree)/lib/mine" "$(far_tree)/lib/in/inner")" = $'mine\ninner\nmore' ]
    there n1 "$MAS" rm -q fix
}

@test "a submodule that cannot go along whole is refused, and nothing goes" {
    with_submodules
    git update-index --cacheinfo "160000,$(git rev-parse HEAD),lib"
    git commit -qm 'A commit that is nowhere'
    fails 2 --host n1 new -q --no-start -t solo --project .
    [[ $stderr == *"its submodule 'lib' does not have the commit that the project names"*'git submodule update --init --recursive' ]]
    git reset -q HEAD^
    git -C lib rev-parse HEAD >.git/modules/lib/shallow
    fails 2 --host n1 new -q --no-start -t solo --project .
    [[ $stderr == *"its submodule 'lib' is a shallow clone, which lacks history"*'git -C lib fetch --unshallow' ]]
    [ ! -e "$T/n1/root/projects" ]
    [ ! -e "$(STATE)" ]
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

@test "only what was shown to its end counts as shown, and a note that cannot be read stops a landing" {
    new_there
    work c one
    n1_does 'case $* in *" diff "*) exit 1 ;; esac'
    mas diff n1:fix main
    [ "$status" -ne 0 ]
    n1_is_well
    work c two
    [ ! -e "$(STATE)/$ID/seen" ]
    ok diff n1:fix main
    rm "$(STATE)/$ID/seen"
    mkdir "$(STATE)/$ID/seen"
    mas land n1:fix
    [ "$status" -ne 0 ]
    [[ $stderr == *"cannot tell what was shown in '$(STATE)/$ID'"* ]]
    [ ! -e c ]
    rmdir "$(STATE)/$ID/seen"
    ok land n1:fix
}

@test "a landing that was killed is finished here while the other machine is not reached" {
    local git way
    git=$(command -v git)
    new_there
    for way in fix id; do
        work "c-$way" new
        printf '#!/bin/sh\ncase " $* " in *" read-tree -u -m"*) kill -9 $PPID $$ ;; esac\nexec %s "$@"\n' "$git" >"$T/bin/git"
        chmod +x "$T/bin/git"
        mas land n1:fix
        echo "$way: $status $stderr"
        rm "$T/bin/git"
        [ "$status" -ne 0 ]
        git cat-file -e "HEAD:c-$way"
        [ ! -e "c-$way" ]
        mv "$T/n1/sshd_config" "$T/n1/away"
        close_connections
        fails 12 land n1:fix --dry-run
        [ ! -e "c-$way" ]
        if [ "$way" = fix ]; then fails 12 land n1:fix; else fails 12 land "n1:${ID%%-*}"; fi
        [[ $stderr == *"the landing that was killed is finished here; host 'n1' does not know"*"cannot reach host 'n1'"* ]]
        [ -e "c-$way" ]
        is_whole
        fails 12 land n1:fix
        [[ $stderr != *'was killed'* ]]
        mv "$T/n1/away" "$T/n1/sshd_config"
        run ! there n1 "$MAS" rm -q fix
        ok land n1:fix
        is_whole
    done
    there n1 "$MAS" rm -q fix
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
