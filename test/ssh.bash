# Other machines for a test: each a directory with a home, a root and a tmux server of its own, and an
# sshd that ProxyCommand starts for each connection, so that no port is needed. Load it after helper.
# shellcheck shell=bash
#
#   make_machines NAME...   makes them, writes [host NAME] of each into mas.ini and puts first on PATH an
#                           ssh that knows only them
#   there NAME COMMAND...   runs a command as a verb of mas there finds itself
#   acts_as NAME TEXT      instead of mas, that machine runs this script, and seals its output as mas does
#   close_connections       ends the connections that mas has left; for teardown_more
#
# ssh asks the system for the user's home, hence `-F`; sshd sets the environment of each machine.

need_sshd() {
    [ -x /usr/sbin/sshd ] || skip 'sshd is missing (openssh-server)'
    [ "$EUID" -ne 0 ] || mkdir -p /run/sshd # a service of the system makes it, where one runs
}

# Prints the environment of a machine as NAME=value words without blanks.
machine_env() {
    local at=$T/$1
    echo "HOME=$at/home XDG_CONFIG_HOME=$at/home/.config XDG_DATA_HOME=$at/home/.local/share" \
        "XDG_STATE_HOME=$at/home/.local/state XDG_CACHE_HOME=$at/home/.cache" \
        "XDG_RUNTIME_DIR=$at/runtime MAS_ROOT=$at/root MAS_TMUX_SOCKET=$at/tmux TMUX_TMPDIR=$at" \
        "LC_ALL=C.UTF-8 SHELL=/bin/sh PATH=$PATH"
}

there() {
    local name=$1
    shift
    # shellcheck disable=SC2046 # words
    (cd "$T/$name/home" && env $(machine_env "$name") "$@")
}

make_machine() {
    local name=$1 at=$T/$1
    mkdir -p "$at/home" "$at/runtime"
    chmod 700 "$at/runtime"
    ssh-keygen -q -t ed25519 -N '' -f "$at/host_key"
    cat >"$at/sshd_config" <<END
HostKey $at/host_key
AuthorizedKeysFile $T/ssh/id.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PidFile none
PrintMotd no
PrintLastLog no
SetEnv $(machine_env "$name")
END
    echo "$name $(cat "$at/host_key.pub")" >>"$T/ssh/known_hosts"
    cat >>"$T/ssh/config" <<END
Host $name
    HostKeyAlias $name
    ProxyCommand /usr/sbin/sshd -i -f $at/sshd_config
END
    printf '[host %s]\nvia = ssh:%s\nmas = %s\nroot = %s\n' "$name" "$name" "$MAS" "$at/root" >>"$ROOT/mas.ini"
    there "$name" "$MAS" init -q
}

make_machines() {
    local name
    need_sshd
    mkdir -p "$T/ssh" "$T/bin" "$T/runtime"
    chmod 700 "$T/runtime"
    export XDG_RUNTIME_DIR=$T/runtime
    ssh-keygen -q -t ed25519 -N '' -f "$T/ssh/id"
    cat >"$T/ssh/config" <<END
IdentityFile $T/ssh/id
IdentitiesOnly yes
UserKnownHostsFile $T/ssh/known_hosts
GlobalKnownHostsFile none
END
    printf '#!/bin/sh\nexec /usr/bin/ssh -F %s "$@"\n' "$T/ssh/config" >"$T/bin/ssh"
    chmod +x "$T/bin/ssh"
    export PATH=$T/bin:$PATH
    for name in "$@"; do make_machine "$name"; done
}

close_connections() {
    local socket
    for socket in "$T"/runtime/mas/*; do
        [ ! -S "$socket" ] || /usr/bin/ssh -o ControlPath="$socket" -O exit any 2>/dev/null || true
    done
}

acts_as() {
    printf '#!/bin/bash\n%s\n' "$2" >"$T/$1/tool.does"
    cp "$BATS_TEST_DIRNAME/../sealed.sh" "$T/$1/tool"
    chmod +x "$T/$1/tool" "$T/$1/tool.does"
    sed -i "/^\[host $1\]/,/^mas = /s|^mas = .*|mas = $T/$1/tool|" "$ROOT/mas.ini"
}
