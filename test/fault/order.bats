#!/usr/bin/env bats
# What is done is on disk, in the order that a power cut needs: the calls themselves are demanded.
load ../helper
load ../host/lib
load ../acp/lib
load ../cli/code

setup_more() {
    command -v strace >/dev/null || skip 'strace is missing'
    tm new-session -d -s keep 'exec sleep 1000000' # else strace would follow the server
}

CALLS=rename,renameat,renameat2,fsync,fdatasync,syncfs,flock,close

# durable VERB...: it succeeds, and what it renamed is synced before and after.
durable() {
    strace -f -y -qq -o "$T/trace" -e trace=$CALLS "$MAS" "$@" >"$T/out"
    python3 -ESs "$BATS_TEST_DIRNAME/order.py" "$T/trace" "$ROOT" '/\.waiting' '/\.came-from' '/\.wall-probe' '/run/' \
        '/code\.git/' ${CACHE+"$CACHE"} # as git's core.fsync says
}

@test "what new, start, stop, archive, rm, restore and clean leave is on disk, in the right order" {
    durable new -q -t solo -n one
    durable stop -q one
    durable start -q one
    durable stop -q one
    durable archive -q one -o "$ROOT/one.tar.zst"
    durable rm -q one
    durable restore -q "$ROOT/one.tar.zst"
    durable clean -q --older-than 0s --status stopped
    [ -z "$("$MAS" list -q)" ]
}

@test "what migrate, templates, tokens, limits and doctor write is on disk, in the right order" {
    SESSION_NAME=old durable new -q -t solo --mode legacy --no-start
    durable migrate -q
    durable serve token add phone --full
    durable serve token remove phone
    ID=$("$MAS" list -q)
    durable set "$ID" limits.session=1G
    echo damaged >"$ROOT/sessions/$ID/.session"
    durable doctor --fix || :
    [ -s "$T/trace" ]
}

@test "what a project, a copy of a template and a lazy session leave is on disk, in the right order" {
    make_project
    durable new -q -t solo --project "$P" --no-start -n code
    durable rm -q -f code
    durable template copy solo mine
    mkdir -p "$T/dir/unit/a"
    durable template make "$T/dir"
    printf '[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"
    durable new -q -t mine --no-start -n lazy
    # what is missing is made here, as by hosts, which strace does not follow
    local CACHE='/\.trash-' # what lies there is removed, sooner or later
    durable library fill "$ROOT"/sessions/[0-9a-f]*
    rm "$ROOT"/sessions/[0-9a-f]*/workflows/solo.md
    durable library fill "$ROOT"/sessions/[0-9a-f]*
    [ -n "$(find "$ROOT/sessions" -path "*/unit/solo/AGENTS.md")" ]
    durable start -q lazy
    durable stop -q lazy
}

# The files of an agent are on disk before the team has it, and it is out of the team before they go.
@test "what add, fork and remove leave is on disk, in the right order" {
    make_project
    ok new -q -t solo --agent shell --project "$P" --no-start -n fix
    durable add -q fix --agent shell --as rev
    awk '/syncfs\(/ { synced = 1 } /rename.*config\.json"/ { exit !synced }' "$T/trace"
    durable fork -q fix rev --as two
    awk '/syncfs\(/ { synced = 1 } /rename.*config\.json"/ { exit !synced }' "$T/trace"
    local CACHE='/\.trash-'
    durable remove -q fix two
    [ "$(field fix '[.agents[].id] | join(" ")')" = 'solo rev' ]
}

# Traces what the host writes and sends while a prompt is told. first PATTERN AFTER: the number of the first line
# with the pattern behind that line.
trace_prompt() {
    host=$(of solo .hostPid)
    strace -f -y -qq -s 5000 -o "$T/calls" -e trace=pwrite64,write,writev,sendto,sendmsg,fdatasync,fsync -p "$host" \
        3>&- 2>"$T/strace.err" &
    tracer=$!
    eventually grep -q "TracerPid:[[:space:]]*[1-9]" "/proc/$host/status"
    tell ON-DISK-FIRST
    [ "$status" -eq 0 ]
    kill "$tracer"
    wait "$tracer" || :
    stored=$(first 'memory\.db-wal.*ON-DISK-FIRST' 0)
    synced=$(first 'sync\([0-9]+<.*memory\.db-wal>' "$stored")
    told=$(first 'sendto.*ok\\":true.*outcome|sendto.*event\\":\\"prompt' "$stored")
    given=$(first 'session/prompt' "$stored")
    echo "stored $stored, synced $synced, told $told, given $given"
}
first() { grep -nE -- "$1" "$T/calls" | cut -d: -f1 | awk -v after="$2" '$1 > after { print; exit }'; }
# last PATTERN BEFORE: likewise the last one before that line.
last() { head -n "$(($2 - 1))" "$T/calls" | grep -nE -- "$1" | tail -n 1 | cut -d: -f1; }

@test "a prompt is on disk before it is accepted, and before the agent gets it" {
    acp_agent
    tell warm
    trace_prompt
    ((stored < synced && synced < told && synced < given))
}

@test "a prompt that has waited is marked on disk before the agent gets it" {
    acp_agent
    tell warm
    "$MAS" sleep -q "$ID" solo
    trace_prompt
    begun=$(first '"session/(new|resume|load)|session/(new|resume|load)' "$synced")
    marks=$(last 'pwrite64\([0-9]+<.*memory\.db-wal>' "$given")
    marked=$(first 'sync\([0-9]+<.*memory\.db-wal>' "$marks")
    echo "begun $begun, marks $marks, marked $marked"
    ((stored < synced && synced < told && synced < begun && begun < marks && marks < marked && marked < given))
}
