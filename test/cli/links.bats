#!/usr/bin/env bats
# Files that mas writes in place, linked to files outside by who may write to a workspace.
load ../helper

# A file outside that nothing may change: $OUT, compared by is_untouched.
setup_more() {
    OUT=$T/precious
    seq 2000 >"$OUT"
    chmod 640 "$OUT"
    SUM=$(sha256sum <"$OUT")
    new_session -t solo -n team --no-start
    DIR=$ROOT/sessions/$ID
}

is_untouched() { [ "$(sha256sum <"$OUT") $(stat -c %a "$OUT")" = "$SUM 640" ]; }

# Puts a link of kind $1 to the file outside in the place of $2.
link_out() {
    rm -rf "$2"
    case $1 in
        hard) ln "$OUT" "$2" ;;
        soft) ln -s "$OUT" "$2" ;;
        directory) mkdir "$2" ;;
    esac
}

@test "what is linked at the session's lock is not written, and doctor --fix takes it away" {
    for kind in hard soft directory; do
        link_out "$kind" "$DIR/.session.lock"
        for words in 'start team' 'rm team'; do
            # shellcheck disable=SC2086
            fails 5 $words
            [[ $stderr == "mas: cannot lock session 'team': cannot open '.session.lock': "*$'\n'"repair it with: mas doctor --fix" ]]
        done
        is_untouched
        fails 1 doctor
        [[ $output == *".session.lock is a "* ]]
        ok doctor --fix
        is_untouched
        mas doctor
        [ "$output" = 'everything is in order' ]
        [ -f "$DIR/.session.lock" ]
        [ ! -L "$DIR/.session.lock" ]
    done
}

@test "rm -f removes a session with a link at its lock, and nothing of where it leads" {
    for kind in hard soft directory; do
        id=$("$MAS" new -q -t solo --no-start)
        link_out "$kind" "$ROOT/sessions/$id/.session.lock"
        ok rm -f "$id"
        [ ! -e "$ROOT/sessions/$id" ]
        is_untouched
    done
}

@test "a lock that is held is not taken away for a second name" {
    exec 8<"$DIR/.session.lock"
    flock 8
    ln "$DIR/.session.lock" "$T/second"
    fails 4 rm -f team
    [ "$stderr" = "mas: cannot remove '.session.lock': another command holds its lock" ]
    [ -d "$DIR" ]
    exec 8<&-
}

@test "a log that is linked is not written, and doctor tells" {
    link_out hard "$DIR/logs/session.log"
    link_out hard "$DIR/logs/agent-solo.log"
    ok start team
    "$MAS" wait team --for idle
    "$MAS" stop -q team
    is_untouched
    fails 1 doctor
    [[ $output == *"logs/session.log is a file with several names; mas does not write to it"* ]]
}

@test "an archive takes no log that is linked, and no memory" {
    link_out hard "$DIR/logs/session.log"
    ok archive team -o "$T/a.tar.zst"
    [[ $stderr == *"'logs/session.log' has several names (hard links) and is left out"* ]]
    run tar --zstd -xOf "$T/a.tar.zst"
    [[ $output != *$'\n1999\n'* ]]
    mas archive team --rm -o "$T/b.tar.zst"
    [ "$status" -ne 0 ]
    [ -d "$DIR" ]
    [ ! -e "$T/b.tar.zst" ]
    rm "$DIR/logs/session.log"
    link_out hard "$DIR/memory.db"
    mas archive team -o "$T/b.tar.zst"
    [ "$status" -ne 0 ]
    [[ $stderr == *"'memory.db': it has several names (hard links)"* ]]
}

@test "memory.db and its parts with a second name are refused, and stay" {
    for name in memory.db memory.db-wal; do
        rm -f "$DIR"/memory.db*
        [ "$name" = memory.db ] || : >"$DIR/memory.db"
        link_out hard "$DIR/$name"
        fails 1 history team solo
        [[ $stderr == *"cannot open '$name': it has several names (hard links)"* ]]
        is_untouched
    done
}

@test "what a killed write left is not written through" {
    for name in .session.new config.json.new; do
        link_out hard "$DIR/$name"
    done
    link_out hard "$ROOT/sessions/.sessions.index.new"
    ok start team
    "$MAS" stop -q team
    is_untouched
    [ "$(stat -c %h "$DIR/.session")" = 1 ]
}

@test "the lock of all sessions with a second name is refused" {
    link_out hard "$ROOT/sessions/.sessions.lock"
    fails 5 new -t solo --no-start
    [[ $stderr == "mas: cannot lock the list of sessions: cannot open '.sessions.lock': it has several names (hard links)"* ]]
    is_untouched
}
