#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# A wall is put up in many steps by several processes. Whichever is killed at whichever step, no
# process, mount or directory of it stays, and the next start works.
load ../helper
load lib

# The steps of bubblewrap and mas-wall, as calls; strace kills who makes the Nth of them.
STEPS=(clone clone3 unshare mount umount2 pivot_root chroot symlink mkdir openat setsid ioctl prctl capset
    landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp close_range execve wait4)

setup_last() {
    need_wall
    mkdir "$T/shared" "$T/bin"
    preset walled "sh -c 'echo \$\$ >$T/shared/ran; exec sleep $MARK'" 'wall.level = require' "wall.write = $T/shared"
    # bubblewrap under strace, but not where mas only looks whether it works
    cat >"$T/bin/bwrap" <<SH
#!/bin/sh
[ "\$1" = --args ] && [ -s "$T/inject" ] || exec $(command -v bwrap) "\$@"
exec strace -D -f -o "$T/trace" \$(cat "$T/inject") $(command -v bwrap) "\$@"
SH
    chmod +x "$T/bin/bwrap"
    export PATH=$T/bin:$PATH
}

# How many calls of each kind a start makes, most by one process: prints "CALL COUNT".
count_calls() {
    echo -qq >"$T/inject"
    rm "$T/shared/ran"
    "$MAS" restart -q "$ID" solo
    eventually test -s "$T/shared/ran"
    awk '{ call = $2; sub(/\(.*/, "", call); n = ++seen[$1 " " call]; if (n > most[call]) most[call] = n }
        END { for (call in most) print call, most[call] }' "$T/trace"
}

# points CALL COUNT: which of them are killed at: all, or the first, the middle and the last.
points() {
    local count=$2
    [ "${TEST_FAULT-}" = full ] || { printf '%s\n' 1 $(((count + 1) / 2)) "$count" | sort -nu; return; }
    seq "$count"
}

# Succeeds if nothing of the session runs but its host and what that needs.
# shellcheck disable=SC2317 # called by eventually
quiet() {
    local process
    while IFS= read -r process; do
        case $(2>/dev/null tr '\0' ' ' <"${process%/environ}/cmdline") in
            '' | *'mas host '*) ;;
            *) echo "$process: $(tr '\0' ' ' <"${process%/environ}/cmdline" 2>/dev/null | head -c 200)" >&2; return 1 ;;
        esac
    done < <(grep -lsz "^MAS_SESSION_ID=$ID$" /proc/[0-9]*/environ)
}

@test "bubblewrap and mas-wall are killed at each step" {
    local call count n mounts tried=0
    new_session -t solo --agent walled
    find_agent
    eventually test -s "$T/shared/ran"
    mounts=$(mounts)
    count_calls >"$T/calls"
    entries=$(ls -A "$DIR" "$DIR/unit/solo")
    while read -r call count; do
        [[ " ${STEPS[*]} " == *" $call "* ]] || continue
        for n in $(points "$call" "$count"); do
            echo "-qq -e trace=$call -e inject=$call:signal=KILL:when=$n" >"$T/inject"
            rm -f "$T/shared/ran"
            "$MAS" restart -q "$ID" solo >"$T/out" 2>&1 || true
            tried=$((tried + 1))
            [ -s "$T/shared/ran" ] || eventually quiet || { echo "$call $n"; return 1; }
            [ "$(mounts)" = "$mounts" ]
        done
    done <"$T/calls"
    [ "$tried" -gt 20 ]
    : >"$T/inject"
    "$MAS" restart -q "$ID" solo
    eventually marked_are 1
    "$MAS" stop -q "$ID"
    quiet && marked_are 0
    [ "$(ls -A "$DIR" "$DIR/unit/solo")" = "$entries" ]
}
