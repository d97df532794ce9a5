load ../helper
load ../host/lib
load lib

@test "an agent is asked, and its answer is printed as it comes; the next prompt is of the same conversation" {
    run_acp ""
    tell "word CW-ONE"
    [ "$status" -eq 0 ]
    [ "$output" = 'AGENT#1 seen=[CW-ONE] users=1 last="word CW-ONE"' ]
    tell "and CW-TWO"
    knows CW-ONE CW-TWO
    came_back fresh
    state_is solo idle
    [ "$(stored 0)" = 2 ]
    [ "$(stored 1)" = 2 ]
}

@test "prompts from several places queue in order, and each caller gets its own answer" {
    run_acp ""
    words=(ASK:execute two three)
    pids=()
    for n in 0 1 2; do
        timeout 30 "$MAS" ask "$ID" solo "${words[n]} CW-N$n" >"$T/out$n" 2>"$T/err$n" 3>&- &
        pids+=($!)
        eventually is solo .queued "$n"
        eventually state_is solo waiting
    done
    "$MAS" approve "$ID" solo
    wait "${pids[@]}"
    for n in 0 1 2; do
        grep -q "users=$((n + 1)) last=\"${words[n]} CW-N$n\"" "$T/out$n"
        [ "$(grep -c AGENT "$T/out$n")" = 1 ]
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

@test "who reads gets an update of any size; who does not read is hung up on, and delays nobody for long" {
    run_acp ""
    tell "BIG:6000 CW-ONE"
    [ "$status" -eq 0 ]
    [ "${#output}" -gt 6000000 ]
    python3 -ES - "$DIR/run" <<'P' >"$T/deaf" 3>&- &
import os, socket, sys, time
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
s.connect("solo.sock")
s.sendall(b'{"do":"listen"}\n')
print("connected", flush=True)
time.sleep(1000)
P
    deaf=$!
    eventually test -s "$T/deaf"
    tell "BIG:6000 CW-TWO"
    [ "$status" -eq 0 ]
    kill "$deaf"
}

@test "text without Enter is refused: a text is a whole prompt" {
    run_acp ""
    say_to solo hello ',"enter":false' | jq -e '.code == 2'
}
