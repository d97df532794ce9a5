#!/usr/bin/env bats
load ../helper

# test/unit/test_cmd.c goes through the help, the options and the examples of every command.

@test "help lists every command with a word on each" {
    ok help
    [ -z "$stderr" ]
    for name in init new list show attach status send wait peek restart stop start rm env doctor config completion version help; do
        grep -qE "^  $name +[a-z].*[^.]\$" <<<"$output"
    done
    commands=$(sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p' <<<"$output")
    [ "$(wc -l <<<"$commands")" -ge 14 ]
    [[ $output != *" host "* ]]
    [ -z "$(sort <<<"$commands" | uniq -d)" ]
}

@test "help opens with the five commands to begin with; the others stand in groups" {
    mas help
    [ "$(sed -n '/^to begin with:$/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$output" | xargs)" = 'new list attach top send stop' ]
    [ "$(sed -n '5p' <<<"$output")" = 'to begin with:' ]
    [ "$(grep -cE '^[a-z ]+:$' <<<"$output")" -ge 5 ]
    # no group is as long as to be a list by itself
    [ "$(awk '/:$/ { n = 0; next } /^  [a-z]/ { if (++n > most) most = n } END { print most }' <<<"$output")" -le 12 ]
}

@test "help, -h and --help are the same" {
    [ "$("$MAS" -h)" = "$("$MAS" help)" ]
    [ "$("$MAS" --help)" = "$("$MAS" help)" ]
}

@test "a command has help of its own, the same by help, -h and --help" {
    for name in list template 'template list'; do
        # shellcheck disable=SC2086 # a verb and its action
        {
            ok help $name
            [ -z "$stderr" ]
            [[ ${lines[0]} == "usage: mas $name "* ]]
            [[ $output == *--help* ]]
            [ "$("$MAS" $name -h)" = "$output" ]
            [ "$("$MAS" $name --help)" = "$output" ]
        }
    done
}

@test "an option that is not there, and one without its value, are usage errors" {
    fails 2 list --no-such-option
    [[ $stderr == "mas: cannot run 'list': "*"--no-such-option"*$'\n'"usage: mas list"* ]]
    fails 2 new --name
    [[ $stderr == "mas: cannot run 'new': option '--name' needs a value"$'\n'"usage: "* ]]
}

@test "help of an alias is that of its command" {
    [ "$("$MAS" help ls)" = "$("$MAS" help list)" ]
    [ "$("$MAS" help info)" = "$("$MAS" help show)" ]
    [[ $("$MAS" help list) == *"also called: ls"* ]]
}

@test "help needs no root and reads no settings" {
    echo broken >"$ROOT/mas.ini"
    ok help new
    MAS_ROOT=/nowhere ok help
    ok version
    ok completion bash
    ok new --help
}

@test "help of a command that is not there is a usage error" {
    fails 2 help nope
    [[ $stderr == "mas: cannot show help for 'nope': there is no such command"* ]]
    [ -z "$output" ]
    fails 2 help new list
    fails 2 help stat
    [ "${stderr#*$'\n'}" = 'did you mean: mas help status  (all commands: mas help)' ]
}

@test "a word that is nearly a command, or another program's word for it, is told" {
    local word meant
    while read -r word meant; do
        fails 2 "$word"
        [ "$stderr" = "mas: cannot run '$word': there is no such command
did you mean: mas $meant  (all commands: mas help)" ] || { echo "$stderr" >&2; false; }
    done <<END
nwe new
lst list
atach attach
tepmlate template
statsu status
arch archive
LIST list
kill stop
delete rm
create new
END
    for word in x zzzz nope ho host1 '' new-session-of-mine; do
        fails 2 "$word"
        [ "${stderr#*$'\n'}" = 'see: mas help' ] || { echo "$stderr" >&2; false; }
    done
    fails 2 template lst
    [ "${stderr#*$'\n'}" = 'did you mean: mas template list  (more: mas help template)' ]
    mas template zzzz
    [ "${stderr#*$'\n'}" = 'see: mas help template' ]
}

@test "an option that is not there, is not whole or takes no value is told apart" {
    fails 2 new --nmae x
    [[ $stderr == "mas: cannot run 'new': there is no option '--nmae'; did you mean '--name'?"$'\n'"usage: "* ]]
    mas new --zzzz=x
    [[ $stderr == "mas: cannot run 'new': there is no option '--zzzz'"$'\n'"usage: "* ]]
    mas list --a
    [[ $stderr == "mas: cannot run 'list': option '--a' is ambiguous: it could be '--active' or '--all' or another"$'\n'"usage: "* ]]
    mas list --json=yes
    [[ $stderr == "mas: cannot run 'list': option '--json' takes no value"$'\n'"usage: "* ]]
    mas list --js=yes
    [[ $stderr == "mas: cannot run 'list': option '--json' takes no value"$'\n'"usage: "* ]]
}

@test "a surplus operand is told" {
    mas list shop
    [[ $stderr == "mas: cannot run 'list': unexpected operand 'shop'"$'\n'"usage: "* ]]
}

@test "a command that is not there is a usage error" {
    fails 2 nope
    [ "$stderr" = "mas: cannot run 'nope': there is no such command"$'\n'"see: mas help" ]
    [ -z "$output" ]
    fails 2 ''
    fails 2 --nope list
    [ "$stderr" = "mas: cannot run 'mas': there is no option '--nope'"$'\n'"see: mas help" ]
    fails 2 --root
}

@test "a command name cannot move the terminal" {
    fails 2 $'x\033[31m\n\xff'
    [ "$stderr" = "mas: cannot run 'x\\x1b[31m\\x0a\\xff': there is no such command"$'\n'"see: mas help" ]
}

@test "long options may be shortened where that is clear" {
    ok list --jso
    [ "$output" = '{"sessions":[],"total":0}' ]
    fails 2 list --a
    [[ $stderr == "mas: cannot run 'list': "*"--a"* ]]
    fails 2 list --json=yes
}

@test "a full disk behind the help is an error" {
    # shellcheck disable=SC2016
    run --separate-stderr bash -c '"$1" help >/dev/full' - "$MAS"
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot write to standard output: No space left on device" ]
}
