#!/usr/bin/env bash
# All that .ci/run checks, and what is slow or rare: every test without sanitizers, too, all mistakes of
# test/mutants, every fault at every place, all of the fleet. Says how long each takes. Takes hours. It also makes
# test/reach/map.txt, by which .ci/run leaves out tests, if all before it has passed: commit it.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=scripts/lib/steps.sh
. scripts/lib/steps.sh

step tests sh scripts/test.sh
step lint make -s lint
step ports bash scripts/lint/ports.sh
step mutants make -s mutants
step sanitizers sh scripts/test.sh SAN=address,undefined CFLAGS='-Og -g1'
step fleet make -s test-fleet TEST_FLEET=full
sh scripts/lib/kernel.sh systemd # for test/host/{oom,timer}.bats
step faults make -s test-fault
step fuzz make -s fuzz
step tmux test/tmux/run.sh
step packages sh -c 'make -s deb && test/package/run.sh && test/package/arm64.sh'
note_passed
step reach test/reach/record.py
steps_end
