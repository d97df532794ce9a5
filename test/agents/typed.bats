#!/usr/bin/env bats
# Real programs in a terminal: a message does not touch what a person has typed there, and the line comes back.
# shellcheck disable=SC2030,SC2031 # each test is a subshell

load ../helper
load lib

setup_more() { :; }

idle() { agent_is idle; }
shows() { tm capture-pane -pt "$PANE" | grep -qF -- "$1"; }

# keeps_line NAME [in-turn]: a message is sent while a line is half typed; then the line is finished.
keeps_line() {
    local n=1
    use_terminal "$1"
    printf '[preset %s]\nhold = 1s\n' "$PRESET" >>"$ROOT/mas.ini"
    team
    PANE=$(tm list-panes -t "=mas-${ID:0:8}:" -F '#{pane_id}')
    within 180 idle
    if [ "${2-}" = in-turn ]; then
        ok send "$ID" solo 'slowly {{1 slow 15000}}'
        within 60 model_has 1
        agent_is working
        n=2
    fi
    tm send-keys -t "$PANE" -l "half a CW-LINE of several rows $(printf 'and so on %.0s' {1..40})"
    within 30 shows 'half a CW-LINE'
    ok send --json "$ID" solo "the word is CW-OTTER {{$n}}" # held, unless the program took longer to show that
    within 60 model_has $n
    saw_word $n CW-OTTER
    saw_no_word $n CW-LINE
    within 60 shows 'half a CW-LINE'
    tm send-keys -t "$PANE" -l " {{$((n + 1))}}"
    within 30 shows "{{$((n + 1))}}"
    tm send-keys -t "$PANE" Enter
    within 60 model_has $((n + 1))
    saw_word $((n + 1)) CW-LINE
    request $((n + 1)) | jq -e '[.said[].text | scan("CW-LINE")] | length == 1'
    request $((n + 1)) | jq -e --arg last " {{$((n + 1))}}" 'any(.said[].text; contains("half a CW-LINE of several rows " + "and so on " * 40 + $last))'
}

@test "claude: a half typed line is kept apart from a message, and comes back" { keeps_line claude; }
@test "codex: a half typed line is kept apart from a message, and comes back" { keeps_line codex; }
@test "gemini: a half typed line is kept apart from a message, and comes back" { keeps_line gemini; }
@test "copilot: a half typed line is kept apart from a message, and comes back" { keeps_line copilot; }
@test "opencode: a half typed line is kept apart from a message, and comes back" { keeps_line opencode; }

@test "claude: so it is in the middle of a turn" { keeps_line claude in-turn; }
@test "codex: so it is in the middle of a turn" { keeps_line codex in-turn; }
@test "gemini: so it is in the middle of a turn" { keeps_line gemini in-turn; }
@test "copilot: so it is in the middle of a turn" { keeps_line copilot in-turn; }
@test "opencode: so it is in the middle of a turn" { keeps_line opencode in-turn; }

@test "claude: edited as in vi, a message comes whole in any mode, and waits for a line that was left" {
    use_terminal claude
    echo '{"editorMode": "vim"}' >"$CLAUDE_CONFIG_DIR/settings.json"
    printf '[preset %s]\nhold = 1s\n' "$PRESET" >>"$ROOT/mas.ini"
    team
    PANE=$(tm list-panes -t "=mas-${ID:0:8}:" -F '#{pane_id}')
    within 180 idle
    within 30 shows '-- INSERT --'
    tm send-keys -t "$PANE" -l 'half a CW-LINE {{1}}'
    within 30 shows '{{1}}'
    tm send-keys -t "$PANE" Escape
    within 30 eval '! shows "-- INSERT --"'
    ok send --json "$ID" solo 'two words dd CW-OTTER {{2}}'
    [ "$(jq -r '.agents[0].outcome' <<<"$output")" = held ]
    shows 'half a CW-LINE {{1}}'
    tm send-keys -t "$PANE" Enter
    within 60 model_has 1
    within 60 model_has 2
    saw_word 1 CW-LINE
    saw_word 2 CW-OTTER
    within 30 idle
    tm send-keys -t "$PANE" Escape
    ok send "$ID" solo 'do it with dd CW-BEAR {{3}}'
    within 60 model_has 3
    request 3 | jq -e '[.said[].text] | any(contains("two words dd CW-OTTER {{2}}")) and any(contains("do it with dd CW-BEAR {{3}}"))'
}
