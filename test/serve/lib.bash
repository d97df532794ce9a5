# What the tests of `mas serve` share.
# shellcheck shell=bash
#
#   serve [OPTION...]    a server of this test's root, on a port that the kernel chooses: its address
#                        is in $URL, its token in $TOKEN, its pid in $SERVER
#   api METHOD PATH [CURL OPTION...]   asks it: $status is the HTTP status, $output the body
#   post PATH JSON       api POST with a body
#   describe             its description, in $T/openapi.json

setup_more() {
    URL='' SERVER=''
}

teardown_more() {
    # what a test has put in the place of a host, and what asks it
    # shellcheck disable=SC2086 # there may be several
    kill ${STAND_IN-} ${CURL-} 2>/dev/null || true
    if [ -n "$SERVER" ]; then
        kill "$SERVER" 2>/dev/null || true
        wait "$SERVER" 2>/dev/null || true
    fi
}

serve() {
    rm -f "$T/serve.out"
    "$MAS" serve --listen 127.0.0.1:0 "$@" >"$T/serve.out" 2>"$T/serve.err" 3>&- &
    SERVER=$!
    eventually test -s "$T/serve.out"
    URL=$(head -n 1 "$T/serve.out")
    TOKEN=$(cat "$ROOT/serve.token")
}

# shellcheck disable=SC2034 # read by the tests
api() {
    local method=$1 path=$2
    shift 2
    rm -f "$T/body"
    : >"$T/body"
    status=$(curl -sS -m 30 -o "$T/body" -D "$T/head" -w '%{http_code}' -X "$method" \
        -H "Authorization: Bearer $TOKEN" "$@" "$URL$path")
    output=$(cat "$T/body")
}

post() { api POST "$1" -d "$2"; }

describe() {
    api GET /openapi.json
    is 200
    printf '%s' "$output" >"$T/openapi.json"
}

# is STATUS [JQ FILTER]: the status, and that the filter is true of the body
is() {
    [ "$status" = "$1" ] || { echo "status $status, not $1: $output" >&2; return 1; }
    [ $# -lt 2 ] || jq -e "$2" <<<"$output" >/dev/null || { echo "not $2: $output" >&2; return 1; }
}

# refused STATUS CODE WORD: an error of that form
refused() {
    is "$1" ".error.code == \"$2\" and (.error.message | test(\"$3\"))"
}

# The value of a header of the last answer
header() { tr -d '\r' <"$T/head" | awk -F': ' -v k="$1" 'tolower($1) == tolower(k) { print $2 }'; }

# hear [CURL OPTION...]: listens; what comes is in $T/events
hear() {
    : >"$T/events"
    curl -sSN -m 60 -o "$T/events" -H "Authorization: Bearer $TOKEN" "$@" "$URL/events" 3>&- 2>/dev/null &
    LISTENER=$!
    eventually grep -q '^retry: ' "$T/events"
}
unhear() { kill "$LISTENER"; wait "$LISTENER" || true; }

# data TYPE: the objects of the events of a type
data() { awk -v type="$1" '/^event: / { is = $2 == type } /^data: / && is { print substr($0, 7) }' "$T/events"; }
came() { data "$1" | jq -se "any($2)" >/dev/null; }
