#!/bin/sh
# deb.sh VERSION [ARCH]: builds the Debian packages of build/mas-VERSION.tar.gz in build/deb, and checks them with
# lintian. With ARCH, for another machine; its libraries and compiler have to be there (apt-get build-dep -a ARCH -P cross,nocheck).
set -eu
cd "$(dirname "$0")/../build"
rm -rf deb
mkdir deb
cd deb
tar -xf "../mas-$1.tar.gz"
cd "mas-$1"
DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -us -uc ${2:+-a "$2"} \
    >../build.log 2>&1 || { tail -30 ../build.log >&2; exit 1; }
cd ..
if command -v lintian >/dev/null; then
    lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs --allow-root --tag-display-limit 0 ./*.changes
fi
ls -l ./*.deb
