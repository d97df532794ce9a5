#!/bin/sh
# Runs a command for each session, in its workspace and with its variables.
#
#     each-session.sh [--active] [--stopped] [--error] COMMAND [WORD...]
#
#     each-session.sh --stopped du -sh unit
#     each-session.sh sh -c 'echo "$SESSION_NAME: $(ls "$WORKFLOWS_DIR" | wc -l) workflows"'
#
# It reports a session that cannot be read and goes on with the next. The exit code is that of the
# first failure.
set -eu

which=
while :; do
    case ${1-} in
        --active | --stopped | --error) which="$which $1" ;;
        *) break ;;
    esac
    shift
done
if [ $# -eq 0 ]; then
    echo "usage: ${0##*/} [--active] [--stopped] [--error] COMMAND [WORD...]" >&2
    exit 2
fi

rc=0
# shellcheck disable=SC2086 # options
ids=$(mas list -q $which)
for id in $ids; do
    failed=0
    variables=$(mas env "$id") && (
        set -a # export the variables
        eval "$variables"
        cd "$MAS_SESSION_DIR"
        exec "$@"
    ) || failed=$?
    if [ "$rc" -eq 0 ]; then rc=$failed; fi
done
exit "$rc"
