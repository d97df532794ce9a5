# A template of 65 MB: what `mas new` takes with it beyond what it takes with the default one,
# against `cp -a` and `sync -f` of the copy. The sessions are not started (that costs the same with
# both templates), and nothing is deleted before the end.
# shellcheck shell=bash

# big_template ROOT: the default team with 5 MB in 40 files in each unit directory.
big_template() {
    local unit
    cp -a "$1/templates/default" "$1/templates/big" || return 1
    for unit in "$1"/templates/big/unit/*/; do
        head -c $((40 * 131072)) /dev/urandom |
            split -b 131072 - "$unit/data-" || return 1
    done
}

# copy_on DIRECTORY WHAT LIMIT. cp of coreutils 9 and newer clones where that can be done, as mas
# does; where it does, what a copy of the bytes takes is told as well.
copy_on() {
    local root=$1/root copies=$1/copies
    local copy="cp -a '$1/root/templates/big' '$1/copies" bytes=()
    make_root "$root" && mkdir "$copies" && big_template "$root" || return 1
    # shellcheck disable=SC2016 # for the script
    make_script settle <<<'sync -f "$COPIES"; sleep 0.1'
    export COPIES=$copies
    if cp --reflink=always "$root/mas.ini" "$copies/clone" 2>/dev/null; then
        bytes=(bytes="$copy/bytes-'\$ROUND --reflink=never && sync -f '$copies'")
    fi
    # cp has to be followed by another program, so that side needs a shell; its start is taken off
    measure -b "$FAST/settle" \
        default="$MAS --root $root new -q --no-start" \
        big="$MAS --root $root new -q --no-start -t big" \
        cp="$copy/'\$ROUND && sync -f '$copies'" \
        ${bytes[@]+"${bytes[@]}"} shell=': && :' || return 1
    at_most "65 MB more / cp -a and sync, $2" \
        "$(calc "(${T[big]} - ${T[default]}) / (${T[cp]} - ${T[shell]})")" "$3" \
        "(mas $(ms big) - $(ms default), cp $(ms cp))"
    ((${#bytes[@]})) || return 0
    note 'the same with cp -a --reflink=never' \
        "$(calc "(${T[big]} - ${T[default]}) / (${T[bytes]} - ${T[shell]})") (cp $(ms bytes))"
}

# mount_reflink DIRECTORY: a file system of our own there that shares blocks between copies.
mount_reflink() {
    local kind
    truncate -s 8G "$SLOW/image" && mkdir "$1" || return 1
    for kind in xfs btrfs; do
        if command -v "mkfs.$kind" >/dev/null && "mkfs.$kind" -q -f "$SLOW/image" 2>/dev/null &&
            mount -o loop "$SLOW/image" "$1" 2>/dev/null; then
            MOUNTS+=("$1")
            echo probe >"$1/probe"
            if cp --reflink=always "$1/probe" "$1/clone" 2>/dev/null; then
                REFLINK=$kind
                return 0
            fi
            umount "$1" && MOUNTS=()
        fi
    done
    return 1
}

mkdir "$SLOW/copy" && copy_on "$SLOW/copy" "$(stat -f -c %T "$SLOW")" 0.6 || return 1
if cp --reflink=always "$MAS" "$SLOW/clone" 2>/dev/null; then
    note '65 MB more / cp -a and sync, reflink' 'the disk above has it'
elif ((EUID != 0)); then
    skip '65 MB more / cp -a and sync, reflink' 'only root can mount a file system for it'
elif mount_reflink "$SLOW/reflink"; then
    copy_on "$SLOW/reflink" "$REFLINK" 0.35 || return 1
else
    skip '65 MB more / cp -a and sync, reflink' 'no mkfs.xfs or mkfs.btrfs, or no loop device'
fi
