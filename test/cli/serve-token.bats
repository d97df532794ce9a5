#!/usr/bin/env bats
# `mas serve token`; what the server makes of tokens is in test/serve/tokens.bats.
load ../helper

FILE() { echo "$ROOT/sessions/.serve.tokens"; }

@test "a token is added, listed without what it is, and removed" {
    ok serve token add phone --answer
    [[ $output =~ ^[0-9a-f]{64}$ ]]
    token=$output
    ok serve token add board --read-only --expires 30d --json
    jq -e '.name == "board" and .right == "read" and (.token | test("^[0-9a-f]{64}$")) and (.expires | test("Z$"))' <<<"$output"
    [ "$(jq -r .token <<<"$output")" != "$token" ]
    ok serve token list
    [[ ${lines[1]} =~ ^phone\ +answer\ +[0-9]+s\ +never ]]
    [[ ${lines[2]} =~ ^board\ +read\ +[0-9]+s\ +(29|30)d ]]
    [[ $output != *"$token"* ]]
    mas serve token list --json
    jq -e '[.tokens[] | .name] == ["phone", "board"] and (tostring | test("[0-9a-f]{64}") | not)' <<<"$output"
    ok serve token remove phone
    [ "$("$MAS" serve token list -q)" = board ]
    fails 3 serve token remove phone
    [[ $stderr == *"there is none of this name"*"mas serve token list"* ]]
}

@test "a token has exactly one right, a name of its own, and an end that lies ahead" {
    for rights in '' '--answer --full' '--read-only --answer --full'; do
        # shellcheck disable=SC2086 # words
        fails 2 serve token add phone $rights
        [[ $stderr == *'one of --read-only, --answer and --full'* ]]
    done
    for name in 'a b' '' ../x "$(printf 'x%.0s' {1..33})" $'a\nb'; do
        fails 2 serve token add "$name" --full
    done
    for age in 0d -1d soon ''; do
        fails 2 serve token add phone --full --expires "$age"
    done
    [ ! -e "$(FILE)" ]
    mas serve token add phone --full
    fails 4 serve token add phone --read-only
    [[ $stderr == *'there is one of this name'*'mas serve token remove phone'* ]]
    [ "$(wc -l <"$(FILE)")" -eq 1 ]
}

@test "there are at most 256 tokens, and those that have expired do not count" {
    mas serve token add first --full --expires 1s
    sum=$(cut -d' ' -f1 "$(FILE)")
    for i in {1..256}; do echo "$sum t$i read 2026-01-01T00:00:00Z -"; done >>"$(FILE)"
    sed -i '1s/[^ ]*$/2026-01-01T00:00:01Z/' "$(FILE)"
    fails 4 serve token add more --full
    [[ $stderr == *'there are 256 already'* ]]
    "$MAS" serve token remove t256
    ok serve token add more --full
    [ "$(wc -l <"$(FILE)")" -eq 256 ]
    run ! grep -q ' first ' "$(FILE)"
}

@test "several at once are all there" {
    for i in {1..8}; do "$MAS" serve token add "t$i" --full >"$T/$i" 3>&- & done
    wait
    [ "$("$MAS" serve token list -q | sort | xargs)" = 't1 t2 t3 t4 t5 t6 t7 t8' ]
    [ "$(cat "$T"/[1-8] | sort -u | wc -l)" -eq 8 ]
}

@test "serve itself takes its options, and a word behind it must be an action" {
    fails 2 serve tokens
    [[ $stderr == *"there is no action 'tokens'"*'mas serve token'* ]]
    fails 2 serve token
    [[ $stderr == *'needs ACTION'* ]]
    fails 2 serve token remov
    [[ $stderr == *'did you mean: mas serve token remove'* ]]
    fails 2 serve --listen 127.0.0.1:0 token list
    [[ $stderr == *"unexpected operand 'token'"* ]]
    ok serve --root "$ROOT" token list
    mas help serve
    [[ $output == *$'\nactions:\n'*$'\n  token '* && $output == *--tls-cert* ]]
    mas help serve token add
    [[ $output == 'usage: mas serve token add '* ]]
    fails 2 help serve token nothing
    [[ $stderr == *'mas help serve token'* ]]
}

@test "completion offers the actions of serve and theirs" {
    "$MAS" complete serve '' | grep -qx token
    [ "$("$MAS" complete serve token '' | xargs)" = 'add list remove' ]
    [ "$("$MAS" complete serve token a)" = add ]
    [[ $("$MAS" complete -- serve token add x --) == *--read-only* ]]
    [[ $("$MAS" complete -- serve --) == *--listen* ]]
    "$MAS" complete help serve '' | grep -qx token
    [ "$("$MAS" complete help serve token r)" = remove ]
}

