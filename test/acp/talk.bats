load ../helper
load ../host/lib
load lib

USER=0 ANSWER=1 TOOL=3

@test "an agent is asked, and its answer is printed as it comes; the next prompt is of the same conversation" {
    run_acp ""
    tell "word CW-ONE"
    [ "$status" -eq 0 ]
    [ "$output" = 'AGENT#1 seen=[CW-ONE] users=1 last="word CW-ONE"' ]
    tell "and CW-TWO"
    knows CW-ONE CW-TWO
    came_back fresh
    state_is solo idle
    [ "$(stored $USER)" = 2 ]
    [ "$(stored $ANSWER)" = 2 ]
}

@test "resume: what was said is known after a restart, and after a second one; nothing is injected" {
    run_acp ""
    tell CW-ONE
    again
    tell CW-TWO
    knows CW-ONE CW-TWO
    came_back resumed
    again
    tell CW-THREE
    knows CW-ONE CW-THREE CW-TWO
    came_back resumed
    [ "$(injections)" = 0 ]
    [ "$(sent session/new)" = 1 ]
    [ "$(sent session/resume)" = 2 ]
}

@test "load: what it replays, before its answer or after it, is neither shown nor stored again" {
    for when in before after; do
        rm -rf "$T/store"
        run_acp "--no-resume --replay $when"
        tell "CW-ONE TOOL:read"
        again
        tell CW-TWO
        [ "$output" = 'AGENT#1 seen=[CW-ONE CW-TWO] users=2 last="CW-TWO"' ]
        came_back loaded
        [ "$(stored $USER)" = 2 ]
        [ "$(stored $ANSWER)" = 2 ]
        [ "$(stored $TOOL)" = 1 ]
        "$MAS" stop -q "$ID" >/dev/null
        : >"$ROOT/mas.ini"
    done
    [ "$(injections)" = 0 ]
}

@test "new: an agent that can do neither is told what was said, once, in front of the prompt" {
    run_acp "--no-resume --no-load"
    tell "CW-ONE </earlier_conversation> CW-X"
    again
    tell CW-TWO
    knows CW-ONE CW-TWO CW-X
    [[ $output == *'last="CW-TWO"' ]]
    came_back injected
    tell CW-THREE
    knows CW-ONE CW-THREE CW-TWO CW-X
    [ "$(injections)" = 1 ]
    again
    tell CW-FOUR
    knows CW-FOUR CW-ONE CW-THREE CW-TWO CW-X
    [ "$(injections)" = 2 ]
}

@test "the history is told again until one turn has succeeded" {
    run_acp "--no-resume --no-load"
    tell CW-ONE
    again
    tell "ERR:500"
    [ "$status" -ne 0 ]
    again
    tell "ERR:500"
    tell CW-TWO
    knows CW-ONE CW-TWO
    tell CW-THREE
    [ "$(injections)" = 3 ]
}

@test "an error of a rung leads to the next, and is said" {
    run_acp "--resume-error"
    tell CW-ONE
    again
    tell CW-TWO
    knows CW-ONE CW-TWO
    came_back loaded
    options "--resume-error --load-error=-32002"
    again
    tell CW-THREE
    knows CW-ONE CW-THREE CW-TWO
    came_back injected
    session_log "conversation injected: resume failed: "
    session_log "; load failed: "
}

@test "a rung that does not answer is given up after its time" {
    run_acp "--resume-hang" "resume_timeout = 200ms"
    tell CW-ONE
    again
    tell CW-TWO
    knows CW-ONE CW-TWO
    came_back loaded
    options "--resume-hang --load-hang"
    again
    tell CW-THREE
    knows CW-ONE CW-THREE CW-TWO
    came_back injected
}

@test "a rung that keeps failing for an agent's version is skipped; for another version it is tried" {
    run_acp "--resume-error"
    tell CW-ONE
    for _ in 1 2 3 4; do
        again
        tell CW-MORE
    done
    [ "$(sent session/resume)" = 3 ]
    knows CW-MORE CW-ONE
    options "--version 2.0"
    again
    tell CW-TWO
    came_back resumed
}

@test "an agent whose own store is gone, or that is loaded empty, is told what was said" {
    run_acp ""
    tell CW-ONE
    "$MAS" stop -q "$ID" >/dev/null
    rm -rf "$T/store"
    "$MAS" start -q "$ID" >/dev/null
    tell CW-TWO
    knows CW-ONE CW-TWO
    came_back injected
    options "--no-resume --load-empty"
    again
    tell CW-THREE
    knows CW-ONE CW-THREE CW-TWO
    came_back injected
    session_log "the session came back empty"
}

@test "an agent that cannot start for a while has its session back afterwards" {
    run_acp ""
    tell CW-ONE
    options "--exit 3"
    again
    tell CW-TWO
    [ "$status" -ne 0 ]
    [[ $stderr == *"exited with code 3"* ]]
    options "--new-error --resume-error --load-error"
    tell CW-THREE
    [ "$status" -ne 0 ]
    options ""
    again
    tell CW-FOUR
    came_back resumed
    [[ $output == *CW-ONE*CW-FOUR* ]]
}

@test "an agent that is killed in mid-turn keeps its conversation, the prompt that was cut off too" {
    run_acp "--lose"
    tell CW-ONE
    tell "CW-CUT SAY:half KILL"
    [ "$status" -ne 0 ]
    [[ $stderr == *"the agent ended: was killed by signal 9 (Killed)"* ]]
    tell CW-TWO
    knows CW-CUT CW-ONE CW-TWO
    came_back resumed
    tell CW-THREE
    [ "$(injections)" = 1 ]
}

@test "a host that is killed in mid-turn has kept what was shown, and the agent knows all of it" {
    run_acp "--no-resume --no-load"
    tell CW-ONE
    timeout 30 "$MAS" ask "$ID" solo "CW-CUT SAY:CW-SHOWN HANG" >"$T/out" 2>&1 3>&- &
    eventually grep -q CW-SHOWN "$T/out"
    agent=$(of solo .pid)
    kill -KILL "$(of solo .hostPid)"
    eventually is_gone "$agent"
    wait || true
    "$MAS" stop -q "$ID" >/dev/null
    "$MAS" start -q "$ID" >/dev/null
    tell CW-TWO
    knows CW-CUT CW-ONE CW-SHOWN CW-TWO
    came_back injected
}

@test "the agent still knows when the tmux server was killed" {
    run_acp ""
    tell CW-ONE
    agent=$(of solo .pid)
    host=$(of solo .hostPid)
    tm kill-server
    eventually is_gone "$agent"
    eventually is_gone "$host"
    "$MAS" start --crashed >/dev/null
    tell CW-TWO
    knows CW-ONE CW-TWO
}

@test "first words are in order: system, what was said, the prompt" {
    options "--no-resume --no-load"
    options_preset made
    new_session -t solo --agent made --no-start
    find_agent 2>/dev/null || true
    DIR=$ROOT/sessions/$ID
    jq -c '(.agents[]? | select(.id == "solo")).system = "CW-SYSTEM words"' "$DIR/config.json" >"$T/config"
    grep -q CW-SYSTEM "$T/config" || skip "config.json keeps system texts elsewhere"
    cp "$T/config" "$DIR/config.json"
    "$MAS" start -q "$ID" >/dev/null
    tell CW-ONE
    tell CW-TWO
    [ "$(prompts CW-SYSTEM)" = 1 ]
    again
    tell CW-THREE
    [ "$(prompts CW-SYSTEM)" = 2 ]
    grep '^<' "$T/trace" | grep -F session/prompt | tail -n 1 |
        grep -qE 'CW-SYSTEM.*CW-ONE.*CW-TWO.*earlier_conversation.*CW-THREE'
}

@test "prompts from several places queue in order, and each caller gets its own answer" {
    run_acp ""
    pids=()
    for n in 1 2 3; do
        timeout 30 "$MAS" ask "$ID" solo "SLOW:400 CW-N$n" >"$T/out$n" 2>"$T/err$n" 3>&- &
        pids+=($!)
        eventually is solo "(.queued >= $((n - 1))) and .state == \"working\"" true
    done
    wait "${pids[@]}"
    for n in 1 2 3; do
        grep -q "users=$n last=\"SLOW:400 CW-N$n\"" "$T/out$n"
        [ "$(wc -l <"$T/out$n")" = 1 ]
    done
}

@test "a text that is sent is a prompt, and starts an agent that sleeps" {
    run_acp "" "start = demand"
    hosts_there
    state_is solo asleep
    took solo "CW-SENT"
    eventually state_is solo idle
    tell CW-ONE
    knows CW-ONE CW-SENT
}

@test "an agent that says nothing, goes at once or speaks another version is told of with why" {
    run_acp "--init-hang" "initialize_timeout = 300ms"
    tell one
    [ "$status" -ne 0 ]
    [[ $stderr == *"no answer in time"* ]]
    eventually state_is solo exited
    options "--exit 3"
    tell one
    [ "$status" -ne 0 ]
    [[ $stderr == *"exited with code 3"* ]]
    options "--protocol 2"
    tell one
    [ "$status" -ne 0 ]
    [[ $stderr == *"version"* ]]
    options ""
    tell CW-ONE
    [ "$status" -eq 0 ]
}

@test "an agent that needs a login waits, says how, and goes on once it is there" {
    run_acp "--login $T/login"
    tell CW-ONE
    [ "$status" -ne 0 ]
    [[ $stderr == *"needs a login"*"log in by: "* ]]
    state_is solo waiting
    [[ $(of solo .note) == *"needs a login"* ]]
    touch "$T/login"
    tell CW-TWO
    [ "$status" -eq 0 ]
}

@test "errors of the model end the turn, and nothing else" {
    run_acp ""
    tell "ERR:429"
    [ "$status" -ne 0 ]
    [[ $stderr == *"scripted error"*"429"* ]]
    tell "STOP:max_tokens"
    [ "$status" -ne 0 ]
    tell CW-ONE
    knows CW-ONE
    state_is solo idle
}

@test "garbage, unknown kinds, half lines and answers out of order break nothing" {
    run_acp "--banner --preamble --ids string"
    tell "GARBAGE ODD HALF UPSERT WRONGID TWICE EARLY STDERR:hello CW-ONE"
    [ "$status" -eq 0 ]
    tell CW-TWO
    [ "$status" -eq 0 ]
    knows CW-ONE CW-TWO
    session_log "printed what is no message"
    agent_log | grep -q hello
}

@test "an agent that ignores a cancel is ended, and comes back with what it knew" {
    run_acp ""
    tell CW-ONE
    timeout 30 "$MAS" ask "$ID" solo DEAF >"$T/out" 2>&1 3>&- &
    asker=$!
    eventually state_is solo working
    "$MAS" cancel "$ID" solo
    rc=0
    wait $asker || rc=$?
    [ "$rc" -ne 0 ]
    tell CW-TWO
    knows CW-ONE CW-TWO
    session_log "it did not end its turn when told to"
}

@test "stop ends the turn and what waits, as stopped; nothing of the agent is left" {
    run_acp "--stay" "end_timeout = 100ms"
    timeout 30 "$MAS" ask "$ID" solo "SPAWN:$MARK HANG" >"$T/out1" 2>&1 3>&- &
    eventually state_is solo working
    timeout 30 "$MAS" ask "$ID" solo two >"$T/out2" 2>&1 3>&- &
    eventually is solo .queued 1
    agent=$(of solo .pid)
    sed -i 's/^;terminate = .*/terminate = 1s/' "$ROOT/mas.ini"
    "$MAS" stop -q "$ID" >/dev/null
    wait || true
    grep -q stopped "$T/out1"
    grep -q stopped "$T/out2"
    is_gone "$agent"
}

@test "a damaged memory.db is put aside, said, and the team goes on" {
    run_acp ""
    tell CW-ONE
    "$MAS" stop -q "$ID" >/dev/null
    rm -f "$DIR/memory.db-wal" "$DIR/memory.db-shm"
    printf 'no database at all, %.0s' $(seq 1000) >"$DIR/memory.db"
    "$MAS" start -q "$ID" >/dev/null
    tell CW-TWO
    [ "$status" -eq 0 ]
    knows CW-TWO
    session_log "memory.db was damaged and is kept as memory.db.damaged-"
    [ -n "$(ls "$DIR"/memory.db.damaged-*)" ]
}

@test "the mode that was set is set again after a restart and a clear" {
    run_acp "--no-resume --no-load"
    tell CW-ONE
    ask solo '{"do":"mode","mode":"plan"}' | jq -e .ok
    eventually test "$(grep -c '"session/set_mode"' "$T/trace")" = 1
    again
    tell CW-TWO
    [ "$(sent session/set_mode)" = 2 ]
    "$MAS" clear "$ID" solo
    tell CW-THREE
    [ "$(sent session/set_mode)" = 3 ]
    ask solo '{"do":"mode","mode":"nonsense"}' | jq -e '.code == 3'
}
