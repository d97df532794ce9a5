// Requests to the server that the page came from.

// A paired browser has its token in two halves: one in a cookie that no script can read, one here, in
// the storage of this origin, which a server at another port cannot read. Otherwise a person has
// typed a bearer token, which is kept for this tab.
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

// Asks the server who this browser is: {name, right}. Fails with 401 if it is nobody.
export async function whoami() {
    const answer = await get("/pair");
    document.body.dataset.right = answer.right;
    return answer;
}

// Gives the code that `mas serve pair` shows, and keeps what it gets for it.
export async function pair(code) {
    setToken(null);
    localStorage.setItem("half", (await post("/pair", {code})).pageToken);
    await whoami();
}

// Gives up what this browser has.
export async function signOut() {
    if (!bearer)
        await remove("/pair");
    setToken(null);
    localStorage.removeItem("half");
}

async function request(method, path, body, signal) {
    const init = {method, signal, cache: "no-store", credentials: "same-origin", redirect: "error"};
    const file = body instanceof Blob;
    init.headers = headers(body === undefined ? {} : {"Content-Type": file ? body.type : "application/json"});
    if (body !== undefined)
        init.body = file ? body : JSON.stringify(body);
    let response;
    try {
        response = await fetch(path, init);
    } catch (error) {
        if (error.name === "AbortError")
            throw error;
        throw new ApiError(0, {message: "The server does not answer; nothing was changed that it did not say."});
    }
    const answer = await read(response);
    if (!response.ok)
        throw new ApiError(response.status, answer.error ?? {});
    return answer;
}

// Gets {body, etag}, or null if it is still what had this tag.
export async function getIf(path, etag) {
    const response = await fetch(path, {cache: "no-store", credentials: "same-origin", redirect: "error",
        headers: headers(etag ? {"If-None-Match": etag} : {})});
    if (response.status === 304)
        return null;
    const body = await read(response);
    if (!response.ok)
        throw new ApiError(response.status, body.error ?? {});
    return {body, etag: response.headers.get("ETag")};
}

export const get = (path, signal) => request("GET", path, undefined, signal);
// `body` is an object, or a file, which is sent as it is.
export const post = (path, body = {}) => request("POST", path, body);
export const remove = (path) => request("DELETE", path);

// An address below a session, or an agent of it. Both are words without special characters.
export const sessionPath = (id, rest = "") => `/sessions/${id}${rest}`;
export const agentPath = (id, agent, rest = "") => `/sessions/${id}/agents/${agent}${rest}`;
