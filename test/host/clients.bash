# Terminals that are clients of tmux, for the tests of what people see; loaded after lib.bash.
# shellcheck shell=bash

# Another tmux server, whose windows are the terminals.
outer() { tmux -u -S "$T/outer" -f /dev/null "$@"; }

client_count() { tm list-clients 2>/dev/null | wc -l; }

# attach_client NAME SESSION [AGENT]: opens a terminal that is attached to the session, of 40 rows and
# $COLUMNS_WANTED columns (120), and waits for it.
attach_client() {
    local name=$1 count
    shift
    count=$(client_count)
    printf 'unset TMUX TMUX_PANE\nexport TERM=screen MAS_ROOT=%q\nexec %q attach %s\n' "$ROOT" "$MAS" "$*" \
        >"$T/terminal-$name"
    outer new-session -d -s "$name" -x "${COLUMNS_WANTED-120}" -y 40 "exec bash '$T/terminal-$name'" \; \
        set-option -s exit-empty off
    eventually prints "$((count + 1))" client_count
}

# pane_of AGENT: prints its pane in session $ID.
pane_of() { of "$1" .pane; }

# Lets mas run tmux through a program that counts. tmux_calls WORD: prints how many calls had this word.
count_tmux() {
    local real
    real=$(command -v tmux)
    mkdir -p "$T/counted"
    printf '#!/bin/sh\necho "$*" >>"%s/calls"\nexec "%s" "$@"\n' "$T" "$real" >"$T/counted/tmux"
    chmod +x "$T/counted/tmux"
    PATH=$T/counted:$PATH
}
tmux_calls() { grep -cF -- "$1" "$T/calls" 2>/dev/null || :; }
