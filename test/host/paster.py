#!/usr/bin/env python3
"""A program on a terminal that takes pictures as pasted paths, and tells what it is asked (see tells.bash).

A path that is pasted alone becomes a mark on the line, and its file is read after a moment, as programs do;
then the line goes on. A file that is in the text as @PATH is read, too. What was read is in $SEEN, a line each.
"""
import hashlib, json, os, re, subprocess, sys, time, tty, uuid
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
hooks = json.load(open(words["--plugin"] + "/conf/hooks.json"))["hooks"] if "--plugin" in words else {}
session = words.get("--begin") or words.get("--resume") or str(uuid.uuid4())
count = 0


def tell(event, **more):
    for hook in hooks.get(event, []):
        subprocess.run(hook["run"], shell=True, text=True, input=json.dumps({"session_id": session, **more}), check=True)


def look(path):
    with open(os.environ["SEEN"], "a") as file:
        file.write(f"{hashlib.sha256(open(path, 'rb').read()).hexdigest()}\n")


tty.setraw(0)
tell("Start", source="startup")
sys.stdout.write("\033[?2004h" if "PLAIN" not in os.environ else "")
print("ready\r", flush=True)
line = data = ""
while True:
    data += os.read(0, 65536).decode()
    while data:
        paste = re.match("\033\\[200~(.*?)\033\\[201~", data, re.S)
        if paste:
            data = data[paste.end():]
            if re.fullmatch(r"/\S+\.png", paste[1]):
                time.sleep(0.1)
                look(paste[1])
                count += 1
                line += f"[Image #{count}] "
            else:
                line += paste[1]
        elif data[0] == "\033" and "~" not in data:
            break
        elif data[0] == "\025":
            line, data = "", data[1:]
        elif data[0] == "\r":
            data = data[1:]
            if line == "quit":
                sys.exit(0)
            for path in re.findall(r"@(/\S+)", line):
                look(path)
            print(f"asked: {line}\r", flush=True)
            tell("Prompt", prompt=line)
            tell("Done", last_assistant_message="yes")
            line = ""
        else:
            line, data = line + data[0], data[1:]
            sys.stdout.write(line[-1])
            sys.stdout.flush()
