// What all sessions have used, and with which account.
import {get} from "/page/api.js";
import {el, setText} from "/page/dom.js";
import {nameOf, spentOf} from "/page/store.js";

const line = (where, one) => [el("span", {class: "where"}, where), " ", el("span", {class: "what"}, spentOf(one))];

export class UsedView {
    node = el("article", {class: "view"});
    title = "Used · mas";
    #store;
    #state = el("p", {class: "note", role: "status"}, "Adding up …");
    #accounts = el("section", {"aria-labelledby": "accounts-title", hidden: true});
    #rows = el("ul", {class: "rows"});

    constructor(store) {
        this.#store = store;
        this.node.append(el("p", {class: "up"}, el("a", {href: "#/"}, "All sessions")),
            el("h2", {tabindex: "-1"}, "What was used"), this.#state, this.#rows, this.#accounts);
    }

    async begin() {
        const [{usage, total, problems}, accounts] =
            await Promise.all(["session", "account"].map((by) => get(`/usage?by=${by}`)));
        const missing = problems.length > 0 ? `; ${problems.length} of the sessions cannot be read` : "";
        setText(this.#state, `All sessions: ${spentOf(total)}${missing}`);
        this.#rows.replaceChildren(...usage.map((one) => el("li", {}, el("a", {href: `#/s/${one.sessionId}`},
            line(nameOf(this.#store.sessions.get(one.sessionId)), one)))));
        this.#accounts.hidden = !accounts.usage.some(({account}) => account);
        this.#accounts.replaceChildren(el("h3", {id: "accounts-title"}, "Accounts"), el("ul", {class: "rows"},
            accounts.usage.map((one) => el("li", {}, line(one.account ?? "without one", one)))));
    }

    event() {}
    end() {}
}
