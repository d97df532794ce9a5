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
