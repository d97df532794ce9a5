// What was said in all conversations, by the words of a search.
import {get} from "/page/api.js";
import {age, el, setText} from "/page/dom.js";
import {nameOf} from "/page/store.js";

const SHOWN = 50;

export class FoundView {
    node = el("article", {class: "view"});
    title = "Search · mas";
    #words;
    #store;
    #state = el("p", {class: "note", role: "status"}, "Searching …");
    #rows = el("ul", {class: "rows"});

    constructor(words, store) {
        this.#words = words;
        this.#store = store;
        this.node.append(el("p", {class: "up"}, el("a", {href: "#/"}, "All sessions")),
            el("h2", {tabindex: "-1"}, `What was said: ${words}`), this.#state, this.#rows);
    }

    async begin() {
        const {messages, total} = await get(`/search?${new URLSearchParams({q: this.#words, limit: SHOWN})}`);
        setText(this.#state, total > messages.length ? `The best ${messages.length} of ${total} messages`
            : `${total} message${total === 1 ? "" : "s"}`);
        this.#rows.replaceChildren(...messages.map(({sessionId, agent, role, time, snippet}) => el("li", {},
            el("a", {href: `#/s/${sessionId}/a/${agent}`},
                el("span", {}, el("span", {class: "where"}, agent), ` in ${nameOf(this.#store.sessions.get(sessionId))}`),
                el("time", {}, age(time)), el("span", {class: "what"}, `${role}: ${snippet}`)))));
    }

    event() {}
    end() {}
}
