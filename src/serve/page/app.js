// The page: what the address after # names is shown, and kept up to date by the stream of events.
//
//     #/                              the sessions, and who waits
//     #/s/ID                          a session
//     #/s/ID/a/AGENT[/screen|changes] an agent
//     #pair=CODE                      what the QR code of `mas serve pair` has: never sent, and forgotten at once
import {AgentView} from "/page/agent.js";
import {pair, signOut, whoami} from "/page/api.js";
import {act, calm, complain, el, say, setText} from "/page/dom.js";
import {enterView} from "/page/enter.js";
import {Events} from "/page/events.js";
import {SessionView} from "/page/session.js";
import {SessionsView} from "/page/sessions.js";
import {nameOf, Store} from "/page/store.js";

const main = document.getElementById("main");
const link = document.getElementById("link");
const leave = document.getElementById("leave");
const store = new Store(() => {
    list.update();
    title();
});
const list = new SessionsView(document.getElementById("list"), store);
let view = null;
let entered = false;

const events = new Events({
    state(state) {
        setText(link, {begins: "connecting", open: "connected", lost: "Connection lost; trying again. What you see may be old.", denied: "not signed in"}[state]);
        link.dataset.state = state;
        document.body.dataset.entered = String(entered = state !== "denied" && (entered || state === "open"));
        leave.hidden = !entered;
        if (state === "denied")
            enter();
    },
    begin() {
        store.begin().catch(complain);
        view?.begin().catch(complain);
    },
    event(type, data) {
        store.event(type, data);
        view?.event(type, data);
        if (type === "permission")
            say(`Agent ${data.agent} asks: ${data.title}`);
    },
});

const ROUTE = /^#\/s\/([0-9a-f-]{36})(?:\/a\/([A-Za-z0-9_-]{1,64})(?:\/(screen|changes))?)?$/;

function follow() {
    events.follow(view?.live ?? null);
}

// How many wait is in the title, where it is seen while the page is not.
function title() {
    const count = store.waiting.size > 0 ? `(${store.waiting.size}) ` : "";
    const name = `${count}${view?.title ?? "mas"}`;
    if (document.title !== name)
        document.title = name;
}

// Shows what the address names. With `focus`, its title gets the focus, as after a link.
function route(focus) {
    view?.end();
    const [, id, agent, panel] = ROUTE.exec(location.hash) ?? [];
    if (id && agent)
        view = new AgentView({id, agent, panel}, (session) => nameOf(store.sessions.get(session)));
    else if (id)
        view = new SessionView({id});
    else
        view = null;
    document.body.dataset.view = view ? "one" : "home";
    main.replaceChildren(view?.node ?? el("p", {class: "note"}, "Choose a session."));
    list.select(id ?? "", agent ?? "");
    title();
    if (focus)
        document.querySelector(view ? "#main h2" : "#waits-title")?.focus();
    follow();
    if (entered)
        view?.begin().catch(complain);
}

function enter() {
    view?.end();
    view = null;
    document.body.dataset.view = "enter";
    main.replaceChildren(enterView(() => route(true)));
    main.querySelector("h2").focus();
}

leave.addEventListener("click", () => act(leave, async () => {
    await signOut();
    location.hash = "#/";
    location.reload();
}));
document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    (view || document.body.dataset.view === "enter" ? main : document.getElementById("waits-title")).focus();
});
addEventListener("hashchange", () => {
    calm();
    route(true);
});

const offered = /^#pair=([A-Za-z0-9-]{1,20})$/.exec(location.hash);
if (offered)
    history.replaceState(null, "", "/#/");
(offered ? pair(offered[1]) : whoami()).then(() => route(false), (error) => {
    if (error.status === 0) // the stream tries again
        return route(false);
    enter();
    if (error.status !== 401)
        complain(error);
});
