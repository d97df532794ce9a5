#!/usr/bin/env bats
# Archives of sessions that run: what is whole in them, what may have changed, and saves in a store.
load ../helper
load ../memory
load ../project

setup_more() {
    ARCHIVE=$T/a.tar.zst
    STORE=$T/store
}

teardown_more() {
    exec 7<&- || :
    if [ -n "${PACKER-}" ]; then kill "$PACKER" 2>/dev/null || :; fi
}

ws() { echo "$ROOT/sessions/$ID"; }

# Restores $ARCHIVE in a second root; $BACK is the workspace there.
restore() {
    "$MAS" init -q "$T/back"
    "$MAS" --root "$T/back" restore -q --links "$ARCHIVE"
    BACK=$T/back/sessions/$ID
}

# Begins to archive $ID and holds mas-archive, which has made its list, in the middle of its first
# large file, 00/large. finish lets it go on and puts its exit code into $status.
begin() {
    mkdir -p "$(ws)/unit/solo/00"
    head -c 30000000 /dev/urandom >"$(ws)/unit/solo/00/large"
    mkfifo "$T/slow"
    "$MAS" archive --live -o - "$ID" >"$T/slow" 2>"$T/stderr" 3>&- &
    PACKER=$!
    exec 7<"$T/slow"
    dd bs=1 count=1 status=none <&7 >"$ARCHIVE"
}
finish() {
    cat <&7 >>"$ARCHIVE"
    exec 7<&-
    status=0
    wait "$PACKER" || status=$?
    PACKER=''
}

@test "a session that runs is archived, goes on, and is restored as a stopped one" {
    new_session -t solo
    echo work >"$(ws)/unit/solo/file"
    local pid
    pid() { "$MAS" status --json "$ID" | jq -e '.sessions[0].agents[0].pid'; }
    eventually pid
    pid=$(pid)
    ok archive --live -o "$ARCHIVE" "$ID"
    [ -z "$stderr" ]
    [ "$(pid)" = "$pid" ]
    [ "$(field "$ID" .status)" = active ]
    restore
    [ "$(cat "$BACK/unit/solo/file")" = work ]
    [ "$(grep STATUS "$BACK/.session")" = STATUS=stopped ]
    [ -z "$(ls -A "$BACK/run")" ]
    "$MAS" --root "$T/back" doctor
}

@test "nothing waits for it: the session can be stopped meanwhile" {
    new_session -t solo
    begin
    "$MAS" stop -q "$ID"
    finish
    [ "$status" -eq 0 ]
    restore
    [ "$(grep STATUS "$BACK/.session")" = STATUS=stopped ]
}

@test "the conversations are of one moment, also while they are written" {
    new_session -t solo --no-start
    user apple | said "$ID" >/dev/null
    begin
    user banana | said "$ID" >/dev/null
    finish
    [ "$status" -eq 0 ]
    restore
    [ -z "$(ls "$BACK"/memory.db-* 2>/dev/null)" ]
    [ "$("$MAS" --root "$T/back" search --json apple | jq .total)" -eq 1 ]
    [ "$("$MAS" search --json apple | jq .total)" -eq 2 ]
    [ -z "$(find "$(ws)/run" -name '.copy-*')" ]
}

@test "a memory.db that is damaged is archived as it is, and told" {
    new_session -t solo --no-start
    head -c 8192 /dev/urandom >"$(ws)/memory.db"
    ok archive --live -o "$ARCHIVE" "$ID"
    [[ $stderr == *memory.db* ]]
    restore
    cmp "$(ws)/memory.db" "$BACK/memory.db"
}

@test "a file that grows, shrinks, changes its kind or vanishes does not break the archive" {
    new_session -t solo
    local d
    d=$(ws)/unit/solo
    mkdir -p "$d/gone" "$d/now-a-file"
    seq 1000 | tee "$d/grows" "$d/shrinks" "$d/vanishes" "$d/replaced" "$d/gone/a" >"$d/now-a-file/a"
    echo twin >"$d/twin1"
    ln "$d/twin1" "$d/twin2"
    ln "$d/twin1" "$d/twin3"
    ln -s grows "$d/link"
    : >"$d/now-a-fifo"
    begin
    seq 1001 2000 >>"$d/grows"
    echo 1 >"$d/shrinks"
    rm -r "$d/vanishes" "$d/gone" "$d/now-a-file" "$d/link" "$d/twin1" "$d/now-a-fifo"
    echo file >"$d/now-a-file"
    echo file >"$d/link"
    mkfifo "$d/now-a-fifo"
    seq 5000 >"$d/.replaced"
    mv "$d/.replaced" "$d/replaced"
    finish
    [ "$status" -eq 0 ]
    for name in vanishes gone now-a-file link twin1 now-a-fifo; do
        [[ $(<"$T/stderr") == *"'unit/solo/$name' vanished"* ]]
    done
    restore
    cmp <(seq 2000) "$BACK/unit/solo/grows"
    cmp <(seq 5000) "$BACK/unit/solo/replaced"
    [ "$(<"$BACK/unit/solo/shrinks")" = 1 ]
    [ "$(cat "$BACK/unit/solo/twin2")" = twin ]
    [ "$BACK/unit/solo/twin2" -ef "$BACK/unit/solo/twin3" ]
    for name in vanishes gone now-a-file link twin1 now-a-fifo; do
        [ ! -e "$BACK/unit/solo/$name" ]
    done
}

@test "a file that shrinks while it is read is filled with zeros, and told" {
    new_session -t solo
    begin
    truncate -s 100 "$(ws)/unit/solo/00/large"
    finish
    [ "$status" -eq 0 ]
    [[ $(<"$T/stderr") == *"'unit/solo/00/large' became shorter"* ]]
    restore
    [ "$(stat -c %s "$BACK/unit/solo/00/large")" -eq 30000000 ]
    cmp -n 100 "$(ws)/unit/solo/00/large" "$BACK/unit/solo/00/large"
}

@test "a file that grows without end is cut, and told" {
    new_session -t solo
    echo small >"$(ws)/unit/solo/grows"
    begin
    head -c 40000000 /dev/urandom >>"$(ws)/unit/solo/grows"
    finish
    [ "$status" -eq 0 ]
    [[ $(<"$T/stderr") == *"'unit/solo/grows' became too large"* ]]
    restore
    [ "$(<"$BACK/unit/solo/grows")" = small ]
}

# A session whose only agent has a work tree.
coder() {
    make_project
    new_session -t solo --project "$P"
    [ -d "$(tree_of solo)/.git" ]
}

healthy() {
    git -C "$BACK/code/solo" fsck --full --strict 2>&1 | tee "$T/fsck"
    run ! grep -qE 'missing|error|fatal|broken' "$T/fsck"
    git --git-dir "$BACK/code.git" fsck --full --strict
}

@test "repositories are consistent: what is committed while they are archived is not in it" {
    coder
    commit solo one 1
    begin
    local before
    before=$(git -C "$(tree_of solo)" rev-parse HEAD)
    commit solo two 2
    git -C "$(tree_of solo)" branch new
    git -C "$(tree_of solo)" pack-refs --all
    finish
    [ "$status" -eq 0 ]
    restore
    healthy
    [ "$(git -C "$BACK/code/solo" rev-parse HEAD)" = "$before" ]
    run ! git -C "$BACK/code/solo" rev-parse -q --verify refs/heads/new
}

@test "a branch that takes objects from code.git meanwhile keeps what it needs" {
    coder
    commit solo one 1
    "$MAS" merge -q "$ID" solo
    begin
    commit solo two 2
    "$MAS" merge -q "$ID" solo
    finish
    [ "$status" -eq 0 ]
    restore
    healthy
}

@test "locks and temporary files of git are left out" {
    coder
    touch "$(tree_of solo)/.git/index.lock" "$(tree_of solo)/.git/objects/pack/tmp_pack_1"
    "$MAS" archive -q --live -o "$ARCHIVE" "$ID"
    restore
    healthy
    [ -z "$(find "$BACK/code" "$BACK/code.git" -name '*.lock' -o -name 'tmp_*')" ]
    rm "$(tree_of solo)/.git/index.lock"
}

@test "a repository whose objects git packs anew meanwhile is not archived half" {
    coder
    commit solo one 1
    begin
    git -C "$(tree_of solo)" repack -qad
    git -C "$(tree_of solo)" prune-packed
    finish
    [ "$status" -eq 4 ]
    [[ $(<"$T/stderr") == *"git removed it while its repository was saved"* ]]
    ok archive --live -o "$T/again.tar.zst" "$ID"
    ARCHIVE=$T/again.tar.zst
    restore
    healthy
}

@test "an archive of a running session says so, and its manifest holds the most there is" {
    new_session -t solo
    "$MAS" archive -q --live -o "$ARCHIVE" "$ID"
    mkdir "$T/x"
    tar -C "$T/x" --zstd -xf "$ARCHIVE"
    (cd "$T/x/$ID" && sha256sum -c --quiet SHA256SUMS)
    [ "$(jq .live "$T/x/$ID/mas-archive.json")" = true ]
    "$MAS" stop -q "$ID"
    "$MAS" archive -q -o "$T/stopped.tar.zst" "$ID"
    [ "$(tar --zstd -xOf "$T/stopped.tar.zst" "$ID/mas-archive.json" | jq .live)" = null ]
}

@test "the digest in --json is that of the list of checksums" {
    new_session -t solo
    mas archive --live --json -o "$ARCHIVE" "$ID"
    [ "$(jq -r .digest <<<"$output")" = \
        "$(tar --zstd -xOf "$ARCHIVE" "$ID/SHA256SUMS" | sha256sum | cut -d' ' -f1)" ]
}

@test "--save writes into the store, under a name that sorts, and keeps two" {
    mkdir "$STORE"
    printf '[fleet]\nstore = %s\n' "$STORE" >>"$ROOT/mas.ini"
    new_session -t solo
    local i names=()
    touch "$STORE/$ID/save-9-20260101T000000Z.tar.zst.new" "$STORE/$ID/save-x.tar.zst" \
        "$STORE/$ID/save-1-20261399T000000Z.tar.zst"
    mkdir "$STORE/$ID/save-99-20260101T000000Z.tar.zst"
    for i in 1 2 3; do
        ok archive --live --save -q "$ID"
        [[ $output =~ ^$STORE/$ID/save-[0-9]+-[0-9]{8}T[0-9]{6}Z\.tar\.zst$ ]]
        names+=("$output")
    done
    [ ! -e "${names[0]}" ]
    [ -f "${names[1]}" ]
    [ -f "${names[2]}" ]
    [[ ${names[1]} < ${names[2]} ]]
    [ "$(find "$STORE/$ID" -type f -name 'save-*' | wc -l)" -eq 5 ]
    [ "$(stat -c %a "${names[2]}")" = 600 ]
    [[ ${names[2]##*/} == "save-$(sed -n 's/^EPOCH=//p' "$(ws)/.session")-"* ]]
    ARCHIVE=${names[2]}
    restore
}

@test "--all saves every session that runs, and no other" {
    mkdir "$STORE"
    printf '[fleet]\nstore = %s\n' "$STORE" >>"$ROOT/mas.ini"
    new_session -t solo
    local one=$ID
    new_session -t solo
    new_session -t solo --no-start
    ok archive --live --save --all -q
    [ "${#lines[@]}" -eq 2 ]
    [ -d "$STORE/$one" ]
    [ ! -e "$STORE/$ID" ]
}

@test "a store with a save of a later epoch takes none from here" {
    mkdir "$STORE"
    printf '[fleet]\nstore = %s\n' "$STORE" >>"$ROOT/mas.ini"
    new_session -t solo
    echo x >"$STORE/$ID/save-77-20260101T000000Z.tar.zst"
    fails 4 archive --live --save "$ID"
    [[ $stderr == *"another machine has taken it over"* ]]
    [ "$(cd "$STORE/$ID" && echo save-*)" = save-77-20260101T000000Z.tar.zst ]
}

@test "a store that is not there, or is a stranger's, is an error that names it" {
    new_session -t solo
    fails 1 archive --live --save "$ID"
    [[ $stderr == *'[fleet] store'* ]]
    printf '[fleet]\nstore = %s\n' "$STORE" >>"$ROOT/mas.ini"
    fails 1 archive --live --save "$ID"
    [[ $stderr == *"cannot open the store '$STORE'"* ]]
    [ "${stderr_lines[1]}" = 'create that directory, or mount its disk' ]
    fails 1 new -t solo
    [ "${stderr_lines[1]}" = 'create that directory, or mount its disk' ]
    [ "$EUID" -eq 0 ] || return 0
    mkdir -p "$STORE/$ID"
    chown 4242 "$STORE/$ID"
    fails 1 archive --live --save "$ID"
    [[ $stderr == *'belongs to another user'* ]]
}

@test "--live takes no --rm, and --save and --all are nothing without it" {
    new_session -t solo --no-start
    local line
    for line in '--live --rm' '--save' '--all' "--live --save -o $ARCHIVE" "--live --all -o $ARCHIVE"; do
        # shellcheck disable=SC2086
        mas archive $line "$ID"
        echo "$line: $status"
        [ "$status" -eq 2 ]
    done
    [ ! -e "$ARCHIVE" ]
}

@test "killed at any moment it leaves no archive and no copy" {
    new_session -t solo
    user apple | said "$ID" >/dev/null
    begin
    kill -9 "$PACKER"
    wait "$PACKER" || :
    PACKER=''
    exec 7<&-
    [ -z "$(find "$(ws)/run" -name '.copy-*')" ]
    "$MAS" archive -q --live -o "$ARCHIVE.2" "$ID"
    [ -z "$(find "$T" -name '.mas-archive-*')" ]
}
