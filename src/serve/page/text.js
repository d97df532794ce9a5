// The text of an agent as elements: of Markdown what makes it easier to read (code, headings, lists,
// bold words), everything else as it is. Links stay text, and markup stays text.
import {el} from "/page/dom.js";

// Code and bold words of a line.
function inline(text) {
    const parts = [];
    let at = 0;
    for (const found of text.matchAll(/`([^`\n]+)`|\*\*([^*\n]+)\*\*/g)) {
        parts.push(text.slice(at, found.index), found[1] !== undefined ? el("code", {}, found[1]) : el("strong", {}, found[2]));
        at = found.index + found[0].length;
    }
    parts.push(text.slice(at));
    return parts.filter((part) => part !== "");
}

// Returns the blocks of a text. One pass over its lines, so that no text takes long.
export function blocksOf(text) {
    const blocks = [];
    let words = [], code = null, fence = "";
    const flush = () => {
        if (words.join("").trim() !== "")
            blocks.push(el("p", {}, inline(words.join("\n"))));
        words = [];
    };
    for (const line of text.split("\n")) {
        const ticks = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1];
        if (code !== null) {
            if (ticks && ticks.startsWith(fence)) {
                blocks.push(el("pre", {class: "code", tabindex: "0"}, code.join("\n")));
                code = null;
            } else {
                code.push(line);
            }
            continue;
        }
        const heading = /^#{1,6} +(.+)$/.exec(line);
        const item = /^(\s*)(?:[-*+]|(\d{1,4}[.)])) +(.*)$/.exec(line);
        if (ticks) {
            flush();
            code = [];
            fence = ticks;
        } else if (heading) {
            flush();
            blocks.push(el("p", {class: "heading"}, inline(heading[1])));
        } else if (item) {
            flush();
            blocks.push(el("p", {class: item[1].length > 1 ? "item deep" : "item"}, `${item[2] ?? "•"} `, inline(item[3])));
        } else if (line.trim() === "") {
            flush();
        } else {
            words.push(line);
        }
    }
    flush();
    if (code !== null) // its end has not come yet
        blocks.push(el("pre", {class: "code", tabindex: "0"}, code.join("\n")));
    return blocks;
}
