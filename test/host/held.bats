#!/usr/bin/env bats
# A message to a terminal in which a person has typed half a line: neither is lost, joined or run with the other.
# shellcheck disable=SC2016 # single quotes are meant
load ../helper
load lib

# run_shell KEY=VALUE...: runs a shell with line editing, with keys for its preset.
run_shell() {
    run_agent 'bash --norc --noprofile' 'idle = 300ms' "$@"
    hosts_there
    type_line "PS1='> '; echo"
    eventually shows_line '>'
}

# typing TEXT: types it into the pane without Enter, and waits until the program shows it.
typing() {
    press -l "$1"
    eventually shows "> $1"
}

# sent_is OUTCOME TEXT: sends the text; succeeds if that is what became of it.
sent_is() {
    run -0 --separate-stderr "$MAS" send --json "$ID" solo "$2"
    [ "$(jq -r '.agents[0].outcome' <<<"$output")" = "$1" ]
}

@test "a message waits while a line is half typed, and comes after it" {
    run_shell 'hold = 1h'
    typing "echo half"
    sent_is held "echo sent >>'$T/got'"
    [[ $stderr == *"agent 'solo' does not get the text yet: a person has typed on its line"*"not touched for 3600 s"* ]]
    [[ $(of solo .note) == *'a person has typed on the line'* ]]
    is solo .queued 1
    press -l " >>'$T/got'"
    press Enter
    eventually test -s "$T/got"
    eventually prints 'half
sent' cat "$T/got"
    is solo .queued 0
    # a line that was cleared holds nothing back
    typing 'echo never'
    sent_is held "echo more >>'$T/got'"
    press C-c
    eventually prints 'half
sent
more' cat "$T/got"
    run ! grep -q never "$T/got"
}

@test "after a while the line is cleared for the message, and put back when the agent rests" {
    run_shell 'hold = 300ms'
    typing 'echo half'
    sent_is held "echo sent >>'$T/got'" || sent_is delivered "echo sent >>'$T/got'"
    eventually test -s "$T/got"
    eventually shows_line '> echo half'
    press -l " >>'$T/got'"
    press Enter
    eventually grep -qx half "$T/got"
    [ "$(head -n 1 "$T/got")" = sent ]
    run ! grep -q 'half.*sent\|sent.*half' "$T/got"
}

@test "a long line is taken off whole where Ctrl-U is about one row, and put back" {
    local half
    cat >"$T/rows" <<'END'
import os, sys, tty
tty.setraw(0)
print("> ", end="", flush=True)
line = ""
while True:
    for c in os.read(0, 65536).decode():
        if c == "\r":
            open(sys.argv[1], "a").write(line + "\n")
            line = ""
        else:
            line = line[: max(len(line) - 1, 0) // 40 * 40] if c == "\025" else line + c
    print("\r\033[K> " + line[:60], end="", flush=True)
END
    run_agent "python3 $T/rows $T/got" 'idle = 300ms' 'hold = 300ms' 'executes = no'
    hosts_there
    eventually shows_line '>'
    half="half $(printf 'and so on %.0s' {1..40})"
    typing "${half:0:40}"
    press -l "${half:40}"
    ok send "$ID" solo sent
    eventually test -s "$T/got"
    eventually shows '> half and so on'
    eventually state_is solo idle
    press Enter
    eventually prints "sent
$half" cat "$T/got"
}

@test "a line that only the program knows is never cleared: the message waits for its end" {
    run_shell 'hold = 0s'
    type_line "echo before"
    eventually shows_line before
    press Up
    eventually shows_line '> echo before'
    sent_is held "echo sent >>'$T/got'"
    [[ $stderr != *'not touched for'* ]]
    # what was for a program on the other screen is not on the line
    press C-c
    eventually grep -qx sent "$T/got"
    type_line "printf '\\033[?1049h'; read -rsn3; printf '\\033[?1049l'"
    eventually shows_other_screen
    press Up
    eventually is_back
    sent_is delivered "echo more >>'$T/got'"
    eventually grep -qx more "$T/got"
}
shows_other_screen() { [ "$(tm display-message -pt "$PANE" '#{alternate_on}')" = 1 ]; }
is_back() { [ "$(tm display-message -pt "$PANE" '#{alternate_on}')" = 0 ]; }

@test "a password is never put aside" {
    run_shell 'hold = 0s'
    type_line "read -rsp 'Password: ' word; test \"\${#word}\" = 6 && echo >'$T/right'"
    eventually shows 'Password:'
    press -l sec
    sent_is held 'echo next'
    press -l ret
    press Enter
    eventually test -e "$T/right"
    eventually shows_line next
    run ! grep -q sec "$DIR/logs/agent-solo.log"
}

@test "what was put aside is shown if the agent ends before it rests" {
    run_shell 'hold = 0s'
    typing 'echo half'
    sent_is delivered 'exit'
    eventually shows 'what was typed on the line before the message: echo half'
}
