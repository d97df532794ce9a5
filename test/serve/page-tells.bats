#!/usr/bin/env bats
# The page with programs on their own terminals that tell what they do, and with pictures.
load ../helper
load ../host/lib
load ../acp/lib
load lib
load page

setup_more() { URL='' SERVER=''; }

# tells: a session with a program that tells, which is ready.
tells() {
    # shellcheck source=test/host/tells.bash
    (. "$BATS_TEST_DIRNAME/../host/tells.bash" && teller_preset)
    export OUT=$T/argv
    new_session -t solo --agent teller
    find_agent
    idle() { "$MAS" status "$ID" --json | jq -e '.sessions[0].agents[0].state == "idle"' >/dev/null; }
    eventually idle
}

red() { printf '\211PNG\r\n\032\n\0\0\0\rIHDR1' >"$T/red.png"; }

@test "a program on a terminal that tells has its conversation on the page, and is asked, answered, cancelled and cleared there" {
    needs_browser
    tells
    serve
    browse tells
}

@test "what such a program does comes once, with its prompts, and the API says that it talks" {
    tells
    serve
    api GET "/sessions/$ID/agents/solo"
    is 200 '.protocol == "tty" and .talks and .can == {now: true, aside: false, pictures: false, kept: false, deleteKept: false}'
    hear
    post "/sessions/$ID/messages" '{"target": "solo", "message": "one"}'
    is 200
    eventually came message '.[]; .role == "agent" and .text == "I know: one"'
    [ "$(data message | jq -c '[.role, .text]')" = $'["user","one"]\n["agent","I know: one"]' ]
    post "/sessions/$ID/agents/solo/prompts" '{"prompt": "ask make test"}'
    is 202
    eventually came permission '.[]; .title == "make test (Bash)"'
    unhear
}

@test "pictures are chosen, dropped or pasted on the page, and reach an agent that takes them" {
    needs_browser
    run_acp --images
    red
    serve
    browse shows "$T/red.png"
    [ "$(prompts '"type":"image"')" -eq 4 ]
}

@test "pictures reach a program on a terminal from the page" {
    needs_browser
    red
    export SEEN=$T/seen
    preset paster "python3 -ES '$PROJECT/test/host/paster.py'" 'ready = ready' 'executes = no' 'enter_delay = 50ms' 'picture = {path}' \
        'told.begin = --begin {id}' 'told.resume = --resume {id}' 'told.args = --plugin {dir}' \
        'told.file.conf/hooks.json = {"hooks": {hooks}}' 'told.hook = {"run": {json:command}}' \
        'told.event.Start = starts' 'told.event.Prompt = prompt' 'told.event.Done = done'
    new_session -t solo --agent paster
    find_agent
    serve
    browse shows "$T/red.png"
    grep -qxF "$(sha256sum <"$T/red.png" | cut -d' ' -f1)" "$SEEN"
}

@test "an agent that takes no pictures is offered none" {
    needs_browser
    acp_agent
    serve
    browse blind
}
