#!/usr/bin/env bats
# scripts/mas_refactored.sh, the old entry point: legacy by default, and everything done by mas.
load ../helper

setup_more() {
    OLD=$PROJECT/scripts/mas_refactored.sh
    # shellcheck disable=SC2016 # for the agent
    printf '[preset keeper]\ncommand = sh -c "while read -r l; do echo \\$l >>%s; done"\n' "$T/heard" >>"$ROOT/mas.ini"
    export MAS MAS_TEMPLATE=solo
    SOME=c0ffee00-0000-4000-8000-000000000000
}

old() { run --separate-stderr "$OLD" "$@"; }
heard() { [ "$(cat "$T/heard" 2>/dev/null)" = "$1" ]; }

@test "start makes the legacy session, says so when it runs, and starts it when it is stopped" {
    local id
    old start
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(field mas-tmux '.mode + " " + .status')" = 'legacy active' ]
    [ -d "$ROOT/unit/solo" ]
    id=$("$MAS" list -q)
    [ "${lines[0]}" = "mas-tmux  $id" ]
    old start
    [ "$status" -eq 0 ]
    [ "$output" = "$id is already running" ]
    old stop
    [ "$status" -eq 0 ]
    [ "$output" = "$id stopped" ]
    [ "$(field "$id" .status)" = stopped ]
    old stop
    [ "$status" -eq 0 ]
    [ "$output" = "$id is already stopped" ]
    old start
    [ "$status" -eq 0 ]
    [ "$output" = "$id started" ]
    [ "$("$MAS" list --active -q)" = "$id" ]
}

@test "the legacy session is found whatever it is called" {
    local id
    SESSION_NAME=team old start -n mine
    [ "$status" -eq 0 ]
    tm has-session -t =team
    id=$("$MAS" list -q)
    new_session -n mas-tmux
    old start
    [ "$output" = "mine is already running" ]
    tm rename-session -t =team other
    old stop
    [ "$output" = "mine stopped" ]
    [ "$("$MAS" list --active -q)" = "$ID" ]
}

@test "send delivers to the team, word for word" {
    old start --agent keeper
    [ "$status" -eq 0 ]
    # shellcheck disable=SC2016
    old send solo 'it'\''s  "$(id)"' '; #(x)'
    [ "$status" -eq 0 ]
    [ -z "$output$stderr" ]
    # shellcheck disable=SC2016
    eventually heard 'it'\''s "$(id)" ; #(x)'
    old send nobody hello
    [ "$status" -eq 3 ]
    old send solo
    [ "$status" -eq 2 ]
    old stop
    old send solo hello
    [ "$status" -eq 4 ]
    [[ $stderr == *'it is not running'* ]]
}

@test "status shows the team, running or not" {
    old start
    old status
    [ "$status" -eq 0 ]
    [[ ${lines[1]} == solo\ * ]]
    old status --json
    [ "$(jq -r '.sessions[0].tmuxSession' <<<"$output")" = mas-tmux ]
    old stop
    old status
    [ "$status" -eq 0 ]
    [[ ${lines[1]} == solo\ *\ stopped\ * ]]
}

@test "where there is no legacy session, stop, send and status say so with 3" {
    local verb
    new_session
    for verb in stop 'send solo hello' status; do
        # shellcheck disable=SC2086 # words
        old $verb
        [ "$status" -eq 3 ]
        [ "${stderr%%$'\n'*}" = 'mas: cannot find the legacy session: the root has no legacy session' ]
    done
    [ "$("$MAS" list --active -q)" = "$ID" ]
}

@test "MAS_SESSION_ID names any session, and start makes an isolated one of that id" {
    local verb
    export MAS_SESSION_ID=$SOME MAS_SESSION_MODE=isolated
    for verb in stop 'send solo hello' status; do
        # shellcheck disable=SC2086 # words
        old $verb
        [ "$status" -eq 3 ]
        [[ $stderr == "mas: cannot find session '$SOME'"* ]]
    done
    old start --agent keeper
    [ "$status" -eq 0 ]
    [ "$(field "$SOME" '.mode + " " + .status')" = 'isolated active' ]
    old start
    [ "$output" = "$SOME is already running" ]
    old send solo hello
    eventually heard hello
    old status --json
    [ "$(jq -r '.sessions[].sessionId' <<<"$output")" = "$SOME" ]
    # what stands in a team's environment beside the id is no setting
    MAS_SESSION_MODE=legacy SESSION_NAME=other old stop
    [ "$output" = "$SOME stopped" ]
    MAS_SESSION_MODE='' old start
    [ "$output" = "$SOME started" ]
    [ "$("$MAS" list -q)" = "$SOME" ]
    MAS_SESSION_ID=bad old start
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot use id 'bad'"* ]]
    [ ! -e "$ROOT/unit" ]
}

@test "isolated without an id: start makes a session each time, status tells all, stop and send ask which" {
    export MAS_SESSION_MODE=isolated
    old start -q
    [ "$status" -eq 0 ]
    ID=$output
    old start -q -n second
    [ "$status" -eq 0 ]
    [ "$output" != "$ID" ]
    [ "$("$MAS" list --json | jq -r '[.sessions[].mode] | unique[]')" = isolated ]
    old status --json
    [ "$(jq '.sessions | length' <<<"$output")" -eq 2 ]
    old stop
    [ "$status" -eq 2 ]
    [[ $stderr == *'set MAS_SESSION_ID to the id of one of them'* ]]
    old send solo hello
    [ "$status" -eq 2 ]
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
}

@test "both modes live side by side, and going from one to the other loses neither" {
    local legacy
    old start
    legacy=$("$MAS" list -q)
    MAS_SESSION_MODE=isolated MAS_SESSION_ID=$SOME old start
    [ "$status" -eq 0 ]
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
    old stop
    [ "$output" = "$legacy stopped" ]
    [ "$("$MAS" list --active -q)" = "$SOME" ]
    MAS_SESSION_MODE=legacy old start
    [ "$output" = "$legacy started" ]
    MAS_SESSION_ID=$SOME old stop
    [ "$output" = "$SOME stopped" ]
    [ "$("$MAS" list --active -q)" = "$legacy" ]
}

@test "legacy is the default whatever mas.ini says" {
    printf '[session]\nmode = isolated\n' >>"$ROOT/mas.ini"
    old start
    [ "$(field @last .mode)" = legacy ]
}

@test "a mode, a verb or an option that is none is refused, and makes nothing" {
    MAS_SESSION_MODE=shared old start
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot use MAS_SESSION_MODE='shared': "* ]]
    old restart
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot run 'restart': "*"usage: mas_refactored.sh start|stop|send|status|help|version"* ]]
    old start --nonsense
    [ "$status" -eq 2 ]
    MAS=$T/none old start
    [ "$status" -eq 1 ]
    [[ $stderr == "mas: cannot find the program '$T/none'"* ]]
    [ -z "$("$MAS" list --all -q)" ]
    [ ! -e "$ROOT/unit" ]
    # a session that is there takes no options of `mas new`
    old start
    old start -t pair
    [ "$status" -eq 2 ]
}

@test "what mas says is said, with its exit code" {
    old start
    echo x >>"$ROOT/sessions/$("$MAS" list -q)/.session"
    old start
    [ "$status" -eq 5 ]
    tm kill-server
    old start
    [ "$status" -eq 5 ]
    [[ $stderr == 'mas: cannot start session '* ]]
    [ "$("$MAS" list -q | wc -l)" -eq 1 ]
    MAS_ROOT=$T/none old status
    [ "$status" -eq 1 ]
}

@test "help, alone too, and version do what they say in every shell" {
    local shell
    for shell in dash bash 'busybox sh'; do
        # shellcheck disable=SC2086
        run $shell "$OLD" help
        [ "$status" -eq 0 ]
        for word in usage: start stop send status version MAS_SESSION_ID MAS_SESSION_MODE; do
            [[ $output == *"$word"* ]]
        done
        # shellcheck disable=SC2086
        [ "$output" = "$($shell "$OLD")" ]
        # shellcheck disable=SC2086
        [ "$($shell "$OLD" version)" = "$("$MAS" version)" ]
        # shellcheck disable=SC2086
        [ "$($shell "$OLD" start -q | wc -w)" -eq 1 ]
        # shellcheck disable=SC2086
        $shell "$OLD" stop
        "$MAS" rm -q @last
    done
}

@test "without MAS it finds mas on PATH, or else the one that the tree has built" {
    local tree="$T/a 'tree'"
    mkdir -p "$tree/scripts" "$tree/build" "$T/bin"
    cp "$OLD" "$tree/scripts"
    for name in "$tree/build" "$T/bin"; do
        printf '#!/bin/sh\necho "%s $*"\n' "${name##*/}" >"$name/mas"
        chmod +x "$name/mas"
    done
    unset MAS
    PATH=/usr/bin:/bin
    [ "$("$tree/scripts/mas_refactored.sh" version)" = 'build version' ]
    [ "$(PATH=$T/bin:$PATH "$tree/scripts/mas_refactored.sh" version)" = 'bin version' ]
    ln -s "$tree/scripts/mas_refactored.sh" "$T/link.sh"
    cd / && [ "$("$T/link.sh" version)" = 'build version' ]
}
