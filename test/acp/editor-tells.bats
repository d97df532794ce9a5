#!/usr/bin/env bats
# mas acp: an editor talks with a program on its own terminal that tells what it does.
load ../helper
load ../host/lib
load ../memory
load ../host/tells
load lib

# edit: runs a script of client.py on standard input with `mas acp` in front of the agent.
edit() { python3 -ESB "$PROJECT/test/acp/client.py" "$MAS" acp "$ID"; }

@test "an editor prompts it, answers what it asks, cancels, clears and loads, as with an ACP agent" {
    team
    edit <<END
s = c.new()
assert c.prompt(s, "one CW-OTTER") == "I know: one CW-OTTER"
assert c.stop == "end_turn"
for kind, stop in (("allow_once", "end_turn"), ("reject_once", "cancelled")):
    n = c.begin_prompt(s, "ask make test")
    p = c.permission()
    assert p["params"]["toolCall"]["title"] == "make test (Bash)", p
    c.permit(p, c.option(p, kind))
    assert c.end(n)["stopReason"] == stop, stop
assert "make test (Bash)" in c.titles(s)
n = c.begin_prompt(s, "work $T/never")
def solo():
    return json.loads(subprocess.run(["$MAS", "status", "$ID", "--json"], stdout=-1, check=True).stdout)["sessions"][0]["agents"][0]
while solo()["state"] != "working" or solo()["queued"] > 0:  # its program has told of the turn
    time.sleep(0.05)
c.note("session/cancel", sessionId=s)
assert c.end(n)["stopReason"] == "cancelled"
subprocess.run(["$MAS", "wait", "$ID", "--for", "idle", "--timeout", "15s"], check=True)
assert c.prompt(s, "/clear then two") == "I know: then two", c.text(s)
subprocess.run(["$MAS", "send", "$ID", "solo", "from outside"], check=True)
c.wait_text(s, "from outside")
d = Client(argv)
d.initialize()
d.load(s)
assert "one CW-OTTER" in d.text(s, kind="user_message_chunk"), d.updates
assert "I know: then two, from outside" in d.text(s)
END
}

@test "what it asks beyond yes or no is told in the editor, and where it is answered" {
    team
    edit <<END
s = c.new()
n = c.begin_prompt(s, "choose red or blue")
c.until(lambda: [t for t in c.titles(s) if "own screen (mas attach $ID solo): Choose asks more than yes or no" in t])
assert "red or blue (Choose)" in c.titles(s), c.titles(s)
c.note("session/cancel", sessionId=s)
assert c.end(n)["stopReason"] == "cancelled"
c.prompt(s, "two")
assert len([t for t in c.titles(s) if "mas attach" in t]) == 1, c.titles(s)
assert not c.permissions and not c.withdrawn
END
}

@test "images of an editor's prompt reach an ACP agent that takes them, and are kept; others are refused with the reason" {
    run_acp --images
    edit <<'END'
import base64
def image(data, **more): return dict({"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode()}, **more)
red = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR1"
assert c.initialized["agentCapabilities"]["promptCapabilities"]["image"]
s = c.new()
said = c.prompt(s, "what is it?", image(red, uri="file:///a/red.png"), image(red + b"22"))
assert "images=[image/png:17:" in said and "image/png:19:" in said, said
assert "images=[image/png:18:" in c.prompt(s, image(red + b"3"))
for block, why in ((image(b"no picture"), "no picture in PNG"), ({"type": "image", "mimeType": "image/png", "data": "????"}, "not base64"),
                   (image(red + bytes(5 << 20)), "larger than 5 MiB")):
    try:
        c.prompt(s, "x", block)
        assert False, why
    except Refused as e:
        assert why in e.message, e.message
d = Client(argv)
d.initialize()
d.load(s)
assert "[picture red.png, 17B]\n[picture picture.png, 19B]\nwhat is it?" in d.text(s, kind="user_message_chunk"), d.updates
END
    [ "$("$MAS" history "$ID" solo --role user --json | jq -c '[.messages[] | [.text, ([.data.pictures[]?.name] | join(","))]]')" = \
        '[["what is it?","red.png,picture.png"],["","picture.png"]]' ]
}
