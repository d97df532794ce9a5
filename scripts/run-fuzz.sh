#!/bin/sh
# Runs each fuzz program for SECONDS, one after the other.
#
#   scripts/run-fuzz.sh BUILD SECONDS test/fuzz/fuzz_NAME.c...
#
# The seeds are in test/fuzz/corpus/NAME; new inputs and crashes are written below BUILD.
set -eu
build=$1 seconds=$2
shift 2
if [ $# -eq 0 ]; then
    echo 'fuzz: there is no fuzz program' >&2
    exit 1
fi
failed=0
for source in "$@"; do
    program=$build/${source%.c}
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    seeds=test/fuzz/corpus/$name
    found=$build/corpus/$name
    mkdir -p "$found" "$build/crashes"
    if [ ! -d "$seeds" ]; then seeds=$found; fi
    if "$program" -max_total_time="$seconds" -artifact_prefix="$build/crashes/$name-" \
        -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 "$found" "$seeds" \
        >"$build/$name.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
        echo "passed $name: $runs inputs in $seconds s"
    else
        failed=$((failed + 1))
        echo "FAILED $name:"
        tail -n 60 "$build/$name.log" | sed 's/^/    /'
    fi
done
echo "$(($# - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
