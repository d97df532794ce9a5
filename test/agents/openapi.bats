#!/usr/bin/env bats
# shellcheck disable=SC2153 # TOKEN is lib.bash's
# What mas serve answers has the form that its description says, and that is OpenAPI 3.1, by
# validators of the npm registry.
load ../helper
load ../serve/lib

AGENTS=${MAS_TEST_AGENTS:-$HOME/.cache/mas-agents}

# ask METHOD PATH OF-THE-DESCRIPTION ADDRESS [BODY]: one answer, kept for the check
ask() {
    local method=$1 path=$2
    if [ $# -gt 3 ]; then api "$method" "$3" -d "$4"; else api "$method" "$3"; fi
    N=$((${N-0} + 1))
    jq -n --arg method "${method,,}" --arg path "$path" --arg status "$status" --argjson body "$output" \
        '{$method, $path, $status, $body}' >"$T/answers/$N.answer"
}

@test "the API answers what its description says" {
    modules=$AGENTS/openapi/node_modules
    [ -d "$modules" ] || skip "openapi is not installed: test/agents/install.sh openapi"
    none=11111111-1111-4111-8111-111111111111 s='/sessions/{id}'
    mkdir "$T/answers"
    serve
    ask POST /runs /runs '{"agents":{},"template":"solo","name":"one"}'
    id=$(jq -r .sessionId <<<"$output")
    ask POST /runs /runs '{"agents":{},"template":"solo","name":"one"}'
    ask POST /runs /runs '{"agents":7}'
    ask GET /sessions /sessions
    ask GET /sessions '/sessions?status=gone'
    ask GET $s "/sessions/$id"
    ask GET $s "/sessions/$none"
    ask POST $s/messages "/sessions/$id/messages" '{"target":"all","message":"true"}'
    ask POST $s/messages "/sessions/$id/messages" '{"target":"all"}'
    ask POST "$s/agents/{agent}/prompts" "/sessions/$id/agents/solo/prompts" '{"prompt":"x"}'
    ask GET "$s/agents/{agent}" "/sessions/$id/agents/solo"
    ask GET "$s/agents/{agent}/permissions" "/sessions/$id/agents/solo/permissions"
    ask POST "$s/agents/{agent}/permissions/{item}" "/sessions/$id/agents/solo/permissions/x" '{"option":"allow"}'
    for act in cancel clear wake restart seen sleep; do
        ask POST "$s/agents/{agent}/$act" "/sessions/$id/agents/solo/$act" '{}'
    done
    ask POST "$s/agents/{agent}/mode" "/sessions/$id/agents/solo/mode" '{"mode":"x"}'
    ask POST "$s/agents/{agent}/options/{item}" "/sessions/$id/agents/solo/options/x" '{"value":"x"}'
    ask GET "$s/agents/{agent}/kept" "/sessions/$id/agents/solo/kept"
    ask DELETE "$s/agents/{agent}/kept" "/sessions/$id/agents/solo/kept?all=true"
    ask POST "$s/agents/{agent}/settings/{item}" "/sessions/$id/agents/solo/settings/budget.turns" '{"value":"9"}'
    ask POST "$s/settings/{item}" "/sessions/$id/settings/private" '{"value":"yes"}'
    ask GET $s/env "/sessions/$id/env"
    ask GET /config /config
    ask POST "$s/agents/{agent}/budget" "/sessions/$id/agents/solo/budget" '{}'
    ask GET "$s/agents/{agent}/history" "/sessions/$id/agents/solo/history"
    ask GET "$s/agents/{agent}/history" "/sessions/$none/agents/solo/history"
    ask GET "$s/agents/{agent}/context" "/sessions/$id/agents/solo/context"
    for what in search?q=x usage du doctor presets templates templates/solo templates/nosuch; do
        ask GET "/$(sed 's/?.*//; s:/.*:/{item}:' <<<"$what")" "/$what"
    done
    ask GET '/templates/{item}/check' /templates/solo/check
    for what in usage du diff "agents/{agent}/diff" "agents/{agent}/screen"; do
        ask GET "$s/$what" "/sessions/$id/${what/\{agent\}/solo}"
    done
    for act in merge sync land archive; do
        ask POST $s/$act "/sessions/$id/$act" '{}'
    done
    ask POST $s/migrate "/sessions/$id/migrate" '{"dryRun":true}'
    ask POST /clean /clean '{"keep":9,"dryRun":true}'
    ask POST /doctor /doctor '{}'
    op=$(jq -r .operation <<<"$output")
    done_is() { api GET "/operations/$op" && jq -e '.ended != null' <<<"$output"; }
    eventually done_is
    ask GET '/operations/{item}' "/operations/$op"
    ask DELETE '/operations/{item}' "/operations/$op"
    ask GET '/operations/{item}' "/operations/x"
    ask GET /operations /operations
    ask DELETE $s "/sessions/$id"
    ask POST $s/stop "/sessions/$id/stop"
    ask GET $s "/sessions/$id"
    ask POST $s/messages "/sessions/$id/messages" '{"target":"all","message":"true"}'
    ask POST $s/start "/sessions/$id/start"
    ask DELETE $s "/sessions/$id?force=true"
    ask GET /healthz /healthz
    TOKEN=x
    ask GET /sessions /sessions
    TOKEN=$(cat "$ROOT/serve.token")
    api GET /openapi.json
    printf '%s' "$output" >"$T/answers/openapi.json"
    node "$BATS_TEST_DIRNAME/openapi.mjs" "$T/answers" "$modules"
}
