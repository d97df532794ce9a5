load ../helper
load ../host/lib
load lib

# used MEMBER [AGENT]: prints a member of what an agent has used, as `status --json` has it.
used() {
    "$MAS" status "$ID" --json |
        jq -r --arg a "${2-solo}" ".sessions[0].agents[] | select(.id == \$a).usage.$1"
}

# paused AGENT: succeeds if the agent is paused.
paused() { state_is "$1" paused; }

# note_of [AGENT]: prints the agent's note.
note_of() { of "${1-solo}" .note; }

# said WORDS: succeeds if a note in the history has these words.
said() { notes | grep -qF -- "$1"; }

# asked WORDS N: succeeds if the agent was sent N prompts with these words.
asked() { [ "$(prompts "$1")" = "$2" ]; }

# later TEXT: a prompt for which nobody waits.
later() { "$MAS" ask "$ID" solo --no-wait "$1" >/dev/null; }

@test "a budget of cost: the agent finishes its turn, is paused and says so; prompts wait until a person approves" {
    run_acp "" "budget.cost = 1 USD"
    tell COST:0.6
    state_is solo idle
    later "COST:0.6 SAY:before RUN:true SAY:after"
    eventually paused solo
    [ "$(note_of)" = "the agent has used 1.20 USD of 1.00 USD" ]
    said "the agent has used 1.20 USD of 1.00 USD: it finishes its turn, and is paused then"
    said "paused: the agent has used 1.20 USD of 1.00 USD; to let it go on: mas approve"
    "$MAS" history "$ID" solo --role agent | grep -q after
    later CW-WAITS
    is solo .queued 1
    paused solo
    asked CW-WAITS 0
    ok approve "$ID" solo
    [ "$output" = "the agent may use 2.20 USD" ]
    eventually asked CW-WAITS 1
    eventually state_is solo idle
    said "a person lets it go on: the agent may use 2.20 USD"
    tell COST:1
    eventually paused solo
    mas approve "$ID" solo --more "0.5 USD"
    [ "$output" = "the agent may use 2.70 USD" ]
    eventually state_is solo idle
}

@test "mas show says how much of a budget is used, whether the agent runs or not" {
    run_acp "" "budget.turns = 3"
    "$MAS" set -q "$ID" 'budget.cost=9 USD'
    tell COST:0.6
    [ "$(field "$ID" '[.budget, .agents[0].budget] | tostring')" = \
        '[{"cost":{"amount":"9 USD","used":"0.6 USD","from":"mas set"}},{"turns":{"amount":"3","used":"1","from":"preset made"}}]' ]
    later COST:0.9
    later COST:0.9
    eventually paused solo
    "$MAS" approve "$ID" solo --more 4 >/dev/null
    "$MAS" stop -q "$ID" >/dev/null
    [ "$(field "$ID" '.agents[0].budget | tostring')" = '{"turns":{"amount":"7","used":"3","from":"mas approve, for agent solo"}}' ]
    [[ $("$MAS" show "$ID") == *'3 turns of 7 turns (mas approve, for agent solo)'* ]]
}

@test "an agent that tells no cost leaves it unknown how much of that is used" {
    run_acp "" "budget.cost = 1 USD"
    tell hello
    [ "$(field "$ID" '.agents[0].budget.cost.used')" = null ]
    [[ $("$MAS" show "$ID") == *'1.00 USD (preset made; its use is not told)'* ]]
}

@test "reached in mid-turn: nothing is cut off, and prompts that were queued before wait" {
    run_acp "" "budget.cost = 1 USD"
    later 'COST:1.5 ASK SAY:finished'
    eventually asks
    later CW-QUEUED
    "$MAS" approve "$ID" solo # the permission, not the budget
    eventually paused solo
    "$MAS" history "$ID" solo --role agent | grep -q finished
    is solo .queued 1
    asked CW-QUEUED 0
    "$MAS" approve "$ID" solo >/dev/null
    eventually asked CW-QUEUED 1
}

@test "paused over a restart of the agent, of its host and of the session; the prompts are kept" {
    run_acp "" "budget.cost = 1 USD"
    tell COST:1
    eventually paused solo
    later CW-KEPT
    "$MAS" restart -q "$ID" solo
    eventually paused solo
    again
    eventually paused solo
    is solo .queued 1
    kill -KILL "$(of solo .hostPid)"
    "$MAS" stop -q "$ID" >/dev/null
    "$MAS" start -q "$ID" >/dev/null
    hosts_there
    eventually paused solo
    is solo .queued 1
    asked CW-KEPT 0
    [ "$(notes | grep -c '^paused')" = 1 ]
    "$MAS" approve "$ID" solo >/dev/null
    eventually asked CW-KEPT 1
    again # what a person has allowed holds, too
    tell hello
    [ "$status" -eq 0 ]
}

@test "a budget of turns lets exactly that many begin" {
    run_acp "" "budget.turns = 2"
    tell one
    state_is solo idle
    tell two
    eventually paused solo
    [ "$(note_of)" = "the agent has used 2 turns of 2 turns" ]
    later three
    asked three 0
    mas approve "$ID" solo --more 1
    [ "$output" = "the agent may use 3 turns" ]
    eventually asked three 1
    eventually paused solo
}

@test "a budget of tokens counts totals, or else the sum of what is told" {
    run_acp "" "budget.tokens = 100"
    tell TOKENS:10/10/50
    state_is solo idle
    tell TOKENS:40/10
    eventually paused solo
    [ "$(note_of)" = "the agent has used 100 tokens of 100 tokens" ]
    [ "$(used tokens)" = 100 ]
}

@test "a budget of time counts the time in which the agent works, not that in which it waits for a person" {
    run_acp "" "budget.time = 2s"
    later "ASK SLOW:100"
    eventually asks
    SECONDS=0
    until ((SECONDS >= 3)); do sleep 0.1; done # longer than the budget
    "$MAS" approve "$ID" solo
    eventually state_is solo idle
    tell SLOW:2100
    eventually paused solo
    [[ $(note_of) == "the agent has used "*s" of 2s" ]]
    ok approve "$ID" solo --more 1h
    eventually state_is solo idle
}

# budget_team BUDGET: a team of two, `lead` and `helper`, whose template has this budget.
budget_team() {
    acp_preset scripted ""
    "$MAS" template new two --from pair -q 2>/dev/null || cp -r "$ROOT/templates/pair" "$ROOT/templates/two"
    printf '\n[budget]\n%s\n' "$1" >>"$ROOT/templates/two/template.ini"
    new_session -t two --agent scripted
    DIR=$ROOT/sessions/$ID
    mapfile -t AGENTS < <("$MAS" status "$ID" --json | jq -r '.sessions[0].agents[].id')
}

@test "a budget of a session counts all its agents together" {
    budget_team "cost = 1 USD"
    local one=${AGENTS[0]} two=${AGENTS[1]}
    timeout 60 "$MAS" ask "$ID" "$one" COST:0.6
    state_is "$one" idle
    timeout 60 "$MAS" ask "$ID" "$two" COST:0.6
    eventually paused "$two"
    [ "$(note_of "$two")" = "the team has used 1.20 USD of 1.00 USD" ]
    "$MAS" ask "$ID" "$one" --no-wait CW-ONE >/dev/null # it learns of that with its next prompt
    eventually paused "$one"
    asked CW-ONE 0
    "$MAS" approve "$ID" "$two" >/dev/null
    eventually state_is "$two" idle
    eventually asked CW-ONE 1 # and goes on by itself
    [ "$(used cost "$one")" = 0.6 ]
}

@test "an aside of an agent that is idle is held back by what the others of its team have used" {
    printf '[budget]\ncost = 1 USD\n' >>"$ROOT/mas.ini"
    acp_preset scripted "--fork"
    new_session -t pair --agent scripted
    DIR=$ROOT/sessions/$ID
    hosts_there lead reviewer
    ok ask "$ID" reviewer first
    ok ask "$ID" lead 'COST:1.2'
    fails 4 ask "$ID" reviewer --aside second
    [[ $stderr == *'the team has used 1.20 USD of 1.00 USD'* ]]
}

@test "a prompt to an agent that is idle, which its team's budget holds back, is kept over a kill" {
    budget_team "cost = 1 USD"
    local one=${AGENTS[0]} two=${AGENTS[1]}
    timeout 60 "$MAS" ask "$ID" "$one" COST:0
    timeout 60 "$MAS" ask "$ID" "$two" COST:1
    eventually paused "$two"
    "$MAS" ask "$ID" "$one" --no-wait CW-ONE >/dev/null
    eventually paused "$one"
    kill -KILL "$(of "$one" .hostPid)"
    "$MAS" stop -q "$ID" >/dev/null
    "$MAS" start -q "$ID" >/dev/null
    hosts_there "$one"
    eventually paused "$one"
    is "$one" .queued 1
    "$MAS" approve "$ID" "$two" >/dev/null
    eventually asked CW-ONE 1
}

# other_begins AGENT COMMAND...: the agent begins a turn. What the command does meanwhile sees the budget before that,
# and writes only after it.
other_begins() {
    python3 -ES - "$DIR/memory.db" "$ID" "$@" <<'P'
import sqlite3, subprocess, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
command = subprocess.Popen(sys.argv[4:], close_fds=False)
time.sleep(0.5)
db.execute("INSERT INTO usage (query, agent, prompt, session, agent_session, model, started, worked) "
           "VALUES (1, ?, 4711, ?, '', '', 0, 0)", (sys.argv[3], sys.argv[2]))
db.execute("COMMIT")
command.wait()
P
}

@test "a prompt that is to begin at once when another agent takes the last turn is kept over a kill" {
    budget_team "turns = 1"
    local one=${AGENTS[0]} two=${AGENTS[1]}
    eventually state_is "$two" idle
    other_begins "$one" "$MAS" ask "$ID" "$two" --no-wait CW-GAP
    eventually paused "$two"
    kill -KILL "$(of "$two" .hostPid)"
    "$MAS" stop -q "$ID" >/dev/null
    "$MAS" start -q "$ID" >/dev/null
    hosts_there "$two"
    eventually paused "$two"
    is "$two" .queued 1
    asked CW-GAP 0
    "$MAS" approve "$ID" "$two" >/dev/null
    eventually asked CW-GAP 1
}

@test "a turn that another agent takes while this one begins is not begun, and gives up its place" {
    printf '[limits]\nturns = 1\n' >>"$ROOT/mas.ini"
    budget_team "turns = 1"
    local one=${AGENTS[0]} two=${AGENTS[1]} slot=$ROOT/sessions/.turns/slot-1
    eventually state_is "$two" idle
    mkdir -p "${slot%/*}"
    exec 8>"$slot"
    flock 8
    "$MAS" ask "$ID" "$two" --no-wait CW-GAP >/dev/null
    eventually is "$two" .note "waits for a turn: the root has 1 at a time"
    # shellcheck disable=SC2016 # for the shell there
    other_begins "$one" sh -c 'flock -u 8; : >"$1"' sh "$slot"
    exec 8>&-
    eventually paused "$two"
    asked CW-GAP 0
    flock -n "$slot" true
    "$MAS" approve "$ID" "$two" >/dev/null
    eventually asked CW-GAP 1
}

@test "two agents of a session that begin at once never have more turns than the budget" {
    budget_team "turns = 5"
    local one=${AGENTS[0]} two=${AGENTS[1]} i
    for i in 1 2 3 4 5; do
        "$MAS" ask "$ID" "$one" --no-wait "CW-BOTH $i" >/dev/null
        "$MAS" ask "$ID" "$two" --no-wait "CW-BOTH $i" >/dev/null
    done
    eventually paused "$one"
    eventually paused "$two"
    asked CW-BOTH 5
    [ "$(($(of "$one" .queued) + $(of "$two" .queued)))" = 5 ]
}

@test "a cost in another currency than the budget's is said and not counted" {
    run_acp "" "budget.cost = 1 USD"
    tell COST:5eur
    state_is solo idle
    said "the agent tells its cost in EUR: a budget in USD does not count it"
    tell COST:5eur
    [ "$(notes | grep -c 'does not count')" = 1 ]
}

@test "an agent that tells no cost or no tokens is said, not guessed" {
    run_acp "" "budget.cost = 1 USD" "budget.tokens = 10"
    tell hello
    said "the agent tells no cost: a budget in USD does not count it"
    said "the agent tells no tokens: a budget of tokens does not count them"
    state_is solo idle
}

@test "only a person lets an agent go on; an amount that is none is refused" {
    run_acp "" "budget.cost = 1 USD" "budget.turns = 1"
    fails 3 approve "$ID" solo
    tell COST:1
    eventually paused solo
    mas approve "$ID" solo --from solo
    [ "$status" -ne 0 ]
    paused solo
    fails 2 approve "$ID" solo --more 5
    [[ $stderr == *"several limits are reached: name one, as in cost=5"* ]]
    mas approve "$ID" solo --more cost=5
    [[ $stderr == *"'5' is not an amount and its currency, such as 5 USD, or none"* ]]
    mas approve "$ID" solo --more "cost=5 EUR"
    [[ $stderr == *"its budget is in USD"* ]]
    mas approve "$ID" solo --more coffee=5
    [[ $stderr == *"'coffee' is no kind of budget"* ]]
    paused solo
    "$MAS" approve "$ID" solo --more cost=none >/dev/null
    paused solo
    mas approve "$ID" solo --more turns=2 --json
    jq -e '.budget == "the agent may use 3 turns"' <<<"$output"
    eventually state_is solo idle
}

@test "one who waits for a prompt is told that it waits" {
    run_acp "" "budget.turns = 1"
    tell one
    eventually paused solo
    timeout 60 "$MAS" ask "$ID" solo CW-LATER >"$T/out" 2>"$T/err" 3>&- &
    local asker=$!
    eventually grep -qs "warning: the prompt waits: the agent is paused: the agent has used 1 turns of 1 turns" "$T/err"
    "$MAS" approve "$ID" solo >/dev/null
    wait "$asker"
    grep -q CW-LATER "$T/out"
}

@test "the budget of mas.ini holds for each session" {
    printf '[budget]\nturns = 1\n' >>"$ROOT/mas.ini"
    run_acp ""
    tell one
    eventually paused solo
    [ "$(note_of)" = "the team has used 1 turns of 1 turns" ]
}

@test "a person sets a budget for a session or an agent while it runs; a higher one lets it go on" {
    run_acp ""
    ok set "$ID" budget.turns=1
    [ "$output" = "$ID: the budget of turns is 1" ]
    tell one
    eventually paused solo
    later CW-NEXT
    "$MAS" set -q "$ID" budget.turns=2
    eventually asked CW-NEXT 1
    eventually paused solo
    "$MAS" set -q "$ID" solo.budget.turns=none
    paused solo
    "$MAS" set -q "$ID" budget.turns=default
    eventually state_is solo idle
    fails 3 set "$ID" nobody.budget.turns=1
    fails 2 set "$ID" budget.turns=many
    [[ $stderr == *"'many' is not a number of turns from 1 on, or none, or default"* ]]
    MAS_AGENT_ID=solo MAS_SESSION_ID=$ID fails 1 set "$ID" budget.turns=9
}
