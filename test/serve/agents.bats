#!/usr/bin/env bats
# What HTTP asks of one agent: its state, permissions, cancel, clear, mode, options and the like.
load ../helper
load ../host/lib
load ../acp/lib
load lib

# at WHAT [JSON]: asks the agent
at() { post "/sessions/$ID/agents/solo/$1" "${2-}"; }
agent() { api GET "/sessions/$ID/agents/solo"; }
agent_is() { agent && jq -e "$1" <<<"$output" >/dev/null; }
prompt() {
    at prompts "$(jq -nc --arg prompt "$1" '{$prompt}')"
    is 202
}

@test "an agent's address tells its state as status does, and what it offers and asks" {
    acp_agent
    "$MAS" ask "$ID" solo SAY:hello >/dev/null
    serve
    agent
    is 200 '.sessionId == "'"$ID"'" and .agent == "solo" and .state == "idle" and .protocol == "acp" and .query == 1
        and .permissions == [] and (.modes | length > 0) and (.mode | length > 0)'
    is 200 '.can == {"now": false, "aside": false, "pictures": false, "kept": true, "deleteKept": false}'
    left() { jq -S 'del(.agent, .sessionId, .query, .can, .mode, .modes, .commands, .options, .permissions)' <<<"$1"; }
    status=$("$MAS" status "$ID" --json | jq ".sessions[0].agents[0]")
    diff <(left "$output" | jq 'keys') <(jq -S 'del(.id, .agent, .role, .unit, .group, .rank, .preset)' <<<"$status" | jq 'keys')
    api GET "/sessions/$ID/agents/nobody"
    refused 404 not_found nobody
    api GET "/sessions/$ID/agents/sol"
    is 404 '.error.hint == "did you mean: solo"'
    api GET "/sessions/11111111-1111-4111-8111-111111111111/agents/solo"
    refused 404 not_found session
    "$MAS" stop -q "$ID"
    agent
    refused 410 gone ''
}

@test "an agent's address says what the agent can do, once it has told it, and while it sleeps" {
    run_acp "--steer --fork --delete" "start = demand"
    serve
    agent
    is 200 '.protocol == "acp" and has("can") and .can == null'
    "$MAS" ask "$ID" solo SAY:hello >/dev/null
    agent
    is 200 '.can == {"now": true, "aside": true, "pictures": false, "kept": true, "deleteKept": true}'
    "$MAS" sleep -q "$ID" solo
    agent
    is 200 '.state == "asleep" and .can.now and .can.aside'
    options "--no-list --delete"
    "$MAS" restart -q "$ID" solo
    can_nothing() { agent && jq -e '.can == {"now": false, "aside": false, "pictures": false, "kept": false, "deleteKept": false}' <<<"$output"; }
    eventually can_nothing
}

@test "a program on a terminal has a state, and refuses what only ACP has" {
    new_session -t solo
    serve
    agent
    is 200 '.protocol == "tty" and (has("permissions") | not) and (has("can") | not)'
    api GET "/sessions/$ID/agents/solo/permissions"
    is 200 '.permissions == []'
    at cancel
    refused 409 conflict 'not an ACP agent'
    at sleep
    refused 409 conflict 'runs on a terminal'
    is 409 '.error.hint | test("stop its session: POST /sessions/'"$ID"'/stop$")'
    at restart
    is 200 '.agent == "solo"'
}

@test "an empty message to an agent that takes prompts is the client's fault" {
    acp_agent
    serve
    post "/sessions/$ID/messages" '{"target":"solo","message":""}'
    refused 400 bad_request 'the prompt is empty'
    post "/sessions/$ID/agents/solo/prompts" '{"prompt":" \n "}'
    refused 400 bad_request 'the prompt is empty'
}

@test "an option that the agent does not have is answered with those that it has" {
    acp_agent
    serve
    eventually agent_is '.state == "idle"'
    at options/nosuch '{"value":"x"}'
    is 404 '.error.code == "not_found" and .error.hint == "its options are: model"'
    at options/model '{"value":"nonsense"}'
    is 400 '.error.hint == "its values are: small, large"'
    refused 400 bad_request "it has not set 'model=nonsense': no such option or value"
}

@test "a permission is listed and answered, and the turn goes on" {
    acp_agent
    serve
    prompt ASK
    eventually agent_is '.state == "waiting"'
    api GET "/sessions/$ID/agents/solo/permissions"
    is 200 '.permissions | length == 1'
    permission=$(jq -r '.permissions[0].permission' <<<"$output")
    option=$(jq -r '[.permissions[0].options[] | select(.kind == "allow_once")][0].id' <<<"$output")
    at "permissions/$ID:999" '{"option":"allow"}'
    refused 404 not_found 'no such open permission'
    at "permissions/$permission" '{"option":"nosuch"}'
    refused 404 not_found "no option 'nosuch'"
    at "permissions/$permission" '{}'
    refused 400 bad_request 'option: it is missing'
    # clients escape the colon; what is no text, or has a slash, names nothing
    for odd in "${permission//:/%2F}" "${permission//:/%00}" "${permission//:/%}" "${permission//:/%zz}" "${permission//:/%ff}" %2e%2e; do
        at "permissions/$odd" "{\"option\":\"$option\"}"
        refused 404 not_found 'nothing at this address'
    done
    at "permissions/${permission//:/%3A}" "{\"option\":\"$option\"}"
    is 200 '.permission == "'"$permission"'" and .option == "'"$option"'" and .sessionId == "'"$ID"'"'
    eventually agent_is '.state == "idle"'
    at "permissions/$permission" '{"option":"allow"}'
    is 404
}

@test "the permissions of the whole root are listed, from whichever session they come" {
    acp_agent
    first=$ID
    new_session -t solo --agent scripted
    second=$ID
    serve
    api GET /permissions
    is 200 '. == {"permissions":[],"silent":[]}'
    # who has waited longest comes first, to the millisecond
    ordered() { api GET /permissions && jq -e --args '.permissions | map(.sessionId) == $ARGS.positional' "$@" <<<"$output"; }
    ID=$second prompt ASK
    eventually ordered "$second"
    ID=$first prompt ASK
    eventually ordered "$second" "$first"
    ID=$second at "permissions/$(jq -r '.permissions[0].permission' <<<"$output")" '{"option":"allow"}'
    is 200
    eventually ordered "$first"
    ID=$second prompt ASK
    both() { ordered "$first" "$second"; }
    eventually both
    is 200 '.permissions | all(.agent == "solo" and (.permission | length > 0) and (.options | length > 0))'
    api GET /permissions -H "If-None-Match: $(header ETag)"
    is 304
    # the register is only a cache
    rm "$ROOT/sessions/.waiting"
    both
    ID=$first
    both
    at "permissions/$(jq -r '.permissions[0].permission' <<<"$output")" '{"option":"allow"}'
    is 200
    one() { api GET /permissions && jq -e '.permissions | map(.sessionId) == ["'"$second"'"]' <<<"$output"; }
    eventually one
    # a host that was killed asks nothing, and a host that does not answer is named
    ID=$second find_agent
    host=$(tm display-message -p -t "$PANE" '#{pane_pid}')
    tmux=$(tm display-message -p '#{pid}')
    kill -STOP "$tmux" "$host" # tmux would wake it
    api GET /permissions
    kill -CONT "$tmux" "$host"
    is 200 '.permissions == [] and .silent == [{"sessionId":"'"$second"'","agent":"solo"}]'
    kill -9 "$host"
    none() { api GET /permissions && jq -e '. == {"permissions":[],"silent":[]}' <<<"$output"; }
    eventually none
}

@test "a form is shown with its schema and filled in, and a wrong answer leaves it open" {
    acp_agent
    serve
    prompt ELICIT
    eventually agent_is '.state == "waiting"'
    api GET "/sessions/$ID/agents/solo/permissions"
    is 200 '.permissions[0] | .form.required == ["name"] and (.options | map(.id)) == ["accept", "decline"]'
    permission=$(jq -r '.permissions[0].permission' <<<"$output")
    at "permissions/$permission" '{"option":"accept"}'
    is 400 '.error.hint == "fill in the field with a member of \u0027answers\u0027: name=VALUE"'
    at "permissions/$permission" '{"option":"accept","answers":[]}'
    refused 400 bad_request 'answers: it is not an object'
    at "permissions/$permission" '{"option":"accept","answers":{"name":"Ann","count":7}}'
    is 400
    at "permissions/$permission" '{"option":"accept","answers":{"name":"Ann","parts":["z"]}}'
    is 400 '.error.hint == "its values are: a, b, c"'
    at "permissions/$permission" '{"option":"accept","answers":{"name":"Ann","count":2,"sure":true,"parts":["b"],"pin":"TOPSECRET"}}'
    is 200 '.option == "accept"'
    eventually agent_is '.state == "idle"'
    was_sent '"content":{"name":"Ann","count":2,"sure":true,"parts":["b"],"pin":"TOPSECRET"}'
    run ! grep -rqF TOPSECRET "$ROOT"
}

@test "a permission is refused by its kind" {
    acp_agent
    serve
    prompt ASK
    eventually agent_is '.state == "waiting"'
    api GET "/sessions/$ID/agents/solo/permissions"
    at "permissions/$(jq -r '.permissions[0].permission' <<<"$output")" '{"option":"deny"}'
    is 200
    eventually agent_is '.state == "idle"'
}

@test "cancel ends the turn, and says whether there was one" {
    acp_agent
    serve
    at cancel
    is 200 '.cancelled == false'
    prompt HANG
    eventually agent_is '.state == "working"'
    at cancel
    is 200 '.cancelled == true'
    eventually agent_is '.state == "idle"'
}

@test "clear begins the next query, with a prompt and a mode" {
    acp_agent
    "$MAS" ask "$ID" solo SAY:one >/dev/null
    serve
    at clear '{"then":"SAY:two"}'
    is 200 '.query == 2 and (.prompt | type == "string")'
    eventually agent_is '.query == 2 and .state == "idle"'
    api GET "/sessions/$ID/agents/solo/context"
    is 200 '.current_conversation | length == 2 and (.[1].content | startswith("twoAGENT"))'
    at clear '{"mode":"nosuch"}'
    refused 404 not_found "no mode 'nosuch'"
    at clear '{"then":7}'
    refused 400 bad_request 'then: it is not a string'
    at clear '{"text":"x"}'
    is 400 '.error.message == "cannot use the body: text: unknown member" and
        (.error.hint | startswith("its members are: ") and contains("then") and contains("mode"))'
    api POST "/sessions/$ID/stop" -d '{"now":true}'
    is 400 '.error.hint == "it has no members"'
}

@test "mode, options, conversation, sleep, wake, restart, seen" {
    acp_agent --boolean
    "$MAS" ask "$ID" solo SAY:one >/dev/null
    serve
    agent
    other=$(jq -r '.mode as $is | [.modes[].id | select(. != $is)][0]' <<<"$output")
    at mode "{\"mode\":\"$other\"}"
    is 200
    eventually agent_is ".mode == \"$other\""
    at mode '{"mode":""}'
    refused 400 bad_request 'mode: it is empty'
    at options/web '{"value":"maybe"}'
    refused 400 bad_request "'maybe' is no value"
    at options/web '{"value":"true"}'
    is 200
    eventually agent_is '.options[] | select(.id == "web") | .type == "boolean" and .value == "true"
        and .values == [{"value": "true", "name": "On"}, {"value": "false", "name": "Off"}]'
    at options/nosuch '{"value":"x"}'
    [ "$status" -ge 400 ]
    [ "$status" -lt 500 ]
    was=$(jq -r .conversation <<<"$output")
    at conversation '{"conversation":"00000000-0000-4000-8000-000000000000"}'
    is 404 ".error.hint == \"list them with: GET /sessions/$ID/agents/solo/history\""
    at conversation '{"conversation":"new"}'
    is 200
    eventually agent_is '.conversation != "'"$was"'"'
    at sleep
    is 200
    eventually agent_is '.state == "asleep"'
    at wake
    is 200
    eventually agent_is '.state == "idle"'
    pid=$(jq -r .pid <<<"$output")
    at restart
    is 200
    eventually agent_is ".state == \"idle\" and .pid != $pid"
    at seen
    is 200
    agent
    is 200 '.seen != null'
}

@test "what HTTP asks of an agent starts no process" {
    acp_agent
    serve
    eventually agent_is '.state == "idle"'
    strace -f -qq -e trace=clone,clone3,fork,vfork,execve -p "$SERVER" -o "$T/calls" 3>&- &
    tracer=$!
    eventually grep -q "^TracerPid:.[1-9]" "/proc/$SERVER/status"
    for act in cancel seen clear; do
        at "$act"
        is 200
    done
    agent
    is 200
    kill "$tracer"
    wait "$tracer" || true
    run ! grep -E 'execve|fork|SIGCHLD' "$T/calls"
}

@test "other methods, other members and too much are refused at each of these addresses" {
    acp_agent
    serve
    for act in cancel clear mode conversation budget restart sleep wake seen; do
        api GET "/sessions/$ID/agents/solo/$act"
        refused 405 bad_method GET
        at "$act" '{"unknown":1}'
        refused 400 bad_request unknown
        at "$act" '[]'
        refused 400 bad_request object
        TOKEN=x at "$act" '{}'
        refused 401 unauthorized ''
    done
    head -c 70000 /dev/zero | tr '\0' x >"$T/large"
    api POST "/sessions/$ID/agents/solo/mode" -d "@$T/large"
    refused 413 too_large ''
}

# A server may start nothing: what starts programs for it is stopped. Each answer's status is added to $codes.
asked() {
    api "$@" -m 10 || status=000
    codes+=("$status")
}

@test "what is asked of agents goes straight to their hosts: no process is started" {
    acp_agent
    serve
    local starter codes=()
    api GET /permissions # the first one may have to make the register of who waits
    is 200
    starter=$(pgrep -P "$SERVER" -x mas-serve-start)
    kill -STOP "$starter"
    asked POST "/sessions/$ID/agents/solo/prompts" -d '{"prompt":"ASK"}'
    waits() { api GET "/sessions/$ID/agents/solo" -m 10 && jq -e '.state == "waiting"' <<<"$output" >/dev/null; }
    eventually waits || true
    asked GET "/sessions/$ID/agents/solo/permissions"
    asked GET /permissions
    asked POST "/sessions/$ID/messages" -d '{"target":"solo","message":"SAY:behind"}'
    asked POST "/sessions/$ID/messages" -d '{"target":"all","message":"SAY:steered","now":true}'
    asked POST "/sessions/$ID/agents/solo/budget" -d '{}'
    asked POST "/sessions/$ID/agents/solo/cancel" -d '{}'
    asked POST "/sessions/$ID/agents/solo/clear" -d '{}'
    asked POST "/sessions/$ID/agents/solo/seen"
    asked GET "/sessions/$ID/agents/solo/log"
    kill -CONT "$starter"
    echo "${codes[*]}"
    [ "${codes[*]}" = '202 200 200 200 200 200 200 200 200 200' ]
}

@test "a screen is asked of the host and of tmux: one process, which may do nothing else" {
    mkdir "$T/bin"
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\nread -r name <"/proc/$PPID/comm"\ncase "$*" in *capture-pane*) echo "$name" >>"%s/captured" ;; esac\nexec %s "$@"\n' \
        "$T" "$(command -v tmux)" >"$T/bin/tmux"
    chmod +x "$T/bin/tmux"
    new_session -t solo
    "$MAS" send "$ID" solo "printf 'on-%s\\n' the-screen"
    shows() { "$MAS" peek "$ID" solo | grep -q on-the-screen; }
    eventually shows
    PATH=$T/bin:$PATH serve
    api GET "/sessions/$ID/agents/solo/screen"
    is 200 '.sessionId == "'"$ID"'" and .agents[0].id == "solo" and (.agents[0].text | test("on-the-screen"))'
    [ "$(cat "$T/captured")" = mas-serve-start ]
    [ "$(jq -S . <<<"$output")" = "$("$MAS" peek "$ID" solo --json | jq -S .)" ]
    api GET "/sessions/$ID/agents/solo/screen" -H "If-None-Match: $(header ETag)"
    is 304
    for bad in -1 x 1000001 '' 1e3; do
        api GET "/sessions/$ID/agents/solo/screen?history=$bad"
        refused 400 bad_request 'history: it is not a number'
    done
    for agent in nobody all solo,solo workers; do
        api GET "/sessions/$ID/agents/$agent/screen"
        is 404
    done
    "$MAS" stop -q "$ID"
    api GET "/sessions/$ID/agents/solo/screen"
    is 410 '.error.hint | test("POST /sessions/'"$ID"'/start")'
}

@test "agents of a session that another machine has are not asked, and the answer says where it is" {
    . "$BATS_TEST_DIRNAME/../machine.bash"
    need_machines
    ID=$(on n9 "$MAS" new -q -t solo --no-start)
    serve
    for asks in 'prompts {"prompt":"x"}' 'cancel {}' 'seen {}'; do
        post "/sessions/$ID/agents/solo/${asks%% *}" "${asks#* }"
        refused 409 conflict 'n9'
        is 409 '.error.hint | test("do it on n9") and (test("mas [a-z]|--") | not)'
    done
    post "/sessions/$ID/messages" '{"target":"solo","message":"x"}'
    refused 409 conflict 'n9'
}
