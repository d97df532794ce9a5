#!/bin/sh
# Makes docs/mas.svg, the picture in README.md: what two terminals show while mas is used in them,
# with agent.py as the agent. All of it happens; only for how long each moment is shown is said here.
#
#   docs/picture.sh [FILE]      takes the program from $MAS, else build/mas; writes to FILE
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
to=${1:-$here/mas.svg}
MAS=$(realpath "${MAS:-$here/../build/mas}")
T=$(mktemp -d /tmp/mas-XXXXXX)

outer() { tmux -u -S "$T/terminal" -f /dev/null "$@"; }
team() { tmux -u -L demo "$@"; }

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
export MAS_ROOT="$T" MAS_TMUX_SOCKET=demo TMUX_TMPDIR="$T"
unset TMUX TMUX_PANE NO_COLOR MAS_SESSION_ID MAS_SESSION_MODE MAS_AGENT_ID MAS_TEMPLATE MAS_PRESET
unset MAS_TMUX_SERVER MAS_TMUX_SIZE XDG_CONFIG_HOME XDG_RUNTIME_DIR ENV
mas init -q
cat >>"$T/mas.ini" <<END

[preset demo]
description = what docs/agent.py does
protocol = acp
command = python3 -ES $here/agent.py
END

# screen WINDOW: what the terminal shows.
screen() { outer capture-pane -p -t "=$1:"; }

# until_true WHAT COMMAND...: waits for the command to succeed.
until_true() {
    what=$1 left=1500
    shift
    until "$@"; do
        left=$((left - 1))
        if [ "$left" -eq 0 ]; then
            echo "$0: $what never came" >&2
            screen 1 >&2
            screen 2 >&2
            exit 1
        fi
        sleep 0.02
    done
}

has() { screen "$1" | grep -qF -- "$2"; }
lacks() { ! has "$@"; }
at_prompt() { [ "$(screen "$1" | sed '/^ *$/d' | tail -n 1)" = '$' ]; }
shown() { until_true "'$2'" has "$1" "$2"; }

# shot MS [TMUX COMMAND...]: the picture shows what the terminals show now, for so long; the tmux
# command comes before.
now=0
shots=
shot() {
    ms=$1
    shift
    outer "$@" capture-pane -e -p -t =1: \; capture-pane -e -p -t =2: >"$T/shot-$now"
    shots="$shots at=$now $T/shot-$now"
    now=$((now + ms))
}

# keys WINDOW TEXT: types the text as a quick hand does, and Enter.
keys() {
    rest=$2
    while [ -n "$rest" ]; do
        more=${rest#???}
        if [ "$more" = "$rest" ]; then more=; fi
        shot 54 send-keys -l -t "=$1:" -- "${rest%"$more"}" \;
        rest=$more
    done
    shown "$1" "${2##* }"
    shot 250
    outer send-keys -t "=$1:" Enter
}

# run MS COMMAND: in the first terminal, and waits for its end.
run() {
    keys 1 "$2"
    until_true "the end of '$2'" at_prompt 1
    shot "$1"
}

for window in 1 2; do
    outer new-session -d -s $window -x 100 -y 14 env -u TMUX -u TMUX_PANE /bin/sh \; set-option -g status off
    until_true 'a prompt' at_prompt $window
done
run 600 'mas new --name shop --template pair --agent demo'
keys 2 'mas attach shop lead'
mas wait shop >/dev/null
shown 2 reviewer
shot 800
run 1200 "mas ask shop lead 'Which files are here?'"
keys 2 "Write 'two dozen roses' to order.txt"
shown 2 'Allow'
shot 1500
run 1200 'mas approve shop lead'
shown 2 'is written'
shot 1000
run 300 "kill -9 \$(tmux -L demo display -p '#{pid}')"
shown 2 'server exited'
shot 700
run 1000 'mas list'
run 500 'mas start --crashed'
# what was tmux's terminal is no longer fit for a shell: another
outer respawn-pane -k -t =2:
until_true 'a prompt' at_prompt 2
keys 2 'mas attach shop lead'
shown 2 'is written'
mas wait shop >/dev/null
shot 500
run 3200 "mas ask shop lead 'What did you write?'"

# shellcheck disable=SC2086 # words for awk
LC_ALL=C awk -v columns=100 -v heights='14 14' -v total="$now" -f "$here/svg.awk" $shots >"$T/mas.svg"
cp "$T/mas.svg" "$to"
