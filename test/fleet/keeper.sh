#!/usr/bin/env bash
# A bed from inside: the keeper, process 1 of the bed's PID namespace, and what is done to its machines.
#
#   keeper.sh keep                  makes the bed and holds it (bed.sh starts this)
#   keeper.sh on MACHINE WORD...    runs a command there as root, `as` as the user ann
#   keeper.sh power-on MACHINE ...  the other functions below that are named do_*
#
# Below /mnt, a tmpfs of the bed: common/ (a layer of the root of each machine), disk/MACHINE (a tmpfs each: what a
# power cut leaves), shared/ (the shared disk), slurm/ (the configuration, /etc/slurm everywhere), run/, log/.
set -u
HERE=$(cd "$(dirname "$0")" && pwd -P)
BED=/mnt
MACHINES='front n1 n2 n3'
USER_ID=4242

out=2 # where errors go; while the bed is made, to who made it

fail() { echo "keeper: $*" >&"$out"; exit 1; }

address() { case $1 in front) echo 10.77.0.1 ;; n[1-3]) echo "10.77.0.1${1#n}" ;; *) fail "unknown machine $1" ;; esac; }

# ---- making it

# The layer that all machines share above the system of this machine.
make_common() {
    local etc=$BED/common/etc machine name
    mkdir -p "$etc/ssh" "$etc/munge" "$etc/slurm" "$BED/common/srv/shared" "$BED/common/opt/test"
    for name in passwd group shadow; do cp -p "/etc/$name" "$etc/"; done
    echo "ann:x:$USER_ID:$USER_ID:Ann:/home/ann:/bin/bash" >>"$etc/passwd"
    echo "ann:x:$USER_ID:" >>"$etc/group"
    echo 'ann:*:19000:0:99999:7:::' >>"$etc/shadow"
    echo '127.0.0.1 localhost' >"$etc/hosts"
    for machine in $MACHINES; do echo "$(address "$machine") $machine" >>"$etc/hosts"; done
    : >"$etc/resolv.conf"
    dd if=/dev/urandom of="$etc/munge/munge.key" bs=128 count=1 status=none
    chown -R munge:munge "$etc/munge"
    chmod 700 "$etc/munge"
    chmod 400 "$etc/munge/munge.key"
    mkdir "$BED/key"
    ssh-keygen -q -t ed25519 -N '' -C ann -f "$BED/key/id" &
    for machine in $MACHINES; do
        ssh-keygen -q -t ed25519 -N '' -C "$machine" -f "$BED/key/$machine" &
    done
    wait
    for machine in $MACHINES; do
        echo "$machine,$(address "$machine") $(cut -d' ' -f1,2 "$BED/key/$machine.pub")"
    done >"$etc/ssh/ssh_known_hosts"
    # what is not named here is as sshd has it by itself
    printf '%s\n' 'HostKey /etc/ssh/host_key' 'UsePAM no' 'PasswordAuthentication no' \
        'Subsystem sftp /usr/lib/openssh/sftp-server' >"$etc/ssh/sshd_config"
    : >"$etc/ssh/ssh_config"
}

make_slurm() {
    local memory track='proctrack/linuxproc' task='task/none' gather='jobacct_gather/none'
    mkdir "$BED/slurm"
    : >"$BED/slurm/cgroup.conf"
    # Slurm's part for version 2 asks systemd for its groups, and there is none in a bed.
    if [[ " $BED_GROUPS" == */freezer/* && " $BED_GROUPS" == */memory/* && " $BED_GROUPS" == */cpuset/* ]]; then
        track=proctrack/cgroup task=task/cgroup gather=jobacct_gather/cgroup
        printf '%s\n' CgroupMountpoint=/sys/fs/cgroup CgroupPlugin=cgroup/v1 CgroupAutomount=no \
            ConstrainCores=no ConstrainRAMSpace=yes ConstrainSwapSpace=yes >"$BED/slurm/cgroup.conf"
    fi
    memory=$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 1024))
    # cred_expire is also what a requeued job has to wait.
    cat >"$BED/slurm/slurm.conf" <<CONF
ClusterName=bed
SlurmctldHost=front
SlurmUser=root
AuthType=auth/munge
AuthInfo=cred_expire=10
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.log
ProctrackType=$track
TaskPlugin=$task
JobAcctGatherType=$gather
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout=10
InactiveLimit=0
KillWait=10
MessageTimeout=10
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=10000
LaunchParameters=use_interactive_step
MpiDefault=none
DefMemPerCPU=100
SlurmdParameters=config_overrides
NodeName=n[1-3] CPUs=16 RealMemory=$memory State=UNKNOWN
PartitionName=teams Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO PriorityTier=1
PartitionName=urgent Nodes=n[1-3] MaxTime=INFINITE State=UP OverSubscribe=NO PriorityTier=10
CONF
}

# The disk of a machine, with what only this machine has on it.
make_disk() {
    local machine=$1 disk=$BED/disk/$1 id=front
    local etc=$disk/upper/etc ssh=$disk/home/ann/.ssh
    mkdir -p "$disk"
    mount -t tmpfs -o mode=755 "disk-$machine" "$disk" || fail "no disk of $machine"
    mkdir -p "$disk/work" "$etc/ssh" "$ssh" "$disk/upper/var/spool/slurmctld" "$disk/upper/var/spool/slurmd"
    [[ -n $BED_SAME_ID ]] || id=$machine
    printf 'bed %s' "$id" | md5sum | cut -d' ' -f1 >"$etc/machine-id"
    echo "$machine" >"$etc/hostname"
    cp -p "$BED/key/$machine" "$etc/ssh/host_key"
    cp "$BED/key/id.pub" "$ssh/authorized_keys"
    cp "$BED/key/id" "$ssh/id_ed25519"
    chmod 700 "$disk/home/ann" "$ssh"
    chmod 600 "$ssh"/*
    chown -R "$USER_ID:$USER_ID" "$disk/home/ann"
}

keep() {
    local machine

    trap : TERM INT HUP # this is process 1
    umask 022
    mount -t tmpfs -o mode=755 bed "$BED" || fail 'no tmpfs'
    exec {out}>&1 >"$BED/log" 2>&1
    mkdir "$BED/run" "$BED/shared" "$BED/root"
    chown "$USER_ID:$USER_ID" "$BED/shared"
    tr ' ' '\n' <<<"$BED_GROUPS" >"$BED/run/groups"
    # a layer may not be below another one, and the system of this machine is one
    cp -a "$BED_INSTALLED/." "$BED/mas" || fail "cannot copy $BED_INSTALLED"
    make_common
    make_slurm
    for machine in $MACHINES; do make_disk "$machine"; done
    ip link set lo up
    { ip link add name bed type bridge && ip link set bed up; } || fail 'no network'
    # slurmd asks slurmctld once, and then again after a while: slurmctld comes first
    do_power_on front
    for machine in n1 n2 n3; do do_power_on "$machine" & done
    wait_idle || fail 'slurm does not come up'
    echo ready >&"$out"
    exec {out}>&-
    out=2
    # holds the namespaces, and takes the processes that have lost their parents
    while :; do
        sleep infinity &
        wait $!
    done
}

# Waits until all three nodes take jobs.
wait_idle() {
    until [[ $(do_on front sinfo -h -o '%t %D' 2>/dev/null) == 'idle 3' ]]; do
        read -rt 0.05 <> <(:)
        [[ -d /proc/$(cat "$BED/run/front") ]] || return
    done
}

# ---- what is done to machines

# pid MACHINE: prints its process 1; fails if the power is off.
pid() { cat "$BED/run/$1" 2>/dev/null || fail "$1 has no power"; }

join_groups() {
    local group
    while read -r group; do echo 0 >"$group/$1/cgroup.procs" || return; done <"$BED/run/groups"
}

enter() {
    local machine=$1 process
    shift
    process=$(pid "$machine") || exit 1
    join_groups "$machine"
    exec nsenter -t "$process" -m -u -n -p -i -C "$@"
}

CLEAN=(env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin LANG=C.UTF-8 TERM=xterm-256color)

do_on() { (enter "$1" "${CLEAN[@]}" HOME=/root SHELL=/bin/bash "${@:2}"); }

do_as() {
    # shellcheck disable=SC2016 # for the shell there
    (enter "$1" "${CLEAN[@]}" HOME=/home/ann USER=ann LOGNAME=ann SHELL=/bin/bash \
        setpriv --reuid "$USER_ID" --regid "$USER_ID" --init-groups \
        sh -c 'cd && exec "$@"' sh "${@:2}")
}

# Starts a machine, and waits until its services are there.
do_power_on() {
    local machine=$1 fifo=$BED/run/$1.up word=''
    [[ ! -e $BED/run/$machine ]] || fail "$machine has power"
    rm -f "$fifo"
    mkfifo "$fifo"
    (
        join_groups "$machine" || exit
        exec setsid unshare --net bash "$HERE/machine.sh" plug "$machine" "$(address "$machine")"
    ) </dev/null >>"$BED/log.$machine" 2>&1 8>"$fifo" &
    read -r word <"$fifo"
    rm -f "$fifo"
    pgrep -P $! >"$BED/run/$machine"
    [[ -n $word ]] || fail "$machine does not come up: $(tail -n 3 "$BED/log.$machine")"
}

# The power goes: every process of the machine dies at once, /run and /tmp are lost, the disk stays.
do_power_off() {
    local process
    process=$(pid "$1") || exit 1
    ip link del "$1" 2>/dev/null
    rm "$BED/run/$1"
    kill -KILL "$process"
    # until the last process has ended
    while [[ -d /proc/$process ]]; do read -rt 0.01 <> <(:); done
    do_clean_groups "$1"
}

do_has_power() { [[ -e $BED/run/$1 ]]; }

do_clean_groups() {
    local group
    while read -r group; do
        find "$group/$1" -mindepth 1 -depth -type d -exec rmdir {} \; 2>/dev/null
    done <"$BED/run/groups"
}

do_link() { ip link set "$1" "$2"; }

# The program of FUSE behind /srv/shared of a machine: `STOP` makes the disk hang there, `CONT` lets it go on.
do_shared_signal() {
    do_on "$1" pkill -"$2" -x bindfs
}

do_shared_remount() { do_on "$1" mount -i -o "remount,bind,$2" /srv/shared; }

# A full disk: no more room than what is in use. `full` or `free`.
do_disk() {
    case $2 in
        full) mount -o "remount,size=$(df -B1 --output=used "$BED/disk/$1" | tail -n 1)" "$BED/disk/$1" ;;
        free) mount -o remount,size=50% "$BED/disk/$1" ;;
    esac
}

# do_slurm_set KEY=VALUE...: changes slurm.conf, and has all daemons read it.
do_slurm_set() {
    local pair
    for pair; do
        sed -i "/^${pair%%=*}=/d" "$BED/slurm/slurm.conf"
        sed -i "1i$pair" "$BED/slurm/slurm.conf"
    done
    do_on front scontrol reconfigure
}

word=${1-}
shift
case $word in
    keep) keep ;;
    on | as | power-on | power-off | has-power | link | shared-signal | shared-remount | disk | slurm-set) "do_${word//-/_}" "$@" ;;
    *) fail "unknown word $word" ;;
esac
