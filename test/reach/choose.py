#!/usr/bin/env python3
"""Names the tests that need not run: those that passed when map.txt was made, and reach nothing that differs now.

    test/reach/choose.py        prints their names, such as cli/list and unit/test_kv, one a line

map.txt, which record.py makes, says at which commit which tests passed, and which sources each of them runs. What
differs from this commit, in the work tree too, decides:

  a source           the tests that run it, and those that notice a mistake in it (test/mutants); of a verb also those
                     that name it, and those that list all verbs; what it exports as data counts as its readers. A new
                     one counts for nothing: who calls it has changed.
  a header           the sources and unit tests that include it, over any number of others
  a file of a test   its test; another file in a folder of tests all tests there, and those that name it
  a manual, a check  the tests that name such files
  anything else      all tests

Where there is a doubt, it names no test, so that all run: the commit is not there, as in a clone without history, or
is older than OLDEST; a source is not in the map; something cannot be read. Tests without a row always run: those
that are new, failed, were skipped in part, or run where they cannot be seen (machines, other roots of the file system).
"""
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(os.environ.get("REACH_TOP") or pathlib.Path(__file__).resolve().parents[2])
MAP = TOP / "test/reach/map.txt"
BUILD = TOP / (os.environ.get("BUILD") or "build")
OLDEST = 14 * 86400  # seconds: packages of the machine change, too
LISTERS = ("src/cmd/help.c", "src/cmd/complete.c", "src/cli/suggest.c")
DOCUMENT = re.compile(r"\bman\b|\binstall|README|HACKING|SECURITY|LICENSE|docs/")


class Doubt(Exception):
    """Why all tests have to run."""


def git(*words):
    """Returns what a command of git prints."""
    done = subprocess.run(["git", "-C", str(TOP), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Doubt(f"git {words[0]} failed")
    return done.stdout.decode()


def read_map():
    """Returns the commit, the tests, and for each source those that run it; None: all may."""
    commit, tests, rows = None, set(), {}
    for line in MAP.read_text().splitlines():
        word, *names = line.split()
        if word == "commit":
            commit = names[0]
        elif word == "tests":
            tests.update(names)
        elif not word.startswith("#"):
            others = names[:1] == ["-"]
            rows[word] = None if names == ["*"] else tests - set(names[1:]) if others else set(names)
    if commit is None or not tests or not all(row is None or row <= tests for row in rows.values()):
        raise Doubt("the map is damaged")
    return commit, tests, rows


def text_of(path):
    """Returns the text of a file, or of each of those that a file of bats loads with it."""
    seen, todo, texts = set(), [path], []
    while todo:
        at = todo.pop()
        if at in seen or not at.is_file():
            continue
        seen.add(at)
        texts.append(at.read_text(errors="replace"))
        for name in re.findall(r"^\s*(?:load|\.|source)\s+[\"']?([^\s\"']+)", texts[-1], re.M):
            name = re.sub(r"^.*\$\w+/|^.*\}/|\.bash$", "", name)
            todo += [(base / f"{name}.bash").resolve() for base in (at.parent, TOP, TOP / "test")]
    return "\n".join(texts)


class Chooser:
    """What has changed, and the tests that it reaches."""

    def __init__(self):
        self.commit, self.tests, self.rows = read_map()
        if int(git("log", "-1", "--format=%ct")) - int(git("log", "-1", "--format=%ct", self.commit)) > OLDEST:
            raise Doubt("the map is old")
        self.old = set(git("ls-tree", "-r", "--name-only", self.commit).splitlines())
        self.chosen = set()
        self.sources = set()  # that count as changed
        self.texts = {}
        self.includes = {}
        self.objects = None
        self.mutants = None

    def changed(self):
        """Returns the names of the files that differ."""
        return (git("diff", "--name-only", "--no-renames", self.commit) +
                git("ls-files", "--others", "--exclude-standard")).splitlines()

    def text(self, test):
        """Returns the text of a test."""
        if test not in self.texts:
            end = ".c" if test.startswith("unit/") else ".bats"
            self.texts[test] = text_of(TOP / f"test/{test}{end}")
        return self.texts[test]

    def naming(self, pattern):
        """Returns the tests whose text has the pattern."""
        return {test for test in self.tests if re.search(pattern, self.text(test))}

    def included(self, path):
        """Returns the headers that a file of C includes, over any number of others."""
        if path in self.includes:
            return self.includes[path]
        found = self.includes[path] = set()
        file = TOP / path
        if file.is_file():
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(errors="replace"), re.M):
                for base in ("src", "test/unit", os.path.dirname(path)):
                    header = os.path.normpath(f"{base}/{name}")
                    found.add(header)
                    found |= self.included(header)
        return found

    def readers(self, source):
        """Returns the sources whose objects use what this one exports as data, but for what a verb is."""
        if self.objects is None:
            self.objects = [str(path) for path in sorted((BUILD / "src").rglob("*.o"))]
            if not self.objects:
                raise Doubt("nothing is built")
            self.symbols = subprocess.run(["nm", "-A", "-g", *self.objects], check=True, stdout=subprocess.PIPE)
            self.symbols = [line.rsplit(None, 2) for line in self.symbols.stdout.decode().splitlines()]
        name = f"{BUILD}/{source[:-2]}.o:"
        data = {words[2] for words in self.symbols if words[0].startswith(name) and words[1] in "DRBGSVC"}
        data = {symbol for symbol in data if not symbol.startswith("cmd_")}
        return {words[0][len(f"{BUILD}/"):words[0].index(".o:")] + ".c" for words in self.symbols
                if words[1] == "U" and words[2] in data}

    def noticing(self, source):
        """Returns the tests that test/mutants names for a source."""
        if self.mutants is None:
            texts = [path.read_text() for path in sorted((TOP / "test/mutants").glob("*.txt"))]
            self.mutants = [row for text in texts for row in re.findall(r"^(src/\S+) (\w+/\S+)", text, re.M)]
        return {test for name, test in self.mutants if name == source} & self.tests

    def verbs(self, source):
        """Returns the names of the verbs of a source, now and at the commit."""
        text = (TOP / source).read_text() if (TOP / source).is_file() else ""
        if source in self.old:
            text += git("show", f"{self.commit}:{source}")
        if not re.search(r"\bconst struct cmd cmd_\w+ =", text):
            return set()
        return set(re.findall(r"\.(?:name|alias) = \"(?:[a-z-]+ )*([a-z-]+)\"", text))

    def source(self, path):
        """A source counts as changed."""
        if path in self.sources:
            return
        self.sources.add(path)
        for reader in self.readers(path):
            self.source(reader)
        names = self.verbs(path)
        if names:
            self.chosen |= self.naming(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
            for lister in LISTERS:
                self.reached(lister)
        if path in self.old:
            self.reached(path)
        self.chosen |= self.noticing(path)

    def reached(self, path):
        """Chooses the tests that run a source."""
        if path not in self.rows:
            raise Doubt(f"{path} is not in the map")
        if self.rows[path] is None:
            raise Doubt(f"all tests may run {path}")
        self.chosen |= self.rows[path]

    def header(self, path):
        """A header counts as changed."""
        if path in ("src/base/base.h", "src/base/err.h", "src/base/str.h", "src/base/banned.h"):
            raise Doubt(f"every source reads {path}")
        for file in TOP.glob("src/**/*.c"):
            name = str(file.relative_to(TOP))
            if path in self.included(name):
                self.source(name)
        self.chosen |= {test for test in self.tests
                        if test.startswith("unit/") and path in self.included(f"test/{test}.c")}

    def test(self, path):
        """A file below test/ has changed."""
        name, end = os.path.splitext(path[len("test/"):])
        folder = name.split("/")[0]
        if end in (".bats", ".c") and name in self.tests:
            self.chosen.add(name)
        elif path.endswith(".h"):
            self.header(path)
        elif "/" not in name or folder in ("reach", "tools"):
            raise Doubt(f"any test may use {path}")
        elif end != ".bats" and not (folder == "unit" and end == ".c"):
            self.chosen |= {test for test in self.tests if test.startswith(f"{folder}/")}
            self.chosen |= self.naming(rf"\b{re.escape(folder)}/|\b{re.escape(os.path.basename(path))}\b")

    def file(self, path):
        """A file has changed."""
        if re.match(r"src/.*\.c$", path):
            self.source(path)
        elif re.match(r"src/.*\.h$", path):
            self.header(path)
        elif re.match(r"src/serve/", path):
            for source in (TOP / "src/serve").glob("*.c"):
                self.source(str(source.relative_to(TOP)))
        elif path.startswith("test/mutants/") or path == "test/reach/map.txt":
            pass
        elif path.startswith("test/"):
            self.test(path)
        elif path.startswith(("man/", "docs/")) or re.match(r"[A-Z]+(\.md)?$", path):
            self.chosen |= self.naming(DOCUMENT)
        elif path.startswith("scripts/lint/"):
            self.chosen |= self.naming(r"\blint\b")
        else:
            raise Doubt(f"any test may use {path}")


def main():
    try:
        chooser = Chooser()
        for path in chooser.changed():
            chooser.file(path)
    except (Doubt, OSError, ValueError, IndexError, subprocess.CalledProcessError) as doubt:
        print(f"choose.py: all tests run: {doubt}", file=sys.stderr)
        return
    left = sorted(chooser.tests - chooser.chosen)
    print(f"choose.py: {len(left)} of {len(chooser.tests)} tests reach nothing that differs from {chooser.commit[:12]}",
          file=sys.stderr)
    print("\n".join(left))


main()
