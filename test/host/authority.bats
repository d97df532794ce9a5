#!/usr/bin/env bats
# Who asks a host is told by whose process it is: nothing that an agent starts speaks as a person, or
# as another agent.
load ../helper
load lib
load ../acp/lib
load inside

# asked WORD...: `solo` is asked in the background ($ASKER), and waits for a permission.
asked() {
    "$MAS" ask "$ID" solo "$@" >"$T/out" 2>"$T/err" 3>&- &
    ASKER=$!
    eventually asks
}

OUTSIDE='env -u MAS_SOCKET -u MAS_AGENT_ID -u MAS_SESSION_ID -u MAS_AGENT_ROLE -u MAS_SESSION_DIR'
NOT_ITSELF='an agent may not decide this for itself'

@test "an agent answers nothing of its own, whatever its environment says" {
    inside_acp
    new_session -t solo --agent made
    find_agent
    asked ASK
    inside solo "$OUTSIDE $MAS approve -s $ID solo"
    [ "$rc" -eq 1 ]
    said "mas: cannot answer agent 'solo': $NOT_ITSELF"
    inside solo "env -u MAS_SOCKET $MAS approve solo"
    [ "$rc" -eq 1 ]
    said "mas: cannot answer agent 'solo': $NOT_ITSELF"
    # a daemon, and what runs under a tmux server of its own
    script daemon <<END
$OUTSIDE $MAS approve -s $ID solo >$T/l 2>&1; echo code=\$? >>$T/l
mv $T/l $T/late
END
    inside_late solo "(setsid sh $T/daemon &) & exit 0"
    [ "$rc" -eq 1 ]
    said "$NOT_ITSELF"
    inside_late solo "tmux -S $T/own -f /dev/null new-session -d 'sh $T/daemon'"
    [ "$rc" -eq 1 ]
    said "$NOT_ITSELF"
    inside solo "$OUTSIDE $MAS clear -s $ID solo --then more --mode bypass"
    [ "$rc" -eq 1 ]
    said "cannot clear the context of agent 'solo': $NOT_ITSELF"
    printf '%s\n' '{"do":"mode","mode":"bypass"}' '{"do":"set","option":"model","value":"large"}' \
        '{"do":"conversation","new":true}' '{"do":"permit","option":"allow"}' >"$T/requests"
    inside solo "python3 -ES $PROJECT/test/host/ask.py $DIR/run solo \"\$(cat $T/requests)\""
    [ "$(grep -cF "$NOT_ITSELF" "$T/said")" -eq 4 ]
    asks
    ok approve "$ID" solo
    wait "$ASKER"
    grep -q permit=yes "$T/out"
}

@test "nor over the protocol for editors" {
    inside_acp
    new_session -t solo --agent made
    find_agent
    cat >"$T/edit" <<'END'
try:
    c.new()
    print("opened")
except Refused as e:
    print(e.message)
END
    inside solo "$OUTSIDE python3 $PROJECT/test/acp/client.py $MAS acp $ID <$T/edit"
    said "$NOT_ITSELF"
}

@test "what an agent sends carries its own name, whoever it says it is" {
    inside_preset made "$(hearing)"
    new_session -t pair --agent made
    DIR=$ROOT/sessions/$ID
    hosts_there lead reviewer
    inside reviewer "$OUTSIDE $MAS send -s $ID lead unset"
    [ "$rc" -eq 0 ]
    eventually heard lead unset
    inside reviewer "$OUTSIDE $MAS send -s $ID --from lead lead claimed"
    [ "$rc" -eq 0 ]
    eventually heard lead claimed
    inside reviewer "MAS_AGENT_ID=lead $MAS send -s $ID lead another"
    [ "$rc" -eq 0 ]
    eventually heard lead another
    # the tools of the team, started with nothing in their environment
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_message","arguments":{"target":"lead","text":"tooled"}}}' >"$T/calls"
    inside reviewer "$OUTSIDE $MAS mcp $ID <$T/calls"
    eventually heard lead tooled
    eventually prints 4 grep -c 'send from=reviewer to=lead .* outcome=delivered' "$DIR/logs/session.log"
    run ! grep -q 'from=- \|from=lead ' "$DIR/logs/session.log"
    # a person may speak for whom he likes
    "$MAS" send --from lead "$ID" reviewer outside
    eventually heard reviewer outside
    eventually session_log 'send from=lead to=reviewer'
}

@test "what an agent starts writes to no other session" {
    inside_preset made "$(hearing)"
    new_session -t solo --agent made
    local other=$ID
    new_session -t pair --agent made
    DIR=$ROOT/sessions/$ID
    hosts_there lead reviewer
    inside lead "$OUTSIDE $MAS send -s $other solo hello"
    [ "$rc" -eq 1 ]
    said "mas: cannot send to agent 'solo': an agent may write only to its own team"
    said "agent 'lead' of session '$ID'"
    "$MAS" send "$other" solo hi
    eventually heard solo hi
    run ! heard solo hello
}

@test "a shell is a person's, and so is what its preset calls one" {
    new_session -t pair
    DIR=$ROOT/sessions/$ID
    PANE=$(tm list-panes -s -t "=mas-${ID:0:8}:" -F '#{pane_id}' | head -n 1)
    hosts_there lead reviewer
    type_line "$OUTSIDE $MAS send -s $ID reviewer ': typed by a person'"
    eventually session_log 'send from=- to=reviewer'
    type_line "$MAS send reviewer ': typed in a pane'"
    eventually session_log 'send from=lead to=reviewer'
    preset mine "bash --norc" "operator = yes"
    preset theirs "bash --norc" "operator = no"
    new_session -t solo --agent mine
    find_agent && hosts_there
    type_line "$OUTSIDE $MAS send -s $ID solo ': x'"
    eventually session_log 'send from=- to=solo'
    new_session -t solo --agent theirs
    find_agent && hosts_there
    type_line "$OUTSIDE $MAS send -s $ID solo ': x'"
    eventually session_log 'send from=solo to=solo'
}

@test "whoever has ended before it is looked at asks for nothing" {
    run_acp ""
    asked ASK
    local host server
    host=$(of solo .hostPid)
    server=$(tm display-message -p '#{pid}')
    kill -STOP "$server" "$host" # tmux would wake it
    # its child has the connection, and what connected is gone
    python3 -ES - "$DIR/run" "$T/reply" <<'END'
import os, socket, sys
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.connect("solo.sock")
s.sendall(b'{"do":"permit","option":"allow"}\n')
if os.fork() == 0:
    with open(sys.argv[2], "wb") as f:
        f.write(s.recv(4096))
END
    kill -CONT "$host" "$server"
    eventually test -s "$T/reply"
    jq -e '.ok == false and (.why | test("has ended"))' "$T/reply"
    asks
    "$MAS" deny "$ID" solo
    wait "$ASKER" || true
}
