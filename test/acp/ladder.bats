load ../helper
load ../host/lib
load lib

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
        [ "$(stored 0)" = 2 ]
        [ "$(stored 1)" = 2 ]
        [ "$(stored 3)" = 1 ]
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
    run_acp "--resume-hang" "resume_timeout = 1s"
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
    options ""
    options_preset made
    new_session -t solo --agent made --no-start
    DIR=$ROOT/sessions/$ID
    jq -c '(.. | objects | select(.id? == "solo" and .role?)).system = "CW-SYSTEM words"' "$DIR/config.json" >"$T/config"
    grep -q CW-SYSTEM "$T/config"
    cp "$T/config" "$DIR/config.json"
    "$MAS" start -q "$ID" >/dev/null
    eventually came_back fresh
    again # a session that nothing was said in comes back
    tell CW-ONE
    tell CW-TWO
    [ "$(prompts CW-SYSTEM)" = 1 ]
    options "--no-resume --no-load"
    again
    tell CW-THREE
    [ "$(prompts CW-SYSTEM)" = 2 ]
    grep '^<' "$T/trace" | grep -F session/prompt | tail -n 1 |
        grep -qE 'CW-SYSTEM.*CW-ONE.*CW-TWO.*earlier_conversation.*CW-THREE'
}
