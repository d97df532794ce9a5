// The page: what the address after # names is shown, and kept up to date by the stream of events.
//
//     #/                              the sessions, and who waits
//     #/find?q=WORDS                  what was said with these words
//     #/used                          what all sessions have used
//     #/s/ID[/changes]                a session, or what all its agents have changed
//     #/s/ID/a/AGENT[/screen|changes] an agent
//     #pair=CODE                      what the QR code of `mas serve pair` has: never sent, and forgotten at once
import {AgentView} from "/page/agent.js";
import {lookForEnds, pair, signOut, tellEnd, whoami} from "/page/api.js";
import {AllChanges} from "/page/changes.js";
import {act, calm, complain, el, say, setText} from "/page/dom.js";
import {enterView} from "/page/enter.js";
import {Events} from "/page/events.js";
import {FoundView} from "/page/found.js";
import {SessionView} from "/page/session.js";
import {SessionsView} from "/page/sessions.js";
import {nameOf, Store} from "/page/store.js";
import {UsedView} from "/page/used.js";

const main = document.getElementById("main");
const link = document.getElementById("link");
const leave = document.getElementById("leave");
const bell = document.getElementById("notify");
document.body.dataset.runs = "true"; // start.js
const store = new Store(() => {
    list.update();
    title();
    notify();
});
const list = new SessionsView(document.getElementById("list"), store);
const QUIET_S = 20; // the server says something every 15 s
let heard = 0; // when the stream has said something
let view = null;
let entered = false;

const events = new Events({
    state(state) {
        link.dataset.state = state;
        tellLink();
        document.body.dataset.entered = String(entered = state !== "denied" && (entered || state === "open"));
        leave.hidden = !entered;
        offerNotices();
        if (state === "denied")
            enter();
    },
    heard() {
        heard = Date.now();
        tellLink();
    },
    begin() {
        if (!document.body.dataset.right)
            whoami().catch(complain);
        store.begin().catch(complain);
        lookForEnds();
        view?.begin().catch(complain);
    },
    event(type, data) {
        store.event(type, data);
        if (type === "operation")
            tellEnd(data);
        view?.event(type, data);
        if (type === "permission")
            say(`Agent ${data.agent} asks: ${data.title}`);
    },
});

// How old what is shown may be. Its age is not for a screen reader, which would say it each second.
function tellLink() {
    const {state} = link.dataset, seconds = Math.max(0, Math.floor((Date.now() - heard) / 1000));
    const stale = heard > 0 && (state !== "open" || seconds > QUIET_S);
    link.dataset.stale = String(stale && state !== "denied");
    const [word, age, rest] = state === "denied" ? ["not signed in", "", ""]
        : stale ? ["stale", ` ${seconds} s`, state === "open" ? "" : ", retrying"]
            : [{begins: "connecting", open: "live", lost: "no answer, retrying"}[state], "", ""];
    [word, age, rest].forEach((text, at) => setText(link.children[at], text));
}
setInterval(tellLink, 1000);

// The browser tells who waits while nobody looks, once a person has asked for that. Android can do this for service
// workers only.
function offerNotices() {
    bell.hidden = !entered || /Android/.test(navigator.userAgent) || globalThis.Notification?.permission !== "default";
}
bell.addEventListener("click", () => act(bell, async () => {
    await Notification.requestPermission();
    offerNotices();
}));

// By an event, or found when everything was read again. An agent may ask the next before it is heard that the last
// is answered.
const told = new Map(); // by "id/agent": what it asks
function notify() {
    for (const [who, waits] of store.waiting)
        if (told.get(who) !== waits.asks) {
            told.set(who, waits.asks);
            notice(who, waits);
        }
    for (const who of store.settled ? [...told.keys()] : [])
        if (!store.waiting.has(who))
            told.delete(who);
}

function notice(who, {sessionId, agent, asks, state}) {
    if (!document.hidden || globalThis.Notification?.permission !== "granted")
        return;
    const note = new Notification(`${agent} in ${nameOf(store.sessions.get(sessionId))}`,
        {body: asks || state, tag: who}); // by its tag there is one, however many pages are open
    note.onclick = () => {
        focus();
        location.hash = `#/s/${sessionId}/a/${agent}`;
        note.close();
    };
}

const ROUTE = /^#\/s\/([0-9a-f-]{36})(?:\/(changes)|\/a\/([A-Za-z0-9_-]{1,64})(?:\/(screen|changes))?)?$/;

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
    const [, id, all, agent, panel] = ROUTE.exec(location.hash) ?? [];
    if (id && agent)
        view = new AgentView({id, agent, panel}, store.sessions.get(id));
    else if (id && all)
        view = new AllChanges(id, store.sessions.get(id));
    else if (location.hash.startsWith("#/find?"))
        view = new FoundView(new URLSearchParams(location.hash.slice(7)).get("q") ?? "", store);
    else if (location.hash === "#/used")
        view = new UsedView(store);
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
