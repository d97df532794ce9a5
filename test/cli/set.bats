#!/usr/bin/env bats
# mas set: a session becomes private, and not private any more.
load ../helper
load ../memory

@test "a session becomes private and is found only where it is named, and back" {
    new_session -n s -t solo --no-start
    user 'the tea is green' '{agent: "solo", at: 1700000000}' | said "$ID" >/dev/null
    [ "$(found tea)" = 'the tea is green' ]
    mas set s private=yes
    [ "$status" -eq 0 ]
    [ "$output" = 's is private' ]
    [ "$(meta "$ID" PRIVATE)" = yes ]
    [ "$(field s .private)" = true ]
    [ "$("$MAS" list --json | jq '.sessions[0].private')" = true ]
    [[ $("$MAS" list) == *'stopped (private)'* ]]
    [[ $("$MAS" show s) == *private*yes* ]]
    [ -z "$(found tea)" ]
    [ "$(found tea -s s)" = 'the tea is green' ]
    mas set -q s private=no
    [ -z "$output" ]
    [ "$(meta "$ID" PRIVATE)" = no ]
    [ "$(field s .private)" = false ]
    [ "$(found tea)" = 'the tea is green' ]
}

@test "a session that runs becomes private and runs on" {
    new_session -t solo
    "$MAS" set -q "$ID" private=yes
    [ "$(field "$ID" '.status + " " + (.private | tostring)')" = 'active true' ]
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "what is no such change, or of no such session, changes nothing" {
    new_session -t solo --no-start
    local before word
    before=$(snapshot)
    for word in private=maybe private public=yes private=; do
        mas set "$ID" "$word"
        [ "$status" -eq 2 ]
        [[ $stderr == "mas: cannot set '$word': it is not private=yes, private=no, setup=yes, setup=no, budget.KIND=AMOUNT, limits.session=SIZE or limits.agent=SIZE"* ]]
    done
    mas set nosuch private=yes
    [ "$status" -eq 3 ]
    mas set "$ID"
    [ "$status" -eq 2 ]
    mas set -q "$ID" private=no
    [ "$status" -eq 0 ]
    exec 8<"$ROOT/sessions/$ID/.session.lock"
    flock 8
    mas set "$ID" private=yes
    [ "$status" -eq 4 ]
    exec 8<&-
    [ "$(snapshot)" = "$before" ]
}
