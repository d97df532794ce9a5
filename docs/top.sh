#!/bin/sh
# Makes docs/top.svg, the picture of `mas top` in README.md: what a terminal shows of three teams at
# work, with agent.py as the agents.
#
#   docs/top.sh [FILE]      takes the program from $MAS, else build/mas; writes to FILE
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
to=${1:-$here/top.svg}
MAS=$(realpath "${MAS:-$here/../build/mas}")
T=$(mktemp -d /tmp/mas-XXXXXX)

outer() { tmux -u -S "$T/terminal" -f /dev/null "$@"; }

finish() {
    outer kill-server 2>/dev/null || :
    "$MAS" stop --all >/dev/null 2>&1 || :
    tmux -u -L demo kill-server 2>/dev/null || :
    rm -rf "$T"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Everything below runs apart from the user's own files, settings and tmux server.
mkdir "$T/home" "$T/agents"
HOME=$T/home
export HOME LC_ALL=C.UTF-8 TERM=screen-256color SHELL=/bin/sh
export MAS_ROOT="$T/agents" MAS_TMUX_SOCKET=demo TMUX_TMPDIR="$T"
unset TMUX TMUX_PANE NO_COLOR MAS_SESSION_ID MAS_SESSION_MODE MAS_AGENT_ID MAS_TEMPLATE MAS_PRESET
unset MAS_TMUX_SERVER MAS_TMUX_SIZE XDG_CONFIG_HOME XDG_RUNTIME_DIR ENV
"$MAS" init -q
cat >>"$MAS_ROOT/mas.ini" <<END

[preset demo]
description = what docs/agent.py does
protocol = acp
command = python3 -ES $here/agent.py

[preset build]
command = sh -c 'printf "\033]0;make -j8 test\007"; while :; do echo "ok 217 - the lock is released"; sleep 0.3; done'

[preset broken]
command = sh -c 'echo "cannot open the display"; kill -SEGV \$\$'
END

# until_true WHAT COMMAND...: waits for the command to succeed.
until_true() {
    what=$1 left=1500
    shift
    until "$@"; do
        left=$((left - 1))
        if [ "$left" -eq 0 ]; then
            echo "$0: $what never came" >&2
            outer capture-pane -p >&2
            exit 1
        fi
        sleep 0.02
    done
}
has() { outer capture-pane -p | grep -qF -- "$1"; }

"$MAS" new -q --name shop --template pair --agent demo >/dev/null
"$MAS" new -q --name docs --template pair --agent demo >/dev/null
"$MAS" new -q --name tests --template pair --agent build >/dev/null
"$MAS" new -q --name screen --template solo --agent broken >/dev/null
for session in shop docs; do "$MAS" wait "$session" >/dev/null; done
"$MAS" ask docs reviewer 'Which files are here?' >/dev/null
"$MAS" ask --no-wait shop lead "Write 'two dozen roses' to order.txt" >/dev/null
outer new-session -d -s 1 -x 100 -y 22 "exec '$MAS' top" \; set-option -g status off
until_true 'a crash' has crashed
outer send-keys Down
until_true 'a question' has 'Allow'
until_true 'work' has 'make -j8 test'
outer capture-pane -e -p >"$T/shot"

LC_ALL=C awk -v columns=100 -v heights=22 -v total=1000 -f "$here/svg.awk" at=0 "$T/shot" >"$T/top.svg"
cp "$T/top.svg" "$to"
