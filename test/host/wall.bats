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

# shellcheck disable=SC2317 # called by eventually
agent_name() { ps -o comm= -p "$(of solo .pid)"; }

@test "behind a wall an agent has its unit, workflows, an empty home and a private /tmp" {
    echo secret >"$HOME/secret"
    inside "exec >$T/shared/out 2>&1
        ls -A ~; echo new >made; echo new >/tmp/of-\$MAS_SESSION_ID && echo private
        touch \$WORKFLOWS_DIR/x 2>/dev/null || echo read-only
        ls \$MAS_SESSION_DIR \$MAS_SESSION_DIR/run | grep -v :; ls \$UNIT_DIR"
    run -0 out
    output=$(grep -v 'profile$' <<<"$output") # of login shells, unless mas is in /usr/bin
    [ "$output" = $'private\nread-only\nrun\nunit\nworkflows\n\nsolo.agent\nsolo' ] || { echo "$output"; false; }
    [ "$(cat "$DIR/unit/solo/made")" = new ] && [ ! -e "/tmp/of-$ID" ]
}

@test "behind a wall the root, other sessions and the processes of others are not there" {
    "$MAS" new -q --no-start -t solo --name other
    inside "exec >$T/shared/out 2>&1
        for f in $ROOT/mas.ini $ROOT/sessions/.sessions.index $ROOT/sessions/*/config.json \$MAS_SESSION_DIR/run/solo.sock \
            \$MAS_SESSION_DIR/.session $SOCK; do [ ! -e \$f ] || echo \$f; done
        ls $ROOT; ls $ROOT/sessions; ps -e -o comm= >$T/shared/ps; sort $T/shared/ps | xargs"
    run -0 out
    [[ $output = $'sessions\n'"$ID"$'\nmas-wall ps sh' ]] || { echo "$output"; false; }
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

# leave_bwrap_out: from here on Landlock alone holds a wall.
leave_bwrap_out() {
    [ "$("${MAS%/*}/mas-wall" --probe | sed -n 's/^landlock=//p')" -gt 0 ] || skip 'the kernel has no Landlock'
    mkdir "$BATS_TEST_TMPDIR/programs"
    tr ':' '\n' <<<"$PATH" | while read -r dir; do
        find "$dir/" -maxdepth 1 ! -name bwrap -exec ln -s -t "$BATS_TEST_TMPDIR/programs" {} + 2>/dev/null || :
    done
    export PATH=$BATS_TEST_TMPDIR/programs
}

@test "with Landlock alone nothing can be nested: a program is told to leave its sandbox off, and a person why" {
    leave_bwrap_out
    [ "$(told try 'wall.nested = yes')" = '-a b c, off inside' ]
    [ "$(field @last '.agents[0].wall.files')" = Landlock ]
    [ "$(field @last '.agents[0].wall.ownSandbox')" = off ]
    field @last '.agents[0].wall.missing' | grep -F "wall.nested needs bubblewrap"
}

# walled_acp OPTION [KEY=VALUE...]: a preset `walled`, whose agent says in $T/shared/trace what it was asked.
walled_acp() {
    mkdir "$T/shared/store"
    acp_preset walled "$1"
    sed -i "s|--store '[^']*' --log '[^']*'|--store $T/shared/store --log $T/shared/trace|" "$ROOT/mas.ini"
    printf '%s\n' 'wall.level = try' "wall.write = $T/shared" "${@:2}" >>"$ROOT/mas.ini"
}

@test "behind a wall an ACP agent gets the preset's word about its own sandbox with each session" {
    walled_acp '' 'sandbox_off.session = {"own": {"sandbox": "off"}}'
    new_session -t solo --agent walled
    find_agent
    "$MAS" ask "$ID" solo 'begin'
    [ "$(grep -c '"_meta":{.*"own": \?{"sandbox": \?"off"}' "$T/shared/trace")" = 1 ]
    mas restart "$ID" solo
    "$MAS" ask "$ID" solo 'again'
    [ "$(grep -c '"_meta":{.*"own": \?{"sandbox": \?"off"}' "$T/shared/trace")" = 2 ]
}

@test "a program that may nest walls is told of no directory that it only reads" {
    walled_acp --directories
    new_session -t solo --agent walled
    find_agent
    "$MAS" ask "$ID" solo 'begin'
    [ "$(grep -c "\"additionalDirectories\":\[\"$DIR/workflows\"\]" "$T/shared/trace")" = 1 ]
    echo 'wall.nested = yes' >>"$ROOT/mas.ini"
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    "$MAS" ask "$ID" solo 'again'
    [ "$(grep -c '"additionalDirectories":\[' "$T/shared/trace")" = 1 ]
}

@test "with Landlock alone, where nothing can be nested, it is told of them" {
    walled_acp --directories 'wall.nested = yes'
    leave_bwrap_out
    new_session -t solo --agent walled
    find_agent
    "$MAS" ask "$ID" solo 'begin'
    [ "$(grep -c "\"additionalDirectories\":\[\"$DIR/workflows\"\]" "$T/shared/trace")" = 1 ]
}

# walled COMMAND KEY=VALUE...: runs an agent behind a wall on its terminal.
walled() { run_agent "$1" 'wall.level = require' "wall.write = $T/shared" "${@:2}" && eventually state_is solo idle; }

@test "exit codes and signals of a program behind a wall are told as without one" {
    printf 'kill -SEGV $$\n' >"$T/inside"
    run_agent "sh $T/inside" 'wall.level = require'
    eventually is solo .signal 11
    eventually shows 'by signal 11'
}

@test "behind a wall Ctrl-C ends the program in front, not the wall" {
    script trap <<'S'
trap 'echo caught; n=$((n + 1)); [ $n -lt 2 ] || exit 7' INT
trap '' QUIT
echo ready
while :; do sleep 0.05; done
S
    run_agent "sh $T/trap" 'wall.level = require'
    eventually shows ready
    press C-\\
    press C-c
    eventually shows caught
    state_is solo exited && false
    press C-c
    eventually is solo .exitCode 7
}

@test "behind a wall a shell has job control, the terminal's size and its name" {
    run_agent 'bash --norc' 'wall.level = require' 'env.PS1 = $ '
    eventually shows '$'
    type_line 'tty; stty size; sleep 1000'
    eventually shows /dev/
    press C-z
    eventually shows 'Stopped'
    type_line 'bg; kill %1; wait %1; echo "code $?"'
    eventually shows 'code 143'
    tm resize-window -t "$PANE" -x 91 -y 33
    eventually prints 91 tm display -p -t "$PANE" '#{pane_width}'
    type_line "until [ \"\$(stty size)\" = '$(tm display -p -t "$PANE" '#{pane_height} #{pane_width}')' ]; do sleep 0.1; done; clear; echo arrived \$((6 * 7))"
    eventually shows 'arrived 42'
    type_line 'sleep 1000'
    press C-c
    type_line 'echo interrupted $?'
    eventually shows 'interrupted 130'
}

@test "daemons that an agent started behind a wall end with it" {
    script daemon <<S
setsid sh -c 'trap "" HUP TERM; sleep $MARK' >/dev/null 2>&1 </dev/null &
while ! pgrep -x sleep >/dev/null; do :; done
exit 0
S
    run_agent "sh $T/daemon" 'wall.level = require'
    eventually state_is solo exited
    eventually marked_are 0
}

@test "stop gives a program behind a wall its time to end" {
    script slow <<S
trap 'echo bye >$T/shared/bye; exit 0' HUP TERM
echo ready
while :; do sleep 0.05; done
S
    walled "sh $T/slow"
    eventually shows ready
    "$MAS" stop -q "$ID"
    [ "$(cat "$T/shared/bye")" = bye ]
}

@test "after a kill of the host, the supervisor or bubblewrap nothing of the agent is left" {
    local what pid
    for what in host supervisor bwrap; do
        walled "sleep $MARK"
        eventually marked_are 1
        case $what in
            host) pid=$(of solo .hostPid) ;;
            supervisor) pid=$(ps -o ppid= -p "$(of solo .pid)" | tr -d ' ') ;;
            bwrap) pid=$(of solo .pid) ;;
        esac
        kill -KILL "$pid"
        eventually marked_are 0
        "$MAS" stop -q "$ID" || :
        "$MAS" rm -qf "$ID"
        sed -i '/^\[preset made\]/,$d' "$ROOT/mas.ini"
    done
    run -1 grep -F "$T" /proc/mounts
}

@test "a link in the place of a unit is not followed when the host opens it" {
    local other
    other=$("$MAS" new -q --no-start -t solo)
    inside 'exit 0'
    rm -r "$DIR/unit/solo"
    ln -s "$ROOT/sessions/$other/unit/solo" "$DIR/unit/solo"
    run "$MAS" restart "$ID" solo
    [ "$status" -ne 0 ]
    [[ $output = *'cannot open '*'unit/solo'* ]] || { echo "$output"; false; }
}

@test "a home of its own has what the preset names: to write, to read, as a copy and its own" {
    mkdir "$HOME/.w" "$HOME/.r"
    echo w >"$HOME/.w/f"; echo r >"$HOME/.r/f"; echo c >"$HOME/.c"; echo x >"$HOME/.x"
    inside "exec >$T/shared/out 2>&1
        ls -A ~; cat ~/.w/f ~/.r/f ~/.c
        echo W >~/.w/f; echo R >~/.r/f; echo C >~/.c.new; mv ~/.c.new ~/.c; echo mine >>~/.o/f; cat ~/.o/f" \
        'wall.home = .w .r:ro .c:copy .o/p:own .o2:own .gone .gone2:ro .gone3:copy' || :
    run -0 out
    [[ $output = *'.c'*'.o'*'.o2'*'.r'*'.w'*w*r*c* && $output != *.gone* && $output != *$'\n.x'* ]] || { echo "$output"; false; }
    [[ $output = *'Read-only file system'* ]] || { echo "$output"; false; }
    [ "$(cat "$HOME/.w/f" "$HOME/.r/f" "$HOME/.c")" = $'W\nr\nc' ]
    [ "$(stat -c %a "$DIR/home/solo/.o2")" = 700 ]
}

@test "a link that an agent puts where it can write is not followed at its next start" {
    mkdir "$T/shared/part" "$T/secret"
    echo secret >"$T/secret/file"
    echo settings >"$T/shared/part/file"
    printf 'cat %s/shared/part/file >%s/shared/out 2>&1; echo that is all >>%s/shared/out; sleep 1000\n' "$T" "$T" "$T" >"$T/inside"
    run_agent "sh $T/inside" 'wall.level = require' "wall.write = $T/shared" "wall.read = $T/shared/part"
    eventually prints $'settings\nthat is all' out
    rm -r "$T/shared/part" # what it could have done in a place that is not a mount for it
    ln -s "$T/secret" "$T/shared/part"
    : >"$T/shared/out"
    "$MAS" restart -q "$ID" solo
    eventually grep -qx 'that is all' "$T/shared/out"
    run -1 grep 'secret$' "$T/shared/out"
}

@test "an agent of a user who is not root is behind the wall, too" {
    [ "$(id -u)" = 0 ] || skip 'only root can be another user'
    setpriv --reuid 65534 --regid 65534 --clear-groups bwrap --unshare-user --ro-bind / / true 2>/dev/null ||
        skip 'a user who is not root has no user namespaces here'
    mkdir "$T/theirs"
    printf 'exec >%s/out 2>&1\nid -u; ls -A ~; ls %s; unshare -U true || echo refused\n' "$T/theirs" "$ROOT" >"$T/inside"
    chown 65534:65534 "$T/theirs"
    chmod 755 "$T" "${MAS%/*}" 2>/dev/null || :
    as() { setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$T/theirs" MAS_ROOT="$T/theirs/root" MAS_TMUX_SOCKET="$T/theirs/sock" "$@"; }
    as test -x "$MAS" || skip 'the program is in a directory of root alone'
    as "$MAS" init -q
    as sh -c "printf '[preset made]\ncommand = sh $T/inside\nwall.level = require\nwall.write = $T/theirs/out\n' >>'$T/theirs/root/mas.ini'; : >$T/theirs/out"
    as "$MAS" new -q -t solo --agent made
    eventually grep -q refused "$T/theirs/out"
    run -0 cat "$T/theirs/out"
    [ "${lines[0]}" = 65534 ]
    as "$MAS" stop -q --all
}

@test "the host reads and writes no more for a walled ACP agent than it could itself" {
    mkdir "$T/shared/store"
    acp_preset walled
    sed -i "s|--store '[^']*' --log '[^']*'|--store $T/shared/store --log $T/shared/trace|" "$ROOT/mas.ini"
    printf '%s\n' 'wall.level = require' "wall.write = $T/shared" >>"$ROOT/mas.ini"
    new_session -t pair --agent walled
    DIR=$ROOT/sessions/$ID
    hosts_there lead
    echo theirs >"$DIR/unit/reviewer/secret"
    echo mine >"$DIR/unit/lead/mine"
    local path
    for path in config.json .session unit/reviewer/secret logs/session.log unit/lead/../reviewer/secret; do
        run "$MAS" ask "$ID" lead "READ:$DIR/$path"
        [[ $output = *read=error-* ]] || { echo "$path: $output"; false; }
    done
    run "$MAS" ask "$ID" lead "READ:$DIR/unit/lead/mine WRITE:$DIR/unit/lead/new=x WRITE:$DIR/workflows/x=y"
    [[ $output = *mine*'write=ok'*write=error-* ]] || { echo "$output"; false; }
    [ ! -e "$DIR/workflows/x" ]
}

@test "bubblewrap is tried once for a whole team and for the next ones" {
    mkdir "$T/bin"
    printf '#!/bin/sh\necho "$*" >>%q\nexec %q "$@"\n' "$T/shared/bwrap" "$(command -v bwrap)" >"$T/bin/bwrap"
    chmod +x "$T/bin/bwrap"
    printf '[preset walled]\ncommand = cat\n' >>"$ROOT/mas.ini"
    local level tries=1
    for level in require try; do
        : >"$T/shared/bwrap"
        ID=$(PATH=$T/bin:$PATH "$MAS" new -q -t pair --agent walled --wall="$level")
        eventually prints 2 grep -c -e '--args 3' "$T/shared/bwrap"
        "$MAS" restart -q "$ID" lead
        eventually prints 3 grep -c -e '--args 3' "$T/shared/bwrap"
        prints "$tries" grep -c -e --probe "$T/shared/bwrap" || { cat "$T/shared/bwrap"; false; }
        tries=0
        "$MAS" stop -q "$ID"
    done
}

@test "an exit code over 128 is one, and a signal is one, also behind a wall" {
    # shellcheck disable=SC2016 # for the program
    printf 'read -r code; [ "$code" != killed ] || kill -9 $$; exit "$code"\n' >"$T/inside"
    run_agent "sh $T/inside" 'wall.level = require' "wall.read = $T"
    eventually state_is solo idle
    "$MAS" send "$ID" solo 137
    eventually state_is solo exited
    [ "$(of solo .exitCode)" = 137 ]
    [ "$(of solo .signal)" = null ]
    "$MAS" restart -q "$ID" solo
    eventually state_is solo idle
    "$MAS" send "$ID" solo killed
    eventually is solo .signal 9
    [ "$(of solo .exitCode)" = null ]
}

@test "the PID of an agent behind a wall is its own, and so an agent that only reads is idle" {
    printf 'read -r line\nexec sleep %s\n' 1000 >"$T/inside"
    run_agent "sh $T/inside" 'wall.level = require'
    eventually state_is solo idle
    eventually prints sh agent_name
    "$MAS" send "$ID" solo go
    eventually prints sleep agent_name
}

@test "programs cannot get into the first process behind their wall, which no filter holds" {
    inside "exec >$T/shared/out 2>/dev/null
        cat /proc/1/comm
        for f in environ mem fd/0 root/etc/passwd; do head -c 1 /proc/1/\$f >$T/shared/byte && echo got \$f; done
        kill -9 1; kill -TERM 1; echo lives" 'wall.nested = yes'
    run -0 out
    [ "$output" = $'mas-wall\nlives' ] || { echo "$output"; false; }
}

# Holds every kind of lock on all that it can open, once it is told to.
lock_all() {
    cat >"$T/lock_all" <<'END'
import fcntl, os, sys, time
while not os.path.exists(sys.argv[2] + '.go'):
    time.sleep(0.05)
held = []
for top, dirs, files in os.walk(sys.argv[1]):
    for name in ['.', *files]:
        try:
            fd = os.open(os.path.join(top, name), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            held.append(fd)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            pass
open(sys.argv[2] + '.new', 'w').write(str(len(held)))
os.rename(sys.argv[2] + '.new', sys.argv[2])
sys.stdin.read()
END
}

@test "an agent behind a wall can open no file that mas locks" {
    # shellcheck source=test/project.bash
    . "$PROJECT/test/project.bash"
    make_project
    lock_all
    preset made "sh -c 'sleep 1000 | exec python3 -ES $T/lock_all $ROOT $T/shared/held'" 'wall.level = require' \
        "wall.write = $T/shared" "wall.read = $T/lock_all"
    new_session -t solo --agent made --project "$P"
    commit solo c c
    "$MAS" diff "$ID" # makes what it locks
    look_again solo
    eventually prints '1 0 0' figures solo
    touch "$T/shared/held.go"
    eventually test -s "$T/shared/held"
    [ "$(cat "$T/shared/held")" -gt 20 ]
    for verb in diff merge sync land look; do
        # shellcheck disable=SC2046 # no word, or one
        run --separate-stderr timeout 45 "$MAS" $verb "$ID" $([ $verb != look ] || echo solo)
        [ "$status" -eq 0 ] || { echo "$verb: $status $stderr"; return 1; }
    done
    look_again solo
    eventually prints '0 0 0' figures solo
    timeout 45 "$MAS" doctor
    timeout 45 "$MAS" stop -q "$ID"
    timeout 45 "$MAS" start -q "$ID"
    timeout 45 "$MAS" stop -q "$ID"
    timeout 45 "$MAS" rm -q "$ID"
}
