load ../helper
load ../host/lib
load lib

aside() { run --separate-stderr timeout 60 "$MAS" ask "$ID" solo --aside "$@"; }

# untouched: the conversation is as it was when $T/before was written.
remember() { "$MAS" history "$ID" solo --json >"$T/before"; }
untouched() { "$MAS" history "$ID" solo --json | diff "$T/before" -; }

kept() { find "$STORE" -name '*.json' | wc -l; }

@test "ask --aside: a copy knows what was said, and nothing of it is in the conversation" {
    run_acp "--fork --delete"
    tell CW-ONE
    remember
    aside CW-ASIDE
    [ "$status" -eq 0 ]
    knows CW-ASIDE CW-ONE
    untouched
    eventually prints 1 kept # the agent has forgotten the copy
    tell CW-TWO
    knows CW-ONE CW-TWO
    run ! grep -rqF CW-ASIDE "$ROOT"
    "$MAS" search CW-ASIDE --json | jq -e '.total == 0' >/dev/null
    again
    tell CW-THREE
    knows CW-ONE CW-THREE CW-TWO
}

@test "ask --aside while the agent works: its turn goes on" {
    run_acp "--fork"
    "$MAS" ask "$ID" solo --no-wait "CW-ONE HANG"
    eventually state_is solo working
    aside CW-ASIDE
    [ "$status" -eq 0 ]
    [[ $output == *"CW-ASIDE"* ]]
    state_is solo working
    "$MAS" cancel "$ID" solo
    [ "$(sent session/close)" -eq 1 ]
}

@test "ask --aside --json has the events of the answer alone, and nobody else gets them" {
    run_acp "--fork"
    tell CW-ONE
    timeout 60 python3 -ES "$PROJECT/test/host/ask.py" "$DIR/run" solo '{"do":"listen"}' >"$T/heard" 3>&- &
    local pid=$!
    aside --json CW-ASIDE
    [ "$status" -eq 0 ]
    [ "$(jq -rs 'map(.event) | unique | join(" ")' <<<"$output")" = "end text" ]
    kill "$pid"
    run ! grep -q CW-ASIDE "$T/heard"
}

@test "ask --aside of an agent that does not run, sleeps, or does not know the conversation yet" {
    run_acp "--fork"
    tell CW-ONE
    "$MAS" sleep "$ID" solo >/dev/null
    aside CW-SLEPT
    knows CW-ONE CW-SLEPT
    options "--fork --no-resume --no-load"
    again
    eventually came_back injected
    aside CW-EMPTY
    [[ $output == *CW-ONE* ]]
    tell CW-TWO
    [ "$(injections)" -eq 2 ]
}

@test "ask --aside to an agent that copies no sessions is refused, and says what to do" {
    run_acp ""
    tell CW-ONE
    remember
    aside CW-ASIDE
    [ "$status" -eq 4 ]
    [[ $stderr == *"cannot ask agent 'solo': it cannot copy its session"*"ask it in its conversation: mas ask "* ]]
    "$MAS" sleep "$ID" solo >/dev/null
    aside CW-ASIDE
    [ "$status" -eq 1 ]
    [[ $stderr == *"it cannot copy its session"* ]]
    run ! grep -rqF CW-ASIDE "$ROOT"
}

@test "ask --aside that the agent answers badly fails, and leaves the conversation alone" {
    local how
    run_acp "--fork"
    tell CW-ONE
    for how in "--fork same" "--fork none" "--fork --fork-error"; do
        options "$how"
        again
        remember
        aside CW-ASIDE
        [ "$status" -eq 1 ]
        untouched
        [ "$(prompts CW-ASIDE)" -eq 0 ]
    done
    options --fork
    again
    aside ERR:-32603
    [ "$status" -eq 1 ]
    aside TWICE CW-TWICE
    [ "$status" -eq 0 ]
    aside LATE:0 CW-LATE
    [ "$status" -eq 0 ]
    aside DIE
    [ "$status" -eq 1 ]
    [[ $stderr == *"the agent ended"* ]]
    tell CW-TWO
    knows CW-ONE CW-TWO
}

@test "a copy changes nothing: it may read files, and gets no permission, no programs and no tools" {
    run_acp "--fork"
    tell CW-ONE
    echo words >"$DIR/unit/solo/file"
    aside "ASK READ:$DIR/unit/solo/file WRITE:$DIR/unit/solo/new=text RUN:true"
    [[ $output == *"permit=no-1"*"words"*"write=error-32602 run=error-32602"* ]] || { echo "$output $stderr"; false; }
    [ ! -e "$DIR/unit/solo/new" ]
    grep '^<' "$TRACE" | grep -F session/fork | head -n 1 | cut -c3- | jq -e '.params.mcpServers == []' >/dev/null
    [ "$(of solo .permission)" = null ]
}

@test "Ctrl-C, a time that is up and a client that is gone cancel the copy's turn" {
    run_acp "--fork"
    tell CW-ONE
    aside --timeout 1s HANG
    [ "$status" -eq 7 ]
    eventually prints 1 sent session/cancel
    "$MAS" ask "$ID" solo --aside HANG 3>&- &
    local pid=$!
    eventually prints 2 sent session/fork
    kill -KILL "$pid"
    eventually prints 2 sent session/close
    state_is solo idle
}

@test "four copies are asked at the same time, and a fifth is refused" {
    run_acp "--fork"
    tell CW-ONE
    local n pids=()
    for n in 1 2 3 4; do
        "$MAS" ask "$ID" solo --aside HANG >/dev/null 2>&1 3>&- &
        pids+=($!)
    done
    eventually prints 4 sent session/fork
    aside CW-TWO
    [ "$status" -eq 4 ]
    [[ $stderr == *"4 copies of its session are being asked"* ]]
    [ "$(sent session/fork)" -eq 4 ]
    kill "${pids[0]}"
    eventually prints 1 sent session/close
    aside CW-TWO
    [ "$status" -eq 0 ]
    kill "${pids[@]:1}"
}

@test "ask --aside refuses what it cannot mean" {
    run_acp "--fork"
    local with
    for with in --new --no-wait "--tag a:b" "--conversation 00000000-0000-4000-8000-000000000000"; do
        # shellcheck disable=SC2086 # words
        aside $with text
        [ "$status" -eq 2 ]
    done
}
