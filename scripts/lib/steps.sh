# shellcheck shell=bash
# Runs the steps of a check one after the other and adds up what they print. Sourced by .ci/run and check-all.sh.
#
#   step TITLE COMMAND...   runs it, and adds the last "N passed, N failed" that it prints; a step without one
#                           counts as one test
#   steps_end               prints the sum as the last line; fails if something failed, else it notes in build/passed
#                           that this commit has passed
#   note_passed             notes it before the end
#   since_when              prints the commit from which on changes count: that of a day ago or, if it is later, that
#                           of test/reach/map.txt, which has passed; nothing in a clone without that, so that all counts

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

note_passed() {
    rm -f build/passed
    if ((failed == 0)) && [[ -d build && -z $(git status --porcelain) ]]; then git rev-parse HEAD >build/passed; fi
}

since_when() {
    local day map
    day=$(git rev-list -n 1 --before="$(($(git log -1 --format=%ct) - 86400))" HEAD)
    map=$(sed -n 's/^commit //p' test/reach/map.txt 2>/dev/null)
    if [[ -n $map ]] && git merge-base --is-ancestor "$map" HEAD 2>/dev/null &&
        { [[ -z $day ]] || git merge-base --is-ancestor "$day" "$map"; }; then
        echo "$map"
    else
        echo "$day"
    fi
}

steps_end() {
    note_passed
    if ((skipped > 0)); then echo "$skipped skipped"; fi
    echo "$passed passed, $failed failed"
    ((failed == 0))
}
