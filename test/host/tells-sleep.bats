#!/usr/bin/env bats
# Programs on a terminal that tell sleep as ACP agents do: the process ends, and a message or a key brings
# it back with its session. What would be lost by that keeps it awake. They wait for their providers, too.
load ../helper
load lib
load ../memory
load tells

sleeps() { ok sleep "$ID" solo; }
refuses() { fails 4 sleep "$ID" solo; [[ $stderr == *"cannot put agent 'solo' to sleep: $1"* ]] || { echo "$stderr"; return 1; }; }
press() { tm send-keys -t "$PANE" "$@"; }
has_started() { [ "$(wc -l <"$OUT")" -eq "$1" ]; }

# rested: a session whose program has answered once.
rested() {
    team
    ok send "$ID" solo 'one CW-OTTER'
    eventually says 'I know: one CW-OTTER'
    eventually is idle
}

@test "it sleeps: its process is gone, its pane says so, and a message wakes it with its session" {
    rested
    agent=$(of_agent pid)
    sleeps
    [ "$output" = 'solo is asleep' ]
    run ! kill -0 "$agent"
    is asleep
    screen_has 'the agent sleeps; its next prompt or a key press wakes it'
    sleeps
    [ "$output" = 'solo is asleep already' ]
    ok wait --timeout 20s "$ID" solo
    ok send "$ID" solo two
    eventually says '["agent",null,"I know: one CW-OTTER, two","done"]'
    [ "$(starts 2 | jq -r '.[index("--resume") + 1]')" = "$(starts 1 | jq -r '.[index("--begin") + 1]')" ]
    [ "$(of_agent restarts)" = 0 ]
    [ "$(history | jq -r 'select(.[0] == "note")[2]')" = 'the agent sleeps; its next prompt or a key press wakes it
the agent wakes
conversation resumed' ]
}

@test "what is typed at it waits until it is ready, and stands on its line" {
    rested
    sleeps
    touch "$HOME/.teller/hold"
    press -l 'ha'
    eventually has_started 2
    press Up
    press -l 'lx'
    press BSpace
    press -l 'f a line'
    rm "$HOME/.teller/hold"
    eventually is idle
    eventually screen_has 'half a line'
    press Enter
    eventually says '["user",null,"half a line","done"]'
    eventually is idle
    sleeps
    touch "$HOME/.teller/hold"
    press -l x
    press BSpace
    press -l two
    press Enter # a whole line is asked
    eventually has_started 3
    rm "$HOME/.teller/hold"
    eventually says '["user",null,"two","done"]'
    says 'I know: one CW-OTTER, half a line, two'
    eventually is idle
    sleeps
    press Enter # alone, it only wakes
    eventually is idle
    [ "$(history | grep -c '"user"')" -eq 3 ]
}

@test "it stays asleep when everything crashes, and a request wakes it" {
    rested
    sleeps
    tm kill-server
    ok start --crashed
    find_agent
    eventually screen_has 'the agent sleeps; its next prompt or a key press wakes it'
    is asleep
    has_started 1
    ask solo '{"do":"wake"}' >/dev/null
    eventually is idle
    [ "$(of_agent continuity)" = resumed ]
    [ ! -e "$DIR/run/solo.asleep" ]
}

@test "a message that comes while it falls asleep wakes it" {
    rested
    supervisor=$(pgrep -P "$(of_agent hostPid)" -x mas-supervisor)
    kill -STOP "$supervisor" # its tree has not ended yet
    "$MAS" sleep -q "$ID" solo &
    eventually test -e "$DIR/run/solo.asleep"
    ok send "$ID" solo two
    kill -CONT "$supervisor"
    eventually says 'I know: one CW-OTTER, two'
    wait "$!" || :
}

@test "a line that is typed, a question, a task, a process and a lost session keep it awake" {
    rested
    press -l half
    eventually screen_has half
    refuses 'a person has typed on its line'
    press Enter
    eventually says '"half","done"'
    ok send "$ID" solo 'ask make'
    eventually is waiting
    refuses 'it '
    typed y
    eventually says 'I know: one CW-OTTER, half, ask make'
    ok send "$ID" solo "work $T/go"
    eventually is working
    refuses 'it is working'
    touch "$T/go"
    eventually is idle
    ok send "$ID" solo 'later this'
    eventually says 'later this"'
    eventually is idle
    refuses 'a task of it goes on behind its turn'
    ok send "$ID" solo "leave $MARK"
    eventually says "leave $MARK\"" && eventually is idle
    refuses 'process '
    pkill -f "sleep $MARK"
    eventually sleeps
    ask solo '{"do":"wake"}' >/dev/null
    eventually is idle
    rm "$HOME"/.teller/*-*
    refuses 'its program has not kept its session'
}

@test "hibernate puts it to sleep, and one that was an ACP agent and tells nothing starts" {
    echo 'hibernate = 1s' >>"$ROOT/mas.ini"
    rested
    eventually is asleep
    ok send "$ID" solo two
    eventually says 'I know: one CW-OTTER, two'
    eventually is asleep
    ok stop "$ID"
    [ -e "$DIR/run/solo.asleep" ]
    sed -i '/^told\./d' "$ROOT/mas.ini" # it tells nothing any more
    sed -i 's/^command = .*/command = cat/' "$ROOT/mas.ini"
    ok start "$ID"
    eventually is idle
    [ ! -e "$DIR/run/solo.asleep" ]
}

# limited WORDS: the provider refuses each prompt from now on.
limited() {
    mkdir -p "$HOME/.teller"
    printf '%s' "$1" >"$HOME/.teller/limited"
}
unlimited() { rm "$HOME/.teller/limited"; }
limits() { printf 'API Error: 429. Please try again in %s.' "$1" >"$HOME/.teller/limited$2"; } # a login
asked() { history | grep -cF -- "[\"user\",null,\"$1\","; }

# memory PID...: what the processes have for themselves and their part of what they share, in KiB
memory() { for pid; do cat "/proc/$pid/smaps_rollup"; done | awk '/^Pss:/ { sum += $2 } END { print sum }'; }
agents() { "$MAS" status "$ID" --json | jq -r ".sessions[0].agents[] | $1"; }
counts() { [ "$(agents .state | grep -cx "$1")" -eq "$2" ]; }

@test "13 sleep in less than 60 MB, and a message or a key wakes one with its session" {
    new_session -t default --agent teller
    eventually counts idle 13
    for agent in $(agents .id); do ok ask "$ID" "$agent" "word of $agent"; done
    eventually counts idle 13
    pids=$(agents .pid)
    ok sleep "$ID"
    counts asleep 13
    for pid in $pids; do run ! kill -0 "$pid"; done
    mapfile -t hosts < <(tm list-panes -s -t "=mas-${ID:0:8}:" -F '#{pane_pid}')
    [ "${#hosts[@]}" -eq 13 ]
    [ -n "${TEST_SAN-}" ] || [ "$(memory "${hosts[@]}" $(pgrep -P "$(IFS=, && echo "${hosts[*]}")"))" -lt $((60 << 10)) ]
    first=$(agents .id | head -n 1)
    ok ask "$ID" "$first" 'and now'
    [[ $output == *"I know: word of $first, and now"* ]]
    counts asleep 12
    tm send-keys -t "$(tm list-panes -s -t "=mas-${ID:0:8}:" -F '#{pane_id}' | tail -n 1)" -l x
    eventually counts asleep 11
    eventually counts idle 2
    [ "$(grep -c -- '"--resume"' "$OUT")" -eq 2 ]
}

@test "a message that the provider refuses is typed again when the provider takes prompts" {
    team
    limited 'API Error: 429. Please try again in 4s.'
    ok send "$ID" solo one
    eventually is limited
    [ "$(of_agent untilMs)" -gt 0 ]
    [[ $(of_agent note) == 'its provider takes no prompts until '* ]]
    [ "$(of_agent queued)" -eq 1 ]
    says 'a limit of the provider: API Error: 429. Please try again in 4s.; mas sends the prompt again when the provider takes prompts again, at '
    ok send "$ID" solo two
    unlimited
    within 30 says '["agent",null,"I know: one, one, two","done"]'
    eventually is idle
    [ "$(asked one)" -eq 2 ]
    [ "$(asked two)" -eq 1 ]
    [ "$(history | grep -c 'a limit of the provider')" -eq 1 ]
}

@test "what a person has typed is left to the person, and messages wait also behind a kill" {
    team
    limited 'API Error: 429. Please try again in 6s.'
    typed mine
    eventually is limited
    says '["user",null,"mine","failed"]'
    says 'whoever typed the prompt asks it again, and mas sends others when the provider takes prompts again'
    ok send --json "$ID" solo two
    [ "$(jq -r '.agents[0].outcome' <<<"$output")" = queued ]
    tm kill-server
    ok start --crashed
    find_agent
    eventually is limited
    unlimited
    [ "$(asked two)" -eq 0 ]
    within 30 says 'I know: mine, two'
    [ "$(asked mine)" -eq 1 ]
}

@test "agents with one login wait together, and a person may try" {
    team
    first=$ID
    team
    limited 'API Error: 529 Overloaded'
    typed mine
    eventually is limited
    [[ $(of_agent note) == 'its provider takes no prompts; retry at '* ]]
    second=$ID ID=$first
    ok send "$ID" solo one
    eventually is limited
    says 'another agent with the same login was told to wait'
    ID=$second
    unlimited
    typed again
    eventually says 'I know: mine, again'
    eventually is idle
    ID=$first
    eventually says 'I know: one'
}

@test "a program on a terminal goes on with the next account, with its session, and a person's line goes first" {
    mkdir -p "$HOME/.teller"
    printf 'accounts = work home\n[account work]\nenv.LOGIN = work\n[account home]\nenv.LOGIN = home\n' >>"$ROOT/mas.ini"
    chmod 600 "$ROOT/mas.ini"
    team
    ok ask "$ID" solo zero
    limits 1h work
    # a line that was begun while mas's message was refused
    touch "$HOME/.teller/begins"
    ok send "$ID" solo one
    has_read() { grep -qx "$1" "$HOME"/.teller/*-*; }
    eventually has_read one
    press -l half
    eventually screen_has half
    rm "$HOME/.teller/begins"
    has_account() { [ "$(of_agent account)" = "$1" ]; }
    eventually has_account home
    press Enter
    eventually says '["user",null,"half","failed"]'
    within 30 says '["agent",null,"I know: zero, one, half, one","done"]'
    has_account home
    [ "$(asked one)" -eq 2 ]
    [ "$(grep -c -- '"--resume"' "$OUT")" -eq 1 ]
    # what a person has asked there is the person's to ask again, behind what is on the line already
    limits 1h home
    rm "$HOME/.teller/limitedwork"
    find "$ROOT/sessions/.limits" -type f -delete
    eventually is idle
    touch "$HOME/.teller/begins" # the line is there when the refusal comes: else it starts anew at once
    press -l two
    press Enter
    eventually has_read two
    press -l more
    eventually screen_has more
    rm "$HOME/.teller/begins"
    eventually has_account work
    [ "$(grep -c -- '"--resume"' "$OUT")" -eq 1 ]
    # a line that was entered is a turn soon; that it is refused says nothing of the next account
    touch "$HOME/.teller/begins"
    press Enter
    eventually has_read more
    rm "$HOME/.teller/begins"
    eventually says '["user",null,"more","failed"]'
    resumed() { [ "$(grep -c -- '"--resume"' "$OUT")" -eq 2 ]; }
    within 30 resumed
    eventually is idle
    [ "$(asked two)" -eq 1 ]
    ok send "$ID" solo three
    within 30 says '["agent",null,"I know: zero, one, half, one, two, more, three","done"]'
    has_account work
}
