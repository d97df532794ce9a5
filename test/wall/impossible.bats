#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# An agent whose wall is required starts with all of it or not at all. Each wall is made impossible in
# turn: no agent runs, nothing is left, and mas says why and what helps.
load ../helper
load lib

setup_last() {
    need_wall
    DENY=${MAS%/*}/test/tools/deny
    mkdir "$T/shared"
    # a shell: what it says on the way is for its person
    preset walled "sh -c 'touch $T/shared/ran; exec sleep $MARK'" "wall.write = $T/shared"
    before=$(snapshot)
    mounts=$(mounts)
}

# refused REASON CURE WORD...: `mas new` runs behind the words, and no agent does.
refused() {
    local reason=$1 cure=$2
    shift 2
    run --separate-stderr "$@" "$MAS" new -q -t solo --agent walled --wall=require
    [ "$status" -ne 0 ] || { echo "it started" >&2; return 1; }
    [[ $stderr == *"$reason"* ]] || { echo "$stderr" >&2; return 1; }
    [[ ${stderr#*$'\n'} == *"$cure"* ]] || { echo "$stderr" >&2; return 1; }
    [ "$(wc -l <<<"$stderr")" -eq 2 ] || { echo "$stderr" >&2; return 1; }
    nothing_left
}

nothing_left() {
    [ ! -e "$T/shared/ran" ] || { echo 'the agent ran' >&2; return 1; }
    [ "$(snapshot)" = "$before" ] || { diff <(echo "$before") <(snapshot) >&2; return 1; }
    [ "$(mounts)" = "$mounts" ] || return 1
    none_left
}

# shellcheck disable=SC2317 # called by eventually
no_process() {
    local pid
    while IFS= read -r pid; do
        case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) in
            *'mas host'* | *bwrap* | *mas-wall* | *"$MARK"*)
                echo "process $pid is left: $(tr '\0' ' ' <"/proc/$pid/cmdline")" >"$T/left"
                return 1
                ;;
        esac
    done < <(grep -lsz "^MAS_ROOT=$ROOT$" /proc/[0-9]*/environ | cut -d/ -f3)
}

none_left() { eventually no_process || { cat "$T/left" >&2; return 1; }; }

@test "without bubblewrap" {
    mkdir "$T/bin"
    find /usr/bin /bin /usr/sbin -maxdepth 1 ! -name bwrap -exec ln -sf -t "$T/bin" {} + 2>/dev/null
    PATH=$T/bin refused "there is no program 'bwrap'" 'apt install bubblewrap'
}

@test "with a bubblewrap that is too old" {
    mkdir "$T/bin"
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\necho "bwrap: Unknown option --ro-bind-fd" >&2\nexit 1\n' >"$T/bin/bwrap"
    chmod +x "$T/bin/bwrap"
    PATH=$T/bin:$PATH refused 'bubblewrap does not work here' 'update bubblewrap'
}

@test "with a bubblewrap that hangs" {
    mkdir "$T/bin"
    printf '#!/bin/sh\nexec sleep 0%s\n' "$MARK" >"$T/bin/bwrap"
    chmod +x "$T/bin/bwrap"
    PATH=$T/bin:$PATH refused 'did not end in time' 'bwrap --ro-bind / / true'
}

@test "where programs make no namespaces, as in many containers" {
    "$DENY" namespaces -- true || skip 'there is no seccomp here'
    refused 'bubblewrap does not work here' 'namespaces' "$DENY" namespaces --
}

@test "where user namespaces are switched off" {
    local off=(unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces || exit 77
        exec setpriv --bounding-set -all --inh-caps -all -- "$@"' -)
    "${off[@]}" true 2>/dev/null || skip 'that cannot be done here'
    refused 'bubblewrap does not work here' 'sysctl -w user.max_user_namespaces=' "${off[@]}"
}

@test "without Landlock" {
    "$DENY" landlock -- true || skip 'there is no seccomp here'
    refused 'no Landlock' 'lsm=' "$DENY" landlock --
}

@test "without seccomp" {
    "$DENY" seccomp -- true || skip 'there is no seccomp here'
    refused 'no seccomp' 'CONFIG_SECCOMP_FILTER' "$DENY" seccomp --
}

# hidden COMMAND...: runs it, and all that it starts, where no cgroup can be seen and no systemd be asked.
hidden() {
    # shellcheck disable=SC2016 # for the script
    unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /sys/fs/cgroup && mount -t tmpfs none /run &&
        DBUS_SYSTEM_BUS_ADDRESS=none DBUS_SESSION_BUS_ADDRESS=none exec "$@"' - "$@"
}

@test "without a cgroup, if it has limits" {
    hidden true 2>/dev/null || skip 'there are no mount namespaces here'
    printf '[limits]\nmemory = 100M\n' >>"$ROOT/mas.ini"
    before=$(snapshot)
    refused 'limits.memory: no cgroup of version 2' 'name a cgroup in limits.cgroup' hidden
    sed -i 's/^memory = .*//' "$ROOT/mas.ini"
    before=$(snapshot)
    # also with limits that a person sets, and when it starts again
    run -1 --separate-stderr hidden "$MAS" new -q -t solo --agent walled --wall=require --limit processes=50
    [[ $stderr == *'limits.processes: no cgroup of version 2'*$'\n''name a cgroup in limits.cgroup'* ]]
    nothing_left
    ID=$(hidden "$MAS" new -q -t solo --agent walled --wall=require --limit processes=50 --no-start)
    run -1 --separate-stderr hidden "$MAS" start -q "$ID"
    [[ $stderr == *'limits.processes: no cgroup of version 2'*$'\n''name a cgroup in limits.cgroup'* ]]
    [ ! -e "$T/shared/ran" ]
    "$MAS" rm -qf "$ID"
    [ "$(mounts)" = "$mounts" ]
    none_left
    printf '[limits]\nmemory = 100M\n' >>"$ROOT/mas.ini"
    # a limit on data is none that a program with sanitizers can begin under
    [ -z "${TEST_SAN-}" ] || return 0
    ID=$(hidden "$MAS" new -q -t solo --agent walled --wall=try)
    eventually test -e "$T/shared/ran"
    mas show "$ID"
    [[ $output == *'resources: rlimits'* && $output == *'limits.memory'* ]] || { echo "$output"; false; }
}

@test "an agent whose wall is not required starts, and mas says what does not hold" {
    "$DENY" namespaces landlock seccomp -- true || skip 'there is no seccomp here'
    ID=$("$DENY" namespaces landlock seccomp -- "$MAS" new -q -t solo --agent walled --wall=try)
    eventually test -e "$T/shared/ran"
    mas show "$ID"
    [[ $output == *'bubblewrap does not work here'* ]] || { echo "$output"; false; }
}
