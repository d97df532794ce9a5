# Injects faults into the host of an agent whose directory is created at its first start. Sourced like
# lib.bash, whose boxes it uses.
#
#   enumerate_host_kills     kills the host before each call that creates the directory, and checks
#   enumerate_host_errors    makes each of these calls fail, one by one, and checks
# shellcheck shell=bash

# shellcheck source=test/fault/lib.bash
. "${BASH_SOURCE[0]%/*}/lib.bash"
FAULT_LIB=${BASH_SOURCE[0]}

# Creates a stopped lazy session, and saves it and its snapshot before any host runs.
make_late() {
    local unit=$ROOT/templates/three/unit/a

    printf '\n[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"
    mkdir "$unit/d"
    echo x >"$unit/d/file"
    chmod 555 "$unit/d"
    UNIT=$(look_at_unit "$unit")
    sed -i 's/^command = .*/command = true/' "$ROOT/templates/three/template.ini"
    expect new -q -t three --no-start --id "$TARGET"
    DIR=$SESSIONS/$TARGET
    cp -a "$DIR" "$T/workspace"
    cp -a "$SESSIONS/.snapshots" "$T/snapshots"
}

look_at_unit() { (cd "$1" && find . -mindepth 1 -printf '%P %m %s %l %T@\n' | sort); }

# Restores workspace and snapshot.
reset_late() {
    rm -rf "$DIR" "$SESSIONS/.snapshots"
    cp -a "$T/workspace" "$DIR"
    cp -a "$T/snapshots" "$SESSIONS/.snapshots"
    ln -f "$SESSIONS"/.snapshots/*/name "$DIR/.snapshot"
}

# run_host [STRACE OPTION...]: runs the host on its own terminal until its agent has ended or could not
# be started, or until the host is killed. Its output is in $T/screen.
run_host() {
    local under=()

    if (($#)); then under=(strace -o "$T/trace" "$@"); fi
    MAS_SESSION_ID=$TARGET python3 -ES "$FAULT_DIR/on_pty.py" "$DIR/run/a.lock" "${under[@]}" \
        "$MAS" host "$TARGET" a >"$T/screen" 2>&1 || bad "$(<"$T/screen")"
}

# Sets POINTS to lines "<name> <N> <call>": the calls by which the host creates the directory.
find_host_points() {
    reset_late
    run_host -y -s 64
    [[ $(look_at_unit "$DIR/unit/a") == "$UNIT" ]] || bad "a clean run makes no whole directory"
    awk '/^[a-z_0-9]+\(/ { name = substr($0, 1, index($0, "(") - 1); n[name]++
            if (/"\.snapshot"/) go = 1
            if (go) print name, n[name], $0
            if (go && /^fchdir/ && /unit\/a>/) exit }' "$T/trace" >"$T/points"
    mapfile -t POINTS <"$T/points"
    ((${#POINTS[@]} > 50)) || bad "only ${#POINTS[@]} system calls were seen"
}

# Checks after a fault: the directory is missing or complete, the next host creates it, and doctor finds
# no leftovers.
check_late() {
    local text

    [[ ! -e $DIR/unit/a || $(look_at_unit "$DIR/unit/a") == "$UNIT" ]] ||
        bad "there is half a directory: $(look_at_unit "$DIR/unit/a")"
    run_host
    [[ $(look_at_unit "$DIR/unit/a" 2>&1) == "$UNIT" ]] ||
        bad "the next host does not make it: $(<"$T/screen")"
    text=$("$MAS" doctor --fix 2>&1) || bad "doctor --fix exits with $?: $text"
    text=$("$MAS" doctor 2>&1) || bad "doctor after --fix exits with $?: $text"
    [[ ! -e $SESSIONS/.snapshots && ! -e $DIR/.snapshot && ! -e $DIR/.new-a ]] ||
        bad "left: $(ls -A "$SESSIONS" "$DIR")"
}

# A call that only reads leaves the same state on disk as there is before the next call that writes.
changes_something() {
    [[ ${TEST_FAULT-} == full || $1 == *O_CREAT* ||
        $1 =~ ^(p?write|copy_file|f?sync|rename|mkdir|link|unlink|fchmod|utime|ftruncate|fchdir) ]]
}

enumerate_host_kills() {
    local shard=$1 of=$2 point name n number=0

    make_late
    find_host_points
    for point in "${POINTS[@]}"; do
        changes_something "$point" || continue
        ((number++ % of == shard)) || continue
        read -r name n _ <<<"$point"
        POINT="host killed at: $point"
        reset_late
        run_host -e "trace=$name" -e "inject=$name:signal=SIGKILL:when=$n"
        check_late
    done
    echo "host: $number kills"
}

enumerate_host_errors() {
    local shard=$1 of=$2 point name n number=0 error

    make_late
    find_host_points
    for point in "${POINTS[@]}"; do
        read -r name n _ <<<"$point"
        for error in $(errors_of "$point"); do
            ((number++ % of == shard)) || continue
            POINT="host with $error at: $point"
            reset_late
            run_host -e "trace=$name" -e "inject=$name:error=$error:when=$n"
            check_late
            [[ ${TEST_FAULT-} == full ]] || break
        done
    done
    echo "host: $number errors"
}
