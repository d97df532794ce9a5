#!/usr/bin/env bats
# `mas pick` brings single commits of an agent into the integration branch, all of those named or none.
load ../helper
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/code.bash"

setup_more() {
    make_project
    make_trio
    make_team -t trio
}

oid_of() { git -C "$C/$1" rev-parse "$2"; }
subjects() { team_git log --reverse --format=%s "mas/$L/main" | tail -n +2; }

@test "commits are picked oldest first, with author and message, and the branch merges later" {
    change x a 1 one
    GIT_AUTHOR_NAME=Somebody change x b 1 two
    change x c 1 three
    ok pick "$ID" x "$(oid_of x HEAD | cut -c 1-7)" "$(oid_of x HEAD^)"
    [ "$output" = "x: 2 commits picked into mas/$L/main" ]
    [ "$(subjects)" = "x: two
x: three" ]
    [ "$(team_git log -1 --format='%an %cn' "mas/$L/main^")" = 'Somebody Person' ]
    [ "$(team_git show "mas/$L/main:a" | head -n 1)" = 'a 1' ]
    [ "$(head -n 1 "$C/view/b")" = two ]
    whole
    # what is there already is told, and changes nothing
    before=$(main_of)
    ok pick "$ID" x "$(oid_of x HEAD)"
    [ "$output" = 'x: nothing to pick' ]
    [ "$(main_of)" = "$before" ]
    ok merge "$ID" x
    [ "$(for name in a b c; do head -n 1 "$C/view/$name"; done | xargs)" = 'one two three' ]
    whole
}

@test "a conflict changes nothing, and says where and whose the other side is" {
    change x a 1 one
    change x a 1 two
    change y a 1 other
    "$MAS" merge -q "$ID" y
    before=$(main_of)
    fails 4 pick "$ID" x "$(oid_of x HEAD)"
    [[ $stderr == "mas: cannot pick commit '$(oid_of x HEAD | cut -c 1-12)' of agent 'x': it conflicts in a; there it was changed by: "*" (agent y) 'y: other'"$'\n'* ]]
    [ "$(main_of)" = "$before" ]
    # the first of two is as little there as the second
    change x b 1 fine
    fails 4 pick "$ID" x "$(oid_of x HEAD)" "$(oid_of x HEAD^)"
    [ "$(main_of)" = "$before" ]
    [ "$(head -n 1 "$C/view/b")" = 'b 1' ]
    ok pick "$ID" x "$(oid_of x HEAD)"
    whole
}

@test "names that mean no commit, several or a merge are refused" {
    change x a 1 one
    git -C "$C/x" checkout -q -b side HEAD^
    change x b 1 two
    git -C "$C/x" checkout -q "mas/$L/x"
    git -C "$C/x" merge -q --no-edit side
    before=$(main_of)
    fails 2 pick "$ID" x "$(oid_of x HEAD)"
    [[ $stderr == "mas: cannot pick commit '$(oid_of x HEAD)': it is a merge"$'\n'* ]]
    for name in abc 0000000 HEAD main "$(oid_of x HEAD)0" --all '' "$(main_of)" ..; do
        fails 3 pick "$ID" x -- "$name"
        [ "${stderr%%$'\n'*}" = "mas: there is no commit '$name' to pick" ]
    done
    fails 2 pick "$ID" x
    [[ $stderr == "mas: cannot run 'pick': it needs a COMMIT"* ]]
    fails 2 pick "$ID" w "$(oid_of x HEAD^)"
    [ "$(main_of)" = "$before" ]
    # named twice it is one
    ok pick "$ID" x "$(oid_of x HEAD^)" "$(oid_of x HEAD^)"
    [ "$output" = "x: 1 commit picked into mas/$L/main" ]
}

@test "the check has to succeed on what was picked" {
    printf '[code]\ncheck = grep -q two b\n' >>"$ROOT/mas.ini"
    change x b 1 one
    change x b 1 two
    before=$(main_of)
    fails 1 pick "$ID" x "$(oid_of x HEAD^)"
    [[ $stderr == *"mas: cannot pick agent 'x': [code] check failed: "* ]]
    [ "$(main_of)" = "$before" ]
    ok pick "$ID" x "$(oid_of x HEAD)" "$(oid_of x HEAD^)"
    [ "$(subjects)" = "x: one
x: two" ]
}

@test "killed at any call, the branch has all that was picked or nothing" {
    # picked in the same second onto its own parent, a commit would be itself, and so there already
    GIT_COMMITTER_DATE=2001-01-01T00:00:00Z change x b 1 one
    GIT_COMMITTER_DATE=2001-01-01T00:00:00Z change x c 1 two
    before=$(main_of)
    oids=("$(oid_of x HEAD)" "$(oid_of x HEAD^)")
    for ((n = 1; n < 400; n += 13)); do
        strace -f -o /dev/null -e trace=execve,rename,renameat,renameat2,unlink,unlinkat,fsync,fdatasync \
            -e "inject=execve,rename,renameat,renameat2,unlink,unlinkat,fsync,fdatasync:signal=KILL:when=$n" \
            "$MAS" pick -q "$ID" x "${oids[@]}" >"$T/out" 2>&1 3>&- && break
        [ "$(main_of)" = "$before" ] || [ "$(subjects)" = "x: one
x: two" ]
        [ "$(main_of)" = "$before" ] || break
    done
    ok pick -q "$ID" x "${oids[@]}"
    [ "$(subjects)" = "x: one
x: two" ]
    whole
}
