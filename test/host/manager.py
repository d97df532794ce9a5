#!/usr/bin/env python3
"""Stands in for systemd's manager on a bus: makes scopes below a cgroup.

manager.py BUS_SOCKET CGROUP LOG   answers StartTransientUnit: makes CGROUP/<unit>, moves the
                                   processes there, and writes unit and properties to LOG
"""
import json
import os
import socket
import struct
import sys


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def align(self, n):
        self.at += -self.at % n

    def number(self, code):
        n = struct.calcsize(code)
        self.align(n)
        self.at += n
        return struct.unpack_from("<" + code, self.data, self.at - n)[0]

    def text(self, code):
        n = self.number(code)
        self.at += n + 1
        return self.data[self.at - n - 1:self.at - 1].decode()

    def read(self, sig):
        """Reads one value; returns it and the rest of the signature."""
        kind = sig[0]
        if kind in "so":
            return self.text("I"), sig[1:]
        if kind == "g":
            return self.text("B"), sig[1:]
        if kind == "y":
            return self.number("B"), sig[1:]
        if kind in "ub":
            return self.number("I"), sig[1:]
        if kind == "v":
            return self.read(self.text("B"))[0], sig[1:]
        if kind == "(":
            self.align(8)
            values, sig = [], sig[1:]
            while sig[0] != ")":
                value, sig = self.read(sig)
                values.append(value)
            return values, sig[1:]
        assert kind == "a", sig
        size = self.number("I")
        self.align(8 if sig[1] == "(" else 1 if sig[1] in "yg" else 4)
        end, values, rest = self.at + size, [], None
        while self.at < end:
            value, rest = self.read(sig[1:])
            values.append(value)
        return values, rest if rest is not None else after(sig[1:])


def after(sig):
    """The signature after its first type."""
    if sig[0] == "a":
        return after(sig[1:])
    depth = 0
    for i, c in enumerate(sig):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return sig[i + 1:]


def text(s):
    return struct.pack("<I", len(s)) + s.encode() + b"\0"


def pad(b, n):
    return b + b"\0" * (-len(b) % n)


def message(kind, serial, fields, sig="", body=b""):
    head = b""
    for code, sort, value in fields + ([(8, "g", sig)] if sig else []):
        head = pad(head, 8) + bytes([code, 1]) + sort.encode() + b"\0"
        if sort == "g":
            head += bytes([len(value)]) + value.encode() + b"\0"
        else:
            head = pad(head, 4) + (text(value) if sort in "so" else struct.pack("<I", value))
    start = b"l" + bytes([kind, 0, 1]) + struct.pack("<III", len(body), serial, len(head))
    return pad(start + head, 8) + body


class Bus:
    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(path)
        self.s.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        assert self.s.recv(4096).startswith(b"OK")
        self.s.sendall(b"BEGIN\r\n")
        self.serial = 0

    def exactly(self, n):
        got = b""
        while len(got) < n:
            more = self.s.recv(n - len(got))
            if not more:
                sys.exit(0)
            got += more
        return got

    def send(self, kind, fields, sig="", body=b""):
        self.serial += 1
        self.s.sendall(message(kind, self.serial, fields, sig, body))

    def call(self, member, sig="", body=b""):
        bus = "org.freedesktop.DBus"
        self.send(1, [(1, "o", "/org/freedesktop/DBus"), (2, "s", bus), (3, "s", member), (6, "s", bus)], sig, body)

    def receive(self):
        head = self.exactly(16)
        size, serial, fields = struct.unpack_from("<III", head, 4)
        rest = self.exactly(fields + -fields % 8)
        reader = Reader(head + rest)
        reader.at = 12
        known = dict(reader.read("a(yv)")[0])
        return head[1], serial, known, self.exactly(size)


def main():
    path, group, log = sys.argv[1:]
    bus = Bus(path)
    bus.call("Hello")
    bus.call("RequestName", "su", pad(text("org.freedesktop.systemd1"), 4) + struct.pack("<I", 4))
    print("ready", flush=True)
    while True:
        kind, serial, fields, body = bus.receive()
        if kind != 1:
            continue
        reader, sig, values = Reader(body), fields.get(8, ""), []
        while sig:
            value, sig = reader.read(sig)
            values.append(value)
        reply = [(5, "u", serial), (6, "s", fields[7])]
        if fields.get(3) != "StartTransientUnit":
            bus.send(3, reply + [(4, "s", "org.freedesktop.DBus.Error.UnknownMethod")])
            continue
        unit, mode, properties, others = values
        properties = dict(properties)
        with open(log, "a") as out:
            print(json.dumps([unit, mode, properties, others]), file=out)
        os.mkdir(os.path.join(group, unit))
        for pid in properties["PIDs"]:
            with open(os.path.join(group, unit, "cgroup.procs"), "w") as procs:
                procs.write(str(pid))
        bus.send(2, reply, "o", text("/org/freedesktop/systemd1/job/1"))


main()
