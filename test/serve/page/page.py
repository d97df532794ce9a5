#!/usr/bin/env python3
"""What the tests of the page do in a browser: page.py SCENARIO [ARGUMENT...]

The environment has URL and TOKEN of a server, ID of a session with an agent `solo`, and T, a directory.
"""
import json, os, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import LIMIT, Browser, Failed, since  # noqa: E402

URL, TOKEN, T = os.environ["URL"], os.environ["TOKEN"], os.environ["T"]
ID = os.environ.get("ID", "")
PHONE, DESK = (360, 740), (1280, 800)
scenarios = {}


def scenario(run):
    scenarios[run.__name__] = run
    return run


def need(condition, what):
    if not condition:
        raise Failed(what)


def mas(*words, **more):
    return subprocess.run([os.environ["MAS"], *words], check=True, capture_output=True, text=True, **more).stdout


def offer(*options):
    return json.loads(mas("serve", "pair", "--json", *options))


def kill(pid):
    """Kills a server, and waits until it has let go of its lock, too: connections end before that."""
    os.kill(int(pid), signal.SIGKILL)
    for _ in range(3000):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.01)
    raise Failed("the server does not end")


def enter(page, *options):
    """Opens what the QR code has."""
    page.go("about:blank")
    page.go(offer(*options)["url"])
    page.wait("document.getElementById('link').dataset.state === 'open'")
    need(page.run("location.hash") == "#/", "the code is still in the address")


def at_agent(page, panel=""):
    page.go(f"{URL}/#/s/{ID}/a/solo{panel}")
    page.wait("document.body.dataset.view === 'one'")


def prompt(page, text):
    page.tap("#prompt")
    page.type(text)
    page.tap("button", "Send")
    page.wait("document.getElementById('prompt').value === ''")


def sizes(browser):
    for size in PHONE, DESK:
        page = browser.page(*size)
        yield page
        page.close()


def quiet(page, *allowed):
    """Nothing was complained about in the console."""
    left = [line for line in page.console if not any(word in line for word in allowed)]
    need(not left, f"console: {left}")


def fits(page):
    """Nothing is wider than the window."""
    wide = page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    need(wide <= 0, f"the page is {wide} pixels too wide")


@scenario
def talk(browser):
    """Signs in, finds the session, asks, reads the answer, at both sizes."""
    for page in sizes(browser):
        enter(page)
        page.tap("#list a", "1 ")
        page.has("h3", "Agents")
        fits(page)
        page.tap("#main a", "solo")
        page.has("#prompt")
        prompt(page, "SAY:hello-page TOOL")
        page.wait("[...document.querySelectorAll('.message.agent')].some(n => n.textContent.includes('hello-page'))")
        page.has(".message.tool", "A call of")
        page.wait("document.querySelector('.head .note').textContent.startsWith('idle')")
        fits(page)
        page.tap(".tabs a", "Screen")
        page.wait("document.querySelector('.screen').textContent.includes('hello-page')")
        fits(page)
        quiet(page, "401")


@scenario
def blocks(browser):
    """Of an answer that still comes, what makes it easier to read is there already; a piece of code keeps the focus."""
    for number, page in enumerate(sizes(browser)):
        enter(page)
        at_agent(page)
        prompt(page, 'SAY:"One **bold** word.\\n\\n- an item\\n\\n```\\nint a;\\n" '
                     f'OWN:"until [ -e {T}/go{number} ]; do sleep 0.1; done" SAY:"\\nint b;\\n```\\nThe end.\\n\\n"')
        page.wait("[...document.querySelectorAll('.log .message.agent')].pop()?.matches('[data-state=open]:has(pre)')")
        shown = "[...[...document.querySelectorAll('.log .message.agent')].pop().querySelector('.text').children]"
        need(page.run(f"{shown}.map(one => one.className || one.tagName).join()") == "P,UL,block", "not made of blocks")
        page.run(f"window.first = {shown}[0], {shown}[2].querySelector('pre').focus()")
        open(f"{T}/go{number}", "w").close()
        page.wait(f"{shown}.length > 3")
        need(page.run(f"{shown}[0] === window.first"), "the first block was made again")
        need(page.run(f"document.activeElement === {shown}[2].querySelector('pre')"), "the code has lost the focus")
        idle(page)
        page.wait(f"/^int a;\\n[^]*int b;\\n$/.test({shown}[2].querySelector('pre').textContent)")
        quiet(page, "401")


def answers(page, text, limit=60):
    page.wait(f"[...document.querySelectorAll('.message.agent')].some(n => n.textContent.includes({json.dumps(text)}))",
              limit)


@scenario
def entries(browser):
    """By a code that is typed, by a token; with less rights; signing out ends what the browser had."""
    page = browser.page(*PHONE)
    page.go(URL)
    page.tap("#code")
    page.type("WRONG-ONE")
    page.tap("button", "Sign in")
    page.wait("document.getElementById('alert').textContent.includes('the code is wrong')")
    page.wait("!document.getElementById('alert').hidden")
    code = offer("--name", "typed", "--answer")["code"]
    page.run("document.getElementById('code').value = ''")
    page.tap("#code")
    page.type(code.replace("-", "").lower())
    page.tap("button", "Sign in")
    page.wait("document.getElementById('link').dataset.state === 'open'")
    need(page.run("document.getElementById('alert').hidden"), "it still says that the code is wrong")
    need("typed" in mas("serve", "token", "list"), "there is no token")
    need(page.run("document.cookie") == "", "a script can read the cookie")
    half = page.run("localStorage.getItem('half')")
    need(len(half) == 32 and page.run("localStorage.length + sessionStorage.length") == 1, "more is stored")
    at_agent(page)
    page.wait("document.querySelector('.head .note').textContent !== ''")
    need(page.run("!visible(document.querySelector('#prompt'))"), "who may only answer sees the field of prompts")
    mas("ask", ID, "solo", "--no-wait", "ASK")
    page.tap(".ask button", "Allow")
    answers(page, "permit=yes-1")
    for init in "{method: 'POST', body: '{}'}", "{method: 'POST', body: '{}', headers: {'Mas-Page-Token': 'x'}}":
        status = page.run(f"fetch('/sessions/{ID}/stop', {init}).then(r => r.status)")
        need(status == 401, f"without the page token the answer is {status}")
    page.tap("button", "Sign out")
    page.has("h2", "Sign in")
    need("typed" not in mas("serve", "token", "list"), "the token is still there")
    page.tap("summary", "With a token")
    page.tap("#token")
    page.type(TOKEN)
    page.tap("form:has(#token) button", "Sign in")
    page.wait("document.getElementById('link').dataset.state === 'open'")
    at_agent(page)
    prompt(page, "SAY:by-token")
    answers(page, "by-token")
    page.tap("button", "Sign out")
    page.has("h2", "Sign in")
    enter(page, "--name", "gone")
    mas("serve", "token", "remove", "gone")  # a lost phone
    page.has("h2", "Sign in")
    quiet(page, "401", "403", "net::ERR_")


@scenario
def invited(browser, other):
    """A guest sees one session, and nothing to do what guests may not; each view asks for nothing that is refused."""
    for number, page in enumerate(sizes(browser)):
        page.go(json.loads(mas("invite", ID, "--answer", "--json", "--name", f"ann{number}"))["url"])
        page.wait("document.getElementById('link').dataset.state === 'open'")
        page.wait("document.querySelectorAll('#list li a[href^=\"#/s/\"]').length > 0")
        need(page.run(f"!document.body.innerHTML.includes('{other}')"), "the other session is there")
        need(page.run("![...document.querySelectorAll('#list form:not([role=search]), #list .note a')].some(visible)"),
             "a guest cannot begin a session, nor see what all have used")
        page.go(f"{URL}/#/s/{ID}")
        page.wait("document.body.dataset.view === 'session' || document.querySelector('#main h2')")
        need(page.run("![...document.querySelectorAll('#main .owner')].some(visible)"), "what is the owner's can be seen")
        at_agent(page)
        mas("ask", ID, "solo", "--no-wait", f"ASK:{number}")
        page.tap(".ask button", "Allow")
        answers(page, "permit=yes-1")
        for panel in "/screen", "/changes", "":
            at_agent(page, panel)
            page.wait("document.querySelector('.tabs a[aria-current]')")
            page.run("new Promise(r => setTimeout(r, 300))")
        need(page.run("![...document.querySelectorAll('#main .owner, #prompt')].some(visible)"), "what is the owner's can be seen")
        quiet(page, "401", "409")  # this agent has no repository
        mas("invite", "--end", f"ann{number}")
        page.has("h2", "Sign in")


def looked_at(page, is_seen):
    """What a browser does with a tab that is chosen, or behind another one."""
    page.run(f"Object.defineProperty(document, 'hidden', {{configurable: true, value: {json.dumps(not is_seen)}}});"
             "document.dispatchEvent(new Event('visibilitychange'))")


def alone(page):
    """Takes the shared workers away."""
    page.call("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.SharedWorker")


def connected(page):
    page.wait("document.getElementById('link').textContent === 'live'")


@scenario
def tabs(browser):
    """Eight tabs of one browser without shared workers, which has six connections to a server."""
    first = browser.page(*DESK)
    pages = [first]
    alone(first)
    enter(first)
    for number in range(7):
        looked_at(pages[-1], False)
        pages.append(browser.page(*DESK))
        alone(pages[-1])
        at_agent(pages[-1])
        connected(pages[-1])
    prompt(pages[-1], "SAY:in-the-last-tab")
    answers(pages[-1], "in-the-last-tab")
    looked_at(pages[-1], False)
    looked_at(first, True)
    connected(first)
    at_agent(first)
    answers(first, "in-the-last-tab")
    quiet(first, "401", "net::ERR_")


def says_each(pages, text):
    """The last one asks, and each shows the answer while it comes."""
    prompt(pages[-1], f'SAY:{text} OWN:"until [ -e {T}/{text} ]; do sleep 0.1; done" SAY:end-of-{text}')
    for page in pages:
        page.wait(f"[...document.querySelectorAll('.message.agent[data-state=open]')].some(n => n.textContent.includes('{text}'))")
    open(f"{T}/{text}", "w").close()
    for page in pages:
        answers(page, f"end-of-{text}")


@scenario
def windows(browser, other, pid):
    """Seven windows that are all in sight share one stream; it outlives the first; and none says that a stream lives that does not."""
    pages = [browser.page(*DESK) for _ in range(8)]
    enter(pages[0])
    for page in pages[1:]:
        at_agent(page)
        connected(page)
    pages[2].go(f"{URL}/#/s/{other}/a/solo")  # which shows what its own agent says
    says_each(pages[3:], "in-all")
    need(pages[2].run("!document.querySelector('.log').textContent.includes('in-all')"), "it is shown at another agent")
    pages[0].close()
    pages[1].close()
    says_each(pages[3:], "after-the-first")
    os.kill(int(pid), signal.SIGSTOP)  # what is asked for now does not come
    try:
        pages[2].go(f"{URL}/#/")
        for page in pages[2:]:
            page.wait("document.getElementById('link').textContent.startsWith('stale ')", 30)
    finally:
        os.kill(int(pid), signal.SIGCONT)
    for page in pages[2:]:
        connected(page)
    says_each(pages[3:], "after-a-break")
    for page in pages[2:]:
        quiet(page, "401", "net::ERR_")


@scenario
def low(browser):
    """On a phone with its keyboard, or at a zoom of 200 %, what is asked and its answers are in sight or scrolled to."""
    for size in (640, 400), (360, 420):
        page = browser.page(*size)
        enter(page)
        at_agent(page)
        idle(page)  # nothing moves any more
        prompt(page, "ASK")
        page.has(".ask h3", "May I execute")
        heights = page.run("[...document.querySelectorAll('.ask h3, .ask button, .permissions')].map(n => n.clientHeight)")
        need(min(heights) >= 16, f"heights: {heights}")
        need(page.run("document.querySelector('.talk').clientHeight > innerHeight / 2"), "the conversation is squeezed")
        page.run("document.querySelector('main').scrollTop = 0")
        page.wait("[...document.querySelectorAll('.ask h3, .ask button')].every(n => { const box = n.getBoundingClientRect();"
                  " return box.bottom <= innerHeight && n.contains(document.elementFromPoint(box.x + 5, box.y + 5)); })")
        need(page.run("document.querySelector('.permissions').scrollHeight <= document.querySelector('.permissions')"
                      ".clientHeight"), "a part of it is cut off")
        fits(page)
        page.tap(".ask button", "Allow")
        answers(page, "permit=yes-1")
        idle(page)
        prompt(page, "SAY:still-there")
        answers(page, "still-there")
        quiet(page, "401")
        page.close()


def more(page):
    page.wait("document.querySelector('.more:not([inert])')")
    if not page.run("document.querySelector('.more').open"):
        page.tap(".more summary", "More")
    page.has(".setting")


def choose(page, select, value):
    """What a choice in a list of the system does, which the protocol cannot open."""
    page.run(f"(node => {{ node.value = {json.dumps(value)}; node.dispatchEvent(new Event('change', "
             f"{{bubbles: true}})); }})({select})")


@scenario
def acts(browser):
    """Everything that can be done to an agent and a session, at both sizes."""
    for page in sizes(browser):
        enter(page)
        at_agent(page)
        prompt(page, "ASK")
        page.has("#list a" if page.run("innerWidth") > 900 else ".ask h3", "May I execute")
        page.tap(".ask button", "Allow")
        answers(page, "permit=yes-1")
        page.wait("!document.querySelector('.ask')")
        prompt(page, "ASK")
        page.tap(".ask button", "Reject")
        answers(page, "permit=no-1")
        asked = tempfile.mkdtemp(dir=T) + "/asked"
        with open(asked, "w") as f:
            json.dump({"tool": {"title": "Run tests", "kind": "execute", "rawInput": {"command": "make test", "cwd": "/w"}},
                       "then": [{"rawInput": {"command": "make clean"}}]}, f)
        prompt(page, f"ASKOF:{asked}")
        page.has(".ask h3", "make test (Run tests)")
        page.has(".ask pre", "command: make test\ncwd: /w")
        open(f"{asked}.0", "w").close()
        page.has(".ask h3", "make clean (Run tests)")
        page.wait("document.querySelector('.ask pre').textContent === 'command: make clean'")
        page.tap(".ask button", "Allow")
        page.wait("!document.querySelector('.ask')")
        prompt(page, "APPROVE")  # a plan
        page.has(".ask[aria-label='A plan to approve'] pre", "PLAN: do CW-PLAN first")
        names = page.run("[...document.querySelectorAll('.ask button')].map(n => n.textContent)")
        need(len(names) == len(set(names)) == 4, f"the answers to a plan are {names}")
        page.tap(".ask button.allow", "clear context")
        page.wait("!document.querySelector('.ask')")
        page.wait("document.querySelector('.head .note').textContent.startsWith('idle')")
        prompt(page, "HANG")
        page.tap("button", "Cancel turn")
        page.wait("document.querySelector('.head .note').textContent.startsWith('idle')")
        for label, value in ("Mode", "plan"), ("Model", "large"), ("Web search", "true"):
            more(page)
            choose(page, f"[...document.querySelectorAll('.setting')].find(n => n.firstChild.textContent === '{label}')"
                   ".querySelector('select')", value)
            page.wait(f"document.getElementById('said').textContent === '{label} was set.'")
        state = json.loads(mas("status", ID, "--json"))["sessions"][0]["agents"][0]
        need(state["state"] == "idle", state)
        more(page)
        page.wait("[...document.querySelectorAll('.setting select')].map(n => n.value).join() === 'plan,large,true'")
        page.tap("button", "Clear context")
        page.has("dialog h2", "Clear the context")
        page.key("Escape")
        page.wait("!document.querySelector('dialog')")
        more(page)
        page.tap("button", "Clear context")
        page.tap("#then")
        page.type("SAY:then-came")
        page.tap("dialog button", "Clear")
        answers(page, "then-came")
        need("users=1 " in page.run("[...document.querySelectorAll('.message.agent')].at(-1).textContent"),
             "the context was not cleared")
        page.tap(".up a" if page.run("innerWidth") < 900 else "#list a[href^='#/s/']", "")
        page.tap("button", "Stop")
        page.tap("dialog button", "Back")
        page.tap("button", "Stop")
        page.tap("dialog button", "Stop")
        page.has("button", "Start")
        page.tap("#main a", "solo")  # a stopped session still shows what was said
        answers(page, "then-came")
        page.has(".head .note", "does not run")
        page.run("history.back()")
        page.tap("button", "Start")
        page.has("button", "Stop")
        need(not page.dialogs, page.dialogs)
        quiet(page, "401", "410")


def way(page, name):
    """Chooses how the next words go to the agent, by keyboard alone."""
    page.wait(f"[...document.querySelector('.prompt select').options].some((one) => one.textContent === '{name}')")
    page.run("document.querySelector('.prompt select').focus()")
    page.key(name[0].lower(), text=name[0].lower())
    page.wait(f"document.querySelector('.prompt select').selectedOptions[0].textContent === '{name}'")


def said(page, text):
    page.wait(f"document.getElementById('said').textContent.includes({json.dumps(text)})")


@scenario
def ways(browser):
    """A prompt waits; what is said now is seen in the same turn; what is asked aside a copy answers, without a trace."""
    for number, page in enumerate(sizes(browser)):
        enter(page)
        at_agent(page)
        page.has(".prompt select")
        prompt(page, f"CW-FIRST{number} STEERED")
        page.has("button", "Cancel turn")
        fits(page)
        way(page, "Now")
        need("now, in its turn" in page.run("document.getElementById('prompt').placeholder"), "the field does not say how")
        page.run("document.getElementById('prompt').focus()")
        page.type(f"CW-NOW{number}")
        page.key("Enter", modifiers=2)
        said(page, "Sent.")
        answers(page, f"CW-FIRST{number} CW-NOW{number}")  # both in one turn
        idle(page)
        before = mas("history", ID, "solo", "--json")
        way(page, "Aside")
        need(page.run("document.querySelector('label[for=prompt]').textContent") ==
             "Ask a copy of solo, which leaves no trace", "the label does not say how")
        prompt(page, f"SAY:{json.dumps('**only-aside** ' + EVIL)} CW-ASIDE{number}")
        page.wait(f"document.querySelector('.aside[data-state=done] .answer')?.textContent.includes('CW-NOW{number}')")
        said(page, "Aside answered.")
        is_text(page, "an aside")
        need("onerror" in page.run("document.querySelector('.aside .answer').textContent"), "not all of it is shown")
        page.wait("document.querySelector('.aside strong')?.textContent === 'only-aside'")
        need(page.run("!document.querySelector('.log').textContent.includes('only-aside')"), "it is in the conversation")
        need(mas("history", ID, "solo", "--json") == before, "it is in the history")
        fits(page)
        page.go(f"{URL}/#/")
        at_agent(page)
        page.has(".aside[data-state=done]")  # kept while the page is open
        page.tap("button", "Close the aside")
        page.wait("!document.querySelector('.aside') && document.activeElement.id === 'prompt'")
        way(page, "Aside")
        prompt(page, "HANG")
        page.has(".aside[aria-busy=true]")
        page.tap("button", "Cancel the aside")
        page.has(".aside[data-state=cancelled]")
        page.tap("button", "Close the aside")
        quiet(page, "401")


@scenario
def enters(browser):
    """Enter sends, Shift-Enter makes a line, and neither sends what an input method composes; where one is is told."""
    for number, page in enumerate(sizes(browser)):
        enter(page)
        at_agent(page)
        page.tap("#prompt")
        page.type(f"SAY:one{number}")
        page.key("Enter", modifiers=8, text="\r")
        need(page.run("document.getElementById('prompt').value").endswith("\n"), "Shift-Enter made no line")
        page.call("Input.imeSetComposition", text="に", selectionStart=1, selectionEnd=1)
        for code in "{isComposing: true}", "{keyCode: 229}":
            page.run("document.getElementById('prompt').dispatchEvent(new KeyboardEvent('keydown', "
                     f"{{key: 'Enter', bubbles: true, cancelable: true, ...{code}}}))")
        page.run("fetch('/pair').then(() => 0)")
        need(page.run("document.getElementById('prompt').value") == f"SAY:one{number}\nに", "what is composed was sent")
        page.type("日本")
        page.key("Enter", text="\r")
        page.wait("document.getElementById('prompt').value === ''")
        page.wait(f"[...document.querySelectorAll('.message.user .text')].some(n => n.textContent === 'SAY:one{number}\\n日本')")
        idle(page)
        page.wait("/ ›solo generalistidle/.test(document.querySelector('.head').textContent)")
        fits(page)
        quiet(page, "401")


@scenario
def refusals(browser):
    """An agent that offers ways and then refuses them: the page says so, and nothing is lost."""
    page = browser.page(*PHONE)
    enter(page)
    at_agent(page)
    prompt(page, "HANG")
    page.has("button", "Cancel turn")
    way(page, "Now")
    prompt(page, "SAY:came-later")
    page.wait("document.getElementById('alert').textContent.includes('solo gets it after its turn: ')")
    page.tap("button", "Cancel turn")
    answers(page, "came-later")
    way(page, "Aside")
    prompt(page, "SAY:x")
    page.wait("document.querySelector('.aside[data-state=failed] .answer').textContent.includes('no valid session id')")
    fits(page)
    quiet(page, "401")


@scenario
def stopped(browser):
    """The screen and the changes of an agent that has neither, and a prompt that nobody takes."""
    alert = "document.getElementById('alert')"
    for page in sizes(browser):
        enter(page)
        at_agent(page)
        page.has(".head", "The session does not run.")
        page.wait("document.getElementById('prompt').placeholder.includes('start the session')")
        page.tap("nav a", "Screen")
        page.has(".head", "The session does not run.")
        need(page.run(f"{alert}.hidden"), "that a session without a screen has none is told as an error")
        page.tap("nav a", "Changes")
        page.has("[role=status]", "No changes can be shown.")
        page.wait(f"!{alert}.hidden && {alert}.textContent.endsWith('has no project')")
        page.tap("nav a", "Conversation")
        page.wait(f"{alert}.hidden")
        page.has(".head", "The session does not run.")
        fits(page)


@scenario
def ends(browser):
    """A turn that failed and one that was stopped: said in red, with the reason, and in the head of the agent; each is run
    again by a tap."""
    def told(state, selector, words, head):
        node = f".log .message{selector}[data-state={state}]"
        page.has(node, words)
        page.has(".head .note[data-state=failed]", head)
        # the page may write the conversation again meanwhile, as the agent has just been started
        nodes = f"[document.querySelector('{node} .who'), document.querySelector('.head [data-state=failed]')]"
        page.wait(f"{nodes}.every(n => n) && new Set({nodes}.map(n => getComputedStyle(n).color)).size === 1")

    def again(text):
        page.tap("button", "Ask again")
        page.wait(f"[...document.querySelectorAll('.log .message.user .text')].filter(n => n.textContent === '{text}').length === 2")

    page = browser.page(*PHONE)
    enter(page)
    at_agent(page)
    prompt(page, "ERR:-32099")
    told("failed", ".note", "-32099", "the turn failed: ")
    again("ERR:-32099")
    page.wait("document.querySelectorAll('.log .message.note[data-state=failed]').length === 2")
    prompt(page, "HANG")
    page.has(".head .note", "working")
    mas("stop", ID)
    mas("start", ID)
    told("interrupted", ".user", "You (interrupted)", "the turn was stopped")
    again("HANG")
    page.has(".head .note", "working")
    need(page.run("!named('button', 'Ask again')"), "a turn that goes on can be asked again")
    fits(page)


@scenario
def offers(browser, options):
    """Now and Aside are there if the agent can do them: each alone, both, and none; also when it becomes another one."""
    def offered(page, *names):
        page.wait(f"JSON.stringify([...document.querySelector('.prompt select').options].map((o) => o.textContent)) === "
                  f"{json.dumps(json.dumps(['Prompt', *names], separators=(',', ':')))}")
        page.wait(f"document.querySelector('.prompt select').hidden === {json.dumps(not names)}")

    def becomes(words):
        with open(options, "w") as file:
            file.write(words + "\n")
        mas("restart", "-q", ID, "solo")

    for page in sizes(browser):
        becomes("--steer")
        enter(page)
        at_agent(page)
        offered(page, "Now")
        becomes("--fork")
        offered(page, "Aside")
        way(page, "Aside")
        becomes("--fork --steer")
        offered(page, "Now", "Aside")
        need(page.run("document.querySelector('.prompt select').value") == "aside", "what was chosen is not there any more")
        page.tap("#prompt")
        page.type("SAY:typed")
        becomes("")
        offered(page)
        page.wait("document.getElementById('alert').textContent.includes('solo has no Aside any more')")
        need(page.run("document.getElementById('prompt').placeholder") == "Prompt to solo", "the field does not say how")
        fits(page)
        idle(page)
        page.tap(".prompt button", "Send")
        answers(page, "typed")
        quiet(page, "401")


@scenario
def asides_lost(browser, pid):
    """A server that is killed forgets its asides: the page says so, and is no longer busy with them."""
    page = browser.page(*PHONE)
    enter(page)
    at_agent(page)
    way(page, "Aside")
    prompt(page, "HANG")
    page.has(".aside[aria-busy=true]")
    kill(pid)
    page.wait("document.getElementById('link').dataset.state === 'lost'")
    server = subprocess.Popen([os.environ["MAS"], "serve", "--listen", URL.removeprefix("http://")], stdout=subprocess.PIPE)
    try:
        need(server.stdout.readline().decode().strip() == URL, "the server is somewhere else")
        page.has(".aside[data-state=lost]")
        need("started anew" in page.run("document.querySelector('.aside .answer').textContent"), "it does not say why")
    finally:
        server.terminate()
        server.wait()


def idle(page):
    page.wait("document.querySelector('.head .note').textContent.startsWith('idle')")


def last_answer():
    return json.loads(mas("history", ID, "solo", "--role", "agent", "--json"))["messages"][-1]["text"]


def field(title):
    """Script for the element of the field with this title."""
    return (f"[...document.querySelectorAll('#main .ask label, #main .ask legend')].find(n => n.textContent.startsWith("
            f"{json.dumps(title)}))")


@scenario
def forms(browser):
    """A form of the agent is filled in; the first of two answers wins; an address is spelt out."""
    for page in sizes(browser):
        enter(page)
        at_agent(page)
        prompt(page, "ELICIT")
        page.has("form.ask h3", "Who are you?")
        kinds = page.run("[...document.querySelectorAll('#main .ask :is(input, select)')].map(n => n.type).join()")
        need(kinds == "text,select-one,number,number,checkbox,checkbox,checkbox,checkbox,password", kinds)
        fits(page)
        page.tap(".ask button", "Accept")  # the name is missing
        need(page.run("document.activeElement.matches('.ask input:invalid')"), "the missing field has no focus")
        page.type("Ann")
        choose(page, f"{field('color')}.control", "0")
        page.run(f"{field('ratio')}.control.focus()")
        page.type("0.5")
        page.tap("#main .ask label", "sure")
        for one in "a", "c":
            page.run(f"[...document.querySelectorAll('#main fieldset label')].find(n => n.textContent === '{one}').click()")
        page.run(f"{field('pin')}.control.focus()")
        page.type("TOPSECRET7")
        page.tap(".ask button", "Accept")
        page.wait("!document.querySelector('.ask')")
        idle(page)
        said = last_answer()
        want = {"name": "Ann", "color": "red", "count": 3, "ratio": 0.5, "sure": True, "parts": ["a", "c"], "pin": 10}
        need(json.JSONDecoder().raw_decode(said.partition("form=")[2])[0] == {"action": "accept", "content": want}, said)
        prompt(page, "ELICIT")
        page.tap(".ask button", "Decline")
        idle(page)
        need('{"action":"decline"}' in last_answer().replace(" ", ""), last_answer())
        prompt(page, "ELICIT:url")
        page.has(".ask .host")
        need(page.run("document.querySelector('#main .ask .host').textContent") == "example.org:8443", "another host")
        link = page.run("(a => [a.href, a.target, a.rel])(document.querySelector('#main .ask a'))")
        need(link == ["https://user@example.org:8443/x?good.example", "_blank", "noopener noreferrer"], link)
        page.tap("#main .ask button", "Accept")
        idle(page)
        need(page.run("JSON.stringify([{...localStorage}, {...sessionStorage}])").count("TOPSECRET") == 0,
             "the browser keeps what was typed")
        quiet(page, "401")
    pages = [browser.page(*PHONE), browser.page(*DESK)]
    for number, page in enumerate(pages):
        enter(page)
        at_agent(page)
        if number == 0:
            prompt(page, "ELICIT")
        page.has("form.ask")
        page.run(f"{field('Your name')}.control.focus()")
        page.type(f"Page {number}")
    for page in pages:  # neither waits for the other
        page.run("document.querySelector('#main .ask').requestSubmit()")
    for page in pages:
        page.wait("!document.querySelector('.ask') || document.querySelector('.ask .wrong').textContent.includes('else has answered')")
        page.wait("!document.querySelector('.ask')")
    idle(pages[0])
    said = last_answer()  # of either, whichever the server had first
    need(json.JSONDecoder().raw_decode(said.partition("form=")[2])[0]["content"]["name"] in ("Page 0", "Page 1"), said)
    prompt(pages[0], "ELICIT")  # and answered on the command line, while somebody types
    pages[1].has("form.ask")
    pages[1].run(f"{field('Your name')}.control.focus()")
    pages[1].type("half-typed")
    mas("deny", ID, "solo")
    for page in pages:
        page.wait("!document.querySelector('.ask')")


@scenario
def inbox(browser, other):
    """Whoever asks, in whatever session, is answered where the page begins; a budget too."""
    for page in sizes(browser):
        enter(page)
        for session, word in (ID, "ASK"), (other, "APPROVE"):
            mas("ask", session, "solo", "--no-wait", word)
        page.has("h2", "Waiting for you (2)")
        page.wait("document.title.startsWith('(2)')")
        fits(page)
        page.has("#list .ask[data-kind=permission] button", "Always reject")
        page.has("#list .ask[data-kind=plan] pre", "PLAN: do CW-PLAN first")
        page.tap("#list .ask[data-kind=permission] button", "Allow")
        page.has("p", "claude 5h: 62 %, claude week: 31 %")
        page.has("h2", "Waiting for you (1)")
        page.tap("#list .ask[data-kind=plan] button", "Yes, and ask before edits")
        page.has("p", "Nobody waits for you.")
        page.wait("document.title === 'mas'")
        page.wait("document.activeElement !== document.body")  # what was answered went with the focus
        mas("ask", ID, "solo", "SAY:behind-it")
        need("permit=yes-1" in mas("history", ID, "solo", "--role", "agent"), "it was not allowed")
        mas("ask", ID, "solo", "--no-wait", "ELICIT")
        page.tap("#list a", "Who are you?")  # a form gets room of its own
        page.has("#main form.ask")
        page.tap("#main .ask button", "Decline")
        idle(page)
        quiet(page, "401")


@scenario
def found(browser):
    """What was said in any session is found by its words, by keyboard, and is text; a tap leads to its agent."""
    mas("ask", ID, "solo", f"SAY:{json.dumps(f'zebra {EVIL}')} QUIET")
    for page in sizes(browser):
        enter(page)
        page.wait("document.querySelector('#list li a')")
        page.tap("#filter")
        page.type("zeppelin & co")
        page.key("Enter", text="\r")
        page.has("#main .note", "0 messages")
        need(page.run("document.querySelectorAll('#list li').length") == 1, "the list is still searched")
        if page.run("visible(document.getElementById('filter'))"):
            page.tap("#filter")
        else:
            page.tap("#main .up a")
            page.tap("#filter")
        page.type("zebra")
        page.key("Enter", text="\r")
        page.wait("document.activeElement.matches('#main h2')")
        page.has("#main h2", "What was said: zebra")
        page.has("#main .what", "agent: zebra <img src=x")
        is_text(page, "what was found")
        fits(page)
        need(page.run(CONTRAST) == [], f"the contrast is too low: {page.run(CONTRAST)}")
        page.tap("#main .rows a", "agent: zebra")
        page.has(".agent h2", "solo")
        quiet(page, "401")


@scenario
def used(browser):
    """What sessions and accounts have used is a link away from the list; a tap leads to the session."""
    for number, page in enumerate(sizes(browser)):
        enter(page)
        if number == 0:
            page.tap("#list a[href='#/used']")
            page.wait("document.activeElement.matches('#main h2')")
        else:  # as after a reload
            page.go(f"{URL}/#/used")
        page.has("#main h2", "What was used")
        page.has("#main .note", "All sessions: 2 turns, 1.75 USD")
        need(page.run("document.querySelectorAll('#main .rows a').length") == 2, "there is a row for each session")
        paid = page.run("[...document.querySelectorAll('#main section li')].filter(visible).map(node => node.textContent).sort()")
        need(paid == ["without one 1 turn, 0.25 USD", "work 1 turn, 1.50 USD"], f"the accounts are {paid}")
        fits(page)
        need(page.run(CONTRAST) == [], f"the contrast is too low: {page.run(CONTRAST)}")
        page.tap("#main .rows a", "1 turn, 0.25 USD")
        page.has("#main h2", "other")
        quiet(page, "401")


def take(page):
    """The check runs on each; commits are picked and merged; what conflicts, and is refused, is said."""
    enter(page)
    page.go(f"{URL}/#/s/{ID}/changes")
    page.has("[data-agent=two] > .note", "scripted · +2 −2")
    page.tap("button", "Run the check on each")
    page.has("[data-agent=two] > .note", "the check passes")
    page.has("[data-agent=solo] > .note", "the check fails")
    page.tap("[data-agent=two] > details summary", "What the check says")
    page.has("[data-agent=two] > details pre", "by two")
    fits(page)
    need(page.run(CONTRAST) == [], f"the contrast is too low: {page.run(CONTRAST)}")
    need(page.run("![...document.querySelectorAll('[data-agent=solo] button')].some(n => visible(n) && n.textContent === 'Merge')"),
         "what has no commits can be merged")
    page.go(f"{URL}/#/s/{ID}/a/two/changes")
    page.tap("summary", "Commits that are not merged: 2")
    page.tap("button[aria-label='Pick First']")
    said(page, "The commit was picked.")
    fits(page)
    page.tap("button", "Merge")
    page.tap("dialog button", "Merge")
    said(page, "The work is merged.")
    page.wait("![...document.querySelectorAll('.changes button')].some(n => visible(n) && n.textContent === 'Merge')")
    need("[]" in mas("commits", ID, "two", "--json"), "there are commits that are not merged")
    with open(f"{T}/tree") as file:
        subprocess.run(["git", "-C", file.read().strip(), "commit", "-qam", "Mine"], check=True)
    page.go(f"{URL}/#/s/{ID}/a/solo/changes")
    page.tap("button", "Merge")
    page.tap("dialog button", "Merge")
    page.has("#alert", "cannot merge agent 'solo': it conflicts in a")
    quiet(page, "401")


@scenario
def together(browser):
    """What all agents of a session have changed and used is in one place, for who may see the whole session."""
    mas("ask", ID, "solo", "COST:1.5EUR USAGE:70000/100000 QUIET")
    for number, page in enumerate(sizes(browser)):
        enter(page)
        page.go(f"{URL}/#/s/{ID}")
        page.has("#main .rows .what", "70 % · 1.50 EUR")
        page.wait("/^Used so far: \\d turns?, 1.50 EUR$/.test(document.querySelector('#main .note.whole').textContent)")
        fits(page)
        page.tap("#main a", "Changes of all agents")
        page.has("#main .note", "2 of 3 agents have changed something.")
        for agent in "solo", "two":
            page.has(f"[aria-label='Changes of {agent}'] .added", f"by {agent}")
        need(page.run("document.querySelectorAll('#main .changes').length") == 2, "who has changed nothing is there, too")
        fits(page)
        need(page.run(CONTRAST) == [], f"the contrast is too low: {page.run(CONTRAST)}")
        page.tap("[aria-label='Changes of two'] .added button")
        page.type(f"why {number}?")
        page.tap("button", "Send 1 comment")
        said(page, "The comments were sent.")
        need(f"why {number}?" in mas("history", ID, "two"), "the comment has not come")
        quiet(page, "401")
    take(browser.page(*PHONE))
    page = browser.page(*PHONE, apart=True)
    page.go(json.loads(mas("invite", ID, "solo", "--read-only", "--json"))["url"])
    page.wait("document.getElementById('link').dataset.state === 'open'")
    page.go(f"{URL}/#/s/{ID}")
    page.has("#main .rows .what", "70 %")
    need(page.run("![...document.querySelectorAll('#main .whole')].some(visible)"), "a guest of one agent sees more")
    quiet(page, "401")


NOTICES = """window.notices = [];
window.Notification = class {
    static permission = "default";
    static async requestPermission() { Notification.permission = "granted"; }
    constructor(title, {body, tag}) { notices.push([title, body, tag]); window.notice = this; }
    close() {}
};"""


@scenario
def notices(browser):
    """The browser tells who waits while nobody looks, after a click that asks for it; and it can keep the page as an app."""
    page = browser.page(*DESK)
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTICES)
    enter(page)

    def ask(number):
        mas("ask", ID, "solo", "--no-wait", f"ASK:{number}")
        page.has("#list .ask", "")

    def answer():
        page.tap("#list .ask button", "Allow")
        page.wait("!document.querySelector('#list .ask')")

    looked_at(page, False)
    ask(0)
    answer()
    need(page.run("notices.length") == 0, "it tells unasked")
    looked_at(page, True)
    page.tap("#notify")
    page.wait("document.getElementById('notify').hidden")
    ask(1)
    answer()
    need(page.run("notices.length") == 0, "it tells who looks at the page")
    looked_at(page, False)
    ask(2)
    page.wait("notices.length === 1")
    title, body, tag = page.run("notices[0]")
    need(title.startswith("solo in ") and "May I" in body and tag == f"{ID}/solo", f"it says {title}: {body}, {tag}")
    page.run("notice.onclick()")
    page.wait("document.querySelector('.agent h2')?.textContent.startsWith('solo')")
    manifest = page.call("Page.getAppManifest")
    need(manifest["url"] == f"{URL}/page/app.webmanifest" and not manifest["errors"], f"the manifest: {manifest}")
    need(json.loads(manifest["data"])["name"] == "mas", "the manifest has no name")
    need(page.run("notices.length") == 1, "it tells of one question more than once")
    quiet(page, "401")


@scenario
def begin(browser):
    """A sentence makes a session, which is shown; a single word is refused in the server's words."""
    for page in sizes(browser):
        enter(page)
        page.tap("#begin")
        page.type("shop")
        page.tap("#list button", "Begin")
        page.has("#alert", "cannot begin with 'shop'")
        page.run("document.getElementById('begin').value = ''")
        page.tap("#begin")
        page.type("fix the login")
        fits(page)
        page.tap("#list button", "Begin")
        page.wait("location.hash.startsWith('#/s/') && document.getElementById('begin').value === ''")
        page.has("#main", "fix-login")
        page.tap("#main button", "Add an agent")
        page.wait("document.querySelector('dialog option') !== null")
        page.run("document.getElementById('add-preset').value = 'scripted'")
        fits(page)
        page.tap("#add-unit")
        page.type("nobody")
        page.tap("dialog button", "Add")
        page.has("#alert", "no such unit")
        page.tap("#main button", "Add an agent")
        page.wait("document.querySelector('dialog option') !== null")
        page.run("document.getElementById('add-preset').value = 'scripted'")
        page.tap("#add-name")
        page.type("rev")
        page.tap("dialog button", "Add")
        page.has("#main li a", "rev, generalist")
        quiet(page, "401", "400", "404")


@scenario
def budget(browser):
    """An agent whose budget is used up goes on by a tap, from the list and where it is shown."""
    page = browser.page(*PHONE)
    page.hold(f"*/sessions/{ID}")
    enter(page)
    old = page.held.get(timeout=LIMIT)
    for word in "first", "second":
        mas("ask", ID, "solo", "--no-wait", f"SAY:{word}")
    page.has("#list .ask[data-kind=budget] button", "the same again")
    # the answer to what the page has asked at its beginning comes only now, and is older than that
    page.call("Fetch.continueRequest", requestId=old)
    page.run("fetch('/permissions').then(() => new Promise((done) => setTimeout(done, 300)))")
    need(page.run("!!named('#list .ask[data-kind=budget] button', 'the same again')"), "an old answer has hidden the ask")
    page.call("Fetch.disable")
    page.tap("#list .ask[data-kind=budget] button", "the same again")
    at_agent(page)
    answers(page, "second")
    prompt(page, "SAY:third")  # its budget is used up again
    page.tap("#main .ask[data-kind=budget] button", "the same again")
    answers(page, "third")
    quiet(page, "401")


@scenario
def proxied(browser):
    """The page by its public address: pairs, hears, asks and answers."""
    public = os.environ["PUBLIC"]
    for page in sizes(browser):
        page.go("about:blank")
        page.go(offer("--url", public)["url"])
        page.wait("document.getElementById('link').dataset.state === 'open'")
        cookie, = page.call("Network.getCookies", urls=[public])["cookies"]
        need(cookie["secure"] == public.startswith("https:") and cookie["httpOnly"] and cookie["sameSite"] == "Strict", cookie)
        page.go(f"{public}/#/s/{ID}/a/solo")
        page.wait("document.body.dataset.view === 'one'")
        prompt(page, "SAY:before ASK")
        answers(page, "before")  # while the turn goes on: nothing on the way keeps it back
        page.tap("#main .ask button", "Allow")
        answers(page, "permit=yes-1")
        idle(page)
        mas("ask", ID, "solo", "SAY:from-elsewhere")
        answers(page, "from-elsewhere")
        # a browser says that it ignores this header where it does not know that nobody listens
        quiet(page, "401", "Cross-Origin-Opener-Policy")


@scenario
def swallowed(browser, *words):
    """What the page asks for is lost on the way, and nobody says so: it is asked for again. Of "2 GET /x" it is the
    second request."""
    from player import Swallower
    ways = []
    for word in words:
        page, way, start = browser.page(*PHONE, apart=True), Swallower(URL), time.monotonic()
        count, _, way.word = word.partition(" ")
        way.count = int(count)
        if "POST /pair" in word:
            url = offer()["url"]
        else:
            url = URL
            page.call("Page.addScriptToEvaluateOnNewDocument", source=f"sessionStorage.setItem('token', '{TOKEN}')")
        page.call("Page.navigate", url=url.replace(URL, way.url))
        ways.append((word, page, way, start))
    for word, page, way, start in ways:
        page.wait("document.getElementById('link').dataset.state === 'open' && document.querySelector('#list li a')")
        need(way.word is None, f"{word} was never asked for")
        print(f"{word}: connected after {since(start):.0f} ms")


@scenario
def untrusted(browser):
    """A certificate that the browser does not know: there is no page."""
    page = browser.page(*PHONE)
    said = page.call("Page.navigate", url=URL)
    need("CERT" in said.get("errorText", ""), said)


@scenario
def review(browser):
    """Comments on changes reach the agent with file and line."""
    for number, page in enumerate(sizes(browser)):
        enter(page)
        page.call("Fetch.enable", patterns=[{"urlPattern": "*/diff"}])  # it does not come yet
        at_agent(page, "/changes")
        page.wait("document.querySelector('.changes .note').textContent === 'Reading the changes …'")
        need(page.run("[...document.querySelectorAll('.changes button')].filter(visible).map(n => n.textContent).join()") ==
             "Refresh", "there are buttons for changes that are not there")
        page.call("Fetch.disable")
        page.has("summary", "a: modified, +1 −1")
        fits(page)
        page.tap("button[aria-label='Comment on line 3, added']")
        page.type(f"why {number}?")
        page.tap("button", "Send 1 comment")
        page.wait("document.getElementById('said').textContent === 'The comments were sent.'")
        page.tap(".tabs a", "Conversation")
        page.wait(f"[...document.querySelectorAll('.message.user')].some(n => n.textContent.includes("
                  f"'a:3\\n> +changed\\nwhy {number}?'))")
        quiet(page, "401")
    page = browser.page(*PHONE)
    enter(page)
    at_agent(page, "/changes")
    page.tap("button[aria-label='Comment on line 3, added']")
    page.type("where is it now?")
    with open(f"{T}/tree") as file:
        tree = file.read().strip()
    with open(f"{tree}/a") as file:
        lines = file.read().splitlines()
    with open(f"{tree}/a", "w") as file:  # while somebody writes a comment, the line moves
        file.write("\n".join(["new", "lines", *lines]) + "\n")
    page.tap("button", "Send 1 comment")
    page.tap(".tabs a", "Conversation")
    page.wait("[...document.querySelectorAll('.message.user')].some(n => n.textContent.includes("
              "'a:5\\n> +changed\\nwhere is it now?'))")
    at_agent(page, "/changes")
    page.tap("button[aria-label='Comment on line 5, added']")
    page.type("and this?")
    with open(f"{tree}/a", "w") as file:
        file.write("other\n")
    page.tap("button", "Send 1 comment")
    said(page, "1 of them to lines that are gone")


@scenario
def keys(browser):
    """Without a pointer: the skip link, the list, a prompt, a permission; the focus is always visible."""
    page = browser.page(*DESK)
    enter(page)
    page.go(f"{URL}/#/")
    page.wait("document.querySelector('#list li a')")
    page.run("document.activeElement.blur()")

    def tab_to(test):
        for _ in range(40):
            page.key("Tab")
            if page.run(f"(() => {{ const at = document.activeElement; return {test}; }})()"):
                return
        raise Failed(f"Tab never comes to: {test}")

    tab_to("at.className === 'skip' && at.getBoundingClientRect().left >= 0")
    tab_to("at.closest('#list li') !== null")
    need(page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid", "the focus is not visible")
    page.key("Enter", text="\r")
    page.wait("document.activeElement.matches('#main h2')")
    page.wait("document.querySelector('#main li a')")
    tab_to("at.closest('#main li') !== null")
    page.key("Enter", text="\r")
    page.wait("document.activeElement.matches('.agent h2')")
    tab_to("at.id === 'prompt'")
    page.type("ASK")
    page.key("Enter", modifiers=2)
    page.has(".ask button", "Allow")
    page.run("document.querySelector('#main h2').focus()")
    tab_to("at.textContent === 'Allow'")
    page.key("Enter", text="\r")
    answers(page, "permit=yes-1")
    page.wait("document.getElementById('said').textContent !== ''")
    page.wait("document.activeElement !== document.body")
    page.key("Tab")
    quiet(page, "401")


EVIL = '<img src=x onerror="window.evil=1"><script>window.evil=2</script><svg onload=window.evil=3>' \
       '<a href="javascript:window.evil=4">x</a>{{7*7}}${7*7}<iframe srcdoc="<script>top.evil=5</script>"></iframe>' \
       '<style>body{display:none}</style><form action=http://evil.example><input name=x></form>'


def is_text(page, where):
    """No markup that somebody wrote has become an element."""
    found = page.run("document.querySelectorAll('#panes img, #panes script, #panes iframe, #panes style, "
                     "#panes svg, #panes a[href^=\"javascript\"], #panes form[action]').length")
    need(found == 0, f"{found} elements were made of text in {where}")
    need(page.run("window.evil === undefined"), f"a script has run in {where}")


@scenario
def labels(browser, evil):
    """Markup in each name, title, label and text that an agent sends, and in files that it changes, is shown as text."""
    shown = f"document.querySelector('#panes').textContent.includes({json.dumps(evil)})"
    for page in sizes(browser):
        enter(page)
        at_agent(page)
        for word, asks in ("TOOL PLAN NOTICE:news", ""), ("ELICIT", "form.ask"), ("ASK", ".ask[data-kind=permission]"), \
                ("APPROVE", ".ask[data-kind=plan]"):
            prompt(page, word)
            if not asks:
                idle(page)
                is_text(page, word)
                continue
            page.has(asks)
            is_text(page, word)
            need(page.run(f"document.querySelector('{asks}').textContent.includes({json.dumps(evil)})"),
                 f"{word} does not show what the agent wrote")
            page.go(f"{URL}/#/")
            page.wait(shown)
            is_text(page, f"{word} in the list")
            at_agent(page)
            page.has(asks)
            page.tap("#main .ask button", "Decline" if word == "ELICIT" else "")
            idle(page)
        page.run("document.querySelectorAll('#main details').forEach(one => one.open = true)")
        is_text(page, "what is behind details")
        at_agent(page, "/changes")
        page.wait("document.querySelector('#main summary')")
        need(page.run(f"document.querySelector('#main summary').textContent.includes({json.dumps(evil.partition('<script')[0])})"),
             "the file is not named")
        need(page.run(shown), "what the file has is not shown")
        is_text(page, "changes")


@scenario
def markup(browser):
    """Markup and scripts in everything that an agent or a person can write stay text."""
    for page in sizes(browser):
        enter(page)
        at_agent(page)
        evil = json.dumps(EVIL)
        for word in (f"SAY:{evil}", f"THINK:{evil}", f"TITLE:{evil}", "TOOL PLAN"):
            prompt(page, word)
            page.wait("document.querySelector('.head .note').textContent.startsWith('idle')")
        answers(page, "<script>window.evil=2</script>")
        prompt(page, EVIL)
        page.wait("[...document.querySelectorAll('.message.user')].some(n => n.textContent.includes('onerror'))")
        for panel in "/screen", "/changes", "":
            at_agent(page, panel)
            page.wait("document.querySelector('.tabs a[aria-current]')")
            page.run("new Promise(r => setTimeout(r, 300))")
            is_text(page, panel)
        page.go(f"{URL}/#/")
        page.wait("[...document.querySelectorAll('#list .where')].some(n => n.textContent.length > 0)")
        need(page.run("window.evil === undefined"), "a script has run")
        # even what gets into the document does nothing
        page.run(f"try {{ document.body.innerHTML = {evil} }} catch (error) {{ window.refused = error.name }}")
        need(page.run("window.refused") == "TypeError", "innerHTML was not refused")
        page.run("document.body.append(Object.assign(document.createElement('img'), {src: 'http://evil.example/x'}))")
        page.run("new Promise(r => setTimeout(r, 100))")
        own = [url for _, url in page.requests if not url.startswith((URL, "about:", "data:"))]
        need(all("evil.example" in url for url in own), f"requests to {own}")
        need(any("Content Security Policy" in line for line in page.console), "the policy did not speak")
        need(page.run("window.evil === undefined"), "a script has run")


@scenario
def drawn(browser, *specification):
    """Markdown as elements: nothing but text, links that lead to http, https or mailto, and all of the text; code is copied."""
    text = ("# A heading\n\n> a quote with [a link](https://example.org/a) and [none](javascript:alert)\n\n"
            "| left | right |\n|---|--:|\n| 1 | **2** |\n\n3. three\n   - deep\n\n```c\nint a;\nint b;\n```\n\n<b>text</b>\n")
    for page in sizes(browser):
        page.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        enter(page)
        at_agent(page)
        prompt(page, f"SAY:{json.dumps(text)}")
        idle(page)
        page.wait("document.querySelector('.message.agent .text pre')")
        where = "document.querySelector('.message.agent .text')"
        need(page.run(f"[...{where}.querySelectorAll('blockquote a')].map(a => `${{a.textContent}} ${{a.href}} ${{a.rel}}`).join()")
             == "a link https://example.org/a noopener noreferrer", "the links")
        need(page.run(f"{where}.querySelector('blockquote').textContent") == "a quote with a link and none (javascript:alert)", "the quote")
        need(page.run(f"[...{where}.querySelectorAll('th, td')].map(n => n.tagName + n.className + n.textContent).join()")
             == "THleft,THrightright,TD1,TDright2", "the table")
        need(page.run(f"{where}.querySelector('ol').start === 3 && {where}.querySelector('ol ul li').textContent === 'deep'"), "the lists")
        need(page.run(f"{where}.textContent.includes('<b>text</b>')"), "markup is not text")
        fits(page)
        page.tap(".message.agent .copy", "Copy")
        page.wait("document.getElementById('said').textContent === 'Copied.'")
        need(page.run("navigator.clipboard.readText()") == "int a;\nint b;\n", "not copied")
        quiet(page, "401")
    if not specification:
        return
    with open(specification[0], encoding="utf-8") as file:
        texts = [example["markdown"] for example in json.load(file)]
    page = browser.page(*DESK)
    enter(page)
    need(len(texts) > 600, "there are hardly examples")
    wrong = page.run("""(async () => {
        const {elementsOf, treesOf} = await import("/page/markdown.js");
        const texts = TEXTS, wrong = [], made = new Set();
        const textOf = (part) => typeof part === "string" ? part : part.parts.map(textOf).join("");
        for (let at = 0; at < texts.length; at += 100)
            for (const [n, tree] of (await treesOf(texts.slice(at, at + 100))).entries()) {
                const all = document.createElement("div");
                all.append(...elementsOf(tree));
                all.querySelectorAll("*").forEach((one) => made.add(one.tagName));
                const links = [...all.querySelectorAll("a")].every((a) => /^(https?|mailto):/.test(a.href));
                all.querySelectorAll(".block > .row").forEach((row) => row.remove());
                if (!links || all.textContent !== tree.map(textOf).join(""))
                    wrong.push(texts[at + n]);
            }
        return JSON.stringify([wrong, [...made].sort()]);
    })()""".replace("TEXTS", json.dumps(texts)))
    wrong, made = json.loads(wrong)
    need(not wrong, wrong)
    need(set(made) <= set("A BLOCKQUOTE BUTTON CODE DIV EM HR LI OL P PRE SPAN STRONG TABLE TBODY TD TH THEAD TR UL".split()), made)


@scenario
def many(browser):
    """1,000 sessions: no more than a part of the list is in the document, and each can be found."""
    for page in sizes(browser):
        enter(page)
        page.wait("document.querySelector('#list').textContent.includes('1 to 50 of 1000')")
        need(page.run("document.querySelectorAll('#list section:nth-child(2) li').length") == 50, "not 50 rows")
        fits(page)
        for first in range(51, 1000, 50):
            page.tap("#list button", "Next")
            page.wait(f"document.querySelector('#list').textContent.includes('{first} to {first + 49} of 1000')")
        need(page.run("named('#list button', 'Next') === undefined"), "there is a next page behind the last")
        last = json.loads(mas("list", "--all", "--json"))["sessions"][0]["sessionId"]
        page.tap("#filter")
        page.type(last)
        page.wait("document.querySelector('#list').textContent.includes('1 session')")
        page.tap("#list section:nth-child(2) a")
        page.wait(f"location.hash === '#/s/{last}'")
        page.has("#main h3", "Agents")


@scenario
def long(browser):
    """A conversation of 10,000 messages: a part of it is in the document, and all of it can be reached."""
    for page in sizes(browser):
        enter(page)
        at_agent(page)
        page.wait("document.querySelector('.log').textContent.includes('message 9999 ')")
        count = "document.querySelectorAll('.message').length"
        for shown in 9900, 9850, 9800, 9750, 9700, 9650:
            page.tap("button", "Earlier messages")
            page.wait(f"document.querySelector('.log').textContent.includes('message {shown} ')")
            need(page.run(count) <= 200, f"{page.run(count)} messages are in the document")
        page.tap("button", "Newest messages")
        page.wait("document.querySelector('.log').textContent.includes('message 9999 ')")
        need(page.run("document.querySelector('.log').scrollHeight - document.querySelector('.log').scrollTop - "
                      "document.querySelector('.log').clientHeight") < 5, "the end is not in sight")
        fits(page)


@scenario
def grows(browser):
    """A page that is left open while 100,000 events of 100 sessions come does not grow."""
    from player import Player
    player = Player(URL, ID)
    page = browser.page(*DESK)
    page.go(offer()["url"].replace(URL, player.url))
    page.go(f"{player.url}/#/s/{ID}/a/solo")
    sizes_of = []
    for upto in 20000, 60000, 100000:
        player.play(upto)
        page.wait(f"document.querySelector('.log').textContent.includes('end-of-{upto}.')", 240)
        sizes_of.append((page.heap(), page.nodes()))
    print("heap and nodes after 20,000, 60,000 and 100,000 events:", sizes_of)
    need(sizes_of[2][0] < sizes_of[0][0] + (1 << 20), f"the heap grew: {sizes_of}")
    need(sizes_of[2][1] < sizes_of[0][1] + 3000, f"the document grew: {sizes_of}")


@scenario
def restarts(browser, pid):
    """The server is killed and started again under 50 pages of 50 browsers, and ten other listeners: nothing lost,
    nothing twice. Half of the pages show the list, the others a conversation."""
    import threading, urllib.request
    pages = [browser.page(*PHONE, apart=True) for _ in range(50)]
    lists, talks = pages[::2], pages[1::2]
    heard = [[] for _ in range(10)]
    up = threading.Semaphore(0)

    def listen(seen):
        last = None
        while True:
            request = urllib.request.Request(URL + "/events", headers={"Authorization": f"Bearer {TOKEN}",
                                                                      **({"Last-Event-ID": last} if last else {})})
            try:
                with urllib.request.urlopen(request, timeout=60) as stream:
                    for line in stream:
                        word, _, rest = line.decode().rstrip("\n").partition(": ")
                        if word == "id":
                            last = rest
                            up.release()
                        elif word == "data" and "sessionId" in rest:
                            seen.append(json.loads(rest).get("name"))
            except OSError:
                threading.Event().wait(0.2)

    def shows(page, text):
        page.wait(f"document.querySelector('#list').textContent.includes({json.dumps(text)})")

    def says(page, text):
        """Once each, in the order in which it was said."""
        answers(page, text, 180)
        page.wait("document.querySelector('.head .note').textContent.startsWith('idle')")
        told = page.run("[...document.querySelectorAll('.log .message.agent')].map(n => n.textContent.match(/told-[a-z]+/)?.[0])")
        want = ["told-before", "told-meanwhile", "told-after"]
        need(told == want[:want.index(text) + 1], f"{told} is shown")

    mas("ask", ID, "solo", "SAY:told-before")
    for number, page in enumerate(pages):
        enter(page, "--name", f"p{number}")
    for page in talks:
        at_agent(page)
    for seen in heard:
        threading.Thread(target=listen, args=(seen,), daemon=True).start()
    for _ in heard:
        need(up.acquire(timeout=60), "a listener never heard")
    for page in lists:
        shows(page, "1 session")
    for page in talks:
        says(page, "told-before")
    kill(pid)
    for page in pages:
        page.wait("document.getElementById('link').dataset.state === 'lost'")
    mas("new", "-q", "-t", "solo", "--no-start", "-n", "while-down")
    mas("ask", ID, "solo", "SAY:told-meanwhile")
    address = URL.removeprefix("http://")
    server = subprocess.Popen([os.environ["MAS"], "serve", "--listen", address], stdout=subprocess.PIPE)
    try:
        need(server.stdout.readline().decode().strip() == URL, "the server is somewhere else")
        start = time.monotonic()
        for page in pages:
            page.wait("document.getElementById('link').dataset.state === 'open'")
        print(f"all pages are connected again after {since(start):.0f} ms")
        for page in lists:
            shows(page, "while-down")
        for page in talks:
            says(page, "told-meanwhile")
        mas("new", "-q", "-t", "solo", "--no-start", "-n", "afterwards")
        mas("ask", ID, "solo", "SAY:told-after")
        for page in lists:
            shows(page, "afterwards")
            names = page.run("[...document.querySelectorAll('#sessions-title ~ .rows .where')].map(n => n.textContent)")
            need(len(names) == len(set(names)) == 3, names)
        for page in talks:
            says(page, "told-after")
        late = time.monotonic() + 60
        while not all("afterwards" in seen for seen in heard) and time.monotonic() < late:
            threading.Event().wait(0.1)
        need(all(seen.count("afterwards") == 1 for seen in heard), heard)
    finally:
        server.terminate()
        server.wait()


@scenario
def framed(browser):
    """A page of another origin cannot show this one in a frame, read it, or change anything with its cookie."""
    import http.server, threading
    page = browser.page(*DESK)
    enter(page)
    evil = f"""<!doctype html><iframe src="{URL}/"></iframe><form method=post action="{URL}/sessions/{ID}/stop"
        target=x enctype=text/plain><input name='{{"x":"' value='"}}'></form><iframe name=x></iframe>""".encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(evil)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for host in "127.0.0.1", "localhost":
        page.go(f"http://{host}:{server.server_port}/")
        for method in "GET", "POST", "DELETE":
            said = page.run(f"fetch('{URL}/sessions', {{method: '{method}', credentials: 'include'}})"
                            ".then(r => r.text(), error => error.name)")
            need(said == "TypeError", f"{method} from elsewhere was answered: {said}")
        page.run("document.forms[0].submit()")
        page.wait("performance.getEntriesByType('resource').length >= 1")
    need(any("frame-ancestors" in line or "X-Frame-Options" in line or "refused to connect" in line.lower()
             or "ERR_BLOCKED_BY_RESPONSE" in line for line in page.console), f"the frame was shown: {page.console}")
    need(json.loads(mas("list", "--json"))["sessions"][0]["status"] == "active", "the session was stopped")


def views(browser, size, dark, look):
    """Goes to each view of the page; look() is called there, with its name."""
    page = browser.page(*size, dark=dark, apart=True)
    page.go(URL)
    page.has("h2", "Sign in")
    look(page, "sign in")
    enter(page)
    page.wait("document.querySelector('#list li a')")
    look(page, "home")
    at_agent(page)
    prompt(page, "TOOL PLAN SAY:words ASK")
    page.has(".ask button", "Allow")
    look(page, "conversation")
    page.tap(".ask button", "Allow")
    page.wait("document.querySelector('.head .note').textContent.startsWith('idle')")
    more(page)
    look(page, "settings")
    page.tap("button", "Clear context")
    page.has("dialog h2")
    look(page, "dialog")
    page.key("Escape")
    prompt(page, "ELICIT")
    page.has("form.ask button", "Accept")
    look(page, "form")
    page.tap(".ask button", "Decline")
    idle(page)
    way(page, "Aside")
    prompt(page, "SAY:words")
    page.has(".aside[data-state=done]")
    look(page, "aside")
    for panel, has in ("/screen", ".screen:not(:empty)"), ("/changes", ".hunks .added"):
        at_agent(page, panel)
        page.has(has)
        look(page, panel[1:])
    for name, address, title, has in (
            ("session", f"s/{ID}", "mas-", "h3"), ("changes of all", f"s/{ID}/changes", "Changes of all", ".hunks .added"),
            ("found", "find?q=words", "What was said", "#main .rows a"), ("used", "used", "What was used", "#main .rows a")):
        page.go(f"{URL}/#/{address}")
        page.has("#main h2", title)
        page.has(has)
        look(page, name)
    page.close()


@scenario
def axe(browser, script):
    """axe-core finds nothing wrong, on a phone and on a desk, in light and in dark."""
    with open(script, encoding="utf-8") as file:
        source = file.read()
    seen = []

    def look(page, what):
        seen.append(what)
        page.run(source + "; 0")
        found = page.run("axe.run(document).then(r => r.violations.map(v => [v.id, v.impact, "
                         "v.nodes.slice(0, 3).map(n => n.html.slice(0, 150))]))")
        need(not found, f"{what}: {json.dumps(found, indent=1)}")

    for size in PHONE, DESK:
        for dark in False, True:
            views(browser, size, dark, look)
    print(f"axe-core found nothing in {len(seen)} views")


SILENT = ("generic", "none", "InlineTextBox", "LineBreak", "RootWebArea")
NAMED = ("button", "link", "textbox", "combobox", "checkbox", "radio", "searchbox", "dialog", "region", "navigation",
         "heading", "log", "tab", "image")


def told(page):
    """What a screen reader is told: a line for each part, with its role and its name, below what it is in."""
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    by_id = {node["nodeId"]: node for node in nodes}
    lines = []

    def walk(node, depth, above):
        role = node.get("role", {}).get("value", "")
        name = " ".join(node.get("name", {}).get("value", "").split())
        is_told = not node.get("ignored") and role not in SILENT and not (role == "StaticText" and name == above)
        if is_told:
            lines.append((depth, role, name))
        for child in node.get("childIds", []):
            if child in by_id:
                walk(by_id[child], depth + is_told, name if is_told else above)
    walk(nodes[0], 0, "")
    return lines


@scenario
def reader(browser, directory):
    """The tree of each view as a screen reader has it, as text, for somebody to read; nothing in it is without a name."""
    wanted = {"sign in": ["textbox Code", "button"], "conversation": ["heading", "log", "button Allow", "textbox", "button"],
              "dialog": ["dialog", "heading", "button"], "form": ["textbox", "button Accept", "button Decline"]}

    for size in PHONE, DESK:
        def look(page, what):
            lines = told(page)
            with open(f"{directory}/{what.replace(' ', '-')}-{size[0]}.txt", "w", encoding="utf-8") as file:
                file.writelines(f"{'  ' * depth}{role}{' ' if name else ''}{name}\n" for depth, role, name in lines)
            parts = [role for _, role, _ in lines if role in ("main", "dialog")]  # nothing is told beside a dialog
            need(parts == ["dialog" if what == "dialog" else "main"], f"{what}: {parts}")
            bare = [role for _, role, name in lines if role in NAMED and not name]
            need(not bare, f"{what}: without a name: {bare}")
            rest = iter([f"{role} {name}" for _, role, name in lines])
            for start in wanted.get(what, []):
                need(any(line.startswith(start) for line in rest), f"{what}: no {start!r}, or not in this order")
        views(browser, size, False, look)


CONTRAST = """(() => {
    const channels = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    const ground = (node) => {
        for (; node; node = node.parentElement) {
            const found = channels(getComputedStyle(node).backgroundColor);
            if ((found[3] ?? 1) === 1) return found;
        }
        return [255, 255, 255];
    };
    const bad = [];
    const compare = (text, color, node) => {
        const [a, b] = [light(channels(color)), light(ground(node))];
        const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (contrast < 4.5) bad.push([text.slice(0, 40), contrast]);
    };
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text; (text = walk.nextNode());) {
        const node = text.parentElement;
        if (text.data.trim() === "" || !visible(node) || node.closest(":disabled, [inert], .hidden")) continue;
        compare(text.data, getComputedStyle(node).color, node);
    }
    for (const node of document.querySelectorAll("[placeholder]"))
        if (visible(node)) compare(node.placeholder, getComputedStyle(node, "::placeholder").color, node);
    return bad;
})()"""


@scenario
def looks(browser, pid, directory):
    """Pictures of what the page shows, for somebody to look at, and the contrast of all its text, computed."""
    def look(page, name):
        fits(page)
        need(page.run(CONTRAST) == [], f"{name}: the contrast is too low: {page.run(CONTRAST)}")
        page.shoot(f"{directory}/{name}.png")

    for width, height in PHONE, (640, 400), DESK:
        for dark in False, True:
            page = browser.page(width, height, dark=dark, apart=True)
            at = f"{width}-{'dark' if dark else 'light'}"
            page.go(URL)
            page.has("h2", "Sign in")
            look(page, f"enter-{at}")
            enter(page)
            page.wait("document.querySelector('#list li a')")
            look(page, f"home-{at}")
            at_agent(page)
            with open(f"{os.path.dirname(os.path.abspath(__file__))}/answer.md", encoding="utf-8") as file:
                prompt(page, "SAY:" + json.dumps(file.read()))
            answers(page, "The end.")
            idle(page)
            look(page, f"talk-{at}")
            page.run("document.querySelector('.log').scrollTop = 0")
            prompt(page, "ASK")
            page.has("#main .ask button", "Allow")
            look(page, f"ask-{at}")
            page.tap("#main .ask button", "Allow")
            idle(page)
            os.kill(int(pid), signal.SIGSTOP)
            try:
                page.wait("document.getElementById('link').dataset.stale === 'true'")
                look(page, f"stale-{at}")
            finally:
                os.kill(int(pid), signal.SIGCONT)
            page.close()


@scenario
def latency(browser):
    """How long it takes from a tap until the server has the host's word that the agent was answered."""
    page = browser.page(*PHONE)
    enter(page)
    at_agent(page)
    times = []
    for _ in range(20):
        prompt(page, "ASK")
        page.has(".ask button", "Allow")
        page.run("performance.clearResourceTimings(); window.tapped = 0; document.querySelector('.ask button')"
                 ".addEventListener('click', () => { window.tapped = performance.now(); }, {capture: true})")
        page.tap(".ask button", "Allow")
        page.wait("!document.querySelector('.ask')")
        times.append(page.run("performance.getEntriesByType('resource').find(e => "
                              "e.name.includes('/permissions/')).responseEnd - window.tapped"))
        page.wait("document.querySelector('.head .note').textContent.startsWith('idle')")
    times.sort()
    print(f"permission from the page: median {times[10]:.1f} ms, worst {times[-1]:.1f} ms")


def message(role, text):
    return f"[...document.querySelectorAll('.message.{role}')].some(n => n.textContent.includes({json.dumps(text)}))"


@scenario
def tells(browser):
    """A program on its own terminal that tells: its conversation, answers, a cancel and a clear, like any agent's."""
    for number, page in enumerate(sizes(browser)):
        enter(page)
        at_agent(page)
        idle(page)
        prompt(page, f"one-{number}")
        answers(page, f"I know: one-{number}")
        page.wait("!document.querySelector('.message[data-state=open]')")
        prompt(page, "ask make test")
        page.has("#main .ask h3", "make test (Bash)")
        page.tap("#main .ask button", "Yes")
        answers(page, "ask make test")
        page.wait("!document.querySelector('#main .ask')")
        page.wait(message("tool", "make test (Bash)"))
        idle(page)
        prompt(page, "ask make clean")
        page.has("#main .ask h3", "make clean (Bash)")
        page.tap("#main .ask button", "No")
        page.wait("!document.querySelector('#main .ask')")
        idle(page)
        prompt(page, "choose red or blue")  # which only its screen takes
        page.has("#main .ask .note", "own screen")
        need(page.run("!document.querySelector('#main .ask button')"), "there is a button that cannot answer")
        page.tap("button", "Cancel turn")
        idle(page)
        prompt(page, f"work {T}/never")
        page.wait("document.querySelector('.head .note').textContent.startsWith('working')")
        page.tap("button", "Cancel turn")
        idle(page)
        page.tap(".more summary", "More")
        page.tap("button", "Clear context")
        page.tap("dialog button", "Clear")
        page.wait("document.getElementById('said').textContent === 'The context was cleared.'")
        idle(page)
        mas("ask", ID, "solo", "from outside")
        answers(page, "I know: from outside")
        page.tap(".tabs a", "Screen")
        page.wait("document.querySelector('.screen').textContent.includes('from outside')")
        mas("clear", ID, "solo")
        fits(page)
        quiet(page, "401")


def choose_files(page, *paths):
    """What the dialog of the system does, which the protocol cannot open."""
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
    page.call("DOM.setFileInputFiles", nodeId=node, files=list(paths))


def come(page, how, name, size, kind="image/png"):
    """A drop, or a paste, of a picture in which nothing but its beginning is one."""
    event, member = {"drop": ("DragEvent('drop', ", "dataTransfer"), "paste": ("ClipboardEvent('paste', ", "clipboardData")}[how]
    page.run(f"(() => {{ const bytes = new Uint8Array({size}); bytes.set([137, 80, 78, 71, 13, 10, 26, 10]);"
             f"bytes.set([73, 72, 68, 82], 12); const data = new DataTransfer();"
             f"data.items.add(new File([bytes], {json.dumps(name)}, {{type: {json.dumps(kind)}}}));"
             f"document.getElementById('prompt').dispatchEvent(new {event}{{bubbles: true, cancelable: true, {member}: data}})); }})()")


def chosen(page):
    return page.run("[...document.querySelectorAll('.pictures li')].map(n => n.firstChild.textContent.split(',')[0]).join()")


@scenario
def shows(browser, red):
    """Pictures are chosen, dropped and pasted, taken back by keyboard, sent with words or alone, and named in the conversation."""
    for number, page in enumerate(sizes(browser)):
        enter(page)
        at_agent(page)
        page.has(".prompt button", "Picture")
        choose_files(page, red)
        come(page, "drop", "dropped.png", 100)
        come(page, "paste", "image.png", 101)
        need(chosen(page) == "red.png,dropped.png,image.png", f"chosen: {chosen(page)}")
        need("image.png" in page.run("document.getElementById('said').textContent"), "nothing was said")
        page.run("document.querySelector('.pictures [aria-label=\"Remove dropped.png\"]').focus()")
        page.key("Enter", text="\r")
        page.wait("document.activeElement.getAttribute('aria-label') === 'Remove red.png'")
        need(chosen(page) == "red.png,image.png", f"left: {chosen(page)}")
        fits(page)
        come(page, "drop", "large.png", 5 * 1024 * 1024 + 1)
        page.wait("document.getElementById('alert').textContent.includes('large.png: it has 5.2 MB, and at most 5 MiB')")
        come(page, "paste", "a.svg", 100, "image/svg+xml")
        page.wait("document.getElementById('alert').textContent.includes('a.svg: it is no picture')")
        need(chosen(page) == "red.png,image.png", f"taken: {chosen(page)}")
        prompt(page, f"what is it {number}")
        page.wait(message("user", f"what is it {number}"))
        page.wait(f"[...document.querySelectorAll('.message.user .text')].some(n => /^\\[picture red.png, 17 B\\]\\n\\[picture image.png, 101 B\\]\\nwhat is it {number}/.test(n.textContent))")
        page.wait("document.querySelector('.pictures').hidden")
        come(page, "drop", f"alone{number}.png", 5 * 1024 * 1024)
        page.tap("button", "Send")
        page.wait(message("user", f"[picture alone{number}.png, 5.2 MB]"))
        page.wait("document.querySelector('.pictures').hidden")
        for more in range(9):
            come(page, "drop", f"{more}.png", 100)
        page.wait("document.getElementById('alert').textContent.includes('8.png: at most 8 are sent at once')")
        quiet(page, "401")


@scenario
def blind(browser):
    """An agent that takes no pictures is offered none, and what is dropped does not open in place of the page."""
    page = browser.page(*DESK)
    enter(page)
    at_agent(page)
    prompt(page, "hello")
    idle(page)
    need(page.run("!named('.prompt button', 'Picture')"), "there is a button")
    come(page, "drop", "dropped.png", 100)
    page.wait("document.getElementById('alert').textContent.includes('takes no pictures')")
    need(page.run("document.querySelector('.pictures').hidden"), "it was taken")
    quiet(page, "401")


@scenario
def pictures(browser, directory, other):
    """The pictures of the manual: what a person sees who looks who waits, and answers."""
    for name, size, dark in ("phone", PHONE, False), ("desk", DESK, True):
        page = browser.page(*size, dark=dark, apart=True)
        enter(page)
        at_agent(page)
        mas("ask", other, "solo", "--no-wait", "Plan a parser that says where an error is.")
        prompt(page, "The lock is not released when lock_take() fails. Mend it and run the tests.")
        page.has("#main .ask button", "Allow")
        page.wait("document.querySelector('.message.user')")
        page.wait("document.title.startsWith('(2)')")
        page.wait("document.querySelectorAll('#list .rows [data-status=waiting]').length >= 3")
        page.shoot(f"{directory}/page-{name}.png")
        page.tap("#main .ask button", "Allow")
        idle(page)
        mas("deny", other, "solo")
        mas("clear", ID, "solo")
        page.close()


def main():
    name, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=T, prefix="chrome-", ignore_cleanup_errors=True) as directory:
        with Browser(directory) as browser:
            scenarios[name](browser, *arguments)


if __name__ == "__main__":
    main()
