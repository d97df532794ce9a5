# The index of the search is a cache: kill -9 or an error at any system call of a catch-up costs no
# more than that search. The next one finds all, and nothing of what is damaged is believed.
# shellcheck shell=bash
load ../helper
load ../memory

setup_more() {
    new_session -n kept -t solo --no-start
    KEPT=$ID
    for i in 1 2 3 4; do
        user "heron number $i" '{agent: "solo"}'
        agent "seen at the lake $i"
    done | said "$KEPT" >/dev/null
    INDEX=$ROOT/sessions/.memory.index
}

# from STATE: what a search begins with: no index; one that knows a session that is gone and lacks
# what was said since; a damaged one.
from() {
    rm -f "$INDEX"*
    if [ "$1" != none ]; then cp "$T/index" "$INDEX"; fi
    if [ "$1" = damaged ]; then
        dd if=/dev/urandom of="$INDEX" bs=4096 seek=2 count=4 conv=notrunc status=none
    fi
}

make_states() {
    new_session -n gone -t solo --no-start
    user 'heron that is gone' '{agent: "solo"}' | said "$ID" >/dev/null
    found heron >/dev/null
    cp "$INDEX" "$T/index"
    rm -rf "${ROOT:?}/sessions/$ID"
    user 'heron number 5' '{agent: "solo"}' | said "$KEPT" >/dev/null
}

# What holds after any fault.
holds() {
    [ "$(found heron -n 100 --role user | sort)" = "$(printf 'heron number %d\n' 1 2 3 4 5)" ] || return
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
assert db.execute("SELECT count(*) FROM message").fetchone()[0] == 9' "$INDEX" || return
    "${MAS%/*}/test/tools/words" "$ROOT"
}

# points STATE PATTERN: lines "<name> <N> <call>" of the calls of a search that fit.
points() {
    from "$1"
    strace -o "$T/trace" -s 64 -y "$MAS" search heron >"$T/out"
    awk '/^[a-z_0-9]+\(/ { name = substr($0, 1, index($0, "(") - 1); print name, ++n[name], $0 }' "$T/trace" |
        grep -E "^($2)"
}

CHANGING='pwrite|rename|unlink|f?chmod|ftruncate|openat .*O_CREAT|exit_group'

# fault STATE NAME N INJECTION: one search with a fault in it.
fault() {
    from "$1"
    { strace -o /dev/null -e "trace=$2" -e "inject=$2:$4:when=$3" "$MAS" search heron >"$T/out" 2>"$T/err"; } 2>/dev/null
}

kill_all() {
    local name n call count=0
    while read -r name n call; do
        # in the quick form a few of the many that are alike
        if [ "${TEST_FAULT-}" != full ] && [ "$name" = pwrite64 ] && ((n % 15 != 1)); then continue; fi
        fault "$1" "$name" "$n" signal=SIGKILL || true
        holds || { echo "killed at $name $n: $call"; return 1; }
        count=$((count + 1))
    done < <(points "$1" "$CHANGING")
    echo "$count kills"
    ((count >= 5))
}

fail_all() {
    local name n call error rc count=0
    while read -r name n call; do
        if [ "${TEST_FAULT-}" != full ] && { [ "$name" = pwrite64 ] || [ "$name" = pread64 ]; } && ((n % 31 != 1)); then continue; fi
        case $name in
            pread64 | fsync | fdatasync) error=EIO ;;
            *) error=ENOSPC ;;
        esac
        rc=0
        fault "$1" "$name" "$n" "error=$error" || rc=$?
        # it finds what there is, or says why not; it never ends otherwise
        if ((rc != 0)) && { ((rc != 1 && rc != 5)) || [ ! -s "$T/err" ]; }; then
            echo "$name $n $call: $rc $(<"$T/err")"
            return 1
        fi
        holds || { echo "$error at $name $n: $call"; return 1; }
        count=$((count + 1))
    done < <(points "$1" 'pwrite64|pread64 .*memory.(index|db)|f?sync|fdatasync|unlink|ftruncate|openat .*memory.index')
    echo "$count errors"
    ((count >= 5))
}

@test "a search that is killed while it makes the index, or brings it up to date, costs nothing" {
    make_states
    kill_all none
    kill_all old
}

@test "a search that is killed while it makes a damaged index anew costs nothing" {
    make_states
    kill_all damaged
}

@test "errors while the index is written or read are told, and the next search finds all" {
    make_states
    fail_all none
    fail_all old
}
