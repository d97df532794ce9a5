#!/usr/bin/env bats
# What sessions take on disk: each byte once, by parts, and the same in every command that tells it.
load ../helper

teardown_more() {
    local dir
    for dir in "$T"/fs "$T"/fs.* "$ROOT"/sessions/*/unit/solo/there; do
        if mountpoint -q "$dir" 2>/dev/null; then umount "$dir"; fi
    done
}

ws() { echo "$ROOT/sessions/$1"; }

# Fields of one session, and of the total, of the last `mas du --json`
of() { jq -r --arg id "$1" ".sessions[] | select(.sessionId == \$id) | $2" <<<"$output"; }
total() { jq -r ".total.$1" <<<"$output"; }

measured() {
    mas du --json "$@"
    echo "$output$stderr"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
}

# A file of $2 MB that really takes them
put() { head -c "$(($2 << 20))" /dev/urandom >"$1"; }

real() { du -s -B1 -- "$@" | awk '{ n += $1 } END { print n }'; }

# Mounts a file system of kind $1 at $T/fs.$1 whose files can share, with a root there in $ROOT.
root_on() {
    [ "$EUID" -eq 0 ] || skip 'only root can mount a file system'
    command -v "mkfs.$1" >/dev/null || skip "there is no mkfs.$1"
    truncate -s 1G "$T/image"
    mkdir "$T/fs.$1"
    "mkfs.$1" -q -f "$T/image" >/dev/null 2>&1 || skip "mkfs.$1 cannot make one"
    mount -o "loop${2+,$2}" "$T/image" "$T/fs.$1" 2>/dev/null || skip "cannot mount $1"
    echo probe >"$T/fs.$1/probe"
    cp --reflink=always "$T/fs.$1/probe" "$T/fs.$1/clone" || skip "this $1 shares nothing"
    export MAS_ROOT=$T/fs.$1/root ROOT=$T/fs.$1/root
    "$MAS" init -q
}

@test "a session takes what du says, and holds what its files hold" {
    new_session --no-start
    put "$(ws "$ID")/unit/10/data" 1
    truncate -s 50M "$(ws "$ID")/unit/11/sparse"
    ln -s /usr "$(ws "$ID")/unit/11/link"
    measured "$ID"
    [ "$(of "$ID" .real)" = "$(real "$(ws "$ID")")" ]
    [ "$(of "$ID" .own)" = "$(of "$ID" .real)" ]
    [ "$(of "$ID" .apparent)" = "$(find "$(ws "$ID")" ! -type d -printf '%s\n' |
        awk '{ n += $1 } END { print n }')" ]
    [ "$(of "$ID" .files)" = "$(find "$(ws "$ID")" ! -type d | wc -l)" ]
    [ "$(of "$ID" .apparent)" -gt $((50 << 20)) ]
    [ "$(of "$ID" .real)" -lt $((3 << 20)) ]
    [ "$(of "$ID" .skipped)" = 0 ]
    [ "$(total real)" = "$(of "$ID" .real)" ]
}

@test "the parts of a session are its units, workflows, logs, memory and the rest" {
    new_session -t pair --no-start
    local dir agents agent
    dir=$(ws "$ID")
    agents=$(cd "$dir/unit" && echo *)
    put "$dir/unit/${agents%% *}/data" 1
    put "$dir/memory.db" 2
    put "$dir/memory.db-wal" 1
    put "$dir/logs/agent-x.log" 3
    put "$dir/unit/loose" 1
    measured "$ID"
    [ "$(of "$ID" '[.units[].agent] | join(" ")')" = "$agents" ]
    for agent in $agents; do
        [ "$(of "$ID" ".units[] | select(.agent == \"$agent\").real")" = "$(real "$dir/unit/$agent")" ]
    done
    [ "$(of "$ID" .workflows.real)" = "$(real "$dir/workflows")" ]
    [ "$(of "$ID" .logs.real)" = "$(real "$dir/logs")" ]
    [ "$(of "$ID" .memory.real)" = "$(real "$dir"/memory.db*)" ]
    [ "$(of "$ID" .memory.apparent)" = $((3 << 20)) ]
    [ "$(of "$ID" .other.real)" -ge $((1 << 20)) ]
    local size
    for size in real apparent; do
        of "$ID" "[.units[], .workflows, .logs, .memory, .other | .$size] | add == 0" | grep -qx false
        [ "$(of "$ID" "[.units[], .workflows, .logs, .memory, .other | .$size] | add")" = \
            "$(of "$ID" ".$size")" ]
    done

    ok du "$ID"
    [[ ${lines[0]} =~ ^PART\ +FILES\ +APPARENT\ +REAL$ ]]
    [[ $output =~ unit/${agents%% *}\ +[0-9]+\ +1\.0M\ +1\.0M ]]
    [[ $output =~ memory\ +2\ +3\.0M\ +3\.0M ]]
    [[ $output == *$'\nown: '* ]]
}

@test "without a session: all of them, largest first, and a total" {
    new_session -t solo --no-start -n small
    local small=$ID large=
    new_session -t solo --no-start -n large
    large=$ID
    put "$(ws "$large")/unit/solo/data" 3
    ok du
    [[ ${lines[0]} =~ ^SESSION\ +NAME\ +STATUS\ +FILES\ +APPARENT\ +REAL\ +OWN$ ]]
    [[ ${lines[1]} =~ ^mas-${large:0:8}\ +large\ +stopped\ +[0-9]+\ +3\.0M ]]
    [[ ${lines[2]} =~ ^mas-${small:0:8}\ +small\ +stopped ]]
    [[ ${lines[3]} =~ ^total\ +[0-9]+\ +3\.0M ]]
    mas du -q
    [ "$output" = "$large"$'\n'"$small" ]
    measured
    [ "$(jq -r '[.sessions[].name] | join(" ")' <<<"$output")" = 'large small' ]
    [ "$(total real)" = "$(jq '[.sessions[].real] | add' <<<"$output")" ]
    [ "$(total files)" = "$(jq '[.sessions[].files] | add' <<<"$output")" ]
    [ "$(of "$small" '[.name, .status] | join(" ")')" = 'small stopped' ]
}

@test "a session is counted once, however often it is named" {
    new_session -t solo --no-start -n twice
    ok du -q twice "$ID" -s @last
    [ "$output" = "$ID" ]
}

@test "where one is not there, the others are measured, and the exit code says so" {
    new_session -t solo --no-start
    fails 3 du -q nothing "$ID"
    [ "$output" = "$ID" ]
    [[ $stderr == "mas: cannot find session 'nothing'"* ]]
}

@test "in a team's pane it is that team" {
    new_session -t solo --no-start
    local mine=$ID
    new_session -t solo --no-start
    MAS_SESSION_ID=$mine mas du -q
    [ "$output" = "$mine" ]
}

@test "without sessions it says how to begin" {
    ok du
    [ -z "$output" ]
    [ "$stderr" = "no sessions in '$ROOT'; create a session with: mas new" ]
    measured
    [ "$(jq -c '[.sessions, .total.real]' <<<"$output")" = '[[],0]' ]
}

@test "hard links are counted once, in a session and over all of them" {
    new_session -t solo --no-start
    local one=$ID before
    new_session -t solo --no-start
    measured
    before=$(total real)
    put "$(ws "$one")/unit/solo/data" 4
    ln "$(ws "$one")/unit/solo/data" "$(ws "$one")/unit/solo/again"
    measured
    [ "$(of "$one" .real)" = "$(real "$(ws "$one")")" ]
    [ "$(of "$one" .own)" = "$(of "$one" .real)" ]
    [ "$(of "$one" .apparent)" -lt $((5 << 20)) ]

    ln "$(ws "$one")/unit/solo/data" "$(ws "$ID")/unit/solo/data"
    measured
    [ "$(of "$one" .real)" -ge $((4 << 20)) ]
    [ "$(of "$ID" .real)" -ge $((4 << 20)) ]
    [ "$(of "$one" .own)" -lt $((1 << 20)) ]
    [ "$(of "$ID" .own)" -lt $((1 << 20)) ]
    [ "$(total real)" = $((before + (4 << 20))) ]
    [ "$(total own)" = "$(total real)" ]

    ln "$(ws "$one")/unit/solo/data" "$ROOT/outside"
    measured
    [ "$(total real)" = $((before + (4 << 20))) ]
    [ "$(total own)" = "$before" ]
}

# Two sessions of a template with 8 MB, one of which has changed 1 MB of it
shares() {
    put "$ROOT/templates/solo/unit/solo/data" 8
    new_session -t solo --no-start
    local one=$ID
    new_session -t solo --no-start
    dd if=/dev/urandom of="$(ws "$ID")/unit/solo/data" bs=64K seek=32 count=16 conv=notrunc status=none
    sync -f "$ROOT"
    measured
    [ "$(of "$one" .real)" = "$(real "$(ws "$one")")" ]
    [ "$(of "$ID" .real)" = "$(real "$(ws "$ID")")" ]
    [ "$(of "$one" .real)" -ge $((8 << 20)) ]
    [ "$(of "$one" .own)" -lt $((512 << 10)) ]
    [ "$(of "$ID" .own)" -ge $((1 << 20)) ]
    [ "$(of "$ID" .own)" -lt $((3 << 19)) ]
    [ "$(total real)" -ge $((9 << 20)) ]
    [ "$(total real)" -lt $((10 << 20)) ]
    [ "$(of "$ID" '.units[0].real')" -ge $((8 << 20)) ]
    mas show "$one" --json
    [ "$(jq .disk.realBytes <<<"$output")" = "$("$MAS" du --json "$one" | jq '.sessions[0].real')" ]

    cp --reflink=always "$(ws "$one")/unit/solo/data" "$(ws "$one")/unit/solo/again"
    measured "$one"
    [ "$(of "$one" .apparent)" -ge $((16 << 20)) ]
    [ "$(of "$one" .real)" -lt $((9 << 20)) ]
}

@test "what files share on XFS is counted once" {
    root_on xfs
    shares
}

@test "what files share on btrfs is counted once" {
    root_on btrfs
    shares
}

@test "what files share on btrfs is counted once where it is compressed" {
    root_on btrfs compress=zstd
    seq 1 1000000 >"$ROOT/templates/solo/unit/solo/data"
    sync -f "$ROOT"
    new_session -t solo --no-start
    new_session -t solo --no-start
    measured
    [ "$(total apparent)" -gt $((13 << 20)) ]
    [ "$(total real)" -gt $((6 << 20)) ]
    [ "$(total real)" -lt $((8 << 20)) ]
    [ "$(total own)" -lt $((1 << 20)) ]
}

@test "snapshots of templates that sessions wait for are part of the total" {
    printf '[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"
    put "$ROOT/templates/solo/unit/solo/data" 3
    new_session -t solo --no-start
    new_session -t solo --no-start
    mas du
    [[ ${lines[3]} =~ ^snapshots\ +[0-9]+\ +[36]\.0M\ +[36]\.0M ]]
    measured
    [ "$(jq .snapshots.real <<<"$output")" = "$(real "$ROOT/sessions/.snapshots")" ]
    [ "$(of "$ID" .real)" -lt $((1 << 20)) ]
    [ "$(total real)" = "$(real "$ROOT/sessions/"*-* "$ROOT/sessions/.snapshots")" ]
    measured "$ID"
    [ "$(jq .snapshots.real <<<"$output")" = 0 ]
}

@test "show tells the same" {
    new_session -t solo --no-start
    put "$(ws "$ID")/unit/solo/data" 5
    ln "$(ws "$ID")/unit/solo/data" "$(ws "$ID")/unit/solo/again"
    measured "$ID"
    [ "$(of "$ID" '[.files, .apparent, .real] | join(" ")')" = \
        "$(field "$ID" '.disk | [.files, .apparentBytes, .realBytes] | join(" ")')" ]
    mas show "$ID"
    [[ $output =~ disk\ use\ +5\.[01]M ]]
}

@test "unit and workflows of a legacy session are the root's, and no session's own" {
    new_session -t solo --no-start
    local one=$ID id before own
    new_session -t solo --no-start
    for id in "$one" "$ID"; do
        rm -r "$(ws "$id")/unit" "$(ws "$id")/workflows"
        sed -i 's/^MODE=.*/MODE=legacy/' "$(ws "$id")/.session"
    done
    rm "$ROOT/sessions/.sessions.index"
    measured
    before=$(total real)
    own=$(of "$one" .own)
    mkdir -p "$ROOT/unit/00" "$ROOT/workflows"
    put "$ROOT/unit/00/data" 3
    put "$ROOT/workflows/flow.md" 1
    measured
    [ "$(of "$one" '.units[0] | [.agent, .real] | join(" ")')" = "00 $(real "$ROOT/unit/00")" ]
    [ "$(of "$one" .workflows.real)" = "$(real "$ROOT/workflows")" ]
    [ "$(of "$one" .real)" = $((own + $(real "$ROOT/unit" "$ROOT/workflows"))) ]
    [ "$(of "$one" .own)" = "$own" ]
    [ "$(field "$one" .disk.realBytes)" = "$(of "$one" .real)" ]
    [ "$(total real)" = $((before + $(real "$ROOT/unit" "$ROOT/workflows"))) ]
    [ "$(total own)" = "$before" ]
}

@test "a damaged session is measured like any other" {
    new_session -t solo --no-start
    put "$(ws "$ID")/unit/solo/data" 2
    echo rubbish >"$(ws "$ID")/.session"
    rm "$ROOT/sessions/.sessions.index"
    ok du --json
    [ "$(of "$ID" .status)" = error ]
    [ "$(of "$ID" .real)" = "$(real "$(ws "$ID")")" ]
}

@test "what cannot be read is told, and does not stop the rest" {
    new_session -t solo --no-start
    mkdir "$(ws "$ID")/unit/solo/closed"
    put "$(ws "$ID")/unit/solo/closed/data" 1
    put "$(ws "$ID")/unit/solo/data" 2
    chmod 000 "$(ws "$ID")/unit/solo/closed"
    local as=()
    if [ "$EUID" -eq 0 ]; then
        chown -R nobody "$T"
        as=(setpriv --reuid nobody --clear-groups --inh-caps=-all --)
        "${as[@]}" test -x "$MAS" || skip 'others cannot run the program here'
    fi
    run --separate-stderr "${as[@]}" "$MAS" du --json
    [ "$status" -eq 0 ]
    [[ $stderr == "mas: warning: session '$ID' uses at least the space shown: 1 of its entries cannot be read" ]]
    [ "$(of "$ID" .skipped)" = 1 ]
    [ "$(of "$ID" .real)" -ge $((2 << 20)) ]
    [ "$(of "$ID" .real)" -lt $((3 << 20)) ]
}

@test "what is mounted in a session is not of it" {
    [ "$EUID" -eq 0 ] || skip 'only root can mount a file system'
    new_session -t solo --no-start
    measured
    local before
    before=$(total real)
    mkdir "$(ws "$ID")/unit/solo/there"
    mount -t tmpfs none "$(ws "$ID")/unit/solo/there" 2>/dev/null || skip 'nothing can be mounted here'
    head -c 3M /dev/zero >"$(ws "$ID")/unit/solo/there/data"
    measured
    umount "$(ws "$ID")/unit/solo/there"
    [ "$(total real)" -ge "$before" ]
    [ "$(total real)" -lt $((before + (1 << 20))) ]
}

@test "a tree that is very deep is measured" {
    new_session -t solo --no-start
    python3 - "$(ws "$ID")/unit/solo" <<'END'
import os, sys
os.chdir(sys.argv[1])
for i in range(5000):
    os.mkdir("d")
    os.chdir("d")
open("f", "w").write("x" * 100)
END
    (ulimit -n 64 && exec "$MAS" du --json "$ID") >"$T/out"
    [ "$(jq .total.skipped "$T/out")" = 0 ]
    output=$(cat "$T/out")
    [ "$(of "$ID" .real)" = "$(real "$(ws "$ID")")" ]
}

@test "names in unit/ do nothing to a terminal" {
    new_session -t solo --no-start
    mkdir "$(ws "$ID")/unit/"$'evil\033[2J\n'
    ok du "$ID"
    [[ $output == *'unit/evil\x1b[2J\x0a '* ]]
    measured "$ID"
    [ "$(of "$ID" '.units[0].agent')" = $'evil\033[2J' ]
}

@test "measuring changes nothing" {
    new_session -t solo --no-start
    local before
    before=$(snapshot)
    mas du
    mas du --json "$ID"
    [ "$(snapshot)" = "$before" ]
}

@test "the repositories of a project count, and not as freed where the project has the same files" {
    load code.bash
    make_project
    put "$P/large" 2
    git -C "$P" add large
    git -C "$P" commit -qm large
    find "$P/.git/objects" -type f -size +1M | grep -q .
    make_team -t solo
    # large is in code.git, linked to the project's, and checked out in code/solo
    [ "$(stat -c %h "$(find "$G/objects" -type f -size +1M)")" -ge 2 ] || skip 'no links here'
    measured
    [ "$(of "$ID" .real)" = "$(real "$(ws "$ID")")" ]
    [ "$(of "$ID" .real)" -gt $((4 << 20)) ]
    [ "$(of "$ID" .own)" -lt $((4 << 20)) ]
    [ "$(of "$ID" .own)" -gt $((2 << 20)) ]
    rm -rf "$P"
    measured
    [ "$(of "$ID" .own)" -gt $((4 << 20)) ]
    # they are a part of their own
    measured "$ID"
    [ "$(of "$ID" .code.real)" = "$(real "$G" "$C")" ]
    for size in real apparent; do
        [ "$(of "$ID" "[.units[], .workflows, .logs, .memory, .code, .other | .$size] | add")" = \
            "$(of "$ID" ".$size")" ]
    done
    mas du "$ID"
    [[ $output =~ code\ +[0-9]+\ +4\.[0-9]M\ +4\.[0-9]M ]]
    printf '[limits]\nsession = 3M\n' >>"$ROOT/mas.ini"
    fails 1 doctor
    [[ $output = *"$ID"*'3'*M* ]]
}
