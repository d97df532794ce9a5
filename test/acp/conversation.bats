load ../helper
load ../host/lib
load lib

@test "an agent is asked, and its answer is printed as it comes; the next prompt is of the same conversation" {
    run_acp ""
    tell "word CW-ONE"
    [ "$status" -eq 0 ]
    [ "$output" = 'AGENT#1 seen=[CW-ONE] users=1 last="word CW-ONE"' ]
    tell "and CW-TWO"
    knows CW-ONE CW-TWO
    came_back fresh
    state_is solo idle
    [ "$(stored 0)" = 2 ]
    [ "$(stored 1)" = 2 ]
}

@test "prompts from several places queue in order, and each caller gets its own answer" {
    run_acp ""
    words=(ASK:execute two three)
    pids=()
    for n in 0 1 2; do
        timeout 30 "$MAS" ask "$ID" solo "${words[n]} CW-N$n" >"$T/out$n" 2>"$T/err$n" 3>&- &
        pids+=($!)
        eventually is solo .queued "$n"
        eventually state_is solo waiting
    done
    "$MAS" approve "$ID" solo
    wait "${pids[@]}"
    for n in 0 1 2; do
        grep -q "users=$((n + 1)) last=\"${words[n]} CW-N$n\"" "$T/out$n"
        [ "$(grep -c AGENT "$T/out$n")" = 1 ]
    done
}

@test "a prompt for another conversation queues in order too, and those behind it follow it there" {
    run_acp ""
    tell CW-ONE
    local first new third
    first=$(of solo .conversation)
    "$MAS" ask "$ID" solo 'CW-TWO SAY:busy HANG' >"$T/busy" 2>&1 3>&- &
    eventually grep -q busy "$T/busy"
    "$MAS" ask "$ID" solo --new CW-NEW >"$T/new" 2>&1 3>&- & new=$!
    eventually is solo .queued 1
    "$MAS" ask "$ID" solo CW-THEN >"$T/then" 2>&1 3>&- & third=$!
    eventually is solo .queued 2
    tell --conversation ffffffff no
    [ "$status" -eq 3 ]
    "$MAS" ask "$ID" solo --conversation "$first" CW-BACK >"$T/back" 2>&1 3>&- &
    back=$!
    eventually is solo .queued 3
    is solo .conversation "$first"
    "$MAS" cancel "$ID" solo
    wait "$new" && wait "$third" && wait "$back"
    grep -qF 'seen=[CW-NEW] users=1' "$T/new"
    grep -qF 'seen=[CW-NEW CW-THEN] users=2' "$T/then"
    grep -qF 'seen=[CW-ONE CW-TWO CW-BACK] users=3' "$T/back"
    is solo .conversation "$first"
}

@test "an agent that needs a login names the program that its preset names" {
    run_acp "--login $T/login" "login = theprogram login"
    tell CW-ONE
    [ "$status" -ne 0 ]
    [[ $stderr == *"needs a login"*"with: theprogram login"*"then ask again"* ]]
    [[ $(of solo .note) == *"theprogram login"* ]]
}

@test "a prompt that waits for another conversation ends with a clear, and outlives a stop, like any other" {
    run_acp ""
    local end
    for end in clear stop; do
        "$MAS" ask "$ID" solo 'SAY:busy HANG' >"$T/busy" 2>&1 3>&- &
        eventually grep -q busy "$T/busy"
        "$MAS" ask "$ID" solo --new "CW-$end" >"$T/new" 2>&1 3>&- &
        new=$!
        eventually is solo .queued 1
        if [ "$end" = stop ]; then "$MAS" stop -q "$ID"; else "$MAS" clear "$ID" solo; fi
        rc=0
        wait "$new" || rc=$?
        [ "$rc" -eq 4 ]
        rm "$T/busy"
    done
    "$MAS" start -q "$ID"
    hosts_there
    eventually is solo .queued 0
    tell CW-AFTER
    [[ $output == *users=2* ]]
    "$MAS" history "$ID" solo --json |
        jq -ce '[.messages[] | select(.role == "user" and (.text | startswith("CW-"))) |
                 [.text, .state, .stopReason]] ==
            [["CW-clear", "failed", "cleared"], ["CW-stop", "done", "end_turn"],
             ["CW-AFTER", "done", "end_turn"]]'
}

@test "a text that is sent is a prompt, and starts an agent that sleeps" {
    run_acp "" "start = demand"
    hosts_there
    state_is solo asleep
    took solo "CW-SENT"
    eventually state_is solo idle
    tell CW-ONE
    knows CW-ONE CW-SENT
}

@test "an agent that needs a login waits, says how, and goes on once it is there" {
    run_acp "--login $T/login"
    tell CW-ONE
    [ "$status" -ne 0 ]
    [[ $stderr == *"needs a login"*"log in by: "* ]]
    state_is solo waiting
    [[ $(of solo .note) == *"needs a login"* ]]
    touch "$T/login"
    tell CW-TWO
    [ "$status" -eq 0 ]
}

@test "what is wrong is said once, as the error of the turn" {
    run_acp ""
    tell ERR:-32603
    [ "$status" -eq 1 ]
    [ "$(grep -c 'scripted error' <<<"$stderr")" -eq 1 ]
    tell LOGIN
    [ "$status" -eq 1 ]
    [ "$(grep -c 'needs a login' <<<"$stderr")" -eq 1 ]
}

@test "errors of the model end the turn, and nothing else" {
    run_acp ""
    tell "ERR:422" # 429 would be a limit of the provider, which passes
    [ "$status" -ne 0 ]
    [[ $stderr == *"scripted error"*"422"* ]]
    tell "STOP:max_tokens"
    [ "$status" -ne 0 ]
    tell CW-ONE
    knows CW-ONE
    state_is solo idle
}

@test "garbage, unknown kinds, half lines and answers out of order break nothing" {
    run_acp "--banner --preamble --ids string"
    tell "GARBAGE ODD HALF UPSERT WRONGID TWICE EARLY STDERR:hello CW-ONE"
    [ "$status" -eq 0 ]
    tell CW-TWO
    [ "$status" -eq 0 ]
    knows CW-ONE CW-TWO
    session_log "printed an invalid message"
    agent_log | grep -q hello
}

@test "the mode that was set is set again after a restart and a clear" {
    run_acp "--no-resume --no-load"
    tell CW-ONE
    ask solo '{"do":"mode","mode":"plan"}' | jq -e .ok
    eventually prints 1 sent session/set_mode
    again
    tell CW-TWO
    [ "$(sent session/set_mode)" = 2 ]
    "$MAS" clear "$ID" solo
    tell CW-THREE
    [ "$(sent session/set_mode)" = 3 ]
    ask solo '{"do":"mode","mode":"nonsense"}' | jq -e '.code == 3'
}

@test "a mode or a model that the agent does not have is told of, not passed over" {
    run_acp "" "mode = nonsense" "start = demand"
    tell CW-ONE
    [ "$stderr" = "mas: the agent has no mode 'nonsense': its mode is default" ]
    "$MAS" history "$ID" solo | grep -qF "the agent has no mode 'nonsense': its mode is default"
    sed -i 's/^mode = nonsense$/mode = plan/' "$ROOT/mas.ini"
    options "--no-modes --no-options"
    again
    tell CW-TWO
    "$MAS" history "$ID" solo | grep -qF "the agent has no mode 'plan'"
}

@test "who listens is told once what a new host has told, however often it asks" {
    run_acp ""
    hosts_there
    printf 'CW-ONE %0400000d' 0 >"$T/text"
    ask solo "{\"do\":\"send\"}" "$T/text" | jq -e .ok
    python3 -ES - "$DIR/run/solo.sock" <<'END'
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
os.chdir(os.path.dirname(sys.argv[1]))
s.connect("solo.sock")
s.settimeout(20)
got = b""
def listen(times, until, count):
    global got
    s.sendall(b'{"do":"listen","early":true}\n' * times)
    while got.count(until) < count:
        got += s.recv(1 << 20)
listen(100, b'"event":"end"', 1)
listen(100, b'"ok":true', 200)
assert got.count(b'"event":"prompt"') == 1, got.count(b'"event":"prompt"')
assert got.index(b'"ok":true') < got.index(b"CW-ONE")
END
}

@test "who asks on and on and reads no answer is hung up on; 4 MB of answers can wait" {
    run_acp ""
    hosts_there
    python3 -ES - "$DIR/run" <<'END'
import os, socket, sys
os.chdir(sys.argv[1])
REQUEST = b'{"do":"listen"}\n'
def ask(megabytes):
    """Returns how many answers it asks for, and how many it gets."""
    s = socket.socket(socket.AF_UNIX)
    s.connect("solo.sock")
    s.settimeout(60)
    s.sendall(REQUEST)
    count = (megabytes << 20) // len(s.recv(1 << 20)) + 1
    got = b""
    try:
        s.sendall(REQUEST * count)
        while got.count(b'"ok":true') < count:
            more = s.recv(1 << 20)
            if not more:
                break
            got += more
    except (BrokenPipeError, ConnectionResetError):
        pass
    return count, got.count(b'"ok":true')
count, got = ask(4)
assert got == count, (got, count)
count, got = ask(40)
assert got < count, count
END
}

@test "a long note is cut between characters" {
    local mode
    printf -v mode 'é%.0s' {1..1400}
    mode=x$mode
    run_acp "" "mode = $mode" "start = demand"
    tell CW-ONE
    iconv -f UTF-8 -t UTF-8 <<<"$stderr" >/dev/null
    [[ $stderr == "mas: the agent has no mode 'xéé"*é ]]
}

@test "who reads gets an update of any size; who does not read is hung up on, and delays nobody for long" {
    run_acp ""
    tell "BIG:6000 CW-ONE"
    [ "$status" -eq 0 ]
    [ "${#output}" -gt 6000000 ]
    python3 -ES - "$DIR/run" <<'P' >"$T/deaf" 3>&- &
import os, socket, sys, time
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
s.connect("solo.sock")
s.sendall(b'{"do":"listen"}\n')
print("connected", flush=True)
time.sleep(1000)
P
    deaf=$!
    eventually test -s "$T/deaf"
    tell "BIG:6000 CW-TWO"
    [ "$status" -eq 0 ]
    kill "$deaf"
}

# told EVENT FILTER: the events of that name in the last answer, each of which the filter holds for.
told() {
    jq -se --arg event "$1" "[.[] | select(.event == \$event)] | length > 0 and all($2)" \
        <<<"$output" >/dev/null || { echo "no such $1: ${output:0:2000}" >&2; return 1; }
}

@test "whoever listens is told of what is long too: cut, with how much is left out, never left out whole" {
    run_acp ""
    tell --json LONG:tool:70000 && told tool '.title == "Long" and (.id | length) == 1024'
    tell --json LONG:kind:70000 && told tool '.kind | startswith("kkk")'
    tell --json LONG:content:2000 && told tool '.more == 2000 * 1024 - (.text | length)'
    tell --json LONG:plan:90 && told plan '.more == 90 - (.entries | length) and .more < 90'
    tell --json LONG:prio:70000 && told plan '.entries[0].content == "c"'
    tell --json LONG:mode:70000 && told mode '.mode | startswith("mmm")'
    tell --json LONG:stop:70000
    [ "$status" -eq 1 ]
    told end '.stopReason | startswith("sss")'
    tell --json LONG:error:70000
    [ "$status" -eq 1 ]
    told end '.error | test("error: e+ \\(-32603\\)$")'
    tell --json 'LONG:text:5000 QUIET' && told text '.text | test("\ufffd") | not'
    [ "$(jq -rsj '[.[] | select(.event == "text").text] | add' <<<"$output" | tr -dc x | wc -c)" -eq 2560000 ]
}

@test "a permission with a hundred options is asked, and so is one who listens later" {
    run_acp ""
    "$MAS" ask "$ID" solo --json LONG:asks:100 >"$T/out" 2>/dev/null 3>&- &
    asked=$!
    eventually asks
    jq -se 'any(.event == "permission" and .more == 100 - (.options | length))' "$T/out"
    python3 -ES - "$DIR/run" <<'P'
import json, os, socket, sys
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.connect("solo.sock")
s.sendall(b'{"do":"listen"}\n')
head = json.loads(s.makefile().readline())
assert head["permissions"][0]["more"] > 0, head
P
    [ "$("$MAS" status "$ID" --json | jq '.sessions[0].agents[0].asks | length')" -eq 256 ]
    "$MAS" approve "$ID" solo "o99$(printf '\001%.0s' {1..300})"
    wait "$asked"
}

@test "an answer that is longer than a message may be goes on in another" {
    run_acp ""
    tell 'LONG:texts:17 QUIET'
    [ "$(tr -dc x <<<"$output" | wc -c)" -eq $((17 << 20)) ]
    [ "$(stored 1)" = 2 ]
    run ! session_log 'cannot store'
}

@test "what a permission says of a tool is known of it afterwards, and text behind it is another message" {
    run_acp ""
    "$MAS" ask "$ID" solo 'SAY:before ASK' >/dev/null 2>&1 3>&- &
    asked=$!
    eventually asks
    "$MAS" approve "$ID" solo
    wait "$asked"
    "$MAS" history "$ID" solo --json | jq -ce '[.messages[] | select(.role == "tool").data.title] == ["May I execute?"]'
    "$MAS" history "$ID" solo --json | jq -e '[.messages[].text] | index("before")'
}

@test "text without Enter is refused: a text is a whole prompt" {
    run_acp ""
    say_to solo hello ',"enter":false' | jq -e '.code == 2'
}

@test "a message of another agent tells the model who sends it, now and when it is told again" {
    options "--no-load --no-resume"
    options_preset made
    new_session -t pair --agent made
    DIR=$ROOT/sessions/$ID
    hosts_there lead reviewer
    MAS_SESSION_ID=$ID MAS_AGENT_ID=lead "$MAS" ask reviewer CW-TASK >"$T/out"
    grep -q CW-TASK "$T/out"
    [ "$(prompts '[message from agent lead (lead) of your team]')" = 1 ]
    "$MAS" ask "$ID" reviewer CW-PERSON >"$T/out"
    [ "$(prompts '[message from agent')" = 1 ]
    "$MAS" restart "$ID" reviewer
    "$MAS" ask "$ID" reviewer CW-AGAIN >"$T/out"
    [ "$(prompts 'from=\"agent lead\">CW-TASK')" = 1 ]
    mas history "$ID" reviewer --json
    jq -e '[.messages[] | select(.role == "user") | .text] == ["CW-TASK", "CW-PERSON", "CW-AGAIN"]' <<<"$output"
}

@test "who asked is told that the agent was restarted, not that the session was stopped" {
    run_acp ""
    "$MAS" ask "$ID" solo HANG >"$T/out" 2>"$T/err" 3>&- &
    local asker=$!
    eventually state_is solo working
    "$MAS" restart -q "$ID" solo
    wait "$asker" && false
    grep -qxF "mas: cannot ask agent 'solo': the agent was restarted before its turn ended" "$T/err"
}
