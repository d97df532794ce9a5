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
case "\$*" in *OOMPolicy*)
    [ ! -e "$T/old" ] || { echo 'Unknown assignment: OOMPolicy=continue' >&2; exit 1; }
    [ ! -e "$T/old-manager" ] || { echo 'Failed to start transient scope unit: Cannot set property OOMPolicy, or unknown property.' >&2; exit 1; } ;;
esac
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
    grep -q -- '--user --scope .*--property=OOMPolicy=continue -- .*tmux .*-S '"$SOCK" "$T/scope.log"
    [ "$("$MAS" doctor)" = 'everything is in order' ]
}

@test "where systemd knows no OOMPolicy of scopes, the server gets one without it, and doctor says so" {
    manager
    local how
    for how in old old-manager; do
        touch "$T/$how"
        : >"$T/scope.log"
        new_session -t solo
        [ "$(field "$ID" .status)" = active ]
        [ "$(wc -l <"$T/scope.log")" -eq 2 ]
        grep -q -- '--scope --quiet --collect -- .*tmux .*-S '"$SOCK" "$T/scope.log"
        ok doctor
        [[ $output == *note*"no scope with OOMPolicy=continue"*OOMPolicy* ]]
        "$MAS" rm -q -f "$ID"
        tm kill-server 2>/dev/null || true
        rm "$T/$how"
    done
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
    [ "$(wc -l <"$T/scope.log")" -eq 2 ]
}

@test "without a user manager nothing is asked of systemd" {
    export XDG_RUNTIME_DIR=$T/run
    new_session -t solo
    [ ! -e "$T/scope.log" ]
}
