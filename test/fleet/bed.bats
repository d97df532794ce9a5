#!/usr/bin/env bats
# The bed of machines itself: what the other files of this directory believe of it.

load ../helper
load lib

# says FILE: prints a job's output on the shared disk.
says() { as front cat "$1"; }

@test "a bed of four machines comes up in less than 20 seconds" {
    echo "it took $BED_MS ms"
    [ "$BED_MS" -lt 20000 ]
    [ "$(as front sinfo -h -o '%t %D' -p teams)" = 'idle 3' ]
}

@test "ssh goes from front to each other machine as the user, without a question" {
    local machine
    for machine in n1 n2 n3; do
        [ "$(as front ssh -o BatchMode=yes "$machine" 'hostname; id -un')" = "$machine"$'\n'ann ]
    done
}

@test "each machine has a name, an id, a boot, a home, /tmp and processes of its own, and one disk with the others" {
    local machine ids='' boots=''
    for machine in front n1 n2 n3; do
        ids+=$(on "$machine" cat /etc/machine-id)$'\n'
        boots+=$(on "$machine" cat /proc/sys/kernel/random/boot_id)$'\n'
        as "$machine" sh -c "echo $machine >mine; echo $machine >/tmp/mine; echo $machine >/srv/shared/$machine"
        [ "$(on "$machine" ps -e -o comm= | grep -c sshd)" = 1 ]
    done
    [ "$(sort -u <<<"${ids%$'\n'}" | wc -l)" = 4 ]
    [ "$(sort -u <<<"${boots%$'\n'}" | wc -l)" = 4 ]
    for machine in front n1 n2 n3; do
        [ "$(as "$machine" cat mine /tmp/mine)" = "$machine"$'\n'"$machine" ]
        [ "$(as n1 cat "/srv/shared/$machine")" = "$machine" ]
    done
}

@test "no machine of a bed reaches anything outside, or changes the system of this one" {
    run -1 on front bash -c '</dev/tcp/192.0.2.1/80'
    [[ $output == *'Network is unreachable'* ]]
    [ -z "$(on n1 ip route show default)" ]
    [ "$(on n1 ip -o -4 addr | awk '{ print $4 }' | sort | tr '\n' ' ')" = '10.77.0.11/24 127.0.0.1/8 ' ]
    on n1 touch /etc/mas-bed-mark /usr/local/bin/mas-bed-mark "/var/mas-bed-mark"
    [ ! -e /etc/mas-bed-mark ] && [ ! -e /usr/local/bin/mas-bed-mark ] && [ ! -e /var/mas-bed-mark ]
}

@test "a job of sbatch runs on the node it asks for" {
    as front sbatch -Q -w n2 -o /srv/shared/job.out --wrap 'hostname; id -un'
    eventually prints n2$'\n'ann says /srv/shared/job.out
}

@test "mas makes a session on a machine, and its agents run" {
    local id
    id=$(as n3 mas new -q -t solo --agent shell)
    [ "$(as n3 mas list -q)" = "$id" ]
    as n3 mas rm -f "$id"
}

@test "a power cut ends every process and keeps the disk; then there is another boot, and jobs run again" {
    local boot
    boot=$(on n2 cat /proc/sys/kernel/random/boot_id)
    as n2 sh -c 'echo kept >kept; echo lost >/tmp/lost; setsid sleep 1000 >/dev/null 2>&1 &'
    power_off n2
    run ! on n2 true
    run ! as front ssh -o BatchMode=yes -o ConnectTimeout=1 n2 true
    power_on n2
    [ "$(as n2 cat kept)" = kept ]
    run ! as n2 test -e /tmp/lost
    run ! on n2 pgrep -x sleep -u ann
    [ "$(on n2 cat /proc/sys/kernel/random/boot_id)" != "$boot" ]
    as front sbatch -Q -w n2 -o /srv/shared/again.out --wrap 'echo again'
    eventually prints again says /srv/shared/again.out
}

@test "a link goes down and comes up" {
    link_down n1
    run ! as front ssh -o BatchMode=yes -o ConnectTimeout=1 n1 true
    link_up n1
    eventually as front ssh -o BatchMode=yes -o ConnectTimeout=5 n1 true
}

@test "the shared disk hangs on one machine alone, and goes on; or it cannot be written" {
    local reader
    as n3 sh -c 'echo text >/srv/shared/text'
    shared_hang n1
    as n1 cat /srv/shared/text >"$T/read" &
    reader=$!
    [ "$(as n3 cat /srv/shared/text)" = text ]
    [ ! -s "$T/read" ]
    shared_go n1
    wait "$reader"
    [ "$(cat "$T/read")" = text ]
    shared_readonly n1
    run ! as n1 touch /srv/shared/new
    as n3 touch /srv/shared/new
    shared_writable n1
    as n1 touch /srv/shared/newer
}

@test "locks of the shared disk end at the machine, and it knows no RENAME_NOREPLACE" {
    as n1 sh -c 'mkfifo /tmp/hold /tmp/held; flock /srv/shared/lock sh -c "echo >/tmp/held; cat /tmp/hold" >/dev/null 2>&1 & cat /tmp/held'
    run ! as n1 flock -n /srv/shared/lock true
    as n2 flock -n /srv/shared/lock true
    as n1 sh -c ': >/tmp/hold'
    [ "$(as n1 /usr/bin/python3 -c '
import ctypes, os
open("/srv/shared/from", "w").close()
libc = ctypes.CDLL(None, use_errno=True)
rc = libc.renameat2(-100, b"/srv/shared/from", -100, b"/srv/shared/to", 1)
print(rc, os.strerror(ctypes.get_errno()))')" = '-1 Invalid argument' ]
}

@test "a disk gets full and free again" {
    disk_full n1
    run as n1 sh -c 'head -c 1000000 /dev/zero >big'
    [ "$status" -ne 0 ]
    [[ $output == *'No space left'* ]]
    disk_free n1
    as n1 sh -c 'head -c 1000000 /dev/zero >big && rm big'
}

@test "a clock is an hour off, also for a program that runs" {
    local here there
    clock_off n3 3600
    here=$(date +%s) there=$(as n3 date +%s)
    [ $((there - here)) -ge 3599 ]
    [ $((there - here)) -lt 3660 ]
    as n3 /usr/bin/python3 -c '
import time, sys
first = time.time()
open("/tmp/begun", "w").close()
while time.time() - first > -1000: time.sleep(0.01)
open("/tmp/jumped", "w").close()' &
    eventually as n3 test -e /tmp/begun
    clock_off n3 0
    eventually as n3 test -e /tmp/jumped
    wait
}

@test "a machine refuses the key, and then has another host key" {
    wrong_key n3
    run as front ssh -o BatchMode=yes n3 true
    [ "$status" -eq 255 ]
    [[ $output == *'Permission denied'* ]]
    right_key n3
    as front ssh -o BatchMode=yes n3 true
    strange_host_key n3
    run as front ssh -o BatchMode=yes n3 true
    [ "$status" -eq 255 ]
    [[ $output == *'HOST IDENTIFICATION HAS CHANGED'* ]]
}

@test "a machine has another version of mas" {
    local version
    version=$(as n1 mas version)
    other_version n3
    [[ $(as n3 mas version) == "${version%?}z" ]]
    [ "$(as n1 mas version)" = "$version" ]
}

# processes: "PID START" of each process in one of the namespaces in $T/namespaces. The kernel gives the number of a
# namespace that is gone to the next one, so that numbers alone do not tell whose it is.
processes() {
    local process
    for process in /proc/[0-9]*; do
        readlink "$process"/ns/{mnt,pid,net,uts,ipc} 2>/dev/null | grep -qFxf "$T/namespaces" || continue
        sed 's/^\([0-9]*\) (.*) ./\1/' "$process/stat" 2>/dev/null | awk '{ print $1, $20 }'
    done
}

# traces TAG: what is left of a bed: groups, and those of its processes that were there at first.
traces() {
    find /sys/fs/cgroup -type d -path "*mas-fleet-$1-*" 2>/dev/null
    processes | grep -Fxf "$T/processes"
}

# The other bed of a test that has failed.
teardown_more() { [ -z "${PARENT-}" ] || kill -KILL "$PARENT" 2>/dev/null || :; }

# other_bed: brings up another bed below a process of its own, $PARENT; sets $OTHER and $JANITOR.
other_bed() {
    local word dir
    dir=$(installed)
    rm -f "$T/other" # of the one before
    # shellcheck disable=SC2016 # for that shell
    setpriv --pdeathsig KILL bash -c 'exec 6< <(exec bash "$1" up "$$" "$2" 3>&-); echo $!; cat <&6' sh "$FLEET/bed.sh" "$dir" >"$T/other" 3>&- &
    PARENT=$!
    eventually grep -qs ready "$T/other"
    { read -r JANITOR; read -r word OTHER; } <"$T/other"
    [ "$word" = ready ]
    nsenter -t "$OTHER" -m -p sh -c 'readlink /proc/[0-9]*/ns/mnt /proc/[0-9]*/ns/pid /proc/[0-9]*/ns/net \
        /proc/[0-9]*/ns/uts /proc/[0-9]*/ns/ipc' | sort -u |
        grep -vFxf <(readlink /proc/$$/ns/{mnt,pid,net,uts,ipc}) >"$T/namespaces"
    [ "$(wc -l <"$T/namespaces")" -ge 20 ]
    processes >"$T/processes"
    [ "$(wc -l <"$T/processes")" -ge 10 ]
    [ -n "$(traces "$JANITOR")" ]
}

@test "two beds are up at the same time; one that is told to ends without a trace" {
    other_bed
    nsenter -t "$OTHER" -m -n -u -i -p bash "$FLEET/keeper.sh" on n1 touch /other
    run ! on n1 test -e /other
    run ! grep -E '^(bed|disk-[a-z0-9]+|shared|/run/disk|overlay) [^ ]*/mnt' /proc/self/mounts
    run ! grep -E ' fuse\.?[a-z]* .*fsname=shared|^shared ' /proc/self/mounts
    kill -TERM "$JANITOR"
    wait "$PARENT" || :
    [ -z "$(traces "$JANITOR")" ]
    [ "$(as front hostname)" = front ]
}

@test "a bed whose runner is killed ends without a trace" {
    other_bed
    kill -KILL "$PARENT"
    eventually prints '' traces "$JANITOR"
}

@test "of a bed whose own process is killed only groups are left, which the next one removes" {
    other_bed
    kill -KILL "$JANITOR"
    eventually prints '' eval "traces $JANITOR | grep -v ^/"
    JANITOR_BEFORE=$JANITOR
    other_bed
    [ -z "$(find /sys/fs/cgroup -type d -path "*mas-fleet-$JANITOR_BEFORE-*" 2>/dev/null)" ]
    kill -TERM "$JANITOR"
    wait "$PARENT" || :
}

@test "machines can share one machine-id, as clones do" {
    BED_SAME_ID=1
    export BED_SAME_ID
    other_bed
    [ "$(for machine in front n1 n2 n3; do
        nsenter -t "$OTHER" -m -n -u -i -p bash "$FLEET/keeper.sh" on "$machine" cat /etc/machine-id
    done | sort -u | wc -l)" = 1 ]
    kill -TERM "$JANITOR"
    wait "$PARENT" || :
}
