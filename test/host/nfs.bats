#!/usr/bin/env bats
# A root on NFS, in a virtual machine that is its own server: renameat2() has no flags there, locks go to the server,
# and a removed file that is open stays under another name.

load ../helper
load lib
load vm

# said LINE: the machine has printed it (a basic regular expression).
said() { grep -q -- "$1" "$T/said" || { echo "not said: $1" >&2; false; }; }

# on_nfs VERSION MOUNTED LOCK: runs nfs.sh there. It is mounted so, and a lock does that (basic regular expressions).
on_nfs() {
    { echo "nfs=$1"; cat "$BATS_TEST_DIRNAME/nfs.sh"; } >"$T/nfs"
    in_vm "$T/nfs" 600 flock ip "${PROGRAMS[@]}" >"$T/said"
    cat "$T/said"
    said '^the machine ends'
    run ! grep -e '^never: ' -e '^failed: ' -e '^left: ' -e '^mas: ' "$T/said"
    said "^mounted: $2"
    said "^a lock $3\$"
    said '^made$'
    said '^it says what it was told$'
    said '^a running one stays: 4$'
    said '^started again$'
    said '^archived$'
    said '^an archive is not replaced: '
    said '^restored and started$'
    said '^forced$'
    said '^a file that is open: 0$'
    said '^far lists it$'
    [ "$(grep -c '^far refuses: ' "$T/said")" -eq 6 ]
    [ "$(grep -c '^far leaves it: ' "$T/said")" -eq 2 ]
    said '^far has done it no harm$'
    said '^cleaned$'
    said '^everything is in order$'
}

need_version_3() {
    need_all_of nfs
    need_modules sunrpc auth_rpcgss grace lockd nfs_acl netfs fscache nfs nfsv3 nfsd veth
    need_programs rpcbind rpc.mountd rpc.statd exportfs
}

@test "sessions are made, started, stopped, archived, restored, cleaned and removed on NFS" {
    need_vm
    need_modules sunrpc auth_rpcgss grace lockd nfs_acl netfs fscache nfs dns_resolver nfsv4 nfsd veth
    PROGRAMS=()
    on_nfs 4 'nfs4 .*vers=4.2' 'is seen by the other node'
}

@test "likewise on NFS version 3, whose locks go to a lock manager of their own" {
    need_vm
    need_version_3
    on_nfs 3 'nfs .*vers=3.*local_lock=none' 'is seen by the other node'
}

@test "likewise on NFS version 3 with nolock, where locks end at the node" {
    need_vm
    need_version_3
    on_nfs 3,nolock 'nfs .*vers=3.*nolock' 'ends at its node'
}
