// The pictures that go with what a person writes: chosen, dropped or pasted. They are sent to the
// server with the words, not before.
import {post, sessionPath} from "/page/api.js";
import {button, complain, el, fill, say, sizeOf} from "/page/dom.js";

// as in model/picture.h; pictures.bats compares
const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const SIZE = 5; // MiB of one
const COUNT = 8;
const SIZES = 20; // MiB of all
const MIB = 1024 * 1024;

export class Pictures {
    #id;
    #taken = false; // the agent takes pictures
    #chosen = []; // {key, file, kept}; kept: what the server has answered
    #next = 0;
    #input = el("input", {type: "file", accept: KINDS.join(), multiple: true, hidden: true, "aria-label": "Pictures"});
    add = button("Picture …", () => this.#input.click(), {hidden: true,
        title: `PNG, JPEG, GIF or WebP; at most ${SIZE} MiB each, ${COUNT} together; or drop or paste them`});
    list = el("ul", {class: "pictures", "aria-label": "Pictures to send"});

    // They can be dropped on `form` and pasted into `field`.
    constructor(id, form, field) {
        this.#id = id;
        this.#input.addEventListener("change", () => {
            this.#take(this.#input.files);
            this.#input.value = "";
        });
        form.append(this.list, this.#input);
        field.addEventListener("paste", (event) => this.#come(event, event.clipboardData));
        form.addEventListener("drop", (event) => this.#come(event, event.dataTransfer));
        form.addEventListener("dragover", (event) => {
            if (event.dataTransfer.types.includes("Files"))
                event.preventDefault(); // else the browser would leave the page for the file
        });
        this.#show();
    }

    get count() {
        return this.#chosen.length;
    }

    // What was chosen stays, and is refused when it is sent, with the reason.
    offer(taken) {
        this.#taken = taken;
        this.add.hidden = !taken;
    }

    // Has the server keep them. Returns what names them in a request.
    async keep() {
        for (const one of this.#chosen)
            one.kept ??= await post(sessionPath(this.#id, `/pictures?name=${encodeURIComponent(one.file.name)}`), one.file);
        return this.#chosen.map(({kept: {file, name}}) => ({file, name}));
    }

    // Those that were sent go.
    sent(names) {
        this.#chosen = this.#chosen.filter(({kept}) => !names.some(({file}) => file === kept?.file));
        this.#show();
    }

    #come(event, data) {
        if (!data?.files.length)
            return;
        event.preventDefault();
        if (this.#taken)
            this.#take(data.files);
        else
            complain({message: "The agent takes no pictures."});
    }

    #refusal(file) {
        const all = this.#chosen.reduce((sum, one) => sum + one.file.size, file.size);
        return !KINDS.includes(file.type) ? "it is no picture in PNG, JPEG, GIF or WebP"
            : file.size > SIZE * MIB ? `it has ${sizeOf(file.size)}, and at most ${SIZE} MiB are sent`
            : this.count === COUNT ? `at most ${COUNT} are sent at once`
            : all > SIZES * MIB ? `at most ${SIZES} MiB are sent at once` : null;
    }

    #take(files) {
        const wrong = [], taken = [];
        for (const file of files) {
            const why = this.#refusal(file);
            if (why !== null) {
                wrong.push(`${file.name}: ${why}`);
                continue;
            }
            this.#chosen.push({key: ++this.#next, file});
            taken.push(file.name);
        }
        this.#show();
        if (taken.length > 0)
            say(`To be sent: ${taken.join(", ")}`);
        if (wrong.length > 0)
            complain({message: wrong.join("; ")});
    }

    #show() {
        this.list.hidden = this.count === 0;
        fill(this.list, this.#chosen, (one) => one.key, (one) => this.#item(one));
    }

    #item(one) {
        const {name, size} = one.file;
        return el("li", {}, `${name}, ${sizeOf(size)} `, button("Remove", () => {
            this.#chosen = this.#chosen.filter((other) => other !== one);
            this.#show();
            say(`Removed: ${name}`);
            (this.list.querySelector("button") ?? this.add).focus();
        }, {"aria-label": `Remove ${name}`}));
    }
}
