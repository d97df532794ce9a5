#!/usr/bin/env bats
# Real programs in a terminal that tell what they do: the conversation comes back, its state is a fact, and
# what was said there is kept. Judged by what the model was sent.
# shellcheck disable=SC2030,SC2031 # each test is a subshell

load ../helper
load lib

setup_more() { :; }

idle() { agent_is idle; }
says() { "$MAS" history "$ID" solo --json | jq -e --arg text "$1" 'any(.messages[]; .text | contains($text))' >/dev/null; }
shows() { tm capture-pane -pt "$PANE" | grep -qF -- "$1"; }
find_pane() { PANE=$(tm list-panes -t "=mas-${ID:0:8}:" -F '#{pane_id}'); }
typed() {
    tm send-keys -t "$PANE" -l "$1"
    within 10 shows "$1"
    tm send-keys -t "$PANE" Enter
}

# Presses Enter, which a new dialog does not take at once.
says_yes() {
    agent_is waiting || return 0
    tm send-keys -t "$PANE" Enter
    return 1
}

# runs NAME: a session with this agent, which is idle.
runs() {
    use_terminal "$1"
    [ "$1" != claude ] || printf '[preset claude-tty]\ncommand = claude --permission-mode default\n' >>"$ROOT/mas.ini"
    team
    find_pane
    within 180 idle
}

# talks NAME: the same, and it has been told CW-OTTER.
talks() {
    runs "$1"
    ok send "$ID" solo 'the word is CW-OTTER {{1}}'
    within 60 says 'answer to 1'
}

all_again() {
    tm kill-server
    ok start --crashed
    find_pane
    within 180 idle
}

@test "claude: after a crash of everything the same conversation goes on" {
    talks claude
    all_again
    [ "$(of_agent continuity)" = resumed ]
    ok send "$ID" solo 'and now {{2}}'
    within 60 says 'answer to 2'
    saw_word 2 CW-OTTER
    [ "$(times_said 1 2)" -eq 1 ]
}

@test "claude: what was cleared in the program stays cleared after a crash" {
    talks claude
    typed /clear
    within 30 grep -q 'context cleared' "$ROOT/sessions/$ID/logs/session.log"
    typed 'another is CW-FOX {{2}}'
    within 60 says 'answer to 2'
    all_again
    ok send "$ID" solo 'and now {{3}}'
    within 60 says 'answer to 3'
    saw_word 3 CW-FOX
    saw_no_word 3 CW-OTTER
}

@test "claude: if its transcript is gone, a new session is told what was said" {
    talks claude
    ok stop "$ID"
    find "$HOME" "$ROOT/sessions/$ID" -name '*.jsonl' -path '*/projects/*' -delete
    ok start "$ID"
    find_pane
    within 180 idle
    [ "$(of_agent continuity)" = injected ]
    ok send "$ID" solo 'and now {{2}}'
    within 60 says 'answer to 2'
    saw_word 2 CW-OTTER
}

@test "claude: asked, refused, allowed, stopped and failed are facts" {
    runs claude
    ok send "$ID" solo "do it {{1 $(PRESET=claude run_order 'touch made')}}"
    within 30 agent_is waiting
    [ "$(of_agent note)" = 'touch made (Bash)' ]
    within 10 shows 'Do you want to proceed'
    tm send-keys -t "$PANE" Escape
    within 10 idle
    ok send "$ID" solo 'slowly {{2 slow 60000}}'
    within 30 agent_is working
    within 30 model_has 2
    tm send-keys -t "$PANE" Escape
    within 10 idle
    tm send-keys -t "$PANE" C-u
    ok send "$ID" solo 'badly {{3 fail 500}}'
    within 60 says 'the agent tells of an error'
    within 10 idle
    ok send "$ID" solo "do it {{4 $(PRESET=claude run_order 'touch made')}}"
    within 30 agent_is waiting
    within 10 shows 'Do you want to proceed'
    within 10 says_yes
    within 30 says 'answer to 4'
    within 10 idle
}

# used: the tokens that the agent has used, as mas counts them
used() { "$MAS" usage "$ID" --json | jq -c '[.. | objects | select(has("input") and has("output"))][0] | [.input, .output]'; }

@test "claude: its tokens, its model and its context are counted, each request once" {
    talks claude
    ok send "$ID" solo "do it {{2 $(PRESET=claude run_order 'touch made')}}"
    within 30 agent_is waiting
    within 10 shows 'Do you want to proceed'
    within 10 says_yes
    within 30 says 'answer to 2'
    within 10 idle
    [ "$(used)" = '[30,30]' ] # three requests of 10 tokens each
    ok usage "$ID" --by model
    [[ $output == *claude-* ]]
    [ "$(of_agent usage.contextUsed)" -eq 20 ]
    ok context "$ID" solo
    [[ $output == *'answer to 2'* ]]
}

@test "claude: what it has written before a kill of everything is read, once" {
    talks claude
    local words before
    tm kill-server
    # as if the host had not read the last lines: the place of the reader and what it has stored are gone
    python3 - "$ROOT/sessions/$ID/memory.db" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("DELETE FROM message WHERE role = 1")
db.execute("UPDATE message SET state = 2, stop_reason = 'stopped' WHERE role = 0")
db.execute("UPDATE usage SET input = NULL, output = NULL, cached_read = NULL, cached_write = NULL")
db.execute("UPDATE transcript SET offset = 0, mark = 0, once = 0")
db.commit()
END
    ok start --crashed
    find_pane
    within 180 idle
    [ "$(of_agent continuity)" = resumed ]
    words=$("$MAS" history "$ID" solo --json | jq -c '[.messages[] | select(.role != "note") | [.role, .text, .state]]')
    [ "$words" = '[["user","the word is CW-OTTER {{1}}","done"],["agent","answer to 1: CW-OTTER","done"]]' ]
    before=$(used)
    [ "$before" = '[10,10]' ]
    all_again
    [ "$("$MAS" history "$ID" solo --json | jq -c '[.messages[] | select(.role != "note") | [.role, .text, .state]]')" = "$words" ]
    [ "$(used)" = "$before" ]
}
