load ../helper
load ../host/lib
load lib

# in_background TEXT: asks, and waits until the agent waits for a permission.
in_background() {
    timeout 30 "$MAS" ask "$ID" solo "$1" >"$T/out" 2>"$T/err" 3>&- &
    asker=$!
    eventually state_is solo waiting
}

done_asking() { wait "$asker" || true; }

@test "an agent that asks waits, its note says for what, and approve lets it go on" {
    run_acp ""
    in_background ASK:execute
    [ "$(of solo .note)" = "May I execute?" ]
    [ "$(of solo .asks)" = "May I execute?" ]
    ok approve "$ID" solo
    done_asking
    grep -q 'permit=yes-1' "$T/out"
    eventually state_is solo idle
    [ "$(of solo .note)" = null ]
}

@test "deny answers no; an option can be named; what is not offered is refused with what is" {
    run_acp ""
    in_background ASK:edit
    ok deny "$ID" solo
    done_asking
    grep -q 'permit=no-1' "$T/out"
    in_background ASK:edit
    mas approve "$ID" solo nonsense
    [ "$status" -ne 0 ]
    [[ $stderr == *"yes-1"*"yes-2"* ]]
    mas approve "$ID" solo yes-2
    done_asking
    grep -q 'permit=yes-2' "$T/out"
    fails 3 approve "$ID" solo
}

@test "the policy answers by kind of tool, and asks for the others" {
    run_acp "" "permission = deny" "permission.read = allow" "permission.execute = ask"
    tell ASK:read
    [[ $output == *permit=yes-1* ]]
    tell ASK:edit
    [[ $output == *permit=no-1* ]]
    in_background ASK:execute
    "$MAS" approve "$ID" solo
    done_asking
    grep -q 'permit=yes-1' "$T/out"
}

@test "what was asked and what was decided is kept" {
    run_acp "" "permission = allow"
    tell ASK:read
    [ "$(stored 5)" = 1 ]
    python3 -ES - "$DIR/memory.db" <<'P'
import json, sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
data = json.loads(db.execute("select data from message where role = 5").fetchone()[0])
assert data["option"] == "yes-1" and data["by"] == "policy", data
P
}

@test "a cancel answers what is open as cancelled; a withdrawn question is none any more" {
    run_acp ""
    in_background ASK:execute
    "$MAS" cancel "$ID" solo
    done_asking
    eventually state_is solo idle
    is solo .permission null
    tell WITHDRAW
    [ "$status" -eq 0 ]
    is solo .permission null
}

@test "no agent permits itself anything" {
    run_acp ""
    in_background ASK:execute
    ask solo '{"do":"permit","from":"solo"}' | jq -e '.ok == false'
    state_is solo waiting
    "$MAS" deny "$ID" solo
    done_asking
}

@test "32 questions wait at the same time; one more is cancelled, also a form" {
    run_acp ""
    local more
    for more in 33 32,form; do
        in_background "ASKS:$more"
        eventually grep -qE '^<.*"(outcome|action)":"cancel' "$TRACE"
        for _ in {1..32}; do "$MAS" approve "$ID" solo; done
        done_asking
        answers=$(grep -o 'asks=[a-z,]*' "$T/out")
        [ "$(grep -o selected <<<"$answers" | wc -l)" -eq 32 ]
        [[ $answers =~ ^asks=(selected,)*cancel(led)?$ ]]
        : >"$TRACE"
    done
}

# mode_set: the mode that the agent was put into last
mode_set() { grep '^<' "$T/trace" | grep -F session/set_mode | tail -n 1 | sed 's/^< //' | jq -r .params.modeId; }

@test "an approved plan is carried out in a cleared context, unasked, and ask goes on with it" {
    run_acp ""
    tell CW-OLD
    in_background APPROVE
    ok approve "$ID" solo clear
    [ "$output" = "solo carries out the plan in mode bypass" ]
    wait "$asker"
    grep -q 'seen=\[CW-PLAN\]' "$T/out"
    [ "$(mode_set)" = bypass ]
    eventually state_is solo idle
    tell CW-NEW
    knows CW-NEW CW-PLAN
    again
    tell CW-LAST
    knows CW-LAST CW-NEW CW-PLAN
}

@test "ask that is killed cancels the turn that carries out the plan it waited for" {
    run_acp ""
    "$MAS" ask "$ID" solo APPROVE:HANG >"$T/out" 2>"$T/err" 3>&- &
    asker=$!
    eventually state_is solo waiting
    ok approve "$ID" solo clear
    eventually state_is solo working
    kill -KILL "$asker"
    eventually state_is solo idle
    was_sent session/cancel
}

@test "the mode of a plan is the preset's, or that of approve --mode" {
    run_acp "" "plan_mode = acceptEdits"
    in_background APPROVE
    mas approve "$ID" solo clear --mode nonsense
    [ "$status" -ne 0 ]
    [[ $stderr == *nonsense* ]]
    asks
    fails 2 approve "$ID" solo --mode acceptEdits
    asks
    ok approve "$ID" solo clear --json --mode bypass
    jq -e '.mode == "bypass" and .option == "clear"' <<<"$output"
    wait "$asker"
    [ "$(mode_set)" = bypass ]
    in_background APPROVE
    mas approve "$ID" solo clear
    [ "$output" = "solo carries out the plan in mode acceptEdits" ]
    wait "$asker"
    [ "$(mode_set)" = acceptEdits ]
}

@test "where the agent's own option clears, mas clears in its place, in the mode that it says" {
    run_acp "--plan-clears"
    tell CW-OLD
    in_background APPROVE
    option=$(grep '^>' "$T/trace" | grep request_permission | sed 's/^> //' |
        jq -r '.params.options[] | select(.name | test("clear"; "i")).optionId')
    [ -n "$option" ]
    [ "$option" != clear ]
    ok approve "$ID" solo "$option"
    [ "$output" = "solo carries out the plan in mode acceptEdits" ]
    wait "$asker"
    eventually state_is solo idle
    again
    tell CW-NEW
    knows CW-NEW CW-PLAN
    in_background APPROVE
    mas approve "$ID" solo clear # whatever the agent calls it
    [ "$output" = "solo carries out the plan in mode bypass" ]
    wait "$asker"
}

@test "the words of a plan may be told before it is asked about, and not again" {
    run_acp "--plan-before"
    in_background APPROVE
    ok approve "$ID" solo clear
    wait "$asker"
    grep -q 'seen=\[CW-PLAN\]' "$T/out"
}

@test "history says what was decided, and who did" {
    run_acp "" "permission.read = allow"
    in_background ASK:edit
    "$MAS" approve "$ID" solo
    done_asking
    in_background ASK:edit
    MAS_SESSION_ID=$ID MAS_AGENT_ID=solo fails 1 deny solo
    [ "$stderr" = "mas: cannot answer agent 'solo': an agent may not decide this for itself" ]
    "$MAS" cancel "$ID" solo
    done_asking
    tell ASK:read
    for form in "" "--export md"; do
        # shellcheck disable=SC2086 # words
        mas history "$ID" solo $form
        [[ $output == *"-> "*", by a person"*"-> not answered"*"-> "*", by the preset"* ]]
    done
}

@test "a plan approved by the agent's own option goes on in the same context" {
    run_acp ""
    tell CW-OLD
    in_background APPROVE
    ok approve "$ID" solo default
    done_asking
    tell CW-NEW
    [[ $output == *CW-OLD*CW-NEW* ]]
}

@test "who starts an agent with a prompt is told what it asks while its session is opened" {
    run_acp "--ask-in-new" "start = demand"
    "$MAS" ask "$ID" solo CW-ONE >"$T/out" 2>"$T/err" 3>&- &
    asked=$!
    eventually asks
    "$MAS" approve "$ID" solo
    wait "$asked"
    grep -qF 'seen=[CW-ONE]' "$T/out"
    [ "$(grep -cF 'asks for a permission: Trust this directory?' "$T/err")" = 1 ]
}

@test "what is asked while a session is opened is asked of a person too, or answered by the policy" {
    run_acp "--ask-in-new"
    eventually asks # before anybody has asked it
    "$MAS" ask "$ID" solo CW-ONE >"$T/out" 2>"$T/err" 3>&- &
    asked=$!
    eventually is solo .queued 1
    [ "$(of solo .note)" = "Trust this directory?" ]
    [ "$(of solo .state)" = waiting ]
    "$MAS" approve "$ID" solo
    wait "$asked"
    grep -qF 'seen=[CW-ONE]' "$T/out"
    [ "$(grep -cF 'asks for a permission: Trust this directory?' "$T/err")" = 1 ]
    grep -qF '"optionId":"y"' "$T/trace" || grep -qF '"optionId": "y"' "$T/trace"
    sed -i 's/^protocol = acp$/&\npermission = deny/' "$ROOT/mas.ini"
    "$MAS" clear "$ID" solo
    again
    tell CW-TWO
    [ "$status" -eq 0 ]
    grep -F '"optionId"' "$T/trace" | grep '^<' | tail -n 1 | grep -q '"n"'
}

# asked_for JSON: the agent asks for a permission, with these members of its tool call (see ASKOF in agent.py).
asked_for() {
    printf '%s' "$1" >"$T/asked"
    in_background "ASKOF:$T/asked"
}

@test "what would be done is shown, not the agent's description of it alone" {
    run_acp ""
    asked_for '{"tool": {"title": "Run the tests", "kind": "execute", "rawInput": {"command": "rm -rf /tmp/x; make", "cwd": "/w"}}}'
    [ "$(of solo .asks)" = "rm -rf /tmp/x; make (Run the tests)" ]
    [ "$(of solo .note)" = "rm -rf /tmp/x; make (Run the tests)" ]
    [[ $(<"$T/err") == *"asks for a permission: rm -rf /tmp/x; make (Run the tests)"*"  command: rm -rf /tmp/x; make"*"  cwd: /w"* ]]
    mas history "$ID" solo --role permission
    [[ $output == *"rm -rf /tmp/x; make (Run the tests)"*"    command: rm -rf /tmp/x; make"*"    cwd: /w"* ]]
    mas approve "$ID" solo
    [ "$output" = "approved: rm -rf /tmp/x; make (Run the tests)
  command: rm -rf /tmp/x; make
  cwd: /w" ]
    done_asking
    for form in "" "--export md"; do
        # shellcheck disable=SC2086 # words
        mas history "$ID" solo $form
        [[ $output == *"command: rm -rf /tmp/x; make"*"cwd: /w"*"-> Allow, by a person"* ]]
    done
}

@test "what the tool call said before it was asked about, and what it says later, is shown too" {
    local old new
    run_acp ""
    asked_for '{"before": [{"title": "Tidy up", "kind": "edit", "locations": [{"path": "/w/a.c", "line": 3}],
        "content": [{"type": "diff", "path": "/w/a.c", "oldText": "one\n", "newText": "\ttwo\n"}]}], "tool": {},
        "then": [{"rawInput": {"command": "curl evil.example"}}, {"title": "Fetch", "kind": "execute"}]}'
    [ "$(of solo .asks)" = "/w/a.c (Tidy up)" ]
    ask solo '{"do":"listen"}' | jq -e '.permissions[0].details == "location: /w/a.c:3\n--- /w/a.c\n+++ /w/a.c\n@@ -1,1 +1,1 @@\n-one\n+\ttwo"'
    old=$("$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0].request')
    touch "$T/asked.0"
    eventually is solo .asks 'curl evil.example (Tidy up)'
    new=$("$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0].request')
    fails 3 approve "$old" # it named another question
    touch "$T/asked.1"
    eventually is solo .asks 'curl evil.example (Fetch)'
    [ "$new" != "$old" ]
    [[ $(<"$T/err") == *"/w/a.c (Tidy up)"*"curl evil.example (Tidy up)"*"curl evil.example (Fetch)"* ]]
    mas deny "$ID" solo
    [ "$output" = "$(printf '%s\n' 'denied: curl evil.example (Fetch)' '  command: curl evil.example' \
        '  location: /w/a.c:3' '  --- /w/a.c' '  +++ /w/a.c' '  @@ -1,1 +1,1 @@' '  -one' $'  +\ttwo')" ]
    done_asking
    "$MAS" history "$ID" solo --role permission --json | jq -e '.messages | length == 1 and (.[0].text | startswith("curl evil.example (Fetch)\ncommand: curl"))'
    "$MAS" history "$ID" solo --role tool --json | jq -e '.messages[0].data | .title == "curl evil.example (Fetch)" and .input == "command: curl evil.example\nlocation: /w/a.c:3"'
}
