#!/usr/bin/env python3
"""A scripted ACP agent (protocol version 1) for tests: it does what words in the prompt say.

usage: agent.py [OPTION]...

Only the last text block of a prompt steers it, so that an injected history does not. Its words are
done in order; WORD:"..." takes a JSON string. Then, unless a word ended the turn, it answers

    AGENT#n seen=[CW-A CW-B] users=N last="..."

with n the turn of this process, the code words (CW-...) in all that its session was ever shown, the
number of prompts in that, and the prompt's last text block (60 characters); and, if the prompt has
any, images=[TYPE:BYTES:SHA-256 ...], the sums 8 digits long.

text    SAY:x THINK:x CHUNKS:n FLOOD:n BIG:kB QUIET (no answer line)
time    SLOW:ms HANG[:reason] (until cancelled; then stops with that reason) HANGERR:code (then fails) DEAF (even then) STEERED (until it is steered)
tools   TOOL[:kind] UPSERT (news of a call never announced) DIFF:path SHOW:terminal OVER:call PLAN
forms   ELICIT[:how] (-> "form=<the answer>", the pin as its length; how: huge, many, fields,N,
        none, odd, twice; url[,ADDRESS]; url,visited and url,early tell that it is done, after and before the answer)
asking  ASK[:kind] (-> "permit=<option id|cancelled>") ASKOF:FILE (with these members of the tool call: "tool" in the
        request, a list "before" it, and a list "then", each when FILE.0, FILE.1 ... is there) ASKS:n[,form] (n times and
        then for a form, before it reads any answer, -> "asks=" and the answers) WITHDRAW APPROVE[:more of it] (of a plan, see --plan-clears)
client  READ:path[:line[:limit]] WRITE:path=text RUN:command RUNKILL:command RUNLEAVE:command
        (-> "read=..." "write=ok" "run=<code>:<output>", or "error=<code>"; NAME=value before a command is for its environment)
        RACE:directory (all of these in a place that turns into a link to it again and again)
        RACEUNIT:directory (the same where the place is the agent's own directory)
        OWN:command (by the agent itself, -> "own=<output>")
        CALL:method (any request, -> "call=<code|ok>")
use     USAGE:used/size COST:amount[currency] (adds to what its session has cost, and tells that) TOKENS:input/output
        (of the turn; with a third number, the total) QUOTA:input/output (the same, as Gemini CLI tells it)
        RAWUSAGE:"json" (an update with these members)
news    NOTICE:x COMPACT[:how] (its context; how: none (no summary), failed, huge, chunks, odd)
        SUB[:how] (a subagent; how, with commas: ask (-> "permit=..." in its own session), form, read, run, nested,
        fails, lost, odd, stop (it may be cancelled), after=FILE: it asks once FILE is there,
        until=FILE: it works on, also behind the turn, until FILE is there)
        TASK:FILE (a task, until FILE is there)
        MODE:id TITLE:x COMMANDS[:name=text,...] OPTIONS ODD (kinds and methods nobody knows)
ends    ERR:code STOP:reason LOGIN DIE[:code] KILL EXIT (answers, then exits)
long    LONG:what:n (what of n characters: tool kind plan prio mode option error stop; entries for plan,
        options, asks; kB for text, content; MB for texts, one a piece)
faults  GARBAGE HALF (a message in two writes) WRONGID TWICE (answers twice) LATE:ms (news after the
        answer) CUT (text with half a character and a NUL, as escapes) HALFDIE (dies within a message)
        TOOLONG (a message past all limits) EARLY (the answer before the text) STDERR:x SPAWN:seconds (a child that left its
        session) FORGET (its own context, as an agent's own /clear does) LIMITED (refused here and not at
        the beginning; see --limited)
"""
import argparse, base64, ctypes, hashlib, json, os, queue, re, shlex, signal, subprocess, sys, threading, time, uuid

parser = argparse.ArgumentParser(add_help=True, description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--store", help="keep sessions in this directory: load and resume work after a restart")
parser.add_argument("--name", default="scripted")
parser.add_argument("--version", default="1.0")
parser.add_argument("--protocol", type=int, default=1)
for method in "load", "resume", "close", "list":
    parser.add_argument(f"--no-{method}", action="store_true", help=f"has no session/{method}")
parser.add_argument("--steer", nargs="?", const="injected", metavar="OUTCOME",
                    help="takes words in the middle of a turn (_session/steering); any other OUTCOME than "
                    "injected takes none; long: an answer of 1 MB")
parser.add_argument("--system", choices=["member", "meta"], help="takes a system prompt, which its answers "
                    "name: sys=[CW-..]")
parser.add_argument("--system-error", action="store_true", help="offers to, and opens no session with one")
parser.add_argument("--fork", nargs="?", const="copy", choices=["copy", "same", "none"],
                    help="copies sessions (session/fork); same: answers with the session itself; none: with no id")
parser.add_argument("--delete", action="store_true", help="has session/delete")
parser.add_argument("--delete-not", default="", help="refuses to delete these sessions, ids with commas")
parser.add_argument("--list-many", action="store_true", help="lists 900 more sessions, all on one page")
parser.add_argument("--list-slash", action="store_true", help="lists two more, with slashes in their ids")
parser.add_argument("--list-odd", action="store_true", help="lists also sessions of other directories, and nonsense")
parser.add_argument("--directories", action="store_true", help="takes additionalDirectories")
parser.add_argument("--steer-twice", action="store_true", help="answers that twice")
for call in "init", "new", "load", "resume", "close", "mode", "option", "steer", "fork", "delete", "list":
    parser.add_argument(f"--{call}-error", nargs="?", type=int, const=-32603, help="answer with this error")
    parser.add_argument(f"--{call}-hang", action="store_true", help="never answer")
    parser.add_argument(f"--{call}-slow", type=int, default=0, metavar="MS")
    parser.add_argument(f"--{call}-until", metavar="FILE")  # is there
parser.add_argument("--load-empty", action="store_true", help="load answers well and knows nothing")
parser.add_argument("--resume-empty", action="store_true")
for method in "load", "resume":
    parser.add_argument(f"--{method}-broken", action="store_true",
                        help=f"a session that came back by session/{method} fails every prompt, with -32603")
parser.add_argument("--moved-broken", action="store_true",
                    help="so does one that came back in another directory than it was made in")
parser.add_argument("--gone-error", type=int, default=-32002, metavar="CODE",
                    help="of a session that is not there")
parser.add_argument("--replay", choices=["before", "after", "late", "none"], default="before",
                    help="earlier messages, relative to the answer of load; late: a second after it")
parser.add_argument("--images", action="store_true", help="takes pictures in prompts")
parser.add_argument("--no-modes", action="store_true")
parser.add_argument("--no-options", action="store_true")
parser.add_argument("--boolean", action="store_true", help="has an option that is on or off, for a client that takes them")
parser.add_argument("--login", nargs="?", const="", metavar="FILE",
                    help="-32000 until authenticate was called (until FILE is there)")
parser.add_argument("--terminal-login", action="store_true", help="with --login: by a program on a terminal")
parser.add_argument("--ids", choices=["int", "string", "float", "huge"], default="int")
parser.add_argument("--plan-clears", action="store_true", help="plan approval has an option that clears")
parser.add_argument("--plan-before", action="store_true", help="the plan is in its tool call alone, not in the request")
parser.add_argument("--lose", action="store_true", help="keeps a prompt only when its turn has ended")
parser.add_argument("--preamble", action="store_true", help="a notification before anything else")
parser.add_argument("--banner", action="store_true", help="garbage before anything else")
parser.add_argument("--exit", type=int, metavar="CODE", help="exit at once")
parser.add_argument("--stay", action="store_true", help="survive the end of stdin, and SIGTERM")
parser.add_argument("--log", help="file for a trace: what came (<) and what went (>), one a line")
parser.add_argument("--keep-servers", action="store_true",
                    help="starts the MCP servers of each session, and never ends them")
parser.add_argument("--cost-restarts", action="store_true",
                    help="what a session has cost is forgotten with the process")
parser.add_argument("--limited", metavar="FILE",
                    help="while FILE is there, each prompt is refused as a provider does with too many requests: "
                    "with retry-after if there is a number in it, with the answer after \"text:\", or after \"slow:\", "
                    "which ends the turn a moment later, with the error after \"error:\"")
parser.add_argument("--mark", metavar="FILE", help="begins each name, title and text that it sends with what FILE has")
parser.add_argument("--ask-in-new", action="store_true", help="asks for a permission in session/new")
if "--log in" in sys.argv:  # a login on a terminal, which a person carries out
    file = sys.argv[sys.argv.index("--login") + 1]
    sys.stdout.write("token for %s? " % os.environ["TOKEN_DIR"])
    sys.stdout.flush()
    word = sys.stdin.readline().strip()
    if word != "open":
        sys.exit("that is no token")
    open(file, "w").close()
    sys.exit(0)
opt = parser.parse_args()

mark = open(opt.mark).read() if opt.mark else ""
out_lock = threading.Lock()
state_lock = threading.RLock()
sessions = {}          # id -> {"id", "cwd", "history", "updates", "mode", "model", "verbose"}
turns = {}             # session id -> cancel event
waiting = {}           # id of our request -> queue
authenticated = False
counter = -1
turn_count = 0
children = []
subagents = {}         # session id -> cancel event
client = {}            # its capabilities
spent = {}             # session id -> what it has cost in this process

MODES = [("default", "Default", "Asks first"), ("plan", "Plan", "Plans only"),
         ("acceptEdits", "Accept edits", "Edits unasked"), ("bypass", "Bypass", "Never asks")]
MODELS = ["small", "large"]


def trace(direction, line):
    if opt.log:
        with open(opt.log, "a") as f:
            f.write(f"{direction} {line}\n")


def write(data):
    with out_lock:
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except (BrokenPipeError, ValueError):
            if not opt.stay:
                os._exit(0)


MARKED = {"title", "name", "description", "message", "text", "content", "hint", "plan", "command"}


def marked(value, key=""):
    if isinstance(value, dict):
        return {key: marked(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [marked(one) for one in value]
    return mark + value if isinstance(value, str) and key in MARKED else value


def send(message):
    line = json.dumps({"jsonrpc": "2.0", **(marked(message) if mark else message)}, ensure_ascii=False)
    trace(">", line)
    write(line.encode() + b"\n")


def reply(id, result):
    send({"id": id, "result": result})


def refuse(id, code, text="scripted error", data=None):
    send({"id": id, "error": {"code": code, "message": text, **({"data": data} if data else {})}})


def next_id():
    global counter
    with state_lock:
        counter += 1
        return {"int": counter, "string": f"req \"{counter}\" ü", "float": counter + 0.5,
                "huge": 9007199254740993 + counter}[opt.ids]


def request(method, params, cancel=None):
    """Asks the client; an answer, or None where the turn was cancelled meanwhile."""
    id = next_id()
    box = waiting[json.dumps(id)] = queue.Queue()
    send({"id": id, "method": method, "params": params})
    while True:
        try:
            return box.get(timeout=0.05)
        except queue.Empty:
            # a permission is answered by the client when it cancels
            if cancel is not None and cancel.is_set() and method != "session/request_permission":
                return None


def save(session):
    if opt.store:
        os.makedirs(opt.store, exist_ok=True)
        path = os.path.join(opt.store, session["id"] + ".json")
        with open(path + ".new", "w") as f:
            json.dump(session, f)
            f.write("\n")
        os.replace(path + ".new", path)


def find(id):
    if id in sessions:
        return sessions[id]
    path = os.path.join(opt.store, os.path.basename(str(id)) + ".json") if opt.store else None
    if path and os.path.exists(path):
        with open(path) as f:
            sessions[id] = json.load(f)
        return sessions[id]
    return None


def setup(session):
    result = {}
    if not opt.no_modes:
        result["modes"] = {"currentModeId": session["mode"], "availableModes": [
            {"id": i, "name": n, "description": d} for i, n, d in MODES]}
    if not opt.no_options:
        result["configOptions"] = options(session)
    return result


def takes_boolean():
    can = (client.get("session") or {}).get("configOptions") or {}
    return opt.boolean and isinstance(can.get("boolean"), dict)


def options(session):
    offered = [{"id": "model", "name": "Model", "category": "model", "type": "select",
                "currentValue": session["model"],
                "options": [{"value": m, "name": m.title()} for m in MODELS]}]
    if takes_boolean():
        offered.append({"id": "web", "name": "Web search", "type": "boolean",
                        "currentValue": session.get("web", False)})
    return offered


def update(session, event, /, **what):
    what = {"sessionUpdate": event, **what}
    if event in ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call",
                         "tool_call_update", "plan", "subagent_update", "session_message"):
        session["updates"].append(what)
    send({"method": "session/update", "params": {"sessionId": session["id"], "update": what}})


def image_words(block):
    data = base64.b64decode(block["data"], validate=True)
    return f"{block['mimeType']}:{len(data)}:{hashlib.sha256(data).hexdigest()[:8]}"


def text_block(text):
    return {"type": "text", "text": text}


def say(session, text):
    update(session, "agent_message_chunk", content=text_block(text))


def commands(session, more=None):
    update(session, "available_commands_update", availableCommands=[
        {"name": "compact", "description": "Shorten what was said", "input": {"hint": "what to keep"}},
        {"name": "review", "description": "Look at the changes"}] +
        [dict(zip(("name", "description"), one.split("="))) for one in (more or "").split(",") if one])


class Over(Exception):
    """The turn ends: with an answer, an error, or not at all."""
    def __init__(self, stop=None, error=None, silent=False, text="scripted error", data=None):
        self.stop, self.error, self.silent, self.text, self.data = stop, error, silent, text, data


class Turn:
    def __init__(self, id, session, blocks):
        self.id, self.session, self.cancel = id, session, threading.Event()
        self.texts = [b.get("text", "") for b in blocks if b.get("type") == "text"]
        self.last = self.texts[-1] if self.texts else ""
        self.images = [image_words(b) for b in blocks if b.get("type") == "image"]
        self.quiet = self.twice = self.early = self.exit = self.answered = False
        self.late = self.usage = self.quota = None
        self.said = []
        self.steered = threading.Event()
        self.calls = 0

    def say(self, text):
        self.said.append(text)
        say(self.session, text)

    def check(self):
        if self.cancel.is_set():
            raise Over(stop="cancelled")

    def sleep(self, seconds):
        if self.cancel.wait(seconds):
            raise Over(stop="cancelled")

    def call_id(self):
        self.calls += 1
        return f"call-{len(self.session['history'])}-{self.calls}"

    def ask(self, method, **params):
        answer = request(method, {"sessionId": self.session["id"], **params}, self.cancel)
        if answer is None:
            raise Over(stop="cancelled")
        return answer

    def permission(self, tool, choices):
        answer = self.ask("session/request_permission", toolCall=tool, options=[
            {"optionId": i, "name": n, "kind": k} for i, n, k in choices])
        if "error" in answer:
            self.say(f"permit=error{answer['error'].get('code')} ")
            return None
        outcome = answer["result"].get("outcome", {})
        choice = outcome.get("optionId") if outcome.get("outcome") == "selected" else "cancelled"
        self.say(f"permit={choice} ")
        return choice

    # ---- words

    def do_notice(self, x):
        update(self.session, "notice", severity="warning", title=x, description="More of it")

    def do_compact(self, x):
        id = f"c{len(self.session['history'])}"
        summary = {"summary": [text_block("CW-SUMMARY of it all")]}
        update(self.session, "compaction_update", compactionId=id, status="in_progress")
        if x == "odd":
            update(self.session, "compaction_update", compactionId=7, status=[])
            update(self.session, "compaction_update", compactionId=id, status="completed", summary=7)
            update(self.session, "compaction_summary_chunk", compactionId=id)
        elif x == "failed":
            update(self.session, "compaction_update", compactionId=id, status="failed", error="no room")
        elif x == "chunks":
            for piece in "CW-SUM", "MARY":
                update(self.session, "compaction_summary_chunk", compactionId=id, content=text_block(piece))
            update(self.session, "compaction_update", compactionId=id, status="completed")
            update(self.session, "compaction_update", compactionId=id, status="completed")
        else:
            if x == "huge":
                summary["summary"] = [text_block("x" * 2000000)]
            update(self.session, "compaction_update", compactionId=id, status="completed",
                   **(summary if x != "none" else {}))

    def do_sub(self, x):
        how = dict(one.partition("=")[::2] for one in (x or "").split(",") if one)
        if "subagents" not in client:
            return self.say("no-subagents ")
        sub = Subagent(self, how)
        if "until" in how or "stop" in how:
            threading.Thread(target=sub.run, daemon=True).start()
        else:
            sub.run()

    def do_task(self, x):
        session, id = self.session, f"task{self.call_id()}"

        def run():
            while not os.path.exists(x):
                time.sleep(0.02)
            update(session, "async_task_state_update", asyncTaskId=id, state="completed", summary="CW-TASKDONE")

        update(session, "async_task_spawned", asyncTaskId=id, name="build it", taskType="shell", description="make")
        update(session, "async_task_progress", asyncTaskId=id, description="make all")
        threading.Thread(target=run, daemon=True).start()

    def do_elicit(self, x):
        x = x or ""
        fields = {"name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 20},
                  "color": {"type": "string", "oneOf": [{"const": "red", "title": "Red"}, {"const": "blue", "title": "Blue"}]},
                  "count": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3},
                  "ratio": {"type": "number"}, "sure": {"type": "boolean"},
                  "parts": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "maxItems": 2},
                  "pin": {"type": "string", "format": "password"}}
        if x == "many" or x.startswith("fields,"):
            fields = {f"f{i}": {"type": "string"} for i in range(int(x[7:] or 100))}
        if x == "huge":
            fields["name"]["description"] = "x" * 100000
        if x == "odd":
            fields["name"] = 7
        params = {"mode": "form", "message": "Who are you?",
                  "requestedSchema": {"type": "object", "properties": fields, "required": ["name"]}}
        done = {"method": "elicitation/complete", "params": {"elicitationId": "e1"}}
        if x.startswith("url"):
            params = {"mode": "url", "message": "Log in", "elicitationId": "e1",
                      "url": x[4:] if len(x) > 3 and x[4:] not in ("early", "visited") else "https://user@example.org:8443/x?good.example"}
        if x == "none":
            del params["requestedSchema"]
        if x == "url,early":
            id = next_id()
            box = waiting[json.dumps(id)] = queue.Queue()
            send({"id": id, "method": "elicitation/create", "params": {"sessionId": self.session["id"], **params}})
            send(done)
            answer = box.get()
        else:
            answer = self.ask("elicitation/create", **params)
        if x == "twice":
            answer = self.ask("elicitation/create", **params)
        if x == "url,visited":
            send(done)
            send(done)
        if "error" in answer:
            self.say(f"form=error{answer['error'].get('code')} ")
            return
        result = answer["result"]
        if "pin" in result.get("content", {}):
            result["content"]["pin"] = len(result["content"]["pin"])
        self.say("form=" + json.dumps(result, sort_keys=True) + " ")

    def do_say(self, x): self.say(x)
    def do_think(self, x): update(self.session, "agent_thought_chunk", content=text_block(x))
    def do_quiet(self, x): self.quiet = True
    def do_hang(self, x): self.cancel.wait(); raise Over(stop=x or "cancelled")
    def do_hangerr(self, x): self.cancel.wait(); raise Over(error=int(x))
    def do_slow(self, x): self.sleep(int(x) / 1000)

    def do_steered(self, x):
        while not self.steered.wait(0.02):
            self.check()

    def do_die(self, x): os._exit(int(x or 1))
    def do_kill(self, x): os.kill(os.getpid(), signal.SIGKILL)
    def do_exit(self, x): self.exit = True
    def do_err(self, x): raise Over(error=int(x or -32603))
    def do_login(self, x): raise Over(error=-32000)
    def do_stop(self, x): raise Over(stop=x)
    def do_twice(self, x): self.twice = True
    def do_early(self, x): self.early = True
    def do_late(self, x): self.late = int(x or 0) / 1000
    def do_commands(self, x): commands(self.session, x)
    def do_title(self, x): update(self.session, "session_info_update", title=x)
    def do_options(self, x):
        update(self.session, "config_option_update", configOptions=options(self.session))
    def do_deaf(self, x): raise Over(silent=True)

    def do_forget(self, x):
        self.session["history"], self.session["updates"] = [], []

    def do_chunks(self, x):
        for i in range(int(x)):
            self.check()
            self.say(f"chunk{i} ")

    def do_flood(self, x):
        lines = []
        for i in range(int(x)):
            lines.append(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {
                "sessionId": self.session["id"], "update": {
                    "sessionUpdate": "agent_message_chunk", "content": text_block(f"{i} ")}}}))
        write(("\n".join(lines) + "\n").encode())

    def do_big(self, x):
        self.say("x" * (int(x) * 1024) + " ")

    def do_tool(self, x):
        call, kind = self.call_id(), x or "execute"
        update(self.session, "tool_call", toolCallId=call, title=f"A call of {kind}", kind=kind,
               status="pending", locations=[{"path": os.path.join(self.session["cwd"], "file"), "line": 3}],
               rawInput={"what": kind})
        update(self.session, "tool_call_update", toolCallId=call, status="in_progress")
        update(self.session, "tool_call_update", toolCallId=call, status="completed",
               content=[{"type": "content", "content": text_block(f"result of {kind}")}],
               rawOutput={"ok": True})

    def do_upsert(self, x):
        update(self.session, "tool_call_update", toolCallId=self.call_id(), title="Never announced",
               kind="fetch", status="completed")

    def do_diff(self, x):
        update(self.session, "tool_call", toolCallId=self.call_id(), title=f"Edit {x}", kind="edit",
               status="completed", content=[{"type": "diff", "path": x, "oldText": "one\ntwo\nthree\n",
                                             "newText": "one\n2\nthree\nfour\n"}])

    def do_show(self, x):
        update(self.session, "tool_call", toolCallId=self.call_id(), title="Terminal", kind="execute",
               status="in_progress", content=[{"type": "terminal", "terminalId": x}])

    def do_over(self, x):
        update(self.session, "tool_call_update", toolCallId=x, status="completed")

    def do_plan(self, x):
        for done in "in_progress", "completed":
            update(self.session, "plan", entries=[
                {"content": "look", "priority": "high", "status": done},
                {"content": "act", "priority": "medium", "status": "pending"}])

    def do_ask(self, x):
        kind, call = x or "execute", self.call_id()
        choice = self.permission(
            {"toolCallId": call, "title": f"May I {kind}?", "kind": kind, "status": "pending"},
            [("yes-1", "Allow", "allow_once"), ("yes-2", "Always allow", "allow_always"),
             ("no-1", "Reject", "reject_once"), ("no-2", "Always reject", "reject_always")])
        if choice == "cancelled":
            raise Over(stop="cancelled")
        update(self.session, "tool_call_update", toolCallId=call,
               status="completed" if choice and choice.startswith("yes") else "failed")

    def do_askof(self, x):
        with open(x) as f:
            asked = json.load(f)
        call = self.call_id()
        for event in asked.get("before", []):
            update(self.session, "tool_call", toolCallId=call, **event)

        def more():
            for i, event in enumerate(asked.get("then", [])):
                while not os.path.exists(f"{x}.{i}"):
                    time.sleep(0.02)
                update(self.session, "tool_call_update", toolCallId=call, **event)

        threading.Thread(target=more, daemon=True).start()
        self.permission({"toolCallId": call, **asked["tool"]},
                        [("yes-1", "Allow", "allow_once"), ("no-1", "Reject", "reject_once")])

    def do_asks(self, x):
        count, _, form = x.partition(",")
        asked = [("session/request_permission", {"toolCall": {"toolCallId": self.call_id(), "title": f"May I {i}?"},
                 "options": [{"optionId": "y", "name": "Allow", "kind": "allow_once"}]}) for i in range(int(count))]
        if form:
            asked.append(("elicitation/create", {"mode": "form", "message": "Which?", "requestedSchema": {
                "type": "object", "properties": {"which": {"type": "string"}}}}))
        boxes = []
        for method, params in asked:
            id = next_id()
            boxes.append(waiting.setdefault(json.dumps(id), queue.Queue()))
            send({"id": id, "method": method, "params": {"sessionId": self.session["id"], **params}})
        got = [box.get()["result"] for box in boxes]
        self.say("asks=" + ",".join(r["action"] if "action" in r else r["outcome"]["outcome"] for r in got) + " ")

    def do_withdraw(self, x):
        id = next_id()
        waiting[json.dumps(id)] = box = queue.Queue()
        send({"id": id, "method": "session/request_permission", "params": {
            "sessionId": self.session["id"], "toolCall": {"toolCallId": self.call_id(), "title": "Withdrawn"},
            "options": [{"optionId": "y", "name": "Allow", "kind": "allow_once"}]}})
        self.sleep(0.2)
        send({"method": "$/cancel_request", "params": {"requestId": id}})
        try:
            answer = box.get(timeout=5)
            self.say(f"withdrawn={answer.get('error', {}).get('code', 'answered')} ")
        except queue.Empty:
            self.say("withdrawn=silence ")

    def do_approve(self, x):
        choices = [("acceptEdits", "Yes, and accept edits", "allow_always"),
                   ("default", "Yes, and ask before edits", "allow_once"),
                   ("plan", "No, keep planning", "reject_once")]
        if opt.plan_clears:
            choices.insert(0, ("clearContext", "Yes, clear context and accept edits", "allow_always"))
        call = {"toolCallId": self.call_id(), "title": "Ready to code?", "kind": "switch_mode", "status": "pending"}
        text = f"PLAN: do CW-PLAN first {x}".rstrip()
        plan = {"content": [{"type": "content", "content": text_block(text)}], "rawInput": {"plan": text}}
        if opt.plan_before:
            update(self.session, "tool_call", **call, content=[], rawInput={})
            update(self.session, "tool_call_update", toolCallId=call["toolCallId"], **plan)
            plan = {"content": [], "rawInput": {}}
        choice = self.permission({**call, **plan}, choices)
        if choice == "cancelled":
            raise Over(stop="cancelled")
        if choice == "clearContext":
            self.do_forget(None)
            self.session["history"].append({"role": "user", "text": text})
        if choice in ("acceptEdits", "default", "clearContext"):
            mode = "acceptEdits" if choice == "clearContext" else choice
            self.session["mode"] = mode
            update(self.session, "current_mode_update", currentModeId=mode)

    def result(self, word, answer, show):
        if "error" in answer:
            self.say(f"{word}=error{answer['error'].get('code')} ")
        else:
            self.say(f"{word}={show(answer.get('result') or {})} ")

    def path(self, x):
        return os.path.join(self.session["cwd"], x)

    def do_read(self, x):
        path, *rest = x.split(":")
        more = dict(zip(("line", "limit"), map(int, rest)))
        self.result("read", self.ask("fs/read_text_file", path=self.path(path), **more),
                    lambda r: json.dumps(r.get("content"), ensure_ascii=False))

    def do_write(self, x):
        path, _, content = x.partition("=")
        self.result("write", self.ask("fs/write_text_file", path=self.path(path), content=content),
                    lambda r: "ok")

    def create(self, x, **more):
        words, env = shlex.split(x), [{"name": "SCRIPTED", "value": "yes"}]
        while re.match(r"\w+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            env.append({"name": name, "value": value})
        answer = self.ask("terminal/create", command=words[0], args=words[1:], cwd=self.session["cwd"],
                          outputByteLimit=4096, env=env, **more)
        if "error" in answer:
            self.result("run", answer, str)
            return None
        return answer["result"]["terminalId"]

    def do_own(self, x):
        self.say(f"own={subprocess.run(x, shell=True, capture_output=True, text=True).stdout!r} ")

    def do_run(self, x, kill=False):
        id = self.create(x)
        if id is None:
            return
        update(self.session, "tool_call", toolCallId=self.call_id(), title=x, kind="execute",
               status="in_progress", content=[{"type": "terminal", "terminalId": id}])
        if kill:
            self.ask("terminal/kill", terminalId=id)
        ended = self.ask("terminal/wait_for_exit", terminalId=id)
        shown = self.ask("terminal/output", terminalId=id)
        self.ask("terminal/release", terminalId=id)
        how = ended.get("result", {})
        code = how.get("exitCode") if how.get("exitCode") is not None else how.get("signal")
        self.result("run", shown, lambda r: f"{code}:{r.get('output')!r}" +
                    (" truncated" if r.get("truncated") else ""))

    def do_race(self, x):
        """RACE:DIR: asks for files and programs in `d`, which is at the same time a link to DIR and a
        directory, until there is a file `enough`."""
        os.mkdir(self.path("d"))
        self.race(self.path("d"), self.path("l"), self.path("enough"), x)

    def do_raceunit(self, x):
        unit = os.path.realpath(self.session["cwd"])
        self.race(unit, os.path.dirname(unit) + "/link", os.path.dirname(unit) + "/enough", x)

    def race(self, place, link, enough, x):
        with open(place + "/secret", "w") as f:
            f.write("mine")
        os.symlink(x, link)
        libc, over, asked, got = ctypes.CDLL(None), threading.Event(), 0, []

        def swap():
            while not over.is_set():
                libc.renameat2(-100, place.encode(), -100, link.encode(), 2)  # RENAME_EXCHANGE

        thread = threading.Thread(target=swap)
        thread.start()
        while asked < 100 or not os.path.exists(enough):
            asked += 1
            got.append(self.ask("fs/read_text_file", path=place + "/secret").get("result", {}).get("content"))
            self.ask("fs/write_text_file", path=place + "/planted", content="x")
            if asked % 10 == 0:
                run = self.ask("terminal/create", command="sh", cwd=place, outputByteLimit=4096,
                               args=["-c", "cat ./secret; touch ./planted-too"]).get("result")
                if run:
                    self.ask("terminal/wait_for_exit", terminalId=run["terminalId"])
                    got.append(self.ask("terminal/output", terminalId=run["terminalId"])["result"]["output"])
        over.set()
        thread.join()
        self.say(f"race={asked} mine={sum(g == 'mine' for g in got)} "
                 f"other={[g for g in got if g not in (None, 'mine')]!r} ")

    def do_runkill(self, x): self.do_run(x, kill=True)
    def do_runleave(self, x): self.say(f"run={self.create(x)} ")

    def do_call(self, x):
        answer = self.ask(x)
        self.say(f"call={answer['error'].get('code') if 'error' in answer else 'ok'} ")

    def do_mode(self, x):
        self.session["mode"] = x
        update(self.session, "current_mode_update", currentModeId=x)

    def do_usage(self, x):
        used, _, size = x.partition("/")
        update(self.session, "usage_update", used=int(used), size=int(size or 200000))

    def do_cost(self, x):
        amount, currency = re.fullmatch(r"([-+.\d]+)([A-Za-z]*)", x).groups()
        currency = currency or "USD"
        costs = spent if opt.cost_restarts else self.session
        costs = costs.setdefault("costs" if not opt.cost_restarts else self.session["id"], {})
        costs[currency] = round(costs.get(currency, 0) + float(amount), 9)
        save(self.session)
        update(self.session, "usage_update", used=1000, size=200000,
               cost={"amount": costs[currency], "currency": currency})

    def do_rawusage(self, x):
        write(('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":'
               '{"sessionUpdate":"usage_update",%s}}}\n' % (self.session["id"], x)).encode())

    def do_tokens(self, x):
        counts = [int(n) for n in x.split("/")]
        self.usage = dict(zip(("inputTokens", "outputTokens", "totalTokens"), counts))

    def do_quota(self, x):
        self.quota = dict(zip(("input_tokens", "output_tokens"), map(int, x.split("/"))))

    def do_odd(self, x):
        update(self.session, "vibration_update", strength=3)
        send({"method": "_vendor/unknown", "params": {"x": [1, 2]}})
        send({"method": "session/update", "params": {"sessionId": self.session["id"]}})
        send({"method": "session/update", "params": {"sessionId": "nobody", "update": {
            "sessionUpdate": "agent_message_chunk", "content": text_block("for nobody")}}})
        answer = self.ask("vendor/strange")
        self.say(f"odd={answer.get('error', {}).get('code')} ")

    def do_garbage(self, x):
        write(b"this is no JSON\n{\"jsonrpc\":\"2.0\",\"method\n\n\xff\xfe\x00\x1b[31mred\n[]\n42\n{\"id\":[]}\n"
              + b"[" * 200 + b"]" * 200 + b"\n")

    def do_long(self, x):
        what, _, n = x.partition(":")
        n = int(n)
        session = self.session
        if what in ("tool", "kind", "content"):
            update(session, "tool_call", toolCallId="t" * n if what == "tool" else "long", title="Long",
                   kind="k" * n if what == "kind" else "read", status="completed",
                   content=[{"type": "content", "content": text_block(
                       "c" * (n << 10) if what == "content" else "c")}])
        elif what in ("plan", "prio"):
            update(session, "plan", entries=[
                {"content": "\x01\u00e9" * 300 if what == "plan" else "c",
                 "priority": "p" * n if what == "prio" else "high", "status": "pending"}
                for _ in range(n if what == "plan" else 1)])
        elif what == "mode":
            update(session, "current_mode_update", currentModeId="m" * n)
        elif what == "options":
            update(session, "config_option_update", configOptions=[
                {"id": f"o{i}", "name": "N" * 100, "type": "select", "currentValue": "v0", "options": [
                    {"value": f"v{k}", "name": "n" * 300} for k in range(20)]} for i in range(n)])
        elif what == "asks":
            self.permission({"toolCallId": self.call_id(), "title": "\x01" * 5000, "kind": "execute"},
                            [(f"o{i}" + "\x01" * 300, "N", "allow_once") for i in range(n)])
        elif what == "text":
            self.say("\u00e9x" * (n << 9))
        elif what == "texts":
            for _ in range(n):
                self.say("x" * (1 << 20))
        elif what == "error":
            raise Over(error=-32603, text="e" * n)
        elif what == "stop":
            raise Over(stop="s" * n)

    def do_half(self, x):
        line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {
            "sessionId": self.session["id"], "update": {
                "sessionUpdate": "agent_message_chunk", "content": text_block("half")}}}).encode() + b"\n"
        write(line[:40])
        time.sleep(0.1)
        write(line[40:])

    def chunk_line(self, text):
        """A chunk whose text is JSON already."""
        return (b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"' +
                self.session["id"].encode() + b'","update":{"sessionUpdate":"agent_message_chunk",'
                b'"content":{"type":"text","text":"' + text + b'"}}}}\n')

    def do_cut(self, x):
        write(self.chunk_line(rb"cut\ud83d \u0000 \ud83d\ude00 "))

    def do_halfdie(self, x):
        write(self.chunk_line(b"never whole")[:-20])
        os._exit(0)

    def do_toolong(self, x):
        write(self.chunk_line(b"x" * (33 << 20)))

    def do_wrongid(self, x):
        reply(987654321, {"stopReason": "refusal"})
        reply("no such", {"stopReason": "refusal"})
        send({"id": None, "error": {"code": -32700, "message": "Parse error"}})

    def do_stderr(self, x):
        sys.stderr.write(x + "\n")
        sys.stderr.flush()

    def do_spawn(self, x):
        child = subprocess.Popen(["sleep", x or "100"], start_new_session=True, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        children.append(child)
        self.say(f"spawned={child.pid} ")

    # ---- the turn

    def do_limited(self, x):
        try:
            with open(os.path.expandvars(opt.limited)) as f:
                how = f.read().strip()
        except (OSError, TypeError):
            return
        if how.startswith(("text:", "slow:")):
            self.say(how[5:])
            time.sleep(0.2 if how.startswith("slow:") else 0)
            raise Over(stop="end_turn")
        if how.startswith("error:"):
            raise Over(error=-32603, text=how[6:])
        raise Over(error=-32603, text="Internal error",
                   data={"status": 429, **({"headers": {"retry-after": how}} if how else {})})

    def words(self):
        for match in re.finditer(r'(?<!\S)([A-Z]+)(?::("(?:[^"\\]|\\.)*"|\S*))?(?=\s|$)', self.last):
            what = getattr(self, "do_" + match[1].lower(), None)
            if what is not None:
                value = match[2]
                if value and value.startswith('"'):
                    value = json.loads(value, strict=False)
                yield what, value

    def answer(self):
        history = self.session["history"]
        seen = []
        for entry in history:
            if entry["role"] == "user":
                seen += re.findall(r"CW-[A-Z0-9]+", entry["text"])
        seen = list(dict.fromkeys(seen))
        users = sum(1 for entry in history if entry["role"] == "user")
        last = json.dumps(self.last[:60], ensure_ascii=False)
        text = f"AGENT#{turn_count} seen=[{' '.join(seen)}] users={users} last={last}"
        if opt.system:
            text += f" sys=[{' '.join(re.findall('CW-[A-Z0-9]+', self.session.get('system') or ''))}]"
        if self.images:
            text += f" images=[{' '.join(self.images)}]"
        for i in range(0, len(text), 24):
            self.say(text[i:i + 24])

    def finish(self, over):
        if over.silent or self.answered:
            return
        self.answered = True
        with state_lock:
            turns.pop(self.session["id"], None)
        for _ in range(2 if self.twice else 1):
            if over.error is not None:
                refuse(self.id, over.error, "Authentication required" if over.error == -32000
                       else over.text, over.data)
            else:
                reply(self.id, {"stopReason": over.stop, **({"usage": self.usage} if self.usage else {}),
                                **({"_meta": {"quota": {"token_count": self.quota}}} if self.quota else {})})

    def run(self):
        global turn_count
        session = self.session
        turn_count += 1
        over = Over(stop="end_turn")
        kept = {"role": "user", "text": "\n".join(self.texts)}
        session["history"].append(kept)
        session["updates"].append({"sessionUpdate": "user_message_chunk", "content": text_block(kept["text"])})
        if not opt.lose:
            save(session)
        try:
            if opt.limited and "LIMITED" not in self.last:
                self.do_limited(None)
            for what, value in self.words():
                self.check()
                what(value)
            if self.early:
                self.finish(over)
            if not self.quiet:
                self.answer()
        except Over as o:
            over = o
        except Exception as e:
            sys.stderr.write(f"scripted agent: {e!r}\n")
            over = Over(error=-32602)
        session["history"].append({"role": "agent", "text": "".join(self.said)})
        save(session)
        self.finish(over)
        if self.late is not None:
            time.sleep(self.late)
            say(session, "late ")
        if self.exit:
            os._exit(0)


class Subagent:
    """Works in a session of its own (the draft of the protocol)."""
    def __init__(self, turn, how, parent=None):
        self.turn, self.how, self.parent = turn, how, parent or turn.session
        self.session = {"id": f"sub-{turn.call_id()}" + ("-nested" if parent else ""), "updates": []}
        subagents[self.session["id"]] = threading.Event()

    def tell(self, **what):
        update(self.parent, "subagent_update", sessionId=self.session["id"], **what)

    def ask(self, method, **params):
        return request(method, {"sessionId": self.session["id"], **params})

    def run(self):
        how, session = self.how, self.session
        self.tell(title="look around", description="explore", capabilities={"cancel": {}} if "stop" in how else {})
        update(self.parent, "session_message", messageId="m1", senderSessionId=self.parent["id"],
               recipientSessionId=session["id"], content=[text_block("CW-TOLD")])
        self.tell(state={"state": "running"})
        update(session, "agent_thought_chunk", content=text_block("CW-HIDDEN"))
        say(session, "first ")
        call = {"toolCallId": session["id"] + "-c", "title": "Read a file", "kind": "read"}
        update(session, "tool_call", **call, status="in_progress")
        said = ""
        while "after" in how and not os.path.exists(how["after"]):
            time.sleep(0.02)
        if "ask" in how:
            answer = self.ask("session/request_permission", toolCall={**call, "title": "May it?"}, options=[
                {"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}])
            said += f"permit={answer['result']['outcome'].get('optionId', 'cancelled')} "
        if "form" in how:
            answer = self.ask("elicitation/create", mode="form", message="Which?", requestedSchema={
                "type": "object", "properties": {"which": {"type": "string"}}})
            said += "form=" + json.dumps(answer["result"]) + " "
        if "read" in how:
            said += "read=" + self.ask("fs/read_text_file", path=how["read"])["result"]["content"] + " "
        if "run" in how:
            self.ask("terminal/create", command="sleep", args=["1234"])
        if "nested" in how:
            Subagent(self.turn, {}, session).run()
        if "odd" in how:
            for odd in ({"sessionId": 7}, {"sessionId": ""}, {}, {"sessionId": session["id"], "state": [], "title": 3},
                        {"sessionId": "x" * 100000, "title": "y" * 100000, "state": {"state": "running"}}):
                update(self.parent, "subagent_update", **odd)
            for n in range(200):
                update(self.parent, "subagent_update", sessionId=f"many{n}", title=f"many {n}")
            self.tell(state={"state": "running"})
        while "until" in how and not os.path.exists(how["until"]) or "stop" in how:
            if subagents[session["id"]].wait(0.02):
                return self.tell(state={"state": "idle", "stopReason": "cancelled"})
        update(session, "tool_call_update", toolCallId=call["toolCallId"], status="completed")
        say(session, said + "CW-FOUND")
        if "lost" in how:
            return self.tell(state={"state": "unknown"})
        self.tell(state={"state": "idle", "stopReason": "error", "error": {"code": 1, "message": "CW-BROKEN"}}
                  if "fails" in how else {"state": "idle", "stopReason": "end_turn"})


# ---- requests of the client

class Refusal(Exception):
    def __init__(self, code, text):
        self.code, self.text = code, text


def initialize(params):
    client.update(params.get("clientCapabilities", {}))
    sessions_can = {}
    for method in "resume", "close", "list":
        if not getattr(opt, "no_" + method):
            sessions_can[method] = {}
    if opt.system == "member" or opt.system_error:
        sessions_can["systemPrompt"] = {}
    if opt.fork:
        sessions_can["fork"] = {}
    if opt.delete:
        sessions_can["delete"] = {}
    if opt.directories:
        sessions_can["additionalDirectories"] = {}
    result = {"protocolVersion": opt.protocol, "agentCapabilities": {
        "loadSession": not opt.no_load, "promptCapabilities": {"embeddedContext": True, **({"image": True} if opt.images else {})},
        "mcpCapabilities": {"http": False, "sse": False}, "sessionCapabilities": sessions_can},
        "agentInfo": {"name": opt.name, "title": "Scripted agent", "version": opt.version}, "authMethods": []}
    if opt.system == "meta":
        result["agentCapabilities"]["_meta"] = {"claudeCode": {"promptQueueing": True}}
    if opt.steer:
        result["_meta"] = {"steering": {"supported": True}}
    if opt.login is not None:
        result["authMethods"] = [{"id": "pass", "name": "Password", "description": "Run `scripted login`"}]
        if opt.terminal_login and params.get("clientCapabilities", {}).get("auth", {}).get("terminal"):
            result["authMethods"] = [{"id": "t", "name": "On a terminal", "type": "terminal",
                                      "args": ["--log in", "\x1b[31m"], "env": {"TOKEN_DIR": "/x y"}}]
    return result


def authenticate(params):
    global authenticated
    if params.get("methodId") != "pass":
        raise Refusal(-32602, "no such method")
    authenticated = True
    return {}


def logged_in():
    if opt.login is None or authenticated or (opt.login and os.path.exists(opt.login)):
        return
    raise Refusal(-32000, "Authentication required")


def system_of(params):
    """The system prompt of a session, which is not kept: each request has to bring it."""
    if opt.system_error and "systemPrompt" in params:
        raise Refusal(-32602, "no such system prompt")
    if opt.system == "meta":
        return params.get("_meta", {}).get("systemPrompt", {}).get("append")
    prompt = params.get("systemPrompt")
    if prompt is not None and (prompt["mode"] != "append" or opt.system != "member"):
        raise Refusal(-32602, "no such system prompt")
    return prompt and "".join(b["text"] for b in prompt["content"])


def session_new(params):
    logged_in()
    if not os.path.isabs(params.get("cwd", "")) or not isinstance(params.get("mcpServers"), list):
        raise Refusal(-32602, "Invalid params")
    session = {"id": str(uuid.uuid4()), "cwd": params["cwd"], "history": [], "updates": [], "mode": "default",
               "model": "small", "system": system_of(params)}
    sessions[session["id"]] = session
    save(session)
    for server in params["mcpServers"] if opt.keep_servers else []:
        env = {**os.environ, **{v["name"]: v["value"] for v in server["env"]}}
        children.append(subprocess.Popen([server["command"], *server["args"]], stdin=subprocess.PIPE,
                                         stdout=subprocess.DEVNULL, env=env))
    if opt.ask_in_new:
        request("session/request_permission", {"sessionId": session["id"], "toolCall": {
            "toolCallId": "trust", "title": "Trust this directory?"}, "options": [
                {"optionId": "y", "name": "Yes", "kind": "allow_once"},
                {"optionId": "n", "name": "No", "kind": "reject_once"}]})
    return {"sessionId": session["id"], **setup(session)}, lambda: commands(session)


def came_back(params, can, empty, broken):
    if not can:
        raise Refusal(-32601, "Method not found")
    logged_in()
    session = find(params.get("sessionId"))
    if session is None:
        raise Refusal(opt.gone_error, "Resource not found")
    session["broken"] = broken or (opt.moved_broken and params.get("cwd") != session["cwd"])
    if empty:
        session["history"], session["updates"] = [], []
    # Permission modes and models are this process's own: a client has to set them again.
    session["mode"], session["model"] = "default", "small"
    session["system"] = system_of(params)
    return session


def session_load(params):
    session = came_back(params, not opt.no_load, opt.load_empty, opt.load_broken)

    def replay():
        if opt.replay == "late":
            time.sleep(1)
        for what in list(session["updates"]):
            send({"method": "session/update", "params": {"sessionId": session["id"], "update": what}})

    if opt.replay == "before":
        replay()
    return setup(session), replay if opt.replay in ("after", "late") else None


def session_resume(params):
    return setup(came_back(params, not opt.no_resume, opt.resume_empty, opt.resume_broken))


def session_fork(params):
    if not opt.fork:
        raise Refusal(-32601, "Method not found")
    logged_in()
    session = find(params.get("sessionId"))
    if session is None:
        raise Refusal(opt.gone_error, "Resource not found")
    if opt.fork != "copy":
        return {"sessionId": session["id"]} if opt.fork == "same" else {}
    copy = {**json.loads(json.dumps(session)), "id": str(uuid.uuid4()), "system": system_of(params)}
    sessions[copy["id"]] = copy
    save(copy)
    return {"sessionId": copy["id"], **setup(copy)}


def session_delete(params):
    if not opt.delete:
        raise Refusal(-32601, "Method not found")
    if params.get("sessionId") in opt.delete_not.split(","):
        raise Refusal(-32603, "it is pinned")
    sessions.pop(params.get("sessionId"), None)
    path = os.path.join(opt.store or "/nonexistent", os.path.basename(str(params.get("sessionId"))) + ".json")
    if os.path.exists(path):
        os.unlink(path)
    return {}


def session_close(params):
    if opt.no_close:
        raise Refusal(-32601, "Method not found")
    session_cancel(params)
    if sessions.pop(params.get("sessionId"), None) is None:
        raise Refusal(-32002, "Resource not found")
    return {}


def session_list(params):
    if opt.no_list:
        raise Refusal(-32601, "Method not found")
    names = set(sessions)
    if opt.store and os.path.isdir(opt.store):
        names |= {n[:-5] for n in os.listdir(opt.store) if n.endswith(".json")}
    listed = [{"sessionId": n, "cwd": find(n)["cwd"], "title": "Work \x1b[31m" + n[:4], "updatedAt": "2026-01-02T03:04:05Z"}
              for n in sorted(names) if params.get("cwd") in (None, find(n)["cwd"])]
    if opt.list_odd:
        listed += [{"sessionId": "elsewhere", "cwd": "/elsewhere"}, {"cwd": params["cwd"]}, 7, {"sessionId": "x" * 5000, "cwd": params["cwd"]}]
    if opt.list_slash:
        listed += [{"sessionId": n, "cwd": params["cwd"]} for n in ("a/b", "a/c d")]
    if opt.list_many:
        return {"sessions": listed + [{"sessionId": f"many-{i}", "cwd": params["cwd"], "title": "t" * 200} for i in range(900)]}
    first = int(params.get("cursor") or 0)  # two a page
    return {"sessions": listed[first:first + 2], **({"nextCursor": str(first + 2)} if first + 2 < len(listed) else {})}


def known(params):
    session = sessions.get(params.get("sessionId"))
    if session is None:
        raise Refusal(-32002, "Resource not found")
    return session


def set_mode(params):
    session = known(params)
    if params.get("modeId") not in [m[0] for m in MODES]:
        raise Refusal(-32602, "no such mode")
    session["mode"] = params["modeId"]
    save(session)
    return {}, lambda: update(session, "current_mode_update", currentModeId=session["mode"])


def set_option(params):
    session = known(params)
    if params.get("configId") == "web" and takes_boolean():
        if params.get("type") != "boolean" or not isinstance(params.get("value"), bool):
            raise Refusal(-32602, "not a boolean value")
        session["web"] = params["value"]
    elif params.get("configId") != "model" or params.get("value") not in MODELS:
        raise Refusal(-32602, "no such option or value")
    else:
        session["model"] = params["value"]
    save(session)
    return {"configOptions": options(session)}


def session_cancel(params):
    if params.get("sessionId") in subagents:
        subagents[params["sessionId"]].set()
    with state_lock:
        turn = turns.get(params.get("sessionId"))
    if turn is not None:
        turn.cancel.set()


def steering(params):
    with state_lock:
        turn = turns.get(params.get("sessionId"))
    answer = {"outcome": "injected" + "x" * 1000000 if opt.steer == "long" else opt.steer}
    if not opt.steer:
        raise Refusal(-32601, "Method not found")
    if opt.steer == "injected" and turn is not None:
        for entry in reversed(turn.session["history"]):
            if entry["role"] == "user":
                entry["text"] += "\n" + "\n".join(b.get("text", "") for b in params["prompt"])
                break
        return answer, turn.steered.set  # the turn goes on behind the answer
    elif opt.steer == "injected" and not opt.steer_slow:
        return {"outcome": "promptRequired", "reason": "noRunningTurn"}
    return answer


CALLS = {"initialize": (initialize, "init"), "authenticate": (authenticate, ""),
         "session/new": (session_new, "new"), "session/load": (session_load, "load"),
         "session/resume": (session_resume, "resume"), "session/close": (session_close, "close"),
         "session/list": (session_list, "list"), "session/set_mode": (set_mode, "mode"),
         "session/set_config_option": (set_option, "option"), "_session/steering": (steering, "steer"),
         "session/fork": (session_fork, "fork"), "session/delete": (session_delete, "delete")}


def prompt(id, params):
    try:
        logged_in()
        session = known(params)
    except Refusal as r:
        return refuse(id, r.code, r.text)
    if session.get("broken"):
        return refuse(id, -32603, "Internal error")
    with state_lock:
        if session["id"] in turns:
            return refuse(id, -32600, "a prompt is in flight already")
        turn = turns[session["id"]] = Turn(id, session, params.get("prompt", []))
    threading.Thread(target=turn.run, daemon=True).start()


def call(id, method, params):
    handler, name = CALLS[method]
    if name:
        if getattr(opt, name + "_hang"):
            return
        time.sleep(getattr(opt, name + "_slow") / 1000)
        until = getattr(opt, name + "_until")
        while until and not os.path.exists(until):
            time.sleep(0.01)
        error = getattr(opt, name + "_error")
        if error is not None:
            return refuse(id, error)
    try:
        result = handler(params)
    except Refusal as r:
        return refuse(id, r.code, r.text)
    after = None
    if isinstance(result, tuple):
        result, after = result
    for _ in range(2 if name == "steer" and opt.steer_twice else 1):
        reply(id, result)
    if after is not None:
        after()


def handle(line):
    try:
        message = json.loads(line)
    except ValueError:
        return refuse(None, -32700, "Parse error")
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        box = waiting.pop(json.dumps(id), None)
        if box is not None:
            box.put(message)
    elif "id" not in message:
        if method == "session/cancel":
            session_cancel(params)
    elif method == "session/prompt":
        prompt(id, params)
    elif method in CALLS:
        name = CALLS[method][1]
        slow = name and (getattr(opt, name + "_slow") or getattr(opt, name + "_until"))
        if slow or opt.ask_in_new:
            threading.Thread(target=call, args=(id, method, params), daemon=True).start()
        else:
            call(id, method, params)
    else:
        refuse(id, -32601, "Method not found")


if opt.exit is not None:
    sys.stderr.write("scripted agent: exits at once\n")
    sys.exit(opt.exit)
if opt.stay:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if opt.banner:
    write(b"Welcome to the scripted agent!\n\x1b[1mloading...\x1b[0m\n")
if opt.preamble:
    send({"method": "_auth/status_update", "params": {"status": "unknown"}})
for raw in sys.stdin.buffer:
    trace("<", raw.decode(errors="replace").rstrip("\n"))
    handle(raw)
while opt.stay:
    time.sleep(1)
os._exit(0)
