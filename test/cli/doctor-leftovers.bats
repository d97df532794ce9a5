#!/usr/bin/env bats
# mas doctor: what killed commands, hosts and servers have left goes, nothing else.
load ../helper
load doctor

# ---- left behind in sessions/

@test "staging that a killed command left goes" {
    a_running_session
    local stale=.new-0c0c0c0c-1111-4222-8333-444444444444
    mkdir -p "$ROOT/sessions/$stale/unit/solo"
    echo half >"$ROOT/sessions/$stale/unit/solo/file"
    : >"$ROOT/sessions/$stale/.session.lock"
    [ "$("$MAS" list -q)" = "$ID" ]
    [ "$("$MAS" list --all -q)" = "$ID" ]
    finds "$stale" 'a killed command left it behind'
    mends "$stale" 'a killed command left it behind'
    [ ! -e "$ROOT/sessions/$stale" ]
    [ "$(field "$ID" .status)" = active ]
}

@test "the rest of a removal goes" {
    local stale=.trash-0c0c0c0c-1111-4222-8333-444444444444
    mkdir -p "$ROOT/sessions/$stale/unit"
    finds "$stale" 'left it behind'
    mends "$stale" 'left it behind'
    [ ! -e "$ROOT/sessions/$stale" ]
}

@test "a file that was on its way out of a session goes" {
    local stale=.trash-0c0c0c0c-1111-4222-8333-444444444444.open
    echo x >"$ROOT/sessions/$stale"
    finds "$stale" 'left it behind'
    mends "$stale" 'left it behind'
    [ ! -e "$ROOT/sessions/$stale" ]
}

@test "staging that a command works on is not stale" {
    local busy=$ROOT/sessions/.new-0c0c0c0c-1111-4222-8333-444444444444
    mkdir "$busy"
    exec 8>"$busy/.session.lock"
    flock 8
    is_in_order
    ok doctor --fix
    [ -d "$busy" ]
    exec 8>&-
    finds "${busy##*/}" 'left it behind'
}

@test "stale staging that holds links or is one costs nothing outside" {
    mkdir "$T/precious"
    echo treasure >"$T/precious/file"
    mkdir "$ROOT/sessions/.new-0c0c0c0c-1111-4222-8333-444444444444"
    ln -s "$T/precious" "$ROOT/sessions/.new-0c0c0c0c-1111-4222-8333-444444444444/link"
    ln -s "$T/precious" "$ROOT/sessions/.trash-0c0c0c0c-1111-4222-8333-444444444444"
    ok doctor --fix
    [ "$(cat "$T/precious/file")" = treasure ]
    is_in_order
    [ -z "$(find "$ROOT/sessions" -name '*0c0c0c0c*')" ]
}

@test "new sweeps up what is stale" {
    local stale=$ROOT/sessions/.new-0c0c0c0c-1111-4222-8333-444444444444
    mkdir "$stale"
    "$MAS" new -q -t solo --no-start
    "$MAS" new -q -t solo --no-start
    is_in_order
}

@test "what mas did not make is told of and left alone" {
    a_stopped_session
    mkdir -p "$ROOT/sessions/notes" "$ROOT/sessions/0C0C0C0C-1111-4222-8333-444444444444"
    echo mine >"$ROOT/sessions/notes/file"
    echo mine >"$ROOT/sessions/backup.tar"
    chmod 640 "$ROOT/sessions/backup.tar"
    local before
    before=$(snapshot)
    notes notes 'mas did not create it and leaves it alone'
    notes backup.tar 'mas did not create it'
    notes 0C0C0C0C-1111-4222-8333-444444444444 'mas did not create it'
    ok doctor --fix
    [ "$(snapshot)" = "$before" ]
    [ "$("$MAS" list --all -q)" = "$ID" ]
}

@test "a foreign name cannot write to the terminal" {
    : >"$ROOT/sessions/"$'\e[31mred\e]2;title\a'
    : >"$ROOT/sessions/"$'two\nlines'
    ok doctor
    [[ $output != *[$'\e\a']* ]]
    [ "${#lines[@]}" -eq 2 ]
    mas doctor --json
    jq -e '.findings | length == 2' <<<"$output"
}

@test "the rest of an interrupted write of the index goes" {
    a_stopped_session
    echo '{"half' >"$ROOT/sessions/.sessions.index.new"
    finds sessions 'left .sessions.index.new behind'
    mends sessions 'left .sessions.index.new behind'
    [ ! -e "$ROOT/sessions/.sessions.index.new" ]
    [ "$("$MAS" list -q)" = "$ID" ]
}

@test "the rest of an interrupted write in a workspace goes" {
    a_stopped_session
    echo half >"$(ws "$ID")/.session.new"
    echo half >"$(ws "$ID")/config.json.new"
    finds "$ID" 'left .session.new behind'
    finds "$ID" 'left config.json.new behind'
    mends "$ID" 'left .session.new behind'
    [ ! -e "$(ws "$ID")/.session.new" ]
    [ ! -e "$(ws "$ID")/config.json.new" ]
    [ "$(field "$ID" .name)" = idle ]
}

# ---- run/

@test "what is left in run/ of a stopped session goes" {
    a_stopped_session
    printf 'MASENV1\n.\nSECRET=1' >"$(ws "$ID")/run/env"
    : >"$(ws "$ID")/run/00.sock"
    finds "$ID" 'run/env is left over'
    finds "$ID" 'run/00.sock is left over'
    mends "$ID" 'run/env is left over'
    [ -z "$(ls -A "$(ws "$ID")/run")" ]
}

@test "a file in run/ that a process has locked is not left over" {
    a_stopped_session
    exec 8>"$(ws "$ID")/run/00.lock"
    flock 8
    ok doctor --fix
    [ -e "$(ws "$ID")/run/00.lock" ]
    exec 8>&-
}

@test "what a host that lives has in run/ stays, what a killed one has left goes" {
    a_running_session
    touch -d '5 minutes ago' "$(ws "$ID")/run/solo."*
    is_in_order
    "$MAS" doctor --fix
    [ "$(ls "$(ws "$ID")/run")" = $'reserve\nreserve.memory\nsolo.lock\nsolo.sock' ]
    orphan_agents "$ID"
    finds "$ID" 'and 1 more are left over'
    ok doctor --fix
    [[ $output == *mended*'and 1 more are left over'* ]]
    mas doctor
    [[ $output == "note "*" agent solo has no host; start it again with: mas restart $ID solo" ]]
    [ -z "$(ls -A "$(ws "$ID")/run")" ]
}

@test "what the killed hosts of a session have left is one finding" {
    new_session -n big
    settled "$ID"
    tm kill-server
    hosts_gone "$ID"
    : >"$(ws "$ID")/run/10.sock"
    : >"$(ws "$ID")/run/11.sock"
    : >"$(ws "$ID")/run/12.lock"
    mas doctor --json
    [ "$(jq '[.findings[] | select(.what | contains("run/"))] | length' <<<"$output")" -eq 1 ]
    finds "$ID" 'and 2 more are left over'
    "$MAS" doctor --fix
    [ -z "$(ls -A "$(ws "$ID")/run")" ]
}

@test "an agent of a running team whose host was killed is told, and how it is brought back" {
    new_session -t pair
    settled "$ID"
    pkill -KILL -f "mas host $ID lead"
    mas doctor --fix
    notes "$ID" "agent lead has no host; start it again with: mas restart $ID lead"
    : >"$(ws "$ID")/run/env" # of a start that never ended, by a clock that was wrong
    touch -d '+1 year' "$(ws "$ID")/run/env"
    mas doctor --fix
    [[ $output == *'run/env is left over'*'agent lead has no host'* ||
        $output == *'agent lead has no host'*'run/env is left over'* ]]
    "$MAS" restart "$ID" lead
    is_in_order
}

@test "a team that is just starting keeps its environment file, an old one goes" {
    a_running_session
    : >"$(ws "$ID")/run/env"
    ok doctor --fix
    [ -e "$(ws "$ID")/run/env" ]
    touch -d '5 minutes ago' "$(ws "$ID")/run/env"
    finds "$ID" 'run/env is left over'
    mends "$ID" 'run/env is left over'
    [ ! -e "$(ws "$ID")/run/env" ]
}

@test "the socket of a server of its own that died goes" {
    export MAS_TMUX_SERVER=per-session
    a_running_session
    local socket
    socket=$(meta "$ID" TMUX_SOCKET)
    kill -9 "$(tmux -S "$socket" display-message -p '#{pid}')"
    hosts_gone "$ID"
    eventually eval "! tmux -S '$socket' list-sessions"
    [ -S "$socket" ]
    finds "$ID" 'the socket of its tmux server is left over'
    ok doctor --fix
    [ ! -e "$socket" ]
    ok start "$ID"
}

# ---- outside of the root

# page TOKEN BEGUN DIR: writes the page of a lease, which a session of the root with this sessions/ had.
page() {
    (umask 077 && python3 -c 'import os, struct, sys
st = os.stat(sys.argv[2])
sys.stdout.buffer.write(struct.pack("<qiiQQ", int(sys.argv[1]), 0, 0, st.st_dev, st.st_ino))' \
        "$2" "$3" >"/dev/shm/mas-lease-$1")
}

@test "the page of a lease that is over goes, those of others stay" {
    [ -w /dev/shm ] || skip 'there is no shared memory'
    local token now
    token=0c0c0c0c-1111-4222-8333-$(printf '%012x' "$BASHPID")
    now=$(python3 -c 'import time; print(int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000))')
    page "$token" 1 "$ROOT/sessions"
    finds "/dev/shm/mas-lease-$token" 'the lease is over, but its page is left'
    mends "/dev/shm/mas-lease-$token" 'the lease is over, but its page is left'
    [ ! -e "/dev/shm/mas-lease-$token" ]
    page "$token" "$now" "$ROOT/sessions" # just renewed
    is_in_order
    page "$token" 1 "$T" # of another root
    is_in_order
    page "$token" 1 "$ROOT/sessions"
    mkfifo "$T/never"
    python3 -c 'import fcntl, struct, sys, time
f = open(sys.argv[1], "r+b")
fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0)) # F_OFD_SETLK, as who renews it
print("held", flush=True)
sys.stdin.read()' "/dev/shm/mas-lease-$token" 0<>"$T/never" >"$T/held" 3>&- &
    local holder=$!
    eventually grep -q held "$T/held"
    is_in_order
    kill "$holder"
    wait "$holder" 2>/dev/null || true
    finds "/dev/shm/mas-lease-$token" 'its page is left'
    rm -f "/dev/shm/mas-lease-$token"
}

@test "the lease of a session that a killed command was making goes after a day, those of others stay" {
    local store=$T/store made kept left
    mkdir "$store"
    printf '[fleet]\nstore = %s\n' "$store" >>"$ROOT/mas.ini"
    new_session --name kept
    kept=$ID
    ok stop "$kept"
    run strace -f -o /dev/null -e trace=syncfs -e inject=syncfs:signal=KILL "$MAS" new
    made=$(cd "$store" && find . -maxdepth 1 -type d -name '*-*' ! -name "$kept" -printf '%P')
    [ "$(grep -c . <<<"$made")" -eq 1 ]
    [ ! -e "$ROOT/sessions/$made" ]
    ok doctor --fix # the rest of it
    [ -e "$store/$made/lease" ]
    is_in_order
    for left in "$store"/*/lease; do touch -d '25 hours ago' "$left"; done
    touch "$store/$made/save" # has something else
    is_in_order
    rm "$store/$made/save"
    mv "$store/$made/claim-1" "$store/$made/claim-2" # another machine went on
    is_in_order
    mv "$store/$made/claim-2" "$store/$made/claim-1"
    # as of a session that crashed before it was renewed
    sed -i 's/^SEQUENCE=.*/SEQUENCE=1/' "$store/$kept/lease"
    touch -d '25 hours ago' "$store/$kept/lease"
    finds "$store/$made" 'a killed command left the lease of no session'
    mends "$store/$made" 'a killed command left the lease of no session'
    [ ! -e "$store/$made" ]
    [ -e "$store/$kept/lease" ]
    is_in_order
}

@test "a session that cannot be made leaves no lease" {
    mkdir "$T/store"
    printf '[fleet]\nstore = %s\n' "$T/store" >>"$ROOT/mas.ini"
    run strace -f -o /dev/null -e trace=syncfs -e inject=syncfs:error=EIO "$MAS" new
    [ "$status" -eq 1 ]
    [ -z "$(ls -A "$T/store")" ]
}
