#!/bin/sh
# Fetches Debian's kernel for virtual machines into build/kernel, for tests that need a machine of their
# own (test/host/vm.bash), and the modules that they load. Nothing is installed. Without apt-get, or on
# another processor, it says so: those tests are skipped then, unless TEST_KERNEL names a kernel.
#
#   sh scripts/lib/kernel.sh
set -eu
cd "$(dirname "$0")/../.."
to=build/kernel

for kernel in /boot/vmlinuz*; do
    if [ -r "$kernel" ]; then exit 0; fi
done
# a block device in a file, ext4 and XFS with project quotas; NFS, both sides
modules='loop quota_tree quota_v2 libcrc32c xfs
    sunrpc auth_rpcgss grace lockd nfs_acl netfs fscache nfs dns_resolver nfsv4 nfsd'
# what an earlier version fetched may have fewer
if [ "$(cat "$to/modules/list" 2>/dev/null)" = "$modules" ]; then exit 0; fi

give_up() {
    echo "kernel.sh: $1; tests that need a virtual machine are skipped" >&2
    exit 0
}

[ "$(uname -m)" = x86_64 ] || give_up 'only a kernel for x86_64 is fetched'
command -v apt-get >/dev/null 2>&1 || give_up 'this system has no apt-get'
package=$(apt-cache show linux-image-cloud-amd64 2>/dev/null |
    sed -n 's/^Depends: \(linux-image-[^ ,]*\).*/\1/p' | head -n 1)
[ -n "$package" ] || give_up 'apt knows no linux-image-cloud-amd64'
rm -rf "$to.new"
mkdir -p "$to.new"
if ! (cd "$to.new" && apt-get -qq download "$package" >log 2>&1 && dpkg -x ./*.deb .); then
    cat "$to.new/log" >&2
    rm -rf "$to.new"
    give_up "cannot fetch $package"
fi
mkdir -p "$to"
rm -f "$to"/vmlinuz*
mv "$to.new"/boot/vmlinuz* "$to/"
mkdir "$to.new/modules"
for module in $modules; do
    find "$to.new/lib/modules" -name "$module.ko*" -exec mv {} "$to.new/modules/" \;
done
printf '%s\n' "$modules" >"$to.new/modules/list"
rm -rf "$to/modules"
mv "$to.new/modules" "$to/"
rm -rf "$to.new"
