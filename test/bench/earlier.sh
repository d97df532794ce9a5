# mas without walls, against an earlier mas: what has come since makes nothing slower that does not
# use it. Both run alternately, each with a root of its own, on the same tmux server.
# shellcheck shell=bash
#
#   BENCH_OLD   the program of the earlier mas; without it all of this is skipped. Put both programs
#               on the same file system: a larger page there makes a difference of some per cent

if [[ -z ${BENCH_OLD-} ]]; then
    skip 'mas / an earlier mas' 'BENCH_OLD names no program'
    return 0
fi

EARLIER_LIMIT=1.02 # as far as two runs of the same program differ on a quiet machine

# earlier_mas SIDE ARGUMENT...
earlier_mas() {
    local program=$MAS
    [[ $1 = now ]] || program=$BENCH_OLD
    "$program" --root "$FAST/earlier-$1" "${@:2}"
}

for side in now old; do
    earlier_mas "$side" init -q "$FAST/earlier-$side" || return 1
    printf '[preset scripted]\nprotocol = acp\ncommand = %s\n' "python3 $(realpath ../acp/agent.py)" \
        >>"$FAST/earlier-$side/mas.ini"
    earlier_mas "$side" new -q -t solo --agent shell --name "one-$side" >/dev/null &&
        earlier_mas "$side" new -q -t solo --agent scripted --name "asked-$side" >/dev/null &&
        earlier_mas "$side" new -q -t solo --agent shell --name "off-$side" --no-start >/dev/null &&
        earlier_mas "$side" wait "asked-$side" --for idle >/dev/null || return 1
done

# $SIDE is that of the command that is timed.
make_script earlier-do <<END
program='$MAS'
[ "\$SIDE" = now ] || program='$BENCH_OLD'
exec "\$program" --root "$FAST/earlier-\$SIDE" "\$@"
END
make_script earlier-start <<<"'$FAST/earlier-do' start -q off-\$SIDE >/dev/null 2>&1 || :"
make_script earlier-stop <<<"'$FAST/earlier-do' stop -q off-\$SIDE >/dev/null 2>&1 || :"
make_script earlier-rm <<<"exec '$FAST/earlier-do' rm -qf @last"

# earlier WHAT TIMES [OPTION...] -- ARGUMENT...: an @ in the arguments is replaced by the side
earlier() {
    local what=$1 times=$((ROUNDS * $2)) options=() ratio shortest detail
    shift 2
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    local now="$MAS --root $FAST/earlier-now ${*//@/-now}"
    local old="$BENCH_OLD --root $FAST/earlier-old ${*//@/-old}"
    measure -n "$times" ${options[@]+"${options[@]}"} now="$now" old="$old" || return 1
    ratio=$(calc "${T[now]} / ${T[old]}")
    shortest=$(calc "${BEST[now]} / ${BEST[old]}")
    detail="now $(ms now), earlier $(ms old); best $shortest"
    measure -c -n "$times" ${options[@]+"${options[@]}"} now="$now" old="$old" || return 1
    at_most "mas $what / an earlier mas" "$ratio" "$EARLIER_LIMIT" \
        "($detail; processor time $(calc "${T[now]} / ${T[old]}"))"
}

earlier version 40 -- version &&
    earlier list 40 -- list &&
    earlier 'list --active' 40 -- list --active &&
    earlier status 40 -- status one@ &&
    earlier send 40 -- send one@ solo hello &&
    earlier ask 20 -- ask asked@ solo SAY:x &&
    earlier 'new --no-start' 20 -a "$FAST/earlier-rm" -- new -q --no-start -t solo &&
    earlier start 4 -b "$FAST/earlier-stop" -- start -q off@ &&
    earlier stop 4 -b "$FAST/earlier-start" -- stop -q off@ &&
    earlier new 4 -a "$FAST/earlier-rm" -- new -q -t solo || return 1
for side in now old; do earlier_mas "$side" stop -q --all >/dev/null; done
