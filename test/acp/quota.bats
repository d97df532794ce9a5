#!/usr/bin/env bats
# What is used of a provider's windows, as programs tell it, and what waits for that.
load ../helper
load ../host/lib
load lib

# window TYPE PART RESETS: the agent's prompt that tells of a window as the adapter of Claude Code does.
window() { printf 'RAWUSAGE:"\\"used\\":1,\\"_meta\\":{\\"_claude/rateLimit\\":{\\"rateLimitType\\":\\"%s\\",\\"utilization\\":%s,\\"resetsAt\\":%s}}"' "$@"; }
# quotas: WINDOW PERCENT of each line
quotas() { "$MAS" usage --quota --json | jq -r '.quota[] | "\(.window) \(.percent)"' | paste -sd,; }
quotas_are() { [ "$(quotas)" = "$1" ]; }
in_s() { echo $(($(date +%s) + $1)); }

# a_team PERCENT: a lead and a reviewer with one login.
a_team() {
    printf '[limits]\nquota = %s\n' "$1" >>"$ROOT/mas.ini"
    options ''
    options_preset made 'told.like = claude-tty' \
        'told.line.5h = quota _meta._claude/rateLimit.rateLimitType=five_hour part:_meta._claude/rateLimit.utilization resets:_meta._claude/rateLimit.resetsAt' \
        'told.line.week = quota _meta._claude/rateLimit.rateLimitType=seven_day part:_meta._claude/rateLimit.utilization resets:_meta._claude/rateLimit.resetsAt'
    new_session -t pair --agent made
    DIR=$ROOT/sessions/$ID
    hosts_there lead reviewer
}

@test "usage --quota shows what programs tell, the newest of each window, and what is over as unused" {
    a_team 0
    run "$MAS" usage --quota
    [ "$status" -eq 0 ]
    [ "$output" = "no program has told what is used of its provider's windows" ]
    resets=$(in_s 9000)
    ok ask "$ID" lead "$(window five_hour 0.5 "$resets")"
    ok ask "$ID" reviewer "$(window five_hour 0.629 "$resets")"
    ok ask "$ID" reviewer "$(window seven_day 0.31 "$(in_s 500000)")"
    quotas_are '5h 62,week 31'
    "$MAS" usage --quota --json | jq -e --arg at "$(date -u -d "@$resets" +%FT%TZ)" \
        '.quota[0] | .preset == "made" and .resets == $at and (.login | length) == 32 and (.told | length) == 20'
    run "$MAS" usage --quota
    [[ ${lines[0]} =~ ^PRESET\ +LOGIN\ +WINDOW\ +USED\ +RESETS\ +TOLD$ ]]
    [[ ${lines[1]} =~ ^made\ +[0-9a-f]{6}\ +5h\ +62\ %\  ]]
    [ "${#lines[@]}" -eq 3 ]
    ok ask "$ID" reviewer "$(window five_hour 0.9 "$(in_s -5)")"
    quotas_are '5h 0,week 31'
    fails 2 usage --quota "$ID"
    fails 2 usage --quota -s "$ID"
    fails 2 usage --quota --all-hosts
    [ "$stderr" = "mas: cannot run 'usage' on all hosts with --quota" ]
    fails 2 usage --quota --by day
}

@test "what agents tell beyond numbers of a window changes nothing, and a damaged file is nothing" {
    a_team 0
    ok ask "$ID" lead "$(window five_hour 0.5 "$(in_s 900)")"
    for told in 'five_hour -1 9' 'five_hour {} 9' 'five_hour null 9' 'other 0.9 9'; do
        # shellcheck disable=SC2086 # three words
        ok ask "$ID" lead "$(window $told)"
    done
    quotas_are '5h 50'
    ok ask "$ID" lead "$(window five_hour 1e300 "$(in_s 900)")"
    quotas_are '5h 999'
    ok ask "$ID" lead "$(window five_hour 0.1 1e300)" # no time: it holds for a while
    quotas_are '5h 10'
    for text in '' $'made\n5h' $'made\n5h -1 0 0' $'\n5h 1 1 9999999999999'; do
        printf '%s' "$text" >"$(echo "$ROOT"/sessions/.limits/*.quota)"
        quotas_are ''
    done
}

# own_crontab: `mas every` finds no systemd, and a crontab of the test's.
own_crontab() {
    mkdir "$T/bin"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/systemctl"
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\n[ "$1" = -l ] && exec cat %s\nexec cat >%s\n' "$T/tab" "$T/tab" >"$T/bin/crontab"
    touch "$T/tab"
    chmod +x "$T/bin/crontab" "$T/bin/systemctl"
    PATH=$T/bin:$PATH
}

@test "beyond [limits] quota what no person has sent waits, and a person's prompt goes past it" {
    a_team 80%
    ok ask "$ID" reviewer "$(window five_hour 0.79 "$(in_s 9000)")"
    ok send --from reviewer "$ID" lead CW-BELOW
    eventually was_sent CW-BELOW
    eventually state_is lead idle
    ok ask "$ID" reviewer "$(window five_hour 0.8 "$(in_s 9000)")"
    ok send --from reviewer "$ID" lead CW-HELD
    eventually state_is lead paused
    [[ $(of lead .note) == "80 % of its 5h is used (quota = 80%), until "* ]]
    [[ $("$MAS" history "$ID" lead --json | jq -r '.messages[].text') == *'what no person has sent waits: 80 % of its 5h'* ]]
    ok ask "$ID" lead CW-PERSON
    run ! was_sent CW-HELD
    eventually state_is lead paused
    ok ask --new "$ID" lead CW-NEW
    [[ $output == *CW-NEW* && $output != *CW-PERSON* ]] # it does not know the other conversation
    run ! was_sent CW-HELD
    own_crontab
    ok every 2h "$ID" lead CW-PLANNED
    ok every --run 1
    ok ask "$ID" lead CW-AGAIN
    run ! was_sent CW-PLANNED
    eventually state_is lead paused
    kill -KILL "$(of lead .hostPid)" # what waits is not lost
    ok restart "$ID" lead
    hosts_there lead
    eventually state_is lead paused
    run ! was_sent CW-HELD
    ok ask "$ID" reviewer "$(window five_hour 0.9 "$(in_s 2)")" # it begins anew
    within 30 was_sent CW-HELD
    eventually state_is lead idle
    [ "$(prompts CW-HELD)" = 1 ]
    within 30 was_sent CW-PLANNED
}
