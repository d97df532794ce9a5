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

@test "load: what it replays, before its answer, after it or late, is neither shown nor stored again" {
    for when in before after late; do
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

@test "an error of a method leads to the next, and is said" {
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

@test "a method that does not answer is given up after its time" {
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

@test "a method that keeps failing for an agent's version is skipped, which the history says; for another version it is tried" {
    run_acp "--resume-error"
    tell CW-ONE
    for _ in 1 2 3 4; do
        again
        tell CW-MORE
    done
    [ "$(sent session/resume)" = 3 ]
    knows CW-MORE CW-ONE
    notes | grep -F "conversation loaded: resume was not tried: it failed 3 times, most recently with: "
    options "--version 2.0"
    again
    tell CW-TWO
    came_back resumed
}

@test "a method that was skipped is tried again after an hour" {
    run_acp "--resume-error"
    tell CW-ONE
    for _ in 1 2 3; do again && eventually came_back loaded; done
    options ""
    again
    tell CW-TWO
    came_back loaded
    "$MAS" stop -q "$ID" >/dev/null
    change_memory "UPDATE rung SET failed = failed - 3600001"
    "$MAS" start -q "$ID" >/dev/null
    tell CW-THREE
    came_back resumed
}

@test "what fails for one agent of a team is tried for the others, and again once it works for one" {
    options "--resume-error"
    options_preset made
    new_session -t pair --agent made
    DIR=$ROOT/sessions/$ID
    "$MAS" ask "$ID" lead CW-ONE
    "$MAS" ask "$ID" reviewer CW-TWO
    for _ in 1 2 3; do "$MAS" restart "$ID" lead && eventually came lead loaded; done
    options ""
    "$MAS" restart "$ID" lead && eventually came lead loaded
    "$MAS" restart "$ID" reviewer && eventually came reviewer resumed
    "$MAS" ask "$ID" reviewer CW-THREE
    "$MAS" restart "$ID" lead && eventually came lead resumed
}

@test "sessions that are gone, and answers that take too long, do not turn a method off" {
    run_acp "--gone-error=-32603" "resume_timeout = 300ms"
    tell CW-ONE
    for _ in 1 2 3 4; do
        "$MAS" stop -q "$ID" >/dev/null
        rm -rf "$T/store"
        "$MAS" start -q "$ID" >/dev/null
        tell CW-MORE
        came_back injected
    done
    [ "$(sent session/resume)" = 4 ]
    options "--resume-hang"
    for _ in 1 2 3 4; do
        again
        eventually came_back loaded
    done
    options ""
    again
    eventually came_back resumed
}

# ---- sessions that come back and are of no use

@test "a session that fails its first prompt: the prompt goes to the next method, once and unseen" {
    run_acp ""
    tell CW-ONE
    options "--resume-broken"
    again
    ask solo '{"do":"listen"}' >"$T/events" 2>&1 3>&- &
    eventually test -s "$T/events"
    tell CW-TWO
    [ "$status" -eq 0 ]
    knows CW-ONE CW-TWO
    came_back loaded
    session_log "conversation loaded: resume failed its first prompt: "
    eventually grep -q '"event":"end"' "$T/events"
    [ "$(grep -o '"event":"prompt"' "$T/events" | wc -l)" = 1 ]
    options "--resume-broken --load-broken"
    again
    tell CW-THREE
    knows CW-ONE CW-THREE CW-TWO
    came_back injected
    options ""
    again
    tell CW-FOUR
    came_back resumed
    knows CW-FOUR CW-ONE CW-THREE CW-TWO
    [ "$(injections)" = 1 ]
}

@test "a prompt that fails with every method costs no session: the next one is for the session before" {
    run_acp ""
    tell CW-ONE
    again
    tell ERR:500
    [ "$status" -ne 0 ]
    [ "$(prompts ERR:500)" = 3 ]
    eventually came_back resumed
    tell CW-TWO
    [ "$status" -eq 0 ]
    knows CW-ONE CW-TWO
    came_back resumed
    again
    tell CW-THREE
    knows CW-ONE CW-THREE CW-TWO
    came_back resumed
    [ "$(injections)" = 2 ] # to the new session, and of the prompt that failed
}

@test "a first prompt that fails after the agent has said something is not asked twice" {
    run_acp ""
    tell CW-ONE
    again
    tell "SAY:half ERR:500"
    [ "$status" -ne 0 ]
    [ "$(prompts SAY:half)" = 1 ]
    tell CW-TWO
    knows CW-ONE CW-TWO
    came_back resumed
}

# ---- sessions of elsewhere

@test "a copy of a session beside the original has agent sessions of its own: no word crosses" {
    run_acp ""
    tell CW-ONE
    original=$ID
    "$MAS" stop -q "$ID"
    "$MAS" archive "$ID" -o "$T/one.tar.zst"
    copy=$("$MAS" restore -q "$T/one.tar.zst" --new-id)
    "$MAS" start -q "$original"
    "$MAS" start -q "$copy"
    ID=$copy DIR=$ROOT/sessions/$copy
    tell CW-COPY
    knows CW-COPY CW-ONE
    came_back injected
    notes | grep -F "its session was not used: it was opened by another session"
    ID=$original DIR=$ROOT/sessions/$original
    tell CW-TWO
    knows CW-ONE CW-TWO
    came_back resumed
    ID=$copy DIR=$ROOT/sessions/$copy
    again
    tell CW-MORE
    knows CW-COPY CW-MORE CW-ONE
    came_back resumed
}

@test "a session whose root has moved, or that is on another machine, is told what was said" {
    run_acp "--moved-broken"
    tell CW-ONE
    "$MAS" stop -q "$ID"
    mv "$ROOT" "$T/elsewhere"
    export MAS_ROOT=$T/elsewhere ROOT=$T/elsewhere
    DIR=$ROOT/sessions/$ID
    "$MAS" start -q "$ID"
    tell CW-TWO
    [ "$status" -eq 0 ]
    knows CW-ONE CW-TWO
    came_back injected
    notes | grep -F "it was opened in another directory"
    again
    tell CW-THREE
    came_back resumed
    "$MAS" stop -q "$ID"
    change_memory "UPDATE agent_session SET machine = 'another'"
    "$MAS" start -q "$ID"
    tell CW-FOUR
    knows CW-FOUR CW-ONE CW-THREE CW-TWO
    came_back injected
    notes | grep -F "it was opened on another machine"
}

@test "migrate: the agents know what was said before their directories moved" {
    options "--moved-broken"
    options_preset made
    new_session --mode legacy -t solo --agent made
    DIR=$ROOT/sessions/$ID
    tell CW-ONE
    "$MAS" migrate -q "$ID"
    DIR=$ROOT/sessions/$ID
    tell CW-TWO
    [ "$status" -eq 0 ]
    knows CW-ONE CW-TWO
    came_back injected
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

@test "a session that came back from a save of its running time says what it has lost, in show and once to the agent" {
    local at words
    acp_agent
    ok ask "$ID" solo 'remember CW-ALPHA'
    ok archive -q --live "$ID" -o "$T/live.tar.zst"
    ok ask "$ID" solo 'remember CW-BETA'
    ok rm -q -f "$ID"
    ok restore -q "$T/live.tar.zst"
    at=$("$MAS" show --json "$ID" | jq -r .lostAfter)
    [ "$at" = "$(meta "$ID" LOST_AFTER)" ]
    [ "$(("$(date -d "$at" +%s)" <= $(stat -c %Y "$T/live.tar.zst")))" -eq 1 ]
    mas show "$ID"
    [[ $output == *"lost "*" what came after the save of $at"* ]]
    ok start -q "$ID"
    words="this session was restored from its save of $at; what came after that is lost"
    for text in one two; do ok ask "$ID" solo "$text"; done
    [ "$(prompts "[message from mas: $words]")" -eq 1 ]
    [ "$("$MAS" history --json "$ID" solo | grep -oF "$words" | wc -l)" -eq 1 ]
    # nor after another start
    ok stop -q "$ID"
    ok start -q "$ID"
    ok ask "$ID" solo three
    [ "$(prompts "[message from mas: $words]")" -eq 1 ]
    # a copy has an original; and what was saved when it was stopped has lost nothing more
    ok restore -q --new-id "$T/live.tar.zst"
    [ "$("$MAS" show --json "$output" | jq -r .lostAfter)" = null ]
    ok stop -q "$ID"
    ok archive -q --rm "$ID" -o "$T/stopped.tar.zst"
    ok restore -q "$T/stopped.tar.zst"
    [ "$("$MAS" show --json "$ID" | jq -r .lostAfter)" = "$at" ]
}
