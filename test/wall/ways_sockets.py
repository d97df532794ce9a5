"""Ways out by sockets: services of the user, tmux, hosts, and the network."""
import os
import socket
import struct
import subprocess

from escape import Absent, first, noticed, secret, told, way


def answer_of(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as s:
        s.settimeout(2)
        s.connect(address)
        if kind == socket.SOCK_DGRAM:
            s.send(b'hello')
        return s.recv(200).decode(errors='replace')


def service(name, key, needs='nothing'):
    @way(name, secret, needs)
    def connects(places):
        path = getattr(places, key)
        if path.startswith('absent'):
            raise Absent(path)
        return answer_of(socket.AF_UNIX, path)


service('dbus', 'dbus', 'kernel')  # these where the target may make a socket there
service('dbus-of-the-system', 'system_bus', 'kernel')
service('ssh-agent', 'ssh_agent')
service('x11', 'x11')
service('user-manager', 'systemd', 'kernel')
service('service-in-tmp', 'service')


@way('ssh-agent-of-the-environment', told, needs='kernel')
def ssh_variable(_places):
    path = os.environ.get('SSH_AUTH_SOCK')
    if not path:
        raise Absent('no SSH_AUTH_SOCK')
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
    return path


@way('abstract-socket', secret)
def abstract(places):
    return answer_of(socket.AF_UNIX, '\0' + places.abstract)


@way('abstract-datagram', noticed('datagram AF_UNIX'))
def abstract_datagram(places):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b'hello', '\0' + places.abstract + '-d')


@way('abstract-x11', secret)
def abstract_x11(places):
    return answer_of(socket.AF_UNIX, '\0' + places.abstract_x11)


def host_of(name, key):
    def proof(_places, got, _record):
        return bool(got)

    @way(name, proof)
    def connects(places):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(2)
            s.connect(getattr(places, key))
            return 'connected'


host_of('host-of-other-session', 'other_socket')
host_of('host-of-a-peer', 'peer_socket')
host_of('own-host', 'own_socket')


def tmux_places(places):
    """Where a server's socket can be."""
    user = os.getuid()
    yield places.tmux
    yield from (os.environ.get('TMUX', '').split(',')[:1] if os.environ.get('TMUX') else [])
    for directory in (f'{places.tmux_dir}/tmux-{user}', f'/tmp/tmux-{user}', places.tmux_dir):
        try:
            yield from (f'{directory}/{name}' for name in os.listdir(directory))
        except OSError:
            pass


@way('tmux-socket', told)
def tmux_socket(places):
    def connects(path):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
        return path

    return first(lambda p=p: connects(p) for p in tmux_places(places))


@way('tmux-command', told)
def tmux_command(places):
    def runs(path):
        done = subprocess.run(['tmux', '-S', path, 'list-sessions'], capture_output=True, text=True, check=False,
                              timeout=5)
        return done.stdout if done.returncode == 0 else None

    return first(lambda p=p: runs(p) for p in tmux_places(places))


@way('tmux-variable', told, needs='kernel')
def tmux_variable(_places):
    return os.environ.get('TMUX')


# The network. These are what `wall.network = none` holds.


@way('loopback', secret, group='network')
def loopback(places):
    return answer_of(socket.AF_INET, ('127.0.0.1', places.loopback))


@way('loopback-other-address', secret, group='network')
def loopback_zero(places):
    return answer_of(socket.AF_INET, ('0.0.0.0', places.loopback))


@way('loopback-6', secret, group='network', needs='kernel')
def loopback6(places):
    if not hasattr(places, 'loopback6'):
        raise Absent('no IPv6')
    return answer_of(socket.AF_INET6, ('::1', places.loopback6))


@way('own-addresses', secret, group='network', needs='kernel')
def own_addresses(places):
    if not places.own:
        raise Absent('only a loopback')

    def ask(address, port):
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        return answer_of(found[0], found[4])

    return first(lambda a=a: ask(*a) for a in places.own)


@way('link-local', secret, group='network', needs='kernel')
def link_local(places):
    local = [entry for entry in places.own if entry[0].startswith('fe80')]
    if not local:
        raise Absent('no link-local address')
    found = socket.getaddrinfo(*local[0], type=socket.SOCK_STREAM)[0]
    return answer_of(found[0], found[4])


@way('dns-on-the-loopback', secret, group='network')
def dns_local(places):
    return answer_of(socket.AF_INET, ('127.0.0.1', places.dns), socket.SOCK_DGRAM)


@way('dns-server', told, group='network', needs='kernel')
def dns_server(_places):
    with open('/etc/resolv.conf', encoding='utf-8') as f:
        servers = [line.split()[1] for line in f if line.startswith('nameserver')]
    if not servers:
        raise Absent('no name server')
    query = struct.pack('>HHHHHH', 7, 256, 1, 0, 0, 0) + b'\x07example\x00\x00\x01\x00\x01'
    with socket.socket(socket.AF_INET6 if ':' in servers[0] else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.connect((servers[0], 53))
        s.send(query)
        return len(s.recv(2000))


@way('interfaces', told, group='network', needs='kernel')
def interfaces(_places):
    return ' '.join(name for _, name in socket.if_nameindex() if name != 'lo')


@way('raw-socket', told, group='network', needs='root')
def raw(_places):
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return 'a raw socket'


@way('packet-socket', told, group='network', needs='root')
def packet(_places):
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    return 'a packet socket'


@way('vsock', told, group='network', needs='kernel')
def vsock(_places):
    # a virtual machine's way to its host, which no network namespace closes
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    return 'a socket to the host of the machine'
