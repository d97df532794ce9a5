# kill -9 before every system call of a writer of memory.db that changes something, and each of its
# calls failing.
# shellcheck shell=bash
#
# A script of a few stores is run. What the store had said was stored is there after each fault, once
# the agent's host is back; at most one more call, that in flight, may have been done. The database is
# sound and goes on.

load ../helper
load ../memory

setup_more() {
    ID=550e8400-e29b-41d4-a716-446655440000
    DIR=$T/$ID
    SAY=${MAS%/*}/test/tools/say
    SCRIPT=('session s1 fresh' 'user one' 'agent ab' 'more cd' 'more ef' 'end' 'user queued'
        'clear then' 'agent xy' 'end max_tokens' 'note n')
    export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
    STEP=1
    [ "${TEST_FAULT-}" = full ] || STEP=5
}

# What is there once the host is back, and that it is sound.
look() { "$SAY" "$DIR" solo <<<$'check\ndump' || echo "exit $?"; }

afresh() {
    rm -rf "$DIR"
    mkdir "$DIR"
    [ ! -e "$T/memory.db" ] || cp "$T/memory.db" "$DIR"
}

# WANT[k]: what is there after the first k lines of the script and a kill; WANT[-1] likewise where
# not even the conversation was.
expect() {
    local k
    WANT=()
    for ((k = 0; k <= ${#SCRIPT[@]}; k++)); do
        afresh
        ((k == 0)) || printf '%s\n' "${SCRIPT[@]:0:k}" kill | "$SAY" "$DIR" solo >/dev/null 2>&1 || :
        WANT[k]=$(look)
        [[ ${WANT[k]} == *$'\nquery '* || ${WANT[k]} == *current* ]]
    done
    [ "${WANT[2]}" != "${WANT[3]}" ]
    # the last line has nothing behind it that could be in flight
    WANT[k]=${WANT[k - 1]}
}

# find_points KIND: the calls behind the first look at the database, as "name N".
find_points() {
    local changing='^(openat|pwrite64|write|fdatasync|fsync|ftruncate|fallocate|unlink|unlinkat|fchmod|mmap|renameat)$'
    local failing='^(openat|pread64|pwrite64|fdatasync|fsync|ftruncate|unlink|fchmod|newfstatat|fstat|fcntl|mmap|close)$'
    [ "$1" = kill ] || changing=$failing
    afresh
    printf '%s\n' "${SCRIPT[@]}" | strace -o "$T/trace" "$SAY" "$DIR" solo >/dev/null
    grep -q 'fdatasync\|fsync' "$T/trace"
    awk -F'(' -v wanted="$changing" '{
        count[$1]++
        if (/memory\.db/) seen = 1
        if (seen && $1 ~ wanted) print $1, count[$1]
    }' "$T/trace" >"$T/points"
    [ "$(wc -l <"$T/points")" -gt 60 ]
}

# try NAME N INJECT: one fault. What was told is there.
try() {
    local told found
    afresh
    { printf '%s\n' "${SCRIPT[@]}" | strace -o /dev/null -e trace="$1" -e inject="$1:$3:when=$2" \
        "$SAY" "$DIR" solo >"$T/told" 2>/dev/null; } 2>/dev/null || :
    told=$(grep -c '^ok' "$T/told" || :)
    found=$(look)
    if [ "$found" != "${WANT[told]}" ] && [ "$found" != "${WANT[told + 1]}" ]; then
        printf '%s %s of %s, after %s lines:\n%s\ninstead of\n%s\n' "$3" "$2" "$1" "$told" \
            "$found" "${WANT[told]}" >>"$T/bad"
    fi
}

run_points() {
    local name n i=0
    : >"$T/bad"
    while read -r name n; do
        ((i++ % STEP == 0)) || continue
        try "$name" "$n" "$1"
    done <"$T/points"
    [ "$i" -gt 0 ]
    [ ! -s "$T/bad" ] || { head -c 3000 "$T/bad"; return 1; }
}

@test "a writer that is killed at any system call has lost nothing that it told of" {
    expect
    find_points kill
    run_points signal=SIGKILL
}

@test "a writer that is killed at any system call has kept what is in a memory.db of the first schema" {
    old_memory "$T" "$ID"
    expect
    [[ ${WANT[0]} == *CW-ONE*CW-TWO* ]]
    find_points kill
    run_points signal=SIGKILL
}

@test "prompts, ends and clears are synced before they are told, pieces of answers are not" {
    local line n
    afresh
    printf '%s\n' "${SCRIPT[@]}" | strace -o "$T/trace" -e trace=fdatasync,fsync,write "$SAY" "$DIR" solo >/dev/null
    awk '/^f(data)?sync/ { n++ } /^write\(1, "ok/ { print n + 0; n = 0 }' "$T/trace" >"$T/synced"
    [ "$(wc -l <"$T/synced")" -eq "${#SCRIPT[@]}" ]
    for line in "${SCRIPT[@]}"; do
        read -r n
        case $line in
            agent* | more* | note*) [ "$n" -eq 0 ] ;;
            *) [ "$n" -ge 1 ] ;;
        esac || { echo "$line: $n" >&2; false; }
    done <"$T/synced"
}

@test "a writer whose disk fails says so, and has lost nothing that it told of" {
    expect
    find_points error
    run_points error=EIO
}

@test "a writer whose disk is full says so, and has lost nothing that it told of" {
    expect
    find_points kill
    run_points error=ENOSPC
}
