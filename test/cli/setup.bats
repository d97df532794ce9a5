#!/usr/bin/env bats
load ../helper
load ../host/lib
load ../acp/lib
load code

# The setup of work trees: [code] setup, and the project's .mas/setup, which a person has to allow.

setup_more() {
    make_project
    preset made cat
    # shellcheck disable=SC2034 # read by helper functions
    PANE=
}

# Commits .mas/setup with the text of stdin, mode $1 (755).
commit_setup() {
    mkdir -p "$P/.mas"
    cat >"$P/.mas/setup"
    chmod "${1-755}" "$P/.mas/setup"
    git -C "$P" add -A
    git -C "$P" commit -qm setup
}

# The setup that most tests use: it leaves a mark in $T for each run.
simple_setup() {
    commit_setup <<EOF
#!/bin/sh
echo "\$MAS_AGENT_ID \$PWD" >>"$T/ran"
echo it prints
EOF
}

make_run() {
    ID=$("$MAS" new -q -t solo --agent made --project "$P" "$@" 2>"$T/stderr") || { cat "$T/stderr"; return 1; }
    DIR=$ROOT/sessions/$ID
}

runs_of() { wc -l <"$T/ran" 2>/dev/null || echo 0; }
state_of() { "$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0].state'; }
note_of() { "$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0].note'; }
setup_of() { field "$ID" ".project.setup.$1"; }
is_live() { [[ $(state_of) =~ ^(idle|working)$ ]]; }
answers() { cut -d' ' -f1,2 "$ROOT/sessions/.setup-answers"; }
sum_of() { sha256sum <"$P/.mas/setup" | cut -d' ' -f1; }

# Runs `mas new` with these arguments on a terminal and waits for the question.
ask_new() {
    tm new-session -d -s "$1" -x 150 -y 50 \
        "sh -c '\"\$0\" new -t solo --agent made --no-start --project \"\$1\" --name $1; echo code \$?; sleep 100' '$MAS' '$P'"
}
on_screen() { tm capture-pane -p -t "=$1:" | grep -qF -- "$2"; }

asks_no_more() { ! tm has-session -t =first 2>/dev/null; }
says_hello() { agent_log | grep -q hello; }

@test "the project's setup does not run before a person has allowed it" {
    simple_setup
    make_run
    grep -qF "the project's .mas/setup does not run, because nobody has allowed it; allow it with: mas set $ID setup=yes" "$T/stderr"
    eventually is_live
    [ ! -e "$T/ran" ]
    [ "$(setup_of waits)" = 1 ]
    [ "$(setup_of from)" = project ]
    "$MAS" show "$ID" | grep -qF ".mas/setup: 1 not run, because nobody has allowed it (mas set $ID setup=yes)"
    [ ! -e "$ROOT/sessions/.setup-answers" ]
    # a yes counts from the next start on
    "$MAS" set "$ID" setup=yes
    [ "$(setup_of due)" = 1 ]
    "$MAS" restart "$ID" solo
    eventually prints 1 runs_of
    eventually is_live
    [ "$(cat "$T/ran")" = "solo $DIR/code/solo" ]
    [ "$(cat "$DIR/logs/setup-solo.log")" = 'it prints' ]
    [ "$(setup_of 'done')" = 1 ]
    [ "$(stat -c %a "$ROOT/sessions/.setup-answers")" = 600 ]
    [ "$(answers)" = "$(sum_of) yes" ]
}

@test "it runs once in each work tree, before the agent, and not again after stop, start and restore" {
    simple_setup
    make_run --setup=yes
    eventually is_live
    [ "$(runs_of)" = 1 ]
    "$MAS" restart "$ID" solo
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    eventually is_live
    [ "$(runs_of)" = 1 ]
    "$MAS" stop -q "$ID"
    "$MAS" archive -q "$ID" --rm -o "$T/a.tar.zst"
    "$MAS" restore -q "$T/a.tar.zst"
    "$MAS" start -q "$ID"
    eventually is_live
    [ "$(runs_of)" = 1 ]
    # the next session needs no other answer
    make_run
    [ ! -s "$T/stderr" ]
    eventually prints 2 runs_of
}

@test "each agent that writes has its own run, and the view has none" {
    simple_setup
    make_trio made
    ID=$("$MAS" new -q -t trio --project "$P" --setup=yes)
    eventually prints 3 runs_of
    [ "$(sort "$T/ran" | cut -d' ' -f1 | xargs)" = 'x y z' ]
    eventually prints 3 setup_of 'done'
}

@test "on a terminal a person is asked once, and sees no escape sequence of the script" {
    commit_setup <<EOF
#!/bin/sh
# $(printf '\033]2;title\007\033[2J\033[Hfirst \302\233 line')
touch "$T/ran"
$(for i in {1..30}; do echo "# line $i"; done)
EOF
    ask_new first
    eventually on_screen first 'May it run?'
    on_screen first '#!/bin/sh'
    on_screen first '\x1b]2;title\x07\x1b[2J\x1b[Hfirst'
    on_screen first '... and 13 more lines'
    run ! on_screen first '# line 18'
    tm send-keys -t =first: Enter
    eventually on_screen first 'code 0'
    [ ! -e "$ROOT/sessions/.setup-answers" ]
    on_screen first 'nobody has allowed it'
    # not answered: asked again; an answer is kept
    ask_new second
    eventually on_screen second 'May it run?'
    tm send-keys -t =second: n Enter
    eventually on_screen second 'code 0'
    [ "$(answers)" = "$(sum_of) no" ]
    [ "$(field second .project.setup.declined)" = 1 ]
    ask_new third
    eventually on_screen third 'code 0'
    run ! on_screen third 'May it run?'
    # other content is another question
    echo '# more' | cat "$P/.mas/setup" - >"$T/new"
    commit_setup <"$T/new"
    ask_new fourth
    eventually on_screen fourth 'May it run?'
    tm send-keys -t =fourth: y Enter
    eventually on_screen fourth 'code 0'
    [ "$(answers | tail -1)" = "$(sum_of) yes" ]
    [ "$(field fourth .project.setup.due)" = 1 ]
    [ ! -e "$T/ran" ]
}

@test "Ctrl-C at the question makes no session" {
    simple_setup
    before=$(snapshot | grep -v sessions.index)
    ask_new first
    eventually on_screen first 'May it run?'
    tm send-keys -t =first: C-c
    eventually asks_no_more
    # shellcheck disable=SC2317
    is_as_before() { [ "$(snapshot | grep -v sessions.index)" = "$before" ]; }
    eventually is_as_before
}

@test "no is an answer, and --setup=no is one for this session only" {
    simple_setup
    make_run --setup=no
    [ ! -s "$T/stderr" ]
    eventually is_live
    [ "$(setup_of declined)" = 1 ]
    [ ! -e "$ROOT/sessions/.setup-answers" ]
    make_run
    "$MAS" set -q "$ID" setup=no
    [ "$(answers)" = "$(sum_of) no" ]
    make_run
    [ ! -s "$T/stderr" ]
    "$MAS" restart "$ID" solo
    eventually is_live
    [ ! -e "$T/ran" ]
    fails 2 set "$ID" setup=maybe
    fails 2 new -t solo --project "$P" --setup=perhaps
    [[ $stderr == *"cannot use --setup 'perhaps'"* ]]
}

@test "an agent allows nothing, and its session runs only what a person has allowed" {
    simple_setup
    export MAS_AGENT_ID=solo
    fails 1 new -t solo --no-start --project "$P" --setup=yes
    [[ $stderr == *"an agent may not decide this"* ]]
    ID=$("$MAS" new -q -t solo --no-start --project "$P")
    fails 1 set "$ID" setup=yes
    [ ! -e "$ROOT/sessions/.setup-answers" ]
    unset MAS_AGENT_ID
    # nor below an agent that hides it
    cat >"$T/try" <<EOF
#!/bin/sh
env -u MAS_SOCKET -u MAS_AGENT_ID -u MAS_SESSION_ID "$MAS" set $ID setup=yes >"$T/out" 2>&1
echo \$? >"$T/code"
exec cat
EOF
    chmod +x "$T/try"
    preset trying "$T/try"
    "$MAS" new -q -t solo --agent trying >/dev/null
    eventually test -s "$T/code"
    [ "$(cat "$T/code")" = 1 ]
    grep -q 'an agent may not decide this' "$T/out"
    [ ! -e "$ROOT/sessions/.setup-answers" ]
}

@test "a setup that fails keeps the agent from starting, and a restart tries again" {
    commit_setup <<EOF
#!/bin/sh
echo "\$MAS_AGENT_ID" >>"$T/ran"
echo 'it is broken' >&2
[ -e "$T/mended" ] || exit 3
EOF
    make_run --setup=yes
    eventually prints exited state_of
    [ "$(note_of)" = 'the setup of its work tree failed with exit code 3, see logs/setup-solo.log' ]
    grep -q 'it is broken' "$DIR/logs/setup-solo.log"
    [ "$(runs_of)" = 1 ]
    [ "$(setup_of due)" = 1 ]
    "$MAS" restart "$ID" solo
    eventually prints 2 runs_of
    eventually prints exited state_of
    touch "$T/mended"
    "$MAS" restart "$ID" solo
    eventually is_live
    [ "$(runs_of)" = 3 ]
    [ "$(setup_of 'done')" = 1 ]
}

@test "a setup that takes too long is ended with all that it has started" {
    printf '[code]\nsetup_timeout = 500ms\n' >>"$ROOT/mas.ini"
    commit_setup <<EOF
#!/bin/sh
(setsid sh -c 'trap "" HUP TERM; sleep $MARK' &)
sleep $MARK
EOF
    printf '[stop]\nterminate = 1\n' >>"$ROOT/mas.ini"
    make_run --setup=yes
    eventually prints exited state_of
    [ "$(note_of)" = 'the setup of its work tree takes longer than [code] setup_timeout, see logs/setup-solo.log' ]
    eventually marked_are 0
    [ "$(setup_of due)" = 1 ]
}

@test "while it runs the agent is starting; stop ends it, and the next start runs it again" {
    commit_setup <<EOF
#!/bin/sh
echo x >>"$T/ran"
[ -e "$T/go" ] || exec sleep $MARK
EOF
    make_run --setup=yes
    eventually marked_are 1
    [ "$(state_of)" = starting ]
    [ "$(note_of)" = 'runs the setup of its work tree' ]
    # a message waits for the agent
    "$MAS" send "$ID" solo hello
    "$MAS" stop -q "$ID"
    marked_are 0
    touch "$T/go"
    "$MAS" start -q "$ID"
    eventually is_live
    eventually says_hello
    [ "$(runs_of)" = 2 ]
}

@test "a host that is killed in the middle takes the setup along, and it is not taken as done" {
    commit_setup <<EOF
#!/bin/sh
echo x >>"$T/ran"
[ -e "$T/go" ] || exec sleep $MARK
EOF
    make_run --setup=yes
    eventually marked_are 1
    kill -KILL "$(pgrep -f "mas host $ID solo" | head -1)"
    eventually marked_are 0
    [ "$(setup_of due)" = 1 ]
    touch "$T/go"
    "$MAS" restart "$ID" solo
    eventually is_live
    [ "$(runs_of)" = 2 ]
}

@test "what it leaves running is ended before the agent starts" {
    commit_setup <<EOF
#!/bin/sh
sleep $MARK >/dev/null 2>&1 &
EOF
    make_run --setup=yes
    eventually is_live
    marked_are 0
}

@test "[code] setup of mas.ini runs without a question, instead of the project's" {
    simple_setup
    # shellcheck disable=SC2016 # for the shell that is the setup
    printf '[code]\nsetup = sh -c "echo set in $PWD >>%s"\n' "'$T/set'" >>"$ROOT/mas.ini"
    make_run
    eventually is_live
    [ "$(cat "$T/set")" = "set in $DIR/code/solo" ]
    [ ! -e "$T/ran" ]
    [ "$(field "$ID" '.project.setup | "\(.from) \(.done)"')" = 'setting 1' ]
    "$MAS" restart "$ID" solo
    eventually is_live
    [ "$(wc -l <"$T/set")" = 1 ]
}

@test "[code] setup of mas.ini that is no program is told, and the agent does not start" {
    simple_setup
    printf '[code]\nsetup = no-such-setup --more\n' >>"$ROOT/mas.ini"
    make_run
    eventually prints exited state_of
    grep -q "cannot run the setup: there is no program 'no-such-setup'" "$DIR/logs/setup-solo.log"
}

@test "a script that is a link, not executable, too large or no program is told, and runs nothing" {
    echo "touch $T/ran" | commit_setup 644
    make_run --no-start --setup=yes
    grep -qF "the project's .mas/setup does not run: it is not executable" "$T/stderr"
    [ "$(field "$ID" .project.setup)" = null ]
    rm "$P/.mas/setup"
    ln -s /bin/true "$P/.mas/setup"
    git -C "$P" add -A && git -C "$P" commit -qm link
    make_run --no-start --setup=yes
    grep -qF 'does not run: it is not a regular file' "$T/stderr"
    rm "$P/.mas/setup"
    { echo '#!/bin/sh'; head -c 300000 /dev/zero | tr '\0' '#'; } | commit_setup
    make_run --no-start --setup=yes
    grep -qF 'does not run: it is larger than 256 KiB' "$T/stderr"
    echo 'touch no-interpreter' | commit_setup
    make_run --setup=yes
    eventually prints exited state_of
    grep -q 'a script needs a first line' "$DIR/logs/setup-solo.log"
    [ ! -e "$T/ran" ]
}

@test "another script than the allowed one does not run, whoever put it there" {
    simple_setup
    make_run
    eventually is_live
    echo "touch $T/bad" >>"$DIR/code/solo/.mas/setup"
    "$MAS" set -q "$ID" setup=yes
    [ "$(setup_of changed)" = 1 ]
    "$MAS" restart "$ID" solo
    eventually is_live
    [ ! -e "$T/ran" ]
    [ ! -e "$T/bad" ]
    # a forged record names a script that nobody has allowed
    sum=$(sha256sum <"$DIR/code/solo/.mas/setup" | cut -d' ' -f1)
    sed -i "s/^HASH=.*/HASH=$sum/" "$DIR/code.git/setup/.script"
    [ "$(setup_of waits)" = 1 ]
    "$MAS" restart "$ID" solo
    eventually is_live
    [ ! -e "$T/bad" ]
    # a link out
    rm "$DIR/code/solo/.mas/setup"
    git -C "$P" show HEAD:.mas/setup >"$T/script"
    ln -s "$T/script" "$DIR/code/solo/.mas/setup"
    sed -i "s/^HASH=.*/HASH=$(sum_of)/" "$DIR/code.git/setup/.script"
    [ "$(setup_of changed)" = 1 ]
}

@test "answers that others can write are not believed" {
    simple_setup
    make_run --setup=yes
    eventually is_live
    chmod 644 "$ROOT/sessions/.setup-answers"
    fails 5 new -t solo --no-start --project "$P"
    [[ $stderr == *"it is not a file that only you can read and write"* ]]
    rm "$ROOT/sessions/.setup-answers"
    ln -s "$T/elsewhere" "$ROOT/sessions/.setup-answers"
    fails 5 new -t solo --no-start --project "$P"
    rm "$ROOT/sessions/.setup-answers"
    printf 'damage\n%s yesterday\n\0\n' "$(sum_of)" >"$ROOT/sessions/.setup-answers"
    chmod 600 "$ROOT/sessions/.setup-answers"
    make_run --no-start
    grep -q 'nobody has allowed it' "$T/stderr"
}

@test "uncommitted changes of the script are what is asked for with --with-changes" {
    simple_setup
    printf '#!/bin/sh\necho changed >>%s/ran\n' "$T" >"$P/.mas/setup"
    make_run --with-changes --setup=yes
    eventually is_live
    [ "$(cat "$T/ran")" = changed ]
    [ "$(answers)" = "$(sum_of) yes" ]
}

@test "what the setup makes and git ignores is no work until it is changed" {
    printf 'deps/\n' >"$P/.gitignore"
    commit_setup <<'EOF'
#!/bin/sh
mkdir -p deps/bin
for i in $(seq 300); do echo "$i" >"deps/$i"; done
ln -s ../1 deps/bin/one
echo by hand >deps/late
EOF
    make_run --setup=yes
    eventually is_live
    "$MAS" stop -q "$ID"
    cp -a "$DIR/code/solo/deps" "$T/deps"
    # other content, another target, another file
    for way in 'echo x >deps/7' 'ln -sfn ../2 deps/bin/one' 'echo new >deps/new'; do
        (cd "$DIR/code/solo" && eval "$way")
        fails 4 rm "$ID"
        [[ $stderr == *"solo: 1 file ignored by git: deps/"* ]]
        rm -rf "$DIR/code/solo/deps"
        cp -a "$T/deps" "$DIR/code/solo/deps"
    done
    ok rm "$ID"
}

@test "a prompt to an ACP agent waits until the setup has ended, and is answered then" {
    commit_setup <<EOF
#!/bin/sh
echo x >>"$T/ran"
until [ -e "$T/go" ]; do sleep 0.05; done
EOF
    acp_preset scripted
    ID=$("$MAS" new -q -t solo --agent scripted --project "$P" --setup=yes)
    DIR=$ROOT/sessions/$ID
    eventually prints 1 runs_of
    "$MAS" ask "$ID" solo hello >"$T/answer" 2>&1 3>&- &
    asked=$!
    # shellcheck disable=SC2317
    waits() { [ "$("$MAS" status "$ID" --json | jq '.sessions[0].agents[0].queued')" = 1 ]; }
    eventually waits
    [ "$(state_of)" = starting ]
    [ ! -e "$TRACE" ]
    touch "$T/go"
    wait "$asked"
    [ -s "$T/answer" ]
    [ "$(setup_of 'done')" = 1 ]
}
