#!/bin/sh
# Fetches Debian's kernel for virtual machines into build/kernel, for tests that need a machine of their
# own (test/host/vm.bash), with the modules that they load and the programs of NFS that run there. Nothing
# is installed. Without apt-get, or on another processor, it says so: those tests are skipped then, unless
# TEST_KERNEL names a kernel.
#
#   sh scripts/lib/kernel.sh            the kernel and those programs
#   sh scripts/lib/kernel.sh systemd    the systemd of Debian's backports, too
set -eu
cd "$(dirname "$0")/../.."
to=build/kernel

# a block device in a file, ext4 and XFS with project quotas; NFS, both sides; a link between two nodes
modules='loop quota_tree quota_v2 libcrc32c xfs
    sunrpc auth_rpcgss grace lockd nfs_acl netfs fscache nfs dns_resolver nfsv3 nfsv4 nfsd veth'
# what NFS version 3 asks beside the kernel, and the packages that have it
programs='rpcbind rpc.mountd rpc.statd exportfs'
packages='rpcbind nfs-kernel-server'
# a system that has systemd as its first process
systemd='systemctl systemd-run'

give_up() {
    rm -rf "$to.new" "$to.apt"
    echo "kernel.sh: $1; tests that need $2 are skipped" >&2
    exit 0
}

# fetched PART WANTED: it is there; what an earlier version fetched may have less.
fetched() { [ "$(cat "$to/$1/list" 2>/dev/null)" = "$2" ]; }

# fetch PACKAGES: unpacks them in $to.new, with all that they depend on and this system has not.
fetch() {
    rm -rf "$to.new"
    mkdir -p "$to.new/partial" "$to"
    # shellcheck disable=SC2086 # a list of words
    if ! (cd "$to.new" && apt-get -qq -y --no-install-recommends --reinstall --download-only \
        -o Debug::NoLocking=1 -o Dir::Cache::archives="$PWD" install $1 >log 2>&1 &&
        for package in ./*.deb; do dpkg -x "$package" .; done); then
        cat "$to.new/log" >&2
        return 1
    fi
}

# installed: the newest kernel of this system can be read, and has all modules in a form that a small init can load.
installed() {
    kernel=$(for file in /boot/vmlinuz-*; do if [ -r "$file" ]; then echo "$file"; fi; done | sort -V | tail -n 1)
    [ -n "$kernel" ] || return 1
    for module in $modules; do
        [ -n "$(find "/lib/modules/${kernel#/boot/vmlinuz-}" -name "$module.ko" 2>/dev/null)" ] || return 1
    done
}

fetch_kernel() {
    if installed; then return; fi
    if fetched modules "$modules"; then return; fi
    package=$(apt-cache show linux-image-cloud-amd64 2>/dev/null |
        sed -n 's/^Depends: \(linux-image-[^ ,]*\).*/\1/p' | head -n 1)
    [ -n "$package" ] || give_up 'apt knows no linux-image-cloud-amd64' 'a virtual machine'
    fetch "$package" || give_up "cannot fetch $package" 'a virtual machine'
    rm -rf "$to"/vmlinuz* "$to/modules"
    mv "$to.new"/boot/vmlinuz* "$to/"
    mkdir "$to.new/modules"
    for module in $modules; do
        find "$to.new/lib/modules" -name "$module.ko*" -exec mv {} "$to.new/modules/" \;
    done
    printf '%s\n' "$modules" >"$to.new/modules/list"
    mv "$to.new/modules" "$to/"
}

fetch_programs() {
    if fetched programs "$programs"; then return; fi
    fetch "$packages" || give_up "cannot fetch $packages" 'NFS version 3'
    mkdir "$to.new/programs"
    for program in $programs; do
        find "$to.new/sbin" "$to.new/usr/sbin" -name "$program" -exec mv {} "$to.new/programs/" \; 2>/dev/null || :
    done
    mkdir "$to.new/programs/lib"
    find "$to.new/lib" "$to.new/usr/lib" -name 'lib*.so.*' -exec mv {} "$to.new/programs/lib/" \; 2>/dev/null || :
    printf '%s\n' "$programs" >"$to.new/programs/list"
    rm -rf "$to/programs"
    mv "$to.new/programs" "$to/"
}

# Puts what a machine needs of systemd where it expects it.
fetch_systemd() {
    if fetched systemd "$systemd"; then return; fi
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    # shellcheck disable=SC2016 # apt expands it
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $codename" 'Created-By: Packages' | head -n 1)
    [ -n "$mirror" ] || give_up "apt knows no mirror of $codename" 'systemd'
    # what apt does not know here is told in files of its own
    rm -rf "$to.apt"
    mkdir -p "$to.apt/lists/partial"
    for release in "$codename" "$codename-backports"; do echo "deb $mirror $release main"; done >"$to.apt/sources"
    cat >"$to.apt/conf" <<END
Dir::Etc::SourceList "$PWD/$to.apt/sources";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$PWD/$to.apt/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Default-Release "$codename-backports";
END
    export APT_CONFIG="$PWD/$to.apt/conf"
    if ! apt-get -qq update || ! fetch systemd; then
        give_up "cannot fetch systemd from $codename-backports" 'systemd'
    fi
    unset APT_CONFIG
    at=$to.new/machine/lib/systemd
    mkdir -p "$to.new/machine/bin" "$at/system" "$at/user"
    for program in $systemd; do
        find "$to.new/bin" "$to.new/usr/bin" -name "$program" -exec mv {} "$to.new/machine/bin/" \; 2>/dev/null || :
    done
    for dir in "$to.new/lib" "$to.new/usr/lib"; do
        find "$dir" -name 'libsystemd*.so*' -exec mv {} "$to.new/machine/lib/" \; || :
        mv "$dir"/systemd/systemd "$dir"/systemd/systemd-executor "$at/" || :
        mv "$dir"/systemd/system/*.target "$dir"/systemd/system/*.slice "$dir"/systemd/system/user@.service "$at/system/" || :
        mv "$dir"/systemd/user/*.target "$dir"/systemd/user/*.slice "$at/user/" || :
    done 2>/dev/null
    printf '%s\n' "$systemd" >"$to.new/machine/list"
    rm -rf "$to/systemd" "$to.apt"
    mv "$to.new/machine" "$to/systemd"
}

[ "$(uname -m)" = x86_64 ] || give_up 'only a kernel for x86_64 is fetched' 'a virtual machine'
command -v apt-get >/dev/null 2>&1 || give_up 'this system has no apt-get' 'a virtual machine'
fetch_kernel
fetch_programs
if [ "${1-}" = systemd ]; then fetch_systemd; fi
rm -rf "$to.new"
