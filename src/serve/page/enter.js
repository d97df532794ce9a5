// How a person signs in: with the code that `mas serve pair` shows, or with a token.
import {get, pair, setToken, whoami} from "/page/api.js";
import {act, el} from "/page/dom.js";

function fields(title, id, help, attributes, send) {
    const input = el("input", {id, required: true, autocomplete: "off", "aria-describedby": `${id}-help`, ...attributes});
    const form = el("form", {class: "enter"}, el("label", {for: id}, title), input,
        el("p", {id: `${id}-help`, class: "note"}, help), el("button", {class: "strong"}, "Sign in"));
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        act(form.querySelector("button"), () => send(input.value.trim()));
    });
    return form;
}

export function enterView(done) {
    return el("div", {class: "enter"}, el("h2", {tabindex: "-1"}, "Sign in"),
        fields("Code", "code", "On the machine of the server, mas serve pair shows one.",
            {autocapitalize: "characters", spellcheck: "false", maxlength: 20}, async (code) => {
                await pair(code);
                done();
            }),
        el("details", {}, el("summary", {}, "With a token"),
            fields("Token", "token", "For example the one in the file serve.token of the root. It is kept for this tab only.",
                {type: "password"}, async (token) => {
                    setToken(token);
                    try {
                        await get("/sessions?limit=0");
                        await whoami();
                    } catch (error) {
                        setToken(null);
                        throw error.status === 401 ? new Error("The token is wrong.") : error;
                    }
                    done();
                })));
}
