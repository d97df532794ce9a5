"""Runs a host on a terminal of its own until its agent has ended, or could not be started; then
sends it SIGTERM. Prints what it printed.

    on_pty.py LOCK COMMAND...     LOCK: the host's lock file, which names its process
"""

import os
import pty
import re
import select
import signal
import sys
import time

ENDED = re.compile(rb"agent \S+ (exited|could not)")
LIMIT_S = 20


def terminate(lock):
    with open(lock, encoding="ascii") as file:
        os.kill(int(file.read().split()[1]), signal.SIGTERM)


def main():
    lock, command = sys.argv[1], sys.argv[2:]
    pid, master = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    text = b""
    end = time.monotonic() + LIMIT_S
    told = False
    while True:
        if not select.select([master], [], [], max(0.0, end - time.monotonic()))[0]:
            sys.exit(f"it does not end: {text!r}")
        try:
            part = os.read(master, 65536)
        except OSError:  # the terminal's other side is closed
            break
        text += part
        if not told and ENDED.search(text):
            told = True
            terminate(lock)
    os.waitpid(pid, 0)
    sys.stdout.buffer.write(text)


main()
