# kill -9 at every system call of `mas archive` and `mas restore`, and of the program mas-archive
# that works for both; each of them made to fail; and no room on the disk.
# shellcheck shell=bash
#
# Whatever happens, what has the name of an archive is a whole one, the session that is archived is
# as it was, and one that is restored is there whole or not at all. What a killed command left goes
# with `mas doctor --fix`, and both can be asked for again.

load ../helper
# shellcheck source=test/fault/lib.bash
. "$BATS_TEST_DIRNAME/lib.bash"

# shellcheck disable=SC2089
EXCEPTIONS='
The mark of sessions/ is a guard: what cannot read it refuses, or only looks.
may  all    any      \.sessions\.(id|mark)

What the libraries of the system look up for themselves.
may  all    any      ^(openat|read)\(.*("|<)/(etc|usr)/

The quick way to a session by its id; there is a longer one.
may  archive any     ^openat\([0-9]+<[^>]*/sessions>, "[0-9a-f-]{36}"

Hosts that cannot be seen: tmux has been asked, and says that it does not run.
may  archive any     ^(openat|getdents64)\([0-9]+<[^>]*/run>, ("\."|0x)
may  archive any     ^openat\(.*>, "run", O_RDONLY

The same where the session runs. What is not removed of a copy of memory.db goes with run/;
without a memory.db one that can only be read is enough.
may  archive-live any ^openat\([0-9]+<[^>]*/sessions>, "[0-9a-f-]{36}"
may  archive-live any ^(openat|getdents64)\([0-9]+<[^>]*/(run|archive)>, ("\."|0x)
may  archive-live any ^unlinkat\([0-9]+<[^>]*/run>, "\.copy-
may  archive-live EMFILE ^openat\(.*/proc/self/fd/[0-9]+/\.copy-
said archive-live any ^fsync\([0-9]+<[^>]*/archive>

A pipe gives no such error; what counts is that no cut answer is believed.
may  all    EIO      ^read\([0-9]+<pipe:

What killed commands have left can be swept away later.
may  archive any     ^(openat|getdents64)\([0-9]+<[^>]*/archive>, ("\."|0x)
may  restore any     ^(openat|getdents64)\([0-9]+<[^>]*/(sessions|root)>?, ("\."|0x)
may  restore any     ^openat\(.*\.sessions\.lock

The archive is there, but not known to be so on the disk.
said archive any     ^fsync\([0-9]+<[^>]*/archive>

The result cannot be told where standard output cannot be written, but is there.
said all    any      ^write\(1<
'
# shellcheck disable=SC2090
export EXCEPTIONS

@test "archive killed at any system call leaves a whole archive or none" {
    each enumerate_kills archive
}

@test "archive --live killed at any system call leaves a whole archive or none, and the session runs on" {
    each enumerate_kills archive-live full archive-live-helper
}

@test "archive whose mas-archive is killed at any system call says so and leaves nothing" {
    each enumerate_kills archive-helper
}

@test "clean --archive killed at any system call removes nothing without an archive" {
    each enumerate_kills clean-archive
}

@test "restore killed at any system call leaves a whole session or nothing" {
    each enumerate_kills restore
}

@test "restore whose mas-archive is killed at any system call says so and leaves nothing" {
    each enumerate_kills restore-helper
}

@test "archive with any failing system call says so and leaves nothing" {
    each enumerate_errors archive archive-helper archive-live
}

@test "restore with any failing system call says so and leaves nothing" {
    each enumerate_errors restore restore-helper
}

# fails_for_room WORD...: says that there is no room, and changes nothing.
fails_for_room() {
    local before
    look_at_all
    before=$STATE
    "$MAS" "$@" >"$T/out" 2>"$T/err"
    check_exit "$?" ''
    grep -qE 'No space left on device|bytes, but only [0-9]+ are free' "$T/err" ||
        bad "$1 said: $(<"$T/err")"
    look_at_all
    [[ $STATE == "$before" ]] || bad "$1 changed: $(diff <(echo "$before") <(echo "$STATE"))"
}

full_disk() {
    local unit=$T/small/root/sessions/$TARGET/unit/a left i

    POINT='on a full disk'
    make_small_root || return
    prepare clean
    mkdir "$ROOT/archive"
    # an archive of 200 KB, and files that take 400 KB although they hold little
    head -c 200000 /dev/urandom >"$unit/data"
    for i in {1..100}; do echo "$i" >"$unit/$i"; done
    expect archive -q "$TARGET" -o "$T/good.tar.zst"
    sed -i -E 's/^(LAST_ACTIVITY|STOPPED_AT)=.*/\1=2020-01-01T00:00:00Z/' "$SESSIONS/$TARGET/.session"
    for left in 0 100; do
        POINT="with $left KB left"
        fill_disk "$left"
        fails_for_room archive "$TARGET"
        fails_for_room archive --rm "$TARGET" -o "$ROOT/a.zst"
        fails_for_room clean --older-than 1d --archive
        rm "$T/small/fill"
    done
    expect rm "$TARGET"
    for left in 0 100 300; do
        POINT="restore with $left KB left"
        fill_disk "$left"
        fails_for_room restore "$T/good.tar.zst"
        rm "$T/small/fill"
    done
    POINT='with space again'
    expect restore "$T/good.tar.zst"
    expect archive -q --rm "$TARGET" -o "$T/again.tar.zst"
    expect doctor
}
export -f fails_for_room full_disk

@test "on a full disk archive, restore and clean --archive change nothing, and work once there is space" {
    in_box can_mount || skip 'a tmpfs cannot be mounted here (no root, no user namespaces)'
    in_box full_disk
}
