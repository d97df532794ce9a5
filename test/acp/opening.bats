load ../helper
load ../host/lib
load lib

# roled OPTIONS: an agent whose role is "CW-ROLE words", and that has these options.
roled() {
    options "$1"
    options_preset made
    new_session -t solo --agent made --no-start
    DIR=$ROOT/sessions/$ID
    jq -c '(.. | objects | select(.id? == "solo" and .role?)).system = "CW-ROLE words"' "$DIR/config.json" >"$T/config"
    cp "$T/config" "$DIR/config.json"
    "$MAS" start -q "$ID" >/dev/null
    eventually came_back fresh
}

# system WORDS: the last answer names these code words as those of the system prompt.
system() { [[ $output == *" sys=[$*]"* ]] || { echo "$output" >&2; return 1; }; }

@test "the role is in the system prompt where the agent takes one, and in no prompt" {
    local how
    roled "--system member"
    for how in member meta; do
        options "--system $how"
        again
        tell CW-ONE
        system CW-ROLE
        again # a session that comes back, in another process, has it again
        eventually came_back resumed
        tell CW-TWO
        system CW-ROLE
        options "--system $how --no-resume"
        again
        eventually came_back loaded
        tell CW-THREE
        system CW-ROLE
        "$MAS" clear "$ID" solo
        tell CW-FOUR
        system CW-ROLE
        knows CW-FOUR
    done
    [ "$(prompts CW-ROLE)" -eq 0 ]
}

@test "the role is in the first prompt of an agent that takes no system prompt" {
    roled ""
    tell CW-ONE
    knows CW-ONE CW-ROLE
    [ "$(prompts CW-ROLE)" -eq 1 ]
    [ "$(grep '^<' "$TRACE" | grep -c systemPrompt)" -eq 0 ]
}

@test "an agent that opens no session with a role in its system prompt gets the role in its first prompt" {
    roled "--system-error"
    tell CW-ONE
    [ "$status" -eq 0 ]
    knows CW-ONE CW-ROLE
    grep -q 'opens no session with its role in the system prompt' "$DIR/logs/session.log"
    [ "$(sent session/new)" -eq 2 ]
}

@test "an agent with another first answer at each start is told its role once each time" {
    roled "--system member"
    tell CW-ONE
    system CW-ROLE
    options "--no-resume --no-load"
    again
    tell CW-TWO
    knows CW-ONE CW-ROLE CW-TWO
}

# named METHOD WHERE: the last request of this method names the directories.
named() {
    grep '^<' "$TRACE" | grep -F "\"$1\"" | tail -n 1 | cut -c3- |
        jq -e --argjson dirs "$2" '.params.additionalDirectories == $dirs' >/dev/null
}

@test "the directories that the agent works in, and does not start in, are named where it takes them" {
    local method dirs
    roled "--directories --fork"
    dirs=$(jq -nc --arg dir "$DIR/workflows" '[$dir]')
    tell CW-ONE
    run -0 timeout 60 "$MAS" ask "$ID" solo --aside CW-ASIDE
    again
    tell CW-TWO
    options "--directories --no-resume"
    again
    tell CW-THREE
    came_back loaded
    for method in session/new session/fork session/resume session/load; do named "$method" "$dirs"; done
    : >"$TRACE"
    "$MAS" clear "$ID" solo
    tell CW-FOUR
    named session/new "$dirs"
    options ""
    : >"$TRACE"
    again
    tell CW-FIVE
    [ "$(sent session/resume)" -ge 1 ]
    [ "$(grep -c additionalDirectories "$TRACE")" -eq 0 ]
}
