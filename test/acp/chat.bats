#!/usr/bin/env bats
# The pane of an ACP agent: what is said streams, what is asked is answered, and nothing that the
# agent says can move the terminal.
load ../helper
load ../host/lib
load lib
load chat

# offers COMMANDS:...: returns once the agent has said which commands it has: they come before its answer.
offers() {
    type_line "$1"
    eventually shows 'users=1'
    eventually shows_state idle
}

resize() { tm resize-window -t "$PANE" -x "$1" -y "$2"; }

@test "what is typed is a prompt, and the answer stands below it" {
    chat
    type_line 'hello CW-ONE'
    eventually shows_line '› hello CW-ONE'
    eventually shows 'seen=[CW-ONE] users=1'
    eventually shows_state idle
    typed ''
}

@test "text streams, and the state line says for how long it works" {
    chat
    type_line 'SAY:half HANG'
    eventually shows_line half
    eventually shows_state 'working 1s'
    press C-c
    eventually shows 'the turn ended: cancelled'
    eventually shows_state idle
}

@test "what the agent writes is drawn as Markdown, and the history has it as it was" {
    chat
    paste $'SAY:"## Two *words*\n\n| a | b |\n|---|--:|\n| 1 | 23 |\n\n```c\nint a;\n```\n\n- [x](https://h.x/)" HANG'
    press Enter
    eventually shows_line '• x (https://h.x/)'
    shows_line 'Two words'
    shows_line 'a │  b'
    shows_line '──┼───'
    shows_line '1 │ 23'
    shows_line 'int a;'
    press C-c
    eventually shows_state idle
    shows_line '• x (https://h.x/)'
    run "$MAS" history "$ID"
    [[ $output == *'## Two *words*'*'| 1 | 23 |'*'- [x](https://h.x/)'* ]]
}

@test "a tool is one line that changes in place" {
    chat
    type_line 'SHOW:terminal ASK:execute'
    eventually asks
    type_line 1
    eventually shows_state idle
    type_line 'TOOL:read QUIET'
    eventually shows '✓ file (A call of read)'
    eventually shows_state idle
    run ! shows '… file (A call of read)'
    [ "$(screen | grep -c 'A call of read')" -eq 1 ]
}

@test "a diff and a plan are readable" {
    chat
    type_line 'DIFF:x.c PLAN QUIET'
    eventually shows '✓ Edit x.c'
    eventually shows_state idle
    shows_line '  --- x.c'
    shows_line '  -two'
    shows_line '  +2'
    screen | grep -qE '^\[[x >]\] '
}

@test "of long output the beginning is shown, and all of it with Ctrl-O" {
    echo '{"tool": {"title": "Print", "kind": "read", "content": [{"type": "content", "content": {"type": "text",
        "text": "'"$(seq -s '\n' 300)"'"}}]}}' >"$T/asked"
    chat
    type_line "ASKOF:$T/asked"
    eventually scrolled_shows 'more lines: Ctrl-O)'
    run ! scrolled_shows '  300'
    press C-o
    eventually scrolled_shows '  300'
    scrolled_shows '---- all of the output ----'
}

@test "a permission is a list of numbers, and a digit and Enter answers" {
    chat
    type_line ASK:execute
    eventually shows_state waiting
    eventually shows '? May I execute?'
    screen | grep -qE '^ +1 '
    screen | grep -qE '^ +2 '
    type_line 9
    eventually shows 'choose 1 to'
    type_line 1
    eventually shows 'answered: '
    eventually shows permit=yes
    run ! screen_has_choices
}
screen_has_choices() { screen | grep -qE '^ +1 [A-Z]'; }

@test "what would be done stands above the choices, and what the agent tells of it later" {
    echo '{"tool": {"title": "Run tests", "kind": "execute", "rawInput": {"command": "make test"}},
        "then": [{"rawInput": {"command": "make clean"}}]}' >"$T/asked"
    chat
    type_line "ASKOF:$T/asked"
    eventually shows '? make test (Run tests)'
    shows 'command: make test'
    touch "$T/asked.0"
    eventually shows 'what it asks has changed:'
    eventually shows '? make clean (Run tests)'
    shows 'command: make clean'
    eventually screen_has_choices
    kill "$(pgrep -f "mas-chat $DIR solo")"
    eventually shown_anew # by the one that the host starts in its place
}
shown_anew() { shows 'command: make clean' && ! scrolled_shows 'what it asks has changed'; }

@test "a plan offers each choice once, and a choice is whole where there is room" {
    chat
    resize 40 12
    type_line 'APPROVE'
    eventually shows_state waiting
    eventually shows_line '    plan'
    [ "$(screen | grep -c 'Clear context and carry out the')" -eq 1 ]
    type_line 4
    eventually scrolled_shows '---- context cleared: plan ----'
    eventually shows_state idle
}

@test "what changes in place leaves nothing in the history of the pane" {
    chat
    type_line hello
    eventually shows 'last="hello"'
    eventually shows_state idle
    [ "$(scrolled | grep -cE '^ (asleep|starting|working|idle)')" -eq 1 ]
    [ "$(scrolled | grep -c '^> ')" -eq 0 ]
}

@test "a permission that is answered elsewhere goes" {
    chat
    type_line ASK
    eventually shows_state waiting
    eventually screen_has_choices
    "$MAS" approve "$ID" solo
    eventually shows permit=yes
    run ! screen_has_choices
}

@test "prompts from elsewhere are seen, and those that wait are told" {
    chat
    type_line HANG
    eventually shows_state working
    type_line 'from here'
    eventually shows 'queued: from here'
    shows '1 queued'
    "$MAS" ask "$ID" solo 'from elsewhere' >"$T/out" 3>&- &
    local pid=$!
    eventually is solo .queued 2
    press C-c
    eventually shows_line '› from here'
    eventually shows_line '› from elsewhere'
    wait "$pid"
}

@test "what waits is taken back into the line to be edited, or dropped, wherever it came from" {
    chat
    type_line HANG
    eventually shows_state working
    type_line 'the first'
    type_line 'the second'
    "$MAS" send "$ID" solo 'from elsewhere'
    eventually shows 'queued: from elsewhere (Up edits it, Ctrl-X drops it)'
    shows 'queued: the second'
    shows '3 queued'
    press C-x
    eventually shows_line 'dropped: from elsewhere'
    eventually is solo .queued 2
    press Up
    eventually typed 'the second'
    tm send-keys -t "$PANE" -l ' is better'
    press Enter
    eventually shows 'queued: the second is better (Up edits it, Ctrl-X drops it)'
    eventually is solo .queued 2
    kill "$(pgrep -f "mas-chat $DIR solo")"
    eventually shows '2 queued' # the pane that comes has it from memory.db
    press Escape Escape
    eventually typed 'the second is better'
    press C-c C-c
    eventually shows_line '› the first'
    eventually shows_state idle
    run prompts 'the second'
    [ "$output" = 0 ]
}

@test "Ctrl-R searches the prompts of the conversation, those of before the pane came, too" {
    chat
    type_line 'bake a cake QUIET'
    eventually shows_state idle
    for i in $(seq 15); do "$MAS" ask "$ID" solo "QUIET $i" >/dev/null; done
    local was
    was=$(pgrep -f "mas-chat $DIR solo")
    kill "$was"
    anew() { pgrep -f "mas-chat $DIR solo" | grep -qvx "$was" && shows_line '› QUIET 15' && shows_state idle; }
    eventually anew
    press C-r
    eventually shows 'search: Enter takes the bold one'
    tm send-keys -t "$PANE" -l CAKE
    eventually shows_line '  bake a cake QUIET'
    press Enter
    eventually typed 'bake a cake QUIET'
    press Enter
    eventually last_prompt_is 'bake a cake QUIET'
}
last_prompt_is() { [ "$("$MAS" history "$ID" solo --role user --json | jq -r '.messages[-1].text')" = "$1" ]; }

@test "lines are edited, and Up brings back what was sent" {
    chat
    tm send-keys -t "$PANE" -l 'helo wrld'
    press Left Left Left Left
    tm send-keys -t "$PANE" -l X
    press BSpace C-a
    tm send-keys -t "$PANE" -l '漢é '
    press C-e
    tm send-keys -t "$PANE" -l '!'
    eventually typed '漢é helo wrld!'
    press Enter
    eventually shows 'last="漢é helo wrld!"'
    press Up
    eventually typed '漢é helo wrld!'
    press Down
    tm send-keys -t "$PANE" -l 'a b c'
    press C-w C-w
    eventually typed 'a'
    press C-c
    eventually typed ''
}

@test "what is pasted is one prompt, however many lines it has" {
    chat
    paste $'one CW-A\ntwo CW-B\n\tthree'
    eventually shows_line '  two CW-B'
    run ! grep -q session/prompt "$TRACE"
    press Enter
    eventually shows 'seen=[CW-A CW-B] users=1'
    # Ctrl-J begins a line too
    tm send-keys -t "$PANE" -l 'x'
    press C-j
    tm send-keys -t "$PANE" -l 'y CW-Y'
    press Enter
    eventually shows 'CW-Y] users=2'
}

@test "a long paste arrives whole" {
    chat
    seq -f 'line %g of a long text' 1 3000 >"$T/long"
    paste "$(cat "$T/long") QUIET SAY:got-it"
    eventually typed '[3000 lines]'
    press Enter
    eventually was_sent 'line 2999 of a long text\nline 3000 of a long text QUIET'
    eventually shows_line got-it
    eventually scrolled_shows '(2980 more lines: Ctrl-O)'
    run ! scrolled_shows 'line 21 of a long text'
}

@test "/clear empties the context, /clear TEXT goes on with the text" {
    chat
    type_line CW-OLD
    eventually shows users=1
    type_line '/clear CW-THEN'
    eventually shows 'context cleared'
    eventually shows 'seen=[CW-THEN] users=1'
    type_line /clear
    eventually is solo .state idle
    type_line CW-LAST
    eventually shows 'seen=[CW-LAST] users=1'
}

@test "/mode, /history, /new, /help and /cancel" {
    chat
    type_line 'CW-ONE'
    eventually shows users=1
    type_line /mode
    eventually shows 'acceptEdits'
    type_line '/mode plan'
    eventually shows_state 'idle | plan'
    type_line /help
    eventually shows '/history'
    press C-l
    type_line /history
    eventually shows '---- now ----'
    shows '---- history ----' || scrolled_shows '---- history ----'
    type_line /nonsense
    eventually shows "there is no command '/nonsense'"
    type_line /cancel
    eventually shows 'no turn is in progress'
    type_line /new
    eventually shows '---- conversation'
    type_line CW-TWO
    eventually shows 'seen=[CW-TWO] users=1'
    run ! scrolled_shows 'context cleared'
    type_line '//odd word'
    eventually shows 'last="/odd word"'
}

# has_set SETTING: the agent has told that it has it; the pane shows what is told.
has_set() { "$MAS" set "$ID" solo | grep -q "^$1 "; }

@test "/set shows and sets the mode and the options that the agent offers" {
    chat
    type_line 'CW-ONE'
    eventually shows users=1
    type_line /set
    eventually shows 'model=small (small large)'
    shows acceptEdits
    type_line '/set model=large'
    eventually has_set model=large
    type_line /set
    eventually shows 'model=large (small large)'
    type_line '/set model small'
    eventually has_set model=small
    type_line /set
    eventually shows 'model=small (small large)'
    type_line '/set mode=plan'
    eventually shows_state 'idle | plan'
    type_line '/set nosuch=1'
    eventually shows "the agent has no option 'nosuch'"
    type_line '/set model=nonsense'
    eventually shows "it has not set 'model=nonsense': no such option or value"
    type_line /set
    eventually shows 'model=small (small large)'
}

@test "/set shows and sets an option that is on or off" {
    chat --boolean
    type_line 'CW-ONE'
    eventually shows users=1
    type_line /set
    eventually shows 'web=false (true false)'
    type_line '/set web=true'
    eventually has_set web=true
    type_line /set
    eventually shows 'web=true (true false)'
    type_line '/set web=7'
    eventually shows "'7' is no value of the option 'web'"
}

@test "Ctrl-C at an empty line says at the second time how to leave" {
    chat
    press C-c
    press C-c
    eventually shows "This pane belongs to agent solo."
    eventually shows_state idle
}

@test "hostile output breaks no terminal" {
    chat
    type_line 'SAY:"\u001b[2J\u001b[H\u001b]0;title\u0007\u009b31m\u202e" TITLE:"\u001b]0;x\u0007" QUIET'
    eventually shows '\x1b[2J\x1b[H\x1b]0;title\x07'
    eventually shows_state idle
    [ "$(tm display-message -pt "$PANE" '#{pane_title}')" != title ]
    type_line hello
    eventually shows users=2
}

@test "it works at 40x12, and when the size changes" {
    chat
    resize 40 12
    type_line 'SAY:"The words of a long answer are cut at the blanks between them, never inside." QUIET'
    eventually shows_line 'The words of a long answer are cut at'
    eventually shows_line 'the blanks between them, never inside.'
    type_line ASK:execute
    eventually screen_has_choices
    shows_state waiting
    type_line 1
    eventually shows permit=yes
    resize 100 30
    eventually shows_line 'The words of a long answer are cut at the blanks between them, never inside.'
    eventually shows_state idle
    [ "$(screen | grep -cE '^ idle')" -eq 1 ]
    resize 30 6
    eventually shows_state idle
    type_line hello
    eventually shows 'hello'
    eventually shows_state idle
}

@test "four panes of 40x12 in a grid show four conversations" {
    acp_preset scripted
    echo 'start = demand' >>"$ROOT/mas.ini"
    new_session --agent scripted
    DIR=$ROOT/sessions/$ID
    local agent
    for agent in 10 11 12 13; do
        hosts_there "$agent"
        PANE=$(of "$agent" .pane)
        [ "$agent" != 10 ] || tm resize-window -t "$PANE" -x 81 -y 25 \; select-layout -t "$PANE" tiled
        eventually shows_state asleep
        [ "$(tm display-message -pt "$PANE" '#{pane_width}')" -le 40 ]
        type_line "CW-A$agent"
    done
    for agent in 10 11 12 13; do
        PANE=$(of "$agent" .pane)
        eventually shows_line "› CW-A$agent"
        eventually shows "seen=[CW-A$agent]"
        eventually shows_state idle
    done
}

@test "the conversation so far is there when the pane comes back" {
    chat
    type_line 'CW-ONE TOOL:read'
    eventually shows users=1
    kill "$(pgrep -f "mas-chat $DIR solo")"
    eventually shows_state idle
    eventually shows_line '› CW-ONE TOOL:read'
    [ "$(screen | grep -c 'users=1')" -eq 1 ]
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    find_agent
    eventually shows_line '› CW-ONE TOOL:read'
    eventually shows 'A call of read'
    press Up
    eventually typed 'CW-ONE TOOL:read'
}

@test "what was said while the pane was away is there, once, in mid-turn too" {
    chat
    type_line 'SAY:before SLOW:1500 SAY:after QUIET'
    eventually shows before
    kill "$(pgrep -f "mas-chat $DIR solo")"
    eventually shows_line beforeafter
    eventually shows_state idle
    [ "$(screen | grep -c '^before')" -eq 1 ]
}

@test "a pane that does not read is hung up on, and comes back to the conversation" {
    chat
    local pid
    pid=$(pgrep -f "mas-chat $DIR solo")
    kill -STOP "$pid"
    local n
    for n in 1 2 3 4; do "$MAS" ask "$ID" solo 'BIG:1500' >/dev/null; done
    "$MAS" ask "$ID" solo 'CW-LATER' >/dev/null
    kill -CONT "$pid"
    eventually scrolled_shows 'connection lost'
    eventually shows 'seen=[CW-LATER] users=5'
    eventually shows_state idle
    type_line 'and now'
    eventually shows 'users=6 last="and now"'
}

@test "prompts that waited when the pane came back are shown when their turn begins" {
    chat
    type_line 'SAY:begun HANG'
    eventually shows begun
    type_line 'the second'
    eventually is solo .queued 1
    kill "$(pgrep -f "mas-chat $DIR solo")"
    eventually shows 'queued: the second'
    "$MAS" cancel "$ID" solo
    eventually shows_line '› the second'
    eventually shows 'last="the second"'
    [ "$(screen | grep -c '^› the second')" -eq 1 ]
}

# grow COUNT: so many messages more are in the conversation of the agent, each twentieth one a prompt.
grow() {
    local last
    last=$(sqlite3 "$DIR/memory.db" 'SELECT max(id) FROM message')
    sqlite3 "$DIR/memory.db" "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
        INSERT INTO message (query, agent, role, state, time, trigger, stop_reason, text)
        SELECT (SELECT max(id) FROM query), 'solo', i % 20 <> 0, 1, 1700000000000 + i,
               iif(i % 20 = 0, 0, $last + i - i % 20), 'end_turn',
               'message ' || i || printf('%.*c', 600, 'x') FROM n"
}

# calls_to_attach: prints how many system calls another pane of the agent makes until it shows the conversation.
calls_to_attach() {
    local second
    rm -f "$T/calls"
    second=$(tm new-window -dPF '#{pane_id}' "exec strace -fc -o '$T/calls' '${MAS%/*}/mas-chat' '$DIR' solo")
    # shellcheck disable=SC2317 # called by eventually
    there() { tm capture-pane -pt "$second" | grep -q '^ idle'; }
    eventually there
    tm kill-pane -t "$second"
    eventually grep -q total "$T/calls"
    awk '/total/ { print $4 }' "$T/calls"
}

@test "a pane comes to 40,000 messages with as many calls as to 10,000, and has the prompts of them" {
    chat
    type_line CW-ONE
    eventually shows users=1
    local ten forty
    "$MAS" stop -q "$ID"
    grow 10000
    "$MAS" start -q "$ID"
    find_agent
    eventually shows_state idle
    ten=$(calls_to_attach)
    "$MAS" stop -q "$ID"
    grow 30000
    "$MAS" start -q "$ID"
    find_agent
    eventually shows_state idle
    forty=$(calls_to_attach)
    [ "$forty" -lt $((ten + ten / 4)) ] || { echo "$ten $forty"; return 1; }
    press C-r
    tm send-keys -t "$PANE" -l 'message 20100x' # one of the oldest of the 500
    eventually shows '  message 20100x'
}

@test "it ends with its host" {
    chat
    pid=$(pgrep -f "mas-chat $DIR solo")
    kill -KILL "$(of solo .hostPid)"
    eventually is_gone "$pid"
}

@test "a supervisor that is killed takes the agent's tree with it, and leaves the pane and what is typed there" {
    chat
    local pid agent
    type_line "SPAWN:$MARK"
    eventually shows users=1
    eventually shows_state idle
    marked_are 1
    press -l 'CW-HALF a line'
    eventually typed 'CW-HALF a line'
    pid=$(pgrep -f "mas-chat $DIR solo")
    agent=$(of solo .pid)
    kill -KILL "$(ps -o ppid= -p "$agent" | tr -d ' ')"
    eventually session_log "agent=solo was killed by signal 9" # said after all that was left is killed
    is_gone "$agent"
    marked_are 0
    [ "$(pgrep -f "mas-chat $DIR solo")" = "$pid" ]
    typed 'CW-HALF a line'
    press -l ' more'
    press Enter # which starts the agent again
    eventually shows 'seen=[CW-HALF] users=2 last="CW-HALF a line more"'
    eventually shows_state idle
    [ "$(pgrep -f "mas-chat $DIR solo")" = "$pid" ]
    [ "$(of solo .pid)" != "$agent" ]
}

@test "Enter starts an agent that has ended" {
    chat
    "$MAS" ask "$ID" solo CW-ONE
    "$MAS" ask "$ID" solo EXIT
    eventually shows_state exited
    press Enter
    eventually shows_state idle
    type_line hello
    eventually shows 'seen=[CW-ONE]'
}

@test "NO_COLOR is kept" {
    chat
    type_line hello
    eventually shows users=1
    tm capture-pane -ept "$PANE" | grep -q $'\033\\[[0-9;]*m'
    "$MAS" stop -q "$ID"
    NO_COLOR=1 "$MAS" start -q "$ID"
    find_agent
    eventually shows_state idle
    run ! grep -q $'\033\\[[0-9;]*m' <(tm capture-pane -ept "$PANE")
}

@test "a question is bold, and every colour is one that can be read on white and on black" {
    chat
    type_line 'TOOL:read DIFF:x.c ASK:execute'
    eventually shows_state waiting
    tm capture-pane -ept "$PANE" >"$T/screen"
    grep -q $'\033\\[1[;m].*May I execute' <(sed 's/\x1b\[38;5;163m\x1b\[1m/\x1b[1;38;5;163m/' "$T/screen") ||
        grep -q $'\033\\[[0-9;]*1;.*May I execute' "$T/screen"
    run ! grep -qE $'\033\\[([0-9;]*;)?(3[0-79]|9[0-7])m' <(sed -E 's/38;5;[0-9]+/0/g; s/39m/0m/g' "$T/screen")
}

@test "what is typed while a permission is asked is said to wait, and how that is answered" {
    chat
    type_line ASK:execute
    eventually shows_state waiting
    type_line 'one more thing'
    eventually shows 'queued until you answer the permission with a digit from 1 to'
    eventually is solo .queued 1
    # the note stands above the question, which is above its choices
    [[ $(screen | grep -oE '^queued until|^\? May I execute|^ +1 A' | tail -n 3 | xargs) == 'queued until ? May I execute 1 A' ]]
    type_line 1
    eventually shows 'last="one more thing"'
}

# Keys that are no line of their own
keys() { tm send-keys -t "$PANE" -l "$1"; }

@test "TAB completes a command with a blank, the agent's and those of the pane" {
    chat
    keys /comp
    press Tab
    keys that
    eventually typed '/compact that'
    press C-c
    keys /he
    press Tab
    keys x
    eventually typed '/help x'
    # a blank that is there is enough, and what stands behind it stays
    press C-c
    keys '/rev all'
    press M-b Left Tab
    keys ' it'
    eventually typed '/review it all'
}

@test "TAB shows what several commands begin with, then lists them until something is typed" {
    chat
    offers 'COMMANDS:"résumé-äll=All of it,résumé-öne=A long description that goes on and on until nothing of it fits into the width of the pane"'
    press C-l
    keys /r
    press Tab
    eventually shows_line '/review      Look at the changes'
    shows_line '/résumé-äll  All of it'
    resize 80 24
    keys é
    press Tab
    eventually typed '/résumé-'
    eventually lacks_line '/résumé-äll  All of it'
    press Tab
    eventually shows_line '/résumé-äll  All of it'
    screen | grep -qE '^/résumé-öne  A long description that goes on and on'
    run ! screen_matches '^/résumé-öne .*the pane'
    typed '/résumé-'
    keys ä
    press Tab
    keys now
    eventually typed '/résumé-äll now'
    eventually lacks_line '/résumé-äll  All of it'
    [ "$(scrolled | grep -c '/résumé-öne')" -eq 0 ]
}

screen_matches() { screen | grep -qE -- "$1"; }

@test "TAB with nothing typed, elsewhere than in a command, or in one that nobody knows, does nothing" {
    chat
    press Tab
    keys 'hel'
    press Tab
    keys 'p /comp'
    press Tab
    keys .
    eventually typed 'help /comp.'
    press C-c
    keys /nonsense
    press Tab
    keys .
    eventually typed '/nonsense.'
    press C-c
    keys //comp
    press Tab
    keys .
    eventually typed '//comp.'
    press C-c
    keys '/compact /he'
    press Tab
    keys .
    eventually typed '/compact /he.'
}

@test "a list of commands that does not fit says how many more there are" {
    chat
    offers "COMMANDS:$(seq -s, -f 'many%02g=One' 1 50)"
    resize 40 12
    keys /many
    press Tab
    eventually shows_line '/many01  One'
    local shown
    shown=$(screen | grep -c '^/many')
    shows_line "+$((50 - shown)) more"
    typed /many
}

@test "hostile names of commands break no terminal and are not completed" {
    chat
    offers 'COMMANDS:"evil\u001b[2Jx=a,evil\u202ey=b,evil two=c,good=\u001b]0;title\u0007d"'
    press C-l
    keys /evil
    press Tab
    keys .
    eventually typed /evil.
    press C-c
    keys /
    press Tab
    eventually shows_line '/good            \x1b]0;title\x07d'
    run ! screen_matches '^/evil'
    [ "$(tm display-message -pt "$PANE" '#{pane_title}')" != title ]
}

@test "TAB behind @ completes what lies in the agent's directory, and the prompt names it as typed" {
    chat
    mkdir -p "$DIR/unit/solo/src/deep" "$DIR/unit/solo/.git"
    touch "$DIR/unit/solo/src/deep/one.c" "$DIR/unit/solo/src/draw.c" "$DIR/unit/solo/src/draw.h" "$DIR/unit/solo/.hidden"
    keys 'look at @sr'
    press Tab
    keys dr
    press Tab Tab
    eventually shows_line '@src/draw.c'
    shows_line '@src/draw.h'
    typed 'look at @src/draw.'
    keys c
    press Tab
    keys 'and @src/de'
    press Tab Tab
    keys 'and @.h'
    press Tab
    keys 'and @.g'
    press Tab
    keys .
    eventually typed 'look at @src/draw.c and @src/deep/one.c and @.hidden and @.g.'
    eventually lacks_line '@src/draw.h'
    press Enter
    eventually was_sent 'look at @src/draw.c and @src/deep/one.c and @.hidden and @.g.'
    # an @ that begins no word, and what stands behind the cursor's word
    keys 'me@sr'
    press Tab
    keys ' @src/deep/o,'
    press Left Tab
    keys .
    eventually typed 'me@sr @src/deep/o.,'
}

@test "TAB behind @ leads out of the agent's directory by no link, and offers no hostile name" {
    chat
    mkdir "$T/outside" "$DIR/unit/solo/good"
    touch "$T/outside/secret"
    ln -s "$T/outside" "$DIR/unit/solo/gate"
    (cd "$DIR/unit/solo" && touch $'escape\e[2J' 'two words' $'bidi\u202ex')
    for path in gate/s ../t ../../ / esc tw bi; do
        keys "@$path"
        press Tab
        keys .
        eventually typed "@$path."
        press C-c
        eventually typed ''
    done
    keys @g
    press Tab
    eventually shows_line @gate
    shows_line @good/
}
