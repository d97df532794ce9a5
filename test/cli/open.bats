#!/usr/bin/env bats
# `mas open`: a person works in an agent's directory, behind its wall.
# shellcheck disable=SC2016 # for other shells
load ../helper
load ../project

setup_more() { make_project; }

walled() {
    bwrap --ro-bind / / true 2>/dev/null || skip 'no user namespaces'
    new_session --name one -t solo --project "$P" --wall=require "$@"
}

# Runs mas in a terminal of its own, which `keys` types into and `screen` shows.
in_terminal() {
    tmux -u -S "$T/outer" -f /dev/null new-session -d -x 120 -y 30 \
        "env -u TMUX -u TMUX_PANE TERM=screen '$MAS' $1; echo ended=\$?; exec cat"
}
keys() { tmux -S "$T/outer" send-keys "$@"; }
screen() { tmux -S "$T/outer" capture-pane -p; }
shows() { screen | grep -qE "$1"; }

@test "a command runs in the work tree, behind the wall, with the agent's variables" {
    walled
    eventually eval "'$MAS' show one --json | jq -e '.agents[0].port > 0' >/dev/null"
    ok open one solo -- pwd
    [ "$output" = "$(tree_of solo)" ]
    ok open one -- sh -c 'echo "$MAS_CODE_BRANCH $MAS_PORT $MAS_AGENT_ID$MAS_SOCKET."; touch made'
    [ "$output" = "mas/one/solo $(field one '.agents[0].port') ." ]
    [ -e "$(tree_of solo)/made" ]
    echo secret >"$T/secret"
    for hidden in "$T/secret" "$ROOT/mas.ini" "$ROOT/sessions/$ID/.session"; do
        fails 1 open one solo -- sh -c "cat $hidden"
        [ -z "$output" ]
    done
    fails 1 open one solo -- sh -c 'exit 7'
    [ "$stderr" = "mas: 'sh' ended with exit code 7" ]
    fails 3 open one solo -- no-such-program
    # what the repository is configured to run is behind the wall, too
    git -C "$(tree_of solo)" config core.fsmonitor "touch $T/escaped; false"
    ok open one solo -- git status --short
    [ ! -e "$T/escaped" ]
    "$MAS" stop -q one
    ok open one solo -- true
}

@test "what mas runs itself is not taken from the work tree" {
    walled --no-start
    printf '#!/bin/sh\nid >"%s/escaped"\nexec /usr/bin/bwrap "$@"\n' "$T" >"$(tree_of solo)/bwrap"
    chmod +x "$(tree_of solo)/bwrap"
    for path in ".:$PATH" ":$PATH" "$PATH:."; do
        PATH=$path ok open one solo -- true
        [ ! -e "$T/escaped" ]
    done
    # what a person names may be there
    PATH=".:$PATH" ok open one solo -- bwrap --version
}

@test "what puts up the wall loads no library from the work tree" {
    lib=$(ldd "$(command -v bwrap)" | grep -o 'libcap\.so[.0-9]*' | head -n 1)
    [ -n "$lib" ] || skip 'bwrap needs no libcap'
    walled --no-start
    : >"$(tree_of solo)/$lib" # which ends a program that takes it
    for path in : . "/nowhere:"; do
        LD_LIBRARY_PATH=$path ok open one solo -- true
    done
    LD_LIBRARY_PATH=: ok start one
    ok send one solo 'touch up'
    eventually test -e "$(tree_of solo)/up"
}

@test "a shell has a terminal, with job control and Ctrl-C" {
    walled --no-start
    in_terminal 'open one'
    eventually shows '^[#$]'
    keys 'tty; stty size; ps -o tpgid= -p $$; echo ok$((40+2))' Enter
    eventually shows '^ok42'
    shows '^(# )?/dev/'
    shows '^30 120'
    keys 'sleep 600' Enter
    keys C-c
    keys 'echo went-on$((1+1))' Enter
    eventually shows '^went-on2'
    keys 'exit 3' Enter
    eventually shows '^ended=0'
    tmux -S "$T/outer" kill-server
}

@test "without a wall nothing is run before somebody says yes" {
    new_session --name two -t solo --project "$P" --no-start
    fails 1 open two solo -- touch ran
    [ "$stderr" = "mas: cannot open agent 'solo': it has no wall, and nobody has said yes to that
put one up with: mas stop two && mas start --wall two" ]
    in_terminal 'open two solo -- touch ran'
    eventually shows 'Go on\? \[y/N\]'
    keys n Enter
    eventually shows '^ended=1'
    [ ! -e "$(tree_of solo)/ran" ]
    tmux -S "$T/outer" kill-server
    in_terminal 'open two solo -- touch ran'
    eventually shows 'Go on\? \[y/N\]'
    keys y Enter
    eventually shows '^ended=0'
    [ -e "$(tree_of solo)/ran" ]
    tmux -S "$T/outer" kill-server
}

@test "what is in the place of the directory is not followed, and agents open nothing" {
    walled --no-start
    mv "$(tree_of solo)" "$T/away"
    ln -s "$T" "$(tree_of solo)"
    fails 1 open one solo -- pwd
    [[ $stderr == "mas: cannot open the directory of agent 'solo'"* ]]
    MAS_SESSION_ID=$ID MAS_AGENT_ID=solo fails 1 open one solo -- pwd
    [[ $stderr == *"person"* ]]
    new_session --name team -t pair --no-start --wall=require
    fails 2 open team all -- pwd
    fails 2 open team lead,reviewer -- pwd
    ok open team lead -- pwd
    [ "$output" = "$ROOT/sessions/$ID/unit/lead" ]
}
