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

@test "a message behind an answer is typed when the line is there again" {
    team
    mkdir -p "$HOME/.teller"
    touch "$HOME/.teller/deaf"
    ok send "$ID" solo 'ask make test'
    eventually screen_has 'May I?'
    eventually is_asked 'make test (Bash)'
    ok approve "$ID" solo
    ok send "$ID" solo two
    eventually says 'I know: ask make test, two'
    # nor before the dialog is there
    touch "$HOME/.teller/hold"
    ok send "$ID" solo 'ask make clean'
    eventually is_asked 'make clean (Bash)'
    ok approve "$ID" solo
    ok send "$ID" solo three
    rm "$HOME/.teller/hold"
    eventually says 'two, ask make clean, three'
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
    both_decided() { [ "$(decided)" = $'allow -\nreject -' ]; }
    eventually both_decided
    ok restart "$ID" solo # a no ends the program, and not its session
    eventually is_asked "trust: $DIR/unit/solo"
    starts 4 | jq -e 'index("--resume")'
}

@test "a program that ends behind a yes to that question is started once more, with the words for it" {
    printf '%s\n' 'told.trusted = --trusted {directory}' 'told.renews = yes' >>"$ROOT/mas.ini"
    mkdir -p "$HOME/.teller"
    touch "$HOME/.teller/"{distrusts,forgets}
    new_session -t solo --agent teller
    find_agent
    eventually is_asked "trust: $DIR/unit/solo"
    ok approve "$ID" solo
    eventually is idle
    [ "$(starts 1 | jq 'index("--trusted")')" = null ]
    [ "$(starts 2 | jq -r '.[index("--trusted") + 1]')" = "$DIR/unit/solo" ]
    ok restart "$ID" solo
    eventually is idle
    [ "$(starts 3 | jq -r '.[index("--trusted") + 1]')" = "$DIR/unit/solo" ]
}

# homely: a session behind a wall whose program asks whether its directory is to be trusted, at each start
homely() {
    ok new -q -t solo --agent homely --no-start
    ID=$output DIR=$ROOT/sessions/$ID
    mkdir -p "$DIR/home/solo/.teller"
    touch "$DIR/home/solo/.teller/distrusts"
    ok start "$ID"
    find_agent
    eventually is_asked "trust: $DIR/unit/solo"
}

@test "behind a wall, a yes to that question holds for later starts, and only a yes" {
    bwrap --unshare-pid --ro-bind / / --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    # shellcheck disable=SC2016 # for mas
    preset homely "python3 -ES '$PROJECT/test/host/teller.py'" 'ready = ready' 'executes = no' 'role_option = --role {file}' 'env.OUT = /dev/null' \
        'told.begin = --begin {id}' 'told.resume = --resume {id}' 'told.kept = .teller/{id}' 'wall.home = .teller:own .teller.json:copy .trust.json:copy' \
        'told.hook = {"run": {json:command}}' 'told.home..teller.json = {"hooks": {hooks}}' 'told.event.Start = starts' \
        'waiting = No, exit' 'told.trust = Yes, I trust' 'told.key.trust = t Enter' 'told.key.deny = n Enter' \
        'told.trusted_home..trust.json = {"trusts": [{json:directory}]}'
    homely
    ok approve "$ID" solo
    eventually is idle
    [ "$(<"$DIR/run/solo.trusted")" = "$DIR/unit/solo" ]
    tm kill-server
    ok start --crashed
    find_agent
    eventually is idle
    is_asked ''
    [ ! -e "$HOME/.trust.json" ]
    homely # a person says it there, and the keys come at once
    tm send-keys -t "$PANE" t Enter
    eventually is idle
    ok restart "$ID" solo
    eventually is idle
    is_asked ''
    homely # and here no
    typed n
    eventually is exited
    ok restart "$ID" solo
    eventually is_asked "trust: $DIR/unit/solo"
    ok deny "$ID" solo
    eventually is exited
    ok restart "$ID" solo
    eventually is_asked "trust: $DIR/unit/solo"
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

@test "an Enter that the program has taken for a new line is pressed again, and a line that a person types stays as it is" {
    echo 'hold = 200ms' >>"$ROOT/mas.ini"
    team
    ok send "$ID" solo 'one'
    eventually says 'I know: one'
    touch "$HOME/.teller/loses"
    ok ask "$ID" solo 'two' # of the queue
    [ "$output" = 'I know: one, two' ]
    tm send-keys -t "$PANE" -l 'half a '
    eventually screen_has 'half a'
    touch "$HOME/.teller/loses"
    ok send "$ID" solo 'three'
    eventually says 'I know: one, two, three'
    eventually is idle
    typed 'line'
    eventually says 'I know: one, two, three, half a line'
    [ "$(history | grep -c '"user"')" -eq 4 ]
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

has_read() { grep -qs "$1" "$HOME"/.teller/*-*; }

@test "a prompt that is cancelled before its turn begins is stopped when it does, and nothing is lost" {
    team
    mkdir -p "$HOME/.teller"
    touch "$HOME/.teller/begins"
    ok send "$ID" solo "work $T/never"
    eventually has_read never
    ok cancel "$ID" solo
    ok send "$ID" solo two
    is working
    rm "$HOME/.teller/begins"
    eventually says '["agent",null,"I know: work '"$T"'/never, two","done"]'
    eventually is idle
    says '["user",null,"work '"$T"'/never","interrupted"]'
    [ "$(history | grep -c '^."user"')" -eq 2 ]
    touch "$HOME/.teller/begins"
    "$MAS" ask "$ID" solo "work $T/neither" >"$T/asked" 2>&1 3>&- &
    pid=$!
    eventually has_read neither
    ok cancel "$ID" solo
    rm "$HOME/.teller/begins"
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 11 ] # it was cancelled
    eventually is idle
    says '["user",null,"work '"$T"'/neither","interrupted"]'
    ok ask "$ID" solo three
    [ "$(history | grep -c '^."user"')" -eq 4 ]
    run ! grep -q 'the program says that it was asked' "$ROOT/sessions/$ID/logs/agent-solo.log"
}

@test "keys that stop a turn are pressed again, if the program goes on with it" {
    printf '[preset teller]\ntitle_working = ^about\n' >>"$ROOT/mas.ini"
    export TITLED=yes
    team
    mkdir -p "$HOME/.teller"
    touch "$HOME/.teller/ignores"
    ok send "$ID" solo "work $T/never"
    eventually is working
    eventually screen_has "work $T/never"
    ok cancel "$ID" solo
    eventually is idle
    [ ! -e "$HOME/.teller/ignores" ]
    says '["user",null,"work '"$T"'/never","interrupted"]'
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
