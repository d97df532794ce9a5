#!/bin/sh
# A job for a team: creates a session, sends its agents a message, waits until they have processed it,
# and collects their logs. In the end it removes the session, whether or not the job succeeded.
#
#     team-job.sh [-a PRESET] [-c CONFIG] [-t TEMPLATE] [-w TIME] DIR TARGET TEXT...
#
#     team-job.sh -t pair -a claude -w 2h review-logs all 'Review the last commit.'
#
# DIR is created if missing. In the end it contains <agent>.log with the text that each agent printed,
# session.log and status.json. TIME defaults to 30m. The exit code is 0 if the agents have finished, 7
# if the time is up, 128 plus the number of the signal that ended the job, else that of mas.
set -eu

usage() {
    echo "usage: ${0##*/} [-a PRESET] [-c CONFIG] [-t TEMPLATE] [-w TIME] DIR TARGET TEXT..." >&2
    exit 2
}

collect() {
    mas logs "$id" >"$dir/session.log"
    mas status "$id" --json >"$dir/status.json"
    for log in "$MAS_SESSION_DIR"/logs/agent-*.log; do
        agent=${log##*/agent-} agent=${agent%.log}
        if [ -f "$log" ]; then mas logs "$id" "$agent" >"$dir/$agent.log"; fi
    done
}

finish() {
    rc=$?
    set +e
    trap '' HUP INT TERM
    if [ -n "$sending" ]; then kill "$sending"; fi 2>/dev/null
    if load_session "$id" 2>/dev/null; then
        collect
        mas rm -qf "$id" || rc=1
    fi
    exit "$rc"
}

time=30m preset='' config='' template='' sending=''
while getopts a:c:t:w: option; do
    case $option in
        a) preset=$OPTARG ;;
        c) config=$OPTARG ;;
        t) template=$OPTARG ;;
        w) time=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 3 ] || usage
dir=$1 target=$2
shift 2
mkdir -p "$dir"

# shellcheck source=lib/session.sh # in the source tree, or where `make install` puts it
for library in "${0%/*}/../../lib/session.sh" /usr/local/share/mas/lib/session.sh; do
    if [ -f "$library" ]; then . "$library" && break; fi
done

# choose the id before creating the session, so that a signal at any time leaves nothing behind
id=$(generate_uuid)
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
mas new -q --id "$id" ${preset:+--agent "$preset"} ${config:+-c "$config"} \
    ${template:+-t "$template"} >/dev/null
# in the background, because a shell handles a signal during wait, but not while a command runs
mas send -s "$id" --wait --timeout "$time" -- "$target" "$@" &
sending=$!
wait "$sending"
