#!/usr/bin/env bats
# `mas merge` brings what agents have committed together, or says why not and moves nothing.
load ../helper
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/code.bash"

setup_more() {
    make_project
    make_trio
}

@test "the first branch moves forward, the next makes a merge commit, and the view follows" {
    make_team -t trio
    change x a 1 one
    change x a 2 two
    change y b 1 one
    ok merge "$ID" x y
    [ "$output" = "x: 2 commits merged into mas/$L/main
y: 1 commit merged into mas/$L/main" ]
    [ -z "$stderr" ]
    [ "$(team_git log --merges --format=%s "mas/$L/main")" = "Merge mas/$L/y" ]
    [ "$(team_git log --format=%an -1 "mas/$L/main")" = Person ]
    [ "$(team_git rev-list --count "mas/$L/main")" = 5 ]
    [ "$(head -n 1 "$C/view/a")$(head -n 1 "$C/view/b")" = oneone ]
    [ "$(cat "$G/worktrees/view/HEAD")" = "$(main_of)" ]
    whole
}

@test "merge and sync wait for who works with the repositories of the team" {
    local lock pid before
    make_team -t trio
    change x a 1 one
    lock=$ROOT/sessions/$ID/code.locks/mas.lock
    "$MAS" merge -q "$ID" y # which makes it
    before=$(main_of)
    for verb in merge sync; do
        exec 8>"$lock"
        flock 8
        "$MAS" "$verb" -q "$ID" x 3>&- 8>&- >"$T/out" 2>&1 &
        pid=$!
        waits() { find "/proc/$pid/fd" -lname "$lock" 2>/dev/null | grep -q . || ! kill -0 "$pid"; }
        eventually waits
        kill -0 "$pid" # it has not ended
        [ "$(main_of)" = "$before" ]
        exec 8>&-
        wait "$pid" || { cat "$T/out"; return 1; }
        before=$(main_of)
    done
    [ "$(team_git show "$before:a" | head -n 1)" = one ]
}

@test "agents are merged in the order in which they are named" {
    make_team -t trio
    change x a 1 one
    change y b 1 two
    change z c 1 three
    ok merge "$ID" z x
    [ "$output" = "z: 1 commit merged into mas/$L/main
x: 1 commit merged into mas/$L/main" ]
    mas merge "$ID" y,workers
    [ "${lines[0]}" = "y: 1 commit merged into mas/$L/main" ]
    [ "$(team_git log --format=%s --first-parent -2 "mas/$L/main")" = "Merge mas/$L/y
Merge mas/$L/x" ]
}

@test "nothing to merge is no error and moves nothing; -q prints nothing" {
    make_team -t trio
    before=$(main_of)
    ok merge "$ID" x
    [ "$output" = 'x: nothing to merge' ]
    change y a 3 three
    ok merge -q "$ID" y
    [ -z "$output$stderr" ]
    [ "$(main_of)" != "$before" ]
}

@test "a conflict moves nothing, is exit 4 and names the files" {
    make_team -t trio
    change x a 1 mine
    change y a 1 yours
    echo new >"$C/y/n" && git -C "$C/y" add n && git -C "$C/y" commit -qm n
    "$MAS" merge -q "$ID" x
    before=$(main_of)
    fails 4 merge "$ID" y
    [ -z "$output" ]
    [ "${stderr_lines[0]}" = "mas: cannot merge agent 'y': it conflicts in a; there it was changed by: $(
        git -C "$C/x" rev-parse HEAD | cut -c1-12) (agent x) 'x: mine'" ]
    [[ $stderr == *'git fetch team && git merge team/main'* ]]
    [ "$(main_of)" = "$before" ]
    [ ! -e "$C/view/n" ]
    # what the hint says helps
    git -C "$C/y" fetch -q team
    run ! git -C "$C/y" merge -q team/main
    git -C "$C/y" checkout -q --ours a && git -C "$C/y" commit -qam merged
    ok merge "$ID" y
    [ "$(head -n 1 "$C/view/a")" = yours ]
    whole
}

@test "a conflict names the commits of the other side, and whose they are, also after merges" {
    make_team -t trio
    sed -i '1,3s/.*/z/' "$C/z/a" && sed -i 5s/.*/z/ "$C/z/b" && git -C "$C/z" commit -qam z
    change x a 1 "$(printf 'x\033[31m1')"
    "$MAS" merge -q "$ID" x
    change y b 5 y1
    "$MAS" merge -q "$ID" y
    "$MAS" sync -q "$ID" x
    change x a 1 x2
    change x c 1 other
    "$MAS" merge -q "$ID" x
    git -C "$P" commit -q --allow-empty -m person && sed -i '3s/.*/person/' "$P/a" && git -C "$P" commit -qam 'By hand'
    "$MAS" sync -q "$ID" --project
    fails 4 merge "$ID" z
    of() { team_git log --abbrev=12 --format=%h --fixed-strings --grep="$1" "mas/$L/main"; }
    [[ ${stderr_lines[0]} == "mas: cannot merge agent 'z': it conflicts in a, b; there it was changed by: "* ]]
    for one in "$(of 'By hand') 'By hand'" "$(of 'x: x2') (agent x) 'x: x2'" \
        "$(of '[31m1') (agent x) 'x: x\\x1b[31m1'" "$(of 'y: y1') (agent y) 'y: y1'"; do
        [[ "${stderr_lines[0]}; " == *"$one; "* ]]
    done
}

@test "of several agents, one that conflicts does not keep back the others" {
    make_team -t trio
    change x a 1 mine
    change y a 1 yours
    change z b 1 other
    fails 4 merge "$ID" x y z
    [ "$output" = "x: 1 commit merged into mas/$L/main
z: 1 commit merged into mas/$L/main" ]
    [[ $stderr == "mas: cannot merge agent 'y': it conflicts in a"* ]]
    whole
}

@test "what is merged is the agent's own branch, whatever it has checked out" {
    make_team -t trio
    change x a 1 one
    git -C "$C/x" checkout -q --detach
    change x a 2 detached
    git -C "$C/y" checkout -q -b other
    change y b 1 other
    ok merge "$ID" x y
    [ "${lines[0]}" = "x: 1 commit merged into mas/$L/main" ]
    [ "${lines[1]}" = 'y: nothing to merge' ]
    [ "$(sed -n 2p "$C/view/a")" = 'a 2' ]
    # also if it is packed
    git -C "$C/y" branch -f "mas/$L/y" other
    git -C "$C/y" pack-refs --all
    mas merge "$ID" y
    [ "$output" = "y: 1 commit merged into mas/$L/main" ]
    # packed and a file: the file counts
    git -C "$C/y" checkout -q "mas/$L/y"
    change y b 2 later
    mas merge "$ID" y
    [ "$output" = "y: 1 commit merged into mas/$L/main" ]
}

@test "a branch that was deleted is said, and nothing that was merged is lost" {
    make_team -t trio
    change x a 1 one
    "$MAS" merge -q "$ID" x
    before=$(main_of)
    git -C "$C/x" checkout -q --detach
    git -C "$C/x" branch -qD "mas/$L/x"
    fails 5 merge "$ID" x
    [ "${stderr_lines[0]}" = "mas: cannot merge agent 'x': its branch 'mas/$L/x' is gone" ]
    [ "$(main_of)" = "$before" ]
}

@test "every kind of file and change arrives as it is" {
    make_team -t trio
    cd "$C/x"
    nl=$'new\nline' esc=$'esc\033]0;x\a'
    echo 1 >"$nl"
    echo 2 >"$esc"
    echo 3 >'with space'
    echo 4 >'-dash'
    echo 5 >$'bad\377utf'
    printf 'a\0b\377' >binary
    printf 'dos\r\nlines\r\n' >crlf
    printf 'no newline' >bare
    ln -s /nowhere/at/all link
    git mv b renamed
    chmod +x c
    git rm -q a
    head -c 10000000 /dev/urandom >large
    mkdir deep && echo d >deep/d
    : >empty
    git add -A && git commit -qm kinds
    change y c 3 three
    ok merge "$ID" x y
    cmp large "$C/view/large"
    [ "$(readlink "$C/view/link")" = /nowhere/at/all ]
    [ -x "$C/view/c" ]
    [ ! -e "$C/view/a" ]
    [ ! -e "$C/view/b" ]
    [ "$(sed -n 3p "$C/view/c")" = three ]
    for name in "$nl" "$esc" 'with space' '-dash' $'bad\377utf' binary crlf bare renamed empty deep/d; do
        cmp -- "./$name" "$C/view/$name"
    done
    whole
    # names in a conflict end no line and move no terminal
    echo theirs >"$C/z/$esc"
    git -C "$C/z" add -A && git -C "$C/z" commit -qm z
    fails 4 merge "$ID" z
    [ "${stderr_lines[0]}" = "mas: cannot merge agent 'z': it conflicts in 'esc\\x1b]0;x\\x07'; there it was changed by: $(
        git -C "$C/x" rev-parse HEAD | cut -c1-12) (agent x) kinds" ]
}

@test "a view that was changed is left alone with a warning, and follows later" {
    make_team -t trio
    change x a 1 one
    echo mine >"$C/view/a"
    ok merge "$ID" x
    [[ $stderr == 'mas: warning: cannot update the view of the project: '* ]]
    [ "$(cat "$C/view/a")" = mine ]
    git -C "$P" show HEAD:a >"$C/view/a"
    touch -d '1 hour ago' "$C/view/a"
    change x b 1 two
    ok merge "$ID" x
    [ -z "$stderr" ]
    [ "$(head -n 1 "$C/view/a")$(head -n 1 "$C/view/b")" = onetwo ]
    # an untracked file that is in the way is no different
    echo new >"$C/x/n" && git -C "$C/x" add n && git -C "$C/x" commit -qm n
    echo mine >"$C/view/n"
    ok merge "$ID" x
    [ "$(cat "$C/view/n")" = mine ]
    [[ $stderr == *'cannot update the view'* ]]
}

@test "a change in the view that git does not see is not overwritten" {
    make_team -t trio
    change x a 1 one
    local text size=
    text=$(sed '1s/.*/XXX/' "$C/view/a")
    size=$(stat -c %s "$C/view/a")
    # the same size, and the time that the index knows
    touch -r "$C/view/a" "$T/time"
    printf '%s\n' "$text" | head -c "$size" >"$C/view/a"
    touch -r "$T/time" "$C/view/a"
    [ "$(stat -c %s "$C/view/a")" = "$size" ]
    ok merge "$ID" x
    [ "$stderr" = "mas: warning: cannot update the view of the project: 'a' was changed there" ]
    [ "$(head -n 1 "$C/view/a")" = XXX ]
}

@test "agents without a repository, no agent, and no project are said" {
    make_team -t trio
    fails 2 merge "$ID" w
    [[ $stderr == "mas: cannot run 'merge': agent 'w' has no repository of its own"* ]]
    ok merge "$ID" all
    [ "${#lines[@]}" = 3 ]
    fails 2 merge "$ID"
    [[ $stderr == "mas: cannot run 'merge': it needs an AGENT"$'\n'* ]]
    fails 3 merge "$ID" nobody
    other=$("$MAS" new -q --no-start -t solo)
    fails 4 merge "$other" solo
    [[ $stderr == *"has no project"* ]]
}

@test "a conflict is told to the agent whose branch it is, also if it does not run yet" {
    cat >>"$ROOT/mas.ini" <<END
[preset keeper]
command = sh -c 'while IFS= read -r line; do printf "%s\n" "\$line" >>"$T/heard.\$MAS_AGENT_ID"; done'
executes = no
END
    make_trio keeper
    make_team -t trio
    change x a 1 mine
    change y a 1 yours
    fails 4 merge "$ID" x y
    [[ $stderr != *warning* ]]
    [ ! -e "$T/heard.y" ]
    "$MAS" start -q "$ID"
    eventually grep -q 'Your branch was not merged: it conflicts' "$T/heard.y"
    [ "$(wc -l <"$T/heard.y")" = 1 ]
    grep -qE "mas/$L/main, in: a; there it was changed by: [0-9a-f]{12} \(agent x\) 'x: mine'\. Run in" "$T/heard.y"
    # a running one hears at once
    fails 4 merge "$ID" y
    eventually prints 2 eval "wc -l <'$T/heard.y'"
    # an agent that runs it itself knows already
    MAS_SESSION_ID=$ID MAS_AGENT_ID=y fails 4 merge
    "$MAS" send "$ID" y last
    eventually grep -q last "$T/heard.y"
    [ "$(wc -l <"$T/heard.y")" = 3 ]
    [ ! -e "$T/heard.x" ]
}

@test "an agent that executes what it is sent is shown a conflict, and nothing of it runs" {
    make_trio
    make_team -t trio
    local name="a';touch PWNED;#"
    for agent in x y; do
        echo "$agent" >"$C/$agent/$name"
        git -C "$C/$agent" add . && git -C "$C/$agent" commit -qm "$agent"
    done
    # one that does not run yet is shown it when it starts
    fails 4 merge "$ID" x y
    [[ $stderr == *"it conflicts in 'a'\\'';touch PWNED;#'"* ]]
    [[ $stderr != *warning* ]]
    "$MAS" start -q "$ID"
    shown() { "$MAS" logs "$ID" y | tr -d '\r' | grep -c '\[mas: Your branch was not merged' || :; }
    eventually prints 1 shown
    # one that runs is shown it at once
    fails 4 merge "$ID" y
    [ "$(shown)" = 2 ]
    # what is sent next is a command of its own
    # shellcheck disable=SC2016 # for that shell
    "$MAS" send "$ID" y 'echo done >"$HOME/next"'
    eventually test -s "$HOME/next"
    [ "$(find "$T" -name 'PWNED*')" = '' ]
    run -0 "$MAS" history --json "$ID" y
    jq -e '[.messages[] | select(.role == "note" and (.text | startswith("Your branch was not merged")))] | length == 2' \
        <<<"$output"
    grep -c 'to=y .*outcome=shown' "$ROOT/sessions/$ID/logs/session.log" | grep -qx 2
    grep -q 'to=y .*outcome=delivered' "$ROOT/sessions/$ID/logs/session.log"
}

@test "an agent merges itself, and others only if it may write to them" {
    make_team -t trio
    change x a 1 one
    change y b 1 two
    change z c 1 three
    MAS_SESSION_ID=$ID MAS_AGENT_ID=x ok merge
    [ "$output" = "x: 1 commit merged into mas/$L/main" ]
    MAS_SESSION_ID=$ID MAS_AGENT_ID=x fails 1 merge y
    [[ $stderr == "mas: cannot merge agent 'y': the rule for a worker"* ]]
    MAS_SESSION_ID=$ID MAS_AGENT_ID=w ok merge y z
    other=$ID
    make_team -t trio
    MAS_SESSION_ID=$ID MAS_AGENT_ID=w fails 1 merge "$other" y
    [[ $stderr == *'only to its own team'* ]]
}

@test "a check has to succeed on the new commit before the branch moves" {
    make_team -t trio
    cat >"$T/check" <<'END'
echo "branch $MAS_CODE_BRANCH"
[ "$MAS_CODE_DIR" = "$PWD" ] || exit 9
seq 1 30
(sleep 1371 &) # does not outlive the check
head -n 1 a b
[ "$(head -n 1 a)" != bad ]
END
    printf '[code]\ncheck = sh "%s" "two words"\n' "$T/check" >>"$ROOT/mas.ini"
    change x b 1 one
    ok merge "$ID" x
    [[ $stderr != *warning* ]] # there is no wall, and none is asked for
    grep -qx "branch mas/$L/main" "$ROOT/sessions/$ID/logs/check.log"
    before=$(main_of)
    change y a 1 bad
    change z c 1 three
    fails 1 merge "$ID" y z
    [ "$output" = "z: 1 commit merged into mas/$L/main" ]
    [[ $stderr == *$'\nbad\n'* ]]
    [[ $stderr == *"mas: cannot merge agent 'y': [code] check failed: it ended with exit code 1"* ]]
    [[ $stderr != *$'\n18\n'* ]]
    [ "$(team_git rev-list --count "$before..$(main_of)")" = 2 ]
    [ "$(head -n 1 "$C/view/a")" = 'a 1' ]
    run ! pgrep -f 'sleep 137[1]'
    whole
    # one that takes too long, and one that cannot be run
    printf 'exec sleep 500\n' >"$T/check"
    printf 'check_timeout = 300ms\n' >>"$ROOT/mas.ini"
    change y a 1 good
    fails 1 merge "$ID" y
    [[ $stderr == *'it takes longer than'* ]]
    sed -i 's|^check = .*|check = /nowhere/at/all|' "$ROOT/mas.ini"
    fails 1 merge "$ID" y
    [[ $stderr == *'[code] check failed: it ended with exit code 127'* ]]
    [ "$(team_git rev-list --count "$before..$(main_of)")" = 2 ]
    ok sync "$ID" y
}

@test "a branch that moves while the check runs is not taken back" {
    local pid new rc=0
    make_team -t trio
    printf ': >"%s/checking"\nwhile [ ! -e "%s/go" ]; do sleep 0.05; done\n' "$T" "$T" >"$T/check"
    printf '[code]\ncheck = sh "%s"\n' "$T/check" >>"$ROOT/mas.ini"
    change x b 1 one
    "$MAS" merge -q "$ID" x >"$T/out" 2>&1 3>&- &
    pid=$!
    eventually test -e "$T/checking"
    new=$(team_git commit-tree -p "$(main_of)" -m other "$(main_of)^{tree}")
    team_git update-ref "refs/heads/mas/$L/main" "$new"
    touch "$T/go"
    wait "$pid" || rc=$?
    [ "$rc" -eq 1 ]
    [ "$(main_of)" = "$new" ]
    "$MAS" merge -q "$ID" x
    [ "$(team_git show "$(main_of):b" | head -n 1)" = one ]
    team_git merge-base --is-ancestor "$new" "$(main_of)"
}

@test "13 agents commit while merge runs in a loop: everything arrives, and one conflict is refused" {
    mkdir -p "$ROOT/templates/many/workflows"
    {
        printf '[template]\ndescription = many\npreset = shell\n[window w]\nlayout = tiled\nagents = '
        seq -s ', ' -f 'n%g' 1 13
        for i in {1..13}; do
            mkdir -p "$ROOT/templates/many/unit/n$i"
            echo x >"$ROOT/templates/many/unit/n$i/AGENTS.md"
            printf '[agent n%s]\nrole = r\nrank = worker\ngroup = g\npreset =\ncode = worktree\nmodel =\n' "$i"
        done
        printf '[rules]\nworker = unit\n'
    } >"$ROOT/templates/many/template.ini"
    echo flow >"$ROOT/templates/many/workflows/flow.md"
    make_team -t many
    pids=()
    for i in {1..13}; do
        for j in {1..20}; do
            echo "$j" >"$C/n$i/own$i"
            git -C "$C/n$i" add "own$i" && git -C "$C/n$i" commit -qm "n$i $j" || exit 1
        done 3>&- &
        pids+=("$!")
    done
    for _ in 1 2 3; do
        "$MAS" merge -q "$ID" all
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
    "$MAS" merge -q "$ID" all
    [ "$(team_git rev-list --no-merges --count "mas/$L/main" ^refs/mas/base)" = 260 ]
    # 12 apart and one in conflict
    for i in {1..13}; do
        git -C "$C/n$i" fetch -q team && git -C "$C/n$i" merge -q --ff-only team/main
        change "n$i" "$([ "$i" = 13 ] && echo own1 || echo "own$i")" 1 "last $i"
    done
    fails 4 merge "$ID" all
    [ "${#lines[@]}" = 12 ]
    [[ $stderr == "mas: cannot merge agent 'n13': it conflicts in own1"* ]]
    whole
}

@test "a full disk is said as such, and nothing is called damaged" {
    need_mounts
    make_team -t trio
    head -c 200000 /dev/urandom >"$C/x/large"
    git -C "$C/x" add large && git -C "$C/x" commit -qm large
    # shellcheck disable=SC2016 # expanded by the other shell
    run --separate-stderr with_mounts sh -ec 'cp -a "$1" "$1.all"
        mount -t tmpfs -o size=8m none "$1"; cp -a "$1.all/." "$1"; rm -rf "$1.all"
        for left in 1 5 9 40 48; do
            dd if=/dev/zero of="$1/filler" bs=4k 2>/dev/null || true
            truncate -s "-$((left * 4096))" "$1/filler"
            rc=0; "$2" merge "$3" x 2>"$4" >&2 || rc=$?
            tail -n 1 "$4" >&2
            rm "$1/filler"
            [ "$rc" -eq 1 ] || { echo "$left: $rc"; cat "$4"; exit 1; }
            grep -q "No space left on device" "$4"
        done
        "$2" merge "$3" x' sh "$G" "$MAS" "$ID" "$T/err"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$output" = "x: 1 commit merged into mas/$L/main" ]
}

@test "what is kept for several projects of one session disturbs nothing" {
    make_team -t trio
    config=$ROOT/sessions/$ID/config.json
    jq -c '.projects = [{"name":"lib","path":"/lib","onto":"refs/heads/main","base":"x","label":"y"}]' "$config" >"$T/c" &&
        cat "$T/c" >"$config"
    mkdir -p "$C/lib.git/objects" "$C/x/lib"
    [ "$(field "$ID" .project.path)" = "$P" ]
    change x a 1 one
    ok merge "$ID" x
    ok diff "$ID" x
    ok start -q "$ID"
    ok stop -q "$ID"
}
