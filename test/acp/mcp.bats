#!/usr/bin/env bats
# `mas mcp`: the tools of a team for its agents, under the team's rules, in all revisions of the
# protocol that clients speak.
load ../helper
load ../host/lib
load lib
load ../project

# tools WORD...: runs a script from stdin with a client of `mas mcp WORD...`: call() calls a tool.
tools() {
    {
        cat <<'END'
def start(version="2025-11-25"):
    return c.ask("initialize", protocolVersion=version, capabilities={},
                 clientInfo={"name": "test", "version": "1"})
def call(name, **arguments):
    """What a tool answers; its words where it failed."""
    result = c.ask("tools/call", name=name, arguments=arguments)
    text = result["content"][0]["text"]
    if result["isError"]:
        return text
    assert json.loads(text) == result["structuredContent"]
    return result["structuredContent"]
END
        cat
    } >"$T/script"
    MAS_CLIENT_RAW=1 timeout 60 python3 "$PROJECT/test/acp/client.py" "$MAS" mcp "$@" <"$T/script"
}

# as AGENT: the rest is run as in the pane of that agent.
as() {
    local agent=$1
    shift
    MAS_SESSION_ID=$ID MAS_AGENT_ID=$agent "$@"
}

@test "a manager gives work, waits for it and reads what came of it" {
    acp_team default
    as 10 tools <<'END'
start()
team = call("list_agents")
assert team["you"] == "10"
agents = {a["id"]: a for a in team["agents"]}
assert len(agents) == 13 and agents["11"]["rank"] == "worker", team
assert agents["11"]["mayWrite"] and agents["20"]["mayWrite"] and agents["00"]["mayWrite"]
assert not agents["21"]["mayWrite"] and not agents["10"]["mayWrite"]
assert call("send_message", target="11,12", text="-- count the tea\nCW-TEA")["agents"][1]["id"] == "12"
assert call("wait_for", target="11,12", timeout=20) == {"reached": True}
messages = call("read_messages", agent="11")["messages"]
assert [m["role"] for m in messages] == ["user", "agent"], messages
assert messages[0]["text"] == "-- count the tea\nCW-TEA" and messages[0]["sender"] == "10"
assert "seen=[CW-TEA]" in messages[1]["text"]
found = call("search_history", query="tea", limit=3)["messages"]
assert found and len(found) <= 3 and "tea" in found[0]["text"], found
END
}

@test "the rules of the team hold, and are named" {
    acp_team default
    as 11 tools <<'END'
start()
for target in "21", "meta":
    words = call("send_message", target=target, text="hello")
    assert isinstance(words, str) and "the rule" in words, words
to = [a["id"] for a in call("send_message", target="all", text="hello")["agents"]]
assert to == ["10", "12", "13"], to  # whom it may write to, without itself
assert call("send_message", target="10", text="done")["agents"][0]["outcome"]
words = call("read_messages", agent="99")
assert isinstance(words, str) and "99" in words, words
END
    new_session -t solo --agent scripted
    other=$ID
    new_session -t solo --agent scripted
    MAS_SESSION_ID=$ID MAS_AGENT_ID=solo tools "$other" <<'END'
start()
words = call("send_message", target="solo", text="hello")
assert isinstance(words, str) and "own team" in words, words
END
}

@test "what is said of the tools fits what they take" {
    acp_team default
    tools "$ID" <<'END'
answer = start("2025-06-18")
assert answer["protocolVersion"] == "2025-06-18" and answer["serverInfo"]["name"] == "mas"
assert answer["capabilities"] == {"tools": {}} and "send_message" in answer["instructions"]
c.note("notifications/initialized")
assert c.ask("ping") == {}
listed = c.ask("tools/list")["tools"]
assert sorted(t["name"] for t in listed) == ["add_agent", "compare", "diff", "list_agents", "merge", "read_messages",
                                             "search_history", "send_message", "sync", "wait_for"]
for tool in listed:
    schema = tool["inputSchema"]
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    assert set(schema["required"]) <= set(schema["properties"])
assert listed[1]["annotations"]["readOnlyHint"] and not listed[0]["annotations"]["readOnlyHint"]
for name, arguments, why in (
        ("send_message", {"target": "11"}, "'text' is missing"),
        ("send_message", {"target": "11", "text": 5}, "'text' is not a string"),
        ("send_message", {"target": "11", "text": ""}, "'text' is empty"),
        ("send_message", {"target": "11", "text": "x", "more": 1}, "unknown argument 'more'"),
        ("read_messages", {"agent": "11", "limit": 0}, "'limit' is not a number from 1"),
        ("read_messages", {"agent": "11", "limit": 1.5}, "'limit' is not a number from 1"),
        ("wait_for", {"target": "11", "state": "gone"}, "'state' is none of its words"),
        ("send_message", {"target": "--help", "text": "x"}, "--help"),
        ("read_messages", {"agent": "../x"}, "../x")):
    words = call(name, **arguments)
    assert isinstance(words, str) and why in words, (name, words)
for params in ({"name": "nonsense"}, {}, {"name": 5}):
    try:
        c.ask("tools/call", **params)
        assert False
    except Refused as e:
        assert e.code == -32602
assert call("list_agents").get("you") is None
assert c.hang_up() == 0
END
}

@test "requests that name the newest revision need no handshake" {
    acp_team default
    tools "$ID" <<'END'
meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}
found = c.ask("server/discover", _meta=meta)
assert found["supportedVersions"][0] == "2026-07-28" and found["resultType"] == "complete"
listed = c.ask("tools/list", _meta=meta)
assert listed["resultType"] == "complete" and listed["ttlMs"] > 0 and listed["cacheScope"] == "public"
result = c.ask("tools/call", name="list_agents", arguments={}, _meta=meta)
assert result["resultType"] == "complete" and result["structuredContent"]["agents"]
assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "mas"
n = c.begin("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2099-01-01"})
error = c.until(lambda: c.answers.get(n))["error"]
assert error["code"] == -32022 and "2026-07-28" in error["data"]["supported"], error
try:
    c.ask("tools/list")
    assert False
except Refused as e:
    assert e.code == -32600
assert start("1999-01-01")["protocolVersion"] == "2025-11-25"
assert not {"resultType", "ttlMs", "cacheScope"} & c.ask("tools/list").keys() # of that revision alone
END
}

@test "a call that waits delays no other, and can be taken back" {
    acp_agent
    tools "$ID" <<'END'
start()
call("send_message", target="solo", text="SLOW:60000")
waits = c.begin("tools/call", name="wait_for", arguments={"target": "solo", "timeout": 600})
assert call("list_agents")["agents"][0]["id"] == "solo"
began = time.monotonic()
assert call("wait_for", target="solo", timeout=1) == {"reached": False}
assert time.monotonic() - began < 15
c.note("notifications/cancelled", requestId=waits, reason="enough")
assert call("list_agents")["agents"]
assert waits not in c.answers
def running():
    return open("/proc/%d/task/%d/children" % (c.p.pid, c.p.pid)).read().split()
assert running() == [], running()
# so many at once and no more; of those that are taken back, first, in the middle and last, none is left
many = [c.begin("tools/call", name="wait_for", arguments={"target": "solo", "timeout": 600}) for _ in range(32)]
assert call("list_agents") == "too many calls are running"
for one in many[0], many[15], many[31]:
    c.note("notifications/cancelled", requestId=one)
assert call("list_agents")["agents"]
assert len(running()) == 29, running()
for one in many[1:15] + many[16:31]:
    c.note("notifications/cancelled", requestId=one)
assert call("list_agents")["agents"]
assert running() == [], running()
assert not any(one in c.answers for one in many)
END
}

@test "a stopped session is told in words, and hostile input breaks nothing" {
    acp_agent
    "$MAS" stop "$ID"
    tools "$ID" <<'END'
c.raw('{"broken\n[]\ngarbage\n{"jsonrpc":"2.0","method":"tools/call"}\n')
c.raw('{"jsonrpc":"2.0","id":{},"method":"ping"}\n')
c.raw("x" * (9 << 20) + "\n")
start()
words = call("send_message", target="solo", text="hello")
assert "not running" in words, words
assert call("read_messages", agent="solo")["messages"] == []
try:
    c.ask("resources/list")
    assert False
except Refused as e:
    assert e.code == -32601
END
    run -2 "$MAS" mcp
    run -3 "$MAS" mcp nonsense
}

@test "an agent's sessions get the tools by themselves, unless its preset says no" {
    acp_team default
    "$MAS" ask "$ID" 10 hello
    grep -F '"session/new"' "$TRACE" | grep -o '{.*' | jq -c '.params.mcpServers[0]' |
        grep -F '"value":"10"' >"$T/server"
    [ "$(jq -r '.name, .args[0]' "$T/server" | xargs)" = 'mas mcp' ]
    # with nothing else in its environment, as agents start it
    local -a env
    mapfile -t env < <(jq -r '.env[] | "\(.name)=\(.value)"' "$T/server")
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_agents"}}' |
        env -i "PATH=$PATH" "${env[@]}" timeout 20 "$(jq -r .command "$T/server")" mcp |
        jq -se '.[1].result.structuredContent | .you == "10" and (.agents | length) == 13'
    preset bare "python3 '$PROJECT/test/acp/agent.py' --log '$T/bare'" 'protocol = acp' 'tools = no'
    new_session -t solo --agent bare
    "$MAS" ask "$ID" solo hello
    grep -F '"session/new"' "$T/bare" | grep -qF '"mcpServers":[]'
}

@test "what is searched for stands on no command line" {
    acp_team default
    # it sees the command line of who runs it
    # shellcheck disable=SC2016 # for the program
    printf '#!/bin/sh\ntr "\\0" " " <"/proc/$PPID/cmdline" >>"%s/lines"\nexit 1\n' "$T" >"$T/embed"
    chmod +x "$T/embed"
    printf '[memory]\nembed_command = %s/embed\n' "$T" >>"$ROOT/mas.ini"
    "$MAS" ask "$ID" 11 'SAY:my secret' >/dev/null
    as 10 tools <<'END'
start()
assert call("search_history", query="secret")["messages"], "nothing found"
END
    grep -q 'search --json .*-- -' "$T/lines"
    run ! grep secret "$T/lines"
}

@test "an agent merges and syncs its own branch, and sees what was changed" {
    make_project
    # two agents with a repository each
    sed -i '/^\[agent reviewer\]/,/^\[/s/^code = .*/code = worktree/' "$ROOT/templates/pair/template.ini"
    grep -A9 '^\[agent reviewer\]' "$ROOT/templates/pair/template.ini" | grep -qx 'code = worktree'
    printf '[code]\ncheck = test -e c\n' >>"$ROOT/mas.ini"
    new_session -t pair -n one --no-start --project "$P"
    commit lead c 'of lead'
    echo more >>"$(tree_of reviewer)/b"
    as lead tools <<'END'
start()
words = call("diff")["text"]
assert " c | 1 +" in words, words
assert "+of lead" in call("diff", show="lines")["text"]
words = call("diff", target="reviewer")["text"]
assert " b | 1 +" in words and " c " not in words, words
def compared(**arguments):
    agents = call("compare", **arguments)["agents"]
    return [(a["agent"], a["added"], a["check"]["result"]) for a in agents]
assert compared() == [("lead", 1, "not run"), ("reviewer", 1, "not run")], compared()
assert compared(check="run") == [("lead", 1, "pass"), ("reviewer", 1, "fail")], compared(check="run")
words = call("merge")["text"]
assert words == "lead: 1 commit merged into mas/one/main\n", words
END
    git -C "$(tree_of reviewer)" checkout -q b
    as reviewer tools <<'END'
start()
words = call("sync")["text"]
assert "updated" in words, words
assert "nothing to merge" in call("merge")["text"]
END
    [ "$(cat "$(tree_of reviewer)/c")" = 'of lead' ]
    # a conflict is an error with the files, and merges nothing
    commit lead c 'first'
    commit reviewer c 'second'
    "$MAS" merge -q one lead
    as reviewer tools <<'END'
start()
words = call("merge")
assert isinstance(words, str) and "it conflicts in c" in words, words
END
    # a long answer is cut
    seq 100000 >"$(tree_of lead)/long"
    as lead tools <<'END'
start()
answer = call("diff", show="lines")
assert len(answer["text"].encode()) <= 256 * 1024 and answer["more"] > 100000, answer["more"]
END
    tools "$ID" <<'END'
start()
answer = c.ask("tools/call", name="add_agent", arguments={"preset": "shell", "name": "rev"})["structuredContent"]
assert answer == {"agent": "rev", "branch": "mas/one/rev", "runs": False}, answer
END
}

@test "tools for code fail with words in a session without a project, and for a person who names nobody" {
    new_session -t pair --no-start
    as lead tools <<'END'
start()
for name in "merge", "sync", "diff", "compare":
    words = call(name)
    assert isinstance(words, str) and "has no project" in words, words
END
    tools "$ID" <<'END'
start()
words = call("merge")
assert isinstance(words, str) and "AGENT" in words, words
END
}
