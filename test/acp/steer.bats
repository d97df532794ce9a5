load ../helper
load ../host/lib
load lib

# busy WORDS: the agent is in a turn that ends when it is steered.
busy() {
    "$MAS" ask "$ID" solo --no-wait "$* STEERED"
    eventually was_asked STEERED
}

was_asked() { [ "$(prompts "$1")" -gt 0 ]; }

now() { run --separate-stderr timeout 60 "$MAS" send "$ID" solo --now "$@"; }

rests() { is solo .queued 0 && state_is solo idle; }

# user TEXT FILTER: the prompt with this text is in the history once, and the filter holds for it.
user() {
    "$MAS" history "$ID" solo --json | jq -e --arg text "$1" \
        "[.messages[] | select(.role == \"user\" and (.text | contains(\$text)))] | length == 1 and (.[0] | $2)" >/dev/null
}

@test "send --now: the model sees the text in the same turn, and both prompts end with it" {
    run_acp --steer
    busy CW-FIRST
    now --json CW-NOW
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(jq -r '.agents[0].outcome' <<<"$output")" = steered ]
    eventually rests
    [ "$(sent session/prompt)" -eq 1 ]
    "$MAS" history "$ID" solo --json | jq -e '
        [.messages[] | select(.role == "agent")] | length == 1 and
        (.[0].text | contains("AGENT#1 seen=[CW-FIRST CW-NOW]"))' >/dev/null
    user CW-NOW '.stopReason == "end_turn"'
    again
    tell CW-LATER
    knows CW-FIRST CW-LATER CW-NOW
    [ "$(prompts CW-NOW)" -eq 0 ] # the words in between were all
}

@test "send --now --wait ends with the turn, and an agent that is idle just begins one" {
    run_acp --steer
    busy CW-FIRST
    now --wait CW-NOW
    [ "$status" -eq 0 ]
    rests
    now --json CW-IDLE
    [ "$(jq -r '.agents[0].outcome' <<<"$output")" = delivered ]
    eventually rests
    [ "$(sent _session/steering)" -eq 1 ]
}

@test "send --now to an agent that takes nothing in a turn: it queues, and says so" {
    run_acp ""
    "$MAS" ask "$ID" solo --no-wait "CW-FIRST HANG"
    eventually was_asked HANG
    now --json CW-NOW
    [ "$status" -eq 0 ]
    [[ $stderr == *"agent 'solo' gets the text after its turn: it takes nothing in the middle of a turn"* ]]
    jq -e '.agents[0] | .outcome == "queued" and (.why | test("takes nothing"))' <<<"$output" >/dev/null
    [ "$(sent _session/steering)" -eq 0 ]
    "$MAS" cancel "$ID" solo
    eventually rests
    [ "$(prompts CW-NOW)" -eq 1 ]
    user CW-NOW '.stopReason == "end_turn"'
}

@test "send --now that the agent refuses, or answers with nonsense: it queues, is asked once, and mas goes on" {
    local how n=0
    run_acp ""
    for how in "--steer --steer-error" "--steer promptRequired" "--steer long" "--steer promptRequired --steer-twice"; do
        options "$how"
        again
        n=$((n + 1))
        "$MAS" ask "$ID" solo --no-wait "CW-FIRST$n HANG"
        eventually was_asked "CW-FIRST$n"
        now "CW-NOW$n"
        [ "$status" -eq 0 ]
        [[ $stderr == *"gets the text after its turn"* ]]
        is solo .queued 1
        "$MAS" cancel "$ID" solo
        eventually rests
        [ "$(prompts "CW-NOW$n")" -eq 1 ]
    done
}

# next_host: the host is killed in the middle, and another one goes on.
next_host() {
    kill -KILL "$(of solo .hostPid)"
    "$MAS" stop -q "$ID" >/dev/null
    "$MAS" start -q "$ID" >/dev/null
    hosts_there
}

@test "send --now that queues is asked by the next host when this one is killed" {
    run_acp "--steer promptRequired"
    "$MAS" ask "$ID" solo --no-wait "CW-FIRST HANG"
    eventually was_asked CW-FIRST
    now CW-NOW
    [[ $stderr == *"gets the text after its turn"* ]]
    next_host
    eventually prints 1 prompts CW-NOW
    eventually rests
    user CW-NOW '.stopReason == "end_turn"'
}

@test "send --now answered twice counts once" {
    run_acp "--steer --steer-twice"
    busy CW-FIRST
    now CW-NOW
    [ "$status" -eq 0 ]
    eventually rests
    user CW-NOW '.stopReason == "end_turn"'
    tell CW-LATER
    knows CW-FIRST CW-LATER CW-NOW
}

@test "send --now taken after the turn has ended: it is not asked again, and the next prompt waits for that" {
    run_acp "--steer --steer-until $T/go"
    "$MAS" ask "$ID" solo --no-wait "CW-FIRST HANG"
    eventually was_asked HANG
    "$MAS" send "$ID" solo --now CW-NOW >"$T/out" 2>&1 3>&- &
    local pid=$!
    eventually was_sent _session/steering
    options "--steer"
    "$MAS" cancel "$ID" solo
    eventually is solo .queued 1
    : >"$T/go"
    wait "$pid"
    [ ! -s "$T/out" ] || [[ $(<"$T/out") == *"gets the text after"* ]]
    eventually rests
    [ "$(prompts CW-NOW)" -le 1 ]
    user CW-NOW '.stopReason == "end_turn"'
}

@test "send --now without an answer: after a while it queues and is asked in a turn of its own" {
    run_acp "--steer --steer-hang"
    "$MAS" ask "$ID" solo --no-wait "CW-FIRST HANG"
    eventually was_asked HANG
    now CW-NOW
    [ "$status" -eq 0 ]
    [[ $stderr == *"gets the text after its turn: no answer in time"* ]]
    "$MAS" cancel "$ID" solo
    eventually rests
    user CW-NOW '.stopReason == "end_turn"'
}

@test "the agent ends before it answers send --now: the next process is asked" {
    run_acp "--steer --steer-hang"
    "$MAS" ask "$ID" solo --no-wait "CW-FIRST HANG"
    eventually was_asked HANG
    "$MAS" send "$ID" solo --now CW-NOW >"$T/out" 2>&1 3>&- &
    local pid=$!
    eventually was_sent _session/steering
    options --steer
    kill -KILL "$(of solo .pid)"
    wait "$pid"
    [[ $(<"$T/out") == *"gets the text after its turn"* ]]
    eventually rests
    user CW-NOW '.stopReason == "end_turn"'
}

@test "the host is killed before the agent answers send --now: the text is kept, and the next prompt tells it" {
    run_acp "--steer --steer-hang"
    "$MAS" ask "$ID" solo --no-wait "CW-FIRST HANG"
    eventually was_asked HANG
    "$MAS" send "$ID" solo --now CW-NOW >"$T/out" 2>&1 3>&- &
    local pid=$!
    eventually was_sent _session/steering
    kill -KILL "$(of solo .hostPid)"
    wait "$pid" || true
    "$MAS" stop -q "$ID" >/dev/null
    "$MAS" start -q "$ID" >/dev/null
    hosts_there
    tell CW-LATER
    [[ $output == *"CW-NOW"* ]]
    user CW-NOW true
}

@test "a cancel and a clear end the prompts that the agent took in the turn" {
    run_acp --steer
    "$MAS" ask "$ID" solo --no-wait "CW-FIRST STEERED HANG"
    eventually was_asked STEERED
    now CW-NOW
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    "$MAS" cancel "$ID" solo
    eventually rests
    user CW-NOW '.stopReason == "cancelled"'
    "$MAS" ask "$ID" solo --no-wait "CW-SECOND STEERED HANG"
    eventually was_asked CW-SECOND
    "$MAS" cancel "$ID" solo
    "$MAS" clear "$ID" solo
    eventually rests
    tell CW-LAST
    knows CW-LAST
}

@test "send --now after a restart: a prompt of the same conversation that waits is not in the way" {
    run_acp --steer
    "$MAS" ask "$ID" solo --no-wait "CW-FIRST STEERED"
    eventually was_asked CW-FIRST
    "$MAS" ask "$ID" solo --no-wait "CW-SECOND STEERED"
    "$MAS" ask "$ID" solo --no-wait CW-THIRD
    again
    eventually was_asked CW-SECOND
    is solo .queued 1
    now --json CW-NOW
    [ "$(jq -r '.agents[0].outcome' <<<"$output")" = steered ]
    eventually rests
    [ "$(prompts CW-NOW)" -eq 0 ]
    # one of another conversation is
    "$MAS" ask "$ID" solo --no-wait "CW-FOURTH STEERED"
    eventually was_asked CW-FOURTH
    "$MAS" ask "$ID" solo --new --no-wait CW-FIFTH
    now --json CW-LATE
    [ "$(jq -r '.agents[0].why' <<<"$output")" = 'another conversation waits for its turn' ]
    "$MAS" cancel "$ID" solo
    eventually rests
}

@test "a turn that a limit refuses gives back the prompts that the agent took in it, to the next host, too" {
    printf '[limits]\nretry = 1s\n' >>"$ROOT/mas.ini"
    : >"$T/limit"
    run_acp "--steer --limited $T/limit"
    "$MAS" ask "$ID" solo --no-wait "CW-FIRST OWN:\"until [ -e $T/go ]; do sleep 0.02; done\" LIMITED"
    eventually was_asked CW-FIRST
    now "CW-ONE HANG"
    now CW-TWO
    touch "$T/go"
    eventually state_is solo limited
    is solo .queued 3
    rm "$T/limit"
    # each in a turn of its own, in their order
    eventually was_asked CW-ONE
    [ "$(grep '^<' "$TRACE" | grep -F session/prompt | grep -o 'CW-[A-Z]*' | xargs)" = 'CW-FIRST CW-FIRST CW-ONE' ]
    kill -KILL "$(of solo .hostPid)"
    again
    eventually user CW-TWO '.stopReason == "end_turn"'
    user CW-FIRST '.stopReason == "end_turn"'
    [ "$(prompts CW-TWO)" = 1 ]
}

@test "send --now refuses what it cannot mean" {
    run_acp --steer
    now --no-enter text
    [ "$status" -eq 2 ]
    [[ $stderr == *"--now with --no-enter"* ]]
}

@test "/now in the pane: the text is seen in the present turn, or the pane says why not" {
    run_acp --steer
    eventually state_is solo idle
    type_line 'CW-FIRST STEERED'
    eventually was_asked STEERED
    type_line '/now CW-NOW'
    eventually shows '› CW-NOW'
    eventually shows 'seen=[CW-FIRST CW-NOW] users=1'
    options ""
    again
    eventually state_is solo idle
    type_line 'CW-SECOND HANG'
    eventually was_asked CW-SECOND
    type_line '/now CW-LATER'
    eventually shows 'queued: it takes nothing in the middle of a turn'
    type_line '/cancel'
    eventually was_asked CW-LATER
}
