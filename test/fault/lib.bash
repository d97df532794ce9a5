# Injects faults into single system calls of mas, and checks the guarantees after each.
# shellcheck shell=bash
#
# A "point" is one system call of a clean run: its name and N, if it is the Nth call of this name. strace
# counts each name separately, so a list of these pairs contains every call of the run once.
#
#   in_box FUNCTION ARGUMENT...         runs a function of this file in a box: a separate bash with new
#                                       process and mount namespaces and a new root with a tmux server
#   side_by_side FUNCTION ARGUMENT...   the same in several boxes, each with a share of the points
#   enumerate_kills VERB                kills mas before each call of VERB, and checks
#   enumerate_errors VERB               makes each call of VERB fail, one by one, and checks
#
# A VERB is a verb of mas or a variant of it: `rm-f` is `rm -f`, `rm-running` is `rm` of a running
# session, `clean-archive` is `clean --archive`, `new-lazy` is `new` with [workspace] lazy = yes, and the
# suffix `-own` gives the session its own tmux server. `archive-live` is `archive --live` of a
# running session. `migrate` migrates a stopped legacy session, `migrate-running` a running one,
# `migrate-unit` a unit/ without a session. For `archive-helper` and
# `restore-helper` the faults go into the program mas-archive, with all its threads. With FAULT_ACROSS,
# sessions/ is on a separate file system. To test another verb, add its initial state to prepare(), its
# command line to arguments(), its effect to check_done(), and to follow() what must work after a kill.
#
# The box contains two other sessions, one running and one stopped, and for all verbs except `new` the
# session that the verb works on ($TARGET). Each failure is a line in the file $BAD, so that one run shows
# all of them.

FAULT_LIB=${BASH_SOURCE[0]}
FAULT_DIR=${FAULT_LIB%/*}
# shellcheck source=test/place.bash
. "$FAULT_DIR/../place.bash"

# ---- the box

# in_box FUNCTION ARGUMENT...: prints all failures; fails if there are any. /proc shows which processes
# exist, so a separate namespace makes runs reproducible. Its end also ends all processes in it.
in_box() {
    local enter=(unshare --fork --pid --mount --mount-proc --kill-child)

    ((EUID == 0)) || enter+=(--user --map-root-user)
    "${enter[@]}" true 2>/dev/null || enter=()
    # shellcheck disable=SC2016 # expanded by the other bash
    MAS=$MAS "${enter[@]}" bash -c '. "$0"; box "$@"' "$FAULT_LIB" "$@" 3>&- </dev/null
}

# each FUNCTION VERB...: runs the verbs one after the other; those after `full` only in the full run.
each() {
    local function=$1 verb rc=0

    for verb in "${@:2}"; do
        if [[ $verb == full ]]; then
            [[ ${TEST_FAULT-} == full ]] || break
        else
            side_by_side "$function" "$verb" || rc=1
        fi
    done
    return "$rc"
}

# side_by_side FUNCTION ARGUMENT...: FUNCTION receives "SHARD OF" after its arguments.
side_by_side() {
    local of shard pids=() pid rc=0

    of=$(nproc)
    ((of <= 4)) || of=4
    for ((shard = 0; shard < of; shard++)); do
        in_box "$@" "$shard" "$of" &
        pids+=("$!")
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || rc=1
    done
    return "$rc"
}

box() {
    set -u
    trap 'leave_box' EXIT
    make_box
    "$@"
    [[ -z $(left_outside) ]] || bad "mas ran without a root that was named: $(left_outside)"
    [[ -s $BAD ]] || return 0
    echo "$(wc -l <"$BAD") things are wrong; the first:"
    cut -c 1-500 "$BAD" | head -n 40
    return 1
}

# Sets the variables of the library: T, ROOT, SOCK as in helper.bash; SIZE is the number of agents.
make_box() {
    # short, because a socket's path has at most 107 bytes
    T=${TMPDIR:-/tmp}
    ((${#T} < 40)) || T=/tmp
    make_place "$(mktemp -d "$T/mas-fault-XXXXXX")"
    BAD=$T/bad SESSIONS=$T/root/sessions
    LOOKER=${MAS%/*}/test/tools/look
    TEMPLATE=three SIZE=1 TARGET=c0ffee00-0000-4000-8000-000000000000
    if [[ ${TEST_FAULT-} == full ]]; then TEMPLATE=default SIZE=13; fi
    export SHELL=/bin/sh
    # the leak checker does not work under strace
    export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
    : >"$BAD"
    WRONG=0
    exec {NEVER}<> <(:) # nothing ever comes from it
    # short, because a search for a program costs a system call per directory
    PATH=$(dirname "$(command -v tmux)"):/usr/bin:/bin
    make_root
    make_helper
    [[ -z ${FAULT_ACROSS-} ]] || mount -t tmpfs -o mode=755 none "$SESSIONS"
    RUNS=$("$MAS" new -q -t "$TEMPLATE")
    RESTS=$("$MAS" new -q -t "$TEMPLATE" --no-start)
    wait_quiet
    look_at_facts
    WHOLE=${KEPT[$RESTS]} BESIDE=$BESIDE_NOW
}

# The agents of the template ignore the hang-up and only SIGTERM ends them, so mas does not wait after
# the hang-up.
make_root() {
    "$MAS" init -q
    printf '\n[stop]\nhangup = 0s\n' >>"$ROOT/mas.ini"
    cp -R "$FAULT_DIR/three" "$ROOT/templates/three"
    # mas compares all of them with the shipped ones in the same way, so one is enough
    [[ ${TEST_FAULT-} == full ]] || rm -r "$ROOT/templates"/{default,pair}
}

# Creates a mas whose mas-archive runs under strace, with the options in $T/helper-options. With -D,
# mas-archive stays the child of mas and ends with it.
make_helper() {
    mkdir "$T/bin"
    cp "$MAS" "$T/bin/mas"
    cat >"$T/bin/mas-archive" <<END
#!/bin/bash
mapfile -t options <"$T/helper-options"
exec strace -D -f "\${options[@]}" "${MAS%/*}/mas-archive"
END
    chmod +x "$T/bin/mas-archive"
}

can_mount() { mount -t tmpfs -o size=1m none "$T" 2>/dev/null && umount "$T"; }

# Moves the root to a disk of 1 MB. fill_disk N fills it up except for N KB.
make_small_root() {
    mkdir "$T/small"
    mount -t tmpfs -o size=1m none "$T/small" || return
    export MAS_ROOT=$T/small/root
    ROOT=$MAS_ROOT SESSIONS=$MAS_ROOT/sessions
    make_root
    RUNS=$("$MAS" new -q -t three)
    RESTS=$("$MAS" new -q -t three --no-start)
    wait_quiet
}

fill_disk() {
    (($1 == 0)) || head -c "${1}K" /dev/zero >"$T/small/spare"
    cat /dev/zero >"$T/small/fill" 2>/dev/null
    rm -f "$T/small/spare"
}

leave_box() {
    local socket process
    for socket in "$SOCK" "$T"/tmux-*/*; do
        [[ ! -S $socket ]] || tmux -S "$socket" kill-server 2>/dev/null
    done
    # needed without a namespace
    while read -r process; do
        kill -KILL "$process" 2>/dev/null
    done < <(grep -lsazxF "HOME=$HOME" /proc/[0-9]*/environ | cut -d/ -f3)
    umount -l "$T/small" 2>/dev/null # a server may still use it
    rm -rf --one-file-system "$T"
}

# bad TEXT...: records a failure at $POINT.
bad() { printf '%s: %s\n' "${POINT-}" "$*" >>"$BAD"; }

# ---- looking
#
# One program, test/tools/look.c, examines the box and prints facts, one per line, so that a fault costs
# only a few processes. This file judges the facts without further processes.

# look WHAT...: sets $LOOK to the facts.
look() { LOOK=$("$LOOKER" "$@" 2>"$T/busy") || bad "$(<"$T/busy")"; }

# Waits until everything that a killed mas started has ended or settled: no mas runs except hosts, each in
# its pane with a supervisor and an agent, or with an agent that has ended; no tmux except servers, none
# of which has just forked.
wait_quiet() { "$LOOKER" quiet 2>"$T/busy" || bad "$(<"$T/busy")"; }

# Sets $STATE to everything that mas can change, after wait_quiet: names, modes and contents below
# sessions/, tmux sessions and their processes. It omits lock files, whose text is only informative, output
# of agents, and in the index the time, the order, and the times of the files that rows were made from.
look_at_all() {
    look quiet state
    STATE=$LOOK
}

# Collects all facts for the guarantees and sets
#   FOUND[id]      its directory exists               TREE[id]    its contents, for messages
#   KEPT[id]       its constant contents              STATUS[id]  the status in its .session
#   ROW[id]        its status in the index            HELD[name]  a session uses this snapshot
#   LIVE[id]       number of its panes                DEAD[id]    number of its dead panes
#   PROCESSES[id]  it has processes                   AGENTS[id]  number of its running agents
#   SNAPSHOTS      paths below .snapshots/            STRANGE     unknown names
#   BESIDE_NOW     the two other sessions, including the time of each file and the panes of the
#                  running one
look_at_facts() {
    local kind path rest

    declare -gA FOUND=() TREE=() KEPT=() STATUS=() ROW=() HELD=() LIVE=() DEAD=() PROCESSES=() AGENTS=()
    declare -g BESIDE_NOW='' SNAPSHOTS=() STRANGE=()
    look entries panes processes agents
    while read -r kind path rest; do
        case $kind in
            entry) take_entry "$path" "$rest" ;;
            text) take_text "$path" "$rest" ;;
            pane)
                LIVE[$path]=$((${LIVE[$path]-0} + 1))
                [[ $rest != *' 1 '* ]] || DEAD[$path]=$((${DEAD[$path]-0} + 1))
                [[ $path != "$RUNS" ]] || BESIDE_NOW+="$path $rest"$'\n'
                ;;
            process) PROCESSES[$path]=1 ;;
            agents) AGENTS[$path]=$rest ;;
        esac
    done <<<"$LOOK"
}

take_entry() {
    local path=$1 id=${1%%/*} name=${1#*/} type mode size time target

    case $path in
        .sessions.index | .sessions.lock | .sessions.id) return ;;
        .snapshots*)
            SNAPSHOTS+=("$path")
            return
            ;;
        */*) ;;
        *)
            FOUND[$id]=1
            [[ $path == *-*-4*-*-* && $path != .* ]] || STRANGE+=("$path")
            return
            ;;
    esac
    read -r type mode size time target <<<"$2"
    TREE[$id]+="$name $mode $size $target, "
    case $id in
        "$RUNS" | "$RESTS")
            [[ $type != f || $name == .session.lock ]] || BESIDE_NOW+="$path $2"$'\n'
            ;;
    esac
    # omit entries that come and go in a complete workspace, and sizes without meaning
    case $name in
        .session.lock | logs/session.log* | logs/agent-*.log* | run/*) return ;;
        .snapshot) [[ $mode != 400 ]] || return ;;
        .session) size=- ;;
    esac
    [[ $type != d ]] || size=-
    KEPT[$id]+="$name $mode $size $target"$'\n'
}

take_text() {
    local path=$1 id=${1%%/*} line=$2

    case $path in
        .sessions.index)
            [[ $line == '{"sessionId":"'* ]] || return
            id=${line:14:36}
            line=${line#*'"status":"'}
            ROW[$id]=${line%%\"*}
            ;;
        "$RUNS/.session" | "$RESTS/.session")
            BESIDE_NOW+="$path $line"$'\n'
            [[ $line != STATUS=* ]] || STATUS[$id]=${line#STATUS=}
            ;;
        */.session) [[ $line != STATUS=* ]] || STATUS[$id]=${line#STATUS=} ;;
        *-*/.snapshot) HELD[$line]=1 ;;
    esac
}

# has_processes SESSION: succeeds if the session has processes.
has_processes() {
    look processes
    [[ $'\n'$LOOK == *$'\nprocess '"$1"* ]]
}

# count_panes SESSION: sets $panes to the number of its live panes.
count_panes() {
    local id state

    panes=0
    look panes
    while read -r _ id _ state _; do
        [[ $id != "$1" || $state != 0 ]] || panes=$((panes + 1))
    done <<<"$LOOK"
}

# Repairs the box after a failure, so that later points do not report it again.
start_anew() {
    [[ -s $BAD ]] && (($(wc -l <"$BAD") > WRONG)) || return 0
    WRONG=$(wc -l <"$BAD")
    "$MAS" stop "$RUNS" "$RESTS" >/dev/null 2>&1
    "$MAS" start "$RUNS" >/dev/null 2>&1
    rm -f "$SESSIONS"/*/.*.broken-* "$SESSIONS"/*/*.broken-*
    wait_quiet
    look_at_facts
    BESIDE=$BESIDE_NOW
}

# ---- the guarantees

# Checks all guarantees; afterwards the variables of look_at_facts() are set.
# finds_nothing [--fix]: doctor is content. Only a fill that was killed leaves directories of agents missing.
finds_nothing() {
    local text rc

    text=$("$MAS" doctor "$@" 2>&1)
    rc=$?
    ((rc == 0)) || { [[ $POINT == fill* ]] &&
        ! grep '^by hand' <<<"$text" | grep -qv "its directory '.*' is missing"; } ||
        bad "doctor $* exits with $rc: $text"
}

check_promises() {
    local text rest id name

    text=$("$MAS" list --json 2>&1) || bad "list exits with $?: $text"
    [[ $text != *'"status":"error"'* || $POINT == mark* ]] || bad "list shows an error: $text"
    rest=$text
    while [[ $rest == *'"sessionId":"'* ]]; do
        rest=${rest#*'"sessionId":"'}
        id=${rest%%\"*}
        [[ -d $SESSIONS/$id ]] || bad "list shows $id, which has no workspace"
    done
    wait_quiet
    finds_nothing --fix
    finds_nothing

    look_at_facts
    for name in "${STRANGE[@]}"; do bad "left in sessions/: $name"; done
    for id in "${!DEAD[@]}"; do bad "${DEAD[$id]} panes of $id are dead"; done
    check_index
    check_sessions
    check_snapshots
    [[ $BESIDE_NOW == "$BESIDE" ]] || bad 'the sessions beside it were touched'
}

# The index has a row for each workspace and no others, and each row is correct.
check_index() {
    local id

    for id in "${!ROW[@]}"; do
        [[ -v FOUND[$id] ]] || bad "the index has a row for $id, which has no workspace"
        [[ ${STATUS[$id]-} == "${ROW[$id]}" ]] ||
            bad "the index has another status for $id: ${ROW[$id]}"
    done
    for id in "${!FOUND[@]}"; do
        [[ -v ROW[$id] ]] || bad "the index has no row for $id"
    done
}

# agents_run SESSION: succeeds if all its agents run according to their hosts, which may still be busy;
# sets $count to their number.
agents_run() {
    local end=$((SECONDS + 5)) lines
    while ((SECONDS < end)); do
        look agents
        lines=$'\n'$LOOK$'\n' count=0
        if [[ $lines =~ $'\n'"agents $1 "([0-9]+) ]]; then count=${BASH_REMATCH[1]}; fi
        ((count < SIZE)) || break
    done
    ((count == SIZE))
}

# Each workspace is complete, and each tmux session and process belongs to exactly one.
check_sessions() {
    local id count whole

    for id in "${!FOUND[@]}"; do
        [[ $POINT != migrate* || $id == "$RUNS" || $id == "$RESTS" ]] || continue
        whole=$WHOLE
        # only agents that have started have a directory
        if [[ -e $SESSIONS/$id/.snapshot ]]; then whole=$(grep -v '^unit/' <<<"${WHOLE%$'\n'}")$'\n'; fi
        [[ ${KEPT[$id]-} == "$whole" || $id == "$TARGET" && $POINT == fill* ]] ||
            bad "the workspace $id is not complete: ${TREE[$id]-}"
        [[ ${TREE[$id]-} != *run/env* ]] || bad "run/env of $id is left over"
        [[ -v LIVE[$id] || ${TREE[$id]-} != *run/* ]] || bad "run/ of $id is not empty"
    done
    for id in "${!LIVE[@]}"; do
        [[ -v FOUND[$id] ]] || bad "tmux has $id, which has no workspace"
        ((LIVE[$id] == SIZE)) || bad "tmux has ${LIVE[$id]} instead of $SIZE panes of $id"
        # an incomplete stop may have ended some agents
        [[ $id == "$TARGET" && $POINT =~ ^(stop|rm-f|migrate) || ${AGENTS[$id]-0} == "$SIZE" ]] ||
            agents_run "$id" || bad "of $id $count instead of $SIZE agents run"
    done
    for id in "${!PROCESSES[@]}"; do
        [[ -v LIVE[$id] ]] || bad "processes of $id are left, which does not run"
    done
}

# Each snapshot below .snapshots/ is used by a session and complete.
check_snapshots() {
    local path name

    for path in "${SNAPSHOTS[@]}"; do
        name=${path#.snapshots/}
        [[ $path != */* || -v HELD[${name%%/*}] ]] || bad "no session holds the snapshot $path"
        [[ $path != .snapshots/*/unit ]] || diff -r "$ROOT/templates/three/unit" "$SESSIONS/$path" ||
            bad "the snapshot $path is not complete"
    done
    for name in "${!HELD[@]}"; do
        [[ " ${SNAPSHOTS[*]-} " == *" .snapshots/$name "* ]] || bad "a session holds $name, which is missing"
    done
    ((${#HELD[@]} || ${#SNAPSHOTS[@]} == 0)) || bad 'there is a directory for snapshots'
}

# ---- the verbs

# Prints the arguments of `mas` for a verb.
arguments() {
    case $1 in
        template-copy) echo template copy "$TEMPLATE" copied ;;
        new*) echo "new -q -t $TEMPLATE" ;;
        rm-f*) echo "rm -f $TARGET" ;;
        clean-archive) echo "clean --archive --older-than 1d" ;;
        clean*) echo "clean --older-than 1d --status stopped,error,crashed" ;;
        doctor) echo doctor --fix ;;
        list) echo list --all --json ;;
        archive-live*) echo "archive -q --live $TARGET" ;;
        archive*) echo "archive -q $TARGET" ;;
        restore*) echo "restore -q $T/good.tar.zst" ;;
        fill) echo "library fill $SESSIONS/$TARGET" ;;
        mark) echo "library mark $TARGET why" ;;
        migrate*) echo migrate ;;
        *) echo "${1%%-*} $TARGET" ;;
    esac
}

# Checks that a copied template is complete.
check_copied() {
    diff -r "$ROOT/templates/$TEMPLATE" "$ROOT/templates/copied" >/dev/null || bad 'half a template'
}

# expect WORD...: runs mas, which must succeed.
expect() {
    local text
    text=$("$MAS" "$@" 2>&1) || bad "mas $* exits with $?: $text"
}

# Brings the box from any state to the initial state of a verb.
prepare() {
    local id path

    if [[ $1 == *-own ]]; then export MAS_TMUX_SERVER=per-session; fi
    if [[ $1 == migrate* ]]; then
        prepare_migrate "$1"
        return
    fi
    if [[ $1 == *-lazy ]] && ! grep -q '^lazy = yes' "$ROOT/mas.ini"; then
        printf '\n[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"
    fi
    for path in "$SESSIONS"/*-*-4*; do
        id=${path##*/}
        [[ $id == "$RUNS" || $id == "$RESTS" || ($id == "$TARGET" && $1 != new*) ]] ||
            expect rm -f "$id"
    done
    [[ $1 == new* || -d $SESSIONS/$TARGET ]] ||
        expect new -q -t "$TEMPLATE" --no-start --id "$TARGET"
    case $1 in
        archive* | restore*) prepare_archive "$1" ;;
        template-copy) rm -rf "$ROOT/templates/copied" ;;
        stop* | rm-f* | rm-running*) expect start "$TARGET" ;;
        start* | rm* | mark) expect stop "$TARGET" ;;
        fill) rm -rf "$SESSIONS/$TARGET"/unit/* "$SESSIONS/$TARGET/workflows" ;;
        clean*)
            rm -rf "$ROOT/archive"
            sed -i -E 's/^(LAST_ACTIVITY|STOPPED_AT)=.*/\1=2020-01-01T00:00:00Z/' \
                "$SESSIONS/$TARGET/.session"
            ;;
    esac
    wait_quiet
}

# Prepares a stopped session without an archive, or its archive without the session.
prepare_archive() {
    rm -rf "$ROOT/archive"
    mkdir -m 700 "$ROOT/archive"
    if [[ ! -v PACKED ]]; then
        expect archive -q "$TARGET" -o "$T/good.tar.zst"
        look_at_packed
        PACKED=$LOOK
    fi
    [[ $1 == archive* ]] || expect rm -f "$TARGET"
    [[ $1 != archive-live* ]] || expect start "$TARGET"
}

# Sets $LOOK to the part of the workspace that an archive restores unchanged.
look_at_packed() { look tree "$SESSIONS/$TARGET"/{unit,workflows,config.json}; }

# Checks that every file with the name of an archive is complete.
check_archives() {
    local file

    for file in "$ROOT/archive"/*.tar.zst; do
        [[ -e $file ]] || continue
        mkdir "$T/x"
        (tar -C "$T/x" --zstd -xf "$file" && cd "$T/x/$TARGET" &&
            sha256sum -c --quiet SHA256SUMS) >/dev/null 2>&1 || bad 'half an archive has its name'
        rm -rf "$T/x"
    done
}

# check_archive COUNT: there are COUNT archives and no other files, and the session is unchanged.
check_archive() {
    local file

    check_archives
    file=$(ls -A "$ROOT/archive")
    [[ $(grep -c . <<<"$file") == "$1" && $file != *.mas-archive* ]] || bad "in archive/: $file"
    check_packed
}

check_packed() {
    look_at_packed
    [[ $LOOK == "$PACKED" ]] || bad 'its files changed'
}

# After a kill and doctor --fix there is one archive or none, and mas can create another.
follow_archive() {
    local count live=()
    [[ $1 != archive-live* ]] || live=(--live)
    count=$(find "$ROOT/archive" -name '*.tar.zst' | wc -l)
    ((count <= 1)) || bad 'there are two archives'
    check_archive "$count"
    expect archive -q "${live[@]}" "$TARGET"
    check_archive $((count + 1))
    [[ $1 != archive-live* ]] || agents_run "$TARGET" || bad 'it does not run any more'
}

# Prepares a legacy session with files that are in no template.
prepare_migrate() {
    local path id

    export MAS_TEMPLATE=$TEMPLATE
    for path in "$SESSIONS"/*-*-4*; do
        id=${path##*/}
        [[ $id == "$RUNS" || $id == "$RESTS" ]] || expect rm -f "$id"
    done
    rm -rf "$ROOT/unit" "$ROOT/workflows" "$ROOT"/.migrate-*
    expect new -q --mode legacy --no-start --id "$TARGET"
    mkdir -p "$ROOT/unit/mine/deep"
    echo mine >"$ROOT/unit/mine/deep/file"
    ln -s deep/file "$ROOT/unit/mine/link"
    MIGRATED=$(cd "$ROOT" && look_at_parts)
    case $1 in
        migrate-running) expect start "$TARGET" ;;
        migrate-unit) expect rm "$TARGET" ;;
    esac
    wait_quiet
}

# Prints the contents of unit/ and workflows/ in this directory.
look_at_parts() {
    find unit workflows -mindepth 1 -printf '%P %m %l\n' 2>&1 | sort
    find unit workflows -type f -print0 2>/dev/null | sort -z | xargs -0 -r sha256sum
}

# Checks that every file to be migrated is complete in the old place or the new one.
check_kept() {
    local sum file place found
    while read -r sum file; do
        [[ $file == */* && ${#sum} == 64 ]] || continue
        found=
        for place in "$ROOT" "$ROOT"/.migrate-* "$SESSIONS"/*-*-4*; do
            [[ $place != *"$RUNS" && $place != *"$RESTS" && -f $place/$file ]] || continue
            [[ $(sha256sum <"$place/$file") != "$sum"* ]] || found=1
        done
        [[ -n $found ]] || bad "$file is lost"
    done <<<"$MIGRATED"
}

# Checks that there is one isolated session, complete, and running if it ran before.
check_migrated() {
    local path id='' count
    for path in "$SESSIONS"/*-*-4*; do
        [[ $path == *"$RUNS" || $path == *"$RESTS" ]] || id+=${path##*/}
    done
    [[ ${#id} == 36 ]] || { bad "not one session: '$id'"; return; }
    [[ $1 == migrate-unit || $id == "$TARGET" ]] || bad "it has another id: $id"
    [[ $(cd "$SESSIONS/$id" && look_at_parts) == "$MIGRATED" ]] ||
        bad "its files changed: $(diff <(cd "$SESSIONS/$id" && look_at_parts) - <<<"$MIGRATED")"
    path=$(cd "$ROOT" && echo unit* workflows* .new-* .migrate*)
    [[ $path == 'unit* workflows* .new-* .migrate*' ]] || bad "left in the root: $path"
    [[ ! -e $SESSIONS/$id/.migrate ]] || bad 'a copy is left in the workspace'
    path=$(grep -E '^(MODE|MIGRATING|TMUX_SESSION)=' "$SESSIONS/$id/.session" | sort | xargs)
    [[ $path == "MODE=isolated TMUX_SESSION=mas-${id:0:8}" ]] || bad "its metadata says: $path"
    grep -q "\"sessionId\":\"$id\",\"tmuxSession\":\"mas-${id:0:8}\".*\"mode\":\"isolated\"" \
        "$SESSIONS/.sessions.index" || bad 'its row says something else'
    if [[ $1 == migrate-running ]]; then
        agents_run "$id" || bad "$count of $SIZE agents run"
    fi
}

# Checks what must work with a session after a killed verb: repeating the verb starts, stops or removes it.
follow() {
    local id count

    if [[ $1 == migrate* ]]; then
        check_kept
        expect migrate
        expect doctor
        wait_quiet
        check_migrated "$1"
        return
    elif [[ $1 == template-copy ]]; then
        [[ -e $ROOT/templates/copied ]] || expect template copy "$TEMPLATE" copied
        check_copied
        # the next copy removes the leftovers of a killed one
        expect template copy "$TEMPLATE" again
        [[ -z $(find "$ROOT/templates" -name '.new-*') ]] || bad 'a staged template is left'
        rm -rf "$ROOT/templates/again"
        return
    fi
    case $1 in
        archive*) follow_archive "$1" ;;
        clean-archive)
            check_archives
            [[ -d $SESSIONS/$TARGET || -n $(find "$ROOT/archive" -name '*.tar.zst') ]] ||
                bad 'it is gone, and there is no archive'
            ;;
        restore*)
            [[ -d $SESSIONS/$TARGET ]] || expect restore -q "$T/good.tar.zst"
            check_packed
            ;;
    esac
    for id in "${!FOUND[@]}"; do
        [[ $id != "$RUNS" && $id != "$RESTS" ]] || continue
        case $1 in
            new* | start* | restore*)
                expect start "$id"
                wait_quiet
                agents_run "$id" || bad "$count of $SIZE agents run after start"
                ;;
            stop*)
                expect stop "$id"
                has_processes "$id" && bad 'processes are left after stop'
                ;;
            rm*)
                expect rm -f "$id"
                [[ ! -e $SESSIONS/$id ]] || bad 'it is still there after rm -f'
                has_processes "$id" && bad 'processes are left after rm -f'
                ;;
            fill)
                expect library fill "$SESSIONS/$id"
                look_at_facts
                [[ ${KEPT[$id]-} == "$WHOLE" ]] ||
                    bad 'it is not complete after another fill'
                ;;
            mark)
                expect library mark "$id" why
                expect stop "$id"
                ;;
            clean*)
                # shellcheck disable=SC2046 # words without blanks
                expect $(arguments clean)
                [[ ! -e $SESSIONS/$id ]] || bad 'it is still there after another clean'
                ;;
        esac
    done
}

# ---- system calls

# under_strace OPTION... -- VERB: runs mas under strace, with its stderr in $T/err. Traces only mas itself,
# not its children, or only its mas-archive. (The braces catch the shell's own message "Killed".)
under_strace() {
    local options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    if [[ $2 == *-helper ]]; then
        printf '%s\n' "${options[@]}" >"$T/helper-options"
        # shellcheck disable=SC2046 # words without blanks
        "$T/bin/mas" $(arguments "$2") >"$T/out" 2>"$T/err"
        return
    fi
    # shellcheck disable=SC2046 # words without blanks
    { strace "${options[@]}" "$MAS" $(arguments "$2") >"$T/out" 2>"$T/err"; } 2>/dev/null
}

# find_points VERB: runs the verb once; sets POINTS to lines "<name> <N> <call as strace prints it>".
find_points() {
    under_strace -o "$T/trace" -s 64 -y -- "$1" || [[ $1 == rm-running* ]] ||
        bad "$1 exits with $? under strace: $(<"$T/err")"
    wait_quiet
    # strace counts per thread and prints the thread's number first
    awk '{ pid = $1 ~ /^[0-9]+$/ ? $1 : ""; sub(/^[0-9]+ +/, "") }
        /^[a-z_0-9]+\(/ { name = substr($0, 1, index($0, "(") - 1); i = ++n[pid, name]
            if (!seen[name, i]++) print name, i, $0 }' "$T/trace" >"$T/points"
    mapfile -t POINTS <"$T/points"
    ((${#POINTS[@]} > 50)) || bad "only ${#POINTS[@]} system calls were seen"
}

# A kill shows the state at that moment: on disk, in tmux, in other processes. Before a call that changes
# nothing, this state is the same as before the next call that does, so only the latter are tested. The
# full run tests every call. The verbs that work on a whole team or session test fewer.
CHANGING='write\(([03-9]|[12][0-9])|pwrite|send|bind|rename|mkdir|unlink|link|symlink'
CHANGING+='|f?chmod|f?chown|f?truncate|utimens|copy_file_range|ioctl .*FICLONE|clone|v?fork|execve'
CHANGING+='|pidfd_send|kill|tgkill|openat2? .*(O_CREAT|O_TRUNC)|exit_group'
worth_killing() {
    if [[ ${TEST_FAULT-} == full ]]; then
        cat
    elif [[ $1 == migrate-running ]]; then
        grep -E '^(rename|unlink|mkdir|clone|vfork|pidfd_send)'
    elif [[ $1 == clean-archive ]]; then
        grep -E '^(rename|unlink|fsync|pwrite)' # `archive` and `clean` test the rest
    else
        grep -E "^($CHANGING)"
    fi
}

# enumerate_kills VERB [SHARD OF]: kill -9 before each call. With SHARD and OF it takes only every OFth
# point, so that several boxes can share the work.
enumerate_kills() {
    [[ -z ${TEST_SAN-} ]] || return 0 # a sanitizer does not notice a kill
    local verb=$1 shard=${2-0} of=${3-1} point name n number=0 killed=0 missed=0
    local -A last=()

    POINT="$verb"
    prepare "$verb"
    find_points "$verb"
    while read -r name n _; do last[$name]=$n; done <"$T/points"
    mapfile -t POINTS < <(worth_killing "$verb" <"$T/points")
    for point in "${POINTS[@]}"; do
        read -r name n _ <<<"$point"
        if ((number++ % of == shard)); then
            prepare "$verb"
            if kill_at "$verb" "$name" "$n" "$point"; then
                killed=$((killed + 1))
            else
                missed=$((missed + 1))
            fi
        fi
    done
    # The number of reads from tmux and of processes found depends on timing: continue until there is no
    # such call.
    for name in read poll openat newfstatat geteuid close; do
        n=$((${last[$name]-0} + 1))
        [[ $shard == 0 ]] || continue
        while prepare "$verb" && kill_at "$verb" "$name" "$n" "$name $n"; do
            n=$((n + 1))
        done
    done
    POINT="$verb"
    ((missed <= killed)) || bad "$missed of $((killed + missed)) calls were never reached"
    echo "$verb: $killed kills, $missed calls not reached"
}

# kill_at VERB NAME N TEXT: one kill and all checks; fails if there was no such call.
kill_at() {
    local rc=0 hit=137

    # mas reports the kill and has cleaned up itself
    [[ $1 != *-helper ]] || hit=1
    POINT="$1 killed at: $4"
    under_strace -o /dev/null -e trace="$2" -e inject="$2:signal=SIGKILL:when=$3" -- "$1" || rc=$?
    ((rc == hit || rc == 0)) || bad "$1 exits with $rc: $(<"$T/err")"
    ((rc != 1)) || [[ -z $(find "$SESSIONS" "$ROOT/archive" -maxdepth 1 -name '.new-*' -o \
        -name '*.zst' -o -name '.mas-*') ]] || bad 'something is left'
    check_promises
    follow "$1"
    start_anew
    ((rc == hit))
}

# errors_of "NAME N CALL": prints the errors to inject into this call.
errors_of() {
    case $1 in
        write*' write(2<'*) ;; # mas cannot report it then
        write\ * | pwrite64\ * | copy_file_range\ *) echo ENOSPC EIO ;;
        fsync\ * | syncfs\ *) echo EIO ENOSPC ;;
        rename*) echo EIO EACCES ENOSPC ;;
        mkdir*) echo ENOSPC EACCES EMFILE ;;
        openat\ *O_CREAT*) echo ENOSPC EACCES EMFILE ;;
        openat\ * | openat2\ *) echo EMFILE EIO ;;
        fchmod* | utimensat\ * | ftruncate\ * | unlinkat\ * | symlinkat\ *) echo EIO EACCES ;;
        read\ * | pread64\ * | getdents64\ * | lseek\ *) echo EIO ;;
        socket\ * | pipe2\ * | memfd_create\ * | pidfd_open\ *) echo EMFILE ;;
        connect\ *) echo EACCES ;;
        clone\ * | clone3\ * | vfork\ *) echo EAGAIN ;;
        flock\ *) echo ENOLCK ;;
        getrandom\ *) echo ENOSYS ;;
        poll\ *) echo ENOMEM ;;
    esac
}

# The exceptions for every verb; a test file has its own table in $EXCEPTIONS.
EXCEPTIONS_OF_ALL='
The holder in a lock file is only told, never trusted; its mode is only put right.
may  all    any      ^(ftruncate|pwrite64|fchmod)\([0-9]+<[^>]*\.lock>

The log of a session is a convenience.
may  all    any      ^openat\(.*>, "logs", O_RDONLY
may  all    any      ^(openat|write)\(.*session\.log

The C library reads the time zone; without it the times in files, which are in UTC, are the same.
may  all    any      ^[a-z0-9]+\(.*(/etc/localtime|/zoneinfo/)

Whether a program that is waited for does anything is asked of the kernel; without that it has its time.
may  all    any      ^(openat|read)\(.*/proc/[0-9]+/stat

The first try to lock is made again.
may  all    ENOLCK   ^flock\(

What is read of a session without its lock is what to call it, which may be its id. What counts is
read with the lock.
free all    any      ^(openat|read)\([0-9]+<[^>]*/sessions/[0-9a-f-]{36}(>, "\.session", O_RDONLY|/\.session>)

Likewise what this machine is called, which is compared with that of the session.
free all    any      ^(openat|read)\(.*(/etc/machine-id|/random/boot_id)

The reserve of a session that does not run takes space, and nothing else; the next start drops it.
may  all    any      ^unlinkat\([0-9]+<[^>]*/run>, "reserve

The cgroup of a killed host is empty, and is removed with the next one of its session. A command in a job of
Slurm is told so by the environment, too.
may  all    any      ^[a-z0-9]+\(.*(/sys/fs/cgroup|/proc/(self|[0-9]+)/(cgroup|mountinfo))

The register of who waits, the way back, and what walls have been found to rest on are caches.
may  all    any      ^[a-z0-9]+\(.*\.(waiting|came-from|wall-probe)

The dynamic linker looks for a library in more than one place.
may  all    any      ^openat\(.*/libsqlite3\.so

Ports of a session that is gone are given back when others are taken.
may  rm,rm-f,clean  any  ^[a-z0-9]+\(.*/state/mas(", O_RDONLY|>, "\.?ports|/\.?ports)

The index is a cache: where it cannot be read it is it was rebuilt from the workspaces.
may  all    any      ^(openat|read)\(.*\.sessions\.index[>"]
'

# exceptions_for VERB ERROR CALL LOCKED: prints what the tables guarantee instead of "fails and changes
# nothing". LOCKED is empty if the session's lock is not held, or if that is unknown. The tables have lines
# "<promise> <verb,...> <error,...> <regexp of the call>":
#   may    mas does not need this call: it may succeed, and must then have done everything
#   free   the same, but only while it does not hold the session's lock
#   said   it fails with an error, but the work is done, or mas repairs the rest by itself
exceptions_for() {
    local promise verbs errors pattern
    while read -r promise verbs errors pattern; do
        [[ $promise == may || $promise == said || $promise == free && -z $4 ]] || continue
        [[ $verbs == all || ,$verbs, == *",$1,"* || ,$verbs, == *",${1%-own},"* ||
            ,$verbs, == *",${1%-lazy},"* ]] || continue
        [[ $errors == any || ,$errors, == *",$2,"* ]] || continue
        if [[ $3 =~ $pattern ]]; then echo "$promise"; fi
    done <<<"$EXCEPTIONS_OF_ALL${EXCEPTIONS-}"
}

# alike_to CALL: sets $like to a text that calls share if they differ only in numbers, such as the duration
# of a poll or the state of a process.
alike_to() {
    like=${1//[0-9a-f]/}
    case $1 in
        poll*) like=${like% = *} ;;
        read*/stat\>*) like=${like%%)*} ;;
    esac
}

# The calls that begin every command: it opens the root and reads the settings.
BEGINNING='^(openat|read)\(.*(, "[^"]*/root", O_RDONLY|/root>, "sessions", O_RDONLY|/?mas\.ini[">])'

# worth_failing VERB CALL COUNT: the full run tests every call. The quick run tests the first of several
# similar calls, and the beginning of a command only for `new`, `doctor` and `list`.
worth_failing() {
    [[ ${TEST_FAULT-} != full ]] || return 0
    [[ ! $2 =~ $BEGINNING || $1 =~ ^(new|doctor|list)$ ]] && (($3 == 1))
}

# enumerate_errors VERB [SHARD OF]: makes each call for which errors_of() prints errors fail once with each
# of them; in the quick run only with the first.
enumerate_errors() {
    local verb=$1 shard=${2-0} of=${3-1} point error number=0 failed=0 missed=0 seen='' call like locked=''
    local -A alike=()

    POINT="$verb"
    prepare "$verb"
    find_points "$verb"
    CLEAN=$(<"$T/out")
    prepare "$verb"
    look_at_all
    BEFORE=$STATE
    for point in "${POINTS[@]}"; do
        if [[ $point == *"\"$T"* && $point != execve* ]]; then seen=1; fi
        if [[ $verb == *-helper && ${point//"<$PWD>"/} == *"<$T/"* ]]; then seen=1; fi
        [[ -n $seen ]] || continue
        # `new` tests the rest
        [[ $verb != new-lazy || ${TEST_FAULT-} == full || $point == *snapshot* ]] || continue
        read -r _ _ call <<<"$point"
        case $call in
            flock*"/$TARGET/.session.lock>, LOCK_EX"*' = 0') locked=locked ;;
            close*"/$TARGET/.session.lock>"*) locked= ;;
        esac
        alike_to "$call"
        like+=$locked
        alike[$like]=$((${alike[$like]-0} + 1))
        worth_failing "$verb" "$call" "${alike[$like]}" || continue
        for error in $(errors_of "$point"); do
            if ((number++ % of == shard)); then
                fail_at "$verb" "$error" "$locked" "$point"
                failed=$((failed + 1))
            fi
            # which error it is matters less
            [[ ${TEST_FAULT-} == full ]] || break
        done
    done
    POINT="$verb"
    ((missed <= failed / 2)) || bad "$missed of $failed calls were never reached"
    echo "$verb: $failed errors, $missed calls not reached"
}

# fail_at VERB ERROR LOCKED "NAME N CALL": one error and all checks.
fail_at() {
    local verb=$1 error=$2 locked=$3 name n call meant how rc=0 promise after
    read -r name n meant <<<"$4"
    how=error=$error:when=$n
    # gives the child in question time to finish its work
    if [[ $name == pidfd_open || $name == poll ]]; then how+=:delay_enter=60000; fi

    under_strace -o "$T/trace" -y -s 64 -e trace="$name" -e inject="$name:$how" -- "$verb" || rc=$?
    injected_call
    POINT="$verb with $error at: $name $n $call"
    # the number of reads from tmux depends on timing
    how=${call%%,*} meant=${meant%%,*}
    [[ ${how//[0-9a-f]/} == "${meant//[0-9a-f]/}" ]] || locked=
    promise=$(exceptions_for "$verb" "$error" "$call" "$locked")
    look_at_all
    after=$STATE
    if [[ $call == '' ]]; then
        missed=$((missed + 1))
        promise=may
    fi
    check_exit "$rc" "$promise"
    if ((rc == 0)); then
        check_done "$verb"
        [[ $after != "$BEFORE" ]] || return 0
    elif [[ $after == "$BEFORE" ]]; then
        return
    elif [[ $promise != *said* ]]; then
        bad "exit $rc, $(<"$T/err"), but this changed: $(diff <(echo "$BEFORE") \
            <(echo "$after") | grep '^[<>]' | cut -c1-160 | head -n 6 | tr '\n' ' ')"
    fi
    check_promises
    follow "$verb"
    start_anew
    prepare "$verb"
    look_at_all
    BEFORE=$STATE
}

# Sets $call to the call in $T/trace that strace made fail.
injected_call() {
    local line

    call=
    while read -r line; do
        if [[ $line == *'(INJECTED)'* ]]; then
            [[ $line =~ ^[0-9]*\ *(.*) ]] && call=${BASH_REMATCH[1]}
            return
        fi
    done <"$T/trace"
}

# check_list TEXT: the list of a run with a fault shows sessions that it cannot read as errors with a
# reason, and the others correctly.
check_list() {
    local id status text
    text=$(sed -E 's/"agentStates":\{[^}]*\},?//g' <<<"$1") # so that a brace ends a session
    while read -r id status; do
        grep -qE "\"$id\"[^}]*\"status\":\"($status|error\"[^}]*\"reason\":\".)" <<<"$text" ||
            bad "exit 0, but it shows $id, which is $status, as: $1"
    done < <(grep -oE '"(sessionId|status)":"[^"]*"' <<<"$CLEAN" | cut -d'"' -f4 | paste - -)
    [[ $(grep -o sessionId <<<"$1" | wc -l) == "$(grep -o sessionId <<<"$CLEAN" | wc -l)" ]] ||
        bad "exit 0, but it shows: $1"
}

# Checks that the verb has done its work.
check_done() {
    local panes id=$TARGET count

    if [[ $1 == fill ]]; then
        [[ -d $SESSIONS/$id/unit/a && -d $SESSIONS/$id/workflows ]] || bad 'exit 0, but it is not filled'
        return
    elif [[ $1 == mark ]]; then
        grep -qx STATUS=error "$SESSIONS/$id/.session" || bad 'exit 0, but it is not marked'
        return
    elif [[ $1 == template-copy ]]; then
        check_copied
        return
    elif [[ $1 == doctor || $1 == list ]]; then
        look_at_all
        [[ $STATE == "$BEFORE" ]] || bad 'exit 0, but something changed'
        [[ $1 == doctor ]] || check_list "$(<"$T/out")"
        return
    fi
    case $1 in
        migrate*) check_migrated "$1" ;;
        archive*) check_archive 1 ;;
        restore*) check_packed ;;
    esac
    case $1 in
        migrate* | archive* | restore*) return ;;
    esac
    [[ $1 != new* ]] || id=$(<"$T/out")
    count_panes "$id"
    case $1 in
        new* | start*) agents_run "$id" || bad "exit 0, but $count of $SIZE agents run" ;;
        rm-running*) bad 'exit 0, but it was running' ;;
        *) ((panes == 0)) || bad "exit 0, but $panes agents run" ;;
    esac
    if [[ $1 == stop* || $1 == rm* || $1 == clean* ]] && has_processes "$id"; then
        bad 'exit 0, but processes are left'
    fi
    case $1 in
        rm* | clean*) [[ ! -e $SESSIONS/$id ]] || bad 'exit 0, but it is still there' ;;
        *) [[ -d $SESSIONS/$id ]] || bad "exit 0, but '$id' is not there" ;;
    esac
}

# check_exit CODE PROMISE: an error has a message of one line, and nothing crashes.
check_exit() {
    local text

    text=$'\n'$(<"$T/err")
    if (($1 == 0)); then
        [[ $2 =~ may|free ]] || bad 'exit 0 although a call failed'
    elif (($1 > 6)); then
        bad "exit $1: $text"
    elif [[ $text != $'\nmas: cannot '* || ${text#$'\nmas: '} == *$'\nmas: '* ]]; then
        bad "exit $1, but not one line 'mas: cannot ...': $text"
    fi
}
