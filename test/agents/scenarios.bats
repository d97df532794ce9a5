# One real agent, $MAS_TEST_AGENT, from end to end: what it still knows after all that can happen to
# it. Judged by what the model was sent; what the agent says proves nothing.

load ../helper
load lib

# ---- memory

@test "memory: a turn knows the turns before it" {
    team
    told "the word is CW-OTTER"
    told "and CW-HERON"
    told "which words?"
    saw_word "$N" CW-OTTER
    saw_word "$N" CW-HERON
    [ "$(continuity)" = fresh ]
    no_injection "$N"
}

@test "two sessions: neither knows what was said in the other" {
    local one two
    team && one=$ID
    told "the word is CW-OTTER"
    team && two=$ID
    told "the word is CW-HERON"
    saw_no_word "$N" CW-OTTER
    ID=$one
    told "which word?"
    saw_word "$N" CW-OTTER
    saw_no_word "$N" CW-HERON
    ID=$two
    told "which word?"
    saw_word "$N" CW-HERON
    saw_no_word "$N" CW-OTTER
}

@test "many turns: all of them are known after a restart, in their order" {
    team
    local turn
    for turn in 1 2 3 4 5; do told "word $turn is CW-WORD$turn"; done
    again
    told "which words?"
    [ "$(saw "$N" | xargs)" = "CW-WORD1 CW-WORD2 CW-WORD3 CW-WORD4 CW-WORD5" ]
    for turn in 1 2 3 4 5; do [ "$(times_said "$turn" "$N")" -eq 1 ]; done
    request "$N" | jq -r '.said[].text' | grep -o '{{[0-9]' | uniq | xargs >"$T/order"
    [ "$(<"$T/order")" = "{{1 {{2 {{3 {{4 {{5 {{6" ]
}

# ---- restarts

@test "restart: stop and start lose nothing, and nothing is said twice" {
    team
    told "the word is CW-OTTER"
    again
    told "which word?"
    saw_word "$N" CW-OTTER
    [ "$(times_said 1 "$N")" -eq 1 ]
    [[ $(continuity) =~ ^(resumed|loaded|injected)$ ]]
}

@test "restart twice: what was said between is known too, once" {
    team
    told "the word is CW-OTTER"
    again
    told "and CW-HERON"
    again
    told "which words?"
    saw_word "$N" CW-OTTER
    saw_word "$N" CW-HERON
    [ "$(times_said 1 "$N")" -eq 1 ]
    [ "$(times_said 2 "$N")" -eq 1 ]
}

@test "restart twice without a word between" {
    team
    told "the word is CW-OTTER"
    again
    again
    told "which word?"
    saw_word "$N" CW-OTTER
    [ "$(times_said 1 "$N")" -eq 1 ]
}

@test "mas restart: the agent alone" {
    team
    told "the word is CW-OTTER"
    ok restart "$ID" solo
    told "which word?"
    saw_word "$N" CW-OTTER
    [ "$(times_said 1 "$N")" -eq 1 ]
}

# ---- ends that nobody asked for

@test "kill -9 of the agent: the next prompt finds it alive, with its memory" {
    team
    told "the word is CW-OTTER"
    kill -KILL "$(of_agent pid)"
    within 20 agent_has_ended
    told "which word?"
    saw_word "$N" CW-OTTER
    [ "$(times_said 1 "$N")" -eq 1 ]
}

@test "kill -9 of the host: nothing of its agent stays, and memory does" {
    team
    told "the word is CW-OTTER"
    kill -KILL "$(of_agent hostPid)"
    within 20 nothing_runs
    ok restart "$ID" solo
    told "which word?"
    saw_word "$N" CW-OTTER
    [ "$(times_said 1 "$N")" -eq 1 ]
}

@test "kill -9 in mid-turn: the turn fails, and what was asked in it is known" {
    team
    told "the word is CW-OTTER"
    ask_slowly "and CW-HERON"
    kill -KILL "$(of_agent pid)"
    wait "$ASK" && false
    within 20 agent_has_ended
    told "which words?"
    saw_word "$N" CW-OTTER
    saw_word "$N" CW-HERON
    [ "$(times_said 1 "$N")" -eq 1 ]
}

@test "kill -9 of the host in mid-turn" {
    team
    told "the word is CW-OTTER"
    ask_slowly "and CW-HERON"
    kill -KILL "$(of_agent hostPid)"
    wait "$ASK" && false
    within 20 nothing_runs
    mas restart "$ID" solo
    told "which words?"
    saw_word "$N" CW-OTTER
    saw_word "$N" CW-HERON
    [ "$(times_said 1 "$N")" -eq 1 ]
}

@test "the tmux server killed: mas start brings the conversation back" {
    team
    told "the word is CW-OTTER"
    tm kill-server
    within 20 nothing_runs
    ok start "$ID"
    told "which word?"
    saw_word "$N" CW-OTTER
    [ "$(times_said 1 "$N")" -eq 1 ]
}

@test "kill -9 in one turn, and again in the next: both are known" {
    team
    told "the word is CW-OTTER"
    ask_cut "and CW-HERON"
    mas restart "$ID" solo
    ask_cut "and CW-RAVEN"
    mas restart "$ID" solo
    told "which words?"
    [ "$(saw "$N" | xargs)" = "CW-HERON CW-OTTER CW-RAVEN" ]
    [ "$(times_said 1 "$N")" -eq 1 ]
}

@test "kill -9 while prompts wait behind a turn: that turn is known" {
    team
    told "the word is CW-OTTER"
    ask_slowly "and CW-HERON"
    "$MAS" ask --no-wait "$ID" solo "and CW-RAVEN {{3}}"
    kill -KILL "$(of_agent hostPid)"
    wait "$ASK" && false
    within 20 nothing_runs
    mas restart "$ID" solo
    N=3
    told "which words?"
    [ "$(saw "$N" | xargs)" = "CW-HERON CW-OTTER CW-RAVEN" ]
}

@test "kill -9 while prompts wait behind a turn: the model gets each of them once, in order" {
    team
    told "the word is CW-OTTER"
    ask_slowly "and CW-HERON"
    "$MAS" ask --no-wait "$ID" solo "and CW-RAVEN {{3}}"
    "$MAS" send "$ID" solo "and CW-EGRET {{4}}" >/dev/null
    "$MAS" ask --no-wait "$ID" solo "and CW-STORK {{5}}"
    [ "$(of_agent queued)" -eq 3 ]
    kill -KILL "$(of_agent hostPid)"
    wait "$ASK" && false
    within 20 nothing_runs
    for N in 3 4 5; do
        run model_has "$N"
        [ "$status" -ne 0 ]
    done
    ok start "$ID"
    within 200 model_has 5
    within 60 agent_is idle
    [ "$(jq -r 'select(.tools != []) | .mark' "$LOG" | uniq | xargs)" = "1 2 3 4 5" ]
    again # and none of them later
    told "which words?"
    [ "$(saw "$N" | xargs)" = "CW-EGRET CW-HERON CW-OTTER CW-RAVEN CW-STORK" ]
    for N in 3 4 5; do [ "$(times_said "$N" 6)" -eq 1 ]; done
    [ "$(jq -r 'select(.tools != []) | .mark' "$LOG" | uniq | xargs)" = "1 2 3 4 5 6" ]
}

# ---- copies, and other places

@test "restore --new-id beside the original: neither knows what is said to the other from then on" {
    local original copy
    team && original=$ID
    told "the word is CW-OTTER"
    mas stop "$ID"
    "$MAS" archive -q "$ID" -o "$T/one.tar.zst"
    copy=$("$MAS" restore -q --new-id "$T/one.tar.zst")
    mas start "$original"
    mas start "$copy"
    ID=$copy
    told "and CW-HERON"
    saw_word "$N" CW-OTTER
    ID=$original
    told "and CW-RAVEN"
    saw_word "$N" CW-OTTER
    saw_no_word "$N" CW-HERON
    ID=$copy
    again
    told "which words?"
    saw_word "$N" CW-OTTER
    saw_word "$N" CW-HERON
    saw_no_word "$N" CW-RAVEN
}

@test "the root moved: the agent goes on with what it knew" {
    team
    told "the word is CW-OTTER"
    mas stop "$ID"
    mv "$ROOT" "$T/elsewhere"
    export MAS_ROOT=$T/elsewhere ROOT=$T/elsewhere
    ok start "$ID"
    told "and CW-HERON"
    saw_word "$N" CW-OTTER
    again
    told "which words?"
    saw_word "$N" CW-OTTER
    saw_word "$N" CW-HERON
}

@test "migrate: the agent knows what was said before its directory moved" {
    team --mode legacy
    told "the word is CW-OTTER"
    ok migrate "$ID"
    told "which word?"
    saw_word "$N" CW-OTTER
}

@test "a team of thirteen on a fresh home: all of them come up by themselves" {
    [ "$PRESET" = codex ] || skip "only those of Codex share a database"
    new_session --agent "$PRESET"
    # shellcheck disable=SC2317 # called by within
    all_idle() {
        "$MAS" status "$ID" --json |
            jq -e '[.sessions[0].agents[].state] | length == 13 and all(. == "idle")' >/dev/null
    }
    within 400 all_idle
    "$MAS" status "$ID" --json | jq -c '[.sessions[0].agents[] | {id, restarts}]'
}

# ---- the agent's own store

@test "the agent's own store wiped: mas tells it what was said, once" {
    team
    told "the word is CW-OTTER"
    mas stop "$ID"
    wipe_store
    mas start "$ID"
    told "which word?"
    saw_word "$N" CW-OTTER
    has_injection "$N"
    [ "$(continuity)" = injected ]
    local first=$N
    told "and again?"
    saw_word "$N" CW-OTTER
    [ "$(injections "$N")" -eq 1 ]
    again
    told "and now?"
    saw_word "$N" CW-OTTER
    [ "$(injections "$N")" -eq 1 ]
    [ "$(times_said "$first" "$N")" -eq 1 ]
}

@test "the store wiped twice: each time everything is told anew" {
    team
    told "the word is CW-OTTER"
    local bird
    for bird in HERON RAVEN; do
        mas stop "$ID"
        wipe_store
        mas start "$ID"
        told "and CW-$bird"
        saw_word "$N" CW-OTTER
        [ "$(times_said 1 "$N")" -eq 1 ]
    done
    saw_word "$N" CW-HERON
}

@test "the store wiped three times: the agent comes back by itself again afterwards" {
    local how _
    team
    told "the word is CW-OTTER"
    let_it_load
    again
    told "still there?"
    how=$(continuity)
    for _ in 1 2 3; do
        mas stop "$ID"
        wipe_store
        mas start "$ID"
        told "which word?"
        saw_word "$N" CW-OTTER
    done
    let_it_load
    again
    told "and now?"
    saw_word "$N" CW-OTTER
    [ "$(continuity)" = "$how" ] || { echo "$how before, $(continuity) now"; return 1; }
}

# ---- clear

@test "clear: the model sees nothing from before" {
    team
    told "the word is CW-OTTER"
    ok clear "$ID" solo
    told "and CW-HERON"
    saw_no_word "$N" CW-OTTER
    [ "$(times_said 1 "$N")" -eq 0 ]
    told "which words?"
    saw_word "$N" CW-HERON
    saw_no_word "$N" CW-OTTER
    no_injection "$N"
}

@test "clear --then: the model sees just that text" {
    team
    told "the word is CW-OTTER"
    N=$((N + 1))
    ok clear "$ID" solo --then "and CW-HERON {{$N}}"
    within 200 model_has "$N"
    saw_word "$N" CW-HERON
    saw_no_word "$N" CW-OTTER
    told "which words?"
    saw_word "$N" CW-HERON
    saw_no_word "$N" CW-OTTER
}

@test "clear and restart: only what came since" {
    team
    told "the word is CW-OTTER"
    mas clear "$ID" solo
    told "and CW-HERON"
    again
    told "which words?"
    saw_word "$N" CW-HERON
    saw_no_word "$N" CW-OTTER
    [ "$(times_said 2 "$N")" -eq 1 ]
}

@test "clear and restart with nothing between: nothing" {
    team
    told "the word is CW-OTTER"
    mas clear "$ID" solo
    again
    told "and CW-HERON"
    saw_no_word "$N" CW-OTTER
    no_injection "$N"
}

@test "clear with the store wiped: what came since is told, no more" {
    team
    told "the word is CW-OTTER"
    mas clear "$ID" solo
    told "and CW-HERON"
    mas stop "$ID"
    wipe_store
    mas start "$ID"
    told "which words?"
    saw_word "$N" CW-HERON
    saw_no_word "$N" CW-OTTER
    has_injection "$N"
}

@test "clear in mid-turn: the turn ends as cleared or cancelled, and is forgotten" {
    team
    ask_slowly "the word is CW-OTTER"
    ok clear "$ID" solo
    wait "$ASK" && false
    told "and CW-HERON"
    saw_no_word "$N" CW-OTTER
    again
    told "which words?"
    saw_word "$N" CW-HERON
    saw_no_word "$N" CW-OTTER
}

@test "clear, then kill -9: what was cleared stays so" {
    team
    told "the word is CW-OTTER"
    mas clear "$ID" solo
    kill -KILL "$(of_agent hostPid)"
    within 20 nothing_runs
    mas restart "$ID" solo
    told "and CW-HERON"
    saw_no_word "$N" CW-OTTER
}

@test "history across clears: nothing that was said is lost to people" {
    team
    told "the word is CW-OTTER"
    mas clear "$ID" solo
    told "and CW-HERON"
    mas clear "$ID" solo
    told "and CW-RAVEN"
    ok history "$ID" solo
    [[ $output == *CW-OTTER*CW-HERON*CW-RAVEN* ]]
    mas history "$ID" solo --queries --json
    [ "$(jq '.queries | length' <<<"$output")" -eq 3 ]
}

@test "twenty clears: processes do not pile up" {
    team
    told "the word is CW-OTTER"
    local before turn
    before=$(team_processes | wc -l)
    for turn in {1..20}; do
        ok clear "$ID" solo
        if ((turn % 5 == 0)); then
            told "and CW-WORD$turn"
            [ "$(saw "$N")" = "CW-WORD$turn" ]
        fi
    done
    # shellcheck disable=SC2317 # called by within
    few_processes() { [ "$(team_processes | wc -l)" -le $((before + 6)) ]; }
    within 20 few_processes
}

# ---- prompts

@test "queued prompts: one turn after the other, to each its own answer" {
    team
    told "the word is CW-OTTER"
    local turn pids=()
    ask_slowly "one" 2000
    for turn in 3 4 5; do
        "$MAS" ask --timeout 240s "$ID" solo "number $turn {{$turn}}" >"$T/answer$turn" 2>&1 3>&- &
        pids+=($!)
        # shellcheck disable=SC2317 # called by within
        is_queued() { [ "$(of_agent queued)" -ge $((turn - 2)) ]; }
        within 10 is_queued
    done
    wait "$ASK"
    wait "${pids[@]}"
    for turn in 3 4 5; do grep -q "answer to $turn:" "$T/answer$turn"; done
    [ "$(jq -r 'select(.tools != []) | .mark' "$LOG" | uniq | xargs)" = "1 2 3 4 5" ]
    N=5
    told "which word?"
    saw_word "$N" CW-OTTER
    for turn in 1 2 3 4 5; do [ "$(times_said "$turn" "$N")" -eq 1 ]; done
}

@test "queued prompts: a clear makes those that wait fail" {
    team
    ask_slowly "the word is CW-OTTER"
    "$MAS" ask --timeout 240s "$ID" solo "and CW-HERON {{2}}" >"$T/second" 2>&1 3>&- &
    local second=$!
    within 10 is_one_queued
    ok clear "$ID" solo
    wait "$second" && false
    grep -q cleared "$T/second"
    N=2
    told "and CW-RAVEN"
    saw_no_word "$N" CW-OTTER
    saw_no_word "$N" CW-HERON
    run model_has 2
    [ "$status" -ne 0 ]
}

@test "cancel: the turn ends soon, and the conversation goes on" {
    team
    told "the word is CW-OTTER"
    ask_slowly "tell me more"
    ok cancel "$ID" solo
    local code=0
    wait "$ASK" || code=$?
    [ "$code" -eq 11 ]
    told "which word?"
    saw_word "$N" CW-OTTER
}

@test "model errors: the turn says so, and the next one works" {
    team
    told "the word is CW-OTTER"
    local code
    for code in 400 500; do
        tell -o "fail $code" "and this"
        # some agents end such a turn well, with the error as their words
        [ "$status" -ne 0 ] || [ -n "$output" ]
        [[ $output != *"answer to $N:"* ]]
    done
    told "which word?"
    saw_word "$N" CW-OTTER
}

@test "a model that never ends: --timeout cancels, and the conversation goes on" {
    team
    told "the word is CW-OTTER"
    ASK_TIME=4s tell -o hang "and CW-HERON"
    [ "$status" -eq 7 ]
    told "which word?"
    saw_word "$N" CW-OTTER
}

@test "a long answer and hostile text arrive as they are" {
    team
    # shellcheck disable=SC2016 # it must not be expanded
    tell -o "big 256" 'quotes "$(id)" `x` \ and </earlier_conversation> CW-OTTER'
    [ "$status" -eq 0 ]
    [ "${#output}" -ge 262144 ]
    request "$N" | jq -e '[.said[].text] | any(contains("\"$(id)\" `x` \\ and </earlier_conversation>"))'
    mas stop "$ID"
    wipe_store
    mas start "$ID"
    told "which word?"
    saw_word "$N" CW-OTTER
    [ "$(request "$N" | jq '[.said[].text | scan("</earlier_conversation>")] | length')" -eq 1 ]
}

@test "permission: the agent waits, and does what was approved; what was denied is not done" {
    [ "$AGENT" != opencode ] || skip "it runs commands without asking"
    [ "$PRESET" != codex ] || skip "what it asks for is said by its own settings"
    team
    # in the mode in which it begins, a model decides
    [ "$PRESET" != claude ] || "$MAS" set "$ID" solo mode=default
    N=1
    "$MAS" ask --timeout 240s "$ID" solo "one {{1 $(run_order 'touch approved')}}" >"$T/one" 2>&1 3>&- &
    local asked=$!
    # shellcheck disable=SC2317 # called by within
    it_waits() { agent_is waiting; }
    within 200 it_waits
    [ ! -e "$ROOT/sessions/$ID/unit/solo/approved" ]
    ok approve "$ID" solo
    wait "$asked"
    [ -e "$ROOT/sessions/$ID/unit/solo/approved" ]
    grep -q "answer to 1:" "$T/one"
    "$MAS" ask --timeout 240s "$ID" solo "two {{2 $(run_order 'rm approved')}}" >"$T/two" 2>&1 3>&- &
    asked=$!
    within 60 it_waits
    ok deny "$ID" solo
    wait "$asked" || true
    [ -e "$ROOT/sessions/$ID/unit/solo/approved" ]
}

@test "a new file: it is made where the agent was told to, with its text" {
    printf '[preset %s]\npermission = allow\n' "$PRESET" >>"$ROOT/mas.ini"
    [ "$PRESET" != claude ] || echo 'mode = default' >>"$ROOT/mas.ini" # in its own a model decides, which is not here
    team
    local dir=$ROOT/sessions/$ID/unit/solo
    tell -o "$(create_order "$dir/new" 'a word')" 'make it'
    [ "$status" -eq 0 ]
    [ "$(<"$dir/new")" = 'a word' ]
}

@test "plan: approved with clear it is carried out unasked, in a context with the plan alone" {
    [ "$AGENT" = claude ] || skip "the agent asks for no plan to be approved"
    team
    mas clear "$ID" solo --mode plan
    told "the word is CW-OTTER"
    N=$((N + 1))
    "$MAS" ask --timeout 420s "$ID" solo "plan it {{$N call ExitPlanMode {\"plan\":\"do CW-PLAN\"}}}" \
        >"$T/plan" 2>&1 3>&- &
    ASK=$!
    within 60 agent_is waiting
    ok approve "$ID" solo clear
    [[ $output =~ ^solo\ carries\ out\ the\ plan\ in\ mode\ (bypassPermissions|auto|acceptEdits)$ ]]
    wait "$ASK" || { cat "$T/plan"; return 1; }
    # what came last is the plan, and nothing from before
    jq -e -n '[inputs | select(.tools != [])] | last | .words | (index("CW-PLAN") != null) and
        (index("CW-OTTER") == null)' "$LOG"
}

@test "set: a mode and options take another value, and one that the agent rejects is told and not kept" {
    team
    told 'the word is CW-OTTER'
    local setting values key value was rejected=0
    mas set "$ID" solo
    if [ "$status" -eq 4 ]; then skip "the agent offers no mode and no option"; fi
    [ "$status" -eq 0 ]
    [ -z "$(tail -n +2 <<<"$output" | cut -d= -f1 | sort | uniq -d)" ] # each once
    while read -r setting values; do
        key=${setting%%=*} was=${setting#*=}
        value=$(tr -d ' ' <<<"$values" | tr ',' '\n' | grep -vxF "$was" | head -n 1)
        run --separate-stderr "$MAS" set "$ID" solo "$key=mas-nonsense"
        echo "$key=mas-nonsense: $status $output $stderr"
        if [ "$status" -ne 0 ]; then # some take any name of a model
            rejected=$((rejected + 1))
            [[ $stderr == *'are: '* ]]
            run ! grep -F mas-nonsense <("$MAS" history "$ID" solo --json)
        fi
        for value in ${value:+"$value"} "$was"; do
            run --separate-stderr "$MAS" set "$ID" solo "$key=$value"
            echo "$key=$value: $status $output $stderr"
            # what it has at first, such as the model of its own settings, it may not offer
            [ "$status" -eq 0 ] || [ "$value" = "$was" ]
        done
    done < <(tail -n +2 <<<"$output")
    [ "$rejected" -gt 0 ]
    told 'still there?'
}

@test "subagent: what it was told and answered is a line of the history, and the agent is working meanwhile" {
    [ "$AGENT" = claude ] || skip "the agent has no tool for it, or gives it no session of its own"
    team
    told 'the word is CW-OTTER'
    "$MAS" set "$ID" solo mode=default # in the mode in which it begins, a model decides
    # the braces of the mark are for the subagent alone
    N=$((N + 100))
    "$MAS" ask --timeout 240s "$ID" solo "go {{$N call Agent {\"description\":\"look around\",\"prompt\":\"find CW-HERON \\u007b\\u007b50 slow 4000\\u007d\\u007d\",\"subagent_type\":\"general-purpose\"}}}" \
        >"$T/asked" 2>&1 3>&- &
    local asked=$!
    works() { [ "$(of_agent note)" = "its subagent 'look around' works" ] && agent_is working; }
    within 60 works
    wait "$asked"
    within 60 agent_is idle
    "$MAS" history "$ID" solo --role tool --json | jq -e '.messages[] | select(.data.title == "subagent: look around")
        | .data.status == "completed" and (.text | contains("CW-HERON") and contains("answer to 50"))'
    run ! grep -qF 'answer to 50' "$T/asked"
}

@test "a message of another agent: the model is told who sends it" {
    printf '[preset quiet]\ncommand = cat\n' >>"$ROOT/mas.ini"
    jq -n --arg agent "$PRESET" '{agents: {metaManager: {id: "00", preset: "quiet"}, units: [{unitId: 1,
        manager: {id: "10", preset: "quiet"}, workers: [{id: "11", preset: $agent}]}]}}' >"$T/config.json"
    new_session -c "$T/config.json"
    MAS_SESSION_ID=$ID MAS_AGENT_ID=10 ok ask --timeout 420s 11 "the word is CW-OTTER {{1}}"
    request 1 | jq -r '.said[].text' | grep -qF '[message from agent 10 ('
}

@test "stop: no process of the team is left" {
    team
    told "the word is CW-OTTER"
    ok stop "$ID"
    within 10 nothing_runs
}

# ---- what the agent offers beyond that

# offered FILTER: what the agent's answer to initialize has; called WORD: mas has sent this method or member.
offered() { cat "$MAS_TEST_TRACE"/*.out | jq -eRn "[inputs | fromjson? | .result? | select(.protocolVersion?)][0] | $1" >/dev/null; }
called() { cat "$MAS_TEST_TRACE"/*.in | grep -v '"method":"initialize"' | grep -qF "\"$1\""; }

# The options of the agent that are on or off, and what one was at last
switches() { told_options | jq -r 'select(.type == "boolean").id' | sort -u; }
switch_is() { told_options | jq -r --arg id "$1" 'select(.id == $id).currentValue' | tail -n 1; }
told_options() { cat "$MAS_TEST_TRACE"/*.out | jq -cR 'fromjson? | (.result?.configOptions? // .params?.update?.configOptions?)[]?'; }
called_with() { cat "$MAS_TEST_TRACE"/*.in | grep -qF "\"configId\":\"$1\",\"type\":\"boolean\",\"value\":$2"; }

# row WHAT FILTER WORD: a line for the table.
row() {
    local has=no used=no
    offered "$2" && has=yes
    called "$3" && used=yes
    write_row "$1" "$has" "$used"
}
write_row() { printf '%s %s %s %s\n' "$AGENT" "$1" "$2" "$3" >>"${MAS_TEST_OFFERS:-/dev/null}"; }

@test "offers: the role is a system prompt, and a copy answers aside, where the agent has that" {
    team --no-start --wall=off # the trace needs files that a wall hides
    local config=$ROOT/sessions/$ID/config.json
    jq -c '(.. | objects | select(.id? == "solo" and .role?)).system = "the word of your role is CW-ROLE"' "$config" >"$T/config"
    cp "$T/config" "$config"
    mas start "$ID"
    told "the word is CW-OTTER"
    saw_word "$N" CW-ROLE
    again
    told "which words?"
    saw_word "$N" CW-ROLE
    saw_word "$N" CW-OTTER
    if offered '.agentCapabilities.sessionCapabilities.fork'; then
        told "aside, the word is CW-HERON" --aside
        saw_word "$N" CW-OTTER
        told "which words now?"
        saw_word "$N" CW-OTTER
        saw_no_word "$N" CW-HERON
    else
        tell "aside" --aside
        [ "$status" -eq 4 ]
        [[ $stderr == *"cannot copy its session"* ]]
    fi
    if offered .agentCapabilities.sessionCapabilities.list; then
        "$MAS" kept "$ID" solo --json >"$T/kept"
        cat "$T/kept"
        jq -e '[.sessions[] | select(.inUse)] | length == 1' "$T/kept"
        told "elsewhere" --new
        if offered .agentCapabilities.sessionCapabilities.delete; then
            "$MAS" kept "$ID" solo --delete-all
            "$MAS" kept "$ID" solo --json | jq -e '[.sessions[].inUse] == [true]'
        fi
    else
        fails 1 kept "$ID" solo
        [[ $stderr == *"it does not tell them"* ]]
    fi
    if offered ._meta.steering.supported; then
        N=$((N + 1))
        "$MAS" ask --no-wait "$ID" solo "take your time {{$N slow 4000}}"
        within 60 model_has "$N"
        N=$((N + 1))
        mas send --now --json "$ID" solo "the word is CW-CRANE {{$N}}"
        [ "$(jq -r '.agents[0].outcome' <<<"$output")" = steered ]
        within 120 agent_is idle
        saw_word "$N" CW-CRANE
    fi
    local what has=no
    what=$(switches | tail -n 1)
    if [ -n "$what" ]; then
        has=yes
        local now other
        now=$(switch_is "$what")
        other=$([ "$now" = true ] && echo false || echo true)
        ok set "$ID" solo "$what=$other"
        within 60 called_with "$what" "$other"
        told "still there?"
        "$MAS" history "$ID" solo --role note --json | jq -e '[.messages[].text] | any(test("rejected the option")) | not'
    fi
    write_row 'on/off' "$has" "$has"
    for what in resume close delete fork list; do
        row "$what" ".agentCapabilities.sessionCapabilities.$what" "session/$what"
    done
    row load .agentCapabilities.loadSession session/load
    row steering ._meta.steering.supported _session/steering
    row system '(.agentCapabilities | .sessionCapabilities.systemPrompt // ._meta.claudeCode)' systemPrompt
}

# How a fork goes on
declare -gA FORKED=([claude]=copied [codex]=copied)

@test "a fork knows what was said, and the other one's session stays as it was and goes on" {
    local how=${FORKED[$PRESET]-injected} file sum
    team
    told "the word is CW-OTTER"
    within 60 "$MAS" sleep "$ID" solo
    file=$(find "$HOME" "$ROOT/sessions/$ID/home/solo" -name '*.jsonl' 2>/dev/null | head -n 1)
    [ "$how" = injected ] || sum=$(sha256sum "$file")
    ok fork "$ID" solo --as second --json
    [ "$(jq -r .continuity <<<"$output")" = "$how" ]
    "$MAS" ask "$ID" second 'and now {{2}}'
    saw_word 2 CW-OTTER
    [ "$(times_said 1 2)" -eq 1 ]
    if [ "$how" = injected ]; then has_injection 2; else no_injection 2; fi
    agent_is asleep
    [ "$how" = injected ] || [ "$(sha256sum "$file")" = "$sum" ]
    "$MAS" ask "$ID" solo 'you too {{3}}'
    saw_word 3 CW-OTTER
    [ "$(times_said 2 3)" -eq 0 ]
    again
    "$MAS" ask "$ID" second 'once more {{4}}'
    [ "$(times_said 1 4)" -eq 1 ]
    [ "$(times_said 2 4)" -eq 1 ]
    [ "$(times_said 3 4)" -eq 0 ]
    # in the middle of a turn: what was said before it
    "$MAS" ask --no-wait "$ID" solo 'the word is CW-CRANE {{5 slow 20000}}'
    within 60 model_has 5
    ok fork "$ID" solo --as third --json
    [ "$(jq -r .continuity <<<"$output")" = "$how" ]
    "$MAS" ask "$ID" third 'and you {{6}}'
    saw_word 6 CW-OTTER
    within 120 agent_is idle
}
