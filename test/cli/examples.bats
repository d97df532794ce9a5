#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2153 # for other shells; ROOT is the helper's
# The scripts in scripts/examples/, each by every shell that may be somebody's sh.
load ../helper

SHELLS=(dash bash 'busybox sh')

setup_more() {
    EXAMPLES=$PROJECT/scripts/examples
    mkdir "$T/bin"
    ln -s "$MAS" "$T/bin/mas"
    printf '[preset quick]\ncommand = sh\nidle = 1s\n' >>"$ROOT/mas.ini"
    export PATH=$T/bin:$PATH MAS_TEMPLATE=solo
    cd "$T" || return
}

# example SHELL NAME ARGUMENT...: $output, $stderr, $status
example() {
    local shell=$1 name=$2
    shift 2
    # shellcheck disable=SC2086 # a shell may have options
    run --separate-stderr $shell "$EXAMPLES/$name.sh" "$@"
}

@test "each example is short, can be run and says how" {
    local file count=0
    for file in "$EXAMPLES"/*; do
        [ -x "$file" ]
        [ "$(head -n 1 "$file")" = '#!/bin/sh' ]
        grep -q "^#     ${file##*/} " "$file"
        [ "$(wc -l <"$file")" -le 80 ]
        count=$((count + 1))
    done
    [ "$count" -eq 3 ]
}

@test "each-session runs a command in each session's workspace with its variables" {
    local shell expected one two
    new_session --no-start
    one=$ID
    new_session
    two=$ID
    for shell in "${SHELLS[@]}"; do
        example "$shell" each-session sh -c 'echo "$PWD $MAS_SESSION_ID $1"' - 'a  b'
        [ "$status" -eq 0 ]
        [ "$output" = "$ROOT/sessions/$one $one a  b
$ROOT/sessions/$two $two a  b" ]
        example "$shell" each-session --active printenv MAS_SESSION_ID
        [ "$output" = "$two" ]
        example "$shell" each-session --stopped --error printenv MAS_SESSION_ID
        [ "$output" = "$one" ]
    done
}

@test "each-session tries all, and ends with the first failure's code" {
    local shell one
    new_session --no-start
    one=$ID
    new_session --no-start
    new_session --no-start
    for shell in "${SHELLS[@]}"; do
        example "$shell" each-session sh -c 'echo x; case $MAS_SESSION_ID in '"$one"') exit 9 ;; esac; exit 8'
        [ "$status" -eq 9 ]
        [ "${#lines[@]}" -eq 3 ]
        example "$shell" each-session "$T"
        [ "$status" -eq 126 ]
        example "$shell" each-session --active
        [ "$status" -eq 2 ]
        [[ $stderr == 'usage: each-session.sh '* ]]
    done
    echo x >>"$ROOT/sessions/$one/.session"
    for shell in "${SHELLS[@]}"; do
        example "$shell" each-session echo x
        [ "$status" -eq 5 ]
        [ "$output" = $'x\nx' ]
        [[ $stderr == "mas: cannot read session '$one'"* ]]
    done
}

@test "each-session works in a root whose path would be a command" {
    local shell root="$T/"'it'\''s $(touch ran) `touch ran` * ;'
    export MAS_ROOT=$root
    "$MAS" init -q
    new_session --no-start
    for shell in "${SHELLS[@]}"; do
        example "$shell" each-session pwd
        [ "$output" = "$root/sessions/$ID" ]
    done
    [ ! -e ran ]
    export MAS_ROOT=$T/none
    "$MAS" init -q "$MAS_ROOT"
    example dash each-session pwd
    [ "$status" -eq 0 ]
    [ -z "$output$stderr" ]
    # a mas that fails is told with its code
    MAS_SESSION_MODE=wrong example dash each-session pwd
    [ "$status" -ne 0 ]
    [ -z "$output" ]
}

@test "team-job gives a team work, waits for it, collects its logs and leaves no session" {
    local shell
    for shell in "${SHELLS[@]}"; do
        example "$shell" team-job -t pair -a quick -w 20s "$T/it's logs" all 'sleep 0.2; echo "done by $MAS_AGENT_ID"'
        [ "$status" -eq 0 ] || { echo "$shell: $stderr" >&2; false; }
        [ -z "$output$stderr" ]
        grep -q 'done by lead' "$T/it's logs/lead.log"
        grep -q 'done by reviewer' "$T/it's logs/reviewer.log"
        grep -q ' send from=- to=lead' "$T/it's logs/session.log"
        [ "$(jq -r '.sessions[0].agents | length' "$T/it's logs/status.json")" -eq 2 ]
        [ -z "$("$MAS" list --all -q)" ]
        rm -r "$T/it's logs"
    done
}

@test "team-job takes a preset and a config" {
    printf '[preset echo]\ncommand = sh -c "while read -r l; do echo heard \\$l; done"\n' >>"$ROOT/mas.ini"
    echo '{"agents":{"units":[{"unitId":1,"manager":{"id":"solo","prompt":"at first"}}]}}' >"$T/a config"
    example dash team-job -a echo -c "$T/a config" -w 20s logs solo and this
    [ "$status" -eq 0 ]
    # the terminal may have shown the next message by then, whose Enter comes a moment later
    grep -q 'heard at first$' logs/solo.log
    grep -qx 'heard and this' logs/solo.log
}

@test "team-job that takes too long ends with 7, keeps the logs and leaves no session" {
    local shell
    for shell in "${SHELLS[@]}"; do
        example "$shell" team-job -w 500ms logs solo 'echo begun; while :; do sleep 0.05; echo still; done'
        [ "$status" -eq 7 ]
        grep -q still logs/solo.log
        [ -z "$("$MAS" list --all -q)" ]
    done
}

@test "team-job that gets a signal collects what there is and leaves no session" {
    local shell signal pid
    for shell in "${SHELLS[@]}"; do
        for signal in TERM:143 HUP:129; do
            rm -rf logs
            # shellcheck disable=SC2086 # a shell may have options
            $shell "$EXAMPLES/team-job.sh" logs solo 'echo begun; while :; do sleep 0.05; echo still; done' \
                >said 2>&1 3>&- &
            pid=$!
            # shellcheck disable=SC2317 # called by eventually
            is_at_work() { grep -q still "$ROOT"/sessions/*/logs/agent-solo.log; } 2>/dev/null
            eventually is_at_work
            kill -s "${signal%:*}" "$pid"
            status=0
            wait "$pid" || status=$?
            [ "$status" -eq "${signal#*:}" ]
            grep -q still logs/solo.log
            [ -z "$("$MAS" list --all -q)" ]
        done
    done
}

@test "team-job that cannot begin ends with the code of mas and leaves nothing" {
    local shell
    for shell in "${SHELLS[@]}"; do
        example "$shell" team-job -a none logs solo hello
        [ "$status" -eq 3 ]
        [[ $stderr == "mas: cannot use preset 'none'"* ]]
        example "$shell" team-job logs nobody hello
        [ "$status" -eq 3 ]
        [[ $stderr == *nobody* ]]
        example "$shell" team-job logs solo
        [ "$status" -eq 2 ]
        [[ $stderr == 'usage: team-job.sh '* ]]
        touch file
        example "$shell" team-job file solo hello
        [ "$status" -ne 0 ]
    done
    [ -z "$("$MAS" list --all -q)" ]
}

@test "keep-running brings crashed teams back and is silent when all is well" {
    local shell
    new_session
    for shell in "${SHELLS[@]}"; do
        example "$shell" keep-running "$ROOT"
        [ "$status" -eq 0 ]
        [ -z "$output$stderr" ]
        tm kill-server
        [ "$("$MAS" list --json | jq '.sessions[0].crashed')" = true ]
        # as cron calls it
        # shellcheck disable=SC2086
        run --separate-stderr env -i HOME="$HOME" LOGNAME=ann SHELL=/bin/sh PATH="$T/bin:/usr/bin:/bin" \
            MAS_TMUX_SOCKET="$SOCK" TMUX_TMPDIR="$T" $shell "$EXAMPLES/keep-running.sh" "$ROOT"
        [ "$status" -eq 0 ]
        [ -z "$output$stderr" ]
        [ "$("$MAS" list --active -q)" = "$ID" ]
    done
}

@test "keep-running tells which sessions are broken" {
    local shell
    new_session --no-start
    "$MAS" library mark "$ID" 'no disk'
    for shell in "${SHELLS[@]}"; do
        example "$shell" keep-running
        [ "$status" -eq 1 ]
        [[ $output == *"error: no disk"* ]]
    done
    example dash keep-running "$T/none"
    [ "$status" -eq 1 ]
    [[ $stderr == "mas: cannot use root '$T/none'"* ]]
}
