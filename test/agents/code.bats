# Real agents in a session with a project: what they are told, and that their work lands. Judged by
# what the model was sent and by what is in the repositories.
load ../helper
load lib
load ../project

setup_more() { make_project; }

# A word of its own that the unit and the project have for the agent
instruct() {
    echo 'CW-ROLE is what you do' >"$ROOT/templates/solo/unit/solo/AGENTS.md"
    echo 'CW-PROJECT is how it is done here' >"$P/$1"
    git -C "$P" add -- "$1"
    git -C "$P" commit -qm 'Instruct'
}

# on AGENT FILE: a session on the project, whose instructions are in FILE.
on() {
    use_agent "$1"
    instruct "$2"
    printf '[preset %s]\npermission = allow\n' "$PRESET" >>"$ROOT/mas.ini"
    # the sandbox of Codex hides /dev/shm, where this test is, and lets nothing be committed
    [ "$PRESET" != codex ] || echo 'mode = agent-full-access' >>"$ROOT/mas.ini"
    new_session -t solo -n one --agent "$PRESET" --project "$P"
    DIR=$ROOT/sessions/$ID
    TREE=$(tree_of solo)
}

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
    mas send "$ID" solo 'begin {{1}}'
    [ "$status" -eq 0 ]
    within 90 saw_both 1
    [ -z "$(git -C "$TREE" status --porcelain)" ]
}

# It is told its role and the project's instructions with its first prompt, and each once.
is_told() {
    told 'begin'
    saw_word "$N" CW-ROLE
    saw_word "$N" CW-PROJECT
    local word
    for word in CW-ROLE CW-PROJECT; do
        [ "$(request "$N" | jq "[.said[].text | scan(\"$word\")] | length")" -le 1 ]
    done
}

# It edits a file with its own tools and commits, and the commit lands.
works_and_lands() {
    local order
    while IFS= read -r order; do tell -o "$order" 'change it'; done < <(edit_orders "$TREE/a" a changed)
    [ "$(<"$TREE/a")" = changed ]
    tell -o "$(run_order 'git add a && git commit -q -m changed-by-the-agent')" 'commit it'
    [ "$(git -C "$TREE" log -1 --format='%s %D')" = "changed-by-the-agent HEAD -> mas/one/solo" ]
    [ -z "$(git -C "$TREE" status --porcelain)" ] # nothing else has come into its work tree
    "$MAS" merge "$ID" solo
    "$MAS" land "$ID"
    [ "$(git -C "$P" show main:a)" = changed ]
    [ "$(git -C "$P" log -1 --format=%s)" = changed-by-the-agent ]
    [ "$(<"$P/a")" = changed ]
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
