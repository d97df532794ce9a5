# Each system call that can fail is made to fail, one by one, with the errors of errors_of().
# shellcheck shell=bash
#
# mas then says so in one line, exits with 1 to 6, and leaves everything as it was: files, index,
# tmux sessions, processes. The exceptions are in this table; what they promise is in lib.bash.

load ../helper
# shellcheck source=test/fault/lib.bash
. "$BATS_TEST_DIRNAME/lib.bash"

# shellcheck disable=SC2089
EXCEPTIONS='
How many terminals and descriptors are left is looked up only to give a better message.
may  all    any      ^[a-z0-9]+\(.*</proc/(sys/kernel/pty|[0-9]+/fd)
may  new    any      ^(socket|connect)\(
may  start  any      ^(socket|connect)\(

What start tells of lost memory and of turns that a kill has cut off is a note.
may  start,start-own any ^(openat|getdents64|read)\([0-9]+<[^>]*/sessions/[^>]*>, ("\."|"config\.json"|0x)
may  start,start-own any ^read\([0-9]+<[^>]*/(logs/session\.log|config\.json)>

Before a new session what killed commands have left is swept away, which can wait.
may  new    any      ^(openat|getdents64)\([0-9]+<[^>]*/sessions>?, ("\."|0x)
may  new    any      ^openat\(.*\.sessions\.lock

A template that cannot be told to be as it was gets a snapshot of its own, and so does a session
that cannot see the one there is.
may  new-lazy any    ^(openat|getdents64)\([0-9]+<[^>]*/templates/three/unit(>, "a"|/a>)
may  new-lazy any    ^openat2?\(.*, "\.snapshots/

The quick way to a session by its id; there is a longer one.
may  all    any      ^openat\([0-9]+<[^>]*/sessions>, "[0-9a-f-]{36}"

The mark of sessions/ is a guard: what cannot read it refuses, or only looks; what cannot make it has done its work.
may  all    any      \.sessions\.(id|mark)

Before clean, too; and what it cannot read of other sessions it tells, and removes the rest.
may  clean  any      ^(openat|getdents64)\([0-9]+<[^>]*/(sessions|root)>, ("\."|"\.snapshots"|0x)
may  clean  any      ^openat\(.*/sessions>, "\.sessions\.lock"
said clean  any      ^openat\(.*/sessions>, "([^c]|c[^0]|c0[^f])[0-9a-f-]+"
said clean  any      ^(openat|read)\([0-9]+<[^>]*/sessions/([^c]|c[^0]|c0[^f])[^>]*>
may  clean  any      ^(openat|read)\([0-9]+<[^>]*/sessions/([^c]|c[^0]|c0[^f])[^>]*>

Where there is no room for the index without a session, the index goes: removing makes room.
may  rm,rm-f,clean ENOSPC \.sessions\.index\.new
may  rm,rm-f,clean ENOSPC ^fsync\([0-9]+<[^>]*/sessions>

A brake works whatever fails: stop ends the agents, and what could not be told to tmux or written down is
a warning. With exit 0 nothing of the team runs, which check_done() looks at.
may  stop,stop-own,rm-f any .
said stop,stop-own any .

The session runs; its goals begin with the next tick, or start.
may  start,start-own any ^openat\([0-9]+<[^>]*/sessions/c0ffee00[^>]*>, "every\.json"

Snapshots that nobody needs any more are looked for again by others.
may  rm,rm-f,clean any ^openat\(.*/sessions>, "(\.snapshots|\.trash-[^"]*)", O_RDONLY

A lock that cannot be removed at once is tried again.
may  rm,rm-f,clean any ^unlinkat\(.*, "\.session\.lock"

Processes are looked at when tmux has ended the session. If one cannot be seen, mas tries harder,
or says so; what is left ends with the next stop, rm or doctor --fix.
may  all    any      ^[a-z0-9_]+\(.*(<|")/proc[/">]
said stop,rm-f any   ^[a-z0-9_]+\(.*(<|")/proc[/">]
may  all    EMFILE   ^pidfd_open\(

These two only look. What they cannot see they leave alone, and list shows it as an error.
may  doctor,list any .

Whether a process is still there is asked again after the wait for it.
may  all    ENOMEM   ^poll\(\[\{fd=[0-9]+<anon_inode:\[pidfd\]>, events=POLLIN\}\], 1,

A pipe gives no such error; what counts is that no cut answer is believed.
may  all    EIO      ^read\([0-9]+<pipe:

Where mas cannot wait for tmux any more, it may have done what it was told.
said stop,rm-f any   ^(pidfd_open|poll|read)\(.*(pipe:|anon_inode|[0-9]+, 0\))

A server of its own ends with its session; that it cannot be asked any more does no harm.
may  stop-own any    ^(poll|socket)\(

Hosts that cannot be asked are ended by the hang-up and by the sweep; what is left in run/ of a
session that does not run goes with its next start, or with doctor --fix.
may  all    any      ^(openat|getdents64)\([0-9]+<[^>]*/run>, ("\."|0x|"[a-z]\.(sock|lock)")
may  stop,rm-f any   ^socket\(AF_UNIX, SOCK_STREAM\|SOCK_CLOEXEC\|SOCK_NONBLOCK
may  stop,rm-f any   ^poll\(\[\{fd=[0-9]+<socket:

This is stop and then rm: where rm fails, the session is stopped, and whole.
said rm-f   any      .

A session that was renamed to .trash- is removed; the rest of it goes with the next sweep. A
directory that refuses is opened up.
said rm,rm-f,clean any \.trash-
may  rm,rm-f,clean EACCES \.trash-

The workspace is gone, but not known to be so on the disk.
said rm,rm-f,clean any ^fsync\([0-9]+<[^>]*/sessions>

There is nothing to remove; where there is, the new file cannot be made.
may  all    any      ^unlinkat\(.*/run>, "env"
may  all    any      ^openat\(.*>, "run", O_RDONLY

What was filled in before something failed is whole, and stays; what it was made in goes with the
next sweep. Whether something is missing is only asked to save the work.
said fill   any      .
may  fill   any      ^[a-z0-9]+\(.*/sessions(/\.new-|>, "\.new-)
may  fill   any      ^(openat2?|getdents64)\(.*/templates/three
may  fill   any      ^mkdirat\(.*/sessions/[0-9a-f-]*>, "(unit|workflows)"

The template is there, but not known to be so on the disk.
said template-copy any ^fsync\([0-9]+<[^>]*/templates>

The result cannot be told where standard output cannot be written, but is there.
said all    any      ^write\(1<
'
# shellcheck disable=SC2090
export EXCEPTIONS

@test "new with any failing system call says so and leaves nothing" {
    each enumerate_errors new full new-own
}

@test "new of a lazy session with any failing system call says so and leaves nothing" {
    each enumerate_errors new-lazy
}

@test "stop with any failing system call ends the agents, or says so and leaves what can be stopped" {
    each enumerate_errors stop full stop-own
}

@test "start with any failing system call says so and leaves the session as it was" {
    each enumerate_errors start full start-own
}

@test "rm with any failing system call says so and leaves the session as it was" {
    each enumerate_errors rm full rm-f
}

@test "clean with any failing system call says so and leaves the session as it was" {
    each enumerate_errors clean
}

@test "rm never removes a session that runs, whatever fails" {
    each enumerate_errors rm-running
}

@test "a mark, or a fill, with any failing system call says so, and all is as it was, or whole" {
    each enumerate_errors mark full fill
}

@test "doctor --fix and list with any failing system call change nothing and show nothing false" {
    each enumerate_errors doctor list
}

# openat2() is missing before Linux 5.6 and in some sandboxes.
without_openat2() {
    local verb
    POINT='without openat2'
    for verb in new stop start rm-f; do
        prepare "$verb"
        under_strace -f -o "$T/trace" -e trace=openat2 -e inject=openat2:error=ENOSYS -- "$verb" ||
            bad "$verb exits with $?: $(<"$T/err")"
        [[ $verb != new ]] || grep -q INJECTED "$T/trace" || bad 'openat2 was not called'
        wait_quiet
        check_done "$verb"
        check_promises
    done
}

@test "everything works where the kernel has no openat2" {
    in_box without_openat2
}

# stopped_at CALL PATH WORD...: runs mas until it makes the first such call on the path ("": any),
# where it waits for go_on; sets $pid, and $tracer, which ends with it.
stopped_at() {
    local call=$1 only=(${2:+-P "$2"}) i
    shift 2
    : >"$T/stops"
    { strace -f -o "$T/stops" "${only[@]}" -e trace="$call" -e inject="$call:signal=SIGSTOP:when=1" \
        "$MAS" "$@" >"$T/held" 2>&1 & } 2>/dev/null
    tracer=$!
    for ((i = 0; i < 4500; i++)); do # strace says so: one that it looks at looks stopped, too
        pid=$(sed -n 's/^\([0-9]*\) *--- stopped by SIGSTOP ---$/\1/p' "$T/stops")
        [[ -z $pid ]] || return
        read -rt 0.02 <> <(:) || :
    done
    bad "mas $* was not stopped"
}

# Waits for one process: all would be those of <(:), too, and bash now and then misses the end of one.
go_on() {
    if [[ -n $pid ]]; then kill -CONT "$pid"; else kill "$tracer"; fi
    wait "$tracer" || :
}

# A command that is stopped in the middle of its work, and others that fail to see that.
held_staging() {
    local pid tracer staging point name n call

    POINT='a staging directory that is in use'
    stopped_at syncfs '' new -q -t "$TEMPLATE"
    staging=$(echo "$SESSIONS"/.new-*/.session)
    [[ -s $staging ]] || bad 'no staging directory was made'
    strace -o "$T/trace" -s 64 -y "$MAS" doctor --fix >/dev/null 2>&1
    [[ -s $staging ]] || bad 'doctor --fix removed it'
    awk '/^[a-z_0-9]+\(/ { name = substr($0, 1, index($0, "(") - 1); print name, ++n[name], $0 }' \
        "$T/trace" | grep -E '^(openat|flock|getdents64) ' | grep -F "\"$T
$SESSIONS" >"$T/points"
    while read -r name n call; do
        POINT="a staging directory that is in use, EMFILE at $name $n $call"
        strace -o /dev/null -e trace="$name" -e inject="$name:error=EMFILE:when=$n" \
            "$MAS" doctor --fix >/dev/null 2>&1
        [[ -s $staging ]] || {
            bad 'doctor --fix removed it'
            break
        }
    done <"$T/points"
    go_on
    [[ -d $SESSIONS/$(<"$T/held") ]] || bad "new failed afterwards: $(<"$T/held")"
    check_promises
}

@test "a failing system call never makes doctor take what another command holds" {
    in_box held_staging
}

# What is started between the choice and the removal stays; what is chosen cannot be started.
start_beside_clean() {
    local pid tracer state text
    for state in stopped crashed; do
        POINT="a $state session that is started while it is cleaned"
        prepare clean
        if [[ $state == crashed ]]; then
            sed -i 's/^STATUS=.*/STATUS=active/' "$SESSIONS/$TARGET/.session"
            touch -d '3 days ago' "$SESSIONS/$TARGET"/logs/* # its agents' last words
        fi
        # shellcheck disable=SC2046 # words without blanks
        stopped_at openat /proc $(arguments clean)
        expect start "$TARGET"
        go_on
        [[ $(<"$T/held") == '0 sessions removed, 0B freed' ]] || bad "it said: $(<"$T/held")"
        wait_quiet
        check_promises
        agents_run "$TARGET" || bad "$count of $SIZE agents run"
        expect stop "$TARGET"
    done
    POINT='a session that is cleaned while it is to be started'
    prepare clean
    # shellcheck disable=SC2046 # words without blanks
    stopped_at pwrite64 "$SESSIONS/$TARGET/.session.lock" $(arguments clean)
    text=$("$MAS" start "$TARGET" 2>&1)
    [[ $? -eq 4 && $text == *"(clean) holds the lock" ]] || bad "start said: $text"
    go_on
    [[ $(<"$T/held") == *'1 session removed'* ]] || bad "it said: $(<"$T/held")"
    [[ ! -e $SESSIONS/$TARGET ]] || bad 'it is still there'
    check_promises
}

@test "a session that is started while it is cleaned is not removed" {
    in_box start_beside_clean
}

# A disk that is really full.
full_disk() {
    local ids verb

    POINT='on a full disk'
    make_small_root || return
    for verb in new start; do
        TARGET=$RESTS
        POINT="$verb on a full disk"
        fill_disk 0
        look_at_all
        BEFORE=$STATE
        # shellcheck disable=SC2046 # words without blanks
        "$MAS" $(arguments "$verb") >/dev/null 2>"$T/err"
        check_exit "$?" ''
        grep -q 'No space left on device' "$T/err" || bad "it said: $(<"$T/err")"
        look_at_all
        [[ $STATE == "$BEFORE" ]] || bad "something changed: $(diff <(echo "$BEFORE") \
            <(echo "$STATE") | grep '^[<>]' | tr '\n' ' ')"
        rm "$T/small/fill"
    done
    POINT='stop on a full disk'
    fill_disk 0
    "$MAS" stop --all >"$T/out" 2>"$T/err" || bad "it exits with $?: $(<"$T/err")"
    look processes
    [[ -z $LOOK ]] || bad 'processes are left'
    rm "$T/small/fill"
    expect start "$RUNS"
    wait_quiet
    POINT='stop that cannot be written down' # what the agents leave free may do for that
    strace -f -o "$T/trace" -P "$SESSIONS/$RUNS/.session.new" -e trace=fsync \
        -e inject=fsync:error=ENOSPC "$MAS" stop --all >"$T/out" 2>"$T/err" ||
        bad "it exits with $?: $(<"$T/err")"
    [[ $(<"$T/err") == "mas: warning: session '$RUNS' is stopped, but its status could not be written: "*'No space left on device'*"mas stop $RUNS"* ]] ||
        bad "it said: $(<"$T/err")"
    look processes
    [[ -z $LOOK ]] || bad 'processes are left'
    [[ $("$MAS" list) == *'stopped (crashed)'* ]] || bad "list shows: $("$MAS" list)"
    expect stop "$RUNS"
    [[ $("$MAS" list) != *crashed* ]] || bad "list shows: $("$MAS" list)"
    expect start "$RUNS"
    wait_quiet
    POINT='clean on a full disk'
    TARGET=c0ffee00-0000-4000-8000-000000000000
    prepare clean
    fill_disk 0
    # shellcheck disable=SC2046 # words without blanks
    expect $(arguments clean)
    [[ ! -e $SESSIONS/$TARGET ]] || bad 'it is still there'
    rm "$T/small/fill"
    POINT='rm -f of what runs on a full disk'
    TARGET=$("$MAS" new -q -t solo)
    wait_quiet
    fill_disk 0
    "$MAS" doctor >"$T/found" && bad 'doctor finds nothing'
    grep -qx "by hand *$ROOT *its disk is full" "$T/found" || bad "doctor says: $(<"$T/found")"
    expect rm -f "$TARGET"
    [[ ! -e $SESSIONS/$TARGET ]] || bad 'it is still there'
    rm "$T/small/fill"
    POINT='with space again'
    expect stop "$RUNS"
    expect start "$RESTS"
    expect new -t three
    ids=$("$MAS" list --json | grep -o '"status":"[a-z]*"' | sort | uniq -c | tr -s ' \n' ' ')
    [[ $ids == ' 2 "status":"active" 1 "status":"stopped" ' ]] || bad "list shows: $ids"
    expect doctor
}

@test "on a full disk nothing is changed, and all works once there is space" {
    in_box can_mount || skip 'a tmpfs cannot be mounted here (no root, no user namespaces)'
    in_box full_disk
}

# The functions above that run in a box.
export -f without_openat2 held_staging stopped_at go_on start_beside_clean full_disk
