// What the pane of an agent shows.
import {agentPath, getIf} from "/page/api.js";
import {act, button, el, setText} from "/page/dom.js";

const EVERY_MS = 2000;

export class Screen {
    #id;
    #agent;
    #etag = null;
    #timer = null;
    #text = el("pre", {class: "screen", tabindex: "0", role: "region", "aria-label": "Screen of the agent"});
    #again = button("Refresh", () => act(this.#again, () => this.#read()));
    node = el("section", {class: "fill", "aria-label": "Screen"}, el("p", {class: "row"}, this.#again), this.#text);

    constructor(id, agent) {
        this.#id = id;
        this.#agent = agent;
    }

    async begin() {
        await this.#read();
        this.#timer = setInterval(() => {
            if (!document.hidden)
                this.#read().catch(() => {}); // the line of the connection says it
        }, EVERY_MS);
    }

    end() {
        clearInterval(this.#timer);
    }

    event() {}

    async #read() {
        const answer = await getIf(agentPath(this.#id, this.#agent, "/screen"), this.#etag);
        if (answer === null)
            return;
        this.#etag = answer.etag;
        setText(this.#text, answer.body.agents[0]?.text ?? "");
    }
}
