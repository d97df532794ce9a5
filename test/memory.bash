# Creates conversations in sessions, for tests that need no host. Sourced by bats files.
# shellcheck shell=bash

# said SESSION: stores messages from the lines of standard input (see memory.py) and prints their
# numbers.
said() { python3 "$PROJECT/test/memory.py" "$ROOT/sessions/$1"; }

# user TEXT [MORE-JSON], agent TEXT [MORE-JSON]: print one such line.
user() { jq -cn --arg text "$1" "{role: \"user\", text: \$text} + ${2:-{\}}"; }
agent() { jq -cn --arg text "$1" "{role: \"agent\", text: \$text} + ${2:-{\}}"; }

# found ARGUMENT...: prints the texts that a search finds, best first.
found() { "$MAS" search --json "$@" | jq -r '.messages[].text'; }

# old_memory DIRECTORY SESSION: makes the memory.db of the first schema there.
old_memory() {
    sed "s/'SESSION'/'$2'/g" "$PROJECT/test/memory-1.sql" | (umask 077 && python3 -ES -c \
        'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.stdin.read())' "$1/memory.db")
}
