#!/usr/bin/env bats
# Walls on the kernel of Debian 12, in a virtual machine: Landlock alone holds the files there, in a version that does
# not know truncation.

load ../helper
load lib
load vm

said() { grep -qx -- "$1" "$T/said" || { echo "not said: $1" >&2; false; }; }

@test "Landlock alone on Linux 6.1: files of others are not reached, nor cut off, and programs work" {
    need_vm
    in_vm "$BATS_TEST_DIRNAME/old-kernel.sh" 300 "$PROJECT/build/test/tools/escape" setpriv git >"$T/said"
    cat "$T/said"
    said 'the machine ends'
    run ! grep '^never: ' "$T/said"
    # on another kernel this says nothing about an old one
    grep -q '^landlock=[12]$' "$T/said" || skip "the kernel is newer: $(grep '^landlock=' "$T/said")"

    # which ways there are: the kernel itself lets a user who may write to a file cut it off by each
    local how
    for how in truncate open open-ioctl openat openat-ioctl openat-made openat-high openat-again openat2 openat2-ioctl; do
        said "without a wall: $how: 0 cut off"
    done
    [ "$(grep -cE '^inside: .*: (1 .*(Operation not permitted|Permission denied|Bad file descriptor|Invalid argument)|2 .*not implemented)$' "$T/said")" = 24 ]

    for how in 'reads what it may' 'no file outside' 'cuts off its own by >' 'opens to write and cuts off' copies \
        'moves between directories' 'git commits' 'no network' 'no mount'; do
        said "program: $how"
    done
    said 'required: 1'
    said ".*there is no program 'bwrap'.*"
    said 'walls .*Landlock alone holds no Unix sockets, and no modes of files; in this kernel also no signals, devices and TCP ports\(; .*\)\?'
}
