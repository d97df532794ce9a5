#!/usr/bin/env python3
"""A small ACP client, without modules of others: runs a program and talks JSON-RPC with it.

    python3 client.py PROGRAM ARG... <<'END'
    s = c.new()
    print(c.prompt(s, "hello"))
    END

runs the script on its standard input with `c`, the client, which has been initialized. What fails
ends it with exit code 1: an assert, an answer that is an error (Refused), 20 s without what is
waited for (Late). With MAS_CLIENT_RAW set nothing is initialized.
"""
import json
import os
import queue
import subprocess
import sys
import threading
import time

LIMIT = float(os.environ.get("MAS_CLIENT_LIMIT", "20"))


class Refused(Exception):
    def __init__(self, error):
        super().__init__(error.get("message", ""))
        self.code = error.get("code")
        self.message = error.get("message", "")


class Late(Exception):
    pass


class Client:
    def __init__(self, argv, env=None):
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.lines = queue.Queue()
        self.last = 0
        self.answers = {}
        self.updates = []  # params of session/update
        self.permissions = []  # requests that wait for an answer
        self.forms = []  # elicitations that wait for an answer
        self.withdrawn = []  # ids of those that were taken back
        self.notes = []
        self.gone = False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.p.stdout:
            self.lines.put(line)
        self.lines.put(None)

    # ---- out

    def send(self, message):
        self.raw(json.dumps(dict(message, jsonrpc="2.0")) + "\n")

    def raw(self, text):
        self.p.stdin.write(text.encode() if isinstance(text, str) else text)
        self.p.stdin.flush()

    def begin(self, method, **params):
        """A request whose answer is taken later."""
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        return self.last

    def note(self, method, **params):
        self.send({"method": method, "params": params})

    # ---- in

    def take(self, line):
        message = json.loads(line)
        assert message.get("jsonrpc") == "2.0", message
        if "method" not in message:
            self.answers[message["id"]] = message
        elif message["method"] == "session/update":
            self.updates.append(message["params"])
        elif message["method"] == "session/request_permission":
            self.permissions.append(message)
        elif message["method"] == "elicitation/create":
            self.forms.append(message)
        elif message["method"] == "$/cancel_request":
            self.withdrawn.append(message["params"]["requestId"])
            self.permissions = [p for p in self.permissions
                                if p["id"] != message["params"]["requestId"]]
        else:
            self.notes.append(message)

    def until(self, true, what="it"):
        """Takes what comes until a function says something true, which is returned."""
        end = time.monotonic() + LIMIT
        while True:
            found = true()
            if found:
                return found
            left = end - time.monotonic()
            if left <= 0 or self.gone:
                raise Late("%s never came: %s" % (what, self.updates[-5:]))
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                continue
            if line is None:
                self.gone = True
            else:
                self.take(line)

    def end(self, number):
        """The answer to a request that was begun."""
        answer = self.until(lambda: self.answers.get(number), "an answer")
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def ask(self, method, **params):
        return self.end(self.begin(method, **params))

    # ---- the protocol

    def initialize(self, **can):
        return self.ask("initialize", protocolVersion=1, clientCapabilities=can,
                        clientInfo={"name": "test", "version": "1"})

    def new(self, cwd="/tmp"):
        self.made = self.ask("session/new", cwd=cwd, mcpServers=[])
        return self.made["sessionId"]

    def load(self, session, cwd="/tmp"):
        return self.ask("session/load", sessionId=session, cwd=cwd, mcpServers=[])

    def begin_prompt(self, session, *texts):
        return self.begin("session/prompt", sessionId=session,
                          prompt=[t if isinstance(t, dict) else {"type": "text", "text": t}
                                  for t in texts])

    def prompt(self, session, *texts):
        """Prompts; the text that was answered. self.stop is the stop reason."""
        start = len(self.updates)
        self.stop = self.end(self.begin_prompt(session, *texts))["stopReason"]
        return self.text(session, start)

    def of_kind(self, session, kind, start=0):
        return [u["update"] for u in self.updates[start:]
                if u["sessionId"] == session and u["update"]["sessionUpdate"] == kind]

    def text(self, session, start=0, kind="agent_message_chunk"):
        return "".join(u["content"]["text"] for u in self.of_kind(session, kind, start))

    def wait_text(self, session, text, kind="agent_message_chunk"):
        self.until(lambda: text in self.text(session, 0, kind), text)

    def tools(self, session, start=0):
        """Tool calls as they are in the end, by their ids."""
        tools = {}
        for u in self.updates[start:]:
            if u["sessionId"] == session and u["update"]["sessionUpdate"].startswith("tool_call"):
                tools.setdefault(u["update"]["toolCallId"], {}).update(u["update"])
        return tools

    def titles(self, session, start=0):
        return [t["title"] for t in self.tools(session, start).values()]

    def permission(self):
        return self.until(lambda: self.permissions and self.permissions[0], "a permission")

    def permit(self, permission, option):
        self.permissions.remove(permission)
        self.send({"id": permission["id"],
                   "result": {"outcome": {"outcome": "selected", "optionId": option}}})

    def form(self):
        """What a person is asked to fill in or to open."""
        return self.until(lambda: self.forms and self.forms[0], "an elicitation")

    def fill(self, form, action, **content):
        self.forms.remove(form)
        self.send({"id": form["id"], "result": dict({"action": action}, **({"content": content} if content else {}))})

    def option(self, permission, kind):
        return next(o["optionId"] for o in permission["params"]["options"] if o["kind"] == kind)

    def hang_up(self):
        """Closes its input; its exit code."""
        self.p.stdin.close()
        return self.p.wait(LIMIT)


def main():
    c = Client(sys.argv[1:])
    if "MAS_CLIENT_RAW" not in os.environ:
        c.initialized = c.initialize()
    try:
        exec(compile(sys.stdin.read(), "script", "exec"),
             {"c": c, "Client": Client, "Refused": Refused, "Late": Late, "json": json, "os": os,
              "argv": sys.argv[1:], "subprocess": subprocess, "time": time})
    except (Refused, Late) as e:
        sys.exit("%s: %s" % (type(e).__name__, e))
    finally:
        if c.p.poll() is None:
            c.p.kill()


main()
