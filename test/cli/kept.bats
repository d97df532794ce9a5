#!/usr/bin/env bats
# The list of the sessions that agents' programs keep and mas did not begin. What an ACP agent tells of its own is
# in test/acp/kept.bats.
load ../helper
load ../host/lib
load ../memory
load six

kept() { ok kept --json && jq -c "${1-.}" <<<"$output"; }

@test "mas kept lists the sessions that began without mas, the newest first" {
    began "$A" /srv/shop 'the word is CW-OTTER' '2 hours ago'
    began "$B" /srv/else 'another\nline' '3 minutes ago'
    ok kept
    [ "${#lines[@]}" -eq 3 ]
    [[ ${lines[0]} =~ ^ID\ +PROGRAM\ +AGE\ +SIZE\ +DIRECTORY\ +WORDS$ ]]
    [[ ${lines[1]} =~ ^8f3c2222\ +python3\ +3m\ +[0-9]+B\ +/srv/else\ +another$ ]]
    [[ ${lines[2]} =~ ^8f3c0000\ +python3\ +2h\ +[0-9]+B\ +/srv/shop\ +the\ word\ is\ CW-OTTER$ ]]
    ok kept -q
    [ "$output" = "$B"$'\n'"$A" ]
    [ "$(kept '[.total, .cut, (.sessions[1] | .id, .program, .preset, .directory, .words, .path, .size)]')" = \
        "[2,false,\"$A\",\"python3\",\"six\",\"/srv/shop\",\"the word is CW-OTTER\",\"$HOME/.six/x/$A.jsonl\",$(stat -c %s "$HOME/.six/x/$A.jsonl")]" ]
    [ "$(kept '.sessions[1].updatedAt | fromdate')" = "$(stat -c %Y "$HOME/.six/x/$A.jsonl")" ]
}

@test "a variable says where a program keeps them, and one file is listed once" {
    began "$A"
    SIX_HOME=$HOME/.six ok kept -q
    [ "$output" = "$A" ]
    mkdir -p "$T/six"
    mv "$HOME/.six/x" "$T/six/x"
    ok kept -q
    [ -z "$output" ]
    ok kept
    [ -z "$output" ]
    [[ $stderr == 'no agent session that began without mas was found' ]]
    SIX_HOME=$T/six ok kept -q
    [ "$output" = "$A" ]
    SIX_HOME=six ok kept -q
    [ -z "$output" ]
}

@test "sessions that mas began, and files that are none, are not listed" {
    began "$A"
    team
    ok send "$ID" solo hello
    eventually says 'I know: hello'
    [ "$(find "$HOME/.six" -name '*.jsonl' | wc -l)" -eq 2 ]
    ok kept -q
    [ "$output" = "$A" ]
    printf 'no object\n' >"$HOME/.six/x/$B.jsonl"
    : >"$HOME/.six/x/$C.jsonl"
    mkdir "$HOME/.six/x/dir.jsonl"
    mkfifo "$HOME/.six/x/pipe.jsonl"
    ln -s "$A.jsonl" "$HOME/.six/x/link.jsonl"
    ln -s x "$HOME/.six/y"
    ok kept -q
    [ "$output" = "$A" ]
    chmod 0 "$HOME/.six/x/$B.jsonl"
    ok kept -q
    [ "$output" = "$A" ]
}

@test "what a file says is shown harmlessly, and only its head is read" {
    mkdir -p "$HOME/.six/x"
    printf '{"type":"meta","cwd":"/srv/\\u001b[31m"}\n{"type":"asked","words":"\\n \\u001b]0;x\\u0007 \xc3\xa4"}\n' >"$HOME/.six/x/$A.jsonl"
    ok kept
    [[ $output == *'/srv/\x1b[31m'* && $output == *'\x1b]0;x\x07 ä'* ]]
    { head -c 300000 /dev/zero | tr '\0' x; printf '\n{"type":"asked","words":"late"}\n'; } >"$HOME/.six/x/$A.jsonl"
    [ "$(kept '.sessions[0] | [.id, .words, .directory]')" = "[\"$A\",null,null]" ]
    printf '{"type":"asked","words":"%0500d"}\n' 0 >"$HOME/.six/x/$A.jsonl"
    [ "$(kept '.sessions[0].words | length')" -eq 200 ]
}

@test "of very many the newest are listed, soon, and it says that there are more" {
    mkdir -p "$HOME/.six/x"
    python3 -c 'import os, sys, uuid
for i in range(2000):
    path = f"{sys.argv[1]}/{uuid.UUID(int=i)}.jsonl"
    open(path, "w").write("{\"type\":\"asked\",\"words\":\"%d\"}\n" % i)
    os.utime(path, (1000000 + i, 1000000 + i))' "$HOME/.six/x"
    ok kept -q
    [ "${#lines[@]}" -eq 500 ]
    [ "${lines[0]}" = 00000000-0000-0000-0000-0000000007cf ]
    [[ $stderr == *'there are more, older ones, which are not shown' ]]
    [ "$(kept .cut)" = true ]
}

@test "without a root mas kept lists them, too" {
    mkdir -p "$HOME/.codex/sessions/2026/11/28"
    printf '{"type":"session_meta","payload":{"cwd":"/srv/x"}}\n{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","content":[{"text":"begin"}]}}}\n' \
        >"$HOME/.codex/sessions/2026/11/28/rollout-2026-11-28T17-52-39-$C.jsonl"
    [ "$(kept '.sessions[] | [.id, .program, .preset, .directory, .words]')" = "[\"$C\",\"codex\",\"codex-tty\",\"/srv/x\",\"begin\"]" ]
    cd /
    unset MAS_ROOT
    run "$MAS" kept -q
    [ "$status" -eq 0 ]
}

@test "the id of one to adopt is completed" {
    began "$A"
    began "$B"
    new_session -t solo --agent six --no-start
    [ "$("$MAS" complete -- adopt "$ID" solo 8f3c2)" = "$B" ]
    [ "$("$MAS" complete -- adopt "$ID" solo '' | sort)" = "$A"$'\n'"$B" ]
}

@test "sessions in a database are listed, and nothing is written there" {
    make_eight
    rows "$(talk "$E" /srv/shop 'the word is CW-OTTER' '2 hours ago')$(talk "$F" /srv/else $'another\nline' '3 minutes ago')"
    [ -s "$EIGHT-wal" ]
    before=$(in_eight)
    ok kept
    [[ ${lines[1]} =~ ^ses_8f3cC\ +python3\ +3m\ +-\ +/srv/else\ +another$ ]]
    [[ ${lines[2]} =~ ^ses_8f3cA\ +python3\ +2h\ +-\ +/srv/shop\ +the\ word\ is\ CW-OTTER$ ]]
    [ "$(kept '[.total, .cut, (.sessions[1] | .id, .preset, .directory, .words, .size, .path)]')" = \
        "[2,false,\"$E\",\"eight\",\"/srv/shop\",\"the word is CW-OTTER\",0,\"$EIGHT\"]" ]
    [ "$(in_eight)" = "$before" ]
    EIGHT_HOME=$HOME/.eight ok kept -q # both patterns find it
    [ "${#lines[@]}" -eq 2 ]
    # without its log
    python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("PRAGMA wal_checkpoint(TRUNCATE)")' "$EIGHT"
    [ ! -e "$EIGHT-wal" ]
    before=$(in_eight)
    ok kept -q
    [ "$output" = "$F"$'\n'"$E" ]
    [ "$(in_eight)" = "$before" ]
}

@test "a database is read while its program writes there, which is not held up" {
    make_eight
    rows "$(talk "$E")"
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
db.execute("INSERT INTO said VALUES (?, ?, ?)", ("x", "person", "late"))
open(sys.argv[2], "w").close()
sys.stdin.read()
db.execute("COMMIT")' "$EIGHT" "$T/writes" <"$(mkfifo "$T/go"; echo "$T/go")" 3>&- &
    exec 8>"$T/go"
    eventually test -e "$T/writes"
    ok kept -q
    [ "$output" = "$E" ]
    exec 8>&-
    wait "$!"
    [ "$(sqlite3 "$EIGHT" 'SELECT count(*) FROM said' 2>/dev/null || echo 4)" = 4 ]
}

@test "what is in a database is hostile until parsed" {
    make_eight
    rows "$(talk "$E")INSERT INTO talk VALUES ('../x', '/', 1), ('-x', '/', 1), (NULL, '/', 1), (x'00', '/', 1), ('$F', NULL, 9223372036854775807);
        INSERT INTO said VALUES ('$F', 'person', char(27) || '[31m');"
    ok kept
    [ "${#lines[@]}" -eq 3 ]
    [[ $output == *"$(printf '%s' '\x1b[31m')"* && $output != *$'\e'* ]]
    mkfifo "$HOME/.eight/pipe.db"
    ln -s one.db "$HOME/.eight/link.db"
    cp "$EIGHT" "$HOME/.eight/x#.db" # which is an address of `x`
    EIGHT=$HOME/.eight/x rows "$(talk ses_of_another)"
    echo 'no database' >"$HOME/.eight/text.db"
    : >"$HOME/.eight/empty.db"
    ok kept -q
    [ "${#lines[@]}" -eq 2 ]
    rm -f "$HOME/.eight/"*
    rows 'DROP TABLE talk; CREATE VIEW talk AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS place, i AS at FROM n;'
    ok kept -q
    [ -z "$output" ]
    rm -f "$HOME/.eight/"*
    rows "$(talk "$E")"
    # one that takes for ever is left after some seconds
    sed -i 's/^told.database.sessions = .*/told.database.sessions = SELECT i FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n WHERE i > 1)/' "$ROOT/mas.ini"
    [ "$(kept '[.total, .cut]')" = '[0,true]' ]
}
