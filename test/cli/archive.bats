#!/usr/bin/env bats
# Archives: what goes into them, and when none is written.
load ../helper

setup_more() { ARCHIVE=$T/a.tar.zst; }

# The names in the archive $1, below its top directory.
names() { tar --zstd -tf "$1" 2>/dev/null | sed 's|^[^/]*/||' | grep . | sort; }

# Nothing was written but what stands there already.
left_nothing() {
    [ -z "$(find "$T" -name '*.zst' -o -name '.mas-archive-*')" ]
}

@test "on a terminal it shows how far it is within a large file, and with its own word" {
    new_session -t solo --no-start
    head -c 16000000 /dev/urandom >"$ROOT/sessions/$ID/unit/solo/data"
    mkfifo "$T/slow"
    script -qfc "'$MAS' archive -o - $ID >'$T/slow'" "$T/shown" >/dev/null 3>&- &
    local i pid=$!
    progress() { grep -oE 'archiving: [0-9]+ files?, [0-9.]+[KM]' "$T/shown" | sort -u | wc -l; }
    exec 7<"$T/slow"
    for i in {1..240}; do
        dd bs=65536 count=1 iflag=fullblock status=none <&7 >/dev/null
        if [ "$(progress)" -ge 2 ] && grep -qE 'archiving: [0-9]+ files?, [0-9.]+M' "$T/shown"; then break; fi
        read -rt 0.05 <> <(:) || :
    done
    cat <&7 >/dev/null
    exec 7<&-
    wait "$pid"
    grep -qE 'archiving: [0-9]+ files?, [0-9.]+M' "$T/shown"
    [ "$(progress)" -ge 2 ]
    run ! grep -q copying "$T/shown"
}

@test "archive writes a session below archive/ of the root and prints where" {
    new_session -t solo --no-start -n fix-login
    ok archive fix-login
    [ -z "$stderr" ]
    local file
    file=$(echo "$ROOT"/archive/*)
    [[ $output == "$file  $ID, "* ]]
    [[ ${file##*/} =~ ^fix-login-${ID:0:8}-[0-9]{8}T[0-9]{6}Z\.tar\.zst$ ]]
    [ "$(stat -c %a "$file")" = 600 ]
    [ "$(stat -c %a "$ROOT/archive")" = 700 ]
    [ "$(field "$ID" .status)" = stopped ]
}

@test "an archive is a tar that anybody can unpack and check" {
    new_session -t pair --no-start
    ok archive -q "$ID" -o "$ARCHIVE"
    [ "$output" = "$ARCHIVE" ]
    mkdir "$T/x"
    tar -C "$T/x" --zstd -xf "$ARCHIVE"
    [ "$(ls "$T/x")" = "$ID" ]
    [ "$(stat -c %a "$T/x/$ID")" = 700 ]
    (cd "$T/x/$ID" && sha256sum -c --quiet SHA256SUMS)
    [ "$(wc -l <"$T/x/$ID/SHA256SUMS")" -eq "$(find "$T/x/$ID" -type f ! -name SHA256SUMS | wc -l)" ]
    [ "$(jq -r .sessionId "$T/x/$ID/mas-archive.json")" = "$ID" ]
    [ "$(jq .entries "$T/x/$ID/mas-archive.json")" -eq "$(names "$ARCHIVE" | grep -cvE '^(mas-archive.json|SHA256SUMS)$')" ]
    diff -r "$ROOT/sessions/$ID/unit" "$T/x/$ID/unit"
}

@test "what belongs to a running session alone is not archived" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    : >"$ROOT/sessions/$ID/run/env"
    "$MAS" archive -q "$ID" -o "$ARCHIVE"
    run ! grep -qE '^run|lock' <<<"$(names "$ARCHIVE")"
    [[ $(names "$ARCHIVE") == *.session*config.json* ]]
}

@test "--json tells what was archived" {
    new_session -t solo --no-start
    ok archive --json "$ID" -o "$ARCHIVE"
    [ "$(jq -r .sessionId <<<"$output")" = "$ID" ]
    [ "$(jq -r .file <<<"$output")" = "$ARCHIVE" ]
    [ "$(jq .archiveBytes <<<"$output")" -eq "$(stat -c %s "$ARCHIVE")" ]
    [ "$(jq .removed <<<"$output")" = false ]
    [ "$(jq '.entries > 5 and .bytes > 1000 and .linksOut == 0' <<<"$output")" = true ]
}

@test "--rm removes the session once it is archived" {
    new_session -t solo --no-start
    ok archive --rm "$ID" -o "$ARCHIVE"
    [[ $output == *'session removed' ]]
    [ -s "$ARCHIVE" ]
    [ -z "$("$MAS" list -q)" ]
    [ -z "$(find "$ROOT/sessions" -name "*$ID*")" ]
}

@test "--rm removes nothing that the archive does not hold" {
    new_session -t solo --no-start
    echo precious >"$ROOT/sessions/$ID/notes.txt"
    fails 1 archive --rm "$ID" -o "$ARCHIVE"
    [[ $stderr == "mas: cannot archive session '$ID': 'notes.txt': it is not part of a session"* ]]
    left_nothing
    ok archive "$ID" -o "$ARCHIVE"
    [[ $stderr == *"'notes.txt' is not part of a session and is left out" ]]
    [ "$(cat "$ROOT/sessions/$ID/notes.txt")" = precious ]
}

@test "several are archived, each into a file of its own" {
    new_session -t solo --no-start
    local first=$ID
    new_session -t solo --no-start -n second
    fails 3 archive -q "$first" nothing second
    [ "${#lines[@]}" -eq 2 ]
    [ "$(find "$ROOT/archive" -type f | wc -l)" -eq 2 ]
    fails 2 archive "$first" second -o "$ARCHIVE"
    [ ! -e "$ARCHIVE" ]
}

@test "two archives of a session in one second have two names" {
    new_session -t solo --no-start -n twice
    local i
    for i in 1 2 3; do "$MAS" archive -q twice; done
    [ "$(find "$ROOT/archive" -name 'twice-*.tar.zst' | wc -l)" -eq 3 ]
}

@test "of the names that a second has the last one is taken, and then no more" {
    new_session -t solo --no-start -n many
    local stem now second
    stem=$ROOT/archive/many-${ID:0:8}
    mkdir "$ROOT/archive"
    now=$(date +%s)
    for second in $(seq "$now" $((now + 60))); do
        date -u -d "@$second" +%Y%m%dT%H%M%SZ
    done >"$T/seconds"
    while read -r second; do
        touch "$stem-$second.tar.zst" "$stem-$second"-{2..99}.tar.zst
    done <"$T/seconds"
    "$MAS" archive -q many
    [ "$(find "$ROOT/archive" -name '*-100.tar.zst' -size +0 | wc -l)" -eq 1 ]
    while read -r second; do touch "$stem-$second-100.tar.zst"; done <"$T/seconds"
    fails 4 archive many
    [[ $stderr == *'-100.tar.zst'"': it exists"* ]]
    [ "$(find "$ROOT/archive" -type f -size +0 | wc -l)" -eq 1 ]
}

@test "[archive] dir and level are heeded" {
    new_session -t solo --no-start
    seq 200000 >"$ROOT/sessions/$ID/unit/solo/text"
    printf '[archive]\ndir = %s/deep/er\nlevel = 1\n' "$T" >>"$ROOT/mas.ini"
    "$MAS" archive -q "$ID"
    [ "$(stat -c %a "$T/deep/er")" = 700 ]
    sed -i 's/level = 1/level = 19/' "$ROOT/mas.ini"
    "$MAS" archive -q "$ID" -o "$ARCHIVE"
    [ "$(stat -c %s "$ARCHIVE")" -lt "$(stat -c %s "$T"/deep/er/*)" ]
}

@test "-o - writes the archive to standard output" {
    new_session -t solo --no-start
    "$MAS" archive "$ID" -o - >"$ARCHIVE" 2>"$T/err"
    [ ! -s "$T/err" ]
    names "$ARCHIVE" | grep -qx .session
    fails 2 archive "$ID" -o - --rm
    [ -d "$ROOT/sessions/$ID" ]
    run script -qec "'$MAS' archive $ID -o -" /dev/null
    [[ $output == *'cannot write an archive to a terminal'* ]]
    run bash -c "'$MAS' archive $ID -o - | head -c 10 >/dev/null; exit \${PIPESTATUS[0]}"
    [ "$status" -le 1 ]
}

@test "an archive is never overwritten" {
    new_session -t solo --no-start
    echo mine >"$ARCHIVE"
    fails 4 archive --rm "$ID" -o "$ARCHIVE"
    [ "${stderr%%$'\n'*}" = "mas: cannot archive session '$ID': cannot write '$ARCHIVE': it exists" ]
    [ "$(cat "$ARCHIVE")" = mine ]
    [ -d "$ROOT/sessions/$ID" ]
    rm "$ARCHIVE"
    ln -s "$T/elsewhere" "$ARCHIVE"
    fails 4 archive "$ID" -o "$ARCHIVE"
    [ ! -e "$T/elsewhere" ]
    fails 1 archive "$ID" -o "$T/no/such/a.zst"
}

@test "a running session is not archived" {
    new_session -t solo
    local disk
    "$MAS" wait "$ID" --for idle
    disk=$(snapshot)
    fails 4 archive --rm "$ID" -o "$ARCHIVE"
    [ "$stderr" = "mas: cannot archive session '$ID': it is running
stop it first with: mas stop $ID" ]
    left_nothing
    [ "$(snapshot)" = "$disk" ]
}

@test "a damaged session is not archived" {
    new_session -t solo --no-start
    echo nonsense >"$ROOT/sessions/$ID/.session"
    fails 5 archive "$ID" -o "$ARCHIVE"
    [[ $stderr == "mas: cannot archive session '$ID': its .session is damaged"* ]]
    left_nothing
}

@test "a session that another command works on is not archived, and none works on it meanwhile" {
    new_session -t solo --no-start
    mkfifo "$T/hold"
    exec 8<"$ROOT/sessions/$ID/.session.lock"
    flock 8
    fails 4 archive "$ID" -o "$ARCHIVE"
    exec 8<&-
    # a pipe that nobody reads holds the archive up
    head -c 3000000 /dev/urandom >"$ROOT/sessions/$ID/unit/solo/data"
    "$MAS" archive "$ID" -o - >"$T/hold" 2>"$T/err" 3>&- &
    local pid=$!
    exec 7<"$T/hold"
    eventually grep -q archive "$ROOT/sessions/$ID/.session.lock"
    fails 4 start "$ID"
    [[ $stderr == *'(archive)'* ]]
    fails 4 rm -f "$ID"
    cat <&7 >"$ARCHIVE"
    exec 7<&-
    wait "$pid"
    [ ! -s "$T/err" ]
    names "$ARCHIVE" | grep -qx unit/solo/data
}

@test "a session that is being started is not archived" {
    new_session -t solo --no-start
    # tmux is asked through a wrapper that waits
    mkdir "$T/bin"
    mkfifo "$T/go"
    local tmux pid
    tmux=$(command -v tmux)
    printf '#!/bin/sh\n: >"%s"\nread -r _ <"%s"\nexec "%s" "$@"\n' "$T/asked" "$T/go" "$tmux" \
        >"$T/bin/tmux"
    chmod +x "$T/bin/tmux"
    PATH=$T/bin:$PATH "$MAS" start "$ID" >"$T/out" 2>&1 3>&- &
    pid=$!
    eventually [ -e "$T/asked" ]
    eventually grep -q start "$ROOT/sessions/$ID/.session.lock"
    fails 4 archive --rm "$ID" -o "$ARCHIVE"
    [[ $stderr == *'(start)'* ]]
    left_nothing
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$tmux" >"$T/bin/tmux.new"
    mv "$T/bin/tmux.new" "$T/bin/tmux"
    echo >"$T/go"
    wait "$pid"
    [ "$(field "$ID" .status)" = active ]
    fails 4 archive "$ID" -o "$ARCHIVE"
    [[ $stderr == *'it is running'* ]]
}

@test "of a start and an archive at once, both whole, at most one is refused" {
    new_session -t solo --no-start
    local i rc_start rc_archive
    for i in 1 2 3 4 5; do
        rc_start=0 rc_archive=0
        "$MAS" archive -q "$ID" >"$T/out" 2>"$T/err" 3>&- &
        "$MAS" start "$ID" >/dev/null 2>"$T/err-start" || rc_start=$?
        wait "$!" || rc_archive=$?
        case $rc_start$rc_archive in
            00) ;;
            04) grep -qE '\((start)\)|it is running' "$T/err" ;;
            40) grep -q '(archive)' "$T/err-start" ;;
            *) cat "$T/err" "$T/err-start"; return 1 ;;
        esac
        "$MAS" stop -q "$ID"
    done
    for i in "$ROOT"/archive/*.zst; do
        [ ! -e "$i" ] || "$MAS" restore -q --new-id "$i"
    done
    run -0 "$MAS" doctor
}

@test "archive never takes the session from the environment" {
    new_session -t solo --no-start
    MAS_SESSION_ID=$ID fails 2 archive
    fails 3 archive nothing
    [ ! -e "$ROOT/archive" ]
}

@test "sockets and FIFOs are left out, setuid bits as well, and each is told" {
    new_session -t solo --no-start
    cd "$ROOT/sessions/$ID/unit/solo"
    mkfifo pipe
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
    echo x >suid && chmod 4755 suid
    ok archive "$ID" -o "$ARCHIVE"
    [[ $stderr == *"'unit/solo/pipe' is a FIFO and is left out"* ]]
    [[ $stderr == *"'unit/solo/socket' is a socket and is left out"* ]]
    [[ $stderr == *"'unit/solo/suid' is archived without its setuid or setgid bit"* ]]
    run ! grep -qE 'pipe|socket' <<<"$(names "$ARCHIVE")"
    [[ $(tar --zstd -tvf "$ARCHIVE") == *'-rwxr-xr-x '*suid* ]]
}

@test "a file that cannot be read is named, and nothing is left" {
    hold_to_modes
    new_session -t solo --no-start
    for what in 'echo x >secret' 'mkdir secret'; do
        (cd "$ROOT/sessions/$ID/unit/solo" && eval "$what" && chmod 000 secret)
        fails 1 archive --rm "$ID" -o "$ARCHIVE"
        [ "$stderr" = "mas: cannot archive session '$ID': 'unit/solo/secret': Permission denied"$'\n'"let yourself read it with chmod, or move it out of the session" ]
        left_nothing
        rm -r "$ROOT/sessions/$ID/unit/solo/secret"
    done
    [ -d "$ROOT/sessions/$ID" ]
}

@test "what an add that was killed has left is not taken along" {
    new_session -t solo --no-start
    cp -a "$ROOT/sessions/$ID/unit/solo" "$ROOT/sessions/$ID/unit/half"
    for options in '' --live --rm; do
        printf half >"$ROOT/sessions/$ID/.growing"
        mkdir -p "$ROOT/sessions/$ID/unit/half"
        # shellcheck disable=SC2086 # none or one
        ok archive $options "$ID" -o "$ARCHIVE"
        [ -z "$stderr" ]
        run ! grep half <<<"$(names "$ARCHIVE")"
        [ ! -e "$ROOT/sessions/$ID/.growing" ]
        rm "$ARCHIVE"
    done
}

@test "a device is refused" {
    mknod "$T/probe" c 1 3 2>/dev/null || skip 'only root makes devices'
    new_session -t solo --no-start
    mknod "$ROOT/sessions/$ID/unit/solo/null" c 1 3
    fails 1 archive "$ID" -o "$ARCHIVE"
    [[ $stderr == *"'unit/solo/null': it is a device" ]]
    left_nothing
}

@test "files that change while they are archived are told, and nothing is left" {
    new_session -t solo --no-start
    local unit=$ROOT/sessions/$ID/unit/solo how
    head -c 3000000 /dev/urandom >"$unit/data"
    mkfifo "$T/hold"
    # shellcheck disable=SC2016 # for eval
    for how in 'echo more >>"$unit/data"' ': >"$unit/new"' 'rm "$unit/new"' 'chmod 600 "$unit/data"'; do
        "$MAS" archive "$ID" -o - >"$T/hold" 2>"$T/err" 3>&- &
        exec 7<"$T/hold"
        head -c 1000 <&7 >/dev/null # it has looked at all files by now
        eval "$how"
        cat <&7 >/dev/null
        exec 7<&-
        local rc=0
        wait "$!" || rc=$?
        [ "$rc" -eq 1 ]
        grep -q 'it changed while it was archived' "$T/err"
    done
}

# What a killed archive leaves in directory $1, in $STALE; one that is in use, in $USED, to be held
# by whoever calls; and what others have put there.
leave_behind() {
    mkdir -p "$1/.mas-archive-00000000-0000-4000-8000-00000000000d.new"
    STALE=$1/.mas-archive-00000000-0000-4000-8000-00000000000a.new
    USED=$1/.mas-archive-00000000-0000-4000-8000-00000000000b.new
    ln -s "$T" "$1/.mas-archive-00000000-0000-4000-8000-00000000000c.new"
    : >"$STALE" && : >"$USED"
    : >"$1/.mas-archive-notes.new" && : >"$1/.mas-archive-${STALE: -40:36}.new.zst"
}

@test "temporary files of killed archives go with the next one, those in use and others' stay" {
    new_session -t solo --no-start
    local dir count
    for dir in "$ROOT/archive" "$T/elsewhere"; do
        leave_behind "$dir"
        count=$(find "$dir" -mindepth 1 | wc -l)
        exec 8<"$USED"
        flock 8
        "$MAS" archive -q "$ID" -o "$dir/a.zst"
        [ ! -e "$STALE" ]
        [ "$(find "$dir" -mindepth 1 | wc -l)" -eq "$count" ] # one has gone, one came
        exec 8<&-
    done
}

@test "doctor finds what killed archives have left, and --fix removes it" {
    leave_behind "$ROOT/archive"
    exec 8<"$USED"
    flock 8
    fails 1 doctor
    [[ $output == *"${STALE##*/}"*"a killed command left it behind"* ]]
    [ "$(grep -c left <<<"$output")" -eq 1 ]
    [ -e "$STALE" ]
    mas doctor --fix
    [ ! -e "$STALE" ]
    [ -e "$USED" ]
    [ "$(find "$ROOT/archive" -mindepth 1 | wc -l)" -eq 5 ]
    exec 8<&-
    fails 1 doctor
    printf '[archive]\ndir = %s/none\n' "$T" >>"$ROOT/mas.ini"
    ok doctor
}

@test "SIGINT gives up and leaves nothing" {
    new_session -t solo --no-start
    head -c 3000000 /dev/urandom >"$ROOT/sessions/$ID/unit/solo/data"
    mkfifo "$T/hold"
    set -m
    env --default-signal=INT "$MAS" archive "$ID" -o - >"$T/hold" 2>"$T/err" 3>&- & # it may be ignored here
    local pid=$!
    set +m
    exec 7<"$T/hold"
    head -c 1000 <&7 >/dev/null
    kill -INT "$pid"
    local rc=0
    wait "$pid" || rc=$?
    [ "$rc" -eq 130 ]
    exec 7<&-
    "$MAS" rm -q "$ID"
}

@test "a missing helper program is told with what to do" {
    new_session -t solo --no-start
    mkdir "$T/bin"
    cp "$MAS" "$T/bin/mas"
    [ ! -e /usr/local/libexec/mas/mas-archive ] || skip 'mas is installed here'
    run --separate-stderr "$T/bin/mas" archive "$ID" -o "$ARCHIVE"
    [ "$status" -eq 1 ]
    [[ $stderr == "mas: cannot archive session '$ID': cannot find the program 'mas-archive' in "* ]]
    [[ $stderr == *"make install"* ]]
    left_nothing
}

@test "mas-archive by itself says what it is" {
    run -2 "${MAS%/*}/mas-archive" </dev/null 3>&-
    [[ $output == 'mas-archive: this program is part of mas'* ]]
}

@test 'mas-archive gives up the network, other programs and other directories before it reads an archive' {
    [ -z "$TEST_SAN" ] || skip 'under a sanitizer the filter is off'
    command -v strace >/dev/null || skip 'strace is not installed'
    mkdir "$T/traced"
    cp "$MAS" "$T/traced/mas"
    ln -s "$PROJECT/templates" "$T/templates"
    cat >"$T/traced/mas-archive" <<END
#!/bin/sh
exec strace -qq -o '$T/trace' '${MAS%/*}/mas-archive'
END
    chmod +x "$T/traced/mas-archive"
    new_session -t solo --no-start
    local traced=$T/traced/mas words restricted filtered
    "$MAS" archive -q "$ID" -o "$ARCHIVE"
    for words in "archive -q $ID -o $T/b.tar.zst" "restore -q --new-id $ARCHIVE"; do
        # shellcheck disable=SC2086 # words
        "$traced" $words
        restricted=$(grep -nE '^landlock_restrict_self.* = (0|-1 EOPNOTSUPP)' "$T/trace" | head -n 1)
        filtered=$(grep -nE '^seccomp\(SECCOMP_SET_MODE_FILTER.* = 0' "$T/trace" | head -n 1)
        # nothing of the archive is read, no file packed, no thread started before
        [ -n "$filtered" ]
        run ! grep -qE '^(clone|getdents|p?read(64)?\([45],|openat\(5)' <(head -n "${filtered%%:*}" "$T/trace")
        if "${MAS%/*}/mas-wall" --probe | grep -qE '^landlock=([2-9]|[1-9][0-9])'; then [ -n "$restricted" ]; fi
    done
}
