#!/usr/bin/env bats
# A new tmux server gets a systemd scope of its own, where there is a user manager. None runs in a
# container, so `systemd-run` is played by a script that records how it was called and becomes what
# it is to run; the socket of the manager is a real one.
load ../helper

setup_more() {
    mkdir -p "$T/bin" "$T/run/systemd"
    cat >"$T/bin/systemd-run" <<END
#!/bin/sh
echo "\$@" >>"$T/scope.log"
[ ! -e "$T/no-bus" ] || { echo 'Failed to connect to bus: No such file' >&2; exit 1; }
while [ "\$1" != -- ]; do shift; done
shift
exec "\$@"
END
    chmod +x "$T/bin/systemd-run"
    export PATH=$T/bin:$PATH
}

manager() {
    # any listening stream socket looks like a manager; this one belongs to a tmux server
    tmux -S "$T/run/systemd/private" -f /dev/null new-session -d 3>&-
    export XDG_RUNTIME_DIR=$T/run
}

@test "a server that mas starts is put into a scope of its own" {
    manager
    new_session -t solo
    [ "$(field "$ID" .status)" = active ]
    [ "$(wc -l <"$T/scope.log")" -eq 1 ]
    grep -q -- '--user --scope .*-- .*tmux .*-S '"$SOCK" "$T/scope.log"
}

@test "a server that runs already is used as it is" {
    manager
    tm -f /dev/null new-session -d -s other 3>&-
    new_session -t solo
    [ ! -e "$T/scope.log" ]
}

@test "without a scope to be had the team starts all the same" {
    manager
    touch "$T/no-bus"
    new_session -t solo
    [ "$(field "$ID" .status)" = active ]
    [ "$(wc -l <"$T/scope.log")" -eq 1 ]
}

@test "without a user manager nothing is asked of systemd" {
    export XDG_RUNTIME_DIR=$T/run
    new_session -t solo
    [ ! -e "$T/scope.log" ]
}
