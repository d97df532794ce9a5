#!/usr/bin/env bats
# Every verb of mas has an address, or a reason why it has none.
load ../helper
load lib

# without VERB: why it has no address; fails if that is not known
without() {
    case $1 in
    attach | open | top | next | keys | completion) echo 'it is about a terminal' ;;
    'template edit') echo 'it opens an editor on a terminal' ;;
    invite | serve | 'serve pair' | 'serve token' | 'serve token add' | 'serve token list' | 'serve token remove')
        echo 'it decides who may ask, which is for a person at the machine' ;;
    acp | mcp) echo 'it is another protocol, on stdin and stdout' ;;
    init) echo 'the server has a root already' ;;
    'template copy' | 'template make') echo 'a template names programs, so it is written by a person at the machine' ;;
    'template diff') echo 'it compares what only a person at the machine writes' ;;
    run) echo 'it stays in the foreground of a job' ;;
    remote | 'remote add' | 'remote check' | 'remote forward' | 'remote list') echo 'other machines are for a person at this one' ;;
    every | goal) echo 'its timer and the environment of its starts are those of a person at the machine' ;;
    move) echo 'it goes to another machine, with the ssh keys of a person' ;;
    wait) echo 'GET /events tells of each state as it comes' ;;
    help) echo 'GET /openapi.json describes what there is' ;;
    *) return 1 ;;
    esac
}

# The verbs, and "VERB ACTION" of those that have actions.
verbs() { "${MAS%/*}/test/tools/verbs" | awk -F '\t' '$1 == "verb" { print $2 }'; }

# The verbs that addresses do, one a line
addressed() {
    jq -r '.paths[] | to_entries[] | select(.key != "parameters") | .value["x-mas-verbs"][]?' "$T/openapi.json" | sort -u
}

@test "each verb of mas has an address, or there is a reason why it has none" {
    local verb bad=0
    serve
    describe
    verbs >"$T/verbs"
    [ "$(wc -l <"$T/verbs")" -gt 50 ]
    grep -qx 'template list' "$T/verbs"
    grep -qx 'serve token add' "$T/verbs"
    addressed >"$T/addressed"
    while IFS= read -r verb; do
        if grep -qxF "$verb" "$T/addressed"; then
            ! without "$verb" >/dev/null || { echo "'$verb' has an address and a reason to have none"; bad=1; }
        else
            without "$verb" >/dev/null || { echo "'$verb' has no address in the table of operations"; bad=1; }
        fi
    done <"$T/verbs"
    # and no address says that it does what is no verb
    while IFS= read -r verb; do
        grep -qxF "$verb" "$T/verbs" || { echo "'$verb' is no verb"; bad=1; }
    done <"$T/addressed"
    [ "$bad" = 0 ]
}
