# Retention of 1,000 sessions, against rm -rf of the same directories.
# shellcheck shell=bash

CLEANED=1000

# clean_of TEMPLATE: sets T[mas], T[rm].
clean_of() {
    make_root "$FAST/$1" && "$MAS" --root "$FAST/$1" new -q -t "$1" --no-start >/dev/null &&
        "$FAST/populate" "$FAST/$1" $((CLEANED - 1)) || return
    # shellcheck disable=SC2016 # for the script
    make_script fresh-root <<END
rm -rf "\$FAST/\$SIDE"
cp -a "$FAST/$1" "\$FAST/\$SIDE"
END
    # shellcheck disable=SC2016 # for the script
    make_script is-clean <<'END'
! ls -d "$FAST/$SIDE"/sessions/*-* "$FAST/$SIDE"/sessions/.trash-* >/dev/null 2>&1 || {
    echo "run.sh: $SIDE left something" >&2
    exit 1
}
END
    measure -b "$FAST/fresh-root" -a "$FAST/is-clean" mas="$MAS --root $FAST/mas clean -q --keep 0" \
        rm="rm -rf $FAST/rm/sessions" || return
    rm -rf "${FAST:?}/$1" "$FAST/mas" "$FAST/rm"
}

clean_of default || return 1
at_most "mas clean of $CLEANED sessions / rm -rf" "$(calc "${T[mas]} / ${T[rm]}")" 1.3 \
    "($(ms mas), $(ms rm); 13 agents each)"
clean_of solo || return 1
at_most "the same with one agent each / rm -rf" "$(calc "${T[mas]} / ${T[rm]}")" 1.3 \
    "($(ms mas), $(ms rm))"
