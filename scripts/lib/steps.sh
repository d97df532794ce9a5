# shellcheck shell=bash
# Runs the steps of a check one after the other and adds up what they print. Sourced by .ci/run and check-all.sh.
#
#   step TITLE COMMAND...   runs it, and adds the last "N passed, N failed" that it prints; a step without one
#                           counts as one test
#   steps_end               prints the sum as the last line; fails if something failed

passed=0 failed=0 skipped=0

step() {
    local title=$1 start=$SECONDS log sum rc
    shift
    log=$(mktemp)
    echo "== $title"
    "$@" 2>&1 | tee "$log"
    rc=${PIPESTATUS[0]}
    sum=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
    if [[ $sum =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
        if ((rc != 0 && BASH_REMATCH[2] == 0)); then failed=$((failed + 1)); fi
    elif ((rc == 0)); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    rm -f "$log"
    echo "== $title: exit code $rc, $((SECONDS - start)) s"
}

steps_end() {
    if ((skipped > 0)); then echo "$skipped skipped"; fi
    echo "$passed passed, $failed failed"
    ((failed == 0))
}
