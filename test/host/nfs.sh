# What nfs.bats runs in a virtual machine: mas on NFS. Prints facts, a line each.
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

# The server needs none of its programs: what they would answer when the kernel asks is written beforehand. The
# export is file system 0, its flags FSID, NOSUBTREECHECK, ASYNC and INSECURE_PORT: root stays root.
ip link set lo up
mkdir /export /nfs
mount -t tmpfs export /export
mount -t nfsd nfsd /proc/fs/nfsd
echo '-2 -3 +4 +4.1 +4.2' >/proc/fs/nfsd/versions
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
echo 'nfsd 127.0.0.1 2147483647 local' >/proc/net/rpc/auth.unix.ip/channel
echo 'local /export 2147483647 9234 65534 65534 0' >/proc/net/rpc/nfsd.export/channel
printf '%s\n' 'local 1 \x00000000 2147483647 /export' >/proc/net/rpc/nfsd.fh/channel
echo 'tcp 2049' >/proc/fs/nfsd/portlist
echo 4 >/proc/fs/nfsd/threads
echo Y >/proc/fs/nfsd/v4_end_grace
await mount -t nfs4 -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/ /nfs || exit
echo "mounted: $(sed -n 's|^[^ ]* /nfs \([^ ]*\) .*|\1|p' /proc/mounts)"

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

for name in two three four; do must mas new -q -t solo --agent trial -n "$name" --no-start >/dev/null; done
last=$(mas new -q -t solo --agent trial -n last)
must mas clean -q --status stopped --keep 0 && only "$last" && echo cleaned
must mas rm -q -f last
must mas doctor
