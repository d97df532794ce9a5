#!/usr/bin/env bats
# [limits] turns: at most so many agents of a root, or of a session, work at the same time.
load ../helper
load ../host/lib
load lib

turns() { printf '[limits]\nturns = %s\n' "$1" >>"$ROOT/mas.ini"; }

# most_at_once: the most turns that were on at the same time, from the messages of all agents.
most_at_once() {
    python3 -ES - "$TRACE" <<'P'
import json, sys
on = most = 0
for line in open(sys.argv[1]):
    message = json.loads(line[2:])
    if line[0] == "<" and message.get("method") == "session/prompt":
        on += 1
    elif line[0] == ">" and "stopReason" in (message.get("result") or {}):
        on -= 1
    most = max(most, on)
print(most)
P
}

@test "a root with two turns never has three, and all prompts are answered" {
    turns 2
    acp_team default
    hosts_there "${DEFAULT_TEAM[@]}"
    for agent in "${DEFAULT_TEAM[@]}"; do
        "$MAS" ask --no-wait "$ID" "$agent" "CW-$agent SLOW:100" >/dev/null
    done
    "$MAS" wait --timeout 100s -s "$ID" --for idle all
    for agent in "${DEFAULT_TEAM[@]}"; do [ "$(prompts "CW-$agent ")" = 1 ]; done
    [ "$(most_at_once)" -le 2 ]
    [ "$(find "$ROOT/sessions/.turns" -name 'wait-*' | wc -l)" = 0 ]
    "$MAS" doctor >/dev/null
}

@test "an agent that waits for a turn is idle, with its prompt queued, and says so; a killed one frees its turn" {
    turns 1
    acp_team pair
    hosts_there lead reviewer
    "$MAS" ask --no-wait "$ID" lead HANG >/dev/null
    eventually state_is lead working
    "$MAS" ask --no-wait "$ID" reviewer CW-WAITS >/dev/null
    eventually is reviewer .note "waits for a turn: the root has 1 at a time"
    state_is reviewer idle
    is reviewer .queued 1
    run ! was_sent CW-WAITS
    run "$MAS" wait --timeout 300ms "$ID" reviewer
    [ "$status" -eq 7 ]
    kill -KILL "$(of lead .hostPid)"
    eventually was_sent CW-WAITS
    eventually is reviewer .queued 0
}

@test "persons go first, then who came first" {
    turns 1
    acp_team default
    hosts_there "${DEFAULT_TEAM[@]}"
    "$MAS" ask --no-wait "$ID" 00 HANG >/dev/null
    eventually state_is 00 working
    "$MAS" send --from 10 "$ID" 11 CW-AGENT
    eventually is 11 .queued 1
    "$MAS" send "$ID" 12 CW-FIRST
    eventually is 12 .queued 1
    "$MAS" send "$ID" 13 CW-SECOND
    eventually is 13 .queued 1
    for agent in 11 12 13; do eventually is "$agent" .note "waits for a turn: the root has 1 at a time"; done
    "$MAS" cancel "$ID" 00
    for word in AGENT FIRST SECOND; do eventually was_sent "CW-$word"; done
    [ "$(grep '^<' "$TRACE" | grep -F session/prompt | grep -oE 'CW-(AGENT|FIRST|SECOND)' | xargs)" = "CW-FIRST CW-SECOND CW-AGENT" ]
}

@test "a session has turns of its own, which other sessions do not take" {
    acp_preset scripted
    cp -r "$ROOT/templates/pair" "$ROOT/templates/one"
    sed -i '/^\[template\]/a turns = 1' "$ROOT/templates/one/template.ini"
    new_session -t one --agent scripted
    DIR=$ROOT/sessions/$ID
    jq -e '.turns == 1' "$DIR/config.json"
    hosts_there lead reviewer
    "$MAS" ask --no-wait "$ID" lead HANG >/dev/null
    eventually state_is lead working
    "$MAS" ask --no-wait "$ID" reviewer CW-WAITS >/dev/null
    eventually is reviewer .note "waits for a turn: the session has 1 at a time"
    first=$ID
    new_session -t one --agent scripted
    "$MAS" ask "$ID" lead CW-OTHER >/dev/null
    was_sent CW-OTHER
    run ! was_sent CW-WAITS
    "$MAS" cancel "$first" lead
    eventually was_sent CW-WAITS
}

@test "a prompt that waits for a turn is cancelled, and does not stand in front of others" {
    turns 1
    acp_team default
    hosts_there "${DEFAULT_TEAM[@]}"
    "$MAS" ask --no-wait "$ID" 00 HANG >/dev/null
    eventually state_is 00 working
    "$MAS" ask --no-wait "$ID" 11 CW-CANCELLED >/dev/null
    eventually is 11 .note "waits for a turn: the root has 1 at a time"
    "$MAS" ask --no-wait "$ID" 12 CW-STOPPED >/dev/null
    eventually is 12 .note "waits for a turn: the root has 1 at a time"
    "$MAS" ask --no-wait "$ID" 13 CW-LAST >/dev/null
    eventually is 13 .note "waits for a turn: the root has 1 at a time"
    "$MAS" cancel "$ID" 11
    kill -STOP "$(of 12 .pid)" # an agent that is slow does not matter
    kill -KILL "$(of 12 .hostPid)"
    "$MAS" cancel "$ID" 00
    eventually was_sent CW-LAST
    run ! was_sent CW-CANCELLED
}

@test "agents that wait for a turn use no CPU" {
    turns 1
    acp_team pair
    hosts_there lead reviewer
    "$MAS" ask --no-wait "$ID" lead HANG >/dev/null
    eventually state_is lead working
    "$MAS" ask --no-wait "$ID" reviewer CW-WAITS >/dev/null
    eventually is reviewer .note "waits for a turn: the root has 1 at a time"
    host=$(of reviewer .hostPid)
    before=$(cpu_time "$host")
    "$MAS" ask --timeout 2s "$ID" reviewer CW-MORE >/dev/null 2>&1 || true
    [ $(($(cpu_time "$host") - before)) -lt 50 ]
}
