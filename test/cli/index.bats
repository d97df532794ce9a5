#!/usr/bin/env bats
load ../helper

INDEX() { printf %s "$ROOT/sessions/.sessions.index"; }

# Three sessions, the first running; $IDS are their ids, sorted.
three() {
    A=$("$MAS" new -q -t solo -n one)
    B=$("$MAS" new -q -t solo -n two --no-start)
    C=$("$MAS" new -q -t solo --no-start)
    IDS=$(printf '%s\n' "$A" "$B" "$C" | sort | xargs)
}

listed() { "$MAS" list -q "$@" 2>/dev/null | sort | xargs; }

row() {
    printf '{"sessionId":"%s","tmuxSession":"mas-%s","status":"%s","createdAt":"2025-12-18T08:00:00Z","lastActivity":"2025-12-18T08:05:00Z","workingDir":"/x","mode":"isolated","name":"%s","template":"solo"}' \
        "$1" "${1:0:8}" "$2" "$3"
}
# An index file of these rows.
index_of() {
    local IFS=$'\n'
    printf '{"version":"1.0",\n"sessions":[\n%s\n],\n"lastUpdated":"2025-12-18T08:05:00Z"}\n' "$(printf '%s,\n' "$@" | sed '$s/,$//')" >"$(INDEX)"
}

# The index on disk is whole JSON, with the mode and keys of the contract and a row for each of $IDS.
index_is_whole() {
    [ "$(stat -c '%a %F' "$(INDEX)")" = "600 regular file" ] &&
        [ "$(jq -r 'keys_unsorted | join(" ")' "$(INDEX)")" = "version sessions lastUpdated" ] &&
        [ "$(jq -r '.sessions[].sessionId' "$(INDEX)" | sort | xargs)" = "$IDS" ]
}

# However the index is, `list` is right with at most one warning, and the next `new` leaves it whole.
comes_back() {
    local what=$1 new rc=0
    "$MAS" list --json >"$T/out" 2>"$T/err" || rc=$?
    if [ "$rc" -ne 0 ] || [ "$(jq -r '.sessions[].sessionId' "$T/out" | sort | xargs)" != "$IDS" ]; then
        echo "$what: list is wrong ($rc): $(cat "$T/out" "$T/err")"
        return 1
    fi
    if [ -s "$T/err" ] && { [ "$(wc -l <"$T/err")" -ne 1 ] || ! grep -q '^mas: warning: ' "$T/err"; }; then
        echo "$what: more than a warning: $(cat "$T/err")"
        return 1
    fi
    if ! jq -e --arg a "$A" '[.sessions[] | select(.status == "active") | .sessionId] == [$a] and
        ([.sessions[] | select(.status == "stopped")] | length) == .total - 1' "$T/out" >/dev/null; then
        echo "$what: a status is wrong: $(cat "$T/out")"
        return 1
    fi
    new=$("$MAS" new -q -t solo --no-start) || return
    IDS=$(printf '%s\n' "$IDS" "$new" | xargs -n 1 | sort | xargs)
    index_is_whole || {
        echo "$what: the index is not whole: $(head -c 1000 "$(INDEX)")"
        return 1
    }
}

@test "the index is as the contract shows it, one session a line" {
    three
    index_is_whole
    [ "$(jq -r .version "$(INDEX)")" = 1.0 ]
    [ "$(jq -r '.sessions[0] | keys_unsorted | join(" ")' "$(INDEX)")" = \
        "sessionId tmuxSession status createdAt lastActivity workingDir mode name template private metadata" ]
    [ "$(jq -c '.sessions[] | select(.name == "one") | [.tmuxSession, .status, .workingDir, .mode, .template]' "$(INDEX)")" = \
        "[\"mas-${A:0:8}\",\"active\",\"$ROOT/sessions/$A\",\"isolated\",\"solo\"]" ]
    [ "$(grep -c '^{"sessionId":' "$(INDEX)")" -eq 3 ]
    "$MAS" stop -q one
    [ "$(jq -r '.sessions[] | select(.name == "one") | .status' "$(INDEX)")" = stopped ]
    "$MAS" rm -q two
    [ "$(jq '.sessions | length' "$(INDEX)")" -eq 2 ]
}

@test "a missing index is made again without a warning" {
    three
    rm "$(INDEX)"
    ok list -q
    [ -z "$stderr" ]
    [ "$(sort <<<"$output" | xargs)" = "$IDS" ]
    index_is_whole
    rm "$(INDEX)"
    comes_back missing
}

@test "an index that was cut off anywhere is rebuilt" {
    three
    cp "$(INDEX)" "$T/whole"
    size=$(stat -c %s "$T/whole")
    for at in 0 1 25 40 $((size / 2)) $((size - 40)) $((size - 1)); do
        head -c $at "$T/whole" >"$(INDEX)"
        comes_back "cut at $at"
        cp "$(INDEX)" "$T/whole"
        size=$(stat -c %s "$T/whole")
    done
}

@test "an index of other text is rebuilt" {
    three
    for text in '' ' ' '{}' '[]' 'null' '"x"' '{"version":"1.0"}' '{"version":"1.0","sessions":[],"lastUpdated":"x"}' \
        '{"version":"1.0","sessions":null}' '#!/bin/sh' $'{"version":"1.0",\n"sessions":[\n' $'\n\n\n' \
        $'{"version":"1.0",\n"sessions":[\n],\n"lastUpdated":"yesterday"}' \
        $'{"version":"2.0",\n"sessions":[\n],\n"lastUpdated":"2025-12-18T08:05:00Z"}'; do
        printf '%s\n' "$text" >"$(INDEX)"
        comes_back "$text"
    done
}

@test "an empty list in the index hides no workspace" {
    three
    printf '{"version":"1.0",\n"sessions":[\n],\n"lastUpdated":"2025-12-18T08:05:00Z"}\n' >"$(INDEX)"
    [ "$(listed)" = "$IDS" ]
    comes_back 'empty list'
}

@test "an index of binary rubbish is rebuilt" {
    three
    for _ in 1 2 3; do
        head -c 5000 /dev/urandom >"$(INDEX)"
        comes_back random
    done
    head -c 5000 /dev/zero >"$(INDEX)"
    comes_back zeros
    { printf '{"version":"1.0",\n"sessions":[\n' && head -c 1000 /dev/urandom; } >"$(INDEX)"
    comes_back 'random behind a good head'
}

@test "rows of wrong types, missing keys or bad values make it rebuilt" {
    three
    good=$(row "$A" active one)
    for bad in "${good/\"active\"/7}" "${good/\"active\"/null}" "${good/\"active\"/\"wild\"}" "${good/\"solo\"/{\}}" "${good/\"solo\"/[]}" \
        "${good/,\"mode\":\"isolated\"/}" "${good/isolated/other}" "${good/08:00:00Z/yesterday}" "${good/$A/not-an-id}" "${good/$A/..\/..\/x}" \
        "${good/$A/${A^^}}" 'true' '{}' "$good$good" "${good%\}}" "${good/\"sessionId\"/\"SessionID\"}"; do
        index_of "$bad" "$(row "$B" stopped two)" "$(row "$C" stopped '')"
        comes_back "$bad"
    done
}

@test "deep nesting and a huge index are rebuilt and exhaust nothing" {
    three
    python3 -c 'print("[" * 300000)' >"$(INDEX)"
    comes_back 'deep alone'
    { printf '{"version":"1.0",\n"sessions":[\n' && python3 -c 'print("{\"a\\\\\":" * 300000)'; } >"$(INDEX)"
    comes_back 'deep behind a good head'
    truncate -s 3G "$(INDEX)"
    comes_back huge
    { printf '{"version":"1.0",\n"sessions":[\n' && head -c 20000000 /dev/zero | tr '\0' 'x'; } >"$(INDEX)"
    comes_back 'one long line'
}

@test "escape sequences and shell words in the index reach neither terminal nor shell" {
    cd "$T"
    three
    # shellcheck disable=SC2016
    for name in '\u001b[31mred\u0007' '$(touch ran)' '#(touch ran)' '`touch ran`' '\"; touch ran;\"' '\n\n' '\u009b31m' '../../x'; do
        index_of "$(row "$A" active one)" "$(row "$B" stopped "$name")" "$(row "$C" stopped '')"
        for command in list 'list -q' 'list --json' "show $B"; do
            IFS=' ' read -ra words <<<"$command"
            run --separate-stderr "$MAS" "${words[@]}"
            if LC_ALL=C grep -q $'[\001-\010\013-\037\177]' <<<"$output$stderr"; then
                printf '%s: a control character came through: %q\n' "$command" "$output$stderr"
                return 1
            fi
        done
        [ "$(listed)" = "$IDS" ]
    done
    sed -i 's/"tmuxSession":"[^"]*"/"tmuxSession":"#(touch ran);\\u001b[31m"/' "$(INDEX)"
    ok list
    [[ $output != *$'\033'* ]]
    [ "$("$MAS" list --json | jq '.total')" -eq 3 ]
    "$MAS" stop -q "$A"
    "$MAS" start -q "$A"
    run find "$T" -name 'ran*'
    [ -z "$output" ]
}

@test "rows with the same id make one session" {
    three
    index_of "$(row "$A" active one)" "$(row "$A" stopped one)" "$(row "$B" stopped two)" "$(row "$C" stopped '')" "$(row "$C" stopped '')"
    for option in '' --all; do
        # shellcheck disable=SC2086
        [ "$(listed $option)" = "$IDS" ]
    done
    [ -z "$(listed --error)" ]
    [ "$("$MAS" list --json | jq .total)" -eq 3 ]
    comes_back duplicates
}

@test "a workspace that is not in the index is listed and can be worked with" {
    three
    index_of "$(row "$A" active one)"
    [ "$(listed)" = "$IDS" ]
    [ "$(field two .sessionId)" = "$B" ]
    ok start two
    [ "$(listed --active)" = "$(printf '%s\n' "$A" "$B" | sort | xargs)" ]
    ok rm "$C"
    [ "$(listed)" = "$(printf '%s\n' "$A" "$B" | sort | xargs)" ]
}

@test "the name of a workspace that is not in the index is still taken" {
    three
    index_of "$(row "$A" active one)"
    fails 4 new -t solo -n two --no-start
    [ "$stderr" = "mas: cannot name a session 'two': another session has that name
see it with: mas show two" ]
    [ "$(listed)" = "$IDS" ]
}

@test "a row without a workspace is told as an error, and the others are as they were" {
    three
    gone=6ba7b810-9dad-41d1-80b4-00c04fd430c8
    index_of "$(row "$A" active one)" "$(row "$B" stopped two)" "$(row "$C" stopped '')" "$(row $gone stopped ghost)"
    ok list --json
    [ "$(jq -r --arg id $gone '.sessions[] | select(.sessionId == $id) | .status + ": " + .reason' <<<"$output")" = "error: its workspace is missing" ]
    [ "$(listed --error)" = $gone ]
    [ "$(listed --active)" = "$A" ]
    for verb in start stop env; do
        fails 5 $verb ghost
        [[ $stderr == "mas: cannot "*"session '$gone': its workspace is missing"* ]]
    done
    ok rm ghost
    [ "$(listed)" = "$IDS" ]
    index_is_whole
}

@test "a workspace deleted by hand is told as an error" {
    three
    rm -rf "${ROOT:?}/sessions/$B"
    [ "$(listed --error)" = "$B" ]
    [ "$("$MAS" show two --json | jq -r .reason)" = "its workspace is missing" ]
    rm -rf "${ROOT:?}/sessions/$A"
    [ "$(listed --error)" = "$(printf '%s\n' "$A" "$B" | sort | xargs)" ]
    [ "$(field "$C" .status)" = stopped ]
}

@test "one row too many and one too few at the same time are both found by list --all" {
    three
    gone=6ba7b810-9dad-41d1-80b4-00c04fd430c8
    index_of "$(row "$A" active one)" "$(row "$B" stopped two)" "$(row $gone stopped ghost)"
    [ "$(listed --all)" = "$(printf '%s\n' "$A" "$B" "$C" $gone | sort | xargs)" ]
    [ "$(listed --all --error)" = $gone ]
}

@test "a wrong status in a row of a session that runs is put right" {
    three
    index_of "$(row "$A" stopped one)" "$(row "$B" active two)" "$(row "$C" error '')"
    [ "$(listed --active)" = "$A" ]
    [ "$(field "$B" .status)" = stopped ]
    [ "$(field "$B" .crashed)" = false ]
    [ "$(field "$C" .status)" = stopped ]
}

@test "other files and directories in sessions are no sessions" {
    three
    mkdir "$ROOT/sessions/notes" "$ROOT/sessions/.new-x" "$ROOT/sessions/.trash-$B" "$ROOT/sessions/${C^^}" "$ROOT/sessions/"$'odd\n\033[31m'
    echo x >"$ROOT/sessions/6ba7b810-9dad-41d1-80b4-00c04fd430c8"
    echo x >"$ROOT/sessions/file"
    for option in '' --all; do
        # shellcheck disable=SC2086
        ok list -q $option
        [ "$(sort <<<"$output" | xargs)" = "$IDS" ]
    done
    rm "$(INDEX)"
    comes_back 'other files'
    [ -d "$ROOT/sessions/notes" ]
    [ -f "$ROOT/sessions/file" ]
}

@test "an index that is a link is replaced and its target left alone" {
    three
    echo keep >"$T/target"
    ln -sf "$T/target" "$(INDEX)"
    comes_back link
    [ "$(cat "$T/target")" = keep ]
}

@test "an index that is a FIFO is replaced and nothing hangs" {
    three
    rm "$(INDEX)"
    mkfifo "$(INDEX)"
    comes_back FIFO
}

@test "an index that is a directory stops no list, and new says what is in the way" {
    three
    rm "$(INDEX)"
    mkdir "$(INDEX)"
    ok list -q
    [ "$(sort <<<"$output" | xargs)" = "$IDS" ]
    [[ $stderr == "mas: warning: "* ]]
    before=$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 | sort)
    mas new -t solo
    if [ "$status" -eq 0 ]; then
        [ -f "$(INDEX)" ]
    else
        [ "$status" -eq 1 ]
        [[ $stderr == *".sessions.index"* ]]
        [ "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 | sort)" = "$before" ]
        [ "$(tm list-sessions | wc -l)" -eq 1 ]
    fi
}

@test "an index that cannot be written stops no list" {
    [ "$(id -u)" -ne 0 ] || command -v chattr >/dev/null || skip "root may write everywhere, and there is no chattr"
    three
    rm "$(INDEX)"
    if [ "$(id -u)" -eq 0 ]; then
        chattr +i "$ROOT/sessions" 2>/dev/null || skip "root may write everywhere, and this file system has no immutable directories"
        mas list -q
        chattr -i "$ROOT/sessions"
    else
        chmod 500 "$ROOT/sessions"
        mas list -q
        chmod 755 "$ROOT/sessions"
    fi
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output" | xargs)" = "$IDS" ]
}

@test "a root that was moved lists its sessions where they are now" {
    three
    "$MAS" stop -q one
    mv "$ROOT" "$T/moved"
    export MAS_ROOT=$T/moved
    ROOT=$T/moved
    [ "$(listed)" = "$IDS" ]
    [ "$("$MAS" list --json | jq -r '[.sessions[].workingDir | startswith($r)] | all' --arg r "$T/moved/sessions/")" = true ]
    ok start two
    [ "$(meta "$B" SESSION_DIR)" = "$T/moved/sessions/$B" ]
    [ "$(jq -r --arg id "$B" '.sessions[] | select(.sessionId == $id) | .workingDir' "$(INDEX)")" = "$T/moved/sessions/$B" ]
}

@test "many commands at once leave a whole index" {
    for i in {1..12}; do
        "$MAS" new -q -t solo --no-start >"$T/id$i" 3>&- &
    done
    for _ in {1..6}; do
        "$MAS" list >/dev/null 3>&- &
    done
    wait
    IDS=$(cat "$T"/id* | sort | xargs)
    [ "$(wc -w <<<"$IDS")" -eq 12 ]
    index_is_whole
    [ "$(listed)" = "$IDS" ]
}

@test "the newest session is still @last after the index was made anew" {
    local ids=() i
    # more than fit into the order of a directory by chance
    for i in {1..12}; do
        ids+=("$("$MAS" new -q -t solo --no-start)")
    done
    # of one second all of them, as on a fast machine
    for i in "${!ids[@]}"; do
        sed -i "s/^CREATED_AT=.*/CREATED_AT=2026-01-02T03:04:05Z/; s/^CREATED_NSEC=.*/CREATED_NSEC=$((i * 80000000 + 5))/" \
            "$ROOT/sessions/${ids[i]}/.session"
    done
    rm "$ROOT/sessions/.sessions.index"
    [ "$("$MAS" list -q)" = "$(printf '%s\n' "${ids[@]}")" ]
    [ "$("$MAS" env @last --json | jq -r .MAS_SESSION_ID)" = "${ids[11]}" ]
    # one that a script made, without the key, is as old as its second
    sed -i '/^CREATED_NSEC=/d' "$ROOT/sessions/${ids[11]}/.session"
    rm "$ROOT/sessions/.sessions.index"
    [ "$("$MAS" list -q)" = "$(printf '%s\n' "${ids[11]}" "${ids[@]:0:11}")" ]
    sed -i 's/^CREATED_NSEC=.*/CREATED_NSEC=1000000000/' "$ROOT/sessions/${ids[0]}/.session"
    [ "$("$MAS" show "${ids[0]}" --json | jq -r .status)" = error ]
}

# calls WORD...: how many calls of the kernel with the name of a file the verb makes itself.
calls() { strace -qq -e trace=%file -o "$T/trace" "$MAS" "$@" >/dev/null && wc -l <"$T/trace"; }

need_strace() {
    strace -o /dev/null true 2>/dev/null || skip 'strace cannot trace here'
    case ${TEST_SAN-} in *address*) skip 'LeakSanitizer cannot work below strace' ;; esac
}

@test "list --active costs nothing for sessions that are stopped, and list one look at the file of each" {
    need_strace
    three
    "$MAS" wait one --for idle
    few=$(calls list --active)
    all=$(calls list)
    for ((i = 0; i < 7; i++)); do "$MAS" new -q -t solo --no-start >/dev/null; done
    [ "$(calls list --active)" = "$few" ]
    [ "$(calls list)" = $((all + 7)) ]
    [ "$(listed --active)" = "$A" ]
    ok list --active
    [ "${#lines[@]}" = 2 ]
}

@test "list --active finds what runs, however the index is" {
    three
    cp "$(INDEX)" "$T/good"
    size=$(stat -c %s "$T/good")
    for ((cut = size - 1; cut > 0; cut -= 97)); do
        head -c "$cut" "$T/good" >"$(INDEX)"
        [ "$(listed --active)" = "$A" ]
    done
    cp "$T/good" "$(INDEX)"
    ok list --active -q
    [ "$output$stderr" = "$A" ]
    sed -i "s/\"status\":\"active\"/\"status\":\"stopped\"/" "$(INDEX)" # of before the start, or of a backup
    [ "$(listed --active)" = "$A" ]
    sed -i "/$A/d" "$(INDEX)"
    [ "$(listed --active)" = "$A" ]
    rm "$(INDEX)"
    [ "$(listed --active)" = "$A" ]
    mkfifo "$T/fifo"
    mv "$T/fifo" "$(INDEX)"
    [ "$(listed --active)" = "$A" ]
    rm "$(INDEX)"
    "$MAS" start -q two
    cp "$T/good" "$(INDEX)"
    cp -a "$ROOT/sessions/$C" "$ROOT/sessions/6ba7b810-9dad-41d1-80b4-00c04fd430c8"
    [ "$(listed --active)" = "$(printf '%s\n' "$A" "$B" | sort | xargs)" ]
    eventually rm -rf "${ROOT:?}/sessions/$B" "${ROOT:?}/sessions/$C"
    [ "$(listed --active)" = "$A" ]
    D=$(MAS_TMUX_SOCKET=$T/other "$MAS" new -q -t solo) # where only its own file says so
    sed -i -z "s/,\n[^\n]*${D}[^\n]*//" "$(INDEX)"
    [ "$(jq '.sessions | length' "$(INDEX)")" = 2 ]
    [ "$(listed --active)" = "$(printf '%s\n' "$A" "$D" | sort | xargs)" ]
}

@test "a session on a server of its own is active also if its row was written before its start" {
    unset MAS_TMUX_SOCKET
    export MAS_TMUX_SERVER=per-session
    three
    cp "$(INDEX)" "$T/good"
    "$MAS" start -q two
    [[ $(meta "$B" TMUX_SOCKET) == */mas-"${B:0:8}" ]]
    cp "$T/good" "$(INDEX)"
    [ "$(listed --active)" = "$(printf '%s\n' "$A" "$B" | sort | xargs)" ]
    "$MAS" stop -q two
    cp "$T/good" "$(INDEX)"
    [ "$(listed --active)" = "$A" ]
}
