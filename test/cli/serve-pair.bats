#!/usr/bin/env bats
# `mas serve pair`: what it shows, and what it refuses. test/serve/pair.bats has what a browser does with it.
load ../helper

setup_more() { SERVER=; }
teardown_more() { [ -z "$SERVER" ] || { kill "$SERVER"; wait "$SERVER" || true; }; }

serve() {
    "$MAS" serve --listen 127.0.0.1:0 >"$T/out" 2>"$T/err" 3>&- &
    SERVER=$!
    eventually test -s "$T/out"
    URL=$(head -n 1 "$T/out")
}

@test "without a server there is nothing to pair with" {
    fails 4 serve pair
    [[ $stderr == *'no server of this root runs'*'mas serve'* ]]
    [ ! -e "$ROOT/sessions/.serve.pair" ]
}

@test "it shows an address, a code, and both as a QR code" {
    serve
    ok serve pair
    code=$(sed -n 's/^code: //p' <<<"$output")
    [[ $code =~ ^[A-HJKMNP-TV-Z0-9]{4}-[A-HJKMNP-TV-Z0-9]{4}$ ]]
    [[ $output == *"address: $URL/"*"the token 'page' with the right 'full'"*'only this machine'* ]]
    if command -v qrencode >/dev/null; then
        diff <(qrencode -t UTF8 -m 2 "$URL/#pair=$code") <(grep -E '█|▄|▀' <<<"$output")
    fi
    mas serve pair --json --name phone --read-only --url https://team.example/
    [ "$(jq -c 'del(.code, .url, .expires)' <<<"$output")" = \
        '{"address":"https://team.example","seconds":120,"name":"phone","right":"read"}' ]
    jq -e '.url == "https://team.example/#pair=" + .code and (.expires | fromdate) > now + 86400' <<<"$output"
    run --separate-stderr env PATH=/nonexistent "$MAS" serve pair -q
    [ "$status" -eq 0 ]
    [ "$(wc -l <<<"$output")" -eq 2 ]
}

@test "names, rights, times and addresses that are none are refused, and a name that is taken" {
    serve
    "$MAS" serve token add phone --answer >/dev/null
    "$MAS" serve token add page --answer >/dev/null
    [ "$("$MAS" serve pair --json | jq -r .name)" = page-2 ]
    fails 4 serve pair --name phone
    [[ $stderr == *'there is one of this name'* ]]
    for words in '--name a/b' '--name default' '--read-only --full' '--expires never' '--url team.example' \
        '--url http://a#b' '--url javascript:x' '--url file:///etc' 'extra'; do
        # shellcheck disable=SC2086 # words
        mas serve pair $words
        [[ $status == @(2|4) ]] || { echo "$words: $status"; return 1; }
    done
}
