#!/usr/bin/env bats
# Pictures for programs on a terminal: placed where the program may read, and their paths typed.
load ../helper
load lib

setup_more() {
    TOLD=${MAS%/*}/mas-told
    export SEEN=$T/seen
    TELLS=('told.begin = --begin {id}' 'told.resume = --resume {id}' 'told.args = --plugin {dir}'
        'told.file.conf/hooks.json = {"hooks": {hooks}}' 'told.hook = {"run": {json:command}}'
        'told.event.Start = starts' 'told.event.Prompt = prompt' 'told.event.Done = done')
    printf '\211PNG\r\n\032\n\0\0\0\rIHDR1' >"$T/red.png"
    printf '\211PNG\r\n\032\n\0\0\0\rIHDR2' >"$T/blue.png"
    RED=$(sha256sum <"$T/red.png" | cut -d' ' -f1)
    BLUE=$(sha256sum <"$T/blue.png" | cut -d' ' -f1)
}

# paster KEY=VALUE...: a session with the program that takes pictures, which is ready.
paster() {
    touch "$T/go"
    script agent <<<"until [ -e '$T/go' ]; do sleep 0.05; done; exec python3 -ES '$PROJECT/test/host/paster.py' \"\$@\""
    preset paster "bash '$T/agent'" 'ready_timeout = 60s' 'ready = ready' 'executes = no' 'enter_delay = 50ms' "$@"
    new_session -t solo --agent paster
    find_agent
    eventually shows ready
}

saw() { [ "$(xargs <"$SEEN")" = "$*" ]; }
prompts() { "$MAS" history "$ID" solo --role user --json | jq -c '[.messages[] | [.text, .state, ([.data.pictures[]?.name] | join(","))]]'; }

@test "a program on a terminal gets each picture as a paste of its own, before the text, and tells of them" {
    paster 'picture = {path}' "${TELLS[@]}"
    ok send "$ID" solo --wait --image "$T/red.png" --image "$T/blue.png" 'what is it?'
    eventually shows 'asked: [Image #1] [Image #2] what is it?'
    saw "$RED" "$BLUE"
    same() { [ "$(prompts)" = '[["what is it?","done","red.png,blue.png"]]' ]; }
    eventually same
    ok send "$ID" solo --wait --image "$T/red.png" ''
    eventually shows 'asked: [Image #3]'
    ok history "$ID" solo
    [[ $output == *'[picture red.png, 17B]'*'what is it?'* ]]
}

@test "a program that takes paths in its text gets them so" {
    paster 'picture = @{path}'
    ok send "$ID" solo --wait --image "$T/red.png" 'what is it?'
    seen() { [ -e "$SEEN" ] && saw "$RED"; }
    eventually seen
    screen | tr -d '\n' | grep -qE "asked: @$DIR/run/solo.role/pictures/$RED.png +what is it\?"
}

@test "a program whose preset says nothing of pictures is typed nothing" {
    paster
    fails 4 send "$ID" solo --image "$T/red.png" 'what is it?'
    [[ $stderr == "mas: cannot send to agent 'solo': it takes no pictures"*'name its path in the text'* ]]
    ok send "$ID" solo --wait after
    eventually shows 'asked: after'
}

@test "a message with a picture that waits on disk is typed with it by the next host" {
    paster 'picture = {path}'
    ok send "$ID" solo --wait quit
    eventually state_is solo exited
    "$MAS" stop -q "$ID"
    rm "$T/go"
    "$MAS" start -q "$ID"
    hosts_there
    ok send "$ID" solo --image "$T/red.png" 'what is it?'
    rm "$T/red.png"
    kill -KILL "$(of solo .hostPid)"
    "$MAS" stop -q "$ID"
    touch "$T/go"
    "$MAS" start -q "$ID"
    hosts_there
    eventually shows 'asked: [Image #1] what is it?'
    saw "$RED"
}

@test "a person's half line is there again behind a message with a picture" {
    paster 'picture = {path}' 'hold = 1s'
    tm send-keys -t "$PANE" -l 'half a'
    ok send "$ID" solo --image "$T/red.png" 'what is it?'
    eventually shows 'asked: [Image #1] what is it?'
    eventually shows_line 'half a'
    tm send-keys -t "$PANE" Enter
    eventually shows 'asked: half a'
}

@test "behind its wall the program reads its pictures, and not those of the session" {
    command -v bwrap >/dev/null || skip 'bubblewrap is not installed'
    bwrap --unshare-user --ro-bind / / --unshare-pid --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    mkdir "$T/open"
    cp "$PROJECT/test/host/paster.py" "$T/open"
    preset walled "/usr/bin/python3 -ES '$T/open/paster.py'" 'ready = ready' 'executes = no' 'picture = {path}' \
        'wall.level = require' "wall.write = $T/open" "env.SEEN = $T/open/seen"
    new_session -t solo --agent walled
    find_agent
    eventually shows ready
    ok send "$ID" solo --wait --image "$T/red.png" 'what is it?'
    eventually shows 'asked: [Image #1] what is it?'
    [ "$(cat "$T/open/seen")" = "$RED" ]
    [ -e "$DIR/pictures/$RED.png" ]
    ok send "$ID" solo "read @$DIR/pictures/$RED.png"
    eventually shows FileNotFoundError
}
