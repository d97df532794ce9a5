load ../helper
load ../host/lib
load lib

# busy TEXT: the agent is in a turn that does not end by itself.
busy() {
    "$MAS" ask "$ID" solo --no-wait "$* HANG"
    eventually state_is solo working
}

# kill_host: it goes without a word, and its agent with it.
kill_host() {
    local agent
    agent=$(of solo .pid)
    kill -KILL "$(of solo .hostPid)"
    [ "$agent" = 0 ] || [ "$agent" = null ] || eventually is_gone "$agent"
}

begin_again() { "$MAS" start -q "$ID" >/dev/null && hosts_there; }

# kill_all: host and tmux session are gone, as after a crash of the machine.
kill_all() {
    kill_host
    "$MAS" stop -q "$ID" >/dev/null
}

# order WORD...: the agent was sent these words in prompts of their own, once each, in this order.
order() {
    local got
    got=$(grep '^<' "$TRACE" | grep -F session/prompt | grep -o '"text": *"CW-Q[0-9]*' | grep -o 'CW-Q[0-9]*' | xargs)
    [ "$got" = "$*" ] || { echo "was sent: $got" >&2; return 1; }
}

all_done() { is solo .queued 0 && state_is solo idle; }

@test "prompts that wait are asked after the next start when the host was killed: in order, once, with what they had" {
    run_acp ""
    busy CW-Q0
    "$MAS" ask "$ID" solo --no-wait --tag kind:first CW-Q1
    "$MAS" send "$ID" solo CW-Q2 >/dev/null
    "$MAS" ask "$ID" solo --no-wait CW-Q3
    is solo .queued 3
    kill_all
    order CW-Q0
    begin_again
    eventually order CW-Q0 CW-Q1 CW-Q2 CW-Q3
    eventually all_done
    "$MAS" history "$ID" solo --json | jq -e '
        [.messages[] | select(.role == "user" and (.text | test("CW-Q1")))] |
        length == 1 and (.[0].tags | index("kind:first"))' >/dev/null
    again
    order CW-Q0 CW-Q1 CW-Q2 CW-Q3
    is solo .queued 0
}

@test "prompts that wait are asked after a stop and a start too, and whoever waited was told so" {
    run_acp ""
    busy CW-Q0
    "$MAS" ask "$ID" solo --no-wait CW-Q1
    timeout 30 "$MAS" ask "$ID" solo CW-Q2 >"$T/out" 2>&1 3>&- &
    asker=$!
    eventually is solo .queued 2
    ok stop "$ID"
    rc=0
    wait "$asker" || rc=$?
    [ "$rc" -eq 4 ]
    grep -qF 'the prompt waits for the next start' "$T/out"
    begin_again
    eventually order CW-Q0 CW-Q1 CW-Q2
    eventually all_done
}

@test "a second kill among prompts that wait loses none and asks none twice" {
    run_acp ""
    local n
    busy CW-Q0
    for n in 1 2 3 4 5 6; do "$MAS" ask "$ID" solo --no-wait "CW-Q$n SLOW:100"; done
    for n in 1 2 3; do
        kill_all
        begin_again
        eventually was_sent "CW-Q$n"
    done
    eventually all_done
    order CW-Q0 CW-Q1 CW-Q2 CW-Q3 CW-Q4 CW-Q5 CW-Q6
}

# was_cut WORDS: the turn with these words was stopped, which every face says.
was_cut() {
    [ "$(of solo .turnEnd)" = stopped ]
    [[ $(of solo .turnWhy) == "its host was killed"* ]]
    eventually state_is solo idle
    "$MAS" status "$ID" | grep -qF 'the turn was stopped: its host was killed'
    "$MAS" top --once "$ID" | grep -q 'solo .*stopped .*the turn was stopped: '
    [[ $("$MAS" next --dry-run) == *" solo stopped" ]]
    "$MAS" history "$ID" solo --json | jq -e --arg words "$1" '
        [.messages[] | select(.role == "user" and (.text | contains($words)))] | length == 1 and
        .[0].stopReason == "stopped" and .[0].state == "interrupted"' >/dev/null
    "$MAS" history "$ID" solo | grep -qF 'note (the turn was stopped)'
}

@test "a turn that a kill cuts off is stopped, not done: said at start and everywhere, and run again by one command" {
    run_acp ""
    local words verb=start target=
    "$MAS" ask "$ID" solo --no-wait --tag kind:first "CW-Q1 ASK"
    for words in "CW-Q1 ASK" "CW-Q2 ASK"; do
        eventually asks
        kill_host
        ok "$verb" "$ID" ${target:+"$target"}
        [[ $output == *"stopped in the middle of a turn: solo; ask again with: mas ask "*" solo --again" ]]
        hosts_there
        was_cut "$words"
        "$MAS" ask "$ID" solo --again --no-wait
        eventually asks
        fails 4 ask "$ID" solo --again
        [[ $stderr == *'its turn is not over'* ]]
        "$MAS" approve "$ID" solo >/dev/null
        eventually is solo .turnEnd 'done'
        [ "$(prompts "$words")" -ge 2 ]
        fails 4 ask "$ID" solo --again
        [[ $stderr == *"its last turn ended well"* ]]
        "$MAS" clear "$ID" solo --then "CW-Q2 ASK"
        verb=restart target=solo
    done
    [ "$("$MAS" history "$ID" solo --json | jq '[.messages[] | select(.role == "user" and (.tags | index("kind:first")))] | length')" -eq 2 ]
}

@test "the first prompt of a cleared context is asked after a kill, and what was cleared is not" {
    run_acp "--new-slow 60000" "initialize_timeout = 90s"
    "$MAS" ask "$ID" solo --no-wait CW-Q0
    "$MAS" ask "$ID" solo --no-wait --new CW-Q1
    "$MAS" clear "$ID" solo --then CW-Q2
    is solo .queued 1
    kill_all
    options ""
    begin_again
    eventually order CW-Q2
    eventually all_done
    [ "$(injections)" = 0 ]
}

# pairs COMMAND...: in its output, each answer stands under its prompt.
pairs() {
    local got
    got=$("$@" | sed 's/seen=\[[^]]*\]//g' | grep -oE '(^|[ ">])CW-Q[0-9]|last=\\*"CW-Q[0-9]' | grep -oE 'Q[0-9]' | xargs)
    [ "$got" = "Q1 Q1 Q2 Q2 Q3 Q3" ] || { echo "$*: $got" >&2; return 1; }
}

@test "each answer stands under its prompt, though the prompts came at once: history, exports, context, an editor" {
    run_acp ""
    local n
    busy CW-START
    for n in 1 2 3; do "$MAS" ask "$ID" solo --no-wait "CW-Q$n"; done
    "$MAS" cancel "$ID" solo >/dev/null
    eventually all_done
    pairs "$MAS" history "$ID" solo
    pairs "$MAS" history "$ID" solo --limit 6
    pairs "$MAS" history "$ID" solo --json
    pairs "$MAS" history "$ID" solo --export md
    pairs "$MAS" history "$ID" solo --export jsonl
    pairs "$MAS" context "$ID" solo
    pairs sh -c "'$MAS' context '$ID' solo --json | jq -r '.chat_history[].content'"
    python3 "$PROJECT/test/acp/client.py" "$MAS" acp "$ID" >"$T/replay" <<'END'
c.load(c.ask("session/list")["sessions"][0]["sessionId"])
for update in [u["update"] for u in c.updates]:
    if update["sessionUpdate"] in ("user_message_chunk", "agent_message_chunk"):
        print(update["content"]["text"])
assert c.hang_up() == 0
END
    pairs cat "$T/replay"
}

not_idle() { ! state_is solo idle; }

@test "a prompt that comes while the agent ends waits for the next one, also after a kill" {
    run_acp --stay
    tell CW-OLD
    "$MAS" restart "$ID" solo >/dev/null 2>&1 3>&- &
    local pid=$!
    eventually not_idle
    "$MAS" ask "$ID" solo --no-wait CW-Q1
    kill -KILL "$(of solo .hostPid)"
    kill "$pid" || :
    "$MAS" stop -q "$ID" >/dev/null
    begin_again
    eventually order CW-Q1
    eventually all_done
}

@test "a prompt for another conversation is asked there after a kill" {
    run_acp ""
    tell CW-OLD
    busy CW-Q0
    "$MAS" ask "$ID" solo --no-wait --new CW-Q1
    "$MAS" ask "$ID" solo --no-wait CW-Q2
    kill_all
    begin_again
    eventually order CW-Q0 CW-Q1 CW-Q2
    eventually all_done
    tell CW-LAST
    knows CW-LAST CW-Q1 CW-Q2
}

@test "an agent that has forgotten all is told what was said in its order, not in that in which prompts came" {
    run_acp "--no-resume --no-load"
    tell "SAY:first-answer CW-A"
    busy "CW-Q0 SAY:shown-by-then"
    eventually sh -c "'$MAS' history '$ID' solo | grep -q shown-by-then"
    "$MAS" ask "$ID" solo --no-wait CW-Q1
    "$MAS" ask "$ID" solo --no-wait "CW-Q2 HANG"
    kill_all
    begin_again
    eventually was_sent 'CW-Q2'
    "$MAS" ask "$ID" solo --no-wait CW-Q3
    kill_all
    begin_again
    eventually was_sent 'CW-Q3'
    eventually all_done
    [ "$(injections)" = 2 ]
    # the last injection: answers stand behind their prompts, and nothing that waits is in it
    grep '^<' "$TRACE" | grep -F session/prompt | grep -F earlier_conversation | tail -n 1 >"$T/last"
    grep -qE 'CW-Q0.*shown-by-then.*CW-Q1.*AGENT#.*last=.*CW-Q1.*CW-Q2.*/earlier_conversation.*CW-Q3' "$T/last"
}

@test "what waits is told: by stop, status and history while the session is stopped, by start, and by the host" {
    run_acp ""
    busy CW-Q0
    "$MAS" ask "$ID" solo --no-wait CW-Q1
    "$MAS" ask "$ID" solo --no-wait CW-Q2
    mas stop "$ID"
    [[ $output == *"solo"*"2 queued"* ]]
    mas status "$ID"
    [[ $output == *"solo"*"stopped"*"2 queued"* ]]
    mas status --json "$ID"
    jq -e '.sessions[0].agents[0].queued == 2' <<<"$output" >/dev/null
    mas history "$ID" solo
    [[ $output == *"user (queued)"*"CW-Q1"*"user (queued)"*"CW-Q2"* ]]
    [[ $output != *"user (queued)"*"CW-Q0"* ]]
    mas start "$ID"
    [[ $output == *"solo"*"2 queued"* ]]
    eventually all_done
    session_log "agent=solo 2 waiting prompts are sent now"
    busy CW-Q3
    "$MAS" ask "$ID" solo --no-wait CW-Q4
    mas stop "$ID"
    mas start "$ID"
    eventually all_done
    session_log "agent=solo 1 waiting prompt is sent now"
    mas stop "$ID"
    [[ $output != *queued* ]]
}

@test "an agent that is started by its first prompt is started for those that wait" {
    run_acp "--new-slow 60000" "start = demand" "initialize_timeout = 90s"
    hosts_there
    "$MAS" ask "$ID" solo --no-wait CW-Q1
    is solo .queued 1
    kill_all
    options ""
    begin_again
    eventually order CW-Q1
}

@test "a session that is archived and restored has what waits" {
    run_acp ""
    busy CW-Q0
    "$MAS" ask "$ID" solo --no-wait CW-Q1
    "$MAS" stop -q "$ID" >/dev/null
    "$MAS" archive -q --rm -o "$T/it.tar.zst" "$ID" >/dev/null
    "$MAS" restore -q "$T/it.tar.zst" >/dev/null
    begin_again
    eventually order CW-Q0 CW-Q1
}

@test "a copy beside the original does not ask what waited there, and its history says so" {
    local original
    run_acp ""
    busy CW-Q0
    "$MAS" ask "$ID" solo --no-wait CW-Q1
    "$MAS" stop -q "$ID" >/dev/null
    "$MAS" archive -q -o "$T/it.tar.zst" "$ID" >/dev/null
    original=$ID
    mas restore --new-id -q "$T/it.tar.zst"
    [[ $stderr == *"the copy does not send the prompts that waited for its agents (1)"* ]]
    ID=$output DIR=$ROOT/sessions/$output
    begin_again
    tell CW-Q5
    [ "$status" -eq 0 ]
    "$MAS" history "$ID" solo | grep -q 'not asked'
    run ! was_sent CW-Q1
    ID=$original DIR=$ROOT/sessions/$original
    begin_again
    eventually was_sent CW-Q1
}

# taken N FILE: the agent takes N prompts with this text, and then no more.
taken() {
    local asked
    asked=$(printf '{"do":"ask"}\n%.0s' $(seq "$1"))
    ask solo "$asked" "$2" >"$T/answers"
    [ "$(grep -c '"ok":true' "$T/answers")" = "$1" ]
    is solo .queued "$1"
    printf x >"$T/one-more"
    ask solo '{"do":"ask"}' "$T/one-more" | jq -e '.code == 4 and (.why | contains("too many prompts wait"))'
    is solo .queued "$1"
}

@test "256 prompts wait, or 16 MB of them, and no more" {
    run_acp ""
    busy CW-Q0
    printf CW-Q1 >"$T/short"
    taken 256 "$T/short"
    "$MAS" clear "$ID" solo >/dev/null
    eventually all_done
    busy CW-Q2
    head -c $((4 << 20)) /dev/zero | tr '\0' x >"$T/long"
    taken 4 "$T/long"
}

@test "a cancelled turn that ends with an error or at a limit is cancelled, and not asked again" {
    run_acp ""
    local code
    for code in 500 429; do
        "$MAS" ask "$ID" solo --no-wait "CW-Q$code HANGERR:$code"
        eventually state_is solo working
        eventually was_sent "CW-Q$code"
        "$MAS" cancel "$ID" solo
        eventually all_done
        "$MAS" history "$ID" solo --role user --json | jq -e '.messages[-1].stopReason == "cancelled"'
        [ "$(prompts "CW-Q$code")" = 1 ]
    done
}
