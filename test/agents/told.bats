#!/usr/bin/env bats
# Real programs in a terminal that tell what they do: the conversation comes back, its state is a fact, and
# what was said there is kept. Judged by what the model was sent.
#
# MAS_TEST_AGENT says which program; run.sh runs them all, as claude-tty and so on. What differs between
# them is in the tables below.
# shellcheck disable=SC2030,SC2031 # each test is a subshell

load ../helper
load ../disk
load lib

# What makes it ask before it runs a tool, in its preset
declare -gA ASKING=(
    [claude]='command = claude --permission-mode default'
    [codex]='command = codex --no-daemon --ask-for-approval on-request --sandbox read-only
sandbox_off.args ='
    [copilot]='; it asks as it is'
    [gemini]='; it asks as it is'
    [opencode]='; its file says so'
)
# What its question shows, the keys that allow and refuse, and those that stop a turn
declare -gA QUESTION=([claude]='Do you want to proceed' [codex]='Would you like to run'
    [copilot]='Do you want to run this command' [opencode]='Permission required' [gemini]='Allow execution of')
declare -gA ALLOW=([claude]=Enter [codex]=y [copilot]=Enter [opencode]=Enter [gemini]=1)
declare -gA REFUSE=([claude]=Escape [codex]=Escape [copilot]=Escape [opencode]=Escape [gemini]=Escape)
declare -gA STOP=([claude]=Escape [codex]=Escape [copilot]='Escape Escape' [opencode]='Escape Escape' [gemini]=Escape)
# What is typed to clear the context, and to end the program
declare -gA CLEAR=([claude]=/clear [codex]=/clear [copilot]=/clear [opencode]=/new [gemini]=/clear)
# What is typed to choose an earlier session, and what shows that it can be
declare -gA BACK=([claude]=/resume [codex]=/resume [copilot]=/resume [opencode]=/sessions [gemini]=/resume)
declare -gA CHOOSES=([claude]='Resume session' [codex]='Resume a previous session' [copilot]='[Sessions]'
    [opencode]='pin/unpin' [gemini]='Chat Sessions')
declare -gA LEAVE=([claude]=/exit [codex]=/quit [copilot]=/exit [opencode]=/exit [gemini]=/quit)
# What its usage calls the model
declare -gA MODEL_NAME=([claude]=claude- [codex]=test-model [copilot]=test-model [opencode]=test-model [gemini]=gemini-)
# Where it keeps its sessions: the path of a file ends like this
declare -gA KEPT=([claude]='*/projects/*.jsonl' [codex]='*/sessions/*.jsonl' [copilot]='*/session-state/*/events.jsonl'
    [opencode]='*/opencode.db*' [gemini]='*/chats/*.jsonl')

# The program's name of the tool that runs a command, as its status shows it, and an order of the model for it
# that has to be allowed
declare -gA TOOL=([claude]=Bash [codex]=Bash [copilot]=bash [opencode]=bash [gemini]=exec)
needs_leave() {
    case $AGENT in
        codex) echo "call exec_command $(jq -nc --arg cmd "$1" \
            '{cmd: $cmd, sandbox_permissions: "require_escalated", justification: "as asked"}')" ;;
        *) PRESET=$AGENT run_order "$1" ;;
    esac
}

# What asks a person which colour, and what is typed to make its context smaller
ONE='"question":"Which colour?","header":"Colour","options":[{"label":"Blue","description":"as the sea"},{"label":"Red","description":"as fire"}]'
declare -gA QUESTIONS=([claude]="AskUserQuestion {\"questions\":[{$ONE}]}" [codex]="request_user_input {\"questions\":[{\"id\":\"colour\",$ONE}]}"
    [gemini]="ask_user {\"questions\":[{\"type\":\"choice\",$ONE}]}" [opencode]="question {\"questions\":[{$ONE}]}"
    [copilot]='ask_user {"question":"Which colour?","message":"Which colour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string","enum":["Blue","Red"]}},"required":["colour"]}}')
# What its status says of the question: two do not tell it
declare -gA QUESTION_NOTE=([claude]='Which colour? (AskUserQuestion)' [codex]=request_user_input [gemini]=ask_user
    [copilot]='Which colour? (ask_user)' [opencode]='Which colour? (question)')
declare -gA COMPACT=([claude]=/compact [codex]=/compact [copilot]=/compact [opencode]=/compact [gemini]=/compress)

setup_more() {
    [ -n "${ASKING[$AGENT]-}" ] || skip "$AGENT does not tell what it does in its terminal"
    case $BATS_TEST_DESCRIPTION in *'full disk'*) small_root ;; esac
    use_terminal "$AGENT"
    printf '[preset %s]\n%s\n' "$PRESET" "${ASKING[$AGENT]}" >>"$ROOT/mas.ini"
    if [ "$AGENT" = gemini ]; then # which tries ten times, for minutes
        jq '.general.maxAttempts = 2' "$HOME/.gemini/settings.json" >"$T/settings.json"
        mv "$T/settings.json" "$HOME/.gemini/settings.json"
    fi
    if [ "$AGENT" = opencode ]; then
        local file=$XDG_CONFIG_HOME/opencode/opencode.json
        jq '.permission = {bash: "ask"}' "$file" >"$T/opencode.json"
        mv "$T/opencode.json" "$file"
    fi
}

idle() { agent_is idle; }
says() { "$MAS" history "$ID" solo --json | jq -e --arg text "$1" 'any(.messages[]; .text | contains($text))' >/dev/null; }
shows() { tm capture-pane -pt "$PANE" | grep -qF -- "$1"; }
shows_not() { ! shows "$1"; }
find_pane() { PANE=$(tm list-panes -t "=mas-${ID:0:8}:" -F '#{pane_id}'); }
typed() {
    tm send-keys -t "$PANE" -l "$1"
    within 10 shows "$1"
    tm send-keys -t "$PANE" Enter
}
presses() {
    local key
    for key in $1; do # two in one read would be another key
        tm send-keys -t "$PANE" "$key"
        sleep 0.3
    done
}

# decides KEYS: presses what allows or refuses, again if a new question has not taken it. A key more would
# be one for the line behind it: Claude Code goes back in its conversation with two Escapes there.
waits_not() { ! agent_is waiting; }
decides() {
    presses "$1"
    within 5 waits_not
}
# Presses what stops a turn, again if that came too early, or too slowly for two Escapes.
stops() {
    presses "${STOP[$AGENT]}"
    within 5 idle
}
allows() { decides "${ALLOW[$AGENT]}"; }
refuses() { decides "${REFUSE[$AGENT]}"; }

# runs: a session with the agent, which is idle.
runs() {
    team
    find_pane
    within 180 idle
}

# talks: the same, and it has been told CW-OTTER.
talks() {
    runs
    ok send "$ID" solo 'the word is CW-OTTER {{1}}'
    within 60 says 'answer to 1'
    within 10 shows 'answer to 1' # what is typed before that is typed into the turn
}

all_again() {
    tm kill-server
    ok start --crashed
    find_pane
    within 180 idle
}

has_come() { [ "$(of_agent continuity)" = "$1" ]; }

# asks_for N COMMAND: the agent asks whether it may run the command.
asks_for() {
    ok send "$ID" solo "do it {{$1 $(needs_leave "$2")}}"
    within 30 agent_is waiting
    [ "$(of_agent note)" = "$2 (${TOOL[$AGENT]})" ]
    within 10 shows "${QUESTION[$AGENT]}"
}

@test "after a crash of everything the same conversation goes on" {
    talks
    all_again
    has_come resumed
    ok send "$ID" solo 'and now {{2}}'
    within 60 says 'answer to 2'
    saw_word 2 CW-OTTER
    [ "$(times_said 1 2)" -eq 1 ]
}

@test "a picture of send reaches the model once, and the history names it, also after a crash" {
    python3 -c 'import struct, sys, zlib
def part(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = (b"\0" + b"\xff\0\0" * 64) * 64
sys.stdout.buffer.write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)) +
                        part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))' >"$T/red.png"
    talks
    ok send "$ID" solo --image "$T/red.png" 'what is it? {{2}}'
    within 60 says 'answer to 2'
    # the test model of OpenCode declares that it takes none
    [ "$AGENT" = opencode ] || [ "$(request 2 | jq .pictures)" -eq 1 ]
    named() { [ "$("$MAS" history "$ID" solo --role user --json | jq -c '[.messages[] | select(.data.pictures) | [.text, .data.pictures[0].name]]')" = '[["what is it? {{2}}","red.png"]]' ]; }
    within 10 named
    all_again
    ok send "$ID" solo 'and now {{3}}'
    within 60 says 'answer to 3'
    [ "$(times_said 2 3)" -eq 1 ]
    named
}

@test "what was cleared in the program stays cleared after a crash" {
    talks
    typed "${CLEAR[$AGENT]}"
    within 30 shows_not 'answer to 1'
    typed 'another is CW-FOX {{2}}'
    within 60 says 'answer to 2'
    grep -q 'context cleared' "$ROOT/sessions/$ID/logs/session.log"
    all_again
    ok send "$ID" solo 'and now {{3}}'
    within 60 says 'answer to 3'
    saw_word 3 CW-FOX
    saw_no_word 3 CW-OTTER
}

@test "what was cleared stays cleared, also if everything crashes before the next prompt" {
    talks
    typed "${CLEAR[$AGENT]}"
    within 30 grep -q 'context cleared' "$ROOT/sessions/$ID/logs/session.log"
    all_again
    has_come fresh
    ok send "$ID" solo 'and now {{2}}'
    within 60 says 'answer to 2'
    saw_no_word 2 CW-OTTER
    all_again
    has_come resumed
}

# Goes down until the mark stands before a session.
marks() {
    if tm capture-pane -pt "$PANE" | grep -q "[❯›].*$1"; then return 0; fi
    presses Down
    return 1
}

# goes_back N WORD: to the session of this word, in which prompt N was answered.
goes_back() {
    typed "${BACK[$AGENT]}"
    within 20 shows "${CHOOSES[$AGENT]}"
    if [ "$AGENT" = opencode ]; then presses Down; else within 10 marks "$2"; fi # whose mark is a colour
    presses Enter
    within 20 shows_not "${CHOOSES[$AGENT]}"
    within 20 shows "answer to $1"
    within 10 idle
}
times_gone() { [ "$("$MAS" history "$ID" solo --json | jq '[.messages[] | select(.text | contains("a person has gone to another session"))] | length')" -eq "$1" ]; }

@test "a session that is gone back to in the program goes on, also after a crash" {
    talks
    within 10 idle
    typed "${CLEAR[$AGENT]}"
    within 30 grep -q 'context cleared' "$ROOT/sessions/$ID/logs/session.log"
    ok send "$ID" solo 'the word is CW-FOX {{2}}'
    within 60 says 'answer to 2'
    within 10 idle
    goes_back 1 CW-OTTER
    ok send "$ID" solo 'and now {{3}}'
    within 60 says 'answer to 3'
    saw_word 3 CW-OTTER
    saw_no_word 3 CW-FOX
    times_gone 1
    within 10 idle
    all_again
    has_come resumed
    ok send "$ID" solo 'and then {{4}}'
    within 60 says 'answer to 4'
    saw_word 4 CW-OTTER
    saw_no_word 4 CW-FOX
    [ "$(times_said 3 4)" -eq 1 ]
    within 10 idle
    [[ $AGENT =~ ^(claude|codex)$ ]] || return 0 # the others tell of it with their next prompt only
    goes_back 2 CW-FOX
    within 20 times_gone 2 # before anything is asked there
    all_again
    has_come resumed
    ok send "$ID" solo 'and last {{5}}'
    within 60 says 'answer to 5'
    saw_word 5 CW-FOX
    saw_no_word 5 CW-OTTER
    [ "$("$MAS" history "$ID" solo --json | jq '[.messages[] | select(.role == "user" or .role == "agent")] | length')" -eq 10 ]
}

@test "if its transcript is gone, a new session is told what was said" {
    talks
    ok stop "$ID"
    find "$HOME" "$ROOT/sessions/$ID" -path "${KEPT[$AGENT]}" -delete
    ok start "$ID"
    find_pane
    within 180 idle
    has_come injected
    ok send "$ID" solo 'and now {{2}}'
    within 60 says 'answer to 2'
    saw_word 2 CW-OTTER
}

@test "a turn that a kill of the program cuts off is known as such, and the conversation goes on" {
    talks
    ok send "$ID" solo 'the next is CW-BEAR {{2 slow 60000}}'
    within 30 agent_is working
    within 30 model_has 2
    kill -KILL "$(of_agent pid)"
    within 30 agent_has_ended
    "$MAS" history "$ID" solo --json | jq -e 'any(.messages[]; .role == "user" and .state == "interrupted")'
    ok restart "$ID" solo
    find_pane
    within 180 idle
    has_come resumed
    ok send "$ID" solo 'and now {{3}}'
    within 60 says 'answer to 3'
    saw_word 3 CW-OTTER
    saw_word 3 CW-BEAR
    typed "${LEAVE[$AGENT]}"
    within 30 agent_is exited
}

is_in_queue() { [ "$(of_agent queued)" -eq "$1" ]; }

@test "the root moved, and prompts that wait behind a turn over a kill of the host: each is asked once, in order" {
    talks
    within 10 idle
    ok stop "$ID"
    mv "$ROOT" "$T/elsewhere"
    export MAS_ROOT=$T/elsewhere ROOT=$T/elsewhere
    trust_tree "$ROOT/sessions"
    ok start "$ID"
    find_pane
    within 180 idle
    ok send "$ID" solo 'the next is CW-BEAR {{2 slow 60000}}'
    within 30 agent_is working
    within 30 saw_word 2 CW-OTTER # OpenCode asks for a title before it, with the prompt alone
    ok ask "$ID" solo --no-wait 'then {{3}}'
    ok ask "$ID" solo --no-wait 'and then {{4}}'
    within 10 is_in_queue 2
    kill -KILL "$(of_agent hostPid)"
    within 20 nothing_runs
    ok start "$ID"
    within 180 says 'answer to 4'
    [[ ! $AGENT =~ ^(claude|codex)$ ]] || saw_word 4 CW-OTTER # what others were told at a start they have until the next
    saw_word 4 CW-BEAR
    [ "$(jq -r 'select(.tools != []) | .mark' "$LOG" | uniq | xargs)" = '1 2 3 4' ]
    [ "$(times_said 3 4)" -eq 1 ]
}

@test "asked, refused, allowed and stopped are facts" {
    runs
    asks_for 1 'touch made'
    within 20 refuses
    within 10 idle
    ok send "$ID" solo 'slowly {{2 slow 60000}}'
    within 30 agent_is working
    within 30 model_has 2
    within 30 stops
    presses C-u
    asks_for 3 'touch made'
    within 20 allows
    within 30 says 'answer to 3'
    within 10 idle
}

# spoken: the marks of prompts and answers in its history, in order
spoken() {
    "$MAS" history "$ID" solo --json | jq -c '[.messages[] | select(.role == "user" or .role == "agent")
        | .text | scan("[{]{[0-9]|answer to [0-9]")]'
}
has_spoken() { [ "$(spoken)" = "$1" ]; }

@test "a message in the middle of a turn is answered behind the answer of that turn" {
    runs
    ok send "$ID" solo 'slowly {{1 slow 8000}}'
    within 30 model_has 1
    ok send "$ID" solo 'and then {{2}}'
    within 60 says 'answer to 2'
    # Codex cuts its answer off, keeps nothing of it, and answers both
    [ "$AGENT" = codex ] && first='' || first='"answer to 1",'
    within 10 has_spoken "[\"{{1\",$first\"{{2\",\"answer to 2\"]"
    within 10 idle
    [ "$("$MAS" history "$ID" solo --role user --json | jq -c '[.messages[].state]')" = '["done","done"]' ]
    [ "$(times_said 2 2)" -eq 1 ]
}

@test "a message that a turn takes up behind a tool belongs to that turn" {
    runs
    asks_for 1 'touch made; sleep 8'
    ok approve "$ID" solo
    within 10 agent_is working
    ok send "$ID" solo 'and then {{2}}'
    within 60 says 'answer to 2'
    # Gemini CLI takes it up behind the turn. Copilot lets the tool go on in the background, answers at once,
    # and by itself again when that has ended.
    [ "$AGENT" = gemini ] && behind='"answer to 1",' || behind=''
    [ "$AGENT" = copilot ] && again=',"answer to 2"' || again=''
    within 20 has_spoken "[\"{{1\",$behind\"{{2\",\"answer to 2\"$again]"
    within 10 idle
    [ "$(times_said 2 2)" -eq 1 ]
}

@test "claude: a message that it has kept goes on behind a turn that is stopped" {
    [ "$AGENT" = claude ] || skip 'of Claude Code'
    runs
    ok send "$ID" solo 'slowly {{1 slow 60000}}'
    within 30 model_has 1
    ok send "$ID" solo 'and then {{2}}'
    within 20 says 'and then'
    presses "${STOP[$AGENT]}"
    within 60 says 'answer to 2'
    within 20 idle
    [ "$("$MAS" history "$ID" solo --role user --json | jq -c '[.messages[].state]')" = '["interrupted","done"]' ]
}

# not_glued N M: prompt M was not typed behind prompt N, which the program may put back on its line.
not_glued() {
    request "$2" | jq -e --arg one "{{$1" --arg other "{{$2" 'all(.said[].text; contains($one) and contains($other) | not)'
}

@test "a cancel directly behind a prompt stops it, and nothing is lost or said twice" {
    local n=1 after
    runs
    for after in 0 0.2 0.7; do # from before the program has begun its turn to behind that
        ok send "$ID" solo "slowly {{$n slow 60000}}"
        sleep "$after"
        ok cancel "$ID" solo
        within 30 idle
        ok send "$ID" solo "and now {{$((n + 1))}}"
        within 50 says "answer to $((n + 1))"
        within 10 idle
        not_glued "$n" $((n + 1))
        n=$((n + 2))
    done
    asked=$("$MAS" history "$ID" solo --role user --json | jq -c '[.messages[] | .text | scan("{{([0-9])")[0]]')
    [ "$asked" = '["1","2","3","4","5","6"]' ] || { echo "$asked"; false; }
}

@test "what a program that is stopped puts back on its line, of several lines and long, is not in the next message" {
    local n=1 way
    runs
    for way in cancel keys; do
        kill -STOP "$MODEL" # no word of an answer comes
        ok send "$ID" solo "$(printf 'some words %.0s' {1..40})"$'\nthe second line\n'"and a third {{$n}}"
        within 30 agent_is working
        if [ "$way" = cancel ]; then ok cancel "$ID" solo; else presses "${STOP[$AGENT]}"; fi
        kill -CONT "$MODEL"
        within 30 idle
        ok send "$ID" solo "and now {{$((n + 1))}}"
        within 60 says "answer to $((n + 1))"
        within 10 idle
        not_glued "$n" $((n + 1))
        n=$((n + 2))
    done
}

# asks_colour N: it asks a person which colour, and waits.
asks_colour() {
    ok send "$ID" solo "ask it {{$1 call ${QUESTIONS[$AGENT]}}}"
    within 30 agent_is waiting
    within 10 shows 'Which colour?'
    within 10 noted "${QUESTION_NOTE[$AGENT]}" # the title of Codex says earlier that it asks
    run ! "$MAS" approve "$ID" solo # it is answered on the screen
}
noted() { [ "$(of_agent note)" = "$1" ]; }
answers() { decides Enter; }

@test "a question is a fact, answered and declined" {
    # which asks only while it plans, else
    [ "$AGENT" != codex ] || sed -i 's/^command = codex --no-daemon/& -c features.default_mode_request_user_input=true/' "$ROOT/mas.ini"
    runs
    asks_colour 1
    within 20 answers
    within 30 says 'answer to 1'
    within 10 idle
    asks_colour 2
    within 20 refuses
    within 10 idle
    ok send "$ID" solo 'and now {{3}}'
    within 30 says 'answer to 3'
    within 10 idle
}

@test "while its context is made smaller it works, and the conversation goes on" {
    runs
    ok send "$ID" solo 'the word is CW-OTTER {{1 slow 3000}}'
    within 60 says 'answer to 1'
    within 10 idle
    ok send "$ID" solo 'and now {{2 slow 3000}}'
    within 60 says 'answer to 2'
    within 10 idle
    typed "${COMPACT[$AGENT]}"
    within 10 agent_is working
    within 60 idle
    [ "$(of_agent turnEnd)" = "done" ]
    ok send "$ID" solo 'and then {{3}}'
    within 60 says 'answer to 3'
    within 10 idle
    [ "$("$MAS" history "$ID" solo --json | jq '[.messages[] | select(.role == "agent")] | length')" -eq 3 ] # the summary is none
    typed "${LEAVE[$AGENT]}"
    within 30 agent_is exited
}

is_refused() { [[ $(of_agent turnWhy) == *'the provider takes no prompts'* ]]; }

tries_again() { [[ $(of_agent state) == "$1" && $(of_agent note) == *"$2"*'tries again at '* ]]; }

@test "errors of the model are facts" {
    runs
    if [ "$AGENT" = opencode ]; then # which tries again until it is stopped
        ok send "$ID" solo 'badly {{1 fail 500}}'
        within 60 tries_again working 'fails with 500'
        ok cancel "$ID" solo
        within 10 idle
        grep -q 'outcome=cancelled' "$ROOT/sessions/$ID/logs/session.log"
        ok send "$ID" solo 'badly {{2 limit 5000}}'
        within 30 tries_again limited 'rate limit'
        within 90 says 'answer to 2'
        within 10 idle
        [ "$(times_said 2 2)" -eq 1 ]
        return
    fi
    ok send "$ID" solo 'badly {{1 fail 500}}'
    if [ "$AGENT" = gemini ]; then # which tries every three seconds, without an end, and says nothing of it
        within 30 model_has 1
        agent_is working
        ok cancel "$ID" solo
        within 10 idle
        return
    fi
    within 60 says 'the agent tells of an error'
    within 10 idle
    [ "$(of_agent turnEnd)" = failed ]
    ok send "$ID" solo 'badly {{2 fail 429}}'
    within 240 is_refused # Copilot tries for longer than a minute; and the prompt waits until the provider takes prompts again
}

# used: the tokens that the agent has used, as mas counts them
used() { "$MAS" usage "$ID" --json | jq -c '[.. | objects | select(has("input") and has("output"))][0] | [.input, .output]'; }
counted() { [ "$(used)" = "$1" ]; }

@test "its tokens, its model and its context are counted, each request once" {
    talks
    asks_for 2 'touch made'
    within 20 allows
    within 30 says 'answer to 2'
    within 10 idle
    within 10 counted '[30,30]' # three requests of 10 tokens each; lines may come behind the end of a turn
    ok usage "$ID" --by model
    [[ $output == *${MODEL_NAME[$AGENT]}* ]]
    [ "$(of_agent usage.contextUsed)" -eq 20 ]
    ok context "$ID" solo
    [[ $output == *'answer to 2'* ]]
}

@test "what it has written before a kill of everything is read, once" {
    talks
    local words before
    within 10 counted '[10,10]' # the last line is there
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
    has_come resumed
    words=$("$MAS" history "$ID" solo --json | jq -c '[.messages[] | select(.role != "note") | [.role, .text, .state]]')
    [ "$words" = '[["user","the word is CW-OTTER {{1}}","done"],["agent","answer to 1: CW-OTTER","done"]]' ] || { echo "$words"; false; }
    before=$(used)
    [ "$before" = '[10,10]' ]
    all_again
    [ "$("$MAS" history "$ID" solo --json | jq -c '[.messages[] | select(.role != "note") | [.role, .text, .state]]')" = "$words" ]
    [ "$(used)" = "$before" ]
}

all_counted() { counted "$(jq -sc '(map(select(.tools != [])) | length * 10) | [., .]' "$LOG")"; }

@test "what a subagent uses is counted with its agent" {
    [ "$AGENT" = claude ] || skip "not tried with $AGENT"
    runs
    ok send "$ID" solo 'do it {{1 call Agent {"description":"look","prompt":"what is it","subagent_type":"general-purpose"}}}'
    within 60 says 'answer to 1'
    # the call, the subagent, and the answer to what the call has said, with that of the subagent or before it
    within 10 idle
    within 30 all_counted
}

# own_hook [untrusted]: the user has a hook for the end of a turn, which makes a file, in the settings of the program
own_hook() {
    case $AGENT in
        claude) jq -n '{hooks: {Stop: [{hooks: [{type: "command", command: "touch own-hook"}]}]}}' \
            >"$CLAUDE_CONFIG_DIR/settings.json" ;;
        gemini)
            jq '.hooks = {AfterAgent: [{hooks: [{type: "command", command: "touch own-hook"}]}]}' "$HOME/.gemini/settings.json" \
                >"$T/own.json"
            mv "$T/own.json" "$HOME/.gemini/settings.json"
            ;;
        codex)
            printf '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "touch own-hook"\ntimeout = 3\n' \
                >>"$CODEX_HOME/config.toml"
            [ "${1-}" = untrusted ] || printf '[hooks.state."%s/config.toml:stop:0:0"]\ntrusted_hash = "sha256:%s"\n' "$CODEX_HOME" \
                "$(printf %s '{"event_name":"stop","hooks":[{"async":false,"command":"touch own-hook","timeout":3,"type":"command"}]}' |
                    sha256sum | cut -d' ' -f1)" >>"$CODEX_HOME/config.toml"
            ;;
        *) skip "there is no hook here for $AGENT" ;;
    esac
}
settings() { find "$HOME" -type f \( -name '*.toml' -o -name 'settings*.json' -o -name 'hooks*.json' \) -exec sha256sum {} + | sort; }

@test "the user's own hooks run, and the settings stay as they are" {
    own_hook
    local before
    before=$(settings)
    talks
    [ "$(settings)" = "$before" ]
    [ -n "$(find "$ROOT/sessions/$ID" "$T" -name own-hook)" ]
    ok stop "$ID"
    [ "$(settings)" = "$before" ]
}

@test "what the user has not trusted is asked, and nothing of mas's" {
    [ "$AGENT" = codex ] || skip "$AGENT asks nothing of hooks"
    own_hook untrusted
    team
    find_pane
    within 60 shows '1 hook is new or changed'
    within 30 agent_is waiting
}

@test "a helper of the hooks that is killed is not seen, and holds up nothing" {
    # as if it were installed elsewhere, and killed each time
    cp -a "${MAS%/*}" "$T/build"
    ln -s "${MAS%/*/*}/templates" "${MAS%/*/*}/lib" "$T/"
    printf '#!/bin/sh\nkill -9 $$\n' >"$T/build/mas-told"
    MAS=$T/build/mas runs
    ok send "$ID" solo 'hello {{1}}'
    within 60 shows 'answer to 1'
    shows_not 'ook failed'
    shows_not 'ook error'
    shows_not 'ook(s)'
    [ "$(of_agent states)" = seen ]
}

nested_was_asked() { jq -e -n 'any(inputs; .mark == 0 and (.words | index("CW-NEST")))' "$LOG" >/dev/null; }

@test "a program of the same kind that the agent runs is not heard" {
    local nested
    case $AGENT in
        claude) nested="$T/bin/claude -p 'nested CW-NEST'" ;;
        gemini) nested="$T/bin/gemini -p 'nested CW-NEST'" ;;
        codex) nested="OPENAI_API_KEY=none $T/bin/codex exec --skip-git-repo-check 'nested CW-NEST'" ;;
        copilot) nested="env $(env | grep '^COPILOT_' | xargs) copilot --allow-all-tools -p 'nested CW-NEST'" ;;
        opencode) nested="$T/bin/opencode run 'nested CW-NEST'" ;;
    esac
    printf '[preset %s]\nwall.level = off\n' "$PRESET" >>"$ROOT/mas.ini" # which hides the program's name
    talks
    ok send "$ID" solo "do it {{2 $(needs_leave "$nested")}}"
    within 30 agent_is waiting
    within 10 shows "${QUESTION[$AGENT]}"
    within 20 allows
    within 60 says 'answer to 2'
    within 60 nested_was_asked
    "$MAS" history "$ID" solo --json | jq -e 'all(.messages[]; .role == "tool" or (.text | contains("that it was asked") | not))'
    all_again
    has_come resumed
    ok send "$ID" solo 'and now {{3}}'
    within 60 says 'answer to 3'
    saw_word 3 CW-OTTER
}

# What reads a file unasked, as an order of the model; it has a hook behind it
reads() {
    case $AGENT in
        claude) echo "call Read {\"file_path\":\"$1\"}" ;;
        codex) PRESET=codex run_order "cat $1" ;;
        gemini) echo "call read_file {\"file_path\":\"$1\"}" ;;
        copilot) echo "call view {\"path\":\"$1\"}" ;;
        opencode) echo "call read {\"filePath\":\"$1\"}" ;;
    esac
}
asked_times() { [ "$(jq -r --argjson n "$2" 'select(.mark == $n and .tools != []) | .mark' "$LOG" | wc -l)" -ge "$1" ]; }
# between N: ms between the two requests of prompt N, with a hook or two of its tool between them
between() { jq -rn --argjson n "$1" '[inputs | select(.mark == $n and .tools != [])] | .[1].time - .[0].time' "$LOG"; }
no_word_of_hooks() { shows_not 'ook failed' && shows_not 'ook error' && shows_not 'ook(s)' && shows_not 'imed out'; }

@test "a host that hangs, and hooks that cannot reach it, are not seen and hold up little" {
    local host base
    runs
    host=$(tm display-message -pt "$PANE" '#{pane_pid}')
    ok send "$ID" solo "do it {{1 $(reads "$ROOT/sessions/$ID/unit/solo/AGENTS.md")}}"
    within 60 says 'answer to 1'
    within 10 idle
    base=$(between 1)
    ok send "$ID" solo "do it {{2 slow 2000}}"
    within 30 model_has 2
    kill -STOP "$host"
    tm send-keys -t "$PANE" -l x # what is typed waits with it
    sleep 5 # what ends in this time is told to nobody
    kill -CONT "$host"
    within 60 says 'answer to 2'
    within 30 idle
    no_word_of_hooks
    presses BSpace
    mv "$ROOT/sessions/$ID/run/solo.agent" "$T/away"
    ok send "$ID" solo "do it {{3 $(reads "$ROOT/sessions/$ID/unit/solo/AGENTS.md")}}"
    within 60 shows 'answer to 3'
    [ "$(between 3)" -lt $((base + 1000)) ]
    no_word_of_hooks
    mv "$T/away" "$ROOT/sessions/$ID/run/solo.agent"
    within 60 idle
    ok send "$ID" solo 'and now {{4}}'
    within 60 says 'answer to 4'
    within 10 idle
}

unwritten() { [[ $(of_agent memory) == 'not written: '* ]]; }
all_written() { [ "$(of_agent memory)" = null ]; }
# full: nothing of mas's fits any more, not even in its reserve.
full() {
    rm -f "$ROOT/sessions/$ID/run/reserve.memory"
    fill
}

@test "a full disk of mas's is not seen and holds up nothing, and what was said is read once there is room" {
    local base
    team --no-start
    mkdir -p "$T/own" "$ROOT/sessions/$ID/home" # what the program itself writes has room
    mount --bind "$T/own" "$ROOT/sessions/$ID/home"
    ok start "$ID"
    find_pane
    within 180 idle
    ok send "$ID" solo "the word is CW-OTTER {{1 $(reads "$ROOT/sessions/$ID/unit/solo/AGENTS.md")}}"
    within 60 says 'answer to 1'
    within 10 idle
    base=$(between 1)
    within 10 test -e "$ROOT/sessions/$ID/run/reserve.memory"
    full
    typed "do it {{2 $(reads "$ROOT/sessions/$ID/unit/solo/AGENTS.md")}}"
    within 60 shows 'answer to 2'
    [ "$(between 2)" -lt $((base + 1000)) ]
    within 10 unwritten
    within 10 idle
    no_word_of_hooks
    rm "$T/fs/fill"
    within 30 all_written
    within 10 says 'answer to 2'
    full # and it is the transcript that has what a killed host could not write
    typed 'and now {{3}}'
    within 60 shows 'answer to 3'
    within 10 unwritten
    kill -KILL "$(of_agent hostPid)"
    within 20 nothing_runs
    rm "$T/fs/fill"
    all_again
    within 10 says 'answer to 3'
    says 'the program says that it was asked: and now {{3}}' # who had typed it is not known any more
    ok send "$ID" solo 'and then {{4}}'
    within 60 says 'answer to 4'
    saw_word 4 CW-OTTER
    [ "$("$MAS" history "$ID" solo --role user --json | jq -c '[.messages[] | .text | scan("{{([0-9])")[0]]')" = '["1","2","4"]' ]
    [ "$(times_said 3 4)" -eq 1 ]
}

@test "the program is upgraded underneath: it runs on, and starts as the new one with the same conversation" {
    local program
    printf '[preset %s]\nwall.level = off\n' "$PRESET" >>"$ROOT/mas.ini" # which does not find what a script starts
    talks
    program=$(readlink -f "$T/bin/$AGENT")
    printf '#!/bin/sh\ntouch "%s/upgraded"\nexec "%s" "$@"\n' "$T" "$program" >"$T/bin/$AGENT.new"
    chmod +x "$T/bin/$AGENT.new"
    mv "$T/bin/$AGENT.new" "$T/bin/$AGENT"
    ok send "$ID" solo 'and now {{2}}'
    within 60 says 'answer to 2'
    [ ! -e "$T/upgraded" ]
    within 10 idle
    ok restart "$ID" solo
    find_pane
    within 180 idle
    [ -e "$T/upgraded" ]
    has_come resumed
    ok send "$ID" solo 'and then {{3}}'
    within 60 says 'answer to 3'
    saw_word 3 CW-OTTER
    [ "$(of_agent states)" = told ] || [ "$AGENT" = gemini ] # which tells nothing without a wall
}

# Files of the user that the programs read or could write, and the sums of them
declare -gA OF_USER=([claude]='.claude/settings.json .claude/CLAUDE.md .claude/commands/one.md .claude/agents/one.md .claude/status.sh .claude/plugins/config.json .claude.json .claude/.claude.json'
    [codex]='.codex/config.toml .codex/AGENTS.md .codex/prompts/one.md .codex/hooks.json .codex/rules/one.rules'
    [gemini]='.gemini/settings.json .gemini/GEMINI.md .gemini/commands/one.toml .gemini/extensions/one/gemini-extension.json .gemini/trustedFolders.json'
    [copilot]='.copilot/config.json .copilot/settings.json .copilot/mcp-config.json .copilot/copilot-instructions.md .copilot/hooks/one.json'
    [opencode]='.config/opencode/opencode.json .config/opencode/AGENTS.md .config/opencode/plugin/one.js .config/opencode/command/one.md')
users_files() { (cd "$HOME" && for file in ${OF_USER[$AGENT]}; do [ ! -e "$file" ] || sha256sum "$file"; done); }
make_users_files() {
    local file
    for file in ${OF_USER[$AGENT]}; do
        mkdir -p "$HOME/${file%/*}"
        [ ! -e "$HOME/$file" ] || continue
        case $file in
            */settings.json) echo '{"statusLine":{"type":"command","command":"echo own-line"}}' ;;
            */gemini-extension.json) echo '{"name":"one","version":"1.0.0"}' ;;
            */hooks/one.json) echo '{"version":1,"hooks":{}}' ;;
            */mcp-config.json) echo '{"mcpServers":{}}' ;;
            *.json) echo '{}' ;;
            *.toml) echo 'prompt = "say one"' ;;
            *.js) echo 'export const One = async () => ({})' ;;
            *.rules) : ;;
            *) printf -- '---\nname: one\ndescription: one\n---\nsay one\n' ;;
        esac >"$HOME/$file"
    done
}

@test "after a day of turns, clears, sleep, crashes, compactions and restarts, the user's files are what they were" {
    local before order n=2
    make_users_files
    before=$(users_files)
    [ "$(wc -l <<<"$before")" -ge 4 ]
    talks
    for way in clear sleep crash compact back restart; do
        order=$(reads "$ROOT/sessions/$ID/unit/solo/AGENTS.md")
        case $way in
            clear) ok clear "$ID" solo ;;
            sleep) ok sleep "$ID" solo ;;
            crash) all_again && order='slow 3000' ;; # and so is the compaction
            compact)
                typed "${COMPACT[$AGENT]}"
                within 10 agent_is working
                ;;
            back) goes_back 1 CW-OTTER ;;
            restart) ok restart "$ID" solo && find_pane ;;
        esac
        [ "$way" = sleep ] || within 180 idle
        ok send "$ID" solo "the next {{$n $order}}"
        within 90 says "answer to $n"
        within 10 idle
        n=$((n + 1))
    done
    typed "${LEAVE[$AGENT]}"
    within 30 agent_is exited
    ok stop "$ID"
    [ "$(users_files)" = "$before" ] || { diff <(echo "$before") <(users_files); false; }
}

@test "two agents in one directory, with one home, continue each its own" {
    local first second
    mkdir "$T/shared"
    trust_tree "$T/shared"
    # shellcheck disable=SC2016 # for the inner shell
    sed -i 's|^command = \(.*\)|command = sh -c "cd '"$T/shared"' \&\& exec \1 \\"$@\\"" sh|' "$ROOT/mas.ini"
    printf '[preset %s]\nwall.level = off\n' "$PRESET" >>"$ROOT/mas.ini"
    talks
    first=$ID
    team
    second=$ID
    within 180 idle
    ok send "$ID" solo 'the word is CW-BEAR {{2}}'
    within 60 says 'answer to 2'
    tm kill-server
    ok start --crashed
    ID=$first
    within 180 idle
    ok send "$ID" solo 'and now {{3}}'
    within 60 says 'answer to 3'
    saw_word 3 CW-OTTER
    saw_no_word 3 CW-BEAR
    ID=$second
    within 180 idle
    ok send "$ID" solo 'and now {{4}}'
    within 60 says 'answer to 4'
    saw_word 4 CW-BEAR
    saw_no_word 4 CW-OTTER
}

# Begins a session without mas, in a directory of the user's, and says the word there.
declare -gA OUTSIDE=([claude]='claude -p' [codex]='codex exec --skip-git-repo-check' [copilot]='copilot --allow-all-tools -p'
    [gemini]='gemini -p' [opencode]='opencode run')
# How it goes on with such a session
declare -gA GOES_ON=([claude]=resumed [codex]=resumed [copilot]=resumed [gemini]=injected [opencode]=injected)
began_outside() {
    mkdir -p "$T/outside"
    # shellcheck disable=SC2086 # words
    (cd "$T/outside" && if [ "$AGENT" = opencode ]; then # which puts its words in quotes
        timeout 120 ${OUTSIDE[$AGENT]} <<<"$1"
    else timeout 120 ${OUTSIDE[$AGENT]} "$1" </dev/null; fi) >"$T/outside.out" 2>&1 3>&- || { cat "$T/outside.out"; return 1; }
    grep -q 'answer to' "$T/outside.out"
}
users_sessions() { find "$HOME" -path "${KEPT[$AGENT]}" -exec sha256sum {} + | sort; }

@test "a session that began without mas is listed, adopted and goes on, and stays as it was" {
    began_outside 'the word is CW-OTTER {{1}}'
    sums=$(users_sessions)
    ok kept --json
    of=$(jq -r --arg dir "$T/outside" '.sessions[] | select((.directory == $dir or .directory == null) and .words == "the word is CW-OTTER {{1}}") | .id' <<<"$output")
    [[ $AGENT == opencode || $sums == *${of:0:8}* ]]
    runs
    ok adopt "$ID" solo "$of"
    within 60 has_come "${GOES_ON[$AGENT]}"
    within 180 idle
    says 'the word is CW-OTTER {{1}}'
    says 'answer to 1'
    ok send "$ID" solo 'and now {{2}}'
    within 60 says 'answer to 2'
    saw_word 2 CW-OTTER
    case $AGENT in
        opencode) [ "$(request 2 | jq -c .system)" = '["CW-OTTER"]' ] ;; # told in its role
        gemini) [ "$(times_said 1 2)" -eq 1 ] && has_injection 2 ;;
        *) [ "$(times_said 1 2)" -eq 1 ] && no_injection 2 ;;
    esac
    [ "$("$MAS" history "$ID" solo --json | jq '[.messages[] | select(.role == "user")] | length')" -eq 2 ]
    all_again
    has_come resumed
    ok adopt "$ID" solo "$of"
    ok send "$ID" solo 'once more {{3}}'
    within 60 says 'answer to 3'
    # what Gemini CLI was told at a start it has only until the next one
    [ "${GOES_ON[$AGENT]}" != resumed ] || [ "$(times_said 1 3)" -eq 1 ]
    [ "$(times_said 2 3)" -eq 1 ]
    [ "$(users_sessions | grep -cxF "$sums")" -eq "$(wc -l <<<"$sums")" ] # some copies are beside it
    ok kept -q
    [ "$output" = "$of" ]
}

# How a fork of it goes on
declare -gA FORKED=([claude]=copied [codex]=copied [copilot]=copied [gemini]=injected [opencode]=injected)

@test "a fork knows what was said, and the other one's session stays as it was and goes on" {
    talks
    within 10 idle
    ok sleep "$ID" solo
    local file sum
    file=$(find "$HOME" "$ROOT/sessions/$ID/home" -path "${KEPT[$AGENT]}" 2>/dev/null | head -n 1)
    sum=$(sha256sum "$file")
    ok fork "$ID" solo --as second --json
    [ "$(jq -r .continuity <<<"$output")" = "${FORKED[$AGENT]}" ]
    ok send "$ID" second 'and now {{2}}'
    answered() { "$MAS" history "$ID" "$1" --json | jq -e --arg text "answer to $2" 'any(.messages[]; .text | contains($text))' >/dev/null; }
    within 120 answered second 2
    saw_word 2 CW-OTTER
    once() { [ "${FORKED[$AGENT]}" = injected ] || [ "$(times_said "$1" "$2")" -eq 1 ]; } # else in its role
    once 1 2
    [ "${FORKED[$AGENT]}" = injected ] || no_injection 2
    [ "$("$MAS" history "$ID" second --json | jq '[.messages[] | select(.role == "user")] | length')" -eq 2 ]
    agent_is asleep
    [ "$(sha256sum "$file")" = "$sum" ]
    ok send "$ID" solo 'you too {{3}}'
    within 60 says 'answer to 3'
    saw_word 3 CW-OTTER
    [ "$(times_said 2 3)" -eq 0 ]
    # its own goes on
    all_again
    ok send "$ID" second 'once more {{4}}'
    within 180 answered second 4
    once 1 4
    once 2 4
    [ "$(times_said 3 4)" -eq 0 ]
    # in the middle of a turn: what was said before it
    within 180 idle
    ok send "$ID" solo 'the word is CW-CRANE {{5 slow 20000}}'
    within 60 model_has 5
    ok fork "$ID" solo --as third
    [ "${FORKED[$AGENT]}" = injected ] || [[ $output == *'it goes on with a copy of the conversation' ]]
    ok send "$ID" third 'and you {{6}}'
    within 180 answered third 6
    saw_word 6 CW-OTTER
    [ "${FORKED[$AGENT]}" = injected ] || saw_no_word 6 CW-CRANE
    once 3 6
    within 60 says 'answer to 5'
}

@test "it sleeps, and a message or a key wakes it with the same conversation" {
    local before
    talks
    agent_is idle # its end comes behind the answer
    before=$(of_agent pid)
    ok sleep "$ID" solo
    agent_is asleep
    run ! kill -0 "$before"
    shows 'the agent sleeps; its next prompt or a key press wakes it'
    ok send "$ID" solo 'and now {{2}}'
    within 60 says 'answer to 2'
    saw_word 2 CW-OTTER
    within 10 idle
    has_come resumed
    ok sleep "$ID" solo
    tm send-keys -t "$PANE" -l 'again '
    within 60 idle
    within 10 shows 'again'
    tm send-keys -t "$PANE" -l '{{3}}'
    within 10 shows 'again {{3}}'
    run ! "$MAS" sleep "$ID" solo # something is typed
    tm send-keys -t "$PANE" Enter
    within 60 says 'answer to 3'
    saw_word 3 CW-OTTER
    [ "$(times_said 1 3)" -eq 1 ]
}

@test "claude: a limit of its provider is a fact, and what mas has typed is typed again" {
    [ "$AGENT" = claude ] || skip
    talks
    ok send "$ID" solo 'and now {{2 limit 15000}}'
    within 60 agent_is limited
    [[ $(of_agent note) == 'its provider takes no prompts'* ]]
    within 10 shows '429'
    within 90 says 'answer to 2'
    within 10 idle
    saw_word 2 CW-OTTER
}

@test "codex: a window of the user's plan that is used up is a limit, until the time that it says" {
    [ "$AGENT" = codex ] || skip
    talks
    ok send "$ID" solo 'and now {{2 limit 120000}}'
    within 60 agent_is limited
    until=$(of_agent untilMs)
    [ "$until" -gt $(($(date +%s) * 1000 + 50000)) ]
    [ "$until" -lt $(($(date +%s) * 1000 + 190000)) ] # it says minutes alone
    within 200 says 'answer to 2'
    within 10 idle
    saw_word 2 CW-OTTER
}

quota_is() { [ "$("$MAS" usage --quota --json | jq -c '[.quota[] | [.preset, .window, .percent]]')" = "$1" ]; }

@test "codex: what is used of a window of the user's plan is told" {
    [ "$AGENT" = codex ] || skip
    talks
    ok send "$ID" solo 'and now {{2 window 62.5}}'
    within 60 says 'answer to 2'
    within 30 quota_is '[["codex-tty","5h",62]]'
}

# distrusts: the user has said nothing of the sessions' directories
distrusts() {
    local file=$T/untrusted
    case $AGENT in
        claude) jq 'del(.projects)' "$CLAUDE_CONFIG_DIR/.claude.json" >"$file" && mv "$file" "$CLAUDE_CONFIG_DIR/.claude.json" ;;
        codex) # which does not ask where its policies are set
            sed -i '/^approval_policy\|^sandbox_mode/d' "$CODEX_HOME/config.toml"
            sed -i 's/^command = codex .*/command = codex --no-daemon/' "$ROOT/mas.ini"
            [ -d "$ROOT/templates/solo/unit/solo" ] && git init -q "$ROOT/templates/solo/unit/solo" ;;
        gemini)
            unset GEMINI_CLI_TRUST_WORKSPACE
            jq 'del(.security.folderTrust)' "$HOME/.gemini/settings.json" >"$file" && mv "$file" "$HOME/.gemini/settings.json" ;;
        copilot) echo '{}' >"$HOME/.copilot/config.json" ;;
        *) skip "$AGENT does not ask" ;;
    esac
}

@test "whether its directory is trusted is asked, and answered from outside" {
    distrusts
    team
    find_pane
    within 60 agent_is waiting
    [[ $(of_agent note) == "trust: "*"/unit/solo" ]]
    ok approve "$ID" solo
    if [ "$AGENT" = gemini ]; then # and of the directory of its role, which only its screen asks, at each start
        within 30 shows '2. Yes, and remember'
        presses 1
        within 30 grep -q 'exited with code 42' "$ROOT/sessions/$ID/logs/session.log" # its own start anew fails
        within 60 shows '2. Yes, and remember'
        presses 1
        within 10 shows_not '2. Yes, and remember'
    fi
    within 60 idle
    ok send "$ID" solo 'hello {{1}}'
    within 60 says 'answer to 1'
    [ "$AGENT" != gemini ] || return 0 # whose screen asks of its role at each start
    all_again # with no one there to say yes again, though the wall has dropped what the program wrote
    has_come resumed
    ok send "$ID" solo 'and now {{2}}'
    within 60 says 'answer to 2'
}

@test "allowed and refused from outside, asked with its answer, cancelled, cleared" {
    runs
    ok ask "$ID" solo 'the word is CW-OTTER {{1}}'
    [[ $output == *'answer to 1'* ]]
    ok send "$ID" solo "do it {{2 $(needs_leave 'touch made')}}"
    within 30 agent_is waiting
    ok approve "$ID" solo
    [[ $output == "approved: touch made (${TOOL[$AGENT]})"* ]]
    within 30 says 'answer to 2'
    [ -e "$ROOT/sessions/$ID/unit/solo/made" ]
    within 10 idle
    ok send "$ID" solo "do it {{3 $(needs_leave 'touch other')}}"
    within 30 agent_is waiting
    ok deny "$ID" solo
    within 10 idle
    [ ! -e "$ROOT/sessions/$ID/unit/solo/other" ]
    ok send "$ID" solo 'slowly {{4 slow 60000}}'
    within 30 agent_is working
    within 30 model_has 4
    ok cancel "$ID" solo
    within 10 idle
    ok ask "$ID" solo 'go on {{5}}'
    [[ $output == *'answer to 5'* ]]
    [ "$(times_said 4 5)" -le 1 ] # what was stopped is not on the line
    ok clear "$ID" solo
    ok ask "$ID" solo 'and now {{6}}'
    [[ $output == *'answer to 6'* ]]
    saw_no_word 6 CW-OTTER
}
