# kill -9 at every system call of `mas new` with [workspace] lazy = yes: after each, no half-made
# snapshot or hold is left.
# shellcheck shell=bash

load ../helper
# shellcheck source=test/fault/lib.bash
. "$BATS_TEST_DIRNAME/lib.bash"

@test "new of a lazy session killed at any system call leaves a whole session or nothing" {
    side_by_side enumerate_kills new-lazy
}
