#!/usr/bin/env bats
# Restoring: a session comes back as it was, or not at all.
# shellcheck disable=SC2015,SC2059
load ../helper

setup_more() { ARCHIVE=$T/a.tar.zst; }

# Archives session $1 and removes it.
put_away() { "$MAS" archive -q --rm "$1" -o "$ARCHIVE"; }

# All that is to come back, of the directories of session $1.
look() {
    (cd "$ROOT/sessions/$1" && find unit workflows -printf '%P %y %m %T@ %n %s %l\n' | sort &&
        find unit workflows logs -type f ! -name session.log -print0 | sort -z |
        xargs -0 -r sha256sum)
}

# The restore of the file $1 fails with code $2 and changes nothing. MORE arguments may follow.
is_refused() {
    local file=$1 code=$2 before
    shift 2
    before=$(snapshot)
    mas restore "$@" "$file"
    [ "$status" -eq "$code" ] || { echo "$file: exit $status instead of $code: $stderr"; return 1; }
    [[ $stderr == "mas: cannot restore '$file': "* ]] || { echo "$file: $stderr"; return 1; }
    [ "$output$(snapshot)" = "$before" ] || { echo "$file: something changed"; return 1; }
}

@test "restore brings a session back under its own id, stopped" {
    new_session -t solo --no-start -n fix-login
    local created before
    created=$(meta "$ID" CREATED_AT)
    before=$(look "$ID")
    put_away "$ID"
    ok restore "$ARCHIVE"
    [ -z "$stderr" ]
    [ "${lines[0]}" = "mas-${ID:0:8}  $ID" ]
    [ "${lines[2]}" = 'start: mas start fix-login' ]
    [ "$(field fix-login .sessionId)" = "$ID" ]
    [ "$(field "$ID" .status)" = stopped ]
    [ "$(meta "$ID" CREATED_AT)" = "$created" ]
    [ "$(look "$ID")" = "$before" ]
    [ "$(stat -c '%a %n' "$ROOT/sessions/$ID"/{,.session,config.json,logs,run})" = "700 $ROOT/sessions/$ID/
600 $ROOT/sessions/$ID/.session
600 $ROOT/sessions/$ID/config.json
700 $ROOT/sessions/$ID/logs
700 $ROOT/sessions/$ID/run" ]
    run -0 "$MAS" doctor
    "$MAS" start fix-login
    [ "$(field "$ID" .status)" = active ]
}

@test "files, links, names, permissions and times come back as they were" {
    new_session -t solo --no-start
    cd "$ROOT/sessions/$ID/unit/solo"
    mkdir -p empty/inner 'with blank' $'new\nline' -- -rf
    echo one >a && ln a b && ln a 'with blank/c'
    : >$'\xff\xfe' && : >'é' && : >'back\slash' && : >$'tab\t\x01'
    ln -s ../../workflows inward && ln -s $'to\xff' odd && ln -s nowhere dangling
    ln -s "$(printf 'x/%.0s' {1..1000})y" long
    echo run >tool && chmod 751 tool && echo ro >read-only && chmod 400 read-only
    touch -d '2001-02-03 04:05:06.789012345' a && touch -h -d '1999-01-01' odd
    touch -d '1960-01-01' tool
    truncate -s 5M hole && truncate -s 3M sparse
    printf data | dd of=sparse bs=1 seek=1500000 conv=notrunc status=none
    head -c 3000000 /dev/urandom >data
    mkdir "$(printf 'n%.0s' {1..255})"
    chmod 1777 empty/inner && chmod 500 empty
    touch -d '2002-02-02' empty ../../workflows
    local before
    before=$(look "$ID")
    "$MAS" archive -q "$ID" -o "$ARCHIVE"
    chmod 700 empty
    cd / && "$MAS" rm -q "$ID"
    ok restore -q "$ARCHIVE"
    [ "$output" = "$ID" ]
    [ "$(look "$ID")" = "$before" ]
    cd "$ROOT/sessions/$ID/unit/solo"
    [ "$(stat -c %i a)" = "$(stat -c %i 'with blank/c')" ]
    [ $(($(stat -c %b hole) + $(stat -c %b sparse))) -lt 2000 ] # of 16,384 blocks
}

@test "a log comes back as only its owner can read it" {
    new_session -t solo --no-start
    chmod 777 "$ROOT/sessions/$ID/logs/session.log"
    "$MAS" archive -q "$ID" -o "$ARCHIVE"
    "$MAS" rm -q "$ID"
    ok restore -q "$ARCHIVE"
    [ "$(stat -c %a "$ROOT/sessions/$ID/logs/session.log")" = 600 ]
}

@test "a tree as deep as it may be comes back" {
    new_session -t solo --no-start
    local before name
    name=$(printf 'd%.0s' {1..100})
    (
        cd "$ROOT/sessions/$ID/unit/solo"
        for _ in {1..126}; do mkdir "$name" && cd "$name" || exit; done
        echo deep >file
    )
    before=$(cd "$ROOT/sessions/$ID/unit" && find . -printf '%P %m %T@ %s\n' | sort)
    put_away "$ID"
    "$MAS" restore -q "$ARCHIVE"
    [ "$(cd "$ROOT/sessions/$ID/unit" && find . -printf '%P %m %T@ %s\n' | sort)" = "$before" ]
}

@test "memory and logs come back" {
    new_session -t solo --no-start
    echo memory >"$ROOT/sessions/$ID/memory.db"
    echo talk >"$ROOT/sessions/$ID/logs/agent-solo.log"
    chmod 600 "$ROOT/sessions/$ID/memory.db"
    put_away "$ID"
    "$MAS" restore -q "$ARCHIVE"
    [ "$(cat "$ROOT/sessions/$ID/memory.db")" = memory ]
    [ "$(stat -c %a "$ROOT/sessions/$ID/memory.db")" = 600 ]
    [ "$(cat "$ROOT/sessions/$ID/logs/agent-solo.log")" = talk ]
    grep -q restore "$ROOT/sessions/$ID/logs/session.log"
}

@test "in another root it gets the paths and the tmux server of that one" {
    new_session -t solo --no-start -n mover
    put_away "$ID"
    "$MAS" init -q "$T/other"
    MAS_TMUX_SOCKET=$T/tmux2 ok --root "$T/other" restore -q "$ARCHIVE"
    ROOT=$T/other
    [ "$(meta "$ID" SESSION_DIR)" = "$T/other/sessions/$ID" ]
    [ "$(meta "$ID" UNIT_DIR)" = "$T/other/sessions/$ID/unit" ]
    [ "$(meta "$ID" TMUX_SOCKET)" = "$T/tmux2" ]
}

@test "an id that exists is a conflict, --new-id brings it back beside that one" {
    new_session -t solo --no-start -n fix-login
    "${MAS%/*}/test/tools/say" "$ROOT/sessions/$ID" solo <<<$'user hello\nagent hi\nend' >/dev/null
    "$MAS" archive -q "$ID" -o "$ARCHIVE"
    is_refused "$ARCHIVE" 4
    [[ $stderr == *"session '$ID' exists
restore it under a new id with --new-id" ]]
    is_refused "$ARCHIVE" 4 --new-id
    [[ $stderr == *"another session is called 'fix-login'
choose another name with -n" ]]
    ok restore -q --new-id -n other "$ARCHIVE"
    local new=$output
    [ "$new" != "$ID" ]
    # nothing of it has the other's id, and its memory came back as it was
    run ! grep -rl "$ID" "$ROOT/sessions/$new"
    cmp "$ROOT/sessions/$ID/memory.db" "$ROOT/sessions/$new/memory.db"
    [ "$(meta "$new" SESSION_ID)" = "$new" ]
    [ "$(meta "$new" NAME)" = other ]
    [ "$(meta "$new" TMUX_SESSION)" = "mas-${new:0:8}" ]
    run -0 "$MAS" doctor
}

@test "a name in tmux that is taken gets more digits" {
    local id=0a0a0a0a-1111-4222-8333-444444444444
    "$MAS" new -q -t solo --no-start --id "$id"
    ID=$id put_away "$id"
    "$MAS" new -q -t solo --no-start --id 0a0a0a0a-2222-4222-8333-444444444444
    "$MAS" restore -q "$ARCHIVE"
    [ "$(meta "$id" TMUX_SESSION)" = mas-0a0a0a0a-1111 ]
}

@test "it can be read from standard input, and told as JSON" {
    new_session -t solo --no-start
    put_away "$ID"
    ok restore --json - <"$ARCHIVE"
    [ "$(jq -r .sessionId <<<"$output")" = "$ID" ]
    [ "$(jq -r .status <<<"$output")" = stopped ]
    "$MAS" archive "$ID" -o - >"$T/b"
    "$MAS" rm -q "$ID"
    run -0 bash -c "cat '$T/b' | '$MAS' restore -q -"
    [ "$output" = "$ID" ]
}

@test "a legacy session comes back as an isolated one" {
    "$MAS" new -q --mode legacy -t solo --no-start
    ID=$("$MAS" list -q)
    echo mine >"$ROOT/unit/solo/file"
    ln -s ../../workflows "$ROOT/unit/solo/link"
    put_away "$ID"
    [ "$(cat "$ROOT/unit/solo/file")" = mine ]
    "$MAS" restore -q "$ARCHIVE"
    [ "$(field "$ID" .mode)" = isolated ]
    [ "$(cat "$ROOT/sessions/$ID/unit/solo/file")" = mine ]
    [ -d "$ROOT/sessions/$ID/unit/solo/link/" ]
    run -0 "$MAS" doctor
}

@test "the archive of a legacy session comes back beside another one, and never as a second" {
    "$MAS" new -q --mode legacy -t solo --no-start
    ID=$("$MAS" list -q)
    put_away "$ID"
    local now
    now=$("$MAS" new -q --mode legacy -t solo --no-start)
    echo mine >"$ROOT/unit/solo/file"
    "$MAS" restore -q "$ARCHIVE"
    "$MAS" restore -q --new-id "$ARCHIVE"
    [ "$("$MAS" list --all --json | jq -r '[.sessions[].mode] | sort | join(" ")')" = 'isolated isolated legacy' ]
    [ "$(field "$now" .mode)" = legacy ]
    [ "$(cat "$ROOT/unit/solo/file")" = mine ]
    [ ! -e "$ROOT/sessions/$ID/unit/solo/file" ]
    [ "$(meta "$ID" UNIT_DIR)" = "$ROOT/sessions/$ID/unit" ]
    [ "$(meta "$ID" TMUX_SESSION)" = "mas-${ID:0:8}" ]
    "$MAS" start "$ID"
    [ "$(field "$ID" .status)" = active ]
    run -0 "$MAS" doctor
}

@test "a session whose migration had only begun comes back isolated, with none begun" {
    "$MAS" new -q --mode legacy -t solo --no-start
    ID=$("$MAS" list -q)
    sed -i 's/^MODE=legacy$/&\nMIGRATING=active/' "$ROOT/sessions/$ID/.session"
    echo mine >"$ROOT/unit/solo/file"
    "$MAS" archive -q "$ID" -o "$ARCHIVE"
    "$MAS" migrate -q
    "$MAS" rm -q -f "$ID"
    "$MAS" restore -q "$ARCHIVE"
    [ "$(field "$ID" .mode)" = isolated ]
    [ "$(field "$ID" .status)" = stopped ]
    run ! grep MIGRATING "$ROOT/sessions/$ID/.session"
    [ "$(cat "$ROOT/sessions/$ID/unit/solo/file")" = mine ]
    "$MAS" start "$ID"
    run -0 "$MAS" doctor
    ok migrate
    [[ $output == *nothing* ]]
}

@test "agents that never started have their directories in the archive" {
    printf '[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"
    new_session -t pair --no-start
    [ -z "$(ls "$ROOT/sessions/$ID/unit")" ]
    put_away "$ID"
    rm -r "$ROOT/templates/pair"
    "$MAS" restore -q "$ARCHIVE"
    [ "$(find "$ROOT/sessions/$ID/unit" -mindepth 1 -maxdepth 1 -type d | wc -l)" -eq 2 ]
}

@test "links that lead out come back only with --links" {
    new_session -t solo --no-start
    local unit=$ROOT/sessions/$ID/unit/solo before
    mkdir -p "$unit/venv/bin"
    ln -s /usr/bin/python3 "$unit/venv/bin/python3"
    before=$(look "$ID")
    put_away "$ID"
    is_refused "$ARCHIVE" 1
    [[ $stderr == *"its entry 'unit/solo/venv/bin/python3': it is a link that leads out of the session, to '/usr/bin/python3'
if you trust the archive, accept such links with --links" ]]
    ok restore --links -q "$ARCHIVE"
    [ "$(look "$ID")" = "$before" ]
    "$MAS" archive --json "$ID" -o "$T/b" | jq -e '.linksOut == 1'
}

@test "keys of a session that are not known do not come back" {
    new_session -t solo --no-start
    echo PATH=/evil >>"$ROOT/sessions/$ID/.session"
    put_away "$ID"
    "$MAS" restore -q "$ARCHIVE"
    run ! grep PATH= "$ROOT/sessions/$ID/.session"
}

@test "a hostile archive is refused whole" {
    new_session -t solo --no-start
    local file code count=0 bad=0
    put_away "$ID"
    mkdir "$T/craft"
    python3 "$BATS_TEST_DIRNAME/craft.py" "$ARCHIVE" "$T/craft" >"$T/list"
    while read -r file code; do
        count=$((count + 1))
        if [ "$code" -eq 0 ]; then
            "$MAS" restore -q "$file" && "$MAS" rm -q "$ID"
        else
            is_refused "$file" "$code" || bad=1
        fi
    done <"$T/list"
    [ "$bad" -eq 0 ]
    [ "$count" -gt 70 ]
    # what is refused without --links for its links is refused with it for all else
    while read -r file code; do
        [ "$code" -ne 5 ] || is_refused "$file" 5 --links || bad=1
    done < <(grep -E 'link|path|dot' "$T/list")
    [ "$bad" -eq 0 ]
    [ ! -e /tmp/mas-evil ]
    [ ! -e "$ROOT/evil" ]
    mas list -q
    [ -z "$output" ]
}

@test "what is no archive is refused" {
    new_session -t solo --no-start
    put_away "$ID"
    local good=$T/good
    zstd -qd "$ARCHIVE" -o "$good"
    : >"$T/empty"
    head -c 100000 /dev/urandom >"$T/noise"
    gzip -c "$good" >"$T/gzip"
    (cd "$T" && echo noise | cpio -o --quiet 2>/dev/null | zstd -q >"$T/cpio") || true
    head -c 100000 /dev/urandom | zstd -q >"$T/zstd"
    cat "$ARCHIVE" "$ARCHIVE" >"$T/two"
    { head -c 1024 "$good" | zstd -q; tail -c +1025 "$good" | zstd -q; } >"$T/frames"
    { printf '\x50\x2a\x4d\x18\x04\0\0\0abcd'; cat "$ARCHIVE"; } >"$T/skippable"
    { cat "$ARCHIVE"; printf '\x50\x2a\x4d\x18\x04\0\0\0abcd'; } >"$T/skippable-last"
    { cat "$ARCHIVE"; echo; } >"$T/newline"
    head -c 2048 /dev/zero | zstd -q >"$T/nothing"
    local file
    for file in empty noise gzip good cpio zstd two frames skippable skippable-last newline nothing; do
        is_refused "$T/$file" 5
    done
    is_refused "$T/missing" 1
    is_refused "$T/craft" 1
    is_refused "$T" 1
    fails 2 restore
    fails 2 restore -n '../x' "$ARCHIVE"
}

@test "an archive that was cut off or has a wrong byte is refused" {
    new_session -t solo --no-start
    head -c 200000 /dev/urandom >"$ROOT/sessions/$ID/unit/solo/data"
    put_away "$ID"
    local size i
    size=$(stat -c %s "$ARCHIVE")
    for i in 1 5 100 $((size / 2)) $((size - 5)) $((size - 1)); do
        head -c "$i" "$ARCHIVE" >"$T/cut"
        is_refused "$T/cut" 5
    done
    for i in 50 1000 $((size / 2)) $((size - 1000)) $((size - 2)); do
        cp "$ARCHIVE" "$T/wrong"
        printf '%b' "\\x$(printf %02x $(($(od -An -tu1 -j "$i" -N 1 "$ARCHIVE") ^ 16)))" |
            dd of="$T/wrong" bs=1 seek="$i" conv=notrunc status=none
        is_refused "$T/wrong" 5
    done
    "$MAS" restore -q "$ARCHIVE"
}

@test "limits.free is heeded" {
    new_session -t solo --no-start
    put_away "$ID"
    printf '[limits]\nfree = 1000T\n' >>"$ROOT/mas.ini"
    is_refused "$ARCHIVE" 1
    [[ $stderr == *limits.free* ]]
}

@test "SIGINT gives up and leaves nothing" {
    new_session -t solo --no-start
    head -c 3000000 /dev/urandom >"$ROOT/sessions/$ID/unit/solo/data"
    put_away "$ID"
    local before pid rc=0
    before=$(snapshot)
    mkfifo "$T/hold"
    set -m
    env --default-signal=INT "$MAS" restore "$T/hold" 2>"$T/err" 3>&- & # it may be ignored here
    pid=$!
    set +m
    exec 7>"$T/hold"
    head -c 1000000 "$ARCHIVE" >&7
    eventually eval "[ -n \"\$(find '$ROOT'/sessions/.new-* -name data)\" ]"
    kill -INT "$pid"
    wait "$pid" || rc=$?
    exec 7>&-
    [ "$rc" -eq 130 ]
    [ "$(snapshot)" = "$before" ]
}

@test "on a terminal it shows progress, and none where that is not wanted" {
    new_session -t solo --no-start
    head -c 3000000 /dev/urandom >"$ROOT/sessions/$ID/unit/solo/data"
    put_away "$ID"
    mkfifo "$T/hold"
    script -qfc "'$MAS' restore '$T/hold'" "$T/shown" >/dev/null 3>&- &
    local i pid=$! # before a process substitution is the newest
    exec 7>"$T/hold"
    exec 8<"$ARCHIVE"
    for i in {1..40}; do
        dd bs=50000 count=1 status=none <&8 >&7
        ! grep -q 'files, ' "$T/shown" || break
        read -rt 0.05 <> <(:) || :
    done
    cat <&8 >&7
    exec 7>&- 8<&-
    wait "$pid"
    grep -q 'files, [0-9.]*[KM]' "$T/shown"
    "$MAS" rm -q "$ID"
    mas restore "$ARCHIVE"
    [ -z "$stderr" ]
}
