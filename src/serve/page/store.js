// What the page knows of the sessions: the list, and the agents that wait for a person. Bounded by
// the number of sessions on the server; of agents only those that wait, at most WAITING_MAX.
import {agentPath, get, getIf, sessionPath} from "/page/api.js";
import {refresher, soon} from "/page/dom.js";

const WAITING_MAX = 200;
const ASKS_MAX = 20; // of those who wait, whose questions are shown
const LOOK_MAX = 20; // sessions that are asked at the beginning for agents that need a person
const NEEDS = new Set(["waiting", "paused"]);
const BUSY = new Set(["starting", "working", "waiting"]);

// How the newest turn of an agent ended, if not well; "" else.
export const badTurn = (agent) => BUSY.has(agent.state) || !["failed", "stopped"].includes(agent.turnEnd) ? ""
    : `the turn ${agent.turnEnd === "failed" ? "failed" : "was stopped"}${agent.turnWhy ? `: ${agent.turnWhy}` : ""}`;
// Nobody has looked at that yet.
const hasFailed = (agent) => badTurn(agent) !== "" && (agent.doneMs ?? 0) > (agent.seenMs ?? 0);

export class Store {
    sessions = new Map(); // by id
    waiting = new Map(); // by "id/agent"
    known = false; // the list has been read
    #etag = null;
    #told = null; // of these agents an event has told while the first answers came, which are older
    #changed;
    #reread = refresher(() => this.#read(), 1000);
    #readAsks = refresher(() => this.#ask(), 100);

    constructor(changed) {
        this.#changed = soon(changed, 50);
    }

    // What is known is whole.
    get settled() {
        return this.known && this.#told === null;
    }

    // Reads everything again.
    async begin() {
        const told = this.#told = new Set();
        this.waiting.clear();
        this.#etag = null;
        await this.#read();
        await this.#look(told);
        if (this.#told === told)
            this.#told = null;
    }

    async #read() {
        const answer = await getIf("/sessions", this.#etag);
        if (answer === null)
            return;
        this.#etag = answer.etag;
        this.known = true;
        this.sessions = new Map(answer.body.sessions.map((session) => [session.sessionId, session]));
        for (const [key, agent] of this.waiting)
            if (!this.sessions.has(agent.sessionId))
                this.waiting.delete(key);
        this.#changed();
    }

    async #look(told) {
        const waits = this.waits();
        const wanted = order(this.sessions.values(), waits).filter((session) => session.status === "active")
            .slice(0, LOOK_MAX); // who waits comes first
        for (const {sessionId} of wanted) {
            const whole = await get(sessionPath(sessionId));
            for (const agent of whole.agents)
                if (!told.has(`${sessionId}/${agent.id}`))
                    this.#note({...agent, sessionId, agent: agent.id});
        }
        for (const {sessionId, agent, title} of (await get("/permissions")).permissions)
            if (!this.waiting.has(`${sessionId}/${agent}`) && !told.has(`${sessionId}/${agent}`))
                this.#note({sessionId, agent, state: "waiting", asks: title});
        this.#changed();
    }

    // Reads what the first of those who wait ask, if that is not known.
    async #ask() {
        const wanted = [...this.waiting.values()].slice(0, ASKS_MAX).filter((agent) => agent.stale && !agent.failed);
        for (const agent of wanted) {
            try {
                agent.permissions = (await get(agentPath(agent.sessionId, agent.agent, "/permissions"))).permissions;
            } catch (error) {
                if (error.status === 0)
                    throw error; // the stream will say when the server is back
                agent.permissions = []; // it has ended; its row still leads there
            }
            agent.stale = false;
        }
        this.#changed();
    }

    // How many agents of each session wait.
    waits() {
        const waits = new Map();
        for (const {sessionId, failed} of this.waiting.values())
            if (!failed)
                waits.set(sessionId, (waits.get(sessionId) ?? 0) + 1);
        return waits;
    }

    #note(agent) {
        const key = `${agent.sessionId}/${agent.agent}`;
        const failed = hasFailed(agent);
        if (NEEDS.has(agent.state) || failed) {
            // who waits already keeps its place, so that nothing moves under a finger
            this.waiting.set(key, {sessionId: agent.sessionId, agent: agent.agent, state: agent.state, failed,
                note: agent.note, asks: failed ? badTurn(agent) : agent.asks ?? agent.note ?? "", since: failed ? agent.done : agent.since,
                permissions: this.waiting.get(key)?.permissions ?? [], stale: true});
            this.#readAsks();
        } else {
            this.waiting.delete(key);
        }
        if (this.waiting.size > WAITING_MAX)
            this.waiting.delete([...this.waiting.keys()].at(-1));
    }

    event(type, data) {
        if (type === "agent.state" || type === "permission")
            this.#told?.add(`${data.sessionId}/${data.agent}`);
        if (type === "session.removed") {
            this.sessions.delete(data.sessionId);
        } else if (type.startsWith("session.")) {
            this.sessions.set(data.sessionId, data);
        } else if (type === "agent.state") {
            this.#note(data);
        } else if (type === "permission") { // also if the server has found the agent in this state already
            this.#note({...data, state: "waiting", asks: data.title});
        } else {
            return;
        }
        if (type === "session.removed" || type === "session.stopped" || type === "session.crashed")
            for (const [key, agent] of this.waiting)
                if (agent.sessionId === data.sessionId)
                    this.waiting.delete(key);
        this.#readAsks(); // somebody may have moved up
        this.#reread(); // the counts of states come with the list only
        this.#changed();
    }
}

// Who waits comes first, then what runs, then the rest, each with the latest first. `waits` has the
// ids of sessions in which somebody is known to wait: the counts of the list come a little later.
export function order(sessions, waits) {
    const rank = (session) => session.status !== "active" ? 2 : waits.has(session.sessionId) ||
        (session.agentStates.waiting ?? 0) + (session.agentStates.paused ?? 0) > 0 ? 0 : 1;
    return [...sessions].sort((a, b) => rank(a) - rank(b) ||
        (a.lastActivity < b.lastActivity ? 1 : a.lastActivity > b.lastActivity ? -1 : 0));
}

// What an agent has used of its context, and of money: words, one for each that is known.
export const usedOf = (usage) => [usage?.contextSize > 0 ? `${Math.round(usage.contextUsed * 100 / usage.contextSize)} %` : "",
    usage?.cost > 0 ? costOf(usage) : ""].filter(Boolean);
export const costOf = ({cost, currency}) => `${cost.toFixed(2)} ${currency ?? ""}`.trim();

// What was used in all, of a line or the total of GET /usage.
export const spentOf = ({turns, tokens, costs}) => [`${turns} turn${turns === 1 ? "" : "s"}`,
    tokens.all > 0 ? `${tokens.all.toLocaleString("en")} tokens` : "", ...costs.map(costOf)].filter(Boolean).join(", ");

export const nameOf = (session) => session?.name || session?.tmuxSession || "a session";

export function statesOf(session, waiting = 0) {
    if (session.status === "error")
        return session.reason ?? "error";
    if (session.status === "stopped")
        return session.crashed ? "crashed" : "stopped";
    const counts = waiting > 0 && !session.agentStates.waiting ? {waiting} : session.agentStates;
    const states = Object.entries(counts).map(([state, count]) => `${count} ${state}`);
    return (session.crashed ? "crashed" : states.join(", ")) || "active";
}
