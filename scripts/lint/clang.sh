#!/usr/bin/env bash
# clang has nothing to warn of either, ignored results included (gcc does not take (void) for an
# answer, so the build leaves that to clang), but for rows of tables that end where the rest is 0.
. "$(dirname "$0")/lib.sh"
need clang
read_flags
# the tests may not be built yet, so nothing says which headers they read
mapfile -t sources < <(
    sources_since Makefile
    if changed=$(changed_since Makefile) && ! grep -q '\.h$' <<<"$changed"; then
        grep '^test/.*\.c$' <<<"$changed" | there
    else
        files 'test/**/*.c'
    fi
)
((${#sources[@]} > 0)) || finish 0 'no C file changed'
read -ra WARNINGS < <(make -s --no-print-directory print-warnings)
FLAGS+=("${WARNINGS[@]}" -Wunused-result -Werror -O2 -D_FORTIFY_SOURCE=2 -Wno-unknown-warning-option \
    -Wno-missing-field-initializers)
rc=0
printf '%s\0' "${sources[@]}" |
    xargs -0 -n 8 -P "$JOBS" clang "${FLAGS[@]}" -fsyntax-only || rc=1
finish "$rc" "${#sources[@]} C files"
