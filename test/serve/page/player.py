"""A server between the page and mas-serve that passes everything on, but plays the events itself."""
import http.client, http.server, json, threading, uuid

AGENTS = 3


class Player:
    def __init__(self, url, session):
        self.upstream, self.session = url.removeprefix("http://"), session
        self.changed, self.upto = threading.Condition(), 0
        player = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                if self.command == "GET" and self.path.startswith("/events"):
                    return player.events(self)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                connection = http.client.HTTPConnection(player.upstream)
                connection.request(self.command, self.path, body,
                                   {k: v for k, v in self.headers.items() if k != "Connection"})
                answer = connection.getresponse()
                data = answer.read()
                self.send_response(answer.status)
                for key, value in answer.getheaders():
                    if key not in ("Content-Length", "Connection", "Date", "Transfer-Encoding"):
                        self.send_header(key, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def play(self, upto):
        """Lets all events before this number out."""
        with self.changed:
            self.upto = upto
            self.changed.notify_all()

    def event(self, number):
        """One of 100 sessions says or does something; every 50th is of the agent that is shown."""
        session = self.session if number % 50 == 0 else str(uuid.UUID(int=(number % 100) << 64 | 4 << 76 | 8 << 60))
        where = {"sessionId": session, "agent": "solo" if number % 50 == 0 else f"a{number % AGENTS}"}
        kind = number % 5
        if number % 50 == 0:
            return "live", {**where, "message": f"{session}:{10000 + number}", "role": "agent", "at": 0,
                            "text": f"some words of number {number} " * 20}
        if kind < 2:
            return "agent.state", {**where, "state": ("working", "waiting")[kind], "note": f"note {number}",
                                   "since": "2026-01-01T00:00:00Z"}
        if kind < 4:
            return "message", {**where, "role": "agent", "text": f"answer {number} " * 30}
        return "session.started", {"sessionId": session, "tmuxSession": f"mas-{session[:8]}", "status": "active",
                                   "createdAt": "2026-01-01T00:00:00Z", "lastActivity": "2026-01-01T00:00:00Z",
                                   "name": "", "template": "solo", "crashed": False, "agentStates": {"working": 3}}

    def events(self, handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        number = max(0, int(handler.headers.get("Last-Event-ID", 0)) - 10)
        handler.wfile.write(f"retry: 2000\nid: {number + 10}\n\n".encode())
        while True:
            with self.changed:
                self.changed.wait_for(lambda: number < self.upto)
                upto = self.upto
            while number < upto:
                kind, data = self.event(number)
                if number == upto - 1:
                    kind, data = "live", {"sessionId": self.session, "agent": "solo", "role": "agent", "at": 0,
                                          "message": f"{self.session}:{10000 + number}", "text": f"end-of-{upto}."}
                number += 1
                handler.wfile.write(f"id: {number + 10}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode())
