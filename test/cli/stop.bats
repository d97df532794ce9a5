#!/usr/bin/env bats
# Stopping: the whole team ends, whatever its processes think of it; the workspace stays.
load ../helper
load ../host/lib

# A template `made`: one agent that runs the shell script on stdin.
make_template() {
    cp -R "$ROOT/templates/solo" "$ROOT/templates/made"
    cat >"$ROOT/templates/made/unit/solo/agent.sh"
    sed -i '/^\[agent solo\]/a command = sh agent.sh' "$ROOT/templates/made/template.ini"
}

# Short waits between hang-up, SIGTERM and SIGKILL
be_impatient() { printf '[stop]\nhangup = 0\nterminate = 1\n' >>"$ROOT/mas.ini"; }

# Pids of the processes whose environment names session $1
processes() { grep -lsxzF "MAS_SESSION_ID=$1" /proc/[0-9]*/environ | cut -d/ -f3 | sort; }

# Those of them that an agent has started, or is
agent_processes() {
    processes "$1" | while read -r pid; do
        grep -lsxz 'MAS_AGENT_ID=.*' "/proc/$pid/environ" | cut -d/ -f3
    done
}

# The agents of session $1 have $2 processes
has_processes() { [ "$(agent_processes "$1" | wc -l)" -eq "$2" ]; }

is_gone() { [ -z "$(processes "$1")" ]; }

unit() { echo "$ROOT/sessions/$1/unit/solo"; }

pane_of() { field "$1" '.agents[0].pane'; }

type_line() { tm send-keys -t "$1" -l "$2" \; send-keys -t "$1" Enter; }

is_tmux_session() { tm has-session -t "=mas-${1:0:8}:" 2>/dev/null; }
is_no_tmux_session() { ! is_tmux_session "$1"; }

# What a test that failed may have left
teardown_more() {
    pgrep -f "ask.py $ROOT/" | xargs -r kill 2>/dev/null || true
    grep -lsz "^MAS_SESSION_DIR=$ROOT/" /proc/[0-9]*/environ | cut -d/ -f3 |
        xargs -r kill -KILL 2>/dev/null || true
}

@test "stop ends the team and its tmux session, the workspace stays" {
    new_session -t pair
    echo kept >"$ROOT/sessions/$ID/unit/lead/work.txt"
    eventually has_processes "$ID" 2
    local before
    before=$(find "$ROOT/sessions/$ID" ! -path '*/run/*' -printf '%P %m\n' | sort)
    ok stop "$ID"
    [ "$output" = "$ID stopped" ]
    [ -z "$stderr" ]
    is_gone "$ID"
    run ! is_tmux_session "$ID"
    [ "$(find "$ROOT/sessions/$ID" -printf '%P %m\n' | sort)" = "$before" ]
    [ "$(cat "$ROOT/sessions/$ID/unit/lead/work.txt")" = kept ]
}

@test "stop ends all 13 agents of the default team" {
    new_session
    eventually has_processes "$ID" 13
    ok stop "$ID"
    is_gone "$ID"
}

@test "the metadata and the row say since when it is stopped" {
    new_session -t solo
    [ "$(meta "$ID" STATUS)" = active ]
    [ -z "$(meta "$ID" STOPPED_AT)" ]
    "$MAS" stop -q "$ID"
    [ "$(meta "$ID" STATUS)" = stopped ]
    [[ $(meta "$ID" STOPPED_AT) =~ ^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z$ ]]
    [[ ! $(meta "$ID" STOPPED_AT) < $(meta "$ID" CREATED_AT) ]]
    [ "$(stat -c %a "$ROOT/sessions/$ID/.session")" = 600 ]
    [ "$(jq -r '.sessions[0].status' "$ROOT/sessions/.sessions.index")" = stopped ]
    [ "$(field "$ID" .status)" = stopped ]
    [ "$(field "$ID" .crashed)" = false ]
    grep -q ' stop ' "$ROOT/sessions/$ID/logs/session.log"
    [ -z "$(ls -A "$ROOT/sessions/$ID/run")" ]
}

@test "a key of the user's in the metadata is kept, any other that mas does not know is not" {
    new_session -t solo
    echo "X_COLOUR='dark blue'" >>"$ROOT/sessions/$ID/.session"
    echo "COLOUR='dark blue'" >>"$ROOT/sessions/$ID/.session"
    "$MAS" stop -q "$ID"
    [ "$(meta "$ID" X_COLOUR)" = 'dark blue' ]
    [ -z "$(meta "$ID" COLOUR)" ]
}

@test "stopping what is stopped is no error and changes nothing" {
    new_session -t solo
    "$MAS" stop -q "$ID"
    local before
    before=$(snapshot)
    ok stop "$ID"
    [ "$output" = "$ID is already stopped" ]
    [ "$(snapshot)" = "$before" ]
}

@test "stop -q prints nothing" {
    new_session -t solo
    ok stop -q "$ID"
    [ -z "$output$stderr" ]
}

@test "an unknown session is exit 3" {
    fails 3 stop nothing
    [ "${stderr%%$'\n'*}" = "mas: cannot find session 'nothing': there is no such session in '$ROOT'" ]
}

@test "several sessions are stopped by one command" {
    new_session -t solo -n one
    local one=$ID
    new_session -t solo -n two
    ok stop one two
    [ "${#lines[@]}" -eq 2 ]
    is_gone "$one"
    is_gone "$ID"
}

@test "all are tried, and the exit code is that of the first failure" {
    new_session -t solo -n good
    local good=$ID
    new_session -t solo -n broken
    echo 'what is this' >"$ROOT/sessions/$ID/.session"
    fails 3 stop nothing good broken
    [[ $stderr == *"cannot find session 'nothing'"* ]]
    [[ $stderr == *"cannot stop session '$ID'"* ]]
    is_gone "$good"
    [ "$(meta "$good" STATUS)" = stopped ]
    "$MAS" start -q good
    mas stop broken nothing good
    # in the order of the operands, not in the order in which they were looked up
    [ "$status" -eq 5 ]
    is_gone "$good"
}

@test "the same session twice is no error" {
    new_session -t solo -n twice
    ok stop twice "$ID"
    is_gone "$ID"
}

@test "--all stops every session that runs" {
    new_session -t solo
    local ids=("$ID")
    new_session -t pair
    ids+=("$ID")
    new_session -t solo --no-start
    ok stop --all
    [ "${#lines[@]}" -eq 2 ]
    [[ $output != *"$ID"* ]]
    is_gone "${ids[0]}"
    is_gone "${ids[1]}"
    [ -z "$("$MAS" list --active -q)" ]
    ok stop --all
    [ -z "$output" ]
}

@test "--all beside a session is a usage error and stops nothing" {
    new_session -t solo
    fails 2 stop --all "$ID"
    [[ $stderr == "mas: cannot run 'stop'"* ]]
    [ "$(field "$ID" .status)" = active ]
}

@test "stop never takes the session from the environment" {
    new_session -t solo
    MAS_SESSION_ID=$ID fails 2 stop
    [[ $stderr == *'needs a SESSION'* ]]
    [ "$(field "$ID" .status)" = active ]
}

@test "an ambiguous prefix stops nothing and lists the candidates" {
    "$MAS" new -q -t solo --id 11112222-0000-4000-8000-000000000001
    "$MAS" new -q -t solo --id 11112222-0000-4000-8000-000000000002
    fails 4 stop 1111
    [[ $stderr == *11112222-0000-4000-8000-000000000001* ]]
    [[ $stderr == *11112222-0000-4000-8000-000000000002* ]]
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
}

@test "processes that left the pane's session end too" {
    make_template <<'EOS'
setsid sh -c 'echo $$ >away.pid; exec sleep 1000' </dev/null >/dev/null 2>&1 &
(setsid setsid sleep 1000 &) </dev/null >/dev/null 2>&1
nohup sleep 1000 >/dev/null 2>&1 &
exec sleep 1000
EOS
    new_session -t made
    eventually test -s "$(unit "$ID")/away.pid"
    eventually has_processes "$ID" 4
    be_impatient
    ok stop "$ID"
    is_gone "$ID"
    [[ $output == "$ID stopped, "*"had to be terminated" ]]
}

@test "processes that ignore the hang-up and SIGTERM are killed" {
    be_impatient
    make_template <<'EOS'
trap '' HUP TERM INT
setsid sh -c 'trap "" HUP TERM; : >away.ready; while :; do sleep 1000; done' </dev/null >/dev/null 2>&1 &
: >ready
while :; do sleep 1000; done
EOS
    new_session -t made
    eventually test -e "$(unit "$ID")/ready"
    eventually test -e "$(unit "$ID")/away.ready"
    ok stop "$ID"
    [[ $output =~ ^$ID\ stopped,\ [0-9]+\ processes\ had\ to\ be\ terminated,\ [0-9]+\ killed:\ .*sh\([0-9]+\) ]]
    is_gone "$ID"
    [ "$(meta "$ID" STATUS)" = stopped ]
}

@test "stop names a process that it kills in full" {
    be_impatient
    make_template <<'EOS'
{ echo '#!/bin/sh'; echo 'trap "" HUP TERM; : >ready; while :; do sleep 1000; done'; } >a-worker-with-a-long-name
chmod +x a-worker-with-a-long-name
exec ./a-worker-with-a-long-name
EOS
    new_session -t made
    eventually test -e "$(unit "$ID")/ready"
    ok stop "$ID"
    [[ $output =~ \ a-worker-with-a-long-name\([0-9]+\) ]]
}

@test "an agent that ends by itself on the hang-up has the time for it" {
    make_template <<'EOS'
trap 'sleep 0.3; echo saved >saved.txt; exit' HUP
: >ready
while :; do sleep 0.05; done
EOS
    new_session -t made
    eventually test -e "$(unit "$ID")/ready"
    ok stop "$ID"
    [ "$output" = "$ID stopped" ]
    [ "$(cat "$(unit "$ID")/saved.txt")" = saved ]
}

@test "no process of another session is touched" {
    new_session -t pair
    local other=$ID pids
    "$MAS" wait "$other" --for idle
    pids=$(processes "$other")
    new_session -t solo
    "$MAS" stop -q "$ID"
    [ "$(processes "$other")" = "$pids" ]
    [ "$(field "$other" .agentsRunning)" = 2 ]
}

@test "a session whose id only begins alike is not touched" {
    "$MAS" new -q -t solo --id aaaaaaaa-0000-4000-8000-000000000001
    "$MAS" new -q -t solo --id aaaaaaaa-0000-4000-8000-000000000002
    "$MAS" stop -q aaaaaaaa-0000-4000-8000-000000000001
    [ "$("$MAS" list --active -q)" = aaaaaaaa-0000-4000-8000-000000000002 ]
    [ "$(field aaaaaaaa-0000-4000-8000-000000000002 .agentsRunning)" = 1 ]
}

@test "a tmux server that was started inside a team outlives it, with what runs in it" {
    make_template <<EOS
env -u TMUX tmux -S '$T/inner' -f /dev/null new-session -d -s work 'exec sleep 1000'
: >ready
exec sleep 1000
EOS
    printf '[wall]\nlevel = off\n' >>"$ROOT/mas.ini" # else doctor says that there is none
    new_session -t made
    eventually test -e "$(unit "$ID")/ready"
    local inside
    inside=$(tmux -S "$T/inner" display-message -p '#{pid} #{pane_pid}')
    be_impatient
    ok stop "$ID"
    [ "$(tmux -S "$T/inner" display-message -p -t =work: '#{pid} #{pane_pid}')" = "$inside" ]
    # nor is it taken for something that was left
    mas doctor --fix
    [ "$output" = 'everything is in order' ]
    ok rm "$ID"
    [ "$(tmux -S "$T/inner" display-message -p -t =work: '#{pid} #{pane_pid}')" = "$inside" ]
}

@test "the shared tmux server and the user's own sessions on it stay" {
    tm -f /dev/null new-session -d -s own 'exec sleep 1000'
    new_session -t solo
    local pid
    pid=$(tm display-message -p -t =own: '#{pid} #{pane_pid}')
    "$MAS" stop -q "$ID"
    [ "$(tm display-message -p -t =own: '#{pid} #{pane_pid}')" = "$pid" ]
}

@test "stop works from within the team's own pane" {
    new_session -t solo
    local pane
    pane=$(pane_of "$ID")
    type_line "$pane" "'$MAS' stop $ID"
    eventually is_no_tmux_session "$ID"
    eventually is_gone "$ID"
    eventually grep -q ' stop ' "$ROOT/sessions/$ID/logs/session.log"
    [ "$(meta "$ID" STATUS)" = stopped ]
    [ "$(field "$ID" .status)" = stopped ]
    [ "$(field "$ID" .crashed)" = false ]
    [ -z "$(ls -A "$ROOT/sessions/$ID/run")" ]
}

@test "a shell that ignores the hang-up can stop its own team and ends with it" {
    printf '[preset shell]\noperator = yes\n' >>"$ROOT/mas.ini"
    be_impatient
    make_template <<EOS
trap '' HUP TERM
: >ready
while [ ! -e go ]; do sleep 0.05; done
'$MAS' stop \$MAS_SESSION_ID
while :; do sleep 1000; done
EOS
    new_session -t made
    eventually test -e "$(unit "$ID")/ready"
    touch "$(unit "$ID")/go"
    eventually is_gone "$ID"
    [ "$(field "$ID" .status)" = stopped ]
}

@test "a shell whose host hangs can stop its own team and ends with it" {
    printf '[wall]\nlevel = off\n[preset shell]\noperator = yes\n' >>"$ROOT/mas.ini"
    be_impatient
    make_template <<EOS
trap '' HUP TERM
: >ready
while [ ! -e go ]; do sleep 0.05; done
'$MAS' stop \$MAS_SESSION_ID
while :; do sleep 1000; done
EOS
    new_session -t made
    eventually test -e "$(unit "$ID")/ready"
    DIR=$ROOT/sessions/$ID
    local host
    host=$(of solo .hostPid)
    ask_badly solo parting
    local supervisor
    supervisor=$(pgrep -P "$host")
    while kill -STOP "$host" "$supervisor" 2>/dev/null; do :; done 3>&- & # the hang-up of its terminal would wake them
    local loop=$!
    touch "$(unit "$ID")/go"
    eventually has_processes "$ID" 0
    kill "$loop"
    wait "$loop" || :
    kill -CONT "$supervisor" "$host" 2>/dev/null || :
    eventually is_gone "$ID"
    [ "$(field "$ID" .status)" = stopped ]
}

@test "a team that has ended is recorded as stopped, also where that of its processes is unknown" {
    command -v strace >/dev/null || skip 'strace is missing'
    new_session -t solo
    run --separate-stderr strace -f -qq -o /dev/null -P /proc -e trace=openat -e inject=openat:error=EMFILE "$MAS" stop "$ID"
    echo "$status $stderr"
    [ "$status" -eq 1 ]
    run ! is_tmux_session "$ID"
    [ "$(meta "$ID" STATUS)" = stopped ]
}

@test "a shell outside of the team that has its variables is not ended" {
    new_session -t solo
    run --separate-stderr env MAS_SESSION_ID="$ID" bash -c "'$MAS' stop $ID; echo alive"
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = alive ]
    is_gone "$ID"
}

@test "what a killed tmux server left running is ended by stop" {
    be_impatient
    make_template <<'EOS'
trap '' HUP TERM
: >ready
while :; do sleep 1000; done
EOS
    new_session -t made
    eventually test -e "$(unit "$ID")/ready"
    tm kill-server
    eventually is_no_tmux_session "$ID"
    [ -n "$(processes "$ID")" ]
    ok stop "$ID"
    is_gone "$ID"
    [ "$(meta "$ID" STATUS)" = stopped ]
    [ "$(field "$ID" .crashed)" = false ]
}

@test "stop of a session that crashed makes it a stopped one" {
    new_session -t solo
    tm kill-server
    ok stop "$ID"
    [ "$(field "$ID" .status)" = stopped ]
    [ "$(field "$ID" .crashed)" = false ]
    [ -n "$(meta "$ID" STOPPED_AT)" ]
}

@test "stop finds a session that its user has renamed in tmux" {
    new_session -t solo -n mine
    tm rename-session -t "=mas-${ID:0:8}:" holiday
    ok stop mine
    is_gone "$ID"
    run ! tm has-session -t =holiday:
}

@test "a session with broken metadata is stopped all the same, and the damage told" {
    new_session -t solo
    echo 'what is this' >"$ROOT/sessions/$ID/.session"
    fails 5 stop "$ID"
    [[ $stderr == "mas: cannot stop session '$ID': its .session is damaged"* ]]
    [[ $stderr == *$'\n''its agents have ended anyway; '*'mas doctor'* ]]
    is_gone "$ID"
    run ! is_tmux_session "$ID"
    [ "$(cat "$ROOT/sessions/$ID/.session")" = 'what is this' ]
}

@test "panes that the user added to the team end with it" {
    new_session -t solo
    eventually has_processes "$ID" 1
    tm split-window -t "=mas-${ID:0:8}:" 'echo $$ >'"$T/added"'; exec sleep 1000'
    eventually test -s "$T/added"
    processes "$ID" | grep -qx "$(cat "$T/added")"
    ok stop "$ID"
    is_gone "$ID"
}

@test "a session of the user that has taken the tmux name is left alone" {
    new_session -t solo
    tm kill-server
    eventually is_no_tmux_session "$ID"
    tm -f /dev/null new-session -d -s "mas-${ID:0:8}" 'exec sleep 1000'
    ok stop "$ID"
    is_tmux_session "$ID"
}

@test "stop finds its server in the metadata, whatever the environment says now" {
    new_session -t solo
    MAS_TMUX_SOCKET=$T/elsewhere TMUX_TMPDIR=/tmp ok stop "$ID"
    is_gone "$ID"
    run ! is_tmux_session "$ID"
}

# A team `shop` whose agent ignores the hang-up
a_stubborn_team() {
    printf '[wall]\nlevel = off\n' >>"$ROOT/mas.ini" # else doctor says that there is none
    be_impatient
    make_template <<'EOS'
trap '' HUP TERM
: >ready
while :; do sleep 1000; done
EOS
    new_session -t made -n shop
    eventually test -e "$(unit "$ID")/ready"
}

# After a stop that tmux was not told of: what there is of the session is told, and ends.
is_told() {
    is_gone "$ID"
    [ "$(meta "$ID" STATUS)" = stopped ]
    [ "$(field "$ID" .agentsRunning)" = 0 ]
    mas doctor
    [[ $output == "open "*"$ID "*"it is stopped, but its tmux session is left over" ]]
}

@test "without tmux stop ends the agents all the same, and says what was not done" {
    a_stubborn_team
    mkdir "$T/bin"
    run --separate-stderr env PATH="$T/bin" "$MAS" stop shop
    [ "$status" -eq 0 ]
    [[ $output == "shop stopped, "*killed* ]]
    [[ $stderr == "mas: warning: the agents of session 'shop' have ended, but its tmux session may be left: cannot run 'tmux'"*"mas stop shop" ]]
    is_told
    # another stop finishes it, and so do a start and doctor
    ok stop shop
    [ -z "$stderr" ]
    run ! is_tmux_session "$ID"
    "$MAS" start -q shop
    eventually has_processes "$ID" 2
    env PATH="$T/bin" "$MAS" stop -q --all 2>/dev/null
    is_told
    ok start shop
    [ "$output" = "shop is running, started agents again: solo" ]
    [ "$(field shop .agentsRunning)" = 1 ]
    env PATH="$T/bin" "$MAS" stop -q --all 2>/dev/null
    is_told
    "$MAS" doctor --fix
    run ! is_tmux_session "$ID"
    [ "$("$MAS" doctor)" = 'everything is in order' ]
}

@test "with no process left to start stop and rm -f end the agents all the same" {
    [ "$(id -u)" -eq 0 ] || skip 'a user whose processes can be counted takes root to be'
    local user=(setpriv --reuid 12346 --regid 12346 --clear-groups)
    rm -rf "$ROOT/sessions/.sessions.index"
    cp "$MAS" "$T/mas"
    chown -R 12346 "$T"
    local verb
    for verb in 'stop shop' 'stop --all' 'rm -f shop'; do
        ID=$("${user[@]}" "$T/mas" new -q -t solo -n shop)
        "${user[@]}" "$T/mas" wait "$ID" --for idle
        # the leak checker would need a process of its own
        # shellcheck disable=SC2086 # words
        ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run --separate-stderr \
            "${user[@]}" prlimit --nproc=1 "$T/mas" $verb
        [ "$status" -eq 0 ] || { echo "$verb: $stderr" >&2; false; }
        [[ $stderr == "mas: warning: "*"its tmux session may be left: cannot start "* ]]
        is_gone "$ID"
        "${user[@]}" "$T/mas" doctor --fix
        [ "$("${user[@]}" "$T/mas" doctor)" = 'everything is in order' ]
        [ "$verb" = 'rm -f shop' ] || "${user[@]}" "$T/mas" rm -q shop
        run ! "${user[@]}" tmux -S "$SOCK" has-session -t "=mas-${ID:0:8}:"
    done
}

@test "stop, start, rm and clean call a session that has a name by that" {
    new_session -t solo -n shop
    [ "$("$MAS" stop "$ID")" = 'shop stopped' ]
    [ "$("$MAS" stop shop)" = 'shop is already stopped' ]
    [ "$("$MAS" start "${ID:0:8}")" = 'shop started' ]
    [ "$("$MAS" stop shop)" = 'shop stopped' ]
    [[ $("$MAS" clean --keep 0 --status stopped --dry-run) == 'shop would be removed, '* ]]
    [ "$("$MAS" rm shop)" = 'shop removed' ]
}
