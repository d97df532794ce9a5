"""Runs a command whose output loses its reader, and prints how it ended.

    hangup.py KIND COMMAND...

KIND is pipe, socket or pty. Closes the reader at the end of standard input; with a KIND such as
pipe-gone there is no reader from the beginning. Whatever starts with ignored- ignores the signal that
the command would get. Prints the pid of the command, and at its end the exit status: minus the number
of the signal if one ended it.
"""

import os
import pty
import signal
import socket
import subprocess
import sys

kind, command = sys.argv[1], sys.argv[2:]
ignored = kind.startswith("ignored-")
kind = kind.removeprefix("ignored-")
gone = kind.endswith("-gone")
kind = kind.removesuffix("-gone")
if kind == "pipe":
    reader, output = os.pipe()
elif kind == "pty":
    reader, output = pty.openpty()
else:
    ends = socket.socketpair()
    reader, output = ends[0].detach(), ends[1].detach()
if ignored:
    signal.signal(signal.SIGHUP if kind == "pty" else signal.SIGPIPE, signal.SIG_IGN)
elif kind != "pty":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
if gone:
    os.close(reader)
# a session of its own has no terminal, so the kernel sends it no SIGHUP
child = subprocess.Popen(
    command,
    stdin=subprocess.DEVNULL,
    stdout=output,
    start_new_session=True,
    restore_signals=False,
)
os.close(output)
print(child.pid, flush=True)
sys.stdin.read()
if not gone:
    os.close(reader)
print(child.wait(), flush=True)
