#!/usr/bin/env bats
# shellcheck disable=SC2153 # ID is the helper's
# `mas invite`: what it prints and keeps, --list, --end, and what it refuses. What a guest may do is
# in test/serve/guest.bats.
load ../helper
load ../serve/lib

@test "without a server there is nobody to invite to, and nothing is kept" {
    new_session -t solo -n shop --no-start
    before=$(snapshot)
    fails 4 invite shop --read-only
    [[ $stderr == *'no server of this root runs'* ]]
    [ "$(snapshot)" = "$before" ]
}

@test "an address and a code are shown, and kept as a sum with the session" {
    new_session -t pair -n shop --no-start
    serve
    ok invite shop --answer
    [[ $output == *"address: $URL/"*code:*"valid for 60 minutes"*"the token 'guest' with the right 'answer'"* ]]
    ok invite shop lead --read-only --name ann --expires 2d --json
    jq -e --arg id "$ID" '.name == "ann" and .session == $id and .agents == "lead" and .right == "read" and .seconds == 3600
        and .url == "'"$URL"'/#pair=" + .code' <<<"$output"
    run ! grep -rq "$(jq -r .code <<<"$output")" "$ROOT/sessions"
    [ "$(stat -c %a "$ROOT/sessions/.serve.pair")" = 600 ]
    grep -qE "^[0-9a-f]{64} ann read .* 5 $ID lead$" "$ROOT/sessions/.serve.pair"
    # names count on, and each is there once, also among tokens and other offers
    ok invite shop --read-only -q --json
    [ "$(jq -r .name <<<"$output")" = guest-2 ]
    fails 4 invite shop --full --name ann
    fails 4 invite shop --read-only --name ann
    [[ $stderr == *"'ann'"*'offered already'* ]]
    "$MAS" serve token add phone --answer >/dev/null
    fails 4 invite shop --read-only --name phone
    # the offer to a browser of the owner is another one
    ok serve pair -q
    ok invite --list -q
    [ "$(sort <<<"$output" | xargs)" = 'ann guest guest-2' ]
}

@test "the list names session, agents, right, end and whether the code was used; --end ends each" {
    new_session -t pair -n shop --no-start
    ONE=$ID
    new_session -t solo -n page --no-start
    serve
    ok invite --list --json
    [ "$output" = '{"guests":[]}' ]
    code=$("$MAS" invite shop lead reviewer --answer --name ann --json | jq -r .code)
    "$MAS" invite page --read-only --name bob -q >/dev/null
    TOKEN=none api POST /pair -d "{\"code\":\"$code\"}"
    is 201 '.session == "'"$ONE"'" and .agents == ["lead","reviewer"]'
    ok invite --list
    [[ $output == *GUEST*SESSION*AGENTS*RIGHT*EXPIRES*TAKEN* ]]
    grep -qE '^ann +shop +lead,reviewer +answer +[78]h +yes$' <<<"$output"
    grep -qE '^bob +page +all +read +[78]h +not yet$' <<<"$output"
    ok invite --list page --json
    jq -e '.guests | length == 1 and .[0].name == "bob" and .[0].taken == false and .[0].agents == []' <<<"$output"
    # a guest is a token like any other
    ok serve token list
    [[ $output == *ann*answer* ]]
    ok invite --end bob
    ok invite --end ann
    fails 3 invite --end ann
    [[ $stderr == *"cannot end the guest 'ann': there is none of this name"* ]]
    # only guests are ended
    "$MAS" serve token add phone --answer >/dev/null
    fails 3 invite --end phone
    ok serve token list -q
    [[ $output == *phone* ]]
    [ ! -e "$ROOT/sessions/.serve.pair" ]
}

@test "what cannot be invited to is refused" {
    new_session -t pair -n shop --no-start
    serve
    fails 2 invite shop
    [[ $stderr == *'expected one of --read-only, --answer and --full'* ]]
    fails 2 invite shop --read-only --full
    fails 3 invite nosuch --read-only
    fails 3 invite shop nobody --read-only
    fails 2 invite shop --read-only --expires never
    fails 2 invite shop --read-only --name 'a b'
    fails 2 invite shop --read-only --name aaaaaaaaaaaaaaaaaaaaaaaaa
    [[ $stderr == *'1 to 24'* ]]
    fails 4 invite shop --full
    [[ $stderr == *"agent 'lead' has none at its next start"*'level = require'* ]]
    fails 4 invite shop --read-only --user ann
    [[ $stderr == *"cannot invite user 'ann'"*'run commands as you'* ]]
    ok invite --list -q
    [ -z "$output" ]
}
