# shellcheck shell=bash disable=SC2016 # programs of other shells
# The helper program mas-wall by itself: what it denies, that the same is possible without it, and
# that programs work behind it.
load ../helper

setup_more() {
    WALL=${MAS%/*}/mas-wall
    TRY=$BATS_TEST_DIRNAME/mas-wall.py
    PYTHON=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))') # it may be a script
    abi=$("$WALL" --probe | sed -n 's/^landlock=//p')
    mkdir "$T/inside" "$T/outside"
    echo text | tee "$T/inside/file" >"$T/outside/file"
    # what Python needs of the system
    SYSTEM=(--read /usr --read /lib --read /lib64 --read /bin --read /etc --read /proc
        --read "$PROJECT" --read "${PYTHON%/*}/.." --device /dev/null --device /dev/urandom)
}

# Skips the test if the kernel's Landlock is older than $1.
need_landlock() {
    [ "$abi" -ge "$1" ] || skip "this kernel has Landlock ABI $abi, and this needs $1"
}

# inside OPTION... -- WORD...: runs the part of mas-wall.py behind a wall.
inside() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    "$WALL" "${options[@]}" -- "$PYTHON" "$TRY" "${@:2}"
}
outside() { "$PYTHON" "$TRY" "$@"; }

@test 'each system call that reaches the machine or its namespaces is denied, and is not without the wall' {
    run inside --require calls -- calls inside </dev/null
    [ "$status" -eq 0 ]
    [[ "$output" =~ ^[0-9]+\ calls$ ]]
    run outside calls outside </dev/null
    [ "$status" -eq 0 ] && [[ "$output" =~ ^[0-9]+\ calls$ ]]
}

@test 'what programs need is not denied: sockets, threads, processes, ptrace' {
    run inside -- allowed
    [ "$output" = "$(outside allowed)" ]
    [[ "$output" == *thread=ok* && "$output" == *route=ok* && "$output" == *ptrace=ok* ]]
}

@test 'with --nested a program makes namespaces and mounts in them, and nothing else that is denied' {
    need_mounts
    run "$WALL" -- unshare --user --map-root-user --mount true
    [ "$status" -ne 0 ]
    run "$WALL" --nested -- unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /mnt && echo mounted'
    [ "$output" = mounted ]
    run inside --nested -- calls outside </dev/null
    [[ "$output" == *"keyctl(99999,): EPERM"* && "$output" != *setns* && "$output" != *clone* ]]
}

@test 'a program for another architecture of this machine dies' {
    [ "$(uname -m)" = x86_64 ] || skip 'only amd64 has an x32 numbering'
    printf '%s\n' '#include <unistd.h>' 'int main(void) { return syscall(0x40000000 + 39) > 0 ? 0 : 3; }' >"$T/x32.c"
    cc -o "$T/x32" "$T/x32.c"
    run "$WALL" -- "$T/x32"
    [ "$status" -eq 159 ]
    run "$T/x32"
    [ "$status" -ne 159 ]
}

@test 'no capability and no setuid program gives it more than its user may' {
    run inside -- capabilities
    [ "$(grep -c '0000000000000000$' <<<"$output")" -eq 5 ]
    [[ "$output" == *NoNewPrivs:*1* && "$output" == *Seccomp:*2* ]]
}

@test 'a program has no descriptor but the standard ones, and the default action of each signal' {
    exec 9<"$T/outside/file"
    run outside tries fd:9
    [ "$output" = 'fd ok' ]
    run inside -- tries fd:9
    [ "$output" = 'fd EBADF' ]
    run env --ignore-signal=INT,QUIT,HUP --block-signal=TERM "$PYTHON" "$TRY" signals
    [ "$output" != '[] []' ]
    run env --ignore-signal=INT,QUIT,HUP --block-signal=TERM "$WALL" -- "$PYTHON" "$TRY" signals
    [[ "$output" == *'] []' && "$output" != '[1, 2'* ]]
}

@test 'no program writes a core, which would go to one outside' {
    run "$WALL" -- sh -c 'ulimit -c; ulimit -H -c'
    [ "$output" = $'0\n0' ]
}

@test 'an error is one line, with a code that tells whether the wall or the program failed' {
    mas_wall() { run --separate-stderr "$WALL" "$@"; }
    mas_wall -- sh -c 'exit 7'
    [ "$status" -eq 7 ]
    mas_wall -- sh -c 'kill -9 $$'
    [ "$status" -eq 137 ]
    run --separate-stderr -127 "$WALL" -- "$T/missing"
    [ "$status" -eq 127 ]
    [ "$stderr" = "mas-wall: cannot find the program '$T/missing'" ]
    printf 'neither a script nor a program' >"$T/neither"
    chmod +x "$T/neither"
    mas_wall -- "$T/neither"
    [ "$status" -eq 126 ]
    [ "$stderr" = "mas-wall: cannot run '$T/neither': Exec format error" ]
    printf '#! /nowhere/python3 -u\n' >"$T/script" && chmod +x "$T/script"
    run --separate-stderr -127 "$WALL" -- "$T/script"
    [[ $stderr == "mas-wall: cannot run '$T/script': cannot find its interpreter '/nowhere/python3': "* ]]
    for words in '--network 70000' '--require all' '--bad' \
        '--network none --network 80' '--nested --read /' '--require files'; do
        # shellcheck disable=SC2086 # words
        mas_wall $words -- true
        [ "$status" -eq 125 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ "$stderr" == 'mas-wall: '* ]]
    done
    mas_wall
    [ "$status" -eq 125 ]
}

@test 'a program leads a session, and takes the terminal with --tty' {
    program='import os,pty,sys
m, s = pty.openpty()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.dup2(s, 0)
        os.execv(sys.argv[1], sys.argv[1:])
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.wait()'
    run "$PYTHON" -c "$program" "$WALL" --tty -- sh -c '[ "$(ps -o sid= $$)" -eq $$ ] && echo >/dev/tty && echo taken'
    [ "$output" = taken ]
    run "$PYTHON" -c "$program" "$WALL" -- sh -c '[ "$(ps -o sid= $$)" -eq $$ ] && { echo >/dev/tty || echo none; }'
    [[ "$output" == *none ]]
    run "$WALL" --tty -- true </dev/null
    [ "$status" -eq 125 ] && [[ "$output" == 'mas-wall: cannot take the terminal: '* ]]
}

@test 'the probe prints what the kernel has' {
    run "$WALL" --probe
    [ "${#lines[@]}" -eq 2 ]
    [[ "${lines[0]}" =~ ^landlock=[0-9]+$ && "${lines[1]}" =~ ^seccomp=(yes|no)$ ]]
}

@test 'files: what is not named can neither be read nor listed, written, made or run' {
    need_landlock 1
    cp "$(type -P true)" "$T/outside/true"
    tries=(read:"$T/outside/file" list:"$T/outside" write:"$T/outside/file" create:"$T/outside/new" mkdir:"$T/outside/dir"
        symlink:"$T/outside/link" run:"$T/outside/true" remove:"$T/outside/file")
    run inside "${SYSTEM[@]}" --write "$T/inside" -- tries "${tries[@]}"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 8 ]
    [ "$(grep -c ' EACCES$' <<<"$output")" -eq 8 ]
    run outside tries "${tries[@]}"
    [ "$(grep -c ' ok$' <<<"$output")" -eq 8 ]
}

@test 'files: what may be read cannot be written, and what may be written can' {
    need_landlock 1
    tries=(write:"$T/inside/file" create:"$T/inside/new" mkdir:"$T/inside/dir" symlink:"$T/inside/link" remove:"$T/inside/file")
    run inside "${SYSTEM[@]}" --read "$T/inside" -- tries read:"$T/inside/file" list:"$T/inside" "${tries[@]}"
    [ "$(grep -c ' ok$' <<<"$output")" -eq 2 ]
    [ "$(grep -c ' EACCES$' <<<"$output")" -eq 5 ]
    run inside "${SYSTEM[@]}" --write "$T/inside" -- tries read:"$T/inside/file" list:"$T/inside" "${tries[@]}"
    [ "$(grep -c ' ok$' <<<"$output")" -eq 7 ]
}

@test 'files: a rule for one file, for a missing one, and links to what is not named' {
    need_landlock 1
    ln -s "$T/outside/file" "$T/inside/link"
    ln -s "$T/outside" "$T/inside/dir"
    run inside "${SYSTEM[@]}" --write "$T/inside" --read "$T/no/such" -- \
        tries read:"$T/inside/link" read:"$T/inside/dir/file" read:"$T/inside/../outside/file" read:"/proc/self/cwd/$T/outside/file"
    [ "$status" -eq 0 ]
    [ "$(grep -c ' EACCES$' <<<"$output")" -eq 3 ]
    run inside "${SYSTEM[@]}" --write "$T/outside/file" -- tries write:"$T/outside/file" create:"$T/outside/new"
    [ "$output" = $'write ok\ncreate EACCES' ]
}

@test 'files: moving and linking between directories, since ABI 2' {
    need_landlock 2
    mkdir "$T/inside/a" "$T/inside/b"
    echo a >"$T/inside/a/file"
    run inside "${SYSTEM[@]}" --write "$T/inside" -- tries \
        link:"$T/inside/a/file:$T/inside/b/link" rename:"$T/inside/a/file:$T/inside/b/file" \
        link:"$T/outside/file:$T/inside/hard" rename:"$T/inside/file:$T/outside/moved"
    [ "${lines[0]} ${lines[1]}" = 'link ok rename ok' ]
    [[ "${lines[2]} ${lines[3]}" =~ ^link\ E(ACCES|XDEV)\ rename\ E(ACCES|XDEV)$ ]]
}

@test 'files: truncating, since ABI 3' {
    need_landlock 3
    run inside "${SYSTEM[@]}" --read "$T/inside" -- tries truncate:"$T/inside/file"
    [ "$output" = 'truncate EACCES' ]
    run inside "${SYSTEM[@]}" --write "$T/inside" -- tries truncate:"$T/inside/file"
    [ "$output" = 'truncate ok' ]
}

@test 'files: ioctl of devices, since ABI 5' {
    need_landlock 5
    program='import os,subprocess,sys; m,s=os.openpty(); sys.exit(subprocess.run(sys.argv[1:]+["'$PYTHON'", "'$TRY'", "tries", "terminal:"+os.ttyname(s)]).returncode)'
    SYSTEM+=(--write /dev/pts --write /dev/ptmx)
    run "$PYTHON" -c "$program" "$WALL" "${SYSTEM[@]}" --
    [ "$output" = 'terminal EACCES' ]
    run "$PYTHON" -c "$program" "$WALL" "${SYSTEM[@]}" --device /dev/pts --
    [ "$output" = 'terminal ok' ]
}

# Starts the servers that the tests below try to reach; sets $port.
serve() {
    mkfifo "$T/hold"
    "$PYTHON" "$TRY" serve "$T/server" <"$T/hold" >"$T/port" 3>&- &
    exec 8>"$T/hold"
    eventually [ -s "$T/port" ]
    port=$(<"$T/port")
}

@test 'network: none at all, by seccomp' {
    serve
    run inside --require network --network none -- tries connect:"$port" listen:0 udp:53 mptcp:"$port"
    [ "$status" -eq 0 ]
    [ "$(grep -c ' EAFNOSUPPORT$' <<<"$output")" -eq 4 ]
    run outside tries connect:"$port" listen:0 udp:53
    [ "$(grep -c ' ok$' <<<"$output")" -eq 3 ]
}

@test 'network: one TCP port, by Landlock since ABI 4, and no other protocol' {
    need_landlock 4
    serve
    run inside --require network --network "$port" -- tries connect:"$port" listen:0 udp:53 mptcp:"$port" fastopen:"$port"
    [ "$output" = $'connect ok\nlisten EACCES\nudp EPROTONOSUPPORT\nmptcp EPROTONOSUPPORT\nfastopen ENOTSUP' ]
    run inside --network 1 -- tries connect:"$port" fastopen:"$port"
    [ "$output" = $'connect EACCES\nfastopen ENOTSUP' ]
}

@test 'signals and abstract sockets of processes outside, since ABI 6; a socket by its path is reached' {
    need_landlock 6
    serve
    run inside --require signals,sockets -- tries kill:$$ abstract:"$T/server" socket:"$T/server"
    [ "$output" = $'kill EPERM\nabstract EPERM\nsocket ok' ]
    run outside tries kill:$$ abstract:"$T/server" socket:"$T/server"
    [ "$output" = $'kill ok\nabstract ok\nsocket ok' ]
}

@test 'the memory and the environment of processes outside cannot be read' {
    need_landlock 1
    sleep 1000 3>&- &
    run outside tries environ:$!
    [ "$output" = 'environ ok' ]
    run inside "${SYSTEM[@]}" -- tries environ:$!
    kill $!
    [ "$output" = 'environ EACCES' ]
}

@test 'git, make and a compiler work behind it, with rules for files' {
    need_landlock 2
    cd "$T/inside"
    printf '%s\n' 'all: hello' 'hello: hello.c' '	cc -pthread -o $@ $<' >Makefile
    printf '%s\n' '#include <pthread.h>' '#include <stdio.h>' 'static void *say(void *a) { puts("hello"); return a; }' \
        'int main(void) { pthread_t t; return pthread_create(&t, 0, say, 0) || pthread_join(t, 0); }' >hello.c
    mkdir home tmp
    run env HOME="$PWD/home" TMPDIR="$PWD/tmp" "$WALL" --require files,calls "${SYSTEM[@]}" --write "$PWD" -- sh -c '
        make -s && ./hello && git init -q . && git add hello.c && git mv hello.c moved.c &&
        git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s && git clone -q . clone && ls clone'
    [ "$output" = $'hello\none\nmoved.c' ]
}

@test 'a program under the address and leak sanitizers works behind it' {
    printf '%s\n' '#include <stdlib.h>' '#include <string.h>' \
        'int main(int argc, char **argv) { char *volatile p = malloc(9); p[0] = argv[0][0]; if (argc > 1) p = 0; else free(p); return 0; }' >"$T/leak.c"
    cc -g -fsanitize=address -o "$T/leak" "$T/leak.c" || skip 'the compiler has no address sanitizer'
    local leak=(env -u ASAN_OPTIONS -u LSAN_OPTIONS "$T/leak") # the options are for mas
    run "${leak[@]}"
    [ "$status" -eq 0 ] || skip 'the sanitizer does not work here'
    run "$WALL" -- "${leak[@]}"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    run "$WALL" -- "${leak[@]}" leak
    [ "$status" -ne 0 ] && [[ "$output" == *'detected memory leaks'* ]]
}

@test 'node works behind it' {
    command -v node >/dev/null || skip 'node is not installed'
    run "$WALL" -- node -e '
        const os = require("os"), fs = require("fs"), { Worker } = require("worker_threads");
        os.networkInterfaces();
        fs.promises.readFile("/etc/passwd").then(() => require("child_process").execFileSync("true"));
        new Worker("1", { eval: true }).on("exit", code => console.log("ended", code));'
    [ "$output" = 'ended 0' ]
}

@test 'a program has the environment that it is given, and mas-wall itself has not' {
    printf 'PATH=%s\0WORD=inside\0LD_DEBUG=libs\0LD_DEBUG_OUTPUT=%s\0' "$T/inside" "$T/outside/made" >"$T/environment"
    printf '#!/bin/sh\necho "$WORD,$OTHER"\n' >"$T/inside/program"
    chmod +x "$T/inside/program"
    # shellcheck disable=SC2094 # it writes elsewhere
    OTHER=outside run "$WALL" --read / --write "$T/inside" --environment 9 -- program 9<"$T/environment"
    grep -qx inside, <<<"$output" # beside what ld.so of the program says
    run compgen -G "$T/outside/made*" # ld.so of mas-wall would have written it
    [ "$status" -eq 1 ]
    run "$WALL" --environment 9 -- true
    [ "$status" -eq 125 ]
    [[ "$output" == 'mas-wall: cannot read '* ]]
    run "$WALL" --environment x -- true
    [ "$status" -eq 125 ] && [[ "$output" == "mas-wall: cannot use descriptor 'x'"* ]]
}

# A program that is fast must not find it open.
@test 'the first process is closed to its programs before there is one' {
    command -v strace >/dev/null || skip 'there is no strace'
    strace -f -o "$T/trace" -e trace=clone,clone3,fork,vfork,prctl "$WALL" --init 9 -- true 9<>"$T/outside/file" || :
    local closed began
    closed=$(grep -n -m 1 'prctl(PR_SET_DUMPABLE, SUID_DUMP_DISABLE' "$T/trace" | cut -d: -f1)
    began=$(grep -n -m 1 -E 'clone3?\(|v?fork\(' "$T/trace" | cut -d: -f1)
    [ -n "$closed" ] && [ "$closed" -lt "$began" ]
}
