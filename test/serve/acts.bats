#!/usr/bin/env bats
# shellcheck disable=SC2317,SC2016 # what must not be expanded stands in quotes
# POST /runs, stop, start, DELETE, messages: what mas does, and what its errors are here.
load ../helper
load ../project
load lib

NONE=11111111-1111-4111-8111-111111111111

@test "POST /runs makes a session that runs" {
    serve
    post /runs '{"agents":{},"template":"solo","name":"fix"}'
    is 201 '.status == "active" and .sessionMode == "isolated" and
        (keys | sort) == ["sessionId", "sessionMode", "status", "tmuxSession", "unitDir", "workflowsDir", "workingDir"]'
    id=$(jq -r .sessionId <<<"$output")
    [ "$(jq -r .workingDir <<<"$output")" = "$ROOT/sessions/$id" ]
    [ "$(jq -r .unitDir <<<"$output")" = "$ROOT/sessions/$id/unit" ]
    [ "$(field fix .status)" = active ]
    grep -q 'POST /runs 201' "$ROOT/sessions/.serve.log"
    grep -q 'POST /runs 201' "$ROOT/sessions/$id/logs/api.log"
}

# A preset that answers, and is the one of all agents.
answering() {
    printf '[preset talker]\ncommand = sh -c "echo ready; exec cat"\nexecutes = no\nready = ready\n[session]\npreset = talker\n' >>"$ROOT/mas.ini"
}

@test "POST /sessions makes a session that begins with a sentence, named after the words" {
    answering
    git init -q "$ROOT" # where the server runs is no project
    serve
    post /sessions '{"prompt":"fix the login\non Safari; $(touch x)"}'
    is 201 '.status == "active" and (keys | length) == 7'
    [ "$(field fix-login '.sessionId + " " + .template + " " + (.project | tostring)')" = "$(jq -r .sessionId <<<"$output") solo null" ]
    arrived() { "$MAS" logs fix-login solo | grep -qF 'on Safari; $(touch x)'; }
    eventually arrived
    post /sessions '{"prompt":"--help me","name":"mine","template":"pair","private":true,"sessionId":"'$NONE'"}'
    is 201 '.sessionId == "'$NONE'"'
    [ "$(field mine '.template')" = pair ]
    jq -n --arg text "$(printf 'many %.0s' {1..19999})word" '{prompt:$text,name:"long"}' >"$T/sent"
    api POST /sessions -H 'Content-Type: application/json' --data-binary "@$T/sent"
    is 201 '.status == "active"'
    [ "$(jq -r '.team[0].prompt | length' "$ROOT/sessions/$(field long .sessionId)/config.json")" = 99999 ]
    post /sessions '{"prompt":"--help me","sessionId":"'$NONE'"}'
    refused 409 conflict "$NONE"
}

@test "POST /sessions gives a sentence to several tries, with the check that compares them" {
    answering
    printf '[preset other]\ncommand = cat\nexecutes = no\n' >>"$ROOT/mas.ini"
    make_project
    serve
    body='{"prompt":"make it fast","name":"best","tries":3,"preset":"talker,other","checkWith":"grep -q \"of 2\" c","project":"'$P'"}'
    post /sessions "$body"
    is 201 '.status == "active"'
    ID=$(jq -r .sessionId <<<"$output")
    [ "$(field best '[.agents[] | .id + .preset] | join(" ")')" = '1talker 2other 3talker' ]
    commit 2 c 'of 2'
    commit 3 c 'of 3'
    "$MAS" compare best --json | jq -e '[.agents[].check.result] == ["not run", "pass", "fail"]'
    while IFS='|' read -r presets more why; do
        post /sessions '{"prompt":"do it","preset":"'"$presets"'"'"$more"'}'
        refused 400 bad_request "$why"
    done <<'EOF'
talker|,"tries":0|tries
talker|,"tries":17|tries
talker|,"tries":"2"|tries
talker|,"tries":2|a project
talker,nope|,"tries":2|nope
talker,shell|,"tries":2|shell
talker,other||talker,other
EOF
    [ "$("$MAS" list -q --all | wc -l)" = 1 ]
}

@test "POST /sessions refuses what mas new refuses, and leaves nothing" {
    printf '[preset talker]\ncommand = cat\nexecutes = no\n' >>"$ROOT/mas.ini"
    serve
    while IFS='|' read -r body why; do
        post /sessions "$body"
        refused 400 bad_request "$why"
    done <<'EOF'
{"prompt":"shop"}|cannot begin with 'shop': one word may be a name or a prompt
{"prompt":" "}|prompt
{"prompt":""}|prompt
{"prompt":7}|prompt
{}|prompt
{"prompt":"do it"}|runs preset 'shell', which would execute it
{"prompt":"do it","preset":"shell"}|runs preset 'shell', which would execute it
{"prompt":"do it","preset":"nope"}|preset
{"prompt":"a\u001b b","preset":"talker"}|control character
{"prompt":"do it","agents":{}}|agents
EOF
    [ -z "$("$MAS" list -q --all)" ]
}

@test "sessionId makes a retry safe: the second one is a conflict" {
    serve
    run='{"agents":{},"template":"solo","sessionId":"'$NONE'"}'
    post /runs "$run"
    is 201 '.sessionId == "'$NONE'"'
    post /runs "$run"
    refused 409 conflict "$NONE"
    [ "$("$MAS" list -q | wc -l)" -eq 1 ]
}

@test "of two at the same time with one id one makes it" {
    serve
    for n in 1 2; do
        curl -sS -o "$T/run.$n" -w '%{http_code}\n' -H "Authorization: Bearer $TOKEN" \
            -d '{"agents":{},"template":"solo","sessionId":"'$NONE'"}' "$URL/runs" >"$T/code.$n" 3>&- &
        pids[n]=$!
    done
    wait "${pids[1]}" "${pids[2]}"
    [ "$(sort "$T/code.1" "$T/code.2" | tr '\n' ' ')" = '201 409 ' ]
    [ "$("$MAS" list -q | wc -l)" -eq 1 ]
}

@test "sessionMode chooses, else the settings do" {
    serve
    post /runs '{"agents":{},"template":"solo","sessionMode":"legacy"}'
    is 201 '.sessionMode == "legacy" and .unitDir == "'"$ROOT"'/unit"'
    post /runs '{"agents":{},"template":"solo","sessionMode":"legacy"}'
    refused 409 conflict ''
    printf '[session]\nmode = legacy\n' >>"$ROOT/mas.ini"
    post /runs '{"agents":{},"template":"solo","sessionMode":"isolated"}'
    is 201 '.sessionMode == "isolated"'
    post /runs '{"agents":{},"template":"solo"}'
    is 409
}

@test "agents get their first messages" {
    serve
    post /runs '{"agents":{"units":[{"manager":{"id":"solo","prompt":"touch prompted"}}]},"template":"solo"}'
    is 201
    id=$(jq -r .sessionId <<<"$output")
    eventually test -e "$ROOT/sessions/$id/unit/solo/prompted"
}

@test "a run that is wrong is refused, says where, and makes nothing" {
    serve
    "$MAS" list >/dev/null
    before=$(ls -a "$ROOT/sessions")
    check() {
        post /runs "$1"
        refused 400 bad_request "$2"
    }
    check '' agents
    check '{"agents":{}' 'line 1'
    check '{"agents":{},"agents":{}}' 'line 1'
    check '[]' object
    check '{"agents":{},"sesionId":"x"}' sesionId
    check '{"agents":{},"sessionId":"x"}' sessionId
    check '{"agents":{},"sessionId":7}' sessionId
    check '{"agents":{},"sessionMode":"both"}' sessionMode
    check '{"agents":{},"template":"/etc"}' template
    check '{"agents":{},"template":"../solo"}' template
    check '{"agents":{},"template":"nothing"}' nothing
    check '{"agents":{},"preset":"no-such"}' no-such
    check '{"agents":{},"name":"a b"}' 'name: a name must be one of A-Z a-z'
    check '{"agents":{},"name":"feed"}' 'name: a name of four or more hex digits'
    check '{"agents":{},"name":"$(touch x)"}' name
    check '{"agents":{},"private":"yes"}' private
    check '{"agents":{},"project":"here"}' project
    check '{"agents":{},"project":1}' project
    check '{"agents":{},"setup":"yes"}' setup
    check '{"agents":{},"setup":false}' setup
    check '{"agents":{"metaManager":{"id":"zz"}},"template":"solo"}' 'agents.metaManager.id'
    check '{"agents":{"units":[{"manager":{"id":"solo","promt":"x"}}]},"template":"solo"}' 'agents.units\\[0\\].manager.promt'
    check '{"agents":{"units":[{"manager":{"id":7}}]},"template":"solo"}' 'agents.units\\[0\\].manager.id'
    [ "$(ls -a "$ROOT/sessions")" = "$before" ]
}

@test "stop, start and DELETE" {
    new_session -t solo
    serve
    api POST "/sessions/$ID/stop"
    is 200 '.status == "stopped" and .sessionId == "'"$ID"'"'
    api POST "/sessions/$ID/stop"
    is 200 '.status == "stopped"'
    api POST "/sessions/$ID/start"
    is 200 '.status == "active"'
    api POST "/sessions/$ID/start"
    is 200 '.status == "active"'
    api DELETE "/sessions/$ID"
    refused 409 conflict ''
    api POST "/sessions/$ID/stop"
    mv "$ROOT/sessions/$ID/unit/solo" "$T/solo"
    api POST "/sessions/$ID/start"
    is 500 '.error.message | test("cannot start agent .solo. .* its directory .* is missing")'
    api GET "/sessions/$ID"
    is 200 '.status == "stopped"'
    api DELETE "/sessions/$ID"
    is 200 '. == {"sessionId": "'"$ID"'", "removed": true}'
    [ ! -e "$ROOT/sessions/$ID" ]
    api DELETE "/sessions/$ID"
    refused 404 not_found ''
}

# The budgets that memory.db has: agent, kind, amount.
budgets() {
    python3 -ES -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute("select agent, kind, amount from budget order by 1, 2"):
    print(row[0] or "-", row[1], row[2], sep=":")' "$ROOT/sessions/$ID/memory.db"
}

@test "what a session and an agent may use is set, and whether it is private" {
    new_session -t solo --no-start
    serve
    post "/sessions/$ID/settings/private" '{"value":"yes"}'
    is 200 '.sessionId == "'"$ID"'" and .private == true'
    post "/sessions/$ID/settings/private" '{"value":"no"}'
    is 200 '.private == false'
    post "/sessions/$ID/settings/name" '{"value":"shop"}'
    is 200 '.name == "shop"'
    post "/sessions/$ID/settings/name" '{"value":"no good"}'
    refused 400 bad_request name
    post "/sessions/$ID/settings/limits.memory" '{"value":"2G"}'
    is 200
    post "/sessions/$ID/agents/solo/settings/limits.memory" '{"value":"1G"}'
    is 200
    jq -e '.memory == 2147483648 and .agents.solo.memory == 1073741824' "$ROOT/sessions/$ID/limits.json"
    post "/sessions/$ID/settings/budget.turns" '{"value":"20"}'
    is 200
    post "/sessions/$ID/agents/solo/settings/budget.cost" '{"value":"5 USD"}'
    is 200
    [ "$(budgets)" = $'-:turns:20\nsolo:cost:5000000' ]
    is 200 '.budget.turns == {"amount": "20", "used": "0", "from": "mas set"} and
        .agents[0].budget == {"cost": {"amount": "5 USD", "used": "0 USD", "from": "mas set, for agent solo"}} and
        .limits.memory == {"amount": "2147483648", "from": "mas set"} and
        .agents[0].limits.memory == {"amount": "1073741824", "from": "mas set, for agent solo"} and
        .boundsProblem == null'
    jq -S 'del(.disk)' <<<"$output" >"$T/set"
    api GET "/sessions/$ID"
    jq -S 'del(.disk)' <<<"$output" | diff "$T/set" -
    "$MAS" show "$ID" --json | jq -S 'del(.disk)' | diff "$T/set" -
    post "/sessions/$ID/settings/budget.turns" '{"value":"default"}'
    is 200
    [ "$(budgets)" = 'solo:cost:5000000' ]
    for key in budget.turns limits.memory; do
        post "/sessions/$ID/settings/$key" '{"value":"many"}'
        refused 400 bad_request "$key.*many"
    done
    post "/sessions/$ID/settings/private" '{"value":"maybe"}'
    refused 400 bad_request private
    post "/sessions/$ID/agents/nobody/settings/budget.turns" '{"value":"2"}'
    refused 404 not_found nobody
    post "/sessions/$NONE/settings/private" '{"value":"yes"}'
    refused 404 not_found ''
    for path in settings/mode settings/budget.weather settings/x.budget.turns agents/solo/settings/private \
        agents/solo/settings/limits.session agents/solo/settings/--help; do
        post "/sessions/$ID/$path" '{"value":"yes"}'
        refused 404 not_found 'no such setting'
        jq -e '.error.hint | test("budget.KIND")' <<<"$output"
    done
}

@test "a setup is declined from anywhere, but allowed only at the machine" {
    new_session -t solo --no-start
    serve
    post "/sessions/$ID/settings/setup" '{"value":"yes"}'
    refused 400 bad_request 'value: it is not no'
    post "/sessions/$ID/settings/setup" '{"value":"no"}'
    is 409 '.error.message | test("project")'
}

@test "DELETE with force stops first" {
    new_session -t solo
    serve
    api DELETE "/sessions/$ID?force=maybe"
    refused 400 bad_request force
    api DELETE "/sessions/$ID?force=true"
    is 200
    [ "$("$MAS" list -q | wc -l)" -eq 0 ]
}

@test "a session that is not there is a 404 everywhere" {
    serve
    for path in '' /stop /start /messages /agents/solo/prompts; do
        method=POST body='{"target":"solo","message":"x"}'
        case $path in '') method=GET body= ;; /st*) body= ;; */prompts) body='{"prompt":"x"}' ;; esac
        if [ $method = GET ]; then api GET "/sessions/$NONE"; else post "/sessions/$NONE$path" "$body"; fi
        refused 404 not_found ''
    done
}

@test "a message is typed, and its agent's log of requests has it" {
    new_session -t solo
    serve
    post "/sessions/$ID/messages" '{"target":"solo","message":"touch said; echo $((6*7)) >sum"}'
    is 200 '.sessionId == "'"$ID"'" and .agents[0].id == "solo" and (.agents[0].outcome | test("queued|delivered"))'
    eventually test -s "$ROOT/sessions/$ID/unit/solo/sum"
    eventually grep -q "POST /sessions/$ID/messages 200" "$ROOT/sessions/$ID/logs/api.log"
}

@test "execute false presses no Enter" {
    new_session -t solo
    serve
    post "/sessions/$ID/messages" '{"target":"solo","message":"touch one","execute":false}'
    is 200
    [ ! -e "$ROOT/sessions/$ID/unit/solo/one" ]
    post "/sessions/$ID/messages" '{"target":"solo","message":""}'
    is 200
    eventually test -e "$ROOT/sessions/$ID/unit/solo/one"
}

@test "messages that are wrong are refused" {
    new_session -t solo
    serve
    post "/sessions/$ID/messages" '{"target":"solo"}'
    refused 400 bad_request message
    post "/sessions/$ID/messages" '{"target":"solo","message":"x\u0003"}'
    refused 400 bad_request message
    post "/sessions/$ID/messages" '{"target":"solo","message":7}'
    refused 400 bad_request message
    post "/sessions/$ID/messages" '{"target":"solo","message":"x","execute":"no"}'
    refused 400 bad_request execute
    post "/sessions/$ID/messages" '{"target":"solo","message":"x","from":"b"}'
    refused 400 bad_request from
    post "/sessions/$ID/messages" '{"target":"zz","message":"x"}'
    refused 404 not_found zz
    post "/sessions/$ID/messages" '{"target":"-h","message":"x"}'
    is 404
}

@test "a message to a session that does not run is gone" {
    new_session -t solo
    serve
    "$MAS" stop -q "$ID"
    post "/sessions/$ID/messages" '{"target":"solo","message":"x"}'
    refused 410 gone ''
    "$MAS" start -q "$ID"
    tm kill-session -t "=mas-${ID:0:8}"
    post "/sessions/$ID/messages" '{"target":"solo","message":"x"}'
    refused 410 gone ''
}

@test "a prompt is for agents that speak ACP" {
    new_session -t solo
    serve
    post "/sessions/$ID/agents/solo/prompts" '{"prompt":"hello"}'
    refused 409 conflict 'not an ACP agent'
    post "/sessions/$ID/agents/zz/prompts" '{"prompt":"hello"}'
    is 404
    post "/sessions/$ID/agents/solo/prompts" '{"prompt":7}'
    refused 400 bad_request prompt
    post "/sessions/$ID/agents/solo/prompts" '{"prompt":""}'
    refused 409 conflict 'not an ACP agent'
    "$MAS" stop -q "$ID"
    post "/sessions/$ID/agents/solo/prompts" '{"prompt":"hello"}'
    refused 410 gone ''
}

@test "without tmux a run is unavailable" {
    mkdir "$T/bin"
    for tool in sh cat; do ln -s "$(command -v $tool)" "$T/bin/$tool"; done
    PATH=$T/bin:/nonexistent "$MAS" serve --listen 127.0.0.1:0 >"$T/serve.out" 2>"$T/serve.err" 3>&- &
    SERVER=$!
    eventually test -s "$T/serve.out"
    URL=$(cat "$T/serve.out") TOKEN=$(cat "$ROOT/serve.token")
    post /runs '{"agents":{},"template":"solo"}'
    refused 503 unavailable tmux
}

@test "what is not the server's fault is no 500, and hints name no commands of the command line" {
    new_session
    printf '[preset gone]\ncommand = nosuchprogram\n' >>"$ROOT/mas.ini"
    serve
    post /runs '{"agents":{},"template":"solo","preset":"gone"}'
    refused 400 bad_request nosuchprogram
    is 400 '.error.hint | test("^GET /presets")'
    # an agent without a host, in a team that runs
    pkill -KILL -f "mas host $ID 11$"
    eventually eval '! pgrep -f "mas host $ID 11$" >/dev/null'
    post "/sessions/$ID/messages" '{"target":"11","message":"hi"}'
    refused 409 conflict "agent '11'.*its host"
    is 409 '.error.hint | contains("mas ") | not'
    "$MAS" stop -q "$ID"
    post "/sessions/$ID/messages" '{"target":"11","message":"hi"}'
    is 410 '.error.hint | contains("mas ") | not'
}

@test "a host that goes away while it is asked is no fault of the server" {
    new_session
    serve
    pkill -KILL -f "mas host $ID 11$"
    eventually eval '! pgrep -f "mas host $ID 11$" >/dev/null'
    python3 -ES "$PROJECT/test/host/ask.py" "$ROOT/sessions/$ID/run" 11 --parting >"$T/parting" 2>&1 3>&- &
    STAND_IN=$!
    eventually grep -qx connected "$T/parting"
    post "/sessions/$ID/messages" '{"target":"11","message":"hi"}'
    refused 409 conflict "agent '11'.*its host closed the connection"
    post "/sessions/$ID/agents/11/cancel" '{}'
    refused 410 gone "agent '11'.*its host closed the connection"
}

@test "hints of the command line become addresses" {
    new_session -t solo
    serve
    api DELETE "/sessions/$ID"
    is 409 '.error.hint | test("(POST /sessions/'"$ID"'/stop|DELETE /sessions/'"$ID"'.force=true)$")'
}

@test "POST /runs gives a team a project" {
    git config --global user.name Person
    git config --global user.email person@example.org
    git init -q -b main "$T/project"
    git -C "$T/project" commit -q --allow-empty -m Begin
    serve
    post /runs '{"agents":{},"template":"solo","project":"'"$T/project@main"'"}'
    is 201 '.status == "active"'
    [ "$(jq -r .project.onto "$(jq -r .workingDir <<<"$output")/config.json")" = refs/heads/main ]
    # a client does without a setup, and allows none
    mkdir "$T/project/.mas"
    printf '#!/bin/sh\ntouch %s/ran\n' "$T" >"$T/project/.mas/setup"
    chmod +x "$T/project/.mas/setup"
    git -C "$T/project" add .
    git -C "$T/project" commit -q -m setup
    post /runs '{"agents":{},"template":"solo","project":"'"$T/project"'"}'
    is 201 '.status == "active"'
    api GET "/sessions/$(jq -r .sessionId <<<"$output")"
    is 200 '.project.setup.waits == 1'
    post /runs '{"agents":{},"template":"solo","project":"'"$T/project"'","setup":"no"}'
    is 201 '.status == "active"'
    api GET "/sessions/$(jq -r .sessionId <<<"$output")"
    is 200 '.project.setup.declined == 1'
    [ ! -e "$T/ran" ]
    post /runs '{"agents":{},"template":"solo","project":"'"$T/none"'"}'
    refused 400 bad_request 'cannot use project'
    post /runs '{"agents":{},"template":"solo","sessionMode":"legacy","project":"'"$T/project"'"}'
    refused 400 bad_request 'legacy mode'
}

@test "what an operation failed with has a code, and no command line" {
    new_session -t solo
    serve
    post "/sessions/$ID/archive" '{}'
    is 202
    operation=$(jq -r .operation <<<"$output")
    ended() { api GET "/operations/$operation" && jq -e '.ended != null' <<<"$output"; }
    eventually ended
    is 200 '.state == "failed" and .error.code == "conflict" and (.error.hint | test("^stop it first.*POST /sessions/'"$ID"'/stop"))'
    jq -e '.error | tostring | test("mas [a-z]") | not' <<<"$output"
}

@test "what verbs refuse is said in words of the API, with what a client can do" {
    local method path body message hint given
    new_session -t solo -n one --no-start
    serve
    # said MESSAGE HINT
    said() {
        jq -e --arg message "$1" --arg hint "$2" '.error | (.message | test($message)) and (.hint // "" | test($hint))
            and ([.message, .hint] | all(test("(^|[^a-z./])mas [a-z]|--[a-z]|serve.transfer") | not))' <<<"$output" >/dev/null ||
            { echo "$method $path: $output"; return 1; }
    }
    while IFS='|' read -r method path body message hint; do
        given=()
        [ -z "$body" ] || given=(-d "$body")
        api "$method" "$path" "${given[@]}"
        said "$message" "$hint"
    done <<END
GET|/sessions/$ID/agents/solo/history?limit=x||^cannot use the query limit 'x': it is not a number|^GET /openapi.json
GET|/search?q=x&since=bad||^cannot use the query since 'bad'|^GET /openapi.json
GET|/search?q=x&role=bad||^cannot use the query role 'bad'|^GET /openapi.json
GET|/usage?by=bad||^cannot use the query by 'bad'|^GET /openapi.json
GET|/search?q=%20||no word|^GET /openapi.json
GET|/sessions/$ID/diff||has no project|POST /runs
GET|/sessions/$ID/agents/solo/review||has no project|POST /runs
POST|/sessions/$ID/agents/solo/review|{"comments":[{"text":"x"}]}|has no project|POST /runs
POST|/runs|{"agents":{"nobody":"x"}}|agents.nobody: unknown member|^GET /openapi.json
POST|/runs|{"agents":{},"name":"one"}|another session has that name|GET /sessions\$
POST|/runs|{"agents":{},"sessionId":"$ID"}|it exists|GET /sessions/$ID\$
POST|/runs|{"agents":{},"project":"/nosuch"}|cannot use project '/nosuch'|^GET /openapi.json
POST|/runs|{"agents":{"units":7}}|^cannot use the body: agents.units: |^GET /openapi.json
POST|/sessions/one/stop||no such session|^GET /sessions lists
GET|/sessions?status=lost||^cannot use the query status: it has no word 'lost'|^its words are: .*active
POST|/sessions/$ID/land|{"how":"force"}|^cannot use the body: how: it is none of its words|^its words are: merge, squash, rebase\$
POST|/restores|garbage|^cannot restore the archive: it is not an archive of mas|GET /sessions/{id}/archive
END
}

@test "what an operation refuses is said in words of the API, with what a client can do" {
    local path body message
    new_session -t solo -n one --no-start
    serve
    while IFS='|' read -r path body message; do
        post "$path" "$body"
        is 202
        operation=$(jq -r .operation <<<"$output")
        ended() { api GET "/operations/$operation" && jq -e '.ended != null' <<<"$output"; }
        eventually ended
        jq -e --arg message "$message" '.state == "failed" and (.error | .code == "bad_request" and
            (.message | test($message)) and (.hint | test("^GET /openapi.json")) and
            ([.message, .hint] | all(test("--[a-z]|mas [a-z]") | not)))' <<<"$output" ||
            { echo "$path $body: $output"; return 1; }
    done <<END
/sessions/$ID/archive|{"live":true,"remove":true}|^cannot use the member live with the member remove\$
/sessions/$ID/land|{"how":"rebase","message":"x"}|^cannot use the word rebase of how with the member message\$
/sessions/$ID/land|{"how":"squash","pr":true}|^cannot use the member pr with the word squash of how\$
/clean|{"olderThan":"zz"}|^cannot use the member olderThan 'zz'
END
}

@test "an operation's hint names the agent" {
    . "$BATS_TEST_DIRNAME/../host/lib.bash"
    . "$BATS_TEST_DIRNAME/../acp/lib.bash"
    acp_preset scripted
    new_session -t solo --agent scripted
    serve
    post "/sessions/$ID/agents/solo/asides" '{"prompt":"x"}'
    is 202 '.agent == "solo"'
    operation=$(jq -r .operation <<<"$output")
    ended() { api GET "/operations/$operation" && jq -e '.ended != null' <<<"$output"; }
    eventually ended
    is 200 '.state == "failed" and (.error.hint | test("POST /sessions/'"$ID"'/agents/solo/prompts"))'
}
