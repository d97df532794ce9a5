#!/usr/bin/env bats
# What was said is a part of its session: it is measured, archived, restored, removed and checked with
# it.
load ../helper

# A stopped session; `said` stores what stdin says, see test/tools/say.c.
setup_more() {
    new_session -t solo --no-start
    SAY=${MAS%/*}/test/tools/say
    DB=$ROOT/sessions/$ID/memory.db
}

said() { "$SAY" "$ROOT/sessions/$ID" solo >"$T/said"; }

texts() { "$MAS" history "$ID" solo --json -n all | jq -r ".messages[].text"; }

# Leaves a log beside the database, as a host does that is killed.
killed() { run -137 said <<<$'user hello\nagent once\nmore  upon\nkill'; }

@test "a killed host leaves a log, and what is in it is archived and restored" {
    killed
    [ -s "$DB-wal" ]
    "$MAS" archive -q "$ID" -o "$T/a.tar.zst"
    "$MAS" rm "$ID"
    [ ! -e "$ROOT/sessions/$ID" ]
    "$MAS" restore -q "$T/a.tar.zst"
    [ "$(texts)" = $'hello\nonce upon' ]
    [ "$(stat -c %a "$DB")" = 600 ]
}

@test "an archive is whole after reading too, and has nothing but the database" {
    killed
    [ "$(texts)" = $'hello\nonce upon' ]
    [ ! -e "$DB-wal" ]
    [ ! -e "$DB-shm" ]
    "$MAS" archive -q "$ID" -o "$T/a.tar.zst"
    run ! grep -q 'memory.db-' < <(zstd -dcq "$T/a.tar.zst" | tar t)
    "$MAS" rm "$ID"
    "$MAS" restore -q "$T/a.tar.zst"
    [ "$(texts)" = $'hello\nonce upon' ]
}

@test "restored as a new session, its messages are the new one's" {
    said <<<$'tag k:v\nuser hello\nagent hi\nend\nsession s1 fresh'
    "$MAS" archive -q "$ID" -o "$T/a.tar.zst"
    local new
    new=$("$MAS" restore -q --new-id "$T/a.tar.zst")
    [ "$new" != "$ID" ]
    # but where the agent's own session was, so that it is not resumed from a copy
    run ! grep -F "$ID" < <(sqlite3 "$ROOT/sessions/$new/memory.db" .dump | grep -v '^INSERT INTO agent_session ')
    "$MAS" history "$new" solo --json >"$T/out"
    run ! grep -qF "$ID" "$T/out"
    jq -e --arg id "$new" '.messages[0].id == $id + ":1" and (.messages[1].tags == ["session:" + $id, "agent:solo", "k:v"])' \
        "$T/out" >/dev/null
}

@test "du counts what was said as memory" {
    said <<<'turns 100'
    local real
    real=$(($(stat -c '%b * %B' "$DB")))
    [ "$real" -gt 0 ]
    [ "$("$MAS" du "$ID" --json | jq '.sessions[0].memory.real')" -eq "$real" ]
}

@test "doctor finds a damaged memory, sets it aside and loses nothing" {
    said <<<'turns 50'
    printf 'garbage' | dd of="$DB" conv=notrunc status=none
    cp "$DB" "$T/damaged"
    local before
    before=$(snapshot)
    fails 1 doctor --json
    jq -e --arg id "$ID" 'any(.findings[]; .subject == $id and .state == "open" and (.what | contains("memory.db")))' \
        <<<"$output" >/dev/null
    [ "$before" = "$(snapshot)" ]
    ok doctor --fix --json
    jq -e 'any(.findings[]; .state == "mended" and (.what | contains("set aside as memory.db.damaged-")))' \
        <<<"$output" >/dev/null
    cmp "$T/damaged" "$ROOT/sessions/$ID"/memory.db.damaged-*Z
    [ ! -e "$DB" ]
    ok doctor
    [[ $output == *"an earlier memory.db was damaged and is kept as memory.db.damaged-"* ]]
    fails 5 history "$ID" solo
    [[ $stderr == *"an earlier memory.db was damaged and is kept as memory.db.damaged-"* ]]
    said <<<$'user again\nend'
    [ "$(texts)" = again ]
}

@test "doctor finds damage in the middle of a database that opens" {
    said <<<'turns 300'
    dd if=/dev/urandom of="$DB" bs=4096 seek=9 count=4 conv=notrunc status=none
    ok doctor --fix
    [[ $output == *mended*"set aside as memory.db.damaged-"* ]]
}

@test "a link, a directory or a stranger's database in its place is not touched and set aside" {
    echo secret >"$T/secret"
    ln -s "$T/secret" "$DB"
    fails 5 history "$ID" solo
    [[ $stderr == *"it is a symbolic link"* ]]
    run said <<<$'user a\nend'
    [ "$status" -eq 5 ]
    [ "$(cat "$T/secret")" = secret ]
    ok doctor --fix
    [ -L "$(echo "$DB".damaged-*)" ]
    mkdir "$DB"
    fails 5 history "$ID" solo
    ok doctor --fix
    [ ! -e "$DB" ]
    said <<<$'user a\nend'
    ln -s "$T/secret" "$DB-wal"
    run said <<<$'user b\nend'
    [ "$status" -eq 5 ]
    [ "$(cat "$T/secret")" = secret ]
}

@test "doctor puts the mode of what was said right" {
    said <<<$'user a\nend'
    chmod 644 "$DB"
    fails 1 doctor
    ok doctor --fix
    [ "$(stat -c %a "$DB")" = 600 ]
}

@test "a log without its database is damage, not a new beginning" {
    killed
    : >"$DB"
    fails 5 history "$ID" solo
    ok doctor --fix
    compgen -G "$DB.damaged-*-wal" >/dev/null
}
