#!/usr/bin/env bats
# list --all-hosts and the other verbs that ask all machines at once.

load ../helper
load lib

setup_file() {
    bed_up
    if [ -z "$BED" ]; then return; fi
    fleet_config
    patient
    local machine
    for machine in front n1 n2 n3; do as "$machine" mas new -q -t solo --agent scripted --name "on-$machine"; done
}

# patient: machines are waited for as long as a loaded one needs. brisk: for 2 s, as by default.
patient() { as front sh -c 'printf "[fleet]\nanswer = 1m\n" >>.config/mas/mas.ini'; }
brisk() { as front sed -i '/^\[fleet\]/d; /^answer = /d' .config/mas/mas.ini; }

# list_has WORD...: `list` has these words, and took less than 3 s. On a loaded machine those that are up may need more
# than the 2 s that it gives them; so ask again. SLOWEST: the longest of these lists, in ms.
SLOWEST=0
list_has() {
    local start=${EPOCHREALTIME/[.,]/} took word
    front_mas list --all-hosts
    took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
    echo "$took ms: $output"
    if [ "$took" -gt "$SLOWEST" ]; then SLOWEST=$took; fi
    [ "$took" -lt 3000 ] || return
    for word; do [[ $output == *"$word"* ]] || return; done
}

# everywhere FILTER: of `list --all-hosts --json`.
everywhere() { front list --all-hosts --json | jq -r "$1"; }
names() { everywhere '[.sessions[].name] | sort | join(" ")'; }

@test "list shows the teams of all machines, and whose they are" {
    [ "$(names)" = 'on-front on-n1 on-n2 on-n3' ]
    front_mas list --all-hosts
    [ "$status" -eq 0 ]
    local machine
    for machine in n1 n2 n3; do grep -E "^$machine .*on-$machine" <<<"$output"; done
    grep -E '^- .*on-front' <<<"$output"
}

@test "status, search, usage and du ask all machines, too" {
    local verb
    front --host n2 ask on-n2 solo 'SAY:"a rare codeword"' >/dev/null
    [[ $(front search --all-hosts 'codeword') == *n2* ]]
    [[ $(front usage --all-hosts) == *n2* ]]
    for verb in status du; do
        front_mas "$verb" --all-hosts
        echo "$verb: $output"
        [ "$status" -eq 0 ]
        [[ $output == *n1* && $output == *n3* ]]
    done
}

@test "running jobs are asked, too, each on its node; one whose node is cut off is a row" {
    local verb word
    fleet_slurm 'submit = -w n1'
    front new -q --host gpu -n one -t solo --agent scripted
    as front sed -i 's/^submit = .*/submit = -w n2/' .config/mas/mas.ini
    front new -q --host gpu -n two -t solo --agent scripted
    eventually front wait gpu:one --for idle
    eventually front wait gpu:two --for idle
    front ask gpu:two solo 'SAY:"another rare word"' >/dev/null
    for verb in status du usage 'top --once'; do
        # shellcheck disable=SC2086 # words
        front_mas $verb --all-hosts
        echo "$verb: $output $stderr"
        [ "$status" -eq 0 ]
        case $verb in
            usage) grep -E '^gpu ' <<<"$output" ;;
            *)
                grep -E '^gpu .*one' <<<"$output"
                grep -E '^gpu .*two' <<<"$output"
                [[ $output == *on-n1* && $output == *on-n3* ]]
                ;;
        esac
    done
    grep -E '^gpu .*another rare word' <<<"$(front search --all-hosts 'another rare')"
    [ "$(front status --all-hosts --json | jq -r '[.hosts[] | select(.host == "gpu") | .reached] | join(",")')" = true,true ]
    brisk
    link_down n2
    only_one() {
        front_mas status --all-hosts
        echo "$output"
        grep -E '^gpu .*one' <<<"$output" && grep -E '^gpu:two .*not reached: ' <<<"$output"
    }
    eventually only_one
    [ "$status" -eq 12 ]
    link_up n2
    front stop one two
    eventually prints 0 eval "front list --json | jq '[.jobs[] | select(.state == \"running\")] | length'"
    # shellcheck disable=SC2016 # sed's $
    as front sed -i '/^\[host gpu\]/,$d' .config/mas/mas.ini
    patient
}

@test "with a machine that is dead, a list takes less than 3 s and has the others whole, and a row for it" {
    front list --all-hosts >/dev/null
    brisk
    power_off n3
    eventually list_has on-front on-n1 on-n2
    [ "$status" -eq 12 ]
    [ "$SLOWEST" -lt 10000 ]
    grep -E '^n3 ' <<<"$output"
    [ "$(everywhere '.hosts[] | select(.host == "n3") | .reached')" = false ]
    [ "$(everywhere '.hosts[] | select(.host == "n3") | .lastKnown.sessions // .lastKnown')" != null ]
    power_on n3
    patient
    eventually prints true everywhere '.hosts[] | select(.host == "n3") | .reached'
}

@test "a machine whose link is cut while a connection to it is open does not hold a list" {
    front --host n2 version
    brisk
    link_down n2
    eventually list_has on-front on-n1
    [ "$status" -eq 12 ]
    [ "$SLOWEST" -lt 10000 ]
    link_up n2
    patient
    disconnect
}

@test "a clock an hour off, a full disk, another version of mas and a wrong key are a row each, with the reason" {
    clock_off n1 3600
    disk_full n2
    front_mas list --all-hosts
    echo "$output"
    grep -iE '^n1 .*clock' <<<"$output"
    grep -iE '^n2 .*(disk|full|free)' <<<"$output"
    [[ $output == *on-n1* && $output == *on-n2* ]]
    clock_off n1 0
    disk_free n2
    other_version n1
    front_mas list --all-hosts
    echo "$output"
    grep -E '^n1 .* has mas [^ ]*z, here is ' <<<"$output"
    wrong_key n3
    disconnect
    front_mas list --all-hosts
    echo "$output"
    grep -E '^n3 .*Permission denied' <<<"$output"
    right_key n3
    strange_host_key n3
    disconnect
    front_mas list --all-hosts
    echo "$output"
    grep -iE '^n3 .*host key' <<<"$output"
    [[ $output == *on-n2* ]]
}
