// One agent: what it asks, a prompt to it, and one of three panels.
import {agentPath, get, post, sessionPath} from "/page/api.js";
import {Asides} from "/page/asides.js";
import {asksOf, askCard, askKey} from "/page/asks.js";
import {Changes} from "/page/changes.js";
import {Composer} from "/page/compose.js";
import {Conversation} from "/page/conversation.js";
import {act, button, confirm, el, fill, refresher, say, setText} from "/page/dom.js";
import {Screen} from "/page/screen.js";
import {badTurn, nameOf, usedOf} from "/page/store.js";

const PANELS = {conversation: [Conversation, "Conversation"], screen: [Screen, "Screen"],
    changes: [Changes, "Changes"]};

export class AgentView {
    node = el("article", {class: "view agent"});
    title;
    live; // whose text the stream has to carry
    #id;
    #agent;
    #panel;
    #permissions = el("div", {class: "permissions", role: "region", "aria-label": "What the agent asks"});
    #session = el("span");
    #name = el("h2", {tabindex: "-1"});
    #state = el("p", {class: "note", role: "status"});
    #used = el("p", {class: "used"});
    #where = refresher(() => this.#readWhere(), 1000);
    #asides;
    #composer;
    #cancel = button("Cancel turn",
        () => act(this.#cancel, () => this.#do("/cancel", "The turn was cancelled.")), {class: "deny"});
    #again = button("Ask again", () => act(this.#again, () => this.#askAgain()), {hidden: true});
    #clear = button("Clear context", () => this.#askClear());
    #wake = button("Wake", () => act(this.#wake, () => this.#do("/wake", "The agent is awake.")));
    #sleep = button("Put to sleep", () => act(this.#sleep, () => this.#do("/sleep", "The agent is asleep.")));
    #restart = button("Restart", () => this.#askRestart());
    #settings = el("div", {class: "settings owner"});
    #more = el("details", {class: "more"}, el("summary", {}, "More"), el("div", {class: "panel"}, this.#settings,
        el("p", {class: "row"}, this.#clear, this.#wake, this.#sleep, this.#restart)));
    #asked = 0; // how often its state was asked
    #shown = 0; // which of these answers is shown
    #read = refresher(() => this.#readState(), 30);

    constructor({id, agent, panel}, session) {
        this.#id = id;
        this.#agent = agent;
        this.#session.textContent = nameOf(session);
        this.#name.textContent = agent;
        this.title = `${agent} · mas`;
        const name = PANELS[panel] ? panel : "conversation";
        this.#panel = new PANELS[name][0](id, agent);
        this.live = name === "conversation" ? `${id}/${agent}` : null;
        const tabs = Object.entries(PANELS).map(([key, [, title]]) => el("a", {
            href: `#/s/${id}/a/${agent}${key === "conversation" ? "" : `/${key}`}`,
            "aria-current": key === name ? "page" : null}, title));
        this.#composer = new Composer(id, agent, this.#asides = new Asides(id, agent), [this.#more, this.#again, this.#cancel]);
        this.#more.addEventListener("keydown", (event) => {
            if (event.key === "Escape" && this.#more.open) {
                this.#more.open = false;
                this.#more.firstElementChild.focus();
            }
        });
        this.node.addEventListener("pointerdown", (event) => {
            if (!this.#more.contains(event.target))
                this.#more.open = false;
        });
        this.#cancel.hidden = true;
        this.#more.inert = true; // and not hidden: what is there from the beginning does not move later
        this.node.append(
            el("div", {class: "head"}, el("p", {class: "up"}, el("a", {href: `#/s/${id}`}, this.#session), " ›"),
                this.#name, this.#state, this.#used),
            el("nav", {class: "tabs", "aria-label": "Views of the agent"}, tabs),
            this.#panel.node, ...(name === "changes" ? [this.#permissions]
                : [this.#asides.node, this.#permissions, this.#composer.node]));
    }

    async begin() {
        this.#where();
        // a stopped session still has its conversation, and no screen
        const [state, panel] = await Promise.allSettled([this.#readState(), this.#panel.begin(), this.#asides.begin()]);
        if (panel.status === "rejected" && panel.reason.status !== 410)
            throw panel.reason;
        if (state.status === "rejected" && state.reason.status !== 410)
            throw state.reason;
    }

    event(type, data) {
        if (data.sessionId !== this.#id || (data.agent !== undefined && data.agent !== this.#agent))
            return;
        this.#panel.event(type, data);
        this.#asides.event(type, data);
        if (type === "live")
            return;
        this.#read();
        this.#where();
    }

    end() {
        this.#read.cancel();
        this.#where.cancel();
        this.#panel.end();
    }

    // In which session, with which role, and how much of its context and of money is used.
    async #readWhere() {
        const session = await get(sessionPath(this.#id));
        const {role, usage} = session.agents.find(({id}) => id === this.#agent) ?? {};
        setText(this.#session, nameOf(session));
        setText(this.#name, role ? `${this.#agent} ${role}` : this.#agent);
        setText(this.#used, usedOf(usage).map((text) => `· ${text}`).join(" "));
    }

    async #readState() {
        const number = ++this.#asked;
        try {
            const state = await get(agentPath(this.#id, this.#agent));
            if (number < this.#shown)
                return; // what was asked later is there already
            this.#shown = number;
            this.#show(state);
        } catch (error) {
            if (error.status !== 410)
                throw error;
            setText(this.#state, "The session does not run.");
            this.#permissions.replaceChildren();
            this.#composer.show(null);
            this.#again.hidden = this.#cancel.hidden = true;
            this.#more.inert = true;
        }
    }

    #show(state) {
        const {talks} = state;
        const queued = state.queued > 0 ? `, ${state.queued} queued` : "";
        const note = state.note && state.state !== "waiting" && state.state !== "paused" ? `: ${state.note}` : "";
        const turn = badTurn(state);
        const memory = state.memory ? `, memory: ${state.memory}` : "";
        setText(this.#state, `${state.state}${queued}${turn && `, ${turn}`}${memory}${turn.includes(state.note) ? "" : note}`);
        this.#state.dataset.state = turn ? "failed" : state.state;
        this.#composer.show(state);
        this.#again.hidden = !talks || turn === "";
        this.#cancel.hidden = !talks || (state.state !== "working" && state.state !== "waiting");
        this.#more.inert = false;
        this.#clear.hidden = !talks;
        this.#wake.hidden = state.state !== "asleep";
        this.#sleep.hidden = state.states !== "told" || state.state !== "idle";
        this.#showSettings(state);
        const asks = asksOf(state);
        fill(this.#permissions, asks, askKey,
            (asked) => askCard(asked, {id: this.#id, agent: this.#agent}, (had) => {
                // a person who has gone on to something else stays there
                if (had || document.activeElement === document.body)
                    document.querySelector("#main h2")?.focus();
                this.#read();
            }));
        this.node.classList.toggle("asked", asks.length > 0);
    }

    // The mode and the options that the agent offers. What a person is choosing at is left alone.
    #showSettings(state) {
        const mode = {id: "mode", name: "Mode", value: state.mode ?? "", values: state.modes ?? []};
        const given = (state.options ?? []).filter((option) => Array.isArray(option.values) && option.values.length > 0);
        const settings = [...(mode.values.length > 0 ? [{...mode, path: "/mode", member: "mode"}] : []),
            ...given.map((option) => ({...option, path: `/options/${encodeURIComponent(option.id)}`, member: "value"}))];
        fill(this.#settings, settings, (setting) => setting.path, (setting) => this.#setting(setting), (node, setting) => {
            const select = node.querySelector("select");
            if (select === document.activeElement)
                return;
            setText(node.querySelector("span"), setting.name ?? setting.id);
            fill(select, setting.values, (value) => value.value ?? value.id,
                (value) => el("option", {value: value.value ?? value.id}),
                (option, value) => setText(option, value.name ?? value.value ?? value.id));
            select.value = String(setting.value);
        });
    }

    #setting({path, member, name, id}) {
        const select = el("select", {onchange: () => act(select, async () => {
            select.blur();
            await this.#do(path, `${name ?? id} was set.`, {[member]: select.value});
        })});
        return el("label", {class: "setting"}, el("span", {}), select);
    }

    async #do(act, words, body = {}) {
        await post(agentPath(this.#id, this.#agent, act), body);
        this.#more.open = false;
        await this.#readState();
        say(words);
    }

    // What the last turn was about, which failed or was stopped.
    async #askAgain() {
        const {messages} = await get(agentPath(this.#id, this.#agent, "/history?role=user&limit=50"));
        const asked = messages.findLast(({state}) => state === "failed" || state === "interrupted");
        if (asked === undefined)
            throw new Error("What the last turn was about is not known any more.");
        await this.#do("/prompts", "Sent again.", {prompt: asked.text, pictures: asked.data?.pictures ?? []});
    }

    async #askRestart() {
        this.#more.open = false;
        const yes = await confirm(`Restart agent ${this.#agent}?`, "Restart",
            el("p", {}, "Its program ends and begins anew; what it is doing now is cut off."));
        if (yes !== null)
            await act(this.#restart, () => this.#do("/restart", "The agent was restarted."));
    }

    async #askClear() {
        this.#more.open = false;
        const answer = await confirm(`Clear the context of agent ${this.#agent}?`, "Clear",
            el("p", {}, "It forgets what was said; the history keeps it."),
            el("label", {for: "then"}, "Then ask (optional)"),
            el("textarea", {id: "then", name: "then", rows: 3}));
        if (answer !== null)
            await act(this.#clear, () => this.#do("/clear", "The context was cleared.",
                answer.then.trim() === "" ? {} : {then: answer.then}));
    }

}
