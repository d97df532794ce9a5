load ../helper
load lib
@test "try" {
    team
    tell "hello CW-OTTER"
    echo "$status|$output|$stderr"
    tell "what was it"
    echo "$status|$output|$stderr"
    "$MAS" status "$ID" --json
    cat "$ROOT/sessions/$ID/logs/agent-solo.log" | head -50
    jq -c . $LOG | cut -c1-3000 
    false
}
