#!/usr/bin/env bats
# Sessions that are started in a job of Slurm: a tmux server that several share would end with the first
# job. A job is what says so in the environment; test/fleet has real ones, test_job.c the cgroups.
load ../helper

setup_more() { unset MAS_TMUX_SOCKET SLURM_JOB_ID; }

own() { [ "$(basename "$(meta "$1" TMUX_SOCKET)")" = "mas-${1:0:8}" ]; }

@test "in a job new uses a server for the session, and says so" {
    SLURM_JOB_ID=77 ok new -t solo -n shop
    [[ $stderr == *'in job 77 of Slurm the session has a tmux server of its own'* ]]
    own "$("$MAS" list --json | jq -r '.sessions[0].sessionId')"
    [ "$(field shop .status)" = active ]
    ok stop shop
}

@test "in a job start leaves the shared server" {
    new_session -t solo -n shop --no-start
    run ! own "$ID"
    SLURM_JOB_ID=77 ok start shop
    [[ $stderr == *'in job 77 of Slurm'* ]]
    own "$ID"
    [ "$(field shop .status)" = active ]
}

@test "a shared server that the environment asks for is refused in a job" {
    SLURM_JOB_ID=77 MAS_TMUX_SERVER=shared fails 4 new -t solo -n shop
    [[ $stderr == *'cannot use a shared tmux server in job 77 of Slurm'* ]]
    [[ $stderr == *'unset MAS_TMUX_SERVER'* ]]
    [ -z "$("$MAS" list --all -q)" ]
}

@test "a server for each session is what it is, without a word" {
    SLURM_JOB_ID=77 MAS_TMUX_SERVER=per-session ok new -t solo -n shop
    [ -z "$stderr" ]
}

@test "a number that is none is no job" {
    for id in '' x 7x -7 123456789012345678901234567; do
        SLURM_JOB_ID=$id ok new -t solo -q
        run ! own "$output"
    done
}

@test "in a step of a job mas ends when its output has been read, or nobody reads it" {
    mkfifo "$T/pipe"
    exec 7<>"$T/pipe"
    SLURM_STEP_ID=0 "$MAS" version >"$T/pipe" 3>&- 7>&- &
    local pid=$!
    # it has printed, but has not ended: slurmstepd would drop what it has not read
    IFS= read -r -n 1 -u 7
    run ! timeout 0.3 tail --pid="$pid" -f /dev/null
    IFS= read -r -u 7
    wait "$pid"
    run bash -c 'SLURM_STEP_ID=0 "$MAS" help | head -c 1'
    [ "$status" -eq 0 ]
}
