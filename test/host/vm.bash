# A small virtual machine with cgroups of version 2 whose limits hold; for tests of hosts.
# shellcheck shell=bash
#
#   need_vm             skips the test if no machine can run here
#   in_vm FILE SECONDS  runs the shell script in a machine as root, and prints what it prints
#
# The machine has a kernel from /boot (or $TEST_KERNEL), busybox, tmux and mas, and nothing else.

need_vm() {
    local need
    for need in qemu-system-x86_64 busybox; do
        command -v "$need" >/dev/null || skip "there is no $need"
    done
    [ -z "${TEST_SAN-}" ] || skip "a program with sanitizers takes more memory than the limits leave"
    KERNEL=${TEST_KERNEL-$(find /boot -name 'vmlinuz-*' 2>/dev/null | sort -V | tail -n 1)}
    [ -r "$KERNEL" ] || skip "there is no kernel in /boot to run, and TEST_KERNEL names none"
}

# with_libraries DIR FILE...: copies the files' libraries to the same places below DIR.
with_libraries() {
    local dir=$1
    shift
    ldd "$@" 2>/dev/null | grep -o '/[^ ]*[^ :]' | sort -u | while read -r library; do
        [ -e "$dir$library" ] || cp --parents -L "$library" "$dir/"
    done
}

in_vm() {
    local root=$T/machine out=$T/console pid
    mkdir -p "$root"/{bin,proc,sys,dev,tmp,root,etc}
    cp "$(command -v busybox)" "$root/bin/busybox"
    ln -s busybox "$root/bin/sh"
    cp --parents -L "$(command -v tmux)" "$root/"
    make -s -C "$PROJECT" install DESTDIR="$root" PREFIX=/usr/local >/dev/null
    with_libraries "$root" "$(command -v tmux)" "$root"/usr/local/bin/mas "$root"/usr/local/libexec/mas/*
    local part
    for part in /lib/terminfo /usr/lib/locale/C.utf8; do
        [ ! -e "$part" ] || cp --parents -r "$part" "$root/"
    done
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    cp "$1" "$root/script"
    cat >"$root/init" <<'END'
#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/local/bin:/usr/bin HOME=/root LANG=C.UTF-8 TERM=linux SHELL=/bin/sh NO_COLOR=1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
exec </dev/null 2>&1
cd /tmp
sh /script
echo "the machine ends"
reboot -f
END
    chmod +x "$root/init"
    (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$T/initrd"
    qemu-system-x86_64 -M microvm,acpi=off,rtc=on -cpu max -m 1024 -nodefaults -no-reboot \
        -nographic -serial stdio -kernel "$KERNEL" -initrd "$T/initrd" \
        -append "console=ttyS0 quiet panic=-1 rdinit=/init" >"$out" 2>&1 </dev/null 3>&- &
    pid=$!
    # shellcheck disable=SC2317 # within() calls it
    has_ended() { grep -q '^the machine ends' "$out" || ! kill -0 "$pid" 2>/dev/null; }
    within "$2" has_ended || :
    kill "$pid" 2>/dev/null || :
    tr -d '\r' <"$out"
}
