#!/usr/bin/env bats
# scripts/run-tests.sh, which runs these files.
load ../helper

teardown_more() { kill ${run:+"$run"} 2>/dev/null || :; }

@test "a run that is ended by a signal leaves no process, file or mount behind" {
    mkdir -p "$T/own/test/cli"
    ln -s "$PROJECT/test/helper.bash" "$PROJECT/test/place.bash" "$PROJECT/test/disk.bash" "$T/own/test/"
    sed "s/^TEST/@test/" >"$T/own/test/cli/hangs.bats" <<'BATS'
load ../helper
load ../disk
TEST "hangs" {
    if [ "$EUID" -eq 0 ]; then small_root; fi
    "$MAS" new -q
    env -i sh -c 'sleep 1000; :' "$T" 3>&- &
    echo "$TMPDIR $T" >"$TOLD"
    mv "$TOLD" "$TOLD.whole"
    sleep 1000
}
BATS
    TOLD=$T/told TEST_ROOT=$T/own "$PROJECT/scripts/run-tests.sh" "$T/own/test/cli/hangs.bats" >"$T/out" 2>&1 3>&- &
    run=$!
    eventually test -e "$T/told.whole"
    read -r job place <"$T/told.whole"
    [ -d "$job" ] && [ -d "$place" ]
    kill -TERM "$run"
    wait "$run" || [ $? -eq 130 ]
    [ ! -e "$job" ] && [ ! -e "$place" ]
    run ! grep -lsF -e "$place" -e "$job" /proc/[0-9]*/cmdline /proc/[0-9]*/environ
    run ! grep -F "$place" /proc/self/mountinfo
}
