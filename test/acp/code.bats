#!/usr/bin/env bats
# ACP agents in a session with a project: what they are told, and when their work is looked at.
load ../helper
load ../host/lib
load lib
load ../project

# Makes a session of template solo on the project, whose agent starts in its `$1` (unit or code).
team_on_project() {
    sed -i "s/^code = worktree/&\ncwd = $1/" "$ROOT/templates/solo/template.ini"
    grep -q "^cwd = $1" "$ROOT/templates/solo/template.ini"
    acp_preset scripted
    new_session -t solo -n one --agent scripted --project "$P"
    find_agent
    hosts_there
}

commit_instructions() {
    printf '%s\n' "$1" >"$P/AGENTS.md"
    git -C "$P" add AGENTS.md
    git -C "$P" commit -qm 'Instruct'
}

@test "an agent that starts in its work tree is told its role once in each context" {
    make_project
    commit_instructions 'CW-PROJECT'
    echo 'CW-ROLE is what you do' >"$ROOT/templates/solo/unit/solo/AGENTS.md"
    team_on_project code
    tell 'first'
    knows CW-ROLE
    tell 'second'
    knows CW-ROLE
    [ "$(prompts CW-ROLE)" -eq 1 ]
    [ "$(prompts CW-PROJECT)" -eq 0 ] # its program reads that one itself:
    grep -F '"session/new"' "$TRACE" | grep -qF "\"cwd\":\"$DIR/code/solo\""
    [ "$(cat "$DIR/code/solo/AGENTS.md")" = CW-PROJECT ]
    was_sent "[your role; paths in it begin in its directory: $DIR/unit/solo/AGENTS.md]"
    "$MAS" clear "$ID" solo
    tell 'third'
    [ "$(prompts CW-ROLE)" -eq 2 ]
}

@test "an agent that starts in its unit is told where the project is, and its instructions, once" {
    make_project
    commit_instructions 'CW-PROJECT'
    echo 'CW-ROLE is what you do' >"$ROOT/templates/solo/unit/solo/AGENTS.md"
    team_on_project unit
    tell 'first'
    tell 'second'
    knows CW-PROJECT
    [ "$(prompts CW-PROJECT)" -eq 1 ]
    [ "$(prompts CW-ROLE)" -eq 0 ]
    grep -F '"session/new"' "$TRACE" | grep -qF "\"cwd\":\"$DIR/unit/solo\""
    was_sent "[the project is in $DIR/code/solo, your branch mas/one/solo]"
    # Tab completes paths of the project, and its unit has no such file
    echo b >"$DIR/code/solo/besides"
    tm send-keys -t "$PANE" -l 'see @be'
    press Tab
    type_line too
    eventually was_sent 'see @besides too'
}

@test "a reader is told where the team's branch is" {
    make_project
    printf 'CW-CLAUDE\n' >"$P/CLAUDE.md"
    git -C "$P" add CLAUDE.md
    git -C "$P" commit -qm 'Instruct'
    sed -i 's/^code = worktree/code = view/' "$ROOT/templates/solo/template.ini"
    acp_preset scripted
    new_session -t solo -n one --agent scripted --project "$P"
    find_agent
    hosts_there
    tell 'first'
    knows CW-CLAUDE
    was_sent "[the project is in $DIR/code/view, the team's branch mas/one/main; it is for reading]"
}

@test "instructions are limited in size, and a link is not followed" {
    make_project
    { printf 'CW-BEGIN\n'; yes 'a long line of instructions' | head -c 100000; printf '\nCW-END\n'; } >"$P/AGENTS.md"
    git -C "$P" add AGENTS.md
    git -C "$P" commit -qm 'Instruct'
    team_on_project unit
    tell 'first'
    knows CW-BEGIN
    was_sent 'the file is longer than 64 KiB; the rest is left out'
    echo 'CW-SECRET' >"$T/secret"
    ln -sf "$T/secret" "$DIR/code/solo/AGENTS.md"
    "$MAS" clear "$ID" solo
    tell 'second'
    [ "$(prompts CW-SECRET)" -eq 0 ]
    [ "$(prompts CW-BEGIN)" -eq 1 ]
}

@test "without a project an agent is told nothing of it" {
    echo 'CW-ROLE' >"$ROOT/templates/solo/unit/solo/AGENTS.md"
    acp_agent
    tell 'first'
    knows ''
    [ "$(prompts project)" -eq 0 ]
}

@test "the host looks at the work tree after a tool call, while the turn goes on" {
    make_project
    team_on_project code
    tell 'first'
    eventually prints '0 0 0' figures solo
    echo new >"$DIR/code/solo/new"
    "$MAS" send "$ID" solo 'SLOW:100 TOOL HANG'
    eventually prints '0 0 1' figures solo
    state_is solo working
    "$MAS" cancel "$ID" solo
}

says() { [[ $output == *"$1"* ]] || { echo "output: $output; stderr: $stderr" >&2; return 1; }; }

@test "an agent reads and writes files of its own work tree through the protocol" {
    make_project
    team_on_project code
    tell "READ:a WRITE:new/text=words READ:$DIR/code/solo/new/text WRITE:$DIR/./code//solo/b=changed"
    says 'read="a\n" write=ok read="words" write=ok'
    [ "$(cat "$DIR/code/solo/b")" = changed ]
    tell 'WRITE:../../mas.ini=x WRITE:../view/x=x'
    says 'write=error-32602 write=error-32602'
}

@test "an agent does not write to code.git, the view or another's repository through the protocol" {
    make_project
    mkdir -p "$ROOT/templates/trio/unit"/{x,y,z} "$ROOT/templates/trio/workflows"
    {
        printf '[template]\ndescription = three\npreset = scripted\n[window w]\nagents = x, y, z\n'
        for name in x y z; do
            printf '[agent %s]\nrole = r\nrank = worker\ngroup = g\ncode = %s\n' "$name" \
                "$([ "$name" = z ] && echo view || echo worktree)"
        done
    } >"$ROOT/templates/trio/template.ini"
    acp_preset scripted
    new_session -t trio --agent scripted --project "$P"
    DIR=$ROOT/sessions/$ID
    hosts_there x y z
    # code.git/indexes/ is the hosts'
    others() {
        find "$DIR/code.git" "$DIR/code/y" "$DIR/code/view" -name indexes -prune -o -type f -exec sha256sum {} + | sort
    }
    before=$(others)
    for path in code.git/HEAD code.git/hooks/post-update code/y/a code/y/.git/config code/view/a code/view/new \
        code/new ./code.git/x code//y/a code/./y/a .//code/y/new/dir/file code/xx/a CODE/../code/y/a; do
        run --separate-stderr timeout 300 "$MAS" ask "$ID" x "WRITE:$DIR/$path=x"
        says 'write=error-32602'
    done
    for path in code/x/a code.git/HEAD code/view/a code/z/a; do
        run --separate-stderr timeout 300 "$MAS" ask "$ID" z "WRITE:$DIR/$path=x"
        says 'write=error-32602'
    done
    [ "$(others)" = "$before" ]
    # what others have is read
    run --separate-stderr timeout 300 "$MAS" ask "$ID" z "READ:$DIR/code/x/a READ:$DIR/code/view/a WRITE:$DIR/unit/z/n=x"
    says 'read="a\n" read="a\n" write=ok'
}

@test "an agent cannot land, by no process of its own" {
    make_project
    team_on_project code
    commit solo c work
    "$MAS" merge -q "$ID" solo
    tip=$(git -C "$P" rev-parse main)
    tell "RUN:\"env -u MAS_SOCKET $MAS --root $ROOT land $ID\" RUN:\"env -u MAS_SOCKET -u MAS_AGENT_ID -u MAS_SESSION_ID setsid -w $MAS --root $ROOT land $ID\""
    says "run=1:"
    [ "$(grep -o 'run=1:' <<<"$output" | wc -l)" -eq 2 ]
    says 'only a person may land'
    [ "$(git -C "$P" rev-parse main)" = "$tip" ]
    "$MAS" land -q "$ID"
    [ "$(git -C "$P" rev-parse main)" != "$tip" ]
}
