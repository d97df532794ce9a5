"""The servers and the tries of network.bats.

network.py serve NAME DIR ADDRESS:PORT...   servers that answer with NAME; tells DIR/ready.NAME
network.py try KIND ARGUMENT...             prints one line: what came of it
network.py tries                            the same for each line of stdin, and prints those that do not
                                            end in "= RESULT"

A server of HTTP and of bare connections in one: it answers the first line that it gets. /to/URL is a
redirect. The one that is called "world" also listens for DNS and notes what it is asked for.
"""

import re
import resource
import shlex
import socket
import sys
import threading

PROXY = ("127.0.0.1", 3128)
SOCKS = ("127.0.0.1", 1080)


def answer(connection, name):
    with connection:
        connection.settimeout(20)
        line = connection.recv(65536)
        words = line.split()
        if len(words) > 1 and words[1].startswith(b"/to/"):
            head = b"HTTP/1.1 302 Found\r\nLocation: " + words[1][4:] + b"\r\n"
        else:
            head = b"HTTP/1.1 200 OK\r\n"
        body = name.encode() + b" " + (words[1] if len(words) > 1 else b"") + b"\n"
        connection.sendall(head + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)


def serve(name, directory, *places):
    listeners = []
    for place in places:
        host, port = place.rsplit(":", 1)
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, int(port)))
        listener.listen(64)
        listeners.append(listener)

    def accept(listener):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer, args=(connection, name), daemon=True).start()

    def dns():
        listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listener.bind(("9.9.9.2", 53))
        while True:
            question, asker = listener.recvfrom(4096)
            with open(directory + "/asked", "a", encoding="ascii") as asked:
                asked.write(ascii(question[12:]) + "\n")
            listener.sendto(question[:2] + b"\x81\x83" + question[4:6] + b"\0" * 6 + question[12:], asker)

    threads = [threading.Thread(target=accept, args=(one,)) for one in listeners]
    if name == "world":
        threads.append(threading.Thread(target=dns))
    for thread in threads:
        thread.start()
    with open(directory + "/ready." + name, "w", encoding="ascii") as ready:
        ready.write("ready\n")


def read_all(connection):
    data = b""
    try:
        while len(data) < 65536:
            more = connection.recv(65536)
            if not more:
                break
            data += more
    except OSError:
        pass
    return data


def said(data):
    """The answer in a word: who answered, a status of HTTP, or nothing."""
    match = re.search(rb"^(world|mine)\b", data, re.M)
    if match:
        return match.group(1).decode()
    match = re.match(rb"HTTP/1\.\d (\d+)", data)
    return match.group(1).decode() if match else "nothing"


def connect(address, timeout=10):
    connection = socket.create_connection(address, timeout)
    connection.settimeout(timeout)
    return connection


def raw(text):
    """Says it to tinyproxy as it is."""
    with connect(PROXY) as connection:
        connection.sendall(text.encode("latin-1").decode("unicode_escape").encode("latin-1"))
        return said(read_all(connection))


def through(target):
    """CONNECT, then a request in what it has opened."""
    with connect(PROXY) as connection:
        connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            more = connection.recv(4096)
            if not more:
                return said(head)
            head += more
        if b" 200 " not in head.split(b"\r\n")[0]:
            return said(head)
        connection.sendall(b"GET /x HTTP/1.0\r\n\r\n")
        return said(read_all(connection))


def socks(host, port):
    """Asks the gate itself, without tinyproxy."""
    with connect(SOCKS) as connection:
        connection.sendall(b"\5\1\0")
        connection.recv(2)
        try:
            packed = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
            where = (b"\4" if ":" in host else b"\1") + packed
        except OSError:
            name = host.encode("latin-1").decode("unicode_escape").encode("latin-1")
            where = b"\3" + bytes([len(name)]) + name
        connection.sendall(b"\5\1\0" + where + int(port).to_bytes(2, "big"))
        reply = connection.recv(10)
        if reply[1:2] != b"\0":
            return "refused" if reply[1:2] == b"\2" else f"failed {reply[1] if reply else '?'}"
        connection.sendall(b"GET /x HTTP/1.0\r\n\r\n")
        return said(read_all(connection))


def bare(text):
    """Says it to the gate as it is: its answers in hexadecimal, until it hangs up."""
    with connect(SOCKS, 30) as connection:
        connection.sendall(text.encode("latin-1").decode("unicode_escape").encode("latin-1"))
        return read_all(connection).hex() or "nothing"


def long(count):
    """A request with so many bytes of headers. Whether the refusal arrives, or the end of what nobody
    reads comes first, is a matter of time."""
    try:
        result = raw("GET http://good.test/ HTTP/1.0\\r\\nX: " + "a" * int(count) + "\\r\\n\\r\\n")
    except ConnectionError:
        return "ended"
    return "ended" if result in ("400", "nothing") else result


def crowd(count):
    """So many connections that say nothing, or half of a greeting, and one good one behind them."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, int(count) + 100), most))
    crowd = []
    for i in range(int(count)):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(SOCKS if i % 3 else PROXY)
        crowd.append(one)
    for one in crowd[::2]:
        try:
            one.send(b"\5")
        except OSError:
            pass
    for one in crowd:
        one.close()
    return socks("good.test", 443)


def direct(host, port):
    """A connection without any proxy."""
    with connect((host, int(port)), 3) as connection:
        connection.sendall(b"GET /x HTTP/1.0\r\n\r\n")
        return said(read_all(connection))


def datagram(host, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(1)
        question = b"\1\2\1\0\0\1\0\0\0\0\0\0\6secret\4test\0\0\1\0\1"
        sender.sendto(question, (host, int(port)))
        return "answered" if sender.recv(512) else "nothing"


def resolve(name):
    return socket.getaddrinfo(name, 80)[0][4][0]


def packet():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    return "opened"


def icmp():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sender:
        sender.sendto(b"\x08\0\xf7\xfd\0\1\0\1", ("9.9.9.2", 0))
    return "sent"


KINDS = [raw, through, socks, bare, long, crowd, direct, datagram, resolve, packet, icmp]



def attempt(kind, *arguments):
    try:
        return {kind.__name__: kind for kind in KINDS}[kind](*arguments)
    except OSError as error:
        return "error" if error.errno is None else f"error {type(error).__name__}"


if sys.argv[1] == "serve":
    serve(*sys.argv[2:])
elif sys.argv[1] == "tries":
    for line in sys.stdin:
        what, want = line.strip().rsplit(" = ", 1)
        result = attempt(*shlex.split(what))
        if result != want:
            print(f"{what}: {result} instead of {want}")
    print("all tried")
else:
    print(attempt(*sys.argv[2:]), flush=True)
