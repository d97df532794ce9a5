#!/usr/bin/env bats
load ../helper
load code

# A project that keeps files with git-lfs: pictures/*.png. mas runs no git-lfs; who uses a repository
# does.

setup_more() {
    make_project
    make_trio
    command -v git-lfs >/dev/null
    (
        cd "$P" || exit
        git lfs install --local >/dev/null
        git lfs track 'pictures/*.png' >/dev/null
        mkdir pictures
        head -c 10000000 /dev/urandom >pictures/big.png
        echo first >pictures/small.png
        git add .
        git commit -qm Pictures
    )
    git -C "$P" lfs fsck >/dev/null
    [ "$(git -C "$P" cat-file -s HEAD:pictures/big.png)" -lt 200 ]
    BIG=$(sha_of "$P/pictures/big.png")
}

sha_of() { sha256sum "$1" | cut -c -64; }
# The path of an object in a repository's store.
object() { echo "$1/lfs/objects/${2:0:2}/${2:2:2}/$2"; }
# The text of a pointer to an object of this name and size.
pointer() { printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$1" "$2"; }
make_trio_on() { make_team -t trio "$@"; }

@test "agents find files where the project has pointers, and git and mas find nothing changed" {
    before=$(project_state)
    make_trio_on
    for tree in x y z view; do
        cmp "$P/pictures/big.png" "$C/$tree/pictures/big.png"
        [ "$(cat "$C/$tree/pictures/small.png")" = first ]
        [ -z "$(git -C "$C/$tree" status --porcelain)" ]
    done
    touch "$C/x/pictures/big.png" # its contents are compared
    for verb in "diff $ID x --stat" "rm -n $ID"; do
        # shellcheck disable=SC2086 # words
        mas $verb
        [[ $output$stderr != *pictures* ]]
    done
    [ "$(project_state)" = "$before" ]
    # the session's object is its own: who writes to it does not write to the project's
    [ "$(sha_of "$(object "$G" "$BIG")")" = "$BIG" ]
    [ "$(stat -c %i "$(object "$G" "$BIG")")" != "$(stat -c %i "$(object "$P/.git" "$BIG")")" ]
    ok rm "$ID"
}

@test "what an agent commits with git reaches the others and the project" {
    make_trio_on
    head -c 300000 /dev/urandom >"$C/x/pictures/new.png"
    echo second >"$C/x/pictures/small.png"
    git -C "$C/x" add .
    git -C "$C/x" commit -qm 'New picture'
    new=$(sha_of "$C/x/pictures/new.png") second=$(sha_of "$C/x/pictures/small.png")
    [ -f "$(object "$C/x/.git" "$new")" ]
    [ ! -e "$(object "$G" "$new")" ]
    ok merge "$ID" x
    [ "$(sha_of "$(object "$G" "$new")")" = "$new" ]
    cmp "$C/x/pictures/new.png" "$C/view/pictures/new.png"
    ok sync "$ID"
    cmp "$C/x/pictures/new.png" "$C/y/pictures/new.png"
    [ "$(cat "$C/y/pictures/small.png")" = second ]
    [ -z "$(git -C "$C/y" status --porcelain)" ]
    ok land "$ID"
    cmp "$C/x/pictures/new.png" "$P/pictures/new.png"
    [ "$(cat "$P/pictures/small.png")" = second ]
    [ -z "$(git -C "$P" status --porcelain)" ]
    git -C "$P" lfs fsck
    # git-lfs takes it from the store alone
    rm "$P/pictures/new.png"
    git -C "$P" checkout -q -- pictures/new.png
    [ "$(sha_of "$P/pictures/new.png")" = "$new" ]
    [ -f "$(object "$P/.git" "$second")" ]
    [ -z "$(find "$P/.git/lfs/tmp" "$G/lfs/tmp" -type f)" ]
    whole
    ok rm "$ID"
}

@test "an agent's own git-lfs gets objects from the team's repository" {
    make_trio_on
    rm "$C/y/pictures/big.png"
    git -C "$C/y" checkout -q -- pictures/big.png
    [ "$(sha_of "$C/y/pictures/big.png")" = "$BIG" ]
    echo second >"$C/x/pictures/small.png"
    git -C "$C/x" commit -qam second
    mas merge "$ID" x
    echo y >>"$C/y/a"
    git -C "$C/y" commit -qam y
    mas sync "$ID" y
    git -C "$C/y" fetch -q team
    git -C "$C/y" merge -q --no-edit "team/main"
    [ "$(cat "$C/y/pictures/small.png")" = second ]
    [ -z "$(git -C "$C/y" status --porcelain)" ]
}

@test "diff shows pointers" {
    make_trio_on
    echo second >"$C/x/pictures/small.png"
    ok diff "$ID" x
    [[ $output == *"+oid sha256:$(sha_of "$C/x/pictures/small.png")"* ]]
    [[ $output != *+second* ]]
}

@test "rm refuses changed pictures, and rm -f keeps them in the project and in the archive" {
    make_trio_on
    echo committed >"$C/x/pictures/small.png"
    git -C "$C/x" commit -qam picture
    echo loose >"$C/y/pictures/small.png"
    fails 4 rm "$ID"
    [[ $stderr == *"x: 1 commit of"* ]]
    [[ $stderr == *"y: 1 file not committed: pictures/small.png"* ]]
    ok rm -f "$ID"
    git -C "$P" checkout -q "refs/mas/lost/$ID/x/work"
    [ "$(cat "$P/pictures/small.png")" = committed ]
    git -C "$P" checkout -q "refs/mas/lost/$ID/y/work"
    [ "$(cat "$P/pictures/small.png")" = loose ]
    git -C "$P" checkout -q main
    git -C "$P" lfs fsck
    ok restore "$ROOT/lost/"*"$ID"*
    [ "$(cat "$C/y/pictures/small.png")" = loose ]
    [ "$(cat "$(object "$C/x/.git" "$(sha_of "$C/x/pictures/small.png")")")" = committed ]
}

@test "an archive carries the objects, and what it restores lands" {
    make_trio_on
    echo second >"$C/x/pictures/small.png"
    git -C "$C/x" commit -qam second
    mas merge "$ID" x
    ok archive "$ID" -o "$T/a.tar.zst"
    mas rm -f "$ID"
    ok restore "$T/a.tar.zst"
    [ "$(sha_of "$(object "$G" "$BIG")")" = "$BIG" ]
    ok land "$ID"
    [ "$(cat "$P/pictures/small.png")" = second ]
}

@test "changes of the project that are not committed come along" {
    echo changed >"$P/pictures/small.png"
    before=$(project_state)
    make_trio_on --with-changes
    [ "$(cat "$C/x/pictures/small.png")" = changed ]
    [ -z "$(git -C "$C/x" status --porcelain)" ]
    [ "$(project_state)" = "$before" ]
    [[ $(team_git cat-file blob "refs/mas/changes:pictures/small.png") == version* ]]
}

@test "sync --project brings new pictures of the project" {
    make_trio_on
    echo third >"$P/pictures/small.png"
    git -C "$P" commit -qam third
    ok sync "$ID" --project
    [ "$(cat "$C/x/pictures/small.png")" = third ]
    echo fourth >"$P/pictures/small.png"
    git -C "$P" commit -qam fourth
    rm "$(object "$P/.git" "$(sha_of "$P/pictures/small.png")")"
    rm "$P/pictures/small.png"
    before=$(main_of)
    fails 2 sync "$ID" --project
    [[ $stderr == *"git-lfs has no object for 'pictures/small.png"* ]]
    [ "$(main_of)" = "$before" ]
}

@test "an object that the project lacks, or that is damaged there, is an error with its file" {
    before=$(snapshot)
    file=$(object "$P/.git" "$BIG")
    mv "$file" "$T/kept"
    rm "$P/pictures/big.png"
    fails 2 new -q --no-start -t trio --project "$P"
    [ "${stderr_lines[0]}" = "mas: cannot use project '$P': git-lfs has no object for 'pictures/big.png (${BIG:0:12})'" ]
    [ "${stderr_lines[1]}" = 'get it there with: git lfs pull' ]
    [ "$(snapshot)" = "$before" ]
    # the same size, other bytes
    head -c 10000000 /dev/zero >"$file"
    fails 2 new -q --no-start -t trio --project "$P"
    [[ $stderr == *"git-lfs has a damaged object for 'pictures/big.png"* ]]
    # a link is no object
    rm "$file"
    ln -s "$T/kept" "$file"
    fails 2 new -q --no-start -t trio --project "$P"
    [ "$(snapshot)" = "$before" ]
    # a file of the work tree that is the object will do
    rm "$file"
    cp "$T/kept" "$P/pictures/big.png"
    make_trio_on
    cmp "$T/kept" "$C/x/pictures/big.png"
}

@test "git-lfs that is needed and not installed is an error that says so" {
    mkdir "$T/bin"
    for program in git tmux sh; do ln -s "$(command -v "$program")" "$T/bin/$program"; done
    run --separate-stderr env PATH="$T/bin" "$MAS" new -q --no-start -t trio --project "$P"
    [ "$status" -eq 2 ]
    [ "${stderr_lines[0]}" = "mas: cannot use project '$P': it keeps files with git-lfs (.gitattributes), and there is no 'git-lfs' in PATH" ]
    [ "${stderr_lines[1]}" = 'install it, for example: apt-get install git-lfs' ]
    git -C "$P" tag without HEAD~1
    run --separate-stderr env PATH="$T/bin" "$MAS" new -q --no-start -t trio --project "$P@without"
    [ "$status" -eq 0 ]
}

@test "filters that a project or an agent configures as lfs do not run" {
    # shellcheck disable=SC2016 # a script
    plant() { printf '#!/bin/sh\necho "$0 $*" >>%s/ran\ncat\n' "$T" >"$T/evil" && chmod 755 "$T/evil"; }
    plant
    make_trio_on
    for dir in "$P" "$C/x" "$G"; do
        for key in clean smudge process; do
            GIT_DIR=$([ "$dir" = "$G" ] && echo "$G" || echo "$dir/.git") git config "filter.lfs.$key" "$T/evil"
        done
    done
    echo second >"$C/x/pictures/small.png"
    git -C "$C/x" -c filter.lfs.process='git-lfs filter-process' commit -qam second
    rm -f "$T/ran"
    for verb in "diff $ID x" "merge $ID x" "sync $ID" "land $ID" "status $ID" "rm $ID"; do
        # shellcheck disable=SC2086 # words
        ok $verb
        [ ! -e "$T/ran" ]
    done
    [ "$(cat "$P/pictures/small.png")" = second ]
    ok new -q --no-start -t trio --project "$P"
    [ ! -e "$T/ran" ]
    (cd "$P" && touch a && git status >/dev/null 2>&1; touch pictures/small.png && git status >/dev/null 2>&1) || true
    [ -e "$T/ran" ] # git alone runs it
}

# Plants in the repository of x a commit whose picture has this text.
plant_text() {
    printf '%s' "$1" >"$T/text"
    local blob
    blob=$(git -C "$C/x" hash-object -w --no-filters "$T/text")
    git -C "$C/x" update-index --add --cacheinfo "100644,$blob,pictures/evil.png"
    git -C "$C/x" commit -qm evil
}
# Puts a file into the store of x under this name.
plant_object() {
    local to
    to=$(object "$C/x/.git" "$1")
    mkdir -p "$(dirname "$to")"
    cp "$2" "$to"
}

@test "an agent's objects are not believed" {
    make_trio_on
    before=$(main_of)
    echo evil >"$T/evil"
    name=$(printf '%064d' 7)
    # an object that is nowhere
    plant_text "$(pointer "$name" 5)"$'\n'
    fails 4 merge "$ID" x
    [[ $stderr == *"its git-lfs has no object for 'pictures/evil.png (000000000000)'"* ]]
    # one that has another hash
    plant_object "$name" "$T/evil"
    fails 5 merge "$ID" x
    [[ $stderr == *"its git-lfs has a damaged object for 'pictures/evil.png"* ]]
    [ ! -e "$(object "$G" "$name")" ]
    # the right bytes, and a pointer of another size
    git -C "$C/x" reset -q --hard HEAD~1
    real=$(sha_of "$T/evil")
    plant_object "$real" "$T/evil"
    for size in 4 6 1000000000000 999999999999999999; do
        plant_text "$(pointer "$real" "$size")"$'\n'
        fails 5 merge "$ID" x
        git -C "$C/x" reset -q --hard HEAD~1
    done
    # a link, a directory and a FIFO in place of the object
    plant_text "$(pointer "$real" 5)"$'\n'
    file=$(object "$C/x/.git" "$real")
    rm "$file"
    ln -s "$T/evil" "$file"
    fails 4 merge "$ID" x
    rm "$file"
    mkfifo "$file"
    fails 5 merge "$ID" x
    rm "$file"
    mkdir "$file"
    fails 5 merge "$ID" x
    rmdir "$file"
    # a link in place of the store
    mv "$C/x/.git/lfs" "$T/lfs"
    plant_lfs=$T/lfs/objects/${real:0:2}/${real:2:2}
    mkdir -p "$plant_lfs"
    cp "$T/evil" "$plant_lfs/$real"
    ln -s "$T/lfs" "$C/x/.git/lfs"
    fails 4 merge "$ID" x
    [ "$(main_of)" = "$before" ]
    rm "$C/x/.git/lfs"
    mv "$T/lfs" "$C/x/.git/lfs"
    ok merge "$ID" x
    [ "$(cat "$C/view/pictures/evil.png")" = evil ]
    whole
}

@test "a text that only looks like a pointer is a file" {
    make_trio_on
    real=$(sha_of "$P/pictures/small.png")
    i=0
    for text in "$(pointer ../../../../../../../../../../../../../../../../../../etc/passwd.. 6)" \
        "$(pointer "${real^^}" 6)" "$(pointer "$real" -6)" "$(pointer "$real" 99999999999999999999)" \
        "$(pointer "${real}0" 6)" "$(pointer "$real" 6)x" "$(pointer "$real" 6 | head -n 2)" \
        "$(pointer "$real" 6 | sed 's/^oid/ext-0-x sha256:1\noid/')"; do
        i=$((i + 1))
        printf '%s' "$text" >"$T/text"
        blob=$(git -C "$C/x" hash-object -w --no-filters "$T/text")
        git -C "$C/x" update-index --add --cacheinfo "100644,$blob,pictures/like$i.png"
    done
    git -C "$C/x" commit -qm like
    ok merge "$ID" x
    for ((n = 1; n <= i; n++)); do
        cmp <(team_git cat-file blob "mas/$L/main:pictures/like$n.png") "$C/view/pictures/like$n.png"
    done
    ok land "$ID"
}

@test "a file that a kill left among the objects does no harm" {
    make_trio_on
    echo second >"$C/x/pictures/small.png"
    git -C "$C/x" commit -qam second
    new=$(sha_of "$C/x/pictures/small.png")
    mas merge "$ID" x
    mkdir -p "$P/.git/lfs/tmp"
    echo sec >"$P/.git/lfs/tmp/$new-mas.1"
    ok land "$ID"
    [ "$(cat "$(object "$P/.git" "$new")")" = second ]
    [ "$(cat "$P/pictures/small.png")" = second ]
}

@test "a project without a store, bare or linked, gets one when its first picture lands" {
    git -C "$P" tag without HEAD~1
    git clone -q --bare "$P" "$T/bare.git"
    P=$T/bare.git
    make_team -t pair --project "$P@without"
    (
        cd "$C/lead"
        git lfs install --local >/dev/null
        git lfs track '*.gif' >/dev/null
        echo moving >a.gif
        git add .
        git commit -qm gif
    )
    ok merge "$ID" lead
    gif=$(sha_of "$C/lead/a.gif")
    [ -f "$(object "$G" "$gif")" ]
    git -C "$P" branch side without
    ok land "$ID" --onto side
    [ "$(cat "$(object "$P" "$gif")")" = moving ]
}

@test "what --pr pushes has its pictures: git-lfs finds them in the project and sends them" {
    git clone -q --bare "$P" "$T/remote.git"
    git -C "$P" remote add origin "$T/remote.git"
    make_team -t pair -n login
    (
        cd "$C/lead"
        git lfs install --local >/dev/null
        echo pushed >pictures/new.png
        git add .
        git commit -qm 'New picture'
    )
    ok merge "$ID" lead
    mkdir "$T/bin"
    printf '#!/bin/sh\n' >"$T/bin/gh"
    chmod +x "$T/bin/gh"
    new=$(sha_of "$C/lead/pictures/new.png")
    PATH=$T/bin:$PATH ok land "$ID" --pr
    [ "$(cat "$(object "$P/.git" "$new")")" = pushed ]
    [ "$(cat "$(object "$T/remote.git" "$new")")" = pushed ]
}
