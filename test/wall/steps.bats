#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# The start of an agent behind all its walls takes several processes some thousand system calls. Whichever
# of them is killed, or gets no memory, at whichever call: nothing stays, and the next start works.
#
# A test tries some calls of each process, spread over all; with TEST_FAULT=full it tries each, with
# STEPS_ONLY='N...' those.
load ../helper
load lib

setup_last() {
    [ -z "${TEST_SAN-}" ] || skip 'sanitizers take their memory otherwise, and fail when traced'
    need_wall
    STEP=${MAS%/*}/test/tools/step
    "$STEP" kill self 0 -- true >/dev/null 2>&1 || skip 'no process can be traced here'
    mkdir "$T/shared"
    local keys=('wall.level = require' "wall.write = $T/shared" 'idle = 100ms')
    local net=0
    ! command -v tinyproxy >/dev/null || keys+=('wall.network = example.test') net=1
    cat >"$T/shared/agent" <<SH
{
    cat '$ROOT/mas.ini' >/dev/null && echo 'it reads files of the root'
    grep -q '^Seccomp:.*2' /proc/self/status || echo 'it may make all calls'
    [ $net -eq 0 ] || [ \$(grep -c : /proc/net/dev) -eq 1 ] || echo 'it has the network'
} >$T/shared/less 2>/dev/null
echo \$\$ >$T/shared/ran
exec sleep $MARK
SH
    preset walled "sh $T/shared/agent" "${keys[@]}"
    find_group
    printf '[stop]\nhangup = 1s\n' >>"$ROOT/mas.ini"
    mounts=$(mounts)
}

# A group for agents, where this user may make one.
find_group() {
    local mount
    for mount in /sys/fs/cgroup /sys/fs/cgroup/unified; do
        [ "$(stat -fc %T "$mount" 2>/dev/null)" = cgroup2fs ] || continue
        GROUP=$(mktemp -d "$mount/mas-steps-XXXXXX" 2>/dev/null) || continue
        printf '[limits]\ncgroup = %s\n' "$GROUP" >>"$ROOT/mas.ini"
        return
    done
}

teardown_last() {
    [ -n "${GROUP-}" ] || return 0
    eventually grep -qx 'populated 0' "$GROUP/cgroup.events"
    find "$GROUP" -depth -type d -exec rmdir {} + 2>/dev/null || :
}

host_pid() { pgrep -fo "mas host $ID solo( |$)"; }

# points COUNT: which of them are tried.
points() {
    local count=$1 step
    [ -z "${STEPS_ONLY-}" ] || { tr ' ' '\n' <<<"$STEPS_ONLY"; return; }
    step=$((count / ${SAMPLES:-2}))
    ((step > 0)) && [ "${TEST_FAULT-}" != full ] || step=1
    seq $((step > 1 ? 1 + count % step : 1)) "$step" "$count"
}

# launch ACT NAME N: starts the agent; N = 0 counts the calls, in $T/count.
launch() {
    local pid host
    told=''
    rm -f "$T/shared/ran" "$T/follows"
    host=$(host_pid)
    "$STEP" "$1" "$2" "$3" -p "$host" >"$T/count" 2>"$T/follows" 3>&- &
    pid=$!
    eventually grep -q follows "$T/follows"
    rc=0
    timeout 60 "$MAS" restart -q "$ID" solo >"$T/out" 2>&1 || rc=$?
    [ "$3" -ne 0 ] || eventually test -s "$T/shared/ran"
    eventually has_settled
    kill "$pid" 2>/dev/null || true
    wait "$pid" || true
    [ "$rc" -ne 124 ] && [ ! -s "$T/shared/less" ] || return
    # who killed it knows why; everybody else is told, in the pane, after the state is known
    [ "$1" = kill ] || eventually is_told
}

# shellcheck disable=SC2317 # called by eventually
is_told() {
    told="$(of solo .state 2>/dev/null) $(screen | grep -v '^$' | tail -n 2)"
    [[ $told == idle* || $told == *mas* || $told == *'Pane is dead (status 1'* ]]
}

# Succeeds once the agent runs with all that it needs, or nothing of the session
# does but its host.
# shellcheck disable=SC2317 # called by eventually
has_settled() {
    case $(of solo .state 2>/dev/null) in
        starting) return 1 ;;
        '' | exited | crashed) is_quiet && marked_are 0 ;;
        *) marked_are 1 ;;
    esac
}

is_quiet() {
    local process
    while IFS= read -r process; do
        case $(2>/dev/null tr '\0' ' ' <"${process%/environ}/cmdline") in
            '' | *'mas host '*) ;;
            *) echo "$process: $(tr '\0' ' ' <"${process%/environ}/cmdline" 2>/dev/null | head -c 200)" >&2; return 1 ;;
        esac
    done < <(grep -lsz "^MAS_SESSION_ID=$ID$" /proc/[0-9]*/environ)
}

# The next start works.
starts_again() {
    if ! host_pid >/dev/null; then
        timeout 60 "$MAS" start -q "$ID" || return
        hosts_there || return
    else
        timeout 60 "$MAS" restart -q "$ID" solo || return
    fi
    eventually marked_are 1
}

nothing_left() {
    "$MAS" stop -q "$ID"
    is_quiet && marked_are 0
    [ "$(ls -A "$DIR" "$DIR/unit/solo" "$DIR/run")" = "$1" ] || { diff <(echo "$1") <(ls -A "$DIR" "$DIR/unit/solo" "$DIR/run"); return 1; }
    [ "$(mounts)" = "$mounts" ]
    [ -z "${GROUP-}" ] || [ -z "$(find "$GROUP" -mindepth 1 -type d)" ]
}

# each_step ACT NAME LEAST: what has this name makes at least so many calls.
each_step() {
    [ "$1" = kill ] || "$STEP" memory self 0 -- true >/dev/null 2>&1 || skip 'no memory can be refused here'
    local act=$1 name=$2 n bad=0 entries total is_right
    new_session -t solo --agent walled
    find_agent
    eventually test -s "$T/shared/ran"
    "$MAS" stop -q "$ID"
    entries=$(ls -A "$DIR" "$DIR/unit/solo" "$DIR/run")
    rm -f "$T/shared/ran"
    "$MAS" start -q "$ID"
    hosts_there
    eventually test -s "$T/shared/ran" # or launch() would take this start for its own
    launch "$act" "$name" 0
    total=$(<"$T/count")
    [ "$total" -ge "$3" ] || { echo "only $total calls"; return 1; }
    for n in $(points "$total"); do

        is_right=yes
        launch "$act" "$name" "$n" || is_right=
        starts_again || is_right=
        if [ -z "$is_right" ]; then
            echo "$act $name at $n of $total: $(tail -n 1 "$T/follows"); exit $rc, $(cat "$T/out" "$T/shared/less"), $told"
            bad=$((bad + 1))
            [ "$bad" -lt 5 ] || return 1
        fi
        [ -z "${STEPS_TELL-}" ] || echo "$SECONDS $act $name $n of $total: $(tail -n 1 "$T/follows") exit $rc, $(cat "$T/out") [$told]" >&3
    done
    [ "$bad" -eq 0 ]
    nothing_left "$entries"
}

@test "the host is killed at each step of a start" { each_step kill self 100; }

@test "what the host starts is killed before it is another program" { each_step kill mas 10; }

@test "the supervisor is killed at each step of a start" { each_step kill mas-supervisor 20; }

@test "bubblewrap is killed at each step of a start" { each_step kill bwrap 100; }

@test "mas-wall is killed at each step of a start" { each_step kill mas-wall 50; }

@test "the guard of the network is killed at each step of a start" {
    command -v tinyproxy >/dev/null || skip 'there is no tinyproxy'
    each_step kill mas-network 50
}

@test "the host has no memory at each step of a start" { each_step memory self 1; }

@test "the supervisor has no memory at each step of a start" { each_step memory mas-supervisor 1; }

@test "bubblewrap has no memory at each step of a start" { each_step memory bwrap 5; }

@test "mas-wall has no memory at each step of a start" { each_step memory mas-wall 5; }

@test "the guard of the network has no memory at each step of a start" {
    command -v tinyproxy >/dev/null || skip 'there is no tinyproxy'
    each_step memory mas-network 5
}

# start_at ACT N: `mas start` itself, and what it looks at before it starts anything; N = 0 counts.
start_at() {
    rc=0
    timeout 60 "$STEP" "$1" "${3-self}" "$2" -- "$MAS" start -q "$ID" >"$T/count" 2>"$T/out" || rc=$?
    [ "$rc" -ne 124 ]
}

each_step_of_start() {
    [ "$1" = kill ] || "$STEP" memory self 0 -- true >/dev/null 2>&1 || skip 'no memory can be refused here'
    local act=$1 n bad=0 entries total failed
    new_session -t solo --agent walled
    find_agent
    eventually test -s "$T/shared/ran"
    "$MAS" stop -q "$ID"
    entries=$(ls -A "$DIR" "$DIR/unit/solo" "$DIR/run")
    start_at "$act" 0 "${2-self}"
    total=$(tail -n 1 "$T/count")
    for n in $(points "$total"); do
        "$MAS" stop -q "$ID"
        rm -f "$T/shared/ran"
        failed=
        start_at "$act" "$n" "${2-self}" || failed='it did not end'
        ! grep -q 'the kernel has no' "$T/out" || failed='it blames the kernel'
        timeout 60 "$MAS" start -q "$ID" 2>"$T/err" || failed="the next start: exit $?"
        eventually marked_are 1 || failed+=', and the agent is not there once'
        [ ! -s "$T/shared/less" ] || failed="a wall was missing"
        if [ -n "$failed" ]; then
            echo "$act mas start at $n of $total: $failed; exit $rc, $(cat "$T/out" "$T/err" "$T/shared/less")"
            bad=$((bad + 1))
            [ "$bad" -lt 5 ] || return 1
        fi
        [ -z "${STEPS_TELL-}" ] || echo "$SECONDS $act $n of $total exit $rc, $(cat "$T/out")" >&3
    done
    [ "$bad" -eq 0 ]
    nothing_left "$entries"
}

@test "mas start is killed at each step" { each_step_of_start kill; }

@test "mas start has no memory at each step" { each_step_of_start memory; }

@test "what mas start looks at has no memory" {
    each_step_of_start memory bwrap
    "$MAS" rm -qf "$ID"
    each_step_of_start memory mas-wall
}
