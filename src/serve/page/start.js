// Loads the page again if a file of it was lost on the way: a browser asks for a module only once.
const PATIENCE_MS = 20000;
const AGAIN_MS = 2000;

const begin = () => document.body?.dataset.runs || location.reload();

addEventListener("error", ({target}) => target.tagName === "SCRIPT" && setTimeout(begin, AGAIN_MS), {capture: true});
setTimeout(begin, PATIENCE_MS);
