#!/usr/bin/env bats
# What a host says that its agent is doing, and how it comes to know.
# shellcheck disable=SC1003,SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load lib

# An agent that prints what it is told: each line of its input is a printf format, and is run.
teller() {
    script teller <<'S'
stty -echo
printf 'ready\n'
while read -r line; do printf "$line"; done
S
    run_agent "bash $T/teller" 'idle = 200ms' "$@"
    eventually state_is solo idle
}

# tell FORMAT: has it printed, by a message
tell() { took solo "$1"; }

# state_stays STATE: it comes, and is there after a moment in which it could have changed.
state_stays() {
    eventually state_is solo "$1"
    local since
    since=$(of solo .sinceMs)
    eventually older_than "$since" 700
    state_is solo "$1"
    is solo .sinceMs "$since"
}

# went STATES: the watch in $T/watched has told these.
went() { [ "$(jq -r .state "$T/watched" | uniq | xargs)" = "$1" ]; }

older_than() { (($(date +%s%3N) - $1 >= $2)); }

@test "an agent is starting, then working while it prints, then idle" {
    script agent <<S
until [ -e $T/go ]; do sleep 0.05; done
for i in 1 2 3 4 5 6 7 8 9 10; do echo \$i; sleep 0.1; done
exec sleep $MARK
S
    preset made "bash $T/agent" 'idle = 2s' 'ready_timeout = 20s'
    new_session -t solo --agent made
    find_agent
    hosts_there
    ask solo '{"do":"watch"}' >"$T/watched" 3>&- &
    eventually went starting
    touch "$T/go"
    eventually went 'starting working idle'
}

@test "since, last output, pid, host and pane are told, and are right" {
    local before after
    before=$(date +%s%3N)
    run_agent "sleep $MARK" 'idle = 100ms' 'ready_timeout = 100ms'
    hosts_there
    eventually state_is solo idle
    after=$(date +%s%3N)
    local since
    since=$(of solo .sinceMs)
    ((since >= before && since <= after))
    is solo .lastOutput null
    is solo .pid "$(pgrep -fx "sleep $MARK")"
    is solo .hostPid "$(tm display -pt "$PANE" '#{pane_pid}')"
    is solo .pane "$PANE"
    is solo .agent solo
    is solo .exitCode null
    is solo .signal null
    is solo .restarts 0
    is solo .queued 0
}

@test "an exit is told with its code, also 0" {
    local code
    run_agent 'bash --norc'
    for code in 0 7 255; do
        eventually shows 'bash-'
        type_line "exit $code"
        eventually state_is solo exited
        is solo .exitCode "$code"
        is solo .signal null
        is solo .pid null
        eventually shows "agent solo exited with code $code"
        session_log "exited with code $code"
        tm clear-history -t "$PANE"
        press Enter
        eventually state_is solo working
        tm send-keys -t "$PANE" -R
        press Enter
    done
    is solo .restarts 3
}

@test "an agent that a signal ends has crashed, and the signal is told" {
    run_agent "sleep $MARK"
    eventually marked_are 1
    hosts_there
    pkill -SEGV -fx "sleep $MARK"
    eventually state_is solo crashed
    is solo .signal 11
    is solo .exitCode null
    eventually shows 'signal 11'
    [ "$("$MAS" list --json | jq -r '.sessions[0].status')" = active ]
}

@test "a bell means that it waits, until it is answered" {
    teller
    tell '\aquestion? '
    state_stays waiting
    tell 'thanks\n'
    eventually state_is solo idle
}

@test "a bell that answers a key of a person means nothing" {
    run_agent 'bash --norc' 'idle = 200ms'
    eventually state_is solo idle
    press BSpace # at an empty prompt: readline rings
    eventually grep -q $'\a' "$DIR/logs/agent-solo.log"
    state_stays idle
}

@test "an agent that goes on by itself after a bell works, and is idle when done" {
    script agent <<S
sleep 0.3
printf '\a'
for i in \$(seq 15); do printf x; sleep 0.1; done
exec sleep $MARK
S
    run_agent "bash $T/agent" 'idle = 300ms' 'ready_timeout = 1ms'
    hosts_there
    eventually marked_are 1
    eventually state_is solo idle
}

@test "a notification, OSC 9 or OSC 777, means that it waits, and is told" {
    teller
    tell '\033]9;may I?\a'
    eventually state_is solo waiting
    is solo .note 'may I?'
    tell 'yes\n'
    eventually state_is solo idle
    is solo .note null
    tell '\033]777;notify;Agent;needs you\033\\'
    eventually state_is solo waiting
    is solo .note 'Agent;needs you'
    press Enter
    eventually state_is solo idle
}

@test "progress, OSC 9;4, means that it works, however silent it is" {
    teller
    tell '\033]9;4;3;0\a'
    state_stays working
    press x BSpace
    state_stays working
    tell '\033]9;4;0;0\a'
    eventually state_is solo idle
}

@test "the preset's pattern for waiting is matched against what it printed last" {
    teller 'waiting = \(y/n\) *$'
    tell 'one (y/n) \nmore\n'
    state_stays idle
    tell 'proceed (y/n) '
    state_stays waiting
    press y Enter
    eventually state_is solo idle
}

@test "words of a question that are put in columns are one line" {
    teller 'waiting = Do you want to proceed'
    tell '\033[2GDo\033[5Gyou\033[9Gwant\033[14Gto\033[17`proceed? '
    state_stays waiting
}

@test "a question stays while somebody moves in it, and is over when it is answered" {
    teller 'waiting = proceed\?'
    tell 'proceed? \n'
    state_stays waiting
    press Up
    state_stays waiting
    ask solo '{"do":"watch"}' >"$T/watched" 3>&- &
    eventually test -s "$T/watched"
    press Enter
    eventually state_is solo idle
    eventually went "waiting working idle"
    tell 'more\n' # and the question is still in the text printed last
    state_stays idle
}

@test "a question is found at the top of a screen that is mostly colours" {
    script agent <<S
cat '$T/screen'
exec sleep $MARK
S
    { printf 'proceed? '; for _ in {1..900}; do printf '\033[38;5;232m\033[0m'; done; } >"$T/screen"
    run_agent "bash $T/agent" 'idle = 300ms' 'ready_timeout = 1ms' 'waiting = proceed'
    hosts_there
    eventually state_is solo waiting
}

@test "a clock beside a question does not end it" {
    script agent <<S
printf 'proceed? '
for i in 1 2 3 4; do sleep 0.5; printf \$i; done
exec sleep $MARK
S
    run_agent "bash $T/agent" 'idle = 300ms' 'ready_timeout = 1ms' 'waiting = proceed'
    hosts_there
    eventually state_is solo waiting
    ask solo '{"do":"watch"}' >"$T/watched" 3>&- &
    eventually marked_are 1
    state_stays waiting
    [ "$(jq -r .state "$T/watched" | uniq)" = waiting ]
}

@test "marks of shell integration, OSC 133, count more than silence" {
    teller
    tell '\033]133;C\a'
    state_stays working
    tell '\033]133;D;0\a\033]133;A\a'
    eventually state_is solo idle
}

@test "a shell with marks is idle at its prompt and works while a command is silent" {
    cat >"$T/rc" <<'R'
PS0='\e]133;C\a'
PS1='\[\e]133;D\a\e]133;A\a\]$ \[\e]133;B\a\]'
R
    run_agent "bash --rcfile $T/rc" 'idle = 200ms'
    eventually state_is solo idle
    took solo "sleep $MARK"
    eventually marked_are 1
    state_stays working
    press C-c
    eventually state_is solo idle
}

@test "titles count where the preset has patterns for them" {
    teller 'title_working = ^(⠂|busy)' 'title_idle = ^✳' 'title_waiting = needs'
    tell '\033]2;⠂ thinking\a'
    state_stays working
    is solo .title '⠂ thinking'
    tell '\033]0;needs you\a'
    state_stays waiting
    tell '\033]2;✳ done\033\\'
    state_stays idle
}

@test "a title means nothing without patterns, but is told" {
    teller
    tell '\033]2;busy needs you\a'
    eventually is solo .title 'busy needs you'
    state_stays idle
}

@test "an agent on demand is asleep, and starts with a message" {
    run_agent "sleep $MARK" 'start = demand' 'idle = 200ms'
    hosts_there
    state_is solo asleep
    is solo .pid null
    marked_are 0
    took solo hello
    eventually marked_are 1
    eventually state_is solo idle
    is solo .restarts 0
}

@test "a watch tells each change once, and goes on until the client hangs up" {
    teller
    ask solo '{"do":"watch"}' >"$T/watched" 3>&- &
    local watcher=$!
    eventually test -s "$T/watched"
    tell '\a'
    eventually state_is solo waiting
    tell 'on\n'
    eventually state_is solo idle
    kill -KILL "$(of solo .pid)"
    eventually state_is solo crashed
    eventually grep -q crashed "$T/watched"
    kill "$watcher"
    [ "$(jq -r .state "$T/watched" | uniq | xargs)" = 'idle working waiting working idle crashed' ]
    [ "$(wc -l <"$T/watched")" -lt 20 ]
}

# ---- ends and restarts

@test "an agent that exits at once is reported with its last lines, and is not restarted" {
    script agent <<'S'
echo "cannot read key"
echo "give me a key" >&2
exit 4
S
    run_agent "sh $T/agent"
    hosts_there
    eventually state_is solo exited
    is solo .exitCode 4
    [[ $(of solo .note) == *'cannot read key'*'give me a key'* ]]
    is solo .restarts 0
    shows 'cannot read key'
    eventually shows 'exited with code 4; Enter starts it again'
}

@test "restart = on-crash brings it back with growing delays, up to the limit" {
    script agent <<S
date +%s%3N >>'$T/starts'
echo "attempt \$(wc -l <'$T/starts')"
exit 1
S
    run_agent "sh $T/agent" 'restart = on-crash' 'restart_limit = 3' 'restart_delay = 100ms'
    hosts_there
    eventually is solo .restarts 3
    eventually shows 'Enter starts it again'
    state_is solo crashed
    is solo .exitCode 1
    is solo .restartAt null
    [[ $(of solo .note) == *'attempt 4'* ]]
    local -a at
    mapfile -t at <"$T/starts"
    [ "${#at[@]}" = 4 ]
    ((at[1] - at[0] >= 100 && at[2] - at[1] >= 200 && at[3] - at[2] >= 400))
    # and only a person or a message starts it again
    press Enter
    eventually is solo .restarts 7
}

@test "restart = on-crash does not bring back what exits with 0" {
    run_agent 'true' 'restart = on-crash' 'restart_delay = 1ms'
    hosts_there
    eventually state_is solo exited
    eventually shows 'exited with code 0; Enter starts it again'
    is solo .restarts 0
}

@test "a killed agent comes back by itself where the preset says so" {
    run_agent "sleep $MARK" 'restart = on-crash' 'restart_delay = 50ms'
    hosts_there
    eventually marked_are 1
    pkill -KILL -fx "sleep $MARK"
    eventually is solo .restarts 1
    eventually marked_are 1
    is solo .signal null
}

@test "a restart that is due is told, and Enter does not wait for it" {
    run_agent "sleep $MARK" 'restart = on-crash' 'restart_delay = 1h'
    hosts_there
    eventually marked_are 1
    pkill -KILL -fx "sleep $MARK"
    eventually state_is solo crashed
    eventually shows 'it starts again in'
    [ "$(of solo .restartAtMs)" -gt "$(date +%s%3N)" ]
    press Enter
    eventually marked_are 1
    is solo .restartAt null
}

@test "a restart that is asked for gives it a new process, and counts" {
    run_agent "sleep $MARK"
    hosts_there
    eventually marked_are 1
    local pid
    pid=$(of solo .pid)
    ask solo '{"do":"restart"}' | jq -e '.ok' >/dev/null
    eventually marked_are 1
    [ "$(of solo .pid)" != "$pid" ]
    is_gone "$pid"
    is solo .restarts 1
}

@test "restarts of any kind use the environment that the host had" {
    script agent <<S
echo "\$TOKEN-\$MAS_AGENT_ID-\$(pwd)" >>'$T/seen'
exec sleep $MARK
S
    export TOKEN=secret-1
    run_agent "sh $T/agent" 'restart = on-crash' 'restart_delay = 10ms'
    export TOKEN=secret-2
    tm set-environment -g TOKEN secret-3
    hosts_there
    eventually marked_are 1
    ask solo '{"do":"restart"}' | jq -e .ok >/dev/null
    eventually marked_are 1
    pkill -KILL -fx "sleep $MARK"
    eventually is solo .restarts 2
    eventually marked_are 1
    [ "$(uniq -c "$T/seen" | xargs)" = "3 secret-1-solo-$DIR/unit/solo" ]
}

@test "no variable of the caller stands on a command line, in tmux or in a file that others can read" {
    export TOKEN=secret-$MARK
    run_agent 'bash --norc'
    eventually shows 'bash-'
    run ! grep -lF "secret-$MARK" /proc/[0-9]*/cmdline
    run ! grep -F "secret-$MARK" <(tm show-environment -g; tm show-environment -t "$PANE")
    run ! grep -rlF "secret-$MARK" "$ROOT"
    type_line 'echo "<$TOKEN>"'
    eventually shows_line "<secret-$MARK>"
}

@test "a program that is gone is reported, and the next try starts it" {
    cp "$(type -P sleep)" "$T/prog"
    run_agent "$T/prog $MARK"
    hosts_there
    eventually state_is solo idle
    rm "$T/prog"
    run ask solo '{"do":"restart"}'
    [ "$(jq -r .ok <<<"$output")" = false ]
    [[ $(jq -r .why <<<"$output") == *"no program '$T/prog'"* ]]
    state_is solo exited
    shows 'could not be started'
    cp "$(type -P sleep)" "$T/prog"
    press Enter
    eventually pgrep -fx "$T/prog $MARK"
}
