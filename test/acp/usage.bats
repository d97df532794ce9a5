load ../helper
load ../host/lib
load lib

# used MEMBER: prints a member of what the agent has used, as `status --json` has it.
used() { "$MAS" status "$ID" --json | jq -r ".sessions[0].agents[0].usage.$1"; }

# uses MEMBER VALUE: succeeds if that is what it has used.
uses() { [ "$(used "$1")" = "$2" ]; }

# rows [COLUMNS]: prints the rows of memory.db on what was used, read without mas.
rows() {
    python3 -ES - "$DIR/memory.db" "${1:-prompt is not null, total, input, output, thought, used, size}" <<'P'
import sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
for row in db.execute("select %s from usage order by id" % sys.argv[2]):
    print(*("-" if x is None else x for x in row))
P
}

# costs: prints the costs in memory.db, in millionths.
costs() {
    python3 -ES - "$DIR/memory.db" <<'P'
import sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
for row in db.execute("select currency, sum(amount) from cost group by currency order by currency"):
    print(*row)
P
}

@test "what an agent does not tell is blank, in the status and on disk" {
    run_acp ""
    tell hello
    [ "$status" -eq 0 ]
    for member in contextUsed contextSize tokens cost currency; do uses "$member" null; done
    [ "$(rows)" = "1 - - - - - -" ]
    [ "$(costs)" = "" ]
}

@test "context, cost and tokens of a turn are told, kept and shown" {
    run_acp ""
    tell "USAGE:100/1000 COST:0.25 TOKENS:7/5/12"
    [ "$status" -eq 0 ]
    [ "$(used contextUsed)/$(used contextSize)" = 1000/200000 ]
    [ "$(used cost) $(used currency)" = "0.25 USD" ]
    uses tokens 12
    [ "$(rows)" = "1 12 7 5 - 1000 200000" ]
    tell "COST:0.5eur TOKENS:1/1"
    [ "$(used cost) $(used currency)" = "0 EUR" ] # how much of it is new is not known
    tell "COST:0.1"
    [ "$(costs)" = "EUR 0
USD 350000" ]
    uses tokens 14
    [ "$(rows 'ended is not null, worked is not null, agent_session = (select agent_session from agent_session)' |
        sort -u)" = "1 1 1" ]
}

@test "tokens in the place where Gemini CLI has them are read, unless there is a usage" {
    run_acp ""
    tell "QUOTA:7/5"
    uses tokens 12
    tell "QUOTA:100/100 TOKENS:1/1/2"
    uses tokens 14
    tell "QUOTA:-1/3"
    uses tokens 17
    [ "$(rows 'total, input, output')" = "- 7 5
2 1 1
- - 3" ]
}

@test "tokens that an agent sums over its session are counted once" {
    run_acp "" tokens=session
    tell "TOKENS:10/10/20"
    tell "TOKENS:20/25/45"
    uses tokens 45
    [ "$(rows 'total, input, output')" = "20 10 10
25 10 15" ]
    "$MAS" restart "$ID" solo # it begins anew
    tell "TOKENS:5/5/10"
    uses tokens 55
    tell "TOKENS:8/8/16"
    uses tokens 61
    "$MAS" clear "$ID" solo
    tell "TOKENS:9/9/18"
    uses tokens 79
    tell "TOKENS:1/1/2" # lower than before: it has begun anew without a word
    uses tokens 81
}

@test "the event of usage carries cost and currency" {
    run_acp ""
    run --separate-stderr timeout 60 "$MAS" ask "$ID" solo --json "COST:0.25"
    jq -se 'map(select(.event == "usage")) | last == {event: "usage", used: 1000, size: 200000, cost: 0.25, currency: "USD"}' \
        <<<"$output"
}

@test "a cumulative cost is never counted twice: turns, a clear, a restart, a stop, a kill in the middle" {
    run_acp ""
    tell COST:0.1
    tell "COST:0.1 COST:0.1"
    uses cost 0.3
    "$MAS" clear "$ID" solo
    tell COST:0.1 # of another session of the agent
    uses cost 0.4
    "$MAS" restart -q "$ID" solo
    tell COST:0.1 # resumed: the agent goes on counting, from 0.1 to 0.2
    came_back resumed
    uses cost 0.5
    again
    uses cost 0.5
    tell COST:0.1
    uses cost 0.6
    "$MAS" ask "$ID" solo --no-wait "COST:0.1 HANG"
    eventually uses cost 0.7
    kill -KILL "$(of solo .hostPid)"
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    hosts_there
    uses cost 0.7
    tell COST:0.1
    uses cost 0.8
    [ "$(costs)" = "USD 800000" ]
    [ "$(rows 'ended is null' | sort -u)" = 0 ]
}

@test "an agent that counts from zero after a resume or a load is counted in full" {
    run_acp "--cost-restarts"
    tell COST:0.3
    "$MAS" restart -q "$ID" solo
    tell COST:0.1
    came_back resumed
    uses cost 0.4
    options "--cost-restarts --no-resume"
    "$MAS" restart -q "$ID" solo
    tell "COST:0.05 COST:0.01"
    came_back loaded
    uses cost 0.46
    tell COST:0.04
    uses cost 0.5
}

@test "numbers that are none are not told, and a decreasing cost adds nothing" {
    run_acp ""
    tell 'RAWUSAGE:"\"used\":-5,\"size\":1e99,\"cost\":{\"amount\":-1,\"currency\":\"USD\"}"'
    [ "$status" -eq 0 ]
    for member in contextUsed contextSize cost currency; do uses "$member" null; done
    tell 'RAWUSAGE:"\"used\":1,\"size\":2,\"cost\":{\"amount\":1e400,\"currency\":\"USD\"}"' \
        'RAWUSAGE:"\"cost\":{\"amount\":1,\"currency\":\"\\u001b[31m\"}"'
    uses cost null
    tell "COST:3 COST:-1 COST:0.5"
    uses cost 3
    tell "COST:0.6"
    uses cost 3.1
    tell TOKENS:-1/99999999999999999999
    [ "$status" -eq 0 ]
    uses tokens null
}

@test "the context is empty after a clear, and known again after a resume" {
    run_acp ""
    tell USAGE:500/1000
    "$MAS" restart -q "$ID" solo
    eventually came_back resumed
    [ "$(used contextUsed)/$(used contextSize)" = 500/1000 ]
    "$MAS" clear "$ID" solo
    eventually uses contextUsed null
}

@test "the model of a turn is kept with it" {
    run_acp ""
    tell one
    tell two
    [ "$(rows model | sort -u)" = small ]
}

@test "what is told outside of a turn belongs to the turn before" {
    run_acp ""
    tell "COST:0.1"
    tell "EARLY COST:0.1"
    [ "$(rows 'count(*), sum(prompt is null)')" = "2 0" ]
}

@test "the table of status and the pane have context and cost where they are known" {
    run_acp ""
    [[ $("$MAS" status "$ID") != *CONTEXT* ]]
    tell "COST:1.5 USAGE:500/1000"
    "$MAS" status "$ID" | grep -qE 'CONTEXT +COST'
    "$MAS" status "$ID" | grep -qE '50% +1.50 USD'
    eventually shows 'context 50% | 1.50 USD'
    again # a pane that begins later shows it, too
    eventually shows 'context 50% | 1.50 USD'
}
