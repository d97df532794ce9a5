#!/usr/bin/env bats
load ../helper

# A project with submodules, and one with git-lfs.

setup_more() {
    git config --global user.name Person
    git config --global user.email person@example.org
    git config --global init.defaultBranch main
    git config --global protocol.file.allow always
    for name in inner outer project; do
        git init -q "$T/$name"
        echo "$name" >"$T/$name/$name"
        git -C "$T/$name" add .
        git -C "$T/$name" commit -qm "$name"
    done
    git -C "$T/outer" submodule --quiet add "$T/inner" in
    git -C "$T/outer" commit -qm in
    P=$T/project
    git -C "$P" submodule --quiet add "$T/outer" lib/out
    git -C "$P" submodule --quiet update --init --recursive
    git -C "$P" commit -qm out
}

make_on() {
    ID=$("$MAS" new -q --no-start -t pair --project "$@") || return
    W=$ROOT/sessions/$ID
}

state() { (cd "$P" && find . -printf '%P %m %T@\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

@test "each work tree gets the files of submodules from the person's checkout, without a network" {
    rm -rf "$T/inner" "$T/outer"
    before=$(state)
    make_on "$P"
    [ "$(state)" = "$before" ]
    for tree in lead view; do
        [ "$(cat "$W/code/$tree/lib/out/outer" "$W/code/$tree/lib/out/in/inner" | xargs)" = 'outer inner' ]
        [ -z "$(git -C "$W/code/$tree" status --porcelain --ignored)" ]
        [ ! -e "$W/code/$tree/lib/out/.git" ]
    done
    echo more >>"$W/code/lead/project"
    git -C "$W/code/lead" add -A
    git -C "$W/code/lead" commit -qm more
    [ "$(git -C "$W/code/lead" diff --name-only HEAD^)" = project ]
    run "$MAS" merge "$ID" lead
    [ "$status" -eq 0 ]
    [ "$(cat "$W/code/view/lib/out/in/inner")" = inner ]
    git -C "$W/code/lead" reset -q --hard HEAD^
    mas diff "$ID" --stat
    [ "$status" -eq 0 ]
}

@test "what is changed in a submodule is work" {
    make_on "$P"
    A=$W/code/lead/lib/out
    echo more >>"$A/in/inner"
    mas rm "$ID"
    [ "$status" -eq 4 ]
    [[ $stderr == *"lead: 1 file changed in submodules: lib/out/in/inner"* ]]
    echo inner >"$A/in/inner"
    echo new >"$A/new"
    mas rm "$ID"
    [ "$status" -eq 4 ]
    [[ $stderr == *"lib/out/new"* ]]
    rm "$A/new"
    mv "$A/in" "$T/in"
    mas rm "$ID"
    [ "$status" -eq 4 ]
    mv "$T/in" "$A/in"
    echo x >"$W/code/view/lib/out/x"
    mas rm "$ID"
    [ "$status" -eq 4 ]
    [[ $stderr == *"view: 1 file changed in submodules: lib/out/x"* ]]
    rm "$W/code/view/lib/out/x"
    mas rm "$ID"
    [ "$status" -eq 0 ]
}

@test "a submodule that is not checked out, or lacks the commit, is refused" {
    git clone -q "$P" "$T/clone"
    before=$(snapshot)
    mas new --no-start -t pair --project "$T/clone"
    [ "$status" -eq 2 ]
    [ "$stderr" = "mas: cannot use project '$T/clone': its submodule 'lib/out' is not checked out
get it there with: git submodule update --init --recursive" ]
    git clone -q --bare "$P" "$T/bare"
    mas new --no-start -t pair --project "$T/bare"
    [ "$status" -eq 2 ]
    [[ $stderr == *"its submodule 'lib/out' needs a work tree of it"* ]]
    git -C "$P/lib/out" submodule --quiet deinit --force in
    mas new --no-start -t pair --project "$P"
    [ "$status" -eq 2 ]
    [[ $stderr == *"its submodule 'lib/out/in' is not checked out"* ]]
    git -C "$P" update-index --cacheinfo "160000,$(git -C "$P" rev-parse HEAD),lib/out"
    git -C "$P" commit -qm wrong
    mas new --no-start -t pair --project "$P"
    [ "$status" -eq 2 ]
    [[ $stderr == *"its submodule 'lib/out' does not have the commit that the project names"* ]]
    [ "$(snapshot)" = "$before" ]
}

@test "a project that keeps files with git-lfs is refused" {
    mkdir "$P/pictures"
    echo '# *.gif filter=lfs' >"$P/pictures/.gitattributes"
    git -C "$P" add pictures
    git -C "$P" commit -qm comment
    make_on "$P"
    echo '*.png filter=lfs diff=lfs merge=lfs -text' >"$P/pictures/.gitattributes"
    git -C "$P" commit -qam lfs
    mas new --no-start -t pair --project "$P"
    [ "$status" -eq 2 ]
    [ "$stderr" = "mas: cannot use project '$P': it keeps files with git-lfs (pictures/.gitattributes), which mas cannot check out" ]
    # the commit counts, not what is checked out
    git -C "$P" tag without HEAD^
    make_on "$P@without"
}

@test "a repository that an agent plants in its work tree runs nothing" {
    make_on "$P"
    A=$W/code/lead
    git init -q "$A/sub"
    echo x >"$A/sub/f"
    git -C "$A/sub" add f
    git -C "$A/sub" commit -qm sub
    git -C "$A" add sub 2>/dev/null
    git -C "$A" commit -qm link
    # shellcheck disable=SC2016 # a script
    printf '#!/bin/sh\necho "$0" >>%s/ran\ncat\n' "$T" >"$T/evil"
    chmod 755 "$T/evil"
    git -C "$A/sub" config filter.f.clean "$T/evil"
    echo '* filter=f' >"$A/sub/.git/info/attributes"
    echo y >"$A/sub/f"
    git -C "$A" status >/dev/null
    [ -e "$T/ran" ] # git alone runs it
    rm "$T/ran"
    for verb in status "diff $ID" "rm $ID" "merge $ID lead" "sync $ID" "rm -f $ID"; do
        # shellcheck disable=SC2086 # words
        mas $verb
        [ ! -e "$T/ran" ]
    done
}
