#!/usr/bin/env python3
"""Puts small mistakes into the source, one at a time, and demands that a test notices each.

    test/mutants/run.py [-n] [-j JOBS] [-s COMMIT] [-m SECONDS] [WORD...]

The tables beside this file, *.txt, have a row for each mistake: the source and the test that must fail, then
lines of the source and what they become. Lines with # say why it matters.

    # a NAME.new that a kill left would block every later write
    src/os/file.c unit/test_file
    -    if (fd == -1 && errno == EEXIST && unlinkat(dir, temp, 0) == 0)
    +    if (fd == -1 && errno == EEXIST && false)

A test is a unit test or a file of bats below test/, without .bats; behind a blank may stand a pattern that picks
tests by their names. A row whose lines are gone, or are there twice, is refused, and so is one that does not
compile, or whose test fails also without it. Only rows that contain one of the WORDs are tried; with -s, only
those of sources that differ from a commit. With -m as many as there is time for, picked at random; with -n
only whether they can be tried is looked at. Each job has a copy of the project in build/mutants.

The last line is "N passed, N failed": a row passes if its test fails.
"""
import argparse
import collections
import os
import pathlib
import queue
import random
import re
import shutil
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
IDLE = "120"  # seconds without progress: a mistake may make a program wait for ever

Row = collections.namedtuple("Row", "where source test only old new")
Result = collections.namedtuple("Result", "ok text")


def read_table(path):
    """Yields the rows of a table."""
    head, old, new, where = None, [], [], ""
    for number, line in enumerate(path.read_text().splitlines() + [""], 1):
        if line.startswith("-") and head:
            old.append(line[1:])
        elif line.startswith("+") and head:
            new.append(line[1:])
        else:
            if head:
                source, test, *only = head.split(maxsplit=2)
                yield Row(where, source, test, "".join(only), "\n".join(old), "\n".join(new))
            head, old, new = None, [], []
            if line.strip() and not line.startswith("#"):
                head, where = line, f"{path.name}:{number}"


def refusal(row):
    """Returns why a row cannot be tried; None: it can."""
    if not row.old or row.old == row.new:
        return "it changes nothing"
    if not (TOP / row.source).is_file():
        return f"there is no {row.source}"
    if not any((TOP / f"test/{row.test}{end}").is_file() for end in (".bats", ".c")):
        return f"there is no test/{row.test}"
    # a change may end in the middle of no line
    count = ("\n" + (TOP / row.source).read_text()).count("\n" + row.old + "\n")
    return None if count == 1 else f"its lines are there {count} times in {row.source}"


class Worker:
    """A copy of the project, in which one mistake at a time is made."""

    def __init__(self, top):
        self.top = top
        shutil.rmtree(self.top, ignore_errors=True)
        self.top.mkdir(parents=True)
        names = subprocess.run(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"], cwd=TOP, check=True,
                               stdout=subprocess.PIPE).stdout
        here = b"\0".join(name for name in names.split(b"\0") if name and (TOP / os.fsdecode(name)).exists())
        self.copy(["--null", "-T", "-"], here)
        self.copy(["--exclude=build/mutants", "--exclude=build/sweep", "--exclude=build/san", "--exclude=build/kernel", "build"], b"")
        if (TOP / "build/kernel").exists():
            (self.top / "build/kernel").symlink_to(TOP / "build/kernel")

    def copy(self, what, names):
        packed = subprocess.run(["tar", "-c", *what], cwd=TOP, input=names, check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x"], cwd=self.top, input=packed.stdout, check=True)

    def run(self, command, **env):
        done = subprocess.run(command, cwd=self.top, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                              env={**os.environ, **env})
        return done.returncode, done.stdout

    def make(self, test):
        targets = ["all", "tools"]
        if (TOP / f"test/{test}.c").is_file():
            targets.append(f"build/test/{test}")
        return self.run(["make", "-s", "DEV=", *targets])  # a mistake may leave a variable unused

    def test(self, row):
        """Returns whether its test passes, and what that prints."""
        unit = (TOP / f"test/{row.test}.c").is_file()
        name = f"build/test/{row.test}" if unit else f"test/{row.test}.bats"
        code, out = self.run(["scripts/run-tests.sh", "-i", IDLE, name], TEST_ONLY=row.only,
                             MAS=str(self.top / "build/mas"), TEST_ROOT=str(self.top))
        return code == 0, out

    def passes_without(self, row):
        code, out = self.make(row.test)
        if code != 0:
            return Result(False, "the project does not build:\n" + out)
        good, out = self.test(row)
        skipped = re.search(r"^0 passed, 0 failed", out, re.M)
        if skipped:
            return Result(None, "its test is skipped here")
        return Result(good, "its test fails also without it:\n" + out)

    def attempt(self, row):
        path = self.top / row.source
        right = path.read_text()
        path.write_text(("\n" + right).replace("\n" + row.old + "\n", "\n" + row.new + "\n", 1)[1:])
        try:
            code, out = self.make(row.test)
            if code != 0:
                return Result(False, "it does not compile:\n" + out)
            good, _ = self.test(row)
            return Result(not good, f"test/{row.test} {row.only} does not notice it")
        finally:
            path.write_text(right)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].strip())
    parser.add_argument("-n", action="store_true")
    parser.add_argument("-j", type=int, default=os.cpu_count())
    parser.add_argument("-s", metavar="COMMIT")
    parser.add_argument("-m", metavar="SECONDS", type=float, default=0)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()

    rows = [row for path in sorted(pathlib.Path(__file__).parent.glob("*.txt")) for row in read_table(path)]
    if options.s:
        changed = subprocess.run(["git", "diff", "--name-only", options.s], cwd=TOP, check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.split()
        rows = [row for row in rows if row.source in changed]
    if options.words:
        rows = [row for row in rows if any(word in " ".join(row) for word in options.words)]

    refused = {row: refusal(row) for row in rows}
    results = {row: Result(False, why) for row, why in refused.items() if why}
    if options.n:
        for row, result in results.items():
            print(f"{row.where} {row.source}: {result.text}")
        print(f"{len(rows) - len(results)} passed, {len(results)} failed")
        return bool(results)

    # rows of one test follow each other: what it does without a mistake is asked once
    groups = collections.defaultdict(list)
    for row in rows:
        if row not in results:
            groups[row.test, row.only].append(row)
    waiting = queue.Queue()
    end = time.monotonic() + options.m if options.m else float("inf")
    for group in random.sample(list(groups.values()), len(groups)) if options.m else groups.values():
        waiting.put(group)

    def work(number):
        worker = Worker(TOP / "build/mutants" / str(number))
        while time.monotonic() < end:
            try:
                group = waiting.get_nowait()
            except queue.Empty:
                return
            without = worker.passes_without(group[0])
            for row in group:
                if time.monotonic() >= end:
                    return
                results[row] = worker.attempt(row) if without.ok else without
                show(row, results[row])

    def show(row, result):
        word = {True: "noticed", False: "FAILED ", None: "skipped"}[result.ok]
        text = f"{word} {row.where} {row.source}: {row.old.strip().splitlines()[0]}"
        print(text if result.ok else f"{text}\n    " + result.text.strip().replace("\n", "\n    "), flush=True)

    for row, result in results.items():
        show(row, result)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(min(options.j, waiting.qsize()))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shutil.rmtree(TOP / "build/mutants", ignore_errors=True)
    counts = collections.Counter(result.ok for result in results.values())
    left = 0 if time.monotonic() < end else len(rows) - len(results)
    if left:
        print(f"no time for {left} rows")
    failed = counts[False] + len(rows) - len(results) - left
    print(f"{counts[True]} passed, {failed} failed" + (f", {counts[None]} skipped" if counts[None] else ""))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
