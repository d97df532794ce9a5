// Calls every operation of the API with a client that a generator has made from its description:
// node client.mjs MODULES CLIENT URL TOKEN
//
// CLIENT is the directory with what the generator made. Fails if an operation was not called, if an
// answer is not as described, or if one that should succeed does not.
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, made, url, token] = process.argv.slice(2);
const require = createRequire(join(modules, "x.cjs"));
const Ajv = require("ajv/dist/2020").default;
const sdk = await import(join(made, "index.mjs"));
const { client } = await import(join(made, "client.gen.mjs"));
client.setConfig({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });

const description = await (await fetch(`${url}/openapi.json`, { headers: { Authorization: `Bearer ${token}` } })).json();
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(description, "api");
const operations = new Map();
for (const [path, item] of Object.entries(description.paths))
    for (const [method, operation] of Object.entries(item))
        if (method !== "parameters")
            operations.set(operation.operationId, { path, method, operation });

const called = new Map(); // the statuses of each operation
let failed = 0;
const complain = (words) => {
    console.error(words);
    failed++;
};

function check(name, status, type, body) {
    const known = operations.get(name).operation.responses[status];
    if (!known)
        return complain(`${name}: the status ${status} is not described: ${JSON.stringify(body)}`);
    const said = known.$ref ? description.components.responses[known.$ref.split("/").at(-1)] : known;
    const schema = said.content?.["application/json"]?.schema;
    if (!schema || !type?.startsWith("application/json"))
        return;
    const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')));
    if (!validate(body))
        complain(`${name} ${status}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`);
}

// Calls an operation; `wants` is the status that it must have.
async function call(name, options = {}, wants) {
    const operation = sdk[name] ?? sdk[`${name}_`]; // some names mean something else in a browser
    if (!operation)
        return complain(`the generated client has no ${name}`);
    const abort = new AbortController();
    const { stream, ...rest } = options;
    const result = await operation({ ...rest, signal: abort.signal, ...(stream ? { parseAs: "stream" } : {}) });
    let status = result.response?.status;
    if (result.stream) { // of events
        const first = await result.stream.next();
        status = first.done ? 0 : 200;
    } else {
        check(name, status, result.response.headers.get("content-type"), result.data ?? result.error);
    }
    if (stream)
        abort.abort();
    called.set(name, [...(called.get(name) ?? []), status]);
    if (wants !== undefined && status !== wants)
        complain(`${name}: ${status}, not ${wants}: ${JSON.stringify(result.error)}`);
    return result.data;
}

const run = await call("createRun", { body: { agents: {}, template: "solo", preset: "scripted", name: "one" } }, 201);
const id = run.sessionId;
const one = { path: { id } };
const agent = { path: { id, agent: "solo" } };
const item = (name) => ({ path: { id, agent: "solo", item: name } });

for (const name of ["listSessions", "allPermissions", "usage", "diskUse", "doctor", "listJobs", "presets", "templates",
    "operations", "metrics", "openapi", "health", "paired", "config"])
    await call(name, {}, 200);
await call("page", { stream: true }, 200);
await call("pageFile", { path: { item: "app.js" }, stream: true }, 200);
await call("search", { query: { q: "harbour" } }, 200);
for (const name of ["template", "checkTemplate"])
    await call(name, { path: { item: "solo" } }, 200);
for (const name of ["getSession", "sessionUsage", "sessionDiskUse", "sessionEnv"])
    await call(name, one, 200);
await call("sessionLog", { ...one, stream: true }, 200);
await call("sessionDiff", one);
await call("sendMessage", { ...one, body: { target: "solo", message: "SAY:harbour" } }, 200);
const asked = await call("prompt", { ...agent, body: { prompt: "ASK" } }, 202);
const state = async (wanted) => {
    for (let i = 0; i < 600; i++) {
        const now = await call("agent", agent, 200);
        if (now?.state === wanted)
            return;
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    complain(`the agent is never ${wanted}`);
};
await state("waiting");
const open = await call("permissions", agent, 200);
await call("permit", { ...item(open.permissions[0].permission), body: { option: "allow" } }, 200);
await state("idle");
await call("cancel", { ...agent, body: { prompt: asked.prompt } }, 200);
for (const name of ["history", "context", "screen"])
    await call(name, agent, 200);
await call("agentLog", { ...agent, stream: true }, 200);
await call("agentDiff", agent);
await call("reviewLines", agent);
await call("review", { ...agent, body: { comments: [{ text: "why?" }] } });
await call("setMode", { ...agent, body: { mode: "nosuch" } });
await call("setOption", { ...item("nosuch"), body: { value: "x" } });
await call("setConversation", { ...agent, body: { conversation: "new" } }, 200);
await call("extendBudget", { ...agent, body: { more: "turns=5" } });
await call("kept", agent, 200);
await call("deleteKept", { ...agent, query: { all: true } }, 200);
await call("setSession", { path: { id, item: "private" }, body: { value: "yes" } }, 200);
await call("setAgent", { ...item("budget.turns"), body: { value: "100" } }, 200);
await call("askAside", { ...agent, body: { prompt: "SAY:aside" } }, 202);
await call("clear", { ...agent, body: {} }, 200);
for (const name of ["seen", "restartAgent", "sleepAgent", "wakeAgent"])
    await call(name, { ...agent, body: {} });
for (const name of ["merge", "sync", "land", "archive"])
    await call(name, { ...one, body: name === "merge" ? { agents: ["solo"] } : {} }, 202);
await call("migrate", { ...one, body: { dryRun: true } }, 202);
await call("clean", { body: { keep: 5, dryRun: true } }, 202);
const repair = await call("repair", { body: {} }, 202);
await call("operation", { path: { item: repair.operation } }, 200);
await call("cancelOperation", { path: { item: repair.operation } });
let told = false; // something has to happen while it listens
const listening = call("events", { stream: true }).then(() => (told = true));
while (!told) {
    await call("setSession", { path: { id, item: "private" }, body: { value: "no" } }, 200);
    await call("sendMessage", { ...one, body: { target: "solo", message: "SAY:heard" } });
    await Promise.race([listening, new Promise((resolve) => setTimeout(resolve, 500))]);
}
await state("idle");
await call("stopSession", { ...one, body: {} }, 200);
await call("downloadArchive", { ...one, parseAs: "blob" }, 200);
await call("startSession", { ...one, body: {} }, 200);
await call("restoreSession", { body: new Blob(["no archive"]), query: { name: "two" } });
await call("removeSession", { ...one, query: { force: true } }, 200);
await call("pair", { body: { code: "00000000" } }, 403);
await call("unpair", {});

for (const name of operations.keys())
    if (!called.has(name))
        complain(`${name} was not called`);
for (const [name, statuses] of called)
    console.log(name, [...new Set(statuses)].join(" "));
console.log(`${called.size} of ${operations.size} operations, ${failed} complaints`);
process.exit(failed ? 1 : 0);
