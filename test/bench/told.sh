# What it costs that a program on a terminal tells: a hook, and its transcript of 100 MB.
# shellcheck shell=bash

export MAS_ROOT=$FAST/told
make_root "$MAS_ROOT" || return 1
TOLD=$(dirname "$MAS")/mas-told
rules=('told.line.says = says type=assistant message.content[].type=text text:message.content[].text'
    'told.line.usage = usage type=assistant once:message.id input:message.usage.input_tokens output:message.usage.output_tokens')

# A hook that mas hears beside one that does nothing, both from a program in its pane.
# shellcheck disable=SC2016 # for the scripts
{
    make_script hook-told <<<'exec "$TOLD" Tool <"$FAST/object"'
    make_script hook-true <<<'exec true <"$FAST/object"'
    make_script hooked <<<'"$TOLD" Start </dev/null; "$FAST/timer" -n 100 told="$FAST/hook-told" true="$FAST/hook-true" >"$FAST/hooks.new"
        mv "$FAST/hooks.new" "$FAST/hooks"; sleep 1000'
}
printf '{"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "make"}}' >"$FAST/object"
export TOLD MAS
printf '[preset hooked]\ncommand = %s\nexecutes = no\ntold.event.Start = starts\ntold.event.Tool = tool\n' "$FAST/hooked" >>"$MAS_ROOT/mas.ini"
id=$("$MAS" new -q -t solo --agent hooked) || return 1
for ((i = 0; i < 600; i++)); do
    [[ -s $FAST/hooks ]] && break
    sleep 0.1
done
[[ $("$MAS" status "$id" --json) == *'"states":"told"'* ]] || fail 'the hooks are not heard'
T=()
while read -r name median rest; do
    # shellcheck disable=SC2004 # lib.sh declares it associative
    T[$name]=$median
done <"$FAST/hooks"
: "$rest"
at_most 'a hook that tells - one that does nothing (ms)' "$(calc "(${T[told]} - ${T[true]}) / 1000")" 5 \
    "(told $(ms told), true $(ms true))"
"$MAS" rm -q -f "$id" >/dev/null

# From an event to the state that it tells, as a client sees it.
# shellcheck disable=SC2016 # for the script
make_script stated <<'END'
"$TOLD" Start </dev/null
echo ready
until "$MAS" status --json | grep -q '"state":"idle"'; do :; done
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    for pair in Prompt=working Done=idle; do
        from=$(date +%s%N)
        echo '{"session_id": "s", "prompt": "x"}' | "$TOLD" "${pair%=*}"
        until "$MAS" status --json | grep -q "\"state\":\"${pair#*=}\""; do :; done
        echo $((($(date +%s%N) - from) / 1000000)) >>"$FAST/states.new"
    done
done
mv "$FAST/states.new" "$FAST/states"
cat >/dev/null
END
printf '[preset stated]\ncommand = %s\nexecutes = no\nready = ready\ntold.event.Start = starts\ntold.event.Prompt = prompt\ntold.event.Done = done\n' "$FAST/stated" >>"$MAS_ROOT/mas.ini"
id=$("$MAS" new -q -t solo --agent stated) || return 1
for ((i = 0; i < 600; i++)); do
    [[ -s $FAST/states ]] && break
    sleep 0.1
done
[[ -s $FAST/states ]] || fail 'a state that was told never came'
at_most 'from an event to its state, the slowest of 40 (ms)' "$(sort -n "$FAST/states" | tail -n 1)" 300 \
    "(median $(sort -n "$FAST/states" | sed -n 20p) ms)"
"$MAS" rm -q -f "$id" >/dev/null

# The start of a session whose transcript has grown by 100 MB, by 1 MB, and by nothing.
mkdir "$HOME/.lines"
make_script lined <<'END'
id=$2
"$TOLD" Start </dev/null
echo ready
read -r line
printf '{"session_id": "%s", "prompt": "%s"}' "$id" "$line" | "$TOLD" Prompt
echo '{"type":"user"}' >>"$HOME/.lines/$id.jsonl"
printf '{"session_id": "%s"}' "$id" | "$TOLD" Done
cat >/dev/null
END
{
    printf '[preset lined]\ncommand = %s\nexecutes = no\nready = ready\n' "$FAST/lined"
    printf '%s\n' 'told.begin = --begin {id}' 'told.resume = --resume {id}' 'told.kept = .lines/{id}.jsonl' \
        'told.event.Start = starts' 'told.event.Prompt = prompt' 'told.event.Done = done' "${rules[@]}"
} >>"$MAS_ROOT/mas.ini"
id=$("$MAS" new -q -t solo --agent lined) || return 1
place() { python3 -c 'import sqlite3, sys; print(*(sqlite3.connect(sys.argv[1]).execute("SELECT max(offset) FROM transcript").fetchone()))' "$MAS_ROOT/sessions/$id/memory.db"; }
wait_idle() { until [[ $("$MAS" status "$id" --json) == *'"state":"idle"'* ]]; do sleep 0.02; done; }
wait_idle
"$MAS" send "$id" solo hello >/dev/null || return 1
until [[ $(place) == 16 ]]; do sleep 0.1; done

# grow MB: lines as Claude Code writes them, of which one in eight is an answer
grow() {
    python3 - "$1" "$(echo "$HOME"/.lines/*.jsonl)" <<'END'
import json, sys
result = json.dumps({"type": "user", "message": {"content": [{"type": "tool_result", "content": "x = [1, 2]\n" * 300}]}, "toolUseResult": "y\n" * 900})
answer = lambda i: json.dumps({"type": "assistant", "message": {"id": f"m{i}", "content": [{"type": "tool_use", "input": {"a": "b" * 2000}}], "usage": {"input_tokens": 1, "output_tokens": 1}}})
size, left, i = 0, int(sys.argv[1]) * 1000000, 0
with open(sys.argv[2], "a") as file:
    while left > 0:
        i += 1
        left -= file.write((answer(i) if i % 8 == 0 else result) + "\n")
END
}

# start MB: the time until all of it is read, in ms
start() {
    "$MAS" stop -q "$id" >/dev/null || return 1
    grow "$1"
    local from end
    end=$(stat -c %s "$HOME"/.lines/*.jsonl)
    from=$(date +%s%N)
    "$MAS" start -q "$id" >/dev/null || return 1
    wait_idle
    TOOK=$((($(date +%s%N) - from) / 1000000))
    [[ $(place) == "$end" ]] || fail "the transcript is read up to $(place), not $end"
}
start 0 && nothing=$TOOK && start 100 && all=$TOOK && start 1 && little=$TOOK || return 1
at_most 'a transcript of 100 MB, read once (s)' "$(calc "($all - $nothing) / 1000")" 1 "(start $all ms, without $nothing ms)"
at_most 'the same when 1 MB is new (s)' "$(calc "($little - $nothing) / 1000")" 0.1 "(start $little ms)"
"$MAS" rm -q -f "$id" >/dev/null

# 13 that work: each draws ten times a second, writes a line of its transcript each second, and runs a hook each two.
cat >"$FAST/busy" <<'PY'
#!/usr/bin/env python3
import json, os, subprocess, sys, time, uuid
session, told = sys.argv[2], os.environ["TOLD"]
def tell(event, **more):
    subprocess.run([told, event], text=True, input=json.dumps({"session_id": session, **more}))
file = open(os.path.expanduser(f"~/.lines/{session}.jsonl"), "a")
tell("Start")
print("ready", flush=True)
tell("Prompt", prompt=input())
for tenth in range(600):
    print(f"\r\033]0;{'|/-'[tenth % 3]} works\007\033[32m{'|/-'[tenth % 3]}\033[m {tenth}", end="" if tenth % 5 else "\n", flush=True)
    if tenth % 10 == 0:
        print(json.dumps({"type": "assistant", "message": {"id": f"m{tenth}", "content": [{"type": "text", "text": "It goes on. " * 40}], "usage": {"input_tokens": 1, "output_tokens": 1}}}), file=file, flush=True)
    if tenth % 20 == 0:
        tell("Tool", tool_name="Bash", tool_use_id=str(uuid.uuid4()), tool_input={"command": "make"})
    time.sleep(0.1)
PY
chmod +x "$FAST/busy"
{
    printf '[preset busy]\ncommand = %s\nexecutes = no\nready = ready\n' "$FAST/busy"
    printf '%s\n' 'told.begin = --begin {id}' 'told.kept = .lines/{id}.jsonl' 'told.event.Start = starts' \
        'told.event.Prompt = prompt' 'told.event.Tool = tool' "${rules[@]}"
} >>"$MAS_ROOT/mas.ini"
id=$("$MAS" new -q -t default --agent busy) || return 1
count() { "$MAS" status "$id" --json | grep -o "\"state\":\"$1\"" | wc -l; }
until (($(count idle) == 13)); do sleep 0.1; done
"$MAS" send -s "$id" all work >/dev/null || return 1
until (($(count working) == 13)); do sleep 0.1; done
mapfile -t busy < <(pgrep -f "^$MAS host $id")
used_by_hosts() { for pid in "${busy[@]}"; do cat "/proc/$pid/stat"; done | awk '{ n += $14 + $15 } END { print n }'; }
before=$(used_by_hosts)
sleep 10
at_most 'CPU of the hosts of 13 that work, % of a core' \
    "$(calc "($(used_by_hosts) - $before) * 100 / $(getconf CLK_TCK) / 10")" 5 "(${#busy[@]} processes)"
"$MAS" rm -q -f "$id" >/dev/null
