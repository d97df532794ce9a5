#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# What a program finds behind a wall: directories that the user's variables name, what belongs to the
# script that it runs, and mas.
load ../helper
load lib

# Landlock alone holds the files.
no_bwrap() {
    [ "$("${MAS%/*}/mas-wall" --probe | sed -n 's/^landlock=//p')" -gt 0 ] || skip 'the kernel has no Landlock'
    mkdir "$T/bin"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/bwrap"
    chmod +x "$T/bin/bwrap"
    PATH=$T/bin:$PATH
}

# Directories of the user, some of which are nowhere inside.
uses_directories() {
    mkdir -p "$T/mine/tmp" "$T/mine/run" "$HOME/.cache" "$HOME/.config/git" "$T/kept"
    touch "$HOME/.config/git/config"
    export TMPDIR=$T/mine/tmp TMP=/tmp/user/1000 TEMPDIR=/var/tmp/user/1000 TEMP=$T/kept XDG_RUNTIME_DIR=$T/mine/run
    export DISPLAY=:0 SSH_AUTH_SOCK=$T/mine/run/agent XAUTHORITY=$HOME/.config/git/config
    export XDG_CACHE_HOME=$T/mine/cache XDG_CONFIG_HOME=$HOME/.config XDG_STATE_HOME=$HOME/.state
    compromise "$1" 'wall.home = .config/git/config:ro' "wall.write = $T/kept" 'env.XDG_DATA_HOME = /tmp/data'
    # shellcheck disable=SC2016 # for the shell inside
    inside 'echo in "$(mktemp)"; echo "config $([ -e "$XDG_CONFIG_HOME/git/config" ] && echo there)"
        for name in DISPLAY SSH_AUTH_SOCK XAUTHORITY TMPDIR TMP TEMPDIR TEMP XDG_RUNTIME_DIR XDG_CACHE_HOME XDG_STATE_HOME XDG_DATA_HOME; do
            eval "echo $name \${$name-unset}"
        done'
    [ "$rc" -eq 0 ]
    cat "$TREE/said"
    said 'config there'
    said "XAUTHORITY /" # it is there
    for name in DISPLAY SSH_AUTH_SOCK TMP TEMPDIR XDG_RUNTIME_DIR XDG_CACHE_HOME XDG_STATE_HOME; do said "$name unset"; done
    said "TEMP $T/kept"
    said 'XDG_DATA_HOME /tmp/data' # the preset's word
}

@test "a variable names no directory that is not there" {
    need_wall
    uses_directories require
    said 'in /tmp/'
    said 'TMPDIR unset'
}

@test "nor where Landlock alone holds the files" {
    no_bwrap
    need_wall() { :; }
    uses_directories try
    said "in $DIR/home/bad/"
}

# runs COMMAND [KEY=VALUE...]: an agent that is this command, behind a wall; what it prints is in $T/printed.
runs() {
    sed -i '/^\[preset ran\]/,$d' "$ROOT/mas.ini"
    preset ran "$1" 'wall.level = require' "${@:2}"
    new_session -t solo --agent ran
    prints_something() { "$MAS" peek "$ID" solo | grep -q 'CW-'; }
    eventually prints_something || { "$MAS" peek "$ID" solo; return 1; }
    "$MAS" peek "$ID" solo >"$T/printed"
    "$MAS" rm -qf "$ID"
}
printed() { grep -qF -- "$1" "$T/printed" || { cat "$T/printed"; return 1; }; }

# A program of some files; each says what it finds of the home and of the root.
make_tools() {
    local tools=$HOME/tools
    mkdir -p "$tools/node/lib" "$tools/node/bin" "$tools/plain" "$tools/wrap/bin" "$tools/wrap/lib" "$HOME/bin"
    echo '{"name": "x"}' >"$tools/node/package.json"
    echo 'module.exports = "CW-NODE"' >"$tools/node/lib/words.js"
    echo 'console.log(require("../lib/words.js")); setInterval(() => 0, 100000)' >"$tools/node/bin/main.js"
    echo 'WORDS = "CW-PYTHON"' >"$tools/plain/words.py"
    printf '%s\n' 'import words, os, sys, time' 'print(words.WORDS, "private" in os.listdir(os.path.expanduser("~")), flush=True)' \
        "time.sleep($MARK)" >"$tools/plain/main.py"
    # shellcheck disable=SC2016 # for that shell
    printf '#!/bin/sh\n. "$(dirname "$0")/../lib/words"\necho "$WORDS"\nexec sleep %s\n' "$MARK" >"$tools/wrap/bin/tool"
    echo 'WORDS=CW-WRAPPED' >"$tools/wrap/lib/words"
    # shellcheck disable=SC2016 # for that shell
    printf '#!/bin/sh\n# not ~/private\nexport X=1\nexec "$HOME/tools/wrap/bin/tool" "$@"\n' >"$HOME/bin/starts"
    chmod +x "$tools/wrap/bin/tool" "$HOME/bin/starts"
    echo secret >"$HOME/private"
}

@test "a script that a command names has what is around it, and a wrapper what it runs" {
    need_wall
    make_tools
    runs "$PYTHON '$HOME/tools/plain/main.py'"
    printed 'CW-PYTHON False'
    runs "$PYTHON -u '$HOME/tools/plain/main.py' --verbose"
    printed 'CW-PYTHON False'
    runs "sh '$HOME/tools/wrap/bin/tool'"
    printed CW-WRAPPED
    runs "$HOME/bin/starts"
    printed CW-WRAPPED
    runs "sh $HOME/bin/starts"
    printed CW-WRAPPED
    command -v node >/dev/null || skip 'there is no node'
    runs "node --no-warnings '$HOME/tools/node/bin/main.js'"
    printed CW-NODE
    # what npx keeps of the package, and of no other; it makes a lock beside that
    mkdir -p "$HOME/.npm/_npx/0a/node_modules/.bin" "$HOME/.npm/_npx/0b" "$HOME/bin"
    echo '{"dependencies": {"tool": "^1.0.0"}}' >"$HOME/.npm/_npx/0a/package.json"
    echo '{"dependencies": {"other": "^1.0.0"}}' >"$HOME/.npm/_npx/0b/package.json"
    cp "$HOME/tools/node/bin/main.js" "$HOME/.npm/_npx/0a/node_modules/.bin/tool"
    mkdir "$HOME/.npm/_npx/0a/node_modules/lib" && cp "$HOME/tools/node/lib/words.js" "$HOME/.npm/_npx/0a/node_modules/lib"
    # shellcheck disable=SC2016 # for that shell
    printf '#!/bin/sh\nls -a "$HOME/.npm/_npx"\nmkdir "$HOME/.npm/_npx/0a/concurrency.lock" || exit\nexec node "$HOME"/.npm/_npx/*/node_modules/.bin/"${2%%@*}"\n' >"$HOME/bin/npx"
    chmod +x "$HOME/bin/npx"
    PATH=$HOME/bin:$PATH runs 'npx -y tool@latest'
    printed CW-NODE
    run ! grep -qx 0b "$T/printed"
}

@test "nothing around a script is shown that has the home or the root in it" {
    need_wall
    echo secret >"$HOME/private"
    printf '%s\n' 'import os, time' "print('CW-', 'private' in os.listdir('$HOME'), os.path.exists('$ROOT/mas.ini'), flush=True)" \
        "time.sleep($MARK)" | tee "$HOME/main.py" >"$ROOT/main.py"
    echo '{}' | tee "$HOME/package.json" "$ROOT/package.json" >"$T/package.json"
    runs "$PYTHON '$HOME/main.py'"
    printed 'CW- False False'
    runs "$PYTHON '$ROOT/main.py'"
    printed 'CW- False False'
    # a package in which the root lies
    mkdir -p "$T/package/bin"
    export MAS_ROOT=$T/package/root ROOT=$T/package/root
    "$MAS" init -q
    echo '{}' >"$T/package/package.json"
    sed "s|[^']*/mas.ini|$ROOT/mas.ini|" "$HOME/main.py" >"$T/package/bin/main.py"
    runs "$PYTHON '$T/package/bin/main.py'"
    printed 'CW- False False'
}

finds_mas() {
    compromise "$1"
    [[ ":/usr/bin:/usr/local/bin:" != *":${MAS%/*}:"* ]] || skip 'mas is where every PATH is'
    inside "bash -lc 'PATH=\${PATH#${MAS%/*}:}; type -p mas' && sh -lc 'command -v mas' && env -i HOME=\$HOME bash -lc 'echo one; type -p mas && mas version'"
    cat "$TREE/said"
    [ "$rc" -eq 0 ]
    "$MAS" show "$ID" | grep -F "; mas: ${MAS%/*}"
    [ "$("$MAS" show --json "$ID" | jq -r '.agents[] | select(.id == "bad").masDir')" = "${MAS%/*}" ]
}
@test "a login shell, which sets PATH anew, finds mas" {
    need_wall
    finds_mas require
}

@test "and where Landlock alone holds the files" {
    no_bwrap
    need_wall() { :; }
    finds_mas try
}
