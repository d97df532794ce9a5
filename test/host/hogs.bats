#!/usr/bin/env bats
# One agent of thirteen takes all it can get of processes, memory, disk and descriptors, in a virtual machine: the
# other twelve answer, and the stop of the session takes no longer than it may.

load ../helper
load lib
load vm

said() { grep -q -- "$1" "$T/said" || { echo "not said: $1" >&2; false; }; }

@test "twelve agents answer beside one that takes all processes, memory, disk or descriptors" {
    need_vm
    [ "${TEST_FAULT-}" = full ] || skip 'takes minutes on a busy machine; make test-fault runs it'
    in_vm "$BATS_TEST_DIRNAME/hogs.sh" 400 "$PROJECT/build/test/tools/hog" "$BATS_TEST_DIRNAME/agent.sh" >"$T/said"
    cat "$T/said"
    said '^the machine ends'
    run ! grep -e '^never: ' -e '^no answer' -e '^mas: ' "$T/said"
    said '^agents: 13$'
    local what
    for what in processes memory 'disk big' descriptors; do said "^the twelve answer beside hog $what\$"; done
    said '^it is: 12 .*crashed .*it used more than its 32M of memory (limits.memory)$'
    said '^it is: 13 .*paused'
    said '^stopped within its times$'
    said '^left: 0 hogs, 0 groups$'
}
