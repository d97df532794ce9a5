#!/usr/bin/env bats
# Changes that take long: merge, sync, land, archive, doctor; how they go, and how they are cancelled.
load ../helper
load ../host/lib
load ../project
load lib

# operation ADDRESS JSON: begins one; its id is in $OP
operation() {
    post "$1" "$2"
    is 202 '(.state == "waiting" or .state == "running") and (.ended == null)'
    OP=$(jq -r .operation <<<"$output")
}
is_now() { api GET "/operations/$OP" && jq -e "$1" <<<"$output" >/dev/null; }
ends_as() { eventually is_now '.ended != null'; is 200 ".state == \"$1\""; }

code_session() {
    make_project
    new_session -t pair -n one --no-start --project "$P"
    commit lead c 'of lead'
}

@test "merge, sync and land are operations, and end as events" {
    code_session
    serve
    hear
    operation "/sessions/$ID/merge" '{"agents":["lead"]}'
    [ "$(jq -r '.verb + " " + .sessionId' <<<"$output")" = "merge $ID" ]
    ends_as 'done'
    [ "$(git -C "$ROOT/sessions/$ID/code.git" show mas/one/main:c)" = 'of lead' ]
    operation "/sessions/$ID/sync" '{}'
    ends_as 'done'
    operation "/sessions/$ID/land" '{"how":"squash","message":"What lead did"}'
    ends_as 'done'
    [ "$(git -C "$P" log -1 --format=%s)" = 'What lead did' ]
    api GET /operations
    is 200 '[.operations[].verb] == ["merge", "sync", "land"] and all(.operations[]; .state == "done")'
    eventually came operation '.[]; .verb == "land" and .state == "done"'
    [ "$(data operation | wc -l)" -eq 3 ]
}

@test "a commit is listed and picked" {
    code_session
    serve
    api GET "/sessions/$ID/agents/lead/commits"
    is 200 '[.agents[] | .agent, .commits[0].subject, .commits[0].merge] == ["lead", "lead: c", false]'
    commit=$(jq -r '.agents[0].commits[0].commit' <<<"$output")
    operation "/sessions/$ID/agents/lead/pick" '{"commit":"'"$commit"'"}'
    ends_as 'done'
    [ "$(git -C "$ROOT/sessions/$ID/code.git" show mas/one/main:c)" = 'of lead' ]
    operation "/sessions/$ID/agents/lead/pick" '{"commit":"--help"}'
    ends_as failed
}

@test "an agent's files are tried in the checkout, and taken out again" {
    code_session
    echo tried >"$ROOT/sessions/$ID/code/lead/c"
    serve
    operation "/sessions/$ID/agents/lead/try" '{}'
    ends_as 'done'
    is 200 '.verb == "try" and (.output | fromjson | .agent == "lead" and .came == 1)'
    [ "$(cat "$P/c")" = tried ]
    api GET "/sessions/$ID"
    is 200 '.project.tried.agent == "lead"'
    api DELETE "/sessions/$ID/try"
    is 202 '.verb == "try"'
    eventually same_again
}
same_again() { [ -z "$(git -C "$P" status --porcelain)" ]; }

@test "clean removes what is past its time, and says so before if it is asked" {
    serve
    new_session -t solo -n old --no-start
    operation /clean '{"keep":0,"dryRun":true}'
    ends_as 'done'
    is 200 '.verb == "clean" and (.output | fromjson | .dryRun and .total == 1)'
    [ "$("$MAS" list -q)" = "$ID" ]
    operation /clean '{"olderThan":"7d","status":"stopped"}'
    ends_as 'done'
    [ "$("$MAS" list -q)" = "$ID" ]
    operation /clean '{"keep":1}'
    ends_as 'done'
    [ "$("$MAS" list -q)" = "$ID" ]
    operation /clean '{"keep":0,"archive":true}'
    ends_as 'done'
    is 200 '.output | fromjson | .total == 1 and (.sessions[0].archive | test("/"))'
    [ -z "$("$MAS" list -q)" ]
    for keep in -1 1.5 '"2"' 1000001; do
        post /clean "{\"keep\":$keep}"
        refused 400 bad_request 'keep: it is not a number from 0 to 1000000'
    done
    operation /clean '{}'
    ends_as failed
    is 200 '.error.code == "bad_request" and (.error.message | test("criterion"))
        and (.error.hint | test("^give .olderThan., .keep. or .status., or set them"))'
    operation /clean '{"olderThan":"long"}'
    ends_as failed
    is 200 '.error.message | test("^cannot use the member olderThan .long.: it is not an age")'
}

@test "a legacy session becomes an isolated one" {
    serve
    post /runs '{"agents":{},"template":"solo","sessionMode":"legacy"}'
    is 201
    ID=$(jq -r .sessionId <<<"$output")
    operation "/sessions/$ID/migrate" '{"dryRun":true}'
    ends_as 'done'
    api GET "/sessions/$ID"
    is 200 '.mode == "legacy"'
    operation "/sessions/$ID/migrate" '{"name":"shop"}'
    ends_as 'done'
    api GET "/sessions/$ID"
    is 200 '.mode == "isolated" and .name == "shop" and .status == "active"'
}

@test "an operation that fails says why" {
    code_session
    serve
    operation "/sessions/$ID/merge" '{"agents":["nobody"]}'
    ends_as failed
    is 200 '.error.message | test("nobody")'
    operation "/sessions/$ID/land" '{"onto":"nosuch"}'
    ends_as failed
    is 200 '.error.code == "not_found" and (.error.message | test("onto .nosuch.: .*no such branch"))
        and .error.hint == "name another one with \u0027onto\u0027"'
    post "/sessions/11111111-1111-4111-8111-111111111111/land" '{}'
    refused 404 not_found 'no session'
}

@test "an operation that is cancelled ends, and changes nothing" {
    code_session
    printf '#!/bin/sh\necho $$ >"%s/began"\nexec sleep 1000\n' "$T" >"$T/check"
    chmod +x "$T/check"
    printf '[code]\ncheck = %s/check\n' "$T" >>"$ROOT/mas.ini"
    before=$(git -C "$ROOT/sessions/$ID/code.git" rev-parse mas/one/main)
    serve
    operation "/sessions/$ID/merge" '{"agents":["lead"]}'
    eventually test -s "$T/began"
    is_now '.state == "running"'
    api DELETE "/operations/$OP"
    is 202
    ends_as cancelled
    api DELETE "/operations/$OP"
    refused 409 conflict ended
    [ "$(git -C "$ROOT/sessions/$ID/code.git" rev-parse mas/one/main)" = "$before" ]
    eventually is_gone "$(cat "$T/began")"
    "$MAS" doctor
}

# No check runs any more.
none_left() {
    local file
    for file in "$T"/began.*; do is_gone "${file##*.}" || return; done
}

@test "one that waits for its turn is cancelled before it begins" {
    code_session
    mkfifo "$T/go"
    printf '#!/bin/sh\n: >"%s/began.$$"\nread -r _ <"%s/go"\n' "$T" "$T" >"$T/check"
    chmod +x "$T/check"
    printf '[code]\ncheck = %s/check\n' "$T" >>"$ROOT/mas.ini"
    serve
    for i in 1 2 3 4; do
        operation "/sessions/$ID/merge" '{"agents":["lead"]}'
        ops+=("$OP")
    done
    eventually compgen -G "$T/began.*"
    operation "/sessions/$ID/sync" '{}'
    is_now '.state == "waiting"'
    api DELETE "/operations/$OP"
    is 202
    for op in "${ops[@]}"; do api DELETE "/operations/$op"; done
    ends_as cancelled
    is 200 '.output == ""'
    eventually none_left
}

@test "a session is archived, and doctor repairs" {
    new_session -t solo --no-start
    serve
    operation "/sessions/$ID/archive" '{}'
    ends_as 'done'
    file=$(jq -r '.output | fromjson | .. | .file? // empty' <<<"$output" | head -n 1)
    [ -s "$file" ]
    rm -rf "$ROOT/sessions/.sessions.index"
    operation /doctor '{}'
    ends_as 'done'
    is 200 '.sessionId == null and (.output | fromjson | has("findings"))'
}

@test "what is wrong, unknown or missing is refused" {
    new_session -t solo --no-start
    serve
    for body in '{"agents":"lead"}' '{"agents":[7]}' '{"agents":["-x"],"more":1}' '{"agents":["a b"]}' '{}'; do
        post "/sessions/$ID/merge" "$body"
        refused 400 bad_request 'cannot use the body'
    done
    post "/sessions/$ID/land" '{"how":"force"}'
    refused 400 bad_request 'how: it is none of its words'
    post "/sessions/$ID/land" '{"how":"merge squash"}'
    refused 400 bad_request 'none of its words'
    post "/sessions/$ID/land" '{"push":"yes"}'
    refused 400 bad_request 'push: it is neither'
    api GET /operations/11111111-1111-4111-8111-111111111111
    refused 404 not_found operation
    api DELETE /operations/x
    is 404
    api GET "/sessions/$ID/land"
    refused 405 bad_method GET
    api DELETE /doctor
    refused 405 bad_method DELETE
    [ "$(header allow)" = 'GET, HEAD, POST' ]
    api GET /operations
    is 200 '.operations == []'
}

@test "a server that is told to end waits for its operations" {
    code_session
    mkfifo "$T/go"
    printf '#!/bin/sh\n: >"%s/began"\nread -r _ <"%s/go"\n' "$T" "$T" >"$T/check"
    chmod +x "$T/check"
    printf '[code]\ncheck = %s/check\n' "$T" >>"$ROOT/mas.ini"
    serve
    operation "/sessions/$ID/merge" '{"agents":["lead"]}'
    eventually test -e "$T/began"
    kill "$SERVER"
    echo go >"$T/go"
    wait "$SERVER"
    SERVER=
    [ "$(git -C "$ROOT/sessions/$ID/code.git" show mas/one/main:c)" = 'of lead' ]
}

@test "comments on the changes of an agent reach it, and go to their lines" {
    local at bad
    code_session
    at=/sessions/$ID/agents/lead/review
    serve
    api GET "$at"
    is 200 '.agent == "lead" and .branch == "mas/one/lead" and (.lines == [{"path":"c","number":1,"line":"+of lead"}])'
    api GET "$at" -H "If-None-Match: $(header ETag)"
    is 304
    printf 'first\nof lead\n' >"$(tree_of lead)/c"
    post "$at" '{"comments":[{"path":"c","number":1,"line":"+of lead","text":"whose?"},{"path":"c","number":1,"line":"+x","text":"y"}]}'
    is 200 ". == {\"sessionId\":\"$ID\",\"agent\":\"lead\",\"comments\":2,\"stale\":1}"
    "$MAS" start -q one
    said() { "$MAS" logs one lead | grep -qF 'whose?' && "$MAS" logs one lead | grep -qF 'c:2'; }
    eventually said
    for bad in '{}' '{"comments":7}' '{"comments":[]}' '{"comments":[{"path":"c"}]}' '{"comments":[{"text":"x"}],"more":1}' \
        '{"comments":[{"text":"x","line":"+x"}]}'; do
        post "$at" "$bad"
        refused 400 bad_request .
    done
    post "/sessions/$ID/agents/nobody/review" '{"comments":[{"text":"x"}]}'
    refused 404 not_found nobody
    post "/sessions/11111111-1111-4111-8111-111111111111/agents/lead/review" '{"comments":[{"text":"x"}]}'
    refused 404 not_found .
}

@test "agents are compared, without their checks or with them" {
    printf '[code]\ncheck = grep -q fast c\n[preset talks]\ncommand = cat\nexecutes = no\n' >>"$ROOT/mas.ini"
    make_project
    new_session --tries 2 --agent talks --no-start --project "$P" 'make it fast'
    commit 1 c 'fast'
    serve
    api GET "/sessions/$ID/compare"
    is 200 '[.agents[] | .added, .check.result] == [1, "not run", 0, "not run"]'
    api GET "/sessions/$ID/agents/2/compare/1"
    is 200 '.from + .to + .files[0].path == "21c"'
    api GET "/sessions/$ID/agents/2/compare/--help"
    is 404 .error
    operation "/sessions/$ID/compare" '{}'
    ends_as 'done'
    jq -e '.output | fromjson | [.agents[].check.result] == ["pass", "not run"]' <<<"$output"
}

@test "an agent is added, and removed as an operation" {
    serve
    new_session -t solo -n one --agent shell
    hear
    post "/sessions/$ID/agents" '{"preset":"shell","name":"rev","role":"reviewer"}'
    is 200 '[.agents[] | .id + " " + .role] == ["solo generalist", "rev reviewer"]'
    eventually came agent.state '.[]; .agent == "rev"'
    post "/sessions/$ID/agents" '{"preset":"shell","name":"rev"}'
    is 409 '.error.code == "conflict" and (.error.message | test("has an agent of this name"))'
    post "/sessions/$ID/agents" '{"preset":"shell","unit":"no"}'
    is 404 true
    post "/sessions/$ID/agents" '{"preset":"--help"}'
    is 404 true
    post "/sessions/$ID/agents" '{"name":"x"}'
    is 400 true
    post "/sessions/$ID/agents/rev/fork" '{"name":"second"}'
    is 200 '[.agents[] | .id + " " + .role] == ["solo generalist", "rev reviewer", "second reviewer"]'
    "$MAS" remove -q -f one second
    api DELETE "/sessions/$ID/agents/solo?force=maybe"
    is 400 true
    for name in workers managers second nosuch; do # of which some mean several agents
        api DELETE "/sessions/$ID/agents/$name?force=true"
        refused 404 not_found "$name"
        for what in fork reset asides settings/limits.memory; do
            body='{}'
            [ "$what" != asides ] || body='{"prompt":"x"}'
            [[ $what != settings/* ]] || body='{"value":"1G"}'
            post "/sessions/$ID/agents/$name/$what" "$body"
            refused 404 not_found "$name"
        done
    done
    api DELETE "/sessions/11111111-1111-4111-8111-111111111111/agents/rev"
    refused 404 not_found session
    api GET /operations
    is 200 '.operations == []'
    api DELETE "/sessions/$ID/agents/rev?force=true"
    is 202 '.verb == "remove"'
    OP=$(jq -r .operation <<<"$output")
    ends_as 'done'
    api GET "/sessions/$ID"
    is 200 '[.agents[].id] == ["solo"]'
    api DELETE "/sessions/$ID/agents/solo?force=true"
    OP=$(jq -r .operation <<<"$output")
    ends_as failed
    is 200 '.error.code == "conflict"'
}

@test "the tree of an agent is reset, and its work kept" {
    code_session
    serve
    operation "/sessions/$ID/agents/lead/reset" '{}'
    ends_as 'done'
    [ ! -e "$(tree_of lead)/c" ]
    [ "$(git -C "$P" show "refs/mas/lost/$ID/lead/work:c")" = 'of lead' ]
}
