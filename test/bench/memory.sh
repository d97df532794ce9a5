# What it costs to store what is said, and to read it again.
# shellcheck shell=bash
#
# test/tools/say writes as a host does, by the same functions: pieces of an answer survive a kill, whole
# prompts the loss of power.

SAY=${MAS%/*}/test/tools/say
MESSAGES=100000
PIECES=20000

if [[ ! -x $SAY ]]; then
    skip 'memory' "there is no $SAY; make bench makes it"
    return 0
fi

# rate DIRECTORY WORD N [AGENT]: how many a second
rate_of() { "$SAY" "$1" "${4:-solo}" <<<"$2 $3" | sed -n 's/ a second//p'; }

# rates WORD N: the median of some runs on the disk
rates() {
    local round all=()
    for ((round = 0; round < (ROUNDS < 5 ? ROUNDS : 5); round++)); do
        all+=("$(rate_of "$WORKSPACE" "$1" "$2")")
    done
    printf '%s\n' "${all[@]}" | sort -n | sed -n "$(((${#all[@]} + 1) / 2))p"
}

# Thirteen at once; how many a second all of them together.
crowd() {
    local i start end pids=()
    start=${EPOCHREALTIME/./}
    for ((i = 0; i < 13; i++)); do
        rate_of "$WORKSPACE" flood "$1" "agent$i" >/dev/null &
        pids+=("$!")
    done
    wait "${pids[@]}" || return 1
    end=${EPOCHREALTIME/./}
    echo $((13 * $1 * 1000000 / (end - start)))
}

export ROOT=$SLOW/memory MAS_ROOT=$SLOW/memory
make_root "$ROOT" || return 1
ID=$("$MAS" new -q -t solo --no-start) || return 1
WORKSPACE=$ROOT/sessions/$ID
at_least 'stored updates a second' "$(rates flood "$PIECES")" 5000 '(pieces of an answer)'
at_least 'those of 13 agents together' "$(crowd 2000)" 5000 ''
note 'synced messages a second' "$(rates full 500)"

export ROOT=$FAST/memory MAS_ROOT=$FAST/memory
make_root "$ROOT" || return 1
ID=$("$MAS" new -q -t solo --no-start) || return 1
"$SAY" "$ROOT/sessions/$ID" solo <<<"fill $MESSAGES" >/dev/null || return 1
measure page="$MAS history $ID solo" json="$MAS history $ID solo --json" \
    offset="$MAS history $ID solo --offset $((MESSAGES / 2))" \
    last="$MAS history $ID solo --offset $((MESSAGES - 50))" \
    version="$MAS version" || return 1
at_most "first page of $MESSAGES messages, ms" "$(calc "${T[page]} / 1000")" 20 \
    "(mas version: $(ms version))"
at_most 'the same as JSON, ms' "$(calc "${T[json]} / 1000")" 20 '(with how many there are)'
note 'a page from their middle, from their end' "$(ms offset), $(ms last)"
measure -n 3 all="$MAS history $ID solo -n all" || return 1
note 'all of them' "$(ms all)"
