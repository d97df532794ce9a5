#!/bin/sh
# Installs the packages that the tests need, builds with warnings as errors, and runs all tests.
# Passes its arguments to make: `sh scripts/test.sh SAN=address,undefined`.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh

install_needs "$BUILD_NEEDS $RUN_NEEDS $TEST_NEEDS"
make -s -j"$(nproc)" DEV=1 "$@" all
exec make -s -j"$(nproc)" DEV=1 "$@" test
