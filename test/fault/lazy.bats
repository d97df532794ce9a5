# kill -9 at every system call of what makes agents' directories late: `mas new` with [workspace]
# lazy = yes, and the host of an agent that starts; and errors of the calls of the host.
# shellcheck shell=bash
#
# After each, the template's state is what the agent gets in the end, whole, and no half-made
# directory, snapshot or hold is left.

load ../helper
# shellcheck source=test/fault/lib.bash
. "$BATS_TEST_DIRNAME/lib.bash"

@test "new of a lazy session killed at any system call leaves a whole session or nothing" {
    side_by_side enumerate_kills new-lazy
}

setup_more() {
    printf '[workspace]\nlazy = yes\n[preset ends]\ncommand = true\n' >>"$ROOT/mas.ini"
    UNIT=$ROOT/templates/solo/unit/solo
    mkdir "$UNIT/d"
    echo x >"$UNIT/d/file"
    chmod 555 "$UNIT/d"
    WHOLE=$(look "$UNIT")
    new_session -t solo --no-start --agent ends
    DIR=$ROOT/sessions/$ID
    cp -a "$DIR" "$ROOT/sessions/.snapshots" "$T/" # as they were
}

look() { (cd "$1" && find . -mindepth 1 -printf '%P %m %s %l %T@\n' | sort); }

# host [STRACE OPTION...]: runs the host of the agent on a terminal of its own, under strace if there
# are options; its words are in $T/screen. Ends with it.
host() {
    local under=''
    if (($#)); then under="strace -o '$T/trace' $*"; fi
    MAS_SESSION_ID=$ID setsid -w script -qec "exec $under '$MAS' host $ID solo" "$T/screen" >"$T/script" 2>&1 \
        <> <(:) 3>&-
}

# Waits until the agent has ended, or could not be started, and then ends its host.
end_host() {
    eventually grep -qsE 'agent solo (exited|could not)' "$T/screen"
    eventually test -s "$DIR/run/solo.lock"
    kill -TERM "$(awk '{ print $2 }' "$DIR/run/solo.lock")"
}

# Brings the workspace and the snapshot back to what they were before the host.
reset_unit() {
    chmod -R u+w "$DIR" "$ROOT/sessions/.snapshots" 2>/dev/null
    rm -rf "$DIR" "$ROOT/sessions/.snapshots"
    cp -a "$T/$ID" "$ROOT/sessions/"
    cp -a "$T/.snapshots" "$ROOT/sessions/"
    ln -f "$ROOT/sessions/.snapshots"/*/name "$DIR/.snapshot"
    rm -f "$T/screen"
}

# Sets POINTS to lines "<name> <N> <call>", of the calls with which the host makes the directory.
find_host_points() {
    reset_unit
    end_host &
    host -y -s 64
    wait
    [ "$(look "$DIR/unit/solo")" = "$WHOLE" ]
    awk '/^[a-z_0-9]+\(/ { name = substr($0, 1, index($0, "(") - 1); n[name]++
            if (/"\.snapshot"/) go = 1
            if (go && name != "clone3" && name != "futex") print name, n[name], $0
            if (/^fchdir/) exit }' "$T/trace" >"$T/points"
    mapfile -t POINTS <"$T/points"
    ((${#POINTS[@]} > 60))
}

# What must hold after a fault: the directory is not there, or whole, and the next host makes it.
check_unit() {
    [ ! -e "$DIR/unit/solo" ] || [ "$(look "$DIR/unit/solo")" = "$WHOLE" ] || return
    [ ! -e "$DIR/unit/solo" ] || [ "$1" = made ] || return
    rm -f "$T/screen"
    end_host &
    host
    wait
    [ "$(look "$DIR/unit/solo")" = "$WHOLE" ] || return
    "$MAS" doctor --fix >/dev/null || return
    [ "$("$MAS" doctor)" = 'everything is in order' ] || return
    [ ! -e "$ROOT/sessions/.snapshots" ] && [ ! -e "$DIR/.snapshot" ] && [ ! -e "$DIR/.new-solo" ]
}

@test "a host killed at any system call of the making leaves a whole directory or none" {
    local name n call
    find_host_points
    for point in "${POINTS[@]}"; do
        read -r name n call <<<"$point"
        reset_unit
        host -e "trace=$name" -e "inject=$name:signal=SIGKILL:when=$n" || true
        check_unit made || { echo "killed at $name $n $call"; ls -lAR "$DIR" "$ROOT/sessions/.snapshots"; return 1; }
    done
}

@test "a host whose calls fail says so, and the next start makes the directory" {
    local name n call error
    find_host_points
    for point in "${POINTS[@]}"; do
        read -r name n call <<<"$point"
        for error in $(errors_of "$point"); do
            reset_unit
            end_host &
            host -e "trace=$name" -e "inject=$name:error=$error:when=$n"
            wait
            check_unit made || { echo "$error at $name $n $call"; cat "$T/screen"; ls -lAR "$DIR" "$ROOT/sessions/.snapshots"; return 1; }
            [ "${TEST_FAULT-}" = full ] || break
        done
    done
}
