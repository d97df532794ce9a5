#!/usr/bin/env bats
# A command that waits ends when nobody can read its output any more: at the other end of ssh, or of a
# pipe, or at a terminal. See loop_end_with() in src/os/loop.h.

load ../helper
load ../host/lib
load ../acp/lib

# begin KIND WORD...: starts `mas WORD...` with an output of that kind, see hangup.py. $PID is the pid
# of mas, $KEEPER that of hangup.py.
begin() {
    local kind=$1
    shift
    rm -f "$T/cue" "$T/result"
    mkfifo "$T/cue"
    python3 -ES "$PROJECT/test/cli/hangup.py" "$kind" "$MAS" "$@" \
        <"$T/cue" >"$T/result" 2>"$T/complaints" 3>&- &
    KEEPER=$!
    exec 8>"$T/cue"
    eventually test -s "$T/result"
    read -r PID <"$T/result"
}

# ends STATUS: closes the reader and succeeds if the command ends so.
ends() {
    exec 8>&-
    wait "$KEEPER"
    [ "$(tail -n +2 "$T/result")" = "$1" ] || { cat "$T/result" "$T/complaints" >&2; return 1; }
}

# Prints the command of an agent that is never idle.
busy() {
    script busy <<<'while :; do echo x; sleep 0.05; done'
    echo "sh $T/busy"
}

sleeps() { [ "$(awk '{ print $3 }' "/proc/$PID/stat")" = S ]; }

# dies KIND: the same for the signal that the kind of output means.
dies() { if [ "$1" = pty ]; then ends -1; else ends -13; fi; }

@test "ask cancels its turn when the reader of its output ends" {
    local kind
    acp_agent
    for kind in pipe socket pty; do
        : >"$TRACE"
        begin "$kind" ask "$ID" solo 'SAY:begun HANG'
        eventually state_is solo working
        dies "$kind"
        eventually state_is solo idle
        was_sent session/cancel
    done
}

@test "ask that is killed cancels its turn, and takes back a prompt that waits" {
    acp_agent
    local first second
    "$MAS" ask "$ID" solo 'SAY:begun HANG' >"$T/first" 3>&- &
    first=$!
    eventually grep -q begun "$T/first"
    "$MAS" ask "$ID" solo CW-SECOND >/dev/null 3>&- &
    second=$!
    eventually is solo .queued 1
    kill -KILL "$second"
    eventually is solo .queued 0
    state_is solo working
    kill -KILL "$first"
    eventually state_is solo idle
    was_sent session/cancel
    [ "$(prompts CW-SECOND)" = 0 ]
    # one that was sent goes on by itself
    "$MAS" send --wait "$ID" solo 'SAY:sent HANG' 3>&- &
    first=$!
    eventually state_is solo working
    kill -KILL "$first"
    "$MAS" ask "$ID" solo --no-wait CW-THIRD >/dev/null
    eventually is solo .queued 1
    state_is solo working
}

@test "ask takes back a prompt that waits when its reader ends" {
    acp_agent
    "$MAS" ask "$ID" solo 'SAY:begun HANG' >"$T/first" 3>&- &
    local first=$!
    eventually grep -q begun "$T/first"
    begin pipe ask "$ID" solo CW-SECOND
    eventually is solo .queued 1
    ends -13
    is solo .queued 0
    state_is solo working
    "$MAS" cancel "$ID" solo
    status=0
    wait "$first" || status=$?
    [ "$status" -eq 11 ]
}

@test "wait, status --watch, logs -f and send --wait end with the reader of their output" {
    local kind
    run_agent "$(busy)"
    for kind in pipe socket pty; do
        for words in "wait $ID" "wait $ID --for exit" "send $ID solo --wait hello"; do
            # shellcheck disable=SC2086 # words
            begin "$kind" $words
            eventually sleeps
            dies "$kind"
        done
    done
    "$MAS" rm -qf "$ID"
    preset quiet 'sleep 1000'
    new_session -t solo --agent quiet
    find_agent
    for kind in pipe socket pty; do
        for words in "status $ID --watch" "logs $ID -f" "logs $ID solo -f"; do
            # shellcheck disable=SC2086 # words
            begin "$kind" $words
            eventually sleeps
            dies "$kind"
        done
    done
}

@test "a reader that has ended before any output counts as well" {
    local kind
    run_agent 'sleep 1000'
    for kind in pipe socket pty; do
        begin "$kind-gone" wait "$ID" --for exit
        dies "$kind"
    done
    run bash -c "'$MAS' wait $ID --for exit | true; exit \${PIPESTATUS[0]}"
    [ "$status" -eq 141 ]
}

@test "a caller that ignores SIGPIPE does not keep the command alive, one that ignores SIGHUP does" {
    run_agent 'sleep 1000'
    begin ignored-pipe wait "$ID" --for exit
    eventually sleeps
    ends -13
    begin ignored-pty wait "$ID" --for exit
    eventually sleeps
    exec 8>&-
    "$MAS" stop -q "$ID"
    wait "$KEEPER"
    [ "$(tail -n +2 "$T/result")" = 0 ]
}

@test "a file, /dev/null and a closed output do not end a command" {
    local to
    run_agent 'sleep 1000'
    for to in "$T/file" /dev/null '&-'; do
        run bash -c "'$MAS' wait $ID --for exit --timeout 300ms >$to"
        [ "$status" -eq 7 ]
    done
    mkfifo "$T/fifo"
    # the end for reading, given as an output, has no reader to lose
    run bash -c "exec 9<>'$T/fifo' 8<'$T/fifo' 9>&-; '$MAS' wait $ID --for exit --timeout 300ms >&8"
    [ "$status" -eq 7 ]
}

@test "a command that changes something finishes it, whoever reads" {
    run_agent 'sleep 1000'
    # shellcheck disable=SC2016
    bash -c '"$1" stop "$2" | true' - "$MAS" "$ID"
    [ "$(field "$ID" .status)" = stopped ]
    # shellcheck disable=SC2016
    bash -c '"$1" start "$2" | true' - "$MAS" "$ID"
    [ "$(field "$ID" .status)" = active ]
    eventually state_is solo idle
    # shellcheck disable=SC2016
    bash -c '"$1" send "$2" solo --wait taken | true' - "$MAS" "$ID"
    eventually grep -q taken "$DIR/logs/agent-solo.log"
}

@test "acp and mcp end with the reader of their output" {
    local kind
    acp_agent
    for kind in pipe socket; do
        begin "$kind" acp "$ID" solo </dev/null
        ends 0
    done
}

# Sets SSH to the words that run a command behind an sshd of its own, which speaks through a pipe.
none_watch() { ! pgrep -f "mas status $ID --watch" >/dev/null; }

need_sshd() {
    SSHD=$(command -v sshd || command -v /usr/sbin/sshd) || skip 'there is no sshd here'
    command -v ssh >/dev/null || skip 'there is no ssh here'
    [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
    ssh-keygen -q -t ed25519 -N '' -f "$T/key"
    ssh-keygen -q -t ed25519 -N '' -f "$T/host"
    printf '%s\n' "HostKey $T/host" "AuthorizedKeysFile $T/key.pub" 'StrictModes no' 'UsePAM no' \
        'PidFile none' 'PermitRootLogin yes' 'LogLevel ERROR' >"$T/sshd"
    SSH=(ssh -F none -T -i "$T/key" -o UserKnownHostsFile="$T/known" -o StrictHostKeyChecking=no
        -o ControlPath="$T/master" -o IdentitiesOnly=yes -o BatchMode=yes
        -o ProxyCommand="$SSHD -i -f '$T/sshd'" pretend)
    "${SSH[@]}" true 2>"$T/complaints" 3>&- ||
        skip "sshd does not run here: $(tail -n 1 "$T/complaints")"
}

@test "over ssh, a killed client ends the turn and the command at the other end" {
    local master client
    need_sshd
    acp_agent
    for master in no yes; do
        [ "$master" = no ] || "${SSH[@]}" -o ControlMaster=yes -f -N 3>&-
        : >"$TRACE"
        "${SSH[@]}" "MAS_ROOT='$ROOT' exec '$MAS' ask $ID solo 'SAY:begun HANG'" \
            </dev/null >"$T/out" 3>&- &
        client=$!
        eventually state_is solo working
        kill -KILL "$client"
        eventually state_is solo idle
        was_sent session/cancel
        "${SSH[@]}" "MAS_ROOT='$ROOT' exec '$MAS' status $ID --watch" \
            </dev/null >"$T/seen.$master" 3>&- &
        client=$!
        eventually test -s "$T/seen.$master"
        pgrep -f "mas status $ID --watch" >/dev/null
        kill -KILL "$client"
        eventually none_watch
    done
    "${SSH[@]}" -O exit
}
