#!/usr/bin/env python3
"""Measures `mas top` in front of hosts that are played: thousands of real ones would cost more than it.

usage: top.py MAS ROOT [--busy N] [--seconds S]

Every agent of every session in ROOT gets a socket, on which this program answers as its host. It runs mas
top on a terminal of 200x50 and prints, one a line: first (ms until the screen shows sessions), live (ms
until all states are there), change (ms until a changed state is there, median of 20), cpu (percent of a
core over S seconds), memory (private MB).
With --busy, N agents work and say something 20 times a second each.
"""
import argparse, json, os, pty, re, selectors, signal, socket, struct, sys, time, fcntl, termios

parser = argparse.ArgumentParser()
parser.add_argument("mas")
parser.add_argument("root")
parser.add_argument("--busy", type=int, default=0)
parser.add_argument("--seconds", type=float, default=10)
opt = parser.parse_args()
PERIOD = 0.05  # between two updates of a busy agent


def agents():
    sessions = os.path.join(opt.root, "sessions")
    for session in sorted(os.listdir(sessions)):
        config = os.path.join(sessions, session, "config.json")
        if not session.startswith(".") and os.path.exists(config):
            with open(config) as f:
                for agent in json.load(f)["team"]:
                    yield os.path.join(sessions, session, "run"), agent["id"]


class Hosts:
    def __init__(self):
        self.waits = selectors.DefaultSelector()
        self.all, self.watchers, self.listeners = [], {}, {}
        for run, agent in agents():
            os.makedirs(run, mode=0o700, exist_ok=True)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            at = os.path.join(run, agent + ".sock")
            if os.path.exists(at):
                os.unlink(at)
            fd = os.open(run, os.O_PATH)
            listener.bind(f"/proc/self/fd/{fd}/{agent}.sock")
            os.close(fd)
            listener.listen(8)
            listener.setblocking(False)
            host = len(self.all)
            self.all.append({"id": agent, "state": "working" if host < opt.busy or not opt.busy else "idle"})
            self.waits.register(listener, selectors.EVENT_READ, ("new", host))

    def status(self, host):
        now = int(time.time() * 1000)
        return {"ok": True, "agent": self.all[host]["id"], "state": self.all[host]["state"],
                "sinceMs": now - 5000, "pid": 1, "hostPid": 1, "pane": "%1", "restarts": 0, "queued": 0,
                "logLost": 0, "title": self.all[host].get("title", "a title"), "protocol": "acp", "conversation": "x", "permissions": []}

    def send(self, client, message, body=None):
        if body is not None:
            message = {**message, "bytes": len(body)}
        try:
            client.send(json.dumps(message).encode() + b"\n" + (body or b""))
        except OSError:
            pass

    def turn(self, wait):
        for key, _ in self.waits.select(wait):
            kind, host = key.data
            if kind == "new":
                client, _ = key.fileobj.accept()
                client.setblocking(False)
                self.waits.register(client, selectors.EVENT_READ, ("client", host))
                continue
            try:
                data = key.fileobj.recv(4096)
            except OSError:
                data = b""
            if not data:
                self.waits.unregister(key.fileobj)
                self.watchers.pop(key.fileobj, None)
                self.listeners.pop(key.fileobj, None)
                key.fileobj.close()
                continue
            (self.listeners if b"listen" in data else self.watchers)[key.fileobj] = host
            self.send(key.fileobj, self.status(host))

    def change(self, host, state):
        self.all[host].update(state="waiting" if state == "abcdefgh" else "working", title=state)
        for client, watched in list(self.watchers.items()):
            if watched == host:
                self.send(client, self.status(host))

    def speak(self):
        for client, host in list(self.listeners.items()):
            if host < opt.busy:
                self.send(client, {"event": "text", "message": "x:1", "at": 1}, b"some more words of an answer ")


def play(control):
    hosts = Hosts()
    control.send(b"ready\n")
    hosts.waits.register(control, selectors.EVENT_READ, ("control", 0))
    spoke = time.monotonic()
    while True:
        for key in [k for k, _ in hosts.waits.select(0) if k.fileobj is control]:
            line = control.recv(100)
            if not line:
                return
            for word in line.split():
                hosts.change(0, word.decode())
        hosts.waits.unregister(control)
        left = spoke + PERIOD - time.monotonic()
        hosts.turn(min(0.002, max(0, left)))
        hosts.waits.register(control, selectors.EVENT_READ, ("control", 0))
        if opt.busy and left <= 0:
            spoke += PERIOD
            hosts.speak()


def read_until(fd, pattern, limit=10.0):
    """Reads the terminal until the text has come; what came, and when."""
    seen, end = b"", time.monotonic() + limit
    while not re.search(pattern, seen):
        left = end - time.monotonic()
        if left <= 0:
            sys.exit(f"top.py: never came: {pattern}: {seen[-300:]!r}")
        with selectors.DefaultSelector() as s:
            s.register(fd, selectors.EVENT_READ)
            if s.select(left):
                seen += os.read(fd, 65536)
    return seen, time.monotonic()


def drain(fd, seconds):
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as s:
        s.register(fd, selectors.EVENT_READ)
        while (left := end - time.monotonic()) > 0:
            if s.select(left):
                os.read(fd, 65536)


def ticks(pid):
    with open(f"/proc/{pid}/stat") as f:
        parts = f.read().rsplit(")", 1)[1].split()
    return int(parts[11]) + int(parts[12])


def main():
    count = sum(1 for _ in agents())
    ours, theirs = socket.socketpair()
    player = os.fork()
    if player == 0:
        ours.close()
        play(theirs)
        os._exit(0)
    theirs.close()
    ours.recv(100)
    began = time.monotonic()
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.environ.pop("TMUX", None)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        os.execv(opt.mas, [opt.mas, "--root", opt.root, "top"])
    seen, first = read_until(fd, rb"idle")
    working = rb"a title" if opt.busy else rb"%d working" % count
    live = first if re.search(working, seen) else read_until(fd, working)[1]
    print(f"first {(first - began) * 1000:.1f}")
    print(f"live {(live - began) * 1000:.1f}")
    drain(fd, 1.5)
    times = []
    for i in range(20):
        at = time.monotonic()
        word = b"abcdefgh" if i % 2 == 0 else b"ijklmnop"  # no letter stays, so all of it is drawn
        ours.send(word + b"\n")
        times.append(read_until(fd, word)[1] - at)
        drain(fd, 0.2)
    print(f"change {sorted(times)[10] * 1000:.1f}")
    before, since = ticks(pid), time.monotonic()
    drain(fd, opt.seconds)
    used = (ticks(pid) - before) / os.sysconf("SC_CLK_TCK")
    print(f"cpu {used / (time.monotonic() - since) * 100:.2f}")
    with open(f"/proc/{pid}/smaps_rollup") as f:
        private = sum(int(line.split()[1]) for line in f if line.startswith("Private"))
    print(f"memory {private / 1024:.1f}")
    os.kill(player, signal.SIGKILL)
    os.kill(pid, signal.SIGTERM)


main()
