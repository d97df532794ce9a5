#!/usr/bin/env python3
"""Speaks to the socket of a host, well or badly. For tests that ask, test/tools/ask.c is faster.

ask.py RUN_DIR AGENT REQUEST [FILE]   asks (a JSON object), with FILE's bytes as the body; prints
                                      each answer as a line, until the host hangs up
ask.py RUN_DIR AGENT --KIND           a hostile client; see the functions at the end

REQUEST may be many, one a line: each is asked on a connection of its own, in order.
"""
import json
import os
import resource
import select
import socket
import sys
import threading
import time


def connect(run, agent):
    os.chdir(run)  # a path as long as it likes
    s = socket.socket(socket.AF_UNIX)
    s.connect(agent + ".sock")  # may wait for room
    s.settimeout(20)
    return s


def frame(text, body):
    head = json.loads(text)
    if body is not None:
        head["bytes"] = len(body)
    return json.dumps(head).encode() + b"\n" + (body or b"")


def ask(run, agent, text, body):
    s = connect(run, agent)
    s.sendall(frame(text, body))
    rest = b""
    while True:
        try:
            got = s.recv(65536)
        except ConnectionResetError:
            break
        if not got:
            break
        rest += got
        *lines, rest = rest.split(b"\n")
        for line in lines:
            sys.stdout.write(line.decode() + "\n")
            sys.stdout.flush()
    if rest:
        sys.exit("half a frame: %r" % rest[:80])


def say(words):
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def stay():
    """Until somebody ends this."""
    while True:
        time.sleep(1000)


def mute(run, agent):
    """Connects, and never says or reads anything."""
    s = connect(run, agent)
    say("connected")
    stay()
    s.close()


def deaf(run, agent):
    """Watches, and never reads."""
    s = connect(run, agent)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    s.sendall(b'{"do":"watch"}\n')
    say("connected")
    stay()


def half(run, agent):
    """Sends half a frame, and stays."""
    s = connect(run, agent)
    s.sendall(b'{"do":"send","bytes":1000}\nhalf of it')
    say("connected")
    stay()


def take_name(run, agent):
    """Listens where the host did."""
    os.chdir(run)
    s = socket.socket(socket.AF_UNIX)
    s.bind(agent + ".new")
    os.chmod(agent + ".new", 0o600)
    s.listen(64)
    os.rename(agent + ".new", agent + ".sock")
    say("connected")
    return s


def impostor(run, agent):
    """Takes the host's name, and never answers: how a host that hangs looks."""
    _listener = take_name(run, agent)
    stay()


def liar(run, agent):
    """Takes the host's name, and answers what is no answer."""
    s = take_name(run, agent)
    while True:
        client, _ = s.accept()
        client.sendall(b"no frame\n")
        client.close()


def silent(run, agent):
    """Takes the host's name, prints each request as a line, and never answers."""
    listener = take_name(run, agent)
    clients = {listener: b""}
    while True:
        for ready in select.select(list(clients), [], [])[0]:
            if ready is listener:
                clients[listener.accept()[0]] = b""
                continue
            got = ready.recv(65536)
            if not got:
                del clients[ready]
                ready.close()
                continue
            *heads, clients[ready] = (clients[ready] + got).split(b"\n")
            for head in heads:
                say(head.decode())


LIES = {
    "types": b'{"ok":true,"agent":[1],"state":{"is":"idle"},"since":1e308,"hostPid":-1,"exitCode":"x","wall":7,'
    b'"usage":[],"tmux":0,"event":{},"permission":"x","queued":-1,"outcome":[],"messages":{}}\n',
    "nothing": b"{}\n",
    "not-ok": b'{"ok":"true"}\n',
    "error-types": b'{"ok":false,"code":"x","why":{"a":1},"hint":[1]}\n',
    "error-code": b'{"ok":false,"code":99999999,"why":"\\u001b]2;evil\\u0007 ' + b"x" * 60000 + b'"}\n',
    "other-agent": b'{"ok":true,"agent":"nobody","state":"idle","id":"00000000-0000-4000-8000-000000000000"}\n',
    "unknown-state": b'{"ok":true,"agent":"solo","state":"dancing","outcome":"eaten"}\n',
    "long-line": b'{"ok":"' + b"x" * (10 << 20) + b'"}\n',
    "deep": b'{"ok":' + b"[" * 60000 + b"\n",
    "deeper": b"[" * 100000,
    "no-utf8": b'{"ok":true,"agent":"\xff\xc0\x80","state":"\xed\xa0\x80"}\n',
    "nul": b"\0" * 1000 + b"\n",
    "nul-within": b'{"ok":true,"agent":"so\\u0000lo","state":"id\0le"}\n',
    "large-body": b'{"ok":true,"bytes":5000000000}\n' + b"x" * 65536,
    "negative-body": b'{"ok":true,"bytes":-1}\n',
    "half-body": b'{"ok":true,"agent":"solo","state":"idle","bytes":4194304}\nhalf of it',
    "half-line": b'{"ok":true,"agent":"so',
}
POURED = {
    "endless-line": b'{"ok":"' + b"x" * 65536,
    "endless-states": b'{"ok":true,"agent":"solo","state":"working"}\n' * 1000,
    "endless-events": b'{"event":"nonsense","text":{"x":[1,2,3]},"message":"x"}\n' * 1000,
}


def pour(client, chunk):
    """Until nobody wants any more."""
    try:
        while True:
            client.sendall(chunk)
    except OSError:
        pass


def lying(run, agent):
    """Takes the host's name, and answers with what the file "lie" of its directory names."""
    s = take_name(run, agent)
    while True:
        client, _ = s.accept()
        with open("lie") as f:
            lie = f.read().strip()
        if lie in POURED:
            # not on this one's time: others ask meanwhile
            threading.Thread(target=pour, args=(client, POURED[lie]), daemon=True).start()
            continue
        try:
            client.recv(65536)
            client.sendall(LIES[lie])
            client.shutdown(socket.SHUT_WR)
            client.settimeout(1)
            while client.recv(65536):
                pass
        except OSError:
            pass
        client.close()


def telling(run, agent):
    """Takes the host's name, and answers each request with the line in the file "tell" of its directory."""
    s = take_name(run, agent)
    clients = []
    while True:
        clients.append(s.accept()[0])
        clients[-1].recv(65536)
        with open("tell", "rb") as f:
            clients[-1].sendall(f.read())


def parting(run, agent):
    """Takes the host's name, and hangs up when it has been asked."""
    s = take_name(run, agent)
    while True:
        client, _ = s.accept()
        client.recv(65536)
        client.close()


def leave(run, agent):
    """Hangs up within a head, within a body, and before the answer."""
    for text in (b'{"do":"st', b'{"do":"send","bytes":1000}\nhalf', b'{"do":"status"}\n'):
        s = connect(run, agent)
        s.sendall(text)
        s.close()
        os.chdir("/")


def flood(run, agent, head, chunk):
    """Sends up to 1 GB; says how much went."""
    s = connect(run, agent)
    sent = 0
    try:
        s.sendall(head)
        while sent < 1 << 30:
            sent += s.send(chunk)
    except OSError as e:
        say("refused after %d bytes: %s" % (sent, e.strerror))
        return
    say("took all")


def flood_head(run, agent):
    """A line that has no end."""
    flood(run, agent, b'{"do":"', b"x" * 65536)


def flood_body(run, agent):
    """A body that is larger than any may be."""
    flood(run, agent, b'{"do":"send","bytes":1073741824}\n', b"x" * 65536)


def flood_frames(run, agent):
    """One request after the other on a connection that is for one; no answer is read."""
    flood(run, agent, b"", b'{"do":"watch"}\n' * 4096)


def garbage(run, agent):
    """What is no frame; prints the answers."""
    here = os.getcwd()
    for text in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\n",
        b"\0" * 5000 + b"\n",
        b"\xff\xfe\xfd\n",
        b"[1,2]\n",
        b'"do"\n',
        b'{"do":\n',
        b"{" * 60000 + b"\n",
        b"[" * 60000 + b"\n",
        b'{"do":{"do":"status"}}\n',
        b'{"do":null}\n',
        b'{"do":"' + b"x" * 60000 + b'"}\n',
        b'{"do":"\\u001b]2;evil\\u0007"}\n',
        b'{"do":"send","bytes":-1}\nhello',
        b'{"do":"send","bytes":1e300}\nhello',
        b'{"do":"send","bytes":"5"}\nhello',
        b'{"do":"send","bytes":5.5}\nhello',
        b'{"do":"send","bytes":99999999999999999999}\nhello',
        b'{"do":"stop","hangup":"x"}{"do":\n',
    ):
        s = connect(run, agent)
        got = b""
        try:
            s.sendall(text)
            while True:
                more = s.recv(65536)
                if not more:
                    break
                got += more
        except ConnectionResetError:
            got += b"(reset)"
        say("%r -> %s" % (text[:40], got.decode("utf-8", "backslashreplace").strip()))
        os.chdir(here)


def crowd(run, agent):
    """200 connections at once that say nothing."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    os.chdir(run)
    all_of_them = []
    for _ in range(200):
        s = socket.socket(socket.AF_UNIX)
        s.connect(agent + ".sock")
        all_of_them.append(s)
    say("connected")
    stay()


def deaf_watchers(run, agent):
    """100 connections that watch, and never read."""
    os.chdir(run)
    all_of_them = []
    for _ in range(100):
        s = socket.socket(socket.AF_UNIX)
        s.connect(agent + ".sock")
        try:
            s.sendall(b'{"do":"watch"}\n')
        except OSError:
            pass  # turned away
        all_of_them.append(s)
    say("connected")
    stay()


def watchers(run, agent):
    """100 connections that watch, and read only what comes first; says how many were let in."""
    os.chdir(run)
    all_of_them = []
    let_in = 0
    for _ in range(100):
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(agent + ".sock")
            s.settimeout(5)
            s.sendall(b'{"do":"watch"}\n')
            let_in += b'"ok":true' in s.recv(65536)
        except OSError:
            pass
        all_of_them.append(s)
    say("%d" % let_in)
    stay()


def main():
    run, agent, what = sys.argv[1:4]
    if what.startswith("--"):
        globals()[what[2:].replace("-", "_")](run, agent)
        return
    body = None
    if len(sys.argv) > 4:
        with open(sys.argv[4], "rb") as f:
            body = f.read()
    for text in what.splitlines():
        here = os.getcwd()
        ask(run, agent, text, body)
        os.chdir(here)


main()
