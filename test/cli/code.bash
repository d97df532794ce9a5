# Shared by the tests of sessions with a project: repositories, and what must hold for them.
# shellcheck shell=bash
#
#   $P      the project, a repository with a branch main that is checked out
#   $ID     the session; its agents do not run
#   $C      the directory of its work trees; $G its code.git; $L the label in its branches

# Makes the project in $1 (default $T/project) with 20 lines in each of the files a, b and c.
# shellcheck disable=SC2120 # the argument is optional
make_project() {
    P=${1:-$T/project}
    git config --global user.name Person
    git config --global user.email person@example.org
    git config --global init.defaultBranch main
    git config --global advice.detachedHead false
    git init -q -- "$P"
    for name in a b c; do
        for i in {1..20}; do echo "$name $i"; done >"$P/$name"
    done
    git -C "$P" add .
    git -C "$P" commit -qm 'Begin'
}

# Makes a session on the project that is not started; passes its arguments to `mas new`.
# shellcheck disable=SC2034 # read by the tests
make_team() {
    ID=$("$MAS" new -q --no-start --project "$P" "$@") || return
    C=$ROOT/sessions/$ID/code G=$ROOT/sessions/$ID/code.git
    L=$(sed -n 's/^ref: refs\/heads\///p' "$G/HEAD") L=${L%/main} L=${L#mas/}
}

# Makes the template `trio`: three agents with a repository each, x, y and z, and w with the view.
make_trio() {
    mkdir -p "$ROOT/templates/trio/unit" "$ROOT/templates/trio/workflows"
    {
        printf '[template]\ndescription = three\npreset = %s\n' "${1:-shell}"
        printf '[window w]\nagents = w, x, y, z\nlayout = tiled\n'
        for name in w x y z; do
            printf '[agent %s]\nrole = r\nrank = %s\ngroup = g\npreset =\ncode = %s\nmodel =\n' "$name" \
                "$([ "$name" = w ] && echo manager || echo worker)" \
                "$([ "$name" = w ] && echo view || echo worktree)"
        done
        printf '[rules]\nworker = manager\nmanager = workers\n'
    } >"$ROOT/templates/trio/template.ini"
    for name in w x y z; do
        mkdir -p "$ROOT/templates/trio/unit/$name"
        echo "$name" >"$ROOT/templates/trio/unit/$name/AGENTS.md"
    done
    echo flow >"$ROOT/templates/trio/workflows/flow.md"
}

# Commits in the repository of agent $1: line $3 of file $2 becomes $4.
change() {
    sed -i "$3s/.*/$4/" "$C/$1/$2" && git -C "$C/$1" commit -qam "$1: $4"
}

# Runs git on code.git, as it does not belong to a work tree.
team_git() { GIT_DIR=$G git "$@"; }
main_of() { team_git rev-parse "refs/heads/mas/$L/main"; }

# Both repositories are whole, and nothing is left over from a command.
# shellcheck disable=SC2317 # called by tests
whole() {
    local left
    team_git fsck --strict --no-dangling --no-progress >"$T/fsck" 2>&1 || { cat "$T/fsck"; return 1; }
    [ ! -d "$P" ] || git -C "$P" fsck --no-dangling --no-progress >"$T/fsck" 2>&1 || { cat "$T/fsck"; return 1; }
    left=$(find "$G/incoming" "$G/scratch" "$G/landing" "$G/check" "$G/replay" "$G/objects" "$G/refs" \
        \( -name 'tmp_*' -o -name '*.lock' -o -path '*/incoming*' -o -path '*/scratch*' -o -path '*/landing*' \
        -o -path "*/check*" -o -path "*/replay*" \) 2>/dev/null || true)
    [ -z "$left" ] || { echo "left: $left"; return 1; }
}

# Prints everything in the project that mas must leave alone: all of it but objects.
project_state() {
    (cd "$P" && find . -path ./.git/objects -prune -o -printf '%P %m %l\n' | sort
        find . -path ./.git/objects -prune -o -type f -print0 | sort -z | xargs -0 -r sha256sum)
}

# Sets $count to how many times a command of mas starts git.
count_git() {
    command -v strace >/dev/null || skip 'strace is missing'
    [ -z "${TEST_SAN-}" ] || skip 'strace is not for sanitizers'
    strace -f -qq -s 20 -e trace=execve -e signal=none -o "$T/starts" "$MAS" "$@" >/dev/null || return
    # shellcheck disable=SC2034 # for the caller
    count=$(grep -c '\["git".*= 0$' "$T/starts")
}
