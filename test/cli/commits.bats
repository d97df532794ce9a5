#!/usr/bin/env bats
# `mas commits` lists what agents have committed and nobody has merged.
load ../helper
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/code.bash"

setup_more() {
    make_project
    make_trio
    make_team -t trio
}

oid_of() { git -C "$C/$1" rev-parse "$2"; }

@test "commits lists those of each agent, newest first, until they are merged" {
    ok commits "$ID"
    [ -z "$output" ]
    [ "$stderr" = 'nothing is committed that the integration branch lacks' ]
    change x a 1 one
    change x b 1 two
    change z c 1 three
    ok commits "$ID"
    [ "$(awk '{print $1, $2}' <<<"$output")" = "AGENT COMMIT
x $(oid_of x HEAD | cut -c 1-12)
x $(oid_of x HEAD^ | cut -c 1-12)
z $(oid_of z HEAD | cut -c 1-12)" ]
    [[ ${lines[1]} == *' Person '*' x: two' ]]
    "$MAS" merge -q "$ID" x
    ok commits "$ID" --json
    [ "$(jq -c '.agents[] | [.agent, [.commits[] | [.commit, .author, .subject, .merge]], .more]' <<<"$output")" = \
        '["x",[],false]
["y",[],false]
["z",[["'"$(oid_of z HEAD)"'","Person","z: three",false]],false]' ]
    # w has no repository
    fails 2 commits "$ID" w
    [[ $stderr == "mas: cannot run 'commits': agent 'w' has no repository of its own"* ]]
}

@test "what an agent has written as author and subject is shown, and does nothing" {
    echo 2 >>"$C/x/a"
    git -C "$C/x" -c user.name=$'E\tvil' commit -qam $'first \033[31m red\nsecond line'
    ok commits "$ID" x
    [[ $output == *'first \x1b[31m red second line' ]]
    ok commits "$ID" x --json
    jq -e '.agents[0].commits[0].subject | test("red") and (test("\u001b") | not)' <<<"$output"
}

@test "a branch that is gone is told, and the others are listed" {
    change x a 1 one
    change z c 1 three
    rm -rf "$C/x/.git/refs/heads/mas" "$C/x/.git/packed-refs"
    git -C "$C/x" symbolic-ref HEAD refs/heads/other
    mas commits "$ID"
    [ "$status" -ne 0 ]
    [[ $stderr == *"agent 'x'"* ]]
    [[ $output == *'z: three' ]]
}
