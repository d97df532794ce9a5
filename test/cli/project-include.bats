#!/usr/bin/env bats
load ../helper

# .worktreeinclude: ignored files of the project that each new work tree gets.

setup_more() {
    git config --global user.name Person
    git config --global user.email person@example.org
    git config --global init.defaultBranch main
    P=$T/project
    git init -q "$P"
    cd "$P" || return
    printf '.env\nbuild/\n*.key\nlink\n' >.gitignore
    echo a >a
    git add .
    git commit -qm Begin
    mkdir -p build/deep sub
    printf 'SECRET=1\n' >.env
    printf 'SECRET=2\n' >sub/.env
    printf '#!/bin/sh\n' >build/deep/tool
    chmod 700 build/deep/tool
    echo junk >build/junk
    echo untracked >loose
    cd "$T/.outside/here" || return
}

make_on() {
    ID=$("$MAS" new -q --no-start -t "${2:-pair}" --project "$1") || return
    W=$ROOT/sessions/$ID
}

refused() {
    fails 2 new --no-start -t pair --project "$P"
    # shellcheck disable=SC2053 # a pattern
    [[ $stderr == "mas: cannot copy "$1 ]] || { echo "said: $stderr"; return 1; }
    [ -z "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 ! -name '.sessions.*')" ]
}

@test "ignored files that .worktreeinclude names are copied to each new work tree" {
    printf '# comment\n.env\n/build/*\n!/build/junk\nloose\n/etc/passwd\n' >"$P/.worktreeinclude"
    sed -i 's/^code = view/code = worktree/' "$ROOT/templates/pair/template.ini"
    make_on "$P"
    for agent in lead reviewer; do
        cmp "$P/.env" "$W/code/$agent/.env"
        cmp "$P/sub/.env" "$W/code/$agent/sub/.env"
        [ "$(stat -c %a "$W/code/$agent/build/deep/tool")" = 700 ]
        [ ! -e "$W/code/$agent/build/junk" ]
        # not ignored there, so an agent would commit it
        [ ! -e "$W/code/$agent/loose" ]
        [ ! -e "$W/code/$agent/etc" ]
        [ -z "$(git -C "$W/code/$agent" status --porcelain)" ]
    done
    [ "$(wc -l <"$W/code.git/placed/lead")" -eq 3 ]
    # no secret becomes an object
    run ! env GIT_DIR="$W/code.git" git cat-file -e "$(git hash-object "$P/.env")"
    ok rm "$ID"
}

@test "what mas copied is no work until it is changed" {
    echo .env >"$P/.worktreeinclude"
    make_on "$P" solo
    A=$W/code/solo
    echo more >"$A/my.key"
    fails 4 rm "$ID"
    [[ $stderr == *"1 file ignored by git: my.key"* ]]
    mv "$A/my.key" "$A/\"my.key" # git takes a quote in front for one around the name
    fails 4 rm "$ID"
    [[ $stderr == *'1 file ignored by git: "my.key'* ]]
    rm "$A/\"my.key"
    # the same size and time
    touch -r "$A/.env" "$T/time"
    printf 'SECRET=9\n' >"$A/.env"
    touch -r "$T/time" "$A/.env"
    fails 4 rm "$ID"
    [[ $stderr == *"1 file ignored by git: .env"* ]]
    cp "$P/.env" "$A/.env"
    mv "$A/sub/.env" "$A/sub/other.key"
    fails 4 rm "$ID"
    [[ $stderr == *"1 file ignored by git: sub/other.key"* ]]
    rm "$A/sub/other.key"
    rm "$A/.env"
    ln -s "$P/.env" "$A/.env"
    fails 4 rm "$ID"
    rm "$A/.env"
    mkfifo "$A/.env"
    run timeout 20 "$MAS" rm "$ID"
    [ "$status" -ne 124 ]
    rm -f "$A/.env"
    [ "$status" -eq 0 ] || "$MAS" rm -q "$ID"
}

@test "a damaged record makes all of them work" {
    echo .env >"$P/.worktreeinclude"
    make_on "$P" solo
    printf '%s' "$(head -c 30 "$W/code.git/placed/solo")" >"$W/code.git/placed/solo"
    fails 4 rm "$ID"
    [[ $stderr == *"2 files ignored by git: .env, sub/.env"* ]]
}

@test "patterns and files that lead out are refused" {
    echo '../*' >"$P/.worktreeinclude"
    refused "'.worktreeinclude' of project '$P': a pattern in it holds '..'"
    echo 'sub/../../x' >"$P/.worktreeinclude"
    refused "'.worktreeinclude' of project *"
    rm "$P/.worktreeinclude"
    echo '.env' >"$T/list"
    ln -s "$T/list" "$P/.worktreeinclude"
    refused "'.worktreeinclude' of project *"
    rm "$P/.worktreeinclude"
    ln -s /etc/passwd "$P/link"
    echo link >"$P/.worktreeinclude"
    refused "'link' of project '$P': it is a symbolic link"
    rm "$P/link"
    # a link to a directory is one file to git, and its contents are none
    mkdir "$T/out"
    echo x >"$T/out/a.key"
    ln -s "$T/out" "$P/way"
    echo '*.key' >"$P/.worktreeinclude"
    make_on "$P"
    [ ! -e "$W/code/lead/way" ]
}

@test "too many files or bytes, a file of another kind and a repository are refused" {
    echo '.env' >"$P/.worktreeinclude"
    head -c 70000000 /dev/zero >"$P/.env"
    refused "'.env' of project '$P': *"
    rm "$P/.env"
    mkdir "$P/build/many"
    (cd "$P/build/many" && seq 1 10001 | xargs touch)
    echo 'build/many/' >"$P/.worktreeinclude"
    refused "'.worktreeinclude' of project '$P': it names more than 10000 files"
    rm -r "$P/build/many"
    git init -q "$P/build/many"
    echo x >"$P/build/many/x"
    refused "'build/many/' of project '$P': it is a repository"
    rm -r "$P/build/many"
    printf 'x' >"$P/build/"$'new\nline'
    echo 'build/*' >"$P/.worktreeinclude"
    refused "'build/new*line' of project '$P': its name holds a newline"
}

@test "what only the person's own git ignores is copied, and ignored there; a line that names nothing is said" {
    mkdir -p "$T/config"
    printf 'mine.*\n' >"$T/config/ignore"
    git config --global core.excludesFile "$T/config/ignore"
    echo '/odd \[name\]*' >>"$P/.git/info/exclude"
    echo secret >"$P/mine.env"
    echo secret >"$P/odd [name] *"
    printf '.env\nmine.env\nnowhere*\nloose\n/odd*\n' >"$P/.worktreeinclude"
    ok new -q --no-start -t pair --project "$P"
    ID=$output W=$ROOT/sessions/$output
    [ "$stderr" = "mas: warning: .worktreeinclude names nothing that git ignores with: nowhere*
mas: warning: .worktreeinclude names nothing that git ignores with: loose" ]
    [ "$(cat "$W/code/lead/mine.env" "$W/code/lead/odd [name] *")" = $'secret\nsecret' ]
    git config --global --unset core.excludesFile # an agent may have another home
    [ -z "$(git -C "$W/code/lead" status --porcelain)" ]
    [[ $("$MAS" diff "$ID") == *'0 ahead, 0 behind, 0 files not committed' ]]
    echo changed >>"$W/code/lead/mine.env"
    fails 4 rm "$ID"
    [[ $stderr == *'mine.env'* && $stderr != *odd* ]]
}
