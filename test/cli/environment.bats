#!/usr/bin/env bats
# What an agent's process gets: the environment of whoever started the team, by a way that shows
# none of it to others; and what the tmux server gets: nothing that is secret.
load ../helper

# A template `made` whose agent writes its environment and where it stands into its directory.
make_template() {
    cp -R "$ROOT/templates/${1-solo}" "$ROOT/templates/made"
    sed -i "/^\[agent /a command = sh -c 'env -0 >env.tmp; pwd >cwd.out; mv env.tmp env.out; exec sleep 1000'" \
        "$ROOT/templates/made/template.ini"
}

setup_more() { make_template; }

teardown_more() {
    grep -lsz "^MAS_SESSION_DIR=$T/" /proc/[0-9]*/environ | cut -d/ -f3 |
        xargs -r kill -KILL 2>/dev/null || true
}

unit() { echo "$ROOT/sessions/$1/unit/${2-solo}"; }

# Starts the team and waits until its agent has written what it got.
start_made() {
    new_session -t made "$@"
    eventually test -e "$(unit "$ID")/env.out"
}

# The same, with every program that is run written to $T/trace. strace stays with the tmux server.
start_traced() {
    strace -f -qq -e trace=execve -v -s 100000 -o "$T/trace" \
        "$MAS" new -q -t made >"$T/id" 2>/dev/null 3>&- &
    eventually test -s "$T/id"
    ID=$(cat "$T/id")
    eventually test -e "$(unit "$ID")/env.out"
}

# Variable $1 as the agent has it, byte for byte
agent_has() { grep -azm 1 "^$1=" "$(unit "$ID" "${2-solo}")/env.out" | tail -c +$((${#1} + 2)) | tr -d '\0'; }

agent_lacks() { run ! grep -aqz "^$1=" "$(unit "$ID")/env.out"; }

server_pid() { tm display-message -p '#{pid}'; }

tmux_name() { field "$1" .tmuxSession; }

@test "a variable of the caller reaches the agent" {
    SECRET=hunter2 start_made
    [ "$(agent_has SECRET)" = hunter2 ]
}

@test "an agent gets all of the caller's environment and nothing more" {
    # what belongs to the pane, and what mas itself sets
    local own='^(TERM|TMUX|TMUX_PANE|PWD|OLDPWD|COLUMNS|LINES|SESSION_NAME|UNIT_DIR|WORKFLOWS_DIR|MAS_[A-Z_]*|PATH|_|SHLVL)='
    ID=$(env -i PATH="$PATH" HOME="$HOME" SHELL=/bin/sh MAS_ROOT="$ROOT" MAS_TMUX_SOCKET="$SOCK" \
        ONE=1 TWO='2 3' EMPTY= lower=case "$MAS" new -q -t made)
    eventually test -e "$(unit "$ID")/env.out"
    [ "$(tr '\0' '\n' <"$(unit "$ID")/env.out" | grep -vE "$own" | sort)" = "EMPTY=
HOME=$HOME
ONE=1
SHELL=/bin/sh
TWO=2 3
lower=case" ]
}

@test "values arrive byte for byte" {
    local newline=$'one\ntwo\n' semicolon='a;b;' quotes=$'it\'s "so"' format='#(touch ran) #{pid} ##'
    # shellcheck disable=SC2016 # nothing of it is to be expanded
    local equals='=a=b=' dollar='$HOME $(touch ran) `touch ran`' bytes=$'\xff\xfe\x80' tab=$'\t\e[31m' backslash=$'\\n\\'
    NEWLINE=$newline SEMICOLON=$semicolon QUOTES=$quotes FORMAT=$format EQUALS=$equals \
        DOLLAR=$dollar BYTES=$bytes TAB=$tab BACKSLASH=$backslash TILDE='~' UTF='ü⚙' start_made
    # the dot keeps the newline at the end
    [ "$(agent_has NEWLINE && echo .)" = "$newline." ]
    [ "$(agent_has SEMICOLON)" = "$semicolon" ]
    [ "$(agent_has QUOTES)" = "$quotes" ]
    [ "$(agent_has FORMAT)" = "$format" ]
    [ "$(agent_has EQUALS)" = "$equals" ]
    [ "$(agent_has DOLLAR)" = "$dollar" ]
    [ "$(agent_has BYTES)" = "$bytes" ]
    [ "$(agent_has TAB)" = "$tab" ]
    [ "$(agent_has BACKSLASH)" = "$backslash" ]
    [ "$(agent_has TILDE)" = '~' ]
    [ "$(agent_has UTF)" = 'ü⚙' ]
    [ -z "$(find "$T" -name ran)" ]
}

@test "a long value arrives whole" {
    local long
    long=$(printf '%0100000d' 7)
    LONG=$long start_made
    [ "$(agent_has LONG)" = "$long" ]
}

@test "many variables arrive" {
    local i
    for i in {1..1000}; do export "MANY_$i=value $i"; done
    start_made
    [ "$(grep -zc '^MANY_' "$(unit "$ID")/env.out")" -eq 1000 ]
    [ "$(agent_has MANY_777)" = 'value 777' ]
}

@test "all agents of a team get it" {
    rm -r "$ROOT/templates/made"
    make_template default
    SECRET=hunter2 new_session -t made
    local agent
    for agent in 00 10 11 12 13 20 21 22 23 30 31 32 33; do
        eventually test -e "$(unit "$ID" "$agent")/env.out"
        [ "$(agent_has SECRET "$agent")" = hunter2 ]
        [ "$(agent_has MAS_AGENT_ID "$agent")" = "$agent" ]
        [ "$(cat "$(unit "$ID" "$agent")/cwd.out")" = "$(unit "$ID" "$agent")" ]
    done
    eventually test ! -e "$ROOT/sessions/$ID/run/env"
}

@test "a second team on the same server gets the environment of its own caller" {
    SECRET=first start_made
    SECRET=second ONLY=second start_made
    [ "$(agent_has SECRET)" = second ]
    SECRET=third start_made
    [ "$(agent_has SECRET)" = third ]
    agent_lacks ONLY
}

@test "a secret shows in nothing of tmux" {
    SECRET=hunter2 start_made
    run ! grep -q hunter2 <(tm show-environment -g)
    run ! grep -q hunter2 <(tm show-environment -t "=$(tmux_name "$ID"):")
    run ! grep -q hunter2 <(tm show-options -A)
    run ! grep -q hunter2 <(tm list-panes -a -F '#{pane_start_command}')
    run ! grep -qz hunter2 "/proc/$(server_pid)/environ"
}

@test "a secret is on no command line" {
    SECRET=hunter2-$$ start_traced
    [ "$(agent_has SECRET)" = "hunter2-$$" ]
    grep -c execve "$T/trace"
    # execve("file", ["words"...], ["environment"...]): the words only
    run ! grep -q "hunter2-$$" <(grep execve "$T/trace" | sed 's/\], \[.*//')
    run ! grep -lsz "hunter2-$$" /proc/[0-9]*/cmdline
}

@test "no program that mas starts itself gets a secret of the caller" {
    SECRET=hunter2-$$ start_traced
    # the first is mas itself, the last those of the agent in its pane
    grep 'execve("[^"]*/tmux"' "$T/trace"
    run ! grep -q "hunter2-$$" <(grep 'execve("[^"]*/tmux"' "$T/trace")
}

@test "the file that carries the environment is private, and gone afterwards" {
    SECRET=hunter2 start_made
    eventually test ! -e "$ROOT/sessions/$ID/run/env"
    eventually test -e "$ROOT/sessions/$ID/run/reserve.memory"
    [ "$(ls -A "$ROOT/sessions/$ID/run")" = $'reserve\nreserve.memory\nsolo.agent\nsolo.lock\nsolo.sock' ]
    rm "$(unit "$ID")/env.out"
    run ! grep -rq hunter2 "$ROOT"
    # how it is made, on a server that runs already
    umask 000
    strace -qq -e trace=openat -o "$T/trace" "$MAS" new -q -t solo
    grep -q 'openat(.*"env".*O_EXCL.*0600' "$T/trace"
}

@test "it is gone after a stop in the middle of a start, too" {
    # an agent that never comes to take it: its host is not there
    cp "$MAS" "$T/mas"
    ID=$("$T/mas" new -q -t solo --no-start)
    printf 'MASENV3\n-\n\n.\nSECRET=hunter2' >"$ROOT/sessions/$ID/run/env"
    sed -i 's/^STATUS=.*/STATUS=active/' "$ROOT/sessions/$ID/.session"
    rm "$ROOT/sessions/.sessions.index"
    ok stop "$ID"
    [ ! -e "$ROOT/sessions/$ID/run/env" ]
}

@test "a start that fails leaves no environment behind" {
    export MAS_TMUX_SIZE=20x4
    new_session --no-start
    SECRET=hunter2 fails 6 start "$ID"
    run ! grep -rq hunter2 "$ROOT"
    SECRET=hunter2 fails 6 new
    run ! grep -rq hunter2 "$ROOT"
}

@test "the terminal's own variables are those of the pane" {
    TERM=caller TMUX=/caller,1,2 TMUX_PANE=%99 COLUMNS=11 LINES=12 PWD=/caller start_made
    [ "$(agent_has TERM)" = "$(tm show-options -gv default-terminal)" ]
    [ "$(agent_has TMUX)" != /caller,1,2 ]
    [[ $(agent_has TMUX) == "$SOCK,$(server_pid),"* ]]
    [ "$(agent_has TMUX_PANE)" = "$(field "$ID" '.agents[0].pane')" ]
    [ "$(agent_has PWD)" = "$(unit "$ID")" ]
    agent_lacks COLUMNS
    agent_lacks LINES
}

@test "the agent works in its own directory" {
    start_made
    [ "$(cat "$(unit "$ID")/cwd.out")" = "$(unit "$ID")" ]
    [ "$(tm display-message -p -t "=$(tmux_name "$ID"):" '#{pane_current_path}')" = "$(unit "$ID")" ]
}

@test "the agent knows its session by variables" {
    start_made -n team
    local dir=$ROOT/sessions/$ID
    [ "$(agent_has MAS_ROOT)" = "$ROOT" ]
    [ "$(agent_has MAS_TMUX_SOCKET)" = "$SOCK" ]
    [ "$(agent_has MAS_SESSION_MODE)" = isolated ]
    [ "$(agent_has MAS_SESSION_ID)" = "$ID" ]
    [ "$(agent_has MAS_SESSION_DIR)" = "$dir" ]
    [ "$(agent_has SESSION_NAME)" = "mas-${ID:0:8}" ]
    [ "$(agent_has UNIT_DIR)" = "$dir/unit" ]
    [ "$(agent_has WORKFLOWS_DIR)" = "$dir/workflows" ]
    [ "$(agent_has MAS_AGENT_ID)" = solo ]
    [ "$(agent_has MAS_AGENT_ROLE)" = generalist ]
}

@test "a pane that the user adds to a team has its variables too" {
    start_made
    tm split-window -t "=$(tmux_name "$ID"):" "env -0 >'$T/split.tmp'; mv '$T/split.tmp' '$T/split.out'; exec sleep 1000"
    eventually test -e "$T/split.out"
    local name
    for name in MAS_ROOT MAS_TMUX_SOCKET MAS_SESSION_MODE MAS_SESSION_ID MAS_SESSION_DIR SESSION_NAME UNIT_DIR WORKFLOWS_DIR; do
        [ "$(grep -z "^$name=" "$T/split.out" | tr -d '\0')" = "$(grep -z "^$name=" "$(unit "$ID")/env.out" | tr -d '\0')" ]
        grep -qz "^$name=." "$T/split.out"
    done
}

@test "env prints what the agents have" {
    start_made
    (
        unset MAS_ROOT MAS_TMUX_SOCKET
        eval "$("$MAS" --root "$ROOT" env "$ID")"
        [ "$MAS_ROOT" = "$(agent_has MAS_ROOT)" ]
        [ "$MAS_TMUX_SOCKET" = "$(agent_has MAS_TMUX_SOCKET)" ]
        [ "$MAS_SESSION_MODE" = "$(agent_has MAS_SESSION_MODE)" ]
        [ "$MAS_SESSION_ID" = "$(agent_has MAS_SESSION_ID)" ]
        [ "$MAS_SESSION_DIR" = "$(agent_has MAS_SESSION_DIR)" ]
        [ "$SESSION_NAME" = "$(agent_has SESSION_NAME)" ]
        [ "$UNIT_DIR" = "$(agent_has UNIT_DIR)" ]
        [ "$WORKFLOWS_DIR" = "$(agent_has WORKFLOWS_DIR)" ]
    )
}

@test "nothing of another team that the caller is in reaches the agent" {
    MAS_SESSION_ID=0c0c0c0c-1111-4222-8333-444444444444 MAS_SESSION_DIR=/stranger MAS_AGENT_ID=stranger \
        MAS_AGENT_ROLE=stranger SESSION_NAME=stranger UNIT_DIR=/stranger WORKFLOWS_DIR=/stranger \
        MAS_TMUX_SIZE=100x40 MAS_PRESET=shell MAS_STRANGER=stranger start_made
    run ! grep -aqz stranger "$(unit "$ID")/env.out"
    [ "$(agent_has MAS_SESSION_ID)" = "$ID" ]
    [ "$(agent_has MAS_AGENT_ID)" = solo ]
    # settings of the caller's are no part of the team
    agent_lacks MAS_TMUX_SIZE
    agent_lacks MAS_PRESET
}

@test "a team that was started from within another team is a team of its own" {
    new_session -t solo
    local first=$ID pane
    pane=$(field "$first" '.agents[0].pane')
    tm send-keys -t "$pane" -l "mas new -q -t made >made.tmp; mv made.tmp made.id" \; send-keys -t "$pane" Enter
    eventually test -s "$(unit "$first")/made.id"
    ID=$(cat "$(unit "$first")/made.id")
    eventually test -e "$(unit "$ID")/env.out"
    [ "$(agent_has MAS_SESSION_ID)" = "$ID" ]
    [ "$(agent_has MAS_AGENT_ID)" = solo ]
    ok stop "$first"
    [ "$(field "$ID" .status)" = active ]
    [ "$(field "$ID" .agentsRunning)" = 1 ]
}

@test "the agent finds mas on its PATH, this one" {
    start_made
    [ "$(PATH=$(agent_has PATH) type -P mas)" -ef "$MAS" ]
    [[ $(agent_has PATH) == *"$PATH" ]]
}

@test "mas works from within the agent's environment" {
    new_session -t solo
    local pane
    pane=$(field "$ID" '.agents[0].pane')
    tm send-keys -t "$pane" -l "mas show --json >shown.tmp; mv shown.tmp shown" \; send-keys -t "$pane" Enter
    eventually test -s "$(unit "$ID")/shown"
    [ "$(jq -r .sessionId "$(unit "$ID")/shown")" = "$ID" ]
    [ "$(jq -r .status "$(unit "$ID")/shown")" = active ]
}

@test "a preset's own variables come on top" {
    printf '[preset mine]\ncommand = sh -c "env -0 >env.tmp; mv env.tmp env.out; exec sleep 1000"\nenv.COLOUR = blue\n' >>"$ROOT/mas.ini"
    COLOUR=red start_made --agent mine
    [ "$(agent_has COLOUR)" = blue ]
}

@test "with hardly anything in the environment a team comes up" {
    ID=$(env -i HOME="$HOME" TMUX_TMPDIR="$T" "$MAS" --root "$ROOT" new -q -t solo --no-start)
    sed -i "s|^TMUX_SOCKET=.*|TMUX_SOCKET=$SOCK|" "$ROOT/sessions/$ID/.session"
    run --separate-stderr env -i PATH="$PATH" HOME="$HOME" "$MAS" --root "$ROOT" start "$ID"
    [ "$status" -eq 0 ]
    [ "$(field "$ID" .agentsRunning)" = 1 ]
}

@test "the tmux server's environment holds only what is allowed" {
    SECRET=hunter2 AWS_KEY=x LD_DEBUG_OUTPUT=/x ENV=/x BASH_ENV=/x PYTHONPATH=/x \
        LANG=C XDG_DATA_DIRS=/x DISPLAY=:7 SSH_AUTH_SOCK=/x start_made
    local allowed='^(HOME|PATH|SHELL|USER|LANG|LC_[A-Z]*|TERM|XDG_[A-Z_]*|DBUS_[A-Z_]*|SSH_AUTH_SOCK|DISPLAY|TMUX_TMPDIR|TZ|LOGNAME|PWD)='
    run ! grep -qvzE "$allowed" "/proc/$(server_pid)/environ"
    grep -qz "^HOME=$HOME" "/proc/$(server_pid)/environ"
    grep -qz '^DISPLAY=:7' "/proc/$(server_pid)/environ"
    run ! grep -vE "$allowed" <(tm show-environment -g | grep -v '^TMUX=')
}

@test "the tmux server gets no descriptor of the caller" {
    exec 9>"$T/held"
    exec 8<"$ROOT/mas.ini"
    start_made
    exec 9>&- 8<&-
    run ! grep -qE 'held|mas.ini|/root' <(readlink "/proc/$(server_pid)/fd/"*)
    # nor does the agent
    [ "$(ls "/proc/$(agent_pid "$ID")/fd")" = $'0\n1\n2' ]
    run ! grep -qvE '^/dev/pts/' <(readlink "/proc/$(agent_pid "$ID")/fd/"*)
    # a lock that the caller held would else be held for ever
    flock -n "$T/held" true
}

@test "the tmux server has the hard limit of descriptors" {
    run --separate-stderr bash -c "ulimit -Sn 256 && ulimit -Hn 5000 && '$MAS' new -q -t made"
    [ "$status" -eq 0 ]
    [ "$(awk '/^Max open files/ { print $4, $5 }' "/proc/$(server_pid)/limits")" = '5000 5000' ]
}

@test "signals that the caller ignores are not ignored by the agents" {
    run --separate-stderr bash -c "trap '' HUP INT TERM PIPE QUIT; '$MAS' new -q -t made"
    [ "$status" -eq 0 ]
    ID=$output
    eventually test -e "$(unit "$ID")/env.out"
    # INT is 2, QUIT 3, HUP 1, PIPE 13, TERM 15
    local ignored
    ignored=$(awk '/^SigIgn/ { print $2 }' "/proc/$(agent_pid "$ID")/status")
    [ $((0x$ignored & 0x5007)) -eq 0 ]
    ignored=$(awk '/^SigIgn/ { print $2 }' "/proc/$(server_pid)/status")
    [ $((0x$ignored & 0x4000)) -eq 0 ]
}

@test "[env] says which variables of the caller an agent gets, and gives others" {
    printf '%s\n' '[env]' 'pass = PATH, HOME SHELL KEEP_* ONE' 'remove = *_SECRET' \
        'set.ADDED = new = value' 'set.KEEP_THIS = changed' 'set.X_SECRET = set' >"$ROOT/mas.ini"
    KEEP_THIS=old KEEP_IT=yes KEEP_SECRET=no ONE=1 ONES=no OTHER=no start_made
    [ "$(agent_has KEEP_IT)" = yes ]
    [ "$(agent_has ONE)" = 1 ]
    [ "$(agent_has ADDED)" = 'new = value' ]
    [ "$(agent_has KEEP_THIS)" = changed ]
    [ "$(agent_has X_SECRET)" = set ]
    [ "$(agent_has HOME)" = "$HOME" ]
    agent_lacks KEEP_SECRET
    agent_lacks ONES
    agent_lacks OTHER
    # what mas sets and what belongs to the terminal is not touched
    [ "$(agent_has MAS_SESSION_ID)" = "$ID" ]
    [ "$(agent_has TERM)" = "$(tm show-options -gv default-terminal)" ]
}

@test "a preset's variable goes over that of [env]" {
    printf '%s\n' '[env]' 'set.WHO = env' '[preset shell]' 'env.WHO = preset' >"$ROOT/mas.ini"
    WHO=caller start_made
    [ "$(agent_has WHO)" = preset ]
}

@test "programs are looked for in the PATH that the agents are handed" {
    printf '%s\n' '[env]' 'remove = PATH' 'set.PATH = /nowhere' '[preset p]' 'command = sleep 1000' >"$ROOT/mas.ini"
    fails 1 new -t solo --agent p
    [[ $stderr == "mas: cannot start agent 'solo': preset 'p' needs the program 'sleep', which is missing"* ]]
}

@test "a variable that a preset needs must be there before anything starts" {
    printf '%s\n' '[preset p]' 'command = sleep 1000' 'needs_env = API_KEY, OTHER_KEY' 'env.OTHER_KEY = given' >"$ROOT/mas.ini"
    before=$(snapshot)
    for value in unset empty; do
        unset API_KEY
        [ $value = unset ] || export API_KEY=''
        fails 1 new -t solo --agent p
        [ "$stderr" = "mas: cannot start agent 'solo': preset 'p' needs the variable API_KEY, which is not set
set it in the environment of mas, or in mas.ini: [env] set.API_KEY = ..." ]
    done
    [ "$(snapshot)" = "$before" ]
    API_KEY=k new_session -t solo --agent p
    # what [env] takes away is not there, what it gives is
    printf '%s\n' '[env]' 'remove = API_*' >>"$ROOT/mas.ini"
    API_KEY=k fails 1 new -t solo --agent p
    printf '%s\n' 'set.API_KEY = k' >>"$ROOT/mas.ini"
    ok new -t solo --agent p
}

@test "start --crashed says of each session which variable its preset misses" {
    printf '%s\n' '[preset p]' 'command = sleep 1000' 'needs_env = API_KEY' >"$ROOT/mas.ini"
    a=$(API_KEY=k "$MAS" new -q -t solo --agent p)
    b=$(API_KEY=k "$MAS" new -q -t solo --agent p)
    c=$("$MAS" new -q -t solo)
    tm kill-server
    # shellcheck disable=SC2317
    crashed() { "$MAS" list --json | jq '[.sessions[] | select(.crashed)] | length'; }
    eventually prints 3 crashed
    fails 1 start --crashed
    [ "$output" = "$c started" ]
    for id in "$a" "$b"; do
        grep -qxF "mas: cannot start session '$id': cannot start agent 'solo': preset 'p' needs the variable API_KEY, which is not set" <<<"$stderr"
    done
    API_KEY=k ok start --crashed
    [ "$(wc -l <<<"$output")" -eq 2 ]
    ok start --crashed
    [ -z "$output" ]
}

@test "a restart of an agent whose host was killed looks for what its preset needs" {
    printf '%s\n' '[preset p]' 'command = sleep 1000' 'needs_env = API_KEY' >"$ROOT/mas.ini"
    API_KEY=k new_session -t solo --agent p
    tm set-option -g remain-on-exit on
    eventually test ! -e "$ROOT/sessions/$ID/run/env"
    pane() { tm list-panes -t "=$(tmux_name "$ID"):" -F "#{$1}"; }
    kill -KILL "$(pane pane_pid)"
    # shellcheck disable=SC2016 # expanded each time
    eventually eval '[ "$(pane pane_dead)" = 1 ]'
    fails 1 restart "$ID" solo
    [[ $stderr == *"cannot start agent 'solo': preset 'p' needs the variable API_KEY, which is not set"* ]]
    [ ! -e "$ROOT/sessions/$ID/run/env" ]
    API_KEY=other ok restart "$ID" solo
    agent_pid() { "$MAS" status "$ID" --json | jq -r '[.. | .pid? // empty][0]'; }
    # shellcheck disable=SC2016
    eventually eval 'grep -qzx API_KEY=other "/proc/$(agent_pid)/environ" 2>/dev/null'
}

# A template whose agent writes its environment and then commits in its repository; and a project.
make_committing() {
    # shellcheck source=test/project.bash
    . "$PROJECT/test/project.bash"
    make_project
    # shellcheck disable=SC2016 # for the agent
    sed -i "s|exec sleep|cd \"\$MAS_CODE_DIR\" \&\& git commit -q --allow-empty -m mine \&\& exec sleep|" \
        "$ROOT/templates/made/template.ini"
}

agent_committed() { [ "$(git -C "$(tree_of solo)" log -1 --format=%s)" = mine ]; }

@test "a team that a hook of git starts works in its own repository, as its own author" {
    make_committing
    printf '#!/bin/sh\nexec >"%s/id" 2>"%s/said" 3>&-\nexec "%s" new -q -t made --project .\n' "$T" "$T" "$MAS" \
        >"$P/.git/hooks/post-commit"
    chmod +x "$P/.git/hooks/post-commit"
    git -C "$P" -c alias.mine='!GIT_INDEX_FILE=.git/index git commit -q --allow-empty --author "Other <o@example.org>" -m hooked' \
        mine
    ID=$(cat "$T/id")
    [ -n "$ID" ] || { cat "$T/said"; return 1; }
    eventually agent_committed
    [ "$(git -C "$P" log -1 --format=%s)" = hooked ]
    [ "$(git -C "$(tree_of solo)" log -1 --format='%an %cn')" = 'Person Person' ]
    run ! grep -azE '^GIT_(EDITOR|EXEC_PATH|PREFIX|INDEX_FILE|CONFIG|AUTHOR)' "$(unit "$ID")/env.out"
}

@test "no variable that names a repository reaches an agent, a setup, a check or a git of mas" {
    make_committing
    git init -q "$T/other"
    mkdir "$P/.mas"
    printf '#!/bin/sh\nenv >"%s/setup.env"\n' "$T" >"$P/.mas/setup"
    chmod +x "$P/.mas/setup"
    git -C "$P" add .
    git -C "$P" commit -qm setup
    printf '[code]\ncheck = sh -c "env >%s/check.env"\n' "$T" >>"$ROOT/mas.ini"
    local names bad=()
    names=$(git rev-parse --local-env-vars)
    [ "$(wc -w <<<"$names")" -gt 10 ]
    for name in $names GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_EXEC_PATH GIT_EDITOR; do
        bad+=("$name=$T/other/.git")
    done
    bad+=(GIT_CONFIG_COUNT=1)
    ID=$(env "${bad[@]}" "$MAS" new -q -t made --project "$P" --setup yes)
    eventually agent_committed
    env "${bad[@]}" "$MAS" merge "$ID"
    [ "$(GIT_DIR=$ROOT/sessions/$ID/code.git git log -1 --format=%s)" = mine ]
    [ -s "$T/setup.env" ]
    [ -s "$T/check.env" ]
    run ! grep -aF "$T/other" "$(unit "$ID")/env.out" "$T/setup.env" "$T/check.env"
}
