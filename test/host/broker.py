#!/usr/bin/env python3
"""Speaks to the socket of an agent, well or badly.

broker.py SOCKET KIND [WORD...]   see the functions; prints the answers as lines
"""
import array
import json
import os
import resource
import socket
import sys
import termios
import threading
import time

NULL = os.open("/dev/null", os.O_RDWR)


def connect(path):
    os.chdir(os.path.dirname(path))  # a path as long as it likes
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.path.basename(path))
    s.settimeout(60)
    return s


def request(argv, body=None, **members):
    if body is None:
        body = b"".join(w.encode() + b"\0" for w in argv)
    head = {"do": "run", "words": len(argv), "bytes": len(body)}
    head.update(members)
    return json.dumps(head).encode() + b"\n" + body


def send(s, data, fds):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sent = s.sendmsg([data], rights)
    s.sendall(data[sent:])


def answer(s):
    got = b""
    try:
        while True:
            more = s.recv(65536)
            if not more:
                break
            got += more
    except ConnectionResetError:
        got += b"(reset)"
    return got.decode("utf-8", "backslashreplace").strip()


def say(words):
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def tell(path, data, fds):
    s = connect(path)
    try:
        send(s, data, fds)
    except BrokenPipeError:
        pass  # it has said why
    say(answer(s))


def run(path, *words):
    """As mas itself does it, with three descriptors of /dev/null."""
    tell(path, request(words), [NULL] * 3)


def counts(path):
    """Wrong numbers of descriptors: with the first byte, and later."""
    for count in (0, 1, 2, 4, 8, 9, 64):
        tell(path, request(["status"]), [NULL] * count)
    s = connect(path)
    data = request(["status"])
    send(s, data[:10], [NULL] * 3)
    time.sleep(0.2)
    try:
        send(s, data[10:], [NULL] * 3)
    except BrokenPipeError:
        pass
    say(answer(s))


def garbage(path):
    """Words that are none."""
    for data in (
        b"\n",
        b"\0" * 5000 + b"\n",
        b"\xff\xfe\n",
        b"[1]\n",
        b"{}\n",
        b'{"do":"status"}\n',
        b'{"do":"run"}\n',
        b'{"do":"run","words":1}\n',
        request(["status"], words=0),
        request(["status"], words=-1),
        request(["status"], words=2),
        request(["status"], words=1e300),
        request(["status"], words="1"),
        request(["status"], b"status"),
        request(["status"], b"status\0more\0"),
        request(["status"], b"\0\0"),
        request(["x"] * 1025),
        request(["x" * 300000]),
        b'{"do":"run","words":1,"bytes":99999999}\n',
        b'{"do":"run","words":1,"bytes":-1}\n',
    ):
        tell(path, data, [NULL] * 3)


def verbs(path):
    """What no command line of mas would send, but a program can."""
    for words in (
        [""],
        ["host", "x", "y"],
        ["library", "uuid"],
        ["look", "x", "y"],
        ["notify", "x", "y", "z"],
        ["setup", "x", "y"],
        ["lfs-filter", "/"],
        ["--root=/tmp", "status"],
        ["--root", "/tmp", "status"],
        ["status", "--root=/tmp"],
        ["send", "lead", "--file", "/etc/passwd"],
        ["send", "lead", "--file=/etc/passwd"],
        ["send", "lead", "--fil", "/etc/passwd"],
        ["ask", "lead", "--file", "/etc/passwd"],
        ["template", "list"],
        ["complete", "mas", ""],
        ["--host", "gpu", "status"],
        ["status", "--all-hosts"],
        ["search", "word", "--all-hosts"],
        ["measure", "x"],
        ["lease", "x"],
        ["init", "/tmp"],
        ["init"],
    ):
        tell(path, request(words), [NULL] * 3)


def half(path):
    """Half a request, and then nothing; prints what comes."""
    s = connect(path)
    send(s, request(["status"])[:-3], [NULL] * 3)
    say(answer(s))


def crowd(path):
    """1,000 connections that say nothing and stay, then one that is served."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096) if hard > 0 else 4096, hard))
    crowd_of = [connect(path) for _ in range(1000)]
    say("connected")
    run(path, "status")
    for s in crowd_of:
        s.close()


def blocked(path):
    """Descriptors that nobody reads, a directory, a socket, and one that does not block."""
    read_end, write_end = os.pipe()
    full = os.pipe()
    os.set_blocking(full[1], False)
    try:
        while True:
            os.write(full[1], b"x" * 65536)
    except BlockingIOError:
        pass
    pair = socket.socketpair()
    where = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    for out in (where, pair[0].fileno(), full[1]):
        tell(path, request(["status"]), [NULL, out, NULL])
    os.set_blocking(full[1], True)
    s = connect(path)
    send(s, request(["send", "reviewer", "-"]), [read_end, full[1], full[1]])
    say("blocked")
    time.sleep(1)
    s.close()
    assert write_end


def stopped(path, *words):
    """Output to a terminal that somebody has stopped; goes on, and prints it, once the file `go` is there."""
    near, far = os.openpty()
    termios.tcflow(far, termios.TCOOFF)
    s = connect(path)
    send(s, request(words), [NULL, far, far])
    say("sent")
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.05)
    termios.tcflow(far, termios.TCOON)
    printed = []
    reader = threading.Thread(target=drain, args=(near, printed))
    reader.start()
    say(answer(s))
    os.close(far)
    reader.join()
    say(b"".join(printed).decode())


def drain(fd, into):
    """Reads until nobody has the other side."""
    try:
        while data := os.read(fd, 65536):
            into.append(data)
    except OSError:
        pass


def main():
    path, kind, *rest = sys.argv[1:]
    globals()[kind](path, *rest)


main()
