#!/usr/bin/env bash
# C is laid out as .clang-format says.
. "$(dirname "$0")/lib.sh"
need clang-format
mapfile -t sources < <(
    if changed=$(changed_since .clang-format); then
        grep -E '^(src|test)/.*\.[ch]$' <<<"$changed" | there
    else
        files 'src/**/*.[ch]' 'test/**/*.[ch]'
    fi
)
((${#sources[@]} > 0)) || finish 0 'no C file changed'
rc=0
printf '%s\0' "${sources[@]}" | xargs -0 -n 16 -P "$JOBS" clang-format --dry-run -Werror || rc=1
finish "$rc" "${#sources[@]} C files; \`make format\` lays them out"
