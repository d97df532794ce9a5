#!/usr/bin/env bats
# The sessions that an agent itself keeps, over HTTP.
load ../helper
load ../host/lib
load ../acp/lib
load lib

# keeper OPTION...: a session whose agent keeps three sessions, and a server; $KEPT is the address
keeper() {
    run_acp "$@"
    tell CW-ONE
    tell CW-TWO --new
    tell CW-THREE --new
    serve
    KEPT=/sessions/$ID/agents/solo/kept
}
stored() { find "$T/store" -name '*.json' | wc -l; }

@test "what an agent keeps is listed, and deleted: one, or all but the one in use" {
    keeper --delete
    api GET "$KEPT"
    is 200 '.sessionId == "'"$ID"'" and .agent == "solo" and (.sessions | length) == 3 and .more == 0 and .failed == 0
        and ([.sessions[] | select(.inUse)] | length) == 1 and all(.sessions[]; .deleted == false and .error == null)'
    in_use=$(jq -r '.sessions[] | select(.inUse).id' <<<"$output")
    other=$(jq -r '[.sessions[] | select(.inUse | not).id][0]' <<<"$output")
    api DELETE "$KEPT?session=$in_use"
    refused 409 conflict 'in use'
    jq -e '.error.hint | test("POST /sessions/'"$ID"'/agents/solo/clear")' <<<"$output"
    api DELETE "$KEPT?session=nosuch"
    refused 404 not_found "no session 'nosuch'"
    [ "$(stored)" = 3 ]
    api DELETE "$KEPT?session=$other"
    is 200 'any(.sessions[]; .id == "'"$other"'" and .deleted) and .failed == 0'
    [ "$(stored)" = 2 ]
    api DELETE "$KEPT?all=true"
    is 200 '[.sessions[] | select(.deleted)] | length == 1'
    [ "$(stored)" = 1 ]
}

@test "nothing is deleted by an address that says too little, or too much" {
    keeper --delete
    for query in '' '?all=false' '?session=' '?session=x&all=true' '?all=yes' '?session=%0a' '?other=1'; do
        api DELETE "$KEPT$query"
        refused 400 bad_request ''
    done
    api GET "$KEPT?all=true"
    refused 400 bad_request "query 'all'"
    api POST "$KEPT?all=true"
    refused 405 bad_method POST
    [ "$(header allow)" = 'GET, HEAD, DELETE' ]
    [ "$(sent session/delete)" = 0 ]
    [ "$(stored)" = 3 ]
}

@test "an id may have slashes; what was not deleted says why" {
    keeper "--list-slash --delete --delete-not a/b"
    api GET "$KEPT"
    is 200 '[.sessions[].id] | contains(["a/b", "a/c d"])'
    api DELETE "$KEPT?session=a%2Fb"
    is 200 '.failed == 1 and .sessions[0].id == "a/b" and (.sessions[0].error | test("pinned"))'
    api DELETE "$KEPT?session=a/c%20d"
    is 200 '.failed == 0 and any(.sessions[]; .id == "a/c d" and .deleted)'
}

@test "an agent that sleeps is started for it, and one that cannot is named" {
    keeper --delete
    "$MAS" sleep -q "$ID" solo
    api GET "$KEPT" -m 200
    is 200 '.sessions | length == 3'
    options "--no-list"
    "$MAS" restart -q "$ID" solo
    api GET "$KEPT"
    is 500 '.error.message | test("does not tell them")'
    "$MAS" stop -q "$ID"
    api GET "$KEPT"
    is 410
}

@test "a token without all rights neither lists nor deletes" {
    keeper --delete
    for right in read-only answer; do
        TOKEN=$("$MAS" serve token add "$right" "--$right")
        for method in GET 'DELETE'; do
            api $method "$KEPT$([ $method = GET ] || echo '?all=true')"
            refused 403 missing_right "needs 'full'"
        done
    done
    [ "$(sent session/list)" = 0 ]
    [ "$(stored)" = 3 ]
}
