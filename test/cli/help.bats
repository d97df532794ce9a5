#!/usr/bin/env bats
load ../helper

# test/unit/test_cmd.c goes through the help, the options and the examples of every command.

@test "help lists every command with a word on each" {
    mas help
    [ "$status" -eq 0 ]
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
            mas help $name
            [ "$status" -eq 0 ]
            [ -z "$stderr" ]
            [[ ${lines[0]} == "usage: mas $name "* ]]
            [[ $output == *--help* ]]
            [ "$("$MAS" $name -h)" = "$output" ]
            [ "$("$MAS" $name --help)" = "$output" ]
        }
    done
}

@test "an option that is not there, and one without its value, are usage errors" {
    mas list --no-such-option
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot run 'list': "*"--no-such-option"*$'\n'"usage: mas list"* ]]
    mas new --name
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot run 'new': option '--name' needs a value"$'\n'"usage: "* ]]
}

@test "help of an alias is that of its command" {
    [ "$("$MAS" help ls)" = "$("$MAS" help list)" ]
    [ "$("$MAS" help info)" = "$("$MAS" help show)" ]
    [[ $("$MAS" help list) == *"also called: ls"* ]]
}

@test "help needs no root and reads no settings" {
    echo broken >"$ROOT/mas.ini"
    mas help new
    [ "$status" -eq 0 ]
    MAS_ROOT=/nowhere mas help
    [ "$status" -eq 0 ]
    mas version
    [ "$status" -eq 0 ]
    mas completion bash
    [ "$status" -eq 0 ]
    mas new --help
    [ "$status" -eq 0 ]
}

@test "help of a command that is not there is a usage error" {
    mas help nope
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot show help for 'nope': there is no such command"* ]]
    [ -z "$output" ]
    mas help new list
    [ "$status" -eq 2 ]
    mas help stat
    [ "$status" -eq 2 ]
    [ "${stderr#*$'\n'}" = 'did you mean: mas help status  (all commands: mas help)' ]
}

@test "a word that is nearly a command, or another program's word for it, is told" {
    local word meant
    while read -r word meant; do
        mas "$word"
        [ "$status" -eq 2 ]
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
        mas "$word"
        [ "$status" -eq 2 ]
        [ "${stderr#*$'\n'}" = 'see: mas help' ] || { echo "$stderr" >&2; false; }
    done
    mas template lst
    [ "$status" -eq 2 ]
    [ "${stderr#*$'\n'}" = 'did you mean: mas template list  (more: mas help template)' ]
    mas template zzzz
    [ "${stderr#*$'\n'}" = 'see: mas help template' ]
}

@test "an option that is not there, is not whole or takes no value is told apart" {
    mas new --nmae x
    [ "$status" -eq 2 ]
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

@test "a name behind new without its option is told" {
    mas new shop
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot run 'new': unexpected operand 'shop'; to name the session, use '--name'"$'\n'"usage: "* ]]
    mas list shop
    [[ $stderr == "mas: cannot run 'list': unexpected operand 'shop'"$'\n'"usage: "* ]]
}

@test "a command that is not there is a usage error" {
    mas nope
    [ "$status" -eq 2 ]
    [ "$stderr" = "mas: cannot run 'nope': there is no such command"$'\n'"see: mas help" ]
    [ -z "$output" ]
    mas ''
    [ "$status" -eq 2 ]
    mas --nope list
    [ "$status" -eq 2 ]
    [ "$stderr" = "mas: cannot run 'mas': there is no option '--nope'"$'\n'"see: mas help" ]
    mas --root
    [ "$status" -eq 2 ]
}

@test "a command name cannot move the terminal" {
    mas $'x\033[31m\n\xff'
    [ "$status" -eq 2 ]
    [ "$stderr" = "mas: cannot run 'x\\x1b[31m\\x0a\\xff': there is no such command"$'\n'"see: mas help" ]
}

@test "long options may be shortened where that is clear" {
    mas list --jso
    [ "$status" -eq 0 ]
    [ "$output" = '{"sessions":[],"total":0}' ]
    mas list --a
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot run 'list': "*"--a"* ]]
    mas list --json=yes
    [ "$status" -eq 2 ]
}

@test "a full disk behind the help is an error" {
    # shellcheck disable=SC2016
    run --separate-stderr bash -c '"$1" help >/dev/full' - "$MAS"
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot write to standard output: No space left on device" ]
}
