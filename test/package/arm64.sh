#!/usr/bin/env bash
# Builds the packages of build/mas-VERSION.tar.gz for arm64 with Debian's cross compilers in a fresh root, installs them
# there, and takes a new user's first steps with them under qemu-user, without walls. As root, with a network,
# debootstrap and qemu-user-static:
#
#   test/package/arm64.sh [SUITE]     default: bookworm
set -eu -o pipefail
cd "$(dirname "$0")/../.." || exit 1
version=$(sed -n 's/^VERSION := //p' config.mk)
mirror=${MAS_TEST_MIRROR:-http://deb.debian.org/debian}
suite=${1:-bookworm}

if [ -z "${MAS_TEST_INSIDE-}" ]; then
    [ "$(id -u)" -eq 0 ] || { echo "arm64.sh: only root can make a root" >&2; exit 77; }
    MAS_TEST_INSIDE=yes exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi
root=$(mktemp -d "$PWD/build/arm64.XXXXXX")
chmod 755 "$root" # for apt, which fetches as a user of its own
trap 'cd /; umount -R "$root"/{proc,dev} 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

echo "== $suite"
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" 2>&1 || { tail "$root.log" >&2; exit 1; }
rm "$root.log"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
cp /etc/resolv.conf "$root/etc/"
echo 'Acquire::Check-Valid-Until "no";' >"$root/etc/apt/apt.conf.d/99mirror"
inside dpkg --add-architecture arm64
inside apt-get -qq update
mkdir -p "$root/src/build" "$root/src/scripts"
cp "build/mas-$version.tar.gz" "$root/src/build/"
cp scripts/deb.sh "$root/src/scripts/"
tar -xf "build/mas-$version.tar.gz" -C "$root/src"
quiet() { inside sh -c "$1 >/tmp/log 2>&1 || { tail /tmp/log >&2; exit 1; }"; }
quiet 'apt-get install -qq -y --no-install-recommends crossbuild-essential-arm64'
quiet "apt-get build-dep -qq -y --no-install-recommends -a arm64 -P cross,nocheck /src/mas-$version"
inside sh /src/scripts/deb.sh "$version" arm64
quiet "cd /src/build/deb && apt-get install -qq -y --no-install-recommends \$(ls ./*.deb | grep -v dbgsym)"
file "$root/usr/bin/mas" | grep -q 'ARM aarch64'

# A namespace of its own may say what runs programs for arm64, and the machine does not learn of it.
cp debian/tests/tour "$root/tmp/"
# shellcheck disable=SC2016 # for the inner shell
unshare --user --map-root-user --mount --pid --fork --kill-child --mount-proc bash -euc '
    mount -t binfmt_misc binfmt /proc/sys/fs/binfmt_misc
    magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    echo ":arm64:M::$magic:$mask:/usr/bin/qemu-aarch64-static:FP" >/proc/sys/fs/binfmt_misc/register
    mount -t proc proc "$1/proc"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 sh /tmp/tour' bash "$root"
echo "$suite: built for arm64, and used under qemu-user"
