#!/usr/bin/env bats
# What clients ask of a program on a terminal that tells what it does, as of any other agent.
load ../helper
load lib
load ../memory
load tells

asked() { "$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0].asks // ""'; }
is_asked() { [ "$(asked)" = "$1" ]; }
decided() { "$MAS" history "$ID" solo --json | jq -r '.messages[] | select(.role == "permission") | .data | "\(.option) \(.by)"'; }

@test "what it asks is answered from outside, by the keys of its preset, and the history has who did" {
    team
    ok send "$ID" solo 'ask make test'
    eventually is_asked 'make test (Bash)'
    is waiting
    ok status "$ID"
    [[ $output == *"asks: make test (Bash)"*"mas approve ${ID:0:8} solo"* ]]
    ok approve "$ID" solo
    [[ $output == 'approved: make test (Bash)'* ]]
    eventually says 'I know: ask make test'
    is_asked ''
    says '["tool",null,"make test (Bash)","done"]'
    ok send "$ID" solo 'ask make clean'
    eventually is_asked 'make clean (Bash)'
    ok deny "$ID" solo
    eventually says '["user",null,"ask make clean","interrupted"]'
    eventually is idle
    [ "$(decided)" = $'allow -\nreject -' ]
    fails 3 approve "$ID" solo
}

@test "an answer is typed when the dialog is there, not before" {
    team
    mkdir -p "$HOME/.teller"
    touch "$HOME/.teller/hold"
    ok send "$ID" solo 'ask make test'
    eventually is_asked 'make test (Bash)'
    ok approve "$ID" solo
    run ! screen_has 'May I?'
    run ! grep -q '^y' <(tm capture-pane -pt "$PANE")
    rm "$HOME/.teller/hold"
    eventually says 'I know: ask make test'
}

@test "who answers first wins: a person in the pane, too" {
    team
    ok send "$ID" solo 'ask make test'
    eventually screen_has 'May I?'
    typed y
    eventually says 'I know: ask make test'
    [ "$(decided)" = 'allow -' ]
    fails 3 approve "$ID" solo
    ok send "$ID" solo 'ask make clean'
    eventually is_asked 'make clean (Bash)'
    typed n
    eventually is idle
    [ "$(decided)" = $'allow -\nreject -' ]
}

@test "a question is answered on the screen, and approve says so" {
    team
    ok send "$ID" solo 'choose red or blue'
    eventually is_asked 'red or blue (Choose)'
    fails 4 approve "$ID" solo
    [[ $stderr == *"cannot answer agent 'solo': Choose asks more than yes or no"*'mas attach'* ]]
    is waiting
    typed y
    eventually says 'I know: choose red or blue'
}

@test "the rules of its preset answer, as they do for other agents" {
    sed -i 's/^told.key.allow/permission.execute = allow\n&/' "$ROOT/mas.ini"
    team
    ok send "$ID" solo 'ask make test'
    eventually says 'I know: ask make test'
    [ "$(decided)" = 'allow policy' ]
}

@test "settings of the program are for its own screen" {
    team
    fails 4 set "$ID" solo mode=plan
    [[ $stderr == *'has that on its own screen alone'*'mas attach'* ]]
    fails 4 ask "$ID" solo --aside hello
    [[ $stderr == *'no copy of it can be asked'* ]]
}

@test "its question whether a directory is to be trusted comes before it tells, and is answered likewise" {
    mkdir -p "$HOME/.teller"
    touch "$HOME/.teller/distrusts"
    local advice="'mas approve' says yes for one agent; a yes to the program itself, run in the root's sessions/"
    ok new -t solo --agent teller
    [[ $stderr == *"may ask whether to trust each new directory; $advice"* ]]
    read -r _ ID _ <<<"$output"
    find_agent
    eventually is_asked "trust: $DIR/unit/solo"
    is waiting
    ok doctor
    [[ $output == *"1 agent has asked whether its directory is to be trusted: $advice"* ]]
    fails 4 sleep "$ID" solo
    ok approve "$ID" solo
    eventually is idle
    ok doctor
    [[ $output != *"$advice"* ]]
    ok new -t solo --agent teller # it says so once
    [[ $stderr != *"$advice"* ]]
    is_asked ''
    ok send "$ID" solo 'one'
    eventually says 'I know: one'
    ok restart "$ID" solo
    eventually is_asked "trust: $DIR/unit/solo"
    ok deny "$ID" solo
    eventually is exited
    is_asked ''
    [ "$(decided)" = $'allow -\nreject -' ]
}

@test "a program that ends behind a yes to that question is started once more, with the words for it" {
    echo 'told.trusted = --trusted yes' >>"$ROOT/mas.ini"
    mkdir -p "$HOME/.teller"
    touch "$HOME/.teller/"{distrusts,forgets}
    new_session -t solo --agent teller
    find_agent
    eventually is_asked "trust: $DIR/unit/solo"
    ok approve "$ID" solo
    eventually is idle
    [ "$(starts 1 | jq 'index("--trusted")')" = null ]
    [ "$(starts 2 | jq -r '.[index("--trusted") + 1]')" = yes ]
    ok restart "$ID" solo # it keeps the answer as long as its host
    eventually is idle
    [ "$(starts 3 | jq -r '.[index("--trusted") + 1]')" = yes ]
}

@test "ask types the prompt, and prints the answer of the turn that the program tells of" {
    team
    ok ask "$ID" solo 'one CW-OTTER'
    [ "$output" = 'I know: one CW-OTTER' ]
    ok ask "$ID" solo --json --tag a:b 'two'
    jq -se 'any(.[]; .event? == "end" and .stopReason == "end_turn") or .[0].stopReason == "end_turn"' <<<"$output"
    [ "$(history | grep -c '"user"')" -eq 2 ]
    says '["user",null,"two","done"]'
    fails 1 ask "$ID" solo 'fail now'
    [[ $stderr == *'the agent tells of an error'* ]]
}

@test "prompts wait for the turn before, in their order, and each asker gets the answer to its own" {
    team
    ok send "$ID" solo "work $T/go"
    eventually is working
    "$MAS" ask "$ID" solo 'second' >"$T/second" 3>&- &
    local second=$!
    eventually prints 1 of_agent queued
    "$MAS" ask "$ID" solo 'third' >"$T/third" 3>&- &
    local third=$!
    eventually prints 2 of_agent queued
    touch "$T/go"
    wait "$second" "$third"
    [ "$(cat "$T/second")" = "I know: work $T/go, second" ]
    [ "$(cat "$T/third")" = "I know: work $T/go, second, third" ]
}

@test "a prompt waits for a line that a person types, which stays as it is" {
    team
    tm send-keys -t "$PANE" -l 'half'
    eventually screen_has half
    ok ask "$ID" solo --no-wait 'later'
    [[ "$(of_agent note)" == *'a person has typed on the line'* ]]
    run ! says '"later","done"'
    tm send-keys -t "$PANE" -l ' a line'
    tm send-keys -t "$PANE" Enter
    eventually says 'I know: half a line, later'
}

@test "what waits, and what was given to a program that ends, is asked once in all" {
    team
    ok send "$ID" solo "work $T/go"
    eventually is working
    ok ask "$ID" solo --no-wait 'later'
    tm kill-server
    ok start --crashed
    find_agent
    eventually says "I know: work $T/go, later"
    [ "$(history | grep -c '"later"')" -eq 1 ]
}

@test "cancel stops the turn by the key of the preset" {
    team
    fails 7 ask "$ID" solo --timeout 1s "work $T/never"
    eventually is idle
    says '["user",null,"work '"$T"'/never","interrupted"]'
    ok send "$ID" solo "work $T/never"
    eventually is working
    ok cancel "$ID" solo
    eventually is idle
    ok ask "$ID" solo 'two'
    [[ $output == *', two' ]]
}

@test "clear has the program clear its context, also in a turn, and what was said before is not heard again" {
    team
    ok ask "$ID" solo 'one CW-OTTER'
    ok clear "$ID" solo
    ok ask "$ID" solo 'two'
    [ "$output" = 'I know: two' ]
    [ "$(wc -l <"$OUT")" -eq 1 ] # it was not started again
    ok send "$ID" solo "work $T/never"
    eventually is working
    ok clear "$ID" solo
    ok ask "$ID" solo 'three'
    [ "$output" = 'I know: three' ]
    [ "$("$MAS" history "$ID" solo --json | jq -c '[.messages[].query] | unique | length')" -eq 3 ]
    tm kill-server
    ok start --crashed
    find_agent
    ok ask "$ID" solo 'four'
    [ "$output" = 'I know: three, four' ]
}

@test "a program without a line for that is started with a new session, and so for another conversation" {
    sed -i '/^told.clear/d' "$ROOT/mas.ini"
    team
    ok ask "$ID" solo 'one CW-OTTER'
    ok clear "$ID" solo
    ok ask "$ID" solo 'two'
    [ "$output" = 'I know: two' ]
    [ "$(wc -l <"$OUT")" -eq 2 ]
    ok ask "$ID" solo --new 'three'
    [ "$output" = 'I know: three' ]
}
