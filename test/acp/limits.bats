#!/usr/bin/env bats
# What a provider refuses because of its limits: the prompt is kept, sent again when the provider says
# or by a rule of mas, and the agents with one login wait together.
load ../helper
load ../host/lib
load lib

# limited [HOW]: the provider refuses each prompt from now on; see --limited of agent.py.
limited() { printf '%s' "${1-}" >"$T/limit"; }
unlimited() { rm -f "$T/limit"; }

# retry TIME: when a prompt is sent again, if the provider tells no time
retry() { printf '[limits]\nretry = %s\n' "$1" >>"$ROOT/mas.ini"; }

# limited_agent: a session with an agent whose provider takes nothing now.
limited_agent() {
    retry "$1"
    limited "${2-}"
    run_acp "--limited $T/limit"
    eventually state_is solo idle
}

prompted() { [ "$(prompts "$1")" -ge "$2" ]; }
now_ms() { date +%s%3N; }

@test "a refused prompt waits for the time that the provider tells, and is sent once then" {
    limited_agent 1s 6
    before=$(now_ms)
    "$MAS" ask --no-wait "$ID" solo CW-ONE >/dev/null
    eventually state_is solo limited
    until=$(of solo .untilMs)
    [ "$until" -ge $((before + 5900)) ]
    [ "$(of solo .retryAtMs)" = null ] || [ -z "$(of solo .retryAtMs)" ]
    [[ $(of solo .note) == "its provider takes no prompts until "* ]]
    is solo .queued 1
    eventually shows 'limited | its provider takes no prompts until'
    [[ $(notes) == "a limit of the provider: Internal error; mas sends the prompt again when the provider takes prompts again, at "* ]]
    unlimited
    within 30 state_is solo idle
    [ "$(now_ms)" -ge "$until" ]
    [ "$(prompts CW-ONE)" = 2 ]
    [ "$("$MAS" history "$ID" solo --role user --json | jq '.messages | length')" = 1 ]
}

@test "without a time mas tries by its own rule, twice as late each time, and does not call it the provider's" {
    limited_agent 1s
    "$MAS" ask --no-wait "$ID" solo CW-ONE >/dev/null
    eventually prompted CW-ONE 1
    # one look: a moment later it may work again
    tells_retry() {
        "$MAS" status "$ID" --json | jq -e '.sessions[0].agents[0] | .state == "limited" and .untilMs == null and
            .retryAtMs > 0 and (.note | startswith("its provider takes no prompts; retry at "))'
    }
    eventually tells_retry
    within 30 prompted CW-ONE 3
    unlimited
    within 30 state_is solo idle
    [ "$(prompts CW-ONE)" = 4 ]
    # 1 s, 2 s and 4 s lie between the four
    [ "$(notes | grep -c 'by its own rule')" = 3 ]
    [[ $(notes) == *"refused 3 times"* ]]
    python3 -ES - "$DIR/memory.db" <<'P'
import sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
when = [r[0] for r in db.execute("select time from message where role = 7 and text like '%own rule%' order by id")]
assert when[1] - when[0] >= 1000 and when[2] - when[1] >= 2000, when
P
}

@test "prompts behind the refused one stay behind it" {
    limited_agent 1s
    for word in ONE TWO THREE; do "$MAS" ask --no-wait "$ID" solo "CW-$word" >/dev/null; done
    eventually state_is solo limited
    is solo .queued 3
    unlimited
    within 30 state_is solo idle
    # the first one was refused once or several times, as fast as this machine is
    [ "$(prompts CW-ONE)" -ge 2 ]
    [ "$(grep '^<' "$TRACE" | grep -F session/prompt | grep -oE 'CW-(ONE|TWO|THREE)' | uniq | xargs)" = "CW-ONE CW-TWO CW-THREE" ]
    [ "$(prompts CW-TWO) $(prompts CW-THREE)" = "1 1" ]
    tell CW-LAST
    knows CW-LAST CW-ONE CW-THREE CW-TWO
}

@test "who asks gets the answer in the end, and is told why it takes so long" {
    limited_agent 1s
    timeout 60 "$MAS" ask "$ID" solo CW-ONE >"$T/out" 2>"$T/err" 3>&- &
    asker=$!
    eventually state_is solo limited
    eventually grep -q 'a limit of the provider' "$T/err"
    unlimited
    wait "$asker"
    grep -q 'seen=\[CW-ONE\]' "$T/out"
}

@test "a host that is killed in the middle has the prompt, how often it was refused, and the time" {
    limited_agent 10m
    "$MAS" ask --no-wait "$ID" solo CW-ONE >/dev/null
    "$MAS" ask --no-wait "$ID" solo CW-TWO >/dev/null
    eventually state_is solo limited
    retry=$(of solo .retryAtMs) agent=$(of solo .pid)
    kill -KILL "$(of solo .hostPid)"
    eventually is_gone "$agent"
    again
    eventually state_is solo limited
    is solo .retryAtMs "$retry"
    is solo .queued 2
    [ "$(prompts CW-ONE)" = 1 ]
    unlimited
    "$MAS" restart "$ID" solo
    eventually state_is solo idle
    [ "$(prompts CW-ONE) $(prompts CW-TWO)" = "2 1" ]
    "$MAS" doctor >/dev/null
}

@test "a turn that was refused in the middle of its work is sent again, by the next host, too" {
    limited_agent 10m
    "$MAS" ask --no-wait "$ID" solo "SAY:begun TOOL:read LIMITED CW-ONE" >/dev/null
    eventually state_is solo limited
    again
    eventually state_is solo limited
    is solo .queued 1
    unlimited
    "$MAS" restart "$ID" solo
    eventually state_is solo idle
    [ "$(prompts CW-ONE)" = 2 ]
    again
    eventually state_is solo idle
    [ "$(prompts CW-ONE)" = 2 ]
}

@test "a cancel drops the refused prompt, and a clear drops all" {
    limited_agent 10m
    "$MAS" ask --no-wait "$ID" solo CW-ONE >/dev/null
    "$MAS" ask --no-wait "$ID" solo CW-TWO >/dev/null
    eventually state_is solo limited
    "$MAS" cancel "$ID" solo
    is solo .queued 1
    state_is solo limited
    "$MAS" clear "$ID" solo >/dev/null
    eventually state_is solo idle
    is solo .queued 0
    again
    eventually state_is solo idle
    [ "$(prompts CW-ONE) $(prompts CW-TWO)" = "1 0" ]
    # the login still waits: a new prompt does not go before its time, except for a person
    "$MAS" ask --no-wait "$ID" solo CW-THREE >/dev/null
    eventually state_is solo limited
    [ "$(prompts CW-THREE)" = 0 ]
    unlimited
    "$MAS" restart "$ID" solo
    eventually state_is solo idle
    [ "$(prompts CW-THREE)" = 1 ]
}

is_told() { [[ $(of solo .untilMs) =~ ^[1-9][0-9]*$ ]]; }

@test "an answer that is only the message of a provider is a refusal, and so are words of real agents" {
    limited_agent 1s 'text:API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    "$MAS" ask --no-wait "$ID" solo CW-ONE >/dev/null
    eventually state_is solo limited
    [[ $(notes) == *"the provider has too much load"* ]]
    limited 'error:You have hit your usage limit. Try again in 3 hours 5 minutes.'
    within 20 is_told
    [ $(($(of solo .untilMs) - $(now_ms))) -gt 10000000 ]
    [ $(($(of solo .untilMs) - $(now_ms))) -lt 11200000 ]
}

@test "a preset says in which words a program tells of a limit" {
    retry 1s
    limited 'text:The purse is empty; try again in 3 hours'
    run_acp "--limited $T/limit" 'limited = (purse|jar) is empty'
    eventually state_is solo idle
    tell CW-ONE # the words are not at the beginning of the answer
    state_is solo idle
    limited 'text:Purse is empty; try again in 3 hours'
    "$MAS" ask --no-wait "$ID" solo CW-TWO >/dev/null
    eventually state_is solo limited
    [[ $(notes) == *"a limit of the provider: Purse is empty"* ]]
    is_told
}

@test "another error is no limit, and fails the prompt as before" {
    limited_agent 1s 'error:the context has 429 lines'
    tell CW-ONE
    [ "$status" -eq 1 ]
    state_is solo idle
}

@test "13 agents with one login wait together, one tries first, and nothing is lost or doubled" {
    retry 5s
    limited
    acp_team default --limited "$T/limit"
    hosts_there "${DEFAULT_TEAM[@]}"
    "$MAS" wait --timeout 100s -s "$ID" --for idle all
    for agent in "${DEFAULT_TEAM[@]}"; do
        "$MAS" ask --no-wait "$ID" "$agent" "CW-$agent" >/dev/null &
    done
    wait
    for agent in "${DEFAULT_TEAM[@]}"; do eventually state_is "$agent" limited; done
    # those that were refused at the same time count as one refusal; after that one agent tries alone
    [ "$(find "$ROOT/sessions/.limits" -type f ! -name '*.*' | wc -l)" = 1 ]
    refused=$(sent session/prompt)
    [ "$refused" -le 13 ]
    within 20 prompted CW- "$((refused + 1))"
    for agent in "${DEFAULT_TEAM[@]}"; do eventually state_is "$agent" limited; done
    # the next attempt is 10 s later
    [ "$(sent session/prompt)" -le $((refused + 2)) ]
    unlimited
    "$MAS" wait --timeout 100s -s "$ID" --for idle all
    for agent in "${DEFAULT_TEAM[@]}"; do
        [ "$("$MAS" history "$ID" "$agent" --role user --json | jq '.messages | length')" = 1 ]
        "$MAS" history "$ID" "$agent" --role agent --json | jq -e '.messages | length == 1' >/dev/null
    done
    [ -z "$(find "$ROOT/sessions/.limits" -type f ! -name '*.*')" ]
}

attempts() { cut -d' ' -f1 "$ROOT"/sessions/.limits/*[0-9a-f] 2>/dev/null | grep -x "$1"; }

@test "an agent that says why it was refused before its turn ends does not let the others go on" {
    retry 1s
    limited 'slow:API Error: 529 Overloaded'
    acp_team pair --limited "$T/limit"
    hosts_there lead reviewer
    "$MAS" wait --timeout 60s -s "$ID" --for idle all
    for agent in lead reviewer; do "$MAS" ask --no-wait "$ID" "$agent" "CW-$agent" >/dev/null; done
    # each attempt counts, and none begins anew
    eventually attempts 3
    refused=$(sent session/prompt)
    [ "$refused" -le 5 ]
    unlimited
    "$MAS" wait --timeout 60s -s "$ID" --for idle all
    for agent in lead reviewer; do
        "$MAS" history "$ID" "$agent" --role user --json | jq -e '.messages | length == 1' >/dev/null
    done
}

@test "agents of another login do not wait, and an agent that dies while it tries leaves its place" {
    retry 1s
    limited
    acp_preset scripted --limited "$T/limit"
    acp_preset other ''
    printf 'env.ANTHROPIC_API_KEY = another\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent scripted
    first=$ID
    find_agent
    "$MAS" ask --no-wait "$first" solo CW-ONE >/dev/null
    eventually state_is solo limited
    new_session -t solo --agent other
    find_agent
    tell CW-OTHER
    [ "$status" -eq 0 ]
    new_session -t solo --agent scripted
    find_agent
    "$MAS" ask --no-wait "$ID" solo CW-TWO >/dev/null
    eventually state_is solo limited
    second=$DIR
    DIR=$ROOT/sessions/$first
    kill -KILL "$(of solo .hostPid)"
    unlimited
    DIR=$second
    within 20 state_is solo idle
    [ "$(prompts CW-TWO)" -ge 1 ]
}

@test "a time without a zone is in that of the agent's environment, and so is the note" {
    export TZ=Asia/Kathmandu # at no full hour from any other
    soon=$(date -d '+2 hours' +%s)
    limited_agent 1s "text:You've hit your limit, resets $(date -d "@$soon" +%H:%M)"
    "$MAS" ask --no-wait "$ID" solo CW-ONE >/dev/null
    eventually state_is solo limited
    [ "$(($(of solo .untilMs) / 1000))" -eq "$((soon / 60 * 60))" ]
    [[ $(of solo .note) == *" until $(date -d "@$soon" +%H:%M):00" ]]
}

@test "a limit that is to be over now, and is not, is waited for by mas's own rule" {
    limited_agent 1s "text:You've hit your limit, resets $(TZ=UTC date +%H:%M) UTC"
    "$MAS" ask --no-wait "$ID" solo CW-ONE >/dev/null
    by_own_rule() { notes | grep -q 'by its own rule'; }
    eventually by_own_rule
    unlimited
    within 30 state_is solo idle
    [[ $(notes | head -n 1) == *"sends the prompt again by its own rule, at "* ]] # not at once: so would all agents
}
