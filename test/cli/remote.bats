#!/usr/bin/env bats
# mas remote: the hosts of mas.ini, and what they have.
# shellcheck disable=SC2016 # for the other machines
load ../helper
load ../ssh

# A loaded machine may need more than the usual time.
setup_more() {
    make_machines n1 n2
    printf '[fleet]\nanswer = 1m\n' >>"$ROOT/mas.ini"
}
teardown_more() { close_connections; }

version() { "$MAS" version | cut -d' ' -f2; }
# fact HOST NAME: its state and its text.
fact() { awk -v host="$1" -v name="$2" '$1 == host && $2 == name { $1 = $2 = ""; print substr($0, 3) }' <<<"$output"; }
# json HOST FILTER: of its entry.
json() { jq -r --arg host "$1" ".hosts[] | select(.host == \$host) | $2" <<<"$output"; }
# says ANSWER [MEMBERS]: what a machine runs that is in order, but for these members of its greeting, and answers this.
says() {
    local line
    line=$(jq -nc --arg mas "$(version)" "{mas: \$mas, free: 999999999, tmux: \"3.3a\"} + {${2-}}")
    echo "echo '{\"timeMs\":'\$(date +%s%3N)',${line#\{}'; $1"
}
# answers FINDINGS PRESETS [MEMBERS]: likewise, with these answers.
answers() { says "case \$* in *presets*) echo '{\"presets\":$2}' ;; *) echo '{\"findings\":$1}' ;; esac" "${3-}"; }

@test "remote lists the hosts of mas.ini, and reaches none" {
    printf '[host gpu]\nvia = slurm:teams\nstore = /srv/store\n' >>"$ROOT/mas.ini"
    ok remote
    [[ ${lines[0]} == HOST*VIA*MAS*ROOT*STORE*FROM* ]]
    [[ ${lines[1]} == n1*ssh:n1*"$MAS"*"$T/n1/root"*"$ROOT/mas.ini:"* ]]
    [[ ${lines[3]} == gpu*slurm:teams*/srv/store* ]]
    [ "${#lines[@]}" -eq 4 ]
    local table=$output
    ok remote list
    [ "$output" = "$table" ]
    ok remote list -q
    [ "$output" = $'n1\nn2\ngpu' ]
    ok remote list --json
    [ "$(json gpu .via)" = slurm:teams ]
    [ "$(json n1 .root)" = "$T/n1/root" ]
    [ "$(jq .total <<<"$output")" = 3 ]
    [ ! -d "$T/runtime/mas" ]
}

@test "remote list shows a section that is wrong, and fails" {
    printf '[host bad]\nvia = http:n3\n' >>"$ROOT/mas.ini"
    fails 1 remote list
    [[ $output == *$'\n'bad* ]]
    [[ $stderr == *'ssh:DESTINATION'* ]]
    fails 1 remote list --json
    [[ $(json bad .wrong) == *'via'* ]]
}

@test "remote check has a line for each fact of each host" {
    mkdir "$T/store"
    printf '[fleet]\nstore = %s\n' "$T/store" >>"$T/n1/root/mas.ini"
    ok remote check
    [[ ${lines[0]} == HOST*WHAT*STATE*FOUND* ]]
    for host in n1 n2; do
        [ "$(fact $host reached)" = 'ok over ssh' ]
        [ "$(fact $host mas)" = "ok $(version)" ]
        [ "$(fact $host tmux)" = "ok $(tmux -V | cut -d' ' -f2)" ]
        [ "$(fact $host git)" = "ok $(git --version | cut -d' ' -f3-)" ]
        [[ $(fact $host walls) == ok* || $(fact $host walls) == note* ]]
        [ "$(fact $host clock)" = 'ok +0.0 s' ]
        [[ $(fact $host root) == 'ok '*' free' ]]
        [[ $(fact $host doctor) == *'everything is in order' || $(fact $host doctor) == *' note'* ]]
    done
    [[ $(fact n1 store) == 'ok '*' free' ]]
    [ -z "$(fact n2 store)" ]
    ok remote check n1
    [[ $output != *n2* ]]
    ok remote check --json
    [ "$(json n1 .version)" = "$(version)" ]
    [ "$(json n2 '.facts[] | select(.name == "tmux") | .state')" = ok ]
    [ "$(json n2 '.free > 0')" = true ]
}

@test "remote check says which agents are installed there" {
    acts_as n1 "$(answers '[]' '[{"name":"shell","install":"","installed":true},{"name":"claude","install":"npm","installed":true},{"name":"codex","install":"npm","installed":false},{"name":"gemini","install":"npm","installed":false}]')"
    acts_as n2 "$(answers '[]' '[{"name":"codex","install":"npm","installed":false}]' 'git: "3.0"')"
    ok remote check
    [ "$(fact n2 git)" = 'ok 3.0' ]
    [ "$(fact n1 agents)" = 'ok claude' ]
    [ "$(fact n1 absent)" = 'note codex, gemini' ]
    [ "$(fact n2 agents)" = 'note none is installed, see: mas --host n2 presets' ]
    ok remote check --json
    [ "$(json n1 '.agents | map("\(.name) \(.installed)") | join(",")')" = 'claude true,codex false,gemini false' ]
}

@test "remote check marks what is wrong, and fails as doctor does" {
    local now
    now=$(($(date +%s%3N) - 3600000))
    acts_as n1 'echo "{\"mas\":\"0.9\",\"timeMs\":'"$now"',\"free\":100,\"tmux\":\"3.1\",\"git\":\"-\",\"storeFree\":0}"; case $* in *presets*) echo "{}" ;; *) echo "{\"findings\":[{\"state\":\"open\"},{\"state\":\"note\"}]}"; exit 1 ;; esac'
    fails 1 remote check
    [ "$(fact n1 mas)" = "wrong 0.9, here is $(version)" ]
    [ "$(fact n1 tmux)" = 'wrong 3.1 is too old: 3.2 is the first that will do' ]
    [ "$(fact n1 git)" = 'note missing' ]
    [[ $(fact n1 clock) == 'wrong -'*' s' ]]
    [[ $(fact n1 root) == 'wrong '*' free' ]]
    [[ $(fact n1 store) == 'wrong '*' free' ]]
    [ "$(fact n1 doctor)" = 'wrong 1 problem, see: mas --host n1 doctor' ]
    [ "$stderr" = "mas: cannot call host 'n1' in order
see the lines marked 'wrong', and then run: mas remote check n1" ]
    acts_as n1 "$(answers '[]' '[]' 'git: "2.20.1", free: -1')"
    fails 1 remote check n1
    [ "$(fact n1 git)" = 'note 2.20.1 is too old: 2.38 is the first that will do' ]
    # each of these alone
    for member in 'free: 1' 'tmux: "-"' 'storeFree: 1' 'mas: "0.9"'; do
        acts_as n1 "$(answers '[]' '[]' "$member")"
        fails 1 remote check n1
        [ "$(grep -c ' wrong ' <<<"$output")" -eq 1 ]
    done
}

@test "remote check says why a host was not reached, and fails with 12" {
    sed -i '/^Host n2/,/ProxyCommand/s|ProxyCommand .*|ProxyCommand false|' "$T/ssh/config"
    fails 12 remote check
    [ "$(fact n1 reached)" = 'ok over ssh' ]
    [[ $(fact n2 reached) == 'wrong not reached: '* ]]
    [ "$(grep -c '^n2 ' <<<"$output")" -eq 1 ]
    fails 12 remote check --json
    [ "$(json n2 .reached)" = false ]
    fails 3 remote check n9
    [[ $stderr == *n9* ]]
}

@test "what a host answers is shown as text, and within limits" {
    local agents
    acts_as n1 "$(answers '[]' '[{"name":"a\u001b[31mred\u0007","install":"x","installed":true}]' 'git: "\u001b]0;title\u0007"')"
    ok remote check n1
    [[ $output != *$'\x1b'* && $output != *$'\x07'* ]]
    [[ $output == *'title'* ]]
    agents=$(jq -nc '[range(150) | {name: "agent-\(.)", install: "x", installed: true}]')
    acts_as n1 "$(answers '[]' "$agents")"
    ok remote check n1
    [[ $(fact n1 agents) == *', agent-99 and 50 more' ]]
    for answer in 'yes x | head -c 20000000' 'echo "{}"' 'echo "{\"findings\":5}"' 'printf "\377"'; do
        acts_as n1 "$(says "$answer")"
        fails 1 remote check n1
        [ "$(fact n1 reached | cut -d' ' -f1)" = wrong ] || { echo "$answer: $output"; false; }
    done
}

@test "an agent may not have hosts checked" {
    MAS_BROKERED=10 mas remote check
    [ "$status" -ne 0 ]
    [ ! -d "$T/runtime/mas" ]
}
