#!/usr/bin/env bats
# mas ask streams the answer of an ACP agent, and its exit status says how the turn ended.
load ../helper
load ../host/lib
load ../acp/lib

@test "ask starts the agent, prints its answer and exits 0 when the turn has ended" {
    acp_agent
    ok ask "$ID" solo hello   CW-ONE
    [ "$output" = 'AGENT#1 seen=[CW-ONE] users=1 last="hello CW-ONE"' ]
    [ -z "$stderr" ]
    mas ask "$ID" solo again
    [[ $output == *"seen=[CW-ONE] users=2"* ]]
}

@test "- is standard input, --file a file, and many lines are one prompt" {
    acp_agent
    printf 'one CW-A\ntwo CW-B\n' >"$T/text"
    run "$MAS" ask "$ID" solo - <"$T/text"
    [[ $output == *"seen=[CW-A CW-B] users=1"* ]]
    mas ask "$ID" solo --file "$T/text"
    [[ $output == *"users=2"* ]]
    fails 2 ask "$ID" solo - </dev/null
    [[ $stderr == "mas: cannot ask: the prompt is empty"* ]]
    fails 2 ask "$ID" solo $' \t\n '
    [[ $stderr == "mas: cannot ask: the prompt is empty"* ]]
    fails 2 send "$ID" solo '  '
    [[ $stderr == *"the prompt is empty"* ]]
    fails 2 clear "$ID" solo --then ' '
    fails 2 ask "$ID" solo
    fails 2 ask "$ID" solo --file "$T/text" word
    fails 1 ask "$ID" solo --file "$T/none"
}

@test "the answer comes as it is made" {
    acp_agent
    "$MAS" ask "$ID" solo 'SAY:early HANG' >"$T/out" 3>&- &
    local pid=$!
    eventually grep -q early "$T/out"
    "$MAS" cancel "$ID" solo
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 11 ]
}

@test "each end of a turn has its word, and its exit status" {
    acp_agent
    while read -r words code word; do
        mas ask "$ID" solo "$words"
        [ "$status" -eq "$code" ]
        [[ $stderr == "mas: cannot ask agent 'solo': $word: "* ]]
    done <<'END'
STOP:max_tokens 8 max_tokens
STOP:max_turn_requests 9 max_turn_requests
STOP:refusal 10 refusal
STOP:cancelled 11 cancelled
STOP:odd 1 odd
ERR:-32603 1 failed
DIE 1 failed
END
    ok ask "$ID" solo alive
}

@test "--json is an event a line, the last of which is the end" {
    acp_agent
    ok ask "$ID" solo --json 'THINK:hm TOOL:read PLAN SAY:"a\u001b[31mb"'
    jq -es 'map(.event) | index("prompt") < index("text")' <<<"$output"
    jq -es '.[-1].event == "end" and .[-1].stopReason == "end_turn"' <<<"$output"
    jq -es 'map(.event) | contains(["thought", "tool", "plan", "text"])' <<<"$output"
    jq -es 'map(select(.event == "text").text) | add | startswith("a\u001b[31mb")' <<<"$output"
    jq -es 'map(select(.event == "tool" and .status == "completed")) | length == 1' <<<"$output"
    jq -es 'map(select(.event == "plan"))[0].entries[0] | has("content") and has("status")' <<<"$output"
    # no byte of it can move a terminal
    [[ $output != *$'\033'* ]]
}

@test "an answer is raw on a pipe and harmless on a terminal" {
    acp_agent
    mas ask "$ID" solo 'SAY:"x\u001b[31my\u0007\n" QUIET'
    [ "$output" = $'x\033[31my\a' ]
    cat >"$T/text" <<<'SAY:"x\u001b[31my\u0007\n" QUIET'
    tm new-session -d -s person "'$MAS' --root '$ROOT' ask $ID solo --file '$T/text'; exec sleep 1000"
    # shellcheck disable=SC2317 # called by eventually
    shown() { tm capture-pane -pt person: | grep -qF 'x\x1b[31my\x07'; }
    eventually shown
}

@test "prompts of several callers queue, and each gets the answer to its own" {
    acp_agent
    local n pids=()
    for n in 1 2 3 4 5; do
        "$MAS" ask "$ID" solo "CW-$n SLOW:100" >"$T/out.$n" 3>&- &
        pids+=($!)
    done
    wait "${pids[@]}"
    for n in 1 2 3 4 5; do grep -q "last=\"CW-$n SLOW:100\"" "$T/out.$n"; done
    [ "$(cat "$T"/out.* | wc -l)" -eq 5 ]
}

@test "--no-wait comes back when the prompt is taken" {
    acp_agent
    ok ask "$ID" solo --no-wait 'HANG'
    [ -z "$output$stderr" ]
    ok ask "$ID" solo --no-wait --json next
    jq -e --arg id "$ID" '.sessionId == $id and .agent == "solo" and .outcome == "queued" and
        (.prompt | startswith($id + ":")) and .queued >= 1' <<<"$output"
    "$MAS" cancel "$ID" solo
    eventually state_is solo idle
    was_sent '"next"'
}

@test "an agent that answers a cancel as if its turn had ended was cancelled" {
    acp_agent
    "$MAS" ask "$ID" solo HANG:end_turn >"$T/out" 2>"$T/err" 3>&- &
    local asker=$!
    eventually state_is solo working
    "$MAS" cancel "$ID" solo
    local rc=0
    wait "$asker" || rc=$?
    [ "$rc" = 11 ]
    mas history "$ID" solo --json
    jq -e '[.messages[] | select(.role == "user")] == [.messages[0]]
        and .messages[0].stopReason == "cancelled"' <<<"$output"
}

@test "a message of 30 MB arrives whole, also where its reader pauses" {
    acp_agent
    # longer than a client may that only listens
    timeout 100 "$MAS" ask "$ID" solo 'QUIET BIG:30000' 2>"$T/err" 3>&- | { sleep 2; wc -c; } >"$T/size"
    [ ! -s "$T/err" ]
    [ "$(cat "$T/size")" = 30720004 ]
}

@test "--timeout cancels the turn and exits 7" {
    acp_agent
    "$MAS" ask "$ID" solo hello
    fails 7 ask "$ID" solo --timeout 1500ms HANG
    [[ $stderr == "mas: cannot ask agent 'solo': its turn did not end in time and was cancelled"* ]]
    eventually state_is solo idle
    was_sent session/cancel
    fails 2 ask "$ID" solo --timeout 1x hello
    fails 2 ask "$ID" solo --timeout 1s --no-wait hello
}

# A child of a script has SIGINT ignored unless somebody sets it anew.
interruptible() { exec python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$@"; }

@test "Ctrl-C cancels the turn, and the exit status is 130" {
    acp_agent
    interruptible "$MAS" ask "$ID" solo 'SAY:begun HANG' >"$T/out" 3>&- &
    local pid=$!
    eventually grep -q begun "$T/out"
    kill -INT "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 130 ]
    eventually state_is solo idle
    was_sent session/cancel
}

@test "Ctrl-C takes back a prompt that waits, and leaves the turn of another alone" {
    acp_agent
    "$MAS" ask "$ID" solo 'SAY:begun HANG' >"$T/first" 3>&- &
    local first=$!
    eventually grep -q begun "$T/first"
    interruptible "$MAS" ask "$ID" solo CW-SECOND >"$T/second" 3>&- &
    local second=$!
    eventually is solo .queued 1
    kill -INT "$second"
    status=0
    wait "$second" || status=$?
    [ "$status" -eq 130 ]
    is solo .queued 0
    state_is solo working
    "$MAS" cancel "$ID" solo
    status=0
    wait "$first" || status=$?
    [ "$status" -eq 11 ]
    run grep -c CW-SECOND "$TRACE"
    [ "$output" = 0 ]
}

@test "--new begins another conversation, --conversation goes back" {
    acp_agent
    "$MAS" ask "$ID" solo CW-OLD
    old=$(of solo .conversation)
    mas ask "$ID" solo --new CW-NEW
    [[ $output == *"seen=[CW-NEW] users=1"* ]]
    [ "$(of solo .conversation)" != "$old" ]
    mas ask "$ID" solo --conversation "${old:0:8}" more
    [[ $output == *"CW-OLD"* ]]
    [[ $output != *"CW-NEW"* ]]
    [ "$(of solo .conversation)" = "$old" ]
    fails 3 ask "$ID" solo --conversation 00000000-none more
    fails 2 ask "$ID" solo --new --conversation "$old" more
}

@test "a tag is KEY:VALUE and goes with the prompt" {
    acp_agent
    ok ask "$ID" solo --tag ticket:42 --tag a:b --json hello
    jq -es 'map(select(.event == "prompt"))[0].tags | contains(["ticket:42", "a:b"])' <<<"$output"
    for tag in plain :x 'x:' session:other agent:other $'a:b\nc' $'a:\xff'; do
        fails 2 ask "$ID" solo --tag "$tag" hello
    done
}

@test "what waits for a permission is said with how to answer it" {
    acp_agent
    "$MAS" ask "$ID" solo ASK >"$T/out" 2>"$T/err" 3>&- &
    local pid=$!
    eventually grep -q "mas approve $ID solo" "$T/err"
    "$MAS" approve "$ID" solo
    wait "$pid"
    grep -q permit= "$T/out"
}

@test "in a team SESSION is left out, and the rules hold" {
    acp_team default --version 2
    MAS_SESSION_ID=$ID MAS_AGENT_ID=11 ok ask 10 hello
    MAS_SESSION_ID=$ID MAS_AGENT_ID=11 fails 1 ask 20 hello
    [[ $stderr == *"the rule for a worker, 'manager, unit', does not let agent '11' write to it"* ]]
    fails 1 ask "$ID" 20 --from 11 hello
    fails 3 ask "$ID" 99 hello
    fails 2 ask "$ID" workers hello
}

@test "a terminal program is refused, with what does instead" {
    new_session -t solo --agent shell
    fails 4 ask "$ID" solo hello
    [[ $stderr == "mas: cannot ask agent 'solo': it is not an ACP agent"*"mas send"* ]]
}

@test "a stopped session is not started" {
    acp_agent
    "$MAS" stop -q "$ID"
    fails 4 ask "$ID" solo hello
    [[ $stderr == *"mas start $ID"* ]]
}

# ended AGENT: succeeds if its process has ended.
ended() { [[ $(of "$1" .state) =~ ^(exited|crashed)$ ]]; }

@test "an agent that ended is started, and knows what was said" {
    acp_agent
    "$MAS" ask "$ID" solo CW-ONE
    mas ask "$ID" solo EXIT
    eventually ended solo
    ok ask "$ID" solo and
    [[ $output == *CW-ONE* ]]
}

@test "the agent may be left out where the team has one, and a text that names it is none" {
    acp_preset scripted
    new_session -t solo --agent scripted -n page
    ok ask page hello CW-ONE
    [ "$output" = 'AGENT#1 seen=[CW-ONE] users=1 last="hello CW-ONE"' ]
    mas ask page solo again
    [[ $output == *'last="again"' ]]
    mas ask page 'solo again'
    [[ $output == *'last="solo again"' ]]
    ok ask -s page - <<<'from a pipe'
    fails 2 ask page solo
    for verb in history context cancel clear peek; do
        mas "$verb" page
        [ "$status" -eq 0 ] || { echo "$verb: $stderr"; return 1; }
    done
    fails 3 clear page sole
    [[ $stderr == "mas: cannot find agent 'sole': the team has no such agent"* ]]
    for verb in approve deny; do
        fails 3 "$verb" page
        fails 3 "$verb" page always
        [ "$stderr" = "mas: cannot answer agent 'solo': it does not wait for a permission" ]
    done
    new_session -t pair --no-start
    fails 3 ask "$ID" hello
    [[ $stderr == "mas: cannot find agent 'hello': the team has no such agent"* ]]
    fails 2 history "$ID"
}

@test "the first prompt of an agent that starts waits for that, and not for another prompt" {
    acp_agent --new-until "$T/open"
    local pid
    python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$MAS" ask "$ID" solo hello \
        >"$T/said" 3>&- &
    pid=$!
    eventually grep -q 'queued: the agent is not ready yet' "$T/said"
    touch "$T/open"
    wait "$pid"
    run ! grep 'another prompt' "$T/said"
}
