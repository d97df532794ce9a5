#!/usr/bin/env python3
"""Times a prompt to an ACP agent, directly and by a command, alternately.

ask.py ROUNDS AGENT COMMAND...   AGENT is split at its blanks; the prompt is put behind COMMAND

Prints "agent MEDIAN" and "mas MEDIAN", in microseconds.
"""
import json
import os
import statistics
import subprocess
import sys
import time

PROMPT = "hello"
rounds = int(sys.argv[1])
agent = subprocess.Popen(sys.argv[2].split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
serial = 0


def call(method, params):
    """Sends a request and reads until its answer."""
    global serial
    serial += 1
    request = {"jsonrpc": "2.0", "id": serial, "method": method, "params": params}
    agent.stdin.write(json.dumps(request).encode() + b"\n")
    agent.stdin.flush()
    for line in agent.stdout:
        message = json.loads(line)
        if message.get("id") == serial and "method" not in message:
            return message["result"]
    sys.exit("the agent has ended")


def ask_agent():
    blocks = [{"type": "text", "text": PROMPT}]
    call("session/prompt", {"sessionId": session, "prompt": blocks})


def ask_mas():
    command = sys.argv[3:] + [PROMPT]
    pid = os.posix_spawn(command[0], command, os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit("mas ask has failed")


call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
session = call("session/new", {"cwd": os.getcwd(), "mcpServers": []})["sessionId"]
sides = {"agent": ask_agent, "mas": ask_mas}
times = {name: [] for name in sides}
for n in range(rounds + 5):
    for name in sorted(sides, reverse=n % 2 == 1):
        start = time.perf_counter()
        sides[name]()
        if n >= 5:  # the first ones warm up
            times[name].append(time.perf_counter() - start)
agent.stdin.close()
agent.wait()
for name in sorted(sides):
    print(name, round(statistics.median(times[name]) * 1e6))
