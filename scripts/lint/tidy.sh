#!/usr/bin/env bash
# clang-tidy with .clang-tidy.
. "$(dirname "$0")/lib.sh"
need clang-tidy
read_flags
# How much of a function the analyzer looks at, which is what it costs. Of 45 null pointers put before the last
# return of long functions, 75000 finds what 50000 does, 37500 one less.
FLAGS+=(-Xclang -analyzer-config -Xclang max-nodes=50000)
mapfile -t sources < <(sources_since .clang-tidy scripts/lint/analyzer.h) # compilers and cppcheck read the tests, too
((${#sources[@]} > 0)) || finish 0 'no C file changed'
rc=0
# check FLAG... FILE: its findings, without the chatter about findings in system headers.
# shellcheck disable=SC2317 # called by the inner shell
check() {
    local file=${!#} output rc=0 flags=("${@:1:$#-1}" -include scripts/lint/analyzer.h) checks=''
    case $file in src/base/err.c | src/model/ini.c | src/base/str.c) flags+=(-DMAS_LINT_DEFINES) ;; esac
    # The analyzer does not know the cleanup attribute, and only here it sees what allocates.
    case $file in src/base/str.c) checks=-clang-analyzer-unix.Malloc ;; esac
    output=$(clang-tidy --quiet --checks="$checks" "$file" -- "${flags[@]}" 2>&1) || rc=1
    grep -vE '^[0-9]+ (warnings?|errors?) .*generated|^Suppressed |^Use -header' <<<"$output" | grep .
    return "$rc"
}
export -f check
# shellcheck disable=SC2016 # for the inner shell
printf '%s\0' "${sources[@]}" |
    xargs -0 -r -I{} -P "$JOBS" bash -c 'check "$@"' bash "${FLAGS[@]}" {} || rc=1
finish "$rc" "${#sources[@]} C files"
