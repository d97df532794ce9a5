#!/usr/bin/env bats
# [limits] session and agent: the disk space of a session is watched while it runs.
# shellcheck disable=SC2016,SC2119 # functions with an agent that may be left out
load ../helper
load ../disk
load lib
load ../acp/lib

# limits KEY=VALUE...: sets them in mas.ini.
limits() { printf '[limits]\n' >>"$ROOT/mas.ini" && printf '%s\n' "$@" >>"$ROOT/mas.ini"; }

# obedient [TEMPLATE]: a session whose agents carry out each line that is sent to them, in a shell without
# job control, and print it.
obedient() {
    script agent <<'S'
echo ready
while read -r line; do
    eval "$line"
    echo "did: $line"
done
S
    preset made "sh $T/agent" 'idle = 100ms'
    new_session -t "${1-solo}" --agent made
    DIR=$ROOT/sessions/$ID
}

# does AGENT LINE: sends it.
does() { "$MAS" send "$ID" "$1" "$2" >/dev/null; }
# did AGENT LINE: succeeds once it was carried out.
did() { agent_log "$1" | tr -d '\r' | grep -qxF "did: $2"; }
# put AGENT FILE MB: the agent gets a file of so many MB in its directory, all of it at once: nobody measures half of it.
put() { does "$1" "head -c ${3}M /dev/zero >$T/whole && mv $T/whole $2"; }

# paused [AGENT], goes_on [AGENT]: whether the agent (solo) is paused.
# shellcheck disable=SC2120
paused() { state_is "${1-solo}" paused; }
# shellcheck disable=SC2120
goes_on() { ! state_is "${1-solo}" paused; }
# is_stopped PID: succeeds if the process is stopped by a signal, or its cgroup is frozen.
is_stopped() {
    local group
    [[ $(ps -o stat= -p "$1") != T* ]] || return 0
    group=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)$(sed -n 's/^0:://p' "/proc/$1/cgroup")
    grep -qsx 'frozen 1' "$group/cgroup.events"
}

# disk_of AGENT MEMBER: prints a member of what the agent uses on disk.
disk_of() { "$MAS" status "$ID" --json | jq --arg a "$1" ".sessions[0].agents[] | select(.id == \$a).disk.$2"; }
used() { disk_of solo used; }
limited() { disk_of solo limit; }
more_than_60M() { [ "$(limited)" -gt $((60 << 20)) ]; }
note_of() { of "${1-solo}" .note; }
# logged WORDS: prints how many lines of the session's log contain them.
logged() { grep -cF -- "$1" "$DIR/logs/session.log" || :; }

@test "an agent at its limit is paused, says so, and goes on when space is freed" {
    limits 'agent = 4M'
    obedient
    does solo 'sleep 1000000 & echo $! >pid'
    eventually test -s "$DIR/unit/solo/pid"
    put solo one 5
    eventually paused
    [[ $(note_of) == 'the agent uses 5.'?'M of 4.0M on disk' ]]
    [ "$("$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0] | [.state, .disk.limit, (.disk.used >= 5242880)] | join(" ")')" = "paused $((4 << 20)) true" ]
    eventually is_stopped "$(of solo .pid)"
    eventually is_stopped "$(<"$DIR/unit/solo/pid")"
    [ "$(logged 'agent=solo paused: the agent uses 5.')" = 1 ]
    does solo 'echo waits >waits'
    is solo .queued 1
    [ ! -e "$DIR/unit/solo/waits" ]
    rm "$DIR/unit/solo/one"
    eventually goes_on
    eventually test -e "$DIR/unit/solo/waits"
    run ! is_stopped "$(<"$DIR/unit/solo/pid")"
    [ "$(logged 'no longer paused')" = 1 ]
    put solo two 5
    eventually paused
    [ "$(logged 'agent=solo paused: the agent uses 5.')" = 2 ]
}

@test "what an agent has in its work tree and in its home behind a wall counts for its limit" {
    limits 'agent = 4M'
    obedient
    for part in code home; do
        mkdir -p "$DIR/$part/solo"
        head -c 5M /dev/zero >"$T/whole" && mv "$T/whole" "$DIR/$part/solo/one"
        eventually paused
        rm -r "${DIR:?}/$part"
        eventually goes_on
    done
}

@test "an agent at its limit pauses alone, a session all of its agents; raised, they go on" {
    limits 'agent = 4M'
    obedient pair
    put lead one 5
    eventually paused lead
    does reviewer 'echo goes on'
    eventually did reviewer 'echo goes on'
    goes_on reviewer
    ok set "$ID" lead.limits.agent=20M
    [ "$output" = "$ID lead: the limit of the agent is 20M" ]
    eventually goes_on lead
    mas set "$ID" limits.session=8M
    [ "$output" = "$ID: the limit of the session is 8M" ]
    put reviewer one 3
    eventually paused lead
    eventually paused reviewer
    for agent in lead reviewer; do
        [[ $(note_of "$agent") == 'the session uses '*' of 8.0M on disk' ]]
        eventually is_stopped "$(of "$agent" .pid)"
    done
    mas status "$ID"
    [[ ${lines[-1]} == *' uses '*' on disk, more than limits.session (8.0M)' ]]
    mas set "$ID" limits.session=none
    eventually goes_on lead
    eventually goes_on reviewer
    mas status "$ID"
    [[ $output != *'more than limits.session'* ]]
    mas set "$ID" limits.session=default
    mas set "$ID" lead.limits.agent=default
    eventually paused lead
    goes_on reviewer
}

@test "approve lets a paused agent go on, by as much again or so much more; only a person can" {
    limits 'agent = 4M'
    obedient
    fails 4 approve "$ID" solo
    [[ $stderr == *"it is not an ACP agent"* ]]
    put solo one 5
    eventually paused
    fails 2 approve "$ID" solo --more many
    [[ $stderr == *"'many' is no size, such as 500M"* ]]
    paused
    ok approve "$ID" solo
    [[ $output == 'the agent may use 9.'?'M on disk' ]]
    eventually goes_on
    put solo two 6
    eventually paused
    mas approve "$ID" solo --more 50M
    [[ $output == 'the agent may use 61M on disk' ]]
    eventually goes_on
    [ "$(logged 'the agent may use')" = 2 ]
    # it holds for the next hosts, too
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    hosts_there
    eventually more_than_60M
    goes_on
}

@test "at 90 % people are told once, at 100 % once more, and not again until it came back" {
    script notify <<'S'
cat >>"$HOME/told"
S
    printf '[notify]\non = limit\ncommand = sh %s\n' "$T/notify" >>"$ROOT/mas.ini"
    limits 'session = 20M'
    obedient pair
    told() { jq -r .text "$HOME/told" 2>/dev/null; }
    put lead one 17
    eventually prints 1 eval 'told | wc -l'
    [[ $(told) == 'the session uses 1'?'M of 20M on disk' ]]
    goes_on lead
    [[ $(note_of lead) == 'the session uses 1'?'M of 20M on disk' ]]
    put reviewer one 4
    eventually paused lead
    eventually paused reviewer
    eventually prints 2 eval 'told | wc -l'
    [[ $(told | tail -n 1) == 'paused: the session uses 2'?'M of 20M on disk' ]]
    rm "$DIR/unit/lead/one"
    eventually goes_on lead
    put lead one 17
    eventually paused reviewer
    eventually eval "[ \$(told | grep -c '^paused') = 2 ]"
    [ "$(told | wc -l)" -le 4 ]
}

@test "holes take nothing, several names count once, small files their blocks" {
    limits 'agent = 8M'
    obedient
    does solo 'truncate -s 1G hole; head -c 3M /dev/zero >one; ln one two; ln one three; ln one four'
    eventually did solo 'truncate -s 1G hole; head -c 3M /dev/zero >one; ln one two; ln one three; ln one four'
    "$MAS" measure "$ID"
    used=$(used)
    [ "$used" -ge $((3 << 20)) ]
    [ "$used" -lt $((4 << 20)) ]
    goes_on
    # 3000 blocks of 4 KiB; it may be paused before it has written them all
    does solo 'mkdir deep; cd deep; mkfifo pipe; ln -s / root; for i in $(seq 3000); do echo $i >$i; done; cd ..'
    eventually paused
    eventually is_stopped "$(of solo .pid)"
    rm -r "$DIR/unit/solo/deep"
    eventually goes_on
}

@test "a slow growth reaches the limit like a fast one" {
    limits 'agent = 3M'
    obedient
    does solo 'for i in $(seq 40); do head -c 100K /dev/zero >>slow; sleep 0.05; done'
    eventually paused
    [ "$(stat -c %s "$DIR/unit/solo/slow")" -ge $((2 << 20)) ]
}

@test "a paused team stops at once, and starts paused while nothing has changed" {
    limits 'agent = 4M'
    script agent <<S
trap '' HUP
(trap '' HUP; sleep $MARK) &
while :; do sleep $MARK; done
S
    run_agent "sh $T/agent"
    eventually marked_are 2
    head -c 5M /dev/zero >"$DIR/unit/solo/big"
    eventually paused
    ok stop "$ID"
    marked_are 0
    [ "$(meta "$ID" STATUS)" = stopped ]
    "$MAS" start -q "$ID"
    hosts_there
    eventually paused
    ok restart "$ID" solo
    eventually paused
    eventually is_stopped "$(of solo .pid)"
    is solo .restarts 1
    printf '[limits]\nagent = 40M\n' >"$T/more"
    sed -i 's/^agent = 4M$/agent = 40M/' "$ROOT/mas.ini"
    "$MAS" measure "$ID" # it reads mas.ini anew
    eventually goes_on
}

@test "a killed host of a paused agent leaves nothing that is stopped" {
    limits 'agent = 4M'
    run_agent "sleep $MARK"
    eventually marked_are 1
    head -c 5M /dev/zero >"$DIR/unit/solo/big"
    eventually paused
    kill -KILL "$(of solo .hostPid)"
    eventually marked_are 0
}

@test "job control, and what somebody else has stopped, stays as it was" {
    limits 'agent = 4M'
    preset made "bash --norc -i" 'idle = 100ms' "env.PS1 = >"
    new_session -t solo --agent made
    find_agent
    eventually state_is solo idle
    does solo "sleep $MARK & until grep -q sleep /proc/\$!/comm; do :; done; kill -STOP \$!; sh -c 'echo \$PPID \$\$ >pids; head -c 5M /dev/zero >big; sleep 2; cat >got'"
    eventually paused
    eventually is_stopped "$(of solo .pid)"
    stopped=$(pgrep -fx "sleep $MARK")
    rm "$DIR/unit/solo/big"
    eventually goes_on
    is_stopped "$stopped"
    eventually test -e "$DIR/unit/solo/got"
    type_line 'to the program' # which is still in the foreground
    eventually grep -qx 'to the program' "$DIR/unit/solo/got"
    kill -KILL "$stopped"
}

@test "keys in the pane of a paused agent say why nothing happens" {
    limits 'agent = 4M'
    obedient
    find_agent
    put solo one 5
    eventually paused
    tm clear-history -t "$PANE" \; send-keys -t "$PANE" -R
    type_line 'echo later >later'
    eventually shows 'it is paused, and reads nothing'
    shows 'mas approve'
    rm "$DIR/unit/solo/one"
    eventually test -e "$DIR/unit/solo/later"
}

@test "a paused ACP agent: prompts wait, its time limits do too, and the history says why" {
    limits 'agent = 4M'
    acp_agent
    tell hello
    [ "$status" -eq 0 ]
    head -c 5M /dev/zero >"$T/whole" # moved, so that nobody measures half of it
    mkfifo "$T/go"
    exec 8<>"$T/go"
    "$MAS" ask "$ID" solo --no-wait "SLOW:300 RUN:\"sh -c 'echo \$\$ >$T/pid; mv $T/whole big; read -r line <$T/go; echo done >done'\" SAY:CW-AFTER" >/dev/null
    eventually paused
    eventually is_stopped "$(<"$T/pid")"
    echo >&8
    [ ! -e "$DIR/unit/solo/done" ]
    notes | grep -q '^paused: the agent uses 5.*M of 4.0M on disk; it goes on when space is freed, or with: mas approve'
    "$MAS" ask "$ID" solo --no-wait CW-WAITS >/dev/null
    is solo .queued 1
    mas cancel "$ID" solo
    run ! was_sent CW-WAITS
    rm "$DIR/unit/solo/big"
    eventually goes_on
    eventually test -e "$DIR/unit/solo/done"
    eventually was_sent CW-WAITS
    eventually state_is solo idle
    is solo .restarts 0
    [ "$(notes | grep -c '^no longer paused')" = 1 ]
}

@test "approve lets a paused ACP agent go on, and a budget waits for its own" {
    limits 'agent = 4M'
    acp_agent
    tell hello
    head -c 5M /dev/zero >"$DIR/unit/solo/big"
    "$MAS" measure "$ID"
    eventually paused
    ok approve "$ID" solo --more 100M
    [ "$output" = 'the agent may use 105M on disk' ]
    eventually state_is solo idle
    notes | grep -q 'a person lets it go on: the agent may use 105M on disk'
}

@test "an agent cannot report figures, or raise its limit" {
    limits 'agent = 4M'
    obedient
    put solo one 5
    eventually paused
    "$MAS" approve "$ID" solo >/dev/null
    eventually goes_on
    does solo "\"$MAS\" measure $ID >out 2>&1; echo rc \$? >>out; \"$MAS\" set $ID limits.agent=none >>out 2>&1; echo rc \$? >>out"
    eventually grep -q 'rc 1' "$DIR/unit/solo/out"
    grep -q 'only a person may' "$DIR/unit/solo/out"
    [ ! -s "$DIR/limits.json" ] || [ "$(jq -r '.agent // empty' "$DIR/limits.json")" = '' ]
}

@test "without a limit nothing is measured; a paused session is archived and cleaned like any other" {
    obedient
    eventually state_is solo idle
    [ "$("$MAS" status "$ID" --json | jq -c '.sessions[0].agents[0].disk')" = null ]
    mas set "$ID" limits.session=2M
    put solo one 3
    eventually paused
    [ "$(stat -c %a "$DIR/limits.json")" = 600 ]
    "$MAS" stop -q "$ID"
    ok archive "$ID" --rm
    ok restore "$ROOT"/archive/*.tar.zst
    [ "$(jq -c . "$DIR/limits.json")" = '{"session":2097152,"agents":{}}' ]
    "$MAS" start -q "$ID"
    hosts_there
    eventually paused
    "$MAS" stop -q "$ID"
    ok clean --keep 0
    [ ! -e "$DIR" ]
}

@test "limits that cannot be read are told, and count as not set" {
    limits 'agent = 4M'
    obedient
    echo '{' >"$DIR/limits.json"
    put solo one 5
    fails 5 measure "$ID"
    [[ $stderr == *"cannot read 'limits.json'"* ]]
    eventually session_log "cannot read 'limits.json'"
    ok set "$ID" limits.agent=100M
    eventually prints $((100 << 20)) limited
}

@test "a full disk: the agents of a session at its limit are paused, and the limit can be raised" {
    small_root
    limits 'session = 30M'
    obedient
    eventually test -e "$DIR/run/reserve"
    does solo 'cat /dev/zero >fill'
    eventually paused
    fill
    ok approve "$ID" solo --more 1G
    eventually goes_on
    ok stop "$ID"
    [[ $stderr != *warning* ]]
    [ "$(meta "$ID" STATUS)" = stopped ]
}
