// Where a person writes to an agent. To one that talks there are three ways: a prompt, which waits
// for its turn; now, which the agent sees in the turn that it is in; and aside, which a copy answers.
// The last two are offered where the agent has told that it can do them.
import {agentPath, isGuest, post, sessionPath} from "/page/api.js";
import {act, complain, el, fill, say, sendsByEnter, setText} from "/page/dom.js";
import {Pictures} from "/page/pictures.js";

const WAYS = {
    prompt: ["Prompt", (agent) => `Prompt to ${agent}`],
    now: ["Now", (agent) => `To ${agent} now, in its turn`],
    aside: ["Aside", (agent) => `Ask a copy of ${agent}, which leaves no trace`],
};

export class Composer {
    #id;
    #agent;
    #asides;
    #talks = false;
    #pictures;
    #runs = true; // as far as is known
    #text = el("textarea", {id: "prompt", rows: 1, maxlength: 1000000});
    #label = el("label", {for: "prompt", class: "hidden"});
    #way = el("select", {"aria-label": "How to send it"});
    #send = el("button", {class: "strong"}, "Send");
    #isKnown;
    #known = new Promise((resolve) => { this.#isKnown = resolve; }); // before that, nothing is sent
    node;

    // `asides` gets what is asked aside; `more` are the elements below the field.
    constructor(id, agent, asides, more) {
        this.#id = id;
        this.#agent = agent;
        this.#asides = asides;
        this.node = el("form", {class: "prompt full", onsubmit: (event) => this.#submit(event)}, this.#label,
            el("div", {class: "write"}, this.#text, this.#send));
        this.#pictures = new Pictures(id, this.node, this.#text);
        this.node.append(el("div", {class: "row"}, this.#way, this.#pictures.add, more));
        this.#way.addEventListener("change", () => this.#name());
        sendsByEnter(this.#text, this.node);
        this.#offer(["prompt"]);
        this.#name();
    }

    // What the agent is; null: it does not run, so nothing can be sent.
    show(state) {
        this.#talks = Boolean(state?.talks);
        this.#pictures.offer(Boolean(state?.can?.pictures));
        this.#send.disabled = state === null;
        if (this.#runs !== (state !== null)) {
            this.#runs = state !== null;
            this.#name();
        }
        if (state === null)
            return;
        const ways = Object.keys(WAYS).filter((way) => way === "prompt" || (state.can?.[way] && !(isGuest() && way === "aside")));
        this.#offer(ways);
        this.#way.hidden = !this.#talks || ways.length === 1;
        this.#isKnown();
    }

    // A way that a person has chosen, and that is there no more, does not become another one unsaid.
    #offer(ways) {
        const [name] = WAYS[this.#way.value || "prompt"];
        const gone = this.#way.value !== "" && !ways.includes(this.#way.value);
        fill(this.#way, ways, (way) => way, (way) => el("option", {value: way}),
            (option, way) => setText(option, WAYS[way][0]));
        if (!gone)
            return;
        this.#way.value = "prompt";
        this.#name();
        complain({message: `${this.#agent} has no ${name} any more; what you write is a prompt`});
    }

    #name() {
        this.#text.placeholder = this.#label.textContent = this.#runs ? WAYS[this.#way.value][1](this.#agent)
            : `${this.#agent} does not run; start the session to write to it`;
    }

    #submit(event) {
        event.preventDefault();
        const text = this.#text.value;
        if (text.trim() === "" && this.#pictures.count === 0)
            return;
        act(this.#send, async () => {
            await this.#known;
            const way = this.#talks ? this.#way.value : "now";
            if (way === "aside" && this.#pictures.count > 0)
                throw new Error(`A copy of ${this.#agent} gets no pictures; choose another way, or remove them.`);
            const pictures = await this.#pictures.keep();
            const said = await this.#deliver(text, way, pictures);
            this.#pictures.sent(pictures);
            if (this.#text.value === text)
                this.#text.value = "";
            if (said)
                say(said);
        });
    }

    async #deliver(text, way, pictures) {
        if (way === "prompt") {
            await post(agentPath(this.#id, this.#agent, "/prompts"), {prompt: text, pictures});
            return "Sent.";
        }
        if (way === "aside") {
            await this.#asides.ask(text);
            return null; // it has said so, and maybe more
        }
        const {agents: [{why}]} = await post(sessionPath(this.#id, "/messages"),
            {target: this.#agent, message: text, pictures, ...(this.#talks ? {now: true} : {})});
        if (why)
            complain({message: `${this.#agent} gets it after its turn: ${why}`});
        return why ? "Sent for later." : "Sent.";
    }
}
