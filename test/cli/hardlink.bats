#!/usr/bin/env bats
# [workspace] hardlink = readonly: which files of a template are linked, and that nothing of mas
# touches what they share.
load ../helper

setup_more() {
    printf '[workspace]\nhardlink = readonly\n' >>"$ROOT/mas.ini"
    UNIT=$ROOT/templates/solo/unit/solo
    FLOWS=$ROOT/templates/solo/workflows
}

# All that a copy must keep: kinds, modes, sizes, link targets, times, contents.
facts() {
    (cd "$1" && LC_ALL=C find . -mindepth 1 -printf '%P %y %m %l %T@\0' | LC_ALL=C sort -z | tr '\0' '\n' &&
        LC_ALL=C find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
}

links() { stat -c %h "$1"; }
same_file() { [ "$1" -ef "$2" ]; }

# read_only FILE: makes one that nobody may write.
read_only() {
    echo "$1" >"$1"
    chmod 444 "$1"
}

@test "read-only files are linked, all others are copied" {
    read_only "$UNIT/reference"
    read_only "$FLOWS/handbook.md"
    read_only "$UNIT/tool"
    chmod 555 "$UNIT/tool"
    echo x >"$UNIT/mine"
    echo x >"$UNIT/theirs"
    chmod 464 "$UNIT/theirs"
    new_session -t solo --no-start
    local unit=$ROOT/sessions/$ID/unit/solo
    same_file "$unit/reference" "$UNIT/reference"
    same_file "$unit/tool" "$UNIT/tool"
    same_file "$ROOT/sessions/$ID/workflows/handbook.md" "$FLOWS/handbook.md"
    run ! same_file "$unit/mine" "$UNIT/mine"
    run ! same_file "$unit/theirs" "$UNIT/theirs"
    run ! same_file "$unit/AGENTS.md" "$UNIT/AGENTS.md"
    diff <(facts "$ROOT/templates/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
}

@test "without the setting nothing is linked" {
    read_only "$UNIT/reference"
    sed -i 's/^hardlink = .*/hardlink = no/' "$ROOT/mas.ini"
    new_session -t solo --no-start
    [ "$(links "$UNIT/reference")" = 1 ]
    run ! same_file "$ROOT/sessions/$ID/unit/solo/reference" "$UNIT/reference"
    diff <(facts "$ROOT/templates/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
}

@test "mode and times of a linked file stay, over the whole life of a session, whatever the umask" {
    local before
    read_only "$UNIT/reference"
    mkdir "$UNIT/locked"
    read_only "$UNIT/locked/file"
    chmod 555 "$UNIT/locked"
    touch -d 2001-02-03T04:05:06Z "$UNIT/reference"
    before=$(facts "$ROOT/templates/solo")
    for mask in 000 077; do
        umask $mask
        new_session -t solo
        "$MAS" stop -q "$ID"
        "$MAS" start -q "$ID"
        "$MAS" doctor --fix >/dev/null
        [ "$(links "$UNIT/reference")" = 2 ]
        "$MAS" rm -q -f "$ID"
        umask 022
        [ ! -e "$ROOT/sessions/$ID" ]
        [ "$(facts "$ROOT/templates/solo")" = "$before" ]
        [ "$(links "$UNIT/reference")" = 1 ]
    done
}

@test "replacing a linked file in one place leaves the other as it was" {
    read_only "$UNIT/reference"
    new_session -t solo --no-start
    local unit=$ROOT/sessions/$ID/unit/solo
    echo new >"$UNIT/fresh"
    mv -f "$UNIT/fresh" "$UNIT/reference"
    [ "$(cat "$unit/reference")" = "$UNIT/reference" ]
    rm -rf "$ROOT/templates/solo"
    [ "$(cat "$unit/reference")" = "$UNIT/reference" ]
}

@test "a symbolic link is no file, and what is refused is refused" {
    read_only "$T/outside"
    ln -s "$T/outside" "$UNIT/link"
    new_session -t solo --no-start
    [ -L "$ROOT/sessions/$ID/unit/solo/link" ]
    [ "$(links "$T/outside")" = 1 ]
    read_only "$UNIT/program"
    chmod 4555 "$UNIT/program"
    fails 1 new -t solo
    [ "$stderr" = "mas: cannot copy 'templates/solo/unit/solo/program': it is setuid or setgid" ]
    [ "$(links "$UNIT/program")" = 1 ]
}

@test "what cannot be linked is copied" {
    local error
    read_only "$UNIT/reference"
    for error in EXDEV EMLINK EPERM EOPNOTSUPP ENOSPC; do
        ID=$(strace -f -o /dev/null -e trace=linkat -e "inject=linkat:error=$error" \
            "$MAS" new -q -t solo --no-start)
        [ "$(links "$UNIT/reference")" = 1 ]
        diff <(facts "$ROOT/templates/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
    done
}

@test "files of another file system are copied" {
    local other
    other=$(mktemp -d /tmp/mas-test-XXXXXX)
    if [ "$(stat -c %d "$other")" = "$(stat -c %d "$ROOT")" ]; then
        rmdir "$other"
        skip "all is one file system"
    fi
    read_only "$UNIT/reference"
    mv "$ROOT/templates/solo" "$other/solo"
    ln -s "$other/solo" "$ROOT/templates/solo"
    new_session -t solo --no-start
    run diff <(facts "$other/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
    rm -r "$other"
    [ "$status" -eq 0 ]
}

@test "the second name of a file becomes a second link" {
    read_only "$UNIT/reference"
    ln "$UNIT/reference" "$UNIT/again"
    new_session -t solo --no-start
    [ "$(links "$UNIT/reference")" = 4 ]
}

@test "many sessions that are made and removed at once lose nothing of the template" {
    local before i
    for i in $(seq 40); do read_only "$UNIT/file-$i"; done
    before=$(facts "$ROOT/templates/solo")
    for i in 1 2 3 4 5 6; do
        { "$MAS" new -q -t solo --no-start | xargs "$MAS" rm -q; } 3>&- &
    done
    wait
    [ "$(facts "$ROOT/templates/solo")" = "$before" ]
    [ "$(links "$UNIT/file-7")" = 1 ]
    [ "$("$MAS" list -q)" = '' ]
}
