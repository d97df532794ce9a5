"""A headless Chromium, driven by the DevTools protocol over a pipe; nothing but Python's own library.

    with Browser(directory) as browser:
        page = browser.page(360, 740)
        page.go("http://...")
        page.wait("document.querySelector('h2')")
        page.tap("button", "Start")

Nothing polls: wait() asks the page, which looks again whenever its document changes.
"""
import base64, json, os, queue, signal, subprocess, threading, time

LIMIT = int(os.environ.get("MAS_TEST_LIMIT", 180))  # seconds for anything
ANSWER = LIMIT + 20  # for an answer of the browser: a page that waits in vain says so before, and for what
STARTS = LIMIT // 6, LIMIT // 3, LIMIT // 2  # for it to come up; after each, one that hangs is started anew
CHROMIUM = os.environ.get("CHROMIUM", "chromium")


class Failed(Exception):
    pass


class Silent(Failed):
    """The browser does not answer."""


class Browser:
    def __init__(self, directory):
        self.errors = open(f"{directory}.log", "wb")
        self.handlers, self.count = {}, 0
        self.lock = threading.Lock()
        for number, self.patience in enumerate(STARTS):
            self.start(f"{directory}/{number}")
            try:
                self.version = self.call("Browser.getVersion")["product"]
                self.page().close()
                break
            except (Failed, BrokenPipeError) as failure:
                self.kill()
                print(f"start {number + 1} of the browser: {failure}", flush=True)
        else:
            raise Failed("the browser does not come up")
        self.patience = ANSWER

    def start(self, directory):
        out_read, self.out = os.pipe()
        incoming, in_write = os.pipe()
        self.calls = {}
        at = os.environ.get("BROWSER_AT", "").split()  # a program that runs it at another place
        words = [*at, CHROMIUM, "--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
                 "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                 "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
                 "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
                 "--js-flags=--expose-gc", f"--user-data-dir={directory}"]
        words += os.environ.get("BROWSER_OPTIONS", "").splitlines()
        if os.getuid() == 0 or at:
            words.append("--no-sandbox")

        def connect():  # the protocol is at 3 and 4
            read, write = os.dup(out_read), os.dup(in_write)
            high_read, high_write = os.dup2(read, 63), os.dup2(write, 64)
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)

        self.process = subprocess.Popen(words, preexec_fn=connect, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=self.errors, stderr=self.errors, start_new_session=True)
        os.close(out_read)
        os.close(in_write)
        threading.Thread(target=self.listen, args=(incoming, self.calls), daemon=True).start()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.patience = 10
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (Failed, BrokenPipeError, subprocess.TimeoutExpired):
            pass
        self.kill()

    def listen(self, incoming, calls):
        rest = b""
        while True:
            piece = os.read(incoming, 1 << 20)
            if not piece:
                os.close(incoming)
                for answer in list(calls.values()):
                    answer.put({"error": {"message": "the browser has ended"}})
                return
            *messages, rest = (rest + piece).split(b"\0")
            for text in messages:
                message = json.loads(text)
                if "id" in message:
                    calls.pop(message["id"]).put(message)
                else:
                    handler = self.handlers.get(message.get("sessionId"))
                    if handler:
                        handler(message["method"], message["params"])

    def call(self, method, session=None, **params):
        answer = queue.Queue()
        with self.lock:
            self.count += 1
            number = self.count
            self.calls[number] = answer
            message = {"id": number, "method": method, "params": params}
            if session:
                message["sessionId"] = session
            os.write(self.out, json.dumps(message).encode() + b"\0")
        try:
            said = answer.get(timeout=self.patience)
        except queue.Empty:
            raise Silent(f"{method}: no answer within {self.patience} s") from None
        if "error" in said:
            raise Failed(f"{method}: {said['error']['message']}")
        return said["result"]

    def page(self, width=1280, height=800, dark=False, apart=False):
        """A page; `apart`: with cookies, storage and connections of its own."""
        return Page(self, width, height, dark, apart)


HELPERS = """
window.until = (test, limit) => new Promise((resolve, reject) => {
    const look = () => {
        let found;
        try { found = test(); } catch (error) { found = null; }
        if (found) { end(); resolve(found === true || typeof found !== 'object' ? found : true); }
    };
    const observer = new MutationObserver(look);
    const timer = setInterval(look, 200);   // for what no change of the document shows
    const late = setTimeout(() => { end(); reject(new Error('never: ' + test)); }, limit);
    const end = () => { observer.disconnect(); clearInterval(timer); clearTimeout(late); };
    observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
    look();
});
window.visible = (node) => node.checkVisibility({visibilityProperty: true}) && node.getClientRects().length > 0;
window.named = (selector, text) => [...document.querySelectorAll(selector)].find((node) => visible(node) &&
    !node.disabled && (node.getAttribute('aria-label') ?? node.textContent).includes(text));
"""


class Page:
    def __init__(self, browser, width, height, dark, apart=False):
        self.browser = browser
        own = {"browserContextId": browser.call("Target.createBrowserContext")["browserContextId"]} if apart else {}
        self.target = browser.call("Target.createTarget", url="about:blank", **own)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        self.console, self.requests, self.dialogs = [], [], []
        self.loaded = threading.Event()
        self.held = queue.Queue()
        browser.handlers[self.session] = self.handle
        for domain in "Page", "Runtime", "Network", "Log":
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        if dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.call("Page.addScriptToEvaluateOnNewDocument", source=HELPERS)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def handle(self, method, params):
        if method == "Page.loadEventFired":
            self.loaded.set()
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.console.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.console.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append((params["request"]["method"], params["request"]["url"]))
        elif method == "Fetch.requestPaused":
            self.held.put(params["requestId"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])

    def go(self, url):
        self.loaded.clear()
        said = self.call("Page.navigate", url=url)
        if said.get("loaderId") and not self.loaded.wait(LIMIT):
            raise Failed(f"{url} never loaded")

    def run(self, script, user=False):
        """The value of an expression, which may be a promise."""
        said = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True,
                         userGesture=user)
        if "exceptionDetails" in said:
            details = said["exceptionDetails"]
            raise Failed(details.get("exception", {}).get("description", details["text"]))
        return said["result"].get("value")

    def wait(self, condition, limit=LIMIT):
        try:
            try:
                return self.run(f"until(() => ({condition}), {limit * 1000})")
            except Failed as failure:
                if "navigated" not in str(failure):
                    raise
                return self.run(f"until(() => ({condition}), {limit * 1000})")  # the page loads again
        except Silent:
            raise
        except Failed as failure:
            shown = self.run("document.body.innerText")[-1500:]
            raise Failed(f"{failure}\nthe page: {shown}\nconsole: {self.console[-5:]}") from None

    def has(self, selector, text="", limit=LIMIT):
        self.wait(f"named({json.dumps(selector)}, {json.dumps(text)})", limit)

    def tap(self, selector, text=""):
        """Taps the middle of an element, as a finger does: once more if it moved away while it was tapped."""
        self.has(selector, text)
        for _ in range(20):
            x, y = self.run(f"""(() => {{
                const node = named({json.dumps(selector)}, {json.dumps(text)});
                node.scrollIntoView({{block: 'center'}});
                const box = node.getBoundingClientRect();
                const at = [box.x + box.width / 2, box.y + box.height / 2];
                const top = document.elementFromPoint(...at);
                if (!node.contains(top)) throw new Error('covered by ' + (top && top.outerHTML.slice(0, 200)));
                window.clicked = false;
                addEventListener('click', (event) => {{ window.clicked = node.contains(event.target); }},
                    {{capture: true, once: true}});
                return at;
            }})()""")
            for kind in "mousePressed", "mouseReleased":
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
            try:
                if self.run("window.clicked") is not False:
                    return
            except Failed as failure:  # it led to another page
                if "navigated" not in str(failure) and "context" not in str(failure):
                    raise
                return
        raise Failed(f"{selector} {text} does not stay where it is")

    def key(self, key, code=None, modifiers=0, text=None):
        more = {"text": text} if text else {}
        for kind in "keyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, modifiers=modifiers,
                      windowsVirtualKeyCode={"Enter": 13, "Tab": 9, " ": 32, "Escape": 27}.get(key, 0),
                      **(more if kind == "keyDown" else {}))

    def type(self, text):
        self.call("Input.insertText", text=text)

    def heap(self):
        """Bytes that the page's scripts hold, after garbage was collected."""
        self.call("HeapProfiler.enable")
        self.call("HeapProfiler.collectGarbage")
        return self.call("Runtime.getHeapUsage")["usedSize"]

    def nodes(self):
        self.call("HeapProfiler.collectGarbage")
        return self.call("Memory.getDOMCounters")["nodes"]

    def shoot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def hold(self, pattern):
        """Holds back the answers to what the page asks at these addresses: `held` gets their requests."""
        self.call("Fetch.enable", patterns=[{"urlPattern": pattern, "requestStage": "Response"}])

    def close(self):
        self.browser.handlers.pop(self.session, None)
        self.browser.call("Target.closeTarget", targetId=self.target)


def since(start):
    return (time.monotonic() - start) * 1000
