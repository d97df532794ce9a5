#!/usr/bin/env bats
# Messages reach the agents that are meant, as they are, or it is said why not.
load ../helper

# Preset `keeper` appends each line that it reads to $T/heard.<agent>.
setup_more() {
    cat >>"$ROOT/mas.ini" <<END
[preset keeper]
command = sh -c 'while IFS= read -r line; do printf "%s\n" "\$line" >>"$T/heard.\$MAS_AGENT_ID"; done'
END
}

# Agent $1 has heard exactly $2.
heard() { [ "$(cat "$T/heard.$1" 2>/dev/null)" = "$2" ]; }

# The words of session $ID's log behind the time
log_lines() { sed -n "s/^[^ ]* //p" "$ROOT/sessions/$ID/logs/session.log" | grep "$1"; }

@test "send types words and Enter to an agent" {
    new_session -t pair --agent keeper
    ok send "$ID" lead hello   there
    [ -z "$output$stderr" ]
    eventually heard lead 'hello there'
    [ ! -e "$T/heard.reviewer" ]
    eventually log_lines 'send from=- to=lead bytes=11 outcome=delivered'
}

@test "a target is an id, a list, a unit, managers, workers or all" {
    new_session --agent keeper
    for target in 11 12,13 design managers workers all; do
        ok send "$ID" "$target" "$target"
    done
    eventually heard 00 all
    eventually heard 10 $'design\nmanagers\nall'
    eventually heard 11 $'11\ndesign\nworkers\nall'
    eventually heard 13 $'12,13\ndesign\nworkers\nall'
    eventually heard 20 $'managers\nall'
    eventually heard 33 $'workers\nall'
}

@test "no byte of a text is a key name, a shell word or a format" {
    # shellcheck disable=SC2016
    text='C-c Enter $(id) `id` #{pane_id} #(id) ; | & "q" '\''q'\'' \n %1 ~ é 漢 -'
    new_session -t solo --agent keeper
    ok send "$ID" solo "$text"
    eventually heard solo "$text"
}

@test "- is standard input, --file a file, and one newline at the end is Enter's" {
    new_session -t solo --agent keeper
    printf 'one\ntwo\n' | "$MAS" send "$ID" solo -
    printf 'three\n' >"$T/text"
    "$MAS" send "$ID" solo --file "$T/text"
    "$MAS" send "$ID" solo --file <(printf 'four')
    "$MAS" send "$ID" solo -- -x
    eventually heard solo $'one\ntwo\nthree\nfour\n-x'
}

@test "--no-enter leaves the line open" {
    new_session -t solo --agent keeper
    "$MAS" send "$ID" solo --no-enter 'one '
    "$MAS" send "$ID" solo two
    eventually heard solo 'one two'
}

@test "an empty text is refused, Enter alone is not" {
    new_session -t solo --agent keeper
    fails 2 send "$ID" solo - </dev/null
    [[ $stderr == "mas: cannot send: the text is empty"* ]]
    fails 2 send "$ID" solo --no-enter ''
    ok send "$ID" solo ''
    mas send "$ID" solo after
    eventually heard solo $'\nafter'
}

@test "text that could be keys is refused by name and nothing arrives" {
    new_session -t solo --agent keeper
    fails 1 send "$ID" solo $'\033[A'
    [[ $stderr == "mas: cannot send to agent 'solo': it "* ]]
    fails 1 send "$ID" solo - < <(printf 'a\0b')
    fails 1 send "$ID" solo $'\xff'
    mas send "$ID" solo good
    eventually heard solo good
}

@test "a text that is too large is refused" {
    new_session -t solo --agent keeper
    head -c 4194305 /dev/zero | tr '\0' 'a' >"$T/large"
    fails 1 send "$ID" solo --file "$T/large"
    [[ $stderr == *"it is larger than 4194304 bytes"* ]]
}

@test "in a team SESSION is left out, and the sender is known" {
    new_session --agent keeper
    MAS_SESSION_ID=$ID MAS_AGENT_ID=11 ok send 10 'done'
    eventually heard 10 'done'
    eventually log_lines 'send from=11 to=10 bytes=4 outcome=delivered'
    MAS_SESSION_ID=$ID mas send 12 hello
    eventually heard 12 hello
    # a session is meant where no agent is
    other=$ID
    new_session -t pair -n two --agent keeper
    MAS_SESSION_ID=$other ok send two lead hello
    eventually heard lead hello
    MAS_SESSION_ID=$other fails 3 send nobody hello
    [[ $stderr == "mas: cannot find agent 'nobody': the team has no such agent"$'\n'"the team has: 00, 10,"* ]]
}

@test "who may not write is refused, with the rule named" {
    new_session --agent keeper
    MAS_SESSION_ID=$ID MAS_AGENT_ID=11 fails 1 send 20 hello
    [[ $stderr == "mas: cannot send to agent '20': the rule for a worker, 'manager, unit', does not let agent '11' write to it"* ]]
    fails 1 send "$ID" 20 --from 11 hello
    ok send "$ID" 10 --from 11 hello
    fails 3 send "$ID" 10 --from 99 hello
    [[ $stderr == "mas: cannot send from agent '99': the team has no such agent"* ]]
    log_lines 'send from=11 to=20 bytes=5 outcome=refused'
}

@test "an agent speaks for itself alone" {
    new_session --agent keeper
    MAS_SESSION_ID=$ID MAS_AGENT_ID=11 fails 1 send --from 10 00 hello
    [[ $stderr == "mas: cannot send from agent '10': this is agent '11', and an agent may speak only for itself"* ]]
    [ -z "$(log_lines 'from=10')" ]
    MAS_SESSION_ID=$ID MAS_AGENT_ID=11 ok send --from 11 10 hello
    eventually heard 10 hello
    [ ! -e "$T/heard.00" ]
}

@test "an agent writes to no other session" {
    new_session -t pair --agent keeper
    own=$ID
    new_session -t pair --agent keeper
    MAS_SESSION_ID=$own MAS_AGENT_ID=lead fails 1 send "$ID" lead hello
    [[ $stderr == "mas: cannot send to session '$ID': an agent may write only to its own team"* ]]
    [ ! -e "$T/heard.lead" ]
}

@test "each agent that does not take it is told, the others get it" {
    new_session -t pair --agent keeper
    "$MAS" wait "$ID" --for idle
    kill -KILL "$(field "$ID" '.agents[0].hostPid')"
    # shellcheck disable=SC2329
    dead() { tm run-shell -b true && [ "$(field "$ID" '.agents[0].problem')" = 'no host' ] &&
        [ "$(field "$ID" '.agents[0].exitStatus')" != null ]; }
    eventually dead
    fails 1 send "$ID" all hello
    [ "$stderr" = "mas: cannot send to agent 'lead': its host has ended
start it again with: mas restart $ID lead" ]
    eventually heard reviewer hello
    fails 1 send "$ID" all --json again
    [ "$(jq -c '[.agents[] | [.id, .outcome]]' <<<"$output")" = \
        '[["lead","failed"],["reviewer","delivered"]]' ]
}

@test "a stopped session is exit 4 and says how to start it" {
    new_session -t solo --no-start
    fails 4 send "$ID" solo hello
    [ "$stderr" = "mas: cannot send to session '$ID': it is not running
start it with: mas start $ID" ]
}

@test "an agent that has ended is started by a message" {
    new_session -t solo
    "$MAS" send "$ID" solo 'exit 3'
    "$MAS" wait "$ID" --for exit
    ok send "$ID" solo "echo back >$T/back"
    eventually test -s "$T/back"
}

@test "--wait comes back when it was worked off, or in time" {
    new_session -t solo
    ok send "$ID" solo --wait "sleep 0.5; echo finished >$T/finished"
    [ -s "$T/finished" ]
    printf '[preset busy]\ncommand = sh -c "while :; do echo x; sleep 0.1; done"\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent busy
    fails 7 send "$ID" solo --wait --timeout 500ms x
    [[ $stderr == "mas: cannot wait for agent 'solo': it is still working" ]]
}

@test "--wait waits for an agent that crashes over the message and is about to start again" {
    cat >"$T/agent" <<S
read -r line
[ ! -e '$T/crashed' ] || { echo "\$line" >'$T/finished'; exec sleep 1000; }
touch '$T/crashed'
exit 3
S
    printf '[preset falls]\ncommand = sh %s\nrestart = on-crash\nrestart_delay = 500ms\n' "$T/agent" >>"$ROOT/mas.ini"
    new_session -t solo --agent falls
    ok send "$ID" solo --wait over
    [ "$("$MAS" status "$ID" --json | jq '.sessions[0].agents[0].restarts')" = 1 ]
}

@test "send reaches a team that was made just now" {
    new_session --agent keeper
    ok send "$ID" all first
    eventually heard 33 first
}

@test "what is wrong with the words is exit 2" {
    new_session -t solo --agent keeper
    for words in "" "$ID" "$ID solo" "$ID solo --file x y" "$ID solo --timeout 1s x" \
        "$ID solo --wait --timeout soon x"; do
        # shellcheck disable=SC2086
        fails 2 send $words
    done
    fails 3 send nothing solo x
}

@test "an agent without its session, outside of a team's pane, is told that the session comes first" {
    new_session -t default -n shop --no-start
    fails 3 send 10 hi
    [[ $stderr == "mas: cannot find session '10': there is no such session"*$'\n'"outside of a team's pane, name the session first: mas send [SESSION] TARGET TEXT..." ]]
    fails 3 peek lead
    [[ $stderr == *$'\n'"outside of a team's pane, name the session first: mas peek [SESSION] TARGET..." ]]
}
