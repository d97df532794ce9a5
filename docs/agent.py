#!/usr/bin/env python3
"""The agent in the pictures: it speaks ACP as real ones do, and is no model but a few rules.

It lists the files of its directory, writes a line into one if it may, and tells what was written, by
what it was told of the conversation. Between two starts it keeps nothing: that is mas's part. For the
pictures of the page it also tells of a lock that it mended, asks for approval of a plan, and has options.
"""
import json, os, re, sys, time

WISH = r"[Ww]rite '([^']*)' (?:in)?to ([\w-][\w.-]*\w)"
LOCK = """The lock is released in every case now:

- `lock_take()` closes the file when it fails
- the **second** reader no longer waits

```
if (flock(fd, LOCK_EX) == -1)
    return err_errno(err, "cannot lock '%s'", path);
```
"""
PLAN = """1. Read tokens one at a time, with their place.
2. Name the place in each error.
3. Test each with a half file."""
OPTIONS = [
    {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "careful",
     "options": [{"value": "careful", "name": "Careful"}, {"value": "fast", "name": "Fast"}]},
    {"id": "web", "name": "Web search", "type": "boolean", "currentValue": True},
]
switches = False  # the client takes options that are on or off
answers = 0  # to be asked for, of the client
sessions = {}  # id -> its directory, and all texts that it was sent


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(session, event, **what):
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": event, **what}})


def say(session, text):
    for word in re.findall(r"\S+\s*", text):
        update(session, "agent_message_chunk", content={"type": "text", "text": word})
        time.sleep(0.01)


def permission(session, call, title, kind="edit", yes="Allow", no="Reject", **more):
    """Asks the person in front of it; true if it may."""
    global answers
    answers += 1
    choices = [("yes", yes, "allow_once"), ("no", no, "reject_once")]
    send(id=answers, method="session/request_permission", params={
        "sessionId": session, "options": [{"optionId": i, "name": n, "kind": k} for i, n, k in choices],
        "toolCall": {"toolCallId": call, "title": title, "kind": kind, "status": "pending", **more}})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == answers and "method" not in message:
            return message.get("result", {}).get("outcome", {}).get("optionId") == "yes"
    sys.exit()


def write(session, text, name):
    place, call = sessions[session]["place"], f"call-{answers + 1}"
    update(session, "tool_call", toolCallId=call, title=f"Write {name}", kind="edit", status="pending")
    allowed = permission(session, call, f"Write {name}")
    if allowed:
        with open(os.path.join(place, name), "w") as f:
            f.write(text + "\n")
    update(session, "tool_call_update", toolCallId=call, status="completed" if allowed else "failed")
    say(session, f"{name} is written." if allowed else f"Then I leave {name} alone.")


def mend(session):
    for call, title, kind in ("read", "Read lock.c", "read"), ("edit", "Edit lock.c", "edit"):
        update(session, "tool_call", toolCallId=call, title=title, kind=kind, status="completed")
    say(session, LOCK)
    update(session, "tool_call", toolCallId="test", title="Run make test", kind="execute", status="pending")
    allowed = permission(session, "test", "Run make test", "execute")
    update(session, "tool_call_update", toolCallId="test", status="completed" if allowed else "failed")
    say(session, "All 214 tests pass." if allowed else "Then it is not tested.")


def plan(session):
    text = {"content": [{"type": "content", "content": {"type": "text", "text": PLAN}}], "rawInput": {"plan": PLAN}}
    allowed = permission(session, "plan", "Ready to code?", "switch_mode", "Yes, go on", "No, keep planning", **text)
    say(session, "I begin with the tokens." if allowed else "What should be different?")


def answer(session, text):
    known = "\n".join(sessions[session]["texts"])
    if wish := re.search(WISH, text):
        write(session, *wish.groups())
    elif "lock" in text:
        mend(session)
    elif "parser" in text:
        plan(session)
    elif "files" in text:
        names = sorted(os.listdir(sessions[session]["place"]))
        say(session, f"There are {len(names)}: {', '.join(names)}.")
    elif found := re.findall(WISH, known):
        say(session, f"You had me write '{found[-1][0]}' into {found[-1][1]}.")
    else:
        say(session, "I know nothing of that.")


for line in sys.stdin:
    message = json.loads(line)
    method, params, id = message.get("method"), message.get("params", {}), message.get("id")
    if method == "initialize":
        can = (params.get("clientCapabilities", {}).get("session") or {}).get("configOptions") or {}
        switches = isinstance(can.get("boolean"), dict)
        send(id=id, result={"protocolVersion": 1, "agentInfo": {"name": "demo", "version": "1"},
                            "agentCapabilities": {}, "authMethods": []})
    elif method == "session/new":
        name = f"session-{len(sessions) + 1}"
        sessions[name] = {"place": params["cwd"], "texts": []}
        send(id=id, result={"sessionId": name, "configOptions": OPTIONS if switches else OPTIONS[:1]})
    elif method == "session/prompt":
        texts = [block.get("text", "") for block in params["prompt"]]
        sessions[params["sessionId"]]["texts"] += texts
        answer(params["sessionId"], texts[-1])
        send(id=id, result={"stopReason": "end_turn"})
    elif id is not None and method:
        send(id=id, error={"code": -32601, "message": f"no method {method}"})
