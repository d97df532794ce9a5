#!/usr/bin/env python3
"""From the answer to a permission over HTTP until the agent has it.

    answer.py PORT TOKEN SESSION AGENT TRACE ROUNDS

The agent, test/acp/agent.py, writes its trace to TRACE, a FIFO: its lines are read as they are
written. Each round prompts the agent for a permission, waits until the API shows it, and answers it
on a connection that is open already, as a page does. Prints the median, the 99th percentile and the
longest time, in microseconds, from just before the request is sent.
"""
import http.client
import json
import os
import sys
import time

port, token, session, agent, trace, rounds = sys.argv[1:]
place = f"/sessions/{session}/agents/{agent}/"
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)


def ask(method, path, body=None):
    headers = {"Authorization": f"Bearer {token}"}
    if body is not None:
        body = json.dumps(body)
        headers["Content-Type"] = "application/json"
    connection.request(method, place + path, body, headers)
    response = connection.getresponse()
    text = response.read()
    if response.status >= 300:
        sys.exit(f"answer.py: {method} {path}: {response.status} {text.decode()}")
    return json.loads(text) if text else None


def lines(fd):
    rest = b""
    while True:
        *whole, rest = (rest + os.read(fd, 1 << 16)).split(b"\n")
        yield from whole


def wait_for(source, word):
    for line in source:
        if line.startswith(b"<") and word in line:
            return time.monotonic_ns()


def main():
    # for writing, too: then it never ends
    source = lines(os.open(trace, os.O_RDWR | os.O_CLOEXEC))
    times = []
    for _ in range(int(rounds)):
        ask("POST", "prompts", {"prompt": "ASK"})
        wait_for(source, b'"session/prompt"')
        while not (asked := ask("GET", "permissions")["permissions"]):
            pass
        begin = time.monotonic_ns()
        ask("POST", "permissions/" + asked[0]["permission"], {"option": "allow"})
        times.append((wait_for(source, b'"optionId"') - begin) // 1000)
        # the next prompt comes when this turn has ended
        while ask("GET", "permissions")["permissions"]:
            pass
    times.sort()
    print(times[len(times) // 2], times[len(times) * 99 // 100], times[-1])


main()
