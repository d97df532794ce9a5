#!/usr/bin/env bats
# shellcheck disable=SC2153 # TOKEN is lib.bash's
# Tokens with names and rights: what each may do, how they end, what is kept of them.
load ../helper
load lib

# as NAME METHOD PATH [CURL OPTION...]: api with the token in $T/NAME.token
as() {
    local TOKEN
    TOKEN=$(cat "$T/$1.token")
    api "${@:2}"
}

# new_token NAME OPTION...
new_token() { "$MAS" serve token add "$@" >"$T/$1.token"; }

# The operations of the description with the right that each needs: METHOD PATH RIGHT
operations() {
    api GET /openapi.json
    jq -r '.paths | to_entries[] | .key as $path | .value | to_entries[] | select(.key != "parameters")
        | "\(.key | ascii_upcase) \($path) \(.value.security[0].token[0] // "none")"' <<<"$output"
}

# An address that the path of an operation stands for, of no session that is there
address() {
    sed 's/{id}/11111111-1111-4111-8111-111111111111/; s/{agent}/solo/; s/{item}/x/' <<<"$1"
}

@test "each address of the description refuses a token without the right that it names, and no other" {
    local method path needs name refused
    new_session -t solo --no-start
    serve
    new_token look --read-only
    new_token phone --answer
    new_token all --full
    operations >"$T/operations"
    [ "$(wc -l <"$T/operations")" -ge 40 ]
    while read -r method path needs; do
        for name in look:read phone:answer all:full; do
            case $needs:${name#*:} in
            answer:read | full:read | full:answer) refused=true ;;
            *) refused=false ;;
            esac
            # events do not end; what is there begins at once
            as "${name%:*}" "$method" "$(address "$path")" -d '{"x":1}' -m 2 2>/dev/null || true
            if [ "$refused" = true ]; then
                refused 403 missing_right "the token '${name%:*}' has the right '${name#*:}', but this address needs '$needs'"
                jq -e '.error.hint | test("GET /pair") and (test("mas [a-z]") | not)' <<<"$output"
            else
                [ "$status" != 403 ] && [ "$status" != 401 ] || { echo "$method $path: $output"; return 1; }
            fi
        done
    done <"$T/operations"
    # nothing happened to what is there
    [ "$("$MAS" list -q)" = "$ID" ]
}

@test "every address that is not a GET needs more than reading, but for trees of texts that a client has" {
    serve
    operations >"$T/operations"
    awk '$1 != "GET" && $3 != "answer" && $3 != "full" && $2 != "/pair" && $2 != "/markdown" { print; bad = 1 } END { exit bad }' "$T/operations"
    [ "$(awk '$3 == "none" { print $1, $2 }' "$T/operations" | sort | xargs)" = 'DELETE /pair GET / GET /healthz GET /page/{item} POST /pair' ]
    # what the answerer may do is written here, so that nothing joins it unseen
    [ "$(awk '$3 == "answer" { print $2 }' "$T/operations" | sed 's:.*{agent}/::' | sort | xargs)" = \
        "$(printf '%s\n' 'permissions/{item}' seen | xargs)" ]
}

@test "who may answer sets no mode with it" {
    serve
    new_token phone --answer
    local path=/sessions/11111111-1111-4111-8111-111111111111/agents/solo/permissions/x
    as phone POST $path -d '{"option":"allow","mode":"bypass"}'
    refused 403 missing_right "but mode needs 'full'"
    as phone POST $path -d '{"option":"allow"}'
    is 404
    new_token own --full
    as own POST $path -d '{"option":"allow","mode":"bypass"}'
    is 404 # there is no such session
}

@test "a token is shown once and kept as a sum; the file is the owner's" {
    run -0 --separate-stderr "$MAS" serve token add phone --answer
    [[ $output =~ ^[0-9a-f]{64}$ ]]
    token=$output
    [ "$(stat -c %a "$ROOT/sessions/.serve.tokens")" = 600 ]
    run ! grep -rqs "$token" "$ROOT"
    sum=$(printf %s "$token" | sha256sum | cut -d' ' -f1)
    grep -q "^$sum phone answer " "$ROOT/sessions/.serve.tokens"
}

@test "a token that is removed is refused at once by the server that runs, and its listener is hung up on" {
    serve
    new_token phone --read-only
    new_token other --read-only
    as phone GET /sessions
    is 200
    for name in phone other; do
        : >"$T/$name.events"
        curl -sSN -m 60 -o "$T/$name.events" -H "Authorization: Bearer $(cat "$T/$name.token")" "$URL/events" 3>&- &
        eval "$name=$!"
        eventually grep -q '^retry: ' "$T/$name.events"
    done
    "$MAS" serve token remove phone
    as phone GET /sessions
    refused 401 unauthorized 'token is wrong'
    # shellcheck disable=SC2154 # set by eval
    wait "$phone" || true # curl: the transfer was cut
    "$MAS" new -q -t solo --no-start
    eventually grep -q session.created "$T/other.events"
    run ! grep -q session.created "$T/phone.events"
    # shellcheck disable=SC2154
    kill -0 "$other"
    kill "$other"
    as other GET /sessions
    is 200
}

@test "nothing is told to a listener after its token is removed" {
    serve
    new_token phone --read-only
    curl -sSN -m 60 -o "$T/events" -H "Authorization: Bearer $(cat "$T/phone.token")" "$URL/events" 3>&- &
    listener=$!
    eventually grep -qs '^retry: ' "$T/events"
    "$MAS" serve token remove phone
    "$MAS" new -q -t solo --no-start
    wait "$listener" || true # curl: the transfer was cut
    run ! grep -q session.created "$T/events"
}

@test "a token ends at its time" {
    serve
    new_token soon --read-only --expires 1s
    curl -sSN -m 60 -o "$T/events" -H "Authorization: Bearer $(cat "$T/soon.token")" "$URL/events" 3>&- &
    listener=$!
    ended() { as soon GET /sessions && [ "$status" = 401 ]; }
    eventually ended
    wait "$listener" || true # curl: the transfer was cut
    mas serve token list
    [[ $output == *soon*expired* ]]
    # its name is free again, and it is forgotten
    new_token soon --full
    [ "$(grep -c ' soon ' "$ROOT/sessions/.serve.tokens")" -eq 1 ]
    as soon GET /sessions
    is 200
}

@test "the token file is the token 'default', and ends with its file" {
    serve
    api GET /sessions
    is 200
    grep -q 'tcp default GET /sessions 200' "$ROOT/sessions/.serve.log"
    mas serve token list --json
    jq -e '.tokens | length == 1 and .[0].name == "default" and .[0].right == "full" and .[0].expires == null' <<<"$output"
    fails 2 serve token remove default
    [[ $stderr == *'remove that file'* ]]
    fails 4 serve token add default --full
    rm "$ROOT/serve.token"
    api GET /sessions
    refused 401 unauthorized wrong
    (umask 077 && echo another-token-of-one-word >"$ROOT/serve.token")
    TOKEN=another-token-of-one-word
    api GET /sessions
    is 200
    chmod 644 "$ROOT/serve.token"
    api GET /sessions
    is 401
}

@test "the logs name the token, never what it is" {
    new_session -t solo --no-start
    serve --unix "$T/sock"
    new_token phone --answer
    as phone GET "/sessions/$ID"
    is 200
    as phone POST "/sessions/$ID/stop"
    is 403
    curl -sS -o /dev/null --unix-socket "$T/sock" "http://mas/sessions/$ID"
    curl -sS -o /dev/null "$URL/sessions?token=$(cat "$T/phone.token")"
    for log in "$ROOT/sessions/.serve.log" "$ROOT/sessions/$ID/logs/api.log"; do
        eventually grep -q "tcp phone GET /sessions/$ID 200" "$log"
        grep -q "tcp phone POST /sessions/$ID/stop 403" "$log"
        eventually grep -q "unix - GET /sessions/$ID 200" "$log"
    done
    eventually grep -q 'tcp - GET /sessions 401' "$ROOT/sessions/.serve.log"
    run ! grep -rq "$(cat "$T/phone.token")" "$ROOT/sessions"
}

@test "a file of tokens that others may read, or that is no such file, gives nobody a right" {
    serve
    new_token phone --full
    local file=$ROOT/sessions/.serve.tokens
    as phone GET /sessions
    is 200
    chmod 640 "$file"
    as phone GET /sessions
    is 401
    chmod 600 "$file"
    as phone GET /sessions
    is 200
    cp "$file" "$T/kept"
    for line in "$(head -c 64 /dev/zero | tr '\0' 0) x full" 'nothing' "$(cut -d' ' -f1 "$T/kept") x owner 2026-01-01T00:00:00Z -"; do
        { cat "$T/kept"; echo "$line"; } >"$file"
        as phone GET /sessions
        is 401
        fails 5 serve token list
        [[ $stderr == *'line 2'* ]]
    done
    api GET /sessions
    is 200
    rm "$file"
    ln -s "$T/kept" "$file"
    as phone GET /sessions
    is 401
    fails 5 serve token add x --full
    kill "$SERVER"; wait "$SERVER" || true; SERVER=
    fails 5 serve --listen 127.0.0.1:0
}
