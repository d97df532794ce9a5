#!/usr/bin/env bats
# What others can see of a session on another machine: argument lists, the log of sshd, the records of Slurm.
# shellcheck disable=SC2016 # for the shells there

load ../helper
load lib

setup_file() {
    bed_up
    if [ -z "$BED" ]; then return; fi
    fleet_config
    local machine
    fleet_slurm 'submit = -w n2'
    for machine in front n1 n2; do
        as "$machine" sh -c 'printf "%s\n" "[env]" "set.SET_SECRET = hush-set" >>.config/mas/mas.ini'
        record_args "$machine"
    done
    # everything that sshd can say
    on n1 sh -c 'echo LogLevel DEBUG3 >>/etc/ssh/sshd_config && pkill -HUP -o -x sshd'
    eventually as front ssh -o BatchMode=yes n1 true
}

# with VERB...: mas on front, with secrets in its environment.
with() { as front sh -c '. ./secrets && exec mas "$@"' sh "$@"; }

# answers OPTION... SESSION: its agent has answered a text with a secret. A machine that is busy may take longer than
# mas waits for a login, or Slurm than for its list.
answers() { [[ $(with "${@:1:$#-1}" ask "${!#}" solo - <<<'SAY:answered hush-text') == *answered* ]]; }

# nowhere TEXT: it is in no argument list, no log and no spool. Those who look for it have it from their input.
nowhere() {
    local machine
    run as front grep -aFf - /run/disk/args <<<"$1"
    [ -z "$output" ] || { echo "$output" && return 1; }
    for machine in front n1 n2; do
        run on "$machine" sh -c 'grep -rlaFf - /var/spool /var/log /proc/[0-9]*/cmdline 2>/dev/null' <<<"$1"
        [ -z "$output" ] || { echo "$machine: $output" && return 1; }
    done
}

@test "no secret of the environment, of mas.ini or of standard input is in an argument list, sshd's log or Slurm's spool" {
    local word
    as front sh -c 'cat >secrets' <<<'export A_SECRET=hush-front OPENAI_API_KEY=hush-key SBATCH_EXPORT=ALL SLURM_EXPORT_ENV=ALL'
    # what is looked at is there
    as n1 sh -c ': seen-in-arguments'
    as front grep -qaF seen-in-arguments /run/disk/args
    eventually with --host n1 list -q # from now on the connection is there
    with --host n1 new -q -t solo --agent scripted --name over-ssh
    eventually answers --host n1 over-ssh
    eventually with status n1:over-ssh >/dev/null
    with --host n1 restart -q over-ssh solo
    with new -q -t solo --agent scripted --name moves
    with move -q moves n1
    with new -q --host gpu -n job -t solo --agent scripted
    eventually with --host gpu wait job --for idle
    eventually answers --host gpu job
    eventually with list --all-hosts >/dev/null
    as front grep -qaE 'mas receive hold' /run/disk/args
    as front grep -qaE 'mas run ' /run/disk/args
    on n1 grep -qa 'debug3' /var/log/sshd.log
    # the agents there have what mas.ini of that machine says
    [[ $(on n1 sh -c 'cat /proc/[0-9]*/environ 2>/dev/null | tr "\0" "\n"') == *SET_SECRET=hush-set* ]]
    for word in hush-front hush-key hush-set hush-text; do nowhere "$word"; done
    # and nothing of the environment of the front arrives
    [[ $(on n1 sh -c 'cat /proc/[0-9]*/environ 2>/dev/null | tr "\0" "\n"') != *hush-front* ]]
    [[ $(on n2 sh -c 'cat /proc/[0-9]*/environ 2>/dev/null | tr "\0" "\n"') != *hush-front* ]]
}
