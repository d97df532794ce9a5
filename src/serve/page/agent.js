// One agent: what it asks, a prompt to it, and one of three panels.
import {agentPath, get, post, sessionPath} from "/page/api.js";
import {asksOf, askCard} from "/page/asks.js";
import {Changes} from "/page/changes.js";
import {Conversation} from "/page/conversation.js";
import {act, button, confirm, el, fill, refresher, say, setText} from "/page/dom.js";
import {Screen} from "/page/screen.js";

const PANELS = {conversation: [Conversation, "Conversation"], screen: [Screen, "Screen"],
    changes: [Changes, "Changes"]};

export class AgentView {
    node = el("article", {class: "view agent"});
    title;
    live; // whose text the stream has to carry
    #id;
    #agent;
    #panel;
    #acp = false;
    #permissions = el("div", {class: "permissions", role: "region", "aria-label": "What the agent asks"});
    #state = el("p", {class: "note", role: "status"});
    #text = el("textarea", {id: "prompt", rows: 1, maxlength: 1000000});
    #send = el("button", {class: "strong"}, "Send");
    #cancel = button("Cancel the turn",
        () => act(this.#cancel, () => this.#do("/cancel", "The turn was cancelled.")), {class: "deny"});
    #clear = button("Clear context", () => this.#askClear());
    #wake = button("Wake", () => act(this.#wake, () => this.#do("/wake", "The agent is awake.")));
    #sleep = button("Put to sleep", () => act(this.#sleep, () => this.#do("/sleep", "The agent is asleep.")));
    #restart = button("Restart", () => this.#askRestart());
    #settings = el("div", {class: "settings"});
    #more = el("details", {class: "more"}, el("summary", {}, "More"), el("div", {class: "panel"}, this.#settings,
        el("p", {class: "row"}, this.#clear, this.#wake, this.#sleep, this.#restart)));
    #read = refresher(() => this.#readState(), 30);

    constructor({id, agent, panel}, nameOf) {
        this.#id = id;
        this.#agent = agent;
        this.title = `${agent} · mas`;
        const name = PANELS[panel] ? panel : "conversation";
        this.#panel = new PANELS[name][0](id, agent);
        this.live = name === "conversation" ? `${id}/${agent}` : null;
        const tabs = Object.entries(PANELS).map(([key, [, title]]) => el("a", {
            href: `#/s/${id}/a/${agent}${key === "conversation" ? "" : `/${key}`}`,
            "aria-current": key === name ? "page" : null}, title));
        const form = el("form", {class: "prompt full", onsubmit: (event) => this.#submit(event)},
            el("label", {for: "prompt", class: "hidden"}, `Prompt to agent ${agent}`),
            el("div", {class: "write"}, this.#text, this.#send), el("div", {class: "row"}, this.#more, this.#cancel));
        this.#text.placeholder = `Prompt to ${agent}`;
        this.#text.addEventListener("keydown", (event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
                form.requestSubmit();
        });
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
            el("p", {class: "up"}, el("a", {href: `#/s/${id}`}, nameOf(id))),
            el("div", {class: "head"}, el("h2", {tabindex: "-1"}, `Agent ${agent}`), this.#state),
            el("nav", {class: "tabs", "aria-label": "Views of the agent"}, tabs),
            this.#panel.node, this.#permissions, name === "changes" ? "" : form);
    }

    async begin() {
        // a stopped session still has its conversation
        const [state, panel] = await Promise.allSettled([this.#readState(), this.#panel.begin()]);
        if (panel.status === "rejected")
            throw panel.reason;
        if (state.status === "rejected" && state.reason.status !== 410)
            throw state.reason;
    }

    event(type, data) {
        if (data.sessionId !== this.#id || (data.agent !== undefined && data.agent !== this.#agent))
            return;
        this.#panel.event(type, data);
        if (type !== "live")
            this.#read();
    }

    end() {
        this.#read.cancel();
        this.#panel.end();
    }

    async #readState() {
        try {
            this.#show(await get(agentPath(this.#id, this.#agent)));
        } catch (error) {
            if (error.status !== 410)
                throw error;
            setText(this.#state, "The session does not run.");
            this.#permissions.replaceChildren();
            this.#send.disabled = true;
            this.#cancel.hidden = true;
            this.#more.inert = true;
        }
    }

    #show(state) {
        this.#acp = state.protocol === "acp";
        const queued = state.queued > 0 ? `, ${state.queued} queued` : "";
        const note = state.note && state.state !== "waiting" && state.state !== "paused" ? `: ${state.note}` : "";
        setText(this.#state, `${state.state}${queued}${note}`);
        this.#state.dataset.state = state.state;
        this.#send.disabled = false;
        this.#cancel.hidden = !this.#acp || (state.state !== "working" && state.state !== "waiting");
        this.#more.inert = false;
        this.#clear.hidden = !this.#acp;
        this.#wake.hidden = state.state !== "asleep";
        this.#sleep.hidden = !this.#acp || state.state !== "idle";
        this.#showSettings(state);
        const asks = asksOf(state);
        fill(this.#permissions, asks, (asked) => asked.permission,
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
        say(words);
        await this.#readState();
    }

    #submit(event) {
        event.preventDefault();
        const text = this.#text.value;
        if (text.trim() === "")
            return;
        act(this.#send, async () => {
            if (this.#acp)
                await post(agentPath(this.#id, this.#agent, "/prompts"), {prompt: text});
            else
                await post(sessionPath(this.#id, "/messages"), {target: this.#agent, message: text});
            if (this.#text.value === text)
                this.#text.value = "";
            say("Sent.");
        });
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
