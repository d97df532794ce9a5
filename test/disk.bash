# A root on a small disk of its own, to fill. Only root can mount one.
# shellcheck shell=bash
#
#   small_root [ext4]   64 MB that are all ours (tmpfs), or of which the file system keeps a part
#                       (ext4), with a root that replaces that of the test; skips if it cannot
#   fill                takes what is left
#   make_room KIB       frees so much of it again
#   release_disk        the teardown of helper.bash calls it

small_root() {
    [ "$EUID" -eq 0 ] || skip 'only root can mount a file system'
    mkdir "$T/fs"
    if [ "${1-}" = ext4 ]; then
        command -v mkfs.ext4 >/dev/null || skip 'there is no mkfs.ext4'
        truncate -s 64M "$T/image"
        mkfs.ext4 -q "$T/image"
        mount -o loop "$T/image" "$T/fs" 2>/dev/null || skip 'no file can be mounted here'
    else
        mount -t tmpfs -o size=64M none "$T/fs" 2>/dev/null || skip 'a tmpfs cannot be mounted here'
    fi
    export MAS_ROOT=$T/fs/root ROOT=$T/fs/root
    "$MAS" init -q
}

# The last blocks one by one: a large write may leave some.
fill() { cat /dev/zero >>"$T/fs/fill" 2>/dev/null || dd if=/dev/zero bs=512 of="$T/fs/rest" 2>/dev/null || :; }
make_room() { truncate -s "-${1}K" "$T/fs/fill"; }

release_disk() {
    if mountpoint -q "$T/fs" 2>/dev/null; then umount -l "$T/fs"; fi
}
