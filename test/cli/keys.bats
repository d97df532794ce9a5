#!/usr/bin/env bats
# The key bindings for ~/.tmux.conf, loaded into a real tmux server.
load ../helper
load ../host/lib
load ../host/clients

key() { outer send-keys -t one "$@"; }

# A program that writes its arguments down, at a strange place.
strange_mas() {
    PLACE="$T/it's \$(touch ran) #(touch ran) #{q}; \"x\""
    mkdir "$PLACE"
    # the path of a copy is what /proc/self/exe says
    cp "$MAS" "$PLACE/mas"
}

bindings() { tm list-keys -T prefix | grep -F mas | grep -cE '^bind-key +-T prefix +[TNB] '; }

@test "keys prints bindings that tmux loads" {
    "$MAS" keys >"$T/keys"
    new_session -t solo -n shell
    tm source-file "$T/keys"
    [ "$(bindings)" -eq 3 ]
    # tmux orders and quotes the options as it likes
    bound=$(tm list-keys -T prefix | grep ' T ' | tr -d '"') # 3.7 shows no single key
    for word in 'display-popup ' ' -E ' ' -w 100% ' ' -h 100% '; do [[ $bound == *"$word"* ]]; done
}

@test "the bindings name a root that is not the default one, and only then" {
    grep -qF -- "--root $ROOT next" <("$MAS" keys)
    [ "$("$MAS" keys | grep -c '^bind-key [TNB] ')" -eq 3 ]
    mkdir "$T/nobody"
    cd "$T/nobody" || return
    run env -u MAS_ROOT -u XDG_DATA_HOME HOME="$T/nobody" "$MAS" keys
    [ "$status" -eq 0 ]
    [[ $output != *--root* ]]
    [[ $output == *"$MAS next --client"* ]]
}

@test "prefix N goes to the agent that waits, and prefix B back" {
    local shell waiting
    preset asks "sh -c 'printf \"Go on? [y/N] \"; read line'" 'idle = 100ms' 'waiting = \[y/N\] $'
    new_session -t solo -n shell
    DIR=$ROOT/sessions/$ID
    shell=$(of solo .pane)
    new_session -t solo -n asks --agent asks
    DIR=$ROOT/sessions/$ID
    eventually state_is solo waiting
    waiting=$(of solo .pane)
    "$MAS" keys >"$T/keys"
    tm source-file "$T/keys"
    attach_client one shell
    key C-b N
    eventually prints "$waiting" tm list-clients -F '#{pane_id}'
    key C-b B
    eventually prints "$shell" tm list-clients -F '#{pane_id}'
}

@test "prefix T shows a popup with mas top" {
    new_session -t solo -n shell
    mkdir "$T/bin"
    # what the popup runs is seen by the program that stands for mas
    "$MAS" keys | sed "s|$MAS|$T/bin/mas|" >"$T/keys"
    printf '#!/bin/sh\necho "$*" >"%s/popup"\ncat\n' "$T" >"$T/bin/mas"
    chmod +x "$T/bin/mas"
    tm source-file "$T/keys"
    attach_client one shell
    key C-b T
    eventually test -s "$T/popup"
    [ "$(cat "$T/popup")" = "--root $ROOT top" ]
    key C-c
}

@test "a program and a root with a strange path are quoted for tmux and for the shell" {
    strange_mas
    mv "$ROOT" "$PLACE/root"
    export ROOT="$PLACE/root" MAS_ROOT="$PLACE/root"
    new_session -t solo -n shell
    "$PLACE/mas" keys >"$T/keys"
    printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/got"\n' "$T" >"$PLACE/mas.new"
    chmod +x "$PLACE/mas.new"
    mv "$PLACE/mas.new" "$PLACE/mas"
    tm source-file "$T/keys"
    attach_client one shell
    for k in N T; do
        rm -f "$T/got"
        key C-b "$k"
        eventually test -s "$T/got"
        [ "$(sed -n 2p "$T/got")" = "$PLACE/root" ]
    done
    [ -z "$(find "$T" / -maxdepth 1 -name ran 2>/dev/null)" ]
    [ ! -e "$HOME/ran" ]
}

@test "on a terminal init mentions the keys when it has made a root" {
    printf '"%s" init "%s/fresh"; exec cat\n' "$MAS" "$T" >"$T/go"
    outer new-session -d -s one -x 120 -y 40 "exec bash '$T/go'"
    eventually one_shows 'mas keys >>~/.tmux.conf'
}
one_shows() { outer capture-pane -p -t one | grep -qF -- "$1"; }

@test "keys takes no operands" {
    fails 2 keys more
}
