#!/usr/bin/env bats
# The ways on which a phone reaches the page, as mas-serve(8) has them: a reverse proxy, TLS, and the
# address of another interface, such as a VPN's.
load ../helper
load ../host/lib
load ../acp/lib
load lib
load page

setup_more() { URL='' SERVER='' PROXY='' VPN=''; }
teardown_more() {
    if [ -n "$PROXY" ]; then
        kill "$PROXY" 2>/dev/null || true
        wait "$PROXY" || true
    fi
    if [ -n "$SERVER" ]; then
        kill "$SERVER" 2>/dev/null || true
        wait "$SERVER" || true
    fi
    if [ -n "$VPN" ]; then
        kill -KILL "$VPN" 2>/dev/null || true # unshare ignores the others
        wait "$VPN" || true
    fi
}

make_certificate() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=team.example \
        -addext subjectAltName=DNS:team.example,DNS:localhost,IP:127.0.0.1 \
        -keyout "$T/key" -out "$T/cert" 2>"$T/openssl"
    PIN=$(openssl x509 -in "$T/cert" -pubkey -noout | openssl pkey -pubin -outform der |
        openssl dgst -sha256 -binary | base64)
}

# free_port: a port that nobody listens on.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# proxy: an nginx with TLS, with what the manual page says between its braces; its address is $PUBLIC.
proxy() {
    local port
    port=$(free_port)
    {
        echo "daemon off; pid $T/nginx.pid; error_log $T/nginx.log; worker_processes 1;"
        [ "$(id -u)" -ne 0 ] || echo 'user root;'
        echo "events {} http { access_log $T/nginx.access;"
        for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $T/nginx-$kind;"; done
        echo "server { listen 127.0.0.1:$port ssl; server_name team.example;"
        echo "ssl_certificate $T/cert; ssl_certificate_key $T/key;"
        mandoc -T ascii "$PROJECT/man/mas-serve.8" | col -b | sed -n '/location \/ {/,/}/p' |
            sed "s|http://127.0.0.1:8765|$URL|"
        echo '} }'
    } >"$T/nginx.conf"
    /usr/sbin/nginx -c "$T/nginx.conf" -p "$T" 3>&- &
    PROXY=$!
    PUBLIC=https://team.example:$port
    eventually curl -sf -o "$T/body" --cacert "$T/cert" --resolve "team.example:$port:127.0.0.1" "$PUBLIC/healthz"
}

@test "behind nginx as the manual page has it: pairing, what comes live, and answers" {
    needs_browser
    [ -x /usr/sbin/nginx ] || skip 'there is no nginx'
    printf '[serve]\nhosts = team.example\n' >>"$ROOT/mas.ini"
    acp_agent
    make_certificate
    serve
    proxy
    PUBLIC=$PUBLIC BROWSER_OPTIONS="--ignore-certificate-errors-spki-list=$PIN"$'\n--host-resolver-rules=MAP team.example 127.0.0.1' \
        browse proxied
    run ! grep -qE 'pair=|Mas-Page-Token|(^|[^[:alnum:]-])[A-Z0-9]{4}-[A-Z0-9]{4}($|[^[:alnum:]-])' "$T/nginx.access" "$ROOT/sessions/.serve.log"
}

@test "with --tls-cert and a certificate that the browser knows: pairing and answers, the cookie for TLS only" {
    needs_browser
    acp_agent
    make_certificate
    serve --tls-cert "$T/cert" --tls-key "$T/key"
    PUBLIC=$URL BROWSER_OPTIONS="--ignore-certificate-errors-spki-list=$PIN" browse proxied
    browse untrusted
}

@test "a request that is lost on the way, or its answer, is sent again: of files of the page, of its worker, and of events" {
    needs_browser
    acp_agent
    serve
    browse swallowed '1 GET /page/dom.js' '2 GET /page/stream.js' '1 POST /pair' '1 GET /pair' '1 GET /events' '1 GET /sessions '
}

# enter NAME: those words of one machine
enter() { printf 'nsenter -U --preserve-credentials -n -t %s\n' "$(<"$T/vpn/$1")"; }

# vpn: two machines with a WireGuard between them; $office and $phone are the words that run a command there.
vpn() {
    unshare -rnmp --kill-child bash "$PROJECT/test/serve/wireguard.sh" "$T/vpn" >"$T/vpn.log" 2>&1 3>&- &
    VPN=$!
    eventually test -e "$T/vpn/up"
    read -ra office < <(enter office)
    read -ra phone < <(enter phone)
}

@test "over WireGuard: only through it, pairing, what comes live, and answers" {
    needs_browser
    command -v wireguard-go >/dev/null || skip 'there is no wireguard-go'
    unshare -rnm true 2>/dev/null || skip 'there are no network namespaces here'
    [ -c /dev/net/tun ] || skip 'there is no /dev/net/tun'
    acp_agent
    vpn
    "${office[@]}" "$MAS" serve --listen 10.66.0.1:0 --allow-remote >"$T/serve.out" 2>"$T/serve.err" 3>&- &
    SERVER=$!
    eventually test -s "$T/serve.out"
    URL=$(head -n 1 "$T/serve.out") TOKEN=$(<"$ROOT/serve.token")
    eventually "${phone[@]}" curl -sf -m 20 -o "$T/body" "$URL/healthz"
    run ! "${phone[@]}" curl -sf -m 20 -o "$T/body" "http://192.0.2.1:${URL##*:}/healthz"
    run ! curl -sf -m 20 -o "$T/body" "$URL/healthz"
    PUBLIC=$URL BROWSER_AT=${phone[*]} browse proxied
}

# shellcheck disable=SC2016 # for the other shell
@test "at the address of another interface: by its number and by the names in hosts, and by no other" {
    unshare -rn ip link set lo up 2>/dev/null || skip 'there are no network namespaces here'
    export T ROOT
    # in a network of its own: what a VPN gives a machine is an interface with an address
    unshare -rn --kill-child bash -c '
        set -e
        ip link set lo up
        ip link add vpn0 type veth peer name vpn1
        ip address add 10.66.0.1/24 dev vpn0
        ip link set vpn0 up
        ip link set vpn1 up
        printf "[serve]\nhosts = team.example\n" >>"$ROOT/mas.ini"
        ! "$MAS" serve --listen 10.66.0.1:0 >"$T/out" 2>"$T/err"
        grep -q -- --allow-remote "$T/err"
        "$MAS" serve --listen 10.66.0.1:0 --allow-remote >"$T/out" 2>"$T/err" &
        server=$!
        for _ in {1..600}; do [ -s "$T/out" ] && break; sleep 0.05; done
        url=$(head -n 1 "$T/out") port=${url##*:}
        status() { curl -sS -m 20 -o "$T/body" -w "%{http_code}\n" -H "Authorization: Bearer $(cat "$ROOT/serve.token")" "$@"; }
        {
            status "$url/sessions"
            status --resolve "team.example:$port:10.66.0.1" "http://team.example:$port/sessions"
            status --resolve "team.example:$port:10.66.0.1" "http://team.example:$port/sessions" -H "Origin: http://team.example:$port"
            status --resolve "evil.example:$port:10.66.0.1" "http://evil.example:$port/sessions"
            status "$url/sessions" -H "Origin: http://10.66.0.9:$port"
            status "http://127.0.0.1:$port/sessions" || true
        } >"$T/statuses" 2>/dev/null
        kill "$server"
        wait "$server" || true'
    [ "$(xargs <"$T/statuses")" = '200 200 200 403 403 000' ]
}
