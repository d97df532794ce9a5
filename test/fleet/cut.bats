#!/usr/bin/env bats
# A power cut in the middle of a turn: what an agent still knows after its job was requeued.

load ../helper
load lib

setup_file() {
    bed_up
    if [ -z "$BED" ]; then return; fi
    fleet_config
    local machine
    for machine in n1 n2 n3; do
        # shellcheck disable=SC2016 # for the shell there
        as "$machine" sh -c 'printf "%s\n" "[fleet]" "save = 1s" >>.config/mas/mas.ini'
    done
    fleet_slurm
}

job() { as front mas list --json | jq -r ".jobs[] | select(.name == \"shop\") | $1"; }
job_now() { as front sh -c 'rm -f /srv/shared/store/.jobs/answer' && job "$1"; }
saves() { as front sh -c 'cat /srv/shared/store/*/save-*' | zstd -dcq 2>/dev/null; }

@test "after a power cut in the middle of a turn the agent knows the code word, and each whole message is there" {
    local node
    front new -q --host gpu -n shop -t solo --agent scripted
    eventually front --host gpu wait shop --for idle
    node=$(job_now .node)
    [[ $(front --host gpu ask shop solo 'SAY:"whole answer" remember CW-ALPHA') == *'whole answer'* ]]
    front --host gpu ask shop solo 'SAY:"half an answer\n" HANG' >"$T/half" 2>&1 &
    eventually grep -q 'half an answer' "$T/half"
    # the next saves have it
    eventually eval 'saves | grep -aq "half an answer"'
    power_off "$node"
    wait || :
    moved() { [ "$(job_now .state)" = running ] && [ "$(job .node)" != "$node" ]; }
    eventually moved
    eventually front --host gpu wait shop --for idle
    # the save is from before the cut, and nobody knows more
    [ "$(front --host gpu show shop --json | jq -r '.lostAfter < (now | todate)')" = true ]
    front --host gpu history shop solo >"$T/history"
    grep -q 'whole answer' "$T/history"
    grep -q CW-ALPHA "$T/history"
    front_mas --host gpu ask shop solo 'what do you know'
    echo "$output"
    [[ $output == *'seen=[CW-ALPHA]'* ]]
    [ "$(front --host gpu status shop --json | jq -r '.sessions[0].agents[0].continuity')" = injected ]
    power_on "$node"
}
