#!/usr/bin/env bats
# The host between agent and pane: no byte is changed on its way, and programs work as if it were
# not there. "Without mas" is the same program in a plain pane of the same server.
# shellcheck disable=SC1003,SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load lib

# both COMMAND: runs it as an agent, and without mas in the pane $PLAIN, both 80x24.
both() {
    run_agent "$1"
    # shellcheck disable=SC2153 # run_agent sets it
    tm resize-window -t "$PANE" -x 80 -y 25 # one line is the pane's border
    agent_pid "$ID" # the host has answered that its agent runs
    PLAIN=$(tm new-session -dP -F '#{pane_id}' -x 80 -y 24 -c "$DIR/unit/solo" "$1")
    resize_both 80 24
    if [[ $1 == 'bash --norc' ]]; then shells_read; fi
}

# What is typed while a program starts or ends is echoed by the kernel, thrown away or neither, as
# it happens to fall: it is typed when both shells stand behind a new prompt.
shells_read() {
    eventually prompt_is_last "$PANE"
    eventually prompt_is_last "$PLAIN"
}

prompt_is_last() {
    local y
    y=$(tm display -pt "$1" '#{cursor_y}')
    [[ $(tm capture-pane -pt "$1" -S "$y" -E "$y") =~ ^bash-[0-9.]+[#$]\ *$ ]]
}

# The shells, back after the program, look alike.
shells_are_back() {
    shells_read
    press_both 'echo by''e' Enter
    same_with bye
}

# resize_both COLUMNS ROWS: of the panes
resize_both() {
    tm resize-window -t "$PANE" -x "$1" -y "$(($2 + 1))" \; resize-window -t "$PLAIN" -x "$1" -y "$2"
    # tmux does it a moment later, and the host after that
    eventually terminal_is "/proc/$(of solo .pid)/fd/0" "$2 $1"
    eventually terminal_is "$(tm display -pt "$PLAIN" '#{pane_tty}')" "$2 $1"
}

terminal_is() { [ "$(stty -F "$1" size)" = "$2" ]; }

size_of() { tm display -pt "$1" '#{pane_height} #{pane_width}'; }

press_both() {
    tm send-keys -t "$PANE" "$@"
    tm send-keys -t "$PLAIN" "$@"
}

# All that can be seen of a pane: text with colours, cursor, modes.
looks() {
    # how many blanks tmux keeps at the end of a line depends on the widths that it has had
    tm capture-pane -epNt "$1" | sed $'/\033/!s/ *$//'
    tm display -pt "$1" '#{cursor_x},#{cursor_y} #{cursor_flag} #{alternate_on} #{insert_flag}
        #{keypad_cursor_flag} #{keypad_flag} #{mouse_all_flag} #{mouse_button_flag}
        #{mouse_sgr_flag} #{mouse_standard_flag} #{origin_flag} #{wrap_flag}
        #{scroll_region_upper} #{scroll_region_lower}'
}

look_the_same() { [ "$(looks "$PANE")" = "$(looks "$PLAIN")" ]; }

# Both screens show the text, and are the same.
same_with() {
    local pane
    for pane in "$PANE" "$PLAIN"; do
        eventually shows "$1" "$pane" || { looks "$pane"; return 1; }
    done
    eventually look_the_same || { diff <(looks "$PANE" | cat -A) <(looks "$PLAIN" | cat -A); false; }
}

flag_is() { [ "$(tm display -pt "$PANE" "#{$1}")" = "$2" ]; }

# Bytes of all kinds, $1 of them.
bytes() { head -c "$1" /dev/urandom; }

# Copies what reaches the pane into $T/pane, from here on.
record_pane() { tm pipe-pane -t "$PANE" "cat >'$T/pane'"; }

# Types a file into pane $1, byte for byte.
# 3.7 pastes text that is fit for a terminal, unless it is told -S.
type_file() {
    tm load-buffer "$2"
    tm paste-buffer -rSt "$1" 2>/dev/null || tm paste-buffer -rt "$1"
}

# The agent's log with its old parts, oldest first
all_logs() {
    local n
    for n in .9 .8 .7 .6 .5 .4 .3 .2 .1 ''; do
        if [ -e "$DIR/logs/agent-solo.log$n" ]; then cat "$DIR/logs/agent-solo.log$n"; fi
    done
}

has_size() { [ "$(stat -c %s "$1" 2>/dev/null)" = "$2" ]; }

@test "vim draws, scrolls, edits and quits as without mas" {
    command -v vim >/dev/null || skip "there is no vim"
    seq 1000 | sed 's/$/ grün 漢字 🙂 é/' >"$T/text"
    both 'bash --norc'
    press_both "vim -u NONE -N -n -c 'set ru nu hls mouse=a vi=' '$T/text'" Enter
    same_with '1 grün 漢字'
    flag_is alternate_on 1
    press_both 500G
    same_with '500 grün'
    press_both / 漢 Enter
    same_with '501 grün'
    press_both v 3j d i neu Escape
    same_with '505 grün'
    press_both :q! Enter
    shells_are_back
    flag_is alternate_on 0
}

@test "less pages, searches and quits as without mas" {
    command -v less >/dev/null || skip "there is no less"
    seq -f 'line %g with some words' 5000 >"$T/text"
    both 'bash --norc'
    press_both "LESS= less '$T/text'" Enter
    same_with 'line 23 '
    press_both Space
    same_with 'line 46 '
    press_both /4444 Enter
    same_with 'line 4444 '
    press_both G
    same_with '(END)'
    press_both q
    shells_are_back
}

@test "a program with curses, colours, lines and the mouse looks and resizes as without mas" {
    cat >"$T/show.py" <<'PY'
import curses

def show(w):
    curses.start_color()
    curses.use_default_colors()
    curses.mousemask(curses.ALL_MOUSE_EVENTS)
    curses.curs_set(0)
    last = "none"
    while True:
        w.erase()
        w.border()
        for i in range(1, min(curses.COLORS, 64)):
            curses.init_pair(i, i, -1)
            w.addstr(1 + i // 16, 2 + 4 * (i % 16), "%3d" % i, curses.color_pair(i) | curses.A_BOLD)
        h, width = w.getmaxyx()
        w.addstr(8, 2, "%dx%d key %s" % (width, h, last))
        w.refresh()
        key = w.get_wch()
        if key == "q":
            return
        last = "mouse%s" % (curses.getmouse()[1:3],) if key == curses.KEY_MOUSE else repr(key)

curses.wrapper(show)
PY
    both 'bash --norc'
    press_both "TERM=screen-256color ESCDELAY=50 python3 '$T/show.py'" Enter
    same_with '80x24 key none'
    press_both F5
    same_with 'key 269'
    press_both ä
    same_with "key 'ä'"
    resize_both 101 33
    same_with '101x33'
    resize_both 70 20
    same_with '70x20'
    press_both q
    shells_are_back
}

@test "what the agent prints reaches pane and log byte for byte, whatever it is" {
    {
        for i in $(seq 0 255); do printf '\033[38;5;%dm%d\033[48;2;%d;2;3mx\033[0m' "$i" "$i" "$i"; done
        printf '\033[?1003h\033[?1006h\033[?2004h\033]2;title\a\033P+q544e\033\\\033_apc\033\\'
        printf '漢字🙂é\xff\xfe\xc3\0\001\002\016\017\r\n\033[!p\033c\033[5n\033]52;c;eA==\a'
        bytes 1000000
        printf '\033c\033\\\030 end of it\n'
    } >"$T/bytes"
    script agent <<<"stty raw -echo; : >'$T/ready'; read x; cat '$T/bytes'; exec sleep $MARK"
    run_agent "bash $T/agent"
    eventually test -e "$T/ready"
    record_pane
    tm send-keys -t "$PANE" go C-j
    eventually has_size "$T/pane" "$(stat -c %s "$T/bytes")"
    cmp "$T/pane" "$T/bytes"
    agent_log >"$T/log"
    cmp "$T/log" "$T/bytes"
}

@test "many megabytes reach the pane whole, in order, and the log keeps their end" {
    local size=$((24 << 20)) kept
    [ "${TEST_FAULT-}" != full ] || size=$((64 << 20))
    seq 9000000 | head -c "$size" >"$T/bytes"
    script agent <<<"stty raw -echo; : >'$T/ready'; read x; cat '$T/bytes'; exec sleep $MARK"
    run_agent "bash $T/agent"
    eventually test -e "$T/ready"
    record_pane
    tm send-keys -t "$PANE" go C-j
    within 60 has_size "$T/pane" "$size"
    cmp "$T/pane" "$T/bytes"
    eventually marked_are 1
    all_logs >"$T/log"
    kept=$(stat -c %s "$T/log")
    cmp "$T/log" <(tail -c "$kept" "$T/bytes")
    ((kept >= 20 << 20 && kept <= 60 << 20))
}

@test "what is typed reaches the agent byte for byte, 4 MB of any bytes at once" {
    bytes 4194304 >"$T/typed"
    script agent <<<"stty raw -echo; echo ready; head -c 4194304 >'$T/got'; exec sleep $MARK"
    run_agent "bash $T/agent"
    eventually shows ready
    type_file "$PANE" "$T/typed"
    eventually marked_are 1
    cmp "$T/got" "$T/typed"
}

@test "keys, mouse reports and focus reports are what they are without mas" {
    script agent <<'S'
stty raw -echo
printf '\033[?1003h\033[?1006h\033[?1004hready'
head -c 40 | od -An -c
sleep 1000
S
    both "bash $T/agent"
    same_with ready
    flag_is mouse_all_flag 1
    local pane
    for pane in "$PANE" "$PLAIN"; do
        tm send-keys -t "$pane" Up F1 M-x C-a Tab Escape ä C-c C-z PPage
        printf '\033[<0;10;5M\033[<0;10;5m\033[I' >"$T/mouse"
        type_file "$pane" "$T/mouse"
    done
    same_with '1   0   ;   5'
}

@test "pasted text comes bracketed where the agent asked for it" {
    run_agent 'bash --norc'
    eventually shows 'bash-'
    tm set-buffer $'echo one\necho two\n' \; paste-buffer -pt "$PANE"
    eventually shows 'echo two'
    run ! shows_line one # nothing ran: it waits for Enter
    press Enter
    eventually shows_line one
    eventually shows_line two
}

@test "the agent's terminal has the pane's size, and hears when that changes" {
    script agent <<'S'
trap 'echo "now $(stty size)"' WINCH
echo "first $(stty size)"
while :; do sleep 1000 & wait; done
S
    run_agent "bash $T/agent"
    eventually shows "first $(size_of "$PANE")"
    tm resize-window -t "$PANE" -x 100 -y 30
    eventually shows "now $(size_of "$PANE")"
    tm resize-window -t "$PANE" -x 61 -y 17
    eventually shows "now $(size_of "$PANE")"
}

@test "Ctrl-C interrupts, Ctrl-Z stops, fg goes on, Ctrl-\\ quits, Ctrl-D ends" {
    run_agent 'bash --norc'
    eventually shows 'bash-'
    type_line "sleep $MARK"
    eventually marked_are 1
    press C-c
    eventually marked_are 0
    type_line "sleep $MARK; echo re''sumed"
    eventually marked_are 1
    press C-z
    eventually shows Stopped
    type_line 'jobs -l; echo jo''bs'
    eventually shows jobs
    [ "$(ps -o stat= -p "$(pgrep -fx "sleep $MARK")" | cut -c1)" = T ]
    type_line fg
    eventually foreground
    press C-\\
    eventually marked_are 0
    type_line 'cat; echo end''ed'
    eventually cat_runs # what comes before is typed ahead, where Ctrl-D is a byte
    type_line 'from the cat'
    press C-d
    eventually shows_line ended
}

foreground() { [[ $(ps -o stat= -p "$(pgrep -fx "sleep $MARK")") == *+* ]]; }

cat_runs() { pgrep -x -P "$(of solo .pid)" cat; }

cat_is_stopped() { [[ $(ps -o stat= --ppid "$(of solo .pid)") == *T* ]]; }

@test "job control works: background jobs, stopped on reading, ended by kill %1" {
    run_agent 'bash --norc'
    eventually shows 'bash-'
    type_line "sleep $MARK &"
    eventually marked_are 1
    type_line 'cat &'
    eventually cat_is_stopped
    type_line jobs
    eventually shows 'Stopped'
    type_line 'kill %2; kill %1; wait; echo no''ne'
    eventually shows_line none
    marked_are 0
}

@test "a Ctrl-C gets through while output floods the pane" {
    run_agent 'bash --norc'
    eventually shows 'bash-'
    type_line yes
    eventually shows_line y
    press C-c
    type_line 'echo sto''pped'
    eventually shows_line stopped
}

@test "an agent that ends leaves the pane as a new terminal is" {
    script agent <<'S'
printf '\033[?1049h\033[?1003h\033[?1006h\033[?2004h\033[?1h\033=\033[?25l\033[5;10r\033[?6h\033[4h\033(0\033[?7l\033[31;44mgarbled'
stty raw -echo
read x
S
    run_agent "bash $T/agent" 'idle = 100ms'
    eventually flag_is alternate_on 1
    eventually flag_is mouse_all_flag 1
    kill -KILL "$(of solo .pid)"
    eventually flag_is alternate_on 0
    eventually shows 'Enter starts it again'
    local flag
    for flag in mouse_any_flag mouse_sgr_flag insert_flag keypad_flag keypad_cursor_flag origin_flag \
        scroll_region_upper; do
        flag_is $flag 0 || { echo "$flag is set" >&2; false; }
    done
    flag_is cursor_flag 1
    flag_is wrap_flag 1
    flag_is scroll_region_lower "$(($(tm display -pt "$PANE" '#{pane_height}') - 1))"
}

@test "the terminal of a new run is as new: raw mode of the last one is gone" {
    script agent <<'S'
stty -a | tr ' ' '\n' | grep -xE -- '-?(icanon|echo|isig|opost|ixon|icrnl|onlcr)' | tr '\n' ' '
echo "run $((++n))"
stty raw -echo
read x
S
    both "bash $T/agent"
    same_with 'run 1'
    press C-c # raw: ends nothing
    tm kill-session -t "$PLAIN"
    tm clear-history -t "$PANE"
    local first
    first=$(screen | grep 'run 1')
    kill -KILL "$(of solo .pid)"
    eventually shows 'Enter starts it again'
    press Enter
    eventually is solo .restarts 1
    eventually state_is solo idle
    [ "$(screen | grep -c -F -- "$first")" = 2 ]
}

@test "Enter starts an agent that has ended, other keys do not" {
    run_agent 'bash --norc' 'idle = 100ms'
    eventually state_is solo idle
    type_line 'exit 3'
    eventually shows 'agent solo exited with code 3'
    press a b C-c q
    tm send-keys -t "$PANE" -l 'words'
    state_is solo exited
    press Enter
    eventually state_is solo idle
    type_line 'echo aga''in'
    eventually shows_line again
    run ! shows words
}

@test "an agent that closes its terminal and opens it again keeps it" {
    script agent <<S
exec </dev/null >/dev/null 2>&1
sleep 0.1
exec <'/dev/tty' >/dev/tty 2>&1
echo back
read -r x
echo "got \$x"
exec sleep $MARK
S
    run_agent "bash $T/agent"
    eventually shows_line back
    type_line word
    eventually shows_line 'got word'
}

@test "the agent's title is the pane's, and before that its id and role" {
    run_agent 'bash --norc'
    eventually shows 'bash-'
    flag_is pane_title 'solo generalist'
    type_line "printf '\\033]2;my own title\\a'"
    eventually flag_is pane_title 'my own title'
    type_line exit
    eventually flag_is pane_title 'solo generalist'
}
