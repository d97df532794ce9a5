#!/usr/bin/env bats
# The lease of a session: its ends, and never two hosts on one session. What `mas stop` does with a store
# that hangs. test/unit/test_lease.c has the formats and the arithmetic.
bats_require_minimum_version 1.5.0
load ../helper
load ../machine

setup_more() {
    LEASES=$T/store
    mkdir "$LEASES"
    printf '[fleet]\nstore = %s\n' "$LEASES" >>"$ROOT/mas.ini"
}

teardown_more() {
    # shellcheck disable=SC2046,SC2086 # numbers
    kill -CONT ${SERVER-} $(all_processes) 2>/dev/null || true
    if mountpoint -q "$T/fuse"; then
        pkill -CONT -f "^bindfs .*$T/fuse" || true
        umount "$T/fuse"
    fi
    rm -f /dev/shm/mas-lease-"$(meta "${ID:-none}" LEASE 2>/dev/null)"
}

# tmux lets a stopped process of a pane go on, so it is stopped as well
tmux_server() { tm display-message -p '#{pid}'; }
all_processes() { pgrep -f "mas (host ${ID:-none} |lease .* ${ID:-none} )"; }
renewer() { pgrep -f "mas lease .* $ID "; }
lease() { sed -n "s/^$1=//p" "$LEASES/$ID/lease"; }
sequence_is_not() { [ "$(lease SEQUENCE)" != "$1" ]; }
# a process that is stopped or gone is not at work
is_gone() { ! kill -0 "$1" 2>/dev/null || [[ $(ps -o stat= -p "$1") == Z* ]]; }
new_renewer() { [ -n "$(renewer)" ] && [ "$(renewer)" != "$1" ]; }
log_says() { grep -q "$1" "$ROOT/sessions/$ID/logs/session.log"; }

@test "without a store there is no lease: no file, no process" {
    sed -i '/^store/d' "$ROOT/mas.ini"
    new_session -t solo
    [ -z "$(meta "$ID" LEASE)$(meta "$ID" STORE)" ]
    agent_pid "$ID"
    [ -z "$(renewer)" ]
    [ -z "$(ls "$LEASES")" ]
}

@test "one process renews the lease, and stop gives it back" {
    new_session -t pair
    [ "$(meta "$ID" STORE)" = "$LEASES" ]
    [ "$(lease TOKEN) $(lease EPOCH)" = "$(meta "$ID" LEASE) 1" ]
    [ "$(stat -c %a "$LEASES/$ID" "$LEASES/$ID/lease" "/dev/shm/mas-lease-$(meta "$ID" LEASE)" | xargs)" = "700 600 600" ]
    eventually sequence_is_not "$(lease SEQUENCE)"
    eventually sequence_is_not "$(lease SEQUENCE)"
    [ "$(renewer | wc -l)" -eq 1 ]
    "$MAS" stop "$ID"
    [ "$(lease SEQUENCE)" = 0 ]
    [ ! -e "/dev/shm/mas-lease-$(meta "$ID" LEASE)" ]
    eventually prints '' renewer
    token=$(meta "$ID" LEASE)
    "$MAS" start "$ID" # at once: it is its own
    [ "$(meta "$ID" LEASE) $(meta "$ID" EPOCH)" = "$token 1" ]
}

@test "a start that fails gives the lease back, and leaves none of a session that it was to make" {
    new_session -t solo --no-start
    mkdir "$T/bin"
    printf '#!/bin/sh\ncase "$*" in *-V*|*list-*) exec %s "$@" ;; esac\necho no luck >&2\nexit 1\n' \
        "$(command -v tmux)" >"$T/bin/tmux"
    chmod +x "$T/bin/tmux"
    PATH=$T/bin:$PATH fails 6 start "$ID"
    [[ $stderr == *"no luck"* ]]
    [ ! -e "$LEASES/$ID/lease" ] || [ "$(lease SEQUENCE)" = 0 ]
    [ -z "$(renewer)" ]
    [ "$(meta "$ID" STATUS)" = stopped ]
    find "$LEASES" | sort >"$T/before"
    PATH=$T/bin:$PATH fails 6 new -t solo
    find "$LEASES" | sort | diff "$T/before" -
    ok start "$ID"
    [ "$(lease EPOCH)" = 1 ]
}

# old_page TOKEN DAYS: the page of a lease that was renewed last so many days ago, whose root is gone.
old_page() {
    (umask 077 && python3 -c 'import struct, sys, time
now = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)
begun = now - int(sys.argv[1]) * 24 * 3600 * 1000
sys.stdout.buffer.write(struct.pack("<qiiQQ", begun, 0, 0, 1, 1))' "$2" >"/dev/shm/mas-lease-$1")
}

@test "a start with a store drops the pages of other roots whose leases ended days ago" {
    local old young
    old=0e0e0e0e-1111-4222-8333-$(printf "%012x" "$BASHPID")
    young=${old/0e0e/1e0e}
    old_page "$old" 2
    old_page "$young" 0
    new_session -t solo
    [ ! -e "/dev/shm/mas-lease-$old" ]
    [ -e "/dev/shm/mas-lease-$young" ]
    [ -e "/dev/shm/mas-lease-$(meta "$ID" LEASE)" ]
    rm "/dev/shm/mas-lease-$young"
}

@test "another process renews the lease if the first one is killed" {
    new_session -t pair
    pid=$(agent_pid "$ID")
    eventually renewer
    old=$(renewer)
    kill -9 "$old"
    eventually new_renewer "$old"
    was=$(lease SEQUENCE)
    eventually sequence_is_not "$was"
    [ "$(agent_pid "$ID")" = "$pid" ]
}

@test "nothing renews the lease: the agents end in time, and it is said" {
    new_session -t solo
    pid=$(agent_pid "$ID")
    eventually renewer
    kill -STOP "$(renewer)" # as if the store had hung
    begin=$SECONDS
    eventually is_gone "$pid"
    [ $((SECONDS - begin)) -lt 20 ]
    eventually log_says 'agent=solo ends: the session.s lease was not renewed'
    hosts_gone "$ID"
    mas list
    [[ $output == *'(lease lost)'* ]]
    [ "$(field "$ID" .leaseLost)" = true ]
    mas status "$ID"
    [[ $output == *"the session's lease was lost (mas start "* ]]
    ok start "$ID" # it takes the lease again: nobody else has claimed it
    [ "$(meta "$ID" EPOCH)" = 1 ]
    agent_pid "$ID"
}

@test "the supervisor ends the agent of a host that is stopped" {
    new_session -t solo
    pid=$(agent_pid "$ID")
    eventually renewer
    host=$(field "$ID" '.agents[0].hostPid')
    SERVER=$(tmux_server)
    kill -STOP "$SERVER" "$(renewer)" "$host"
    eventually is_gone "$pid"
    ls "$ROOT/sessions/$ID/run/solo.lock" # it has not got to that
    run ! is_gone "$host"
}

@test "a host without an agent that is stopped, as on a disk that hangs, is killed when the lease is over" {
    new_session -t solo
    pid=$(agent_pid "$ID")
    eventually renewer
    host=$(field "$ID" '.agents[0].hostPid')
    kill -KILL "$pid"
    eventually eval "! ps --ppid $host -o comm= | grep mas-superv"
    SERVER=$(tmux_server)
    kill -STOP "$SERVER" "$(renewer)" "$host"
    eventually is_gone "$host"
}

watcher() { pgrep -x mas-lease-watch -P "$1"; }
new_watcher() { [ -n "$(watcher "$1")" ] && [ "$(watcher "$1")" != "$2" ]; }
# renewed N: the lease has been renewed N more times, which takes LEASE_RENEW_MS each.
renewed() {
    local i
    for ((i = 0; i < $1; i++)); do eventually sequence_is_not "$(lease SEQUENCE)"; done
}

@test "a host that is stopped for longer than a lease goes on, with and without an agent, if the lease is renewed" {
    local with pid host
    new_session -t solo
    pid=$(agent_pid "$ID")
    eventually renewer
    host=$(field "$ID" '.agents[0].hostPid')
    SERVER=$(tmux_server)
    for with in "$pid" null; do
        [ "$with" != null ] || { kill -KILL "$pid" && eventually prints null field "$ID" '.agents[0].pid'; }
        kill -STOP "$SERVER" "$host"
        renewed 8 # LEASE_OVER_MS and LEASE_HANGS_MS, and more
        [[ $(ps -o stat= -p "$host") == T* ]]
        kill -CONT "$host" "$SERVER"
        eventually prints "$host $with" field "$ID" '.agents[0] | "\(.hostPid) \(.pid)"'
    done
    run ! log_says 'lease was not renewed'
}

@test "a host whose watcher is killed gets another one, which kills it when the lease is over" {
    local pid host old
    new_session -t solo
    pid=$(agent_pid "$ID")
    eventually renewer
    host=$(field "$ID" '.agents[0].hostPid')
    old=$(watcher "$host")
    [ "$(find "/proc/$old/fd" -type l | wc -l)" -le 5 ] # nothing of the session is open there
    kill -KILL "$old"
    eventually new_watcher "$host" "$old"
    old=$(watcher "$host")
    SERVER=$(tmux_server)
    kill -STOP "$SERVER" "$(renewer)" "$host"
    eventually is_gone "$host"
    eventually is_gone "$old"
}

@test "a host whose supervisor is killed keeps the watcher and the process that renews the lease" {
    local pid child host renews watches
    printf '[preset daemons]\ncommand = %s\n' "sh -c 'setsid sleep 1000 & exec sleep 1000'" >>"$ROOT/mas.ini"
    new_session -t solo --agent daemons
    pid=$(agent_pid "$ID")
    eventually pgrep -P "$pid"
    child=$(pgrep -P "$pid")
    eventually renewer
    host=$(field "$ID" '.agents[0].hostPid')
    renews=$(renewer)
    watches=$(watcher "$host")
    kill -KILL "$(ps -o ppid= -p "$pid" | tr -d ' ')"
    eventually prints null field "$ID" '.agents[0].pid' # said after all that was left is killed
    is_gone "$pid"
    is_gone "$child"
    [ "$(renewer) $(watcher "$host")" = "$renews $watches" ]
    SERVER=$(tmux_server)
    kill -STOP "$SERVER" "$renews" "$host"
    eventually is_gone "$host" # it still watches
}

@test "the host ends the agent of a supervisor that is stopped" {
    new_session -t solo
    pid=$(agent_pid "$ID")
    eventually renewer
    kill -STOP "$(renewer)" "$(ps -o ppid= -p "$pid" | tr -d ' ')"
    eventually is_gone "$pid"
    hosts_gone "$ID"
}

@test "a host that was stopped for long ends before it does anything" {
    new_session -t solo
    pid=$(agent_pid "$ID")
    eventually renewer
    host=$(field "$ID" ".agents[0].hostPid")
    SERVER=$(tmux_server)
    mapfile -t all < <(all_processes)
    kill -STOP "$SERVER" "${all[@]}" "$pid"
    read -rt 18 <> <(:) || : # beyond the time for an end in order, which is a fact about clocks
    before=$(cd "$ROOT/sessions/$ID" && ls -la run && sha256sum memory.db* logs/session.log 2>/dev/null || :)
    kill -CONT "${all[@]}" "$pid"
    kill -CONT "$SERVER"
    eventually is_gone "$host"
    eventually is_gone "$pid"
    [ "$(cd "$ROOT/sessions/$ID" && ls -la run && sha256sum memory.db* logs/session.log 2>/dev/null || :)" = "$before" ]
}

@test "a store that becomes read-only or goes ends the agents" {
    new_session -t solo
    pid=$(agent_pid "$ID")
    eventually renewer
    # the process that renews has it open, so its directory is made unusable
    if [ "$(id -u)" = 0 ]; then chattr +i "$LEASES/$ID" 2>/dev/null || rm -rf "${LEASES:?}/$ID"; else chmod 500 "$LEASES/$ID"; fi
    eventually is_gone "$pid"
    eventually log_says 'lease was not renewed'
    chattr -i "$LEASES/$ID" 2>/dev/null || chmod 700 "$LEASES/$ID" || :
}

@test "a store that hangs: the agents end, and stop does not wait for it" {
    mkdir "$T/fuse"
    bindfs "$LEASES" "$T/fuse" 2>/dev/null || skip 'bindfs cannot mount here'
    sed -i "s|^store = .*|store = $T/fuse|" "$ROOT/mas.ini"
    new_session -t solo
    pid=$(agent_pid "$ID")
    eventually renewer
    fuse=$(pgrep -f "^bindfs .*$T/fuse")
    kill -STOP "$fuse"
    eventually is_gone "$pid"
    eventually log_says 'lease was not renewed'
    begin=$SECONDS
    timeout 20 "$MAS" stop "$ID"
    [ $((SECONDS - begin)) -lt 15 ]
    kill -CONT "$fuse"
    [ "$(meta "$ID" STATUS)" = stopped ]
}

@test "a clock of the machine that is set does not matter" {
    need_machines
    unshare --user --map-root-user --time true 2>/dev/null || skip 'there are no time namespaces here'
    new_session -t solo
    # the lease is renewed by what no settimeofday() changes; the time of day is that of log lines, and the age
    # of what doctor finds
    run grep -hE 'CLOCK_REALTIME|time_epoch_ms|time\(NULL\)' \
        "$PROJECT"/src/store/lease.c "$PROJECT"/src/store/lease_clock.c "$PROJECT"/src/host/lease.c "$PROJECT"/src/cmd/lease.c
    [ "$(grep -vcF 'time(NULL) - st.st_mtime' <<<"$output")" -eq 0 ]
}

@test "another machine does not take a session whose lease is renewed" {
    need_machines
    new_session -t solo -n shop
    eventually renewer
    run --separate-stderr on n2 "$MAS" start shop
    [ "$status" -eq 4 ]
    MAS_TMUX_SOCKET=$T/n2 run --separate-stderr on n2 "$MAS" start --takeover shop
    echo "$stderr"
    [ "$status" -eq 4 ]
    [[ $stderr == *"cannot start session 'shop': it runs on $(uname -n)"* ]]
    [[ $stderr == "shop may run on $(uname -n): starting it in 20 s unless its lease is renewed there"$'\n'* ]]
    [ "$(grep -c 'may run on' <<<"$stderr")" -eq 1 ]
    [ "$(MAS_TMUX_SOCKET=$T/n2 on n2 script -qec "'$MAS' start --takeover shop" /dev/null | tr '\r' '\n' | grep -c 'may run on .* in 1[0-9] s')" -ge 1 ]
    [ "$(meta "$ID" EPOCH)" = 1 ]
    [ ! -e "$LEASES/$ID/claim-2" ]
    [ "$(field shop .leaseLost)" = null ]
}

@test "20 s after the last renewal another machine takes the session, and the first one does not take it back" {
    need_machines
    new_session -t solo -n shop
    pid=$(agent_pid "$ID")
    eventually renewer
    mapfile -t all < <(all_processes)
    kill -9 "${all[@]}" "$pid" # a power cut
    begin=$(date +%s%N)
    MAS_TMUX_SOCKET=$T/n2 run --separate-stderr on n2 "$MAS" start --takeover shop
    echo "$stderr"
    [ "$status" -eq 0 ]
    # the last renewal was up to 3 s before the power cut; the clock of the wait starts with the first look
    [ $((($(date +%s%N) - begin) / 1000000)) -ge 19900 ]
    [ "$(meta "$ID" EPOCH) $(lease EPOCH)" = "2 2" ]
    [ "$(cd "$LEASES/$ID" && echo claim-*)" = claim-2 ]
    for options in "" --takeover; do
        # shellcheck disable=SC2086 # options
        mas start shop $options
        echo "$status $output $stderr"
        [ "$status" -eq 4 ]
        [[ $stderr == *'runs on n2'* ]]
    done
    MAS_TMUX_SOCKET=$T/n2 on n2 "$MAS" stop shop
    # given back, so nobody has to wait
    begin=$SECONDS
    ok start --takeover shop
    [ $((SECONDS - begin)) -lt 15 ]
    [ "$(meta "$ID" EPOCH) $(lease EPOCH)" = "3 3" ]
}

@test "a takeover that is killed at any step leaves a session that one machine can start" {
    need_machines
    # fifteen at once would be too slow to keep their leases
    [ -z "${TEST_SAN-}" ] || skip 'sanitizers and strace take too long'
    command -v strace >/dev/null || skip 'strace is not here'
    new_session -t solo -n shop --no-start
    "$MAS" start shop
    "$MAS" stop shop
    base=$T/base
    cp -a "$ROOT" "$base"
    cp -a "$LEASES" "$T/base-store"
    # each kill in a root and a store of its own; all wait for the lease at the same time
    try() { # syscall, number
        local dir=$T/$1-$2 out=0
        mkdir "$dir" && cp -a "$base" "$dir/root" && cp -a "$T/base-store" "$dir/store"
        sed -i "s|^store = .*|store = $dir/store|" "$dir/root/mas.ini"
        sed -i "s|^STORE=.*|STORE=$dir/store|" "$dir/root/sessions/$ID/.session"
        export MAS_ROOT=$dir/root MAS_TMUX_SOCKET=$T/n2-$1-$2
        on n2 strace -o /dev/null -e trace="$1" -e inject="$1:signal=KILL:when=$2" \
            "$MAS" start --takeover shop >"$dir/first" 2>&1 || out=$?
        [ "$out" = 137 ] || [ "$out" = 0 ] || { echo "$1 $2: $out"; cat "$dir/first"; return 1; }
        # another try, as a person would; then exactly n2 has it
        on n2 "$MAS" start --takeover shop >"$dir/second" 2>&1 || { echo "$1 $2 second"; cat "$dir/first" "$dir/second"; return 1; }
        if "$MAS" start shop >"$dir/third" 2>&1; then echo "$1 $2 third"; return 1; fi
        grep -q "runs on n2" "$dir/third" || { cat "$dir/third"; return 1; }
        on n2 "$MAS" stop shop >/dev/null 2>&1 || :
        tmux -S "$MAS_TMUX_SOCKET" kill-server 2>/dev/null || :
        [ "$out" = 0 ] || echo "$1 $2" >"$dir/killed"
        echo fine >"$dir/fine"
    }
    pids=() count=0
    for at in renameat:1 renameat:2 renameat:3 renameat:4 fsync:1 fsync:3 fsync:5 fsync:7 unlinkat:1 unlinkat:2 \
        mkdirat:1 flock:2 ftruncate:1 fallocate:1 mmap:20; do
        try "${at%:*}" "${at#*:}" >"$T/said-$at" 2>&1 3>&- &
        pids+=($!) count=$((count + 1))
    done
    for pid in "${pids[@]}"; do wait "$pid" || :; done
    cat "$T"/said-*
    [ "$(cat "$T"/*/fine | wc -l)" -eq "$count" ]
    [ "$(cat "$T"/*/killed | wc -l)" -ge 8 ] # or the steps are not there any more
}

@test "rm, clean and archive --rm leave nothing of the lease, and what has a save stays" {
    for removal in 'rm' 'rm -f' 'archive -q --rm -o a.tar.zst' 'clean --older-than 0s' 'clean --older-than 0s --archive'; do
        cd "$T"
        rm -f a.tar.zst
        new_session -t solo
        eventually renewer
        [ "$removal" = 'rm -f' ] || "$MAS" stop "$ID" >/dev/null
        [ -e "$LEASES/$ID/claim-1" ]
        if [ "${removal%% *}" = clean ]; then set --; else set -- "$ID"; fi
        # shellcheck disable=SC2086 # words
        mas $removal "$@"
        echo "$removal: $output $stderr"
        [ "$status" -eq 0 ]
        [ ! -e "$ROOT/sessions/$ID" ]
        [ ! -e "$LEASES/$ID" ]
    done
    new_session -t solo
    "$MAS" stop "$ID"
    touch "$LEASES/$ID/save-1-20260101T000000Z.tar.zst"
    ok rm "$ID"
    [ -e "$LEASES/$ID/lease" ]
    [ -e "$LEASES/$ID/claim-1" ]
}

@test "a lease that another machine has had since is left alone by rm" {
    new_session -t solo
    "$MAS" stop "$ID"
    touch "$LEASES/$ID/claim-2"
    ok rm "$ID"
    [ -e "$LEASES/$ID/lease" ]
    new_session -t solo
    "$MAS" stop "$ID"
    sed -i 's/^TOKEN=.*/TOKEN=11111111-2222-4333-8444-555555555555/' "$LEASES/$ID/lease"
    ok rm "$ID"
    [ -e "$LEASES/$ID/lease" ]
}

@test "rm waits 2 s at most for a store that is gone" {
    new_session -t solo
    "$MAS" stop "$ID"
    mv "$LEASES" "$T/gone"
    ok rm "$ID"
    [ ! -e "$ROOT/sessions/$ID" ]
    mv "$T/gone" "$LEASES"
}
