load ../helper
load ../host/lib
load lib

@test "mas says that it shows notices, knows compactions, and that a person may log in on a terminal" {
    run_acp ""
    eventually state_is solo idle
    grep '^<' "$TRACE" | grep -F '"initialize"' | cut -c3- | jq -e '.params.clientCapabilities |
        .session == {"compaction": {}, "notices": {}, "configOptions": {"boolean": {}}} and .auth == {"terminal": true}' >/dev/null
}

@test "a compaction is a boundary: an agent that lost its context is told its summary and what came after" {
    local how
    run_acp "--no-resume --no-load"
    for how in COMPACT COMPACT:chunks; do
        "$MAS" clear "$ID" solo
        tell CW-ONE
        tell CW-TWO
        tell "CW-THREE $how QUIET"
        tell "CW-FOUR QUIET"
        notes | grep -q 'has compacted its context; what it has kept: CW-SUMMARY'
        [ "$(notes | grep -c 'what it has kept')" -eq "$([ "$how" = COMPACT ] && echo 1 || echo 2)" ]
        again
        tell CW-FIVE
        knows CW-FIVE CW-FOUR CW-SUMMARY CW-THREE
    done
}

@test "what was said before a compaction is found and marked, what came after it is not" {
    run_acp ""
    tell "the first is zucchini"
    "$MAS" search zucchini --json | jq -e '[.messages[].compacted] | length > 0 and all(. == false)'
    tell "COMPACT QUIET"
    tell "the second is artichoke"
    "$MAS" search zucchini --json | jq -e '[.messages[].compacted] | length > 0 and all'
    "$MAS" search artichoke --json | jq -e '[.messages[] | select(.text | contains("artichoke")).compacted]
        | length > 0 and all(. == false)'
    "$MAS" search zucchini | grep -F '(before a compaction)'
    rm "$ROOT/sessions/.memory.index" # the index is made again
    "$MAS" search zucchini artichoke --json | jq -e '[.messages[]
        | select(.role == "user" and (.text | contains("COMPACT") | not)) | {(if (.text | contains("zucchini")) then "z" else "a" end): .compacted}] | add == {z: true, a: false}'
    tell "COMPACT QUIET"
    "$MAS" search artichoke --json | jq -e '[.messages[].compacted] | all'
    "$MAS" clear "$ID" solo # the next query has lost nothing
    tell "the third is cauliflower"
    "$MAS" search cauliflower --json | jq -e '[.messages[] | select(.text | contains("cauliflower")).compacted] | any | not'
}

@test "a compaction that failed or told nothing is no boundary of the search" {
    run_acp ""
    tell "the first is zucchini"
    tell "COMPACT:failed QUIET"
    tell "COMPACT:none QUIET"
    "$MAS" search zucchini --json | jq -e '[.messages[].compacted] | length > 0 and all(. == false)'
}

@test "a compaction without a summary, that failed, or that is nonsense is no boundary" {
    local how
    run_acp "--no-resume --no-load"
    for how in none failed odd; do
        "$MAS" clear "$ID" solo
        tell "CW-ONE"
        tell "CW-TWO COMPACT:$how"
        [ "$status" -eq 0 ]
        again
        tell CW-THREE
        knows CW-ONE CW-THREE CW-TWO
    done
    notes | grep -q 'has not compacted its context: no room'
    tell COMPACT:huge
    [ "$status" -eq 0 ]
    [ "$(notes | grep 'what it has kept' | tail -n 1 | wc -c)" -le 65700 ]
}

@test "a notice is shown, and not stored" {
    run_acp ""
    tell 'NOTICE:CW-NOTICE'
    [[ $stderr == *"the agent says: CW-NOTICE: More of it"* ]]
    eventually shows 'the agent says: CW-NOTICE: More of it'
    [[ $(notes) != *CW-NOTICE* ]]
}

@test "/login in the pane: the agent's own program has the pane, and then the agent goes on" {
    run_acp "--login $T/login --terminal-login" wall.level=off
    eventually shows 'needs a login'
    type_line /login
    eventually shows 'token for /x y?'
    press C-c # is for the login, and not for the host
    eventually shows 'the login has failed'
    type_line '/login nothing'
    eventually shows 'it offers no such login'
    type_line '/login t'
    eventually pane_has_login
    type_line shut
    eventually shows 'the login has failed (exit code 1)'
    type_line /login
    eventually pane_has_login
    type_line open
    eventually state_is solo idle
    eventually shows 'the login is done'
    tell CW-ONE
    [ "$status" -eq 0 ]
    type_line /login
    eventually shows 'it needs no login'
}

@test "who has logged in elsewhere needs no login in the pane" {
    run_acp "--login $T/login --terminal-login" wall.level=off
    eventually shows 'needs a login'
    touch "$T/login"
    tell CW-ONE
    [ "$status" -eq 0 ]
    type_line /login
    eventually shows 'it needs no login'
}

@test "a supervisor that is killed does not end the login that has the pane" {
    local pid agent
    run_acp "--login $T/login --terminal-login" wall.level=off
    eventually shows 'needs a login'
    type_line /login
    eventually shows 'token for /x y?'
    pid=$(pgrep -f "agent.py --store $T/store .*--log in")
    agent=$(of solo .pid)
    kill -KILL "$(ps -o ppid= -p "$agent" | tr -d ' ')"
    eventually session_log "agent=solo was killed by signal 9" # said after all that was left is killed
    is_gone "$agent"
    [ "$(pgrep -f "agent.py --store $T/store .*--log in")" = "$pid" ]
    type_line open
    eventually state_is solo idle
    eventually shows 'the login is done'
}

pane_has_login() { pgrep -f "agent.py --store $T/store .*--log in" >/dev/null; }

@test "/login behind a wall: the command of the preset has the pane, outside, and then the agent goes on" {
    command -v bwrap >/dev/null && bwrap --unshare-pid --ro-bind / / --proc /proc --dev /dev true 2>/dev/null ||
        skip 'bubblewrap does not work here'
    mkdir -p "$HOME/.tool" "$T/data"
    cat >"$T/log-in" <<SH
echo "login of \$1 in \$(pwd), token \${TOKEN_DIR-none}"
[ -e $ROOT/mas.ini ] && echo 'it is outside'
read -r word
[ "\$word" = open ] && echo secret >"\$HOME/.tool/login"
SH
    run_acp "--login $HOME/.tool/login --terminal-login --store $T/data/store --log $T/data/trace" wall.level=require \
        "wall.read = $T/agent $T/options $PROJECT/test/acp/agent.py" "wall.write = $T/data" 'wall.home = .tool/login' \
        "login_command = sh $T/log-in 'a person'"
    eventually shows 'needs a login'
    [[ $(of solo .note) == *"or with: sh $T/log-in 'a person', or with /login in its pane"* ]]
    type_line '/login t'
    eventually shows 'behind a wall there is one login'
    type_line /login
    eventually shows "login of a person in $HOME, token none"
    shows 'it is outside'
    type_line shut
    eventually shows 'the login has failed (exit code 1)'
    type_line /login
    eventually pgrep -f "$T/log-in" >/dev/null
    type_line open
    eventually state_is solo idle
    eventually shows 'the login is done'
    tell CW-ONE
    [ "$status" -eq 0 ]
    tell "OWN:\"cat $HOME/.tool/login; ls -A $HOME | grep -v profile; ls $ROOT/mas.ini\""
    [[ $output == *"own='secret\\n.tool\\n'"* ]]
}

@test "/login behind a wall says what to do if the preset has no command, or there is no such program" {
    mkdir "$T/data"
    run_acp "--login $T/login --terminal-login --store $T/data/store --log $T/data/trace" wall.level=try \
        "wall.read = $T/agent $T/options $PROJECT/test/acp/agent.py" "wall.write = $T/data"
    eventually shows 'needs a login'
    [[ $(of solo .note) != *'/login'* ]]
    type_line /login
    eventually shows 'its preset has no login_command'
    eventually shows 'log in on another terminal, by the command that its note says'
    "$MAS" rm -qf "$ID"
    printf 'login_command = no-such-login\nlogin = no-such-login (buy it)\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent made
    find_agent
    eventually shows 'needs a login'
    type_line /login
    eventually shows "there is no program 'no-such-login'"
    eventually shows 'log in with: no-such-login (buy it)'
    eventually shows 'needs a login' # the pane still works
}

@test "there is one login on the pane, and it ends with its host" {
    run_acp "--login $T/login --terminal-login" wall.level=off
    eventually shows 'needs a login'
    type_line /login
    eventually pane_has_login
    run ask solo '{"do":"login"}'
    [[ $output == *"a login is on its pane"* ]]
    "$MAS" stop -q "$ID" >/dev/null
    run ! pane_has_login
    run ! pane_has_login
}

@test "an agent that needs a login on a terminal says with which command, safely" {
    run_acp "--login $T/login --terminal-login"
    tell CW-ONE
    [ "$status" -ne 0 ]
    [[ $stderr == *"needs a login"*"log in by: On a terminal, in a terminal: TOKEN_DIR='/x y' $T/agent '--log in' "* ]]
    [[ $stderr != *$'\e'* ]]
    [[ $(of solo .note) == *"in a terminal: "* ]]
    touch "$T/login"
    tell CW-TWO
    [ "$status" -eq 0 ]
}
