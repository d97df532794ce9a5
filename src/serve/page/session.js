// One session: its agents, start and stop.
import {get, post, sessionPath} from "/page/api.js";
import {act, button, confirm, el, fill, refresher, setText} from "/page/dom.js";
import {nameOf, statesOf} from "/page/store.js";

export class SessionView {
    node = el("article", {class: "view"});
    #id;
    #title = el("h2", {tabindex: "-1"}, "Session");
    #state = el("p", {class: "note", role: "status"});
    #agents = el("ul", {class: "rows"});
    #start = button("Start", () => act(this.#start, () => this.#change("/start", "started")));
    #stop = button("Stop", () => this.#askStop());
    #read = refresher(async () => this.#show(await get(sessionPath(this.#id))), 300);

    constructor({id}) {
        this.#id = id;
        this.#start.hidden = this.#stop.hidden = true;
        this.node.append(el("p", {class: "up"}, el("a", {href: "#/"}, "All sessions")), this.#title, this.#state,
            el("p", {class: "row full owner"}, this.#start, this.#stop),
            el("section", {"aria-labelledby": "agents-title"}, el("h3", {id: "agents-title"}, "Agents"), this.#agents));
    }

    async begin() {
        this.#show(await get(sessionPath(this.#id)));
    }

    event(type, data) {
        if (data.sessionId === this.#id && type !== "message")
            this.#read();
    }

    end() {
        this.#read.cancel?.();
    }

    #show(session) {
        setText(this.#title, nameOf(session));
        setText(this.#state, `${statesOf(session)}; ${session.template}; ${session.workingDir}`);
        this.#start.hidden = session.status === "active" && !session.crashed;
        this.#stop.hidden = session.status !== "active";
        fill(this.#agents, session.agents, (agent) => agent.id, (agent) => el("li", {},
            el("a", {href: `#/s/${this.#id}/a/${agent.id}`}, el("span", {class: "where"}), el("span", {class: "what"}))),
        (node, agent) => {
            setText(node.querySelector(".where"), agent.role ? `${agent.id}, ${agent.role}` : agent.id);
            setText(node.querySelector(".what"), agent.note ? `${agent.state}: ${agent.note}` : agent.state);
            node.dataset.status = agent.state;
        });
    }

    async #change(act, word) {
        this.#show(await post(sessionPath(this.#id, act)));
        setText(document.getElementById("said"), `The session is ${word}.`);
    }

    async #askStop() {
        const yes = await confirm("Stop the session?", "Stop",
            el("p", {}, "Its agents end; what they know comes back with the next start."));
        if (yes !== null)
            await act(this.#stop, () => this.#change("/stop", "stopped"));
    }
}
