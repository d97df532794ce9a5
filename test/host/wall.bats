# Walls around agents, as seen from inside and by their hosts.
load ../helper
load lib
load ../acp/lib

setup_more() {
    command -v bwrap >/dev/null || skip 'there is no bubblewrap'
    bwrap --unshare-pid --ro-bind / / --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    mkdir -p "$HOME" "$T/shared"
}

# inside SCRIPT [KEY=VALUE...]: runs an agent behind a wall that executes the shell script, with its output in
# $T/shared/out, and waits for its end.
inside() {
    printf '%s\n' "$1" >"$T/inside"
    shift
    run_agent "sh $T/inside" 'wall.level = require' "wall.write = $T/shared" "$@"
    eventually state_is solo exited
}

out() { cat "$T/shared/out"; }

@test "behind a wall an agent has its unit, workflows, an empty home and a private /tmp" {
    echo secret >"$HOME/secret"
    inside "exec >$T/shared/out 2>&1
        ls -A ~; echo new >made; ls -A /tmp | grep -v '^w$'
        touch \$WORKFLOWS_DIR/x 2>/dev/null || echo read-only
        ls \$MAS_SESSION_DIR \$MAS_SESSION_DIR/run | grep -v :; ls \$UNIT_DIR"
    run -0 out
    [ "$output" = $'read-only\nrun\nunit\nworkflows\n\nsolo.agent\nsolo' ] || { echo "$output"; false; }
    [ "$(cat "$DIR/unit/solo/made")" = new ]
}

@test "behind a wall the root, other sessions and the processes of others are not there" {
    "$MAS" new -q --no-start -t solo --name other
    inside "exec >$T/shared/out 2>&1
        for f in $ROOT/mas.ini $ROOT/sessions/.sessions.index $ROOT/sessions/*/config.json \$MAS_SESSION_DIR/run/solo.sock \
            \$MAS_SESSION_DIR/.session $SOCK; do [ ! -e \$f ] || echo \$f; done
        ls $ROOT; ls $ROOT/sessions; ps -e -o comm= | sort | xargs"
    run -0 out
    [[ $output = $'sessions\n'"$ID"$'\nbwrap ps sh sort xargs' ]] || { echo "$output"; false; }
}

@test "show, status and the log say what holds an agent" {
    inside 'exit 3'
    run -0 "$MAS" show "$ID"
    [[ $output = *'walls          files: bubblewrap, processes: bubblewrap,'*'network: open'* ]] || { echo "$output"; false; }
    [ "$(field "$ID" '.agents[0].wall | [.level, .files, .network] | join(" ")')" = 'require bubblewrap open' ]
    session_log 'agent=solo walls: files: bubblewrap'
    [ "$(of solo .exitCode)" = 3 ]
}

@test "an ACP agent and the programs that it asks for are behind the wall" {
    mkdir "$T/shared/store"
    printf '[preset walled]\nprotocol = acp\nwall.level = require\nwall.write = %s\ncommand = python3 -ES %s --store %s --log %s\n' \
        "$T/shared" "$PROJECT/test/acp/agent.py" "$T/shared/store" "$T/shared/trace" >>"$ROOT/mas.ini"
    new_session -t solo --agent walled
    find_agent
    run "$MAS" ask "$ID" solo "RUN:\"ls $ROOT\""
    [[ $output = *"run=0:'sessions"* ]] || { echo "$output"; false; }
}

@test "without bubblewrap an agent whose wall is required does not start" {
    mkdir "$T/bin"
    local p
    for p in tmux sh env cat ls mktemp rm; do ln -s "$(command -v $p)" "$T/bin/$p"; done
    PATH=$T/bin run -1 --separate-stderr "$MAS" new --wall=require -t solo
    [[ $stderr = *"there is no program 'bwrap'"*'install bubblewrap: apt install bubblewrap'* ]] || { echo "$stderr"; false; }
    [ "$("$MAS" list --json | jq .total)" = 0 ]
    PATH=$T/bin "$MAS" new -q --wall=try -t solo --name weak
    eventually prints true field weak '.agents[0].wall.missing | startswith("there is no program")'
}

@test "the commands of mas work behind a wall" {
    inside "exec >$T/shared/out 2>&1
        mas show --json | jq -r .name; mas stop $ROOT; echo \$?"
    run -0 out
    [[ $output = *$'\n'[1-9]* ]] || { echo "$output"; false; }
    grep -qx null "$T/shared/out" || grep -qx '' "$T/shared/out"
}

# told LEVEL [KEY=VALUE]: what a program is told of the place where it is, and the session.
told() {
    local level=$1
    shift
    # shellcheck disable=SC2016 # for the agent
    printf 'echo "$*, $OWN $PLACE" >told\n' >"$T/script"
    run_agent "sh $T/script" "wall.level = $level" 'env.PLACE = outside' 'env.OWN = on' 'wall.env.PLACE = inside' \
        'sandbox_off.env.OWN = off' "sandbox_off.args = -a 'b c'" "$@"
    eventually state_is solo exited
    cat "$DIR/unit/solo/told"
}

@test "behind a wall a program is told to leave its own sandbox off" {
    [ "$(told try)" = '-a b c, off inside' ]
    run -0 "$MAS" show @last
    [[ $output = *', own sandbox: off'* ]]
    [ "$(field @last '.agents[0].wall.ownSandbox')" = off ]
}

@test "a program that may nest walls, or has none, is not told to leave its sandbox off" {
    [ "$(told try 'wall.nested = yes')" = ', on inside' ]
    [ "$(field @last '.agents[0].wall.ownSandbox')" = null ]
    sed -i '/^wall.nested/d; s/^\[preset made\]/[preset other]/' "$ROOT/mas.ini"
    [ "$(told off)" = ', on outside' ]
    [ "$(field @last '.agents[0].wall.ownSandbox')" = null ]
}

@test "behind a wall an ACP agent gets the preset's word about its own sandbox with each session" {
    mkdir "$T/shared/store"
    acp_preset walled
    sed -i "s|--store '[^']*' --log '[^']*'|--store $T/shared/store --log $T/shared/trace|" "$ROOT/mas.ini"
    printf '%s\n' 'wall.level = try' "wall.write = $T/shared" 'sandbox_off.session = {"own": {"sandbox": "off"}}' >>"$ROOT/mas.ini"
    new_session -t solo --agent walled
    find_agent
    "$MAS" ask "$ID" solo 'begin'
    [ "$(grep -c '"_meta":{"own": {"sandbox": "off"}}' "$T/shared/trace")" = 1 ]
    mas restart "$ID" solo
    "$MAS" ask "$ID" solo 'again'
    [ "$(grep -c '"_meta":{"own": {"sandbox": "off"}}' "$T/shared/trace")" = 2 ]
}
