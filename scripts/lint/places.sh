#!/usr/bin/env bash
# No test touches a root, a home or a directory that it has not made: what can be seen of that in its
# text. The rest is seen when it runs, see test/place.bash.
# shellcheck disable=SC2016 # texts that are looked for
. "$(dirname "$0")/lib.sh"
mapfile -t tests < <(files 'test/**/*.bats')
mapfile -t sources < <(files 'test/**/*.bats' 'test/**/*.bash' 'test/**/*.sh')
rc=0
# refuse TEXT: prints the lines of stdin, and why they are refused.
refuse() {
    local line
    while IFS= read -r line; do
        printf '%s\n    %s\n' "$line" "$1"
        rc=1
    done
}

refuse 'it is without the place that test/helper.bash makes for each test; say: load ../helper' < <(
    grep -LE '^load \.\./helper$' "${tests[@]}"
)
refuse 'that is for test/helper.bash; call it setup_more or teardown_more' < <(
    grep -nE '^ *(function )?(setup|teardown) *\(\)' "${sources[@]}" | grep -v '^test/helper\.bash:'
)
refuse 'mas would take the home of the user who runs the tests; give it one: HOME="$HOME"' < <(
    grep -nE '\benv (-i|-u HOME|--ignore-environment)\b.*(\$\{?MAS\b|[" ]mas[" ])' "${sources[@]}" | grep -v 'HOME='
    grep -nE '\bunset [^#]*\bHOME\b' "${sources[@]}"
)
refuse 'the clone may be a root of the user; run mas elsewhere, and with a root of the test' < <(
    grep -nE '(\bcd|pushd|env -C|--root|MAS_ROOT=|--root=)[ =]*"?\$\{?(PROJECT|TEST_ROOT|BATS_TEST_DIRNAME)\b' "${sources[@]}" |
        grep -vE 'cd "\$(BATS_TEST_DIRNAME/\.\./\.\.|PROJECT/templates)" && (pwd|find)'
    grep -nE '"?\$\{?MAS\}?"? init( -q)? +"?\$\{?(PROJECT|TEST_ROOT)\b' "${sources[@]}"
)
finish "$rc" "${#tests[@]} files of tests stay in places of their own"
