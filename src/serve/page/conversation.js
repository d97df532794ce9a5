// The conversation with an agent as it comes. At most WINDOW messages are kept; earlier ones are
// read when somebody asks for them, and then the latest are dropped.
import {agentPath, get} from "/page/api.js";
import {act, button, complain, el, fill, refresher, setText, sizeOf, soon} from "/page/dom.js";
import {elementsOf, treesOf} from "/page/markdown.js";

const PAGE = 50;
const PARSE_MS = 100; // how often what comes is laid out, at most
const WINDOW = 200;
const TEXT_MAX = 20000; // characters of a message that are shown; the rest is in mas history
const ROLES = {user: "You", agent: "Agent", thought: "Thought", tool: "Tool", plan: "Plan",
    permission: "Permission", mode: "Mode", note: "Note"};
const drawn = new WeakMap(); // by element: what it shows
const encoder = new TextEncoder();

export class Conversation {
    node = el("section", {class: "talk", "aria-label": "Conversation"});
    #id;
    #agent;
    #messages = []; // oldest first
    #first = 0; // the number of the oldest in the whole history
    #total = 0;
    #log = el("div", {class: "log", role: "log", "aria-label": "Messages", tabindex: "0"});
    #earlier = button("Earlier messages", () => act(this.#earlier, () => this.#readEarlier()));
    #newest = button("Newest messages", () => act(this.#newest, () => this.#readNewest()));
    #read = refresher(() => this.#readTail(), 60);
    #parse = refresher(() => this.#readTrees(), PARSE_MS);
    #draw = soon(() => this.#show(), 30);
    #stuck = true; // to the end, where new text comes
    #none = el("p", {class: "note", hidden: true}, "Nothing has been said yet. Write the first prompt below.");
    #sized = new ResizeObserver(() => this.#stick());

    constructor(id, agent) {
        this.#id = id;
        this.#agent = agent;
        this.#newest.hidden = true;
        this.node.append(this.#earlier, this.#none, this.#log, this.#newest);
        this.#log.addEventListener("scroll", () => {
            const {scrollHeight, scrollTop, clientHeight} = this.#log;
            this.#stuck = scrollHeight - scrollTop - clientHeight < 60;
        });
        this.#sized.observe(this.#log);
    }

    async begin() {
        await this.#readNewest();
    }

    end() {
        this.#read.cancel();
        this.#parse.cancel();
        this.#draw.cancel();
        this.#sized.disconnect();
    }

    event(type, data) {
        if (type === "live")
            this.#take(data);
        else if (type === "message" || type === "permission" || type === "agent.state")
            this.#read();
    }

    #stick() {
        if (this.#stuck && this.#atEnd())
            this.#log.scrollTop = this.#log.scrollHeight;
    }

    #atEnd() {
        return this.#first + this.#messages.length >= this.#total;
    }

    async #fetch(offset) {
        return get(agentPath(this.#id, this.#agent, `/history?limit=${PAGE}&offset=${offset}`));
    }

    async #readNewest() {
        const page = await this.#fetch(0);
        this.#messages = page.messages.map(cut);
        this.#total = page.total;
        this.#first = page.total - page.messages.length;
        this.#stuck = true;
        await this.#readTrees().catch(complain);
        this.#show();
    }

    // What is new at the end, or has changed there.
    async #readTail() {
        const wasAtEnd = this.#atEnd();
        const page = await this.#fetch(0);
        this.#total = page.total;
        if (wasAtEnd) {
            const start = page.total - page.messages.length;
            if (start > this.#first + this.#messages.length) { // more came than a page has
                this.#messages = [];
                this.#first = start;
            }
            // the page has them by turns: an answer stands under its prompt
            const known = new Map(this.#messages.map((message) => [message.id, message]));
            const last = Math.max(0, ...page.messages.map(numberOf));
            const there = new Set(page.messages.map((message) => message.id));
            const others = this.#messages.filter((message) => !there.has(message.id));
            this.#messages = [...others.filter((message) => numberOf(message) < last),
                ...page.messages.map((message) => (known.get(message.id)?.bytes ?? 0) > 0 && message.state === "open"
                    ? known.get(message.id) : {...cut(message), tree: known.get(message.id)?.tree}),
                ...others.filter((message) => numberOf(message) > last)];
            this.#trim();
        }
        this.#draw();
    }

    #trim() {
        const extra = this.#messages.length - WINDOW;
        if (extra > 0)
            this.#messages.splice(0, extra);
        this.#first = this.#total - this.#messages.length;
    }

    async #readEarlier() {
        const page = await this.#fetch(this.#total - this.#first);
        const known = new Set(this.#messages.map((message) => message.id));
        const fresh = page.messages.filter((message) => !known.has(message.id)).map(cut);
        this.#total = page.total;
        this.#first = Math.max(0, this.#first - fresh.length);
        this.#messages = [...fresh, ...this.#messages].slice(0, WINDOW);
        await this.#readTrees().catch(complain);
        const anchor = this.#log.firstElementChild;
        const top = anchor?.offsetTop;
        this.#stuck = false;
        this.#show();
        if (anchor?.isConnected)
            this.#log.scrollTop += anchor.offsetTop - top;
        if (this.#earlier.hidden)
            this.#log.focus();
    }

    // A piece of a message that is being received. `at` is how many bytes of it came before; if
    // that is not what is here, the history has it.
    #take(piece) {
        if (!this.#atEnd())
            return;
        let message = this.#messages.find((other) => other.id === piece.message);
        if (message === undefined && piece.at === 0) {
            message = {id: piece.message, role: piece.role, state: "open", text: "", bytes: 0};
            // before the prompts that wait
            const waits = this.#messages.findLastIndex((other) => other.role !== "user" || other.state !== "open");
            this.#messages.splice(waits + 1, 0, message);
            this.#total++;
            this.#trim();
        }
        const length = encoder.encode(piece.text).length;
        message && (message.bytes ??= encoder.encode(message.text).length);
        if (message === undefined || piece.at > message.bytes || message.cut) {
            this.#read();
        } else if (piece.at === message.bytes) {
            message.text += piece.text;
            message.bytes += length;
            cut(message);
        } // else it is here already
        this.#draw();
    }

    // Until the tree of a text is there, and behind what it has of a text that still comes, the text is shown as it is.
    async #readTrees() {
        const wanted = this.#messages.filter(({role, text, tree}) => role === "agent" && text !== tree?.text);
        if (wanted.length === 0)
            return;
        const texts = wanted.map(({text}) => text), trees = await treesOf(texts);
        wanted.forEach((message, at) => { message.tree = {text: texts[at], blocks: trees[at] ?? [texts[at]]}; });
        this.#draw();
    }

    #show() {
        this.#parse();
        const log = this.#log;
        log.setAttribute("aria-busy", String(this.#messages.some((message) => message.state === "open" &&
            (message.role === "agent" || message.role === "thought"))));
        fill(log, this.#messages, (message) => message.id, makeMessage, patchMessage);
        this.#none.hidden = this.#messages.length > 0;
        this.#earlier.hidden = this.#first <= 0;
        this.#newest.hidden = this.#atEnd();
        this.#stick();
    }
}

const numberOf = (message) => Number(message.id.slice(message.id.lastIndexOf(":") + 1));

// Keeps of a message what is shown of it.
function cut(message) {
    const {id, role, state, text, data, sender, time, bytes} = message;
    const kept = message.cut === undefined && bytes !== undefined ? message : {id, role, state, text: text ?? "", sender, time};
    if (kept.text.length > TEXT_MAX) {
        kept.cut = (kept.cut ?? 0) + kept.text.length - TEXT_MAX;
        kept.text = kept.text.slice(0, TEXT_MAX);
    }
    if ((role === "tool" || role === "permission") && data)
        kept.title = `${data.title ?? ""}`.slice(0, 300), kept.status = data.status, kept.answer = data.name;
    if (role === "user" && data?.pictures)
        kept.pictures = data.pictures.map(({name, bytes}) => `[picture ${name}, ${sizeOf(bytes)}]\n`).join("");
    return kept;
}

function makeMessage(message) {
    const head = el("p", {class: "top"}, el("span", {class: "who"}), el("time", {}));
    const text = el("div", {class: "text"});
    const body = message.role === "tool" || message.role === "thought"
        ? el("details", {}, el("summary", {}, head.firstChild), text) : [head, text];
    return el("div", {class: `message ${message.role}`}, body);
}

// What stands over a message: who said it, or what was done and how it ended.
function headOf(message) {
    const {role, state} = message;
    let who = role === "user" && message.sender ? message.sender : ROLES[role] ?? role;
    if (role === "permission" && state !== "open")
        return `${who}: ${message.answer ?? "withdrawn"}`;
    if (message.title && role === "tool")
        who += `: ${message.title}`;
    if (role === "tool" && message.status)
        return `${who} (${message.status})`;
    if (role === "note" && state !== "done")
        return state === "failed" ? "The turn failed" : "The turn was stopped";
    if (state === "open")
        return role === "agent" || role === "thought" ? `${who} …` : `${who} (open)`;
    return state === "done" ? who : `${who} (${state})`;
}

// Puts blocks in place of those that differ: of a text that still comes, the last one alone.
function patchBlocks(node, blocks) {
    let same = 0;
    while (same < blocks.length && same < node.childNodes.length && node.childNodes[same].isEqualNode(blocks[same]))
        same++;
    const [pre, other] = [node.childNodes[same], blocks[same]].map((block) => block?.querySelector?.(":scope > pre"));
    if (pre && other) { // it may have the focus
        setText(pre, other.textContent);
        same++;
    }
    while (node.childNodes.length > same)
        node.lastChild.remove();
    node.append(...blocks.slice(same));
}

function patchMessage(node, message) {
    setText(node.querySelector(".who"), headOf(message));
    const time = node.querySelector("time");
    if (time && message.time) {
        const at = new Date(message.time);
        time.dateTime = message.time;
        time.title = at.toLocaleString();
        setText(time, at.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit"}));
    }
    const rest = message.cut ? `\n… ${message.cut} more characters, which mas history shows` : "";
    const text = node.querySelector(".text"), shown = (message.pictures ?? "") + message.text + rest;
    if (message.role !== "agent")
        setText(text, shown);
    else if (drawn.get(text)?.shown !== shown || drawn.get(text).tree !== message.tree) {
        drawn.set(text, {shown, tree: message.tree});
        const tree = message.tree && shown.startsWith(message.tree.text) ? message.tree : {text: "", blocks: []};
        const after = shown.slice(tree.text.length);
        patchBlocks(text, [...elementsOf(tree.blocks), ...(after.trim() === "" ? [] : [after])]
            .map((block) => typeof block === "string" ? el("p", {}, block) : block));
    }
    node.dataset.state = message.state;
}
