"""Ways to files: by their names, by links and mounts, and through what others have open."""
import ctypes
import fcntl
import os
import signal
import subprocess

from escape import Absent, first, ident, reach, same, secret, told, way

libc = ctypes.CDLL(None, use_errno=True)
WRITE = os.O_WRONLY | os.O_APPEND


def check(result):
    if result == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


# Each of these is opened by its name, to read it or to write to it. A path begins with the name of a
# place.
READ = {
    'read-settings-of-the-root': 'root/mas.ini',
    'read-the-root': 'root',
    'read-templates': 'root/templates/agents.ini',
    'read-own-config': 'session/config.json',
    'read-own-session-file': 'session/.session',
    'read-own-memory': 'session/memory.db',
    'read-own-run-directory': 'session/run',
    'read-own-logs': 'session/logs/session.log',
    'read-unit-of-a-peer': 'session/unit/good/AGENTS.md',
    'read-other-sessions': 'root/sessions',
    'read-config-of-other-session': 'other/config.json',
    'read-memory-of-other-session': 'other/memory.db',
    'read-unit-of-other-session': 'other/unit/solo/AGENTS.md',
    'read-index-of-sessions': 'root/sessions/.sessions.index',
    'read-ssh-key': 'key',
    'read-netrc': 'home/.netrc',
    'read-home': 'home',
    'read-user-settings': 'home/.config/mas/mas.ini',
    'read-known-roots': 'home/.local/state/mas/roots',
}
WRITTEN = {
    'write-settings-of-the-root': 'root/mas.ini',
    'write-templates': 'root/templates/agents.ini',
    'write-own-config': 'session/config.json',
    'write-own-session-file': 'session/.session',
    'write-own-memory': 'session/memory.db',
    'write-own-logs': 'session/logs/session.log',
    'write-run-directory': 'session/run',
    'write-session-directory': 'session',
    'write-unit-of-a-peer': 'session/unit/good/AGENTS.md',
    'write-tree-of-a-peer': 'session/code/good',
    'write-hooks-of-a-peer': 'session/code/good/.git',
    'write-git-config-of-a-peer': 'session/code/good/.git/config',
    'write-refs-of-a-peer': 'session/code/good/.git/refs/heads',
    'write-alternates-of-a-peer': 'session/code/good/.git/objects/info',
    'write-workflows': 'session/workflows',
    'write-hooks-of-the-team': 'session/code.git',
    'write-git-config-of-the-team': 'session/code.git/config',
    'write-refs-of-the-team': 'session/code.git/refs',
    'write-objects-of-the-team': 'session/code.git/objects',
    'write-project': 'project',
    'write-hooks-of-the-project': 'project/.git/hooks',
    'write-objects-of-the-project': 'project/.git/objects',
    'write-config-of-other-session': 'other/config.json',
    'write-bashrc': 'home/.bashrc',
    'write-home': 'home',
    'write-user-settings': 'home/.config/mas/mas.ini',
    'write-known-roots': 'home/.local/state/mas/roots',
    'write-tmux-directory': 'tmux_dir',
}


def place(places, path):
    if path.startswith('/'):
        return path
    key, _, rest = path.partition('/')
    value = getattr(places, key, None)
    if value is None:
        raise Absent(f'no {key}')
    return f'{value}/{rest}' if rest else value


def by_name(name, path, flags, needs='nothing'):
    def proof(places, got, _record):
        return got == ident(place(places, path))

    @way(name, proof, needs)
    def opens(places):
        return reach(place(places, path), flags)


for NAME, PATH in READ.items():
    by_name(NAME, PATH, os.O_RDONLY)
for NAME, PATH in WRITTEN.items():
    by_name(NAME, PATH, WRITE)
by_name('write-mas-itself', 'mas_dir', WRITE, 'root')


@way('climb-by-dot-dot', same('key'))
def climb(places):
    # from each directory that can be named, as some may be mounts
    starts = [os.getcwd(), places.unit, '/proc/self/cwd', '/tmp']
    return first(lambda s=s: reach(s + '/..' * 40 + places.key) for s in starts)


@way('symbolic-link', same('key'))
def symbolic(places):
    os.symlink(places.key, 'link')
    try:
        return reach('link')
    finally:
        os.unlink('link')


@way('hard-link', same('key'))
def hard(places):
    os.link(places.key, 'hard')
    try:
        return reach('hard')
    finally:
        os.unlink('hard')


F_SETLEASE, F_NOTIFY = 1024, 1026


def held_up(name, path):
    """A lease on a file that is only read stalls whoever opens it to write, or at all."""

    @way(name, told, needs='kernel')
    def leases(places):
        fd = os.open(place(places, path), os.O_RDONLY)
        try:
            # a lease that is to be given back is told by this signal, which would end the process
            signal.signal(signal.SIGIO, signal.SIG_IGN)
            return first(lambda k=kind: f'lease {fcntl.fcntl(fd, F_SETLEASE, k)}'
                         for kind in (fcntl.F_WRLCK, fcntl.F_RDLCK))
        finally:
            os.close(fd)


held_up('lease-of-the-team', 'session/code.git/HEAD')
held_up('lease-of-own-file', 'unit/AGENTS.md')
held_up('lease-of-the-system', '/etc/hosts')


@way('notices-of-a-directory', told, needs='kernel')
def notices(places):
    fd = os.open(place(places, 'session/code.git'), os.O_RDONLY)
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    return f'notice {fcntl.fcntl(fd, F_NOTIFY, 0x2)}'


def processes():
    return [name for name in os.listdir('/proc') if name.isdigit()] + ['self', 'thread-self']


def in_proc(places, text):
    """What /proc says of the victim, and of all processes that are seen."""
    return [f'/proc/{pid}/{text}' for pid in [places.pid, places.host, *processes()]]


@way('proc-root', same('key'))
def proc_root(places):
    return first(lambda p=p: found(reach(p + places.key), places) for p in in_proc(places, 'root'))


@way('proc-cwd', same('key'))
def proc_cwd(places):
    return first(lambda p=p: found(reach(p + '/id_ed25519'), places) for p in in_proc(places, 'cwd'))


def found(got, places):
    """Inside of a wall ident() does not see the file; the judge does."""
    return got if ident(places.key) in (got, 'nothing') else None


@way('proc-fd', same('key'))
def proc_fd(places):
    def links():
        for directory in in_proc(places, 'fd'):
            try:
                names = os.listdir(directory)
            except OSError:
                continue
            for name in names:
                try:
                    if os.readlink(f'{directory}/{name}') == places.key:
                        yield lambda p=f'{directory}/{name}': reach(p)
                except OSError:
                    pass

    return first(links())


@way('proc-environ', secret)
def proc_environ(places):
    def read(path):
        with open(path, 'rb') as f:
            for variable in f.read().split(b'\0'):
                if variable.startswith(b'VICTIM_SECRET='):
                    return variable.decode()
        return None

    return first(lambda p=p: read(p) for p in in_proc(places, 'environ'))


@way('proc-mem', secret)
def proc_mem(places):
    with open(f'/proc/{places.pid}/mem', 'rb', 0) as f:
        f.seek(places.address)
        return f.read(places.length).decode()


@way('posix-shared-memory', secret)
def posix_shm(places):
    with open(places.posix_shm, encoding='utf-8') as f:
        return f.read()


@way('bind-mount', same('key'), needs='root')
def bind_mount(places):
    os.makedirs('mount', exist_ok=True)
    check(libc.mount(os.path.dirname(places.key).encode(), b'mount', None, 4096, None))
    try:
        return reach('mount/id_ed25519')
    finally:
        libc.umount2(b'mount', 2)


@way('new-mount-api', told, needs='root')
def new_mount_api(_places):
    # open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)
    os.close(check(libc.syscall(428, -100, b'/', 1 | os.O_CLOEXEC)))
    return 'a copy of a mount'


@way('unmount', told, needs='never')
def unmount(_places):
    # what covers something is a mount of the wall; outside nothing is unmounted
    with open('/proc/self/mountinfo', encoding='utf-8') as f:
        mounts = [line.split()[4] for line in f]
    if os.path.exists('/etc/hostname') and libc.geteuid() == 0 and has_cap_sys_admin():
        raise Absent('it would unmount something of the machine')
    return first(lambda m=m: unmounted(m) for m in reversed(mounts) if m != '/')


def unmounted(path):
    check(libc.umount2(path.encode(), 2))
    return path


def has_cap_sys_admin():
    with open('/proc/self/status', encoding='utf-8') as f:
        caps = next(line for line in f if line.startswith('CapEff'))
    return bool(int(caps.split()[1], 16) >> 21 & 1)


@way('open-by-handle', secret, needs='root')
def by_handle(places):
    if not hasattr(places, 'handle'):
        raise Absent('the file system has no handles')
    here = os.open('.', os.O_RDONLY)
    handle = ctypes.create_string_buffer(bytes.fromhex(places.handle))
    fd = check(libc.open_by_handle_at(here, handle, os.O_RDONLY))
    return os.read(fd, 100).decode()


@way('namespace-of-another', told, needs='root')
def join_namespace(places):
    return first(lambda p=p: joined(p) for p in (places.pid, places.host))


def joined(pid):
    fd = os.open(f'/proc/{pid}/ns/mnt', os.O_RDONLY)
    return check(libc.setns(fd, 0x20000)) == 0


@way('chroot', told, needs='root')
def change_root(_places):
    os.chroot('.')
    return 'a root of its own'


@way('make-a-device', told, needs='root')
def make_device(_places):
    os.mknod('disk', 0o60600, os.makedev(1, 0))
    os.unlink('disk')
    return 'a device'


def swapped(name, key):
    """What mas opens next below this name would be what the link names."""

    @way(name, told)
    def swap(places):
        path = getattr(places, key)
        os.rename(path, path + '.away')
        try:
            os.symlink(places.home, path)
            os.unlink(path)
            return 'a link'
        finally:
            os.rename(path + '.away', path)


swapped('swap-own-unit', 'unit')
swapped('swap-own-tree', 'tree')


def devices(names, flags):
    present = [name for name in names if os.path.exists(name)]
    if not present:
        raise Absent('there is none')
    return first(lambda n=n: opened(n, flags) for n in present)


def opened(name, flags):
    os.close(os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY))
    return name


@way('disk', told, needs='kernel')
def disk(_places):
    with open('/proc/partitions', encoding='utf-8') as f:
        names = ['/dev/' + line.split()[3] for line in f if len(line.split()) == 4 and line.split()[0].isdigit()]
    return devices(names, os.O_RDONLY)


@way('memory-of-the-kernel', told, needs='kernel')
def kernel_memory(_places):
    return devices(['/dev/mem', '/dev/kmem', '/dev/port', '/proc/kcore'], os.O_RDONLY)


@way('log-of-the-kernel', told, needs='kernel')
def kernel_log(_places):
    return devices(['/dev/kmsg', '/proc/kmsg'], os.O_RDONLY)


@way('proc-sys', told, needs='root')
def proc_sys(_places):
    return devices(['/proc/sys/kernel/core_pattern', '/proc/sys/vm/swappiness', '/proc/sysrq-trigger',
                    '/proc/irq/default_smp_affinity'], os.O_WRONLY)


@way('proc', told, needs='root')
def proc(_places):
    """Settings of the machine beside those in /proc/sys; /proc/mtrr asks for rights at each write."""
    found = []
    for directory, names, files in os.walk('/proc'):
        if directory == '/proc':
            names[:] = [name for name in names if not name.isdigit() and
                        name not in ('self', 'thread-self', 'sys', 'pressure', 'net')]
        found += [f'{directory}/{name}' for name in files
                  if name != 'mtrr' and os.lstat(f'{directory}/{name}').st_mode & 0o222]
    return first(lambda p=p: opened(p, os.O_WRONLY) for p in found)


def sys_files():
    for top in ('/sys/kernel', '/sys/module', '/sys/class/net', '/sys/block', '/sys/power'):
        for directory, _, names in os.walk(top):
            for name in names:
                path = f'{directory}/{name}'
                if os.stat(path).st_mode & 0o222:
                    yield path
            if directory.count('/') > 5:
                break


@way('sys', told, needs='root')
def sys(_places):
    return first(lambda p=p: opened(p, os.O_WRONLY) for p in list(sys_files())[:300])


@way('cgroup-files', told, needs='root')
def cgroups(_places):
    files = []
    for directory, _, names in os.walk('/sys/fs/cgroup'):
        files += [f'{directory}/{name}' for name in names if name == 'cgroup.procs']
    if not files:
        raise Absent('no cgroups')
    return first(lambda p=p: opened(p, os.O_WRONLY) for p in files[:100])


@way('a-new-cgroup', told, needs='kernel')
def new_cgroup(_places):
    def make(directory):
        os.mkdir(directory + '/mas-test-escape')
        os.rmdir(directory + '/mas-test-escape')
        return directory

    tops = ['/sys/fs/cgroup'] + [entry.path for entry in os.scandir('/sys/fs/cgroup') if entry.is_dir()]
    return first(lambda d=d: make(d) for d in tops)


def spool(name, places_of_it):
    @way(name, same(*places_of_it), needs='kernel')
    def writes(_places):
        there = [path for path in places_of_it if os.path.exists(path)]
        if not there:
            raise Absent('there is none')
        return first(lambda p=p: reach(p, WRITE) for p in there)


spool('at', ['/var/spool/at', '/var/spool/cron/atjobs', '/var/spool/atjobs'])
spool('cron', ['/var/spool/cron/crontabs', '/var/spool/cron', '/etc/cron.d', '/etc/crontab'])
spool('system-settings', ['/etc/ld.so.preload', '/etc/profile', '/etc', '/usr/local/bin', '/usr/bin'])


@way('setuid-program', told, needs='root')
def setuid(places):
    if not hasattr(places, 'setuid'):
        raise Absent('only root can make one')
    done = subprocess.run([places.setuid, '-u'], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.stdout.split()[:1] != [str(os.getuid())] else None
