#!/bin/sh
# Stands for mas on another machine: runs the program beside it, NAME.does, and seals its output as `mas --seal=TEXT`
# does, see src/fleet/seal.h. What ends otherwise than mas has no second seal.
case $1 in
    --seal=*) seal=${1#*=} ;;
    *) exec "$0.does" "$@" ;;
esac
shift
printf '\036%s\n' "$seal"
code=0
"$0.does" "$@" || code=$?
[ "$code" -gt 12 ] || printf '\036%s\n' "$seal"
exit "$code"
