"""Tries to leave an agent's wall, each way in the table.

    escape.py try FILE            as an agent: waits for FILE, which says where everything is (target.py
                                  writes it), tries all ways and leaves what they gave in FILE.done
    escape.py judge FILE DONE     outside: prints for each way "NAME NEEDS GROUP VERDICT WHY". VERDICT
                                  is held, through, or absent: this machine does not have it

A way is a function that gets the places, and returns what it got hold of, or raises an error. What it
returns is no proof: inside of a wall a file can have the name of another. So each way has a proof,
which looks at it from the outside. No way harms the machine when it works.
"""
import errno
import json
import os
import signal
import sys
import time
import types

SECONDS = 8  # for one way

WAYS = {}


class Absent(Exception):
    """This machine does not have what the way needs."""


def way(name, proof, needs='nothing', group='wall'):
    """needs: nothing, root (works without a wall for root only), kernel (only with some kernels and
    settings), never (not even without a wall). group: network, if `network = open` lets it through."""

    def add(function):
        assert name not in WAYS, name
        WAYS[name] = types.SimpleNamespace(name=name, run=function, proof=proof, needs=needs, group=group)
        return function

    return add


# Proofs: they get the places, what the way returned, and what the victim has noticed.


def told(_places, got, _record):
    """The kernel said yes."""
    return bool(got)


def secret(places, got, _record):
    """It has read the secret, which only the outside has."""
    return places.secret in str(got)


def same(*keys):
    """It has opened the very file that is there on the outside."""

    def proof(places, got, _record):
        return any(got == ident(getattr(places, key, key)) for key in keys)

    return proof


def noticed(what):
    """The victim has noticed it."""

    def proof(_places, _got, record):
        return what in record

    return proof


def ident(path):
    try:
        st = os.stat(path)
    except OSError:
        return 'nothing'
    return f'{st.st_dev}:{st.st_ino}'


def reach(path, flags=os.O_RDONLY):
    """Opens a file, and reads from it if it can. A directory to be written to gets a file without a
    name."""
    if flags != os.O_RDONLY and os.path.isdir(path):
        try:
            os.close(os.open(path, os.O_TMPFILE | os.O_RDWR, 0o600))
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:  # FUSE has no files without names
                raise
            name = path + "/.escape"
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            os.unlink(name)
        return ident(path)
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        st = os.fstat(fd)
        if flags == os.O_RDONLY and os.path.isfile(path):
            os.read(fd, 1)
        elif flags == os.O_RDONLY:
            os.listdir(fd)
        return f'{st.st_dev}:{st.st_ino}'
    finally:
        os.close(fd)


def first(results):
    """The first of the results that is something; results is an iterable of functions."""
    last = Absent('nothing to try')
    for result in results:
        try:
            got = result()
            if got:
                return got
        except OSError as e:
            last = e
    raise last


def run_apart(one, places):
    """Tries one way in a process of its own: it may be killed for it, or hang."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        signal.alarm(SECONDS)
        answer = {}
        try:
            answer['got'] = str(one.run(places) or '')
        except Absent as e:
            answer['absent'] = str(e)
        except BaseException as e:  # whatever stopped it
            answer['error'] = f'{type(e).__name__}: {e}'
        os.write(write, json.dumps(answer).encode()[:60000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, 'rb') as stream:
        text = stream.read()
    _, status = os.waitpid(pid, 0)
    if text:
        return json.loads(text)
    return {'error': f'it ended with status {status}'}


def places_of(file):
    with open(file, encoding='utf-8') as f:
        return types.SimpleNamespace(**json.load(f))


def put(file, value):
    with open(file + '.new', 'w', encoding='utf-8') as f:
        json.dump(value, f)
    os.rename(file + '.new', file)


def try_all(file):
    inherited = descriptors()
    while not os.path.exists(file):
        time.sleep(0.02)
    places = places_of(file)
    places.inherited = inherited
    put(file + '.done', {one.name: run_apart(one, places) for one in WAYS.values()})


def descriptors():
    """What the agent has open when it starts, beside its terminal."""
    return [fd for fd in map(int, os.listdir('/proc/self/fd')) if fd > 2 and is_open(fd)]


def is_open(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False


def judge(file, done):
    places = places_of(file)
    with open(done, encoding='utf-8') as f:
        got = json.load(f)
    with open(places.record, encoding='utf-8') as f:
        record = json.load(f)
    for one in WAYS.values():
        answer = got[one.name]
        if one.proof(places, answer.get('got', ''), record):
            verdict, why = 'through', answer.get('got', '')
        elif 'absent' in answer:
            verdict, why = 'absent', answer['absent']
        else:
            verdict, why = 'held', answer.get('error', answer.get('got', ''))
        print(one.name, one.needs, one.group, verdict, ' '.join(why.split())[:120])


def main():
    sys.modules['escape'] = sys.modules['__main__']
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import ways_files  # noqa: F401 they fill the table
    import ways_kernel  # noqa: F401
    import ways_processes  # noqa: F401
    import ways_sockets  # noqa: F401

    if sys.argv[1] == 'try':
        try_all(sys.argv[2])
        signal.pause()
    else:
        judge(sys.argv[2], sys.argv[3])


if __name__ == '__main__':
    main()
