#!/usr/bin/env bats
# Where a team cannot come up, mas says why and leaves nothing behind.
load ../helper
load tmux

@test "a window too small for its agents is refused" {
    MAS_TMUX_SIZE=20x4 new_is_refused
    [[ $stderr == *'20 columns and 4 rows has no room'*'size'* ]]
}

@test "without tmux new says so and makes nothing" {
    mkdir "$T/bin"
    local disk
    make_index
    disk=$(snapshot)
    run --separate-stderr env PATH="$T/bin" "$MAS" new
    [ "$status" -eq 6 ]
    [[ $stderr == "mas: cannot run 'tmux': there is no such program in PATH"*'3.3'* ]]
    [ "$(snapshot)" = "$disk" ]
    # a workspace alone needs no tmux
    run --separate-stderr env PATH="$T/bin" "$MAS" new -q --no-start
    [ "$status" -eq 0 ]
    [ -d "$ROOT/sessions/$output" ]
}

# A tmux in PATH that says it is $1 and can do nothing
fake_tmux() {
    mkdir "$T/bin"
    cat >"$T/bin/tmux" <<EOS
#!/bin/sh
case \$1 in -V) echo 'tmux $1' && exit ;; esac
echo 'unknown command' >&2
exit 1
EOS
    chmod +x "$T/bin/tmux"
    export PATH=$T/bin:$PATH
}

@test "a tmux too old is refused, and told which is needed" {
    fake_tmux 3.2a
    new_is_refused
    [[ $stderr == *'tmux 3.2a is too old'*'3.3'* ]]
}

@test "a tmux of the last century is refused too" {
    fake_tmux 1.8
    new_is_refused -t solo
    [[ $stderr == *'tmux 1.8 is too old'* ]]
}

@test "a tmux that fails is told with its own words" {
    fake_tmux 3.4
    new_is_refused -t solo
    [[ $stderr == *'unknown command'* ]]
}

@test "a server with few descriptors left is not asked for a team" {
    bash -c "ulimit -n 40 && exec tmux -S '$SOCK' -f /dev/null new-session -d -s own 'exec sleep 1000'" 3>&-
    new_is_refused
    [[ $stderr == *"cannot start 13 agents: the tmux server on '$SOCK' has "*' of 40 descriptors in use'*'per-session'* ]]
    # a server of its own has them
    MAS_TMUX_SERVER=per-session ok new -t solo -q
}

@test "a limit of descriptors too low for a new server is refused" {
    local disk
    make_index
    disk=$(snapshot)
    run --separate-stderr bash -c "ulimit -n 30 && exec '$MAS' new"
    [ "$status" -eq 6 ]
    [[ $stderr == *'cannot start 13 agents'*descriptors* ]]
    [ "$(snapshot)" = "$disk" ]
}

@test "what is no socket is no server" {
    echo mine >"$SOCK"
    local disk
    make_index
    disk=$(snapshot)
    fails 6 new -t solo
    [ "$(snapshot)" = "$disk" ]
    [ "$(cat "$SOCK")" = mine ]
}
