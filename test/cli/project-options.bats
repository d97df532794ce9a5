#!/usr/bin/env bats
load ../helper

# Where a session's project is named, and --with-changes.

setup_more() {
    git config --global user.name Person
    git config --global user.email person@example.org
    git config --global init.defaultBranch main
    for name in one two three; do
        git init -q "$T/$name"
        echo "$name" >"$T/$name/name"
        git -C "$T/$name" add .
        git -C "$T/$name" commit -qm "$name"
    done
    P=$T/one
}

# Prints the project of a new session; passes its arguments to `mas new`.
project_of() { jq -r '.project.path // "none"' "$ROOT/sessions/$("$MAS" new -q --no-start "$@")/config.json"; }

# Prints tree, index and everything else of the project, to compare before and after.
state() {
    (cd "$P" && find . -printf '%P %m %T@ %l\n' | sed -E '/objects/d' | sort
        find . -type f ! -path '*/objects/*' -print0 | sort -z | xargs -0 sha256sum)
}

@test "an option comes before the environment, and that before the template" {
    sed -i '/^\[template\]/a project = '"$T/three" "$ROOT/templates/pair/template.ini"
    [ "$(project_of -t pair)" = "$T/three" ]
    [ "$(MAS_PROJECT=$T/two project_of -t pair)" = "$T/two" ]
    [ "$(MAS_PROJECT=$T/two project_of -t pair --project "$T/one")" = "$T/one" ]
    [ "$(MAS_PROJECT='' project_of -t pair)" = "$T/three" ]
    [ "$(project_of -t solo)" = none ]
    git -C "$T/two" branch side
    [ "$(MAS_PROJECT=$T/two@side project_of -t solo)" = "$T/two" ]
    # a session keeps its project when the template names another one
    run "$MAS" template check pair
    [ "$status" -eq 0 ]
}

@test "inside of a team MAS_PROJECT is that team's, and not for a new one" {
    [ "$(MAS_SESSION_ID=8106d24d-211f-4c5e-a99a-940bac17a221 MAS_PROJECT=$T/two project_of -t solo)" = none ]
}

@test "a template names its project by an absolute path" {
    sed -i '/^\[template\]/a project = ../one' "$ROOT/templates/pair/template.ini"
    mas new --no-start -t pair
    [ "$status" -eq 5 ] || [ "$status" -eq 1 ]
    [[ $stderr == *"'../one' is not an absolute path"* ]]
    mas template check pair
    [ "$status" -ne 0 ]
}

@test "a project is refused in legacy mode" {
    before=$(snapshot)
    fails 2 new --no-start -t solo --mode legacy --project "$P"
    [ "$stderr" = "mas: cannot use project '$P' in legacy mode: a legacy session has no workspace of its own
use --mode isolated" ]
    run --separate-stderr env MAS_PROJECT="$P" "$MAS" new --no-start -t solo --mode legacy
    [ "$status" -eq 2 ]
    [ "$(snapshot)" = "$before" ]
}

@test "--with-changes begins with a commit of what is changed, and leaves the project alone" {
    cd "$P"
    printf 'x\n' >gone
    printf 'x\ny\nz\n' >renamed
    printf 'x\n' >staged
    printf 'x\n' >both
    printf '#!/bin/sh\n' >mode
    ln -s name link
    mkdir dir
    echo x >dir/file
    echo '*.o' >.gitignore
    git add .
    git commit -qm more
    base=$(git rev-parse HEAD)
    rm gone
    git mv renamed moved
    echo staged >>staged
    git add staged
    echo staged >>both
    git add both
    echo tree >>both
    chmod +x mode
    ln -sfn mode link
    rm -r dir
    ln -s name dir
    echo added >added
    git add added
    echo intended >intended
    git add -N intended
    echo untracked >untracked
    echo ignored >a.o
    # the same size and time as what is committed
    touch -d '2001-01-01' name
    git update-index --refresh >/dev/null || true
    wanted=$(GIT_INDEX_FILE=$T/index sh -c 'cp .git/index "$GIT_INDEX_FILE" && git add -u && git write-tree')
    before=$(state)
    cd "$T/.outside/here"
    mas new -q --no-start -t pair --project "$P" --with-changes
    [ "$status" -eq 0 ] || { echo "$stderr"; false; }
    W=$ROOT/sessions/$output
    [ "$(state)" = "$before" ]
    G=$W/code.git
    [ "$(GIT_DIR=$G git rev-parse 'HEAD^{tree}')" = "$wanted" ]
    [ "$(GIT_DIR=$G git rev-parse 'HEAD^')" = "$base" ]
    [ "$(GIT_DIR=$G git rev-parse refs/mas/base)" = "$base" ]
    [ "$(GIT_DIR=$G git log -1 --format='%an <%ae> %s')" = "Person <person@example.org> Uncommitted changes of $P" ]
    [ "$(git -C "$W/code/lead" rev-parse HEAD)" = "$(GIT_DIR=$G git rev-parse HEAD)" ]
    [ -z "$(git -C "$W/code/lead" status --porcelain --ignored)" ]
    [ "$(cat "$W/code/lead/both")" = "$(printf 'x\nstaged\ntree')" ]
    [ -x "$W/code/lead/mode" ]
    [ "$(readlink "$W/code/lead/link")" = mode ]
    [ ! -e "$W/code/view/dir" ] # a link that is not tracked
    [ ! -e "$W/code/lead/gone" ]
    [ ! -e "$W/code/lead/renamed" ]
    [ "$(cat "$W/code/lead/moved" "$W/code/lead/added" "$W/code/lead/intended")" = "$(printf 'x\ny\nz\nadded\nintended')" ]
    [ ! -e "$W/code/lead/untracked" ]
    [ ! -e "$G/changes-index" ]
    GIT_DIR=$G git fsck --strict
    # the project still has these changes, so they are no work that could be lost
    ok rm "${W##*/}"
    [ "$(state)" = "$before" ]
}

@test "--with-changes of a clean project makes no commit, and takes a split index" {
    ok new -q --no-start -t solo --project "$P" --with-changes
    [ "$(GIT_DIR=$ROOT/sessions/$output/code.git git rev-parse HEAD)" = "$(git -C "$P" rev-parse HEAD)" ]
    echo more >>"$P/name"
    git -C "$P" update-index --split-index
    ok new -q --no-start -t solo --project "$P" --with-changes
    [ "$(GIT_DIR=$ROOT/sessions/$output/code.git git show HEAD:name | xargs)" = 'one more' ]
    [ -z "$(find "$ROOT/sessions/$output/code.git" -name 'sharedindex*')" ]
}

@test "--with-changes is refused where there are none to take" {
    before=$(snapshot)
    fails 2 new --no-start -t solo --with-changes
    [ "${stderr_lines[0]}" = "mas: cannot use --with-changes without a project" ]
    git clone -q --bare "$P" "$T/bare"
    fails 2 new --no-start -t solo --with-changes --project "$T/bare"
    [ "$stderr" = "mas: cannot use --with-changes: project '$T/bare' has no work tree" ]
    git -C "$P" branch side
    git -C "$P" commit -q --allow-empty -m more
    fails 2 new --no-start -t solo --with-changes --project "$P@side"
    [[ $stderr == "mas: cannot take changes of project '$P': they belong to the commit that is checked out there"* ]]
    git -C "$P" checkout -q side
    echo a >"$P/name"
    git -C "$P" commit -qam a
    git -C "$P" checkout -qB other main
    echo b >"$P/name"
    git -C "$P" commit -qam b
    git -C "$P" merge -q side >/dev/null || true
    fails 2 new --no-start -t solo --with-changes --project "$P"
    [[ $stderr == "mas: cannot take changes of project '$P': it has files in conflict"* ]]
    [ "$(snapshot)" = "$before" ]
}

@test "--with-changes runs nothing of a project or its submodules" {
    git config --global protocol.file.allow always
    git -C "$P" submodule --quiet add "$T/two" sub
    git -C "$P" commit -qm sub
    # shellcheck disable=SC2016 # a script
    printf '#!/bin/sh\necho "$0" >>%s/ran\ncat\n' "$T" >"$T/evil"
    chmod 755 "$T/evil"
    for dir in "$P" "$P/sub"; do
        for key in core.fsmonitor filter.f.clean filter.f.process diff.external; do
            git -C "$dir" config "$key" "$T/evil"
        done
        echo '* filter=f' >"$dir/.gitattributes"
    done
    echo more >>"$P/name"
    touch "$P/sub/name" "$P/.gitmodules"
    mas new -q --no-start -t solo --project "$P" --with-changes
    [ ! -e "$T/ran" ]
}
