#!/usr/bin/env bats
load ../helper

# A stopped session of the default team; `said AGENT` stores what stdin says, see test/tools/say.c.
setup_more() {
    new_session --no-start
    SAY=${MAS%/*}/test/tools/say
}

said() { "$SAY" "$ROOT/sessions/${SESSION:-$ID}" "${1:-10}" >"$T/said"; }

# history as JSON, through jq
ask() { "$MAS" history "$ID" 10 --json "${@:2}" | jq -rc "$1"; }

@test "history prints what was said, by whom and when, the oldest first" {
    said <<<$'user hello\nagent hi\\nthere\nthought hm\ntool Read x\nend\nsender 11\nuser more\nagent yes\nend'
    ok history "$ID" 10
    [ -z "$stderr" ]
    [[ ${lines[0]} == "-- query 1, conversation "????????" --" ]]
    local shown
    shown=$(sed -E 's/^[0-9-]{10}T[0-9:]{8}Z //; 1d' <<<"$output")
    [ "$shown" = $'#1 user\n    hello\n#2 10\n    hi\n    there\n#3 thought\n    hm\n#4 tool: Read x\n#5 user (from 11)\n    more\n#6 10\n    yes' ]
}

@test "an agent with which nothing was said has no history, and one that is not there is exit 3" {
    local before
    before=$(snapshot)
    ok history "$ID" 10
    [ -z "$output" ]
    [ "$stderr" = "no messages" ]
    [ "$(ask .)" = "{\"sessionId\":\"$ID\",\"agent\":\"10\",\"total\":0,\"messages\":[]}" ]
    [ "$(ask .queries --queries)" = '[]' ]
    [ "$before" = "$(snapshot)" ]
    fails 3 history "$ID" 99
    fails 3 history nope 10
}

@test "reading leaves nothing behind" {
    said <<<$'user a\nend'
    local before
    before=$(snapshot)
    "$MAS" history "$ID" 10 >/dev/null
    "$MAS" history "$ID" 10 --queries >/dev/null
    [ "$before" = "$(snapshot)" ]
}

@test "each message in JSON has the keys that programs rely on" {
    said <<<$'tag ticket:7\nuser hello\nagent hi\nend\nuser again\nend max_tokens'
    [ "$(ask '.messages[0] | keys_unsorted | join(" ")')" = \
        'id role state time agent conversation query triggerId sender stopReason key tags text data' ]
    [ "$(ask '.messages[] | [.id, .role, .state, .triggerId, .stopReason, .text]')" = \
        "[\"$ID:1\",\"user\",\"done\",null,\"end_turn\",\"hello\"]
[\"$ID:2\",\"agent\",\"done\",\"$ID:1\",null,\"hi\"]
[\"$ID:3\",\"user\",\"failed\",null,\"max_tokens\",\"again\"]" ]
    [ "$(ask '.messages[1].tags')" = "[\"session:$ID\",\"agent:10\",\"ticket:7\"]" ]
    [ "$(ask '.total')" = 3 ]
}

@test "a tool call is one line, with the title that it has now" {
    said <<<$'user go\ntool raw\\nsecond line\ndata {"title":"Edit \\\\u001b[1ma.c\\\\nb","status":"completed"}\nend'
    mas history "$ID" 10
    [[ $output == *"#2 tool: Edit a.c" ]]
    [ "$(ask '.messages[1].data.status')" = completed ]
}

@test "--limit and --offset count from the newest, and the total is told" {
    said <<<'turns 40'
    [ "$(ask '[.messages[].id | split(":")[1] | tonumber] | [.[0], .[-1], length]')" = '[31,80,50]' ]
    [ "$(ask '[.total, (.messages | length)]' --limit all)" = '[80,80]' ]
    [ "$(ask '[.messages[].text]' -n 2)" = \
        '["question 40","piece 0 of answer 40. piece 1 of answer 40. piece 2 of answer 40. piece 3 of answer 40. piece 4 of answer 40. "]' ]
    [ "$(ask '[.messages[].id | split(":")[1]] | join(" ")' -n 3 --offset 10)" = '68 69 70' ]
    [ "$(ask '.messages' --offset 80)" = '[]' ]
}

@test "only some roles, tags, times, queries and conversations can be asked for" {
    said <<<$'tag k:v\nuser one\nagent a1\nend\nclear\nuser two\nagent a2\nend\nnew\nuser three\nend'
    [ "$(ask '[.messages[].text]' --role agent)" = '["a1","a2"]' ]
    [ "$(ask '[.messages[].text]' --role user,tool)" = '["one","two","three"]' ]
    [ "$(ask '[.messages[].text]' --tag k:v)" = '["one","a1"]' ]
    [ "$(ask '[.messages[].text]' --query 2)" = '["two","a2"]' ]
    [ "$(ask '.total' --since 1h)" = 5 ]
    [ "$(ask '.total' --until 1h)" = 0 ]
    local conversation
    conversation=$(ask '.messages[-1].conversation')
    [ "$(ask '[.messages[].text]' --conversation "${conversation:0:8}")" = '["three"]' ]
    fails 3 history "$ID" 10 --conversation ffffffff-none
}

@test "an answer that was cut off is kept and marked, once its agent is back" {
    run -137 said <<<$'user tell\nagent once\nmore  upon a\nkill'
    said </dev/null
    mas history "$ID" 10
    [[ $output == *"#1 user (interrupted)"*"#2 10 (interrupted)"$'\n'"    once upon a" ]]
}

@test "--queries says when each began, why it ended, and how the agent came back" {
    said <<<$'session s1 fresh\nuser one\nend\nsession s1 resumed\nclear\nsession s2 injected\nuser two\nend'
    ok history "$ID" 10 --queries
    local shown
    shown=$(sed -E 's/[0-9-]{10}T[0-9:]{8}Z/TIME/g; s/[0-9a-f]{8}\//C\//' <<<"$output")
    [ "$shown" = $'query 1  C/1  TIME  1 message\n    TIME  ended: clear\n    TIME  fresh  s1  say 1.0\n    TIME  resumed  s1  say 1.0\nquery 2  C/2  TIME  1 message  current\n    TIME  injected  s2  say 1.0' ]
    [ "$(ask '.queries[] | [.query, .number, .current, .reason, .messages, .endedAt != null]' --queries)" = \
        $'[1,1,false,"clear",1,true]\n[2,2,true,"",1,false]' ]
    [ "$(ask '.queries[0].agentSessions[] | [.id, .program, .outcome, .endedAt != null]' --queries)" = \
        $'["s1","say 1.0","fresh",true]\n["s1","say 1.0","resumed",true]' ]
}

@test "no byte of what was said reaches the terminal as it is" {
    said <<<$'sender \\x1b]0;x\\x07\nuser \\x1b[2J\\x9b2J\\xc2\\x9b\\x00\\xff\\rend\nagent \\x1b]52;c;AAAA\\x07ok\ntool \\x1b[31mred\nend \\x1b[2J\nsession \\x1b[2J fresh'
    local arguments
    for arguments in '' --queries '--export md'; do
        # shellcheck disable=SC2086 # words
        "$MAS" history "$ID" 10 $arguments >"$T/out"
        [ -s "$T/out" ]
        run ! grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' "$T/out"
        iconv -f UTF-8 -t UTF-8 "$T/out" >/dev/null
    done
    "$MAS" history "$ID" 10 --json | jq -e '.messages | length == 3' >/dev/null
    "$MAS" history "$ID" 10 --export jsonl | jq -es 'length == 3' >/dev/null
}

@test "long lines are cut at blanks so that 80 columns are enough" {
    local long
    long=$(printf 'word%.0s ' {1..60})$(printf 'x%.0s' {1..200})
    printf 'user %s\nagent %s\ntool %s\npermission rm %s\nend\n' "$long" "    $long" "$long" "${long//x/z}" | said
    mas history "$ID" 10
    [ "$(wc -L <<<"$output")" -le 80 ]
    [[ $output == *"    wordword"* || $output == *"    word word"* ]]
    [ "$(grep -o x <<<"$output" | wc -l)" -ge 400 ]
    # a tool call has one line; what was permitted is there in full
    grep -qE ' tool.*: word.*[.]{3}$' <<<"$output"
    [ "$(grep -o z <<<"$output" | wc -l)" -eq 200 ]
}

@test "--export jsonl is all of it, an object a line; md is a document" {
    said <<<$'turns 60\nuser # no heading\nagent yes\nend'
    "$MAS" history "$ID" 10 --export jsonl >"$T/out"
    [ "$(wc -l <"$T/out")" -eq 122 ]
    jq -es 'length == 122 and .[0].text == "question 1" and .[-1].text == "yes"' "$T/out" >/dev/null
    "$MAS" history "$ID" 10 --export md >"$T/out"
    [ "$(head -n 3 "$T/out")" = "# Agent 10 of session $ID"$'\n\n'"## Query 1" ]
    [ "$(grep -c '^### user, ' "$T/out")" -eq 61 ]
    grep -qx '> # no heading' "$T/out"
    run ! grep -q '^# no' "$T/out"
}

@test "an agent sees its own session's history, and no other one's" {
    said <<<$'user secret\nend'
    MAS_AGENT_ID=11 MAS_SESSION_ID=$ID ok history "$ID" 10
    [[ $output == *secret* ]]
    MAS_AGENT_ID=11 MAS_SESSION_ID=550e8400-e29b-41d4-a716-446655440000 fails 1 history "$ID" 10
    [ -z "$output" ]
    [[ $stderr == *"an agent may see only its own session"* ]]
}

@test "other agents' words are not in it" {
    said 10 <<<$'user to ten\nend'
    said 11 <<<$'user to eleven\nend'
    [ "$(ask '[.messages[].text]')" = '["to ten"]' ]
    [ "$("$MAS" history "$ID" 11 --json | jq -c '[.messages[].text]')" = '["to eleven"]' ]
}

@test "a damaged memory is exit 5 and says what to do" {
    said <<<'turns 20'
    printf 'garbage' | dd of="$ROOT/sessions/$ID/memory.db" conv=notrunc status=none
    fails 5 history "$ID" 10
    [[ $stderr == "mas: cannot show the history of session '$ID': "*"not a database"* ]]
    [[ $stderr == *"mas doctor --fix"* ]]
}

@test "wrong options are usage errors" {
    local arguments
    for arguments in '10 11' '--limit 0' '--limit x' '--offset -1' '--role owner' '--since x' \
        '--export pdf' '--export md --json' '--conversation ab' ''; do
        # shellcheck disable=SC2086 # words
        case $arguments in --*) mas history "$ID" 10 $arguments ;; *) mas history "$ID" $arguments ;; esac
        [ "$status" -eq 2 ] || [ "$arguments" = '--conversation ab' ]
        [ -z "$output" ]
    done
}

@test "thousands of messages are printed in order" {
    said <<<'turns 2000'
    [ "$(ask '[.messages[].id | split(":")[1] | tonumber] | . == sort and length == 4000' -n all)" = true ]
}

@test "SQLite is loaded by who opens a database, and told if it cannot be" {
    said <<<'user hello'
    LD_DEBUG=files "$MAS" list --all >/dev/null 2>"$T/loads"
    grep -q libc "$T/loads"
    run ! grep libsqlite3 "$T/loads"
    mkdir "$T/lib"
    echo 'no library' >"$T/lib/libsqlite3.so.0"
    LD_LIBRARY_PATH=$T/lib fails 1 history "$ID" 10
    [[ $stderr == *"cannot load SQLite: $T/lib/libsqlite3.so.0: "*'
install it, for example: apt-get install libsqlite3-0' ]]
    LD_LIBRARY_PATH=$T/lib mas list --all -q
    [ "$output" = "$ID" ]
    mas history "$ID" 10
    [[ $output == *hello* ]]
}
