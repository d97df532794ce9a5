#!/usr/bin/env bats
# Messages: literal, whole, in order, to an agent that reads; none is lost, each is in the log.
# shellcheck disable=SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load lib

# An agent that reads raw bytes into $T/got until there are $1 of them; KEY=VALUE... for its preset.
raw_reader() {
    local size=$1
    shift
    script reader <<S
stty raw -echo
printf reading
head -c $size >'$T/got'
sha256sum <'$T/got' >'$T/sum'
exec sleep $MARK
S
    run_agent "bash $T/reader" "$@"
    eventually shows reading
}

# An agent that appends each line that it reads to $T/lines.
line_reader() {
    script reader <<S
printf 'reading\n'
while IFS= read -r line; do printf '%s\n' "\$line" >>'$T/lines'; done
S
    run_agent "bash $T/reader"
    hosts_there
}

lines_are() { [ "$(cat "$T/lines" 2>/dev/null)" = "$1" ]; }
has_lines() { [ "$(wc -l <"$T/lines")" -eq "$1" ]; }

# send_file FILE [MEMBERS]: to solo; prints the answer
send_file() { ask solo "{\"do\":\"send\"${2-}}" "$1"; }

# refused CODE WORDS ANSWER
refused() {
    jq -e --argjson code "$1" --arg words "$2" \
        '.ok == false and .code == $code and (.why | contains($words))' <<<"$3" >/dev/null ||
        { echo "answer: $3" >&2; false; }
}

# An agent that is ready once $T/go is there, and writes each line that it reads to $T/lines
late_reader() {
    script agent <<S
stty -echo
until [ -e '$T/go' ]; do sleep 0.01; done
echo now
while IFS= read -r line; do printf '%s\n' "\$line" >>'$T/lines'; done
S
    run_agent "bash $T/agent" 'ready = ^now' 'ready_timeout = 1h'
    hosts_there
}

@test "what looks like commands, keys, formats or escapes arrives as it is" {
    local texts=("\$(touch $T/evil)" "\`touch $T/evil\`; touch $T/evil" '; kill-server' 'C-c' 'Enter' '-t x'
        '#{pid} #(touch x) %1 {x}' "it's \"quoted\" \\n \\ ~ * ?" '漢字 🙂 é — ß' '!! !$ ^x^y' '--' '')
    line_reader
    local text all=''
    for text in "${texts[@]}"; do
        took solo "$text"
        all+="$text"$'\n'
    done
    eventually has_lines "${#texts[@]}"
    [ "$(cat "$T/lines"; echo x)" = "${all}x" ]
    [ ! -e "$T/evil" ]
    state_is solo working || state_is solo idle
}

@test "tabs and newlines arrive raw, and Enter is its own carriage return behind them" {
    raw_reader 14
    took solo $'a\tb\n\nc\t漢 \\n'
    eventually marked_are 1
    [ "$(od -An -c "$T/got")" = "$(printf 'a\tb\n\nc\t漢 \\n\r' | od -An -c)" ]
}

@test "Enter is left out where that is asked for" {
    raw_reader 9
    took solo 'one' ',"enter":false'
    took solo 'two' ',"enter":false'
    took solo 'en'
    eventually marked_are 1
    [ "$(od -An -c "$T/got")" = "$(printf 'onetwoen\r' | od -An -c)" ]
}

@test "many lines into a shell are one paste, that runs when it is whole" {
    run_agent 'bash --norc' 'idle = 200ms'
    eventually state_is solo idle
    took solo $'for i in 1 2; do\n\techo "line $i" |\n\ttr a-z A-Z\ndone' ',"enter":false'
    eventually shows 'done'
    run ! shows_line 'LINE 1'
    run ! shows '>' # the shell's prompt for more
    press Enter
    eventually shows_line 'LINE 1'
    eventually shows_line 'LINE 2'
    took solo $'echo fi""rst\necho sec""ond'
    eventually shows_line second
    [ "$(agent_log | grep -c 'bash-[0-9.]*[#$]')" -le 4 ]
}

@test "a paste cannot be ended from within" {
    run_agent 'bash --norc' 'idle = 200ms'
    eventually state_is solo idle
    refused 1 'control character' "$(say_to solo $'echo a\n\033[201~touch x\n')"
    run ! shows 'echo a'
}

@test "1 MB arrives whole at a program that reads raw" {
    raw_reader 1048577
    head -c 786432 /dev/urandom | base64 -w 0 >"$T/big"
    [ "$(stat -c %s "$T/big")" = 1048576 ]
    send_file "$T/big" | jq -e .ok >/dev/null
    eventually marked_are 1
    [ "$(cat "$T/sum")" = "$(printf '\r' | cat "$T/big" - | sha256sum)" ]
    eventually session_log 'bytes=1048576 outcome=delivered'
}

@test "1 MB of short lines arrives whole at a program that reads lines" {
    line_reader
    seq -f 'line number %g of a long text' 30000 >"$T/big"
    send_file "$T/big" | jq -e .ok >/dev/null
    eventually has_lines 30001
    cmp -n "$(stat -c %s "$T/big")" "$T/big" "$T/lines"
}

@test "the largest message is taken, a larger one is not" {
    raw_reader 4194304
    yes 'eight by' | head -c 4194304 >"$T/big"
    send_file "$T/big" ',"enter":false' | jq -e .ok >/dev/null
    eventually marked_are 1
    cmp "$T/big" "$T/got"
    echo >>"$T/big"
    refused 5 'bytes' "$(send_file "$T/big")"
    state_is solo working || state_is solo idle
}

@test "many messages arrive in the order in which they were taken" {
    line_reader
    local i
    for i in $(seq 200); do echo '{"do":"send"}'; done >"$T/requests"
    PATH=/usr/bin:$PATH python3 -ES - "$DIR/run" <<'PY' >"$T/answers"
import os, socket, sys
os.chdir(sys.argv[1])
for i in range(200):
    s = socket.socket(socket.AF_UNIX)
    s.connect("solo.sock")
    body = b"message %d" % i
    s.sendall(b'{"do":"send","bytes":%d}\n%s' % (len(body), body))
    print(s.recv(65536).decode(), end="")
    s.close()
PY
    [ "$(jq -r .ok "$T/answers" | sort | uniq -c | xargs)" = '200 true' ]
    eventually has_lines 200
    [ "$(cat "$T/lines")" = "$(seq -f 'message %g' 0 199)" ]
    eventually session_log 'bytes=11 outcome=delivered'
    [ "$(grep -c 'send from=- .*outcome=delivered' "$DIR/logs/session.log")" = 200 ]
}

@test "messages of many senders at once arrive whole, one after the other" {
    line_reader
    local i pids=()
    for i in $(seq 8); do
        seq -f "sender $i line %g" 500 >"$T/part$i"
    done
    for i in $(seq 8); do
        send_file "$T/part$i" ',"enter":false' >"$T/answer$i" 3>&- &
        pids+=($!)
    done
    wait "${pids[@]}"
    eventually has_lines 4000
    [ "$(cut -d' ' -f2 "$T/lines" | uniq | wc -l)" = 8 ]
    for i in $(seq 8); do grep "^sender $i " "$T/lines" | cmp - "$T/part$i"; done
}

@test "what is sent to a starting agent waits in order until it is ready, and is told as queued" {
    late_reader
    local i
    for i in 1 2 3; do
        [ "$(say_to solo "number $i" | jq -r .outcome)" = queued ]
    done
    state_is solo starting
    is solo .queued 3
    run ! session_log delivered
    touch "$T/go"
    eventually lines_are $'number 1\nnumber 2\nnumber 3'
    is solo .queued 0
    [ "$(grep -c outcome=delivered "$DIR/logs/session.log")" = 3 ]
}

@test "none is lost over a restart of the agent" {
    late_reader
    took solo first
    took solo second
    ask solo '{"do":"restart"}' | jq -e .ok >/dev/null
    took solo third
    is solo .queued 3
    touch "$T/go"
    eventually lines_are $'first\nsecond\nthird'
}

@test "a message that was half typed when the agent ended is typed whole to the next one" {
    script agent <<S
stty raw -echo
echo now
[ -e '$T/second' ] || { touch '$T/second'; head -c 5000 >/dev/null; sleep $MARK; }
head -c 1048576 >'$T/got'
echo done
read x
S
    run_agent "bash $T/agent" 'ready = ^now'
    hosts_there
    yes 'sixteen letters' | head -c 1048576 >"$T/big"
    send_file "$T/big" ',"enter":false' | jq -e '.outcome == "queued"' >/dev/null
    eventually marked_are 1
    ask solo '{"do":"restart"}' | jq -e .ok >/dev/null
    eventually shows 'done'
    cmp "$T/got" "$T/big"
}

@test "a message starts an agent that has ended" {
    line_reader
    took solo one
    eventually lines_are one
    kill -KILL "$(of solo .pid)"
    eventually state_is solo crashed
    took solo two
    eventually lines_are $'one\ntwo'
    is solo .restarts 1
}

@test "a message starts an agent whose tree is still being cleared" {
    script agent <<S
echo run >>'$T/runs'
(trap '' HUP; exec setsid sleep $MARK) &
read -r line; echo "\$line" >>'$T/lines'
S
    run_agent "sh $T/agent"
    hosts_there
    "$MAS" send "$ID" solo one
    eventually state_is solo exited
    marked_are 1 # what it left behind has its time to end
    "$MAS" send "$ID" solo two
    within 20 eval "[ \"\$(tail -n 1 '$T/lines')\" = two ]"
    [ "$(wc -l <"$T/runs")" = 2 ]
}

@test "an agent that never reads blocks nobody: more is queued, the pane and the host answer" {
    script agent <<S
stty raw -echo
echo deaf
exec sleep $MARK
S
    run_agent "bash $T/agent"
    eventually marked_are 1
    yes | head -c 1048576 >"$T/big"
    [ "$(send_file "$T/big" | jq -r .outcome)" = queued ]
    [ "$(say_to solo more | jq -r .outcome)" = queued ]
    eventually is solo .queued 2
    ask solo '{"do":"stop","hangup":100,"terminate":100}' | jq -e .ok >/dev/null
    marked_are 0
    is solo .queued 2
}

@test "a message behind one that waits for its Enter is queued, not delivered" {
    script reader <<S
stty raw -echo
printf reading
exec sleep $MARK
S
    run_agent "bash $T/reader" 'enter_delay = 10m' 'idle = 200ms'
    eventually marked_are 1
    eventually state_is solo idle
    took solo first
    [ "$(say_to solo second | jq -r .outcome)" = queued ]
    is solo .queued 2
    ask solo '{"do":"stop","hangup":100,"terminate":100}' | jq -e .ok >/dev/null
    is solo .queued 2
    "$MAS" stop -q "$ID"
    session_log 'bytes=5 outcome=kept' # its Enter was not typed
    session_log 'bytes=6 outcome=kept'
}

@test "Enter waits until the program has shown what was typed, which a busy one does late" {
    cat >"$T/busy" <<'END'
import os, select, time, tty
tty.setraw(0)
os.write(1, b"reading\r\n")
text = b""
while len(text) < 5:
    text += os.read(0, 5 - len(text))
early = select.select([0], [], [], 0.3)[0]
print("early\r" if early else "late\r", flush=True)
print(os.read(0, 1), "\r", flush=True)
time.sleep(1000)
END
    run_agent "python3 -ES $T/busy" 'ready = reading' 'ready_timeout = 60s' 'enter_delay = 50ms'
    took solo hello
    eventually shows "b'\r'"
    shows late
}

@test "Enter waits until a program at work has shown the text among what it prints anyway" {
    cat >"$T/busy" <<'END'
import os, select, time, tty
tty.setraw(0)
os.write(1, b"reading\r\n")
def works(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not select.select([0], [], [], 0.02)[0]:
        os.write(1, b"it works\r")
    return time.monotonic() < end
text = b""
while len(text) < 5:
    works(1)
    text += os.read(0, 5 - len(text)) if select.select([0], [], [], 0)[0] else b""
early = works(0.5)
os.write(1, text + b"\r\n")
print("early\r" if early else "late\r", flush=True)
begins = time.monotonic()
print(os.read(0, 1), "soon\r" if time.monotonic() - begins < 1.5 else "after a wait\r", flush=True)
time.sleep(1000)
END
    run_agent "python3 -ES $T/busy" 'ready = reading' 'ready_timeout = 60s' 'enter_delay = 50ms'
    eventually state_is solo working
    took solo hello
    eventually shows "b'\r' soon"
    shows late
}

@test "messages that wait when their host ends have an outcome, however it ends" {
    preset made "sleep $MARK" 'ready = ^never$' 'ready_timeout = 1h'
    local end
    for end in kill-pane kill-session kill-server TERM HUP; do
        new_session -t solo --agent made
        find_agent
        hosts_there
        [ "$(say_to solo hello | jq -r .outcome)" = queued ]
        [ "$(say_to solo again, | jq -r .outcome)" = queued ]
        case $end in
            kill-pane) tm kill-pane -t "$PANE" ;;
            kill-s*) tm "$end" ;;
            *) kill -"$end" "$(of solo .hostPid)" ;;
        esac
        eventually session_log 'to=solo bytes=5 outcome=kept' || { echo "$end" >&2; false; }
        eventually session_log 'to=solo bytes=6 outcome=kept'
        "$MAS" stop -q "$ID"
    done
}

@test "messages that wait outlive stops and kills: they are typed after the next start, in order and once" {
    late_reader
    "$MAS" send "$ID" solo one
    took solo two
    kill -KILL "$(of solo .hostPid)"
    mas stop "$ID"
    [[ $output == *"kept for the next start: solo (2 queued)"* ]]
    mas status "$ID"
    [[ $output == *stopped*"2 queued"* ]]
    mas start "$ID"
    [[ $output == *"delivered now: solo (2 queued)"* ]]
    hosts_there
    took solo three
    is solo .queued 3
    "$MAS" stop -q "$ID"
    session_log 'bytes=5 outcome=kept'
    [ "$(stat -c %a "$DIR/memory.db")" = 600 ]
    touch "$T/go"
    "$MAS" start -q "$ID" >/dev/null
    eventually lines_are $'one\ntwo\nthree'
    is solo .queued 0
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID" >/dev/null
    hosts_there
    is solo .queued 0
    lines_are $'one\ntwo\nthree'
}

@test "the first message of a new team outlives a kill before its agent reads" {
    script agent <<S
stty -echo
until [ -e '$T/go' ]; do sleep 0.01; done
echo now
while IFS= read -r line; do printf '%s\n' "\$line" >>'$T/lines'; done
S
    preset made "bash $T/agent" 'ready = ^now' 'ready_timeout = 1h'
    new_session -t solo --agent made -p 'solo=begin with this'
    find_agent
    hosts_there
    eventually is solo .queued 1
    kill -KILL "$(of solo .hostPid)"
    "$MAS" stop -q "$ID"
    touch "$T/go"
    "$MAS" start -q "$ID" >/dev/null
    eventually lines_are 'begin with this'
}

@test "a message that was being typed when its host was killed is told, and not typed twice" {
    script agent <<S
stty raw -echo
echo now
[ -e '$T/second' ] || { touch '$T/second'; head -c 5000 >/dev/null; sleep $MARK; }
head -c 4 >'$T/got'
exec sleep $MARK
S
    run_agent "bash $T/agent" 'ready = ^now'
    hosts_there
    yes 'sixteen letters' | head -c 1048576 >"$T/big"
    send_file "$T/big" ',"enter":false' | jq -e '.outcome == "queued"' >/dev/null
    eventually marked_are 1
    say_to solo next ',"enter":false' | jq -e '.outcome == "queued"' >/dev/null
    kill -KILL "$(of solo .hostPid)"
    eventually marked_are 0
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID" >/dev/null
    eventually test -s "$T/got"
    [ "$(<"$T/got")" = next ]
    session_log 'bytes=1048576 outcome=failed: it was being typed when its host ended'
    eventually is solo .queued 0
}

@test "a message that cannot be kept is refused, and one that need not wait is not: nothing of it is on disk" {
    line_reader
    eventually state_is solo idle # else the message has to wait
    took solo one
    eventually lines_are one
    [ ! -e "$DIR/memory.db" ]
    "$MAS" stop -q "$ID"
    python3 -ES - "$DIR/memory.db" <<'P'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.executescript("PRAGMA application_id = 0x6d617301; PRAGMA user_version = 99; CREATE TABLE t (x);")
P
    chmod 600 "$DIR/memory.db"
    "$MAS" start -q "$ID" >/dev/null
    hosts_there
    eventually state_is solo idle
    took solo two
    eventually lines_are $'one\ntwo'
    kill -STOP "$(of solo .pid)"
    yes 'sixteen letters' | head -c 65536 >"$T/big"
    took solo typed
    send_file "$T/big" >/dev/null
    refused 1 'a newer version of mas wrote it' "$(say_to solo more)"
    is solo .queued 1
}

@test "the queue has a limit, and says so" {
    script agent <<<"stty raw -echo; exec sleep $MARK"
    run_agent "bash $T/agent"
    eventually marked_are 1
    hosts_there
    yes | head -c 4000000 >"$T/big"
    local i answer
    for i in 1 2 3 4; do send_file "$T/big" | jq -e .ok >/dev/null; done
    refused 4 'too many messages' "$(send_file "$T/big")"
    is solo .queued 4
}

@test "control characters and bad UTF-8 are refused, and logged as that" {
    line_reader
    local bytes
    for bytes in 'a\033[31m' 'a\003' 'a\rb' 'a\0b' '\177' '\302\233x' '\b' '\004'; do
        printf %b "$bytes" >"$T/bad"
        refused 1 'control character' "$(send_file "$T/bad")"
    done
    for bytes in '\377' 'a\303' '\300\257' '\355\240\200' '\364\220\200\200'; do
        printf %b "$bytes" >"$T/bad"
        refused 1 'UTF-8' "$(send_file "$T/bad")"
    done
    took solo fine
    eventually lines_are fine
    [ "$(grep -c 'outcome=refused' "$DIR/logs/session.log")" = 13 ]
    run ! grep -q $'\033' "$DIR/logs/session.log"
}

@test "a line that a terminal cannot take is refused where it reads lines, 4095 bytes are not" {
    line_reader
    eventually shows reading
    head -c 4095 /dev/zero | tr '\0' x >"$T/long"
    send_file "$T/long" | jq -e .ok >/dev/null
    eventually has_lines 1
    [ "$(cat "$T/lines")" = "$(cat "$T/long")" ]
    printf x >>"$T/long"
    refused 1 '4095' "$(send_file "$T/long")"
    { echo short; cat "$T/long"; } >"$T/two"
    refused 1 '4095' "$(send_file "$T/two")"
    took solo after
    eventually has_lines 2
}

@test "who may write to whom is checked, and the rule is named" {
    run_team default "sleep $MARK"
    local answer
    hosts_there 00 10 11 12 20
    took 10 x ',"from":"11"'  # worker to its manager
    took 12 x ',"from":"11"'  # to its unit
    took 11 x ',"from":"10"'  # manager to its worker
    took 20 x ',"from":"10"'  # to another manager
    took 00 x ',"from":"10"'  # to the meta manager
    took 10 x ',"from":"00"'  # meta to a manager
    answer=$(say_to 20 x ',"from":"11"')
    refused 1 "manager, unit" "$answer"
    refused 1 "'11'" "$answer"
    refused 1 "workers, managers, meta" "$(say_to 21 x ',"from":"10"')"
    refused 1 "managers" "$(say_to 11 x ',"from":"00"')"
    refused 1 "manager, unit" "$(say_to 00 x ',"from":"11"')"
    refused 3 "no agent 'nobody'" "$(say_to 10 x ',"from":"nobody"')"
    session_log 'send from=11 to=20 bytes=1 outcome=refused'
    eventually session_log 'send from=11 to=10 bytes=1 outcome=delivered'
}

@test "keys of a person do not fall into a message, and are not lost" {
    raw_reader 300005
    yes 'message ' | tr -d '\n' | head -c 300000 >"$T/big"
    send_file "$T/big" >/dev/null 3>&- &
    press -l 'abc' \; send-keys -t "$PANE" Enter
    eventually marked_are 1
    { printf 'abc\r'; cat "$T/big"; printf '\r'; } >"$T/before"
    { cat "$T/big"; printf '\rabc\r'; } >"$T/behind"
    cmp "$T/got" "$T/before" || cmp "$T/got" "$T/behind"
}

@test "send and wait: the connection tells the states behind the message" {
    script agent <<S
stty -echo
echo ready
read -r line
echo working
sleep 0.3
echo done
exec sleep $MARK
S
    run_agent "bash $T/agent" 'idle = 400ms'
    eventually state_is solo idle
    printf hello >"$T/text"
    ask solo '{"do":"send","wait":true}' "$T/text" >"$T/watched" 3>&- &
    local watcher=$!
    eventually marked_are 1
    eventually state_is solo idle
    # shellcheck disable=SC2317
    last_told() { tail -n 1 "$T/watched" | jq -r .state; }
    eventually prints idle last_told
    kill "$watcher"
    [ "$(head -n 1 "$T/watched" | jq -r .outcome)" != null ]
    [ "$(sed -n '2,$p' "$T/watched" | jq -r .state | uniq | xargs)" = 'working idle' ]
}

@test "a session that is stopped takes no message, and its hosts are gone" {
    line_reader
    local host
    host=$(of solo .hostPid)
    "$MAS" stop -q "$ID"
    is_gone "$host"
    [ -z "$(ls -A "$DIR/run")" ]
}

@test "an agent that was stopped by itself takes no message until it is started" {
    line_reader
    ask solo '{"do":"stop"}' | jq -e .ok >/dev/null
    refused 4 'stopped' "$(say_to solo x)"
    ask solo '{"do":"restart"}' | jq -e .ok >/dev/null
    took solo y
    eventually lines_are y
}

@test "a message that nobody meant as an answer waits for the end of a question" {
    script asker <<S
until [ -e '$T/go' ]; do sleep 0.02; done
printf 'trust? '
while read -r line; do
    printf '%s\n' "\$line" >>'$T/lines'
done
S
    preset made "bash $T/asker" 'idle = 200ms' 'ready = trust' 'ready_timeout = 1m' \
        'waiting = trust\? $'
    new_session -t pair --agent made
    DIR=$ROOT/sessions/$ID
    hosts_there lead reviewer
    took reviewer first # before it asks
    touch "$T/go"
    eventually state_is reviewer waiting
    took reviewer second ',"from":"lead"'
    is reviewer .queued 2
    [ ! -e "$T/lines" ]
    tm send-keys -t "$(of reviewer .pane)" yes Enter
    eventually is reviewer .queued 0
    eventually session_log 'send from=lead to=reviewer bytes=6 outcome=delivered'
    eventually grep -qx second "$T/lines"
    [ "$(xargs <"$T/lines")" = 'yes first second' ]
}

@test "a message that a person sends to a question answers it" {
    script asker <<S
printf 'trust? '
while read -r line; do printf '%s\n' "\$line" >>'$T/lines'; done
S
    run_agent "bash $T/asker" 'idle = 200ms' 'waiting = trust\? $'
    eventually state_is solo waiting
    took solo yes
    eventually lines_are yes
}
