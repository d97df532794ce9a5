// The events of the server (GET /events), over any number of broken connections.
//
// fetch() instead of EventSource, because it can send headers: a token, and the Last-Event-ID also
// when the address changes. The server keeps the last events and sends those that were missed; an
// event that has come already is dropped by its id, which only grows. If the server no longer has
// all of them, it sends `reset`, and the page reads everything again.
import {headers} from "/page/api.js";

// A browser has six connections to a server, for all of its pages. So a hidden page lets go when another
// page begins to follow, or after a while.
const HIDDEN_MS = 60000;
const SLOW_MS = 500; // a stream that has not begun until then is not said to live
const SILENCE_MS = 40000; // the server sends something every 15 s
const RETRY_MS = [250, 500, 1000, 2000, 4000, 8000];
const LINE_MAX = 4 << 20;

export class Stream {
    #handlers;
    #path;
    #lastId = 0;
    #abort = null;
    #wake = null;
    #slow = null;
    #failures = 0;
    #ended = false;
    #pages = new BroadcastChannel("mas-events");

    // handlers: event(type, data), state("begins" | "open" | "lost" | "denied"), begin(): the first event after
    // a pause of unknown length comes next, so everything has to be read again.
    constructor(handlers) {
        this.#handlers = handlers;
        const wake = () => this.#retryNow();
        addEventListener("online", wake);
        let timer;
        document.addEventListener("visibilitychange", () => {
            clearTimeout(timer);
            if (document.hidden)
                timer = setTimeout(() => this.#abort?.abort(), HIDDEN_MS);
            else
                wake();
        });
        this.#pages.addEventListener("message", () => document.hidden && this.#abort?.abort());
    }

    start(path) {
        const changed = this.#path !== path;
        this.#path = path;
        if (this.#abort === null)
            this.#run();
        else if (changed)
            this.#abort.abort(); // and on with the next address after the same id
    }

    end() {
        this.#ended = true;
        this.#abort?.abort();
        this.#retryNow();
    }

    #retryNow() {
        this.#wake?.();
    }

    async #run() {
        while (!this.#ended) {
            this.#abort = new AbortController();
            const path = this.#path;
            try {
                await this.#follow(path, this.#abort);
            } catch (error) {
                if (error.denied) {
                    this.#abort = null;
                    this.#handlers.state("denied");
                    return;
                }
            }
            if (this.#ended || path !== this.#path)
                continue;
            this.#handlers.state("lost");
            const pause = RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)];
            await new Promise((resolve) => {
                this.#wake = resolve;
                if (!document.hidden) // otherwise when somebody looks again
                    setTimeout(resolve, pause * (0.75 + Math.random() / 2)); // not all pages at once
            });
            this.#wake = null;
        }
    }

    async #follow(path, abort) {
        const more = this.#lastId > 0 ? {"Last-Event-ID": String(this.#lastId)} : {};
        let timer = setTimeout(() => abort.abort(), SILENCE_MS);
        this.#slow = setTimeout(() => this.#handlers.state("begins"), SLOW_MS);
        if (!document.hidden)
            this.#pages.postMessage("follows");
        try {
            const response = await fetch(path, {headers: headers(more), signal: abort.signal,
                cache: "no-store", credentials: "same-origin", redirect: "error"});
            if (response.status === 401 || response.status === 403)
                throw Object.assign(new Error("denied"), {denied: true});
            if (!response.ok)
                throw new Error(`the server answered ${response.status}`);
            const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
            const parse = this.#parser();
            for (;;) {
                const {done, value} = await reader.read();
                if (done)
                    return;
                clearTimeout(timer);
                timer = setTimeout(() => abort.abort(), SILENCE_MS);
                parse(value);
            }
        } finally {
            clearTimeout(timer);
            clearTimeout(this.#slow);
        }
    }

    // Returns a function that takes pieces of text and hands on whole events.
    #parser() {
        let rest = "", id = "", type = "", data = "";
        return (piece) => {
            rest += piece;
            if (rest.length > LINE_MAX)
                throw new Error("a line is too long");
            const lines = rest.split("\n");
            rest = lines.pop();
            for (const line of lines) {
                if (line === "") {
                    this.#handle(Number(id), type, data);
                    id = type = data = "";
                } else if (line.startsWith("id: ")) {
                    id = line.slice(4);
                } else if (line.startsWith("event: ")) {
                    type = line.slice(7);
                } else if (line.startsWith("data: ")) {
                    data += line.slice(6);
                }
            }
        };
    }

    #handle(id, type, data) {
        if (!Number.isSafeInteger(id) || id === 0)
            return; // a heartbeat
        if (type === "" || type === "reset") { // the greeting
            const known = this.#lastId > 0 && type === "";
            this.#lastId = type === "reset" ? id : Math.max(id, this.#lastId);
            this.#failures = 0;
            clearTimeout(this.#slow);
            this.#handlers.state("open");
            if (!known)
                this.#handlers.begin();
            return;
        }
        if (id <= this.#lastId)
            return;
        this.#lastId = id;
        try {
            this.#handlers.event(type, JSON.parse(data));
        } catch (error) {
            console.error("an event could not be shown", error);
        }
    }
}
