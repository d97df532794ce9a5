#!/usr/bin/env bash
# Each header compiles alone, which is after base/base.h, and twice in a row.
. "$(dirname "$0")/lib.sh"
read_flags
mapfile -t headers < <(files 'src/**/*.h')
if changed=$(changed_since) && ! grep -q '^src/.*\.h$' <<<"$changed"; then finish 0 'no header changed'; fi
rc=0
if grep -L '^#pragma once$' "${headers[@]}" test/*/*.h | grep .; then
    echo 'headers: these have no #pragma once'
    rc=1
fi
# shellcheck disable=SC2317 # called by the inner shell
check() {
    local header=$1
    shift
    printf '#include "%s"\n#include "%s"\n' "${header#src/}" "${header#src/}" |
        "${CC:-cc}" "$@" -Wall -Wextra -Werror -fsyntax-only -x c - 2>&1
}
export -f check
# shellcheck disable=SC2016 # for the inner shell
printf '%s\0' "${headers[@]}" |
    xargs -0 -I{} -P "$JOBS" bash -c 'check "$@"' bash {} "${FLAGS[@]}" || rc=1
finish "$rc" "${#headers[@]} headers compile alone"
