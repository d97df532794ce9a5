"""Ways to processes outside: looking into them, signals, their limits and their terminals."""
import ctypes
import fcntl
import os
import resource
import signal
import socket
import subprocess

from escape import Absent, first, noticed, secret, told, way

libc = ctypes.CDLL(None, use_errno=True)


def escape(places, *words):
    """Runs the C program, whose output is what it got hold of."""
    done = subprocess.run([places.escape, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        raise Absent(done.stderr.strip())
    if done.returncode != 0:
        raise OSError(done.returncode, done.stderr.strip())
    return done.stdout


@way('inherited-descriptors', told, needs='never')
def inherited(places):
    return ' '.join(map(str, places.inherited))


@way('process-vm-readv', secret)
def vm_readv(places):
    return escape(places, 'readv', places.pid, places.address, places.length)


@way('ptrace', secret)
def ptrace(places):
    return escape(places, 'ptrace', places.pid, places.address, places.length)


@way('ptrace-the-host', told)
def ptrace_host(places):
    # only seized, so that it goes on
    return escape(places, 'seize', places.host)


@way('take-a-descriptor', secret)
def pidfd_getfd(places):
    return escape(places, 'getfd', places.pid, places.fd)


@way('signal', noticed('signal SIGUSR1'))
def sends_signal(places):
    os.kill(places.pid, signal.SIGUSR1)


@way('signal-by-descriptor', noticed('signal SIGUSR2'))
def sends_by_descriptor(places):
    signal.pidfd_send_signal(os.pidfd_open(places.pid), signal.SIGUSR2)


@way('signal-by-owner', noticed('signal SIGURG'))
def sends_by_owner(places):
    ours, theirs = socket.socketpair()
    fcntl.fcntl(ours, fcntl.F_SETOWN, places.pid)
    fcntl.fcntl(ours, 10, signal.SIGURG)  # F_SETSIG
    fcntl.fcntl(ours, fcntl.F_SETFL, fcntl.fcntl(ours, fcntl.F_GETFL) | os.O_ASYNC)
    theirs.send(b'x')


@way('signal-queued', noticed('signal SIGHUP'))
def sends_queued(places):
    info = (ctypes.c_int * 32)(signal.SIGHUP, 0, -1)
    if libc.syscall(129, places.pid, signal.SIGHUP, info) == -1:
        raise OSError(ctypes.get_errno(), 'rt_sigqueueinfo')


@way('signal-the-host', told)
def signals_host(places):
    os.kill(places.host, 0)
    return 'may signal it'


@way('signal-the-supervisor', told)
def signals_supervisor(places):
    os.kill(places.supervisor, 0)
    return 'may signal it'


@way('signal-the-host-of-a-peer', told)
def signals_peer(places):
    os.kill(places.peer_host, 0)
    return 'may signal it'


@way('limits-of-another', noticed('limit'))
def limits(places):
    hard = resource.prlimit(places.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(places.pid, resource.RLIMIT_NOFILE, (333, hard))


@way('priority-of-another', noticed('priority'))
def priority(places):
    os.setpriority(os.PRIO_PROCESS, places.pid, 7)


@way('processors-of-another', noticed('affinity'), needs='kernel')
def processors(places):
    if places.processors < 2:
        raise Absent('there is one processor')
    os.sched_setaffinity(places.pid, {0})


@way('write-to-a-terminal', noticed('terminal output'))
def writes_terminal(places):
    fd = os.open(places.tty, os.O_WRONLY | os.O_NOCTTY)
    os.write(fd, b'hello')


@way('type-into-a-terminal', noticed('terminal input'), needs='root')
def types_terminal(places):
    escape(places, 'type', places.tty)


@way('any-terminal', told)
def any_terminal(_places):
    own = os.ttyname(0)
    names = [name for name in os.listdir('/dev/pts') if name.isdigit()]

    def open_it(path):
        if os.path.exists(path) and os.stat(path).st_rdev != os.fstat(0).st_rdev and path != own:
            os.close(os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK))
            return path
        return None

    return first(lambda n=n: open_it(f'/dev/pts/{n}') for n in names)


# Typing into its own terminal reaches whoever reads it next.
for KIND in ('type', 'type-high', 'type-32bit'):

    def types_own(places, kind=KIND):
        return escape(places, kind, '/proc/self/fd/0')

    way(f'own-terminal-{KIND}', told, needs='kernel')(types_own)


@way('paste-into-own-terminal', told, needs='kernel')
def linux_console(places):
    return escape(places, 'paste', '/proc/self/fd/0')


@way('core-dumps', told, needs='kernel')
def core_dumps(_places):
    # where a core goes is a setting of the machine, and often a program that runs outside
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    return 'cores of any size' if hard != 0 else None


@way('new-privileges', told, needs='kernel')
def new_privileges(_places):
    return 'programs may gain rights' if libc.prctl(39, 0, 0, 0, 0) == 0 else None


@way('more-capabilities', told, needs='root')
def capabilities(_places):
    with open('/proc/self/status', encoding='utf-8') as f:
        have = {line.split(':')[0]: line.split()[1] for line in f if line.startswith('Cap')}
    return have['CapEff'] if int(have['CapEff'], 16) or int(have['CapPrm'], 16) else None
