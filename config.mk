# The knobs. Each can be set in the environment or on make's command line.

VERSION := 1.0~rc1
# The commit, for `mas version`: of a tarball, which has it in a file, or of this clone. A build for work on mas has
# none, so that a commit links nothing anew.
COMMIT := $(if $(DEV),,$(shell cat .commit 2>/dev/null || { [ -e .git ] && git rev-parse --short=12 HEAD; } 2>/dev/null))

# Parts that can be left out, each with its libraries: the HTTP API, the dashboard, walls.
WITH_SERVE ?= 1
WITH_TOP ?= 1
WITH_WALL ?= 1

# Where `make install` puts things. DESTDIR stands in front of every path, for packagers.
PREFIX ?= /usr/local
DESTDIR ?=
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share/mas
LIBEXECDIR ?= $(PREFIX)/libexec/mas
MANDIR ?= $(PREFIX)/share/man
BASH_COMPLETION_DIR ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETION_DIR ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETION_DIR ?= $(PREFIX)/share/fish/vendor_completions.d
SYSTEMD_USER_DIR ?= $(PREFIX)/lib/systemd/user

# The compiler (CC is make's own, cc) and what the user adds to ours.
CFLAGS ?= -O2 -g
CPPFLAGS ?=
LDFLAGS ?=
# In a build for another machine, compiler and pkg-config of this one: the completion scripts need a mas that runs here.
#   make CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar PKG_CONFIG=aarch64-linux-gnu-pkg-config BUILD=build/arm64
HOST_CC ?= cc
HOST_PKG_CONFIG ?= pkg-config
PKG_CONFIG ?= pkg-config
INSTALL ?= install
STRIP ?= strip

# Libraries, as pkg-config knows them. Nothing is linked with SQLite, which is loaded when it is needed:
# memory/sqlite.h. Only a unit test calls it by itself.
PACKAGES := sqlite3 libcjson inih uuid libmd
# Those of mas-archive, which mas is not linked with.
ARCHIVE_PACKAGES := libarchive libzstd libcrypto
# And of mas-serve.
SERVE_PACKAGES := libmicrohttpd
# That of mas-chat.
CHAT_PACKAGES := libedit
# That of Markdown, in mas-chat and mas-serve.
MARKDOWN_PACKAGES := md4c
# That of mas-top.
TOP_PACKAGES := ncursesw
# That of the filters of system calls, in mas-wall and other helper programs.
FILTER_PACKAGES := libseccomp

# DEV=1: warnings are errors.
DEV ?=
# SAN=address,undefined: build with these sanitizers, in a build directory of its own.
SAN ?=
# V=1: print whole commands.
V ?=

# Seconds that `make fuzz` gives each program.
FUZZ_SECONDS ?= 20
FUZZ_CC ?= clang
