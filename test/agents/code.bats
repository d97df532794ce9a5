# Real agents in a session with a project: what they are told, and that their work lands. Judged by
# what the model was sent and by what is in the repositories.
load ../helper
load lib
load ../project

setup_more() { make_project; }

# Some ask the model for a title first.
saw_both() { saw_word "$1" CW-ROLE && saw_word "$1" CW-PROJECT; } >/dev/null

# in_terminal PROGRAM: likewise with the program in a terminal.
in_terminal() {
    use_terminal "$1"
    instruct AGENTS.md
    printf '[preset %s]\nstart = demand\n' "$PRESET" >>"$ROOT/mas.ini"
    new_session -t solo -n one --agent "$PRESET" --project "$P"
    DIR=$ROOT/sessions/$ID
    TREE=$(tree_of solo)
    trust_tree "$TREE"
    ok send "$ID" solo 'begin {{1}}'
    within 90 saw_both 1
    [ -z "$(git -C "$TREE" status --porcelain)" ]
}

@test "claude: is told AGENTS.md, edits, commits, and it lands" {
    on claude AGENTS.md
    is_told
    works_and_lands
}

@test "codex: is told AGENTS.md, edits, commits, and it lands" {
    on codex AGENTS.md
    is_told
    works_and_lands
}

@test "gemini: is told AGENTS.md, edits, commits, and it lands" {
    on gemini AGENTS.md
    is_told
    works_and_lands
}

@test "copilot: is told AGENTS.md, edits, commits, and it lands" {
    on copilot AGENTS.md
    is_told
    works_and_lands
}

@test "opencode: is told AGENTS.md, edits, commits, and it lands" {
    on opencode AGENTS.md
    is_told
    works_and_lands
}

@test "claude: is told CLAUDE.md" {
    on claude CLAUDE.md
    is_told
}

@test "codex: is told CLAUDE.md" {
    on codex CLAUDE.md
    is_told
}

@test "gemini: is told CLAUDE.md" {
    on gemini CLAUDE.md
    is_told
}

@test "copilot: is told CLAUDE.md" {
    on copilot CLAUDE.md
    is_told
}

@test "opencode: is told CLAUDE.md" {
    on opencode CLAUDE.md
    is_told
}

@test "claude in a terminal: is told its role and AGENTS.md" { in_terminal claude; }

@test "codex in a terminal: is told its role and AGENTS.md" { in_terminal codex; }

@test "gemini in a terminal: is told its role and AGENTS.md" { in_terminal gemini; }

@test "copilot in a terminal: is told its role and AGENTS.md" { in_terminal copilot; }

@test "opencode in a terminal: is told its role and AGENTS.md" { in_terminal opencode; }

@test "codex in a terminal: waits for a person who trusts the directory, and types nothing there" {
    use_terminal codex
    instruct AGENTS.md
    new_session -t solo -n one --agent codex-tty --project "$P"
    within 60 agent_is waiting
}
