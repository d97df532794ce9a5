# Shared by the tests of the pane of an ACP agent; loaded behind lib.
# shellcheck shell=bash

# A session with the scripted agent, whose pane has its prompt.
chat() {
    acp_agent "$@"
    eventually shows_state idle
}

# The state line has this word.
shows_state() { screen | grep -qE "^ ${1//|/\\|}( |$)"; }

# What is typed now stands in a line of its own.
typed() { screen | grep -qxF -- "${1:+> }${1:->}"; }

# The whole history of the pane
scrolled() { tm capture-pane -S - -pt "$PANE"; }
scrolled_shows() { scrolled | grep -qF -- "$1"; }

# Text $1 reaches the pane as a person's terminal pastes it.
paste() {
    printf '%s' "$1" >"$T/paste"
    tm load-buffer -b pasted "$T/paste" \; paste-buffer -p -r -d -b pasted -t "$PANE"
}
