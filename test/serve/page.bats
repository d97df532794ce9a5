#!/usr/bin/env bats
# The page: its files and their headers, and what a person does with it in a browser.
load ../helper
load ../host/lib
load ../acp/lib
load lib
load page

@test "the page and its files need no token; their headers forbid what the page does not need" {
    serve
    TOKEN=none
    for path in / /page/app.js /page/style.css; do
        api GET "$path"
        is 200
        [[ $(header Content-Security-Policy) == "default-src 'none'; script-src 'self'; style-src 'self';"*"frame-ancestors 'none'"*"require-trusted-types-for 'script'"* ]]
        [ "$(header X-Frame-Options)" = DENY ]
        [ "$(header X-Content-Type-Options)" = nosniff ]
        [ "$(header Referrer-Policy)" = no-referrer ]
        etag=$(header ETag)
        api GET "$path" -H "If-None-Match: $etag"
        is 304
    done
    api GET /
    [[ $(header Content-Type) == text/html* ]]
    api GET /page/app.js
    [[ $(header Content-Type) == text/javascript* ]]
    cmp "$T/body" "$PROJECT/src/serve/page/app.js"
    api GET /page/nothing.js
    refused 404 not_found ''
    api GET / -H 'Host: evil.example'
    refused 403 forbidden Host
    api GET /page/app.js -H 'Origin: https://evil.example'
    refused 403 forbidden Origin
}

@test "every file of the page is served, and none makes markup of text or loads anything from elsewhere" {
    serve
    local files=$PROJECT/src/serve/page
    for file in "$files"/*; do
        [ "${file##*/}" = index.html ] || { api GET "/page/${file##*/}"; is 200; }
    done
    run grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML|srcdoc|eval\(|new Function|javascript:' "$files"/*
    [ -z "$output" ]
    run grep -nE '<script[^>]*>[^<]|<style| style=| on[a-z]+="' "$files/index.html"
    [ -z "$output" ]
    run grep -nE 'https?://' "$files"/*.html "$files"/*.css "$files"/*.js
    [ -z "$output" ]
}

@test "a browser may answer at the address that it got the page from, and no other number" {
    serve
    port=${URL##*:}
    api GET /sessions -H 'Host: 10.1.2.3:8765' -H 'Origin: http://10.1.2.3:8765'
    is 200
    for origin in http://10.1.2.3 http://10.1.2.3:1 http://10.1.2.4:8765 "http://evil.example:$port" null; do
        api GET /sessions -H 'Host: 10.1.2.3:8765' -H "Origin: $origin"
        refused 403 forbidden Origin
    done
    api GET /sessions -H 'Host: evil.example' -H 'Origin: http://evil.example'
    refused 403 forbidden Host
}

# listens COUNT: so many clients listen to events.
listens() { api GET /metrics && grep -qx "mas_event_listeners $1" "$T/body"; }

grows_by_two() { grep -A1 '^event: live' "$T/live" | grep -q '"text":"[^"]*two'; }

@test "what an agent says comes while it says it, to those who asked for it, and again after a break" {
    acp_agent
    serve
    hear
    timeout 60 curl -sSN -H "Authorization: Bearer $TOKEN" "$URL/events?live=$ID/solo" >"$T/live" 3>&- &
    local curl=$!
    eventually grep -q '^retry: ' "$T/live"
    timeout 60 curl -sSN -H "Authorization: Bearer $TOKEN" "$URL/events?live=$ID/other,$ID/solo" >"$T/both" 3>&- &
    local both=$!
    eventually grep -q '^retry: ' "$T/both"
    "$MAS" ask "$ID" solo 'SAY:"one " ASK SAY:two' --no-wait
    eventually grep -q '^event: permission' "$T/live"
    grep -A1 '^event: live' "$T/live" | grep -q '"role":"agent","at":0,"text":"one "'
    local last
    last=$(sed -n 's/^id: //p' "$T/live" | tail -n 1)
    eventually grep -q '"role":"agent","at":0,"text":"one "' "$T/both"
    kill "$curl" "$both"
    wait "$curl" "$both" || true
    eventually listens 1 # the server has seen it go
    "$MAS" approve "$ID" solo
    eventually came message '.role == "agent"'
    timeout 60 curl -sSN -H "Last-Event-ID: $last" -H "Authorization: Bearer $TOKEN" "$URL/events?live=$ID/solo" >"$T/live" 3>&- &
    curl=$!
    eventually grep -q '^event: message' "$T/live"
    eventually grows_by_two
    kill "$curl"
    wait "$curl" || true
    run ! grep -q '"one "' "$T/live"
    unhear
    run ! grep -q '^event: live' "$T/events"
    local many
    printf -v many "$ID/solo,%.0s" {1..17}
    for bad in "$ID" "$ID/" "$ID/a/b" "x/solo" "$ID/so%20lo" "$ID/solo,$ID" "$ID/solo%20$ID/solo" "${many%,}"; do
        api GET "/events?live=$bad"
        refused 400 bad_request live
    done
}

@test "a person signs in, finds a session, asks its agent and reads the answer, on a phone and on a desk" {
    needs_browser
    acp_agent
    serve
    browse talk
}

@test "an answer that still comes is laid out already" {
    needs_browser
    acp_agent
    serve
    browse blocks
}

@test "permissions, plans, cancel, mode, clear, stop and start: each by a tap, at both sizes" {
    needs_browser
    acp_agent --plan-clears --boolean --option-slow 300 # so that the page learns later what it has set
    serve
    browse acts
}

@test "seven windows of one browser share a stream, and none says connected of one that does not live" {
    needs_browser
    acp_agent
    local other=$ID
    new_session -t solo --agent scripted
    serve
    browse windows "$other" "$SERVER"
}

@test "eight tabs of a browser without shared workers are connected, each while somebody looks at it" {
    needs_browser
    acp_agent
    serve
    browse tabs
}

@test "on a low window a question and its answers can be seen and reached" {
    needs_browser
    acp_agent
    serve
    browse low
}

@test "what is said to an agent goes as a prompt, now or aside, at both sizes and by keyboard" {
    needs_browser
    acp_agent --steer --fork
    serve
    browse ways
}

@test "Enter sends, Shift-Enter makes a line, and an input method keeps its own" {
    needs_browser
    acp_agent
    serve
    browse enters
}

@test "what an agent cannot do is said where it was asked for" {
    needs_browser
    acp_agent --steer promptRequired --fork none
    serve
    browse refusals
}

@test "a turn that failed and one that was stopped are told in red, with the reason" {
    needs_browser
    acp_agent
    serve
    browse ends
}

@test "of a stopped session, or one without a project, the page says so in a person's words" {
    needs_browser
    new_session -t solo --no-start
    serve
    browse stopped
}

@test "Now and Aside are offered where the agent can do them" {
    needs_browser
    run_acp ""
    serve
    browse offers "$T/options"
}

@test "an aside that a killed server has forgotten is said to be lost" {
    needs_browser
    acp_agent --fork
    serve
    browse asides_lost "$SERVER"
}

@test "forms of an agent are filled in, the first answer wins, and what is secret is on no disk" {
    needs_browser
    acp_agent
    serve
    browse forms
    was_sent TOPSECRET7
    run ! grep -rqF TOPSECRET "$ROOT"
}

@test "what agents of all sessions ask is answered where the page begins" {
    needs_browser
    acp_agent
    local other=$ID
    new_session -t solo --agent scripted
    mkdir -p "$ROOT/sessions/.limits"
    printf 'claude\n5h 62 0 %s000\nweek 31 0 %s000\n' "$(date +%s)" "$(date +%s)" >"$ROOT/sessions/.limits/x.quota"
    serve
    browse inbox "$other"
}

@test "a sentence begins a session from the page, and what is refused is said there" {
    needs_browser
    acp_agent
    printf '[session]\npreset = scripted\n' >>"$ROOT/mas.ini"
    serve
    browse begin
    [ "$("$MAS" list -q | wc -l)" = 3 ]
}

@test "an agent whose budget is used up goes on by a tap" {
    needs_browser
    run_acp "" 'budget.turns = 1'
    serve
    browse budget
}

@test "comments on an agent's changes reach it with file and line" {
    needs_browser
    . "$BATS_TEST_DIRNAME/../cli/code.bash"
    make_project
    acp_preset scripted
    new_session -t solo --agent scripted --project "$P"
    sed -i '3s/.*/changed/' "$ROOT/sessions/$ID/code/solo/a"
    echo "$ROOT/sessions/$ID/code/solo" >"$T/tree"
    serve
    browse review
}

@test "what was said in any session is found by its words" {
    needs_browser
    acp_agent
    serve
    browse found
}

@test "what all sessions and accounts have used is on a view of its own" {
    needs_browser
    printf '[account work]\nenv.LOGIN = one\n' >>"$ROOT/mas.ini"
    chmod 600 "$ROOT/mas.ini"
    acp_preset scripted
    new_session -n first -t solo --agent scripted --account work
    "$MAS" ask first solo COST:1.5 >/dev/null
    new_session -n other -t solo --agent scripted
    "$MAS" ask other solo COST:0.25 >/dev/null
    serve
    browse used
}

@test "changes and use of all agents of a session are in one place; a guest of one agent sees neither" {
    needs_browser
    . "$BATS_TEST_DIRNAME/../cli/code.bash"
    make_project
    acp_preset scripted
    new_session -t solo --agent scripted --project "$P"
    "$MAS" add -q "$ID" --agent scripted --as two
    "$MAS" add -q "$ID" --agent scripted --as three
    for agent in solo two; do sed -i "3s/.*/by $agent/" "$ROOT/sessions/$ID/code/$agent/a"; done
    git -C "$ROOT/sessions/$ID/code/two" commit -qam 'First'
    sed -i '3s/.*/by two/' "$ROOT/sessions/$ID/code/two/b"
    git -C "$ROOT/sessions/$ID/code/two" commit -qam 'Second'
    printf '[code]\ncheck = grep "by two" a\n' >>"$ROOT/mas.ini"
    echo "$ROOT/sessions/$ID/code/solo" >"$T/tree"
    serve
    browse together
}

@test "the browser tells who waits once it was asked to, and can keep the page as an app" {
    needs_browser
    acp_agent
    serve
    browse notices
}

@test "the page works by keyboard alone, with the focus in sight" {
    needs_browser
    acp_agent
    serve
    browse keys
}

@test "what an agent writes is drawn as Markdown, as the pane has it: links, tables, quotes, code that can be copied" {
    needs_browser
    acp_agent
    serve
    local specification=/usr/share/gocode/src/github.com/yuin/goldmark/_test/spec.json
    [ -e "$specification" ] || specification=
    # shellcheck disable=SC2086 # none, or one word
    browse drawn $specification
}

@test "markup and scripts that an agent, a prompt or a name has in it stay text, and the policy stops the rest" {
    needs_browser
    acp_agent
    serve
    browse markup
}

@test "markup in labels, titles, options, plans, and in names and contents of files is text" {
    needs_browser
    . "$BATS_TEST_DIRNAME/../cli/code.bash"
    local evil='<img src=x onerror="window.evil=1"><script>window.evil=2</script>'
    make_project
    printf '%s' "$evil" >"$T/mark"
    acp_preset scripted --mark "$T/mark"
    new_session -t solo --agent scripted --project "$P"
    echo "$evil" >"$ROOT/sessions/$ID/code/solo/${evil%%<script*}"
    serve
    browse labels "$evil"
}

@test "a guest of mas invite sees one session, answers there, and is asked to sign in when the invitation ends" {
    needs_browser
    acp_agent
    local other
    other=$("$MAS" new -q -t solo --no-start)
    serve
    browse invited "${other%% *}"
}

@test "a browser signs in by a code or by a token, may do what its token may, and signs out" {
    needs_browser
    acp_agent
    serve
    browse entries
    # a code; parts of a UUID may be digits alone, too
    run ! grep -rqE "(^|[^0-9a-f-])[A-Z0-9]{4}-[A-Z0-9]{4}([^0-9a-f-]|$)|$TOKEN" "$ROOT/sessions/.serve.log" "$ROOT/sessions/$ID/logs"
}
