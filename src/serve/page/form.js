// A form that an agent asks a person to fill in (a flat JSON schema), as fields. What is typed stays
// in the fields until it is sent; it is kept nowhere else.
import {el} from "/page/dom.js";

const LONG = 200; // characters from which a text gets several lines
const KINDS = {email: "email", uri: "url", date: "date", "date-time": "datetime-local", password: "password"};
let forms = 0; // for the ids of fields, which are of the whole document

const choicesOf = (field) => {
    const list = ["enum", "oneOf", "anyOf"].map((key) => (field.items ?? field)[key]).find(Array.isArray);
    const names = (field.items ?? field).enumNames;
    return list?.map((one, i) => typeof one === "object" && one !== null
        ? {value: String(one.const), name: String(one.title ?? one.const)}
        : {value: String(one), name: String(names?.[i] ?? one)});
};

// These make the element of a field, and a function that returns its value, undefined: none.

function several(field, attributes, choices) {
    const chosen = new Set(Array.isArray(field.default) ? field.default.map(String) : []);
    const boxes = choices.map(({value, name}) => ({value, name, box: el("input", {type: "checkbox",
        checked: chosen.has(value)})}));
    return {group: true, node: el("div", {class: "choices"},
        boxes.map(({name, box}) => el("label", {class: "check"}, box, el("span", {}, name)))),
    value: () => boxes.filter(({box}) => box.checked).map(({value}) => value)};
}

function oneOf(field, attributes, choices) {
    const node = el("select", attributes, attributes.required && field.default !== undefined ? null
        : el("option", {value: ""}, "Choose"),
    choices.map(({value, name}, i) => el("option", {value: String(i), selected: value === String(field.default ?? "")
        && field.default !== undefined}, name)));
    return {node, value: () => choices[node.value]?.value};
}

function flag(field, attributes) {
    const node = el("input", {...attributes, required: false, type: "checkbox", checked: field.default === true});
    return {check: true, node, value: () => node.checked};
}

function number(field, attributes) {
    const node = el("input", {...attributes, type: "number", step: field.type === "integer" ? 1 : "any",
        min: field.minimum, max: field.maximum, value: field.default,
        inputmode: field.type === "integer" ? "numeric" : "decimal"});
    return {node, value: () => node.value === "" ? undefined : node.value};
}

function text(field, attributes) {
    const limits = {minlength: field.minLength, maxlength: field.maxLength};
    const secret = field.format === "password" || field.writeOnly === true;
    const node = field.maxLength > LONG && !secret
        ? el("textarea", {...attributes, ...limits, rows: 3})
        : el("input", {...attributes, ...limits, value: secret ? null : field.default, spellcheck: secret ? "false" : null,
            type: secret ? "password" : KINDS[field.format] ?? "text"});
    if (node.localName === "textarea")
        node.value = field.default ?? "";
    return {node, value: () => node.value === "" ? undefined : node.value};
}

function make(field, attributes) {
    const choices = choicesOf(field);
    if (field.type === "array")
        return several(field, attributes, choices ?? []);
    if (choices)
        return oneOf(field, attributes, choices);
    if (field.type === "boolean")
        return flag(field, attributes);
    return field.type === "number" || field.type === "integer" ? number(field, attributes) : text(field, attributes);
}

// Returns the elements of all fields, and values(): what is filled in, by the names of the fields.
export function formOf(schema) {
    const required = new Set(schema.required ?? []);
    const fields = Object.entries(schema.properties ?? {});
    const form = ++forms;
    const parts = fields.map(([name, field], i) => {
        const id = `field-${form}-${i}`, help = field.description ? `${id}-help` : null;
        const attributes = {id, required: required.has(name), autocomplete: "off", "aria-describedby": help};
        const part = make(field, attributes);
        const title = `${field.title ?? name}${required.has(name) ? "" : " (optional)"}`;
        const note = help ? el("p", {id: help, class: "note"}, field.description) : null;
        if (part.group)
            part.box = el("fieldset", {"aria-describedby": help}, el("legend", {}, title), note, part.node);
        else if (part.check)
            part.box = el("div", {class: "field"}, el("label", {class: "check"}, part.node, el("span", {}, field.title ?? name)), note);
        else
            part.box = el("div", {class: "field"}, el("label", {for: id}, title), note, part.node);
        return {...part, name};
    });
    return {
        nodes: parts.map((part) => part.box),
        values: () => Object.fromEntries(parts.map((part) => [part.name, part.value()])
            .filter(([name, value]) => value !== undefined && (!Array.isArray(value) || value.length > 0 || required.has(name)))),
    };
}
