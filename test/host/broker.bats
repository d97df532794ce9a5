#!/usr/bin/env bats
# What an agent runs of mas goes to its host, on a socket of its own, and runs there as that agent.
load ../helper
load lib
load ../acp/lib
load inside
load ../project

HOSTILE='python3 -ES '$BATS_TEST_DIRNAME'/broker.py'

# A team of two, lead and reviewer, that keep what they hear, and what is run below them.
hearing_team() {
    inside_preset made "$(hearing)"
    new_session -t pair --agent made
    DIR=$ROOT/sessions/$ID
    hosts_there lead reviewer
}

# jobs: prints how many commands run for agents of this root.
jobs_of() { grep -lsz "^MAS_BROKERED=" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
    grep -qsxzF "MAS_ROOT=$ROOT" "/proc/$pid/environ" && echo "$pid"; done; }
jobs_are() { [ "$(jobs_of | wc -l)" -eq "$1" ]; }

@test "an agent has a socket of its own, and a person's shell has none" {
    inside_preset made "$(hearing)"
    new_session -t solo --agent made
    DIR=$ROOT/sessions/$ID
    # shellcheck disable=SC2016 # for the shell below the agent
    inside solo 'echo "$MAS_SOCKET"; stat -c %a,%F "$MAS_SOCKET"; echo "$MAS_BROKERED"'
    said "$DIR/run/solo.agent"
    said '600,socket'
    "$MAS" stop -q "$ID"
    [ ! -e "$DIR/run/solo.agent" ]
    inside_preset mine "$(hearing)" 'operator = yes'
    new_session -t solo --agent mine
    DIR=$ROOT/sessions/$ID
    # shellcheck disable=SC2016 # for the shell below the agent
    inside solo 'echo "<$MAS_SOCKET>"'
    said '<>'
    [ ! -e "$DIR/run/solo.agent" ]
}

@test "the host names the sender, whatever the agent says of itself" {
    hearing_team
    inside reviewer "$MAS send lead one"
    [ "$rc" -eq 0 ]
    inside reviewer "MAS_AGENT_ID=lead MAS_SESSION_ID=x MAS_ROOT=/none HOME=/none $MAS send lead two"
    [ "$rc" -eq 0 ]
    inside reviewer "env -i HOME=$HOME MAS_SOCKET=\$MAS_SOCKET $MAS send lead three"
    [ "$rc" -eq 0 ]
    inside reviewer "env -i HOME=$HOME MAS_SOCKET=\$MAS_SOCKET MAS_BROKERED= $MAS send --from lead lead four"
    [ "$rc" -eq 1 ]
    said "cannot send from agent 'lead': this is agent 'reviewer', and an agent may speak only for itself"
    eventually heard lead three
    heard lead one && heard lead two
    [ "$(grep -c 'send from=reviewer to=lead' "$DIR/logs/session.log")" -eq 3 ]
    run ! grep -q 'from=- \|from=lead ' "$DIR/logs/session.log"
}

@test "what a person does is refused to an agent" {
    hearing_team
    local before verb
    kept() { snapshot | grep -v "sessions/$ID/run/"; } # hosts make some of their files there late
    before=$(kept)
    for verb in 'approve lead' 'deny lead' 'stop' "stop $ID" 'clear lead' 'set x setup=yes' 'attach' \
        'land' "rm -f $ID" 'new' 'list' '' 'start' 'restart lead' 'sleep' "archive $ID" 'restore x' \
        'clean' 'migrate' 'top --once' 'acp' 'serve' 'serve token add x --full' 'serve token list' 'serve pair' 'config' 'presets' 'template list' 'doctor' \
        'keys' 'next' 'review' 'du'; do
        inside lead "$MAS $verb"
        [ "$rc" -eq 1 ] || { echo "$verb: $rc"; false; }
        said "only a person may, and this is agent 'lead'"
        said 'mas-agents(7)'
    done
    [ "$(kept)" = "$before" ] || { diff <(echo "$before") <(kept); false; }
    "$MAS" status "$ID" --json | jq -e '[.sessions[].agents[].pid] | all(. > 0)'
}

@test "an agent that hides its socket decides nothing either, but may work on a root of its own" {
    hearing_team
    local verb
    for verb in "stop $ID" "rm -f $ID" 'clean' "migrate --dry-run"; do
        inside lead "env -u MAS_SOCKET -u MAS_AGENT_ID $MAS $verb"
        [ "$rc" -eq 1 ]
        said "only a person may ${verb%% *}, and this is an agent"
    done
    inside lead "env -u MAS_SOCKET -u MAS_AGENT_ID $MAS serve token add x --full"
    [ "$rc" -eq 1 ]
    said 'only a person may serve token add, and this is an agent'
    inside lead "env -u MAS_SOCKET -u MAS_AGENT_ID $MAS serve pair"
    [ "$rc" -eq 1 ]
    said 'only a person may serve pair, and this is an agent'
    printf '%s\n' '{"do":"stop"}' '{"do":"permit","option":"allow"}' '{"do":"clear"}' \
        '{"do":"mode","mode":"x"}' '{"do":"set","option":"x","value":"y"}' >"$T/requests"
    for verb in lead reviewer; do
        inside lead "python3 -ES $PROJECT/test/host/ask.py $DIR/run $verb \"\$(cat $T/requests)\""
        [ "$(grep -c '"ok":false' "$T/said")" -eq 5 ]
    done
    grep -qF '"why":"cannot stop agent '"'reviewer'"': only a person may decide this"' "$T/said"
    grep -qF "the requesting process was started by agent lead" "$T/said"
    inside lead "env -u MAS_SOCKET sh -ec 'export MAS_ROOT=$T/own; $MAS init -q; id=\$($MAS new -q -t solo); $MAS stop \$id; $MAS rm \$id'"
    [ "$rc" -eq 0 ]
    "$MAS" status "$ID" --json | jq -e '[.sessions[].agents[].pid] | all(. > 0)'
}

@test "an agent that hides its socket reaches no other machine, whichever root it names" {
    local verb
    mkdir -p "$HOME/.config/mas"
    printf '[host n1]\nvia = ssh:n1\n' >"$HOME/.config/mas/mas.ini"
    mkdir "$T/bin"
    printf '#!/bin/sh\n: >%s\nexit 255\n' "$T/reached" >"$T/bin/ssh"
    chmod +x "$T/bin/ssh"
    "$MAS" init -q "$T/own"
    hearing_team
    for verb in '--host n1 list' 'show n1:x' 'list --all-hosts' 'remote check' 'remote add n2 n2' \
        'remote forward n1:x' 'move x n1' 'new --host n1'; do
        inside lead "env -u MAS_SOCKET -u MAS_AGENT_ID PATH=$T/bin:\$PATH $MAS --root $T/own $verb"
        [ "$rc" -eq 1 ] || { echo "$verb: $rc" && false; }
        said 'only a person may'
        said 'and this is an agent'
        # nor without one; some verbs need one
        inside lead "cd / && env -u MAS_SOCKET -u MAS_AGENT_ID -u MAS_ROOT PATH=$T/bin:\$PATH $MAS $verb"
        [ "$rc" -eq 1 ] || { echo "$verb: $rc" && false; }
    done
    [ ! -e "$T/reached" ]
    # a person does
    PATH=$T/bin:$PATH fails 12 --root "$T/own" --host n1 list
    [ -e "$T/reached" ]
}

@test "an agent names no other root, no other session and no file" {
    new_session -t solo --no-start
    local other=$ID verb
    hearing_team
    inside lead "$MAS --root $ROOT status"
    [ "$rc" -eq 1 ]
    said 'cannot use --root: an agent works in the root of its team'
    for verb in status show env wait 'peek -s' 'send -s' logs 'diff -s' usage; do
        inside lead "$MAS $verb $other"
        [ "$rc" -ne 0 ] || { echo "$verb"; false; }
        said "for session '$other': an agent sees its own team" || said 'no project' || said 'it needs a' ||
            said "cannot find agent '$other': the team has no such agent"
    done
    inside lead "$MAS status"
    [ "$rc" -eq 0 ]
    run ! grep -q "$other" "$T/said"
    # what others there are is not told, neither by a name nor by a part of the id
    local word
    for word in "${other:0:8}" "${other:0:4}" "mas-${other:0:8}" nobody 'gpu:nobody'; do
        for verb in status history search; do
            case $verb in
                status) inside lead "$MAS status $word" ;;
                history) inside lead "$MAS history -s $word lead" ;;
                search) inside lead "$MAS search -s $word word" ;;
            esac
            [ "$rc" -eq 3 ]
            said "cannot run '$verb' for session '$word': an agent sees its own team"
            run ! grep -q "$other" "$T/said"
        done
    done
    inside lead "$HOSTILE \$MAS_SOCKET verbs"
    [ "$(grep -c '"ok":true,"exit":[^0]' "$T/said")" -eq 23 ]
}

@test "a file for an option is opened where the agent is, and standard input arrives whole" {
    hearing_team
    inside lead "echo from a file >'$T/task'; cd '$T' && $MAS send reviewer --file task"
    [ "$rc" -eq 0 ]
    eventually heard reviewer 'from a file'
    inside lead "echo from a pipe | $MAS send reviewer -"
    eventually heard reviewer 'from a pipe'
    inside lead "$MAS send reviewer --file $T/none"
    [ "$rc" -eq 1 ]
    said "cannot read '$T/none': No such file"
    inside lead "yes \$(head -c 1023 /dev/zero | tr '\0' y) | head -c 1048576 | $MAS send --no-enter reviewer -"
    [ "$rc" -eq 0 ]
    eventually session_log 'send from=lead to=reviewer bytes=1048576'
    inside lead "$MAS send reviewer \"\$(yes word | head -c 120000)\""
    [ "$rc" -eq 0 ]
    inside lead "set --; i=0; while [ \$i -lt 1100 ]; do set -- \"\$@\" w; i=\$((i + 1)); done; $MAS send reviewer \"\$@\""
    [ "$rc" -eq 2 ]
    said 'give a long text on standard input'
}

@test "exit codes and errors come through, and help needs no host" {
    hearing_team
    inside lead "$MAS wait reviewer --for exit --timeout 100ms"
    [ "$rc" -eq 7 ]
    inside lead "$MAS send nobody hello"
    [ "$rc" -eq 3 ]
    said "cannot find agent 'nobody'"
    inside lead "$MAS send lead --bogus"
    [ "$rc" -eq 2 ]
    inside lead "$MAS diff"
    [ "$rc" -eq 4 ]
    inside lead "$MAS statsu"
    [ "$rc" -eq 2 ]
    said 'did you mean: mas status'
    inside lead "$MAS status >/dev/full"
    [ "$rc" -eq 1 ]
    said 'cannot write to standard output'
    inside lead "MAS_SOCKET=/none sh -c '$MAS help send && $MAS version && $MAS completion bash'"
    [ "$rc" -eq 0 ]
    inside lead "MAS_SOCKET=$T/none $MAS status"
    [ "$rc" -eq 1 ]
    said "cannot reach the host of this agent at '$T/none'"
}

@test "how a turn ended is the exit code" {
    inside_preset lead "$(hearing)"
    acp_preset scripted
    cp -R "$ROOT/templates/pair" "$ROOT/templates/two"
    sed -i '/^preset *=/d; s/^\[agent lead\]/&\npreset = lead/; s/^\[agent reviewer\]/&\npreset = scripted/' \
        "$ROOT/templates/two/template.ini"
    new_session -t two
    DIR=$ROOT/sessions/$ID
    hosts_there lead reviewer
    local reason code
    while read -r reason code; do
        inside lead "$MAS ask reviewer STOP:$reason"
        [ "$rc" -eq "$code" ] || { echo "$reason: $rc"; cat "$T/said"; false; }
    done <<'END'
end_turn 0
max_tokens 8
max_turn_requests 9
refusal 10
cancelled 11
END
}

@test "output comes as it is printed, and a client that ends ends the command" {
    hearing_team
    inside lead "exec >'$T/stream'; setsid $MAS status --watch & echo \$! >'$T/client'"
    eventually grep -q reviewer "$T/stream"
    eventually jobs_are 1
    kill -KILL "$(<"$T/client")"
    eventually jobs_are 0
    # one that the host runs without a program of its own
    inside lead "setsid $MAS send --wait reviewer busy & echo \$! >'$T/client'"
    eventually heard reviewer busy
    local host
    host=$(of lead .hostPid)
    kill -KILL "$(<"$T/client")"
    eventually prints 1 pgrep -cP "$host"
    inside lead "timeout -s INT 0.3 $MAS wait reviewer --for exit"
    [ "$rc" -eq 124 ]
    eventually jobs_are 0
}

@test "the end of the host ends what it runs" {
    hearing_team
    inside lead "setsid $MAS wait reviewer --for exit >'$T/words' 2>&1 & echo \$! >'$T/client'"
    eventually jobs_are 1
    kill -KILL "$(of lead .hostPid)"
    eventually is_gone "$(<"$T/client")"
    eventually jobs_are 0
}

@test "a supervisor that is killed takes the clients with it, and so ends what the host runs for them" {
    local host agent
    hearing_team
    host=$(of lead .hostPid)
    agent=$(of lead .pid)
    inside lead "setsid $MAS wait reviewer --for exit >'$T/words' 2>&1 & echo \$! >'$T/client'"
    eventually jobs_are 1
    kill -KILL "$(ps -o ppid= -p "$agent" | tr -d ' ')"
    eventually is_gone "$(<"$T/client")"
    is_gone "$agent"
    eventually jobs_are 0
    "$MAS" restart "$ID" lead
    [ "$(of lead .hostPid)" = "$host" ]
    inside lead "$MAS send reviewer again"
    [ "$rc" -eq 0 ]
    eventually heard reviewer again
}

@test "a host that is killed and restarted serves its agent again" {
    hearing_team
    kill -KILL "$(of lead .hostPid)"
    eventually "$MAS" restart "$ID" lead
    hosts_there lead
    inside lead "$MAS send reviewer again"
    [ "$rc" -eq 0 ]
    eventually heard reviewer again
}

@test "nobody else's agent uses the socket" {
    hearing_team
    inside lead "MAS_SOCKET=$DIR/run/reviewer.agent $MAS send lead posing"
    [ "$rc" -eq 1 ]
    said "cannot run a command: MAS_SOCKET is not the socket of agent lead"
    local first=$DIR
    new_session -t solo --agent made
    DIR=$ROOT/sessions/$ID
    hosts_there solo
    inside solo "MAS_SOCKET=$first/run/reviewer.agent $MAS send lead posing"
    [ "$rc" -eq 1 ]
    said "MAS_SOCKET is not the socket of agent 'solo' of session '$ID'"
    run ! grep -q posing "$T/heard.lead"
}

@test "nothing of the agent's environment reaches the command" {
    hearing_team
    script evil <<<"touch $T/ran"
    inside lead "PATH=$T:/usr/bin:/bin LD_PRELOAD=$T/none.so LD_DEBUG=all PAGER='sh $T/evil' GIT_PAGER='sh $T/evil' \
GIT_DIR=$T EDITOR='sh $T/evil' MAS_ROOT=$T MAS_TMUX_SOCKET=$T/x script -qec '$MAS status' /dev/null"
    [ "$rc" -eq 0 ]
    said reviewer
    [ ! -e "$T/ran" ]
    inside lead "setsid $MAS status --watch >'$T/words' 2>&1 & echo \$! >'$T/client'"
    eventually jobs_are 1
    tr '\0' '\n' <"/proc/$(jobs_of)/environ" >"$T/env"
    run ! grep -E '^(LD_|GIT_|EDITOR|VISUAL|MAS_SOCKET|TMUX=|TMUX_PANE)' "$T/env"
    grep -qx PAGER=cat "$T/env"
    grep -qx MAS_AGENT_ID=lead "$T/env"
    [ "$(readlink "/proc/$(jobs_of)/cwd")" = / ]
    kill "$(<"$T/client")"
}

@test "the tools of the team run outside, for as long as the agent uses them" {
    hearing_team
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_message","arguments":{"target":"lead","text":"tooled"}}}' >"$T/calls"
    inside reviewer "$MAS mcp <$T/calls"
    [ "$rc" -eq 0 ]
    jq -es 'length == 2 and (.[1].result.isError | not)' "$T/said"
    eventually heard lead tooled
    session_log 'send from=reviewer to=lead'
    eventually jobs_are 0
}

@test "hostile requests are refused, and delay nobody" {
    hearing_team
    inside lead "$HOSTILE \$MAS_SOCKET run status"
    said '{"ok":true,"exit":0}'
    inside lead "$HOSTILE \$MAS_SOCKET counts"
    [ "$(grep -c 'needs its three standard files' "$T/said")" -eq 8 ]
    inside lead "$HOSTILE \$MAS_SOCKET garbage"
    [ "$rc" -eq 0 ]
    [ "$(wc -l <"$T/said")" -eq 20 ]
    run ! grep -v '"ok":false' "$T/said"
    inside lead "$HOSTILE \$MAS_SOCKET half"
    said 'its request did not come'
    inside lead "$HOSTILE \$MAS_SOCKET blocked"
    said blocked
    eventually jobs_are 0
    inside lead "$MAS send reviewer still"
    [ "$rc" -eq 0 ]
    eventually heard reviewer still
}

@test "a crowd at the socket is turned away, and the host goes on" {
    hearing_team
    inside lead "$HOSTILE \$MAS_SOCKET crowd &"
    eventually said connected
    is lead .state working || state_is lead idle
    "$MAS" send "$ID" lead through
    eventually heard lead through
    eventually said '"ok":'
    inside lead "$MAS send reviewer after"
    [ "$rc" -eq 0 ]
}

# What a command of an agent prints goes where the agent wants, and stays there.
@test "a command of an agent whose output nobody reads keeps no lock from others" {
    make_project
    inside_preset made "$(hearing)"
    new_session -t pair --agent made --project "$P"
    DIR=$ROOT/sessions/$ID
    hosts_there lead reviewer
    # shellcheck disable=SC2317 # called by eventually
    writes() { grep -qE '^(1|64) ' "/proc/$(jobs_of)/syscall"; }
    local verb
    for verb in merge sync; do
        rm -f "$T/go" "$T/words"
        inside lead "GO=$T/go $HOSTILE \$MAS_SOCKET stopped $verb lead >$T/words 2>&1 &"
        eventually grep -q sent "$T/words"
        eventually jobs_are 1
        eventually writes
        "$MAS" merge "$ID" lead
        touch "$T/go"
        eventually jobs_are 0
    done
    eventually grep -q '"exit":0' "$T/words"
}

# A message that nobody reads must not be the snapshot that keeps the log of memory.db from being written back:
# it grows as long as the team says something.
@test "a command of an agent whose output nobody reads keeps no snapshot of the team's memory" {
    inside_acp
    new_session -t solo --agent made
    find_agent
    local words i
    words=$(head -c 20000 /dev/zero | tr '\0' w)
    for i in 1 2 3 4; do "$MAS" ask "$ID" solo "CW-$i $words" >/dev/null; done
    # shellcheck disable=SC2317 # called by eventually
    writes() { grep -qE '^(1|20) ' "/proc/$(jobs_of)/syscall"; }
    local verb
    for verb in 'history solo' 'history solo --export jsonl' 'history solo --queries' 'search -q CW-1' 'search --json CW-1'; do
        rm -f "$T/go" "$T/words"
        inside solo "GO=$T/go $HOSTILE \$MAS_SOCKET stopped $verb >$T/words 2>&1 &"
        eventually grep -q sent "$T/words"
        eventually jobs_are 1
        eventually writes
        "$MAS" ask "$ID" solo "CW-more" >/dev/null
        python3 -ESc 'import glob, sqlite3, sys
for name in sys.argv[1:]:
    db = sqlite3.connect(name, timeout=0.2)
    if db.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] != 0: sys.exit(name + " is kept")
    db.close()' "$DIR/memory.db" "$ROOT/sessions/.memory.index" || { echo "by $verb"; false; }
        touch "$T/go"
        eventually jobs_are 0
    done
}
