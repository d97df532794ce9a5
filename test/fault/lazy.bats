# kill -9 at every system call of what makes agents' directories late: `mas new` with [workspace]
# lazy = yes, and the host of an agent that starts; and errors of the calls of the host.
# shellcheck shell=bash
#
# After each, the template's state is what the agent gets in the end, whole, and no half-made
# directory, snapshot or hold is left.

load ../helper
# shellcheck source=test/fault/late.bash
. "$BATS_TEST_DIRNAME/late.bash"

@test "new of a lazy session killed at any system call leaves a whole session or nothing" {
    side_by_side enumerate_kills new-lazy
}

@test "a host killed at any system call of the making leaves a whole directory or none" {
    side_by_side enumerate_host_kills
}

@test "a host whose calls fail leaves no half directory, and the next one makes it" {
    side_by_side enumerate_host_errors
}
