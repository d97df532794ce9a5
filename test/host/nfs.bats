#!/usr/bin/env bats
# A root on NFS, in a virtual machine that is its own server: renameat2() has no flags there, locks go to the server,
# and a removed file that is open stays under another name.

load ../helper
load lib
load vm

# said LINE: the machine has printed it (a basic regular expression).
said() { grep -q -- "$1" "$T/said" || { echo "not said: $1" >&2; false; }; }

@test "sessions are made, started, stopped, archived, restored, cleaned and removed on NFS" {
    need_vm
    need_modules sunrpc auth_rpcgss grace lockd nfs_acl netfs fscache nfs dns_resolver nfsv4 nfsd
    in_vm "$BATS_TEST_DIRNAME/nfs.sh" 300 >"$T/said"
    cat "$T/said"
    said '^the machine ends'
    run ! grep -e '^never: ' -e '^failed: ' -e '^left: ' -e '^mas: ' "$T/said"
    said '^mounted: nfs4$'
    said '^made$'
    said '^it says what it was told$'
    said '^a running one stays: 4$'
    said '^started again$'
    said '^archived$'
    said '^an archive is not replaced: '
    said '^restored and started$'
    said '^forced$'
    said '^a file that is open: 0$'
    said '^cleaned$'
    said '^everything is in order$'
}
