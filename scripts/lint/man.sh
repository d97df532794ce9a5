#!/usr/bin/env bash
# mandoc finds nothing to warn of in the manual pages.
. "$(dirname "$0")/lib.sh"
need mandoc
mapfile -t pages < <(files 'man/*.[1-8]')
rc=0
if ((${#pages[@]} > 0)); then mandoc -T lint -W warning "${pages[@]}" || rc=1; fi
finish "$rc" "${#pages[@]} pages"
