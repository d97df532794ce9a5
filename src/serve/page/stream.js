// The events of the server (GET /events), over any number of broken connections.
//
// A browser has six connections to a server for all of its pages, so this runs in a worker that they share, and
// has one stream for all pages that ask with the same token. Without shared workers it runs in the page.
//
// fetch() instead of EventSource, because it can send headers: a token, and the Last-Event-ID also
// when the address changes. The server keeps the last events and sends those that were missed; an
// event that has come already is dropped by its id, which only grows. If the server no longer has
// all of them, it sends `reset`, and the pages read everything again.
const SLOW_MS = 500; // a stream that has not begun until then is not said to live
const OPEN_MS = 4000; // in which a stream begins at the first attempt, and twice as long at each that follows
const SILENCE_MS = 40000; // the server sends something every 15 s
const RETRY_MS = [250, 500, 1000, 2000, 4000, 8000];
const LINE_MAX = 4 << 20;
const LIVE_MAX = 16; // agents whose text the server sends in one stream

const streams = new Map(); // by their headers

// Lets a page follow by this port. The page sends
//     {headers, live}     follow with these headers; `live` is the agent whose text it shows, or null
//     {wake: true}        try now, if the connection is broken
//     {}                  it goes
// and gets
//     {state}             "begins", "open", "lost", "denied"
//     {begin: true}       what comes next follows a pause of unknown length, so everything has to be read again
//     {type, data}        an event
//     {}                  the stream lives
export function join(port) {
    let stream = null;
    port.onmessage = ({data: {headers, live, wake}}) => {
        if (wake) {
            stream?.wake();
            return;
        }
        const name = JSON.stringify(headers);
        if (stream !== null && stream.name !== name) {
            stream.leave(port);
            stream = null;
        }
        if (headers) {
            stream ??= streams.get(name) ?? new Stream(name, headers);
            stream.follow(port, live);
        }
    };
}

class Stream {
    #headers;
    #pages = new Map(); // by port: the agent whose text it shows, or null
    #state = "begins";
    #lastId = 0;
    #path;
    #abort = null;
    #wake = null;
    #slow = null;
    #failures = 0;

    constructor(name, headers) {
        this.name = name;
        this.#headers = headers;
        streams.set(name, this);
    }

    follow(port, live) {
        if (!this.#pages.has(port))
            port.postMessage({state: this.#state, begin: this.#state === "open"});
        this.#pages.delete(port); // the one that asked last is the last
        this.#pages.set(port, live);
        if (this.#abort === null)
            this.#run();
        else
            this.#turn();
    }

    leave(port) {
        this.#pages.delete(port);
        if (this.#pages.size === 0)
            streams.delete(this.name);
        this.#turn();
    }

    wake() {
        this.#wake?.();
    }

    #tell(message) {
        for (const port of this.#pages.keys())
            port.postMessage(message);
    }

    #enter(state) {
        this.#state = state;
        this.#tell({state});
    }

    // What all pages together want; null: nothing.
    #wanted() {
        const live = [...new Set(this.#pages.values())].filter((agent) => agent !== null).slice(-LIVE_MAX).sort();
        return this.#pages.size === 0 ? null : live.length > 0 ? `/events?live=${live.join()}` : "/events";
    }

    // Goes on with what is wanted now, after the same id.
    #turn() {
        if (this.#wanted() === this.#path)
            return;
        this.#abort?.abort();
        if (this.#pages.size === 0)
            this.wake();
    }

    async #run() {
        while ((this.#path = this.#wanted()) !== null) {
            this.#abort = new AbortController();
            try {
                await this.#follow(this.#path, this.#abort);
            } catch (error) {
                if (error.denied) {
                    this.#abort = null;
                    this.#enter("denied");
                    return;
                }
            }
            if (this.#wanted() !== this.#path)
                continue;
            this.#enter("lost");
            const pause = RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)];
            await new Promise((resolve) => {
                this.#wake = resolve;
                setTimeout(resolve, pause * (0.75 + Math.random() / 2)); // not all browsers at once
            });
            this.#wake = null;
        }
    }

    async #follow(path, abort) {
        const more = this.#lastId > 0 ? {"Last-Event-ID": String(this.#lastId)} : {};
        let timer = setTimeout(() => abort.abort(), Math.min(OPEN_MS * 2 ** this.#failures, SILENCE_MS));
        this.#slow = setTimeout(() => this.#enter("begins"), SLOW_MS);
        try {
            const response = await fetch(path, {headers: {...this.#headers, ...more}, signal: abort.signal,
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
        if (!Number.isSafeInteger(id) || id === 0) {
            this.#tell({});
            return; // a heartbeat
        }
        if (type === "" || type === "reset") { // the greeting
            const known = this.#lastId > 0 && type === "";
            this.#lastId = type === "reset" ? id : Math.max(id, this.#lastId);
            this.#failures = 0;
            clearTimeout(this.#slow);
            this.#enter("open");
            if (!known)
                this.#tell({begin: true});
            return;
        }
        if (id <= this.#lastId)
            return;
        this.#lastId = id;
        try {
            this.#tell({type, data: JSON.parse(data)});
        } catch (error) {
            console.error("an event is not JSON", error);
        }
    }
}

if ("SharedWorkerGlobalScope" in globalThis)
    globalThis.onconnect = ({ports: [port]}) => join(port);
