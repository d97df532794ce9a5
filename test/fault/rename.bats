#!/usr/bin/env bats
# A root on a file system that cannot rename without replacing (NFS, 9p, many of FUSE): renameat2()
# fails there with EINVAL for any flag.
load ../helper
load ../host/lib

setup_more() { quick_idle; }

# Runs mas as there.
there() {
    run --separate-stderr strace -f -qq -e trace=renameat2 -e signal=none -o "$T/trace" \
        -e inject=renameat2:error="${WHY-EINVAL}" "$MAS" "$@"
}
was_there() {
    grep -q INJECTED "$T/trace" || { echo "no rename was made"; return 1; }
    [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
}
nothing_left() { [ -z "$(find "$1" -name '.new-*' -o -name '.old-*' -o -name '*.new')" ]; }

@test "a root is made and brought up to date" {
    there init "$T/there"
    was_there
    [ -s "$T/there/templates/solo/template.ini" ]
    [ -s "$T/there/templates/agents.ini" ]
    diff -r -x .shipped "$T/there/templates" "$PROJECT/templates"
    nothing_left "$T/there"
}

@test "a session is made, archived, removed and restored" {
    there new -q -t solo -n one --no-start
    was_there
    ID=$output
    [ -d "$ROOT/sessions/$ID/unit/solo" ]
    there archive one -o "$T/one.tar.zst"
    was_there
    # never over a file
    there archive one -o "$T/one.tar.zst"
    [ "$status" -eq 4 ]
    [[ $stderr == *"'$T/one.tar.zst'"*exists* ]]
    there restore "$T/one.tar.zst" --new-id -n two
    was_there
    there restore "$T/one.tar.zst"
    [ "$status" -eq 4 ]
    there rm -f one two
    was_there
    there restore "$T/one.tar.zst"
    was_there
    [ "$("$MAS" list -q)" = "$ID" ]
    nothing_left "$ROOT"
    run -0 "$MAS" doctor
}

@test "a template is copied, and not over another" {
    there template copy solo own
    was_there
    diff -r "$ROOT/templates/solo" "$ROOT/templates/own"
    there template copy pair own
    [ "$status" -eq 4 ]
    diff -r "$ROOT/templates/solo" "$ROOT/templates/own"
    nothing_left "$ROOT"
}

@test "a legacy session is made and migrated" {
    there new -q --mode legacy -t solo --no-start
    was_there
    [ -d "$ROOT/unit/solo" ]
    echo mine >"$ROOT/unit/solo/note"
    there migrate -q
    was_there
    ID=$("$MAS" list -q)
    [ "$(cat "$ROOT/sessions/$ID/unit/solo/note")" = mine ]
    [ ! -e "$ROOT/unit" ]
}

@test "another error of a rename is an error" {
    WHY=EIO there new -q -t solo --no-start
    [ "$status" -eq 1 ]
    [[ $stderr == *'Input/output error'* ]]
    [ -z "$("$MAS" list -q)" ]
}
