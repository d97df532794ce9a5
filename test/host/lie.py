#!/usr/bin/env python3
"""Takes the place of a host, and lies to whoever asks it.

lie.py RUN_DIR AGENT LIE   prints "connected" once it listens, then each request as a line
"""
import select
import sys

from ask import say, take_name


def silence(client, head):
    """Never answers."""


def main():
    run, agent, lie = sys.argv[1:]
    listener = take_name(run, agent)
    clients = {listener: b""}
    while True:
        for ready in select.select(list(clients), [], [])[0]:
            if ready is listener:
                clients[listener.accept()[0]] = b""
                continue
            got = ready.recv(65536)
            if not got:
                del clients[ready]
                ready.close()
                continue
            *heads, clients[ready] = (clients[ready] + got).split(b"\n")
            for head in heads:
                say(head.decode())
                globals()[lie.replace("-", "_")](ready, head)


if __name__ == "__main__":
    main()
