#!/usr/bin/env bats
# The lease of a session between machines that are clones of each other: whatever befalls the one that has the
# session, never do two run it at the same time. Root and store are on the shared disk.

load ../helper
load lib

setup_file() {
    BED_SAME_ID=1 bed_up
    if [ -z "$BED" ]; then return; fi
    local machine
    for machine in front n1 n2 n3; do
        # shellcheck disable=SC2016 # for the shell there
        as "$machine" sh -c 'mkdir -p .config/mas && printf "%s\n" "$@" >.config/mas/mas.ini' sh \
            '[preset beats]' 'command = /bin/bash /opt/test/fleet/beat.sh' '[fleet]' 'store = /srv/shared/store' \
            '[tmux]' 'server = per-session'
    done
    # for programs that begin from here on
    clock_off front 0
    clock_off n2 0
    as front mkdir /srv/shared/store
    on n2 mount --bind /srv/shared/store /srv/shared/store
    as front mas init -q /srv/shared/root
}

# What befell a machine in a test that failed would befall the next one.
teardown_more() {
    [ -n "$BED" ] || return 0
    local machine
    for machine in n1 n2 n3; do
        shared_go "$machine"
        link_up "$machine"
        on "$machine" pkill -CONT '^(mas|tmux|bash)' || :
    done
    end_readonly n2
}

# here MACHINE VERB...: mas there, with the root on the shared disk.
here() { as "$1" mas --root /srv/shared/root "${@:2}"; }

# What beat.sh has written, and who wrote last.
beats() { as front cat "/run/disk/beats/$1" 2>/dev/null; }
beats_at() { [ "$(beats "$2" | tail -n 1 | cut -d' ' -f1)" = "$1" ]; }

# begin MACHINE NAME: a session that runs there, with a process that renews its lease; sets $id.
begin() {
    id=$(here "$1" new -q -t solo --agent beats --name "$2")
    eventually beats_at "$1" "$id"
    eventually on "$1" pgrep -f "mas lease .* $id "
}
lease() { as front sed -n "s/^$2=//p" "/srv/shared/store/$1/lease"; }
renewed() {
    local was
    was=$(lease "$1" SEQUENCE)
    changed() { [ "$(lease "$1" SEQUENCE)" != "$was" ]; }
    eventually changed "$1"
}

# pids MACHINE ID: sets $host, $agent, $supervisor, $renewer and $server, which is tmux.
pids() {
    local one
    one=$(here "$1" status "$2" --json | jq '.sessions[0].agents[0]')
    host=$(jq .hostPid <<<"$one") agent=$(jq .pid <<<"$one")
    supervisor=$(parent "$1" "$agent") server=$(parent "$1" "$host")
    renewer=$(on "$1" pgrep -f "mas lease .* $2 ")
    [ "$host" -gt 1 ] && [ "$agent" -gt 1 ] && [ "$supervisor" -gt 1 ] && [ "$server" -gt 1 ] && [ "$renewer" -gt 1 ]
}
parent() { on "$1" ps -o ppid= -p "$2" | tr -d ' '; }

# of_session MACHINE ID: its processes there, each a line of PID, name and state.
of_session() {
    # shellcheck disable=SC2016 # for the shell there
    on "$1" sh -c 'for process in $({ grep -lz "^MAS_SESSION_ID=$0\$" /proc/[0-9]*/environ | cut -d/ -f3
        pgrep -f "mas (host|lease) .*$0"; } 2>/dev/null | sort -un); do
        [ "$process" = "$$" ] || sed -n "s/^\([0-9]* .*)\) \(.\).*/\1 \2/p" "/proc/$process/stat" 2>/dev/null
    done' "$2"
}
# nothing_runs MACHINE ID: what is left of it there is stopped, or waits for a disk that hangs.
nothing_runs() { ! of_session "$1" "$2" | grep -vq ' [TDZ]$'; }

# ---- what befalls MACHINE with session ID, and the end of that. tmux lets a stopped process of a pane go on, so that
# its server is stopped as well.

cut_off() { link_down "$1" && shared_hang "$1"; }
end_cut_off() { shared_go "$1" && link_up "$1"; }
# a mount of its own: root and store are two disks here, as nothing may be open for writing on one that is remounted
readonly() { on "$1" mount -o remount,bind,ro /srv/shared/store; }
end_readonly() { on "$1" mount -o remount,bind,rw /srv/shared/store; }
stops() { on "$1" kill -STOP "${@:2}"; }
goes_on() { on "$1" kill -CONT "$server" "$renewer" "$host" "$supervisor" "$agent" 2>/dev/null || :; }
renewer_stops() { stops "$1" "$renewer"; }
end_renewer_stops() { goes_on "$1"; }
host_stops() { stops "$1" "$server" "$renewer" "$host"; }
end_host_stops() { goes_on "$1"; }
supervisor_stops() { stops "$1" "$renewer" "$supervisor"; }
end_supervisor_stops() { goes_on "$1"; }
all_stop() { stops "$1" "$server" "$renewer" "$host" "$supervisor" "$agent"; }
end_all_stop() { goes_on "$1"; }

# ended MACHINE ID: its agent has ended, its host is there.
ended() {
    local host agent supervisor server renewer
    pids "$1" "$2"
    on "$1" kill -KILL "$agent"
    gone() { [ "$(here "$1" status "$2" --json | jq '.sessions[0].agents[0].pid')" = null ]; }
    eventually gone "$1" "$2"
}

# lose FAULT MACHINE ID: the fault befalls the machine, front takes the session, the fault ends. Prints what was wrong.
lose() {
    local fault=$1 machine=$2 id=$3 host agent supervisor server renewer now start=$SECONDS
    pids "$machine" "$id"
    "$fault" "$machine"
    here front start -q --takeover "$id"
    [ "$fault" != cut_off ] || nothing_runs "$machine" "$silent" || { of_session "$machine" "$silent" && return 1; }
    nothing_runs "$machine" "$id" || { of_session "$machine" "$id" && return 1; }
    eventually beats_at front "$id"
    if [ "${TEST_FLEET-}" = full ]; then read -rt $((60 - (SECONDS - start))) <> <(:) || :; fi # stopped for a minute
    now=$(here front status "$id" --json | jq '.sessions[0].agents[0] | .pid, .hostPid')
    "end_$fault" "$machine"
    # the old side ends by itself, and touches nothing: the session is front's, and runs as before
    eventually prints '' of_session "$machine" "$id"
    [ "$(here front status "$id" --json | jq '.sessions[0].agents[0] | .pid, .hostPid')" = "$now" ]
    as front sed -n '1,/takeover from=/d; /ends: the session/q 1' "/srv/shared/root/sessions/$id/logs/session.log"
    [ "$(lease "$id" EPOCH)" = 2 ]
    run here "$machine" start "$id"
    echo "$machine: $status $output"
    [ "$status" -eq 4 ]
    [[ $output == *'it runs on front'* ]]
    renewed "$id"
    beats_at front "$id"
    echo lost >"$T/lost.$fault"
}

# in_turn ID OLD: all beats of the old machine are before the first one of front.
in_turn() { beats "$1" | awk -v old="$2" '$1 == "front" { new++ } $1 == old && new { late++ } END { exit !new || late }'; }

@test "a machine that is cut off, whose store is read-only or whose processes stop ends its agents before another starts them" {
    local fault machine n=0 faults=(cut_off:n1 readonly:n2 renewer_stops:n3 host_stops:n3 supervisor_stops:n3 all_stop:n3)
    local id ids=() pids=() silent
    begin n1 silent
    silent=$id
    ended n1 "$id"
    for fault in "${faults[@]}"; do
        begin "${fault#*:}" "${fault%:*}"
        ids+=("$id")
    done
    # at the same time, as each takes as long as the lease
    for fault in "${faults[@]}"; do
        (set -e && lose "${fault%:*}" "${fault#*:}" "${ids[n]}") >"$T/said.$n" 2>&1 3>&- &
        pids+=($!) n=$((n + 1))
    done
    for n in "${!faults[@]}"; do
        wait "${pids[n]}" || :
        fault=${faults[n]%:*} machine=${faults[n]#*:}
        [ -e "$T/lost.$fault" ] || { echo "$fault:" && cat "$T/said.$n" && false; }
        # an agent that was stopped and goes on has a moment until its supervisor ends it
        [ "$fault" = all_stop ] || in_turn "${ids[n]}" "$machine" || { echo "$fault: two agents at once" && false; }
        here front rm -f -q "${ids[n]}"
    done
}

@test "a link that is cut takes no session from a machine that still reaches the store" {
    local id host agent supervisor server renewer
    begin n1 linked
    pids n1 "$id"
    link_down n1
    run here front start --takeover linked
    link_up n1
    echo "$output"
    [ "$status" -eq 4 ]
    [[ $output == *'it runs on n1'* ]]
    renewed "$id"
    [ "$(here n1 status linked --json | jq '.sessions[0].agents[0].pid')" = "$agent" ]
    here n1 rm -f -q linked
}

@test "a host that is stopped alone keeps the session: its lease is renewed, and it goes on" {
    local id host agent supervisor server renewer
    begin n3 halted
    pids n3 "$id"
    stops n3 "$server" "$host"
    run here front start --takeover halted
    goes_on n3
    echo "$output"
    [ "$status" -eq 4 ]
    [[ $output == *'it runs on n3'* ]]
    goes_on_there() { [ "$(here n3 status halted --json | jq -r '.sessions[0].agents[0] | "\(.pid) \(.hostPid)"')" = "$agent $host" ]; }
    eventually goes_on_there
    here n3 rm -f -q halted
}

@test "clocks that jump, here and there, neither end a session nor give it away early" {
    local id host agent supervisor server renewer offset taker begun
    begin n2 jumps
    pids n2 "$id"
    for offset in 3600 -86400; do
        clock_off n2 "$offset"
        renewed "$id"
        renewed "$id"
        [ "$(here n2 status jumps --json | jq '.sessions[0].agents[0].pid')" = "$agent" ]
    done
    # whoever wants it waits by a clock that nobody sets
    here front start --takeover jumps >"$T/taken" 2>&1 &
    taker=$!
    eventually eval 'verbs front | grep -q "start --takeover jumps"'
    clock_off front 86400
    wait "$taker" && false
    grep 'it runs on n2' "$T/taken"
    begun=${EPOCHREALTIME/[.,]/}
    renewer_stops n2
    here front start --takeover jumps >"$T/taken" 2>&1 &
    taker=$!
    eventually eval 'verbs front | grep -q "start --takeover jumps"'
    clock_off front -86400
    clock_off n2 86400
    wait "$taker"
    [ $(((${EPOCHREALTIME/[.,]/} - begun) / 1000)) -ge 19000 ]
    eventually beats_at front "$id"
    in_turn "$id" n2
    clock_off front 0
    clock_off n2 0
    here front rm -f -q jumps
}
