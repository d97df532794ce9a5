#!/usr/bin/env python3
"""Makes all small mistakes of a kind in some sources by itself, and tells which of them no test notices.

    test/mutants/sweep.py [-l] [-k COUNT] [-n COUNT] [-t TEST]... FILE...
    make sweep FILES='FILE...' [TESTS='TEST...']

All mistakes are compiled at once, each behind a number (sweep.h); one is made by writing its number into a file
before a test runs, so it costs a run and no compile. The mistakes, as clang's tree of the source shows the places:

    always, never       a condition, or a term of && and ||, is taken as true or false after it was evaluated; who
                        notices both notices that it is inverted, and that an early return after it is lost
    < for <=            a comparison is off by one, and so are <=, > and >=; the last round of a loop is lost
    dropped             a call or assignment that is a statement, a call whose -1 or result is returned or kept
    ignored, returned   an error that is returned is a success and the other way round; another truth is returned
    lost                a return, break or continue that other statements stand before
    round               the first round of a loop is skipped, or there is no second one
    +1, -1              a constant that is no flag: enumerators of limits, numbers

Each TEST (as in the tables of run.py: unit/test_X, or 'cli/diff PATTERN') runs once without a mistake and notes
where a mistake would make a difference; without -t, all unit tests do. Then each mistake is tried with the tests
that it makes a difference to, fastest first, until one fails or hangs; with COUNT tests of bats at most (4). As a
mistake may kill or remove anything, every run has its own processes and temporary files, and can write nothing
else but the copy in build/sweep. -l only lists the mistakes; with -n only so many of each file are tried, by chance
(the same each time), which tells soon how much of a folder is noticed by slow tests.

What is not noticed is printed for each function, "not met" where it made no difference to any test. Not all of it
is a hole: look whether a user or caller could see a difference, and test that. Not made are mistakes in macros,
static tables, switch labels and text, behind walls where the file cannot be opened, and leaks (calls of *free and
*close that are dropped).
"""
import argparse
import collections
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from run import TOP, Worker

LIMITS = re.compile(r"_(MAX|MIN|LEN|SIZE|COUNT|LIMIT)$")
QUIET = re.compile(r"(^|_)(free|close)(p|dir|_.*)?$|^fclose$")  # who drops these only leaks
OPAQUE = {"ConstantExpr", "UnaryExprOrTypeTraitExpr", "EnumDecl", "StaticAssertDecl", "OffsetOfExpr", "RecordDecl"}
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
SANDBOX = """for dir in /tmp /var/tmp /dev/shm; do
    case $1/ in "$dir"/*) ;; *) mount -t tmpfs none "$dir" || exit ;; esac
done
mkdir -p /tmp/home && mount --bind "$1" "$1" && mount -o remount,bind,ro / && cd "$1" && shift && "$@"
exit $? # the first process gets all orphans, so the test is another one
"""

Mistake = collections.namedtuple("Mistake", "number file line function text")


def bare(node):
    """The expression in casts and parentheses."""
    while node.get("kind") in ("ImplicitCastExpr", "ParenExpr", "CStyleCastExpr"):
        node = node["inner"][-1]
    return node


def is_int(node, value):
    node, sign = bare(node), 1
    if node.get("kind") == "UnaryOperator" and node["opcode"] == "-":
        node, sign = bare(node["inner"][0]), -1
    return node.get("kind") == "IntegerLiteral" and sign * int(node["value"]) == value


def callee(call):
    return bare(call["inner"][0]).get("referencedDecl", {}).get("name", "") if call.get("kind") == "CallExpr" else ""


def acts(node):
    """Whether an expression does something."""
    return node.get("kind") in ("CallExpr", "CompoundAssignOperator") or \
        node.get("opcode") in ("=", "++", "--") or any(acts(child) for child in node.get("inner", []))


class Source:
    """A file, its mistakes, and its text with all of them."""

    def __init__(self, path, first, flags):
        self.path, self.next = path, first
        self.text = (TOP / path).read_bytes()
        self.mistakes, self.edits, self.done = [], [], set()
        tree = subprocess.run(["clang", "-fsyntax-only", "-w", "-Xclang", "-ast-dump=json", *flags, path], cwd=TOP,
                              check=True, stdout=subprocess.PIPE).stdout
        for node in json.loads(tree)["inner"]:
            # only of what is in this file itself clang does not say where it is included
            if node.get("kind") == "FunctionDecl" and "includedFrom" not in json.dumps(node["loc"]):
                for child in node.get("inner", []):
                    if child["kind"] == "CompoundStmt":
                        self.function, self.returns = node["name"], node["type"]["qualType"].split(" (")[0]
                        self.body = child
                        self.inside = child["range"]["begin"]["offset"], child["range"]["end"]["offset"] + 1
                        self.find_spans(child, None)
                        self.statement(child, None, True)

    # ---- places in the text

    def find_spans(self, node, inside):
        """Notes the offsets of each node's begin and end, where it is, as a whole, text of this function. inside: the
        macro that made the node around it."""
        places = [node.get("range", {}).get(side, {}) for side in ("begin", "end")]
        macros = [place.get("expansionLoc", {}).get("offset") for place in places]
        if all(place.get("expansionLoc", {}).get("isMacroArgExpansion") for place in places):
            places = [place["spellingLoc"] for place in places]
        elif macros[0] is not None and macros[0] == macros[1]:
            if macros[0] == inside:
                places = [{}, {}]
            inside = macros[0]
        begin, end = (place.get("expansionLoc", place) for place in places)
        if all("offset" in place and "includedFrom" not in place for place in (begin, end)):
            last = end["offset"] + end["tokLen"]
            if "expansionLoc" in places[1] and re.match(rb"\s*\(", self.text[last:]):  # arguments of a macro
                last, depth = self.text.index(b"(", last) + 1, 1
                while depth > 0:
                    depth += {40: 1, 41: -1}.get(self.text[last], 0)
                    last += 1
            if self.inside[0] <= begin["offset"] < last <= self.inside[1]:
                node["span"] = (begin["offset"], last)
        for child in node.get("inner", []):
            self.find_spans(child, inside)

    def end_of(self, node):
        """Where a statement ends, with its semicolon; None: unknown."""
        kind = node.get("kind")
        if kind in ("IfStmt", "ForStmt", "WhileStmt", "SwitchStmt", "LabelStmt"):
            return self.end_of(node["inner"][-1])
        span = node.get("span")
        if span is None or kind in ("CompoundStmt", "NullStmt"):
            return span and span[1]
        rest = re.match(rb"\s*;", self.text[span[1]:])
        return span[1] + rest.end() if rest else None

    def edit(self, what, span, texts, names, cut=None, shown=None):
        """Puts texts around a span, in which N, N1 and so on are the numbers of mistakes with these names."""
        if span is None or (what, span) in self.done:
            return
        self.done.add((what, span))
        shown = " ".join((shown or self.text[span[0]:span[1]].decode()).split())
        line = self.text.count(b"\n", 0, span[0]) + 1
        for i, name in enumerate(names):
            self.mistakes.append(Mistake(self.next + i, self.path, line, self.function,
                                         f"{name}: {shown if len(shown) < 90 else shown[:87] + '...'}"))
        texts = [re.sub(r"\bN(\d?)\b|(?<=_)N\b", lambda m: str(self.next + int(m[1] or 0)), text) for text in texts]
        self.edits.append((span, texts, cut, range(self.next, self.next + len(names))))
        self.next += len(names)

    def with_mistakes(self, header):
        """The text; the lines are the same."""
        parts, cuts = [], {}
        for order, ((begin, end), texts, cut, _) in enumerate(self.edits):
            # what is outside comes first: it opens earlier and closes later
            parts += [(begin, 1, order, texts[0]), (end, 0, -order, texts[-1])]
            if cut:
                parts.append((cut[0], 0, 1 - order, ""))
                cuts[cut] = texts[1]
        gone = sorted(cuts.items())
        out, at = [], 0
        for offset, _, _, text in sorted(parts, key=lambda part: part[:3]):
            while gone and gone[0][0][1] <= offset:
                (begin, end), new = gone.pop(0)
                out += [self.text[at:begin], new.encode(), b"\n" * self.text.count(b"\n", begin, end)]
                at = end
            out += [self.text[at:offset], text.encode()]
            at = offset
        return b'#include "%s"\n#line 1 "%s"\n' % (header.encode(), self.path.encode()) + \
            b"".join(out) + self.text[at:]

    def forget(self, lines):
        """Leaves out the mistakes on lines that do not compile. Returns false if there are none."""
        def is_bad(edit):
            first = self.text.count(b"\n", 0, edit[0][0]) + 1
            return any(first <= line <= first + self.text.count(b"\n", *edit[0]) and
                       (line in (first, first + self.text.count(b"\n", *edit[0])) or edit[2]) for line in lines)
        bad = {number for edit in self.edits if is_bad(edit) for number in edit[3]}
        self.edits = [edit for edit in self.edits if not bad.intersection(edit[3])]
        self.mistakes = [mistake for mistake in self.mistakes if mistake.number not in bad]
        return bool(bad)

    # ---- mistakes

    def term(self, node):
        """A condition, or a term of one."""
        inner = bare(node)
        if inner.get("opcode") in ("&&", "||"):
            return  # its terms are found by themselves
        if inner.get("opcode") == "!" and bare(inner["inner"][0]).get("opcode") in ("&&", "||"):
            return
        if inner.get("kind") in ("IntegerLiteral", None):
            return
        self.edit("term", node.get("span"), ("sweep_term(N, (", ") ? 1 : 0)"), ("always", "never"))
        if inner.get("opcode") == "==" and is_int(inner["inner"][1], -1) and callee(bare(inner["inner"][0])):
            self.edit("drop", node.get("span"), ("(!sweep_is(N) && (", "))"), ("dropped",))

    def loop(self, node, body):
        begin, end = node.get("span"), self.end_of(node)
        inside, inside_end = body.get("span"), self.end_of(body)
        if not (begin and end and inside and inside_end):
            return
        number, head = self.next, self.text[begin[0]:inside[0]].decode().split("\n")[0].rstrip(" {")
        self.edit("round", (inside[0], inside_end),
                  (f"{{ int sweep_r = sweep_round(N, &sweep_{number}); if (sweep_r == 1) continue; "
                   "if (sweep_r == 2) break; ", "}"), ("first round skipped", "no second round"), shown=head)
        self.edits.insert(len(self.edits) - 1, ((begin[0], end), (f"{{ int sweep_{number} = 0; ", "}"), None,
                                                range(number, self.next)))

    def statement(self, node, parent, last):
        """A node where a statement may stand; last: nothing of the function follows."""
        kind, inner = node.get("kind"), node.get("inner", [])
        what = bare(node)
        if kind == "CompoundStmt":
            for i, child in enumerate(inner):
                self.statement(child, node, last and i == len(inner) - 1 and node is self.body)
            return
        if kind in ("CaseStmt", "DefaultStmt", "LabelStmt"):
            self.statement(inner[-1], node, False)
            return
        if kind in ("ReturnStmt", "BreakStmt", "ContinueStmt"):
            # alone behind an if it is lost when the condition never holds
            if not last and parent.get("kind") not in ("IfStmt", "CaseStmt", "DefaultStmt"):
                end = self.end_of(node)
                self.edit("lost", end and (node["span"][0], end), ("{ if (!sweep_is(N)) ", " }"), ("lost",))
        elif what.get("opcode") in ("=", "++", "--") or what.get("kind") == "CompoundAssignOperator" or \
                (what.get("kind") == "CallExpr" and not QUIET.search(callee(what))):
            self.edit("dropped", node.get("span"), ("(sweep_is(N) ? (void)0 : (void)(", "))"), ("dropped",))
        self.visit(node, parent)

    def visit(self, node, parent):
        kind, inner = node.get("kind", ""), node.get("inner", [])
        if kind in OPAQUE or kind.endswith("Attr") or node.get("storageClass") == "static":
            return
        if kind in ("IfStmt", "WhileStmt", "DoStmt", "ForStmt"):
            cond, body = {"IfStmt": (0, 1), "WhileStmt": (0, 1), "DoStmt": (1, 0), "ForStmt": (2, 4)}[kind]
            if kind == "IfStmt" or (kind == "DoStmt" and not is_int(inner[1], 0)):
                self.term(inner[cond])
            if kind == "ForStmt" or (kind == "WhileStmt" and acts(inner[cond])):
                self.loop(node, inner[body])
            for i, child in enumerate(inner):
                if i >= body and i != cond:
                    self.statement(child, node, False)
                elif child.get("kind"):
                    self.visit(child, node)
            return
        if kind == "SwitchStmt":
            self.visit(inner[0], node)
            self.statement(inner[-1], node, False)
            return
        if kind == "ConditionalOperator":
            self.term(inner[0])
        elif kind == "BinaryOperator" and node["opcode"] in ("&&", "||"):
            self.term(inner[0])
            self.term(inner[1])
        elif kind == "BinaryOperator" and node["opcode"] in OTHER:
            self.compare(node, parent)
        elif kind == "ReturnStmt" and inner:
            self.value(inner[0])
        elif kind == "VarDecl" and inner and node.get("init") and node["type"]["qualType"] in ("int", "bool", "_Bool"):
            if node["type"]["qualType"] != "int":
                self.term(inner[-1])
            elif bare(inner[-1]).get("kind") == "CallExpr":
                self.edit("dropped", inner[-1].get("span"), ("(sweep_is(N) ? 0 : (", "))"), ("dropped",))
        self.constant(node, parent)
        if node.get("opcode") in ("|", "&", "^", "<<", ">>") or "alloc" in callee(node):
            inner = [child for child in inner if bare(child).get("kind") not in ("IntegerLiteral", "DeclRefExpr")]
        for child in inner:
            if child.get("kind", "").endswith("Stmt") and kind == "StmtExpr":
                self.statement(child, node, False)
            else:
                self.visit(child, node)

    def compare(self, node, parent):
        """A comparison that is off by one, or ends a loop too early."""
        whole, left, right = node.get("span"), node["inner"][0].get("span"), node["inner"][1].get("span")
        if not (whole and left and right and left[1] <= right[0]):
            return
        op, names, early = node["opcode"], [f"{OTHER[node['opcode']]} for {node['opcode']}"], ""
        if parent and parent.get("kind") == "ForStmt" and parent["inner"][3].get("opcode") == "++" and op == "<":
            names.append("last round skipped")
            early = f"; sweep_r_N = sweep_other(N1, sweep_r_N, sweep_a_N + 1 {op} sweep_b_N)"
        self.edit("compare", whole, ("({ __auto_type sweep_a_N = (", ") + 0; __auto_type sweep_b_N = (",
                  f") + 0; bool sweep_r_N = sweep_other(N, sweep_a_N {op} sweep_b_N, sweep_a_N {OTHER[op]} sweep_b_N)"
                  f"{early}; sweep_r_N; }})"), names, (left[1], right[0]))

    def value(self, node):
        """What a function returns."""
        span, inner = node.get("span"), bare(node)
        if self.returns in ("bool", "_Bool"):
            if is_int(node, 0) or is_int(node, 1):
                self.edit("value", span, ("(!sweep_is(N) == (", "))"),
                          ("returned true" if is_int(node, 0) else "returned false",))
            else:
                self.edit("term", span, ("sweep_term(N, (", ") ? 1 : 0)"), ("returned true", "returned false"))
        elif self.returns == "int":
            if is_int(node, 0) or is_int(node, -1):
                other = "-1" if is_int(node, 0) else "0"
                self.edit("value", span, ("sweep_value(N, ", f", {other})"), (f"returned {other}",))
            elif inner.get("kind") != "IntegerLiteral":
                self.edit("value", span, ("sweep_value(N, (", "), 0)"), ("ignored",))
                if inner.get("kind") == "CallExpr" and not callee(inner).startswith("err_"):
                    self.edit("dropped", span, ("(sweep_is(N) ? 0 : (", "))"), ("dropped",))

    def constant(self, node, parent):
        kind = node.get("kind")
        if kind == "DeclRefExpr" and node["referencedDecl"]["kind"] == "EnumConstantDecl":
            if LIMITS.search(node["referencedDecl"]["name"]):
                self.edit("constant", node.get("span"), ("(", " + sweep_step(N))"), ("+1", "-1"))
        elif kind == "IntegerLiteral" and parent:
            span, value = node.get("span"), int(node["value"])
            if span is None or not re.fullmatch(rb"[1-9]\d*", self.text[span[0]:span[1]]):
                return
            if value > 1 or (bare(parent).get("opcode") in ("+", "-") and len(parent.get("inner", [])) == 2):
                step, names = ("less", ("-1",)) if value == 1 else ("step", ("+1", "-1"))
                self.edit("constant", span, ("(", f" + sweep_{step}(N))"), names)


class Sweep:
    """A copy of the project with the mistakes, and what the tests find in it."""

    def __init__(self, paths):
        flags = shlex.split(subprocess.run(["make", "-s", "print-flags"], cwd=TOP, check=True, text=True,
                                           stdout=subprocess.PIPE).stdout)
        self.sources, first = [], 1
        for path in paths:
            self.sources.append(Source(path, first, flags))
            first = self.sources[-1].next
        self.size = 4 * (first // 4 + 2)

    def build(self, units, more):
        self.worker = Worker(TOP / "build/sweep" / str(os.getpid()))
        self.state = self.worker.top / "build/sweep.state"
        self.state.write_bytes(b"\0" * self.size)
        header = self.worker.top / "build/sweep.h"
        header.write_text(f'#define SWEEP_STATE "{self.state}"\n#define SWEEP_SIZE {self.size}\n' +
                          (TOP / "test/mutants/sweep.h").read_text())
        todo = list(self.sources)
        while todo:
            for source in todo:
                (self.worker.top / source.path).write_bytes(source.with_mistakes(str(header)))
            _, out = self.worker.run(["make", "-s", "-k", "DEV=", *(f"build/{source.path[:-1]}o" for source in todo)])
            wrong = collections.defaultdict(set)
            for path, line in re.findall(r"^(\S+?):(\d+):\d+: error", out, re.M):
                wrong[path].add(int(line))
            todo = [source for source in todo if source.path in wrong and source.forget(wrong[source.path])]
        code, out = self.worker.run(["make", "-s", "DEV=", *more, *units])
        if code != 0:
            sys.exit(f"it does not build:\n{out[-3000:]}")

    def run(self, command, number, limit):
        """Runs a test with a mistake. Returns whether it passes."""
        with open(self.state, "r+b") as file:
            file.write(number.to_bytes(4, "little"))
        top = str(self.worker.top)
        user = [] if os.geteuid() == 0 else ["-Ur"]
        env = {**os.environ, "MAS": top + "/build/mas", "TEST_ROOT": top, "HOME": "/tmp/home", "TMPDIR": "/tmp"}
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(["unshare", *user, "-mpf", "--kill-child", "--mount-proc", "sh", "-c", SANDBOX,
                                        "sh", top, *command],
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env)
            try:
                return process.wait(limit) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                process.kill()
                process.wait()

    def look(self, tests):
        """Runs the tests without a mistake: self.tests is (seconds, command, what makes a difference) of each."""
        self.tests = []
        for command in tests:
            self.state.write_bytes(b"\0" * self.size)
            begun = time.monotonic()
            if self.run(command, 0, 300):
                seconds = time.monotonic() - begun
                self.tests.append((command[0] == "bats", seconds, command, self.state.read_bytes()[4:]))
            else:
                print(f"fails without a mistake: {shlex.join(command)}", flush=True)
        self.tests.sort(key=lambda test: test[:2])

    def is_noticed(self, mistake, most, best):
        """Tries a mistake; best are the tests that noticed something before. None: nothing meets it."""
        can = [test for test in self.tests if test[3][mistake.number]]
        slow = [test for test in can if test[0]]
        can = [test for test in can if not test[0]] + slow[:most]
        for test in sorted(can, key=lambda test: (test[0], -best[tuple(test[2])])):
            if not self.run(test[2], mistake.number, 2 + 4 * test[1]):
                best[tuple(test[2])] += 1
                return True
        return False if can else None


def bats_commands(test, top):
    """The tests of a file of bats, one by one."""
    name, *only = test.split(maxsplit=1)
    text = (TOP / f"test/{name}.bats").read_text()
    for title in re.findall(r'^@test "(.*)" \{$', text, re.M):
        if re.search(only[0] if only else "", title):
            yield ["bats", "-f", f"^{re.escape(title)}$", str(top / f"test/{name}.bats")]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].strip())
    parser.add_argument("-l", action="store_true")
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("-n", type=int)
    parser.add_argument("-t", action="append", default=[])
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()

    sweep = Sweep(options.files)
    if options.l:
        for mistake in (mistake for source in sweep.sources for mistake in source.mistakes):
            print(f"{mistake.file}:{mistake.line} {mistake.function}() {mistake.text}")
        return
    tests = options.t or [f"unit/{path.stem}" for path in sorted((TOP / "test/unit").glob("test_*.c"))]
    units = [f"build/test/{test}" for test in tests if test.startswith("unit/")]
    sweep.build(units, ["all", "tools"] if len(units) < len(tests) or not options.t else [])
    sweep.look([[unit] for unit in units] + [command for test in tests if not test.startswith("unit/")
                                             for command in bats_commands(test, sweep.worker.top)])
    all_counts = collections.Counter()
    for source in sweep.sources:
        counts = collections.Counter()
        if options.n is not None and options.n < len(source.mistakes):
            source.mistakes = sorted(random.Random(source.path).sample(source.mistakes, options.n))
        for function in dict.fromkeys(mistake.function for mistake in source.mistakes):
            mistakes = [mistake for mistake in source.mistakes if mistake.function == function]
            best = collections.Counter()
            results = [sweep.is_noticed(mistake, options.k, best) for mistake in mistakes]
            counts.update(results)
            if not all(results):
                print(f"{source.path}: {function}() {results.count(True)} of {len(results)}")
            for mistake, result in zip(mistakes, results):
                if not result:
                    print(f"    {mistake.line} {'not met ' if result is None else ''}{mistake.text}")
        report(source.path, counts)
        all_counts.update(counts)
    report("all", all_counts)
    shutil.rmtree(sweep.worker.top)


def report(what, counts):
    total = sum(counts.values())
    print(f"== {what}: noticed {counts[True]} of {total} ({100 * counts[True] // max(total, 1)} %), not noticed "
          f"{counts[False]}, not met by a test {counts[None]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
