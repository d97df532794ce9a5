#!/usr/bin/env bats
# Several agents try the same, and `mas compare` shows what came of it.
load ../helper
load ../project

# Programs that answer; each shows what it gets, and does what is written in a message "do: COMMAND".
setup_more() {
    make_project
    cd "$P" || return
    mkdir "$T/bin"
    PATH=$T/bin:$PATH
    cat >"$T/bin/talker" <<'SH'
#!/bin/sh
echo ready
while read -r line; do echo "got: $line"; done
SH
    chmod +x "$T/bin/talker"
    for name in one two; do
        printf '[preset %s]\ncommand = talker\nexecutes = no\nready = ready\n' "$name" >>"$ROOT/mas.ini"
    done
}

tries() { new_session --name best --tries 3 --agent one,two "$@" 'make it faster'; }

rows() { "$MAS" compare best --json "$@" | jq -r '.agents[] | "\(.agent) \(.check.result) +\(.added) -\(.removed)"'; }

got() { "$MAS" logs best "$1" | grep -qxF 'got: make it faster'; }

@test "tries are agents with one prompt, presets in turn, and a branch each" {
    tries
    for agent in 1 2 3; do
        eventually got "$agent"
        [ "$(git -C "$(tree_of "$agent")" branch --show-current)" = "mas/best/$agent" ]
        [ -d "$ROOT/sessions/$ID/unit/$agent" ]
    done
    [ "$(jq -r '[.team[] | .id, .preset, .group] | join(" ")' "$ROOT/sessions/$ID/config.json")" = '1 one one 2 two two 3 one one' ]
    [ ! -e "$ROOT/sessions/$ID/unit/solo" ]
    "$MAS" stop -q best
    "$MAS" start -q best
    [ "$("$MAS" status best --json | jq '.sessions[0].agents | length')" = 3 ]
    ok doctor
}

@test "what cannot be tried is refused, and nothing is made" {
    before=$(snapshot)
    for count in 0 17 -1 x ''; do
        fails 2 new --tries "$count" 'make it faster'
    done
    fails 2 new --tries 2
    [ "$stderr" = "mas: cannot use --tries without a PROMPT" ]
    fails 2 new --tries 2 --agent one,shell 'make it faster'
    [[ $stderr == "mas: cannot begin with a prompt: agent '2' runs preset 'shell', which would execute it"* ]]
    fails 3 new --tries 2 --agent one,none 'make it faster'
    fails 3 new --tries 2 --agent one, 'make it faster'
    fails 3 new --agent one,two 'make it faster'
    fails 2 new --tries 2 --agent one -t pair 'make it faster'
    [[ $stderr == 'mas: cannot make tries: the template has no single agent'* ]]
    fails 2 new --tries 2 --agent one -p 2=other 'make it faster'
    for check in '' "it's"; do
        fails 2 new --agent one --check-with "$check" 'make it faster'
    done
    cd "$T"
    fails 2 new --tries 2 --agent one 'make it faster'
    [[ $stderr == 'mas: cannot use --tries without a project'* ]]
    fails 2 new --agent one --check-with true 'make it faster'
    [[ $stderr == 'mas: cannot use --check-with without a project'* ]]
    [ "$(snapshot)" = "$before" ]
}

@test "sixteen tries, and units that are made later" {
    printf '[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"
    new_session --name many --tries 16 --no-start --agent one 'make it faster'
    [ "$(find "$ROOT/sessions/$ID/unit" -mindepth 1 -maxdepth 1 | wc -l)" = 16 ]
    [ "$("$MAS" compare many --json | jq '.agents | length')" = 16 ]
}

@test "compare shows checks and lines, also of what is not committed and of who has nothing" {
    tries --no-start --check-with 'test ! -e new'
    commit 1 a 'fast'
    echo slow >"$(tree_of 3)/a"
    printf 'x\ny\n' >"$(tree_of 3)/new"
    [ "$(rows)" = "1 pass +1 -1
2 not run +0 -0
3 fail +3 -1" ]
    ok compare best
    [[ ${lines[2]} =~ ^2\ +two\ +'not run'\ +nothing ]]
    [ "$(rows --no-check | cut -d' ' -f2-3 | sort -u)" = 'not run' ]
    [ "$("$MAS" compare best --json | jq -r '.agents[2].check.why')" = 'it ended with exit code 1' ]
    [ "$("$MAS" compare best --json | jq -r '.agents[0].state')" = stopped ]
    # merge brings commits only, and says so
    ok merge best 3
    [ "$output" = '3: nothing to merge' ]
    [ "$stderr" = "mas: warning: agent '3' has 2 files that are not committed" ]
    # a check that fails is no failure of compare, and leaves nothing
    [ ! -e "$ROOT/sessions/$ID/code.git/check" ]
}

@test "without a check of its own that of mas.ini runs, and without any none" {
    tries --no-start
    commit 2 a 'fast'
    [ "$(rows | sed -n 2p)" = '2 not run +1 -1' ]
    printf '[code]\ncheck = grep -q slow a\n' >>"$ROOT/mas.ini"
    [ "$(rows | sed -n 2p)" = '2 fail +1 -1' ]
}

@test "what a check prints is data" {
    cat >"$T/bin/prints" <<'SH'
#!/bin/sh
printf 'before\n\033]0;title\007\033[31mred \377 \342\200\256 12 ms'
SH
    chmod +x "$T/bin/prints"
    tries --no-start --check-with "$T/bin/prints"
    commit 1 a 'fast'
    ok compare best
    [[ $output == *'12 ms'* ]]
    run ! grep -q $'[\033\007\377]' <<<"$output"
    [ "$("$MAS" compare best --json | jq -r '.agents[0].check.output' | head -n 1)" = before ]
}

@test "two agents are compared with each other" {
    tries --no-start
    commit 1 a 'fast'
    echo faster >"$(tree_of 2)/a"
    ok compare best 1 2
    [[ $output == *$'\n-fast\n+faster' ]]
    ok compare best 2 1
    [[ $output == *$'\n-faster\n+fast' ]]
    [ "$("$MAS" compare best 1 2 --json | jq -r '.from + .to + .files[0].path')" = 12a ]
    ok compare best 3 3,3
    fails 3 compare best 1 4
}

@test "merge takes the one that won, by the check of the session" {
    tries --no-start --check-with 'grep -q fast a'
    commit 1 a 'slow'
    commit 2 a 'fast'
    fails 1 merge best 1
    [[ $stderr == *"mas: cannot merge agent '1': the check failed: it ended with exit code 1"* ]]
    ok merge best two
    [ "$output" = '2: 1 commit merged into mas/best/main' ]
    [ -d "$(tree_of 1)" ]
    fails 4 rm best
}

@test "an agent whose repository is damaged has a row that says so" {
    tries --no-start
    commit 2 a 'fast'
    rm -r "$(tree_of 1)/.git"
    mas compare best
    [ "$status" -ne 0 ]
    [[ $output == *$'\n2 '*'+1 -1'* ]]
    [[ $stderr == *"agent '1'"* ]]
    new_session --name pair -t pair --no-start --project "$P"
    fails 2 compare pair lead reviewer
    [ "$stderr" = "mas: cannot compare agent 'reviewer': it has no repository of its own" ]
}

@test "a session without a project has nothing to compare" {
    new_session --name none -t solo --no-start
    fails 4 compare none
}
