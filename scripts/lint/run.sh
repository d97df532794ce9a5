#!/usr/bin/env bash
# Runs every check of this directory but ports.sh, side by side; see lib.sh. The slow ones start first.
set -u
cd "$(dirname "$0")" || exit 1

run_one() {
    local rc=0 output
    output=$("./$1" 2>&1) || rc=1
    printf '%s\n' "$output"
    return "$rc"
}
if [[ ${1-} == --one ]]; then
    run_one "$2"
    exit
fi

steps=(tidy.sh cppcheck.sh)
for step in *.sh; do
    case $step in run.sh | lib.sh | ports.sh | tidy.sh | cppcheck.sh) ;; *) steps+=("$step") ;; esac
done
results=$(mktemp -d) || exit 1
trap 'rm -rf "$results"' EXIT
export results
# shellcheck disable=SC2016 # for the inner shell
printf '%s\n' "${steps[@]}" | xargs -P "$(nproc)" -I{} sh -c './run.sh --one {} || : >"$results/{}"'
failed=$(find "$results" -type f | wc -l)
echo "$((${#steps[@]} - failed)) passed, $failed failed"
((failed == 0))
