#!/usr/bin/env bats
# shellcheck disable=SC2153,SC2034,SC2317 # TOKEN is lib.bash's; ID and code are for what it calls
# What a guest of one session may do and see over HTTP: each operation with each right, what answers
# and events leave out, how it ends, and whose name stands in history and logs.
load ../helper
load ../host/lib
load ../acp/lib
load lib

NOBODY=11111111-1111-4111-8111-111111111111 # no session has this id

# as NAME METHOD PATH [CURL OPTION...]: api with the token in $T/NAME.token
as() {
    local TOKEN
    TOKEN=$(cat "$T/$1.token")
    api "${@:2}"
}

# guest NAME OPERAND...: invites and takes the code; the token is in $T/NAME.token
guest() {
    local code cookie
    code=$("$MAS" invite --json --name "$@" | jq -r .code)
    TOKEN=none api POST /pair -d "{\"code\":\"$code\"}"
    is 201 ".name == \"$1\""
    cookie=$(header Set-Cookie)
    cookie=${cookie%%;*}
    printf %s "${cookie#*=}$(jq -r .pageToken <<<"$output")" >"$T/$1.token"
}

# two_sessions TEMPLATE: $ONE and $TWO, whose agents are scripted; $ID is the first
two_sessions() {
    acp_preset scripted
    new_session -t "$1" --agent scripted -n one
    ONE=$ID
    new_session -t solo --agent scripted -n two
    TWO=$ID ID=$ONE DIR=$ROOT/sessions/$ONE
}

# walled_sessions: likewise of one agent, all with required walls
walled_sessions() {
    bwrap --unshare-pid --ro-bind / / --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    mkdir "$T/data"
    preset scripted "/usr/bin/python3 -ES '$PROJECT/test/acp/agent.py' --store $T/data/store --log $T/data/trace" \
        'protocol = acp' 'wall.level = require' "wall.read = $PROJECT/test/acp/agent.py" "wall.write = $T/data"
    new_session -t solo --agent scripted -n one
    ONE=$ID DIR=$ROOT/sessions/$ID
}

# listens NAME: what the guest hears is in $T/NAME.events, its curl in $CURL
listens() {
    : >"$T/$1.events"
    curl -sSN -m 120 -o "$T/$1.events" -H "Authorization: Bearer $(cat "$T/$1.token")" "$URL/events${2-}" 3>&- 2>/dev/null &
    CURL="${CURL-} $!"
    eventually grep -q '^retry: ' "$T/$1.events"
}
ended() { ! kill -0 "$1" 2>/dev/null; }

# The operations of the description: METHOD PATH
operations() {
    jq -r '.paths | to_entries[] | .key as $path | .value | keys[] | select(. != "parameters")
        | "\(ascii_upcase) \($path)"' "$T/openapi.json"
}

# What a guest may do, and the right that it takes; `one`: also a guest of single agents. All else is
# refused, so what joins the table of operations is refused until it stands here, too.
allowed() {
    cat <<'END'
read one GET /sessions
read one GET /sessions/{id}
read one GET /search
read one GET /permissions
read one GET /events
read one GET /operations
read one GET /operations/{item}
read one GET /openapi.json
read one GET /pair
read one POST /markdown
read one GET /sessions/{id}/agents/{agent}
read one GET /sessions/{id}/agents/{agent}/history
read one GET /sessions/{id}/agents/{agent}/permissions
read one GET /sessions/{id}/agents/{agent}/diff
read one GET /sessions/{id}/agents/{agent}/review
read one GET /sessions/{id}/agents/{agent}/screen
read one GET /sessions/{id}/agents/{agent}/log
read one GET /sessions/{id}/agents/{agent}/commits
read all GET /sessions/{id}/agents/{agent}/context
read all GET /sessions/{id}/agents/{agent}/compare/{item}
read all GET /sessions/{id}/usage
read all GET /sessions/{id}/du
read all GET /sessions/{id}/diff
read all GET /sessions/{id}/log
read all GET /sessions/{id}/compare
answer one POST /sessions/{id}/agents/{agent}/permissions/{item}
full one POST /sessions/{id}/messages
full one POST /sessions/{id}/pictures
full one POST /sessions/{id}/agents/{agent}/prompts
full one POST /sessions/{id}/agents/{agent}/cancel
full one POST /sessions/{id}/agents/{agent}/clear
full one POST /sessions/{id}/agents/{agent}/conversation
full one POST /sessions/{id}/agents/{agent}/restart
full one POST /sessions/{id}/agents/{agent}/sleep
full one POST /sessions/{id}/agents/{agent}/wake
END
}

# may NAME METHOD PATH: whether the table says so
may() {
    local right scope method path has=" read "
    case $1 in phone | one) has=" read answer " ;; all) has=" read answer full " ;; esac
    while read -r right scope method path; do
        [[ "$method $path" = "$2 $3" && $has = *" $right "* ]] || continue
        [ "$1 $scope" != "one all" ] && return 0
    done < <(allowed)
    return 1
}

address() {
    local path=${1//\{id\}/$2}
    path=${path//\{agent\}/lead}
    printf %s "${path//\{item\}/x}"
}

@test "each operation is refused to guests, or open to those that the table here names; of other sessions as of none" {
    local method path name said count=0
    preset held "sleep 1000" 'wall.level = require'
    new_session -t pair --agent held --no-start
    ONE=$ID
    new_session -t pair --agent held --no-start
    TWO=$ID
    serve
    describe
    operations >"$T/operations"
    [ "$(wc -l <"$T/operations")" -ge 70 ]
    while read -r _ _ method path; do
        grep -qxF "$method $path" "$T/operations" || { echo "no such operation: $method $path"; return 1; }
    done < <(allowed)
    guest look "$ONE" --read-only
    guest phone "$ONE" --answer
    guest one "$ONE" lead --answer
    guest all "$ONE" --full
    while read -r method path; do
        case $path in / | /healthz | /page/*) continue ;; /pair) [ "$method" = GET ] || continue ;; esac
        for name in look phone one all; do
            count=$((count + 1))
            as "$name" "$method" "$(address "$path" "$ONE")" -d '{"x":1}' -m 2 2>/dev/null || true
            if ! may "$name" "$method" "$path"; then
                refused 403 missing_right "'$name'" || { echo "$name $method $path"; return 1; }
                jq -e '.error.hint | test("mas [a-z]") | not' <<<"$output"
            elif [[ $status = 40[13] && "$name $path" != "one /search" ]]; then
                echo "$name $method $path: $status $output"
                return 1
            fi
            [[ $path = *"{id}"* ]] || continue
            as "$name" "$method" "$(address "$path" "$NOBODY")" -d '{"x":1}'
            said="$status ${output//$NOBODY/ID}"
            as "$name" "$method" "$(address "$path" "$TWO")" -d '{"x":1}'
            [ "$said" = "$status ${output//$TWO/ID}" ] || { echo "$name $method $path tells that $TWO is there: $output"; return 1; }
            [[ $status = 40[34] ]] || { echo "$name $method $path of another session: $status $output"; return 1; }
            ! may "$name" "$method" "$path" || [ "$status" = 404 ] || { echo "$name $method $path: $status, not 404"; return 1; }
        done
    done <"$T/operations"
    [ "$count" -gt 280 ]
    # nothing happened
    [ "$("$MAS" list --all -q | sort)" = "$(printf '%s\n' "$ONE" "$TWO" | sort)" ]
    # and each agent of the other session is as unknown as the session
    as one GET "/sessions/$ONE/agents/reviewer/history"
    refused 404 not_found reviewer
    as one GET "/sessions/$TWO/agents/lead/history"
    refused 404 not_found "$TWO"
}

@test "lists, searches, permissions, operations and the context have the guest's session alone" {
    printf '[memory]\nshare = yes\n' >>"$ROOT/mas.ini"
    two_sessions solo
    serve
    "$MAS" ask "$ONE" solo 'SAY:zebra-one' >/dev/null
    "$MAS" ask "$TWO" solo 'SAY:zebra-two' >/dev/null
    api GET '/search?q=zebra'
    is 200 '[.messages[].sessionId] | unique | length == 2'
    api GET "/sessions/$ONE/agents/solo/context?for=zebra-two"
    is 200 '.relevant_history | map(tostring) | any(test("zebra-two"))'
    guest ann "$ONE" --answer
    as ann GET /sessions
    is 200 '.total == 1 and .sessions[0].sessionId == "'"$ONE"'"'
    as ann GET '/sessions?status=error'
    is 200 '.total == 0'
    as ann GET '/search?q=zebra'
    is 200 '(.messages | length > 0) and all(.messages[]; .sessionId == "'"$ONE"'")'
    for session in "$TWO" two "$NOBODY" "${TWO%????}"; do
        as ann GET "/search?q=zebra&session=$session"
        refused 404 not_found "there is no session '$session'"
    done
    as ann GET "/search?q=zebra&session=$ONE"
    is 200 'all(.messages[]; .sessionId == "'"$ONE"'")'
    as ann GET "/sessions/$ONE/agents/solo/context?for=zebra-two"
    is 200 'map_values(tostring) | all(test("zebra-two") | not)'
    # what others ask
    for id in "$ONE" "$TWO"; do "$MAS" ask "$id" solo ASK >/dev/null 2>&1 3>&- & done
    both() { api GET /permissions && jq -e '.permissions | length == 2' <<<"$output"; }
    eventually both
    as ann GET /permissions
    is 200 '.permissions | length == 1 and .[0].sessionId == "'"$ONE"'"'
    # what was begun
    api POST "/sessions/$TWO/merge" -d '{"agents":["solo"]}'
    is 202
    other=$(jq -r .operation <<<"$output")
    api POST "/sessions/$ONE/merge" -d '{"agents":["solo"]}'
    is 202
    own=$(jq -r .operation <<<"$output")
    as ann GET /operations
    is 200 '[.operations[].operation] == ["'"$own"'"]'
    as ann GET "/operations/$own"
    is 200
    as ann GET "/operations/$other"
    refused 404 not_found 'no such operation'
}

@test "agents of a session with guests see no other session, by recall, search or share" {
    printf '[memory]\nshare = yes\nrecall = on\n' >>"$ROOT/mas.ini"
    two_sessions solo
    serve
    "$MAS" ask "$TWO" solo 'the zeppelin hangar password is CW-ZEBRA' >/dev/null
    sees() { MAS_AGENT_ID=solo MAS_SESSION_ID=$ONE "$MAS" search zeppelin --json | jq -e --arg id "$TWO" 'any(.messages[]; .sessionId == $id)'; }
    sees
    guest ann "$ONE" --read-only
    run ! sees
    "$MAS" ask "$ONE" solo 'what was the zeppelin hangar password' >"$T/said"
    run ! grep -q CW-ZEBRA "$T/said"
    "$MAS" invite --end ann
    "$MAS" clear "$ONE" solo
    sees
    "$MAS" ask "$ONE" solo 'what was the zeppelin hangar password' >"$T/said"
    grep -q CW-ZEBRA "$T/said"
}

@test "a guest hears of the own session alone, two guests and the owner at once" {
    two_sessions solo
    serve
    guest ann "$ONE" --read-only
    guest bob "$TWO" --answer
    CURL=''
    listens ann "?live=$TWO/solo"
    listens bob
    hear
    CURL+=" $LISTENER"
    for id in "$ONE" "$TWO"; do "$MAS" ask "$id" solo "SAY:of-$id" >/dev/null; done
    "$MAS" new -q -t solo --no-start
    api POST "/sessions/$TWO/merge" -d '{"agents":["solo"]}'
    is 202
    api POST "/sessions/$ONE/merge" -d '{"agents":["solo"]}'
    is 202
    told() { grep -q "of-$2" "$T/$1events" && grep -q '^event: operation' "$T/$1events"; }
    eventually told '' "$ONE"
    eventually told '' "$TWO"
    eventually told ann. "$ONE"
    eventually told bob. "$TWO"
    eventually grep -q session.created "$T/events"
    # each of these lines is about one session
    run ! grep -v "$ONE" <(grep '^data: ' "$T/ann.events")
    run ! grep -v "$TWO" <(grep '^data: ' "$T/bob.events")
    run ! grep -q "$TWO" "$T/ann.events"
    run ! grep -q 'event: live' "$T/ann.events"
    # who comes back hears no more
    first=$(sed -n 's/^id: //p' "$T/events" | head -n 1)
    : >"$T/again"
    curl -sSN -m 3 -o "$T/again" -H "Authorization: Bearer $(cat "$T/ann.token")" -H "Last-Event-ID: $first" "$URL/events" 2>/dev/null || true
    grep -q "of-$ONE" "$T/again"
    run ! grep -q "$TWO" "$T/again"
    # and each has their own right: the owner all, bob in the one, ann nothing
    "$MAS" ask "$TWO" solo ASK >/dev/null 2>&1 3>&- &
    asked() { api GET "/sessions/$TWO/agents/solo/permissions" && jq -e '.permissions | length == 1' <<<"$output"; }
    eventually asked
    permission=$(jq -r '.permissions[0].permission' <<<"$output")
    for name in ann bob; do as "$name" GET /permissions; is 200 ".permissions | length == $([ "$name" = bob ] && echo 1 || echo 0)"; done
    as ann POST "/sessions/$TWO/agents/solo/permissions/$permission" -d '{"option":"allow"}'
    refused 403 missing_right "needs 'answer'"
    as bob POST "/sessions/$TWO/agents/solo/permissions/$permission" -d '{"option":"allow","mode":"bypass"}'
    refused 403 missing_right mode
    as bob POST "/sessions/$TWO/agents/solo/permissions/$permission" -d '{"option":"allow"}'
    is 200
    api GET "/sessions/$TWO/agents/solo/permissions"
    is 200 '.permissions == []'
    # under the name of who did it
    "$MAS" history "$TWO" solo --json --role permission | jq -e '.messages[-1].data.by == "guest:bob"'
    eventually grep -q "tcp bob POST /sessions/$TWO/agents/solo/permissions/$permission 200" "$ROOT/sessions/$TWO/logs/api.log"
    grep -q "tcp bob POST /sessions/$TWO/agents/solo/permissions/$permission 403" "$ROOT/sessions/.serve.log"
}

@test "a guest of one agent sees this agent alone" {
    two_sessions pair
    serve
    "$MAS" ask "$ONE" lead 'SAY:zebra-lead' >/dev/null
    "$MAS" ask "$ONE" reviewer 'SAY:zebra-reviewer' >/dev/null
    guest ann "$ONE" lead --answer
    as ann GET /pair
    is 200 '.agents == ["lead"] and .session == "'"$ONE"'"'
    as ann GET "/sessions/$ONE"
    is 200 '[.agents[].id] == ["lead"] and .name == "one"'
    as ann GET "/sessions/$ONE/agents/lead/history"
    is 200 '.messages | map(tostring) | any(test("zebra-lead"))'
    for path in "" /history /permissions /screen /log /diff /commits; do
        as ann GET "/sessions/$ONE/agents/reviewer$path"
        said=${output//reviewer/AGENT}
        refused 404 not_found "there is no agent 'reviewer'"
        as ann GET "/sessions/$ONE/agents/nobody$path"
        [ "$said" = "${output//nobody/AGENT}" ]
    done
    as ann GET "/search?q=zebra"
    refused 403 missing_right 'query agent'
    as ann GET "/search?q=zebra&agent=reviewer"
    refused 403 missing_right 'query agent'
    as ann GET "/search?q=zebra&agent=lead"
    is 200 '(.messages | length > 0) and all(.messages[]; .agent == "lead")'
    # a conversation of the other one is not reached by its id
    conversation=$("$MAS" history "$ONE" reviewer --json --queries | jq -r '[.. | .conversation? // empty][0]')
    [ ${#conversation} -eq 36 ]
    as ann GET "/sessions/$ONE/agents/lead/history?conversation=$conversation"
    run ! grep -q zebra-reviewer <<<"$output"
    CURL=''
    listens ann "?live=$ONE/reviewer"
    "$MAS" ask "$ONE" reviewer 'SAY:again-reviewer ASK' >/dev/null 2>&1 3>&- &
    asked() { api GET /permissions && jq -e '.permissions | length == 1' <<<"$output"; }
    eventually asked
    as ann GET /permissions
    is 200 '.permissions == []'
    "$MAS" ask "$ONE" lead 'SAY:again-lead' >/dev/null
    eventually grep -q again-lead "$T/ann.events"
    run ! grep -q reviewer "$T/ann.events"
}

@test "a guest with all rights prompts under the own name, as long as every agent has a required wall" {
    walled_sessions
    serve
    guest ann "$ONE" --full
    guest bob "$ONE" --full
    for name in ann bob; do
        as "$name" POST "/sessions/$ONE/agents/solo/prompts" -d "{\"prompt\":\"SAY:from-$name\"}"
        is 202
    done
    as ann POST "/sessions/$ONE/messages" -d '{"target":"solo","message":"SAY:a-message"}'
    is 200
    "$MAS" wait "$ONE" solo
    api GET "/sessions/$ONE/agents/solo/history?role=user"
    is 200 '[.messages[].sender] == ["guest:ann", "guest:bob", "guest:ann"]'
    "$MAS" history "$ONE" solo | grep -q 'guest:bob'
    grep -q 'guest:ann' "$DIR/logs/session.log"
    for prompt in /login ' /login' '!id' '#keep'; do # which agents take for commands
        as ann POST "/sessions/$ONE/agents/solo/prompts" -d "{\"prompt\":\"$prompt\"}"
        refused 409 conflict 'cannot begin with'
        as ann POST "/sessions/$ONE/messages" -d "{\"target\":\"solo\",\"message\":\"$prompt\"}"
        [[ $output == *'cannot begin with'* ]]
    done
    as ann POST "/sessions/$ONE/messages" -d '{"target":"solo","message":"a","execute":false}'
    refused 403 missing_right 'unsent'
    # nobody is another one by what they send
    for body in '{"prompt":"SAY:x","tags":["a:b"]}' '{"then":"SAY:x","mode":"bypass"}'; do
        path=prompts
        [[ $body != *then* ]] || path=clear
        as ann POST "/sessions/$ONE/agents/solo/$path" -d "$body"
        refused 403 missing_right 'may not set'
    done
    as ann POST "/sessions/$ONE/agents/solo/clear" -d '{"then":"SAY:anew"}'
    is 200
    as ann POST "/sessions/$ONE/agents/solo/mode" -d '{"mode":"bypass"}'
    refused 403 missing_right "may not do this"
    as ann POST "/sessions/$ONE/agents/solo/restart"
    is 200
    # the owner takes the wall away
    echo 'wall.level = off' >>"$ROOT/mas.ini"
    sed -i '/wall.level = require/d' "$ROOT/mas.ini"
    for try in prompts:prompt clear:then; do
        as ann POST "/sessions/$ONE/agents/solo/${try%:*}" -d "{\"${try#*:}\":\"SAY:x\"}"
        refused 403 missing_right 'required wall'
    done
    as ann POST "/sessions/$ONE/messages" -d '{"target":"solo","message":"SAY:x"}'
    refused 403 missing_right 'required wall'
    as ann GET "/sessions/$ONE/agents/solo"
    is 200
    "$MAS" stop -q "$ONE"
    "$MAS" start -q "$ONE"
    as ann POST "/sessions/$ONE/agents/solo/prompts" -d '{"prompt":"SAY:x"}'
    refused 403 missing_right 'required wall'
    # the settings ask for it again, but what runs has none
    sed -i 's/^wall.level = off/wall.level = require/' "$ROOT/mas.ini"
    as ann POST "/sessions/$ONE/agents/solo/prompts" -d '{"prompt":"SAY:x"}'
    refused 403 missing_right 'none now'
    fails 4 invite "$ONE" --full
    [[ $stderr == *'who can prompt an agent without a required wall is its owner'* ]]
}

@test "what a guest allows holds once: no rule, no plan, which sets a mode; and a prompt is no command" {
    acp_agent
    serve
    guest ann "$ID" --answer
    asked() { api GET "/sessions/$ID/agents/solo/permissions" && jq -e '.permissions | length == 1' <<<"$output"; }
    answers() { as ann POST "/sessions/$ID/agents/solo/permissions/$permission" -d "{\"option\":\"$1\"}"; }
    "$MAS" ask "$ID" solo ASK >/dev/null 2>&1 3>&- &
    eventually asked
    permission=$(jq -r '.permissions[0].permission' <<<"$output")
    for option in yes-2 allow_always; do
        answers "$option"
        refused 409 conflict 'once'
    done
    answers yes-1
    is 200
    "$MAS" ask "$ID" solo APPROVE >/dev/null 2>&1 3>&- &
    eventually asked
    permission=$(jq -r '.permissions[0].permission' <<<"$output")
    for option in clear acceptEdits default allow; do
        answers "$option"
        refused 409 conflict 'no plan'
    done
    answers deny
    is 200
}

@test "a request that a guest has begun does nothing once the guest has ended" {
    walled_sessions
    serve
    guest ann "$ONE" --full
    python3 - "$URL" "$(cat "$T/ann.token")" "/sessions/$ONE/agents/solo/prompts" "$T" 3>&- <<'END' &
import os, socket, sys, time
url, token, path, here = sys.argv[1:]
host, port = url.split("//")[1].split(":")
body = b'{"prompt":"SAY:too-late"}'
with socket.create_connection((host, int(port))) as to:
    to.sendall(f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n"
               f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body[:-1])
    open(f"{here}/held", "w").close()
    while not os.path.exists(f"{here}/ended"):
        time.sleep(0.02)
    to.sendall(body[-1:])
    with open(f"{here}/status", "wb") as status:
        status.write(to.makefile("rb").readline())
END
    late=$!
    eventually test -e "$T/held"
    "$MAS" invite --end ann
    touch "$T/ended"
    wait "$late"
    grep -q ' 401 ' "$T/status"
    "$MAS" ask "$ONE" solo SAY:after >/dev/null
    run ! grep -q too-late <("$MAS" history "$ONE" solo)
}

@test "what a guest is refused by the hosts, too: only a person decides of a budget" {
    acp_agent
    frame() { "${MAS%/*}/test/tools/ask" "$DIR/run" solo "$1"; }
    for try in '{"do":"permit","more":"turns=5","guest":"ann"}|only a person may' \
        '{"do":"seen","guest":"ann"}|only a person' '{"do":"permit","guest":"a b"}|the guest has no name' \
        '{"do":"permit","guest":7}|the guest has no name'; do
        run frame "${try%|*}"
        [[ $output == *"${try#*|}"* ]] || { echo "${try%|*}: $output"; return 1; }
    done
}

@test "an invitation ends at its time, by --end and with its session, also where the guest listens" {
    two_sessions solo
    serve
    guest soon "$ONE" --read-only --expires 15s
    guest ann "$ONE" --read-only
    guest bob "$ONE" --read-only
    guest other "$TWO" --read-only
    CURL=''
    for name in soon ann bob other; do
        listens "$name"
        eval "$name=${CURL##* }"
    done
    # shellcheck disable=SC2154 # set by eval
    eventually ended "$soon"
    as soon GET /sessions
    refused 401 unauthorized wrong
    "$MAS" invite --end ann
    as ann GET /sessions
    refused 401 unauthorized wrong
    # shellcheck disable=SC2154
    eventually ended "$ann"
    fails 3 invite --end ann
    code=$("$MAS" invite "$ONE" --read-only --name late --json | jq -r .code)
    "$MAS" stop -q "$ONE"
    as bob GET /sessions
    is 200 '.sessions[0].status == "stopped"'
    "$MAS" archive -q "$ONE" --output "$T/one.tar.zst"
    "$MAS" rm "$ONE"
    as bob GET /sessions
    refused 401 unauthorized wrong
    # shellcheck disable=SC2154
    eventually ended "$bob"
    TOKEN=none api POST /pair -d "{\"code\":\"$code\"}"
    refused 403 forbidden 'no longer valid'
    # it comes back without its guests
    "$MAS" restore -q "$T/one.tar.zst"
    as bob GET /sessions
    refused 401 unauthorized wrong
    guest back "$ONE" --read-only
    eventually rm -rf "$ROOT/sessions/$ONE" # by hand
    "$MAS" restore -q --name again "$T/one.tar.zst"
    as back GET /sessions
    refused 401 unauthorized wrong
    as other GET /sessions
    is 200 '.total == 1'
    # shellcheck disable=SC2154
    kill -0 "$other"
    "$MAS" invite --list --json | jq -e '[.guests[].name] == ["other"]'
}

@test "what was found for a guest who ended meanwhile is not told" {
    two_sessions solo
    "$MAS" ask "$ONE" solo 'SAY:zebra' >/dev/null
    printf '#!/bin/sh\n"%s" --root "%s" invite --end ann\nexit 1\n' "$MAS" "$ROOT" >"$T/embed"
    chmod +x "$T/embed"
    printf '[memory]\nembed_command = %s/embed\n' "$T" >>"$ROOT/mas.ini"
    serve
    guest ann "$ONE" --read-only
    as ann GET "/sessions/$ONE/agents/solo/context?for=zebra"
    refused 401 unauthorized 'not valid any more'
}

@test "clean ends the guests of what it removes" {
    new_session -t solo --no-start
    ONE=$ID
    serve
    guest ann "$ONE" --read-only
    "$MAS" clean --keep 0 --older-than 0s -q || "$MAS" clean --keep 0 -q
    [ -z "$("$MAS" list --all -q)" ]
    as ann GET /sessions
    is 401
    run ! grep -q ann "$ROOT/sessions/.serve.tokens"
}
