#!/usr/bin/env bats
# Memory runs out in a virtual machine with systemd: the kernel ends the agent that took it, and the tmux server, its
# scope and all other agents go on.

load ../helper
load lib
load vm

said() { grep -q -- "$1" "$T/said" || { echo "not said: $1" >&2; false; }; }

@test "an agent that takes all memory of a machine ends alone, agents end before hosts, and hosts before tmux" {
    need_vm
    need_systemd
    [ "${TEST_FAULT-}" = full ] || skip 'takes minutes on a busy machine; make test-fault runs it'
    in_vm "$BATS_TEST_DIRNAME/oom.sh" 500 "$PROJECT/build/test/tools/hog" "$BATS_TEST_DIRNAME/agent.sh" >"$T/said"
    cat "$T/said"
    said '^the machine ends'
    run ! grep -e '^never: ' -e '^mas: ' "$T/said"
    said '^the policy is continue$'
    said '^it is hog memory$'
    said '^reviewer: .* crashed '
    said '^2 killed in the scope$'
    said '^the server goes on, its scope is active$'
    local agent
    for agent in lead other reviewer; do said "^$agent: it is hello$"; done
    # so that the policy is what it takes
    said '^a server in a plain scope ends$'
    # the user manager's end would end all teams
    said '^order: agent.sh agent.sh agent.sh\( mas[a-z-]*\)\{3,\} systemd$'
}
