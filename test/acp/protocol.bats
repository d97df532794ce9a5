# What passes between a host and its agent, whole: files, programs, floods, faults.
# shellcheck disable=SC2016 # what is in single quotes is for the agent
load ../helper
load ../host/lib
load lib

says() { [[ $output == *"$1"* ]] || { echo "output: $output; stderr: $stderr" >&2; return 1; }; }

@test "files of the workspace are read and written for the agent, no others" {
    run_acp ""
    printf 'one\ntwo\nthree\n' >"$DIR/unit/solo/file"
    ln -s /etc/passwd "$DIR/unit/solo/link"
    tell 'READ:file READ:file:2:1 WRITE:new/text=words READ:new/text'
    says 'read="one\ntwo\nthree\n" read="two\n" write=ok read="words"'
    [ "$(cat "$DIR/unit/solo/new/text")" = words ]
    tell 'READ:/etc/passwd READ:link READ:none READ:../../../../mas.ini WRITE:/tmp/no=x WRITE:../../config.json=x'
    says 'read=error-32602 read=error-32602 read=error-32002 read=error-32602 write=error-32602 write=error-32602'
    [ -s "$DIR/config.json" ]
    local name
    for name in config.json.new limits.json limits.json.new .session .session.new .session.lock memory.db memory.db-wal \
        .snapshot .snapshot.x .migrate .new-x .trash-x logs/x logs run/x run code.locks/x; do
        tell "WRITE:$DIR/$name=x WRITE:$DIR/.//$name=x"
        says 'write=error-32602 write=error-32602'
    done
    [ ! -e "$DIR/config.json.new" ]
    [ ! -e "$DIR/limits.json" ]
    [ -z "$(find "$DIR" -name '.write-*')" ]
}

@test "the agent is offered what its preset says" {
    run_acp "" 'offers = terminal elicitation'
    tell CW-ONE
    grep '^<' "$TRACE" | grep -F '"initialize"' | cut -c3- |
        jq -e '.params.clientCapabilities | keys == ["elicitation", "terminal"]'
}

@test "programs are run for the agent in its directory, and their output is kept" {
    run_acp ""
    tell 'RUN:"pwd" RUN:"sh -c \"echo $MAS_AGENT_ID $SCRIPTED; exit 3\"" RUN:"no-such-program"'
    says "run=0:'$DIR/unit/solo\\n'"
    says "run=3:'solo yes\\n'"
    says 'run=error-32602'
    tell 'RUN:"head -c 9000 /dev/zero" RUNKILL:"sleep 100"'
    says truncated
    says "run=SIGTERM:''"
}

@test "64 programs run for the agent at the same time, and one more is refused" {
    run_acp ""
    tell "$(for _ in {1..65}; do printf 'RUNLEAVE:"sleep %s" ' "$MARK"; done)"
    [ "$(grep -o 'run=term-' <<<"$output" | wc -l)" -eq 64 ]
    says 'run=error-32602'
    eventually marked_are 64
}

@test "what a program printed is shown and kept with the tool call that ran it" {
    run_acp ""
    mas ask --json "$ID" solo 'RUN:"echo printed words"'
    jq -es 'any(.event == "tool" and .text == "printed words\n")' <<<"$output"
    mas history "$ID" solo
    says 'printed words'
}

@test "what runs for an agent ends with its context, with the agent and with its host" {
    run_acp ""
    tell "RUNLEAVE:\"sleep $MARK\""
    says run=term-
    marked_are 1
    "$MAS" clear "$ID" solo
    eventually marked_are 0
    tell "RUNLEAVE:\"sleep $MARK\""
    marked_are 1
    tell KILL
    eventually marked_are 0
    tell "RUNLEAVE:\"sleep $MARK\""
    marked_are 1
    kill -KILL "$(of solo .hostPid)"
    eventually marked_are 0
}

@test "ids of any kind come back as they were" {
    for kind in int string float huge; do
        options "--ids $kind"
        [ -n "${ID-}" ] || run_acp "--ids $kind"
        "$MAS" restart -q "$ID" solo >/dev/null
        printf x >"$DIR/unit/solo/file"
        tell 'READ:file CALL:no/such READ:file'
        says 'read="x" call=-32601 read="x"'
    done
}

@test "a flood of updates arrives whole and in order" {
    run_acp ""
    tell 'FLOOD:20000 QUIET'
    [ "$status" -eq 0 ]
    [ "$(tr ' ' '\n' <<<"$output" | grep -c .)" = 20000 ]
    [ "$(tr ' ' '\n' <<<"$output" | grep . | sha256sum)" = "$(seq 0 19999 | sha256sum)" ]
}

@test "a large message passes; one past the limit is skipped, and the turn goes on" {
    run_acp ""
    tell 'BIG:2000 QUIET'
    [ "${#output}" -ge 2048000 ]
    tell 'TOOLONG SAY:after'
    [ "$status" -eq 0 ]
    says after
    session_log 'the message is too long'
    "$MAS" history "$ID" solo | grep -qF 'a message of the agent is missing: it was longer than 32 MiB'
    [ "$(grep VmRSS "/proc/$(of solo .hostPid)/status" | tr -dc 0-9)" -lt 200000 ]
}

@test "characters that were cut are mended" {
    run_acp ""
    tell 'CUT CW-ONE'
    [ "$status" -eq 0 ]
    says $'cut\xef\xbf\xbd \xef\xbf\xbd \xf0\x9f\x98\x80 '
    knows CW-ONE
}

@test "an agent that dies within a message fails the prompt, and the next one starts it again" {
    run_acp ""
    tell CW-ONE
    tell 'SAY:shown HALFDIE'
    [ "$status" -ne 0 ]
    [[ $stderr == *"the agent ended"* ]]
    [[ $output != *"never whole"* ]]
    tell CW-TWO
    knows CW-ONE CW-TWO
}

@test "news behind the answer breaks nothing" {
    run_acp ""
    tell 'LATE:200 CW-ONE'
    [ "$status" -eq 0 ]
    eventually was_sent '"late "'
    tell CW-TWO
    knows CW-ONE CW-TWO
    [ "$(stored 0)" = 2 ]
}

@test "a permission that is taken back is not asked any more" {
    run_acp "" "permission = ask"
    tell WITHDRAW
    [ "$status" -eq 0 ]
    says withdrawn=-32800
    is solo .permission null
    fails 3 approve "$ID" solo
}

@test "a cancel answers the open permission, and the turn ends as cancelled" {
    run_acp "" "permission = ask"
    timeout 30 "$MAS" ask "$ID" solo ASK >"$T/out" 2>&1 3>&- &
    asker=$!
    eventually asks
    "$MAS" cancel "$ID" solo
    rc=0
    wait "$asker" || rc=$?
    [ "$rc" -ne 0 ]
    was_sent '"outcome":{"outcome":"cancelled"}'
    eventually state_is solo idle
    tell CW-ONE
    knows CW-ONE
}

@test "an agent is asked for one turn at a time" {
    run_acp ""
    for n in 1 2 3; do
        timeout 30 "$MAS" ask "$ID" solo "SLOW:100 CW-N$n" >"$T/out$n" 2>&1 3>&- &
    done
    wait
    grep -q AGENT#1 "$T"/out?
    grep -q AGENT#3 "$T"/out?
    run ! grep -q 'in flight' "$T/trace"
}
