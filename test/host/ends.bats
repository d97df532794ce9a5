#!/usr/bin/env bats
# However a host ends, nothing of its agent is left; nothing else is touched. What is counted are
# processes `sleep $MARK`, whatever their parents, groups, sessions and environments.
# shellcheck disable=SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load lib

setup_more() { printf "[stop]\nhangup = 1\nterminate = 0\n" >>"$ROOT/mas.ini"; }

# An agent with a tree of 7: in its group, in groups and sessions of their own, orphaned, without
# an environment, deaf to HUP and TERM, stopped.
busy_agent() {
    script agent <<S
trap '' HUP TERM
sleep $MARK &
setsid sleep $MARK &
(sleep $MARK &) &
(env -i setsid sleep $MARK </dev/null >/dev/null 2>&1 &)
env -i setsid sh -c 'cd /; (exec 0<&- 1>&- 2>&-; sleep $MARK &)'
env -i sh -c 'trap "" HUP TERM INT; exec sleep $MARK' &
sh -c 'kill -STOP \$\$; :' &
sleep $MARK
wait
S
    run_agent "sh $T/agent" "$@"
    eventually marked_are 7
    hosts_there
    HOST=$(of solo .hostPid)
    AGENT=$(of solo .pid)
    SUPERVISOR=$(ps -o ppid= -p "$AGENT" | tr -d ' ')
    [ "$(cat "/proc/$SUPERVISOR/comm")" = mas-supervisor ]
}

# Nothing is left of it: no marked process, no host, no supervisor, nothing in run/.
all_gone() {
    eventually marked_are 0
    eventually is_gone "$AGENT"
    eventually is_gone "$SUPERVISOR"
    eventually is_gone "$HOST"
}

run_is_empty() { [ -z "$(ls -A "$DIR/run")" ]; }

@test "mas stop leaves nothing of the team, and nothing in run/" {
    busy_agent
    ok stop "$ID"
    marked_are 0
    is_gone "$AGENT"
    eventually is_gone "$SUPERVISOR"
    is_gone "$HOST"
    run_is_empty
}

@test "mas stop ends the default team whole, daemons and all" {
    script agent <<S
setsid sleep $MARK &
(env -i setsid sleep $MARK &)
sleep $MARK
S
    run_team default "sh $T/agent"
    eventually marked_are 39
    "$MAS" stop -q "$ID"
    marked_are 0
    run_is_empty
}

@test "a stop by the socket says what it had to kill" {
    busy_agent
    local answer
    answer=$(ask solo '{"do":"stop","hangup":100,"terminate":200}')
    marked_are 0
    is_gone "$AGENT"
    is_gone "$SUPERVISOR"
    # deaf: the agent, one of its sleeps, what the trap of the shell gave to its children
    jq -e '.ok and .terminated >= 2 and .killed >= 2 and (.names | contains("sleep("))' <<<"$answer"
    state_is solo exited
    is solo .pid null
    shows 'Enter starts it again'
}

@test "a stop is as quick as the agent: one that listens is not waited for" {
    run_agent "sleep $MARK"
    eventually marked_are 1
    hosts_there
    local start answer
    start=$(date +%s%3N)
    answer=$(ask solo '{"do":"stop","hangup":5000,"terminate":5000}')
    (($(date +%s%3N) - start < 2000))
    jq -e '.ok and .terminated == 0 and .killed == 0 and .names == ""' <<<"$answer"
}

@test "the agent ends by itself: its daemons end too, the host stays" {
    busy_agent
    pkill -KILL -f "^sh $T/agent"
    eventually marked_are 0
    eventually is_gone "$SUPERVISOR"
    eventually shows 'Enter starts it again'
    state_is solo crashed
    run ! is_gone "$HOST"
}

@test "an agent that exits leaves no daemon behind, and its exit is told at once" {
    script agent <<S
(env -i setsid sh -c 'trap "" HUP TERM; sleep $MARK' &)
until pgrep -fx "sleep $MARK"; do :; done
exit 5
S
    run_agent "sh $T/agent"
    hosts_there
    eventually state_is solo exited
    is solo .exitCode 5
    eventually marked_are 0
}

@test "the pane is killed: nothing is left" {
    busy_agent
    tm kill-pane -t "$PANE"
    all_gone
    eventually run_is_empty
}

@test "a host that hears that it is to end sooner ends its agent sooner" {
    sed -i 's/^hangup = 1$/hangup = 600/' "$ROOT/mas.ini"
    script agent <<S
trap 'touch $T/hung-up' HUP
while :; do sleep $MARK & wait; done
S
    run_agent "sh $T/agent"
    eventually marked_are 1
    hosts_there
    HOST=$(of solo .hostPid)
    kill -HUP "$HOST"
    eventually test -e "$T/hung-up"
    kill -TERM "$HOST"
    eventually is_gone "$HOST"
    marked_are 0
}

@test "the tmux session is killed: nothing is left" {
    busy_agent
    tm kill-session -t "=mas-${ID:0:8}"
    all_gone
    eventually run_is_empty
}

@test "the tmux server is ended: nothing is left" {
    busy_agent
    tm kill-server
    all_gone
    eventually run_is_empty
}

@test "the tmux server is killed: nothing is left" {
    busy_agent
    kill -KILL "$(tm display -p '#{pid}')"
    all_gone
    eventually run_is_empty
}

@test "the host is killed: nothing is left, and the team can be stopped and started" {
    busy_agent
    kill -KILL "$HOST"
    all_gone
    "$MAS" stop -q "$ID"
    run_is_empty
    ok start "$ID"
    eventually marked_are 7
    "$MAS" stop -q "$ID"
    marked_are 0
    run_is_empty
}

@test "the supervisor is killed: the host ends what is left, and says so" {
    busy_agent
    kill -KILL "$SUPERVISOR"
    eventually marked_are 0
    eventually is_gone "$AGENT"
    eventually shows 'Enter starts it again'
    state_is solo crashed
    press Enter
    eventually marked_are 7
    ask solo '{"do":"stop","hangup":0,"terminate":0}' | jq -e .ok
    marked_are 0
}

@test "the supervisor is killed while it clears what an agent left: the host goes on with it" {
    sed -i 's/^hangup = 1/hangup = 60/' "$ROOT/mas.ini"
    script agent <<S
(env -i setsid sh -c 'trap "" HUP TERM; sleep $MARK' &)
until pgrep -fx "sleep $MARK"; do :; done
read -r x
exit 5
S
    run_agent "sh $T/agent"
    eventually marked_are 1
    hosts_there
    SUPERVISOR=$(ps -o ppid= -p "$(of solo .pid)" | tr -d ' ')
    press Enter
    eventually state_is solo exited
    marked_are 1
    kill -KILL "$SUPERVISOR"
    eventually marked_are 0
    eventually shows 'Enter starts it again'
    state_is solo exited
    is solo .exitCode 5
}

@test "host and supervisor are killed together: mas stop ends what can be told to be the team's" {
    run_agent "sh -c 'trap \"\" HUP; sleep $MARK & setsid sleep $MARK & wait'"
    eventually marked_are 2
    hosts_there
    HOST=$(of solo .hostPid)
    kill -KILL "$HOST" "$(ps -o ppid= -p "$(of solo .pid)")"
    "$MAS" stop -q "$ID"
    marked_are 0
}

@test "the agent is killed while it prints: all that it printed is there" {
    script agent <<S
seq 20000
sleep $MARK &
kill -KILL \$\$
S
    run_agent "sh $T/agent"
    hosts_there
    eventually state_is solo crashed
    eventually shows 'signal 9'
    eventually marked_are 0
    [ "$(agent_log | tr -d '\r')" = "$(seq 20000)" ]
    shows_line 20000
}

@test "an agent that forks without end is ended" {
    cat >"$T/hop" <<S
trap '' HUP TERM INT
sleep 0.02
setsid sh '$T/hop' $MARK &
S
    script agent <<S
trap '' HUP TERM
for i in 1 2 3 4 5; do setsid sh '$T/hop' $MARK & done
sleep $MARK
S
    run_agent "sh $T/agent"
    eventually marked_are 1
    hosts_there
    ask solo '{"do":"stop","hangup":50,"terminate":50}' | jq -e .ok
    marked_are 0
    [ "$(pgrep -fc "hop $MARK")" = 0 ]
}

@test "a chain of processes, each of which forks the next at once, is ended" {
    cat >"$T/chain.py" <<'PY'
import os, random, signal, sys, time
for sig in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(sig, signal.SIG_IGN)
end = time.time() + 30
while time.time() < end:
    if os.fork() > 0:
        os._exit(0)
    if random.random() < 0.2:
        os.setsid()
PY
    script agent <<S
trap '' HUP TERM
PATH=/usr/bin:\$PATH python3 -ES '$T/chain.py' $MARK &
sleep $MARK
S
    run_agent "sh $T/agent"
    eventually marked_are 1
    hosts_there
    ask solo '{"do":"stop","hangup":50,"terminate":50}' | jq -e .ok
    marked_are 0
    [ "$(pgrep -fc "chain.py $MARK")" = 0 ]
}

@test "an agent that is stopped by a signal is ended" {
    run_agent "sleep $MARK"
    eventually marked_are 1
    hosts_there
    pkill -STOP -fx "sleep $MARK"
    ask solo '{"do":"stop","hangup":5000,"terminate":5000}' | jq -e '.ok and .killed == 0'
    marked_are 0
}

@test "an agent that closes its terminal is not taken for one that ended" {
    script agent <<S
exec </dev/null >/dev/null 2>&1
trap '' HUP
sleep $MARK
S
    run_agent "setsid -w sh $T/agent" 'idle = 100ms' 'ready_timeout = 100ms'
    eventually marked_are 1
    hosts_there
    eventually state_is solo idle
    "$MAS" stop -q "$ID"
    marked_are 0
}

@test "a tmux server that was started inside outlives stop, and so does what runs in it" {
    run_agent 'bash --norc' 'idle = 200ms'
    hosts_there
    eventually state_is solo idle
    took solo "env -u TMUX tmux -S '$T/inner' -f /dev/null new-session -d 'sleep $MARK'; sleep $MARK"
    eventually marked_are 2
    "$MAS" stop -q "$ID"
    marked_are 1
    tmux -S "$T/inner" list-sessions
    tmux -S "$T/inner" kill-server
    eventually marked_are 0
}

@test "a process that is not the team's is not touched, whatever it looks like" {
    export MAS_SESSION_ID=00000000-0000-4000-8000-000000000000
    setsid sleep "$MARK" 3>&- &
    local other=$!
    unset MAS_SESSION_ID
    run_agent "sleep $MARK"
    local second
    second=$("$MAS" new -q -t solo --agent made)
    eventually marked_are 3
    "$MAS" stop -q "$ID"
    marked_are 2
    run ! is_gone "$other"
    "$MAS" stop -q "$second"
    marked_are 1
    kill "$other"
}

@test "a person stops a team from inside of it, and hears that it was done" {
    script agent <<S
trap '' HUP TERM
sleep $MARK &
sh -c "env -i HOME="$HOME" setsid sleep $MARK & exec '$MAS' stop \$MAS_SESSION_ID" >'$T/said' 2>&1
echo "code \$?" >>'$T/said'
sleep $MARK
S
    run_agent "sh $T/agent" 'operator = yes'
    eventually is_stopped
    eventually grep -q stopped "$T/said"
    eventually marked_are 0
    eventually run_is_empty
}

@test "what a shell started and asks for the end itself is not spared, unless it is mas" {
    cat >"$T/stopper.py" <<'PY'
import os, signal, socket, sys, time
for sig in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(sig, signal.SIG_IGN)
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.connect("solo.sock")
s.sendall(b'{"do":"stop","hangup":100,"terminate":100}\n')
time.sleep(1000)
PY
    script agent <<S
sleep $MARK &
read -r x
env -i setsid /usr/bin/python3 -ES '$T/stopper.py' "\$MAS_SESSION_DIR/run" $MARK </dev/null &
wait
S
    run_agent "sh $T/agent" 'operator = yes'
    eventually marked_are 1
    hosts_there
    press Enter
    eventually state_is solo exited
    eventually shows 'Enter starts it again'
    marked_are 0
    run ! pgrep -f "stopper.py .*$MARK"
}

@test "an end that is under way cannot be put off, only hastened" {
    busy_agent
    ask solo '{"do":"stop","hangup":2000,"terminate":0}' >"$T/first" 3>&- &
    local first=$! second
    eventually is_stopping
    ask solo '{"do":"stop","hangup":600000,"terminate":600000}' >"$T/second" 3>&- &
    second=$!
    eventually marked_are 0
    wait "$first" "$second"
    jq -e .ok "$T/first"
    jq -e .ok "$T/second"

    press Enter
    eventually marked_are 7
    eventually is_running
    ask solo '{"do":"stop","hangup":600000,"terminate":600000}' >"$T/first" 3>&- &
    first=$!
    eventually is_stopping
    ask solo '{"do":"stop","hangup":0,"terminate":0}' | jq -e .ok
    marked_are 0
    wait "$first"
    jq -e .ok "$T/first"
}

# It takes no message any more.
is_stopping() { say_to solo x ',"enter":false' | jq -e '.ok == false' >/dev/null; }
is_running() { [ "$(of solo .pid)" != null ]; }

is_stopped() { [ "$(meta "$ID" STATUS)" = stopped ] && ! tm has-session -t "=mas-${ID:0:8}" 2>/dev/null; }

@test "stop of a team that is just coming up leaves nothing" {
    script agent <<<"sleep $MARK & (env -i setsid sleep $MARK &) ; sleep $MARK"
    preset made "sh $T/agent"
    local i
    for i in 1 2 3; do
        ID=$("$MAS" new -q -t default --agent made)
        "$MAS" stop -q "$ID"
        DIR=$ROOT/sessions/$ID
        marked_are 0
        run_is_empty
    done
}

@test "a team whose tmux server was killed can be started at once: no agent runs twice" {
    script deaf <<<"trap '' HUP TERM; sleep $MARK & wait; sleep $MARK"
    run_team pair "sh $T/deaf"
    eventually marked_are 2
    kill -KILL "$(tm display -p '#{pid}')"
    "$MAS" start -q --crashed
    eventually marked_are 2
    hosts_there lead
    eventually is lead .restarts 0
    "$MAS" stop -q "$ID"
    marked_are 0
}

@test "a second host of an agent is refused" {
    run_agent "sleep $MARK"
    eventually marked_are 1
    hosts_there
    mas host "$ID" solo
    [ "$status" -ne 0 ]
    [[ $stderr == *"agent 'solo'"* ]]
    marked_are 1
    [ "$(find "$DIR/run" -name 'solo.*' | wc -l)" = 3 ]
}

@test "rm -f of a running team leaves nothing" {
    busy_agent
    "$MAS" rm -f "$ID"
    marked_are 0
    eventually is_gone "$SUPERVISOR"
    [ ! -e "$DIR" ]
}

@test "a respawned pane has one agent, not two" {
    busy_agent 'idle = 100ms' 'ready_timeout = 100ms'
    tm respawn-pane -k -t "$PANE"
    eventually is_gone "$HOST"
    eventually marked_are 7
    eventually test -S "$DIR/run/solo.sock"
    eventually state_is solo idle
    [ "$(of solo .hostPid)" != "$HOST" ]
    "$MAS" stop -q "$ID"
    marked_are 0
    run_is_empty
}

@test "a host that waited for the one before holds the lock that others see" {
    busy_agent
    tm respawn-pane -k -t "$PANE"
    eventually is_gone "$HOST"
    eventually marked_are 7
    hosts_there
    [ -e "$DIR/run/solo.lock" ]
    HOST=$(of solo .hostPid)
    [ -z "$(find "/proc/$HOST/fd" -lname '*(deleted)')" ]
    mas host "$ID" solo
    [ "$status" -ne 0 ]
    marked_are 7
    "$MAS" stop -q "$ID"
    marked_are 0
    run_is_empty
}

@test "a host waits for the one before as long as the settings let that one's agent take" {
    sed -i 's/^hangup = 1/hangup = 6/' "$ROOT/mas.ini"
    busy_agent
    tm respawn-pane -k -t "$PANE"
    within 20 is_gone "$HOST"
    eventually marked_are 7
    hosts_there
    ask solo '{"do":"stop","hangup":0,"terminate":0}' | jq -e .ok
}
