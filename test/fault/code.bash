# Shared by the tests of faults in the commands on sessions with a project.
# shellcheck shell=bash
#
#   $CALLS  the system calls that fail or are killed: what changes something or starts git
#   $THIN   every which of these places is tried

CALLS=clone,vfork,clone3,renameat2,renameat,unlinkat,unlink,mkdirat,mkdir,link,linkat,fsync,syncfs,write,ftruncate,poll
if [ "${TEST_FAULT-}" = full ]; then THIN=${THIN-1}; else THIN=${THIN-11}; fi

# Prints each call of `mas ARGUMENT...` in a clean run as "NAME NUMBER".
points() {
    strace -qq -e trace="$CALLS" -e signal=none -o "$T/calls" "$MAS" "$@" >/dev/null 2>&1 || true
    sed -n 's/^\([a-z0-9]*\)(.*/\1/p' "$T/calls" | awk '{print $1, ++count[$1]}' |
        awk -v step="$THIN" 'NR % step == 1 || step == 1'
}

# tries FAULT...: prints "FAULT NAME NUMBER" for each place in $all with each of the faults. The quick run tries
# one of them at a place, in turn, and each at least once.
tries() {
    local point fault i places=${#all[@]}
    if [ "${TEST_FAULT-}" = full ]; then
        for point in "${all[@]}"; do
            for fault; do echo "$fault $point"; done
        done
        return
    fi
    for ((i = 0; i < (places > $# ? places : $#); i++)); do
        fault=$((i % $# + 1))
        echo "${!fault} ${all[i % places]}"
    done
}

# inject FAULT NAME NUMBER ARGUMENT...: runs mas with a fault at one call; git does not outlive it.
inject() {
    local fault=$1 name=$2 number=$3
    shift 3
    # a kill at a poll comes while git is at work
    if [ "$name" = poll ] && [[ $fault == signal=* ]]; then fault+=:delay_enter=$((RANDOM % 6000)); fi
    strace -qq -e trace="$name" -e signal=none -o "$T/trace" -e inject="$name:$fault:when=$number" \
        "$MAS" "$@" >"$T/out" 2>&1 || true
}

# The project is as it was, but for refs/mas/lost and objects, and whole.
same_project() {
    local now
    now=$(project_state | grep -v 'refs/mas\|packed-refs' || true)
    [ "$now" = "$BEFORE" ] || { diff <(echo "$BEFORE") <(echo "$now"); return 1; }
    git -C "$P" fsck --strict --no-dangling --no-progress >"$T/fsck" 2>&1 || { cat "$T/fsck"; return 1; }
}
remember() { BEFORE=$(project_state | grep -v 'refs/mas\|packed-refs' || true); }

# doctor repairs what is left, and then nothing is.
repaired() {
    "$MAS" doctor --fix >"$T/doctor" 2>&1 || { cat "$T/doctor"; return 1; }
    run -0 "$MAS" doctor
}

failed() { echo "at $fault $point: $*"; cat "$T/out"; return 1; }
