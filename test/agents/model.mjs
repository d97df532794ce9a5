#!/usr/bin/env node
// A model server without a model, on 127.0.0.1, for tests of real agents. It speaks what they speak:
//
//   Anthropic messages      POST .../messages
//   OpenAI responses        POST .../responses
//   OpenAI chat             POST .../chat/completions
//   Gemini                  POST ...:generateContent, ...:streamGenerateContent
//
//   model.mjs LOG PORTFILE   listens on a free port of 127.0.0.1, or of $MODEL_ADDRESS, and writes its
//                            number to PORTFILE
//
// What it was sent is what tests judge by. A prompt carries a mark, {{12}}, and code words, CW-OTTER.
// Every request for an answer is one line of LOG:
//   {"mark": the highest mark in it, "words": [code words in the conversation],
//    "system": [code words in the system prompt], "tools": [their names], "format", "time",
//    "said": [{"role", "text"}...], "answer", "limited": true if it was refused,
//    "pictures": their number in the conversation, "login": the key or the token that came with it}
//
// The highest mark is the newest prompt's, and what follows in its braces is obeyed:
//   {{12 slow 3000}}  the answer takes 3,000 ms     {{12 hang}}  it never ends
//   {{12 fail 500}}   an error of that status       {{12 big 64}}  64 KiB of answer
//   {{12 limit 5000}}  for so many ms from now on, all requests of that format are refused with 429
//   {{12 call NAME {"json":1}}}   the tool NAME is to be called first
// The answer repeats the mark without braces, and names the code words: "answer to 12: CW-OTTER".
import fs from 'node:fs';
import http from 'node:http';

const [logFile, portFile] = process.argv.slice(2);
if (!portFile) {
    console.error('usage: model.mjs LOG PORTFILE');
    process.exit(2);
}

// ---- reading: each format as [{role: system|user|agent|tool, text}]

// All text somewhere in a value; what only looks like text (signatures, pictures) is left out.
function textOf(value) {
    if (typeof value === 'string') return value;
    if (Array.isArray(value)) return value.map(textOf).filter(Boolean).join('\n');
    if (value === null || typeof value !== 'object') return '';
    return Object.entries(value)
        .filter(([key]) => !['type', 'id', 'signature', 'data', 'encrypted_content'].includes(key))
        .map(([, inner]) => textOf(inner)).filter(Boolean).join('\n');
}

const roles = {assistant: 'agent', model: 'agent', developer: 'system', system: 'system', tool: 'tool'};
const roleOf = (name) => roles[name] ?? 'user';
const saidBy = (role, value) => ({role, text: textOf(value)});

const readers = {
    anthropic: (body) => [
        saidBy('system', body.system),
        ...body.messages.map((message) => {
            const isResult = Array.isArray(message.content) &&
                message.content.some((part) => part.type === 'tool_result');
            return saidBy(isResult ? 'tool' : roleOf(message.role), message.content);
        }),
    ],
    chat: (body) => body.messages.map((message) =>
        saidBy(roleOf(message.role), [message.content, message.tool_calls])),
    responses: (body) => [
        saidBy('system', body.instructions),
        ...[body.input].flat().map((item) => {
            if (typeof item === 'string') return saidBy('user', item);
            if (/_output$/.test(item.type ?? '')) return saidBy('tool', item.output);
            if (item.type && item.type !== 'message') return saidBy('agent', item);
            return saidBy(roleOf(item.role), item.content);
        }),
    ],
    gemini: (body) => [
        saidBy('system', body.systemInstruction),
        ...body.contents.map((content) => {
            const isResult = content.parts.some((part) => part.functionResponse);
            return saidBy(isResult ? 'tool' : roleOf(content.role), content.parts);
        }),
    ],
};

// How many pictures somewhere in a value: by the part that each format has for one.
function picturesIn(value) {
    if (value === null || typeof value !== 'object') return 0;
    const is = ['image', 'input_image', 'image_url'].includes(value.type) || value.inlineData !== undefined;
    return is ? 1 : Object.values(value).reduce((sum, inner) => sum + picturesIn(inner), 0);
}

function formatOf(path) {
    if (/\/messages$/.test(path)) return 'anthropic';
    if (/\/responses$/.test(path)) return 'responses';
    if (/\/chat\/completions$/.test(path)) return 'chat';
    if (/:(stream)?[gG]enerateContent$/.test(path)) return 'gemini';
    return null;
}

const loginOf = (headers) =>
    (headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key'] ?? '').replace(/^Bearer /, '');

const codeWords = (text) => [...new Set(text.match(/CW-[A-Z0-9]+/g) ?? [])];

// Text in which braces are in pairs, so deep at most
const paired = (depth) => (depth === 0 ? '[^{}]*' : `(?:[^{}]|\\{${paired(depth - 1)}\\})*`);
const MARK = new RegExp(`\\{\\{(\\d+)(${paired(5)})\\}\\}`, 'g');

// What the highest mark wants: {mark, order: {slow, hang, fail, big, limit, call}}
function newestMark(said) {
    const text = said.filter(({role}) => role !== 'system').map((one) => one.text).join('\n');
    let best = {mark: 0, order: {}};
    for (const [, digits, rest] of text.matchAll(MARK)) {
        if (Number(digits) < best.mark) continue;
        const [, verb, argument] = rest.match(/^\s*(\w*)\s*(.*)$/s);
        best = {mark: Number(digits), order: verb ? {[verb]: argument || true} : {}};
    }
    return best;
}

// ---- answering: each format as one object, or as events of a stream

let answers = 0;

// Once for a mark: an agent may go on by itself, when something in the background has ended.
function toolOf({mark, order}, said) {
    const wanted = typeof order.call === 'string' && order.call.match(/^(\S+)\s*(\{.*\})?$/s);
    const marked = said.findLastIndex(({text}) => text.includes(`{{${mark} `));
    if (!wanted || said.slice(marked).some(({role}) => role === 'tool')) return null;
    return {name: wanted[1], input: JSON.parse(wanted[2] ?? '{}')};
}

const event = (data, name) =>
    (name ? `event: ${name}\n` : '') + `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

// A writer says {whole, begin: [], piece: text => event, end: []}.
const writers = {
    anthropic(body, text, tool, id) {
        const block = tool ? {type: 'tool_use', id: `toolu_${id}`, ...tool} : {type: 'text', text};
        const usage = {input_tokens: 10, output_tokens: 10};
        const message = {id: `msg_${id}`, type: 'message', role: 'assistant', model: body.model};
        const reason = {stop_reason: tool ? 'tool_use' : 'end_turn', stop_sequence: null};
        const named = (type, rest) => event({type, ...rest}, type);
        return {
            whole: {...message, content: [block], ...reason, usage},
            begin: [
                named('message_start', {message: {...message, content: [], stop_reason: null,
                    stop_sequence: null, usage}}),
                named('content_block_start', {index: 0,
                    content_block: tool ? {...block, input: {}} : {type: 'text', text: ''}}),
                ...(tool ? [named('content_block_delta', {index: 0, delta:
                    {type: 'input_json_delta', partial_json: JSON.stringify(tool.input)}})] : []),
            ],
            piece: (piece) => named('content_block_delta',
                {index: 0, delta: {type: 'text_delta', text: piece}}),
            end: [named('content_block_stop', {index: 0}),
                named('message_delta', {delta: reason, usage}), named('message_stop', {})],
        };
    },
    chat(body, text, tool, id) {
        const calls = tool && [{index: 0, id: `call_${id}`, type: 'function',
            function: {name: tool.name, arguments: JSON.stringify(tool.input)}}];
        const frame = (object, choice) => ({id: `chat_${id}`, object, created: 1, model: body.model,
            choices: [{index: 0, finish_reason: null, ...choice}],
            usage: {prompt_tokens: 10, completion_tokens: 10, total_tokens: 20}});
        const chunk = (delta, reason = null) =>
            event(frame('chat.completion.chunk', {delta, finish_reason: reason}));
        const reason = tool ? 'tool_calls' : 'stop';
        const message = {role: 'assistant', content: tool ? null : text, tool_calls: calls ?? undefined};
        return {
            whole: frame('chat.completion', {message, finish_reason: reason}),
            begin: [chunk({role: 'assistant', content: '', tool_calls: calls ?? undefined})],
            piece: (piece) => chunk({content: piece}),
            end: [chunk({}, reason), event('[DONE]')],
        };
    },
    responses(body, text, tool, id) {
        const [name, group] = tool?.name.split('@') ?? []; // NAME@GROUP, where tools are in groups
        const item = tool
            ? {type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, status: 'completed',
                name, namespace: group, arguments: JSON.stringify(tool.input)}
            : {type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed',
                content: [{type: 'output_text', text, annotations: []}]};
        const usage = {input_tokens: 10, output_tokens: 10, total_tokens: 20,
            input_tokens_details: {cached_tokens: 0}, output_tokens_details: {reasoning_tokens: 0}};
        const response = {id: `resp_${id}`, object: 'response', created_at: 1, model: body.model};
        const whole = {...response, status: 'completed', output: [item], usage};
        const named = (type, rest) => event({type, ...rest}, type);
        return {
            whole,
            begin: [
                named('response.created', {response: {...response, status: 'in_progress', output: []}}),
                named('response.output_item.added', {output_index: 0, item: tool
                    ? {...item, arguments: '', status: 'in_progress'}
                    : {...item, content: [], status: 'in_progress'}}),
            ],
            piece: (piece) => named('response.output_text.delta',
                {item_id: item.id, output_index: 0, content_index: 0, delta: piece}),
            end: [named('response.output_item.done', {output_index: 0, item}),
                named('response.completed', {response: whole})],
        };
    },
    gemini(body, text, tool) {
        const frame = (part, finishReason) => ({modelVersion: 'none',
            candidates: [{index: 0, content: {role: 'model', parts: [part]}, finishReason}],
            usageMetadata: {promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20}});
        const call = tool && {functionCall: {name: tool.name, args: tool.input}};
        return {
            whole: frame(call ?? {text}, 'STOP'),
            begin: call ? [event(frame(call))] : [],
            piece: (piece) => event(frame({text: piece})),
            end: [event(frame({text: ''}, 'STOP'))],
        };
    },
};

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// How the provider of Codex says how much of its windows is used: {{N window PERCENT}}
const windows = (order) => order.window === undefined ? {} : {
    'x-codex-primary-used-percent': order.window, 'x-codex-primary-window-minutes': '300',
    'x-codex-primary-reset-at': String(Math.ceil(Date.now() / 1000) + 9000),
};

async function stream(response, parts, text, tool, order) {
    response.writeHead(200, {'content-type': 'text/event-stream', ...windows(order)});
    parts.begin.forEach((one) => response.write(one));
    const pieces = tool ? [] : text.match(/[^]{1,1024}|$/g).filter(Boolean);
    const slow = order.slow ? 20 : 0;
    const words = slow ? text.match(/\S+\s*/g) : pieces;
    for (const piece of tool ? [] : words) {
        if (response.destroyed) return;
        response.write(parts.piece(piece));
        if (slow) await pause(Number(order.slow) / words.length);
    }
    if (order.hang) return;
    parts.end.forEach((one) => response.write(one));
    response.end();
}

function reply(response, status, value) {
    response.writeHead(status, {'content-type': 'application/json'});
    response.end(JSON.stringify(value));
}

// Names of the tools that a request offers.
const toolNames = (tools = []) => tools.flatMap((tool) =>
    tool.functionDeclarations ? toolNames(tool.functionDeclarations)
        : [tool.function?.name ?? tool.name ?? tool.type]);

// What some agents ask before and beside.
function aside(path, response) {
    if (/count_?tokens$/i.test(path)) return reply(response, 200, {input_tokens: 10, totalTokens: 10});
    if (/\/models$/.test(path)) {
        return reply(response, 200, {object: 'list', has_more: false, models: [],
            data: [{id: 'test-model', object: 'model', type: 'model', display_name: 'Test'}]});
    }
    if (path === '/') return reply(response, 200, {});
    return reply(response, 404, {error: {message: `no such path: ${path}`}});
}

// Until when requests of a format are refused, and the marks that have begun that
const limits = {};
const limiting = new Set();

function isLimited(format, mark, order) {
    if (order.limit && !limiting.has(mark)) {
        limiting.add(mark);
        limits[format] = Date.now() + Number(order.limit);
    }
    return Date.now() < (limits[format] ?? 0);
}

function refusal(format) {
    const message = 'This request would exceed the rate limit of your account. Please try again later.';
    if (format === 'anthropic') return {type: 'error', error: {type: 'rate_limit_error', message}};
    if (format === 'responses') { // as the provider of Codex says that a window of the user's plan is used up
        return {error: {type: 'usage_limit_reached', message: 'The usage limit has been reached', plan_type: 'plus',
            resets_at: Math.ceil(limits[format] / 1000)}};
    }
    if (format === 'gemini') return {error: {code: 429, message, status: 'RESOURCE_EXHAUSTED'}};
    return {error: {message, type: 'requests', code: 'rate_limit_exceeded'}};
}

function failure(format, status) {
    const message = `the model fails with ${status}`;
    if (format === 'anthropic') return {type: 'error', error: {type: 'api_error', message}};
    return {error: {code: status, message, type: 'test', status: 'UNAVAILABLE'}};
}

// At least so many characters. Sentences that differ: some agents end a turn that repeats itself.
function sentences(length) {
    let text = '';
    for (let i = 0; text.length < length; i++) text += ` ${i * i + 7} is odd.`;
    return text;
}

async function serve(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const path = request.url.split('?')[0];
    const format = request.method === 'POST' ? formatOf(path) : null;
    if (!format) return aside(path, response);

    const body = JSON.parse(Buffer.concat(chunks).toString());
    const said = readers[format](body);
    const {mark, order} = newestMark(said);
    const tool = (body.tools ?? []).length > 0 ? toolOf({mark, order}, said) : null;
    const words = codeWords(textOf(said.filter(({role}) => role !== 'system')));
    const wantsJson = body.generationConfig?.responseMimeType === 'application/json';
    let text = `answer to ${mark}: ${words.join(' ') || 'no code words'}`;
    if (order.slow) text += sentences(500);
    if (order.big) text += sentences(1024 * Number(order.big));
    const limited = isLimited(format, mark, order);
    if (wantsJson) text = '{"reasoning":"none","next_speaker":"user"}';
    fs.appendFileSync(logFile, JSON.stringify({
        mark, words, system: codeWords(textOf(said.filter(({role}) => role === 'system'))),
        tools: toolNames(body.tools), format, time: Date.now(),
        said: said.filter(({role}) => role !== 'system'), answer: tool ? {call: tool} : text,
        login: loginOf(request.headers), pictures: picturesIn(body.messages ?? body.input ?? body.contents),
        ...(limited ? {limited} : {}),
    }) + '\n');

    if (limited) return reply(response, 429, refusal(format));
    if (order.fail) return reply(response, Number(order.fail), failure(format, Number(order.fail)));
    const parts = writers[format](body, text, tool, `${process.pid}_${++answers}`);
    if (body.stream || /:stream/.test(path)) return stream(response, parts, text, tool, order);
    if (!order.hang) reply(response, 200, parts.whole);
}

const server = http.createServer((request, response) => {
    serve(request, response).catch((error) => {
        fs.appendFileSync(logFile, JSON.stringify({error: String(error), url: request.url}) + '\n');
        if (!response.headersSent) reply(response, 400, {error: {message: String(error)}});
        else response.destroy();
    });
});
server.listen(0, process.env.MODEL_ADDRESS ?? '127.0.0.1', () => {
    fs.writeFileSync(`${portFile}.new`, `${server.address().port}\n`);
    fs.renameSync(`${portFile}.new`, portFile);
});
