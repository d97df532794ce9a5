// What agents write in Markdown, as elements. The server reads it and sends trees (POST /markdown); what is here
// makes elements of them. Markup in it is text.
import {post} from "/page/api.js";
import {act, button, el, say} from "/page/dom.js";

const TAGS = {paragraph: "p", quote: "blockquote", item: "li", rule: "hr", row: "tr", emphasis: "em", strong: "strong", typed: "code"};

export const treesOf = async (texts) => (await post("/markdown", {texts})).trees;

// Only a secure context has a clipboard to write to; a page over plain HTTP has not.
async function copy(pre) {
    if (navigator.clipboard) {
        await navigator.clipboard.writeText(pre.textContent);
    } else {
        getSelection().selectAllChildren(pre);
        if (!document.execCommand("copy"))
            throw new Error("The browser does not let the page copy; the code is selected.");
        getSelection().removeAllRanges();
    }
    say("Copied.");
}

function code({language, parts}) {
    const pre = el("pre", {class: "code", tabindex: "0"}, parts);
    const node = button("Copy", () => act(node, () => copy(pre)), {class: "copy", "aria-label": "Copy the code"});
    return el("div", {class: "block"}, pre, el("p", {class: "row"}, node, el("span", {class: "note"}, language ?? "")));
}

function table({parts: [titles, ...rows]}) {
    const row = ({parts}, tag) => el("tr", {}, parts.map((cell) => el(tag,
        {class: cell.align ?? null, scope: tag === "th" ? "col" : null}, partsOf(cell))));
    return el("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Table"},
        el("table", {}, el("thead", {}, row(titles, "th")), el("tbody", {}, rows.map((one) => row(one, "td")))));
}

const MADE = {
    code, table,
    heading: (part) => el("p", {class: "heading", role: "heading", "aria-level": Math.min(part.level + 3, 6)}, partsOf(part)),
    list: (part) => part.start === undefined ? el("ul", {}, partsOf(part)) : el("ol", {start: part.start}, partsOf(part)),
    link: (part) => /^(https?|mailto):/i.test(part.address)
        ? el("a", {href: part.address, target: "_blank", rel: "noopener noreferrer"}, partsOf(part)) : el("span", {}, partsOf(part)),
};

const partsOf = ({parts}) => elementsOf(parts);

export const elementsOf = (parts) => parts.map((part) => typeof part === "string" ? part
    : MADE[part.kind]?.(part) ?? el(TAGS[part.kind] ?? "span", {}, partsOf(part)));
