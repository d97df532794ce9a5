#!/usr/bin/env bats
# The page with much of everything, over breaks, under attack, and as a screen reader finds it.
load ../helper
load ../host/lib
load ../acp/lib
load lib
load page

@test "1,000 sessions: a part of the list is shown, and each is found" {
    needs_browser
    "$MAS" new -q -t solo --no-start
    cc -std=c17 -D_GNU_SOURCE -o "$T/populate" "$PROJECT/test/bench/populate.c"
    "$T/populate" "$ROOT" 999
    "$MAS" doctor >/dev/null
    serve
    browse many
}

@test "a conversation of 10,000 messages: a part of it is shown, and all of it is reached" {
    needs_browser
    acp_agent
    for i in {0..9999}; do
        echo "{\"role\": \"$( ((i % 2)) && echo agent || echo user)\", \"text\": \"message $i of many\", \"agent\": \"solo\"}"
    done | python3 -ESB "$PROJECT/test/memory.py" "$DIR" >/dev/null
    serve
    browse long
}

@test "a page that is left open does not grow with 100,000 events of 100 sessions" {
    needs_browser
    acp_agent
    serve
    browse grows
}

@test "the server is killed and started again under 50 open pages: nothing is lost, nothing comes twice" {
    needs_browser
    acp_agent
    serve
    BROWSE_S=900 browse restarts "$SERVER"
}

@test "a page of another origin cannot frame the page, read it, or change anything with its cookie" {
    needs_browser
    acp_agent
    serve
    browse framed
}

# A server with a session in which each view of the page has something.
serve_views() {
    . "$BATS_TEST_DIRNAME/../cli/code.bash"
    make_project
    acp_preset scripted --fork
    new_session -t solo --agent scripted --project "$P"
    sed -i '3s/.*/changed/' "$ROOT/sessions/$ID/code/solo/a"
    serve
}

@test "axe-core finds nothing wrong with any view, at both sizes, in light and in dark" {
    needs_browser
    # shellcheck disable=SC2153 # of the one who runs the tests
    axe=${MAS_TEST_AGENTS:-$(getent passwd "$(id -u)" | cut -d: -f6)/.cache/mas-agents}/axe/node_modules/axe-core/axe.min.js
    [ -e "$axe" ] || skip 'axe is not installed: test/agents/install.sh axe'
    serve_views
    browse axe "$axe"
}

@test "what a screen reader is told of each view has names and an order; MAS_TEST_PICTURES says where it is, as text" {
    needs_browser
    serve_views
    mkdir -p "${MAS_TEST_PICTURES:-$T/told}"
    browse reader "${MAS_TEST_PICTURES:-$T/told}"
}

@test "the page at three sizes, in light and in dark: pictures, and text that can be read; MAS_TEST_PICTURES says where" {
    needs_browser
    acp_agent
    serve
    mkdir -p "${MAS_TEST_PICTURES:-$T/looks}"
    browse looks "$SERVER" "${MAS_TEST_PICTURES:-$T/looks}"
}

@test "a permission is answered from the page; how long that takes is printed" {
    needs_browser
    acp_agent
    serve
    browse latency
}

@test "the pictures of the page in docs are made; MAS_TEST_PICTURES says where" {
    needs_browser
    preset demo "python3 -ES '$PROJECT/docs/agent.py'" 'protocol = acp'
    new_session -t solo --agent demo -n parser
    local other=$ID
    new_session -t solo --agent demo -n lock-fix
    serve
    mkdir -p "${MAS_TEST_PICTURES:-$T/docs}"
    browse pictures "${MAS_TEST_PICTURES:-$T/docs}" "$other"
    for name in phone desk; do [ -s "${MAS_TEST_PICTURES:-$T/docs}/page-$name.png" ]; done
}
