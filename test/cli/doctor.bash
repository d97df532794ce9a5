# What the tests of mas doctor share: what it finds, mends and notes.
# shellcheck shell=bash

setup_more() { quick_idle; }

# `mas doctor` finds $2 about $1 and changes nothing.
finds() {
    local before
    before=$(snapshot)
    fails 1 doctor --json
    jq -e --arg subject "$1" --arg what "$2" \
        'any(.findings[]; .subject == $subject and .state == "open" and (.what | contains($what)))' \
        <<<"$output"
    [[ $stderr == 'mas: cannot call everything in order: '*' found'*'mas doctor --fix' ]]
    [ "$(snapshot)" = "$before" ]
}

# `mas doctor --fix` mends $2 about $1, and then everything is in order.
mends() {
    ok doctor --fix --json
    jq -e --arg subject "$1" --arg what "$2" \
        'any(.findings[]; .subject == $subject and .state == "mended" and (.what | contains($what)))' \
        <<<"$output"
    [ -z "$stderr" ]
    is_in_order
}

is_in_order() {
    mas doctor
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = 'everything is in order' ]
    [ -z "$stderr" ]
}

# `mas doctor` has only something to say about $1, that is no fault: $2.
notes() {
    ok doctor --json
    jq -e --arg subject "$1" --arg what "$2" \
        'any(.findings[]; .subject == $subject and .state == "note" and (.what | contains($what)))' \
        <<<"$output"
}

ws() { echo "$ROOT/sessions/$1"; }
tmux_name() { echo "mas-${1:0:8}"; }
mode() { stat -c %a "$1"; }

# Waits until the agents of $1 have taken their environment, so that snapshots agree.
settled() { "$MAS" wait "$1" --for idle; }

a_stopped_session() { new_session -t solo --no-start -n "${1:-idle}"; }
a_running_session() { new_session -t solo -n "${1:-busy}" && settled "$ID"; }

teardown_more() {
    grep -lsz "^MAS_SESSION_DIR=$T/" /proc/[0-9]*/environ | cut -d/ -f3 |
        xargs -r kill -KILL 2>/dev/null || true
}
