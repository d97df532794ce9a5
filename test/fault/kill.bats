# kill -9 at every system call of the verbs that change something: enumerated, not sampled.
# shellcheck shell=bash
#
# After each kill: `mas list` works and shows nothing that is not there; `mas doctor --fix` mends
# all; every session is whole and in the index, tmux has no other; no staging, trash or half-written
# file is left, and no process of a session that does not run; the sessions beside are untouched;
# and what was asked for can be had by asking again. The team of the quick run has one agent and
# three files, that of the full run is the default one.

load ../helper
# shellcheck source=test/fault/lib.bash
. "$BATS_TEST_DIRNAME/lib.bash"

@test "new killed at any system call leaves a whole session or nothing" {
    each enumerate_kills new full new-own
}

@test "stop killed at any system call leaves a session that can be stopped" {
    each enumerate_kills stop full stop-own
}

@test "start killed at any system call leaves a session that can be started" {
    each enumerate_kills start full start-own
}

@test "clean killed at any system call leaves a whole session or nothing, and goes on when run again" {
    each enumerate_kills clean
}

@test "rm killed at any system call leaves a whole session or nothing" {
    each enumerate_kills rm full rm-f rm-f-own
}

@test "a fill killed at any system call leaves directories whole or missing, which another makes" {
    each enumerate_kills fill
}

@test "a mark of an error that is killed at any system call can be made again and taken back" {
    each enumerate_kills mark
}

@test "template copy killed at any system call leaves a whole template or nothing" {
    each enumerate_kills template-copy
}
