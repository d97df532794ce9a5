#!/usr/bin/env bats
# Addresses that answer with what a verb prints: search, usage, du, doctor, templates, diff, screens.
load ../helper
load ../host/lib
load ../acp/lib
load ../project
load lib

# same ADDRESS VERB...: the address answers with what the verb prints as JSON
same() {
    api GET "$1"
    is 200
    shift
    [ "$(jq -S . <<<"$output")" = "$({ "$MAS" "$@" --json 2>/dev/null || :; } | jq -S .)" ]
}

@test "each of them is what its verb prints" {
    acp_agent
    "$MAS" ask "$ID" solo SAY:harbour >/dev/null
    serve
    same "/search?q=harbour" search harbour
    jq -e '.total > 0' <<<"$output"
    same "/search?q=harbour&role=user&limit=1&agent=solo&session=$ID" search harbour --role user -n 1
    same /usage usage
    same "/usage?by=agent" usage --by agent
    same /quota usage --quota
    same "/sessions/$ID/usage" usage "$ID"
    same /templates template list
    same /templates/solo template show solo
    same /templates/solo/check template check solo
    same /presets presets
    same /doctor doctor
    same /config --root "$ROOT" config
    same "/sessions/$ID/env" env "$ID"
    same "/sessions/$ID/agents/solo/history" history "$ID" solo
    api GET /du
    is 200 '.sessions[0].sessionId == "'"$ID"'"'
    api GET "/sessions/$ID/du"
    is 200 '.sessions | length == 1'
    api GET "/sessions/$ID/agents/solo/screen"
    is 200 '.agents[0].id == "solo"'
    api GET "/sessions/$ID/agents/solo/screen?history=5"
    is 200
}

@test "what doctor and a check of a template find is the answer, not an error" {
    new_session -t solo --no-start
    cp -r "$ROOT/templates/solo" "$ROOT/templates/mine"
    echo 'frob = 1' >>"$ROOT/templates/mine/template.ini"
    echo junk >"$ROOT/sessions/$ID/.session"
    serve
    same /templates/mine/check template check mine
    is 200 '.errors == 1 and (.remarks[0].text | test("frob"))'
    same /doctor doctor
    is 200 '.findings | any(.state == "open" and .subject == "'"$ID"'")'
    api GET /templates/nope/check
    refused 404 not_found "cannot use template 'nope': there is no such template"
    fails 3 template check nope
}

@test "sessions that are jobs of Slurm are those of mas list" {
    local id=11111111-2222-4333-8444-555555555555
    mkdir "$T/bin"
    export PATH=$T/bin:$PATH
    printf '[host gpu]\nvia = slurm:teams\nstore = %s\n' "$T/store" >>"$ROOT/mas.ini"
    serve
    api GET /jobs
    is 200 '.jobs == []'
    mkdir -m 700 "$T/store" "$T/store/$id"
    printf 'SESSION_ID=%s\nHOST=gpu\nNAME=big\nTEMPLATE=solo\nPARTITION=teams\nSUBMITTED_AT=2026-01-01T00:00:00Z\nJOB=7\nSCRIPT=/x\nROOT=/r\nCOMMAND=x\nOPTIONS=x\n' "$id" >"$T/store/$id/job"
    chmod 600 "$T/store/$id/job"
    printf '#!/bin/sh\necho "7|PENDING|0|0|n/a|mas:%s|Priority"\n' "$id" >"$T/bin/squeue"
    chmod +x "$T/bin/squeue"
    same /jobs list --jobs
    is 200 '.jobs | map([.sessionId, .state, .reason, .job]) == [["'"$id"'", "pending", "Priority", 7]]'
    same "/jobs?error=true" list --jobs --error
    is 200 '.jobs == []'
    api GET "/jobs?active=maybe"
    refused 400 bad_request 'active: it is neither'
    mas list --jobs -q
    [ "$output" = "$id" ]
    mas list --jobs
    [[ ${lines[1]} = *' big '*' gpu '*'pending: Priority' ]]
}

@test "what an agent has changed is told as files and hunks" {
    make_project
    new_session -t solo -n one --no-start --project "$P"
    commit solo c 'of solo'
    serve
    same "/sessions/$ID/diff" diff one
    jq -e '.. | strings | select(. == "c")' <<<"$output" >/dev/null
    same "/sessions/$ID/agents/solo/diff?stat=true" diff one solo --stat
    api GET "/sessions/$ID/diff?stat=maybe"
    refused 400 bad_request 'stat: it is neither'
}

@test "an unchanged answer is a 304" {
    new_session -t solo --no-start
    serve
    api GET /templates/solo
    is 200
    tag=$(header etag)
    [ -n "$tag" ]
    api GET /templates/solo -H "If-None-Match: $tag"
    is 304
}

@test "what is missing, wrong or unknown is refused" {
    serve
    api GET /search
    refused 400 bad_request 'the query q'
    api GET '/search?q='
    is 400
    api GET '/search?q=x&limit=no'
    is 400
    printf '[host n1]\nvia = ssh:n1\n' >>"$ROOT/mas.ini"
    api GET '/search?q=x&session=n1:shop'
    refused 400 bad_request 'session: it is not a session of this root'
    api GET '/search?q=x&other=1'
    refused 400 bad_request "query 'other'"
    api GET '/usage?by=weather'
    is 400
    api GET /templates/nosuch
    is 404
    api GET /templates/.hidden
    is 404
    api GET '/templates/a:b'
    is 404
    api GET /sessions/11111111-1111-4111-8111-111111111111/diff
    is 404
    post /du '{}'
    refused 405 bad_method POST
}

@test "words to search for stand on no command line" {
    acp_agent
    # shellcheck disable=SC2016 # for the program
    printf '#!/bin/sh\ntr "\\0" " " <"/proc/$PPID/cmdline" >>"%s/lines"\nexit 1\n' "$T" >"$T/embed"
    chmod +x "$T/embed"
    printf '[memory]\nembed_command = %s/embed\n' "$T" >>"$ROOT/mas.ini"
    "$MAS" ask "$ID" solo SAY:one >/dev/null
    serve
    api GET '/search?q=--a%20secret'
    is 200
    grep -q 'search --json' "$T/lines"
    run ! grep secret "$T/lines"
}

@test "those who ask the same at the same time share a process, and each gets what was there when it asked" {
    acp_agent
    mkfifo "$T/go"
    # shellcheck disable=SC2016 # for the program
    printf '#!/bin/sh\necho "$PPID" >>"%s/ran"\nif [ -e "%s/hold" ]; then read -r _ <"%s/go"; fi\nexit 1\n' "$T" "$T" "$T" >"$T/embed"
    chmod +x "$T/embed"
    serve
    "$MAS" ask "$ID" solo SAY:common-first >/dev/null
    printf '[memory]\nembed_command = %s/embed\n' "$T" >>"$ROOT/mas.ini"
    : >"$T/hold"
    search() { # NUMBER [CURL OPTION...]
        curl -sSv -m 60 -o "$T/out.$1" -H "Authorization: Bearer $TOKEN" "${@:2}" "$URL/search?q=common" 2>"$T/said.$1" 3>&- &
    }
    search 0
    eventually test -s "$T/ran"
    "$MAS" ask "$ID" solo SAY:common-second >/dev/null
    for i in {1..10}; do search "$i"; done
    for i in {1..10}; do eventually grep -q '^> GET' "$T/said.$i"; done
    for i in 1 2 3; do api GET /healthz; done # the server has read what came before
    rm "$T/hold"
    echo go >"$T/go"
    answered() { for i in {0..10}; do jq -e .total "$T/out.$i" >/dev/null || return; done; }
    eventually answered
    [ "$(sort -u "$T/ran" | wc -l)" -eq 2 ]
    for i in {1..10}; do
        cmp "$T/out.1" "$T/out.$i"
        grep -q common-second "$T/out.$i"
    done
    # another question is another process
    api GET '/search?q=common&limit=1'
    [ "$(sort -u "$T/ran" | wc -l)" -eq 3 ]
}

@test "what cannot be found is said to all who share the question" {
    serve
    local asked=()
    for i in {1..20}; do
        curl -sS -m 60 -o "$T/out.$i" -w '%{http_code}\n' -H "Authorization: Bearer $TOKEN" "$URL/templates/nosuch" >"$T/code.$i" 3>&- &
        asked+=($!)
    done
    wait "${asked[@]}"
    [ "$(cat "$T"/code.* | sort | uniq -c | tr -s ' ')" = ' 20 404' ]
    for i in {1..20}; do jq -e '.error.code == "not_found" and (.error.hint | test("^the templates are: "))' "$T/out.$i" >/dev/null; done
}

@test "as many as like may ask the same; beyond 768 they are told to come again" {
    acp_agent
    mkfifo "$T/go"
    # shellcheck disable=SC2016 # for the program
    printf '#!/bin/sh\necho "$PPID" >>"%s/ran"\nif [ -e "%s/hold" ]; then read -r _ <"%s/go"; fi\nexit 1\n' "$T" "$T" "$T" >"$T/embed"
    chmod +x "$T/embed"
    "$MAS" ask "$ID" solo SAY:one >/dev/null
    printf '[memory]\nembed_command = %s/embed\n' "$T" >>"$ROOT/mas.ini"
    : >"$T/hold"
    serve
    cat >"$T/many.py" <<'END'
import os, select, socket, sys
url, token, t = sys.argv[1:]
host, port = url.removeprefix("http://").split(":")
def ask():
    one = socket.create_connection((host, int(port)))
    one.settimeout(120)
    one.sendall(f"GET /search?q=one HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n".encode())
    return one
first = ask()
while not os.path.exists(f"{t}/ran"):
    pass
others = [ask() for _ in range(775)]
busy = 0  # they are read in any order
while busy < 8:
    for one in select.select(others, [], [], 120)[0]:
        head = one.recv(4096)
        assert head.startswith(b"HTTP/1.1 503") and b"the server is busy" in head and b"try again" in head, head
        others.remove(one)
        busy += 1
assert not select.select(others, [], [], 0.5)[0]
os.unlink(f"{t}/hold")
with open(f"{t}/go", "w") as go:
    go.write("go\n")
for one in [first, *others]:
    assert one.recv(4096).startswith(b"HTTP/1.1 200")
print(len(others))
END
    run timeout 200 python3 -ES "$T/many.py" "$URL" "$TOKEN" "$T"
    echo "$output"
    [ "$output" = 767 ]
    [ "$(sort -u "$T/ran" | wc -l)" -eq 2 ]
}
