#!/usr/bin/env bats
# What agents can run as.
load ../helper

@test "presets lists each preset with its program and whether that is there" {
    printf '[preset mine]\ndescription = my own\ncommand = cat -u\n' >>"$ROOT/mas.ini"
    printf '[preset lost]\ncommand = no-such-program --fast\ninstall = get it\n' >>"$ROOT/mas.ini"
    ok presets
    [ -z "$stderr" ]
    [[ ${lines[0]} =~ ^PRESET\ +PROTOCOL\ +PROGRAM\ +INSTALLED\ +DESCRIPTION$ ]]
    grep -qE '^shell +tty +/bin/sh +yes +login shell$' <<<"$output"
    grep -qE '^claude +acp +claude-agent-acp +(yes|no) ' <<<"$output"
    grep -qE '^mine +tty +cat +yes +my own$' <<<"$output"
    grep -qE '^lost +tty +no-such-program +no$' <<<"$output"
    [ "$("$MAS" preset)" = "$output" ]
}

@test "presets --json tells how to get a program, -q the names alone" {
    printf '[preset lost]\ncommand = no-such-program --fast\ninstall = get it\n' >>"$ROOT/mas.ini"
    ok presets --json
    [ "$(jq -r '.presets[] | select(.name == "lost") | .command, .program, .installed, .install' <<<"$output" | xargs)" = \
        'no-such-program --fast no-such-program false get it' ]
    [ "$(jq '.total == (.presets | length)' <<<"$output")" = true ]
    jq -r '.presets[].name' <<<"$output" >"$T/names"
    diff <("$MAS" presets -q) "$T/names"
    grep -qx claude "$T/names"
}

@test "presets --json is the same for a preset whose program lies in a PATH of its own" {
    mkdir "$T/bin"
    ln -s /bin/cat "$T/bin/only-there"
    printf '[preset own]\ncommand = only-there\nenv.PATH = %s\n[preset here]\ncommand = ./tool\n' "$T/bin" >>"$ROOT/mas.ini"
    mas presets --json
    [ "$(jq -r '.presets[] | select(.name == "own" or .name == "here") | .installed' <<<"$output" | xargs)" = 'true true' ]
}

@test "presets --json says how to log in, and whether a file of a login is there" {
    printf '[preset in]\ncommand = cat\nlogin = do it\nlogin_files = .no/login .in/login\n[preset out]\ncommand = cat\nlogin_command = out login\nlogin_files = .out\n' >>"$ROOT/mas.ini"
    mkdir -p "$HOME/.in"
    : >"$HOME/.in/login"
    chmod 0 "$HOME/.in/login"
    ok presets --json
    [ "$(jq -r '.presets[] | select(.name == "in" or .name == "out" or .name == "shell") | "\(.login):\(.loggedIn)"' <<<"$output")" = ":null
do it:true
out login:false" ]
}

@test "presets takes no operand, and a broken file is told with its line" {
    fails 2 presets claude
    echo 'rubbish' >>"$ROOT/templates/agents.ini"
    fails 1 presets
    [[ $stderr == *agents.ini:* ]]
    [ -z "$output" ]
}

@test "without a root presets lists the shipped ones, and those of the user" {
    mkdir -p "$T/nobody/.config/mas"
    printf '[preset mine]\ncommand = cat\n' >"$T/nobody/.config/mas/mas.ini"
    cd "$T/nobody"
    run --separate-stderr env -u MAS_ROOT -u XDG_DATA_HOME -u XDG_CONFIG_HOME HOME="$T/nobody" "$MAS" presets -q
    [ "$status" -eq 0 ]
    [ "$output" = "$("$MAS" presets -q)"$'\n'mine ]
    [ ! -e "$T/nobody/.local" ]
}
