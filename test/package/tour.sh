#!/bin/sh
# shellcheck disable=SC2016 # for the shell in the pane
# What a new user does first with an installed mas; for run.sh. tour.sh first|later
set -eu
export MAS_TMUX_SOCKET=tour
says() { mas peek tea "$1" | grep -q "$2"; }
within() { # within SECONDS COMMAND...
    left=$(($1 * 10))
    shift
    until "$@"; do
        [ "$left" -gt 0 ] || {
            echo "not within the time: $*" >&2
            return 1
        }
        left=$((left - 1))
        sleep 0.1
    done
}

if [ "$1" = first ]; then
    mas version
    mas new --name tea
    mas list
    mas send tea 10 'echo from-$((40 + 2))'
    within 20 says 10 from-42
    mas new -q --name box --template solo --no-start >/dev/null
    mas archive box --rm -o box.tar.zst
    mas restore -q box.tar.zst >/dev/null
    mas rm -q box
    mas presets >/dev/null
    mas completion bash >/dev/null
    mas top --once >/dev/null
    mas serve --help >/dev/null
else # with another build of mas, the team of before still runs
    mas status tea
    mas send tea 11 'echo later-$((40 + 2))'
    within 20 says 11 later-42
    mas stop tea
    mas start -q tea
    mas doctor
    mas stop tea
fi
