#!/usr/bin/env bats
# mas goal, killed at its system calls, with its host and with its tmux server: no round lost, none doubled.
# shellcheck disable=SC2016 # for other shells
load ../helper
load ../host/lib
load ../acp/lib
load ../project
load code

setup_more() {
    export TZ=UTC XDG_CONFIG_HOME=$T/config XDG_STATE_HOME=$T/state
    mkdir "$T/bin"
    printf '#!/bin/sh\nT=%s\ncase $1 in -l) cat "$T/tab" ;; *) cat >"$T/new" && mv "$T/new" "$T/tab" ;; esac\n' "$T" >"$T/bin/crontab"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/systemctl"
    chmod +x "$T/bin/"*
    : >"$T/tab"
    export PATH=$T/bin:$PATH
    CALLS=openat,connect,sendto,sendmsg,write,writev,recvmsg,poll,ppoll,fsync,renameat,renameat2,unlinkat,flock
    THIN=1
    [ "${TEST_FAULT-}" = full ] || THIN=40
    make_project
    cd "$P" || return
    acp_preset scripted
    new_session -n fix -t solo --agent scripted --project "$P"
    find_agent
    TREE=$(tree_of solo)
}

# The check passes once the agent has worked three times.
MORE='OWN:"echo x >>n"'
CHECK='sh -c "test -e n && test $(wc -l <n) -ge 3"'

of_goal() { "$MAS" goal --list --json | jq -r ".entries[] | select(.number == $1) | $2"; }
is_over() { [ "$(of_goal "$1" .over)" = "$2" ]; }
no_process() { eventually eval "! pgrep -f 'errand $ID $1\\$' >/dev/null"; }

# A goal whose process has not begun: N is its number.
lay() {
    rm -f "$TREE/n"
    N=$("$MAS" goal -q fix solo --no-wall 'HANG' --check-with "$CHECK")
    eventually state_is solo working
    pkill -9 -f "errand $ID $N\$"
    no_process "$N"
    "$MAS" cancel fix solo
    eventually state_is solo idle
    # as it was before its first step, with a text that works
    jq -c --arg text "$MORE" ".entries[-1] |= (.runs = 0 | .text = \$text | del(.prompt, .ranMs) |
        .data |= (fromjson | .files = \"\" | .unchanged = 0 | tojson))" "$ROOT/sessions/$ID/every.json" >"$T/laid"
    cp "$T/laid" "$ROOT/sessions/$ID/every.json"
}

# Three rounds, three prompts, three lines.
is_whole() {
    eventually is_over "$N" passed || failed "$(of_goal "$N" .)"
    [ "$(of_goal "$N" .runs)" = 3 ] || failed "$(of_goal "$N" .runs) rounds"
    [ "$(wc -l <"$TREE/n")" = 3 ] || failed "$(wc -l <"$TREE/n") lines"
    [ "$("$MAS" history fix solo --role user --json | jq --arg tag "every:$N-" '[.messages[] | select(.tags[]? | startswith($tag))] | length')" = "$((3 + 1))" ] ||
        failed "prompts" # and that of lay
}

@test "the process of a goal killed at any system call loses no round, and gives none twice" {
    lay
    points errand "$ID" "$N" >"$T/points"
    fault=none point=none
    is_whole
    mapfile -t all <"$T/points"
    [ "${#all[@]}" -ge 5 ]
    for point in "${all[@]}"; do
        lay
        # shellcheck disable=SC2086 # a name and a number
        inject signal=KILL $point errand "$ID" "$N"
        ok tick
        is_whole
        no_process "$N"
    done
    run -0 "$MAS" doctor
}

@test "a goal goes on after kill -9 of its process, its host, and the tmux server" {
    fault=kill point=any
    N=$("$MAS" goal -q fix solo --no-wall "SLOW:1000 $MORE" --check-with "$CHECK")
    eventually state_is solo working
    pkill -9 -f "errand $ID $N\$"
    no_process "$N"
    ok tick
    eventually test -e "$TREE/n"
    pkill -9 -f "mas host $ID solo"
    no_process "$N"
    ok restart fix solo
    eventually eval '[ "$(wc -l <"$TREE/n")" -ge 2 ]'
    pkill -9 -f "errand $ID $N\$" || true
    tm kill-server
    ok start --crashed
    eventually is_over "$N" passed
    [ "$("$MAS" history fix solo --role user --json | jq '[.messages[].tags[]? | select(startswith("every:"))] | length == (unique | length)')" = true ]
    [ "$("$MAS" history fix solo --role user --json | jq '[.messages[].tags[]? | select(startswith("every:"))] | length')" = "$(of_goal "$N" .runs)" ]
}
