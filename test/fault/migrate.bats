# kill -9 at every system call of `mas migrate`, and each of them made to fail.
# shellcheck shell=bash
#
# Whatever happens, each file of unit/ and workflows/ is in the root or in the workspace, whole; list
# and doctor work; and `mas migrate`, asked once more, comes to the same end. The quick run takes the
# calls that can change something, and of those of a session that runs the most telling ones.

load ../helper
# shellcheck source=test/fault/lib.bash
. "$BATS_TEST_DIRNAME/lib.bash"

# shellcheck disable=SC2089
EXCEPTIONS='
The mark of sessions/ is a guard: what cannot read it refuses, or only looks.
may  all    any      \.sessions\.(id|mark)

The look for the session: what cannot be read is known by its row, and is read again, locked.
may  all    any      ^openat\([0-9]+<[^>]*/sessions>, "[0-9a-f-]{36}"
may  all    any      ^(openat|read)\([0-9]+<[^>]*/sessions/[0-9a-f-]{36}(>, "\.session"|/\.session>)
may  all    any      ^(openat|read)\(.*(/etc/machine-id|/random/boot_id)
may  all    any      ^openat\(.*"/dev/null"

What killed commands have left can be swept away later.
may  all    any      ^(openat|getdents64)\([0-9]+<[^>]*/(sessions|root)>?, ("\."|0x)
may  all    any      ^openat\(.*\.sessions\.lock

What cannot be seen of processes and of hosts that have gone.
may  all    any      ^[a-z0-9_]+\(.*(<|")/proc[/">]
may  all    any      ^(openat|getdents64)\([0-9]+<[^>]*/run>, ("\."|0x|"[a-z]\.(sock|lock)")
may  all    any      ^openat\(.*>, "run", O_RDONLY
may  all    any      ^(socket|connect|poll|pidfd_open|memfd_create|pipe2|clone3?|vfork)\(
may  all    any      ^read\([0-9]+<(pipe:|/proc)

What could be put back was; what could not goes on with the next run, which follow() asks for.
said all    any      ^(fsync|syncfs|write|rename[a-z0-9]*|openat|flock|unlinkat|fchmod[a-z0-9]*|mkdirat|getdents64|read|openat2)\(
'
# shellcheck disable=SC2090
export EXCEPTIONS

@test "migrate killed at any system call loses no file and goes on" {
    each enumerate_kills migrate migrate-unit
}

@test "migrate of a session that runs, killed at any system call, goes on and starts it" {
    each enumerate_kills migrate-running
}

@test "migrate to another file system, killed at any system call, loses no file and goes on" {
    in_box can_mount || skip 'a tmpfs cannot be mounted here (no root, no user namespaces)'
    FAULT_ACROSS=1 each enumerate_kills migrate
}

@test "migrate with any failing system call says so, loses no file and goes on" {
    each enumerate_errors migrate full migrate-unit migrate-running
}
