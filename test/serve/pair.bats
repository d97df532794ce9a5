#!/usr/bin/env bats
# Pairing a browser: the code, the cookie, and what neither is good for.
load ../helper
load lib

# offer OPTION...: sets $code
offer() { code=$("$MAS" serve pair --json "$@" | jq -r .code); }
give() { TOKEN=none api POST /pair -d "$(jq -nc --arg code "$1" '{$code}')" "${@:2}"; }
# Gives the code and keeps what came: $cookie and $page_token
pair() {
    offer "$@"
    give "$code"
    is 201 '.pageToken | length == 32'
    cookie=$(header Set-Cookie)
    page_token=$(jq -r .pageToken <<<"$output")
}
# with_cookie METHOD PATH [CURL OPTION...]
with_cookie() {
    rm -f "$T/body"; : >"$T/body"
    status=$(curl -sS -m 30 -o "$T/body" -D "$T/head" -w '%{http_code}' -X "$1" -H "Cookie: ${cookie%%;*}" \
        "${@:3}" "$URL$2")
    output=$(cat "$T/body")
}

@test "a code is good once, also in small letters and without its hyphen; nothing of it is kept" {
    serve
    offer --name phone --answer
    give "$code"
    is 201 '.name == "phone" and .right == "answer"'
    give "$code"
    refused 403 forbidden 'wrong, or no longer valid'
    [ ! -e "$ROOT/sessions/.serve.pair" ]
    offer
    [ "$(stat -c %a "$ROOT/sessions/.serve.pair")" = 600 ]
    run ! grep -rqs "$code" "$ROOT/sessions"
    lower=${code,,}
    give "${lower/-/}"
    is 201 '.name == "page" and .right == "full"'
    run -0 --separate-stderr "$MAS" serve token list
    [[ $output == *phone*answer* && $output == *page*full* ]]
    run ! grep -rqs "$code" "$ROOT/sessions"
}

@test "five wrong codes end an offer, a new one ends the one before, and so do two minutes" {
    serve
    for code in '' X 'AAAA-AAAA ' "$(printf 'A%.0s' {1..1000})"; do
        give "$code"
        [[ $status == @(400|403) ]]
    done
    offer
    for _ in 1 2 3 4; do give ZZZZ-ZZZZ; is 403; done
    give "$code"
    is 201
    offer
    for _ in 1 2 3 4 5; do give ZZZZ-ZZZZ; is 403; done
    give "$code"
    refused 403 forbidden ''
    offer
    local first=$code
    offer
    [ "$first" = "$code" ] || { give "$first"; is 403; }
    # the time in the file is the one that counts
    sed -i -E 's/ [0-9]{4}-[^ ]+Z / 2020-01-01T00:00:00Z /' "$ROOT/sessions/.serve.pair"
    give "$code"
    refused 403 forbidden ''
}

@test "neither the cookie nor the page's half is good for anything alone, or from elsewhere" {
    serve
    pair
    [[ $cookie == mas_????????=*'; Path=/; Max-Age='*'; HttpOnly; SameSite=Strict' ]]
    value=${cookie#*=} value=${value%%;*}
    [ ${#value} -eq 32 ]
    id=11111111-1111-4111-8111-111111111111
    both=(-H "Mas-Page-Token: $page_token")
    with_cookie GET /sessions "${both[@]}"
    is 200
    with_cookie GET /pair "${both[@]}"
    is 200 '.name == "page" and .right == "full" and (has("pageToken") | not)'
    with_cookie POST "/sessions/$id/stop" -d '{}' "${both[@]}"
    is 404
    for path in 'GET /sessions' 'GET /events' 'GET /pair' "POST /sessions/$id/stop" 'POST /runs' "DELETE /sessions/$id"; do
        # shellcheck disable=SC2086 # two words
        with_cookie $path -d '{}'
        is 401
        # shellcheck disable=SC2086
        with_cookie $path -d '{}' -H "Mas-Page-Token: ${page_token%?}"
        is 401
        # shellcheck disable=SC2086
        with_cookie $path -d '{}' -H "Mas-Page-Token: $value"
        is 401
        # shellcheck disable=SC2086
        TOKEN=$page_token api $path -d '{}' "${both[@]}"
        is 401
        # shellcheck disable=SC2086
        TOKEN=$value api $path -d '{}'
        is 401
    done
    # a page of another site
    for header in 'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site' 'Sec-Fetch-Site: none'; do
        with_cookie GET /sessions -H "$header" "${both[@]}"
        is 401
        with_cookie POST "/sessions/$id/stop" -d '{}' -H "$header" "${both[@]}"
        is 401
    done
    with_cookie GET /sessions -H "Origin: $URL" -H 'Sec-Fetch-Site: same-origin' "${both[@]}"
    is 200
    # the same by its name, or by that of another port of this machine
    for header in 'Host: evil.example' 'Origin: http://evil.example' 'Origin: http://localhost:1' 'Origin: http://127.0.0.1:1'; do
        with_cookie GET /sessions -H "$header" "${both[@]}"
        is 403
        with_cookie POST "/sessions/$id/stop" -d '{}' -H "$header" "${both[@]}"
        is 403
    done
    # a token that is sent is the one that counts
    with_cookie GET /sessions -H 'Authorization: Bearer wrong' "${both[@]}"
    is 401
}

@test "each address of the description refuses what another site can make a browser send" {
    local method path header
    serve
    describe
    pair
    jq -r '.paths | to_entries[] | .key as $p | .value | to_entries[] | select(.key != "parameters")
        | select(any(.value.security[]?; .token)) | "\(.key | ascii_upcase) \($p)"' \
        "$T/openapi.json" >"$T/addresses"
    [ "$(wc -l <"$T/addresses")" -ge 60 ]
    while read -r method path; do
        path=${path//\{id\}/11111111-1111-4111-8111-111111111111}
        path=${path//\{agent\}/solo} path=${path//\{item\}/x}
        # a form or a link of its own: the cookie at most
        for header in 'Content-Type: text/plain' 'Content-Type: application/x-www-form-urlencoded' 'Sec-Fetch-Site: cross-site'; do
            with_cookie "$method" "$path" -d '{}' -H "$header"
            is 401 || { echo "$method $path"; return 1; }
        done
        # a script of its own that had come by the page's half
        for header in 'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site'; do
            with_cookie "$method" "$path" -d '{}' -H "$header" -H "Mas-Page-Token: $page_token"
            is 401 || { echo "$method $path"; return 1; }
        done
        with_cookie "$method" "$path" -d '{}' -H 'Origin: http://127.0.0.1:1' -H "Mas-Page-Token: $page_token"
        is 403 || { echo "$method $path"; return 1; }
        # a name that was made to lead here
        with_cookie "$method" "$path" -d '{}' -H "Host: evil.example" -H "Origin: http://evil.example" \
            -H "Mas-Page-Token: $page_token"
        is 403 || { echo "$method $path"; return 1; }
        with_cookie OPTIONS "$path" -H 'Origin: http://evil.example' -H "Access-Control-Request-Method: $method"
        run ! grep -qi '^access-control-' "$T/head"
    done <"$T/addresses"
    [ -z "$("$MAS" list --all -q)" ]
}

@test "signing out ends the token and the cookie" {
    serve
    pair --name phone
    with_cookie DELETE /pair
    is 401
    grep -q ' phone ' "$ROOT/sessions/.serve.tokens"
    with_cookie DELETE /pair -H "Mas-Page-Token: $page_token"
    is 200
    [[ $(header Set-Cookie) == *'Max-Age=0'* ]]
    with_cookie GET /pair -H "Mas-Page-Token: $page_token"
    is 401
    run ! grep -q phone "$ROOT/sessions/.serve.tokens"
    api DELETE /pair # not with a token
    is 401
}

@test "over TLS, or from a page that came so, the cookie is for TLS alone" {
    serve
    offer
    give "$code" -H "Origin: https://${URL#http://}"
    is 201
    [[ $(header Set-Cookie) == *'; Secure' ]]
    kill "$SERVER"; wait "$SERVER" || true
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
        -keyout "$T/key" -out "$T/cert" 2>"$T/openssl"
    serve --tls-cert "$T/cert" --tls-key "$T/key"
    [[ $URL == https://* ]]
    offer
    give "$code" --cacert "$T/cert"
    is 201
    [[ $(header Set-Cookie) == *'; Secure' ]]
}

@test "an expired token of a browser is refused" {
    serve
    pair --expires 1h
    [[ $cookie =~ Max-Age=3[56][0-9][0-9] ]]
    with_cookie GET /sessions -H "Mas-Page-Token: $page_token"
    is 200
    sed -i -E 's/[^ ]+Z$/2020-01-01T00:00:00Z/' "$ROOT/sessions/.serve.tokens"
    with_cookie GET /sessions -H "Mas-Page-Token: $page_token"
    is 401
}
