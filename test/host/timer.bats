#!/usr/bin/env bats
# Prompts at set times in a virtual machine with systemd: the user's own timer fires.

load ../helper
load lib
load vm

said() { grep -q -- "$1" "$T/said" || { echo "not said: $1" >&2; false; }; }

@test "a timer of the user's systemd runs what is due, and starts a team that outlives the run" {
    need_vm
    need_systemd
    [ "${TEST_FAULT-}" = full ] || skip 'takes minutes on a busy machine; make test-fault runs it'
    in_vm "$BATS_TEST_DIRNAME/timer.sh" 400 >"$T/said"
    cat "$T/said"
    said '^the machine ends'
    run ! grep -e '^never: ' -e '^mas: ' "$T/said"
    said '^a timer of systemd runs them'
    said '^the timer is active$'
    said '^1 .* fix/solo '
    said '^mas-.* fix .* active$'
    said '^left:  *$'
}
