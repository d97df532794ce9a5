#!/bin/sh
# Makes docs/mas.svg, the picture in README.md: what a terminal of 100 columns and 24 rows shows
# while mas is used in it. Nothing in it is written by hand.
#
#   docs/picture.sh [FILE]      takes the program from $MAS, else build/mas; writes to FILE
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
to=${1:-$here/mas.svg}
MAS=$(realpath "${MAS:-$here/../build/mas}")
T=$(mktemp -d /tmp/mas-XXXXXX)

outer() { tmux -u -S "$T/terminal" -f /dev/null "$@"; }
team() { tmux -u -S "$T/team" "$@"; }

finish() {
    outer kill-server 2>/dev/null || :
    # waits for the agents, which write their logs until they end
    mas stop --all >/dev/null 2>&1 || :
    team kill-server 2>/dev/null || :
    rm -rf "$T"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Everything below runs apart from the user's own files, settings and tmux server.
mkdir "$T/home" "$T/bin"
ln -s "$MAS" "$T/bin/mas"
PATH=$T/bin:$PATH
HOME=$T/home
export PATH HOME LC_ALL=C.UTF-8 TERM=screen-256color SHELL=/bin/sh PS1='$ '
export MAS_ROOT="$T" MAS_TMUX_SOCKET="$T/team"
unset TMUX TMUX_PANE NO_COLOR MAS_SESSION_ID MAS_SESSION_MODE MAS_AGENT_ID MAS_TEMPLATE MAS_PRESET
unset MAS_TMUX_SERVER MAS_TMUX_SIZE TMUX_TMPDIR XDG_CONFIG_HOME XDG_RUNTIME_DIR ENV
mas init -q

# shown TEXT TMUX ARG...: waits until the pane shows the text.
shown() {
    text=$1 left=1500
    shift
    until "$@" | grep -qF -- "$text"; do
        left=$((left - 1))
        if [ "$left" -eq 0 ]; then
            echo "$0: '$text' never came" >&2
            exit 1
        fi
        sleep 0.02
    done
}

# type LINE: types it in the terminal and waits until the next prompt is there.
lines=0
type() {
    outer send-keys -l -t =terminal: -- "$1"
    outer send-keys -t =terminal: Enter
    lines=$((lines + 1))
    left=1500
    until [ "$(outer capture-pane -p -t =terminal: | grep -c '^\$')" -gt "$lines" ]; do
        left=$((left - 1))
        if [ "$left" -eq 0 ]; then
            echo "$0: '$1' did not end" >&2
            exit 1
        fi
        sleep 0.02
    done
}

# in_pane AGENT LINE TEXT: types a line in an agent's pane and waits until the text is there.
in_pane() {
    pane=$(mas show shop --json | sed "s/.*\"id\":\"$1\"[^}]*\"pane\":\"\(%[0-9]*\)\".*/\1/")
    team send-keys -l -t "$pane" -- "$2"
    team send-keys -t "$pane" Enter
    shown "$3" team capture-pane -p -t "$pane"
}

outer new-session -d -s terminal -x 100 -y 24 env -u TMUX -u TMUX_PANE /bin/sh \; set-option -g status off
shown '$' outer capture-pane -p -t =terminal:
type 'mas new --name shop'
type 'mas new --name notes --template solo'
type 'mas list'
outer send-keys -l -t =terminal: 'mas attach shop 10'
shown 'attach shop 10' outer capture-pane -p -t =terminal:
outer capture-pane -e -p -t =terminal: >"$T/shell"

outer send-keys -t =terminal: Enter
shown '13 visual' outer capture-pane -p -t =terminal:
# shellcheck disable=SC2016 # for the agents' shells
{
    in_pane 10 'sed -n 3,5p AGENTS.md | fmt -w 48' 'opinions.'
    in_pane 11 'ls "$WORKFLOWS_DIR" | head -n 4' '12_interaction_designer.md'
    in_pane 12 'echo $(ls "$UNIT_DIR")' '31 32 33'
    in_pane 13 'echo "$MAS_AGENT_ID: $MAS_AGENT_ROLE"' '13: visual'
}
for text in opinions. 12_interaction_designer.md '31 32 33' '13: visual and'; do
    shown "$text" outer capture-pane -p -t =terminal:
done
outer capture-pane -e -p -t =terminal: >"$T/attached"

LC_ALL=C awk -v columns=100 -f "$here/svg.awk" "$T/shell" "$T/attached" >"$T/mas.svg"
cp "$T/mas.svg" "$to"
