#!/usr/bin/env bash
# Every shell script and bats file passes shellcheck, dash reads those that are for sh, and tests wait
# for what can change.
. "$(dirname "$0")/lib.sh"
need shellcheck dash
mapfile -t scripts < <(
    find scripts lib test .ci templates docs debian -type f \( -name '*.sh' -o -name '*.bash' -o -name '*.bats' \)
    grep -rlIE --exclude='*.sh' --exclude='*.bash' --exclude='*.bats' \
        '^#!.*[/ ](sh|bash|dash|bats)( |$)' scripts lib test .ci templates docs debian | while read -r file; do
        head -n 1 "$file" | grep -q '^#!' && printf '%s\n' "$file"
    done
)
# Those to read with shellcheck: what changed, and what names something that changed, as it may source that.
since=("${scripts[@]}")
if changed=$(changed_since .shellcheckrc); then
    mapfile -t since < <(
        {
            grep -xF -f <(printf '%s\n' "${scripts[@]}") <<<"$changed"
            grep -lwF -f <(grep -E '\.(sh|bash)$' <<<"$changed" | sed -E 's|.*/||; s|\.[a-z]+$||') "${scripts[@]}"
        } | sort -u
    )
fi
rc=0
((${#since[@]} == 0)) || printf '%s\0' "${since[@]}" |
    xargs -0 -n 4 -P "$JOBS" shellcheck --external-sources --source-path=SCRIPTDIR:. || rc=1
for script in "${scripts[@]}"; do
    if head -n 2 "$script" | grep -qE '^#!.*[/ ]sh( |$)|shell=sh$'; then
        dash -n "$script" || rc=1
    fi
done
# what is compared there was computed once, before anything was waited for
if grep -nE '^ *eventually (test|\[) [^-].*\$\(' "${scripts[@]}"; then
    echo 'scripts: these compare the same text each time; use: eventually prints VALUE COMMAND'
    rc=1
fi
# of `[ a ] && [ b ]` bash ends a test for b alone, unless it is the last of a function
mapfile -t tests < <(printf '%s\n' "${scripts[@]}" | grep '^test/.*bats$')
if awk '
    FNR == 1 { was = "" }
    was != "" && !/^ *}/ { print was; found = 1 }
    { was = /^ *\[.*\] && (\[|grep)/ && !/\|\||(&&|;;|&& return)$/ ? FILENAME ":" FNR ":" $0 : "" }
    END { exit !found }' "${tests[@]}"; then
    echo 'scripts: a test does not fail by what stands before && there; write a line for each'
    rc=1
fi
finish "$rc" "${#since[@]} of ${#scripts[@]} scripts"
