#!/usr/bin/env bats
# `mas acp`: an editor in front of a team's agent. The conversation is the one of the pane and of the
# command line; several queries live in one ACP session; what was said comes from mas's own memory.
load ../helper
load ../host/lib
load lib

# edit WORD...: runs a script from stdin with an ACP client of `mas acp WORD...`.
edit() { timeout 60 python3 "$PROJECT/test/acp/client.py" "$MAS" acp "${@-$ID}"; }
# The same in the background; what it prints is in $T/edit.
edit_along() {
    cat >"$T/script"
    edit "${@-$ID}" <"$T/script" >"$T/edit" 2>&1 3>&- &
    EDITOR_PID=$!
}
edited() { grep -qF -- "$1" "$T/edit"; }
edit_ends() { wait "$EDITOR_PID" || { cat "$T/edit"; return 1; }; }

@test "a prompt streams its answer, and says why its turn ended" {
    acp_agent
    edit <<'END'
assert c.initialized["protocolVersion"] == 1
assert c.initialized["agentInfo"]["name"] == "mas"
capabilities = c.initialized["agentCapabilities"]
assert capabilities["loadSession"] and set(capabilities["sessionCapabilities"]) == {"list", "resume", "close"}
s = c.new()
assert c.made["modes"]["currentModeId"] == "default", c.made
assert [m["id"] for m in c.made["modes"]["availableModes"]] == ["default", "plan", "acceptEdits", "bypass"]
assert c.made["configOptions"][0]["currentValue"] == "small"
answer = c.prompt(s, "hello CW-ONE CHUNKS:5 THINK:hmm TOOL:read PLAN USAGE:5/100 COST:0.25 TITLE:words")
assert "seen=[CW-ONE] users=1" in answer, answer
assert c.stop == "end_turn"
assert c.text(s, 0, "agent_thought_chunk") == "hmm"
tool, = c.tools(s).values()
assert (tool["title"], tool["kind"], tool["status"]) == ("file (A call of read)", "read", "completed"), tool
assert tool["content"][0]["content"]["text"] == "result of read"
assert [e["content"] for e in c.of_kind(s, "plan")[0]["entries"]] == ["look", "act"]
usage = c.of_kind(s, "usage_update")
assert usage[0]["used"] == 5 and "cost" not in usage[0], usage
assert usage[1]["cost"] == {"amount": 0.25, "currency": "USD"}, usage
assert c.of_kind(s, "session_info_update")[0]["title"] == "words"
assert c.prompt(s, "STOP:max_tokens") is not None and c.stop == "max_tokens"
try:
    c.prompt(s, "ERR:400")
    assert False
except Refused as e:
    assert "the agent answered with an error" in e.message, e
assert "users=" in c.prompt(s, "again")
assert c.hang_up() == 0
END
}

@test "what stands in a prompt reaches the agent: words, links and embedded text" {
    acp_agent
    edit <<'END'
s = c.new()
answer = c.prompt(s, "look at ", {"type": "resource_link", "uri": "file:///x/y.c", "name": "y.c"},
                  {"type": "resource", "resource": {"uri": "file:///z", "text": "CW-Z\r\nCW-Y"}}, " now")
assert "CW-Z" in answer and "CW-Y" in answer, answer
try:
    c.prompt(s, {"type": "image", "data": "", "mimeType": "image/png"})
    assert False
except Refused as e:
    assert e.code == -32602, e.code
END
    was_sent '[@y.c](file:///x/y.c) now'
}

@test "the conversation is that of the command line and of the pane, in both directions" {
    acp_agent
    edit_along <<'END'
s = c.new()
print("session", s, flush=True)
c.wait_text(s, "from the shell", "user_message_chunk")
c.wait_text(s, "seen=[CW-SHELL]")
c.wait_text(s, "typed CW-PANE", "user_message_chunk")
c.wait_text(s, "seen=[CW-SHELL CW-PANE]")
assert "seen=[CW-SHELL CW-PANE CW-EDITOR]" in c.prompt(s, "CW-EDITOR")
assert "CW-EDITOR" not in c.text(s, 0, "user_message_chunk")
END
    eventually edited session
    "$MAS" ask "$ID" solo from the shell CW-SHELL | grep -F 'seen=[CW-SHELL]'
    type_line 'typed CW-PANE'
    edit_ends
    "$MAS" ask "$ID" solo and now | grep -F 'seen=[CW-SHELL CW-PANE CW-EDITOR]'
    [ "$("$MAS" history "$ID" solo --json | jq -r '[.messages[] | select(.role == "user")] | length')" = 4 ]
}

@test "a message of another agent is shown with who sent it" {
    acp_team default
    edit_along "$ID" 10 <<'END'
s = c.new()
print("ready", flush=True)
c.wait_text(s, "From 11: done CW-DONE", "user_message_chunk")
END
    eventually edited ready
    "$MAS" send "$ID" 10 --from 11 'done CW-DONE'
    edit_ends
}

@test "/clear empties the context in one ACP session, and goes on with its text" {
    acp_agent
    edit <<'END'
s = c.new()
commands = [x["name"] for x in c.until(lambda: c.of_kind(s, "available_commands_update"))[0]["availableCommands"]]
assert commands[:3] == ["clear", "mode", "set"], commands
assert "seen=[CW-OLD]" in c.prompt(s, "CW-OLD")
assert c.prompt(s, "/clear") == "The context is cleared." and c.stop == "end_turn"
assert "seen=[CW-NEW]" in c.prompt(s, "CW-NEW")
start = len(c.updates)
assert "seen=[CW-THEN]" in c.prompt(s, "/clear go on\nwith CW-THEN")
assert "mas: the context was cleared" in c.titles(s, start)
assert "seen=[CW-THEN CW-MORE]" in c.prompt(s, "CW-MORE")
END
    [ "$("$MAS" history "$ID" solo --queries --json | jq '.queries | length')" -ge 3 ]
}

@test "a clear by somebody else is told, and ends the turn as cancelled" {
    acp_agent
    edit_along <<'END'
s = c.new()
n = c.begin_prompt(s, "CW-OLD SAY:working HANG")
c.wait_text(s, "working")
print("works", flush=True)
assert c.end(n)["stopReason"] == "cancelled"
c.until(lambda: "mas: the context was cleared" in c.titles(s))
assert "seen=[]" in c.prompt(s, "what do you know")
END
    eventually edited works
    "$MAS" clear "$ID" solo
    edit_ends
}

@test "modes and options are set from the editor by its own means and by commands" {
    acp_agent
    edit <<'END'
s = c.new()
c.ask("session/set_mode", sessionId=s, modeId="plan")
c.until(lambda: any(u["currentModeId"] == "plan" for u in c.of_kind(s, "current_mode_update")))
options = c.ask("session/set_config_option", sessionId=s, configId="model", value="large")["configOptions"]
assert options[0]["currentValue"] == "large", options
assert "`plan` (now)" in c.prompt(s, "/mode")
assert c.prompt(s, "/mode acceptEdits") == "The mode is acceptEdits."
assert "no mode 'nonsense'" in c.prompt(s, "/mode nonsense")
assert "`model` is `large`" in c.prompt(s, "/set")
assert c.prompt(s, "/set model small") == "model is small."
# what the agent rejects is told to be as it was
def told():
    return [u["configOptions"][0]["currentValue"] for u in c.of_kind(s, "config_option_update")]
c.until(lambda: told()[-2:] == ["large", "small"])
before = len(told())
c.ask("session/set_config_option", sessionId=s, configId="model", value="nonsense")
c.until(lambda: len(told()) > before)
assert told()[-1] == "small", told()
assert c.prompt(s, "/unknown words").startswith("AGENT#")
for method, params in (("session/set_mode", {"modeId": "nonsense"}),
                       ("session/set_config_option", {"configId": "nonsense", "value": "x"})):
    try:
        c.ask(method, sessionId=s, **params)
        assert False
    except Refused as e:
        assert e.code == -32002, e.code
END
    eventually is solo .state idle
}

@test "a new session has the mode and the options that are its own, not those set in the one before" {
    acp_agent
    edit <<'END'
def shown(answer):
    return answer["configOptions"][0]["currentValue"], answer["modes"]["currentModeId"]
s = c.new()
assert shown(c.made) == ("small", "default"), c.made
c.prompt(s, "CW-ONE")
c.ask("session/set_config_option", sessionId=s, configId="model", value="large")
c.ask("session/set_mode", sessionId=s, modeId="plan")
c.until(lambda: any(u["currentModeId"] == "plan" for u in c.of_kind(s, "current_mode_update")))
c.until(lambda: any(u["configOptions"][0]["currentValue"] == "large" for u in c.of_kind(s, "config_option_update")))
c.new()
assert shown(c.made) == ("small", "default"), c.made
END
    "$MAS" set "$ID" solo model=large mode=plan
    edit <<'END'
s = c.new()
assert c.made["configOptions"][0]["currentValue"] == "small" and c.made["modes"]["currentModeId"] == "default", c.made
assert "`model` is `small`" in c.prompt(s, "/set")
assert c.prompt(s, "CW-TWO").startswith("AGENT#")
END
}

@test "an option that is on or off is one for the editor that has declared it, and a choice for another" {
    acp_agent --boolean
    edit <<'END'
s = c.new()
web = [o for o in c.made["configOptions"] if o["id"] == "web"][0]
assert web["type"] == "select" and web["currentValue"] == "false", web
assert [o["value"] for o in web["options"]] == ["true", "false"], web
options = c.ask("session/set_config_option", sessionId=s, configId="web", value="true")["configOptions"]
assert options[1]["currentValue"] == "true", options
END
    edit <<'END'
c.initialize(session={"configOptions": {"boolean": {}}})
s = c.new()
web = [o for o in c.made["configOptions"] if o["id"] == "web"][0]
assert web["type"] == "boolean" and isinstance(web["currentValue"], bool) and "options" not in web, web
c.prompt(s, "CW-ONE")  # its session is there now
options = c.ask("session/set_config_option", sessionId=s, configId="web", type="boolean", value=True)["configOptions"]
assert options[1]["type"] == "boolean" and options[1]["currentValue"] is True, options
c.until(lambda: any(u["configOptions"][1]["currentValue"] is True for u in c.of_kind(s, "config_option_update")))
END
    eventually was_switched '[boolean,true] [boolean,true]'
}

@test "a permission is asked in the editor, and its answer reaches the agent" {
    acp_agent
    edit <<'END'
s = c.new()
n = c.begin_prompt(s, "ASK:edit")
p = c.permission()
assert p["params"]["sessionId"] == s
tool = c.tools(s)[p["params"]["toolCall"]["toolCallId"]]
assert (tool["title"], tool["kind"]) == ("May I edit?", "edit"), tool
c.permit(p, c.option(p, "allow_once"))
c.end(n)
assert "permit=" in c.text(s) and "cancelled" not in c.text(s), c.text(s)
n = c.begin_prompt(s, "ASK:edit")
p = c.permission()
c.note("session/cancel", sessionId=s)
assert c.end(n)["stopReason"] == "cancelled"
c.until(lambda: p["id"] in c.withdrawn)
END
}

@test "an editor is told what would be done, and what the agent tells of it later" {
    acp_agent
    echo '{"tool": {"title": "Tests", "kind": "execute", "rawInput": {"command": "make", "cwd": "/w"}},
        "then": [{"rawInput": {"command": "make clean"}}]}' >"$T/asked"
    edit <<END
s = c.new()
n = c.begin_prompt(s, "ASKOF:$T/asked")
p = c.permission()
asked = p["params"]["toolCall"]
text = lambda tool: "".join(one["content"]["text"] for one in tool["content"])
assert (asked["title"], text(asked)) == ("make (Tests)", "command: make\\ncwd: /w"), asked
open("$T/asked.0", "w").close()
tool = lambda: c.tools(s)[asked["toolCallId"]]
c.until(lambda: tool()["title"] == "make clean (Tests)" and text(tool()) == "command: make clean")
c.permit(p, c.option(p, "allow_once"))
c.end(n)
END
}

@test "a form is filled in by the editor that has declared it, and is a permission to another" {
    acp_agent
    edit <<'END'
c.initialize(elicitation={"form": {}})
other = Client(argv)
other.initialize()
s = c.new()
other.load(s)
n = c.begin_prompt(s, "ELICIT")
f = c.form()
assert not c.permissions
assert f["params"]["mode"] == "form" and f["params"]["sessionId"] == s and f["params"]["message"] == "Who are you?", f
assert f["params"]["requestedSchema"]["required"] == ["name"], f
assert other.permission()["params"]["options"][1]["kind"] == "reject_once"
c.fill(f, "accept", name="Ann", sure=True, parts=["a"])
answer = c.end(n)
assert 'form={"action": "accept", "content": {"count": 3, "name": "Ann", "parts": ["a"], "sure": true}}' in c.text(s), c.text(s)
other.until(lambda: other.withdrawn)
n = c.begin_prompt(s, "ELICIT")
c.fill(c.form(), "decline")
c.end(n)
assert 'form={"action": "decline"}' in c.text(s), c.text(s)
n = c.begin_prompt(s, "ELICIT:url")
p = c.permission() # it has not declared that it opens addresses
c.permit(p, c.option(p, "reject_once"))
c.end(n)
n = c.begin_prompt(s, "ELICIT")
f = c.form()
c.note("session/cancel", sessionId=s)
c.until(lambda: f["id"] in c.withdrawn)
c.end(n)
END
}

@test "answers to a form that are none are told, and the form stays open; a dismissed one as well" {
    acp_agent
    edit_along <<'END'
c.initialize(elicitation={"form": {}, "url": {}})
s = c.new()
n = c.begin_prompt(s, "ELICIT")
c.fill(c.form(), "accept", name="x")
c.until(lambda: any("the field 'name' of the form is too short" in t for t in c.titles(s)), "a note")
print("wrong", flush=True)
c.end(n)
n = c.begin_prompt(s, "ELICIT")
c.fill(c.form(), "cancel")
print("dismissed", flush=True)
c.end(n)
assert c.text(s).count('"name": "Ann"') == 2, c.text(s)
END
    eventually edited wrong
    "$MAS" approve "$ID" solo --answer name=Ann
    eventually edited dismissed
    eventually asks
    "$MAS" approve "$ID" solo --answer name=Ann
    edit_ends
}

@test "an address is opened by the editor that has declared it, and its end is told" {
    acp_agent
    edit <<'END'
c.initialize(elicitation={"url": {}})
s = c.new()
n = c.begin_prompt(s, "ELICIT:url,visited")
f = c.form()
assert (f["params"]["mode"], f["params"]["elicitationId"]) == ("url", "e1"), f
assert f["params"]["url"].startswith("https://user@example.org:8443/") and "requestedSchema" not in f["params"], f
c.fill(f, "accept")
c.end(n)
assert [m["params"] for m in c.notes if m["method"] == "elicitation/complete"] == [{"elicitationId": "e1"}], c.notes
n = c.begin_prompt(s, "ELICIT:url,early")
c.end(n)
assert 'form={"action": "cancel"}' in c.text(s), c.text(s)
END
}

@test "who answers a permission first wins, and it is taken back from the others" {
    acp_agent
    edit_along <<'END'
other = Client(argv)
other.initialize()
s = c.new()
other.load(s)
n = c.begin_prompt(s, "ASK:edit")
mine, theirs = c.permission(), other.permission()
print("asked", flush=True)
c.until(lambda: mine["id"] in c.withdrawn)
other.until(lambda: theirs["id"] in other.withdrawn)
c.end(n)
n = c.begin_prompt(s, "ASK:execute")
mine, theirs = c.permission(), other.permission()
other.permit(theirs, other.option(theirs, "reject_once"))
c.until(lambda: mine["id"] in c.withdrawn)
c.permit(dict(mine), c.option(mine, "allow_once")) if mine in c.permissions else None
c.end(n)
assert c.text(s).count("permit=") == 2, c.text(s)
other.until(lambda: other.text(s).count("permit=") == 2)
assert other.hang_up() == 0
END
    eventually edited asked
    "$MAS" approve "$ID" solo
    edit_ends
}

@test "a plan is carried out with a cleared context, in the same turn of the editor" {
    acp_agent
    edit <<'END'
s = c.new()
c.prompt(s, "CW-BEFORE")
n = c.begin_prompt(s, "CW-PLANNED APPROVE")
p = c.permission()
clear = [o for o in p["params"]["options"] if o["optionId"] == "clear"]
assert len(clear) == 1 and clear[0]["kind"] == "allow_once", p
c.permit(p, "clear")
assert c.end(n)["stopReason"] == "end_turn"
assert "mas: the context was cleared" in c.titles(s)
assert "Carry out this plan with full permissions:" in c.text(s, 0, "user_message_chunk")
last = c.text(s).split("AGENT#")[-1]
assert "CW-BEFORE" not in last and "users=1" in last, last
assert "CW-BEFORE" not in c.prompt(s, "what now")
END
}

@test "cancel ends the turn; prompts queue, and a cancelled one does not end another" {
    acp_agent
    edit <<'END'
s = c.new()
first = c.begin_prompt(s, "SAY:one HANG")
c.wait_text(s, "one")
c.note("session/cancel", sessionId=s)
assert c.end(first)["stopReason"] == "cancelled"
first, second = c.begin_prompt(s, "SLOW:300 SAY:one"), c.begin_prompt(s, "SAY:two")
assert c.end(first)["stopReason"] == "end_turn"
assert c.end(second)["stopReason"] == "end_turn"
first, second = c.begin_prompt(s, "SAY:three HANG"), c.begin_prompt(s, "SAY:four")
c.wait_text(s, "three")
c.note("$/cancel_request", requestId=first)
assert c.end(first)["stopReason"] == "cancelled"
assert c.end(second)["stopReason"] == "end_turn"
END
}

@test "load shows what was said, after everything was restarted and where the agent cannot load" {
    acp_agent --no-load --no-resume
    edit >"$T/id" <<'END'
s = c.new()
c.prompt(s, "one CW-ONE")
c.prompt(s, "/clear two CW-TWO TOOL:edit THINK:hmm")
print(s)
END
    "$MAS" stop "$ID"
    rm -rf "$STORE"
    "$MAS" start "$ID"
    edit <<END
s = "$(<"$T/id")"
listed = c.ask("session/list")["sessions"]
assert [l["sessionId"] for l in listed] == [s], listed
assert listed[0]["title"] == "one CW-ONE", listed
c.load(s)
assert c.text(s, 0, "user_message_chunk") == "one CW-ONEtwo CW-TWO TOOL:edit THINK:hmm"
assert "seen=[CW-ONE]" in c.text(s) and "seen=[CW-TWO]" in c.text(s), c.text(s)
assert c.text(s, 0, "agent_thought_chunk") == "hmm"
assert c.titles(s) == ["mas: the context was cleared", "file (A call of edit)"], c.titles(s)
start = len(c.updates)
answer = c.prompt(s, "three")
assert "CW-TWO" in answer and "CW-ONE" not in answer, answer
c.ask("session/close", sessionId=s)
start = len(c.updates)
c.ask("session/resume", sessionId=s, cwd="/tmp", mcpServers=[])
assert c.text(s, start) == "" and c.text(s, start, "user_message_chunk") == ""
assert "users=" in c.prompt(s, "four")
END
}

@test "a session that is open is told what it missed while the host was away" {
    acp_agent
    edit_along <<'END'
s = c.new()
c.prompt(s, "one")
print("ready", flush=True)
c.wait_text(s, "two CW-TWO", "user_message_chunk")
c.wait_text(s, "seen=[CW-TWO]")
assert c.text(s, 0, "user_message_chunk").count("two CW-TWO") == 1
assert c.text(s).count("AGENT#") == 2, c.text(s)
assert "users=3" in c.prompt(s, "three")
END
    eventually edited ready
    "$MAS" stop "$ID"
    "$MAS" start "$ID"
    "$MAS" ask "$ID" solo two CW-TWO
    edit_ends
}

@test "two sessions are two conversations, and a prompt goes to its own" {
    acp_agent
    edit <<'END'
a, b = c.new(), c.new()
assert a != b
assert "seen=[CW-A]" in c.prompt(a, "CW-A")
assert "seen=[CW-B]" in c.prompt(b, "CW-B")
assert "seen=[CW-A] users=2" in c.prompt(a, "again")
assert "CW-A" not in c.text(b) and "CW-B" not in c.text(a)
n = c.begin_prompt(a, "SAY:busy HANG")
c.wait_text(a, "busy")
m = c.begin_prompt(b, "meanwhile")
assert "it is working" in c.prompt(b, "/clear")
c.note("session/cancel", sessionId=a)
assert c.end(n)["stopReason"] == "cancelled"
assert c.end(m)["stopReason"] == "end_turn"
assert "seen=[CW-B] users=2" in c.text(b) and "busy" not in c.text(b)
assert [l["title"] for l in c.ask("session/list")["sessions"]] == ["CW-B", "CW-A"]
END
}

@test "a stopped session says how it is started, and goes on when it was" {
    acp_agent
    "$MAS" stop "$ID"
    edit_along <<'END'
def refused(*args, **more):
    try:
        c.ask(*args, **more)
    except Refused as e:
        assert "is not running" in e.message and "mas start" in e.message, e.message
        return True
assert refused("session/new", cwd="/tmp", mcpServers=[])
print("refused", flush=True)
while True:
    try:
        s = c.new()
        break
    except Refused:
        time.sleep(0.1)
assert "users=1" in c.prompt(s, "hello")
END
    eventually edited refused
    "$MAS" start "$ID"
    edit_ends
}

@test "an agent that does not run is started by its first prompt" {
    acp_preset scripted
    echo 'start = demand' >>"$ROOT/mas.ini"
    new_session -t solo --agent scripted
    find_agent
    edit <<'END'
s = c.new()
assert "seen=[CW-ONE]" in c.prompt(s, "CW-ONE")
END
}

@test "which agent: the meta manager, the one that is named, never a terminal program" {
    acp_team default
    local of
    for of in "" 11; do
        # shellcheck disable=SC2086 # none, or one
        edit "$ID" $of <<'END'
s = c.new()
c.prompt(s, "CW-HERE")
END
    done
    "$MAS" history "$ID" 00 | grep -qF CW-HERE
    "$MAS" history "$ID" 11 | grep -qF CW-HERE
    run -2 "$MAS" acp "$ID" workers
    run -3 "$MAS" acp "$ID" 99
    run -3 "$MAS" acp nonsense
    run -2 "$MAS" acp "$ID" 11 more
    new_session -t solo
    edit "$ID" <<'END'
try:
    c.new()
    assert False
except Refused as e:
    assert "not an ACP agent" in e.message, e.message
END
}

@test "an agent that acts as an editor is held to the rules of the team" {
    acp_team default
    MAS_SESSION_ID=$ID MAS_AGENT_ID=11 edit "$ID" 22 <<'END'
try:
    s = c.new()
    assert False
except Refused as e:
    assert "the rule" in e.message, e.message
END
    MAS_SESSION_ID=$ID MAS_AGENT_ID=11 edit "$ID" 10 <<'END'
s = c.new()
assert "users=1" in c.prompt(s, "may I")
END
}

@test "what is no protocol is refused and breaks nothing; the end of input ends it" {
    acp_agent
    MAS_CLIENT_RAW=1 edit <<'END'
def refusal(line, id=None):
    c.raw(line + "\n")
    answer = c.until(lambda: id in c.answers and c.answers.pop(id))
    return answer["error"]["code"]
assert refusal('{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}', 1) == -32600
assert refusal('{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}', 2) == -32602
assert refusal('{"broken') == -32700
c.raw("garbage\n\n[]\n{}\n")
assert refusal('{"jsonrpc":"2.0","id":"x"}', "x") == -32600
c.last = 10
c.initialize()
s = c.new()
for method, params, code in (
        ("nonsense", {}, -32601), ("authenticate", {"methodId": "x"}, -32602),
        ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
        ("session/load", {"sessionId": "../../x", "cwd": "/", "mcpServers": []}, -32002),
        ("session/load", {"sessionId": "x" * 500, "cwd": "/", "mcpServers": []}, -32602),
        ("session/prompt", {"sessionId": s, "prompt": "text"}, -32602),
        ("session/prompt", {"sessionId": s, "prompt": []}, -32602),
        ("session/prompt", {"sessionId": "other", "prompt": [{"type": "text", "text": "x"}]}, -32002),
        ("session/prompt", {"sessionId": s, "prompt": [{"type": "text", "text": "a\u001b[2J"}]}, None),
        ("session/list", {"cursor": "-1"}, -32602),
        ("session/list", {"cwd": "/" + "x" * 5000}, -32602),
        ("session/new", {"cwd": "/" + "x" * 5000, "mcpServers": []}, -32602)):
    try:
        c.ask(method, **params)
        assert False, method
    except Refused as e:
        assert code is None or e.code == code, (method, e.code)
big = '{"jsonrpc":"2.0","id":77,"method":"session/prompt","params":{"x":"' + "x" * (17 << 20) + '"}}'
assert refusal(big) == -32700
c.note("session/cancel", sessionId="other")
c.note("nonsense", x=1)
assert "users=1" in c.prompt(s, "still there")
assert c.hang_up() == 0
END
    # nothing but the protocol on stdout, and an end at the end of input
    printf '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n' |
        timeout 10 "$MAS" acp "$ID" >"$T/out"
    jq -e '.result.protocolVersion == 1 and .id == 0' "$T/out"
}

@test "words that are too long for the host are refused, and what is at work goes on" {
    acp_agent
    edit <<'END'
s = c.new()
work = c.begin_prompt(s, "ASK:execute")
permission = c.permission()
for words in "/mode ", "/set model ", "/set ":
    answer = c.prompt(s, words + "x" * 100000 + " y")
    assert "too long" in answer, answer
c.permit(permission, "x" * 100000)
assert "mode is plan" in c.prompt(s, "/mode plan")
assert work not in c.answers, c.answers[work]
subprocess.run([argv[0], "approve", argv[2], "solo"], check=True, stdout=subprocess.DEVNULL)
assert c.end(work)["stopReason"] == "end_turn"
END
}

@test "prompts that wait for a host that does not read have a limit together" {
    acp_agent
    # tmux would wake it
    STOPPED=$(tm display-message -pt "$PANE" '#{pid} #{pane_pid}') edit <<'END'
import signal
s = c.new()
stopped = [int(pid) for pid in os.environ["STOPPED"].split()]
for pid in stopped:
    os.kill(pid, signal.SIGSTOP)
try:
    begun = [c.begin_prompt(s, "QUIET " + "x" * (4000 << 10)) for i in range(6)]
    for number in begun[4:]:
        try:
            c.end(number)
            assert False
        except Refused as e:
            assert "too many requests wait" in e.message, e.message
    assert not set(begun[:4]) & set(c.answers)
finally:
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
lost = []
for number in begun[:4]:
    try:
        assert c.end(number)["stopReason"] == "end_turn"
    except Refused as e:  # on a slow machine mas acp reads too slowly for so much at once, and the host hangs up on it
        assert "the host of agent 'solo' has ended" in e.message, e.message
        lost.append(number)
assert lost or "users=5" in c.prompt(s, "and on")
END
}

@test "a prompt whose host is killed ends with where to look for what was said" {
    acp_agent
    HOST=$(tm display-message -pt "$PANE" '#{pane_pid}') edit <<'END'
import signal
s = c.new()
work = c.begin_prompt(s, "SAY:working HANG")
c.wait_text(s, "working")
os.kill(int(os.environ["HOST"]), signal.SIGKILL)
try:
    c.end(work)
    assert False
except Refused as e:
    assert "the host of agent 'solo' has ended" in e.message, e.message
    assert "mas history" in e.message, e.message
END
}

@test "a client that does not read delays nobody" {
    acp_agent
    edit >"$T/id" <<'END'
s = c.new()
c.prompt(s, "one")
print(s)
END
    mkfifo "$T/in" "$T/out"
    exec 8<>"$T/in" 9<>"$T/out" # held open; nobody reads the second
    timeout 60 "$MAS" acp "$ID" <"$T/in" >"$T/out" 3>&- 8>&- 9>&- &
    local client=$!
    printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}' \
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/load\",\"params\":{\"sessionId\":\"$(<"$T/id")\",\"cwd\":\"/\",\"mcpServers\":[]}}" \
        >"$T/in"
    timeout 20 "$MAS" ask "$ID" solo BIG:3000 >"$T/big"
    timeout 20 "$MAS" ask "$ID" solo BIG:3000 | cmp -s - /dev/null && return 1
    timeout 20 "$MAS" ask "$ID" solo hello | grep -qF users=
    kill "$client"
    exec 8>&- 9>&-
}
