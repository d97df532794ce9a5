# A sixth program on a terminal, which mas knows by a preset alone: it keeps each session in ~/.six, and begins
# some without mas. Loaded behind ../helper, ../host/lib and ../memory.
# shellcheck shell=bash

make_six() {
    export OUT=$T/argv
    cat >"$T/six.py" <<'END'
import glob, json, os, subprocess, sys, uuid
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
hooks = json.load(open(words["--plugin"] + "/hooks.json"))["hooks"]
session = words.get("--begin") or words.get("--resume")
open(os.environ["OUT"], "a").write(json.dumps(sys.argv[1:]) + "\n")
found = glob.glob(os.path.expanduser(f"~/.six/*/{session}.jsonl"))
path = found[0] if found else os.path.expanduser(f"~/.six/new/{session}.jsonl")
if "--resume" in words and (not found or os.path.exists(os.path.expanduser("~/.six/refuses"))):
    sys.exit("there is no session " + session)

def tell(event, **more):
    for hook in hooks.get(event, []):
        subprocess.run(hook["run"], shell=True, text=True, input=json.dumps({"id": session, "session_id": session, **more}), check=True)

def write(kind, **more):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as file:
        file.write(json.dumps({"type": kind, "session": session, **more}) + "\n")

tell("Start", source="resume" if "--resume" in words else "startup")
print("ready", flush=True)

for line in sys.stdin:
    line = line.strip()
    tell("Prompt", prompt=line)
    write("asked", words=line)
    if line.startswith("work"):
        while not os.path.exists(line.split()[1]):
            pass
    knows = [json.loads(one)["words"] for one in open(path) if '"asked"' in one]
    answer = "I know: " + ", ".join(knows)
    write("answer", words=answer)
    write("over")
    tell("Done", last_assistant_message=answer)
END
    # shellcheck disable=SC2016 # names of variables
    preset six "python3 -ES '$T/six.py'" 'ready = ready' 'executes = no' 'role_option = --told {file}' \
        'told.begin = --begin {id}' 'told.resume = --resume {id}' 'told.kept = $SIX_HOME/*/{id}.jsonl .six/*/{id}.jsonl' \
        'told.alive = .six/{pid}.state' 'told.copies = yes' 'told.args = --plugin {dir}' \
        'told.file.hooks.json = {"hooks": {hooks}}' 'told.hook = {"run": {json:command}}' \
        'told.event.Start = starts' 'told.event.Prompt = prompt' 'told.event.Done = done' \
        'told.line.where = session type=meta directory:cwd' 'told.line.asked = prompt type=asked text:words' \
        'told.line.answer = says type=answer text:words' 'told.line.ran = tool type=ran tool:name tool_id:id input:input' \
        'told.line.stopped = stopped type=stopped' 'told.line.over = done type=over'
    preset seven "python3 -ES '$T/six.py'" 'ready = ready' 'executes = no' 'told.kept = .seven/{id}' \
        'told.event.Start = starts' 'told.line.asked = prompt type=asked text:words'
}

setup_more() { make_six; }

# began ID [DIR] [WORDS] [AGE]: a session of the program that began without mas.
began() {
    local file=$HOME/.six/x/$1.jsonl
    mkdir -p "$HOME/.six/x"
    {
        printf '{"type":"meta","session":"%s","cwd":"%s"}\n' "$1" "${2-/srv/shop}"
        printf '{"type":"asked","words":"%s"}\n' "${3-the word is CW-OTTER}"
        printf '{"type":"ran","name":"Bash","id":"call-1","input":{"command":"make"}}\n'
        printf '{"type":"answer","words":"I keep it"}\n{"type":"new"}\nno object\n'
    } >"$file"
    touch -d "${4-1 hour ago}" "$file"
}

A=8f3c0000-1111-4111-8111-111111111111
B=8f3c2222-1111-4111-8111-111111111111
C=01a22349-a722-73b2-9887-eb6825581b7b

# team: a session with the program, which is ready.
team() {
    new_session -t solo --agent "${1-six}"
    find_agent
    eventually state_is idle
}

of_agent() { "$MAS" status "$ID" --json | jq -r ".sessions[0].agents[0].$1"; }
state_is() { [ "$(of_agent state)" = "$1" ]; }
history() { "$MAS" history "$ID" solo --json | jq -c '.messages[] | [.role, .from, .text, .state]'; }
says() { history | grep -qF -- "$1"; }
count() { history | grep -cF -- "$1"; }
starts() { sed -n "$1p" "$OUT"; }

# An eighth keeps all its sessions in one database, as OpenCode does, and takes no copy.
make_eight() {
    # shellcheck disable=SC2016 # names of variables
    preset eight "python3 -ES '$T/six.py'" 'ready = ready' 'executes = no' 'role_option = --told {file}' \
        'told.begin = --begin {id}' 'told.resume = --resume {id}' 'told.args = --plugin {dir}' \
        'told.database = $EIGHT_HOME/*.db .eight/*.db' \
        'told.database.sessions = SELECT id, place, at FROM talk' \
        "told.database.lines = SELECT json_object('by', by, 'words', words) FROM said WHERE talk = ?1 ORDER BY rowid" \
        'told.file.hooks.json = {"hooks": {hooks}}' 'told.hook = {"run": {json:command}}' \
        'told.event.Start = starts' 'told.event.Prompt = prompt' 'told.event.Done = done' \
        'told.line.asked = prompt by=person text:words' 'told.line.answer = says by=agent text:words' \
        'told.line.over = done by=over'
    EIGHT=$HOME/.eight/one.db
}

# rows [SQL]: fills the database, and leaves what came last in its log, as a program that was killed does.
rows() {
    mkdir -p "${EIGHT%/*}"
    # shellcheck disable=SC2016 # of python
    python3 -c 'import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
db.executescript("CREATE TABLE IF NOT EXISTS talk (id TEXT, place TEXT, at INTEGER); CREATE TABLE IF NOT EXISTS said (talk TEXT, by TEXT, words TEXT);" + sys.argv[2])
os.kill(os.getpid(), 9)' "$EIGHT" "$1" || [ "$?" -eq 137 ]
}
talk() { echo "INSERT INTO talk VALUES ('$1', '${2-/srv/shop}', $(date -d "${4-1 hour ago}" +%s));
    INSERT INTO said VALUES ('$1', 'person', '${3-the word is CW-OTTER}'), ('$1', 'agent', 'I keep it'), ('$1', 'over', '');"; }
E=ses_8f3cAAAAbbbb
F=ses_8f3cCCCCdddd
in_eight() { (cd "${EIGHT%/*}" && sha256sum -- * && stat -c '%n %s %Y' -- *); }
