#!/usr/bin/env bats
# `mas top`, read through a real tmux: an outer server is the terminal that it runs in.
# shellcheck disable=SC2016 # for other shells
load ../helper
load ../host/lib
load ../acp/lib
load ../project

outer() { tmux -u -S "$T/outer" -f /dev/null "$@"; }

# open COLUMNS ROWS [OPTION...]: runs mas top in a new terminal; its exit code goes to $T/rc.
open() {
    local columns=$1 rows=$2
    shift 2
    outer new-session -d -x "$columns" -y "$rows" \
        "env -u TMUX -u TMUX_PANE ${TERMINAL:-TERM=screen} sh -c '\"$MAS\" top $* 2>\"$T/err\"; echo \$? >\"$T/rc\"; exec sleep 1000'" \; \
        set-option -s exit-empty off \; set-option -g status off \; set-option -s escape-time 0
}

view() { outer capture-pane -p; }
sees() { view | grep -qF -- "$1"; }
sees_no() { ! sees "$1"; }
type_keys() { outer send-keys "$@"; }
has_ended() { [ -s "$T/rc" ]; }

# order: the agents in the order of the screen, each with its state.
order() { sed -En 's/^(●|▸|✓|·) ([^ ]+) +(no host|no answer|[a-z.]+) .*/\2:\3/p' | xargs; }
screen_order() { view | order; }
once_order() { "$MAS" top --once | order; }

# Three sessions: shop/lead waits, docs/lead works, api/solo has crashed, the others are idle.
three_sessions() {
    acp_preset scripted
    preset breaks 'sh -c "kill -9 \$\$"'
    SHOP=$("$MAS" new -q --name shop -t pair --agent scripted)
    DOCS=$("$MAS" new -q --name docs -t pair --agent scripted)
    API=$("$MAS" new -q --name api -t solo --agent breaks)
    "$MAS" ask --no-wait "$SHOP" lead ASK:execute >/dev/null
    DIR=$ROOT/sessions/$SHOP
    eventually state_is lead waiting
    "$MAS" ask --no-wait "$DOCS" lead HANG >/dev/null
    DIR=$ROOT/sessions/$DOCS
    eventually state_is lead working
    DIR=$ROOT/sessions/$API
    eventually state_is solo crashed
    for DIR in "$ROOT/sessions/$SHOP" "$ROOT/sessions/$DOCS"; do eventually state_is reviewer idle; done
}

@test "--once prints who needs a person first, then who works, then the others" {
    three_sessions
    [ "$("$MAS" top --once | sed -n 's/^\([a-z ]*\): \([0-9]*\)$/\1=\2/p' | xargs)" = \
        "needs you=2 working=1 idle=2" ]
    run once_order
    [[ $output =~ ^'shop/lead:waiting api/solo:crashed docs/lead:working '('docs/reviewer:idle shop/reviewer:idle'|'shop/reviewer:idle docs/reviewer:idle')$ ]] ||
        [[ $output =~ ^'api/solo:crashed shop/lead:waiting docs/lead:working '('docs/reviewer:idle shop/reviewer:idle'|'shop/reviewer:idle docs/reviewer:idle')$ ]]
    ok top --once shop
    [[ $output == *"shop/lead"*"May I execute?"* ]]
    [[ $output != *docs* ]]
    COLUMNS=40 mas top --once
    [ "$(wc -L <<<"$output")" -le 40 ]
    [[ $output == *waiting* ]]
}

# shellcheck disable=SC2317 # called by eventually
top_shows_use() { "$MAS" top --once busy | grep -Eq 'CPU +MEM' && "$MAS" top --once busy | grep -Eq 'busy/solo .* [0-9]+:[0-9][1-9] +[0-9.]+[KM]'; }

@test "--once shows the CPU time and the memory that an agent uses" {
    preset busy 'sh -c "while :; do :; done"'
    "$MAS" new -q --name busy -t solo --agent busy
    eventually top_shows_use
}

@test "the screen shows the same order and counts, and a change at once" {
    three_sessions
    open 100 30
    eventually sees 'shop/lead'
    eventually sees 'waiting'
    eventually prints "$(once_order)" screen_order
    eventually sees '● 2 need you  ▸ 1 working'
    "$MAS" approve "$SHOP" lead
    eventually sees '● 1 need you'
    type_keys q
    eventually has_ended
    [ "$(<"$T/rc")" = 0 ]
}

@test "a killed host, a removed session and a new one are shown" {
    three_sessions
    open 100 30
    eventually sees '● 2 need you'
    DIR=$ROOT/sessions/$DOCS
    kill -9 "$(of reviewer .hostPid)"
    eventually sees 'docs/reviewer no host'
    eventually sees 'mas restart docs reviewer'
    "$MAS" rm -f -q docs
    eventually sees_no docs
    "$MAS" new -q --name fresh -t solo --agent scripted >/dev/null
    eventually sees 'fresh/solo'
}

@test "without a terminal, or with one that cannot move its cursor, it names --once" {
    fails 2 top
    [[ $stderr == *"this is not a terminal"*"mas top --once"* ]]
    TERMINAL=TERM=dumb open 80 24
    eventually has_ended
    [ "$(<"$T/rc")" = 2 ]
    grep -q 'mas top --once' "$T/err"
    rm "$T/rc"
    TERMINAL=TERM=nosuch-term open 80 24
    eventually has_ended
    [ "$(<"$T/rc")" = 2 ]
    grep -q "terminfo does not know 'nosuch-term'" "$T/err"
    grep -q 'TERM=xterm-256color mas top' "$T/err"
}

@test "a row has what its agent asks now" {
    acp_preset scripted
    SHOP=$("$MAS" new -q --name shop -t solo --agent scripted)
    DIR=$ROOT/sessions/$SHOP
    echo '{"tool": {"title": "Tidy", "rawInput": {"command": "make"}}, "then": [{"rawInput": {"command": "make clean"}}]}' >"$T/asked"
    "$MAS" ask --no-wait shop solo "ASKOF:$T/asked" >/dev/null
    eventually state_is solo waiting
    open 120 30
    row_asks() { view | grep -q "shop/solo .*waiting .* $1 (Tidy)"; }
    eventually row_asks make
    touch "$T/asked.0"
    eventually row_asks 'make clean'
}

@test "a and d answer what the chosen agent asks, and a number chooses; s sends a message" {
    acp_preset scripted
    SHOP=$("$MAS" new -q --name shop -t solo --agent scripted)
    DIR=$ROOT/sessions/$SHOP
    "$MAS" ask --no-wait shop solo 'DIFF:/x ASK:execute' >/dev/null
    eventually state_is solo waiting
    open 100 30
    eventually sees '4 Always reject'
    type_keys a
    eventually sees 'answered shop/solo: allow'
    eventually state_is solo idle
    "$MAS" ask --no-wait shop solo ASK:edit >/dev/null
    eventually sees '4 Always reject'
    type_keys d
    eventually sees 'answered shop/solo: deny'
    eventually sees 'permit=no-1'
    "$MAS" ask --no-wait shop solo ASK:edit >/dev/null
    eventually sees '4 Always reject'
    type_keys 2
    eventually sees 'permit=yes-2'
    type_keys s
    eventually sees 'to solo:'
    type_keys -l 'grüße 世界'
    type_keys Enter
    eventually sees 'sent to shop/solo'
    eventually sees 'last="grüße 世界"'
    type_keys a
    eventually sees 'shop/solo asks nothing'
}

@test "a program on a terminal that tells is answered likewise, also whether it trusts its directory, and its words are shown" {
    # shellcheck source=test/host/tells.bash
    (. "$PROJECT/test/host/tells.bash" && teller_preset)
    export OUT=$T/argv
    mkdir -p "$HOME/.teller"
    touch "$HOME/.teller/distrusts"
    SHOP=$("$MAS" new -q --name shop -t solo --agent teller)
    DIR=$ROOT/sessions/$SHOP
    open 100 30
    eventually sees ' 2 No'
    sees ' trust: '
    type_keys a
    eventually sees 'answered shop/solo: allow'
    eventually state_is solo idle
    "$MAS" send shop solo 'ask make test'
    eventually sees ' make test (Bash)'
    eventually sees ' 2 No'
    type_keys a
    eventually sees 'I know: ask make test'
    type_keys s
    eventually sees 'to solo:'
    type_keys -l 'choose red'
    type_keys Enter
    eventually sees ' red (Choose)'
    type_keys a
    eventually sees 'asks more than yes or no'
}

@test "what would be done is shown above the choices, and what the agent tells of it later" {
    acp_preset scripted
    SHOP=$("$MAS" new -q --name shop -t solo --agent scripted)
    DIR=$ROOT/sessions/$SHOP
    echo '{"tool": {"title": "Run tests", "kind": "execute", "rawInput": {"command": "make test", "cwd": "/w"}},
        "then": [{"rawInput": {"command": "make clean"}}]}' >"$T/asked"
    "$MAS" ask --no-wait shop solo "ASKOF:$T/asked" >/dev/null
    eventually state_is solo waiting
    open 100 30
    eventually sees 'cwd: /w'
    sees 'make test (Run tests)'
    sees 'command: make test'
    touch "$T/asked.0"
    eventually sees 'command: make clean'
    sees_no 'cwd: /w'
    type_keys a
    eventually sees 'answered shop/solo: allow'
}

@test "without room for the choices a shows them first, and answers nothing unseen" {
    acp_preset scripted
    SHOP=$("$MAS" new -q --name shop -t solo --agent scripted)
    DIR=$ROOT/sessions/$SHOP
    "$MAS" ask --no-wait shop solo ASK:execute >/dev/null
    eventually state_is solo waiting
    open 60 12
    eventually sees waiting
    sees_no 'Always reject'
    type_keys a
    eventually sees '4 Always reject'
    state_is solo waiting
    type_keys Escape
    eventually sees_no 'Always reject'
    state_is solo waiting
    type_keys a
    eventually sees '4 Always reject'
    type_keys a
    eventually state_is solo idle
}

@test "x stops the session after a question; / filters; Tab folds; t groups by team" {
    three_sessions
    open 100 40
    eventually sees 'shop/lead'
    type_keys / docs
    eventually sees_no shop/lead
    sees docs/lead
    type_keys Enter
    eventually sees 'filter: docs (3 hidden'
    type_keys Escape
    eventually sees shop/lead
    type_keys t
    eventually sees '▾ docs 2'
    type_keys t g Tab
    eventually sees '▸ needs you 2'
    sees_no shop/lead
    type_keys Tab
    eventually sees shop/lead
    type_keys / docs Enter
    eventually sees_no shop/lead
    type_keys j x
    eventually sees 'stop session docs and its 2 agents?'
    type_keys n
    eventually sees_no 'stop session'
    [ "$(field docs .status)" = active ]
    type_keys x
    eventually sees 'stop session docs and its 2 agents?'
    type_keys y
    eventually prints stopped field docs .status
    eventually sees 'no agent matches'
}

@test "r tries again what has failed; n, f, + and T make and show; the last line has the keys of the row" {
    has_keys() { view | tail -n 1 | grep -qE -- "$1"; }
    has_no_keys() { ! has_keys "$1"; }
    make_project
    acp_preset scripted
    preset breaks "sh -c 'test -e $T/well || kill -9 \$\$; exec sleep 1000'"
    API=$("$MAS" new -q --name api -t solo --agent breaks)
    DIR=$ROOT/sessions/$API
    eventually state_is solo crashed
    cd "$P"
    open 150 30
    eventually has_keys 'r try again .* n new'
    has_no_keys 'T try'
    touch "$T/well"
    type_keys r
    eventually sees 'solo restarted'
    eventually has_no_keys 'r try again'
    type_keys n
    type_keys -l -- '--agent scripted --name shop ERR:5'
    type_keys Enter
    eventually sees 'begun: ERR:5'
    eventually sees 'shop/solo failed'
    type_keys g j
    eventually has_keys 'r try again .* T try  f fork'
    asked() { "$MAS" history shop solo --json | jq '[.messages[] | select(.role == "user")] | length'; }
    asked_twice() { [ "$(asked)" = 2 ]; }
    [ "$(asked)" = 1 ]
    type_keys r
    eventually asked_twice
    eventually sees 'asked shop/solo again' # each command begins when the one before has ended
    echo new >"$ROOT/sessions/$("$MAS" show shop --json | jq -r .sessionId)/code/solo/tried"
    type_keys T
    eventually sees 'in your checkout? (y/n; o takes it out again)'
    type_keys y
    eventually sees 'solo: 1 file in'
    [ -e "$P/tried" ]
    type_keys T
    eventually sees 'takes it out again'
    type_keys o
    eventually sees "is as it was before agent 'solo'"
    [ ! -e "$P/tried" ]
    type_keys f
    type_keys Enter
    eventually sees 'solo-2 added'
    eventually sees shop/solo-2
    type_keys +
    type_keys -l 'scripted --as third'
    type_keys Enter
    eventually sees 'third added'
    eventually sees shop/third
    type_keys n
    type_keys -l -- '--agent nosuch tidy up'
    type_keys Enter
    eventually sees "'nosuch'"
}

@test "what could not be sent at its time has a row with the reason; r runs it, x forgets it" {
    mkdir "$T/bin"
    printf '#!/bin/sh\ncase $1 in -) exec cat >"%s/tab" ;; *) exec cat "%s/tab" ;; esac\n' "$T" "$T" >"$T/bin/crontab"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/systemctl"
    chmod +x "$T/bin/"*
    touch "$T/tab"
    export PATH=$T/bin:$PATH
    new_session -n fix -t solo
    printf ': %05000d' 0 >"$T/long"
    ok every 2h fix solo --file "$T/long"
    ok every 3h fix solo --file "$T/long"
    open 150 30
    eventually sees 'fix/solo'
    sees_no failed
    fails 1 every --run 1
    fails 1 every --run 2
    eventually sees '✗ 2 failed'
    view | grep -q '✗ fix/solo *every 1 .*cannot send to agent .solo'
    type_keys g j x
    eventually sees 'end every 1 and forget it? (y/n)'
    type_keys y
    eventually sees 'forgotten: 1'
    eventually sees '✗ 1 failed'
    sees 'fix/solo every 2'
    ok send fix solo 'stty -icanon; echo "can $((1 + 1))"'
    eventually peeks 'can 2'
    type_keys g j r
    eventually sees 'ran entry 2'
    eventually sees_no failed
    [ "$("$MAS" every --list --json | jq -c '[.entries[] | [.number, .runs]]')" = '[[2,1]]' ]
}
peeks() { "$MAS" peek fix solo | grep -qx -- "$1"; }

@test "on 120 columns and more what the chosen agent says is beside the list" {
    acp_preset scripted
    "$MAS" new -q --name shop -t solo --agent scripted >/dev/null
    "$MAS" ask shop solo 'SAY:words-of-it QUIET' >/dev/null
    open 120 24
    beside() { view | sed -n 2p | grep -q '│── shop/solo' && view | grep -q '│ words-of-it'; }
    eventually beside
    outer resize-window -x 119 -y 24
    eventually sees_no '│'
    sees 'words-of-it'
}

@test "Enter goes to the pane, and a detach comes back" {
    acp_preset scripted
    SHOP=$("$MAS" new -q --name shop -t pair --agent scripted)
    open 100 30
    eventually sees 'shop/reviewer'
    type_keys /reviewer Enter
    eventually sees_no 'shop/lead'
    type_keys Enter
    attached() { [ "$(tm list-clients -F '#{session_name}' 2>&1)" = "mas-${SHOP:0:8}" ]; }
    eventually attached
    [ "$(tm display-message -p -t "mas-${SHOP:0:8}" '#{@mas_agent}#{pane_title}' | grep -c reviewer)" = 1 ]
    tm detach-client -s "mas-${SHOP:0:8}"
    eventually sees 'filter: reviewer'
    type_keys l
    eventually sees 'END'
    type_keys q
    eventually sees 'filter: reviewer'
}

@test "escape sequences, wide and invalid characters of agents are inert" {
    script hostile <<'E2'
printf '\033]0;evil\033[31m\007\033[2J'
printf 'line \033]52;c;AAAA\007 \302\233 caf\303\251 \344\270\226 \377 $(touch %s/pwned) `id`\n' "$T"
exec sleep 1000
E2
    preset hostile "sh $T/hostile"
    "$MAS" new -q --name shop -t solo --agent hostile >/dev/null
    open 120 30
    eventually sees 'shop/solo'
    eventually sees 'café 世'
    [ "$(view | grep -c 'mas top')" = 1 ]
    run -0 grep -cP '[\x00-\x08\x0b-\x1f\x7f]' <(view | tr -d '\n')  || true
    [ "$(outer display-message -p '#{pane_title}' | grep -c evil)" = 0 ]
    "$MAS" top --once | run ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]'
    [ ! -e "$T/pwned" ]
}

@test "every size, a resize in a loop, no colours, no UTF-8" {
    local size
    three_sessions
    open 100 30
    eventually sees 'shop/lead'
    for size in 1x1 20x5 2x1 1x24 40x10 200x50 3x3 80x24 1x1 100x30; do
        outer resize-window -x "${size%x*}" -y "${size#*x}"
    done
    eventually sees 'shop/lead'
    outer resize-window -x 40 -y 10
    eventually sees 'shop/lead'
    sees waiting
    outer resize-window -x 20 -y 5
    eventually sees 'shop/lead'
    outer resize-window -x 1 -y 1
    outer resize-window -x 80 -y 24
    eventually sees 'shop/lead'
    type_keys q
    eventually has_ended
    [ "$(<"$T/rc")" = 0 ]
    rm -f "$T/rc"
    outer() { tmux -u -S "$T/outer2" -f /dev/null "$@"; }
    TERMINAL='TERM=screen LC_ALL=C NO_COLOR=1' open 80 24
    eventually sees '! shop/lead'
    sees '! 2 need you' || sees '!2 need you'
    run ! grep -qP '[^\x00-\x7f]' <(view)
    type_keys q
    eventually has_ended
    rm -f "$T/rc"
}

@test "signals and an end of the terminal: it ends, and leaves the terminal as it was" {
    local pid
    three_sessions
    outer new-session -d -x 80 -y 24 "TERM=screen sh" \; set-option -s exit-empty off \; set-option -g status off
    type_keys "stty -a >$T/before; '$MAS' top; stty -a >$T/after; echo over" Enter
    eventually sees 'shop/lead'
    pid=$(pgrep -f "mas-top .*$ROOT")
    kill -TERM "$pid"
    eventually sees over
    eventually test -s "$T/after"
    cmp "$T/before" "$T/after"
    [ "$(outer display-message -p '#{alternate_on}#{mouse_any_flag}#{cursor_flag}')" = 001 ]
    type_keys "clear; '$MAS' top" Enter
    eventually sees 'shop/lead'
    type_keys C-z
    eventually sees_no 'shop/lead'
    type_keys 'fg' Enter
    eventually sees 'shop/lead'
    pid=$(pgrep -f "mas-top .*$ROOT")
    outer kill-server
    eventually is_gone "$pid"
}

@test "a root that goes away is said, and one that comes back is shown" {
    acp_preset scripted
    "$MAS" new -q --name shop -t solo --agent scripted >/dev/null
    open 100 20
    eventually sees 'shop/solo'
    mv "$ROOT" "$ROOT.away"
    eventually sees 'is gone'
    mv "$ROOT.away" "$ROOT"
    eventually sees_no 'is gone'
    sees 'shop/solo'
}

@test "with too few descriptors agents are asked in turns, and all are shown" {
    acp_preset scripted
    printf '[preset quiet]\ncommand = sleep 1000\n' >>"$ROOT/mas.ini"
    local i
    for i in 1 2 3 4; do "$MAS" new -q --agent quiet >/dev/null; done
    (ulimit -n 100 && "$MAS" top --once) >"$T/list"
    [ "$(grep -cE '/(00|[123][0-3]) ' "$T/list")" = 52 ]
    outer new-session -d -x 100 -y 30 "ulimit -n 100; TERM=screen '$MAS' top" \; set-option -s exit-empty off \; set-option -g status off
    eventually sees 'are asked in turns'
    run ! sees '...'
}

@test "an agent is done until a person looks, here at its history" {
    acp_preset scripted
    SHOP=$("$MAS" new -q --name shop -t solo --agent scripted)
    DIR=$ROOT/sessions/$SHOP
    hosts_there
    "$MAS" ask --no-wait shop solo hello >/dev/null
    eventually state_is solo idle
    open 100 30
    eventually sees '✓ 1 done'
    sees '✓ shop/solo'
    type_keys h
    eventually sees 'END'
    type_keys q
    eventually sees '✓ 0 done'
}

@test "a new title and a new last line of a program on a terminal are shown" {
    # shellcheck disable=SC2016 # for the script
    script titles <<'E2'
printf '\033]0;the first title\007one line\n'
while read -r words; do printf '\033]0;%s title\007then %s\n' "$words" "$words"; done
E2
    preset titles "sh $T/titles"
    "$MAS" new -q --name shop -t solo --agent titles >/dev/null
    open 120 30
    eventually sees 'the first title'
    eventually sees 'one line'
    type_keys s
    type_keys -l 'second'
    type_keys Enter
    eventually sees 'second title'
    eventually sees 'then second'
}

@test "on 80 and 120 columns each row has the last line or the tool; the filter finds shop/solo" {
    local size who=shop-with-a-longer-name
    make_project
    acp_preset scripted
    "$MAS" new -q --name "$who" -t pair --agent scripted --project "$P" >/dev/null
    DIR=$ROOT/sessions/$("$MAS" show "$who" --json | jq -r .sessionId)
    "$MAS" ask "$who" lead 'COST:1234.5EUR USAGE:70000/100000 SAY:finished-the-list QUIET' >/dev/null
    "$MAS" ask --no-wait "$who" reviewer 'COST:1234.5EUR USAGE:70000/100000 RUN:"sleep 1000"' >/dev/null
    eventually state_is reviewer working
    # shellcheck disable=SC2329 # called by eventually
    has_row() { view | grep -qE "^. $1"; }
    open 120 30
    for size in 120x30 80x24 60x20; do
        outer resize-window -x "${size%x*}" -y "${size#*x}"
        eventually has_row 'shop-wi.*finished-the'
        eventually has_row 'shop-wi.*working.*sleep 1000'
    done
    outer resize-window -x 120 -y 24
    type_keys /
    type_keys -l "$who/lead"
    # shellcheck disable=SC2329 # called by eventually
    has_one_row() { [ "$(view | grep -cE '^. shop-with')" = 1 ]; }
    eventually has_one_row
    eventually has_row 'shop-with.*lead|shop-with.*finished-the'
}

@test "a pager that l, h and v open ends with q, also for a text that needs none" {
    local key less
    command -v less >/dev/null || skip 'there is no less'
    make_project
    acp_preset scripted
    "$MAS" new -q --name shop -t solo --agent scripted --project "$P" >/dev/null
    DIR=$ROOT/sessions/$("$MAS" show shop --json | jq -r .sessionId)
    "$MAS" ask shop solo hello >/dev/null
    echo new >"$DIR/code/solo/a"
    for less in "env -u LESS -u PAGER" "env -u PAGER LESS=FX" "env PAGER=less LESS=-FE" "env PAGER=cat"; do
        TERMINAL="$less TERM=screen" open 100 30
        eventually sees 'mas top'
        eventually sees 'shop/solo'
        for key in l h v; do
            type_keys "$key"
            eventually sees_no 'shop/solo'
            eventually eval "sees '(END)' || sees 'press q to go back'"
            type_keys q
            eventually sees 'shop/solo'
        done
        type_keys q
        eventually has_ended
        rm -f "$T/rc"
        outer kill-session
    done
}

# colours: those on the screen, one a line: 31 (of eight) or 256:163.
colours() {
    outer capture-pane -pe | grep -oE $'\e\\[[0-9;]*m' | sed -E 's/.\[//; s/m$//; s/[34]8;5;/256:/g' | tr ';' '\n' |
        grep -E '^(256:.*|3[0-7]|9[0-7]|4[0-7]|10[0-7])$' | sort -u
}

@test "with 8, 16 and 256 colours all can be read on white and on black, and questions are bold" {
    local term
    three_sessions
    mkdir "$T/terminfo"
    infocmp screen | sed 's/^screen|[^,]*/sixteen/; s/colors#[0-9x]*/colors#16/' >"$T/terms"
    tic -x -o "$T/terminfo" "$T/terms"
    for term in screen linux sixteen screen-256color vt100; do # the console of Linux has no size in terminfo
        TERMINAL="COLORTERM= TERMINFO_DIRS=$T/terminfo:/lib/terminfo:/usr/share/terminfo:/etc/terminfo TERM=$term" open 100 30
        eventually sees 'May I execute?'
        type_keys G # the chosen row has a background of its own
        # shellcheck disable=SC2329 # called by eventually
        asks_boldly() { outer capture-pane -pe | grep 'May I execute' | grep -qE $'\e\\[([0-9;]*;)?1[;m]'; }
        eventually asks_boldly
        case $term in
            *256color) colours | grep -qx 256:163; run ! grep -v '^256:' <(colours) ;;
            *) [ -z "$(colours)" ] ;;
        esac
        type_keys q
        eventually has_ended
        rm -f "$T/rc"
        outer kill-session
    done
}

@test "agents that join and leave appear and go at once" {
    acp_preset scripted
    new_session --name shop -t solo --agent scripted
    DIR=$ROOT/sessions/$ID
    eventually state_is solo idle
    open 100 20
    eventually sees shop/solo
    "$MAS" add -q shop --agent scripted --as one
    "$MAS" add -q shop --agent scripted --as two
    eventually sees shop/two
    sees shop/one
    "$MAS" ask --no-wait shop two HANG >/dev/null
    both() { screen_order | grep -q 'shop/two:working'; }
    eventually both
    "$MAS" remove -q -f shop two
    eventually sees_no shop/two
    sees shop/one
    type_keys q
    eventually has_ended
    [ "$(cat "$T/rc")" = 0 ]
}

@test "the fullest window of a provider is in the first line, if there is room" {
    acp_agent
    mkdir -p "$ROOT/sessions/.limits"
    printf 'claude\n5h 62 0 %s000\nweek 31 0 %s000\nold 99 1 1\n' "$(date +%s)" "$(date +%s)" >"$ROOT/sessions/.limits/x.quota"
    open 100 20
    eventually sees 'claude 5h 62 %'
    sees_no '31 %'
    printf 'claude\n5h 99 1 1\n' >"$ROOT/sessions/.limits/x.quota" # it has begun anew
    eventually sees_no 'claude'
    printf 'claude\n5h 63 0 %s000\n' "$(date +%s)" >"$ROOT/sessions/.limits/x.quota"
    eventually sees 'claude 5h 63 %'
    outer resize-window -x 50 -y 20
    eventually sees_no 'claude'
}
