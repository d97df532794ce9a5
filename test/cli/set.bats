#!/usr/bin/env bats
# mas set: a session becomes private, and not private any more.
load ../helper
load ../memory
load ../host/lib
load ../acp/lib
load ../project

@test "a session becomes private and is found only where it is named, and back" {
    new_session -n s -t solo --no-start
    user 'the tea is green' '{agent: "solo", at: 1700000000}' | said "$ID" >/dev/null
    [ "$(found tea)" = 'the tea is green' ]
    ok set s private=yes
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

@test "another name renames no branch" {
    make_project
    new_session -n one -t solo --no-start --project "$P"
    commit solo c 'of solo'
    ok set -q one name=two
    [ "$(git -C "$(tree_of solo)" symbolic-ref HEAD)" = refs/heads/mas/one/solo ]
    ok add -q two --agent shell --as rev
    [ "$(git -C "$(tree_of rev)" symbolic-ref HEAD)" = refs/heads/mas/one/rev ]
    ok merge two solo
    [ "$output" = 'solo: 1 commit merged into mas/one/main' ]
}

# What the status line of session $1 says
status_left() { tm display-message -p -t "=$(field "$1" .tmuxSession):" '#{T:status-left}'; }

@test "a session gets another name, while it runs and while it does not" {
    new_session -n one -t solo
    other=$("$MAS" new -q -n two -t solo --no-start)
    [ "$(status_left one)" = '[one] ' ]
    ok set one name=three
    [ "$output" = 'one: its name is three' ]
    [ "$(field three .sessionId) $(meta "$ID" NAME)" = "$ID three" ]
    [ "$(status_left three)" = '[three] ' ]
    fails 3 show one
    fails 4 set three name=two
    [ "$stderr" = "mas: cannot name a session 'two': another session has that name
see it with: mas show two" ]
    fails 2 set three 'name=no good'
    [[ $stderr == "mas: cannot use name 'no good': "* ]]
    [ "$(meta "$ID" NAME)" = three ]
    ok set -q two name=one
    [ "$(field one .sessionId)" = "$other" ]
    ok set three name=
    [ "$output" = 'three: it has no name' ]
    [ "$(field "$ID" .name) $(status_left "$ID")" = " [$(field "$ID" .tmuxSession)] " ]
    ok set -q "$ID" name=last
    # a line that a user has changed stays as it is
    tm set-option -t "=$(field last .tmuxSession):" status-left mine
    ok set -q last name=first
    [ "$(status_left first)" = mine ]
    "$MAS" stop -q first
    ok start -q first
    [ "$(status_left first)" = '[first] ' ]
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "a session that runs becomes private and runs on" {
    new_session -t solo
    "$MAS" set -q "$ID" private=yes
    [ "$(field "$ID" '.status + " " + (.private | tostring)')" = 'active true' ]
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "budgets and limits that were set are shown, also of a session that does not run" {
    printf '[budget]\ntime = 90m\n[limits]\nprocesses = 100\n' >>"$ROOT/mas.ini"
    new_session -n s -t solo --no-start
    [ "$(field s '.budget.time | .amount, .used, (.from | test("mas.ini:[0-9]+$"))')" = $'5400s\n0s\ntrue' ]
    [ "$(field s '.limits.processes | .amount, (.from | test("mas.ini:[0-9]+$"))')" = $'100\ntrue' ]
    [ "$(field s '[.agents[0].budget, .boundsProblem] | tostring')" = '[null,null]' ]
    "$MAS" set -q s 'budget.cost=5 USD'
    "$MAS" set -q s solo.budget.turns=20
    "$MAS" set -q s limits.session=4G
    "$MAS" set -q s solo.limits.memory=2G
    [ "$(field s '.budget.cost | tostring')" = '{"amount":"5 USD","used":"0 USD","from":"mas set"}' ]
    [ "$(field s '.agents[0].budget | tostring')" = '{"turns":{"amount":"20","used":"0","from":"mas set, for agent solo"}}' ]
    [ "$(field s '.agents[0].limits.memory | tostring')" = '{"amount":"2147483648","from":"mas set, for agent solo"}' ]
    [ "$(field s '.limits.session.used == (.disk.realBytes | tostring) and .agents[0].limits.session.used == .limits.session.used')" = true ]
    mas show s
    [[ $output == *'team budget'*'0.0000 USD of 5.00 USD (mas set), time 0s of 1h30m ('*mas.ini:*')'* ]]
    [[ $output == *'agent budgets'*'0 turns of 20 turns (mas set, for agent solo)'* ]]
    [[ $output == *"limits "*"session's disk "*' of 4.0G (mas set), memory 2.0G (mas set, for agent solo), processes 100 ('* ]]
    "$MAS" set -q s budget.time=none # above mas.ini
    "$MAS" set -q s budget.cost=default
    "$MAS" set -q s solo.budget.turns=default
    [ "$(field s '[.budget, .agents[0].budget] | tostring')" = '[null,null]' ]
    mas show s
    [[ $output != *budget* ]]
    # what cannot be read is said, and hides nothing else
    echo damaged >"$ROOT/sessions/$ID/memory.db"
    [ "$(field s '.limits.session.amount + " " + (.boundsProblem | test("memory.db") | tostring)')" = '4294967296 true' ]
    ok show s
    [[ $output == *'team budget'*unknown:*memory.db* ]]
}

@test "a session alone is shown with what it has, and who says so" {
    new_session -t solo -n s --no-start --private
    ok set s
    [ "$(awk '{ print $1 }' <<<"$output" | xargs)" = \
        "SETTING private=yes budget.cost=none budget.tokens=none budget.turns=none budget.time=none limits.session=none limits.agent=none limits.memory=none limits.cpus=none limits.processes=none" ]
    "$MAS" set -q s 'budget.cost=5 USD'
    "$MAS" set -q s solo.budget.turns=20
    "$MAS" set -q s limits.session=4G
    "$MAS" set -q s solo.limits.memory=2G
    mas set s
    for line in 'budget.cost=5 USD +mas set' 'solo.budget.turns=20 +mas set.*' 'limits.session=4(.0)?G +mas set' \
        'solo.limits.memory=2(.0)?G +mas set.*'; do
        grep -qEx "$line" <<<"$output" || { echo "$line: $output"; return 1; }
    done
    fails 3 set nosuch
    echo damaged >"$ROOT/sessions/$ID/memory.db"
    mas set s
    [ "$status" -ne 0 ]
    [[ $stderr == *memory.db* ]]
}

@test "what is no such change, or of no such session, changes nothing" {
    new_session -t solo --no-start
    local before word
    before=$(snapshot)
    for word in private=maybe private public=yes private=; do
        fails 2 set "$ID" "$word"
        [[ $stderr == "mas: cannot set '$word': it is not private=yes, private=no, setup=yes, setup=no, name=NAME, project=DIR, budget.KIND=AMOUNT or limits.KIND=AMOUNT"* ]]
    done
    fails 3 set nosuch private=yes
    fails 2 set
    ok set -q "$ID" private=no
    exec 8<"$ROOT/sessions/$ID/.session.lock"
    flock 8
    fails 4 set "$ID" private=yes
    exec 8<&-
    [ "$(snapshot)" = "$before" ]
}

@test "the mode and the options of an agent are set without a clear, and kept" {
    run_acp ""
    "$MAS" ask "$ID" solo CW-ONE >/dev/null
    ok set "$ID" solo mode=plan model=large
    [ -z "$output$stderr" ]
    "$MAS" ask "$ID" solo CW-TWO | grep -q 'seen=\[CW-ONE CW-TWO\]'
    was_set() { grep '^<' "$T/trace" | grep -F "\"session/$1\"" | grep -cF "\"$2\""; }
    [ "$(was_set set_mode plan) $(was_set set_config_option large)" = '1 1' ]
    "$MAS" restart -q "$ID" solo
    "$MAS" ask "$ID" solo CW-THREE | grep -q 'seen=\[CW-ONE CW-TWO CW-THREE\]'
    [ "$(was_set set_mode plan) $(was_set set_config_option large)" = '2 2' ]
    # one agent is the only one that may be meant
    fails 3 set "$ID" solo mode=nosuch
    [[ $stderr == *"no mode 'nosuch'"* ]]
    fails 3 set "$ID" solo nosuch=x
    fails 2 set "$ID" solo model=large plan
    [[ $stderr == "mas: cannot set 'plan': it is not KEY=VALUE"* ]]
    fails 3 set "$ID" nobody mode=plan
    fails 2 set "$ID" private=no more
    "$MAS" stop -q "$ID"
    fails 4 set "$ID" solo mode=plan
}

@test "without KEY=VALUE, the mode and the options of an agent are shown with their values" {
    run_acp ""
    "$MAS" ask "$ID" solo CW-ONE >/dev/null
    mas set "$ID" solo mode=plan
    ok set "$ID" solo
    [[ ${lines[0]} == SETTING*VALUES ]]
    [[ ${lines[1]} == 'mode=plan '*default,*plan* ]]
    [[ ${lines[2]} =~ ^'model=small '\ +'small, large'$ ]]
    [ "${#lines[@]}" = 3 ]
    "$MAS" sleep -q "$ID" solo
    fails 4 set "$ID" solo
    [ "$stderr" = "mas: cannot show the settings of agent 'solo': it is asleep, and has told of none" ]
    fails 3 set "$ID" nobody
    [ "${stderr_lines[0]}" = "mas: cannot find agent 'nobody': the team has no such agent" ]
}

@test "a value that the agent rejects is not kept: the error says why, and what it offers" {
    run_acp ""
    "$MAS" ask "$ID" solo CW-ONE >/dev/null
    fails 2 set "$ID" solo model=nonsense
    [ "${stderr_lines[0]}" = "mas: cannot set an option of agent 'solo': it has not set 'model=nonsense': no such option or value (-32602)" ]
    [ "${stderr_lines[1]}" = "its values are: small, large" ]
    rejected() { grep '^<' "$T/trace" | grep -c '"nonsense"'; }
    [ "$(rejected)" = 1 ]
    "$MAS" restart -q "$ID" solo
    "$MAS" ask "$ID" solo CW-TWO | grep -q 'seen=\[CW-ONE CW-TWO\]'
    [ "$(rejected)" = 1 ] # the next session is not asked for it
    run ! grep -F nonsense <("$MAS" history "$ID" solo --json)
}

@test "of two settings, the later one holds, also if the agent has not answered the first" {
    run_acp --option-slow=1000
    "$MAS" ask "$ID" solo CW-ONE >/dev/null
    "$MAS" set "$ID" solo model=large &
    eventually grep -qF '"session/set_config_option"' "$T/trace"
    "$MAS" set "$ID" solo model=small # which is what it has, as far as it has told
    wait $!
    [ "$(grep -cF '"session/set_config_option"' "$T/trace")" = 2 ]
    mas set "$ID" solo
    [[ $output == *model=small* ]]
    "$MAS" restart -q "$ID" solo
    "$MAS" ask "$ID" solo CW-TWO >/dev/null
    mas set "$ID" solo
    [[ $output == *model=small* ]]
}

@test "an agent that ends, or is silent, before it has answered for a setting: nothing is kept" {
    run_acp --option-hang
    "$MAS" ask "$ID" solo CW-ONE >/dev/null
    "$MAS" set "$ID" solo model=large 2>"$T/refused" &
    local asks=$!
    eventually grep -qF '"session/set_config_option"' "$T/trace"
    "$MAS" restart -q "$ID" solo
    local rc=0
    wait "$asks" || rc=$?
    [ "$rc" -eq 1 ]
    grep -qxF "mas: cannot set an option of agent 'solo': it has not set 'model=large': its process ended" "$T/refused"
    "$MAS" ask "$ID" solo CW-TWO >/dev/null
    [ "$(grep -cF '"session/set_config_option"' "$T/trace")" = 1 ]
}

@test "a boolean option of an agent is set as one, and kept; where it is not offered there is none" {
    run_acp --boolean
    "$MAS" ask "$ID" solo CW-ONE >/dev/null
    ok set "$ID" solo web=true model=large
    eventually was_switched '[boolean,true]'
    mas set "$ID" solo web=off
    eventually was_switched '[boolean,true] [boolean,false]'
    mas set "$ID" solo web=on
    eventually was_switched '[boolean,true] [boolean,false] [boolean,true]'
    fails 2 set "$ID" solo web=maybe
    [[ $stderr == *"'maybe' is no value of the option 'web'"*"true, false"* ]]
    "$MAS" restart -q "$ID" solo
    "$MAS" ask "$ID" solo CW-TWO | grep -q 'seen=\[CW-ONE CW-TWO\]'
    "$MAS" clear "$ID" solo
    "$MAS" ask "$ID" solo CW-THREE >/dev/null
    was_switched '[boolean,true] [boolean,false] [boolean,true] [boolean,true]' # again in the new session only
    mas set "$ID" solo web=false
    eventually was_switched '[boolean,true] [boolean,false] [boolean,true] [boolean,true] [boolean,false]'
    options ""
    "$MAS" restart -q "$ID" solo
    "$MAS" ask "$ID" solo CW-FOUR >/dev/null
    fails 3 set "$ID" solo web=true
    [[ $stderr == *"no option 'web'"* ]]
    [ "$(switched | wc -w)" = 5 ]
}

@test "an option that was set as on or off, before the agent called it boolean, is set as one" {
    run_acp --no-options
    "$MAS" ask "$ID" solo CW-ONE >/dev/null
    "$MAS" sleep -q "$ID" solo
    ok set "$ID" solo web=on other=maybe # an agent that does not run has told nothing
    options --boolean
    "$MAS" ask "$ID" solo CW-TWO >/dev/null
    was_switched '[boolean,true]'
    "$MAS" sleep -q "$ID" solo
    mas set "$ID" solo web=maybe
    "$MAS" ask "$ID" solo CW-THREE >/dev/null
    "$MAS" history "$ID" solo | grep -F "the option 'web' is on or off: 'maybe' is not set"
    was_switched '[boolean,true]'
}

@test "a program on a terminal has no options" {
    new_session -t solo
    fails 4 set "$ID" solo mode=plan
    [[ $stderr == *'not an ACP agent'* ]]
}
