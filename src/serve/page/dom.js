// Makes elements. Text becomes text nodes only, so nothing that an agent or a person wrote can
// become markup.

// el("p", {class: "note", onclick: f, hidden: true}, "text", child...): attributes that begin with
// "on" are listeners; true sets an empty attribute; false, null and undefined leave it out.
export function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === false || value === null || value === undefined)
            continue;
        if (name.startsWith("on"))
            node.addEventListener(name.slice(2), value);
        else
            node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
}

// Sets the text of a node only if it differs, so that a screen reader does not say it again.
export function setText(node, text) {
    if (node.textContent !== text)
        node.textContent = text;
}

export function button(text, onclick, attributes = {}) {
    return el("button", {type: "button", onclick, ...attributes}, text);
}

// Enter sends what is in a field, Shift-Enter makes a line. An input method takes Enter for itself while it composes:
// Safari says so by the code 229 alone.
export function sendsByEnter(field, form) {
    field.enterKeyHint = "send";
    field.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.shiftKey || event.altKey || event.isComposing || event.keyCode === 229)
            return;
        event.preventDefault();
        if (!event.repeat)
            form.requestSubmit();
    });
}

// Says a short text to a screen reader.
export function say(text) {
    setText(document.getElementById("said"), text);
}

// What a person can do about an error. What names an address is for programs: there are buttons here.
export function hintOf(error) {
    return (error.hint ?? "").split("; ").filter((part) => !/\b(GET|POST|DELETE) \//.test(part)).join("; ");
}

let alertTimer;
// Shows what went wrong for ten seconds, or until another view is opened or something else is done.
export function complain(error) {
    const node = document.getElementById("alert");
    const hint = hintOf(error);
    clearTimeout(alertTimer);
    node.textContent = hint ? `${error.message} (${hint})` : error.message;
    node.hidden = false;
    alertTimer = setTimeout(calm, 10000);
}

export function calm() {
    document.getElementById("alert").hidden = true;
}

// Runs an action of a button: the button is disabled meanwhile, and a failure is shown.
export async function act(node, action) {
    if (node.disabled)
        return;
    node.disabled = true;
    calm();
    try {
        await action();
    } catch (error) {
        if (error.name !== "AbortError")
            complain(error);
    } finally {
        node.disabled = false;
    }
}

// Asks before something that cannot be undone; resolves to what the form has, or null.
export function confirm(title, yes, ...fields) {
    return new Promise((resolve) => {
        const form = el("form", {method: "dialog"}, el("h2", {id: "dialog-title"}, title), fields,
            el("p", {class: "row"}, el("button", {value: "yes", class: "strong"}, yes),
                el("button", {value: "no", formnovalidate: true}, "Back")));
        const dialog = el("dialog", {"aria-labelledby": "dialog-title"}, form);
        dialog.addEventListener("close", () => {
            const answer = dialog.returnValue === "yes" ? Object.fromEntries(new FormData(form)) : null;
            dialog.remove();
            resolve(answer);
        });
        document.body.append(dialog);
        dialog.showModal();
    });
}

// "3 min" since a time in ISO 8601.
export function age(time) {
    const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
    const units = [["d", 86400], ["h", 3600], ["min", 60]];
    for (const [name, size] of units)
        if (seconds >= size)
            return `${Math.floor(seconds / size)} ${name}`;
    return `${Math.floor(seconds)} s`;
}

export const sizeOf = (bytes) => bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

// Makes the children of `parent` those of `items`, in order. A child whose key stays is kept, with
// its focus, and patched.
export function fill(parent, items, keyOf, make, patch) {
    const old = new Map();
    for (const child of parent.children)
        old.set(child.dataset.key, child);
    let at = parent.firstElementChild;
    for (const item of items) {
        const key = String(keyOf(item));
        let node = old.get(key);
        if (node === undefined) {
            node = make(item);
            node.dataset.key = key;
        }
        old.delete(key);
        if (node === at)
            at = at.nextElementSibling;
        else
            parent.insertBefore(node, at);
        patch?.(node, item);
    }
    for (const node of old.values())
        node.remove();
}

// Calls `run` soon, once for any number of calls meanwhile.
export function soon(run, ms = 100) {
    let timer = null;
    const call = () => {
        timer ??= setTimeout(() => {
            timer = null;
            run();
        }, ms);
    };
    call.cancel = () => {
        clearTimeout(timer);
        timer = null;
    };
    return call;
}

// Calls an asynchronous `run` soon, never twice at the same time.
export function refresher(run, ms = 100) {
    let running = false, again = false;
    const call = soon(async () => {
        if (running) {
            again = true;
            return;
        }
        running = true;
        try {
            await run();
        } catch (error) {
            if (error.name !== "AbortError" && error.status !== 0)
                complain(error);
        }
        running = false;
        if (again) {
            again = false;
            call();
        }
    }, ms);
    return call;
}
