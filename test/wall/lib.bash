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
}

teardown_last() { stop_target; }

# Skips a test where no agent can have a wall.
need_wall() {
    grep -q 'wall\.level' "$PROJECT/man/mas.ini.5" || skip 'this mas has no walls'
    command -v bwrap >/dev/null || skip 'bubblewrap is not installed'
    bwrap --ro-bind / / --unshare-user --unshare-pid true 2>/dev/null ||
        skip 'there are no user namespaces here'
}

# make_session COMMAND KEY=VALUE...: starts $ID, whose agent `bad` runs the command with this preset,
# and $OTHER.
make_session() {
    make_project
    preset hostile "$@"
    preset quiet "sleep $MARK"
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
