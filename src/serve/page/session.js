// One session: its agents, what they have used, start and stop, and one more agent.
import {get, post, sessionPath} from "/page/api.js";
import {act, button, confirm, el, fill, refresher, setText} from "/page/dom.js";
import {nameOf, spentOf, statesOf, usedOf} from "/page/store.js";

export class SessionView {
    node = el("article", {class: "view"});
    #id;
    #title = el("h2", {tabindex: "-1"}, "Session");
    #state = el("p", {class: "note", role: "status"});
    #agents = el("ul", {class: "rows"});
    #changes = el("a", {class: "whole"}, "Changes of all agents");
    #used = el("p", {class: "note whole", hidden: true});
    #start = button("Start", () => act(this.#start, () => this.#change("/start", "started")));
    #stop = button("Stop", () => this.#askStop());
    #add = button("Add an agent", () => act(this.#add, () => this.#askAdd()));
    #read = refresher(async () => this.#show(await get(sessionPath(this.#id))), 300);

    constructor({id}) {
        this.#id = id;
        this.#start.hidden = this.#stop.hidden = true;
        this.#changes.href = `#/s/${id}/changes`;
        this.node.append(el("p", {class: "up"}, el("a", {href: "#/"}, "All sessions")), this.#title, this.#state,
            el("p", {class: "row full owner"}, this.#start, this.#stop, this.#add),
            el("section", {"aria-labelledby": "agents-title"}, el("h3", {id: "agents-title"}, "Agents"), this.#agents,
                this.#used, el("p", {}, this.#changes)));
    }

    async begin() {
        this.#show(await get(sessionPath(this.#id)));
        if (!document.body.classList.contains("part"))
            this.#showUsage(await get(sessionPath(this.#id, "/usage")));
    }

    #showUsage({total}) {
        setText(this.#used, `Used so far: ${spentOf(total)}`);
        this.#used.hidden = total.turns === 0;
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
            setText(node.querySelector(".what"), [agent.note ? `${agent.state}: ${agent.note}` : agent.state, ...usedOf(agent.usage)].join(" · "));
            node.dataset.status = agent.state;
        });
    }

    async #change(act, word, body = {}) {
        this.#show(await post(sessionPath(this.#id, act), body));
        setText(document.getElementById("said"), `The session is ${word}.`);
    }

    // What is left open, or does not fit the team, the server says.
    async #askAdd() {
        const {presets} = await get("/presets");
        const field = (name, title) => [el("label", {for: `add-${name}`}, title),
            el("input", {id: `add-${name}`, name, maxlength: 64, autocomplete: "off"})];
        const answer = await confirm("Add an agent", "Add", el("label", {for: "add-preset"}, "It runs"),
            el("select", {id: "add-preset", name: "preset"},
                presets.filter(({installed}) => installed).map(({name}) => el("option", {}, name))),
            ...field("name", "Its name (optional)"), ...field("unit", "Its unit, if the team has several"));
        if (answer !== null)
            await this.#change("/agents", "larger", Object.fromEntries(Object.entries(answer).filter(([, value]) => value)));
    }

    async #askStop() {
        const yes = await confirm("Stop the session?", "Stop",
            el("p", {}, "Its agents end; what they know comes back with the next start."));
        if (yes !== null)
            await act(this.#stop, () => this.#change("/stop", "stopped"));
    }
}
