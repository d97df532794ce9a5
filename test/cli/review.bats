#!/usr/bin/env bats
# shellcheck disable=SC2016 # texts for another shell
# `mas review` turns lines that a person adds to a diff into comments that an agent can find.
load ../helper
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/code.bash"

setup_more() {
    make_project
    cat >>"$ROOT/mas.ini" <<END
[preset keeper]
command = sh -c 'while IFS= read -r line; do printf "%s\n" "\$line" >>"$T/heard.\$MAS_AGENT_ID"; done'
executes = no
END
    make_trio keeper
    make_team -t trio
}

# The editor runs $T/edit on the file; the text that it was given is in $T/seen.
editor() {
    { echo '#!/bin/bash' && echo "cp \"\$2\" '$T/seen'" && cat; } >"$T/edit" && chmod +x "$T/edit"
    export EDITOR="'$T/edit' 'two words'"
}
# Starts the team and prints what agent x hears.
heard() {
    "$MAS" start -q "$ID"
    "$MAS" send "$ID" x END
    eventually grep -q END "$T/heard.x"
    sed '/^END$/d' "$T/heard.x"
}

@test "comments go to the agent as one message, with file, line and the line itself" {
    sed -i '3s/.*/three/; 10d' "$C/x/a"
    echo new >"$C/x/n"
    editor <<'END'
sed -i -e '/^+three/a why three?\n# and a second line' -e '/^-a 10/a gone?' -e '/^=== n/a about the file' "$2"
END
    ok review "$ID" x
    [ "$output" = '3 comments sent to agent x' ]
    [ "$(heard)" = "Review of your changes on mas/$L/x: 3 comments.

a:3
> +three
why three?
and a second line

a:10
> -a 10
gone?

n
about the file" ]
    whole
}

@test "without a comment, and without a change, nothing is sent; a failing editor sends nothing" {
    mas review "$ID" x
    [ "$output" = 'x: nothing to review' ]
    echo new >"$C/x/n"
    editor <<<':'
    ok review "$ID" x
    [ "$output" = 'no comment, nothing sent' ]
    editor <<<'sed -i "s/[ ]*$//; /^$/d; 1d; \$d" "$2"'
    mas review "$ID" x
    [ "$output" = 'no comment, nothing sent' ]
    editor <<'END'
echo 'my words' >>"$2"
exit 3
END
    TMPDIR=$T fails 1 review "$ID" x
    [[ $stderr == *'the editor ended with exit code 3'*"what you wrote is in '$T/mas-review-"* ]]
    grep -q 'my words' "$T"/mas-review-*.diff
    EDITOR=/nowhere/at/all fails 1 review "$ID" x
    fails 2 review "$ID"
    [[ $stderr == *'name one of: x, y, z'* ]]
    [ -z "$(heard)" ]
}

@test "a hundred comments on lines that move while they are written land on the moved lines" {
    for i in {1..100}; do echo "line $i"; done >"$C/x/many"
    git -C "$C/x" add many
    editor <<END
sed -i 's/^+line \([0-9]*\)$/&\ncomment \1/' "\$2"
sed -i -e '1i first' -e '1i second' -e '50s/.*/changed/' -e '70d' '$C/x/many'
END
    mas review "$ID" x
    [ "$output" = '100 comments sent to agent x' ]
    heard >"$T/got"
    [ "$(grep -c '^many:' "$T/got")" = 100 ]
    [ "$(grep -c stale "$T/got")" = 2 ]
    grep -A2 -x 'many:3' "$T/got" | grep -qx 'comment 1'
    grep -A2 -x 'many:51' "$T/got" | grep -qx 'comment 49'
    grep -A2 -F 'many:50 (stale: this line has changed since)' "$T/got" | grep -qx 'comment 50'
    grep -A2 -x 'many:53' "$T/got" | grep -qx 'comment 51'
    grep -A2 -x 'many:101' "$T/got" | grep -qx 'comment 100'
}

@test "equal lines are told apart by what is around them; a file that is gone is stale" {
    printf 'a {\n}\nb {\n}\nc {\n}\n' >"$C/x/f"
    echo other >"$C/x/g"
    editor <<END
awk '{ print } /^\+b \{/ { getline; print; print "end of b" } /^\+other/ { print "on g" }' "\$2" >"\$2.new" && mv "\$2.new" "\$2"
printf 'x {\n}\ny {\n}\na {\n}\nb {\n}\nc {\n}\n' >'$C/x/f'
rm '$C/x/g'
END
    ok review "$ID" x
    heard >"$T/got"
    grep -A2 -x 'f:8' "$T/got" | grep -qx 'end of b'
    grep -A2 -F 'g:1 (stale' "$T/got" | grep -qx 'on g'
}

@test "a line that only begins like the commented one is not taken for it" {
    sed -i '$s/.*/end/' "$C/x/a"
    editor <<END
sed -i '/^+end/a why?' "\$2"
sed -i '\$i endless' '$C/x/a'
END
    ok review "$ID" x
    heard >"$T/got"
    grep -qx "a:$(wc -l <"$C/x/a")" "$T/got"
}

@test "binary, rename, mode, CRLF, no newline, odd names and 10 MB" {
    cd "$C/x"
    printf 'a\0b' >binary
    git mv b renamed
    chmod +x c
    printf 'dos\r\nlines\r\n' >crlf
    printf 'bare' >bare
    esc=$'esc\033]0;x\a'
    echo odd >"$esc"
    yes 0123456789012345678901234567890123456789 | head -c 10000000 >large
    cd "$T"
    editor <<'END'
LC_ALL=C grep -q $'[\001-\010\013-\037]' "$2" && exit 9
sed -i -e '/^=== binary (added.*binary)/a c-binary' -e '/^=== renamed (renamed from b)/a c-rename' \
    -e '/^=== c (modified, mode 100755, was 100644)/a c-mode' -e '/^+dos/a c-crlf' -e '/^+bare/a c-bare' \
    -e '/^+odd/a c-odd' "$2"
echo 'c-large' >>"$2"
END
    ok review "$ID" x
    [ "$output" = '6 comments sent to agent x' ] || { echo "$output"; return 1; }
    heard >"$T/got"
    grep -A1 -x binary "$T/got" | grep -qx c-binary
    grep -A2 -x renamed "$T/got" | grep -qx c-large # with c-rename, below the last line
    grep -A1 -x c "$T/got" | grep -qx c-mode
    grep -A2 -x crlf:1 "$T/got" | grep -qx c-crlf
    grep -A2 -x bare:1 "$T/got" | grep -qx c-bare
    grep -A2 -xF "'esc\x1b]0;x\x07':1" "$T/got" | grep -qx c-odd
}

# comments JSON [OPTION...]: sends them without an editor
comments() { "$MAS" review "$ID" x --comments - "${@:2}" <<<"$1"; }

@test "comments from a program go to their lines as they are now, or are stale" {
    sed -i '3s/.*/three/; 10d' "$C/x/a"
    run "$MAS" review "$ID" x --json
    [ "$status" -eq 0 ]
    jq -e '.agent == "x" and (.lines | any(.path == "a" and .number == 3 and .line == "+three"))
        and any(.lines[]; .line == "-a 10" and .number == 10)' <<<"$output"
    sed -i -e '1i first' "$C/x/a"
    run comments '{"comments":[{"path":"a","number":3,"line":"+three","text":"why?\nand how?"},
        {"path":"a","number":10,"line":"-a 10","text":"gone"},{"path":"a","text":"the file"},{"text":"all"},
        {"path":"a","number":19,"line":" a 19","text":"outside the diff"},
        {"path":"a","number":7,"line":"+never","text":"never"},{"path":"none","number":1,"line":"+x","text":"no file"}]}' --json
    [ "$status" -eq 0 ]
    [ "$output" = "{\"sessionId\":\"$ID\",\"agent\":\"x\",\"comments\":7,\"stale\":2}" ]
    [ "$(heard)" = "Review of your changes on mas/$L/x: 7 comments.

a:4
> +three
why?
and how?

a:11
> -a 10
gone

a
the file

all

a:19
>  a 19
outside the diff

a:7 (stale: this line has changed since)
> +never
never

none:1 (stale: this line has changed since)
> +x
no file" ]
    whole
}

@test "comments that are none are refused whole, and nothing is sent" {
    sed -i '3s/.*/three/' "$C/x/a"
    for bad in '' '[]' '{}' '{"comments":{}}' '{"comments":[]}' '{"comments":[7]}' '{"comments":[{"path":"a"}]}' \
        '{"comments":[{"text":"  \n"}]}' '{"comments":[{"text":7}]}' '{"comments":[{"text":"x","line":"+three"}]}' \
        '{"comments":[{"text":"ok"},{"text":"x","path":"a","line":""}]}' '{"comments":[{"text":"x","path":7}]}' \
        '{"comments":[{"text":"x","path":"a","number":-1}]}' '{"comments":[{"text":"x","path":"a","number":"1"}]}' \
        "{\"comments\":[$(yes '{"text":"x"},' | head -1000 | tr -d '\n'){\"text\":\"x\"}]}"; do
        run comments "$bad"
        [ "$status" -eq 2 ] || { echo "$bad: $status $output"; return 1; }
    done
    run comments '{"comments":[{"text":"x"},{"text":"x","path":7}]}'
    [ "${lines[0]}" = 'mas: cannot review: comment 2: path: it is not a text' ]
    run comments '{"comments":[{"text":"\u001b[31mred\u0007","path":"a"}]}'
    [ "$output" = '1 comment sent to agent x' ]
    [[ $(heard) == *'\x1b[31mred\x07' ]]
}
