#!/usr/bin/env bats
# A root on a file system that knows no flags of renameat2() and keeps removed files that are open
# under other names beside them: FUSE here, and NFS is like that.
load ../helper

setup_more() {
    command -v bindfs >/dev/null || skip 'bindfs is not installed'
    [ -w /dev/fuse ] || skip 'there is no FUSE here'
    mkdir "$T/real" "$T/mount"
    bindfs --multithreaded "$T/real" "$T/mount" 2>"$T/complaints" ||
        skip "bindfs cannot mount here: $(tail -n 1 "$T/complaints")"
    export MAS_ROOT=$T/mount/root
    ROOT=$MAS_ROOT
    export XDG_STATE_HOME=$T/mount/state
    "$MAS" init -q
    quick_idle
}

teardown_more() {
    timeout 20 tmux -S "$SOCK" kill-server 2>/dev/null || true
    mountpoint -q "$T/mount" || return 0
    fusermount -u "$T/mount" 2>/dev/null || fusermount -uz "$T/mount"
}

# Succeeds if nothing is in sessions/ but what belongs there; with arguments, also these.
only() {
    [ "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 ! -name '.sessions.*' ! -name '.waiting*' \
        ! -name '.came-from*' ! -name .wall-probe ! -name '.turns' ! -name '.limits' -printf '%f\n' | sort)" = \
        "$(printf '%s\n' "$@" | sort | sed '/^$/d')" ]
}

@test "sessions are made, started, stopped, archived, restored and removed on FUSE" {
    new_session -t pair -n one
    ok send one all hello
    ok stop one
    ok start one
    [ "$(field one .status)" = active ]
    fails 4 rm one
    mas stop one
    ok archive one -o "$T/mount/one.tar.zst"
    ok rm one
    only ''
    ok restore "$T/mount/one.tar.zst"
    only "$ID"
    mas doctor
    [ "$output" = 'everything is in order' ]
    ok archive one -o "$T/mount/two.tar.zst" --rm
    only ''
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "a running session is removed by rm -f, and stopped ones by clean, on FUSE" {
    new_session -t solo -n one
    ok rm -f one
    only ''
    for name in two three four; do "$MAS" new -q -t solo -n "$name" --no-start >/dev/null; done
    ok clean --keep 0
    only ''
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "a session with a project is removed on FUSE" {
    mkdir "$T/project"
    (cd "$T/project" && git init -q && echo one >a && git add a &&
        git config user.name a && git config user.email a@b && git commit -qm one)
    new_session -t solo -n one --project "$T/project"
    ok rm -f one
    only ''
}

@test "a file that another process holds open does not keep a session on FUSE" {
    new_session -t solo -n one --no-start
    mkdir "$ROOT/sessions/$ID/unit/x"
    exec 8>"$ROOT/sessions/$ID/unit/x/held"
    ok rm one
    [ ! -e "$ROOT/sessions/$ID" ]
    exec 8>&-
    only ''
}

@test "a new session that fails leaves nothing on FUSE" {
    mas new -t solo --agent missing
    [ "$status" -ne 0 ]
    only ''
    mas doctor
    [ "$output" = 'everything is in order' ]
}
