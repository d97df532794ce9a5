#!/usr/bin/env bash
# A bed of four machines, front, n1, n2 and n3, out of namespaces: what belongs to it outside of them.
#
#   bed.sh can                        says why there can be no bed here; says nothing if there can be one
#   bed.sh up PARENT INSTALLED        brings a bed up and keeps it until PARENT ends or TERM comes
#   bed.sh shell INSTALLED [MACHINE]  a shell as the user ann, on front, in a bed that ends with the shell
#
# INSTALLED is what `make install DESTDIR=INSTALLED` made. `up` prints one line: `ready PID`, with the
# process that holds the bed, or why there is none. BED_SAME_ID=1 gives all machines one machine-id.
#
# Everything of a bed is in the namespaces of its keeper (keeper.sh): files in a tmpfs that is mounted there only,
# processes in a PID namespace that ends with the keeper, traffic in networks without a way out. Outside there are
# only control groups, which this process makes and removes. It ends the bed when PARENT ends, however it ends; if
# it is killed itself, the kernel ends the bed, and the next one removes the groups.
set -u
HERE=$(cd "$(dirname "$0")" && pwd -P)
# The programs of a bed, by the names of their packages.
NEEDS='slurmctld:slurmctld slurmd:slurmd slurm-client:sbatch munge:munged openssh-server:sshd openssh-client:ssh
    iproute2:ip bindfs:bindfs util-linux:nsenter'
PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin

# cgroup_dirs: prints the directory of this process in each hierarchy of control groups that is mounted.
cgroup_dirs() {
    local source where type options id names path

    while IFS=: read -r id names path; do
        while read -r source where type options _; do
            case $type in
                cgroup) [[ -n $names && ,$options, == *",$names,"* ]] || continue ;;
                cgroup2) [[ -z $names ]] || continue ;;
                *) continue ;;
            esac
            if [[ ! -d $where$path ]]; then path=; fi
            # the root of a hierarchy, or a group of this process: never with two slashes
            path=${path%/}
            echo "$where$path"
            break
        done </proc/mounts
    done </proc/self/cgroup
}

why_not() {
    local need missing='' dir

    if [[ $(id -u) != 0 ]]; then echo 'a bed of machines needs root'; return; fi
    for need in $NEEDS; do
        command -v "${need#*:}" >/dev/null || missing+=" ${need%%:*}"
    done
    if [[ ! -e /usr/lib/x86_64-linux-gnu/slurm-wlm/auth_munge.so ]] &&
        ! compgen -G '/usr/lib/*/slurm*/auth_munge.so' >/dev/null; then missing+=' slurm-wlm-basic-plugins'; fi
    if [[ -n $missing ]]; then echo "a bed of machines needs these packages:$missing"; return; fi
    if [[ ! -c /dev/fuse ]]; then echo 'a bed of machines needs /dev/fuse'; return; fi
    # shellcheck disable=SC2016 # for awk
    dir='$5 == "/" { print $1 }' # the mount of the root
    if [[ $(awk "$dir" /proc/self/mountinfo) != "$(nsenter -t $$ -m awk "$dir" /proc/self/mountinfo)" ]]; then
        echo 'a bed of machines cannot be in a chroot, which nsenter leaves'
        return
    fi
    dir=$(unshare --mount --net --uts --ipc --pid --cgroup --fork --mount-proc bash -c '
        mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w /mnt/r &&
            mount -t overlay none -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt/r &&
            ip link add name bed type bridge && ip link add name bed0 type veth peer name bed1' 2>&1) ||
        echo "the kernel refuses a bed of machines: ${dir##*$'\n'}"
}

# Removes the groups of beds whose process has ended: a tag is mas-fleet-PID-START, and no other process
# has both.
remove_groups() {
    local dir group tag pid

    while IFS= read -r dir; do
        for group in "$dir"/mas-fleet-*; do
            tag=${group##*/mas-fleet-} pid=${group##*/mas-fleet-}
            pid=${pid%%-*}
            if [[ ! -d $group || ($tag == "$(tag_of "$pid")" && $pid != "$$") ]]; then continue; fi
            find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
        done
    done < <(cgroup_dirs)
}

# tag_of PID: prints PID-START of a process that runs.
tag_of() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return
    # shellcheck disable=SC2086 # words
    set -- "$1" ${stat##*) }
    echo "$1-${21}"
}

# make_groups: makes the groups of the four machines and prints their parents.
make_groups() {
    local dir machine file

    while IFS= read -r dir; do
        for machine in '' front n1 n2 n3; do
            mkdir "$dir/$TAG/$machine" || return
            # a cpuset has no CPUs at first
            for file in cpuset.cpus cpuset.mems; do
                if [[ -e $dir/$TAG/$machine/$file && ! -e $dir/cgroup.controllers ]]; then
                    cat "$dir/$file" >"$dir/$TAG/$machine/$file"
                fi
            done
        done
        echo "$dir/$TAG"
    done < <(cgroup_dirs)
}

# keeper: prints the process that holds the namespaces, the child of unshare.
keeper() { pgrep -P "$holder"; }

down() {
    trap '' TERM INT HUP
    if [[ -n $holder ]]; then
        # unshare ends after its child, the keeper, and that after all other processes of the bed
        kill -KILL "$(keeper)" 2>/dev/null || kill -KILL "$holder" 2>/dev/null
        wait "$holder" 2>/dev/null
    fi
    remove_groups
}

# hold INSTALLED: brings the bed up; what the keeper says of that is in $line.
hold() {
    local groups in
    TAG=mas-fleet-$(tag_of $$) holder=
    trap 'down; exit 0' TERM INT HUP
    remove_groups
    groups=$(make_groups) || { line='there are no control groups for a bed here'; return 1; }
    exec {in}< <(
        exec env -i PATH="$PATH" LC_ALL=C.UTF-8 BED_GROUPS="${groups//$'\n'/ }" BED_SAME_ID="${BED_SAME_ID-}" \
            BED_INSTALLED="$1" \
            setpriv --pdeathsig KILL unshare --mount --net --uts --ipc --pid --fork --kill-child --mount-proc \
            bash "$HERE/keeper.sh" keep </dev/null 2>&1
    )
    holder=$!
    read -r line <&"$in" || line=${line:-the keeper of the bed has ended}
    [[ $line == ready ]]
}

case ${1-} in
    can) why_not ;;
    up)
        # dies with its parent: TERM, so that it can clean up
        if [[ ${BED_WATCHES-} != "$2" ]]; then
            BED_WATCHES=$2 exec setpriv --pdeathsig TERM bash "$HERE/bed.sh" "$@"
        fi
        [[ $PPID == "$2" ]] || exit 1
        if hold "$3"; then
            echo "ready $(keeper)"
            wait "$holder"
        else
            echo "$line"
        fi
        down
        ;;
    shell)
        if hold "$2"; then
            nsenter -t "$(keeper)" -m -n -u -i -p bash "$HERE/keeper.sh" as "${3:-front}" bash -l
        else
            echo "$line" >&2
        fi
        down
        ;;
    *)
        sed -n '2,6p' "$0" >&2
        exit 2
        ;;
esac
