#!/usr/bin/env bats
load ../helper

@test "version prints name and number" {
    ok version
    [[ $output =~ ^mas\ [0-9]+\.[0-9]+[0-9a-z.~]*(\ \([0-9a-f]{12}\))?$ ]]
    [ -z "$stderr" ]
}

@test "version --json has the version and, of a build for users, the commit" {
    ok version --json
    [ "$(jq -r '"mas \(.version)" + if .commit == "" then "" else " (\(.commit))" end' <<<"$output")" = "$("$MAS" version)" ]
}

@test "--version and -V are the same" {
    [ "$("$MAS" --version)" = "$("$MAS" version)" ]
    [ "$("$MAS" -V)" = "$("$MAS" version)" ]
}

@test "version takes no operand" {
    fails 2 version now
    [[ $stderr == *"unexpected operand"* ]]
}

# mas without a standard output; its errors are what is printed.
blind() { "$MAS" "$@" 2>&1 >&-; }

@test "output that nobody can get is an error, whatever prints it" {
    new_session -t solo --no-start
    for words in version 'version --json' 'list --json' config 'show @last' help; do
        # shellcheck disable=SC2086 # words
        run blind $words
        [ "$status" -eq 1 ]
        [ "$output" = 'mas: cannot write to standard output: Bad file descriptor' ]
    done
    # what prints nothing needs no place for it
    run blind rm -q "$ID"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}
