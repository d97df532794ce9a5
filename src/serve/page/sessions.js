// The list of sessions, and who waits for a person.
import {asksOf, askCard, askKey, kindOf} from "/page/asks.js";
import {get, isGuest, post} from "/page/api.js";
import {act, age, button, el, fill, sendsByEnter, setText} from "/page/dom.js";
import {nameOf, order, statesOf} from "/page/store.js";

const ROWS = 50; // of one page of the list
const AGE_MS = 30000; // how often the ages are written again
const QUOTA_MS = 60000; // how often what is used of providers' windows is asked, at most

export class SessionsView {
    #store;
    #from = 0;
    #waits = el("ul", {class: "rows"});
    #none = el("p", {class: "note"}, "Nobody waits for you.");
    #title = el("h2", {id: "waits-title", tabindex: "-1"}, "Waiting for you");
    #rows = el("ul", {class: "rows"});
    #count = el("p", {class: "note", role: "status"});
    #back = button("Previous", () => this.#turn(-ROWS));
    #next = button("Next", () => this.#turn(ROWS));
    #filter = el("input", {type: "search", id: "filter", autocomplete: "off",
        oninput: () => { this.#from = 0; this.update(); }});
    #find = el("form", {role: "search", class: "write", onsubmit: (event) => {
        event.preventDefault();
        const q = this.#filter.value.trim();
        this.#filter.value = ""; // all sessions are in the list again
        if (q !== "")
            location.hash = `#/find?${new URLSearchParams({q})}`;
        this.update();
    }}, el("label", {for: "filter", class: "hidden"}, "Find a session, or what was said"), this.#filter,
    el("button", {}, "Search all"));
    #empty = el("p", {class: "note", hidden: true}, "There are no sessions yet. On the machine of the server, ",
        el("code", {}, "mas new"), " makes one.");
    #asked = -QUOTA_MS;
    #quota = el("p", {class: "note", hidden: true});
    #text = el("textarea", {id: "begin", rows: 1, maxlength: 100000});
    #project = el("input", {id: "begin-project", autocomplete: "off", maxlength: 1000});
    #begin = el("button", {class: "strong"}, "Begin");
    #selected = "";
    #agent = "";

    constructor(node, store) {
        this.#store = store;
        node.replaceChildren(
            el("section", {"aria-labelledby": "waits-title"},
                this.#title, this.#none, this.#waits, this.#quota,
                el("p", {class: "note owner"}, el("a", {href: "#/used"}, "What was used"))),
            el("section", {"aria-labelledby": "sessions-title"}, el("h2", {id: "sessions-title"}, "Sessions"),
                this.#find, this.#count, this.#empty,
                this.#rows, el("p", {class: "row"}, this.#back, this.#next),
                el("form", {class: "prompt full owner", onsubmit: (event) => this.#submit(event)},
                    el("label", {for: "begin", class: "hidden"}, "A sentence for a new session"),
                    el("div", {class: "write"}, this.#text, this.#begin),
                    el("label", {for: "begin-project", class: "hidden"}, "The repository of a new session"),
                    this.#project)));
        this.#filter.placeholder = "Find a session";
        this.#text.placeholder = "Begin a session with a sentence";
        this.#project.placeholder = "Its repository on the server, if it has one: /path";
        sendsByEnter(this.#text, this.#text.form);
        setInterval(() => document.hidden || this.update(), AGE_MS);
    }

    select(id, agent) {
        this.#selected = id;
        this.#agent = agent;
        this.update();
    }

    // One agent gets the sentence, as of `mas new`; what that refuses is said by the server.
    #submit(event) {
        event.preventDefault();
        const prompt = this.#text.value, project = this.#project.value.trim();
        if (prompt.trim() === "")
            return;
        act(this.#begin, async () => {
            const {sessionId} = await post("/sessions", {prompt, ...(project ? {project} : {})});
            if (this.#text.value === prompt)
                this.#text.value = "";
            location.hash = `#/s/${sessionId}`;
        });
    }

    #turn(by) {
        this.#from += by;
        this.update();
        this.#rows.querySelector("a")?.focus();
    }

    update() {
        const word = this.#filter.value.trim().toLowerCase();
        const waits = this.#store.waits();
        const found = order(this.#store.sessions.values(), waits).filter((session) => word === "" ||
            `${nameOf(session)} ${session.template} ${session.sessionId}`.toLowerCase().includes(word));
        if (this.#from >= found.length)
            this.#from = Math.max(0, Math.floor((found.length - 1) / ROWS) * ROWS);
        const shown = found.slice(this.#from, this.#from + ROWS);
        fill(this.#rows, shown, (session) => session.sessionId, sessionRow,
            (node, session) => this.#patch(node, session, waits.get(session.sessionId)));
        setText(this.#count, found.length > ROWS
            ? `${this.#from + 1} to ${this.#from + shown.length} of ${found.length}` : `${found.length} session${found.length === 1 ? "" : "s"}`);
        this.#back.hidden = this.#next.hidden = found.length <= ROWS;
        this.#back.disabled = this.#from === 0;
        this.#next.disabled = this.#from + ROWS >= found.length;
        this.#count.hidden = this.#find.hidden = this.#store.sessions.size === 0;
        this.#empty.hidden = !this.#store.known || this.#store.sessions.size > 0;
        this.#showWaits();
        this.#showQuota();
    }

    // What is used of the windows of providers; a server that cannot say it says nothing.
    async #showQuota() {
        if (!this.#store.known || performance.now() - this.#asked < QUOTA_MS)
            return;
        this.#asked = performance.now();
        const {quota} = isGuest() ? {quota: []} : await get("/quota").catch(() => ({quota: []}));
        setText(this.#quota, quota.map((one) => `${one.preset} ${one.window}: ${one.percent} %`).join(", "));
        this.#quota.hidden = quota.length === 0;
    }

    // Those who have waited longest come first, and nobody moves but up.
    #showWaits() {
        const all = [...this.#store.waiting.values()];
        const waits = [...all.filter((agent) => !agent.failed), ...all.filter((agent) => agent.failed)];
        fill(this.#waits, waits.slice(0, ROWS), (agent) => `${agent.sessionId}/${agent.agent}`, waitRow,
            (node, agent) => this.#patchWait(node, agent));
        this.#none.hidden = waits.length > 0;
        setText(this.#title, waits.length > 0 ? `Waiting for you (${waits.length})` : "Waiting for you");
    }

    // A permission, a plan or a budget is answered here; a form where there is room for it. What the
    // view beside this list shows has its answers there.
    #patchWait(node, agent) {
        const shown = agent.sessionId === this.#selected && agent.agent === this.#agent;
        const asks = shown ? [] : asksOf(agent).filter((asked) => ["permission", "plan", "budget"].includes(kindOf(asked)));
        setText(node.querySelector(".where"), agent.agent);
        setText(node.querySelector(".in"), nameOf(this.#store.sessions.get(agent.sessionId)));
        setText(node.querySelector("time"), agent.since ? age(agent.since) : "");
        const what = node.querySelector(".what");
        setText(what, agent.asks || agent.state);
        node.dataset.status = agent.failed ? "failed" : "waiting";
        what.hidden = asks.length > 0;
        fill(node.querySelector(".asks"), asks, askKey,
            (asked) => askCard(asked, {id: agent.sessionId, agent: agent.agent}, (had) => {
                if (had || document.activeElement === document.body)
                    this.#title.focus();
            }));
    }

    #patch(node, session, waiting) {
        const link = node.firstElementChild;
        setText(node.querySelector(".where"), nameOf(session));
        setText(node.querySelector(".what"), statesOf(session, waiting));
        setText(node.querySelector("time"), age(session.lastActivity));
        node.dataset.status = session.crashed ? "error" : waiting ? "waiting" : session.status;
        if (session.sessionId === this.#selected)
            link.setAttribute("aria-current", "true");
        else
            link.removeAttribute("aria-current");
    }
}

const sessionRow = (session) => el("li", {}, el("a", {href: `#/s/${session.sessionId}`},
    el("span", {class: "where"}), " ", el("time", {}), el("span", {class: "what"})));

const waitRow = (agent) => el("li", {"data-status": "waiting"},
    el("a", {href: `#/s/${agent.sessionId}/a/${agent.agent}`},
        el("span", {}, el("span", {class: "where"}), " in ", el("span", {class: "in"})), el("time", {}),
        el("span", {class: "what"})), el("div", {class: "asks"}));
