// Questions that copies of an agent answer, without a trace in its conversation. Only this page knows
// which they are, so they are kept here while it is open; each is an operation of the server.
import {agentPath, operationOf, post, remove} from "/page/api.js";
import {act, button, complain, el, fill, hintOf, say, setText} from "/page/dom.js";
import {elementsOf, treesOf} from "/page/markdown.js";

const KEPT = 5; // of one agent
const AGENTS = 50;
const QUESTION_MAX = 300; // characters that are shown
const ANSWER_MAX = 20000;
const STATES = {waiting: "waiting for its turn", running: "being answered", done: "answered",
    failed: "failed", cancelled: "cancelled", lost: "lost"};
const kept = new Map(); // by "id/agent": the asides, oldest first

const isOver = (aside) => !["waiting", "running"].includes(aside.state);

export class Asides {
    node = el("div", {class: "asides", role: "region", "aria-label": "Asides"});
    #id;
    #agent;
    #asides;

    constructor(id, agent) {
        const key = `${id}/${agent}`;
        this.#id = id;
        this.#agent = agent;
        this.#asides = kept.get(key) ?? [];
        kept.delete(key);
        kept.set(key, this.#asides); // the last that was looked at
        if (kept.size > AGENTS)
            kept.delete(kept.keys().next().value);
        this.#show();
    }

    // Looks what has become of those that are not over, of which no event may have come.
    async begin() {
        for (const aside of this.#asides.filter((one) => !isOver(one)))
            this.#take(await operationOf(aside.operation));
    }

    async ask(text) {
        const begun = await post(agentPath(this.#id, this.#agent, "/asides"), {prompt: text});
        this.#asides.push({operation: begun.operation, state: begun.state, question: text.slice(0, QUESTION_MAX)});
        if (this.#asides.length > KEPT)
            this.#asides.splice(0, this.#asides.length - KEPT);
        this.#show();
        say("Asked aside.");
        await this.begin(); // its end may have come before its number
    }

    event(type, data) {
        if (type === "operation")
            this.#take(data);
    }

    #take({operation, state, output, error}) {
        const aside = this.#asides.find((one) => one.operation === operation);
        if (aside === undefined || isOver(aside))
            return;
        aside.state = state;
        const answer = error ? [error.message, hintOf(error)].filter(Boolean).join("\n") : output ?? "";
        aside.answer = answer.length > ANSWER_MAX ? `${answer.slice(0, ANSWER_MAX)}\n…` : answer;
        this.#show();
        if (isOver(aside))
            say(`Aside ${STATES[state]}.`);
    }

    #show() {
        fill(this.node, this.#asides, (aside) => aside.operation, (aside) => this.#card(aside), (card, aside) => {
            const over = isOver(aside);
            card.setAttribute("aria-busy", String(!over));
            card.dataset.state = aside.state;
            setText(card.querySelector(".kind"), `Aside, ${STATES[aside.state]}`);
            const answer = card.querySelector(".answer");
            if (over && !answer.hasChildNodes()) {
                answer.append(aside.answer);
                treesOf([aside.answer]).then(([blocks]) => blocks && answer.replaceChildren(...elementsOf(blocks)), complain);
            }
            card.querySelector(".cancel").hidden = over;
            card.querySelector(".close").hidden = !over;
        });
    }

    #card(aside) {
        const cancel = button("Cancel", () => act(cancel, async () => {
            await remove(`/operations/${aside.operation}`);
        }), {class: "cancel owner", "aria-label": "Cancel the aside"});
        const close = button("Close", () => {
            this.#asides.splice(this.#asides.indexOf(aside), 1);
            this.#show();
            document.getElementById("prompt")?.focus();
        }, {class: "close", "aria-label": "Close the aside"});
        return el("section", {class: "aside", "aria-label": "Aside"}, el("p", {class: "kind"}),
            el("p", {class: "question"}, aside.question), el("div", {class: "answer text"}),
            el("p", {class: "row"}, cancel, close));
    }
}
