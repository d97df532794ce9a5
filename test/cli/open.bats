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
# A server that has just ended may be in the way.
in_terminal() {
    eventually tmux -u -S "$T/outer" -f /dev/null new-session -d -x 120 -y 30 \
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
    # then with the environment of agents
    printf '[env]\nremove = OF_PERSON\nset.OF_TEAM = yes\n' >>"$ROOT/mas.ini"
    OF_PERSON=yes in_terminal 'open two solo -- sh -c "env >ran"'
    eventually shows 'Go on\? \[y/N\]'
    keys y Enter
    eventually shows '^ended=0'
    grep -q '^OF_TEAM=yes$' "$(tree_of solo)/ran"
    run ! grep -q '^OF_PERSON=' "$(tree_of solo)/ran"
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

# An editor that says what it is given, and waits if it is told to.
make_editor() {
    cat >"$T/my editor" <<'EOF'
#!/bin/sh
{ pwd; printf '%s\n' "$@"; find . -mindepth 1 | sort; } >"$SEEN"
cat a >"$SEEN.a"
echo changed >a
until [ ! -e "$WAITS" ]; do sleep 0.05; done
exit "${ENDS-0}"
EOF
    chmod +x "$T/my editor"
    export SEEN=$T/seen WAITS=$T/waits VISUAL="'$T/my editor' --more '\$HOME;x'"
}

@test "an editor gets a copy of the files, without what would run something, and it goes" {
    new_session --name one -t solo --project "$P"
    make_editor
    tree=$(tree_of solo) copy=$ROOT/sessions/$ID/run/solo.look
    echo new >"$tree/a"
    mkdir -p "$tree/.vscode" "$tree/dir/.idea" "$tree/dir/deep"
    echo '{}' | tee "$tree/.vscode/tasks.json" >"$tree/dir/.idea/x.xml"
    echo ok >"$tree/dir/deep/file"
    ln -s deep/file "$tree/dir/link"
    ln -s "$HOME" "$tree/dir/out"
    ln -s ../../../.ssh "$tree/up"
    printf '* filter=run\n' >"$tree/.gitattributes"
    git -C "$tree" config filter.run.smudge "touch $T/escaped; cat"
    git -C "$tree" config core.fsmonitor "touch $T/escaped; false"
    mkdir -p "$tree/.git/hooks"
    printf '#!/bin/sh\ntouch %s/escaped\n' "$T" >"$tree/.git/hooks/post-checkout"
    chmod +x "$tree/.git/hooks/post-checkout"
    before=$(cd "$tree" && find . -type f ! -path './.git/*' -exec sha256sum {} + | sort)
    ok open --editor one solo
    [[ $stderr == *'held back, as git, shells, editors or agents would act on them: '*.vscode/tasks.json*dir/out* ]]
    [[ $stderr == *"this is a copy of the files of agent 'solo'; what you change in it is not kept, and it goes when the editor ends"* ]]
    [ "$(sed -n 1,4p "$SEEN" | paste -sd '|')" = "$copy|--more|\$HOME;x|." ]
    [ "$(cat "$SEEN.a")" = new ]
    [ "$(sed 1,4d "$SEEN" | grep '^./dir' | xargs)" = './dir ./dir/deep ./dir/deep/file ./dir/link' ]
    run ! grep -E '^./(\.|up)' "$SEEN"
    [ ! -e "$copy" ]
    [ ! -e "$T/escaped" ]
    [ "$(cd "$tree" && find . -type f ! -path './.git/*' -exec sha256sum {} + | sort)" = "$before" ]
    # the program is that which was found, whatever the agent has of its name
    mkdir "$T/here" && mv "$T/my editor" "$T/here/ed"
    printf '#!/bin/sh\ntouch "%s/escaped"\n' "$T" >"$tree/ed"
    chmod +x "$tree/ed"
    cd "$T/here" || return
    for path in ".:$PATH" ":$PATH"; do
        rm "$SEEN"
        PATH=$path VISUAL=ed ok open --editor one solo
        [ -s "$SEEN" ]
        [ ! -e "$T/escaped" ]
    done
    VISUAL=$T/here/ed
    ENDS=3 fails 1 open --editor one solo
    [[ $stderr == *'the editor ended with exit code 3'* ]]
    [ ! -e "$copy" ]
    VISUAL=no-such-editor fails 1 open --editor one solo
    [[ $stderr == *'name one in VISUAL or EDITOR'* ]]
    VISUAL='' EDITOR='' fails 2 open --editor one solo
    fails 2 open --editor one solo more
    ok doctor
}

@test "one editor has it at a time, and what a killed one has left goes" {
    new_session --name one -t solo --project "$P" --no-start
    make_editor
    copy=$ROOT/sessions/$ID/run/solo.look
    touch "$WAITS"
    for how in again doctor; do
        rm -f "$SEEN.a"
        "$MAS" open --editor one solo >/dev/null 2>&1 3>&- &
        pid=$!
        eventually test -s "$SEEN.a"
        WAITS=$T/no fails 4 open --editor one solo
        [[ $stderr == *'they are open in an editor'* ]]
        ok doctor --fix
        [ -e "$copy" ]
        kill -KILL "$pid"
        wait "$pid" || :
        [ -e "$copy" ]
        if [ "$how" = again ]; then
            (rm "$WAITS" && ok open --editor one solo)
            touch "$WAITS"
        else
            ok doctor --fix
            rm "$WAITS"
        fi
        [ ! -e "$copy" ]
    done
}
