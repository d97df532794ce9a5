#!/usr/bin/env bats
# Sessions that began without mas over HTTP: their list, and the one that an agent goes on with.
load ../helper
load ../host/lib
load ../memory
load lib
load ../cli/six

setup_more() {
    URL='' SERVER=''
    make_six
}

is_now() { api GET "/operations/$OP" && jq -e "$1" <<<"$output" >/dev/null; }

@test "what began without mas is listed, and goes on in an agent" {
    began "$A"
    team
    serve
    api GET /kept
    is 200 '.total == 1 and .cut == false and .sessions[0].id == "'"$A"'" and .sessions[0].words == "the word is CW-OTTER"'
    post "/sessions/$ID/agents/solo/adopt/$A" '{}'
    is 202 .
    OP=$(jq -r .operation <<<"$output")
    eventually is_now '.state == "done"'
    eventually state_is idle
    says 'the word is CW-OTTER'
    [ "$(of_agent continuity)" = resumed ]
    post "/sessions/$ID/agents/solo/adopt/ffff" '{}'
    is 202 .
    OP=$(jq -r .operation <<<"$output")
    eventually is_now '.state == "failed"'
}
