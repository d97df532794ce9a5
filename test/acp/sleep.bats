#!/usr/bin/env bats
# Hibernation: the process of an idle ACP agent ends, its host stays, and the next prompt brings both
# the agent and its conversation back. Nothing that may be at work is ended.
load ../helper
load ../serve/lib # `is` and the teardown of its own come from the next
load ../host/lib
load lib

teardown_last() { if [ -n "$SERVER" ]; then kill "$SERVER" || :; fi; }

# sleeper OPTIONS KEY=VALUE...: an agent that has had one turn, and is idle.
sleeper() {
    run_acp "$@"
    tell CW-ONE
    eventually state_is solo idle
}

sleeps() { run --separate-stderr timeout 60 "$MAS" sleep "$ID" solo; }

# refuses WORDS: `mas sleep` leaves the agent awake, says so, and its process goes on.
refuses() {
    local agent
    agent=$(of solo .pid)
    sleeps
    [ "$status" -eq 4 ]
    [[ $stderr == *"cannot put agent 'solo' to sleep: $1"* ]] || { echo "$stderr" >&2; return 1; }
    kill -0 "$agent"
    is solo .pid "$agent"
}

has_no_supervisor() { ! pgrep -P "$1" -x mas-supervisor; }

@test "an idle agent is put to sleep: its process tree is gone, its host stays and is small" {
    sleeper "--keep-servers"
    agent=$(of solo .pid) host=$(of solo .hostPid)
    eventually pgrep -P "$agent"
    server=$(pgrep -P "$agent")
    sleeps
    [ "$status" -eq 0 ]
    [ "$output" = "solo is asleep" ]
    is_gone "$agent"
    is_gone "$server"
    state_is solo asleep
    is solo .hostPid "$host"
    [ "$(of solo .restarts)" = 0 ]
    eventually has_no_supervisor "$host"
    if [ -z "${TEST_SAN-}" ]; then [ "$(private_memory "$host")" -lt 3072 ]; fi
    sleeps
    [ "$status" -eq 0 ]
    [ "$output" = "solo is asleep already" ]
    "$MAS" wait --timeout 20s "$ID" solo
}

@test "the next prompt wakes it with its conversation, and the history says so" {
    sleeper ""
    sleeps
    tell CW-TWO
    knows CW-ONE CW-TWO
    came_back resumed
    [ "$(injections)" = 0 ]
    eventually state_is solo idle
    [ "$(notes)" = "the agent sleeps; its next prompt or a key press wakes it
the agent wakes
conversation resumed" ]
    sleeps
    "$MAS" send "$ID" solo CW-THREE
    eventually was_sent CW-THREE
    eventually state_is solo idle
    tell CW-FOUR
    knows CW-FOUR CW-ONE CW-THREE CW-TWO
}

@test "a prompt over HTTP wakes it, and one of another agent does" {
    acp_team pair
    hosts_there lead reviewer
    "$MAS" ask "$ID" reviewer CW-ONE >/dev/null
    eventually state_is reviewer idle
    "$MAS" sleep -q "$ID" reviewer
    serve
    post "/sessions/$ID/messages" '{"target":"reviewer","message":"CW-HTTP"}'
    [ "$status" = 200 ]
    eventually was_sent CW-HTTP
    eventually state_is reviewer idle
    "$MAS" sleep -q "$ID" reviewer
    "$MAS" send --from lead "$ID" reviewer CW-MATE
    eventually was_sent CW-MATE
}

@test "an agent that can neither resume nor load wakes with what was said before, once" {
    sleeper "--no-resume --no-load"
    sleeps
    tell CW-TWO
    knows CW-ONE CW-TWO
    came_back injected
    sleeps
    tell CW-THREE
    knows CW-ONE CW-THREE CW-TWO
    [ "$(injections)" = 2 ]
}

@test "a person at the pane sees that it sleeps, and wakes it by typing or by Enter" {
    sleeper ""
    sleeps
    eventually shows ' asleep | Enter or a prompt wakes it'
    press C-l
    type=$(of solo .pid)
    [ "$type" = null ] || [ -z "$type" ]
    state_is solo asleep
    press x
    eventually state_is solo idle
    eventually shows ' idle'
    press BSpace
    sleeps
    [ "$status" -eq 0 ]
    eventually shows ' asleep'
    press Enter
    eventually state_is solo idle
    sleeps
    type_line CW-TYPED
    eventually was_sent CW-TYPED
    eventually state_is solo idle
    [ "$(prompts CW-TYPED)" = 1 ]
}

@test "a key that is pressed while the agent falls asleep wakes it, too" {
    sleeper ""
    supervisor=$(pgrep -P "$(of solo .hostPid)" -x mas-supervisor)
    kill -STOP "$supervisor" # its tree has not ended yet
    "$MAS" sleep -q "$ID" solo &
    eventually shows ' asleep | Enter or a prompt wakes it'
    press x
    eventually shows '> x'
    kill -CONT "$supervisor"
    eventually state_is solo idle
    wait "$!" || :
}

@test "an agent that sleeps is restarted, stopped and started like another" {
    sleeper ""
    sleeps
    "$MAS" restart -q "$ID" solo
    eventually state_is solo idle
    sleeps
    again
    state_is solo asleep
    tell CW-TWO
    knows CW-ONE CW-TWO
    again
    eventually state_is solo idle
    "$MAS" doctor >/dev/null
}

@test "a clear wakes nothing, and the agent comes back without what was said" {
    sleeper ""
    sleeps
    "$MAS" clear "$ID" solo >/dev/null
    state_is solo asleep
    tell CW-TWO
    knows CW-TWO
}

@test "it is not put to sleep in a turn, with a permission or with prompts that wait" {
    sleeper ""
    "$MAS" ask --no-wait "$ID" solo HANG >/dev/null
    eventually state_is solo working
    refuses "it is working"
    "$MAS" cancel "$ID" solo
    eventually state_is solo idle
    "$MAS" ask --no-wait "$ID" solo ASK:execute >/dev/null
    eventually asks
    refuses "it waits for a permission"
    "$MAS" deny "$ID" solo >/dev/null
    eventually state_is solo idle
    sleeps
    [ "$status" -eq 0 ]
}

@test "it is not put to sleep while it starts" {
    run_acp "--new-until $T/go"
    eventually state_is solo starting
    "$MAS" ask --no-wait "$ID" solo CW-ONE >/dev/null
    refuses "prompts wait for it"
    touch "$T/go"
    eventually was_sent CW-ONE
    eventually state_is solo idle
}

@test "it is not put to sleep with a program of terminal/create, until that is released" {
    sleeper ""
    tell "RUNLEAVE:\"sleep $MARK\""
    eventually marked_are 1
    refuses "a program that it has asked mas for runs"
    pkill -fx "sleep $MARK"
    refuses "a program that it has asked mas for runs, or is not released"
}

@test "it is not put to sleep while a process lives that it has started in a turn" {
    sleeper ""
    tell "SPAWN:$MARK"
    child=$(pgrep -fx "sleep $MARK")
    refuses "process $child (sleep) of it runs, which it has started in a turn"
    "$MAS" clear "$ID" solo >/dev/null
    tell CW-TWO
    refuses "process $child (sleep) of it runs"
    kill "$child"
    eventually is_gone "$child"
    sleeps
    [ "$status" -eq 0 ]
}

@test "it is not put to sleep while a tool call goes on behind its turn" {
    sleeper ""
    tell "SHOW:none"
    refuses "its tool call 'Terminal' has not ended"
    tell "OVER:call-3-1"
    sleeps
    [ "$status" -eq 0 ]
}

@test "an agent that does not run, or runs on a terminal, is refused" {
    sleeper ""
    tell "EXIT"
    eventually state_is solo exited
    sleeps
    [ "$status" -eq 4 ]
    [[ $stderr == *"cannot put agent 'solo' to sleep: it does not run"* ]]
    new_session -t solo --agent shell
    sleeps
    [ "$status" -eq 4 ]
    [[ $stderr == *"cannot put agent 'solo' to sleep: it runs on a terminal"* ]]
}

@test "hibernate puts an idle agent to sleep by itself, and an agent that is at work later" {
    run_acp "" "hibernate = 300ms"
    eventually state_is solo asleep
    [ "$(notes)" = "the agent sleeps; its next prompt or a key press wakes it" ]
    tell CW-ONE
    eventually state_is solo asleep
    tell "SPAWN:$MARK"
    child=$(pgrep -fx "sleep $MARK")
    # several attempts pass: the agent says something in each of them
    for n in A B C; do tell "CW-$n SLOW:300"; done
    kill -0 "$child"
    [ "$(notes | grep -c sleeps)" = 2 ]
    kill "$child"
    eventually state_is solo asleep
    tell CW-TWO
    knows CW-A CW-B CW-C CW-ONE CW-TWO
}

@test "an agent of a template has its own time, which the session keeps" {
    options ""
    options_preset made "hibernate = 200ms"
    mkdir -p "$ROOT/templates"
    cp -r "$ROOT/templates/solo" "$ROOT/templates/awake"
    printf 'hibernate = no\n' >>"$ROOT/templates/awake/template.ini"
    new_session -t awake --agent made
    find_agent
    jq -e '.team[0].hibernate == "no"' "$DIR/config.json"
    awake=$ID
    new_session -t solo --agent made
    find_agent
    eventually state_is solo asleep
    DIR=$ROOT/sessions/$awake
    state_is solo idle
}

# asleep_or_awake: after a kill of the host the agent is one of both, can be started, and knows all.
is_at_rest() { [[ $(of solo .state) == @(asleep|idle) ]]; }
asleep_or_awake() {
    again
    eventually is_at_rest
    tell "CW-AFTER"
    [ "$status" -eq 0 ]
    knows CW-AFTER CW-ONE
    [ "$(prompts CW-AFTER)" = "$1" ]
    eventually state_is solo idle
}

# Kills a host that reached no such call, and counts those that did, be it just now.
stop_host() {
    if is_gone "$1" || ! kill -KILL "$1" 2>/dev/null; then killed=$((killed + 1)); fi
}

@test "a host that is killed at any step of falling asleep leaves the agent asleep or awake" {
    sleeper ""
    n=0 killed=0
    for step in openat:1 fsync:1 fdatasync:1 renameat:1 renameat2:1 pwrite64:1 pwrite64:3 \
        sendto:1 sendto:2 write:1 wait4:1 wait4:2 unlinkat:1; do
        host=$(of solo .hostPid) agent=$(of solo .pid)
        strace -o "$T/trace.$step" -e trace="${step%:*}" \
            -e inject="${step%:*}:signal=SIGKILL:when=${step#*:}" -p "$host" 2>"$T/attached" 3>&- &
        eventually grep -q attached "$T/attached"
        timeout 20 "$MAS" sleep -q "$ID" solo >"$T/out" 2>&1 || true
        stop_host "$host"
        eventually is_gone "$agent"
        wait
        n=$((n + 1))
        asleep_or_awake "$n"
    done
    [ "$killed" -ge 6 ]
}

@test "a host that is killed at any step of waking leaves the agent asleep or awake" {
    sleeper ""
    n=0 killed=0
    for step in unlinkat:1 socketpair:1 pipe2:1 clone:1 clone3:1 sendto:1 write:2; do
        sleeps
        [ "$status" -eq 0 ]
        host=$(of solo .hostPid)
        strace -o "$T/trace.$step" -e trace="${step%:*}" \
            -e inject="${step%:*}:signal=SIGKILL:when=${step#*:}" -p "$host" 2>"$T/attached" 3>&- &
        eventually grep -q attached "$T/attached"
        ask solo '{"do":"wake"}' >/dev/null || true
        stop_host "$host"
        wait
        n=$((n + 1))
        asleep_or_awake "$n"
    done
    [ "$killed" -ge 4 ]
}
