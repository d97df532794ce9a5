#!/usr/bin/env bash
# Installs the Debian packages of `make deb` in fresh roots of Debian, makes a team there as a new user, installs
# another build beside the team that runs, and removes all of it. As root, with a network, debootstrap and devscripts:
#
#   test/package/run.sh [SUITE...]     default: bookworm trixie sid
set -eu -o pipefail
cd "$(dirname "$0")/../.." || exit 1
version=$(sed -n 's/^VERSION := //p' config.mk)
mirror=${MAS_TEST_MIRROR:-http://deb.debian.org/debian}

# A mount and process namespace of its own: what is mounted and started ends with it.
if [ -z "${MAS_TEST_INSIDE-}" ]; then
    [ "$(id -u)" -eq 0 ] || { echo "run.sh: only root can make a root" >&2; exit 77; }
    MAS_TEST_INSIDE=yes exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi
[ $# -gt 0 ] || set -- bookworm trixie sid
compgen -G "build/deb/mas_${version}_*.deb" >/dev/null || { echo "run.sh: build/deb has no packages; make them with: make deb" >&2; exit 1; }
place=$(mktemp -d "$PWD/build/package.XXXXXX")
trap 'cd /; umount -R "$place"/*/{proc,dev} 2>/dev/null || true; rm -rf --one-file-system "$place"' EXIT

inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
# Names of all files that belong to no package that is there, but those of users and of the package manager: a
# library that was installed for mas may stay.
files() {
    comm -23 <(inside find / -xdev \( -path /proc -o -path /dev -o -path /sys -o -path /tmp -o -path /run -o -path /home \
        -o -path /var -o -path /root \) -prune -o -type f -print | sort -u) \
        <(cat "$root"/var/lib/dpkg/info/*.list | sed -E 's,^/(bin|sbin|lib|lib64)/,/usr&,' | sort -u)
}
tour() { inside su - ann -c "sh /tmp/tour $1"; }

# another VERSION: the packages again, with this version.
another() {
    local file
    for file in build/deb/*.deb; do
        case $file in *-dbgsym_*) continue ;; esac
        rm -rf "$place/again"
        dpkg-deb -R "$file" "$place/again"
        sed -i "s/$version/$1/" "$place/again/DEBIAN/control"
        dpkg-deb -b "$place/again" "$root/tmp/again/" >/dev/null
    done
}

# Every program of `make install`, and of the packages, has what hardening-check looks for, but for CET, which not
# every machine has.
echo '== hardening'
make -s install DESTDIR="$place/plain"
for file in build/deb/*.deb; do
    dpkg-deb -x "$file" "$place/packed"
done
find "$place"/{plain/usr/local,packed/usr}/{bin,libexec/mas} -type f >"$place/programs"
[ "$(wc -l <"$place/programs")" -eq 16 ] || { cat "$place/programs" >&2; exit 1; }
xargs -a "$place/programs" hardening-check --quiet --nocfprotection
echo "hardening: $(wc -l <"$place/programs") programs with PIE, stack protector, fortified functions, RELRO, immediate binding"

for suite; do
    echo "== $suite"
    root=$place/$suite
    debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$place/log" 2>&1 || { tail "$place/log" >&2; exit 1; }
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --make-rslave "$root/dev"
    cp /etc/resolv.conf "$root/etc/"
    # a mirror may be older than the clock says
    echo 'Acquire::Check-Valid-Until "no";' >"$root/etc/apt/apt.conf.d/99mirror"
    inside apt-get -qq update
    inside apt-get install -qq -y --no-install-recommends apparmor >/dev/null
    cp debian/apparmor "$root/tmp/"
    # packages that were built with an older parser have no profile
    if [ -e "$root/etc/apparmor.d/abi/4.0" ]; then inside apparmor_parser --skip-kernel-load /tmp/apparmor; fi
    inside useradd -m -s /bin/bash ann
    files >"$place/before"
    mkdir "$root/tmp/debs" "$root/tmp/again"
    find build/deb -name '*.deb' ! -name '*-dbgsym_*' -exec cp -t "$root/tmp/debs" {} +
    cp debian/tests/tour "$root/tmp/"
    inside sh -c 'apt-get install -qq -y --no-install-recommends /tmp/debs/*.deb >/tmp/log 2>&1 || { tail /tmp/log >&2; exit 1; }'
    [ -e "$root/usr/lib/systemd/user/mas-serve.socket" ]
    if [ -e "$root/etc/systemd/user" ]; then # each person enables what they want
        find "$root/etc/systemd/user" -name 'mas-*' >"$place/enabled"
        [ ! -s "$place/enabled" ] || { cat "$place/enabled" >&2; exit 1; }
    fi
    tour first
    another "$version+again"
    inside sh -c 'dpkg -i /tmp/again/*.deb >/dev/null'
    tour later
    inside apt-get purge -qq -y 'mas*' >/dev/null
    inside dpkg --audit
    files >"$place/after"
    diff "$place/before" "$place/after" || { echo "run.sh: $suite: this is left, or gone" >&2; exit 1; }
    [ -d "$root/home/ann/.local/share/mas/sessions" ] || { echo "run.sh: $suite: the user's root is gone" >&2; exit 1; }
    umount -R "$root/proc" "$root/dev"
    rm -rf --one-file-system "$root"
    echo "$suite: installed, used, upgraded beside a team that runs, removed without a trace"
done
