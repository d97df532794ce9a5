# 10,000 sessions on disk, 100 of them live.
# shellcheck shell=bash

LIVE=100
ALL=10000

# forks ROOT: how many tmux processes a `mas list --active` starts.
forks() {
    strace -f -e trace=execve -o "$FAST/trace" "$MAS" --root "$1" list --active >/dev/null || return
    grep -c 'execve("[^"]*/tmux".* = 0$' "$FAST/trace"
}

make_full_root "$FAST/few" 10 && make_full_root "$FAST/many" $((ALL - LIVE)) || return 1
for ((i = 0; i < LIVE; i++)); do
    "$MAS" --root "$FAST/many" new -q -t solo || return 1
done >/dev/null
[[ $("$MAS" --root "$FAST/many" list -q --active | wc -l) == "$LIVE" ]] || return 1
[[ $("$MAS" --root "$FAST/many" list -q | wc -l) == "$ALL" ]] || return 1

measure raw="tmux -S $SOCK list-sessions" active="$MAS --root $FAST/many list --active" \
    list="$MAS --root $FAST/many list" || return 1
# The limits, 5 and 15 ms, are for a machine where the raw side takes 2.5 ms.
at_most "mas list --active, $LIVE live of $ALL / raw tmux" "$(calc "${T[active]} / ${T[raw]}")" 2 \
    "(mas $(ms active), raw list-sessions $(ms raw))"
at_most "mas list of $ALL / raw tmux" "$(calc "${T[list]} / ${T[raw]}")" 6 "(mas $(ms list))"
# As many live on a server like that, and nothing else on disk.
make_root "$FAST/alone" && tmux -S "$FAST/tmux-alone" -f /dev/null new-session -d -s keep 'exec sleep 1000000' || return 1
for ((i = 0; i < LIVE; i++)); do
    MAS_TMUX_SOCKET=$FAST/tmux-alone "$MAS" --root "$FAST/alone" new -q -t solo || return 1
done >/dev/null
measure all="env MAS_TMUX_SOCKET=$SOCK $MAS --root $FAST/many list --active" \
    alone="env MAS_TMUX_SOCKET=$FAST/tmux-alone $MAS --root $FAST/alone list --active" || return 1
at_most "mas list --active, $ALL on disk / $LIVE on disk" "$(calc "${T[all]} / ${T[alone]}")" 1.2 \
    "($(ms all), $(ms alone))"
MAS_TMUX_SOCKET=$FAST/tmux-alone "$MAS" --root "$FAST/alone" stop --all >/dev/null

if command -v strace >/dev/null; then
    at_most 'tmux processes of mas list, 1 live server' "$(forks "$FAST/many")" 1 ''
else
    skip 'tmux processes of mas list' 'strace is not installed'
fi

# Both roots are on the same server, so that both sides have the same number of live sessions.
# shellcheck disable=SC2016 # for the script
make_script end-newest <<'END'
root=$FAST/${SIDE%%-*}
"$MAS" --root "$root" rm -f @last >/dev/null 2>&1
sleep 0.1
END
measure -a "$FAST/end-newest" few="$MAS --root $FAST/few new -q" \
    many="$MAS --root $FAST/many new -q" || return 1
at_most "mas new with $ALL on disk / with 10" "$(calc "${T[many]} / ${T[few]}")" 1.3 \
    "($(ms many), $(ms few))"
measure -a "$FAST/end-newest" few-solo="$MAS --root $FAST/few new -q -t solo" \
    many-solo="$MAS --root $FAST/many new -q -t solo" || return 1
note 'the same with one agent' \
    "$(calc "${T[many-solo]} / ${T[few-solo]}") ($(ms many-solo), $(ms few-solo))"
[[ $("$MAS" --root "$FAST/many" list -q | wc -l) == "$ALL" ]] || return 1
"$MAS" --root "$FAST/many" stop --all >/dev/null

# Servers of their own: hosts answer instead of tmux.
make_root "$FAST/same" && make_root "$FAST/own" || return 1
for ((i = 0; i < LIVE; i++)); do
    "$MAS" --root "$FAST/same" new -q -t solo &&
        MAS_TMUX_SOCKET=$FAST/none MAS_TMUX_SERVER=per-session \
            "$MAS" --root "$FAST/own" new -q -t solo || return 1
done >/dev/null
"$MAS" --root "$FAST/many" stop --all >/dev/null # so that the shared server has as many
measure same="$MAS --root $FAST/same list" \
    own="env MAS_TMUX_SOCKET=$FAST/none $MAS --root $FAST/own list" || return 1
at_most "mas list of $LIVE, servers of their own / a shared one" \
    "$(calc "${T[own]} / ${T[same]}")" 3 "($(ms own), $(ms same))"
if command -v strace >/dev/null; then
    at_most "tmux processes of mas list, $LIVE live servers" \
        "$(MAS_TMUX_SOCKET=$FAST/none forks "$FAST/own")" 1 ''
fi
"$MAS" --root "$FAST/same" stop --all >/dev/null
MAS_TMUX_SOCKET=$FAST/none "$MAS" --root "$FAST/own" stop --all >/dev/null
