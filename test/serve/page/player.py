"""Servers between the page and mas-serve: Player passes everything on, but plays the events itself; Swallower passes
everything on, but one request."""
import http.client, http.server, json, socket, threading, uuid

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


class Swallower:
    """Takes each connection and passes on what comes, as a network does; but once what comes begins with
    `word` for the `count`th time, it is lost like all that follows on that connection, which stays open."""

    def __init__(self, url):
        host, _, port = url.removeprefix("http://").rpartition(":")
        self.upstream, self.word, self.count, self.swallowed = (host, int(port)), None, 1, set()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.server.accept()
            server = socket.create_connection(self.upstream)
            for ends in (client, server), (server, client):
                threading.Thread(target=self.pass_on, args=(*ends, ends[0] is client), daemon=True).start()

    def pass_on(self, source, sink, asks):
        try:
            while piece := source.recv(1 << 16):
                if asks and self.word and piece.decode("latin-1").startswith(self.word):
                    self.count -= 1
                    if self.count == 0:
                        self.word = None
                        self.swallowed.add(source)
                        while source.recv(1 << 16):
                            pass
                        break
                sink.sendall(piece)
        except OSError:
            pass
        if sink in self.swallowed:
            return
        for end in source, sink:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
