# Shared by the tests of walls; loaded after ../helper.
# shellcheck shell=bash
#
#   $ID     a session of the agents `bad`, which the test writes, and `good`, with a project
#   $UNIT   the directory of `bad`, $TREE its work tree, in which it starts   $DIR  the workspace
#   $OTHER  another session of the same user, with the agent `solo`
#   $READABLE  what `bad` may read beside its own: the programs of the tests
#   $PYTHON  the system's, which is in every wall

# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/../cli/code.bash"
# shellcheck source=test/host/lib.bash
. "$BATS_TEST_DIRNAME/../host/lib.bash"

setup_more() {
    PYTHON=/usr/bin/python3
    [ -x "$PYTHON" ] || skip 'there is no /usr/bin/python3'
    # a directory of its own, not the project's: that may be in the user's home
    READABLE=$T/programs
    mkdir "$READABLE"
    cp "$ROOT/mas.ini" "$T/mas.ini.kept"
    cp "${MAS%/*}/test/tools/escape" "$PROJECT"/test/wall/*.py "$READABLE"
    if declare -F setup_last >/dev/null; then setup_last; fi
}

teardown_last() { stop_target; }

# Skips a test where no agent can have a wall.
need_wall() {
    command -v bwrap >/dev/null || skip 'bubblewrap is not installed'
    bwrap --unshare-user --ro-bind / / --unshare-pid --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
}

# Where bubblewrap mounts anything; what others mount meanwhile is no matter.
mounts() { awk '{ print $5 }' /proc/self/mountinfo | grep -xE "($T|/newroot|/oldroot)(/.*)?|/proc|/dev|/tmp"; }

# make_session COMMAND KEY=VALUE...: starts $ID, whose agent `bad` runs the command with this preset,
# and $OTHER. $GOOD_PRESET is the command of `good`, which then has a wall, too; $UNITS says whose units
# they may write to.
make_session() {
    make_project
    preset hostile "$@"
    preset quiet "${GOOD_PRESET:-sleep $MARK}" ${GOOD_PRESET+"wall.level = require" "wall.read = $READABLE"}
    mkdir -p "$ROOT/templates/duo/unit/bad" "$ROOT/templates/duo/unit/good" "$ROOT/templates/duo/workflows"
    echo 'be good' | tee "$ROOT/templates/duo/unit/bad/AGENTS.md" >"$ROOT/templates/duo/unit/good/AGENTS.md"
    echo flow >"$ROOT/templates/duo/workflows/flow.md"
    cat >"$ROOT/templates/duo/template.ini" <<'INI'
[template]
description = a bad and a good one
preset = quiet
[window w]
agents = bad, good
layout = tiled
[agent bad]
role = r
rank = worker
group = g
preset = hostile
code = worktree
model =
[agent good]
role = r
rank = manager
group = g
preset = quiet
code = worktree
model =
INI
    [ -z "${UNITS-}" ] || sed -i "s/^code = worktree/&\\nunits = $UNITS/" "$ROOT/templates/duo/template.ini"
    cat >>"$ROOT/templates/duo/template.ini" <<'INI'
[rules]
worker = manager
manager = workers
INI
    mkdir -p "$HOME/.config/mas" "$HOME/.local/state/mas"
    touch "$HOME/.config/mas/mas.ini" "$HOME/.local/state/mas/roots"
    OTHER=$(other_team) || return
    ID=$("$MAS" new -q -t duo --project "$P") || return
    DIR=$ROOT/sessions/$ID
    UNIT=$DIR/unit/bad TREE=$DIR/code/bad
    hosts_there bad good
    touch "$DIR/memory.db" "$ROOT/sessions/$OTHER/memory.db" # as if they had conversations
}

# compromise LEVEL [KEY=VALUE...]: starts both sessions; `bad` obeys inside(), behind a wall of this level.
compromise() {
    local keys=()
    cat >"$READABLE/obey" <<'SH'
while :; do
    if mv do doing 2>/dev/null; then
        sh ./doing >said 2>&1 </dev/null
        echo $? >code.new
        mv code.new code
    fi
    sleep 0.05
done
SH
    [ "$1" = off ] || { need_wall && keys=("wall.level = $1" "wall.read = $READABLE"); }
    make_session "sh $READABLE/obey" "${keys[@]}" "${@:2}"
}

# inside COMMAND: `bad` runs it; $rc is its exit code, its words are in $TREE/said.
inside() {
    rm -f "$TREE/said" "$TREE/code"
    printf '%s\n' "$1" >"$TREE/do.new"
    mv "$TREE/do.new" "$TREE/do"
    eventually test -s "$TREE/code"
    rc=$(<"$TREE/code")
}
said() { grep -qaF -- "$1" "$TREE/said"; }

# both_ways ATTACK: it succeeds without a wall, and fails behind one.
both_ways() {
    compromise off
    "$1" || { echo "it does not work without a wall" >&2; tr -d '\0' <"$TREE/said" | head -c 500; return 1; }
    "$MAS" rm -qf "$ID" && "$MAS" rm -qf "$OTHER"
    undo_all
    compromise require
    if "$1"; then
        echo "it works in spite of the wall" >&2
        return 1
    fi
    # it was the wall, not an agent that does nothing
    "$MAS" start -q "$ID"
    inside 'echo here'
    said here
}

# What the attack without a wall has left must not decide the second one.
undo_all() {
    local pid
    for pid in $(pgrep -fx "(/bin/)?sleep 0?$MARK"); do kill "$pid" 2>/dev/null || true; done
    rm -rf "$P" "$T/heard" "$T/ran"
    tm set-hook -gu client-attached 2>/dev/null || true
    cp "$T/mas.ini.kept" "$ROOT/mas.ini"
}

# The test may have a team of its own.
other_team() { "$MAS" new -q -t solo --agent quiet; }

# start_target: starts what `bad` must not reach, which writes $T/places.
start_target() {
    local host peer
    host=$(host_of "$ID" bad) peer=$(host_of "$ID" good)
    "$PYTHON" -ES "$PROJECT/test/wall/target.py" "$T/places" \
        root="$ROOT" session="$DIR" unit="$UNIT" tree="$TREE" other="$ROOT/sessions/$OTHER" project="$P" \
        mas_dir="${MAS%/*}" escape="$READABLE/escape" readable="$READABLE" \
        tmux="$SOCK" tmux_dir="$TMUX_TMPDIR" \
        host="$host" supervisor="$(pgrep -P "$host" | head -n 1)" peer_host="$peer" \
        own_socket="$DIR/run/bad.sock" peer_socket="$DIR/run/good.sock" \
        other_socket="$ROOT/sessions/$OTHER/run/solo.sock" >"$T/target.log" 2>&1 3>&- &
    TARGET=$!
    eventually test -s "$T/places"
}

stop_target() {
    [ -n "${TARGET-}" ] || return 0
    kill "$TARGET" 2>/dev/null || true
    wait "$TARGET" || true
    TARGET=
    cat "$T/target.log"
}

# host_of SESSION AGENT: prints the pid of its host.
host_of() { pgrep -fo "mas host $1 $2( |$)"; }
