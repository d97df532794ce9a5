# What a tab costs with 1,000 sessions, some of them live.
# shellcheck shell=bash

ROOT=$FAST/tab
make_full_root "$ROOT" 980 || return 1
for ((i = 0; i < 19; i++)); do
    "$MAS" --root "$ROOT" new -q -t solo || return 1
done >/dev/null
"$MAS" --root "$ROOT" new -q -t default -n team >/dev/null || return 1
[[ $("$MAS" --root "$ROOT" list -q | wc -l) == 1000 ]] || return 1

# asked NAME WORD...: one kind of value, and that there are candidates.
asked() {
    local name=$1
    shift
    [[ -n $("$MAS" complete -- "$@") ]] || return
    measure tab="$MAS complete -- $*" || return
    at_most "tab: $name, ms" "$(calc "${T[tab]} / 1000")" 20 "(mas $*)"
}

export MAS_ROOT=$ROOT
asked commands st && asked actions template l && asked options new --te &&
    asked sessions show mas- && asked agents send team 1 && asked 'agents, by -s' logs -s team 1 &&
    asked templates new -t so && asked presets new --agent c && asked statuses clean --status s
rc=$?
export MAS_ROOT=$FAST/none
"$MAS" --root "$ROOT" stop --all >/dev/null
return "$rc"
