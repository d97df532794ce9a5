# shellcheck shell=sh disable=SC2034 # the needs are for the caller
# Finds missing packages and installs them; quickstart.sh and test.sh source this file.
#
# A need is "package:kind:what". `package` is the Debian package that meets it. `kind` says how to
# check it: command (a program on PATH), library (pkg-config knows it), header (the compiler finds
# it), package (dpkg knows it). If every need is met, no package manager runs.

BUILD_NEEDS='gcc:command:cc libc6-dev:header:stdio.h make:command:make pkg-config:command:pkg-config
    libcjson-dev:library:libcjson libinih-dev:library:inih uuid-dev:library:uuid libmd-dev:library:libmd
    libsqlite3-dev:library:sqlite3 libedit-dev:library:libedit
    libarchive-dev:library:libarchive libzstd-dev:library:libzstd libssl-dev:library:libcrypto
    libmicrohttpd-dev:library:libmicrohttpd libncurses-dev:library:ncursesw
    libseccomp-dev:library:libseccomp libmd4c-dev:library:md4c'
RUN_NEEDS='tmux:command:tmux bubblewrap:command:bwrap'
TEST_NEEDS='bats:command:bats strace:command:strace jq:command:jq curl:command:curl dash:command:dash
    busybox:command:busybox mandoc:command:mandoc cmark-gfm:command:cmark-gfm shellcheck:command:shellcheck
    clang:command:clang clang-format:command:clang-format clang-tidy:command:clang-tidy
    libclang-rt-dev:package:libclang-rt-dev cppcheck:command:cppcheck zsh:command:zsh
    fish:command:fish procps:command:ps zstd:command:zstd util-linux:command:flock
    libnotify-bin:command:notify-send xterm:command:xterm imagemagick:command:import
    dunst:command:dunst dbus-daemon:command:dbus-daemon xvfb:command:Xvfb python3:command:python3 openssl:command:openssl vim:command:vim less:command:less
    xfsprogs:package:xfsprogs btrfs-progs:package:btrfs-progs git-lfs:command:git-lfs gh:command:gh
    tinyproxy-bin:command:tinyproxy iproute2:command:ip
    chromium:command:chromium qrencode:command:qrencode
    wireguard-go:command:wireguard-go wireguard-tools:command:wg
    golang-github-yuin-goldmark-dev:package:golang-github-yuin-goldmark-dev
    qemu-system-x86:command:qemu-system-x86_64'
# For the machines of test/fleet, and the page behind a proxy. Packages of services: install_quietly is for them.
SERVICE_NEEDS='slurmctld:command:slurmctld slurmd:command:slurmd slurm-client:command:sbatch
    slurm-wlm-basic-plugins:package:slurm-wlm-basic-plugins munge:command:munged
    openssh-server:command:sshd openssh-client:command:ssh iproute2:command:ip bindfs:command:bindfs
    tcsh:command:tcsh nginx-light:package:nginx-light'

say() {
    printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2
}

# need_met KIND WHAT: succeeds if the need is met.
need_met() {
    case $1 in
        command) command -v "$2" >/dev/null 2>&1 ;;
        library) pkg-config --exists "$2" 2>/dev/null ;;
        header) printf '#include <%s>\n' "$2" | cc -E - >/dev/null 2>&1 ;;
        package)
            ! command -v dpkg-query >/dev/null 2>&1 ||
                dpkg-query -W -f='${db:Status-Status}\n' "$2" 2>/dev/null | grep -qx installed
            ;;
    esac
}

# packages_missing NEEDS: prints the packages of the unmet needs, with a blank before each.
packages_missing() {
    for need in $1; do
        package=${need%%:*} rest=${need#*:}
        need_met "${rest%%:*}" "${rest#*:}" || printf ' %s' "$package"
    done
}

# apt COMMAND...: runs apt-get as root. Shows its output only if it fails.
apt() {
    sudo=sudo
    if [ "$(id -u)" -eq 0 ]; then sudo=; fi
    log=$(mktemp)
    rc=0
    # shellcheck disable=SC2086 # $sudo is empty if root runs this
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1 </dev/null || rc=$?
    if [ "$rc" -ne 0 ]; then cat "$log" >&2; fi
    rm -f "$log"
    return "$rc"
}

# install_quietly NEEDS: as install_needs, as root, but no service of a package that it installs runs, now or after
# the next start of this machine.
install_quietly() {
    before=$(packages_missing "$1")
    policy=/usr/sbin/policy-rc.d
    if [ -n "$before" ] && [ -d /usr/sbin ] && [ ! -e "$policy" ]; then
        # what packages ask before they start their services; 101 is no
        trap 'rm -f "$policy"' EXIT
        trap 'exit 1' HUP INT TERM
        printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
    else
        policy=
    fi
    rc=0
    install_needs "$1" || rc=$?
    for package in $before; do
        case $package in
            openssh-server) service=ssh ;;
            nginx-light) service=nginx ;;
            munge | slurmctld | slurmd) service=$package ;;
            *) continue ;;
        esac
        if [ -e "/etc/init.d/$service" ]; then update-rc.d "$service" disable >/dev/null 2>&1 || :; fi
    done
    if [ -n "$policy" ]; then
        rm -f "$policy"
        trap - EXIT HUP INT TERM
    fi
    return "$rc"
}

# install_needs NEEDS: installs the missing packages; on failure, says what to do.
install_needs() {
    missing=$(packages_missing "$1")
    if [ -z "$missing" ]; then
        say "all packages are installed"
        return 0
    fi
    by_hand="install these Debian packages and run this script again:$missing"
    if ! command -v apt-get >/dev/null 2>&1; then
        say "this system has no apt-get; $by_hand"
        return 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            say "there is no sudo; as root, $by_hand"
            return 1
        fi
        if ! sudo -n true 2>/dev/null && ! [ -t 0 ]; then
            say "sudo needs a password, but there is no terminal; as root, $by_hand"
            return 1
        fi
    fi
    say "installing:$missing"
    # If the update fails, the existing lists may still be good enough.
    apt update || say "apt-get update failed; trying with the existing package lists"
    # shellcheck disable=SC2086 # a list of words
    if ! apt install $missing; then
        say "apt-get could not install the packages; $by_hand"
        return 1
    fi
    missing=$(packages_missing "$1")
    if [ -n "$missing" ]; then
        say "still missing after the installation:$missing"
        return 1
    fi
}
