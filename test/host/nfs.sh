# What nfs.bats runs in a virtual machine: mas on NFS, as $nfs says: 4, 3, or 3 with `nolock`. Prints facts, a line each.
# shellcheck shell=sh

# must COMMAND...: says so if it fails.
must() { "$@" || echo "failed: $*"; }
shows() { mas peek "$1" solo | grep -q "$2"; }
# only ID...: nothing is in sessions/ but these and what belongs there.
only() {
    for entry in sessions/* sessions/.new-* sessions/.trash-* sessions/.nfs*; do
        case " $* " in *" ${entry#sessions/} "*) continue ;; esac
        [ ! -e "$entry" ] || echo "left: $entry $(find "$entry" | head -n 5)"
    done
}

# far COMMAND...: runs it on the other node, which has names, a network, locks and a /tmp of its own.
far() { nsenter -t "$far" -m -u -n "$@"; }

# ---- two nodes, near and far, with a link between them; near is the server too

ip link set lo up
hostname near
echo 11111111111111111111111111111111 >/etc/machine-id
printf '%s\n' '127.0.0.1 localhost' '10.0.0.1 near' '10.0.0.2 far' >/etc/hosts
mkdir /export /nfs /run /var
ln -s /run /var/run
mkfifo /ready
# shellcheck disable=SC2016 # for the shell there
unshare -m -u -n sh -c 'echo 22222222222222222222222222222222 >/far-id
    hostname far && mount --bind /far-id /etc/machine-id && mount -t tmpfs tmp /tmp && mount -t tmpfs run /run &&
    ip link set lo up && echo ready >/ready
    exec sleep 100000' &
far=$!
read -r _ </ready
ip link add near type veth peer name far netns "$far"
ip addr add 10.0.0.1/24 dev near
ip link set near up
far ip addr add 10.0.0.2/24 dev far
far ip link set far up
mount -t tmpfs export /export
mount -t nfsd nfsd /proc/fs/nfsd

# ---- version 4: the server needs none of its programs

# What they would answer when the kernel asks is written beforehand. The export is file system 0, its flags FSID,
# NOSUBTREECHECK, ASYNC and INSECURE_PORT: root stays root.
serve_4() {
    echo '-2 -3 +4 +4.1 +4.2' >/proc/fs/nfsd/versions
    echo 10 >/proc/fs/nfsd/nfsv4leasetime
    echo 10 >/proc/fs/nfsd/nfsv4gracetime
    for client in 10.0.0.1 10.0.0.2; do
        echo "nfsd $client 2147483647 local" >/proc/net/rpc/auth.unix.ip/channel
    done
    echo 'local /export 2147483647 9234 65534 65534 0' >/proc/net/rpc/nfsd.export/channel
    printf '%s\n' 'local 1 \x00000000 2147483647 /export' >/proc/net/rpc/nfsd.fh/channel
    echo 'tcp 2049' >/proc/fs/nfsd/portlist
    echo 4 >/proc/fs/nfsd/threads
    echo Y >/proc/fs/nfsd/v4_end_grace
}
mount_4() { "$@" mount -t nfs4 -o "vers=4.2,addr=10.0.0.1,clientaddr=$client" 10.0.0.1:/ /nfs; }

# ---- version 3: rpc.mountd gives the first handle away, and locks go to lockd, which finds its counterpart by
# rpcbind and has rpc.statd watch it

services() { # on one node
    "$@" rpcbind -w
    await "$@" test -S /run/rpcbind.sock
    "$@" rpc.statd --no-notify
}
serve_3() {
    printf '%s\n' 'udp tpi_clts v inet udp - -' 'tcp tpi_cots_ord v inet tcp - -' 'local tpi_cots_ord - loopback - - -' \
        >/etc/netconfig
    printf 'sunrpc 111/%s portmapper\n' tcp udp >/etc/services
    echo '_rpc:x:101:65534::/run:/bin/sh' >>/etc/passwd
    mkdir -p /run/rpcbind /run/sendsigs.omit.d /var/lib/nfs/sm /var/lib/nfs/sm.bak /var/lib/nfs/rpc_pipefs
    far mkdir /run/rpcbind
    : >/var/lib/nfs/etab
    : >/var/lib/nfs/rmtab
    # one that was away may take its locks again in this time, and nobody else
    echo 3 >/proc/sys/fs/nfs/nlm_timeout
    echo 1 >/proc/sys/fs/nfs/nlm_grace_period
    services
    services far
    echo '/export *(rw,async,insecure,no_root_squash,no_subtree_check,fsid=0)' >/etc/exports
    echo '-2 +3 -4' >/proc/fs/nfsd/versions
    exportfs -a
    rpc.mountd --no-nfs-version 4
    echo 'tcp 2049' >/proc/fs/nfsd/portlist
    echo 4 >/proc/fs/nfsd/threads
}
mount_3() { "$@" mount -t nfs -o "vers=3,proto=tcp,port=2049,mountproto=tcp,addr=10.0.0.1$lock" 10.0.0.1:/export /nfs; }

lock=${nfs#3}
nfs=${nfs%%,*}
"serve_$nfs"
client=10.0.0.1
await "mount_$nfs" || exit
client=10.0.0.2
await "mount_$nfs" far || exit
echo "mounted: $(sed -n 's|^[^ ]* /nfs \([^ ]*\) \([^ ]*\) .*|\1 \2|p' /proc/mounts)"
exec 7>/nfs/lock
await flock -n 7
far flock -n /nfs/lock true && echo 'a lock ends at its node' || echo 'a lock is seen by the other node'
exec 7>&-

mkdir /nfs/home
export HOME=/nfs/home
cd /nfs || exit
must mas init root >/dev/null
cd root || exit
cat >>mas.ini <<'X'
[preset trial]
command = sh /tmp/agent
idle = 100ms
X
cat >/tmp/agent <<'X'
while read -r line; do echo "heard $line"; done
X

one=$(mas new -q -t solo --agent trial -n one)
[ -d "sessions/$one" ] && echo made
must mas send one solo 'a word' >/dev/null
await shows one 'heard a word' && echo 'it says what it was told'
mas rm one 2>/dev/null
echo "a running one stays: $?"
must mas stop -q one
must mas start -q one
must mas wait one --for idle
must mas send one solo 'another word' >/dev/null
await shows one 'heard another word' && echo 'started again'
must mas stop -q one
must mas archive -q -o /nfs/one.tar.zst one >/dev/null && [ -s /nfs/one.tar.zst ] && echo archived
echo "an archive is not replaced: $(mas archive -q -o /nfs/one.tar.zst one 2>&1 | head -n 1 | sed 's/^mas: //')"
must mas rm -q one
only
must mas restore -q /nfs/one.tar.zst >/dev/null
must mas start -q one
must mas wait one --for idle && echo 'restored and started'
must mas rm -q -f one && echo forced
only

held=$(mas new -q -t solo --agent trial -n held --no-start)
exec 8>"sessions/$held/unit/solo/open"
mas rm -q held
echo "a file that is open: $?"
[ ! -e "sessions/$held" ] || echo "left: sessions/$held"
exec 8>&-
only

# ---- the other node

# refused VERB...: far refuses it with the name of the node that has the session, and changes nothing.
files() { find /nfs/root/sessions ! -path '*/logs/*' -exec stat -c '%n %a %s' {} + | sort; }
refused() {
    files >/tmp/before
    far env HOME=/nfs/home mas --root /nfs/root "$@" >/tmp/far 2>&1
    code=$?
    files | cmp -s /tmp/before - || echo "left: another state after $*"
    case $code$(cat /tmp/far) in
    4*near*) echo "far refuses: $1" ;;
    *) echo "failed: far $*: $code $(cat /tmp/far)" ;;
    esac
}
leaves() { # `clean` passes over what another node has
    files >/tmp/before
    must far env HOME=/nfs/home mas --root /nfs/root clean -q "$@" --keep 0 --older-than 0s && files | cmp -s /tmp/before - &&
        echo "far leaves it: clean $*"
}
team=$(mas new -q -t solo --agent trial -n team)
must mas wait team --for idle
far env HOME=/nfs/home mas --root /nfs/root list | grep -q 'team.*near' && echo 'far lists it'
for verb in rm 'rm -f' start stop; do
    # shellcheck disable=SC2086 # words
    refused $verb team
done
leaves --status crashed,stopped
must mas send team solo 'a third word' >/dev/null
await shows team 'heard a third word' && echo 'far has done it no harm'
must mas stop -q team
refused rm team
refused start team
leaves --status stopped
only "$team"
must mas rm -q team

for name in two three four; do must mas new -q -t solo --agent trial -n "$name" --no-start >/dev/null; done
last=$(mas new -q -t solo --agent trial -n last)
must mas clean -q --status stopped --keep 0 && only "$last" && echo cleaned
must mas rm -q -f last
must mas doctor
