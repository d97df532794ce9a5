#!/usr/bin/env bats
# What programs on a terminal are told of their role and of the project, by the keys of their preset.
load ../helper
load lib
load ../project

setup_more() { make_project; }

# Writes what the program is started with: its arguments and environment, NUL between them, and the
# files of the directory in $ROLE_DIR.
recorder() {
    cat >"$T/record" <<'END'
#!/bin/bash
{ printf '%s\0' "$PWD" "$@"; } >"$OUT/argv.new"
cp /proc/self/environ "$OUT/env"
[ -z "${ROLE_DIR-}" ] || cp -r "${ROLE_DIR%%,*}" "$OUT/dir"
mv "$OUT/argv.new" "$OUT/argv"
echo ready
exec sleep "$MARK"
END
    chmod +x "$T/record"
    mkdir -p "$T/out"
    export OUT=$T/out
}

instruct() { # NAME TEXT: a file of the project
    printf '%s\n' "$2" >"$P/$1"
    git -C "$P" add -- "$1"
    git -C "$P" commit -qm 'Instruct'
}

# team [-u] KEY=VALUE...: a session on the project whose agent is the recorder; -u: starts in its unit.
team() {
    recorder
    echo 'CW-ROLE is what you do' >"$ROOT/templates/solo/unit/solo/AGENTS.md"
    if [ "${1-}" = -u ]; then
        shift
        sed -i 's/^code = worktree/&\ncwd = unit/' "$ROOT/templates/solo/template.ini"
    fi
    preset scripted "$T/record one" "$@"
    new_session -t solo -n one --agent scripted --project "$P"
    DIR=$ROOT/sessions/$ID
    eventually test -e "$OUT/argv"
}

# Prints argument $1 of the program (0: its directory).
word() { python3 -c 'import sys; sys.stdout.write(open(sys.argv[1]).read().split("\0")[int(sys.argv[2])])' "$OUT/argv" "$1"; }
words() { tr -cd '\0' <"$OUT/argv" | wc -c; }
variable() { tr '\0' '\n' <"$OUT/env" | sed -n "s/^$1=//p"; }

@test "an option with a file: the role, the branch and who does what" {
    instruct AGENTS.md CW-PROJECT
    team 'role_option = --role {file}'
    [ "$(words)" -eq 4 ]
    [ "$(word 0)" = "$DIR/code/solo" ]
    [ "$(word 1)" = one ]
    [ "$(word 2)" = --role ]
    [ "$(word 3)" = "$DIR/run/solo.role/role.md" ]
    file=$(word 3)
    [ "$(stat -c %a "$file")" = 600 ]
    [ "$(stat -c %a "${file%/*}")" = 700 ]
    expected="[your role; paths in it begin in its directory: $DIR/unit/solo/AGENTS.md]
CW-ROLE is what you do

[the project is in $DIR/code/solo, your branch mas/one/solo]
Commit there: only commits are merged. \`mas diff solo\` shows what is not merged yet, \`mas merge solo\` merges your branch into the team's branch mas/one/main, \`mas sync solo\` brings you what is new there. A person lands the team's branch with \`mas land\`; never change $P yourself."
    diff <(echo "$expected") "$file"
    [ -z "$(git -C "$DIR/code/solo" status --porcelain --ignored)" ] # nothing of mas is there
}

@test "the text itself, as it is and as JSON" {
    team 'role_option = --a {text} --b={json:text} --c "{} {no} {json:} {text"'
    [ "$(word 2)" = --a ]
    [[ $(word 3) == "[your role;"*'CW-ROLE is what you do'*'your branch mas/one/solo'* ]]
    json=$(word 4)
    [ "${json#--b=}" = "$(word 3 | jq -Rs .)" ] || diff <(jq -r . <<<"${json#--b=}") <(word 3; echo)
    [ "$(word 5)" = '--c' ]
    [ "$(word 6)" = '{} {no} {json:} {text' ]
}

@test "a variable with a directory, before the value that it has" {
    export ROLE_DIR=/elsewhere
    team 'role_env.ROLE_DIR = {dir}{,old}' 'role_file = role.instructions.md'
    [ "$(words)" -eq 2 ]
    [ "$(variable ROLE_DIR)" = "$DIR/run/solo.role,/elsewhere" ]
    [ "$(ls -A "$OUT/dir")" = role.instructions.md ]
    grep -qx 'CW-ROLE is what you do' "$OUT/dir/role.instructions.md"
}

@test "a variable without a value gets no comma" {
    team 'role_env.ROLE_DIR = {dir}{,old}'
    [ "$(variable ROLE_DIR)" = "$DIR/run/solo.role" ]
    [ "$(ls -A "$OUT/dir")" = role.md ]
}

@test "a variable that the user has set keeps its value, and the log says so" {
    export MY_CONFIG=/my/config # two objects of JSON would be put together
    team 'role_env.MY_CONFIG = {"instructions": [{json:file}]}'
    [ "$(variable MY_CONFIG)" = /my/config ]
    grep -q 'agent=solo is not told its role: the environment has MY_CONFIG' "$DIR/logs/session.log"
}

@test "a variable can hold JSON with a path in it" {
    team 'role_env.MY_CONFIG = {"instructions": [{json:file}]}'
    [ "$(variable MY_CONFIG | jq -r '.instructions[0]')" = "$DIR/run/solo.role/role.md" ]
}

@test "instructions of the project that the program does not read are added" {
    instruct AGENTS.md CW-PROJECT
    team 'role_option = --role {file}' 'reads = CLAUDE.md'
    grep -qxF "[the project's instructions: $DIR/code/solo/AGENTS.md]" "$(word 3)"
    grep -qx CW-PROJECT "$(word 3)"
    grep -qx 'CW-ROLE is what you do' "$(word 3)"
}

@test "instructions of the project that the program reads are not added" {
    instruct CLAUDE.md CW-PROJECT
    team 'role_option = --role {file}' 'reads = CLAUDE.md'
    grep -q CW-ROLE "$(word 3)"
    run ! grep -q CW-PROJECT "$(word 3)"
}

@test "CLAUDE.md is added for a program that reads only AGENTS.md" {
    instruct CLAUDE.md CW-PROJECT
    team 'role_option = --role {file}' 'reads = AGENTS.md, AGENTS.override.md'
    grep -qx CW-PROJECT "$(word 3)"
}

@test "a program that starts in its unit is told of the project, and its role if it does not read it" {
    instruct AGENTS.md CW-PROJECT
    team -u 'role_option = --role {file}'
    [ "$(word 0)" = "$DIR/unit/solo" ]
    grep -qx CW-PROJECT "$(word 3)"
    run ! grep -q CW-ROLE "$(word 3)"
    grep -qF "[the project is in $DIR/code/solo, your branch mas/one/solo]" "$(word 3)"
    [ "$(ls -A "$DIR/unit/solo")" = $'AGENTS.md\nCLAUDE.md' ]
}

@test "without a project a program is told its role only if it does not read it" {
    recorder
    echo 'CW-ROLE is what you do' >"$ROOT/templates/solo/unit/solo/AGENTS.md"
    preset reader "$T/record" 'role_option = --role {text}'
    preset other "$T/record" 'role_option = --role {text}' 'reads = GEMINI.md'
    new_session -t solo --agent reader
    eventually test -e "$OUT/argv"
    [ "$(words)" -eq 1 ]
    [ ! -e "$ROOT/sessions/$ID/run/solo.role" ]
    rm "$OUT/argv"
    new_session -t solo --agent other
    eventually test -e "$OUT/argv"
    [[ $(word 2) == *'CW-ROLE is what you do'* ]]
    [[ $(word 2) != *project* ]]
}

@test "the agent's system text comes first" {
    sed -i 's/^code = worktree/&\nsystem = CW-SYSTEM/' "$ROOT/templates/solo/template.ini"
    team 'role_option = --role {file}'
    [ "$(head -n 1 "$(word 3)")" = CW-SYSTEM ]
    grep -q CW-ROLE "$(word 3)"
}

@test "a preset without these keys starts its program as it is" {
    team
    [ "$(words)" -eq 2 ]
    [ ! -e "$DIR/run/solo.role" ]
}

@test "each start has the text of its time, and nothing is left at the end" {
    team 'role_option = --role {file}'
    echo 'CW-LATER' >"$DIR/unit/solo/AGENTS.md"
    touch "$DIR/run/solo.role/of-the-program"
    rm "$OUT/argv"
    "$MAS" restart "$ID" solo
    eventually test -e "$OUT/argv"
    grep -qx CW-LATER "$(word 3)"
    run ! grep -q CW-ROLE "$(word 3)"
    [ "$(ls "$DIR/run/solo.role")" = role.md ]
    "$MAS" stop "$ID"
    [ -z "$(ls -A "$DIR/run")" ]
}

@test "what a killed host leaves of it goes with the next stop" {
    team 'role_option = --role {file}'
    kill -KILL "$("$MAS" status "$ID" --json | jq '.sessions[0].agents[0].hostPid')"
    eventually eval "! pgrep -f 'mas host $ID ' >/dev/null"
    [ -e "$DIR/run/solo.role/role.md" ]
    "$MAS" stop "$ID"
    [ -z "$(ls -A "$DIR/run")" ]
}

@test "doctor removes what a killed host left of it, and not that of one that lives" {
    team 'role_option = --role {file}'
    mas doctor
    [[ $output != *solo.role* ]]
    cp -r "$DIR/run/solo.role" "$DIR/run/gone.role"
    touch -d '1 hour ago' "$DIR/run/gone.role"
    mas doctor
    [[ $output == *'run/gone.role is left over'* ]]
    mas doctor --fix
    [ ! -e "$DIR/run/gone.role" ]
    [ -e "$DIR/run/solo.role/role.md" ]
}

@test "escape sequences in instructions reach no terminal, and no line is lost" {
    printf 'CW-ONE\r\n\ttab\033]0;title\007\xc2\x9b31m\xe2\x80\xae\nCW-LAST' >"$P/AGENTS.md"
    git -C "$P" add AGENTS.md
    git -C "$P" commit -qm 'Instruct'
    team 'role_option = --role {text}' 'reads ='
    word 3 >"$T/text"
    run ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$T/text"
    grep -qx CW-ONE "$T/text"
    grep -qxF $'\ttab\\x1b]0;title\\x07\\xc2\\x9b31m\\xe2\\x80\\xae' "$T/text"
    grep -qx CW-LAST "$T/text"
}

@test "instructions are limited in size, and what a word cannot hold is in the file" {
    { printf 'CW-BEGIN\n'; yes 'a "long" \ line' | head -c 100000; printf '\nCW-END\n'; } >"$P/AGENTS.md"
    git -C "$P" add AGENTS.md
    git -C "$P" commit -qm 'Instruct'
    team 'role_option = {file} {json:text}' 'reads ='
    grep -qx CW-BEGIN "$(word 2)"
    run ! grep -q CW-END "$(word 2)"
    grep -qx '(the file is longer than 64 KiB; the rest is left out)' "$(word 2)"
    [ "$(word 3 | wc -c)" -lt 131072 ]
    [[ $(word 3 | jq -r .) == *"(the rest is left out here; all of it is in $(word 2))" ]]
}

@test "of a link, a FIFO and a file that is no text nothing is taken" {
    instruct AGENTS.md CW-PROJECT
    team 'role_option = --role {file}' 'reads ='
    grep -qx CW-PROJECT "$(word 3)"
    echo CW-SECRET >"$T/secret"
    for kind in link fifo binary; do
        rm -f "$DIR/code/solo/AGENTS.md" "$OUT/argv"
        case $kind in
            link) ln -s "$T/secret" "$DIR/code/solo/AGENTS.md" ;;
            fifo) mkfifo "$DIR/code/solo/AGENTS.md" ;;
            binary) printf 'CW-BINARY\0\377' >"$DIR/code/solo/AGENTS.md" ;;
        esac
        "$MAS" restart "$ID" solo
        eventually test -e "$OUT/argv"
        grep -q CW-ROLE "$(word 3)"
        run ! grep -qE 'CW-(SECRET|BINARY)|instructions' "$(word 3)"
    done
}

@test "an agent that cannot get its text does not start, and says why" {
    team 'role_option = --role {file}' 'restart = on-crash' 'restart_delay = 100ms'
    find_agent
    pid=$(agent_pid "$ID")
    rm -rf "$DIR/run"
    kill -KILL "$pid"
    pane_says() { tm capture-pane -p -J -t "$PANE" | grep -qF "$1"; }
    eventually pane_says "cannot create 'run/solo.role'"
}
