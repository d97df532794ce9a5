#!/usr/bin/env bats
# Pictures of the pane and of mas top, as xterm draws them on white and on black; MAS_TEST_PICTURES says where they
# stay, for somebody to look at: the tests know only that something was drawn. test_palette computes the contrast.
load ../helper
load ../host/lib
load ../acp/lib

setup_more() {
    for program in Xvfb xterm import convert; do
        command -v "$program" >/dev/null || skip "$program is not installed"
    done
    PICTURES=${MAS_TEST_PICTURES:-$T/pictures}
    mkdir -p "$PICTURES"
    Xvfb -displayfd 5 -screen 0 960x512x24 -nolisten tcp -noreset 5>"$T/display" >/dev/null 2>&1 3>&- &
    XVFB=$!
    eventually test -s "$T/display"
    DISPLAY=:$(cat "$T/display")
    export DISPLAY
}

teardown_more() {
    end_terminal
    if [ -n "${XVFB-}" ]; then kill "$XVFB"; fi
}

# Ends the terminal, and waits until its window is gone.
end_terminal() {
    [ -n "${XTERM-}" ] || return 0
    tmux -S "$OUTER" kill-server 2>/dev/null || :
    wait "$XTERM" || :
}

# in_terminal GROUND TEXT COMMAND: runs it in an xterm, and in a tmux there, so that what it shows can be read, too.
in_terminal() {
    end_terminal
    OUTER=$T/outer.$((++terminals))
    xterm -bg "$1" -fg "$2" -geometry 120x34 -fa Monospace -fs 9 -b 0 +sb -e \
        env -u TMUX -u TMUX_PANE TERM=xterm-256color tmux -u -S "$OUTER" -f /dev/null new-session "$3" \; \
        set-option -g status off 3>&- &
    XTERM=$!
}
shown() { tmux -u -S "$OUTER" capture-pane -p 2>/dev/null | grep -qF -- "$1"; }

# picture NAME: takes one; text in several colours on one ground has more with the edges of its letters.
picture() {
    import -window root "$PICTURES/$1.png"
    [ "$(convert "$PICTURES/$1.png" -format %k info:)" -gt 20 ]
}

# as_drawn NAME COMMAND TEXT: on white and on black, once the text is there.
as_drawn() {
    local ground
    for ground in white/black black/white; do
        in_terminal "${ground%/*}" "${ground#*/}" "$2"
        eventually shown "$3"
        eventually picture "$1-${ground%/*}"
    done
}

@test "the pane of an agent: Markdown, a tool, a diff, a question" {
    local attach
    acp_agent
    attach="env -u TMUX -u TMUX_PANE '$MAS' attach '$ID'"
    "$MAS" ask "$ID" solo "SAY:$(jq -Rs . "$PROJECT/test/serve/page/answer.md") QUIET" >/dev/null
    as_drawn answer "$attach" 'The end.'
    "$MAS" ask "$ID" solo --no-wait 'TOOL PLAN DIFF:lock.c ASK:execute' >/dev/null
    eventually state_is solo waiting
    as_drawn question "$attach" 'May I execute?'
}

@test "mas top: who waits, works, rests and has failed, with the preview" {
    acp_preset scripted
    preset breaks 'sh -c "kill -9 \$\$"'
    "$MAS" new -q --name shop -t pair --agent scripted >/dev/null
    "$MAS" new -q --name docs -t pair --agent scripted >/dev/null
    "$MAS" new -q --name api -t solo --agent breaks >/dev/null
    "$MAS" ask --no-wait shop lead ASK:execute >/dev/null
    "$MAS" ask --no-wait docs lead 'SAY:words HANG' >/dev/null
    DIR=$ROOT/sessions/$("$MAS" show shop --json | jq -r .sessionId)
    eventually state_is lead waiting
    as_drawn top "'$MAS' top" 'api/solo'
}
