// What an agent has changed, or all of a session: to compare, to comment on, and to take.
import {agentPath, get, perform, post, sessionPath} from "/page/api.js";
import {act, button, confirm, el, say, setText} from "/page/dom.js";
import {costOf, nameOf} from "/page/store.js";

const FILES = 20; // shown at a time
const LINES = 400; // of a file
const CHECKS = {pass: "the check passes", fail: "the check fails"};

export class Changes {
    node = el("section", {class: "fill changes", role: "region"});
    #id;
    #agent;
    #branch = "";
    #files = [];
    #from = 0;
    #comments = new Map(); // by "file\nline\ntext of the line"
    #list = el("div", {});
    #commits = el("details", {class: "file", hidden: true});
    #state = el("p", {class: "note", role: "status"});
    #back = button("Previous files", () => this.#turn(-FILES));
    #next = button("Next files", () => this.#turn(FILES));
    #again = button("Refresh", () => act(this.#again, () => this.#read()));
    #merge = button("Merge", () => this.#askMerge(), {class: "full owner"});
    #send = button("Send comments", () => act(this.#send, () => this.#deliver()), {class: "strong full owner"});

    constructor(id, agent) {
        this.#id = id;
        this.#agent = agent;
        this.node.setAttribute("aria-label", `Changes of ${agent}`);
        this.#send.hidden = this.#merge.hidden = this.#back.hidden = this.#next.hidden = true;
        this.#state.textContent = "Reading the changes …";
        this.node.append(el("p", {class: "row"}, this.#again, this.#merge, this.#send), this.#state, this.#commits, this.#list,
            el("p", {class: "row"}, this.#back, this.#next));
    }

    async begin() {
        try {
            await this.#read();
        } catch (error) {
            this.#state.textContent = "No changes can be shown.";
            throw error;
        }
    }

    event() {}
    end() {}

    async #read() {
        const {agents: [agent]} = await get(agentPath(this.#id, this.#agent, "/diff"));
        this.take(agent);
        this.#commits.hidden = !(agent?.ahead > 0);
        if (this.#commits.hidden)
            return;
        const {agents: [{commits, more}]} = await get(agentPath(this.#id, this.#agent, "/commits"));
        this.#commits.replaceChildren(el("summary", {}, `Commits that are not merged: ${commits.length}${more ? " or more" : ""}`),
            el("ol", {class: "text"}, commits.map((commit) => this.#commit(commit))));
    }

    #commit({commit, subject, author, merge}) {
        const pick = button("Pick", () => act(pick, async () => {
            await perform(agentPath(this.#id, this.#agent, "/pick"), {commit});
            say("The commit was picked.");
            this.#again.focus();
            await this.#read();
        }), {class: "copy full owner", hidden: merge, "aria-label": `Pick ${subject}`});
        return el("li", {}, el("code", {}, commit.slice(0, 8)), ` ${subject}, ${author} `, pick);
    }

    async #askMerge() {
        const yes = await confirm(`Merge the work of ${this.#agent}?`, "Merge",
            el("p", {}, "What it has committed comes into the integration branch, if the check of the session passes."));
        if (yes !== null)
            await act(this.#merge, async () => {
                await perform(sessionPath(this.#id, "/merge"), {agents: [this.#agent]});
                say("The work is merged.");
                await this.#read();
            });
    }

    // Shows what the server says of an agent.
    take(agent) {
        this.#branch = agent?.branch ?? "";
        this.#files = agent?.files ?? [];
        this.#merge.hidden = !(agent?.ahead > 0);
        this.#show();
    }

    #turn(by) {
        this.#from += by;
        this.#show();
        this.#list.querySelector("summary")?.focus();
    }

    #show() {
        if (this.#from >= this.#files.length)
            this.#from = 0;
        const shown = this.#files.slice(this.#from, this.#from + FILES);
        this.#list.replaceChildren(...shown.map((file) => this.#file(file)));
        this.#state.textContent = this.#files.length === 0 ? "Nothing has changed."
            : `${this.#files.length} changed file${this.#files.length === 1 ? "" : "s"} on ${this.#branch}`;
        this.#back.hidden = this.#next.hidden = this.#files.length <= FILES;
        this.#back.disabled = this.#from === 0;
        this.#next.disabled = this.#from + FILES >= this.#files.length;
        this.#count();
    }

    #count() {
        const count = this.#comments.size;
        this.#send.hidden = count === 0;
        this.#send.textContent = `Send ${count} comment${count === 1 ? "" : "s"}`;
    }

    #file(file) {
        const name = file.oldPath ? `${file.oldPath} to ${file.path}` : file.path;
        const box = el("details", {class: "file", open: true}, el("summary", {},
            `${name}: ${file.status}, +${file.added} −${file.removed}`));
        if (file.binary)
            box.append(el("p", {class: "note"}, "A binary file."));
        let left = LINES;
        const table = el("ol", {class: "hunks"});
        for (const hunk of file.hunks ?? []) {
            const numbers = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(hunk.header);
            let before = Number(numbers?.[1] ?? 0), after = Number(numbers?.[2] ?? 0);
            table.append(el("li", {class: "hunk"}, hunk.header));
            for (const line of hunk.lines) {
                if (left-- <= 0)
                    break;
                const number = line[0] === "-" ? before : after, at = after;
                before += line[0] !== "+" && line[0] !== "\\" ? 1 : 0;
                after += line[0] !== "-" && line[0] !== "\\" ? 1 : 0;
                table.append(this.#line(file.path, number, at, line));
            }
        }
        box.append(table);
        if (left < 0)
            box.append(el("p", {class: "note"}, `The file has more than ${LINES} lines of changes; mas diff shows all.`));
        return box;
    }

    // `at` is where the line is, or was, in the file of now.
    #line(path, number, at, line) {
        const kind = {"+": "added", "-": "removed"}[line[0]] ?? "same";
        const key = `${path}\n${number}\n${line}`, place = {path, number: at, line};
        const item = el("li", {class: kind});
        const open = button(String(number), () => this.#edit(item, key, place, number),
            {class: "number", "aria-label": `Comment on line ${number}, ${kind}`});
        item.append(open, el("code", {}, line));
        if (this.#comments.has(key))
            this.#edit(item, key, place, number, false);
        return item;
    }

    // Opens the field for a comment below a line.
    #edit(item, key, place, number, focus = true) {
        let field = item.querySelector("textarea");
        if (field === null) {
            field = el("textarea", {rows: 2, maxlength: 4000, "aria-label": `Comment on ${place.path}, line ${number}`,
                oninput: () => {
                    if (field.value.trim() === "")
                        this.#comments.delete(key);
                    else
                        this.#comments.set(key, {...place, text: field.value.trim()});
                    this.#count();
                },
                onblur: () => field.value.trim() === "" && field.remove()});
            field.value = this.#comments.get(key)?.text ?? "";
            item.append(field);
        }
        if (focus)
            field.focus();
    }

    async #deliver() {
        const {stale} = await post(agentPath(this.#id, this.#agent, "/review"), {comments: [...this.#comments.values()]});
        this.#comments.clear();
        this.#show();
        say(stale > 0 ? `The comments were sent; ${stale} of them to lines that are gone.` : "The comments were sent.");
        this.#again.focus();
    }
}

// Those of all agents of a session that have changed something.
export class AllChanges {
    node = el("article", {class: "view"});
    title = "Changes · mas";
    #id;
    #state = el("p", {class: "note", role: "status"}, "Reading the changes …");
    #check = button("Run the check on each", () => act(this.#check, async () => {
        this.#compare(JSON.parse(await perform(sessionPath(this.#id, "/compare"))));
        say("The check has run.");
    }), {hidden: true});
    #agents = el("div", {});

    constructor(id, session) {
        this.#id = id;
        this.node.append(el("p", {class: "up"}, el("a", {href: `#/s/${id}`}, nameOf(session))),
            el("h2", {tabindex: "-1"}, "Changes of all agents"), this.#state,
            el("p", {class: "row full owner"}, this.#check), this.#agents);
    }

    // Once: what a person writes below a line stays, and each agent has a button to read it again.
    async begin() {
        if (this.#agents.hasChildNodes())
            return;
        const {agents} = await get(sessionPath(this.#id, "/diff"));
        const changed = agents.filter(({files}) => files?.length > 0);
        setText(this.#state, `${changed.length} of ${agents.length} agent${agents.length === 1 ? " has" : "s have"} changed something.`);
        this.#agents.replaceChildren(...changed.map((agent) => {
            const changes = new Changes(this.#id, agent.id);
            changes.take(agent);
            return el("section", {"data-agent": agent.id}, el("h3", {}, el("a", {href: `#/s/${this.#id}/a/${agent.id}`}, agent.id)),
                el("p", {class: "note"}), el("details", {class: "file", hidden: true}), changes.node);
        }));
        this.#compare(await get(sessionPath(this.#id, "/compare")));
    }

    // Says of each what it took, and whether the check passes.
    #compare({check, agents}) {
        this.#check.hidden = check === "" || !this.#agents.hasChildNodes();
        for (const agent of agents) {
            const section = this.#agents.querySelector(`:scope > [data-agent="${agent.agent}"]`);
            if (section === null)
                continue;
            const {result, why, output} = agent.check;
            const words = [agent.error, agent.preset, agent.error ? "" : `+${agent.added} −${agent.removed}`, CHECKS[result],
                agent.cost > 0 ? costOf(agent) : "", agent.workedMs > 0 ? `${Math.ceil(agent.workedMs / 60000)} min` : "", agent.state];
            setText(section.querySelector(".note"), words.filter(Boolean).join(" · "));
            section.querySelector("details").hidden = result === "not run";
            section.querySelector("details").replaceChildren(el("summary", {}, "What the check says"),
                el("pre", {class: "code"}, [output, why].filter(Boolean).join("\n")));
        }
    }

    event() {}
    end() {}
}
