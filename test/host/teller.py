#!/usr/bin/env python3
import json, os, select, subprocess, sys, termios, time, uuid
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
settings = words["--plugin"] + "/conf/hooks.json" if "--plugin" in words else os.path.expanduser("~/.teller.json")
settings = json.load(open(settings))
hooks = settings["hooks"]
trust = os.path.expanduser("~/.trust.json")
trusts = json.load(open(trust))["trusts"] if os.path.exists(trust) else []
place = os.path.expanduser("~/.teller")
os.makedirs(place, exist_ok=True)
session = words.get("--begin") or words.get("--resume") or str(uuid.uuid4())
open(os.environ["OUT"], "a").write(json.dumps(sys.argv[1:]) + "\n")
if "--plugin" not in words:  # it has its settings in the home
    json.dump(settings, open("settings.json", "w"))

def tell(event, **more):
    for hook in hooks.get(event, []) if isinstance(hooks, dict) else []:
        subprocess.run(hook["run"], shell=True, text=True, input=json.dumps({"session_id": session, **more}), check=True)

def rests():  # which no hook tells, but its file
    with open(f"{place}/state.json", "w") as file:
        json.dump({"sessionId": session, "status": "idle", "statusUpdatedAt": int(time.time() * 1000) + 1}, file)

def said():
    return open(f"{place}/{session}").read().splitlines() if os.path.exists(f"{place}/{session}") else []

if "--resume" in words and not said():
    tell("End")
    sys.exit("there is no session " + session)
while os.path.exists(f"{place}/hold"):  # a slow start, which drops what was typed meanwhile
    time.sleep(0.02)
    termios.tcflush(0, termios.TCIFLUSH)
if os.path.exists(f"{place}/distrusts") and "--trusted" not in words and os.getcwd() not in trusts:  # a new directory, before any hook runs
    print("No, exit\nYes, I trust it", flush=True)
    if sys.stdin.readline().strip() != "t" or os.path.exists(f"{place}/forgets"):
        sys.exit(1)
def title(text):
    if "TITLED" in os.environ:
        print(f"\033]0;{text}\007", end="", flush=True)

if "TITLED" not in os.environ or "--resume" in words:
    tell("Start", source="resume" if "--resume" in words else "startup")
before = open(f"{place}/before.lock", "w")  # a session that it holds open all the time
title("resumed" if "--resume" in words else "Teller")
print("ready", flush=True)
lost = ""
for line in iter(sys.stdin.readline, ""):
    line = lost + line.strip()
    lost = ""
    if not line:
        continue
    if os.path.exists(f"{place}/loses"):  # it is busy, and takes Enter for a new line
        os.unlink(f"{place}/loses")
        lost = line
        continue
    order, _, rest = line.partition(" ")
    if order == "clear":
        session = str(uuid.uuid4())
        tell("Start", source="clear")
        continue
    if order == "elsewhere":  # what it holds open says it, before its next prompt does
        session = str(uuid.uuid4())
        held = open(f"{place}/{session}.lock", "w")
        continue
    if order == "home":  # as its title says
        session = str(uuid.uuid4())
        title("Teller")
        continue
    if order == "compact":  # it works without a turn
        tell("Works")
        while not os.path.exists(rest):
            time.sleep(0.02)
        tell("Rests")
        continue
    if order == "alone":  # a prompt of the program's own
        line = "nobody asked this"
    with open(f"{place}/{session}", "a") as file:
        file.write(line + "\n")
    if "TITLED" in os.environ:
        tell("Start", source="new")
        time.sleep(0.5)
    while os.path.exists(f"{place}/begins"):
        time.sleep(0.02)
    tell("Prompt", prompt=line)
    title("about " + line)
    if os.path.exists(limit := f"{place}/limited" + os.environ.get("LOGIN", "")):  # its provider takes nothing
        tell("Fail", error="rate_limit", last_assistant_message=open(limit).read())
        continue
    if order in ("ask", "choose"):
        tool = "Bash" if order == "ask" else "Choose"
        tell("Ask", tool_name=tool, tool_input={"command": rest})
        while os.path.exists(f"{place}/hold"):  # its dialog comes late
            time.sleep(0.02)
        print("May I?", flush=True)
        if sys.stdin.readline().strip() != "y":
            rests()
            continue
        if os.path.exists(f"{place}/deaf"):  # its line is not there yet when its dialog is gone
            time.sleep(0.3)
            termios.tcflush(0, termios.TCIFLUSH)
        tell("Tool", tool_name=tool, tool_use_id=str(uuid.uuid4()), tool_input={"command": rest})
    if order == "retry":  # a request fails, and it tries again, for which it rests of itself
        for why in rest.split("/")[:2]:
            tell("Retries", error=why)
            tell("Rests")
            while not os.path.exists(f"{place}/{why}"):
                time.sleep(0.02)
            os.unlink(f"{place}/{why}")
        tell("Works")
    if order == "nest":  # a program of the same kind, which has the hooks of this one
        nested = f"import subprocess\nsubprocess.run('''{hooks['Prompt'][0]['run']}''', shell=True, text=True, input='{{\"session_id\": \"nested\", \"prompt\": \"of another\"}}')"
        subprocess.run([sys.executable, "-c", nested], check=True)
    if order == "work":
        stopped = False
        while not os.path.exists(rest) and not stopped:
            stopped = select.select([sys.stdin], [], [], 0.02)[0] and sys.stdin.readline().strip() == "x"
            if stopped and os.path.exists(f"{place}/ignores"):  # as it has just begun
                os.unlink(f"{place}/ignores")
                stopped = False
        if stopped:
            rests()
            continue
    if order == "forge":  # a command of the agent claims that a person has cleared the context
        start = hooks["Start"][0]["run"]
        subprocess.run(["sh", "-c", start], text=True, input=json.dumps({"session_id": "forged", "source": "clear"}))
    if order == "count":  # what is told like a line of a transcript, and tools without an id
        tell("Line", words="I count", use={"once": 1, "in": 100})
        tell("Line", use={"once": 1, "in": 100})
        tell("Ran", toolName="Bash", toolArgs={"command": "make"})
        tell("Ran", toolName="Bash", toolArgs={"command": "make"})
    if order == "fail":
        tell("Fail", error="server_error", last_assistant_message="the model has failed")
        continue
    if order == "die":
        os.kill(os.getpid(), 9)
    print("answer", flush=True)
    if order == "leave":  # work that goes on behind the turn, as a process and in the program itself
        subprocess.Popen(["sleep", rest])
    tell("Done", last_assistant_message="I know: " + ", ".join(said()), background_tasks=["x"] if order == "later" else [])
    if order == "late":
        tell("Tool", tool_name="Bash", tool_use_id="late", tool_input={"command": "late"})
