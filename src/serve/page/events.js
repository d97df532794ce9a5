// The page's end of the stream of events, which it shares with the other pages of the browser: see stream.js.
import {headers} from "/page/api.js";
import {join} from "/page/stream.js";

const BEGIN_MS = 10000; // a worker says something as soon as it is loaded; another one waits 20 s for the cache
const SILENCE_MS = 60000; // and something within 50 s as long as it lives
const AGAIN_MS = 1000;
const WORKER = "/page/stream.js";
// Another page may be of an earlier server. Change this with the messages of stream.js, so that each kind of page
// has a worker that understands it.
const NAME = "1";
// The policy that the server permits by its headers: it knows this one address, and makes no markup.
const policy = globalThis.trustedTypes?.createPolicy("mas", {createScriptURL: () => WORKER});
let lost = 0; // workers of which nothing was heard: one that is still being loaded would be joined by its name

export class Events {
    #handlers;
    #live;
    #port = null;
    #timer;

    // handlers: heard(), whenever the server has said something; event(type, data), state("begins" | "open" | "lost" | "denied"), begin(): everything has to be read again.
    constructor(handlers) {
        this.#handlers = handlers;
        addEventListener("online", () => this.#port?.postMessage({wake: true}));
        addEventListener("pagehide", () => this.#leave());
        addEventListener("pageshow", ({persisted}) => persisted && this.#ask());
        document.addEventListener("visibilitychange", () => {
            if (!document.hidden)
                this.#ask();
            else if (!globalThis.SharedWorker)
                this.#leave(); // to leave the connections to the pages that somebody looks at
        });
    }

    // Follows, also what this agent says ("SESSION/AGENT"; null: none).
    follow(live) {
        this.#live = live;
        this.#port ??= this.#open();
        this.#ask();
    }

    #open() {
        if (!globalThis.SharedWorker) {
            const {port1, port2} = new MessageChannel();
            join(port2);
            port1.onmessage = ({data}) => this.#take(data);
            return port1;
        }
        const shared = new SharedWorker(policy?.createScriptURL("") ?? WORKER, {type: "module", name: `${NAME}.${lost}`});
        shared.onerror = () => this.#expect(AGAIN_MS); // it could not be loaded
        shared.port.onmessage = ({data}) => this.#take(data);
        return shared.port;
    }

    #ask() {
        if (this.#port === null)
            return;
        this.#expect(Math.min(BEGIN_MS * 4 ** lost, SILENCE_MS));
        this.#port.postMessage({headers: headers(), live: this.#live});
        this.#port.postMessage({wake: true});
    }

    #leave() {
        this.#port?.postMessage({});
        clearTimeout(this.#timer);
    }

    // If nothing comes until then, the worker has ended: begins with another one.
    #expect(ms) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => {
            this.#leave();
            lost++;
            this.#handlers.state("lost");
            this.#port = this.#open();
            this.#ask();
        }, ms);
    }

    #take({state, begin, type, data}) {
        this.#expect(SILENCE_MS);
        if (state === "denied") { // until follow()
            this.#leave();
            this.#port = null;
        }
        if (!state || state === "open")
            this.#handlers.heard();
        if (state)
            this.#handlers.state(state);
        if (begin)
            this.#handlers.begin();
        if (!type)
            return;
        try {
            this.#handlers.event(type, data);
        } catch (error) {
            console.error("an event could not be shown", error);
        }
    }
}
