#!/usr/bin/env bats
# `mas sync` brings the team's branch, and what is new in the project, to agents whose work it does
# not touch.
load ../helper
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/code.bash"

setup_more() {
    make_project
    make_trio
    make_team -t trio
}

# The team's branch has a commit of x.
merge_one() {
    change x a 1 one
    "$MAS" merge -q "$ID" x
}

@test "an agent without work of its own is moved forward" {
    merge_one
    ok sync "$ID"
    [ "$output" = $'x: has it all\ny: updated\nz: updated' ]
    for name in x y z; do
        [ "$(head -n 1 "$C/$name/a")" = one ]
        [ "$(git -C "$C/$name" rev-parse HEAD)" = "$(main_of)" ]
        [ -z "$(git -C "$C/$name" status --porcelain)" ]
        [ "$(git -C "$C/$name" symbolic-ref HEAD)" = "refs/heads/mas/$L/$name" ]
        git -C "$C/$name" fsck --no-dangling
    done
    ok sync -q "$ID" y
    [ -z "$output$stderr" ]
    whole
}

@test "kinds of changes arrive: deleted, renamed, executable, links, directories that become files" {
    mkdir "$C/x/d" && echo d >"$C/x/d/e"
    git -C "$C/x" add -A && git -C "$C/x" commit -qm dir
    "$MAS" merge -q "$ID" x && "$MAS" sync -q "$ID"
    [ -e "$C/y/d/e" ]
    cd "$C/x"
    git rm -rq d && echo file >d && git mv a moved && chmod +x b && ln -s b link && echo >'new
line'
    git add -A && git commit -qm kinds
    "$MAS" merge -q "$ID" x
    mas sync "$ID" y
    [ "$output" = 'y: updated' ]
    [ -f "$C/y/d" ]
    [ ! -e "$C/y/a" ]
    [ -x "$C/y/b" ]
    [ -L "$C/y/link" ]
    [ -e "$C/y/new"$'\n'line ]
    [ -z "$(git -C "$C/y" status --porcelain)" ]
}

@test "what a killed sync has left in an agent's .git is in the way of none" {
    merge_one
    echo half >"$C/y/.git/mas.new"
    ok sync "$ID" y
    [ "$output" = 'y: updated' ]
    [ ! -e "$C/y/.git/mas.new" ]
    whole
}

@test "an agent with work of its own stays as it is, and is told why" {
    merge_one
    state() { (cd "$C/$1" && find . -type f ! -path './.git/objects/*' -print0 | sort -z | xargs -0 sha256sum); }
    why() { # AGENT TEXT
        local before
        before=$(state "$1")
        ok sync "$ID" "$1"
        [ "$output" = "$1: not updated, $2; in its work tree: git fetch team && git merge team/main" ]
        [ "$(state "$1")" = "$before" ]
    }
    echo changed >>"$C/y/b"
    why y 'it has files that are not committed'
    git -C "$C/y" add b
    why y 'it has files that are not committed'
    git -C "$C/y" reset -q --hard
    echo new >"$C/y/untracked"
    why y 'it has files that are not committed'
    rm "$C/y/untracked"
    git -C "$C/y" checkout -q -b other
    why y 'another branch is checked out'
    git -C "$C/y" checkout -q --detach
    why y 'another branch is checked out'
    git -C "$C/y" checkout -q "mas/$L/y"
    touch "$C/y/.git/BISECT_LOG"
    why y 'something is in progress'
    rm "$C/y/.git/BISECT_LOG"
    change z c 1 own
    why z 'it has commits of its own'
    # what it is told to do works
    git -C "$C/z" fetch -q team && git -C "$C/z" merge -q team/main
    mas sync "$ID" z
    [ "$output" = 'z: has it all' ]
    mas sync "$ID" y
    [ "$output" = 'y: updated' ]
}

@test "a file that is ignored is not overwritten" {
    mkdir -p "$C/y/.git/info" && echo n >"$C/y/.git/info/exclude"
    echo mine >"$C/y/n"
    echo theirs >"$C/x/n" && git -C "$C/x" add n && git -C "$C/x" commit -qm n
    "$MAS" merge -q "$ID" x
    mas sync "$ID" y
    [ "$(cat "$C/y/n")" = mine ]
    [[ $output == *'not updated'* || $status != 0 ]]
}

@test "what is ignored is looked at as it is: a link in the way is not replaced" {
    mkdir "$T/elsewhere"
    printf '%s\n' dist out >"$C/x/.gitignore"
    git -C "$C/x" add .gitignore && git -C "$C/x" commit -qm ignore
    "$MAS" merge -q "$ID" x
    "$MAS" sync -q "$ID" y
    ln -s "$T/elsewhere" "$C/y/dist"
    mkdir "$C/x/dist" && echo theirs >"$C/x/dist/new" && echo theirs >"$C/x/out"
    git -C "$C/x" add -f dist out && git -C "$C/x" commit -qm dist
    "$MAS" merge -q "$ID" x
    fails 4 sync "$ID" y
    [[ $stderr == *"cannot update the work tree of agent 'y': these are in the way: dist"$'\n'* ]]
    [ "$(readlink "$C/y/dist")" = "$T/elsewhere" ]
    rm "$C/y/dist"
    echo mine >"$C/y/out"
    mas sync "$ID" y
    [[ $stderr == *"these are in the way: out"$'\n'* ]]
    [ "$(cat "$C/y/out")" = mine ]
    rm "$C/y/out"
    mas sync "$ID" y
    [ "$output" = 'y: updated' ]
    [ -z "$(ls "$T/elsewhere")" ]
    # in the view, and a directory that becomes a file, and the other way round
    ln -s "$T/elsewhere" "$C/view/two"
    git -C "$C/x" rm -qr dist && echo file >"$C/x/dist" && git -C "$C/x" rm -q out && mkdir "$C/x/out" "$C/x/two"
    echo new >"$C/x/out/new" && echo new >"$C/x/two/new"
    git -C "$C/x" add -f . dist out && git -C "$C/x" commit -qm swap
    mas merge "$ID" x
    [[ $stderr == *"cannot update the view of the project: these are in the way: two"* ]]
    [ -L "$C/view/two" ]
    rm "$C/view/two"
    mas sync "$ID" y
    [ "$output" = 'y: updated' ]
    [ "$(cat "$C/y/dist" "$C/y/out/new")" = $'file\nnew' ]
    whole
}

@test "what the agent's git works on at the moment is left alone" {
    merge_one
    touch "$C/y/.git/index.lock"
    fails 4 sync "$ID"
    [[ $stderr == *"cannot update the work tree of agent 'y': 'index.lock'"* ]]
    [ "$output" = $'x: has it all\nz: updated' ]
    [ -e "$C/y/.git/index.lock" ]
    rm "$C/y/.git/index.lock"
    touch "$C/y/.git/refs/heads/mas/$L/y.lock"
    fails 4 sync "$ID" y
    [ ! -e "$C/y/.git/index.lock" ]
    [ "$(head -n 1 "$C/y/a")" = 'a 1' ]
    rm "$C/y/.git/refs/heads/mas/$L/y.lock"
    # a branch that is packed is moved like any other
    git -C "$C/y" pack-refs --all
    ok sync "$ID" y
    [ "$(git -C "$C/y" rev-parse HEAD)" = "$(main_of)" ]
}

@test "what the agent does between the look at its repository and the locks is not lost" {
    merge_one
    mkdir "$T/bin"
    # the agent is at work once, just after mas has found nothing in the way; what that git may write is code.git
    cat >"$T/bin/git" <<SH
#!/bin/sh
$(command -v git) "\$@"
status=\$?
case "\$*" in
*'ls-files -z --others --exclude-standard'*)
    [ -e "$G/done" ] || env -i HOME=/ PATH="$PATH" sh -c 'cd "$C/y" && . "$T/bin/act" && touch "$G/done"' >/dev/null ;;
esac
exit \$status
SH
    chmod +x "$T/bin/git"
    local base
    base=$(git -C "$C/y" rev-parse HEAD)
    state() { git -C "$C/y" rev-parse HEAD && cat "$C/y/.git/HEAD" && git -C "$C/y" status --porcelain; }
    while read -r act; do
        { declare -f state | sed "s|\$C|$C|g" && echo "$act && state >'$G/state'"; } >"$T/bin/act"
        run --separate-stderr env PATH="$T/bin:$PATH" "$MAS" sync "$ID" y
        echo "$act: $status $stderr"
        rm "$G/done"
        [ "$status" -eq 4 ]
        [[ $stderr == *"cannot update the work tree of agent 'y': its git was at work"*'try again'* ]]
        [ "$(head -n 1 "$C/y/a")" = 'a 1' ]
        [ -z "$(find "$C/y/.git" -name '*.lock')" ]
        diff "$G/state" <(state)
        git -C "$C/y" reset -q --hard && git -C "$C/y" switch -q "mas/$L/y" && git -C "$C/y" reset -q --hard "$base"
    done <<'END'
git commit -qm empty --allow-empty
echo mine >new && git add new && git commit -qm new
git switch -q -c other
git rev-parse HEAD >.git/MERGE_HEAD
END
    ok sync "$ID" y
    [ "$output" = 'y: updated' ]
    whole
}

@test "--project merges what is new in the project first; a conflict there is exit 4" {
    sed -i '20s/.*/project/' "$P/c" && git -C "$P" commit -qam 'In the project'
    before=$(project_state)
    ok sync "$ID" --project
    [ "$output" = $'project: 1 new commit\nx: updated\ny: updated\nz: updated' ]
    [ "$(tail -n 1 "$C/y/c")" = project ]
    [ "$(tail -n 1 "$C/view/c")" = project ]
    [ "$(project_state)" = "$before" ]
    mas sync "$ID" --project
    [ "${lines[0]}" = 'project: 0 new commits' ]
    change x a 1 agent
    "$MAS" merge -q "$ID" x
    sed -i '1s/.*/person/' "$P/a" && git -C "$P" commit -qam 'Conflict'
    main=$(main_of)
    fails 4 sync "$ID" --project
    [[ $stderr == "mas: cannot merge project '$P': it conflicts in a; there it was changed by: "*" (agent x) 'x: agent'"$'\n'"let an agent merge it: git fetch $P refs/heads/main && git merge FETCH_HEAD" ]]
    [ "$(main_of)" = "$main" ]
    [ "$(head -n 1 "$C/y/a")" = 'a 1' ]
    whole
    mv "$P" "$P.moved"
    fails 3 sync "$ID" --project
    [[ $stderr == "mas: cannot find project '$P': it was moved"* ]]
}

@test "an agent that stays is told to merge; an agent syncs itself alone" {
    cat >>"$ROOT/mas.ini" <<END
[preset keeper]
command = sh -c 'while IFS= read -r line; do printf "%s\n" "\$line" >>"$T/heard.\$MAS_AGENT_ID"; done'
executes = no
END
    make_trio keeper
    make_team -t trio
    merge_one
    change y b 1 own
    "$MAS" start -q "$ID"
    MAS_SESSION_ID=$ID MAS_AGENT_ID=y ok sync
    [[ $output == 'y: not updated, it has commits of its own'* ]]
    [ "${#lines[@]}" = 1 ]
    ok sync "$ID"
    eventually grep -q 'it has commits of its own. When it suits you' "$T/heard.y"
    [ "$(wc -l <"$T/heard.y")" = 1 ]
    [ ! -e "$T/heard.z" ]
    MAS_SESSION_ID=$ID MAS_AGENT_ID=y fails 1 sync z
    [[ $stderr == "mas: cannot sync agent 'z': the rule for a worker"* ]]
}

@test "several agents are named one after the other, and the others stay" {
    make_team -t trio
    change x a 1 one
    "$MAS" merge -q "$ID" x
    ok sync "$ID" z x
    [ "$output" = $'z: updated\nx: has it all' ]
    [ "$(git -C "$C/y" rev-parse HEAD)" = "$(team_git rev-parse refs/mas/base)" ]
}
