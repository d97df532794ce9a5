#!/usr/bin/env bash
# Measures what the project promises about speed, each as a ratio with its limit.
#
#   test/bench/run.sh [-n ROUNDS] [NAME...]
#
# NAME is one of those in `all` below; without one, all.
# Each number is the median of ROUNDS runs (15; fewer only to try the benchmark itself). What is
# compared runs alternately in one go, see timer.c. Exit 0: every limit is met; 1: one is not, or a
# benchmark could not be run; what is not installed is skipped with a word.
#
# BENCH_OLD: the program of an earlier mas, which `earlier` compares with.
# BENCH_DISK: a directory on a disk (default: /tmp), for what has to be durable. Everything else is
# in /dev/shm. Nobody should work on the machine meanwhile, on its disk least of all.
set -u
cd "$(dirname "$0")" || exit 1

ROUNDS=15
while getopts n: option; do
    case $option in
        n) ROUNDS=$OPTARG ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
all=(start new wall earlier code copy many clean du archive complete host broker memory talk told ask search serve top hosts jobs fleet)
(($#)) || set -- "${all[@]}"

# shellcheck source=lib.sh
. ./lib.sh
set_up || exit 1
trap tear_down EXIT
trap 'exit 1' INT TERM HUP

for name; do
    if [[ " ${all[*]} " != *" $name "* ]]; then
        echo "run.sh: there is no benchmark '$name'" >&2
        exit 2
    fi
    echo
    # shellcheck source=/dev/null
    . "./$name.sh" || fail "the benchmark '$name' could not be run"
done

echo
say_load 'at the end'
echo "$MET met, $MISSED missed, $SKIPPED skipped"
((MISSED == 0))
