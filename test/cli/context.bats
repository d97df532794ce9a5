#!/usr/bin/env bats
# mas context: a conversation, and apart from it what was said elsewhere on its subject.
load ../helper
load ../memory

# context ARGUMENT...: the JSON; list NAME: the contents of one of its lists.
context() { "$MAS" context --json "$@" >"$T/context"; }
list() { jq -r ".$1[].content" "$T/context"; }
count() { jq ".$1 | length" "$T/context"; }

setup_more() {
    new_session -n here -t pair --no-start
    HERE=$ID
    new_session -n there -t pair --no-start
    THERE=$ID
}

@test "three lists, each with its items, and nothing of others in the conversation" {
    { user 'first about boats' '{agent: "lead", at: 1700000000}' && agent 'boats float'; } | said "$HERE" >/dev/null
    { user 'boats elsewhere' '{agent: "lead", at: 1690000000}' && agent 'they sink'; } | said "$THERE" >/dev/null
    context here lead
    [ "$(jq -r 'keys_unsorted | join(" ")' "$T/context")" = "current_conversation relevant_history chat_history" ]
    [ "$(list current_conversation)" = $'first about boats\nboats float' ]
    [ "$(list relevant_history | sort)" = $'boats elsewhere\nthey sink' ]
    [ "$(list chat_history)" = $'boats elsewhere\nthey sink\nfirst about boats\nboats float' ]
    [ "$(jq -r '.current_conversation[1] | [.id, .role, .source, .session_id, .trigger_id, .time] | join(" ")' "$T/context")" = \
        "$HERE:2 agent session $HERE $HERE:1 2023-11-14T22:13:21Z" ]
    [ "$(jq -r '[.relevant_history[] | .source] | unique | join(" ")' "$T/context")" = words ]
    [ "$(jq -r '[.relevant_history[].score] | . == (sort | reverse) and all(. > 0)' "$T/context")" = true ]
    [ "$(jq -r '[.chat_history[] | .source] | join(" ")' "$T/context")" = "words words session session" ]
}

@test "the relevant history leaves out what the conversation shows, and others take its places" {
    echo $'[memory]\ncurrent = 2\nrelevant = 3' >>"$ROOT/mas.ini"
    for i in {1..6}; do
        user "harbour $i" '{agent: "lead"}'
        agent "harbour answer $i"
    done | said "$HERE" >/dev/null
    context here lead --for harbour
    [ "$(list current_conversation)" = $'harbour 5\nharbour answer 5\nharbour 6\nharbour answer 6' ]
    [ "$(list relevant_history | sed 's/[0-9]//' | sort | uniq -c | xargs)" = '3 harbour 3 harbour answer' ]
    [ "$(list relevant_history | grep -c '[56]')" -eq 0 ]
    [ "$(jq -r '[.chat_history[].id] | length == 10 and length == (unique | length)' "$T/context")" = true ]
}

# The example of the seed: what was said in the session, and what was said elsewhere that is like it.
@test "a session's conversation is its own alone, and what is like it elsewhere stands apart, marked" {
    { user 'what about now?' '{agent: "lead", at: 1690000000}' && agent 'testing went on'; } | said "$THERE" >/dev/null
    { user "I'm doing some testing now" '{agent: "lead", at: 1700000000}' && agent 'go on' &&
        user 'just running some tests now'; } | said "$HERE" >/dev/null
    context here lead
    [ "$(list current_conversation)" = $'I\'m doing some testing now\ngo on\njust running some tests now' ]
    [ "$(jq -r '[.current_conversation[] | .source, .session_id] | unique | sort | join(" ")' "$T/context")" = \
        "$(printf '%s\n' session "$HERE" | jq -Rrs 'split("\n")[:-1] | sort | join(" ")')" ]
    [ "$(list relevant_history | sort)" = $'testing went on\nwhat about now?' ]
    [ "$(jq -r '.relevant_history[] | select(.role == "user") | [.role, .source, .session_id] | join(" ")' "$T/context")" = "user words $THERE" ]
    [ "$(jq -r '.chat_history[0].content' "$T/context")" = 'what about now?' ]
    [ "$(count chat_history)" -eq 5 ]
}

# Its test: a word in each of two sessions, and back to the first.
@test "back in the first of two sessions the conversation has what was said there, and not what in the other" {
    user 'Hello session 1' '{agent: "lead"}' | said "$HERE" >/dev/null
    user 'Hello session 2' '{agent: "lead"}' | said "$THERE" >/dev/null
    user 'What did I say?' '{agent: "lead"}' | said "$HERE" >/dev/null
    context here lead --for Hello
    [ "$(list current_conversation)" = $'Hello session 1\nWhat did I say?' ]
    [ "$(list relevant_history)" = 'Hello session 2' ]
    context there lead --for Hello
    [ "$(list current_conversation)" = 'Hello session 2' ]
    list relevant_history | grep -x 'Hello session 1'
    [[ $(list relevant_history) != *'session 2'* ]]
}

@test "an answer belongs to the session and to the prompt that it answers, without a word of the model" {
    { user 'the harbour' '{agent: "lead"}' && agent 'an answer about the harbour'; } | said "$THERE" >/dev/null
    context here lead --for harbour
    [ "$(jq -c '.relevant_history[] | select(.role == "agent") | [.content, .session_id, .trigger_id]' "$T/context")" = \
        "[\"an answer about the harbour\",\"$THERE\",\"$THERE:1\"]" ]
}

@test "what the conversation does not show, for its budget or for its agent, is in the relevant history" {
    echo $'[memory]\nall = 100' >>"$ROOT/mas.ini"
    {
        user "harbour, the first of the words that are said here of it" '{agent: "lead"}'
        agent "an answer"
        user "harbour, the second of the words that are said here of it" '{agent: "lead"}'
    } | said "$HERE" >/dev/null
    context here lead --for harbour
    [ "$(list current_conversation)" = $'an answer\nharbour, the second of the words that are said here of it' ]
    [ "$(list relevant_history)" = 'harbour, the first of the words that are said here of it' ]

    user 'harbour, reviewed' '{agent: "reviewer"}' | said "$THERE" >/dev/null
    user 'calm' '{agent: "lead"}' | said "$THERE" >/dev/null
    context there lead --for harbour
    [ "$(list current_conversation)" = calm ]
    [[ $(list relevant_history) == *'harbour, reviewed'* ]]
    context there lead --for harbour --team
    [ "$(list current_conversation | sort)" = $'calm\nharbour, reviewed' ]
    [[ $(list relevant_history) != *'harbour, reviewed'* ]]
    [ "$(count relevant_history)" -ge 1 ]
}

@test "of 50 sessions no foreign message is ever in the conversation" {
    local i id ids=("$HERE" "$THERE")
    for i in {1..48}; do ids+=("$("$MAS" new -q -t pair --no-start)"); done
    for i in "${!ids[@]}"; do
        for k in {1..12}; do
            printf '{"role":"user","text":"the harbour of number %d and ships %d","agent":"lead","tags":["number:%d"]}\n' "$i" "$k" "$i"
            printf '{"role":"agent","text":"harbour answer %d %d","tags":["number:%d"]}\n' "$i" "$k" "$i"
            printf '{"role":"user","text":"harbour review %d %d","agent":"reviewer"}\n' "$i" "$k"
            printf '{"role":"agent","text":"harbour reviewed %d %d"}\n' "$i" "$k"
        done | said "${ids[i]}" >/dev/null
    done
    for i in 0 17 48 49; do
        id=${ids[i]}
        for who in lead reviewer; do
            context "$id" "$who" --for 'ships in the harbour'
            [ "$(count current_conversation)" -eq 24 ]
            [ "$(jq -r '[.current_conversation[].session_id] | unique | join(" ")' "$T/context")" = "$id" ]
            [ "$(jq -r '[.current_conversation[].agent] | unique | join(" ")' "$T/context")" = "$who" ]
            [ "$(jq -r --arg id "$id:" '[.current_conversation[].id | startswith($id)] | all' "$T/context")" = true ]
            [ "$(jq -r '[.current_conversation[] | select(.content | test(" '"$i"'( |$)") | not)] | length' "$T/context")" -eq 0 ]
            [ "$(jq -r '[.relevant_history[] | select(.role == "user")] | length' "$T/context")" -eq 10 ]
            [ "$(jq -r '[.relevant_history[] | select(.role == "agent")] | length' "$T/context")" -eq 10 ]
            [ "$(jq -r '[.chat_history[].id] | length == (unique | length)' "$T/context")" = true ]
        done
    done
    [ "$("$MAS" search harbour --tag number:17 --json -n 100 | jq '.total')" -eq 24 ]
}

@test "the newest 20 prompts and 20 answers, oldest first; --team takes all agents" {
    for i in {1..30}; do
        printf '{"role":"user","text":"prompt %d","agent":"lead"}\n{"role":"agent","text":"answer %d"}\n' "$i" "$i"
    done | said "$HERE" >/dev/null
    context here lead
    [ "$(count current_conversation)" -eq 40 ]
    [ "$(list current_conversation | sed -n '1p;40p')" = $'prompt 11\nanswer 30' ]
    for i in {1..5}; do
        user "review $i" '{agent: "reviewer"}'
        agent "reviewed $i"
    done | said "$HERE" >/dev/null
    context here lead
    [ "$(list current_conversation | grep -c review)" -eq 0 ]
    context here lead --team
    [ "$(count current_conversation)" -eq 40 ]
    [ "$(list current_conversation | sed -n '1p;40p')" = $'prompt 16\nreviewed 5' ]
    echo $'[memory]\ncurrent = 3\nrelevant = 2' >>"$ROOT/mas.ini"
    context here lead
    [ "$(list current_conversation)" = $'prompt 28\nanswer 28\nprompt 29\nanswer 29\nprompt 30\nanswer 30' ]
    [ "$(count relevant_history)" -eq 4 ]
}

@test "after a clear the conversation is what came since, and after --new that of the new one" {
    {
        user 'old words about tides' '{agent: "lead"}'
        agent 'old answer'
        echo '{"clear":"lead"}'
    } | said "$HERE" >/dev/null
    context here lead
    [ "$(count current_conversation)" -eq 0 ]
    user 'new words about tides' '{agent: "lead"}' | said "$HERE" >/dev/null
    context here lead
    [ "$(list current_conversation)" = 'new words about tides' ]
    # a person finds what was cleared, the agent does not
    [[ $(list relevant_history) == *'old words about tides'* ]]
    MAS_AGENT_ID=lead MAS_SESSION_ID=$HERE context here lead
    [[ $(list relevant_history) != *'old words about tides'* ]]
    { echo '{"new":"lead"}' && user 'third' '{agent: "lead"}'; } | said "$HERE" >/dev/null
    context here lead
    [ "$(list current_conversation)" = 'third' ]
}

@test "each list has its own budget of characters, cut at characters" {
    echo $'[memory]\nall = 100' >>"$ROOT/mas.ini"
    long=$(printf 'ä%.0s' {1..300})
    {
        user "otter $long" '{agent: "lead"}'
        agent 'short one'
        user "otter $(printf 'x%.0s' {1..80})" '{agent: "lead"}'
    } | said "$HERE" >/dev/null
    context here lead --for otter
    [ "$(jq -r '[.current_conversation[].content | length] | add <= 100' "$T/context")" = true ]
    [ "$(jq -r '[.relevant_history[].content | length] | add <= 100' "$T/context")" = true ]
    [ "$(jq -r '[.chat_history[].content | length] | add <= 100' "$T/context")" = true ]
    [ "$(jq -r '.current_conversation | length' "$T/context")" -eq 2 ]
    user "$long" '{agent: "lead"}' | said "$HERE" >/dev/null
    context here lead --for otter
    [ "$(list current_conversation)" = "$(printf 'ä%.0s' {1..100})" ]
}

@test "private sessions neither give nor take" {
    new_session -n secret -t pair --no-start --private
    {
        user 'secret harbour' '{agent: "lead"}' && agent 'hush'
        user 'secret harbour, reviewed' '{agent: "reviewer"}'
    } | said "$ID" >/dev/null
    {
        user 'open harbour' '{agent: "lead"}' && agent 'loud'
        user 'open harbour, reviewed' '{agent: "reviewer"}'
    } | said "$HERE" >/dev/null
    context here lead --for harbour
    [ "$(jq -r '[.relevant_history[].session_id] | unique | join(" ")' "$T/context")" = "$HERE" ]
    context secret lead --for harbour
    [ "$(list current_conversation)" = $'secret harbour\nhush' ]
    [ "$(jq -r '[.relevant_history[].session_id] | unique | join(" ")' "$T/context")" = "$ID" ]
    echo $'[memory]\nshare = yes' >>"$ROOT/mas.ini"
    MAS_AGENT_ID=lead MAS_SESSION_ID=$ID context secret lead --for harbour
    [ "$(jq -r '[.relevant_history[].session_id] | unique | join(" ")' "$T/context")" = "$ID" ]
    MAS_AGENT_ID=lead MAS_SESSION_ID=$HERE fails 1 context secret lead
    [[ $stderr == *"a private session shares no memory"* ]]
}

@test "an agent gets its own session's history, and that of all with share = yes" {
    user 'the harbour here' '{agent: "reviewer"}' | said "$HERE" >/dev/null
    user 'the harbour there' '{agent: "lead"}' | said "$THERE" >/dev/null
    export MAS_AGENT_ID=lead MAS_SESSION_ID=$HERE
    context lead --for harbour
    [ "$(list relevant_history)" = 'the harbour here' ]
    fails 1 context there lead
    [[ $stderr == *"an agent may see only its own session"* ]]
    echo $'[memory]\nshare = yes' >>"$ROOT/mas.ini"
    context lead --for harbour
    [ "$(list relevant_history | sort)" = $'the harbour here\nthe harbour there' ]
    context there lead
    [ "$(list current_conversation)" = 'the harbour there' ]
}

@test "a session where nothing was said has empty lists; a damaged memory is an error" {
    ok context here lead --json
    [ "$output" = '{"current_conversation":[],"relevant_history":[],"chat_history":[]}' ]
    echo 'no database, whatever it may be otherwise' >"$ROOT/sessions/$HERE/memory.db"
    fails 5 context here lead --json
    [ -z "$output" ]
}

@test "context without --json prints both lists, and moves no terminal" {
    { user $'look \e[2J here\nsecond line' '{agent: "lead", at: 1700000000}' && agent 'yes'; } | said "$HERE" >/dev/null
    mas context here lead
    [ "${lines[0]}" = "current conversation" ]
    [ "${lines[1]}" = "$HERE:1  lead user  2023-11-14T22:13:20Z" ]
    [ "${lines[2]}" = '  look \x1b[2J here' ]
    [ "${lines[3]}" = '  second line' ]
    [[ $output == *"relevant history"* ]]
}

@test "context takes one agent" {
    fails 2 context here
    fails 2 context here all
    fails 2 context here lead more
    fails 3 context here nobody
    fails 3 context nowhere lead
}
