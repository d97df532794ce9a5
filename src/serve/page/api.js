// Requests to the server that the page came from.

// A paired browser has its token in two halves: one in a cookie that no script can read, one here, in
// the storage of this origin, which a server at another port cannot read. Otherwise a person has
// typed a bearer token, which is kept for this tab.
const ANSWER_MS = [15000, 30000, 60000]; // for an answer; what may be sent again is, as it may be lost on the way
let bearer = sessionStorage.getItem("token");
const half = () => localStorage.getItem("half"); // read anew: another tab may have signed in again

export class ApiError extends Error {
    constructor(status, error) {
        super(error.message ?? `the server answered ${status}`);
        this.name = "ApiError";
        this.status = status;
        this.code = error.code;
        this.hint = error.hint;
    }
}

export function setToken(token) {
    bearer = token;
    if (token)
        sessionStorage.setItem("token", token);
    else
        sessionStorage.removeItem("token");
}

export function headers(more = {}) {
    if (bearer)
        return {Authorization: `Bearer ${bearer}`, ...more};
    return half() ? {"Mas-Page-Token": half(), ...more} : more;
}

async function read(response) {
    const text = await response.text();
    try {
        return text === "" ? {} : JSON.parse(text);
    } catch {
        return {};
    }
}

// Asks the server who this browser is: {name, right}, and of a guest {session, agents}. Fails with 401 if it is
// nobody. What is only for the owner (.owner) is not shown to a guest, and what tells of a whole session (.whole) not
// to one of single agents.
export async function whoami() {
    const answer = await get("/pair");
    document.body.dataset.right = answer.right;
    document.body.classList.toggle("guest", answer.session !== undefined);
    document.body.classList.toggle("part", (answer.agents ?? []).length > 0);
    return answer;
}

export const isGuest = () => document.body.classList.contains("guest");

// Gives the code that `mas serve pair` shows, and keeps what it gets for it.
export async function pair(code) {
    setToken(null);
    localStorage.setItem("half", (await request("POST", "/pair", {body: {code}, again: true})).body.pageToken);
    await whoami();
}

// Gives up what this browser has.
export async function signOut() {
    if (!bearer)
        await remove("/pair");
    setToken(null);
    localStorage.removeItem("half");
}

// Returns {body, etag}, or null if it is still what had this tag. With `again`, it does no harm to send it twice.
async function request(method, path, {body, etag, again = method === "GET"} = {}) {
    const init = {method, cache: "no-store", credentials: "same-origin", redirect: "error"};
    const file = body instanceof Blob;
    init.headers = headers({...(body === undefined ? {} : {"Content-Type": file ? body.type : "application/json"}),
        ...(etag ? {"If-None-Match": etag} : {})});
    if (body !== undefined)
        init.body = file ? body : JSON.stringify(body);
    for (let tries = 0; ; tries++) {
        let response, answer;
        try {
            response = await fetch(path, {...init, ...(again ? {signal: AbortSignal.timeout(ANSWER_MS[tries])} : {})});
            answer = await read(response);
        } catch (error) {
            if (error.name === "TimeoutError" && tries + 1 < ANSWER_MS.length)
                continue;
            throw new ApiError(0, {message: "The server does not answer; nothing was changed that it did not say."});
        }
        if (response.status === 304)
            return null;
        if (!response.ok)
            throw new ApiError(response.status, answer.error ?? {});
        return {body: answer, etag: response.headers.get("ETag")};
    }
}

export const getIf = (path, etag) => request("GET", path, {etag});
export const get = async (path) => (await request("GET", path)).body;
// `body` is an object, or a file, which is sent as it is.
export const post = async (path, body = {}) => (await request("POST", path, {body})).body;

const ends = new Map(); // by the id of an operation: what awaits it

// Does what takes long: resolves, once the server tells its end, to what the command printed.
export async function perform(path, body) {
    const {operation} = await post(path, body);
    const end = new Promise((resolve, reject) => ends.set(operation, ({state, output, error}) => state === "done"
        ? resolve(output) : reject(new ApiError(500, error ?? {message: "It was cancelled."}))));
    lookForEnds(); // it may have come before its number
    return end;
}

export function tellEnd(data) {
    if (data.state === "waiting" || data.state === "running")
        return;
    ends.get(data.operation)?.(data);
    ends.delete(data.operation);
}

// Also after a break, in which no event has come. What cannot be asked for now is asked for after the next one.
export function lookForEnds() {
    for (const operation of ends.keys())
        operationOf(operation).then(tellEnd, () => {});
}

// What has become of an operation. A server that was started anew knows nothing of it.
export async function operationOf(operation) {
    try {
        return await get(`/operations/${operation}`);
    } catch (error) {
        if (error.status !== 404)
            throw error;
        return {operation, state: "lost", error: {message: "The server no longer knows how it ended: it was started anew, or an hour has passed."}};
    }
}

export const remove = async (path) => (await request("DELETE", path)).body;

// An address below a session, or an agent of it. Both are words without special characters.
export const sessionPath = (id, rest = "") => `/sessions/${id}${rest}`;
export const agentPath = (id, agent, rest = "") => `/sessions/${id}/agents/${agent}${rest}`;
