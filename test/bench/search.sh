# Searches over a million messages in a thousand sessions, and how long the index takes.
# shellcheck shell=bash

TALKED=${BENCH_MESSAGES:-1000000}
TALKS=1000

make_root "$FAST/talk" && "$MAS" --root "$FAST/talk" new -q -t solo --no-start >/dev/null &&
    "$FAST/populate" "$FAST/talk" $((TALKS - 1)) || return 1
WORDS=$(python3 talk.py "$FAST/talk" "$TALKED") || return 1
INDEXED=$EPOCHREALTIME
"$MAS" --root "$FAST/talk" search kestrel >/dev/null || return 1
INDEXED=$(calc "$EPOCHREALTIME - $INDEXED")
note "the index of $TALKED messages" "$INDEXED s, $(calc "$TALKED / $INDEXED / 1000")k messages a second"
if [[ -n ${BENCH_OLD-} ]]; then # its index may be another one
    "$BENCH_OLD" --root "$FAST/talk" search kestrel >/dev/null 2>&1
    measure question="$BENCH_OLD --root $FAST/talk search $WORDS" || return 1
    note 'the same question with an earlier mas' "$(ms question)"
    "$MAS" --root "$FAST/talk" search kestrel >/dev/null 2>&1
fi
TALK=$("$MAS" --root "$FAST/talk" list -q | head -n 1)
measure few="$MAS --root $FAST/talk search kestrel obsidian marmalade" \
    question="$MAS --root $FAST/talk search $WORDS" \
    none="$MAS --root $FAST/talk list -q" || return 1
at_most "search of three selective words, ms" "$(calc "${T[few]} / 1000")" 50 \
    "($TALKED messages in $TALKS sessions; \`list\` takes $(ms none))"
at_most "search of a ten-word question, ms" "$(calc "${T[question]} / 1000")" 150 "(from the most common to rare ones)"
make_script context <<<"exec $MAS --root $FAST/talk context $TALK solo --json --for '$WORDS'"
"$FAST/context" >"$FAST/context.json" && [[ $(jq ".relevant_history | length" "$FAST/context.json") == 20 ]] || return 1
measure context="$FAST/context" || return 1
at_most "context with a ten-word question, ms" "$(calc "${T[context]} / 1000")" 200 ""
rm -rf "$FAST/talk"
