#!/usr/bin/env python3
"""Makes map.txt: runs the tests with programs that note which of their functions are called; see choose.py.

    test/reach/record.py        from a clean clone, in which .ci/run or `make check-all` has passed this commit
    test/reach/record.py DIR LOG
                                makes it of what a run has noted in DIR, and of what run-tests.sh printed

A test has a row if it passed, and none of it was skipped. Left out are those that need a machine, a browser or
another root of the file system, where programs cannot note anything, and those of faults.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build/reach"
LEFT_OUT = re.compile(r"^(host/(limits|nfs|old-kernel|quota|hogs|oom)|serve/page.*|wall/steps)$")
FOLDERS = ("acp", "cli", "host", "serve", "wall")
ALIGN = 16  # as in hook.c
# What runs behind walls, from where nothing can be noted: all tests count as running it.
BEHIND = ("mas-wall", "mas-network", "mas-told")
BROKER = {"src/cli/brokered.c", "src/client/broker.c", "src/protocol/broker.c"}


def output(*command):
    """Returns what a command prints."""
    return subprocess.run(command, cwd=TOP, check=True, stdout=subprocess.PIPE).stdout.decode()


def files():
    """Returns the tests in the order in which they run, whose numbers processes note."""
    bats = [f"test/{folder}/{path.name}" for folder in FOLDERS for path in sorted((TOP / f"test/{folder}").glob("*.bats"))]
    units = [f"build/reach/test/unit/{path.stem}" for path in sorted((TOP / "test/unit").glob("test_*.c"))]
    return [path for path in bats if not LEFT_OUT.match(path[len("test/"):-len(".bats")])] + units


def name_of(path):
    """Returns the name of the test of a file: cli/list."""
    return re.sub(r"^.*?test/(?=(\w+)/)|\.bats$", "", path)


def functions(program):
    """Returns the sources of a program's functions, by the places that hook.c notes."""
    lines = [line.split() for line in output("nm", str(program)).splitlines()]
    start = next(int(words[0], 16) for words in lines if words[-1] == "__executable_start")
    found = sorted({int(words[0], 16) for words in lines if len(words) == 3 and words[1] in "tTwW"})
    names = subprocess.run(["addr2line", "-e", str(program)], check=True, stdout=subprocess.PIPE,
                           input="\n".join(map(hex, found)).encode()).stdout.decode().splitlines()
    places = collections.defaultdict(set)
    for address, name in zip(found, names):
        source = re.search(r"(?:^|/)(src/[^:]*\.c):", name)
        if source:
            places[(address - start) // ALIGN].add(source.group(1))
    return places


def write(notes, log):
    """Writes the map of what is noted below a directory."""
    passed = {name_of(name): skips.strip() == "" for name, skips in
              re.findall(r"^passed (\S+?)(?::plain)?: \d+, .*\n((?:    ok .*\n)*)", log, re.M)}
    tests = [name_of(path) for path in files()]
    rows, known = collections.defaultdict(set), {}
    for file in sorted(notes.iterdir()):
        number, program = file.name.split(".", 1)
        path = next((path for path in (BUILD / program, BUILD / f"test/unit/{program}", BUILD / f"test/tools/{program}")
                     if path.is_file()), None)
        if path is None:
            continue
        if program not in known:
            known[program] = functions(path)
        for place in (place for place, byte in enumerate(file.read_bytes()) if byte):
            for source in known[program].get(place, ()):
                rows[source].add(tests[int(number) - 1] if number != "0" else "*")
    everywhere = set(BROKER)
    for program in BEHIND:
        everywhere |= set().union(*functions(BUILD / program).values())
    with_row = sorted(test for test in tests if passed.get(test))
    lines = [f"# Which tests run which sources; made by test/reach/record.py, read by choose.py. *: any may; -: all but these.",
             f"commit {output('git', 'rev-parse', 'HEAD').strip()}", "tests " + " ".join(with_row)]
    for source in sorted(set(rows) | everywhere):
        reached = sorted(set(with_row) & rows[source])
        rest = sorted(set(with_row) - rows[source])
        if source in everywhere or "*" in rows[source] or len(rest) == 0:
            lines.append(f"{source} *")
        elif len(rest) < len(reached):
            lines.append(f"{source} - " + " ".join(rest))
        else:
            lines.append(" ".join([source, *reached]))
    (TOP / "test/reach/map.txt").write_text("\n".join(lines) + "\n")
    print(f"record.py: {len(with_row)} of {len(tests)} tests have a row, {len(lines) - 3} sources")


def run():
    """Builds the programs, runs the tests, and writes the map."""
    if output("git", "status", "--porcelain"):
        sys.exit("record.py: the clone has changes: commit them first")
    passed = TOP / "build/passed"
    if not passed.is_file() or passed.read_text().strip() != output("git", "rev-parse", "HEAD").strip():
        sys.exit("record.py: .ci/run has not passed this commit here")
    with tempfile.TemporaryDirectory(prefix="mas-reach.", dir="/var/tmp") as place:
        notes = pathlib.Path(place) / "notes"
        notes.mkdir()
        for path, mode in ((place, 0o755), (notes, 0o1777)):
            os.chmod(path, mode)
        BUILD.mkdir(parents=True, exist_ok=True)
        hook = str(BUILD / "hook.o")
        output("cc", "-D_GNU_SOURCE", "-O1", f'-DREACH_DIR="{notes}"', "-c", "-o", hook, "test/reach/hook.c")
        for name in ("templates", "slurm"):
            if not (TOP / "build" / name).exists():
                (TOP / "build" / name).symlink_to(f"../{name}")
        output("make", "-s", f"-j{os.cpu_count()}", "BUILD=build/reach", f"LDFLAGS={hook}",
               f"CFLAGS=-O1 -g1 -finstrument-functions -falign-functions={ALIGN}", "all", "tools",
               *(path for path in files() if "/unit/" in path))
        for note in notes.iterdir():
            note.unlink()
        done = subprocess.run(["scripts/run-tests.sh", *files()], cwd=TOP, stdout=subprocess.PIPE,
                              env={**os.environ, "MAS": str(BUILD / "mas"), "TEST_FAULT": "quick"})
        log = done.stdout.decode(errors="replace")
        # what fails here only, because its program is another, has no row
        print("".join(line + "\n" for line in log.splitlines() if line.startswith("FAILED ")), end="")
        write(notes, log)


if len(sys.argv) == 3:
    write(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text(errors="replace"))
else:
    run()
