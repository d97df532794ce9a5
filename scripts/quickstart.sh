#!/bin/sh
# From a fresh clone to a running team: installs missing packages, builds mas, and starts a session
# named `quickstart`. Run again, it skips finished steps and starts the session if it is stopped.
#
#   sh scripts/quickstart.sh
set -eu
called_from=$PWD
project=$(cd "$(dirname "$0")/.." && pwd -P)
cd "$project"
. scripts/lib/packages.sh

install_needs "$BUILD_NEEDS $RUN_NEEDS"

say 'building'
make -s -j"$(nproc)" >&2

# The clone is the root and contains templates/ and sessions/. If the clone belongs to another user,
# it cannot be the root, because mas runs programs that a root names.
root=$project
if [ "$(stat -c %u .)" != "$(id -u)" ]; then
    root=${XDG_DATA_HOME:-$HOME/.local/share}/mas
    say "the clone belongs to $(stat -c %U .); the root is $root"
fi

unset MAS_SESSION_ID MAS_SESSION_MODE
# shell_word TEXT: prints TEXT quoted as one word for a shell.
shell_word() {
    case $1 in
        *[!A-Za-z0-9_./:@%+,-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
        *) printf '%s' "$1" ;;
    esac
}

# The command that reaches this root from the directory in which the user ran the script.
mas=./build/mas
if [ "$called_from" != "$project" ]; then mas=$(shell_word "$project/build/mas"); fi
if [ "$root" != "$project" ] || [ -n "${MAS_ROOT-}" ] || [ "$called_from" != "$project" ]; then
    mas="$mas --root $(shell_word "$root")"
fi

./build/mas --root "$root" init >&2
rc=0
./build/mas --root "$root" show quickstart >/dev/null 2>&1 || rc=$?
case $rc in
    3) ./build/mas --root "$root" new -q -n quickstart >/dev/null ;;
    *) ./build/mas --root "$root" start quickstart >&2 ;;
esac

variables=$(./build/mas --root "$root" env quickstart)
workspace=$(
    eval "$variables"
    printf '%s\n' "$MAS_SESSION_DIR"
)
printf '\n'
./build/mas --root "$root" list | awk 'NR == 1 || $2 == "quickstart"'
cat <<END

workspace: $workspace
attach:    $mas attach quickstart
stop:      $mas stop quickstart
remove:    $mas rm -f quickstart
END
