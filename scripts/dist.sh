#!/bin/sh
# dist.sh VERSION: writes build/mas-VERSION.tar.gz, the commit of this clone. It is the same byte for byte wherever
# it is made: names, times and modes are those of git, and gzip is told no time.
set -eu
cd "$(dirname "$0")/.."
name=mas-$1
commit=$(git rev-parse --short=12 HEAD)
mkdir -p build
git -c tar.umask=0022 archive --format=tar --prefix="$name/" --add-virtual-file="$name/.commit:$commit" HEAD |
    gzip -n9 >"build/$name.tar.gz.new"
mv "build/$name.tar.gz.new" "build/$name.tar.gz"
git diff --quiet HEAD || echo "dist.sh: what is not committed is not in it" >&2
(cd build && sha256sum "$name.tar.gz")
