#!/usr/bin/env bats
# A session of an agent's program that began without mas goes on in an agent: as a copy, or told. The user's own
# file stays as it is, and what was said in it is in the history once.
load ../helper
load ../host/lib
load ../memory
load six

sums() { find "$HOME/.six" "$HOME/.eight" -type f -exec sha256sum {} + 2>/dev/null | sort; }

@test "a session goes on in an agent as a copy, and what was said is in its history" {
    began "$A"
    before=$(sums)
    team
    ok adopt "$ID" solo 8f3c
    [ "$output" = "solo goes on with session $A of python3" ]
    eventually state_is idle
    [ "$(of_agent continuity)" = resumed ]
    new=$(starts 2 | jq -r '.[index("--resume") + 1]')
    [ "$new" != "$A" ]
    grep -q "\"session\":\"$new\"" "$HOME/.six/x/$new.jsonl"
    run ! grep -q "$A" "$HOME/.six/x/$new.jsonl"
    [ "$(stat -c %a "$HOME/.six/x/$new.jsonl")" = 600 ]
    [ "$(history | head -n 4)" = '["note",null,"session '"$A"', which began without mas in /srv/shop, goes on here","done"]
["user",null,"the word is CW-OTTER","done"]
["tool",null,"make (Bash)","done"]
["agent",null,"I keep it","done"]' ]
    ok send "$ID" solo 'and now'
    eventually says '["agent",null,"I know: the word is CW-OTTER, and now","done"]'
    [ "$(count 'the word is CW-OTTER')" -eq 2 ]
    [ "$(count 'I keep it')" -eq 1 ]
    rm "$HOME/.six/x/$new.jsonl"
    [ "$(sums)" = "$before" ]
    ok search CW-OTTER
    [[ $output == *"the word is CW-OTTER"* ]]
    ok kept -q
    [ "$output" = "$A" ]
}

@test "adopting it again changes nothing, and brings in only what was said since" {
    began "$A"
    team
    ok adopt -q "$ID" solo "$A"
    [ -z "$output" ]
    eventually state_is idle
    ok adopt "$ID" solo "$A"
    [ "$(count CW-OTTER)" -eq 1 ]
    [ "$(wc -l <"$OUT")" -eq 2 ]
    printf '{"type":"asked","words":"another is CW-FOX"}\n{"type":"ans' >>"$HOME/.six/x/$A.jsonl"
    ok adopt "$ID" solo "$A"
    eventually state_is idle
    [ "$(count CW-OTTER)" -eq 1 ]
    [ "$(history | tail -n 1)" = '["user",null,"another is CW-FOX","interrupted"]' ]
    [ "$(wc -l <"$OUT")" -eq 3 ]
    ok send "$ID" solo 'and now'
    eventually says 'I know: the word is CW-OTTER, another is CW-FOX, and now'
}

@test "after a crash of everything it goes on with the copy" {
    began "$A"
    team
    ok adopt "$ID" solo "$A"
    eventually state_is idle
    new=$(starts 2 | jq -r '.[index("--resume") + 1]')
    tm kill-server
    ok start --crashed
    find_agent
    eventually state_is idle
    [ "$(starts 3 | jq -r '.[index("--resume") + 1]')" = "$new" ]
    ok adopt "$ID" solo "$A"
    [ "$(count CW-OTTER)" -eq 1 ]
}

# under NAME...: adopts while strace watches the host, with these options.
under() {
    host=$(tm display-message -pt "$PANE" '#{pane_pid}')
    strace -qq -p "$host" -e trace="$CALLS" -e signal=none -o "$T/trace" "$@" 2>"$T/attached" 3>&- &
    eventually grep -q '^TracerPid:[[:space:]]*[1-9]' "/proc/$host/status"
    "$MAS" adopt "$ID" solo "$A" >"$T/out" 2>&1 || true
    kill "$!" 2>/dev/null || true
    wait "$!" || true
}

@test "killed at any call, what was said is there once, and the user's file stays as it was" {
    command -v strace >/dev/null || skip 'strace is not here'
    [ -z "${TEST_SAN-}" ] || skip 'sanitizers and strace take too long'
    CALLS=pwrite64,fsync,fdatasync,renameat2,linkat,unlinkat,unlink,mkdirat,ftruncate,kill
    began "$A"
    before=$(sha256sum "$HOME/.six/x/$A.jsonl")
    killed=0
    team
    under
    mapfile -t points < <(sed -n 's/^\([a-z0-9]*\)(.*/\1/p' "$T/trace" | awk '{ print $1, ++count[$1] }' |
        awk -v full="${TEST_FAULT-}" 'full == "full" || NR % 5 == 1')
    [ "${#points[@]}" -ge 3 ]
    for point in "${points[@]}"; do
        ok rm -f "$ID"
        team
        under -e "inject=${point% *}:signal=SIGKILL:when=${point#* }"
        [[ $(ps -o stat= -p "$host") == [!Z]* ]] || killed=$((killed + 1))
        ok stop "$ID"
        ok start "$ID"
        find_agent
        eventually state_is idle
        [ "$(count CW-OTTER)" -le 1 ] || { echo "at $point"; history; false; }
        ok adopt "$ID" solo "$A"
        eventually state_is idle
        ok ask "$ID" solo 'and now'
        [ "$output" = 'I know: the word is CW-OTTER, and now' ] || { echo "at $point: $output"; false; }
        [ "$(history | grep -c '^."user",null,"the word is CW-OTTER"')" -eq 1 ] || { echo "at $point"; history; false; }
        [ "$(sha256sum "$HOME/.six/x/$A.jsonl")" = "$before" ]
    done
    [ "$killed" -ge 2 ] || { echo "killed $killed of ${#points[@]}"; false; } # what comes behind the answer may not be met
}

@test "an agent that is stopped, or has never run, starts with it" {
    began "$A"
    printf '[preset six]\nstart = demand\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent six
    find_agent
    ok adopt "$ID" solo "$A"
    eventually state_is idle
    [ "$(wc -l <"$OUT")" -eq 1 ]
    [ "$(of_agent continuity)" = resumed ]
}

@test "a program that takes no copy, or refuses it, is told what was said" {
    began "$A"
    sed -i 's/^told.copies = yes/told.copies = no/' "$ROOT/mas.ini"
    team
    ok adopt "$ID" solo "$A"
    [ "$output" = "solo goes on with session $A of python3, which it is told with its first prompt" ]
    eventually state_is idle
    grep -q 'CW-OTTER' "$(starts 2 | jq -r '.[index("--told") + 1]')"
    ok adopt --json "$ID" solo "$A"
    jq -e --arg id "$A" '.session == $id and .agent == "solo" and .continuity == "injected"' <<<"$output"
    [ "$(wc -l <"$OUT")" -eq 2 ]
    [ "$(find "$HOME/.six" -type f | wc -l)" -eq 1 ]
    sed -i 's/^told.copies = no/told.copies = yes/' "$ROOT/mas.ini"
    touch "$HOME/.six/refuses"
    team
    ok adopt "$ID" solo "$A"
    has_come() { [ "$(of_agent continuity)" = injected ]; }
    eventually has_come
    eventually state_is idle
    grep -q 'CW-OTTER' "$(tail -n 1 "$OUT" | jq -r '.[index("--told") + 1]')"
}

# refuses CODE WORDS ARGUMENT...: `mas adopt` fails so, and nothing has changed.
refuses() {
    local before said
    before=$(sums) said=$(history)
    fails "$1" adopt "$ID" "${@:3}"
    [[ $stderr == *"$2"* ]] || { echo "$stderr"; return 1; }
    [ "$(sums)" = "$before" ]
    [ "$(history)" = "$said" ]
}

@test "what cannot be adopted is refused, and says why" {
    began "$A"
    began "$B"
    team
    ok send "$ID" solo hello
    eventually says 'I know: hello'
    eventually state_is idle
    refuses 2 'an id needs at least 4 characters' solo 8f3
    refuses 2 'it needs the ID of a session' solo
    refuses 3 'there is no such session that began without mas' solo ffff
    refuses 4 "several begin so: " solo 8f3c
    own=$(starts 1 | jq -r '.[index("--begin") + 1]')
    refuses 3 'there is no such session that began without mas' solo "$own"
    sleep 1000 3>&- &
    pid=$!
    echo "{\"sessionId\": \"$A\"}" >"$HOME/.six/$pid.state"
    refuses 4 "process $pid (sleep) has it open" solo "$A"
    kill "$pid"
    wait "$pid" || :
    exec 8<"$HOME/.six/x/$A.jsonl"
    refuses 4 'has it open' solo "$A"
    exec 8<&-
    mv "$HOME/.six/x/$B.jsonl" "$HOME/.six/elsewhere"
    ln -s ../elsewhere "$HOME/.six/x/$B.jsonl"
    refuses 3 'there is no such session' solo "$B"
    rm "$HOME/.six/x/$B.jsonl"
    mkfifo "$HOME/.six/x/$B.jsonl"
    refuses 3 'there is no such session' solo "$B"
    rm "$HOME/.six/x/$B.jsonl"
    began "$B"
    truncate -s 65M "$HOME/.six/x/$B.jsonl"
    refuses 4 'is too large: the limit is 64 MiB' solo "$B"
    printf '{"type":"asked","words":"x"}' >"$HOME/.six/x/$B.jsonl"
    refuses 3 'there is no such session' solo "$B"
    mkdir -p "$HOME/.seven"
    printf '{"type":"asked","words":"x"}\n' >"$HOME/.seven/$C"
    refuses 4 "it is of preset 'seven', and the agent runs 'six'" solo "$C"
    fails 2 adopt "$ID" solo "$A" more
}

@test "an agent in the middle of a turn, with a line that is typed, or of another kind is refused" {
    began "$A"
    team
    ok send "$ID" solo "work $T/go"
    eventually state_is working
    refuses 4 'it is in the middle of a turn' solo "$A"
    touch "$T/go"
    eventually state_is idle
    tm send-keys -t "$PANE" -l 'half a line'
    drafted() { fails 4 adopt "$ID" solo "$A"; [[ $stderr == *'a person has typed on its line'* ]]; }
    eventually drafted
    tm send-keys -t "$PANE" Enter
    eventually says 'half a line'
    eventually state_is idle
    ok adopt "$ID" solo "$A"
    new_session -t solo --agent shell
    refuses 4 'does not run in its own terminal' solo "$A"
}

@test "only a person adopts" {
    began "$A"
    team
    printf '[preset sh]\ncommand = sh\nprotocol = tty\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent sh
    find_agent
    ok send "$ID" solo "$MAS adopt solo $A >$T/out 2>&1; echo \$? >$T/code"
    eventually test -s "$T/code"
    [ "$(<"$T/code")" -ne 0 ]
    grep -q 'person\|refused' "$T/out"
}

@test "an agent behind a wall gets the copy in its own home, and no link there leads out" {
    command -v bwrap >/dev/null || skip 'there is no bubblewrap'
    began "$A"
    printf '[preset six]\nwall.level = require\nwall.home = .six:own\nwall.write = %s\nwall.read = %s\n' "$T/argv" "$T" >>"$ROOT/mas.ini"
    : >"$OUT"
    team
    ok adopt "$ID" solo "$A"
    eventually state_is idle
    [ "$(of_agent continuity)" = resumed ]
    new=$(tail -n 1 "$OUT" | jq -r '.[index("--resume") + 1]')
    [ -f "$ROOT/sessions/$ID/home/solo/.six/x/$new.jsonl" ]
    [ "$(find "$HOME/.six" -type f)" = "$HOME/.six/x/$A.jsonl" ]
    began "$B"
    mkdir "$T/out"
    rm -r "$ROOT/sessions/$ID/home/solo/.six/x"
    ln -s "$T/out" "$ROOT/sessions/$ID/home/solo/.six/x"
    ok adopt "$ID" solo "$B"
    [ -z "$(ls "$T/out")" ]
    eventually state_is idle
    [ "$(of_agent continuity)" = injected ]
}

@test "a session in a database is told, and what was said is in its history once" {
    make_eight
    rows "$(talk "$E")$(talk "$F" /srv 'the word is CW-FOX')"
    before=$(in_eight)
    team eight
    exec 8<"$EIGHT" # as its program has it, whichever session that is in
    ok adopt "$ID" solo ses_8f3cA
    exec 8<&-
    [ "$output" = "solo goes on with session $E of python3, which it is told with its first prompt" ]
    eventually state_is idle
    [ "$(of_agent continuity)" = injected ]
    grep -q 'CW-OTTER' "$(starts 2 | jq -r '.[index("--told") + 1]')"
    run ! grep -q 'CW-FOX' "$(starts 2 | jq -r '.[index("--told") + 1]')"
    [ "$(history | tail -n 2)" = '["user",null,"the word is CW-OTTER","done"]
["agent",null,"I keep it","done"]' ]
    ok adopt "$ID" solo "$E"
    [ "$(count CW-OTTER)" -eq 1 ]
    [ "$(wc -l <"$OUT")" -eq 2 ]
    [ "$(in_eight)" = "$before" ]
    ok send "$ID" solo 'and now'
    eventually says '["agent",null,"I know: and now","done"]'
    rows "INSERT INTO said VALUES ('$E', 'person', 'since then');"
    ok adopt "$ID" solo "$E"
    eventually state_is idle
    [ "$(history | tail -n 1)" = '["user",null,"since then","interrupted"]' ]
}

@test "what of a database cannot be adopted is refused, and says why" {
    make_eight
    rows "$(talk "$E")INSERT INTO talk VALUES ('$F', '/', 1);"
    team eight
    refuses 3 "'$EIGHT' has nothing of session $F" solo "$F"
    refuses 3 'there is no such session' solo ses_8f3cEEEE
    rows "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 65) INSERT INTO said SELECT '$F', 'person', printf('%01048576d', i) FROM n;"
    refuses 4 'is too large: the limit is 64 MiB' solo "$F"
    rows 'ALTER TABLE said RENAME TO other;'
    refuses 1 "cannot read 'one.db'" solo "$E"
    team six
    refuses 4 "it is of preset 'eight', and the agent runs 'six'" solo "$E"
}
