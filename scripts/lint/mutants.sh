#!/usr/bin/env bash
# Each mistake of `make mutants` finds the lines that it changes: who rewrites them takes the row along.
. "$(dirname "$0")/lib.sh"
need python3
rows=$(test/mutants/run.py -n) || { grep -v ' failed$' <<<"$rows"; finish 1 "$(tail -n 1 <<<"$rows")"; }
finish 0 "${rows%% *} rows"
