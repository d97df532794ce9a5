#!/bin/bash
# Two machines, an office and a phone, that reach each other over a network with the addresses 192.0.2.1 and
# 192.0.2.2, and through a WireGuard on it as 10.66.0.1 and 10.66.0.2.
#
#   unshare -rnmp --kill-child bash wireguard.sh DIR
#
# DIR/office and DIR/phone get the pid of a process of each; DIR/up is there as soon as the tunnel is. All of it ends
# with this script.
set -eu
dir=$1
mkdir "$dir"
mount -t tmpfs tmpfs /run # the sockets of wireguard-go are in /var/run
export WG_PROCESS_FOREGROUND=1

# say NAME: the pid of this process as those see it who have the /proc of the other namespace
say() { read -r pid _ </proc/self/stat && echo "$pid" >"$dir/$1"; }

# shellcheck disable=SC2317 # called by those who wait
pause() { read -rt 0.05 <> <(:) || :; }

# machine NAME NUMBER OTHER: the tunnel's end there
machine() {
    ip link set lo up
    ip address add "192.0.2.$2/24" dev "$1"
    ip link set "$1" up
    wireguard-go "wg$2" &
    until wg show "wg$2" >"$dir/wg$2" 2>&1; do pause; done
    wg set "wg$2" private-key "$dir/key$2" listen-port 51820 peer "$(cat "$dir/pub$3")" \
        endpoint "192.0.2.$3:51820" allowed-ips "10.66.0.$3/32"
    ip address add "10.66.0.$2/24" dev "wg$2"
    ip link set "wg$2" up
    say "$1"
}

umask 077 # the keys are secret
for n in 1 2; do wg genkey | tee "$dir/key$n" | wg pubkey >"$dir/pub$n"; done
ip link add office type veth peer name phone
export dir
export -f machine pause say
# shellcheck disable=SC2016 # for the other shell
unshare -n bash -euc '
    say new
    until ip link show phone >"$dir/link" 2>&1; do pause; done
    machine phone 2 1
    wait' &
until [ -s "$dir/new" ]; do pause; done
ip link set phone netns "/proc/$(<"$dir/new")/ns/net"
machine office 1 2
until [ -s "$dir/phone" ]; do pause; done
echo yes >"$dir/up"
wait
