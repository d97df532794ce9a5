#!/usr/bin/env bash
# C is laid out as .clang-format says.
. "$(dirname "$0")/lib.sh"
need clang-format
mapfile -t sources < <(files 'src/**/*.[ch]' 'test/**/*.[ch]')
rc=0
printf '%s\0' "${sources[@]}" | xargs -0 -n 16 -P "$JOBS" clang-format --dry-run -Werror || rc=1
finish "$rc" "${#sources[@]} C files; \`make format\` lays them out"
