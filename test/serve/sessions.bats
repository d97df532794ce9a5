#!/usr/bin/env bats
# GET /sessions and /sessions/{id}: what they say, pages, filters, tags.
load ../helper
load ../project
load lib

@test "an empty root has no sessions" {
    serve
    api GET /sessions
    is 200 '. == {"sessions": [], "total": 0}'
    [ "$(header content-type)" = application/json ]
}

@test "a session is listed with the fields of mas list --json" {
    new_session -t solo -n fix-login
    serve
    api GET /sessions
    is 200 '.total == 1 and (.sessions[0] |
        .sessionId == "'"$ID"'" and .tmuxSession == "mas-'"${ID:0:8}"'" and .status == "active" and
        .mode == "isolated" and .name == "fix-login" and .template == "solo" and
        .workingDir == "'"$ROOT/sessions/$ID"'" and (.createdAt | test("Z$")))'
    [ "$(jq -S 'del(.sessions[] | .lastActivity, .agentStates, .agentsRunning, .agentsEnded)' <<<"$output")" = \
        "$("$MAS" list --json | jq -S 'del(.sessions[] | .lastActivity, .agentStates, .agentsRunning, .agentsEnded)')" ]
}

@test "what the command line does is seen at once" {
    serve
    api GET /sessions
    is 200 '.total == 0'
    new_session -t solo
    api GET /sessions
    is 200 '.total == 1 and .sessions[0].status == "active"'
    "$MAS" stop -q "$ID"
    api GET /sessions
    is 200 '.sessions[0].status == "stopped" and .sessions[0].crashed == false'
    "$MAS" start -q "$ID"
    api GET /sessions
    is 200 '.sessions[0].status == "active"'
    "$MAS" rm -qf "$ID"
    api GET /sessions
    is 200 '.total == 0'
}

@test "a tmux session that is killed by hand is a crash within a moment" {
    new_session -t solo
    serve
    api GET /sessions
    is 200 '.sessions[0].status == "active"'
    tm kill-session -t "=mas-${ID:0:8}"
    crashed() { api GET /sessions && jq -e '.sessions[0].crashed' <<<"$output" >/dev/null; }
    eventually crashed
    is 200 '.sessions[0].status == "stopped"'
}

@test "limit and offset make pages, total counts them all" {
    for name in one two three; do "$MAS" new -q -t solo --no-start -n "$name"; done
    serve
    api GET '/sessions?limit=2'
    is 200 '.total == 3 and [.sessions[].name] == ["one", "two"]'
    api GET '/sessions?limit=2&offset=2'
    is 200 '.total == 3 and [.sessions[].name] == ["three"]'
    api GET '/sessions?offset=7'
    is 200 '.total == 3 and .sessions == []'
    api GET '/sessions?limit=0'
    is 200 '.total == 3 and .sessions == []'
}

@test "status and mode choose" {
    "$MAS" new -q -t solo --no-start -n idle
    "$MAS" new -q -t solo -n busy
    "$MAS" new -q -t solo --no-start -n old --mode legacy
    serve
    api GET '/sessions?status=active'
    is 200 '.total == 1 and .sessions[0].name == "busy"'
    api GET '/sessions?status=stopped,error'
    is 200 '[.sessions[].name] | sort == ["idle", "old"]'
    api GET '/sessions?mode=legacy'
    is 200 '[.sessions[].name] == ["old"]'
    api GET '/sessions?mode=legacy&status=active'
    is 200 '.total == 0'
}

@test "queries that are wrong are refused by name" {
    serve
    for query in limit=-1 limit=x limit= limit=99999999999 offset=1x status=gone status= mode=both \
        limits=1 'limit=1&limit=2' 'status=%zz' 'status=%00' 'mode=%0a'; do
        api GET "/sessions?$query"
        refused 400 bad_request "query"
    done
}

@test "a tag says that nothing has changed" {
    "$MAS" new -q -t solo --no-start -n one
    serve
    api GET /sessions
    is 200
    tag=$(header etag)
    [ -n "$tag" ]
    api GET /sessions -H "If-None-Match: $tag"
    is 304
    [ -z "$output" ]
    "$MAS" new -q -t solo --no-start -n two
    api GET /sessions -H "If-None-Match: $tag"
    is 200 '.total == 2'
    [ "$(header etag)" != "$tag" ]
}

@test "one session is told whole, as mas show --json tells it" {
    new_session -t solo --no-start
    serve
    api GET "/sessions/$ID"
    is 200 '.sessionId == "'"$ID"'" and .agents[0].id == "solo" and .unitDir == .workingDir + "/unit"'
    [ "$(jq -S 'del(.disk)' <<<"$output")" = "$("$MAS" show "$ID" --json | jq -S 'del(.disk)')" ]
}

@test "a damaged session is listed as an error, with the reason, and hides no other" {
    new_session -t solo
    "$MAS" new -q -t solo -n good
    echo nonsense >"$ROOT/sessions/$ID/.session"
    serve
    api GET '/sessions?status=error'
    is 200 '.total == 1 and (.sessions[0].reason | length > 0)'
    api GET '/sessions?status=active'
    is 200 '.sessions[0].name == "good"'
}

@test "HEAD is GET without a body" {
    serve
    [ "$(curl -sS -I -H "Authorization: Bearer $TOKEN" "$URL/sessions" | head -c 12)" = 'HTTP/1.1 200' ]
}

@test "a session is told while the metadata lock is held and the index is gone" {
    new_session -t solo --no-start
    serve
    rm "$ROOT/sessions/.sessions.index"
    exec 8<"$ROOT/sessions/.sessions.lock"
    flock 8
    local i asking=()
    for i in 1 2 3; do
        curl -sSf -m 10 -o "$T/told.$i" -H "Authorization: Bearer $TOKEN" "$URL/sessions/$ID" 3>&- 8<&- &
        asking+=($!)
    done
    for i in "${asking[@]}"; do wait "$i"; done
    exec 8<&-
    for i in 1 2 3; do [ "$(jq -r .sessionId "$T/told.$i")" = "$ID" ]; done
    api GET /sessions
    is 200 '.total == 1'
}

@test "a stopped session that is damaged is listed as an error" {
    new_session -t solo --no-start
    serve
    api GET '/sessions?status=error'
    is 200 '.total == 0'
    # shellcheck disable=SC2016 # nobody is to run it
    echo 'STATUS=$(date)' >>"$ROOT/sessions/$ID/.session"
    api GET '/sessions?status=error'
    is 200 '.total == 1 and .sessions[0].sessionId == "'"$ID"'" and (.sessions[0].reason | test("session"))'
    api GET /sessions
    is 200 '.sessions[0].status == "error"'
}

@test "to tell of one session the server starts no git, and leaves what others have found of its code" {
    make_project
    new_session -t pair -n one --no-start --project "$P"
    commit lead c 'of lead'
    found=$("$MAS" show one --json | jq '.agents[] | select(.id == "lead").code')
    [ "$(jq .ahead <<<"$found")" = 1 ]
    counts=$("$MAS" list --json | jq '.sessions[0].code')
    serve
    api GET "/sessions/$ID"
    is 200 '.project.path == "'"$P"'" and .project.unlanded == null and .project.replaced == null and (.project.gone | not) and all(.agents[]; .code == null)'
    [ "$("$MAS" list --json | jq '.sessions[0].code')" = "$counts" ]
}
