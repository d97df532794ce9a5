#!/usr/bin/env bash
# mas builds with clang, and its sources compile with the C library musl and for arm64. Where the libraries for
# those are not installed, as on Debian, nothing is linked: their headers alone say the same everywhere. Not in
# `make lint`, but in `make check-all`: it compiles everything three times. What has no compiler here is skipped.
. "$(dirname "$0")/lib.sh"
rc=0
count=0

# port NAME COMPILER PACKAGE ARGUMENT...: runs make with them in a directory of its own.
port() {
    local name=$1 compiler=$2 package=$3
    shift 3
    if ! command -v "$compiler" >/dev/null; then
        echo "ports: $name: skipped: $compiler is not there; it is in the package $package"
        return
    fi
    count=$((count + 1))
    make -s --no-print-directory -j "$JOBS" DEV=1 BUILD="build/ports/$name" CC="$compiler" "$@" || rc=1
}

# headers DIR FILE...: makes DIR of links to these files of /usr/include and of its directory for this machine.
headers() {
    local dir=build/ports/$1 machine name
    machine=$(gcc -print-multiarch)
    shift
    rm -rf "$dir"
    mkdir -p "$dir/openssl"
    ln -s /usr/include/openssl/* "/usr/include/$machine/openssl/"* "$dir/openssl/"
    for name; do
        [[ -e /usr/include/$name ]] || name=$machine/$name
        ln -s "/usr/include/$name" "$dir/"
    done
}

libraries=(archive.h archive_entry.h cjson curses.h histedit.h ini.h md5.h microhttpd.h ncurses_dll.h seccomp.h
    seccomp-syscalls.h sha1.h sha2.h sqlite3.h term.h unctrl.h uuid zstd.h)
headers libraries "${libraries[@]}"
headers libraries-and-kernel "${libraries[@]}" asm asm-generic linux

port clang clang clang all
# Its types in calls such as ioctl() are others, which -Wconversion does not like.
port musl musl-gcc musl-tools objects \
    CPPFLAGS='-isystem build/ports/libraries-and-kernel -Wno-conversion -Wno-sign-conversion'
port arm64 aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu CPPFLAGS='-isystem build/ports/libraries' \
    objects build/ports/arm64/completion/mas.bash
finish "$rc" "$count ports"
