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
    new_session -t solo --agent teller
    find_agent
    eventually is_asked "trust: $DIR/unit/solo"
    is waiting
    fails 4 sleep "$ID" solo
    ok approve "$ID" solo
    eventually is idle
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
