# shellcheck shell=bash
# For sourcing by the scripts beside it: the project's files, and one line at the end.
#
# Each script checks one thing, runs alone as well as under run.sh, prints what it checked in one
# line that starts with its name, and exits 1 where something is wrong.

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
LINT=$(basename "$0" .sh)
# shellcheck disable=SC2034 # for the caller
JOBS=$(nproc)

# The tools this check needs.
need() {
    local tool
    for tool; do
        if ! command -v "$tool" >/dev/null; then
            echo "$LINT: FAILED: $tool is not there; sh scripts/test.sh installs it"
            exit 1
        fi
    done
}

# finish RC TEXT: the line that says what was done; ends the check.
finish() {
    if (($1 != 0)); then
        echo "$LINT: FAILED: $2"
        exit 1
    fi
    echo "$LINT: $2"
    exit 0
}

# files GLOB...: those that exist, one a line.
files() {
    local file
    shopt -s nullglob globstar
    # shellcheck disable=SC2068 # globs are meant
    for file in $@; do printf '%s\n' "$file"; done
}

# changed_since CONFIG...: the names of the files that differ from the commit $SINCE. Fails if it names none, or if this
# check, what checks share or a CONFIG differs: then everything is to be checked.
changed_since() {
    [[ -n ${SINCE-} ]] && git diff --quiet "$SINCE" -- "scripts/lint/$LINT.sh" scripts/lint/lib.sh "$@" 2>/dev/null &&
        git diff --name-only "$SINCE"
}

# there: of the names on stdin, those of files that are still there.
there() { while IFS= read -r file; do if [[ -e $file ]]; then printf '%s\n' "$file"; fi; done; }

# sources_since CONFIG...: the C files of src; if $SINCE names a commit, only those that differ from it or read
# something that does, as the build found out. See changed_since.
sources_since() {
    local changed
    if changed=$(changed_since "$@"); then
        find build/src -name '*.d' -print0 | xargs -0 grep -lwF -f <(grep '^src/.*\.[ch]$' <<<"$changed") |
            sed 's|^build/||; s|d$|c|' | there
    else
        files 'src/**/*.c'
    fi
}

# Sets FLAGS to what every C file is read with.
read_flags() {
    eval "FLAGS=($(make -s --no-print-directory print-flags))"
    # shellcheck disable=SC2034 # for the caller
    FLAGS+=(-Itest/unit)
}
