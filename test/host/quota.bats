#!/usr/bin/env bats
# Project quotas of a file system count what a session takes and hold its limit, in a virtual machine: here
# no file system has them, and only root can use them.
# shellcheck disable=SC2016 # the machine expands them

load ../helper
load lib
load vm

# said LINE: the machine has printed it (a basic regular expression).
said() { grep -q -- "$1" "$T/said" || { echo "not said: $1" >&2; false; }; }

# quota TYPE MAKER MODULE...: tries a file system of this type.
quota() {
    local type=$1 maker=$2
    need_vm
    need_modules "${@:3}"
    command -v "$maker" >/dev/null || skip "there is no $maker"
    { echo "type=$type" && cat "$BATS_TEST_DIRNAME/quota.sh"; } >"$T/quota.sh"
    in_vm "$T/quota.sh" 600 "$maker" setpriv "$PROJECT/build/test/tools/quota" >"$T/said"
    cat "$T/said"
    said '^the machine ends'
    run ! grep -e '^never: ' -e '^another number: ' -e '^mas: ' "$T/said"
    said '^each has a number of its own$'
    said '^the limit holds$'
    said '^walls: off, .*disk: quota;'
    said '^snapshot: 0 0$'
    said '^what is deleted but open counts$'
    said "^$type: .*: \(Disk quota exceeded\|No space left on device\)\$"
    said '^the kernel holds it$'
    said '^the agents are paused$'
    said '^the agents go on$'
    said '^removed: 0$'
    said '^filled: reviewer$'
    said '^filled: lead$'
    said '^restored$'
    said '^without a limit$'
    said '^with links: 0$'
    said '^removed across numbers: 0$'
    said "^an administrator's: 42 0\$"
}

@test "the kernel counts what a session takes on disk, and holds its limit" {
    quota ext4 mke2fs quota_tree quota_v2 loop
}

@test "the same on XFS" {
    need_all_of quota
    quota xfs mkfs.xfs libcrc32c xfs loop
}
