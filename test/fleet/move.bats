#!/usr/bin/env bats
# mas move between machines of the bed, and what a kill or a cut link leaves: one that can be started.
# shellcheck disable=SC2016 # for the shells there

load ../helper
load lib

setup_file() {
    bed_up
    if [ -n "$BED" ]; then fleet_config; fi
}

# make_team MB: a session on front with a conversation and a large file; sets $id.
make_team() {
    id=$(front new -q -t solo --agent scripted --name shop)
    front ask shop solo 'remember CW-ALPHA' >/dev/null
    as front head -c "$1M" /dev/urandom >"$T/data"
    as front sh -c 'cat >"$0"' "/home/ann/.local/share/mas/sessions/$id/unit/solo/large" <"$T/data"
}
teardown_more() {
    if [ -z "$BED" ]; then return; fi
    keeper has-power front || power_on front
    keeper has-power n1 || power_on n1
    acts_normally
    link_up n1 || :
    front rm -f -q shop 2>/dev/null || :
    as n1 mas rm -f -q shop 2>/dev/null || :
    disconnect
}

# one_place: exactly one machine can start it; it is started there and stopped again.
one_place() {
    local here=no there=no
    if front start -q shop 2>"$T/why.front"; then here=yes; fi
    if as n1 mas start -q shop 2>"$T/why.n1"; then there=yes; fi
    echo "front: $here, n1: $there: $(cat "$T/why.front" "$T/why.n1")"
    [ "$here$there" = yesno ] || [ "$here$there" = noyes ]
}

has_arrived() {
    [[ $(as n1 mas ask shop solo 'what do you know') == *'seen=[CW-ALPHA]'* ]]
    as n1 cat "/home/ann/.local/share/mas/sessions/$id/unit/solo/large" | cmp - "$T/data"
    run ! front show shop
}

@test "a session moves with its conversation and its files, and runs there" {
    make_team 5
    front_mas move shop n1
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$(as n1 mas show shop --json | jq -r .status)" = active ]
    has_arrived
}

@test "the link is cut in the middle of the stream: one machine can start it, and a second move finishes" {
    local mover
    make_team 200
    as front mas move shop n1 >"$T/moved" 2>&1 &
    mover=$!
    eventually eval 'verbs n1 | grep -q "receive hold"'
    link_down n1
    wait "$mover" && false
    cat "$T/moved"
    link_up n1
    disconnect
    one_place
    front move -q shop n1
    has_arrived
}

@test "move is killed at either end while it sends: one machine can start it, and a second move finishes" {
    local machine mover killer victim
    for machine in front n1; do
        make_team 100
        # waits for what sends or receives, and kills it at once, before it can have ended
        victim='mas move '
        if [ "$machine" = n1 ]; then victim=' receive hold'; fi
        on "$machine" timeout 90 sh -c \
            'until pgrep -u ann -f " receive hold" && pkill -KILL -u ann -f "$0"; do :; done >/dev/null' "$victim" &
        killer=$!
        as front mas move shop n1 >"$T/moved" 2>&1 &
        mover=$!
        wait "$killer"
        wait "$mover" && false
        cat "$T/moved"
        eventually prints '' verbs n1
        one_place
        front move -q shop n1
        has_arrived
        as n1 mas rm -f -q shop
    done
}

# again: what befell the last move is over; one machine can start it, and a second move finishes.
again() {
    acts_normally
    disconnect
    one_place
    if front show shop >/dev/null 2>&1; then front move -q shop n1; fi
    has_arrived
    as n1 mas rm -f -q shop
}

# arriving: n1 has a copy of shop that was not released.
arriving() {
    acts_as n1 'case $* in *"receive hold"*) mas "$@"; kill -9 $$ ;; esac; exec mas "$@"'
    front move -q shop n1 && false
    acts_normally
}

# halts_at STEP WHEN: n1 halts before or after it has done this step; /run/disk/at tells, /run/disk/go lets it go on.
halts_at() {
    as n1 sh -c 'rm -f /run/disk/at /run/disk/go /run/disk/said; mkfifo /run/disk/go'
    acts_as n1 'halt() { echo >/run/disk/at; read -r _ </run/disk/go; }
case $*:'"$2"' in
    *"receive '"$1"'"*:before) halt ;;
    *"receive '"$1"'"*:after)
        mas "$@" >/run/disk/said; code=$?
        halt
        cat /run/disk/said; exit "$code" ;;
esac
exec mas "$@"'
}

# power_cut MACHINE STEP WHEN: during a move; what n1 was about to do while front had no power, it does.
power_cut() {
    local mover
    make_team 2
    if [ "$2" = drop ]; then arriving; fi
    halts_at "$2" "$3"
    as front mas move shop n1 >"$T/moved" 2>&1 &
    mover=$!
    eventually as n1 test -e /run/disk/at
    power_off "$1"
    if [ "$1" = front ]; then
        as n1 sh -c 'timeout 20 sh -c "echo >/run/disk/go"'
        eventually prints '' as n1 pgrep -f 'mas receive|/home/ann/tool'
    fi
    power_on "$1"
    wait "$mover" && false
    cat "$T/moved"
    again
}

@test "the power of either machine is cut before or after each step: one can start it, and a second move finishes" {
    local machine step when tried=0
    for step in look hold release drop; do
        for when in before after; do
            for machine in front n1; do
                # by default where the session changes its owner
                [ "${TEST_FLEET-}" = full ] || [ "$step" = release ] || [ "$step-$when" = hold-after ] || continue
                echo "$machine, $when $step"
                power_cut "$machine" "$step" "$when"
                tried=$((tried + 1))
            done
        done
    done
    [ "$tried" -ge 6 ]
}

CHANGES=renameat,renameat2,unlinkat,clone,clone3,vfork
KILL="strace -qq -o /dev/null -e trace=$CHANGES -e inject=$CHANGES:signal=KILL:when="

@test "mas is killed at every change that it makes, at either end: one machine can start it, and a second move finishes" {
    command -v strace >/dev/null || skip 'strace is missing'
    local at n killed=0 apart=4
    if [ "${TEST_FLEET-}" = full ]; then apart=1; fi
    for at in front hold release; do
        for ((n = 1; n < 200; n += apart)); do
            make_team 1
            if [ "$at" = front ]; then
                # shellcheck disable=SC2086 # words
                if as front $KILL$n mas move -q shop n1 2>"$T/moved"; then break; fi
            else
                acts_as n1 'case $* in *"receive '"$at"'"*) exec '"$KILL$n"' mas "$@" ;; esac; exec mas "$@"'
                if front move -q shop n1 2>"$T/moved"; then break; fi
            fi
            echo "killed at change $n of $at: $(cat "$T/moved")"
            killed=$((killed + 1))
            eventually prints '' verbs n1
            again
        done
        [ "$n" -lt 200 ]
        has_arrived
        acts_normally
        as n1 mas rm -f -q shop
    done
    [ "$killed" -ge 6 ]
}

# most FILE: the kilobytes of the largest process that /usr/bin/time has seen there.
most() { as "$1" tail -n 1 /home/ann/most; }

@test "a move takes as much memory at either end, however large the session is" {
    command -v /usr/bin/time >/dev/null || skip 'time is missing'
    local mb=300
    if [ "${TEST_FLEET-}" = full ]; then mb=1000; fi
    make_team "$mb"
    acts_as n1 'case $* in *"receive hold"*) exec /usr/bin/time -o /home/ann/most -f %M mas "$@" ;; esac; exec mas "$@"'
    as front /usr/bin/time -o /home/ann/most -f %M mas move -q shop n1
    echo "$mb MB: front $(most front) KiB, n1 $(most n1) KiB"
    [ "$(most front)" -gt 1000 ]
    [ "$(most n1)" -gt 1000 ]
    [ "$(most front)" -lt 65536 ]
    [ "$(most n1)" -lt 65536 ]
    acts_normally
    has_arrived
}
