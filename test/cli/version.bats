#!/usr/bin/env bats
load ../helper

@test "version prints name and number" {
    mas version
    [ "$status" -eq 0 ]
    [[ $output =~ ^mas\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    [ -z "$stderr" ]
}

@test "version --json has the version" {
    mas version --json
    [ "$status" -eq 0 ]
    [ "mas $(jq -r .version <<<"$output")" = "$("$MAS" version)" ]
}

@test "--version and -V are the same" {
    [ "$("$MAS" --version)" = "$("$MAS" version)" ]
    [ "$("$MAS" -V)" = "$("$MAS" version)" ]
}

@test "version takes no operand" {
    mas version now
    [ "$status" -eq 2 ]
    [[ $stderr == *"one operand too many"* ]]
}
