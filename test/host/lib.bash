# Shared by the tests of hosts; loaded after ../helper.
# shellcheck shell=bash
#
#   $ID    the session   $PANE  the pane of its agent `solo`   $DIR  its workspace
#   $MARK  a number that no other process uses: count_marked counts `sleep $MARK`

MARK=$((1000000 + RANDOM * 32768 + RANDOM))
export MARK

# Kills processes that a failed test may have left behind.
teardown_more() {
    local pid
    for pid in $(pgrep -f "$MARK") $(grep -lsz "^MAS_ROOT=$ROOT$" /proc/[0-9]*/environ | cut -d/ -f3); do
        [ "$pid" = "$$" ] || [ "$pid" = "$BASHPID" ] || kill -KILL "$pid" 2>/dev/null || true
    done
    if declare -F teardown_last >/dev/null; then teardown_last; fi
}

# script NAME: writes the shell script $T/NAME from stdin.
script() { cat >"$T/$1"; }

# preset NAME COMMAND KEY=VALUE...: adds a preset to mas.ini.
preset() {
    printf '[preset %s]\ncommand = %s\n' "$1" "$2"
    shift 2
    if (($# > 0)); then printf '%s\n' "$@"; fi
} >>"$ROOT/mas.ini"

# within SECONDS COMMAND: eventually() with a longer time limit.
within() {
    local end=$((SECONDS + $1))
    shift
    until eventually "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$end" ] || { echo "never came true: $*" >&2; return 1; }
    done
}

# run_agent COMMAND KEY=VALUE...: creates a session with one agent that runs the command; the keys are
# for its preset.
run_agent() {
    preset made "$@"
    new_session -t solo --agent made
    find_agent
}

# run_team TEMPLATE COMMAND KEY=VALUE...: the same with a whole team.
run_team() {
    local template=$1
    shift
    preset made "$@"
    new_session -t "$template" --agent made
    DIR=$ROOT/sessions/$ID
}

find_agent() {
    DIR=$ROOT/sessions/$ID
    PANE=$(tm list-panes -t "=mas-${ID:0:8}:" -F '#{pane_id}')
}

# shellcheck disable=SC2120 # the agents may be left out
# hosts_there AGENT...: waits until the hosts of these agents (solo) listen.
hosts_there() {
    local agent
    for agent in "${@:-solo}"; do eventually test -S "$DIR/run/$agent.sock" || return; done
}

# The agents of the default template.
DEFAULT_TEAM=(00 {1,2,3}{0..3})

# ask AGENT REQUEST [FILE] or ask AGENT .MEMBER: prints the host's answer; ask AGENT --KIND is a hostile client.
ASK=${MAS:-${BATS_TEST_DIRNAME%/*/*}/build/mas} # now: a test may set MAS to a copy
ASK=${ASK%/*}/test/tools/ask
ask() {
    case $2 in
        --*) python3 -ES "$PROJECT/test/host/ask.py" "$DIR/run" "$@" ;;
        *) "$ASK" "$DIR/run" "$@" ;;
    esac
}

# ask_badly AGENT KIND: starts a hostile client in the background and waits for its first output, in
# $WORDS.
ask_badly() {
    local out
    out=$(mktemp "$T/out.XXXX")
    ask "$1" "--$2" >"$out" 2>&1 3>&- &
    eventually test -s "$out"
    # shellcheck disable=SC2034 # for the test
    WORDS=$(<"$out")
}

# of AGENT .MEMBER: prints a member of the agent's status, nothing if its host does not answer.
of() { ask "$1" "$2" || :; }

# is AGENT .MEMBER VALUE: succeeds if this member of the agent's status has this value.
is() { [ "$(of "$1" "$2")" = "$3" ]; }

state_is() { is "$1" .state "$2"; }

# say_to AGENT TEXT [MEMBERS]: sends the text, as a person or with members such as ,"from":"lead".
say_to() {
    printf '%s' "$2" >"$T/text"
    ask "$1" "{\"do\":\"send\"${3-}}" "$T/text"
}

# took AGENT TEXT [MEMBERS]: the same; succeeds if the host accepts the text.
took() { [[ $(say_to "$@") == *'"ok":true'* ]]; }

count_marked() { pgrep -fx "sleep $MARK" | wc -l; }
marked_are() { [ "$(count_marked)" -eq "$1" ]; }

# screen [PANE]: prints the screen of the pane. shows and shows_line search it for a text and a line.
screen() { tm capture-pane -pt "${1-$PANE}"; }
shows() { screen "${2-$PANE}" | grep -qF -- "$1"; }
shows_line() { screen "${2-$PANE}" | grep -qxF -- "$1"; }
# lacks_line TEXT: succeeds once the screen no longer has this line, for `eventually`.
lacks_line() { ! shows_line "$1"; }

# Types literal text and Enter into the pane, like a user.
type_line() { tm send-keys -t "$PANE" -l "$1" \; send-keys -t "$PANE" Enter; }
press() { tm send-keys -t "$PANE" "$@"; }

agent_log() { cat "$DIR/logs/agent-${1-solo}.log"; }

# session_log WORDS: succeeds if a line of the session's log contains the words.
session_log() { grep -qF -- "$1" "$DIR/logs/session.log"; }

# Succeeds if process $1 has ended, even if its parent has not collected it.
is_gone() { [[ $(ps -o stat= -p "$1") =~ ^(Z.*)?$ ]]; }

# Prints the memory of process $1 in KiB that no file backs. Pages of the program itself are nobody's alone, and
# whether the kernel counts them as private depends on who else runs it. With sanitizers it shares much with its
# children, which they have from it: then only what it has written to since.
private_memory() {
    awk -v name="${TEST_SAN:+Private_Dirty}" '$1 == (name == "" ? "Anonymous" : name) ":" { print $2 }' \
        "/proc/$1/smaps_rollup"
}

# Prints the CPU time of processes in ticks.
cpu_time() {
    local pid n=0
    for pid; do n=$((n + $(awk '{ print $14 + $15 }' "/proc/$pid/stat"))); done
    echo "$n"
}

# Finds a mount of cgroups of version 2 in which this user may make groups, and makes one for the agents:
# $GROUP, which drop_group removes.
need_group() {
    local mount
    for mount in /sys/fs/cgroup /sys/fs/cgroup/unified; do
        [ "$(stat -fc %T "$mount" 2>/dev/null)" = cgroup2fs ] || continue
        GROUP=$(mktemp -d "$mount/mas-test-XXXXXX" 2>/dev/null) || continue
        [ -w "$GROUP/cgroup.kill" ] || continue
        printf '[limits]\ncgroup = %s\n' "$GROUP" >>"$ROOT/mas.ini"
        return
    done
    skip "no cgroup of version 2 that this user may change"
}

drop_group() {
    [ -n "${GROUP-}" ] || return 0
    [ ! -e "$GROUP/cgroup.kill" ] || echo 1 >"$GROUP/cgroup.kill" || :
    eventually no_process_in_group
    find "$GROUP" -depth -type d -exec rmdir {} + 2>/dev/null || :
}
no_process_in_group() { grep -qx 'populated 0' "$GROUP/cgroup.events"; }
