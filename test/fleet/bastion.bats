#!/usr/bin/env bats
# Machines that front does not reach: only n1 does, the bastion, and ~/.ssh/config on front says so. For n2 by
# ProxyJump, for n3 by ProxyCommand.
# shellcheck disable=SC2016 # for the shells there

load ../helper
load lib

setup_file() {
    bed_up
    if [ -z "$BED" ]; then return; fi
    fleet_config
    on front ip route add unreachable 10.77.0.12/32
    on front ip route add unreachable 10.77.0.13/32
    as front sh -c 'printf "%s\n" "Host n2" "ProxyJump n1" "Host n3" "ProxyCommand ssh -W %h:%p n1" >>.ssh/config'
    as front sh -c 'git config --global user.name Ann && git config --global user.email ann@example.org &&
        git init -q -b main shop && cd shop && echo a >a && git add a && git commit -qm Begin'
}
teardown_more() { if [ -n "$BED" ]; then window_close; fi; }

# in_shop ARG...: mas on front, in the checkout.
in_shop() { run --separate-stderr as front sh -c 'cd shop && exec mas "$@"' sh "$@"; }
ok_in_shop() {
    in_shop "$@"
    [ "$status" -eq 0 ] || { echo "$output $stderr" && false; }
}

@test "without its configuration ssh reaches neither, and with it mas does" {
    for machine in n2 n3; do
        run ! as front ssh -F /dev/null -o BatchMode=yes "$machine" true
        front --host "$machine" version
    done
    [[ $(front list --all-hosts) != *'not reached'* ]]
    # nor without the bastion
    disconnect
    link_down n1
    front_mas --host n2 version
    link_up n1
    [ "$status" -eq 12 ]
    eventually front --host n2 version
}

@test "a machine behind a bastion becomes a host" {
    as front mas init -q
    on n2 mv /usr/local/bin/mas /usr/local/bin/.mas
    front_mas remote add --yes far n2
    echo "$output $stderr"
    on n2 mv /usr/local/bin/.mas /usr/local/bin/mas
    [ "$status" -eq 0 ]
    front_mas remote check far
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *reached*ok*'over ssh'* ]]
    as n2 rm -rf .local/bin .local/lib
}

@test "a repository goes over a bastion and its work comes home; so does a session" {
    for machine in n2 n3; do
        ok_in_shop --host "$machine" new -q -t solo --agent shell -n fix --project .
        as "$machine" sh -c 'cd "$(mas show --json fix | jq -r .workingDir)/code/solo" && echo "$1" >"$1" &&
            git add "$1" && git commit -qm "Write $1"' sh "$machine"
        ok_in_shop merge "$machine:fix" solo
        ok_in_shop diff "$machine:fix" main
        [[ $output == *"+$machine"* ]]
        ok_in_shop land "$machine:fix"
        [ "$(as front cat "shop/$machine")" = "$machine" ]
        front rm -q -f "$machine:fix"
        front new -q -n tea -t solo --agent shell
        front move -q tea "$machine"
        [ "$(front show --json "$machine:tea" | jq -r .status)" = active ]
        front rm -q -f "$machine:tea"
    done
}

@test "what a person sees and what an agent serves comes over a bastion" {
    local machine port here
    for machine in n2 n3; do
        front --host "$machine" new -q -t solo --agent shell -n web
        in_window "mas attach $machine:web"
        eventually window_shows solo
        keys C-b d
        eventually window_shows '^ended 0'
        window_close
        front send "$machine:web" solo 'echo of-the-agent >page; exec python3 -m http.server --bind 127.0.0.1 $MAS_PORT'
        port=$(front show --json "$machine:web" | jq '.agents[0].port')
        eventually on "$machine" sh -c 'ss -ltn | grep -q "127.0.0.1:$1 "' sh "$port"
        in_window "mas remote forward $machine:web"
        eventually window_shows '127\.0\.0\.1:[0-9]+-'
        here=$(as front tmux -L window capture-pane -p | grep -oE -m 1 '127\.0\.0\.1:[0-9]+' | cut -d: -f2)
        [ "$(as front python3 -ESc 'import sys, urllib.request
print(urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1] + "/page").read().decode(), end="")' "$here")" = of-the-agent ]
        window_close
        front rm -q -f "$machine:web"
    done
}
