#!/usr/bin/env bats
# What agents have used, as memory.db has it: sums by what is asked for, nothing twice, nothing made up.
load ../helper

# used SESSION AGENT QUERY-DAY MODEL TOTAL INPUT WORKED CURRENCY:AMOUNT...: adds a row to memory.db, whose
# day is of December 2025; "-" is NULL.
used() {
    python3 -ES - "$PROJECT/test" "$ROOT/sessions/$1" "$1" "${@:2}" <<'P'
import sys
sys.path.insert(0, sys.argv[1])
from memory import Memory
workspace, session, agent, day, model, total, given, worked = sys.argv[2:10]
memory = Memory(workspace)
at = 1764547200000 + (int(day) - 1) * 86400000
row = memory.db.execute("SELECT q.id FROM query q JOIN conversation c ON c.id = q.conversation"
                        " WHERE c.agent = ?", (agent,)).fetchone()
query = row[0] if row else memory.new(agent, at)
number = memory.db.execute("SELECT coalesce(max(prompt), 0) + 1 FROM usage").fetchone()[0]
value = lambda x: None if x == "-" else int(x)
usage = memory.db.execute(
    "INSERT INTO usage (query, agent, prompt, session, agent_session, model, started, ended, worked, total, input)"
    " VALUES (?, ?, ?, ?, 's', ?, ?, ?, ?, ?, ?)",
    (query, agent, number, session, model, at, at, value(worked), value(total), value(given))).lastrowid
for cost in sys.argv[10:]:
    currency, amount = cost.split(":")
    memory.db.execute("INSERT INTO cost VALUES (?, ?, ?)", (usage, currency, int(amount)))
memory.close()
P
}

line() { grep -E -- "^$1 " <<<"$output" | tr -s ' ' | sed 's/ *$//'; }

@test "a session's agents, with blanks for what is not known, and a total" {
    new_session -n shop -t pair --no-start
    used "$ID" lead 1 large 120 100 60000 USD:1500000
    used "$ID" lead 1 large - - 1000 USD:250000 EUR:1000000
    used "$ID" helper 2 small - - -
    ok usage shop
    [ "$(line AGENT)" = "AGENT TURNS TIME INPUT OUTPUT CACHED THOUGHT TOKENS COST" ]
    [ "$(line lead)" = "lead 2 1m01s 100 120 1.75 USD + 1.00 EUR" ]
    [ "$(line helper)" = "helper 1" ]
    [ "$(line total)" = "total 3 1m01s 100 120 1.75 USD + 1.00 EUR" ]
}

@test "by session, agent, query, day and model, as text and as JSON" {
    new_session -n one -t solo --no-start
    local one=$ID
    new_session -n two -t solo --no-start
    local two=$ID
    used "$one" solo 2 large 10 - 100 USD:1
    used "$two" solo 1 small 20 - 100 USD:2
    used "$two" solo 2 large 40 - 100 USD:4
    mas usage
    [ "$(line one)" = "one 1 100ms 10 0.0000 USD" ]
    [ "$(line total)" = "total 3 300ms 70 0.0000 USD" ]
    mas usage --by day --json
    jq -e '[.usage[] | [.day, .turns, .tokens.all, .costs[0].cost]] ==
        [["2025-12-01", 1, 20, 0.000002], ["2025-12-02", 2, 50, 0.000005]]' <<<"$output"
    mas usage --by model --json
    jq -e '[.usage[] | [.model, .turns]] | sort == [["large", 2], ["small", 1]]' <<<"$output"
    mas usage two --by query --json
    jq -e --arg id "$two" '[.usage[] | [.sessionId, .agent, .query, .turns, .workedMs]] == [[$id, "solo", 1, 2, 200]]' <<<"$output"
    mas usage two --by query # the columns stand below their heads
    [ "$(line solo)" = "solo 1 2 200ms 60 0.0000 USD" ]
    mas usage --by query
    [ "$(line two)" = "two solo 1 2 200ms 60 0.0000 USD" ]
    mas usage --by agent --json
    jq -e '.usage | length == 2' <<<"$output"
    jq -e '.total == {turns: 3, workedMs: 300, tokens: {all: 70, input: null, output: null, thought: null,
        cachedRead: null, cachedWrite: null}, costs: [{cost: 0.000007, currency: "USD"}]}' <<<"$output"
    fails 2 usage --by phase
    [[ $stderr == *"cannot use --by 'phase': it is not session, agent, query, day, model or account"* ]]
}

@test "damaged sessions are told of and left out; a missing memory.db is nothing" {
    new_session -n good -t solo --no-start
    used "$ID" solo 1 large 10 - 100 USD:1000000
    new_session -n fresh -t solo --no-start
    new_session -n bad -t solo --no-start
    echo garbage >"$ROOT/sessions/$ID/memory.db"
    ok usage
    [[ $stderr == *"warning: cannot read what session 'bad' has used: "* ]]
    [ "$(line good)" = "good 1 100ms 10 1.00 USD" ]
    [ "$(line total)" = "total 1 100ms 10 1.00 USD" ]
    mas usage --json
    jq -e --arg id "$ID" '.problems | length == 1 and .[0].sessionId == $id' <<<"$output"
    fails 5 usage bad
    [ "${stderr_lines[0]}" = "mas: cannot read what session 'bad' has used: cannot read 'memory.db': it is not a database" ]
    [[ ${stderr_lines[1]} == *'mas doctor --fix' ]]
    ok usage fresh
    [ "$(line total)" = "total 0" ]
    fails 3 usage nosuch
}

@test "what a copy has from before it was copied counts once" {
    new_session -n first -t solo --no-start
    local first=$ID
    used "$first" solo 1 large 10 - 100 USD:1000000
    "$MAS" archive -q -o "$T/a.tar.zst" first
    "$MAS" restore -q "$T/a.tar.zst" --new-id -n second >/dev/null
    mas usage --json
    jq -e '.total.turns == 1 and .total.costs[0].cost == 1' <<<"$output"
    mas usage second --json
    jq -e '.total.turns == 1' <<<"$output"
    "$MAS" restore -q "$T/a.tar.zst" --new-id -n third >/dev/null
    "$MAS" rm -qf first
    mas usage --json
    jq -e '.total.turns == 1 and (.usage | length == 1)' <<<"$output"
}

@test "hostile rows of memory.db break neither the sums nor the terminal" {
    new_session -n shop -t solo --no-start
    used "$ID" solo 1 $'a\x1b[31mb' 10 - 100 $'U\x1b[31m:5' USD:-5 USX:9223372036854775807 USD2:5 EUR:1000000
    used "$ID" solo 1 x -9223372036854775808 9223372036854775807 9223372036854775807
    ok usage shop --by model
    [[ $output != *$'\x1b'* ]]
    [ "$(line total)" = "total 2 100ms 10 1.00 EUR" ]
}

@test "no root and no session are said" {
    ok usage
    [ -z "$output" ]
    [[ $stderr == *"no sessions"* ]]
}
