#!/usr/bin/env bats
load ../helper

# A hostile project: nothing of it runs. And a `mas new` that is killed or fails: nothing of it stays.

setup_more() {
    git config --global user.name Person
    git config --global user.email person@example.org
    git config --global init.defaultBranch main
    P=$T/project
    git init -q "$P"
    mkdir "$P/src"
    for name in a b c; do seq 1 50 >"$P/src/$name"; done
    git -C "$P" add .
    git -C "$P" commit -qm Begin
}

# A program that leaves the file $T/ran.
plant() {
    # shellcheck disable=SC2016 # a script
    printf '#!/bin/sh\necho "$0 $*" >>%s/ran\nexit 0\n' "$T" >"$1"
    chmod 755 "$1"
}

# Nothing of a session is left but what was there.
nothing_left() { [ -z "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 ! -name '.sessions.*')" ]; }

@test "nothing that a project names is run by new, list, status, show, diff, merge, sync, doctor and rm" {
    mkdir "$T/evil"
    printf '%s\n' 'src/a filter=f diff=d merge=m' 'src/b filter=p diff=d merge=m' '* merge=m diff=d' \
        >"$P/.gitattributes"
    printf '[submodule "x"]\n\tpath = ../../x\n\turl = -u%s/evil/run\n\tupdate = !%s/evil/run\n' \
        "$T" "$T" >"$P/.gitmodules"
    mkdir "$P/.mas"
    plant "$P/.mas/setup"
    git -C "$P" add .
    git -C "$P" commit -qm Evil
    for hook in pre-commit post-checkout post-commit reference-transaction post-index-change \
        post-merge pre-auto-gc fsmonitor-watchman sendemail-validate post-rewrite; do
        plant "$P/.git/hooks/$hook"
    done
    plant "$T/evil/run"
    plant "$T/evil/git-remote-evil"
    printf '[alias]\n\tstatus = !%s/evil/run alias\n[diff "d"]\n\ttextconv = %s/evil/run included\n' \
        "$T" "$T" >"$T/evil/config"
    (
        cd "$P"
        git config core.fsmonitor "$T/evil/run"
        git config core.sshCommand "$T/evil/run"
        git config core.gitProxy "$T/evil/run"
        git config core.askPass "$T/evil/run"
        git config core.editor "$T/evil/run"
        git config core.pager "$T/evil/run"
        git config core.alternateRefsCommand "$T/evil/run"
        git config credential.helper "$T/evil/run"
        git config gpg.program "$T/evil/run"
        git config commit.gpgSign true
        git config include.path "$T/evil/config"
        git config diff.external "$T/evil/run"
        git config diff.d.command "$T/evil/run"
        git config diff.d.textconv "$T/evil/run"
        git config merge.m.driver "$T/evil/run %A"
        git config merge.default m
        git config remote.origin.url "ext::$T/evil/run"
        git config uploadpack.packObjectsHook "$T/evil/run"
        for filter in f lfs; do
            git config "filter.$filter.clean" "$T/evil/run"
            git config "filter.$filter.smudge" "$T/evil/run"
        done
        git config filter.p.process "$T/evil/run"
        git config filter.p.required true
        cp .gitattributes .git/info/attributes
    )
    rm -f "$T/ran"
    # the plants are alive: git itself runs some of them
    (cd "$P" && git status >/dev/null 2>&1 || true)
    [ -s "$T/ran" ]
    rm -f "$T/ran"
    ok new -q --no-start -t pair --project "$P"
    id=$output
    W=$ROOT/sessions/$id
    [ "$(sort -u "$W/code/lead/.gitattributes" | wc -l)" -eq 3 ]
    echo 51 >>"$W/code/lead/src/a"
    for verb in list status "show $id" "diff $id" "diff $id --stat"; do
        # shellcheck disable=SC2086 # words
        ok $verb
        [ ! -e "$T/ran" ]
    done
    sed -i 's/^1$/one/' "$W/code/lead/src/b"
    git -C "$W/code/lead" commit -qam work
    GIT_DIR=$W/code.git git update-ref "refs/heads/mas/${id:0:8}/main" "$(
        cd "$P" && export GIT_INDEX_FILE=$T/index GIT_DIR=$W/code.git
        git read-tree 'main^{tree}'
        git update-index --cacheinfo "100644,$(seq 1 60 | git hash-object -w --stdin),src/b"
        git commit-tree "$(git write-tree)" -p refs/mas/base -m other
    )"
    for verb in "merge $id lead" "sync $id" "sync $id --project" "doctor" "du"; do
        # shellcheck disable=SC2086 # words
        mas $verb
        [ ! -e "$T/ran" ]
    done
    [ "$(GIT_DIR=$W/code.git git log --format=%s "mas/${id:0:8}/main" | sort | xargs)" != '' ]
    fails 4 rm "$id"
    ok rm -f "$id"
    [ ! -e "$T/ran" ]
}

@test "a configuration of the user that names programs runs none of them" {
    plant "$T/evil"
    git config --global core.fsmonitor "$T/evil"
    git config --global core.hooksPath "$T"
    git config --global filter.f.smudge "$T/evil"
    git config --global init.templateDir "$T/templates"
    git config --global commit.gpgSign true
    git config --global gpg.program "$T/evil"
    mkdir -p "$T/templates/hooks"
    plant "$T/templates/hooks/post-checkout"
    plant "$T/reference-transaction"
    ok new -q --no-start -t pair --project "$P"
    [ ! -e "$T/ran" ]
    [ ! -e "$ROOT/sessions/$output/code/lead/.git/hooks" ]
}

@test "killed at any time, new leaves a whole session or nothing that the next one does not remove" {
    before=$(cd "$P" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
    for delay in 0.005 0.01 0.02 0.03 0.04 0.05 0.06 0.08 0.1 0.12 0.15 0.2 0.3; do
        "$MAS" new -q --no-start -t pair --project "$P" >/dev/null 2>&1 &
        pid=$!
        sleep "$delay"
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" || true
        for dir in "$ROOT"/sessions/*-*-*/; do
            [ -d "$dir" ] || continue
            git -C "$dir/code/lead" status --porcelain
            [ -z "$(git -C "$dir/code/lead" status --porcelain)" ]
            GIT_DIR=$dir/code.git git fsck --strict --no-dangling
        done
    done
    run "$MAS" doctor --fix
    [ -z "$(find "$ROOT/sessions" -maxdepth 1 -name '.new-*' -o -maxdepth 1 -name '.trash-*')" ]
    [ "$(cd "$P" && find . -type f -print0 | sort -z | xargs -0 sha256sum)" = "$before" ]
    for id in $("$MAS" list -q); do "$MAS" rm -q "$id"; done
    nothing_left
    git -C "$P" fsck
}

@test "a git that outlives a killed new is ended by the kernel" {
    mkdir "$T/bin"
    printf '#!/bin/sh\ncase "$*" in *read-tree*) echo $$ >%s/pid; exec sleep 60 ;; esac\nexec %s "$@"\n' \
        "$T" "$(command -v git)" >"$T/bin/git"
    chmod 755 "$T/bin/git"
    PATH=$T/bin:$PATH "$MAS" new -q --no-start -t pair --project "$P" 3>&- &
    pid=$!
    eventually test -s "$T/pid"
    kill -KILL "$pid"
    wait "$pid" || true
    # shellcheck disable=SC2317 # called by eventually
    ended() { ! kill -0 "$(cat "$T/pid")" 2>/dev/null; }
    eventually ended
    mas doctor --fix
    nothing_left
}

@test "a full disk makes new fail whole, at any place" {
    head -c 300000 /dev/urandom >"$P/big"
    git -C "$P" add big
    git -C "$P" commit -qm big
    for blocks in 1 4 40 200; do
        run --separate-stderr bash -c "ulimit -f $blocks; exec '$MAS' new -q --no-start -t pair --project '$P'"
        [ "$status" -eq 1 ]
        [[ $stderr == "mas: "* ]] || { echo "said: $stderr"; false; }
        nothing_left
    done
    ok new -q --no-start -t pair --project "$P"
    cmp "$P/big" "$ROOT/sessions/$output/code/lead/big"
}

@test "a git that fails makes new fail whole, with its words" {
    mkdir "$T/bin"
    for verb in rev-parse read-tree ls-tree; do
        printf '#!/bin/sh\ncase "$*" in *%s*) echo "fatal: no $$ %s" >&2; exit 128 ;; esac\nexec %s "$@"\n' \
            "$verb" "$verb" "$(command -v git)" >"$T/bin/git"
        chmod 755 "$T/bin/git"
        run --separate-stderr env PATH="$T/bin:$PATH" "$MAS" new -q --no-start -t pair --project "$P"
        [ "$status" -ne 0 ]
        [[ $stderr == "mas: "*"$verb"* ]]
        nothing_left
    done
}
