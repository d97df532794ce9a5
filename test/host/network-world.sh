#!/usr/bin/env bash
# network-world.sh DIR COMMAND...: runs a command in a small internet of its own. Nothing of it leaves
# the machine: the command is in a network namespace whose only neighbour is a second one.
#
#   here    9.9.9.1      9.9.9.1:80 and 127.0.0.1:8765: servers of this machine ("mine")
#   there   9.9.9.2      ports 80, 443, 8443, 22: servers of the world ("world")
#           10.9.9.2     the same machine under a private address
#   names   in /etc/hosts, which is DIR/hosts
#   DNS     9.9.9.2:53 writes the names that it is asked for to DIR/asked
#
# With NETWORK_WORLD=try it only tries whether that can be made.
set -eu
here=$(dirname "$(readlink -f "$0")")
if [ "${1-}" != --inside ]; then
    root=()
    if [ "$(id -u)" != 0 ]; then root=(--user --map-root-user); fi
    exec unshare "${root[@]}" --mount --net --propagation private bash "$0" --inside "$@"
fi
dir=$2
shift 2
mkdir -p "$dir"
cat >"$dir/hosts" <<'S'
127.0.0.1 localhost
9.9.9.2 good.test other.test a.sub.test evil.test
10.9.9.2 intranet.test
127.0.0.1 rebind.test
169.254.169.254 metadata.test
9.9.9.1 myself.test
2002:909:901::1 within.test
64:ff9b::909:901 within.test
200:1234::1 mesh.test
10.9.9.2 both.test
9.9.9.2 both.test
S
printf 'hosts: files\n' >"$dir/nsswitch"
printf 'nameserver 9.9.9.2\n' >"$dir/resolv"
: >"$dir/asked"
mount --bind "$dir/hosts" /etc/hosts
mount --bind "$dir/nsswitch" /etc/nsswitch.conf
mount --bind "$dir/resolv" "$(readlink -f /etc/resolv.conf)"
ip link set lo up
# shellcheck disable=SC2317 # the trap calls it
end() {
    exec 2>/dev/null # not for what bash says of processes that it kills
    # shellcheck disable=SC2046 # numbers
    kill -KILL $(jobs -p)
    wait
}
trap 'end || :' EXIT
unshare --net sleep 600 3>&- &
there=$!
while [ "$(readlink "/proc/$there/ns/net")" = "$(readlink /proc/self/ns/net)" ]; do :; done
ip link add v0 type veth peer name v1
ip link set v1 netns "$there"
ip addr add 9.9.9.1/24 dev v0
ip addr add 10.9.9.1/24 dev v0
ip link set v0 up
nsenter -t "$there" --net sh -c 'ip link set lo up; ip addr add 9.9.9.2/24 dev v1
    ip addr add 10.9.9.2/24 dev v1; ip link set v1 up'
[ "${NETWORK_WORLD-}" != try ] || exit 0
rm -f "$dir"/ready.*
mkfifo "$dir/ready.world" "$dir/ready.mine"
nsenter -t "$there" --net python3 -ES "$here/network.py" serve world "$dir" \
    9.9.9.2:80 9.9.9.2:443 9.9.9.2:8443 9.9.9.2:22 10.9.9.2:443 10.9.9.2:80 3>&- &
read -r _ <"$dir/ready.world"
python3 -ES "$here/network.py" serve mine "$dir" 127.0.0.1:8765 9.9.9.1:80 127.0.0.1:443 3>&- &
read -r _ <"$dir/ready.mine"
rc=0
"$@" || rc=$?
exit "$rc"
