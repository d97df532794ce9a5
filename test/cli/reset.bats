#!/usr/bin/env bats
# `mas reset` brings an agent's work tree back to the integration branch, and loses nothing.
# shellcheck disable=SC2016 # for eventually
load ../helper
load ../project

setup_more() { make_project; }

one() { new_session --name one -t solo --project "$P" "$@"; }
in_tree() { git -C "$(tree_of solo)" "$@"; }
is_reset() { [ -z "$(in_tree status --porcelain --ignored)" ] && [ "$(in_tree rev-parse HEAD)" = "$(in_tree rev-parse team/main)" ]; }
kept() { find "$ROOT/lost" -name "$ID-solo-*.tar.zst" 2>/dev/null; }

@test "the tree is that of the integration branch, and what was there is kept in lost" {
    one --no-start
    commit solo c committed
    ok merge one
    commit solo c 'not merged'
    echo changed >"$(tree_of solo)/a"
    echo new >"$(tree_of solo)/new"
    ok reset one solo
    [[ $output == "solo reset"$'\n'"its work is kept; bring it back with: mas restore --new-id --name NAME $ROOT/lost/$ID-solo-"* ]]
    in_tree fetch -q team
    is_reset
    [ "$(cat "$(tree_of solo)/c")" = committed ]
    [ "$(in_tree branch --show-current)" = mas/one/solo ]
    # the archive and the project have all of it
    "$MAS" restore -q --new-id --name back "$(kept)"
    [ "$(cat "$ROOT/sessions/$(field back .sessionId)/code/solo/new")" = new ]
    [ "$(git -C "$P" show "refs/mas/lost/$ID/solo/work:a")" = changed ]
    ok doctor
}

@test "nothing to lose, nothing kept; an agent that runs goes on with what it knows" {
    quick_idle
    one
    ok wait one solo --for idle
    pid=$(agent_pid one solo)
    ok reset one
    [ "$output" = 'solo reset and started again' ]
    [ -z "$(kept)" ]
    eventually eval '[ "$(agent_pid one solo)" != "$pid" ]'
    run ! kill -0 "$pid"
    # in the new tree
    [ "$(readlink "/proc/$(agent_pid one solo)/cwd")" = "$(tree_of solo)" ]
}

@test "an agent at work is reset only with -f" {
    quick_idle
    one
    ok wait one solo --for idle
    ok send one solo 'while :; do echo at work; sleep 0.05; done'
    eventually eval '[ "$(field one ".agents[0].state")" = working ]'
    pid=$(agent_pid one solo)
    fails 4 reset one
    [ "$stderr" = "mas: cannot reset agent 'solo': it is working"$'\n'"wait for it with: mas wait one solo; or end it: mas reset -f one solo" ]
    kill -0 "$pid"
    ok reset -f one
    [ "$output" = 'solo reset and started again' ]
    run ! kill -0 "$pid"
}

@test "stashes, linked work trees and operations in progress are kept, too" {
    one --no-start
    echo stashed >"$(tree_of solo)/a"
    in_tree stash -q
    in_tree worktree add -q linked -b other
    echo linked >"$(tree_of solo)/linked/l"
    in_tree checkout -q -b topic
    commit solo a topic
    in_tree checkout -q mas/one/solo
    commit solo a mine
    run ! in_tree merge -q topic
    ok reset one solo
    in_tree fetch -q team
    is_reset
    [ -z "$(in_tree stash list)" ]
    "$MAS" restore -q --new-id --name back "$(kept)"
    old=$ROOT/sessions/$(field back .sessionId)/code/solo
    [ "$(git -C "$old" stash list | wc -l)" = 1 ]
    [ -e "$old/.git/MERGE_HEAD" ]
    [ "$(cat "$old/linked/l")" = linked ]
}

@test "where lost cannot be written, nothing changes" {
    one --no-start
    echo changed >"$(tree_of solo)/a"
    echo in the way >"$ROOT/lost"
    fails 1 reset one solo
    [[ $stderr == "mas: cannot reset agent 'solo': "* ]]
    [ "$(cat "$(tree_of solo)/a")" = changed ]
    rm "$ROOT/lost"
    new_session --name team -t pair --no-start --project "$P"
    fails 2 reset team reviewer
    [ "$stderr" = "mas: cannot reset agent 'reviewer': it has no repository of its own" ]
    fails 2 reset team all
}

@test "what cannot be read is in the way only if it is the agent's own" {
    one --no-start
    ok add -q one --agent shell --as more
    hold_to_modes
    CODE=$ROOT/sessions/$ID/code
    mkdir -m 000 "$CODE/more/closed" "$ROOT/sessions/$ID/unit/more/closed"
    ok reset one solo
    [ "$output" = 'solo reset' ]
    [ -z "$(kept)" ]
    # nothing is lost that could not be kept: a file ...
    rmdir "$CODE/more/closed" "$ROOT/sessions/$ID/unit/more/closed"
    echo secret >"$CODE/more/secret"
    chmod 000 "$CODE/more/secret"
    for verb in 'reset one more' 'remove -f one more'; do
        # shellcheck disable=SC2086 # words
        fails 1 $verb
        [[ $stderr == *"'code/more/secret': Permission denied"* ]]
        [[ $stderr == *'let yourself read it with chmod'* ]]
        [ -e "$CODE/more/secret" ]
        [ -z "$(ls "$ROOT/lost")" ]
    done
    rm -f "$CODE/more/secret"
    # ... or a directory
    mkdir -m 000 "$CODE/more/closed"
    fails 4 remove one more
    [[ $stderr == *"the directory 'code/more/closed' cannot be searched for work trees"* ]]
    fails 1 reset one more
    [[ $stderr == *"'code/more/closed': Permission denied"* ]]
    chmod 700 "$CODE/more/closed"
    ok remove one more
}

@test "what a killed reset has put aside is told, and goes with the agent" {
    one --no-start
    ok add -q one --agent shell --as more
    CODE=$ROOT/sessions/$ID/code
    echo new >"$CODE/more/new"
    mv "$CODE/more" "$CODE/.old-more"
    fails 1 start one
    [[ $stderr == *"finish it with: mas reset one more"* ]]
    fails 1 doctor
    [[ $output == *"a reset of agent 'more' was interrupted; finish it with: mas reset $ID more"* ]]
    # also if the new tree is there
    git clone -q "$CODE/solo" "$CODE/more"
    fails 4 remove one more
    [[ $stderr == *'more: its reset was interrupted'* ]]
    rm -r "$CODE/more"
    ok remove -f one more
    [ ! -e "$CODE/.old-more" ]
    "$MAS" restore -q --new-id --name back "$(find "$ROOT/lost" -name "$ID-more-*.tar.zst")"
    [ "$(cat "$ROOT/sessions/$(field back .sessionId)/code/.old-more/new")" = new ]
    ok rm -f back
    mkdir "$CODE/.old-more"
    fails 4 add one --agent shell --as more
    [[ $stderr == *"'code/.old-more' exists"* ]]
    fails 1 doctor
    [[ $output == *'code/.old-more is of no agent'* ]]
    rmdir "$CODE/.old-more"
    ok add one --agent shell --as more
    ok doctor
}

@test "killed at any call, the work is in the tree or in lost, and the next reset goes on" {
    one --no-start
    for call in renameat renameat2 mkdirat unlinkat flock clone,clone3,vfork syncfs; do
        for n in 1 3 6 10 20; do
            echo "work of $call $n" >"$(tree_of solo)/new"
            strace -f -qq -o /dev/null -e "trace=$call" -e "inject=$call:signal=KILL:when=$n" \
                "$MAS" reset one solo >/dev/null 2>&1 3>&- || true
            if [ -e "$ROOT/sessions/$ID/code/.old-solo" ]; then
                [ "$(cat "$ROOT/sessions/$ID/code/.old-solo/new")" = "work of $call $n" ]
                "$MAS" start -q one || true
                eventually eval '! "$MAS" status one --json | jq -e ".sessions[0].agents[0].pid > 0" >/dev/null'
                "$MAS" stop -q one
            elif [ ! -e "$(tree_of solo)/new" ]; then
                [ -n "$(kept)" ]
            fi
            ok reset one solo
            in_tree fetch -q team
            is_reset
            [ ! -e "$ROOT/sessions/$ID/code/.old-solo" ]
            rm -rf "$ROOT/lost"
        done
    done
}
