#!/usr/bin/env bash
# One machine of a bed, from its cable to its services.
#
#   machine.sh plug MACHINE ADDRESS   in the bed, with a network of its own: connects it, and goes on with
#   machine.sh boot MACHINE ADDRESS   as process 1 of the machine
#
# A word goes to when the services are there. The root is an overlay: the disk of the machine above the layer of
# the bed, mas as it was installed, and the system of this machine, which no machine of a bed can change.
set -u
BED=/mnt
R=$BED/root
machine=$2 address=$3

fail() { echo "machine $machine: $*" >&2; exit 1; }

plug() {
    # the other end is in the network of the keeper, process 1 here
    ip link add name eth0 type veth peer name "$machine" netns 1 || fail 'no cable'
    nsenter -t 1 -n ip link set "$machine" master bed up || fail 'no cable'
    ip link set lo up
    ip addr add "$address/24" dev eth0
    ip link set eth0 up
    exec unshare --mount --uts --ipc --pid --cgroup --fork --kill-child \
        bash "$0" boot "$machine" "$address"
}

make_dev() {
    local name

    mount -t tmpfs -o mode=755 dev "$R/dev"
    for name in null zero full random urandom tty fuse; do
        cp -a "/dev/$name" "$R/dev/" || fail "no /dev/$name"
        chmod 666 "$R/dev/$name"
    done
    mkdir "$R/dev/pts" "$R/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$R/dev/pts"
    mount -t tmpfs -o mode=1777 shm "$R/dev/shm"
    ln -s pts/ptmx "$R/dev/ptmx"
    ln -s /proc/self/fd "$R/dev/fd"
    ln -s /proc/self/fd/0 "$R/dev/stdin"
    ln -s /proc/self/fd/1 "$R/dev/stdout"
    ln -s /proc/self/fd/2 "$R/dev/stderr"
}

# The hierarchies of this machine again, which show its own groups only.
make_cgroups() {
    local at=$R/sys/fs/cgroup names

    if ! grep -q '^[0-9]*:[a-z]' /proc/self/cgroup; then
        mount -t cgroup2 cgroup2 "$at"
        return
    fi
    mount -t tmpfs -o mode=755 cgroup "$at"
    while IFS=: read -r _ names _; do
        case $names in
            name=*) mkdir "$at/${names#name=}" && mount -t cgroup -o "none,$names" cgroup "$at/${names#name=}" ;;
            '') mkdir "$at/unified" && mount -t cgroup2 cgroup2 "$at/unified" ;;
            *) mkdir "$at/$names" && mount -t cgroup -o "$names" cgroup "$at/$names" ;;
        esac
    done </proc/self/cgroup
}

make_root() {
    local disk=$BED/disk/$machine
    mount --make-rprivate /
    mount -t overlay overlay \
        -o "lowerdir=$BED/common:$BED/mas:/,upperdir=$disk/upper,workdir=$disk/work" "$R" || fail 'no root'
    mount -t proc proc "$R/proc"
    mount -t sysfs sysfs "$R/sys"
    make_cgroups
    make_dev
    mount -t tmpfs -o mode=755 run "$R/run"
    mount -t tmpfs -o mode=1777 tmp "$R/tmp"
    mount --bind "$disk/home" "$R/home"
    mount --bind "$BED/slurm" "$R/etc/slurm"
    mount --bind "${0%/*}/.." "$R/opt/test" && mount -o remount,bind,ro "$R/opt/test"
    mkdir -p "$R/run/disk" "$R/run/munge" "$R/run/sshd" "$R/run/lock"
    chmod 1777 "$R/run/lock"
    head -c 8 /dev/zero >"$R/run/clock"
    mount --bind "$BED/shared" "$R/run/disk"
    # each time the power comes, another boot
    cat /proc/sys/kernel/random/uuid >"$R/run/boot_id"
    mount --bind "$R/run/boot_id" "$R/proc/sys/kernel/random/boot_id"
    { cd "$R" && pivot_root . mnt && umount -l /mnt; } || fail 'cannot change the root'
    cd / || exit
}

services() {
    chown munge:munge /run/munge
    # a disk of FUSE: a machine sees no locks of the others, and there is no RENAME_NOREPLACE
    bindfs --multithreaded -o allow_other,fsname=shared /run/disk /srv/shared || fail 'no shared disk'
    setpriv --reuid munge --regid munge --clear-groups munged || fail 'no munged'
    /usr/sbin/sshd -E /var/log/sshd.log || fail 'no sshd'
    case $machine in
        front)
            slurmctld || fail 'no slurmctld'
            until scontrol ping 2>/dev/null | grep -q 'is UP'; do read -rt 0.05 <> <(:); done
            ;;
        *) slurmd || fail 'no slurmd' ;;
    esac
}

boot() {
    trap : TERM INT HUP
    umask 022
    hostname "$machine"
    make_root
    services
    echo up >&8
    exec 8>&-
    while :; do
        sleep infinity &
        wait $!
    done
}

case $1 in
    plug) plug ;;
    boot) boot ;;
esac
