#!/usr/bin/env bash
# Runs the tests that see most of tmux with that of other releases of Debian, built from their source packages in
# build/tmux/VERSION, or with programs that are there already. With apt-get, as root where packages are missing:
#
#   test/tmux/run.sh [SUITE | PATH]...     default: trixie sid
set -eu -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. scripts/lib/packages.sh
mirror=${MAS_TEST_MIRROR:-http://deb.debian.org/debian}
top=$PWD/build/tmux
files=(test/cli/{attach,choose,doctor-tmux,hangup,keys,lazy,list,new,own-server,peek,restart,send,set,start,status,stop,top}.bats
    test/cli/tmux-*.bats test/host/{ends,relay,states}.bats test/acp/chat.bats)

# fetch SUITE DIR: its source package, by lists of its own.
fetch() {
    local lists=$top/lists-$1
    mkdir -p "$lists/partial" "$2"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$lists.list"
    local from=(-qq -o Dir::Etc::sourcelist="$lists.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$lists"
        -o APT::Sandbox::User=root)
    apt-get "${from[@]}" update
    (cd "$2" && apt-get "${from[@]}" --only-source source tmux)
}

# build SUITE: prints the directory of the program.
build() {
    local dir=$top/$1
    if [ ! -x "$dir/tmux" ]; then
        rm -rf "$dir.new"
        fetch "$1" "$dir.new" >&2
        (cd "$dir.new"/tmux-*/ && { [ -x configure ] || sh autogen.sh; } && ./configure && make -s -j"$(nproc)") >"$dir.log" 2>&1 ||
            { tail "$dir.log" >&2; return 1; }
        rm -rf "$dir"
        mkdir "$dir"
        cp "$dir.new"/tmux-*/tmux "$dir/"
        rm -rf "$dir.new"
    fi
    echo "$dir"
}

install_needs 'bison:command:bison libevent-dev:library:libevent libncurses-dev:library:ncursesw
    autoconf:command:autoconf automake:command:automake dpkg-dev:command:dpkg-source'
make -s
rc=0
[ $# -gt 0 ] || set -- trixie sid
for suite; do
    case $suite in
        */*) dir=$(dirname "$suite") ;;
        *) dir=$(build "$suite") || { echo "== tmux of $suite: cannot be built"; rc=1; continue; } ;;
    esac
    echo "== $("$dir/tmux" -V) ($suite)"
    PATH=$dir:$PATH MAS=$PWD/build/mas TEST_ROOT=$PWD scripts/run-tests.sh "${files[@]}" || rc=1
done
exit "$rc"
