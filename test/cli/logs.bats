#!/usr/bin/env bats
load ../helper

# A stopped session of the default team, and where its logs are.
setup_more() {
    new_session --no-start
    LOGS=$ROOT/sessions/$ID/logs
}

# The time of now and a number of seconds, in milliseconds, as in .times.
ms_ago() { echo $(($(date +%s%3N) - $1 * 1000)); }

# Starts `mas logs` in the background; what it prints is in $T/out.
start_logs() {
    "$MAS" logs "$@" >"$T/out" 2>"$T/err" 3>&- &
    PID=$!
}

end_logs() {
    kill "$PID"
    wait "$PID" || true
}

# it watches before it reads
is_watching() { grep -qs inotify "/proc/$PID/fdinfo/"*; }

# has_text TEXT: what was printed so far is exactly that.
has_text() { [ "$(cat "$T/out")" = "$1" ]; }

@test "logs prints the session's own log" {
    ok logs "$ID"
    [ -z "$stderr" ]
    [ "$output" = "$(cat "$LOGS/session.log")" ]
    [[ $output == *"Z new"* ]]
}

@test "logs of an agent is text: sequences do their work or are gone" {
    printf 'one\r\n\033[1;31mred\033[0m\033]0;title\007\n 10%%\r100%%\nteh\b\bhe\nlast' >"$LOGS/agent-10.log"
    ok logs "$ID" 10
    [ "$output" = $'one\nred\n100%\nthe\nlast' ]
}

@test "no byte of a hostile log reaches the terminal as it is" {
    head -c 200000 /dev/urandom >"$LOGS/agent-10.log"
    printf '\n\302\233\0332J\033]52;c;AAAA\007\342\200\256\n' >>"$LOGS/agent-10.log"
    "$MAS" logs "$ID" 10 >"$T/out"
    run ! grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' "$T/out"
    iconv -f UTF-8 -t UTF-8 "$T/out" >/dev/null
    "$MAS" logs "$ID" 10 --json | jq -es 'length > 10 and all(.agent == "10")' >/dev/null
}

@test "the log of an agent that has printed nothing is empty, of none there is exit 3" {
    ok logs "$ID" 10
    [ -z "$output$stderr" ]
    fails 3 logs "$ID" 99
    [[ $stderr == "mas: cannot find "*"'99'"* ]]
    fails 3 logs nope 10
}

@test "rotated parts come first, the oldest of them before the others" {
    echo one >"$LOGS/agent-10.log.2"
    printf 'two, and ' >"$LOGS/agent-10.log.1"
    printf 'its end\nthree\n' >"$LOGS/agent-10.log"
    mas logs "$ID" 10
    [ "$output" = $'one\ntwo, and its end\nthree' ]
    mas logs "$ID" 10 -n 2
    [ "$output" = $'two, and its end\nthree' ]
}

@test "-n prints the last lines, of each log" {
    seq 1 100000 >"$LOGS/agent-10.log"
    seq 1 3 | tr '\n' '\r' >"$LOGS/agent-11.log"
    mas logs "$ID" 10 -n 3
    [ "$output" = $'99998\n99999\n100000' ]
    mas logs "$ID" 10 -n 99999
    [ "$(wc -l <<<"$output")" -eq 99999 ]
    [ "${lines[0]}" = 2 ]
    mas logs "$ID" 10 -n 100001
    [ "${lines[0]}" = 1 ]
    mas logs "$ID" 10 -n all
    [ "$(wc -l <<<"$output")" -eq 100000 ]
    mas logs "$ID" 10 -n 0
    [ -z "$output" ]
    mas logs "$ID" 10,11 -n 1
    [ "$output" = $'10 | 100000\n11 | 3' ]
    mas logs "$ID" -n 1
    [ "$output" = "$(tail -n 1 "$LOGS/session.log")" ]
}

@test "-n counts lines as they are printed, also where the log has no newlines" {
    for i in $(seq 1 20000); do printf '\033[%d;1Hline %d' $((i % 24 + 1)) "$i"; done >"$LOGS/agent-10.log"
    mas logs "$ID" 10 -n 2
    [ "$output" = $'line 19999\nline 20000' ]
}

@test "-n does not read a whole large log" {
    yes 'a line of an agent' | head -c 9000000 >"$LOGS/agent-10.log"
    strace -f -e trace=pread64,read -o "$T/trace" "$MAS" logs "$ID" 10 -n 10 >"$T/out"
    [ "$(wc -l <"$T/out")" -eq 10 ]
    [ "$(awk -F'= ' '/pread64/ { n += $2 } END { print n }' "$T/trace")" -lt 500000 ]
}

@test "several agents have their ids in front" {
    echo ten >"$LOGS/agent-10.log"
    echo eleven >"$LOGS/agent-11.log"
    mas logs "$ID" 10 11
    [ "$output" = $'10 | ten\n11 | eleven' ]
    mas logs "$ID" managers
    [ "$output" = '10 | ten' ]
    mas logs "$ID" development,10
    [ "$output" = '10 | ten' ]
}

@test "--raw prints the bytes of one agent as they are" {
    printf '\033[31mred\033[0m\r\n\0\377\nlast' >"$LOGS/agent-10.log"
    "$MAS" logs "$ID" 10 --raw | cmp - "$LOGS/agent-10.log"
    "$MAS" logs "$ID" 10 --raw -n 2 | cmp - <(printf '\0\377\nlast')
    "$MAS" logs "$ID" --raw | cmp - "$LOGS/session.log"
    fails 2 logs "$ID" 10 11 --raw
    fails 2 logs "$ID" 10 --raw --json
}

@test "--json prints an object a line" {
    printf '\033[1ma "quote"\ttab\n\377\n' >"$LOGS/agent-10.log"
    mas logs "$ID" 10 --json
    [ "$output" = '{"agent":"10","text":"a \"quote\"\ttab"}
{"agent":"10","text":"\\xff"}' ]
    mas logs "$ID" --json
    [ "$(jq -r '.time + " " + .text' <<<"$output")" = "$(cat "$LOGS/session.log")" ]
}

@test "--since prints what was written in the last while" {
    printf 'old\nolder than that\nnew\nnewest\n' >"$LOGS/agent-10.log"
    echo "$(ms_ago 7200) 0
$(ms_ago 300) 20
$(ms_ago 10) 24" >"$LOGS/agent-10.log.times"
    mas logs "$ID" 10 --since 1h
    [ "$output" = $'new\nnewest' ]
    mas logs "$ID" 10 --since 30s
    [ "$output" = newest ]
    mas logs "$ID" 10 --since 1h -n 1
    [ "$output" = newest ]
    mas logs "$ID" 10 --since 1w
    [ "${lines[0]}" = old ]
    mas logs "$ID" 10 --since "$(date -u -d '10 minutes ago' +%Y-%m-%dT%H:%M:%SZ)"
    [ "$output" = $'new\nnewest' ]
}

@test "--since of the session's log goes by the times in its lines" {
    echo '2020-01-01T00:00:00Z old' >"$LOGS/session.log"
    echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) new" >>"$LOGS/session.log"
    mas logs "$ID" --since 1h
    [ "$(wc -l <<<"$output")" -eq 1 ]
    [[ $output == *" new" ]]
    mas logs "$ID" --since 2019-12-31T00:00:00Z
    [ "$(wc -l <<<"$output")" -eq 2 ]
}

@test "bad values of options are usage errors that say what a good one is" {
    for word in -1 x '' 1k 99999999999999999999; do
        fails 2 logs "$ID" -n "$word"
        [ "$stderr" = "mas: cannot use --lines '$word': it is not a number of lines, or all" ]
    done
    for word in 10 x 5y '' 2025-13-01T00:00:00Z 2025-12-18 99999999999w; do
        fails 2 logs "$ID" --since "$word"
        [[ $stderr == "mas: cannot use --since '$word': it is not an age such as 10m or a time such as "* ]]
    done
}

@test "in a team's pane the session is left out" {
    echo ten >"$LOGS/agent-10.log"
    export MAS_SESSION_ID=$ID
    mas logs 10
    [ "$output" = ten ]
    mas logs
    [[ $output == *"Z new"* ]]
    unset MAS_SESSION_ID
    fails 2 logs
    mas logs -s "$ID" 10
    [ "$output" = ten ]
}

@test "links, FIFOs and directories in the place of logs are not read" {
    echo secret >"$T/secret"
    ln -s "$T/secret" "$LOGS/agent-10.log"
    mkfifo "$LOGS/agent-11.log"
    mkdir "$LOGS/agent-12.log"
    fails 1 logs "$ID" 10
    [ "$stderr" = "mas: cannot read log 'agent-10.log': it is a symbolic link" ]
    [ -z "$output" ]
    fails 1 logs "$ID" 11
    [ "$stderr" = "mas: cannot read log 'agent-11.log': it is a FIFO" ]
    mas logs "$ID" 12
    [ "$stderr" = "mas: cannot read log 'agent-12.log': it is a directory" ]
    rm "$LOGS/agent-10.log"
    echo ten >"$LOGS/agent-10.log"
    ln -s "$T/secret" "$LOGS/agent-10.log.1"
    mkfifo "$LOGS/agent-10.log.times"
    run "$MAS" logs "$ID" 10 --since 1h
    [ "$output" = ten ]
    mv "$LOGS" "$T/logs"
    ln -s "$T/logs" "$LOGS"
    fails 1 logs "$ID" 10
    [[ $stderr == "mas: cannot read the logs of session '$ID': "* ]]
}

@test "a log that cannot be read to its end is an error" {
    command -v strace >/dev/null || skip 'strace is missing'
    echo one >"$LOGS/agent-10.log"
    for raw in '' --raw; do
        # shellcheck disable=SC2086 # none is no word
        run -1 --separate-stderr strace -f -qq -o "$T/trace" -P "$LOGS/agent-10.log" -e inject=pread64:error=EIO \
            "$MAS" logs $raw "$ID" 10
        [[ $stderr == *"cannot read log"*"Input/output error"* ]] || { echo "$stderr"; cat "$T/trace"; false; }
    done
}

@test "a full disk behind stdout is an error" {
    echo ten >"$LOGS/agent-10.log"
    # shellcheck disable=SC2016
    run --separate-stderr bash -c '"$1" logs "$2" 10 >/dev/full' - "$MAS" "$ID"
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot write to standard output: No space left on device" ]
}

@test "-f prints the last ten lines and what comes" {
    seq 1 20 >"$LOGS/agent-10.log"
    start_logs "$ID" 10 -f
    eventually has_text "$(seq 11 20)"
    printf 'half a ' >>"$LOGS/agent-10.log"
    printf 'line\n' >>"$LOGS/agent-10.log"
    eventually has_text "$(seq 11 20; echo half a line)"
    end_logs
}

@test "-f follows across rotations and sees logs that come later" {
    start_logs "$ID" 10 11 -f
    eventually is_watching
    echo one >"$LOGS/agent-10.log"
    eventually has_text '10 | one'
    echo two >>"$LOGS/agent-10.log"
    mv "$LOGS/agent-10.log" "$LOGS/agent-10.log.1"
    echo three >"$LOGS/agent-10.log"
    echo eleven >"$LOGS/agent-11.log"
    eventually grep -q eleven "$T/out"
    eventually grep -q three "$T/out"
    [ "$(grep '^10' "$T/out")" = $'10 | one\n10 | two\n10 | three' ]
    end_logs
}

@test "-f sleeps while nothing happens" {
    echo one >"$LOGS/agent-10.log"
    start_logs "$ID" 10 -f
    eventually has_text one
    before=$(awk '{ print $14 + $15 }' "/proc/$PID/stat")
    calls=$(awk '/^voluntary/ { print $2 }' "/proc/$PID/status")
    read -rt 0.5 <> <(:) || :
    [ "$(awk '{ print $14 + $15 }' "/proc/$PID/stat")" -eq "$before" ]
    [ "$(awk '/^voluntary/ { print $2 }' "/proc/$PID/status")" -eq "$calls" ]
    end_logs
}

@test "-f ends when nobody reads it, and when the session is removed" {
    echo one >"$LOGS/agent-10.log"
    # shellcheck disable=SC2016
    run bash -c '"$1" logs "$2" 10 -f | head -n 1' - "$MAS" "$ID"
    [ "$status" -eq 0 ]
    [ "$output" = one ]
    start_logs "$ID" 10 -f
    eventually has_text one
    "$MAS" rm -q "$ID"
    wait "$PID"
}

@test "-f goes on with the other logs when one is replaced by a link" {
    echo secret >"$T/secret"
    echo ten >"$LOGS/agent-10.log"
    echo eleven >"$LOGS/agent-11.log"
    start_logs "$ID" 10 11 -f
    eventually has_text $'10 | ten\n11 | eleven'
    ln -sf "$T/secret" "$LOGS/agent-10.log"
    eventually grep -q "warning: cannot read log 'agent-10.log': it is a symbolic link" "$T/err"
    echo more >>"$LOGS/agent-11.log"
    eventually has_text $'10 | ten\n11 | eleven\n11 | more'
    [ "$(wc -l <"$T/err")" -eq 1 ]
    end_logs
}

@test "logs of a team that runs hold what its agents print, and --since finds it" {
    "$MAS" start -q "$ID"
    eventually test -s "$LOGS/agent-10.log"
    pane=$(field "$ID" '.agents[] | select(.id == "10") | .pane')
    # shellcheck disable=SC2016
    tm send-keys -t "$pane" -l 'echo $((6 * 7))dogs'
    tm send-keys -t "$pane" Enter
    # shellcheck disable=SC2016
    eventually bash -c '"$1" logs "$2" 10 --since 1m | grep -qx 42dogs' - "$MAS" "$ID"
    [ "$(stat -c %a "$LOGS/agent-10.log" "$LOGS/agent-10.log.times")" = $'600\n600' ]
}
