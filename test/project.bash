# For tests of sessions with a project that do not look into its repositories; loaded after helper.
# shellcheck shell=bash
#
#   $P  the project, a repository with a branch main and the files a and b

make_project() {
    P=$T/project
    git config --global user.name Person
    git config --global user.email person@example.org
    git config --global init.defaultBranch main
    git init -q -- "$P"
    echo a >"$P/a"
    echo b >"$P/b"
    git -C "$P" add .
    git -C "$P" commit -qm 'Begin'
}

# Prints the directory of agent $1's work tree.
tree_of() { echo "$ROOT/sessions/$ID/code/$1"; }

# Commits file $2 with content $3 for agent $1.
commit() {
    echo "$3" >"$(tree_of "$1")/$2"
    git -C "$(tree_of "$1")" add -- "$2"
    git -C "$(tree_of "$1")" commit -qm "$1: $2"
}

# figures AGENT: prints "<ahead> <behind> <changed>" as the agent's host knows it; "-": it does not.
figures() {
    "$MAS" status "$ID" --json | jq -r --arg id "$1" '.sessions[0].agents[] | select(.id == $id).code |
        if . == null then "-" else "\(.ahead) \(.behind) \(.changed)" end'
}

# Has the host of agent $1 look again.
look_again() {
    python3 -ES "$PROJECT/test/host/ask.py" "$ROOT/sessions/$ID/run" "$1" '{"do":"look"}' >/dev/null
}
