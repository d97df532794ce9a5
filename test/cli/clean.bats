#!/usr/bin/env bats
# Retention: what has had its time goes, and nothing else is touched.
# shellcheck disable=SC2016
load ../helper

setup_more() { quick_idle; }

# A stopped session that was last used so long ago: new_old DAYS [OPTION...]. Its id is in $ID.
new_old() {
    local days=$1
    shift
    new_session -t solo --no-start "$@"
    age "$ID" "$days days ago"
}

# age SESSION WHEN [KEY...]: its metadata says that it was last used then.
age() {
    local id=$1 at key
    at=$(date -u -d "$2" +%Y-%m-%dT%H:%M:%SZ)
    shift 2
    for key in "${@:-LAST_ACTIVITY}" ${1:-STOPPED_AT}; do
        sed -i "s/^$key=.*/$key=$at/" "$ROOT/sessions/$id/.session"
    done
    touch -d "$at" "$ROOT/sessions/$id/logs/"*
}

left() { "$MAS" list --all -q | sort | tr '\n' ' '; }

# ids ID...: sorted, in one line, as left() prints them.
ids() { printf '%s\n' "$@" | sort | tr '\n' ' '; }

# Nothing on disk or in the index speaks of session $1.
left_nothing() {
    [ -z "$(find "$ROOT/sessions" -name "*$1*")" ]
    run ! grep -q "$1" "$ROOT/sessions/.sessions.index"
}

processes() { grep -lsxzF "MAS_SESSION_ID=$1" /proc/[0-9]*/environ | cut -d/ -f3 | sort; }

@test "without a criterion nothing is done, and a hint says what one is" {
    new_old 400
    fails 2 clean
    [ "$stderr" = "mas: cannot clean: no criterion selects the sessions to remove
give --older-than, --keep or --status, or set them under [retention] in mas.ini" ]
    fails 2 clean --archive --dry-run
    [ -d "$ROOT/sessions/$ID" ]
}

@test "a session that was brought back is as if it was used just now" {
    new_old 400
    "$MAS" clean -q --older-than 7d --archive
    left_nothing "$ID"
    "$MAS" restore -q "$ROOT"/archive/*
    mas clean --older-than 7d
    [ "$output" = '0 sessions removed, 0B freed' ]
    [ "$(left)" = "$ID " ]
}

@test "what is misspelt is exit 2 and removes nothing" {
    local words
    new_old 400
    while read -r -a words; do
        mas clean "${words[@]//_/}"
        [ "$status" -eq 2 ] || { echo "${words[*]}: $status"; return 1; }
        [[ $stderr == 'mas: cannot '* ]]
    done <<'END'
--older-than _
--older-than 7
--older-than 7y
--older-than -1d
--older-than 7d12h
--older-than 99999999999999999999d
--keep _
--keep -1
--keep 1k
--keep 1000001
--status _
--status active
--status stopped,
--status ,stopped
--status stopped,old
--older-than 1d everything
END
    fails 2 clean --older-than 1d "$ID"
    MAS_SESSION_ID=$ID fails 2 clean
    [ -d "$ROOT/sessions/$ID" ]
}

@test "sessions that were last used so long ago go, younger ones stay" {
    new_old 8
    local old=$ID
    new_old 6
    ok clean --older-than 7d
    [ -z "$stderr" ]
    [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} =~ ^$old\ removed,\ [0-9.]+[BKM]$ ]]
    [[ ${lines[1]} =~ ^1\ session\ removed,\ [0-9.]+[BKM]\ freed$ ]]
    left_nothing "$old"
    [ "$(left)" = "$(ids "$ID")" ]
    mas clean --older-than 1000h
    [ "$output" = '0 sessions removed, 0B freed' ]
    ok clean -q --older-than 90m
    [ "$(left)" = '' ]
    ok doctor
}

@test "a session was last used when it was stopped or was active, whichever is later" {
    new_old 8
    age "$ID" '1 day ago' STOPPED_AT
    mas clean --older-than 7d
    [[ $output == '0 sessions removed'* ]]
    age "$ID" '8 days ago' STOPPED_AT
    age "$ID" '1 day ago' LAST_ACTIVITY
    mas clean --older-than 7d
    [[ $output == '0 sessions removed'* ]]
    age "$ID" 'next year' LAST_ACTIVITY
    mas clean --older-than 0s
    [[ $output == '0 sessions removed'* ]]
    age "$ID" '8 days ago'
    mas clean --older-than 7d
    [[ $output == *'1 session removed'* ]]
}

@test "--keep leaves the newest of those that do not run" {
    local all=() i
    for i in 5 3 4 1 2; do
        new_old "$i"
        all[i]=$ID
    done
    new_session -t solo
    mas clean --keep 5
    [ "$output" = '0 sessions removed, 0B freed' ]
    ok clean --keep 2
    [[ ${lines[0]} == "${all[5]} removed"* && ${lines[1]} == "${all[4]} removed"* ]]
    [[ ${lines[2]} == "${all[3]} removed"* && ${lines[3]} == '3 sessions removed'* ]]
    [ "$(left)" = "$(ids "$ID" "${all[1]}" "${all[2]}")" ]
    mas clean --keep 0
    [ "$(left)" = "$(ids "$ID")" ]
}

@test "with an age and a number both must hold" {
    local all=() i
    for i in 1 5 9; do
        new_old "$i"
        all[i]=$ID
    done
    mas clean --keep 2 --older-than 4d
    [[ ${lines[0]} == "${all[9]} removed"* && ${#lines[@]} -eq 2 ]]
    mas clean --keep 0 --older-than 4d
    [[ ${lines[0]} == "${all[5]} removed"* && ${#lines[@]} -eq 2 ]]
    [ "$(left)" = "$(ids "${all[1]}")" ]
}

@test "a session that runs is never touched, however old it looks" {
    new_session -t solo
    "$MAS" wait "$ID" --for idle
    age "$ID" '1000 days ago'
    local disk pids
    pids=$(processes "$ID")
    disk=$(snapshot)
    ok clean --keep 0 --older-than 0s --status stopped,error,crashed
    [ "$output" = '0 sessions removed, 0B freed' ]
    # a stop that was killed half way: it is to be stopped, and runs
    sed -i 's/^STATUS=.*/STATUS=stopped/' "$ROOT/sessions/$ID/.session"
    mas clean --keep 0
    [ "$output" = '0 sessions removed, 0B freed' ]
    sed -i 's/^STATUS=.*/STATUS=error/' "$ROOT/sessions/$ID/.session"
    mas clean --status error
    [ "$output" = '0 sessions removed, 0B freed' ]
    echo nonsense >"$ROOT/sessions/$ID/.session"
    mas clean --keep 0
    [ "$output" = '0 sessions removed, 0B freed' ]
    [ "$(processes "$ID")" = "$pids" ]
    [ "$(cut -d' ' -f 3- <<<"$disk" | grep -v '\.session$')" = \
        "$(snapshot | cut -d' ' -f 3- | grep -v '\.session$')" ]
}

@test "a crashed session goes only where that is asked for, with what is left of its team" {
    printf '[stop]\nhangup = 0\nterminate = 0\n' >>"$ROOT/mas.ini"
    cp -R "$ROOT/templates/solo" "$ROOT/templates/made"
    printf '%s\n' 'trap "" HUP TERM' ': >ready' 'while :; do sleep 1000; done' \
        >"$ROOT/templates/made/unit/solo/agent.sh"
    sed -i '/^\[agent solo\]/a command = sh agent.sh' "$ROOT/templates/made/template.ini"
    new_session -t made
    eventually test -e "$ROOT/sessions/$ID/unit/solo/ready"
    orphan_agents "$ID"
    tm kill-server
    eventually eval '! tm list-sessions 2>/dev/null'
    [ -n "$(processes "$ID")" ]
    age "$ID" '30 days ago'
    mas clean --older-than 1d
    [ "$output" = '0 sessions removed, 0B freed' ]
    mas clean --status stopped,error
    [ "$output" = '0 sessions removed, 0B freed' ]
    [ -n "$(processes "$ID")" ]
    ok clean --older-than 1d --status crashed
    [[ ${lines[0]} == "$ID removed"* ]]
    left_nothing "$ID"
    [ -z "$(processes "$ID")" ]
}

@test "only the statuses that were asked for" {
    new_old 5
    local stopped=$ID
    new_old 5
    sed -i 's/^STATUS=.*/STATUS=error/' "$ROOT/sessions/$ID/.session"
    mas clean --status error
    [[ ${lines[0]} == "$ID removed"* && ${#lines[@]} -eq 2 ]]
    [ "$(left)" = "$(ids "$stopped")" ]
    mas clean --status stopped
    [ "$(left)" = '' ]
}

@test "a damaged session is as old as the newest of its files" {
    new_old 30
    local dir=$ROOT/sessions/$ID
    echo nonsense >"$dir/.session"
    mas clean --older-than 7d
    [ "$output" = '0 sessions removed, 0B freed' ]
    find "$dir" -exec touch -h -d '8 days ago' {} +
    echo '8 days later' >>"$dir/logs/agent-solo.log"
    mas clean --older-than 7d
    [ "$output" = '0 sessions removed, 0B freed' ]
    touch -d "8 days ago" "$dir/logs/agent-solo.log" "$dir/logs"
    echo 'pid 1 (doctor)' >"$dir/.session.lock" # who looks at it is no use
    mas clean --older-than 7d --status stopped
    [ "$output" = '0 sessions removed, 0B freed' ]
    ok clean --older-than 7d
    [[ ${lines[0]} == "$ID removed"* ]]
    left_nothing "$ID"
}

@test "what is no workspace, or has none, is left to doctor" {
    new_old 30
    local gone=$ID
    rm -r "${ROOT:?}/sessions/$ID"
    new_old 30
    mv "$ROOT/sessions/$ID" "$T/elsewhere"
    ln -s "$T/elsewhere" "$ROOT/sessions/$ID"
    ok clean --keep 0
    [ "$output" = '0 sessions removed, 0B freed' ]
    [ -e "$T/elsewhere/.session" ]
    grep -q "$gone" "$ROOT/sessions/.sessions.index"
}

@test "a session that is being worked on is left, and counted" {
    new_old 30
    local busy=$ID
    new_old 40
    exec 8<"$ROOT/sessions/$busy/.session.lock"
    flock 8
    local disk
    disk=$(snapshot)
    mas clean --older-than 7d --dry-run
    [ "${lines[1]}" = "$busy would be kept, because it is locked" ]
    [[ ${lines[2]} == '1 session would be removed, '*' freed, 1 kept because locked' ]]
    [ "$(snapshot)" = "$disk" ]
    ok clean --older-than 7d
    [ -z "$stderr" ]
    [ "${lines[1]}" = "$busy kept, because it is locked" ]
    [[ ${lines[2]} == '1 session removed, '*' freed, 1 kept because locked' ]]
    [ "$(left)" = "$(ids "$busy")" ]
    ok clean -q --older-than 7d
    [ -z "$output$stderr" ]
    exec 8<&-
    mas clean --older-than 7d
    [[ ${lines[1]} == '1 session removed'*freed ]]
    [ "$(left)" = '' ]
}

@test "a session whose hosts live is left" {
    new_old 30
    : >"$ROOT/sessions/$ID/run/solo.lock"
    exec 8<"$ROOT/sessions/$ID/run/solo.lock"
    flock 8
    ok clean --older-than 7d
    [ "${lines[0]}" = "$ID kept, because it is locked" ]
    exec 8<&-
    mas clean --older-than 7d
    [[ ${lines[0]} == "$ID removed"* ]]
}

@test "a session whose tmux server cannot be asked is left, and that is told" {
    new_old 30
    local unknown=$ID
    ln -s loop "$T/loop"
    sed -i "s|^TMUX_SOCKET=.*|TMUX_SOCKET=$T/loop|" "$ROOT/sessions/$ID/.session"
    new_old 30
    fails 6 clean -q --older-than 7d
    [ -z "$output" ]
    [[ $stderr == "mas: cannot clean 1 session: cannot use tmux socket '$T/loop': it leads through too many symbolic links"* ]]
    [ "$(ls "$ROOT/sessions")" = "$unknown" ]
    ok clean --older-than 31d
}

@test "--dry-run prints the lines of a run with 'would be', and changes nothing" {
    local i dry
    for i in 1 2 3; do
        new_old "$i"
        ln "$ROOT/sessions/$ID/config.json" "$ROOT/sessions/$ID/unit/solo/twice"
    done
    ln "$ROOT/sessions/$ID/config.json" "$T/thrice"
    head -c 200000 /dev/zero >"$ROOT/sessions/$ID/unit/solo/mine"
    ln "$ROOT/sessions/$ID/unit/solo/mine" "$ROOT/sessions/$ID/unit/solo/mine-too"
    new_session -t solo
    "$MAS" wait "$ID" --for idle
    local disk
    disk=$(snapshot && stat -c %Y "$ROOT"/sessions/*/.session.lock)
    ok clean --keep 0 --dry-run
    [ "$(snapshot && stat -c %Y "$ROOT"/sessions/*/.session.lock)" = "$disk" ]
    dry=$output
    ok clean --keep 0
    [ "${#lines[@]}" -eq 4 ]
    [ "${dry//would be /}" = "$output" ]
    mas clean --keep 0 --dry-run
    [ "$output" = '0 sessions would be removed, 0B freed' ]
}

@test "what is freed is what the disk gets back" {
    new_old 30
    head -c 1000000 /dev/zero >"$ROOT/sessions/$ID/unit/solo/mine"
    ln "$ROOT/sessions/$ID/unit/solo/mine" "$ROOT/sessions/$ID/unit/solo/mine-too"
    head -c 1000000 /dev/zero >"$T/theirs"
    ln "$T/theirs" "$ROOT/sessions/$ID/unit/solo/theirs"
    local takes
    takes=$(($(du -s -B 1 "$ROOT/sessions/$ID" | cut -f 1) - $(du -B 1 "$T/theirs" | cut -f 1)))
    mas clean --keep 0 --json
    [ "$(jq .bytesFreed <<<"$output")" -eq "$takes" ]
    [ -e "$T/theirs" ]
}

@test "--json says what was done" {
    new_old 30 -n first
    local old=$ID
    new_old 2
    exec 8<"$ROOT/sessions/$ID/.session.lock"
    flock 8
    ok clean --older-than 1d --json --dry-run
    [ "$(jq -c '[.dryRun, .total, .locked, .failed, .sessions[0].sessionId]' <<<"$output")" = \
        "[true,1,1,0,\"$old\"]" ]
    mas clean --older-than 1d --json
    exec 8<&-
    [ "$(jq -c '[.dryRun, .total, .locked, .failed, .bytesFreed == .sessions[0].bytesFreed]' \
        <<<"$output")" = '[false,1,1,0,true]' ]
    [ "$(jq -r '.sessions[0] | [.sessionId, .name, .status, .lastUsed[:10]] | join(" ")' \
        <<<"$output")" = "$old first stopped $(date -u -d '30 days ago' +%Y-%m-%d)" ]
    mas clean --older-than 100d --json
    [ "$output" = '{"dryRun":false,"sessions":[],"total":0,"bytesFreed":0,"locked":0,"failed":0}' ]
}

@test "[retention] in mas.ini gives the defaults, and each option takes the place of its own" {
    local all=() i
    for i in 1 5 9; do
        new_old "$i"
        all[i]=$ID
    done
    printf '[retention]\nolder_than = 7d\nkeep = 2\n' >>"$ROOT/mas.ini"
    mas clean --dry-run
    [[ ${lines[0]} == "${all[9]} would be removed"* && ${#lines[@]} -eq 2 ]]
    mas clean --older-than 4d --dry-run
    [[ ${lines[0]} == "${all[9]} would be removed"* && ${#lines[@]} -eq 2 ]]
    mas clean --keep 0 --dry-run
    [[ ${lines[0]} == "${all[9]} would be removed"* && ${#lines[@]} -eq 2 ]]
    mas clean --keep 0 --older-than 4d --dry-run
    [[ ${lines[1]} == "${all[5]} would be removed"* && ${#lines[@]} -eq 3 ]]
    mas clean --status error --dry-run
    [[ $output == '0 sessions would be'* ]]
    mas clean
    [ "$(left)" = "$(ids "${all[1]}" "${all[5]}")" ]
    sed -i 's/^keep = 2/keep = two/' "$ROOT/mas.ini"
    fails 1 clean --keep 0
    [[ $stderr == *'keep'*'a number up to 1000000'* ]]
}

@test "a status alone is a criterion" {
    new_old 0
    printf '[retention]\nstatus = error\n' >>"$ROOT/mas.ini"
    ok clean
    [[ $output == '0 sessions removed'* ]]
    mas clean --status stopped
    [[ ${lines[0]} == "$ID removed"* ]]
}

@test "there is nothing to do where there is no session, and none where there is no root" {
    ok clean --keep 0
    [ "$output" = '0 sessions removed, 0B freed' ]
    unset MAS_ROOT
    cd "$T"
    ok clean -q --keep 0
    [ -z "$output$stderr" ]
    [ ! -e "$XDG_DATA_HOME/mas" ]
    mas --root "$T/none" clean --keep 0
    [ "$status" -ne 0 ]
}

# many COUNT: so many stopped sessions, copies of one.
many() {
    local i id
    new_old 30
    for ((i = 1; i < $1; i++)); do
        printf -v id '%08x-0000-4000-8000-%012x' "$i" "$i"
        cp -R "$ROOT/sessions/$ID" "$ROOT/sessions/$id"
        sed -i "s/$ID/$id/; s/mas-${ID:0:8}/mas-${id:0:8}/" "$ROOT/sessions/$id/.session"
    done
    "$MAS" doctor --fix >/dev/null
    [ "$("$MAS" list --all -q | wc -l)" -eq "$1" ]
}

@test "more than are removed at a time, with few descriptors" {
    many 150
    (ulimit -n 64 && exec "$MAS" clean --keep 7 >"$T/out")
    [ "$(tail -n 1 "$T/out" | cut -d, -f 1)" = '143 sessions removed' ]
    [ "$("$MAS" list -q | wc -l)" -eq 7 ]
    mas clean --keep 0
    [ "${#lines[@]}" -eq 8 ]
    [ -z "$(ls "$ROOT/sessions")" ]
    ok doctor
}

@test "of two cleans at once none fails, and each session is removed by one" {
    many 150
    local i pids=()
    for i in 1 2 3; do
        "$MAS" clean --keep 0 >"$T/out-$i" 2>"$T/err-$i" &
        pids+=("$!")
    done
    for i in "${pids[@]}"; do
        wait "$i"
    done
    cat "$T"/err-*
    [ "$(cat "$T"/err-* | wc -l)" -eq 0 ]
    [ "$(cat "$T"/out-* | grep -c ' removed, .*[BKM]$')" -eq 150 ]
    [ "$(cat "$T"/out-* | grep ' removed, .*[BKM]$' | sort -u | wc -l)" -eq 150 ]
    [ "$(cat "$T"/out-* | awk '/freed/ { n += $1 } END { print n }')" -eq 150 ]
    [ -z "$(ls "$ROOT/sessions")" ]
    ok doctor
}

@test "no other session, and no other root, is touched" {
    new_session -t solo
    "$MAS" wait "$ID" --for idle
    new_old 1
    local keep disk
    keep=$(left)
    disk=$(snapshot)
    new_old 30
    "$MAS" init -q "$T/other"
    mas --root "$T/other" clean --keep 0
    [ "$output" = '0 sessions removed, 0B freed' ]
    "$MAS" clean -q --older-than 7d
    [ "$(left)" = "$keep" ]
    [ "$(snapshot)" = "$disk" ]
}

@test "the root's own unit/ and workflows/ outlive a legacy session" {
    ID=$("$MAS" new -q -t solo --mode legacy --no-start)
    age "$ID" '30 days ago'
    echo work >"$ROOT/unit/solo/work"
    ok clean --older-than 7d
    [[ ${lines[0]} == "$ID removed"* ]]
    left_nothing "$ID"
    [ "$(cat "$ROOT/unit/solo/work")" = work ]
    [ -d "$ROOT/workflows" ]
}

@test "what killed commands have left goes as well, what they hold does not" {
    new_session -t solo --no-start
    local stale=$ROOT/sessions/.trash-00000000-0000-4000-8000-000000000001
    local held=$ROOT/sessions/.trash-00000000-0000-4000-8000-000000000002
    mv "$ROOT/sessions/$ID" "$stale"
    cp -R "$stale" "$held"
    exec 8<"$held/.session.lock"
    flock 8
    mas clean --keep 0 --dry-run
    [ -d "$stale" ]
    ok clean --keep 0
    [[ $output == '0 sessions removed'* ]]
    [ ! -e "$stale" ]
    [ -d "$held" ]
    exec 8<&-
}

@test "what cannot be deleted is told, the others go on" {
    command -v strace >/dev/null || skip 'strace is not installed'
    local i ids=()
    for i in 3 2 1; do
        new_old "$i"
        ids+=("$ID")
    done
    ! strace -o /dev/null -e trace=renameat2 -e inject=renameat2:error=EIO:when=2 \
        "$MAS" clean --keep 0 >"$T/out" 2>"$T/err" || false
    [ "$(cat "$T/err")" = "mas: cannot remove session '${ids[1]}': Input/output error" ]
    [[ $(tail -n 1 "$T/out") == '2 sessions removed, '*', 1 failed' ]]
    [ "$(left)" = "$(ids "${ids[1]}")" ]
    ok doctor
}

# ---- archives

archives() { find "$ROOT/archive" -name '*.tar.zst' 2>/dev/null | wc -l; }

@test "--archive archives each before it removes it" {
    new_old 30 -n first
    local old=$ID dry
    echo precious >"$ROOT/sessions/$old/unit/solo/work"
    new_old 20
    new_old 1
    ok clean --older-than 7d --archive --dry-run
    [[ ${lines[0]} == "first would be archived and removed, "* ]]
    dry=$output
    [ ! -e "$ROOT/archive" ]
    [ "$("$MAS" list --all -q | wc -l)" -eq 3 ]
    ok clean --older-than 7d --archive
    [ -z "$stderr" ]
    # the log of a session has a line more once it is archived
    [ "$(cut -d, -f 1 <<<"${dry//would be /}")" = "$(cut -d, -f 1 <<<"$output")" ]
    [ "$(left)" = "$(ids "$ID")" ]
    [ "$(archives)" -eq 2 ]
    left_nothing "$old"
    "$MAS" restore -q "$ROOT"/archive/first-*.tar.zst
    [ "$(cat "$ROOT/sessions/$old/unit/solo/work")" = precious ]
    [ "$(field "$old" .status)" = stopped ]
}

@test "[retention] archive = yes does the same, and -q prints nothing" {
    new_old 30
    printf '[retention]\nolder_than = 7d\narchive = yes\n' >>"$ROOT/mas.ini"
    mas clean --dry-run
    [[ ${lines[0]} == "$ID would be archived and removed, "* ]]
    ok clean -q
    [ -z "$output$stderr" ]
    [ "$(left)" = '' ]
    [ "$(archives)" -eq 1 ]
    new_old 30
    mas clean --json
    [ "$(archives)" -eq 2 ]
    [ -s "$(jq -r '.sessions[0].archive' <<<"$output")" ]
    sed -i 's/^archive = yes/archive = perhaps/' "$ROOT/mas.ini"
    fails 1 clean
    [[ $stderr == *archive*perhaps* ]]
}

@test "a session whose archive cannot be made stays, and the others go" {
    new_old 30
    local kept=$ID
    echo mine >"$ROOT/sessions/$kept/notes.txt" # an archive would not hold it
    new_old 20
    local disk
    disk=$(cd "$ROOT/sessions/$kept" && find . -type f ! -name .session.lock -print0 | sort -z | xargs -0 sha256sum)
    fails 1 clean --older-than 7d --archive
    [[ $stderr == "mas: cannot archive session '$kept': 'notes.txt': it is not part of a session"* ]]
    [[ ${lines[0]} == "$ID archived and removed"* ]]
    [[ ${lines[1]} == '1 session removed, '*' freed, 1 failed' ]]
    [ "$(left)" = "$(ids "$kept")" ]
    [ "$(cd "$ROOT/sessions/$kept" && find . -type f ! -name .session.lock -print0 | sort -z | xargs -0 sha256sum)" = "$disk" ]
    [ "$(find "$ROOT/archive" -type f | wc -l)" -eq 1 ]
    printf '[archive]\ndir = %s/file/archive\n' "$T" >>"$ROOT/mas.ini"
    : >"$T/file"
    rm "$ROOT/sessions/$kept/notes.txt"
    fails 1 clean -q --older-than 7d --archive
    [[ $stderr == "mas: cannot archive session '$kept': "*"$T/file"* ]]
    [ "$(left)" = "$(ids "$kept")" ]
}

@test "a damaged session cannot be archived, and stays" {
    new_old 30
    echo nonsense >"$ROOT/sessions/$ID/.session"
    touch -d '40 days ago' "$ROOT/sessions/$ID"/{.session,config.json,logs/session.log,logs,unit,.}
    fails 5 clean --keep 0 --archive --status error
    [[ $stderr == "mas: cannot archive session '$ID': its metadata is damaged
check it with: mas doctor" ]]
    [ -d "$ROOT/sessions/$ID" ]
    [ "$(archives)" -eq 0 ]
}

@test "a session that is archived by another command is left, and so is its archive" {
    new_old 30
    head -c 3000000 /dev/urandom >"$ROOT/sessions/$ID/unit/solo/data"
    mkfifo "$T/hold"
    "$MAS" archive "$ID" -o - >"$T/hold" 2>"$T/err" 3>&- &
    local pid=$!
    exec 7<"$T/hold"
    eventually grep -q archive "$ROOT/sessions/$ID/.session.lock"
    mas clean --older-than 7d --archive
    [ "${lines[0]}" = "$ID kept, because it is locked" ]
    cat <&7 | zstd -tq
    exec 7<&-
    wait "$pid"
    [ "$(left)" = "$(ids "$ID")" ]
}

@test "the root's unit/ of a legacy session is in its archive, and stays" {
    ID=$("$MAS" new -q -t solo --mode legacy --no-start)
    age "$ID" '30 days ago'
    echo work >"$ROOT/unit/solo/work"
    ok clean --older-than 7d --archive
    [ "$(cat "$ROOT/unit/solo/work")" = work ]
    tar --zstd -tf "$ROOT"/archive/*.tar.zst | grep -qx "$ID/unit/solo/work"
}

# ---- from cron, and from systemd

# as_cron FILE: runs the jobs of a crontab as cron does, with the variables that it sets.
as_cron() {
    local line env=("HOME=$HOME" LOGNAME=somebody SHELL=/bin/sh PATH=/usr/bin:/bin)
    while IFS= read -r line; do
        if [[ $line =~ ^[A-Z_]+= ]]; then
            env+=("$line")
        elif [[ $line == [0-9*]* ]]; then
            (cd "$HOME" && env -i "${env[@]}" /bin/sh -c "$(cut -d' ' -f 6- <<<"$line")") || return
        fi
    done < <(grep -v '^#' "$1")
}

# Below the default root of $HOME: an old session and a young one, in $OLD and $ID.
root_at_home() {
    export MAS_ROOT=$HOME/.local/share/mas
    ROOT=$MAS_ROOT
    "$MAS" init -q "$ROOT"
    new_old 8
    OLD=$ID
    new_old 6
    unset MAS_ROOT
}

@test "the crontab removes what is old, and prints nothing" {
    root_at_home
    mkdir "$T/bin"
    ln -s "$MAS" "$T/bin/mas"
    sed "s|^PATH=/usr/local/bin:|PATH=$T/bin:|" "$PROJECT/scripts/mas-cleanup.cron" >"$T/cron"
    run --separate-stderr as_cron "$T/cron"
    [ "$status" -eq 0 ]
    [ -z "$output$stderr" ]
    [ "$(ls "$ROOT/sessions")" = "$ID" ]
    # somebody else's root, as its comment says
    sed -i "s|^#MAS_ROOT=.*|MAS_ROOT=$T/none|" "$T/cron"
    run --separate-stderr as_cron "$T/cron"
    [ "$status" -ne 0 ]
    [[ $stderr == 'mas: cannot '* ]]
}

@test "the systemd units are good, and their command removes what is old" {
    root_at_home
    local unit=$PROJECT/scripts/mas-cleanup.service command
    command=$(sed -n 's|^ExecStart=/usr/local/bin/mas |exec "$0" |p' "$unit")
    [ -n "$command" ]
    cd "$HOME" # where a user's services run
    run --separate-stderr env -i HOME="$HOME" PATH=/usr/bin:/bin sh -c "$command" "$MAS"
    [ "$status" -eq 0 ]
    [ -z "$output$stderr" ]
    [ "$(ls "$ROOT/sessions")" = "$ID" ]
    command -v systemd-analyze >/dev/null || skip 'systemd-analyze is not installed'
    mkdir "$T/units"
    sed "s|/usr/local/bin/mas |$MAS |" "$unit" >"$T/units/mas-cleanup.service"
    cp "$PROJECT/scripts/mas-cleanup.timer" "$T/units"
    XDG_RUNTIME_DIR=$T run systemd-analyze verify --user --man=no "$T"/units/mas-cleanup.*
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}
