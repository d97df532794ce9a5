load ../helper
load ../host/lib
load lib

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

# cut_off TEXT: a turn that is on when the host is killed; comes back with the session started anew.
cut_off() {
    local agent
    timeout 60 "$MAS" ask "$ID" solo "$1 HANG" >"$T/out" 2>&1 3>&- &
    eventually was_sent "$1"
    agent=$(of solo .pid)
    kill -KILL "$(of solo .hostPid)"
    eventually is_gone "$agent"
    wait || true
    again
}

@test "prompts that are cut off one after the other, and one that failed between, are all told again" {
    run_acp "--lose"
    tell CW-ONE
    cut_off CW-CUTA
    tell "CW-CUTB KILL"
    [ "$status" -ne 0 ]
    cut_off CW-CUTC
    tell CW-TWO
    came_back resumed
    knows CW-CUTA CW-CUTB CW-CUTC CW-ONE CW-TWO
    tell CW-THREE
    again
    tell CW-FOUR
    knows CW-CUTA CW-CUTB CW-CUTC CW-FOUR CW-ONE CW-THREE CW-TWO
    [ "$(grep '^<' "$TRACE" | tail -n 1 | grep -c earlier_conversation)" = 0 ]
}

@test "a prompt that is cut off while others wait behind it is told again" {
    run_acp "--lose"
    tell CW-ONE
    timeout 60 "$MAS" ask "$ID" solo "CW-CUT HANG" >"$T/out" 2>&1 3>&- &
    eventually was_sent CW-CUT
    "$MAS" ask --no-wait "$ID" solo CW-WAITS >/dev/null
    agent=$(of solo .pid)
    kill -KILL "$(of solo .hostPid)"
    eventually is_gone "$agent"
    wait || true
    again
    tell CW-TWO
    knows CW-CUT CW-ONE CW-TWO CW-WAITS
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

@test "an agent that says nothing is ended after its time, and that is told" {
    run_acp "--init-hang" "initialize_timeout = 300ms"
    tell one
    [ "$status" -ne 0 ]
    [[ $stderr == *"no answer in time"* ]]
    eventually state_is solo exited
    [[ $(of solo .note) == *"no answer in time"* ]]
}

@test "an agent that goes at once or speaks another version is told of with why" {
    run_acp "--exit 3"
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

@test "an agent that ends before its first answer is started once more by itself, and no third time" {
    options ""
    options_preset made "restart_delay = 100ms"
    sed -i "2i echo >>'$T/starts'; [ -e '$T/may' ] || exit 1" "$T/agent"
    new_session -t solo --agent made
    find_agent
    eventually shows "the next prompt starts it again"
    [ "$(wc -l <"$T/starts")" = 2 ]
    state_is solo exited
    # those of a team: what was in the way the first time is not at the second
    sed -i "2i trap 'touch $T/may' EXIT" "$T/agent"
    again
    eventually came_back fresh
    [ "$(wc -l <"$T/starts")" = 4 ]
}

@test "an agent that answers its first request with an error is started once more by itself" {
    options "--init-error"
    options_preset made "restart_delay = 100ms"
    sed -i "2i echo >>'$T/starts'" "$T/agent"
    new_session -t solo --agent made
    find_agent
    eventually shows "did not initialize the protocol"
    [ "$(wc -l <"$T/starts")" = 2 ]
}

# prints LINE...: what the agent prints on its standard error at each start.
prints() {
    printf '%s\n' "$@" >"$T/words"
    sed -i "2i cat '$T/words' >&2" "$T/agent"
}

@test "what an agent printed is told where it fails before it has a session: by ask, status, the pane and logs" {
    local fault
    options "--exit 3" # from the start: a session that it once opened would be resumed
    options_preset made "restart_delay = 100ms"
    prints $'no module named \e[31mcolours\e[0m' $'\u200bin line \x01 7'
    new_session -t solo --agent made
    find_agent
    for fault in "--exit 3" "--init-error" "--new-error"; do
        options "$fault"
        again
        find_agent
        tell CW-ONE
        [ "$status" -ne 0 ] || { echo "$fault: $output, note: $(of solo .note)"; return 1; }
        grep -q 'cannot ask.*it printed: no module named colours | .*in line .*7' <<<"$stderr" ||
            { echo "$fault: $stderr"; return 1; }
        [[ $stderr != *$'\e'* && $stderr != *$'\x01'* ]]
        [[ $(of solo .note) == *"no module named colours | "* ]]
        "$MAS" status "$ID" | grep -qF "no module"
        eventually shows "no module named"
        "$MAS" logs "$ID" solo | grep -q "no module named"
    done
}

@test "what an agent printed is told where it ends in a turn" {
    run_acp ""
    tell 'STDERR:"the store is gone" DIE:4'
    [ "$status" -eq 1 ]
    [[ $stderr == *"exited with code 4; it printed: "*"the store is gone"* ]]
    eventually state_is solo exited crashed
    [[ $(of solo .note) == *"the store is gone"* ]]
    tell "CW-TWO"
    [ "$status" -eq 0 ]
}

@test "an agent that prints one long line, or a lot, has its newest words told" {
    options ""
    options_preset made "restart_delay = 100ms"
    sed -i '2i exit 3' "$T/agent"
    prints "$(printf 'x%.0s' {1..3000})END"
    new_session -t solo --agent made
    find_agent
    tell CW-ONE
    [[ $stderr == *xxxEND* ]]
    seq 2000 >"$T/words"
    tell CW-TWO
    [[ $stderr == *"it printed: 1"*" | 1999 | 2000"* ]]
    [ "$(grep 'cannot ask' <<<"$stderr" | wc -c)" -lt 1800 ]
}

@test "what a preset says of root is told to root, where its agent cannot start" {
    run_acp "--new-error" "as_root = it wants another user"
    tell CW-ONE
    [ "$status" -ne 0 ]
    [[ $stderr == *scripted*error* ]]
    if [ "$(id -u)" = 0 ]; then
        [[ $stderr == *"; as root: it wants another user"* ]]
        [[ $(of solo .note) == *"it wants another user"* ]]
    else
        [[ $stderr != *"another user"* ]]
    fi
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
    session_log "the agent did not end its turn when told to"
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
    ok start "$ID"
    [[ $stderr == *"'memory.db': it is not a database; the team sets it aside and begins a new one" ]]
    tell CW-TWO
    [ "$status" -eq 0 ]
    knows CW-TWO
    session_log "memory.db was damaged and is kept as memory.db.damaged-"
    [ -n "$(ls "$DIR"/memory.db.damaged-*)" ]
}

@test "a memory.db that was set aside under a running team: every agent goes on in the new one, with what it knows" {
    acp_team pair
    local agent
    for agent in lead reviewer; do
        "$MAS" ask "$ID" "$agent" "CW-ONE"
    done
    mv "$DIR/memory.db" "$DIR/memory.db.damaged-by-hand"
    rm -f "$DIR/memory.db-wal" "$DIR/memory.db-shm"
    for agent in lead reviewer; do
        ok ask "$ID" "$agent" CW-TWO
        [[ $output == *"seen=[CW-ONE CW-TWO]"* ]]
        ok clear "$ID" "$agent" --then CW-THREE
    done
    mv "$DIR/memory.db" "$DIR/memory.db.damaged-by-hand-2"
    ok clear "$ID" lead
    ok ask "$ID" reviewer --new CW-FOUR
    [[ $output == *"seen=[CW-FOUR]"* ]]
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    mas ask "$ID" reviewer CW-FIVE
    [[ $output == *"seen=[CW-FOUR CW-FIVE]"* ]]
    "$MAS" history "$ID" reviewer | grep -q CW-FOUR
}
