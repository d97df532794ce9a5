#!/usr/bin/env bats
# mas every and mas tick, killed at their system calls: no number twice, no run lost, none doubled.
load ../helper
load ../host/lib
load ../acp/lib
load code

setup_more() {
    export TZ=UTC XDG_CONFIG_HOME=$T/config XDG_STATE_HOME=$T/state
    mkdir "$T/bin"
    # shellcheck disable=SC2016 # for the other shell
    printf '#!/bin/sh\nT=%s\ncase $1 in -l) cat "$T/tab" ;; *) cat >"$T/new" && mv "$T/new" "$T/tab" ;; esac\n' "$T" >"$T/bin/crontab"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/systemctl"
    chmod +x "$T/bin/"*
    : >"$T/tab"
    export PATH=$T/bin:$PATH
    CALLS=openat,connect,sendto,sendmsg,write,writev,recvmsg,recvfrom,poll,fsync,rename,renameat,renameat2,unlinkat,flock
    THIN=1
    [ "${TEST_FAULT-}" = full ] || THIN=5
}

# As that of code.bash, whose trace would be in the way of the agent's.
inject() {
    strace -qq -e trace="$2" -e signal=none -o "$T/strace" -e inject="$2:$1:when=$3" "$MAS" "${@:4}" >"$T/out" 2>&1 || true
}

due() {
    jq -c ".entries[0].nextMs = $(($(date +%s%3N) - 1000))" "$DIR/every.json" >"$T/due"
    cp "$T/due" "$DIR/every.json"
}

given() { [ "$(prompts CW-RUN)" -eq "$1" ]; }

@test "tick killed at any system call neither loses a run nor gives it twice" {
    acp_agent
    "$MAS" every 2h "$ID" solo CW-RUN
    due
    points tick >"$T/points"
    eventually given 1
    eventually state_is solo idle
    mapfile -t all <"$T/points"
    [ "${#all[@]}" -ge 5 ]
    count=1
    for point in "${all[@]}"; do
        due
        # shellcheck disable=SC2086 # a name and a number
        inject signal=KILL $point tick
        ok tick
        count=$((count + 1))
        eventually given "$count" || failed "not $count"
        eventually state_is solo idle
        ok tick
        given "$count" || failed "given again"
        [ "$("$MAS" every --list --json | jq -c '.entries | map([.runs, .skipped, .why])')" = "[[$count,0,\"\"]]" ] ||
            failed "$("$MAS" every --list --json)"
    done
}

@test "every killed at any system call leaves an entry or none, and no number twice" {
    new_session -n fix -t solo --no-start
    DIR=$ROOT/sessions/$ID
    points every --start 2h fix solo x >"$T/points"
    mapfile -t all <"$T/points"
    [ "${#all[@]}" -ge 5 ]
    ok every --off 1
    used=1
    for point in "${all[@]}"; do
        # shellcheck disable=SC2086 # a name and a number
        inject signal=KILL $point every --start 2h fix solo x
        ok doctor --fix
        ok every -q --start 2h fix solo y
        [ "$output" -gt "$used" ] || failed "number $output again"
        used=$output
        [ "$("$MAS" every --list --json | jq '[.entries[].number] | length == (unique | length)')" = true ]
        ok every
        [ "${lines[-1]}" = "the crontab runs them" ] || failed "${lines[-1]}"
        for number in $("$MAS" every --list --json | jq '.entries[].number'); do ok every --off "$number"; done
        [ ! -e "$DIR/every.env" ] && [ ! -s "$T/tab" ] || failed "something is left"
    done
    run -0 "$MAS" doctor
}
