"""Demands of a trace of strace -f -y that what was renamed into place is durable, in the order that counts, and
that who gives a name holds the lock of it.

    order.py TRACE DIR [CACHE...]

For each rename to a name below DIR: a temporary file was synced before (or, for a directory, the file system), and
the directory that has the new name is synced after it, before the program ends and before the next name is
given there. A CACHE is a pattern of names that
need not be: they can be made anew. LOCKS says which lock a process has to hold when it renames something to a name.
Prints what is missing; without any rename, that.
"""
import re
import sys

CALL = re.compile(r"^(\d+)\s+(\w+)\((.*)\)\s+= (-?\d+)")
BEGUN = re.compile(r"^((\d+)\s.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+)\s+<\.\.\. \w+ resumed>(.*)")
FD = re.compile(r"\d+<([^>]*)>")
RENAME = re.compile(r'(?:(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"([^"]*)", (?:(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"([^"]*)"')

METADATA = r"/sessions/.sessions.lock"
LOCKS = [(re.compile(name), lock) for name, lock in (
    (r"/sessions/\.sessions\.index$", METADATA),
    (r"/sessions/\.serve\.tokens$", METADATA),
    (r"/sessions/\.setup-answers$", METADATA),
    (r"/sessions/[0-9a-f-]{36}$", METADATA),
    (r"/sessions/\.trash-[^/]*$", METADATA),
    (r"/sessions/\.snapshots/[^/]*$", METADATA),
    (r"/sessions/[0-9a-f-]{36}/limits\.json$", METADATA),
    (r"/sessions/([0-9a-f-]{36})/(?:\.session|config\.json|unit|workflows)$", r"/sessions/\1/.session.lock"),
)]


def path_of(directory, name):
    return name if name.startswith("/") or not directory else f"{directory}/{name}"


def is_temporary(path):
    name = path.rpartition("/")[2]
    return name.startswith(".") or name.endswith(".new")


def main():
    trace, top, caches = sys.argv[1], sys.argv[2].rstrip("/"), [re.compile(one) for one in sys.argv[3:]]
    synced, waiting, bad, renames = set(), {}, [], 0
    whole = 0  # how many times the file system was synced
    held = {}  # (process, lock): it has it
    begun = {}  # by process: the first half of a call in whose middle those of others stand
    for line in open(trace, errors="replace"):
        half = BEGUN.match(line)
        if half:
            begun[half[2]] = half[1]
            continue
        half = RESUMED.match(line)
        found = CALL.match(begun.pop(half[1], "") + half[2] if half else line)
        if not found or found[4].startswith("-"):
            continue
        process, call, text = found[1], found[2], found[3]
        if call in ("flock", "close"):
            place = FD.search(text)
            if place:
                held[process, place[1]] = call == "flock" and ("LOCK_EX" in text or "LOCK_SH" in text)
        elif call in ("fsync", "fdatasync"):
            place = FD.search(text)
            if place:
                synced.add(place[1])
                waiting.pop(place[1], None)
        elif call == "syncfs":
            whole += 1
            waiting.clear()
        elif call.startswith("rename"):
            parts = RENAME.search(text)
            old, new = path_of(parts[1], parts[2]), path_of(parts[3], parts[4])
            if not new.startswith(top + "/") or "/.new-" in new or any(cache.search(new) for cache in caches):
                continue
            renames += 1
            for name, lock in LOCKS:
                match = name.fullmatch(new[len(top):])
                if match and not held.get((process, top + match.expand(lock))):
                    bad.append(f"not locked, {match.expand(lock)}: {old} -> {new}")
            for (who, lock), has in list(held.items()):  # a lock goes with its directory
                if lock.startswith(old + "/"):
                    held[who, new + lock[len(old):]] = has
            if is_temporary(old) and old not in synced and whole == 0:
                bad.append(f"not synced before it got its name: {old} -> {new}")
            synced.discard(old)
            directory = new.rpartition("/")[0]
            if directory in waiting and not new.startswith(f"{directory}/.trash-"):
                bad.append(f"its directory is not synced before the next: {waiting[directory]}, {new}")
            waiting[directory] = new
    bad += [f"its directory is not synced after it: {new}" for new in waiting.values()]
    if renames == 0:
        bad.append("nothing was renamed")
    print("\n".join(bad), end="\n" if bad else "")
    return bool(bad)


sys.exit(main())
