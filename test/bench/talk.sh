# What the host of an ACP agent adds to each update. What `mas ask` adds is in ask.sh.
# shellcheck shell=bash

PIECES=5000

"${CC:-cc}" -std=c17 -D_GNU_SOURCE -O2 -o "$FAST/talker" talker.c || return 1
# on a disk: what is said is stored, prompts and turn ends so that they survive the loss of power
export ROOT=$SLOW/talk MAS_ROOT=$SLOW/talk
make_root "$ROOT" || return 1
printf '[preset talker]\nprotocol = acp\ncommand = %s\n' "$FAST/talker" >>"$ROOT/mas.ini"
ID=$("$MAS" new -q -t solo --agent talker) || return 1
"$MAS" ask "$ID" solo hello >/dev/null || return 1

times=()
for ((round = 0; round < 5; round++)); do
    times+=("$("$FAST/talker" ask "$ROOT/sessions/$ID/run" solo "$PIECES")") || return 1
done
took=$(printf '%s\n' "${times[@]}" | sort -n | sed -n 3p)
at_most 'an update, from the agent to who listens (ms)' "$(calc "$took / 1000000")" 0.1 \
    "(median of $PIECES, stored on disk)"

host=$("$MAS" status "$ID" --json | grep -o '"hostPid":[0-9]*' | head -n 1 | cut -d: -f2)
ticks() { awk '{ print $14 + $15 }' "/proc/$host/stat"; }
before=$(ticks)
"$FAST/talker" ask "$ROOT/sessions/$ID/run" solo "$PIECES" >/dev/null || return 1
note "processor time of the host for an update" \
    "$(calc "($(ticks) - $before) * 10000 / $PIECES") us"

"$MAS" rm -q -f "$ID" >/dev/null
