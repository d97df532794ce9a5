#!/usr/bin/env bats
# A client that a generator of the npm registry makes from the description calls every operation.
load ../helper
load ../host/lib
load ../acp/lib
load ../serve/lib

AGENTS=${MAS_TEST_AGENTS:-$HOME/.cache/mas-agents}

@test "a generated client calls every operation, and each answer is as described" {
    modules=$AGENTS/openapi-client/node_modules
    [ -d "$modules" ] || skip "openapi-client is not installed: test/agents/install.sh openapi-client"
    acp_preset scripted --fork --delete
    serve
    api GET /openapi.json
    mkdir "$T/client"
    cp "$T/body" "$T/client/openapi.json"
    cd "$T/client"
    "$modules/.bin/openapi-ts" -i openapi.json -o made -c @hey-api/client-fetch >"$T/made" 2>&1 || { cat "$T/made"; return 1; }
    "$modules/.bin/esbuild" made/index.ts made/client.gen.ts --bundle --splitting --format=esm --platform=node \
        --outdir=js --out-extension:.js=.mjs --log-level=warning
    timeout 300 node "$BATS_TEST_DIRNAME/client.mjs" "$modules" "$T/client/js" "$URL" "$TOKEN"
}
