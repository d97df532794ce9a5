# A small virtual machine with cgroups of version 2 whose limits hold; for tests of hosts.
# shellcheck shell=bash
#
#   need_vm                        skips the test if no machine can run here
#   need_modules NAME...           skips it if the kernel lacks these; in_vm loads them, in this order
#   need_all_of KIND               skips it if the caller says that of these tests one is enough ($TEST_ONE_OF)
#   need_programs NAME...          skips it if there is neither an installed one nor one that was fetched; their paths
#                                  are in $PROGRAMS
#   need_systemd                   skips it if no systemd was fetched; it is the first process of the machine then
#   in_vm FILE SECONDS PROGRAM...  runs the shell script in a machine as root, and prints what it prints; it has
#                                  await.sh
#
# The machine has 1 GiB of memory, busybox, tmux, mas and the programs, and nothing else. Its kernel is $TEST_KERNEL, what
# scripts/lib/kernel.sh has fetched, or that of the newest package in /boot.

need_vm() {
    local need dir
    for need in qemu-system-x86_64 busybox; do
        command -v "$need" >/dev/null || skip "there is no $need"
    done
    [ -z "${TEST_SAN-}" ] || skip "a program with sanitizers takes more memory than the limits leave"
    KERNEL=${TEST_KERNEL-}
    for dir in "$PROJECT/build/kernel" /boot; do
        [ -z "$KERNEL" ] || break
        KERNEL=$(find "$dir" -name 'vmlinuz*' -readable 2>/dev/null | sort -V | tail -n 1)
    done
    [ -r "$KERNEL" ] || skip "there is no kernel to run: sh scripts/lib/kernel.sh fetches one"
}

need_all_of() { [[ " ${TEST_ONE_OF-} " != *" $1 "* ]] || skip 'one of these is enough here; make check-all runs all'; }

need_modules() {
    local name file
    MODULES=()
    for name in "$@"; do
        file=$(find "/lib/modules/${KERNEL##*/vmlinuz-}" "${KERNEL%/*}/modules" -name "$name.ko" 2>/dev/null | head -n 1 || :)
        [ -n "$file" ] || skip "the kernel has no module $name that busybox can load"
        MODULES+=("$file")
    done
}

need_programs() {
    local name file fetched=$PROJECT/build/kernel/programs
    PROGRAMS=()
    for name in "$@"; do
        file=$(PATH=$PATH:/usr/sbin:/sbin:$fetched command -v "$name") ||
            skip "there is no $name: sh scripts/lib/kernel.sh fetches it"
        PROGRAMS+=("$file")
    done
}

need_systemd() {
    SYSTEMD=$PROJECT/build/kernel/systemd
    [ -d "$SYSTEMD" ] || skip "there is no systemd for a machine: sh scripts/lib/kernel.sh systemd fetches it"
}

# with_systemd DIR: puts it there, with a unit that runs /start.
with_systemd() {
    local dir=$1 units=$1/etc/systemd/system
    mkdir -p "$units/user@.service.d" "$dir/usr/lib"
    cp -R "$SYSTEMD"/bin "$SYSTEMD"/lib "$dir/"
    ln -s ../../lib/systemd "$dir/usr/lib/systemd"
    with_libraries "$dir" "$dir"/bin/systemctl "$dir"/bin/systemd-run "$dir"/lib/systemd/systemd* "$dir"/lib/libsystemd*
    printf '%s\n' '[Unit]' DefaultDependencies=no Wants=start.service >"$units/default.target"
    printf '%s\n' '[Unit]' DefaultDependencies=no '[Service]' 'ExecStart=/bin/sh /start' >"$units/start.service"
    # without PAM and logind
    printf '%s\n' '[Service]' PAMName= Environment=XDG_RUNTIME_DIR=/run/user/%i >"$units/user@.service.d/plain.conf"
    printf '%s\n' '[Service]' Type=oneshot RemainAfterExit=yes 'ExecStart=/bin/mkdir -p -m 700 /run/user/%i' \
        >"$units/user-runtime-dir@.service"
}

# with_libraries DIR FILE...: copies the files' libraries to the same places below DIR.
with_libraries() {
    local dir=$1
    shift
    LD_LIBRARY_PATH=$dir/lib ldd "$@" 2>/dev/null | grep -o '/[^ ]*[^ :]' | sort -u | while read -r library; do
        [[ $library == "$dir"/* ]] || [ -e "$dir$library" ] || cp --parents -L "$library" "$dir/"
    done
}

in_vm() {
    local root=$T/machine out=$T/console pid script=$1 seconds=$2
    shift 2
    mkdir -p "$root"/{bin,proc,sys,dev,tmp,root,etc,modules}
    cp "$(command -v busybox)" "$root/bin/busybox"
    ln -s busybox "$root/bin/sh"
    cp --parents -L "$(command -v tmux)" "$root/"
    # as in a build tree, so that nothing is built for another prefix
    mkdir -p "$root/mas/build"
    find "${MAS%/*}" -maxdepth 1 -type f -perm -u+x -name 'mas*' -exec install -s -t "$root/mas/build" {} +
    cp -R "$PROJECT/templates" "$root/mas/"
    local part programs=() sqlite
    for part in "$@"; do
        programs+=("$(command -v "$part")")
        cp -L "${programs[-1]}" "$root/bin/"
    done
    # those of fetched programs that this system lacks
    mkdir -p "$root/lib"
    for part in "$PROJECT"/build/kernel/programs/lib/*.so.*; do [ ! -e "$part" ] || cp -L "$part" "$root/lib/"; done
    # mas loads it by itself
    sqlite=$(/sbin/ldconfig -p | sed -n 's/.*libsqlite3\.so\.0 .* => //p' | head -n 1)
    cp --parents -L "$sqlite" "$root/"
    with_libraries "$root" "$(command -v tmux)" "$root"/bin/busybox "$root"/mas/build/* "${programs[@]}" "$sqlite"
    [ -z "${SYSTEMD-}" ] || with_systemd "$root"
    for part in "${!MODULES[@]}"; do cp "${MODULES[$part]}" "$root/modules/$(printf %02d "$part").ko"; done
    for part in /lib/terminfo /usr/lib/locale/C.utf8; do
        [ ! -e "$part" ] || cp --parents -r "$part" "$root/"
    done
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    cat "$PROJECT/test/host/await.sh" "$script" >"$root/script"
    cat >"$root/init" <<'END'
#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
exec </dev/null 2>&1
for module in /modules/*.ko; do [ ! -e "$module" ] || insmod "$module"; done
[ ! -x /lib/systemd/systemd ] || exec /lib/systemd/systemd
exec sh /start
END
    cat >"$root/start" <<'END'
export PATH=/bin:/mas/build:/usr/bin HOME=/root LANG=C.UTF-8 TERM=linux SHELL=/bin/sh NO_COLOR=1
exec </dev/null >/dev/console 2>&1
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
    within "$seconds" has_ended || :
    kill "$pid" 2>/dev/null || :
    tr -d '\r' <"$out"
}
