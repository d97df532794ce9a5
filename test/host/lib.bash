# What the tests of hosts share; loaded behind ../helper.
# shellcheck shell=bash
#
#   $ID    the session   $PANE  the pane of its agent `solo`   $DIR  its workspace
#   $MARK  a number that no other process knows: `sleep $MARK` is counted by count_marked

MARK=$((1000000 + RANDOM * 32768 + RANDOM))
export MARK

# What a test that failed may have left
teardown_more() {
    local pid
    for pid in $(pgrep -f "$MARK") $(grep -lsz "^MAS_ROOT=$ROOT$" /proc/[0-9]*/environ | cut -d/ -f3); do
        [ "$pid" = "$$" ] || [ "$pid" = "$BASHPID" ] || kill -KILL "$pid" 2>/dev/null || true
    done
    if declare -F teardown_last >/dev/null; then teardown_last; fi
}

# script NAME: a shell script of that name in $T, from stdin.
script() { cat >"$T/$1"; }

# preset NAME COMMAND KEY=VALUE...: adds one to mas.ini.
preset() {
    printf '[preset %s]\ncommand = %s\n' "$1" "$2"
    shift 2
    if (($# > 0)); then printf '%s\n' "$@"; fi
} >>"$ROOT/mas.ini"

# within SECONDS COMMAND: eventually(), for what takes longer.
within() {
    local end=$((SECONDS + $1))
    shift
    until eventually "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$end" ] || { echo "never came true: $*" >&2; return 1; }
    done
}

# run_agent COMMAND KEY=VALUE...: a session whose one agent runs the command, by a preset with these
# keys.
run_agent() {
    preset made "$@"
    new_session -t solo --agent made
    find_agent
}

# run_team TEMPLATE COMMAND KEY=VALUE...: the same for a whole team.
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
# hosts_there AGENT...: waits until each (solo) can be spoken to.
hosts_there() {
    local agent
    for agent in "${@:-solo}"; do eventually test -S "$DIR/run/$agent.sock" || return; done
}

# The agents of the default template
DEFAULT_TEAM=(00 {1,2,3}{0..3})

# ask AGENT REQUEST [FILE]: what the host answers.
ask() { python3 -ES "$PROJECT/test/host/ask.py" "$DIR/run" "$@"; }

# ask_badly AGENT KIND: a hostile client, in the background; waits for its first words, in $WORDS.
ask_badly() {
    local out
    out=$(mktemp "$T/out.XXXX")
    ask "$1" "--$2" >"$out" 2>&1 3>&- &
    eventually test -s "$out"
    # shellcheck disable=SC2034 # for the test
    WORDS=$(<"$out")
}

# of AGENT FILTER: a member of its status.
of() { ask "$1" '{"do":"status"}' | jq -r "$2"; }

# is AGENT FILTER VALUE
is() { [ "$(of "$1" "$2")" = "$3" ]; }

state_is() { is "$1" .state "$2"; }

# say_to AGENT TEXT [MEMBERS]: sends it, as a person or with members such as ,"from":"lead"
say_to() {
    printf '%s' "$2" >"$T/text"
    ask "$1" "{\"do\":\"send\"${3-}}" "$T/text"
}

# took AGENT TEXT [MEMBERS]: it is taken
took() { say_to "$@" | jq -e .ok >/dev/null; }

count_marked() { pgrep -fx "sleep $MARK" | wc -l; }
marked_are() { [ "$(count_marked)" -eq "$1" ]; }

# Everything on agent's screen
screen() { tm capture-pane -pt "${1-$PANE}"; }
shows() { screen "${2-$PANE}" | grep -qF -- "$1"; }
shows_line() { screen "${2-$PANE}" | grep -qxF -- "$1"; }

# Types literal text and Enter into the pane, as a person does.
type_line() { tm send-keys -t "$PANE" -l "$1" \; send-keys -t "$PANE" Enter; }
press() { tm send-keys -t "$PANE" "$@"; }

agent_log() { cat "$DIR/logs/agent-${1-solo}.log"; }

# session_log WORDS: a line of the session's log holds them.
session_log() { grep -qF -- "$1" "$DIR/logs/session.log"; }

# Process $1 has ended, whether anybody has looked at that or not.
is_gone() { [[ $(ps -o stat= -p "$1") =~ ^(Z.*)?$ ]]; }

# Private memory of process $1 in KiB
private_memory() { awk '/^Private/ { n += $2 } END { print n }' "/proc/$1/smaps_rollup"; }

# The part of it that it has written to, and that is given back only by the process
written_memory() { awk '/^Private_Dirty/ { n += $2 } END { print n }' "/proc/$1/smaps_rollup"; }

# CPU time of processes in ticks
cpu_time() {
    local pid n=0
    for pid; do n=$((n + $(awk '{ print $14 + $15 }' "/proc/$pid/stat"))); done
    echo "$n"
}
