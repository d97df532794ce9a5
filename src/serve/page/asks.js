// What an agent asks a person, each as a card with its answers: a permission, a plan, a form, an
// address to open, and whether it may go on after its budget. The first answer wins, whoever gives
// it; then the agent asks no more, and the card goes.
import {agentPath, post} from "/page/api.js";
import {act, button, el, say, setText} from "/page/dom.js";
import {formOf} from "/page/form.js";

const NAMES = {plan: "A plan to approve", form: "A form to fill in", url: "An address to open",
    permission: "A permission", budget: "A budget"};

export const kindOf = (asked) => asked.budget ? "budget" : asked.form ? "form" : asked.url ? "url"
    : asked.plan ? "plan" : "permission";

// The host of the address is spelt out as the browser will go there, because an address can be
// written so that it seems to lead elsewhere. Only addresses of the web become links.
function address(text) {
    let url = null;
    try {
        url = new URL(text);
    } catch { /* it is no address */ }
    if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
        return [el("p", {}, "It wants you to open this, which is no address of the web:"), el("code", {}, text)];
    return [el("p", {}, "It wants you to open an address at ", el("strong", {class: "host"}, url.host),
        url.protocol === "http:" ? ", without encryption" : "", ":"),
    el("a", {href: url.href, target: "_blank", rel: "noopener noreferrer"}, url.href)];
}

// What a card shows: an agent may tell more of what it asks while it waits, and then the card is another.
export const askKey = ({permission, title, details}) => JSON.stringify([permission, title, details]);

// Returns the card. `where` is {id, agent}; answered(), if given, is called after an answer from here.
export function askCard(asked, where, answered) {
    const kind = kindOf(asked);
    const wrong = el("p", {class: "wrong", role: "alert", hidden: true});
    const form = kind === "form" ? formOf(asked.form) : null;
    const card = el(form ? "form" : "section", {class: "ask", "data-kind": kind, "aria-label": NAMES[kind]},
        el("p", {class: "kind"}, NAMES[kind]), el("h3", {}, asked.title));
    if (asked.details && !form && !asked.url)
        card.append(el("pre", {tabindex: "0"}, asked.details));
    if (form)
        card.append(...form.nodes);
    if (asked.url)
        card.append(...address(asked.url));
    if (asked.onScreen)
        card.append(el("p", {class: "note"}, `Answer it on the agent's own screen, with mas attach: ${asked.onScreen}.`));

    const answer = (node, option, path, body) => act(node, async () => {
        wrong.hidden = true;
        const had = card.contains(document.activeElement);
        try {
            await post(agentPath(where.id, where.agent, path), body);
        } catch (error) {
            wrong.hidden = false;
            setText(wrong, error.status === 404 ? "Somebody else has answered, or it asks no longer." : error.message);
            return;
        }
        card.remove();
        say(`Answered: ${option}`);
        answered?.(had);
    });
    const path = kind === "budget" ? "/budget" : `/permissions/${asked.permission}`;
    const buttons = asked.options.map((option) => {
        const name = option.name ?? option.id, yes = /^(allow|clear)/.test(option.kind);
        const send = (node) => answer(node, name, path, kind === "budget" ? {}
            : {option: option.id, ...(form && yes ? {answers: form.values()} : {})});
        if (form && yes) {
            const submit = el("button", {class: "allow"}, name);
            card.addEventListener("submit", (event) => {
                event.preventDefault();
                send(submit);
            });
            return submit;
        }
        const node = button(name, () => send(node), {class: yes ? "allow" : "deny"});
        return node;
    });
    card.append(wrong, el("p", {class: `row ${kind === "budget" ? "full owner" : "answer"}`}, buttons));
    return card;
}

// What an agent asks that has this state: its permissions, or that its budget is used up.
export function asksOf({state, note, permissions}) {
    const budget = {budget: true, permission: "budget", title: note || "A limit of use is reached.",
        options: [{id: "more", name: "Let it use the same again", kind: "allow_once"}]};
    return [...(permissions ?? []), ...(state === "paused" ? [budget] : [])];
}
