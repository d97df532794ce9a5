# What it costs that mas is started at all, and its size.
# shellcheck shell=bash

(
    ROUNDS=$((ROUNDS < 15 ? ROUNDS : 200))
    measure version="$MAS version" true=true || exit 1
    declare -p T >"$FAST/start"
) || return 1
# shellcheck source=/dev/null
. "$FAST/start"
at_most 'mas version / true' "$(calc "${T[version]} / ${T[true]}")" 2 "($(ms version), $(ms true))"

if command -v strip >/dev/null; then
    strip -o "$FAST/stripped" "$MAS" || return 1
    at_most 'stripped program, MB' "$(calc "$(stat -c %s "$FAST/stripped") / 1000000")" 1 ''
else
    skip 'stripped program' 'strip is not installed'
fi
