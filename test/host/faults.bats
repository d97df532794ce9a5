#!/usr/bin/env bats
# Agents that print hostile or very much output, disks that are full, and what else goes wrong.
# shellcheck disable=SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load lib

teardown_last() { if [ -n "${FULL-}" ]; then umount -l "$FULL" 2>/dev/null || true; fi; }

# File $1 holds no control characters but newlines and tabs, neither C0 nor C1.
is_clean() {
    ! LC_ALL=C grep -aP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1" | cat -v | cut -c1-300 | grep .
}

@test "an agent that prints hundreds of megabytes: the log stays within its limit, the host small" {
    local size=100M
    [ "${TEST_FAULT-}" != full ] || size=1G
    printf '[log]\nsize = 2M\nkeep = 2\n' >>"$ROOT/mas.ini"
    script agent <<S
read -r x
yes 'a line of output that is not so short after all, to spare tmux some work' | head -c $size
printf '\nthe end of it\n'
exec sleep $MARK
S
    run_agent "bash $T/agent" 'idle = 100ms'
    hosts_there
    tm set-option -g history-limit 1000
    press Enter
    within 120 marked_are 1
    eventually shows_line 'the end of it'
    local host
    host=$(of solo .hostPid)
    [ -n "${TEST_SAN-}" ] || (($(private_memory "$host") < 1024))
    (($(cat "$DIR"/logs/agent-solo.log* | wc -c) < 8 << 20))
    agent_log | tail -n 1 | grep -q 'the end of it'
    is solo .logLost 0
}

@test "while it prints without end, the host answers, and stop ends it" {
    run_agent 'yes'
    hosts_there
    eventually state_is solo working
    local start
    start=$(date +%s%3N)
    is solo .agent solo
    (($(date +%s%3N) - start < 2000))
    "$MAS" stop -q "$ID"
    [ -z "$(ls -A "$DIR/run")" ]
}

@test "hostile escape sequences are in the pane and in the log's bytes, but in no status and no list" {
    script agent <<'S'
printf '\033]2;t\033[31mred\ti\nt\302\233le\\";$(id)#{pid}\a'
printf '\033]0;%s\a' "$(head -c 100000 /dev/zero | tr '\0' A)"
printf '\033]9;%s\a' "$(head -c 100000 /dev/zero | tr '\0' B)"
printf '\033]777;notify;\001x\342\200\256;y\033\\'
printf '\033]52;c;ZXZpbA==\a\033P+q544e\033\\\033_Gi=1;AAAA\033\\\033^pm\033\\\033Xsos\033\\'
printf '\033[6n\033[c\033[>c\033[21t\033]10;?\a\033[18t'
printf '\033]133;%s\a' "$(head -c 70000 /dev/zero | tr '\0' C)"
printf '\033[%s;%sm' 99999999999999999999 "$(seq -s ';' 5000)"
printf '\xff\xfe\xc3\x28\x9b31m\x90q\x9c\x9d2;x\x07'
printf '\033]2;unended title'
head -c 300000 /dev/zero | tr '\0' D
printf '\033\\\033cfine\n'
printf '\033[2J\033]2;\302\205\302\233\033[1m\a'
printf 'last words\n\033[31m\033]2;'
exit 9
S
    run_agent "bash $T/agent"
    hosts_there
    eventually state_is solo exited
    ask solo '{"do":"status"}' >"$T/status"
    [ "$(wc -l <"$T/status")" = 1 ]
    (($(wc -c <"$T/status") < 20000))
    is_clean "$T/status"
    local verb
    for verb in 'list' 'show @last' 'status @last' 'status @last --json' 'logs @last solo' 'peek @last solo'; do
        # shellcheck disable=SC2086 # words
        "$MAS" $verb >"$T/out" 2>&1
        is_clean "$T/out" || { echo "in $verb" >&2; false; }
    done
    grep -q $'\033]52;c;ZXZpbA==' "$DIR/logs/agent-solo.log"
    eventually shows 'exited with code 9'
}

@test "questions to the terminal are answered as without mas" {
    script agent <<S
stty raw -echo
printf '\033[c'
IFS= read -r -d c attributes
printf '\033[6n'
IFS= read -r -d R position
printf '%q\n%q\n' "\$attributes" "\$position" >"$T/\$1"
exec sleep $MARK
S
    run_agent "bash $T/agent inside"
    eventually marked_are 1
    tm new-session -d "bash $T/agent outside"
    eventually marked_are 2
    cmp "$T/inside" "$T/outside"
    grep -q ';' "$T/inside"
}

@test "a full disk: the agent goes on, what is lost is counted and told, later output is kept" {
    [ "$(id -u)" = 0 ] || skip "only root can mount a small file system"
    script agent <<S
read -r x
seq -f 'line %g of much output' 20000
echo all printed
read -r x
echo printed later
exec sleep $MARK
S
    preset made "bash $T/agent" 'idle = 100ms'
    new_session -t solo --agent made --no-start
    FULL=$ROOT/sessions/$ID/logs
    mount -t tmpfs -o size=128k,mode=700 none "$FULL" 2>/dev/null || skip "mount is not allowed here"
    "$MAS" start -q "$ID"
    find_agent
    hosts_there
    press Enter
    eventually shows 'all printed'
    eventually lost_some
    head -c 1000 "$DIR/logs/agent-solo.log" | grep -q 'line 1 of'
    "$MAS" list --json | jq -e '.sessions[0].status == "active"' >/dev/null
    "$MAS" show "$ID" >/dev/null
    : >"$DIR/logs/agent-solo.log" # room again
    press Enter
    eventually shows 'printed later'
    eventually grep -q 'printed later' "$DIR/logs/agent-solo.log"
    eventually session_log "lost $(of solo .logLost) bytes"
    "$MAS" stop -q "$ID"
}

lost_some() { (($(of solo .logLost) > 100000)); }

@test "a log that cannot be opened: the agent runs, the loss is told, nothing is followed" {
    echo untouched >"$T/elsewhere"
    script agent <<S
echo some words
exec sleep $MARK
S
    preset made "bash $T/agent" 'idle = 100ms'
    ID=$("$MAS" new -q -t solo --agent made --no-start)
    DIR=$ROOT/sessions/$ID
    ln -s "$T/elsewhere" "$DIR/logs/agent-solo.log"
    "$MAS" start -q "$ID"
    find_agent
    eventually marked_are 1
    hosts_there
    eventually shows 'some words'
    eventually is solo .logLost 12
    [ "$(cat "$T/elsewhere")" = untouched ]
}

@test "an agent that removes its log, its run directory's files or its own directory harms only itself" {
    script agent <<S
rm -rf "\$MAS_SESSION_DIR/logs" "\$MAS_SESSION_DIR/unit/solo"
rm -f "\$MAS_SESSION_DIR/run/"*
echo removed
exec sleep $MARK
S
    run_agent "bash $T/agent"
    eventually marked_are 1
    eventually shows removed
    "$MAS" stop -q "$ID"
    marked_are 0
}

@test "an agent that writes into run/ is not believed" {
    script agent <<S
cd "\$MAS_SESSION_DIR/run"
ln -s /etc/passwd other.sock
mkfifo solo.sock.x
echo x >env
echo done
exec sleep $MARK
S
    run_agent "bash $T/agent"
    eventually marked_are 1
    ok list
    ok show "$ID"
    "$MAS" stop -q "$ID"
    marked_are 0
    "$MAS" start -q "$ID"
    eventually marked_are 1
}

@test "a pane that is not read from blocks nobody else: copy mode, and a client that is stopped" {
    run_agent 'bash --norc' 'idle = 100ms'
    hosts_there
    eventually state_is solo idle
    tm copy-mode -t "$PANE"
    took solo 'seq 50000; echo fin""ished'
    eventually agent_log_has finished
    is solo .agent solo
    tm send-keys -t "$PANE" -X cancel
    eventually shows_line finished
}

agent_log_has() { tail -c 2000 "$DIR/logs/agent-solo.log" | grep -q "^$1"; }

@test "a tmux server that is stopped holds no host up: it answers, and goes on when tmux does" {
    script agent <<S
read -r x
seq 100000
exec sleep $MARK
S
    run_agent "bash $T/agent" 'idle = 100ms'
    agent_pid "$ID"
    local server
    server=$(tm display -p '#{pid}')
    kill -STOP "$server"
    took solo go
    is solo .agent solo
    is solo .queued 0
    kill -CONT "$server"
    eventually marked_are 1
    eventually shows_line 100000
}

@test "many teams of agents that end at once: no host is left behind" {
    local i
    preset made 'false'
    for i in 1 2 3; do "$MAS" new -q -t default --agent made; done >"$T/ids"
    while read -r ID; do
        DIR=$ROOT/sessions/$ID
        hosts_there 33
        eventually state_is 33 exited
    done <"$T/ids"
    xargs "$MAS" stop -q <"$T/ids"
    while read -r ID; do [ -z "$(ls -A "$ROOT/sessions/$ID/run")" ]; done <"$T/ids"
    while read -r ID; do [ "$(pgrep -fc "host $ID")" = 0 ]; done <"$T/ids"
}
