#!/usr/bin/env python3
"""Makes archives that mas does not write: `craft.py GOOD DIR` changes a good one in all ways.

Prints a line for each: the file in DIR and the exit code that its restore must have.
"""
import hashlib
import io
import json
import subprocess
import sys
import tarfile

KINDS = {}


def kind(code=5):
    def add(function):
        KINDS[function.__name__.replace("_", "-")] = (function, code)
        return function
    return add


class Archive:
    """The entries in order, each with its content; `top` is the id, `head` counts the first two."""

    def __init__(self, path):
        raw = subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
        self.members, self.sums, self.recount = [], True, True
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
            for m in tar:
                data = tar.extractfile(m).read() if m.isreg() else b""
                self.members.append((m, data))
        self.top = self.members[0][0].name.split("/")[0]
        self.members.pop()  # the checksums, which are made anew
        self.after = []  # entries behind them
        self.tail = b""

    def find(self, name):
        return next(i for i, (m, _) in enumerate(self.members) if m.name == f"{self.top}/{name}")

    def text(self, name, data):
        i = self.find(name)
        m = self.members[i][0]
        m.size = len(data)
        self.members[i] = (m, data)

    def manifest(self, **values):
        i = self.find("mas-archive.json")
        now = json.loads(self.members[i][1])
        now.update(values)
        self.text("mas-archive.json", json.dumps(now).encode())

    def entry(self, name, data=b"", type=tarfile.REGTYPE, link="", mode=0o644, whole=False):
        m = tarfile.TarInfo(name if whole else f"{self.top}/{name}")
        m.type, m.linkname, m.mode, m.size = type, link, mode, len(data)
        return (m, data)

    def add(self, *args, **more):
        """Behind the directory of the agent and before what follows it."""
        i = self.find("unit/solo")
        while i < len(self.members) and self.members[i][0].name.startswith(f"{self.top}/unit/solo"):
            i += 1
        self.members.insert(i, self.entry(*args, **more))

    def write(self, path):
        files = [(m, d) for m, d in self.members if m.isreg()]
        if self.recount:
            rest = [(m, d) for m, d in self.members[2:]]
            self.manifest(entries=len(rest), size=sum(len(d) for m, d in rest if m.isreg()))
            files = [(m, d) for m, d in self.members if m.isreg()]
        sums = b"".join(hashlib.sha256(d).hexdigest().encode() + b"  " +
                        m.name[len(self.top) + 1:].encode() + b"\n" for m, d in files)
        if callable(self.sums):
            sums = self.sums(sums)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            last = [self.entry("SHA256SUMS", sums)] if self.sums else []
            for m, d in self.members + last + self.after:
                m.pax_headers = {}
                tar.addfile(m, io.BytesIO(d))
        squeeze(out.getvalue() + self.tail, path)


def squeeze(raw, path):
    with open(path, "wb") as to:
        to.write(subprocess.run(["zstd", "-qc"], input=raw, check=True, capture_output=True).stdout)


@kind(0)
def unchanged(a): pass

@kind(0)
def inward_link(a): a.add("unit/solo/l", type=tarfile.SYMTYPE, link="../../workflows")

@kind()
def absolute_path(a): a.add("/tmp/mas-evil", b"x", whole=True)

@kind()
def absolute_below(a): a.add(f"{a.top}//tmp/mas-evil", b"x", whole=True)

@kind()
def dot_dot(a): a.add("unit/solo/../../../../evil", b"x")

@kind()
def dot_dot_top(a): a.add(f"{a.top}/../evil", b"x", whole=True)

@kind()
def dot(a): a.add("unit/solo/./x", b"x")

@kind()
def outside_of_top(a): a.add("elsewhere/x", b"x", whole=True)

@kind()
def longer_top(a): a.add(f"{a.top}x/unit/solo/x", b"x", whole=True)

@kind(1)
def symlink_absolute(a): a.add("unit/solo/l", type=tarfile.SYMTYPE, link="/etc/passwd")

@kind(1)
def symlink_up(a): a.add("unit/solo/l", type=tarfile.SYMTYPE, link="../../../x")

@kind(1)
def symlink_down_and_up(a): a.add("unit/solo/l", type=tarfile.SYMTYPE, link="a/../x")

@kind()
def symlink_through(a):
    a.add("unit/solo/l", type=tarfile.SYMTYPE, link="../../workflows")
    a.add("unit/solo/l/x", b"x")

@kind()
def symlink_replaced(a):
    a.add("unit/solo/l", type=tarfile.SYMTYPE, link="../../workflows")
    a.add("unit/solo/l", type=tarfile.DIRTYPE, mode=0o755)
    a.add("unit/solo/l/x", b"x")

@kind()
def symlink_long(a): a.add("unit/solo/l", type=tarfile.SYMTYPE, link="x/" * 2100)

@kind()
def hardlink_absolute(a): a.add("unit/solo/h", type=tarfile.LNKTYPE, link="/etc/passwd")

@kind()
def hardlink_up(a): a.add("unit/solo/h", type=tarfile.LNKTYPE, link=f"{a.top}/unit/../../x")

@kind()
def hardlink_metadata(a): a.add("unit/solo/h", type=tarfile.LNKTYPE, link=f"{a.top}/.session")

@kind()
def hardlink_missing(a): a.add("unit/solo/h", type=tarfile.LNKTYPE, link=f"{a.top}/unit/solo/no")

@kind()
def hardlink_to_directory(a): a.add("unit/solo/h", type=tarfile.LNKTYPE, link=f"{a.top}/unit/solo")

@kind()
def hardlink_to_symlink(a):
    a.add("unit/solo/l", type=tarfile.SYMTYPE, link="../../workflows")
    a.add("unit/solo/h", type=tarfile.LNKTYPE, link=f"{a.top}/unit/solo/l")

@kind()
def hardlink_through_symlink(a):
    a.add("unit/solo/l", type=tarfile.SYMTYPE, link=".")
    a.add("unit/solo/f", b"x")
    a.add("unit/solo/h", type=tarfile.LNKTYPE, link=f"{a.top}/unit/solo/l/f")

@kind()
def hardlinked_metadata(a):
    a.members.pop(a.find("config.json"))
    a.members.append(a.entry("config.json", type=tarfile.LNKTYPE, link=f"{a.top}/unit/solo/AGENTS.md"))

@kind()
def device(a): a.add("unit/solo/d", type=tarfile.CHRTYPE)

@kind()
def block_device(a): a.add("unit/solo/d", type=tarfile.BLKTYPE)

@kind()
def fifo(a): a.add("unit/solo/d", type=tarfile.FIFOTYPE)

@kind()
def setuid(a): a.add("unit/solo/s", b"x", mode=0o4755)

@kind()
def setgid(a): a.add("unit/solo/s", b"x", mode=0o2755)

@kind()
def file_twice(a):
    a.add("unit/solo/x", b"x")
    a.add("unit/solo/x", b"y")

@kind()
def directory_twice(a):
    a.add("unit/solo/x", type=tarfile.DIRTYPE)
    a.add("unit/solo/x", type=tarfile.DIRTYPE)

@kind()
def metadata_twice(a): a.members.append(a.members[a.find(".session")])

@kind()
def unknown_part(a): a.members.append(a.entry("evil.txt", b"x"))

@kind()
def run_part(a): a.members.append(a.entry("run", type=tarfile.DIRTYPE))

@kind()
def lock_part(a): a.members.append(a.entry(".session.lock", b"x"))

@kind()
def log_directory(a):
    i = a.find("logs")
    a.members.insert(i + 1, a.entry("logs/d", type=tarfile.DIRTYPE))

@kind()
def log_symlink(a):
    i = a.find("logs")
    a.members.insert(i + 1, a.entry("logs/d", type=tarfile.SYMTYPE, link="../config.json"))

def replace_by_link(a, name):
    gone = [i for i, (m, _) in enumerate(a.members) if (m.name + "/").startswith(f"{a.top}/{name}/")]
    for i in reversed(gone):
        a.members.pop(i)
    a.members.append(a.entry(name, type=tarfile.SYMTYPE, link="workflows"))

@kind()
def unit_symlink(a): replace_by_link(a, "unit")

@kind()
def logs_symlink(a): replace_by_link(a, "logs")

@kind()
def config_symlink(a): replace_by_link(a, "config.json")

@kind()
def session_symlink(a): replace_by_link(a, ".session")

@kind()
def no_session(a): a.members.pop(a.find(".session"))

@kind()
def no_parent(a): a.add("unit/other/x", b"x")

@kind()
def parent_is_file(a):
    a.add("unit/solo/f", b"x")
    a.add("unit/solo/f/x", b"x")

@kind()
def long_name(a): a.add("unit/solo/" + "x" * 256, b"x")

@kind()
def deep(a):
    for i in range(1, 140):
        a.add("unit/solo" + "/d" * i, type=tarfile.DIRTYPE, mode=0o755)

@kind()
def more_entries(a):
    a.recount = False
    a.add("unit/solo/x", b"")

@kind()
def fewer_entries(a):
    a.recount = False
    a.manifest(entries=1000)

@kind()
def bomb(a):
    a.recount = False
    a.manifest(entries=1000)
    a.add("unit/solo/x", bytes(50 << 20))

@kind()
def too_many(a):
    a.recount = False
    a.manifest(entries=5000000)

@kind()
def too_large(a):
    a.recount = False
    a.manifest(size=1 << 50)

@kind(1)
def no_room(a):
    a.recount = False
    a.manifest(size=1 << 40)

@kind()
def huge_metadata(a): a.text(".session", b"X=y\n" * 100000)

@kind()
def another_session(a):
    i = a.find(".session")
    a.text(".session", a.members[i][1].replace(a.top.encode(), b"0a0a0a0a-1111-4222-8333-444444444444"))

@kind()
def another_manifest(a):
    a.manifest(sessionId="0a0a0a0a-1111-4222-8333-444444444444")

@kind()
def manifest_no_id(a): a.manifest(sessionId="../../../evil")

@kind()
def manifest_another_name(a): a.manifest(name="other")

@kind()
def manifest_bad_name(a): a.manifest(name="../x")

@kind()
def manifest_no_json(a):
    a.recount = False
    a.text("mas-archive.json", b"{")

@kind(1)
def newer_format(a): a.manifest(format=2)

@kind()
def session_command(a):
    i = a.find(".session")
    a.text(".session", a.members[i][1] + b"EVIL=$(touch /tmp/mas-evil)\n")

@kind()
def session_name(a):
    i = a.find(".session")
    a.text(".session", a.members[i][1].replace(b"NAME=''", b"NAME=../../x").replace(b"NAME=\n", b"NAME=../../x\n"))

@kind()
def session_status(a):
    i = a.find(".session")
    a.text(".session", a.members[i][1].replace(b"STATUS=stopped", b"STATUS=evil"))

@kind()
def no_team(a): a.text("config.json", b"{}")

@kind()
def wrong_checksum(a): a.sums = lambda s: s.replace(s[:1], b"0" if s[:1] != b"0" else b"1", 1)

@kind()
def short_checksums(a): a.sums = lambda s: s[:s.index(b"\n") + 1]

@kind()
def no_checksums(a): a.sums = False

@kind()
def behind_checksums(a): a.after = [a.entry("unit/solo/x", b"x")]

@kind()
def no_manifest(a):
    a.recount = False
    a.members.pop(1)

@kind()
def no_unit(a): a.members = [x for x in a.members if "/unit" not in x[0].name]

@kind()
def late_manifest(a):
    a.recount = False
    a.members.insert(3, a.members.pop(1))

@kind()
def second_tar(a): a.tail = b"evil" * 128



def main(good, to):
    for name, (function, code) in KINDS.items():
        archive = Archive(good)
        function(archive)
        archive.write(f"{to}/{name}")
        print(f"{to}/{name}", code)


if __name__ == "__main__":
    main(*sys.argv[1:])
