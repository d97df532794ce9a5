# Commands killed at random moments beside others that go on.
# shellcheck shell=bash

load ../helper
# shellcheck source=test/fault/lib.bash
. "$BATS_TEST_DIRNAME/lib.bash"

# Makes, lists, stops, starts and removes until $T/stop is there. Nothing here may ever fail.
others() {
    local id
    while [[ ! -e $T/stop ]]; do
        id=$("$MAS" new -q -t three 2>>"$T/others") || continue
        "$MAS" list --all >/dev/null 2>>"$T/others" || echo "list: $?" >>"$T/others"
        "$MAS" stop "$id" >/dev/null 2>>"$T/others" || echo "stop: $?" >>"$T/others"
        "$MAS" start "$id" >/dev/null 2>>"$T/others" || echo "start: $?" >>"$T/others"
        "$MAS" rm -f "$id" >/dev/null 2>>"$T/others" || echo "rm -f: $?" >>"$T/others"
    done
}

# Starts `mas new` 20 times and kills it within the time that one takes.
chaos() {
    local i other pid took start=${EPOCHREALTIME/[.,]/}

    RANDOM=${SEED:-$$}
    POINT="with SEED=${SEED:-$$}"
    expect new -q -t three
    took=$((${EPOCHREALTIME/[.,]/} - start))
    others &
    other=$!
    for ((i = 0; i < 20; i++)); do
        "$MAS" new -q -t three >/dev/null 2>>"$T/others" &
        pid=$!
        read -rt "0.$(printf %06d $((RANDOM * took / 16384 % 900000)))" <> <(:) || :
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    : >"$T/stop"
    wait "$other"
    [[ ! -s $T/others ]] || bad "beside it: $(sort "$T/others" | uniq -c | head -n 5)"
    check_promises
    for i in "${!FOUND[@]}"; do
        [[ -v LIVE[$i] || $i == "$RESTS" ]] || expect start "$i"
    done
    check_promises
    for i in "${!FOUND[@]}"; do
        [[ $i == "$RUNS" || $i == "$RESTS" ]] || expect rm -f "$i"
    done
    check_promises
    ((${#FOUND[@]} == 2)) || bad "${#FOUND[@]} sessions are left"
}

@test "twenty killed news beside others do no harm that doctor --fix does not mend" {
    TEST_FAULT=quick in_box chaos
}

# The functions above that run in a box.
export -f others chaos
