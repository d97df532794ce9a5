#!/bin/sh
# Installs the packages that the tests need, builds with warnings as errors, and runs all tests.
# Passes its arguments to make: `sh scripts/test.sh SAN=address,undefined`.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh

install_needs "$BUILD_NEEDS $RUN_NEEDS $TEST_NEEDS"
sh scripts/lib/kernel.sh
# Most of them are for machines made of namespaces, which only root can make.
if [ "$(id -u)" -eq 0 ]; then
    install_quietly "$SERVICE_NEEDS" || say "the tests that need them, such as those in test/fleet, will be skipped"
fi
make -s -j"$(nproc)" DEV=1 "$@" all
exec make -s -j"$(nproc)" DEV=1 "$@" test
