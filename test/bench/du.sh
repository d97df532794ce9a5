# Measuring 100 sessions, against du -s of the same directories.
# shellcheck shell=bash

MEASURED=100

# du_of DIRECTORY TEMPLATE: sets T[mas], T[du]. The directories have been read before: timer.c warms
# both sides up.
du_of() {
    make_root "$1" && "$MAS" --root "$1" new -q -t "$2" --no-start >/dev/null &&
        "$FAST/populate" "$1" $((MEASURED - 1)) || return
    [[ $("$MAS" --root "$1" du -q | wc -l) == "$MEASURED" ]] || return
    measure mas="$MAS --root $1 du" du="du -s $1/sessions"
}

du_of "$FAST/du" default || return 1
at_most "mas du of $MEASURED sessions / du -s" "$(calc "${T[mas]} / ${T[du]}")" 1.2 \
    "($(ms mas), $(ms du); 13 agents each, in memory)"
du_of "$SLOW/du" default || return 1
at_most "the same on $(stat -f -c %T "$SLOW") / du -s" "$(calc "${T[mas]} / ${T[du]}")" 1.2 \
    "($(ms mas), $(ms du))"
