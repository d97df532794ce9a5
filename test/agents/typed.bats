#!/usr/bin/env bats
# Real programs in a terminal: a message does not touch what a person has typed there, and the line comes back.
# shellcheck disable=SC2030,SC2031 # each test is a subshell

load ../helper
load lib

setup_more() { :; }

idle() { agent_is idle; }
shows() { tm capture-pane -pt "$PANE" | grep -qF -- "$1"; }

# keeps_line NAME: a message is sent while a line is half typed; then the line is finished.
keeps_line() {
    use_terminal "$1"
    printf '[preset %s]\nhold = 1s\n' "$PRESET" >>"$ROOT/mas.ini"
    team
    PANE=$(tm list-panes -t "=mas-${ID:0:8}:" -F '#{pane_id}')
    within 180 idle
    tm send-keys -t "$PANE" -l 'half a CW-LINE'
    within 30 shows 'half a CW-LINE'
    ok send --json "$ID" solo 'the word is CW-OTTER {{1}}' # held, unless the program took longer to show that
    within 60 model_has 1
    saw_word 1 CW-OTTER
    saw_no_word 1 CW-LINE
    within 60 shows 'half a CW-LINE'
    tm send-keys -t "$PANE" -l ' {{2}}'
    within 30 shows '{{2}}'
    tm send-keys -t "$PANE" Enter
    within 60 model_has 2
    saw_word 2 CW-LINE
}

@test "claude: a half typed line is kept apart from a message, and comes back" { keeps_line claude; }
@test "codex: a half typed line is kept apart from a message, and comes back" { keeps_line codex; }
@test "gemini: a half typed line is kept apart from a message, and comes back" { keeps_line gemini; }
@test "copilot: a half typed line is kept apart from a message, and comes back" { keeps_line copilot; }
@test "opencode: a half typed line is kept apart from a message, and comes back" { keeps_line opencode; }

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
