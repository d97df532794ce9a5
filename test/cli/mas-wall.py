#!/usr/bin/env python3
"""Programs behind mas-wall, one for each first argument: they try what it denies and say how it went."""
import ctypes
import errno
import os
import signal
import socket
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
names = ctypes.CDLL('libseccomp.so.2')
AF_VSOCK, AF_ALG = 40, 38
SOCKET, CLONE = 'socket', 'clone'


def call(name, *args):
    """The name of the error of a system call, 'ok' for none, 'unknown' where the machine lacks it."""
    number = names.seccomp_syscall_resolve_name(name.encode())
    if number < 0:
        return 'unknown'
    words = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in args]
    words += [ctypes.c_long(0)] * (6 - len(words))
    if libc.syscall(ctypes.c_long(number), *words) >= 0:
        return 'ok'
    return errno.errorcode[ctypes.get_errno()]


def told(function, *args):
    """The same for a function of Python."""
    try:
        function(*args)
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]


# Arguments with which the call changes nothing even if it is allowed, and fails in another way.
# 'root': only root gets as far as that.
CALLS = [
    ('acct', (b'/nowhere/at/all',), 'EPERM', 'root'),
    ('add_key', (0, 0, 0, 0, 0), 'EPERM', ''),
    ('bpf', (99, 0, 0), 'EPERM', 'root'),
    ('clock_settime', (99, 0), 'EPERM', ''),
    ('delete_module', (b'no-such-module', 0), 'EPERM', 'root'),
    ('finit_module', (-1, b'', 0), 'EPERM', 'root'),
    ('init_module', (0, 0, b''), 'EPERM', 'root'),
    ('kexec_load', (0, 99999, 0, 99), 'EPERM', 'root'),
    ('keyctl', (99999,), 'EPERM', ''),
    ('open_by_handle_at', (-1, 0, 0), 'EPERM', 'root'),
    ('perf_event_open', (0, 0, -1, -1, 0), 'EPERM', ''),
    ('ioctl', (-1, 0x40086602, 0), 'EPERM', ''),  # FS_IOC_SETFLAGS
    ('ioctl', (-1, 0x401c5820, 0), 'EPERM', ''),  # FS_IOC_FSSETXATTR
    ('quotactl', (0, 0, 0, 0), 'EPERM', ''),
    ('reboot', (0, 0, 0, 0), 'EPERM', 'root'),
    ('request_key', (0, 0, 0, 0), 'EPERM', ''),
    ('settimeofday', (0, 0), 'EPERM', ''),
    ('swapoff', (b'/nowhere/at/all',), 'EPERM', 'root'),
    ('swapon', (b'/nowhere/at/all', 0), 'EPERM', 'root'),
    ('syslog', (99, 0, 0), 'EPERM', 'root'),
    ('userfaultfd', (0x7fffffff,), 'EPERM', 'root'),
    ('mount', (0, 0, 0, 0, 0), 'EPERM', 'root'),
    ('umount2', (b'/nowhere/at/all', 0), 'EPERM', 'root'),
    ('pivot_root', (b'/nowhere', b'/nowhere'), 'EPERM', 'root'),
    ('setns', (-1, 0), 'EPERM', ''),
    ('unshare', (0x10000000 | 0x1,), 'EPERM', ''),
    ('unshare', (0x00020000 | 0x1,), 'EPERM', ''),
    ('unshare', (0x80 | 0x1,), 'EPERM', ''),
    ('clone', (0x10000000 | 0x800,), 'EPERM', ''),  # CLONE_SIGHAND without CLONE_VM: EINVAL
    ('clone', (0x40000000 | 0x800,), 'EPERM', ''),
    ('clone3', (0, 0), 'ENOSYS', ''),
    ('fsopen', (0, 0xff), 'ENOSYS', 'root'),
    ('fsmount', (-1, 0xff, 0), 'ENOSYS', ''),
    ('move_mount', (-1, b'', -1, b'', 0x7fffffff), 'ENOSYS', ''),
    ('open_tree', (-1, b'', 0x7fffffff), 'ENOSYS', ''),
    ('io_uring_setup', (0, 0), 'ENOSYS', ''),
    ('io_uring_enter', (-1, 0, 0, 0, 0, 0), 'ENOSYS', ''),
    (SOCKET, (AF_VSOCK, 99, 0), 'EAFNOSUPPORT', ''),
    (SOCKET, (AF_VSOCK | 1 << 32, 99, 0), 'EAFNOSUPPORT', ''),
    (SOCKET, (AF_ALG, 99, 0), 'EAFNOSUPPORT', ''),
    (SOCKET, (17, 99, 0), 'EAFNOSUPPORT', ''),
    (SOCKET, (16, 3, 9), 'EPROTONOSUPPORT', ''),
    (SOCKET, (2, 3, 1), 'EPERM', 'root'),
    (SOCKET, (2 | 1 << 32, 3 | 0x80000, 1), 'EPERM', 'root'),
    (SOCKET, (10, 3, 1), 'EPERM', 'root'),
    ('ioctl', (0, 0x5412, b'x'), 'EPERM', ''),
    ('ioctl', (0, 0x5412 | 1 << 32, b'x'), 'EPERM', ''),
    ('ioctl', (0, 0x541c, b'x'), 'EPERM', ''),
]


def calls():
    """inside | outside: each call is denied here as it should be, or is not denied at all."""
    inside, bad, count = sys.argv[2] == 'inside', 0, 0
    for name, args, expected, who in CALLS:
        got = call(name, *args)
        if got == 'unknown' or not inside and (who == 'root' and os.geteuid() != 0 or got in ('ENOSYS', 'EAFNOSUPPORT')):
            continue
        count += 1
        if (got == expected) != inside:
            print(f'{name}{args}: {got}')
            bad = 1
    print(f'{count} calls')
    return bad


def allowed():
    """What programs need is as it was."""
    results = {
        'unix': told(socket.socket, socket.AF_UNIX),
        'inet': told(socket.socket, socket.AF_INET),
        'udp6': told(socket.socket, socket.AF_INET6, socket.SOCK_DGRAM),
        'route': told(socket.socket, 16, socket.SOCK_RAW, 0),
        'interfaces': told(socket.if_nameindex),
        'fork': told(lambda: os.waitpid(os.fork() or os._exit(0), 0)),
        'ptrace': call('ptrace', 0, 0, 0, 0),
        'personality': call('personality', 0xffffffff),
    }
    ran = []
    thread = threading.Thread(target=ran.append, args=(1,))
    thread.start()
    thread.join()
    results['thread'] = 'ok' if ran else 'none'
    print(' '.join(f'{k}={v}' for k, v in results.items()))
    return 0


def tries():
    """Each word is VERB:ARGUMENT..., separated by colons; prints how each went."""
    doing = {
        'read': lambda p: open(p, 'rb').read(1),
        'list': os.listdir,
        'write': lambda p: open(p, 'ab').close(),
        'create': lambda p: open(p, 'xb').close(),
        'truncate': lambda p: os.truncate(p, 0),
        'mkdir': os.mkdir,
        'remove': os.remove,
        'symlink': lambda p: os.symlink('x', p),
        'rename': os.rename,
        'link': os.link,
        'run': lambda p: os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(p, [p], {}), 0)[1]),
        'terminal': lambda p: os.get_terminal_size(os.open(p, os.O_RDWR | os.O_NOCTTY)),
        'connect': lambda p: socket.create_connection(('127.0.0.1', int(p)), 5),
        'listen': lambda p: socket.create_server(('127.0.0.1', int(p))),
        'udp': lambda p: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', int(p))),
        'mptcp': lambda p: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(('127.0.0.1', int(p))),
        'fastopen': lambda p: socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', int(p))),
        'abstract': lambda p: socket.socket(socket.AF_UNIX).connect('\0' + p),
        'socket': lambda p: socket.socket(socket.AF_UNIX).connect(p),
        'kill': lambda p: os.kill(int(p), 0),
        'environ': lambda p: open(f'/proc/{p}/environ', 'rb').read(1),
        'fd': lambda p: os.fstat(int(p)),
        'chmod': lambda p: os.chmod(p, 0o600),
    }
    for word in sys.argv[2:]:
        verb, *args = word.split(':')
        print(verb, told(doing[verb], *args))
    return 0


def serve():
    """Listens on a TCP port, on an abstract socket and on a path; prints the port and waits for its input's end."""
    tcp, abstract, path = socket.create_server(('127.0.0.1', 0)), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    abstract.bind('\0' + sys.argv[2])
    path.bind(sys.argv[2])
    for s in (abstract, path):
        s.listen()
    print(tcp.getsockname()[1], flush=True)
    sys.stdin.read()
    return 0


def signals():
    """The signals that are ignored or blocked."""
    print([int(s) for s in signal.valid_signals() if signal.getsignal(s) == signal.SIG_IGN and s not in (signal.SIGPIPE, signal.SIGXFSZ)],
          [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])])
    return 0


def capabilities():
    print(''.join(line for line in open('/proc/self/status') if line.startswith(('Cap', 'NoNewPrivs', 'Seccomp:'))))
    return 0


sys.exit(globals()[sys.argv[1]]())
