#!/usr/bin/env bats
# The programs for embed_command: what they ask, of whom, and where they stop.
load ../helper
load ../memory

# A server with planted vectors. It notes each request in $T/asked, and answers as $T/how says.
setup_more() {
    command -v curl jq >/dev/null || skip 'curl and jq are not installed'
    cat >"$T/server.py" <<'P'
import http.server, json, os, sys
here = sys.argv[1]
subjects = [("car", "automobile"), ("ship", "vessel"), ("bread", "loaf")]
class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        how = open(os.path.join(here, "how")).read().strip()
        with open(os.path.join(here, "asked"), "a") as asked:
            print(json.dumps([self.path, self.headers.get("Authorization"), request["model"], request["input"]]), file=asked)
        count = sum(1 for _ in open(os.path.join(here, "asked")))
        data = [{"index": i, "embedding": [sum(w in s for w in text.lower().split()) + 0.01 for s in subjects]}
                for i, text in enumerate(request["input"])]
        if how == "short":
            data = data[1:]
        body = json.dumps({"data": data[::-1]}).encode() if how != "garbage" else b"<html>"
        self.send_response(503 if how == "busy" or how.startswith("good") and count > int(how.split()[1]) else 200)
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
with open(os.path.join(here, "port.new"), "w") as port:
    print(server.server_port, file=port)
os.rename(os.path.join(here, "port.new"), os.path.join(here, "port"))
server.serve_forever()
P
    echo well >"$T/how"
    python3 -ES "$T/server.py" "$T" 3>&- >/dev/null 2>&1 &
    SERVER=$!
    eventually test -e "$T/port"
    URL=http://127.0.0.1:$(<"$T/port")/v1
    EMBED=$PROJECT/libexec/embed-openai
    export http_proxy=http://127.0.0.1:1 # nothing for this machine goes there
}

teardown_more() { [ -z "${SERVER-}" ] || kill "$SERVER"; }

# vectors WORDS...: what the program says of texts.
vectors() { printf '{"kind":"document","text":"%s"}\n' "$@" | "$EMBED" "$URL" small; }

@test "a search finds by vectors of a server what its words do not, and asks for each message once" {
    new_session -n s -t pair --no-start
    {
        user 'my automobile is red' '{agent: "lead"}'
        user 'the vessel sails'
        user 'a loaf of it'
    } | said "$ID" >/dev/null
    printf '[memory]\nembed_command = %s %s small\n' "$EMBED" "$URL" >>"$ROOT/mas.ini"
    export MAS_EMBED_KEY=sk-1
    [ "$(found car -n 1)" = "my automobile is red" ]
    [ "$(found ship -n 1)" = "the vessel sails" ]
    # which model it is shows in the first answer
    [ "$(jq -r '[.[0], .[1], .[2]] | join(" ")' "$T/asked" | sort -u)" = '/v1/embeddings Bearer sk-1 small' ]
    [ "$(jq '.[3] | length' "$T/asked" | xargs)" = '1 4 1' ]
    # Ollama is asked in the same way
    printf '{"text":"car"}' | OLLAMA_PORT=$(<"$T/port") "$PROJECT/libexec/embed-ollama" small | jq -e '.vector[0] > 1'
}

@test "many texts go in batches, and come in order" {
    mapfile -t texts < <(for i in {1..69}; do echo "car $i"; done)
    run --separate-stderr vectors "${texts[@]}" ship
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 70 ]
    [ "$(jq -s -c 'map(.vector[1] > 1) | index(true)' <<<"$output")" = 69 ]
    [ "$(jq '.[3] | length' "$T/asked" | xargs)" = '32 32 6' ]
    # what comes before a failure is kept, and the rest is made another time
    : >"$T/asked"
    echo good 1 >"$T/how"
    run --separate-stderr vectors "${texts[@]}"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 33 ]
    [ "${lines[32]}" = '{"more":true}' ]
}

@test "what a search has no time for is made by the next" {
    new_session -n s -t pair --no-start
    for i in {1..40}; do user "automobile $i" "{agent: \"lead\"}"; done | said "$ID" >/dev/null
    printf '[memory]\nembed_command = %s %s small\n' "$EMBED" "$URL" >>"$ROOT/mas.ini"
    echo good 2 >"$T/how"
    : >"$T/asked"
    ok search car
    [ -z "$stderr" ]
    : >"$T/asked"
    echo well >"$T/how"
    ok search car
    [ "$(jq '.[3] | length' "$T/asked" | xargs)" = 10 ]
}

@test "what answers nothing good is an error of one line" {
    for how in busy garbage short; do
        echo "$how" >"$T/how"
        run --separate-stderr vectors car ship
        [ "$status" -eq 1 ]
        [ -z "$output" ]
        [[ $stderr == "embed-openai: '127.0.0.1' answers with "* ]]
    done
    for bad in ftp://x/ http:// 'http:///x' 'http://a@b/' 'http://a"b/' "http://h/\$(id)"; do
        run --separate-stderr "$EMBED" "$bad" small </dev/null
        [ "$status" -eq 1 ]
        [[ $stderr == "embed-openai: '$bad' "* ]]
    done
    run --separate-stderr env MAS_EMBED_KEY='a"b' "$EMBED" "$URL" small </dev/null
    [ "$status" -eq 1 ]
    run --separate-stderr "$EMBED" http://127.0.0.1:1 small <<<'{"text":"x"}'
    [ "$status" -eq 1 ]
    [[ $stderr == 'embed-openai: '* ]]
}

@test "texts go to another machine only with embed_host, and those of a private session never" {
    new_session -n s -t pair --no-start --private
    user 'my automobile is secret' '{agent: "lead"}' | said "$ID" >/dev/null
    new_session -n open -t pair --no-start
    user 'my automobile is red' '{agent: "lead"}' | said "$ID" >/dev/null
    # a curl that tells what it would ask
    mkdir "$T/bin"
    printf '#!/bin/sh\necho "$@" >>%s/called\nexit 7\n' "$T" >"$T/bin/curl"
    chmod +x "$T/bin/curl"
    PATH=$T/bin:$PATH
    printf '[memory]\nembed_command = %s http://far.example/v1 small\n' "$EMBED" >>"$ROOT/mas.ini"
    ok search automobile
    [[ $stderr == *"no text goes to 'far.example': embed_host in [memory] of mas.ini does not name it"* ]]
    [ ! -e "$T/called" ]
    printf 'embed_host = far.example\n' >>"$ROOT/mas.ini"
    [[ $("$MAS" config) == *embed_host*far.example* ]]
    ok search automobile -s s
    [[ $stderr == *"no text goes to 'far.example'"* ]]
    [ ! -e "$T/called" ]
    ok search automobile
    grep -q 'http://far.example/v1/embeddings' "$T/called"
}
