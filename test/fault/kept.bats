# kill -9 before system calls that change something, while messages wait for an agent that is asleep
# or busy: of the agent's host, and of `mas send`.
# shellcheck shell=bash
#
# A message is accepted where `mas send` exits with 0, or the HTTP API answers 200. Whenever the host
# is killed, after the next start each accepted message is typed, in its order, and none is typed
# twice; one that was not accepted is typed once or not at all. Only one whose typing had begun may
# be missing from what the agent has read: the session's log says how it ended, and that is not `kept`.

load ../helper
# `is` and the teardown of its own come from the second
# shellcheck source=test/host/lib.bash
. "$BATS_TEST_DIRNAME/../host/lib.bash"
# shellcheck source=test/serve/lib.bash
. "$BATS_TEST_DIRNAME/../serve/lib.bash"

# An agent that is started by its first message, is ready once $T/go is there, appends to $T/lines
# each line that it reads, and ends with the last one.
setup_more() {
    URL='' SERVER=''
    script agent <<S
stty -echo
exec 7<> <(:)
until [ -e '$T/go' ]; do read -rt 0.02 -u 7; done
echo now
while IFS= read -r line; do
    printf '%s\n' "\$line" >>'$T/lines'
    [ "\$line" != 'the last one' ] || exit 0
done
S
    run_agent "bash $T/agent" 'start = demand' 'ready = ^now' 'ready_timeout = 1h'
    hosts_there
    : >"$T/bad"
}

bad() { printf '%s: %s\n' "$POINT" "$*" >>"$T/bad"; }

# accept TEXT COMMAND...: the text is accepted if the command succeeds.
accept() { if "${@:2}" >/dev/null 2>&1; then ACCEPTED[$1]=1; fi; }

by_http() {
    post "/sessions/$ID/messages" "{\"target\":\"solo\",\"message\":\"$1\"}" 2>/dev/null
    [ "$status" = 200 ]
}

# Sends a message to an agent that is asleep, and one to the same that is busy; then it gets ready.
send_all() {
    accept one "$MAS" send "$ID" solo one
    accept second by_http second
    [[ -z $(host_there) ]] || BEFORE_GO=
    touch "$T/go"
    eventually has_read second || bad 'it is not typed'
}

# The host's process, if it lives
host_there() {
    if ! is_gone "$HOST"; then echo "$HOST"; fi
}

has_line() { grep -qsx "$1" "$T/lines"; }
has_read() { [[ -z $(host_there) ]] || grep -qsx "$1" "$T/lines"; }

# What the agent has read goes. Nothing waits, so nobody has the database open: in the full run it is
# made anew each time; store.bats has the faults of that, too.
forget_all() {
    rm -f "$T/lines" "$T/go"
    [[ ${TEST_FAULT-} != full ]] || rm -f "$DIR"/memory.db*
}

# under_host STRACE OPTION...: sends all of it to a host under strace, which may be killed.
under_host() {
    local log=$DIR/logs/session.log tracer

    forget_all
    ACCEPTED=() BEFORE_GO=1 LOGGED=$(wc -l <"$log")
    read -r _ HOST _ <"$DIR/run/solo.lock"
    strace -o "$T/trace" "$@" -p "$HOST" 2>"$T/attached" 3>&- &
    tracer=$! # `eventually` starts a process, too
    eventually grep -q attached "$T/attached"
    send_all
    KILLED=1
    if [[ -n $(host_there) ]]; then
        KILLED=
        kill -KILL "$HOST" 2>/dev/null || KILLED=1 # it has died meanwhile
    fi
    wait "$tracer" 2>/dev/null || :
}

# After a restart everything that waits is typed, and what else came of it is in the log.
check_all() {
    local text lines before=''

    "$MAS" stop -q "$ID" >/dev/null 2>&1
    rm -f "$T/go"
    "$MAS" start -q "$ID" >/dev/null || bad 'it does not start'
    hosts_there
    "$MAS" send "$ID" solo 'the last one' || bad 'send fails'
    touch "$T/go"
    eventually grep -qsx 'the last one' "$T/lines" || bad 'the last one is not typed'
    eventually is_at_rest || bad 'something waits'
    lines=$(<"$T/lines")
    for text in one second 'number three'; do
        case $(grep -cx "$text" "$T/lines") in
            0)
                [[ ! -v ACCEPTED[$text] ]] || was_typed "$text" ||
                    bad "'$text' is lost; it read: ${lines//$'\n'/, }"
                ;;
            1) before+=$text$'\n' ;;
            *) bad "'$text' is typed twice: ${lines//$'\n'/, }" ;;
        esac
    done
    [[ $lines == "${before}the last one" ]] || bad "the order is wrong: ${lines//$'\n'/, }"
}

is_at_rest() { "$MAS" status "$ID" --json | grep -q '"state":"exited".*"queued":0'; }

# Typing has begun, for the agent was ready, and what came of it is told.
was_typed() {
    [[ -z $BEFORE_GO ]] && tail -n "+$((LOGGED + 1))" "$DIR/logs/session.log" |
        grep -qE "to=solo bytes=${#1} outcome=(delivered|failed: it was being typed)"
}

CHANGING='write|writev|pwrite64|send|sendto|sendmsg|fsync|fdatasync|ftruncate|unlink|unlinkat|rename|renameat'
CHANGING+='|fchmod|clone|clone3|fork|vfork|kill|pidfd_send_signal'

# find_points MIN [NAMES]: lines "<name> <N> <call>" of the calls in $T/trace that change something, or
# are one of these. In the quick run pieces of the database that are written one behind the other
# are one: they are of one transaction.
find_points() {
    awk -v names="^($CHANGING${2:+|$2})\$" -v quick="$([[ ${TEST_FAULT-} == full ]] || echo 1)" '
        /^[a-z_0-9]+\(/ {
            name = substr($0, 1, index($0, "(") - 1); n[name]++
            if (name !~ names && !/O_CREAT/) next
            match($0, /<[^>]*>/)
            like = name substr($0, RSTART, RLENGTH)
            if (!quick || name != "pwrite64" || like != last) print name, n[name], $0
            last = like
        }' "$T/trace" >"$T/points"
    [ "$(wc -l <"$T/points")" -gt "$1" ]
}

# Fails where anything is wrong, or where most calls were not reached.
report() {
    echo "$1 kills, $2 calls not reached"
    [ ! -s "$T/bad" ] || { head -c 3000 "$T/bad"; return 1; }
    [ "$2" -le "$1" ]
}

@test "a host killed at any system call loses no message that was accepted, and types none twice" {
    local name n call killed=0 missed=0
    local -A ACCEPTED
    # shellcheck disable=SC2119 # its arguments may be left out
    serve
    POINT='a clean run'
    under_host -y -s 64
    [ "${#ACCEPTED[@]}" -eq 2 ]
    [ "$(<"$T/lines")" = $'one\nsecond' ]
    check_all
    run ! grep -q 'outcome=failed' "$DIR/logs/session.log"
    under_host -y -s 64 # with the database there
    check_all
    find_points 20
    while read -r name n call; do
        POINT="host killed at: $name $n $call"
        under_host -e "trace=$name" -e "inject=$name:signal=KILL:when=$n"
        if [[ -n $KILLED ]]; then killed=$((killed + 1)); else missed=$((missed + 1)); fi
        check_all
    done <"$T/points"
    report "$killed" "$missed"
}

@test "a send killed at any system call leaves its message once or not at all, and no other one is lost" {
    local name n call killed=0 missed=0 rc
    local -A ACCEPTED
    strace -o "$T/trace" -y -s 64 "$MAS" send "$ID" solo one
    find_points 3 'connect|recvfrom|exit_group'
    POINT='a clean run'
    touch "$T/go"
    eventually has_line one # a stop that comes before it has read takes it away
    ACCEPTED=([one]=1) BEFORE_GO=1
    check_all
    while read -r name n call; do
        POINT="send killed at: $name $n $call"
        forget_all
        ACCEPTED=() rc=0
        accept one "$MAS" send "$ID" solo one
        { strace -o /dev/null -e "trace=$name" -e "inject=$name:signal=KILL:when=$n" \
            "$MAS" send "$ID" solo second >/dev/null; } 2>/dev/null || rc=$?
        case $rc in
            0) ACCEPTED[second]=1 missed=$((missed + 1)) ;;
            137) killed=$((killed + 1)) ;;
            *) bad "it exits with $rc" ;;
        esac
        accept 'number three' "$MAS" send "$ID" solo 'number three'
        [[ -v ACCEPTED[one] && -v ACCEPTED['number three'] ]] || bad 'others are not accepted'
        read -r _ HOST _ <"$DIR/run/solo.lock"
        kill -KILL "$HOST"
        check_all
    done <"$T/points"
    report "$killed" "$missed"
}
