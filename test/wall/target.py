"""What an agent must not reach: a process of the same user outside of every wall.

    target.py FILE PLACES...     writes FILE, which says where everything is: PLACES (KEY=VALUE) and its
                                 own. FILE.agent is the same without the secret. On SIGTERM it writes
                                 what it has noticed into FILE.record, and ends.

It has the secret in its memory, its environment, an open file, shared memory, a message queue and a key
of its user; it answers with it on sockets of all kinds; it has a terminal; it notices signals, changes
of its limits, and what comes on its terminal.
"""
import ctypes
import json
import os
import pwd
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import tty

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
IPC_CREAT, IPC_RMID = 0o1000, 0

places = dict(word.split('=', 1) for word in sys.argv[2:])
places = {key: int(value) if value.isdigit() else value for key, value in places.items()}
secret = places['secret'] = os.environ.get('VICTIM_SECRET') or 'secret-' + os.urandom(16).hex()
record = {}
undo = []
streams, datagrams = [], []


def listen(family, address, kind=socket.SOCK_STREAM):
    s = socket.socket(family, kind)
    s.bind(address)
    if kind == socket.SOCK_STREAM:
        s.listen(16)
        streams.append(s)
    else:
        datagrams.append(s)
    return s


def make_directory(path):
    """A directory of the machine, for as long as the target runs if there was none."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for name in reversed(missing):
        os.mkdir(name, 0o700)
        undo.append(lambda name=name: os.rmdir(name))


def listen_at(path):
    """A socket of a service, in the place where programs look for it."""
    try:
        make_directory(os.path.dirname(path))
        listen(socket.AF_UNIX, path)
        undo.append(lambda: os.unlink(path))
        return path
    except OSError as e:
        return f'absent: {e}'


def make_files():
    home = os.path.expanduser('~')
    os.makedirs(home + '/.ssh', exist_ok=True)
    places['home'] = home
    places['key'] = home + '/.ssh/id_ed25519'
    for name in (places['key'], home + '/.bashrc', home + '/.profile', home + '/.netrc'):
        with open(name, 'w', encoding='utf-8') as f:
            f.write(secret + '\n')
    places['fd'] = os.open(places['key'], os.O_RDONLY)
    os.chdir(home + '/.ssh')
    # a handle of the secret file, as open_by_handle_at takes it
    handle = ctypes.create_string_buffer(8 + 128)
    ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint32))[0] = 128
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, places['key'].encode(), handle, ctypes.byref(mount), 0) == 0:
        places['handle'] = handle.raw.hex()
    # a program of another user, which has the rights of that user
    if os.getuid() == 0:
        places['setuid'] = places['readable'] + '/setuid'
        shutil.copy(shutil.which('id'), places['setuid'])
        os.chown(places['setuid'], pwd.getpwnam('nobody').pw_uid, -1)
        os.chmod(places['setuid'], 0o4755)
        # whoever writes here has programs run by others, later
        make_directory('/var/spool/cron/atjobs')
        make_directory('/var/spool/cron/crontabs')


def make_shared():
    number = os.getpid()
    places['shm_key'] = key = 0x6D610000 + number % 65536
    shm = libc.shmget(key, 4096, IPC_CREAT | 0o600)
    if shm != -1:
        at = libc.shmat(shm, None, 0)
        ctypes.memmove(at, secret.encode(), len(secret))
        undo.append(lambda: libc.shmctl(shm, IPC_RMID, None))
    queue = libc.msgget(key, IPC_CREAT | 0o600)
    if queue != -1:
        message = ctypes.create_string_buffer((1).to_bytes(8, 'little') + secret.encode())
        libc.msgsnd(queue, message, len(secret), 0)
        undo.append(lambda: libc.msgctl(queue, IPC_RMID, None))
    places['posix_shm'] = f'/dev/shm/mas-test-shm-{number}'
    with open(places['posix_shm'], 'w', encoding='utf-8') as f:
        f.write(secret)
    undo.append(lambda: os.unlink(places['posix_shm']))
    places['posix_mq'] = f'/mas-test-mq-{number}'
    if subprocess.run([places['escape'], 'mq-put', places['posix_mq'], secret], check=False).returncode == 0:
        undo.append(lambda: subprocess.run([places['escape'], 'mq-drop', places['posix_mq']], check=False))
    places['user_key'] = f'mas-test-{number}'
    if subprocess.run([places['escape'], 'key-put', places['user_key'], secret], check=False).returncode == 0:
        undo.append(lambda: subprocess.run([places['escape'], 'key-drop', places['user_key']], check=False))


def own_addresses():
    """This machine's addresses beside the loopback: (family, address)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(('192.0.2.1', 9))
            if not s.getsockname()[0].startswith('127.'):
                yield socket.AF_INET, s.getsockname()[0]
        except OSError:
            pass
    try:
        with open('/proc/net/if_inet6', encoding='utf-8') as f:
            for line in f:
                word = line.split()
                if word[0].startswith('fe80'):
                    text = ':'.join(word[0][i : i + 4] for i in range(0, 32, 4))
                    yield socket.AF_INET6, f'{text}%{word[5]}'
    except OSError:
        pass


def make_sockets():
    places['loopback'] = listen(socket.AF_INET, ('127.0.0.1', 0)).getsockname()[1]
    try:
        places['loopback6'] = listen(socket.AF_INET6, ('::1', 0)).getsockname()[1]
    except OSError:
        pass
    places['dns'] = listen(socket.AF_INET, ('127.0.0.1', 0), socket.SOCK_DGRAM).getsockname()[1]
    places['own'] = []
    for family, address in own_addresses():
        try:
            scope = socket.getaddrinfo(address, 0, family)[0][4]
            places['own'].append([address, listen(family, scope).getsockname()[1]])
        except OSError:
            pass
    number, user = os.getpid(), os.getuid()
    places['abstract'] = f'mas-test-{number}'
    listen(socket.AF_UNIX, '\0' + places['abstract'])
    places['abstract_x11'] = f'/tmp/.X11-unix/X{number}'
    listen(socket.AF_UNIX, '\0' + places['abstract_x11'])
    listen(socket.AF_UNIX, '\0' + places['abstract'] + '-d', socket.SOCK_DGRAM)
    places['x11'] = listen_at(f'/tmp/.X11-unix/X{number}')
    ssh = tempfile.mkdtemp(prefix='ssh-', dir='/tmp')
    undo.append(lambda: os.rmdir(ssh))
    places['ssh_agent'] = listen_at(f'{ssh}/agent.{number}')
    places['dbus'] = listen_at(f'/run/user/{user}/mas-test-bus-{number}')
    places['system_bus'] = listen_at(f'/run/dbus/mas-test-bus-{number}')
    places['systemd'] = listen_at(f'/run/user/{user}/systemd/mas-test-private-{number}')
    places['service'] = listen_at(f'/tmp/mas-test-service-{number}')


def make_terminal():
    master, slave = os.openpty()
    tty.setraw(slave)
    places['tty'] = os.ttyname(slave)
    return master, slave


def put(file, value):
    with open(file + '.new', 'w', encoding='utf-8') as f:
        json.dump(value, f)
    os.rename(file + '.new', file)


def notice(number, _frame):
    record[f'signal {signal.Signals(number).name}'] = True


def finish():
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 333:
        record['limit'] = True
    if os.getpriority(os.PRIO_PROCESS, 0) == 7:
        record['priority'] = True
    if len(os.sched_getaffinity(0)) != places['processors']:
        record['affinity'] = True
    put(places['record'], record)
    for function in reversed(undo):
        try:
            function()
        except OSError as e:
            print(f'target.py: {e}', file=sys.stderr)
    sys.exit(0)


def main():
    file = sys.argv[1]
    # the environment of a process is what it was started with
    if 'VICTIM_SECRET' not in os.environ:
        os.environ['VICTIM_SECRET'] = secret
        os.execv(sys.executable, [sys.executable, '-ES', *sys.argv])
    memory = ctypes.create_string_buffer(secret.encode())
    places.update(pid=os.getpid(), address=ctypes.addressof(memory), length=len(memory.value),
                  record=file + '.record', processors=len(os.sched_getaffinity(0)))
    make_files()
    make_shared()
    make_sockets()
    master, slave = make_terminal()
    # a program that debuggers may look at, as most are
    libc.prctl(4, 1, 0, 0, 0)
    for name in ('SIGUSR1', 'SIGUSR2', 'SIGURG', 'SIGIO', 'SIGHUP'):
        signal.signal(getattr(signal, name), notice)
    ends = []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(True))
    put(file + '.agent', {key: value for key, value in places.items() if key != 'secret'})
    put(file, places)
    while not ends:
        try:
            ready, _, _ = select.select([*streams, *datagrams, master, slave], [], [], 0.2)
        except InterruptedError:
            continue
        for s in ready:
            if s == master:
                record['terminal output'] = os.read(master, 1000).decode(errors='replace')
            elif s == slave:
                record['terminal input'] = os.read(slave, 1000).decode(errors='replace')
            elif s in datagrams:
                _, peer = s.recvfrom(2000)
                record[f'datagram {s.family.name}'] = True
                if peer:
                    s.sendto(secret.encode(), peer)
            else:
                connection, _ = s.accept()
                with connection:
                    try:
                        connection.sendall(secret.encode())
                    except OSError:
                        pass
    finish()


main()
