#!/usr/bin/env bash
# cppcheck, without the checks that only repeat the compiler's.
. "$(dirname "$0")/lib.sh"
need cppcheck
mapfile -t sources < <(sources_since scripts/lint/cppcheck.txt)
((${#sources[@]} > 0)) || finish 0 'no C file changed'
rc=0
cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
    --inline-suppr --suppressions-list=scripts/lint/cppcheck.txt -j "$JOBS" \
    -D_GNU_SOURCE -DMAS_VERSION='""' -DMAS_COMMIT='""' -DMAS_DATADIR='""' -DMAS_LIBEXECDIR='""' -Isrc --include=src/base/base.h "${sources[@]}" || rc=1
finish "$rc" "${#sources[@]} C files"
