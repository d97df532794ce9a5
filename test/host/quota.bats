#!/usr/bin/env bats
# Project quotas of a file system count what a session takes and hold its limit, in a virtual machine: here
# no file system has them, and only root can use them.
# shellcheck disable=SC2016 # the machine expands them

load ../helper
load lib
load vm



# said LINE: the machine has printed it (a basic regular expression).
said() { grep -q -- "$1" "$T/said" || { echo "not said: $1" >&2; false; }; }

@test "the kernel counts what a session takes on disk, and holds its limit" {
    need_vm
    need_modules quota_tree quota_v2 loop
    command -v mke2fs >/dev/null || skip "there is no mke2fs"
    in_vm "$BATS_TEST_DIRNAME/quota.sh" 200 mke2fs setpriv "$PROJECT/build/test/tools/quota" >"$T/said"
    cat "$T/said"
    said '^the machine ends'
    run ! grep -e '^never: ' -e '^another number: ' -e '^mas: ' "$T/said"
    said '^each has a number of its own$'
    said '^the limit holds$'
    said '^walls: off, .*disk: quota$'
    said '^snapshot: 0 0$'
    said '^what is deleted but open counts$'
    said '^ext4: .*: Disk quota exceeded$'
    said '^the kernel holds it$'
    said '^the agents are paused$'
    said '^the agents go on$'
    said '^removed: 0$'
    said '^restored$'
    said '^without a limit$'
    said '^with links: 0$'
    said '^removed across numbers: 0$'
    said "^an administrator's: 42 0\$"
}
