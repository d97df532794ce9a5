"""Ways through the kernel: namespaces, calls that reach all of the machine, and what all share."""
import ctypes
import os

from escape import Absent, secret, told, way
from ways_processes import escape

libc = ctypes.CDLL(None, use_errno=True)


def by_program(name, proof, needs, *words):
    """A way that the C program tries; a word that begins with @ is a place."""

    @way(name, proof, needs)
    def runs(places):
        values = [getattr(places, word[1:], None) if word.startswith('@') else word for word in words]
        if None in values:
            raise Absent(f'no {words}')
        return escape(places, *values)


by_program('user-namespace', told, 'kernel', 'userns')
by_program('user-namespace-by-clone', told, 'kernel', 'userns-clone')
by_program('user-namespace-by-clone3', told, 'kernel', 'userns-clone3')
by_program('user-namespace-32bit', told, 'kernel', 'userns-32bit')
by_program('mount-in-a-namespace', told, 'kernel', 'userns-mount')
by_program('system-v-shared-memory', secret, 'kernel', 'shm', '@shm_key')
by_program('system-v-message-queue', secret, 'kernel', 'msg', '@shm_key')
by_program('posix-message-queue', secret, 'kernel', 'mq', '@posix_mq')
by_program('key-of-the-user', secret, 'kernel', 'key', '@user_key')
by_program('a-key-for-others', told, 'kernel', 'key-put', 'mas-test-left', 'x')
by_program('io-uring', told, 'kernel', 'io-uring')
by_program('bpf', told, 'kernel', 'bpf')
by_program('perf', told, 'kernel', 'perf')
by_program('userfaultfd', told, 'kernel', 'userfaultfd')
by_program('fanotify', told, 'root', 'fanotify')
by_program('ports', told, 'kernel', 'iopl')
by_program('attributes-of-a-file', told, 'kernel', 'attributes', 'own')
by_program('attributes-by-name', told, 'kernel', 'attributes-by-name', 'own')
by_program('clock', told, 'root', 'clock')
by_program('host-name', told, 'root', 'hostname')
by_program('kernel-log-call', told, 'kernel', 'syslog')


@way('load-a-module', told, needs='kernel')
def module(_places):
    # an empty file is no module: with the right it is ENOEXEC or EINVAL, without EPERM
    fd = os.memfd_create('module')
    libc.syscall(313, fd, b'', 0)
    error = ctypes.get_errno()
    if error in (1, 13, 38):
        raise OSError(error, os.strerror(error))
    return os.strerror(error)
