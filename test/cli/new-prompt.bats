#!/usr/bin/env bats
# A session that begins with one sentence.
load ../helper
load ../project

# Stand-ins for the agents' own programs, which are installed or not; $T/bin is all of PATH that has
# any. Each shows what it gets.
setup_more() {
    make_project
    mkdir "$T/bin" "$P/sub"
    PATH=$T/bin:/usr/local/bin:/usr/bin:/bin
    cd "$P/sub" || return
}

installs() {
    for name; do
        # shellcheck disable=SC2016 # for the script
        printf '#!/bin/sh\necho ready\nwhile read -r line; do echo "got: $line"; done\n' >"$T/bin/$name"
        chmod +x "$T/bin/$name"
    done
}

# A preset that answers: settings of mas.ini make it the one of all agents.
answering() {
    installs talker
    printf '[preset talker]\ncommand = talker\nexecutes = no\nready = ready\n[session]\npreset = talker\n' >>"$ROOT/mas.ini"
}

preset_of() { jq -r .preset "$ROOT/sessions/$(field "$1" .sessionId)/config.json"; }

shows() { "$MAS" logs "$1" solo | grep -qxF "got: $2"; }

@test "one sentence makes a session of one agent on this repository, named after the words" {
    answering
    ok new 'fix the login on Safari'
    [[ $output == *$'\nattach: mas attach fix-login' ]]
    [ "$(field fix-login '.template + " " + .project.path')" = "solo $P/sub" ]
    eventually shows fix-login 'fix the login on Safari'
    # the same again has a number
    ok new -d 'fix the login on Safari'
    [[ $output == *$'\nattach: mas attach fix-login-2' ]]
    ok new --name mine -t solo 'Please: do fix it'
    [[ $output == *$'\nattach: mas attach mine' ]]
    # what is not ASCII is no part of a name
    ok new -q --no-start 'größe ändern, BITTE!'
    [ "$(field "$output" .name)" = bitte ]
    ok new -q --no-start '日本語 の'
    [ "$(field "$output" .name)" = "" ]
}

@test "options and the environment say otherwise" {
    answering
    git clone -q "$P" "$T/other"
    ok new -q --project "$T/other" -t pair --name two 'look at this'
    [ "$(field two '.template + " " + .project.path')" = "pair $T/other" ]
    cd "$T"
    ok new -q 'no repository here'
    [ "$(field no-repository '.project')" = null ]
    fails 2 new -p solo=other 'no repository here'
    [[ $stderr == "mas: cannot use a prompt for agent 'solo': the agent has a prompt already" ]]
    ok new -q --no-start 'begin it later'
    "$MAS" start -q begin-later
    eventually shows begin-later 'begin it later'
}

@test "one word, no word and several words are refused with what they may mean" {
    answering
    before=$(snapshot)
    fails 2 new shop
    [ "$stderr" = "mas: cannot begin with 'shop': one word may be a name or a prompt
for a name: mas new --name shop; for a prompt: mas new -t solo -p solo=shop" ]
    fails 2 new -- --help
    [[ $stderr == "mas: cannot begin with '--help': one word "*"mas new --name NAME; "*"solo=WORD" ]]
    fails 2 new ' 	'
    [ "$stderr" = "mas: cannot begin with a prompt: it is empty" ]
    fails 2 new fix the login
    [ "$stderr" = "mas: cannot run 'new': it takes one PROMPT
put it in quotes: mas new 'WORDS OF THE PROMPT'" ]
    fails 2 new $'two \x01words'
    [ "$(snapshot)" = "$before" ]
}

@test "quotes, newlines, look-alikes of options and 100 KB arrive as they are" {
    answering
    ok new -q -- '--help me'
    eventually shows help '--help me'
    ok new -q "it's \"so\" \$(touch $T/run) \`x\`"
    eventually shows its-touch "it's \"so\" \$(touch $T/run) \`x\`"
    [ ! -e "$T/run" ]
    long=$(printf 'many %.0s' {1..20000})words
    ok new -q --no-start "$long"
    [ "$(jq -r '.. | .prompt? // empty' "$ROOT/sessions/$output/config.json")" = "$long" ]
    ok new -q --no-start $'first line\nsecond line'
    [ "$(jq -r '.. | .prompt? // empty' "$ROOT/sessions/$output/config.json")" = $'first line\nsecond line' ]
}

@test "without a setting the only program that is installed answers, and it stays the session's" {
    installs codex
    ok new -q -d --no-start 'write more tests'
    [ "$(preset_of write-more)" = codex-tty ]
    installs claude
    fails 2 new 'write more tests'
    [ "$stderr" = "mas: cannot begin with a prompt: agent 'solo' runs preset 'shell', which would execute it
say what it runs with --agent PRESET; installed: claude-tty, codex-tty" ]
    fails 2 new --agent shell 'write more tests'
    [[ $stderr == *"would execute it"$'\n'* ]]
    ok new -q --no-start --agent claude-tty 'write more tests'
    rm "$T/bin/"*
    fails 2 new 'write more tests'
    [[ $stderr == *$'\nsay what it runs with --agent PRESET; installed: none' ]]
}

@test "a preset of the template wins over the program that is installed" {
    installs codex
    mkdir -p "$ROOT/templates"
    cp -R "$PROJECT/templates/solo" "$ROOT/templates/mine"
    printf '[preset talker]\ncommand = cat\nexecutes = no\n' >>"$ROOT/mas.ini"
    sed -i '0,/^preset =.*/s//preset = talker/' "$ROOT/templates/mine/template.ini"
    ok new -q --no-start -t mine 'look at it'
    [ "$(preset_of look)" = talker ]
}

@test "on a terminal it attaches, and with -d it does not" {
    answering
    tmux -u -S "$T/outer" -f /dev/null new-session -d -x 120 -y 40 \
        "exec env -u TMUX -u TMUX_PANE TERM=screen '$MAS' new 'show it to me'"
    eventually prints show "eval" 'tm list-clients -F "#{session_name}" | xargs -rI{} sh -c "echo show"'
    tmux -S "$T/outer" kill-server
}
