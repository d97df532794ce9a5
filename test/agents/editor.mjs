// A client on the protocol's official SDK, which checks all that it is sent by the schema, in front
// of `mas acp`.  node editor.mjs SDK-DIR MAS SESSION
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';

const [sdk, mas, session] = process.argv.slice(2);
const acp = await import(`${sdk}/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js`);
const { agent } = acp.methods;
const updates = [];
const permissions = [];
const trouble = [];
console.error = (...words) => trouble.push(words.join(' ')); // where the SDK complains

const child = spawn(mas, ['acp', session], { stdio: ['pipe', 'pipe', 'inherit'] });
const ended = new Promise((resolve) => child.on('exit', resolve));
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const app = acp
    .client({ name: 'editor' })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
        permissions.push(params);
        const wanted = params.options.find((o) => o.optionId === 'clear') ?? params.options[0];
        return { outcome: { outcome: 'selected', optionId: wanted.optionId } };
    })
    .onNotification(acp.methods.client.session.update, ({ params }) => void updates.push(params));

const text = (id, from = 0) =>
    updates
        .slice(from)
        .filter((u) => u.sessionId === id && u.update.sessionUpdate === 'agent_message_chunk')
        .map((u) => u.update.content.text)
        .join('');
const kinds = () => new Set(updates.map((u) => u.update.sessionUpdate));

await app.connectWith(stream, async (ctx) => {
    const ask = (method, params) => ctx.request(method, params);
    const prompt = async (sessionId, words) => {
        const from = updates.length;
        const { stopReason } = await ask(agent.session.prompt, {
            sessionId,
            prompt: [{ type: 'text', text: words }],
        });
        assert.equal(stopReason, 'end_turn');
        return text(sessionId, from);
    };
    const hello = await ask(agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    assert.equal(hello.protocolVersion, 1);
    const made = await ask(agent.session.new, { cwd: '/tmp', mcpServers: [] });
    const id = made.sessionId;
    assert.equal(made.modes.currentModeId, 'default');
    assert.equal(made.configOptions[0].type, 'select');
    assert.match(await prompt(id, 'CW-ONE THINK:hmm TOOL:edit DIFF:/x PLAN USAGE:1/2 TITLE:t'), /seen=\[CW-ONE\]/);
    assert.match(await prompt(id, 'ASK:edit'), /permit=/);
    assert.match(await prompt(id, '/clear CW-TWO'), /seen=\[CW-TWO\]/);
    await prompt(id, 'CW-THREE APPROVE');
    assert.equal(permissions.length, 2);
    assert.doesNotMatch(await prompt(id, 'what now'), /CW-TWO/);
    await ask(agent.session.setMode, { sessionId: id, modeId: 'plan' });
    const set = await ask(agent.session.setConfigOption, { sessionId: id, configId: 'model', value: 'large' });
    assert.equal(set.configOptions[0].currentValue, 'large');
    const { sessions } = await ask(agent.session.list, {});
    assert.deepEqual(sessions.map((s) => s.sessionId), [id]);
    await ask(agent.session.close, { sessionId: id });
    const from = updates.length;
    await ask(agent.session.load, { sessionId: id, cwd: '/tmp', mcpServers: [] });
    assert.match(text(id, from), /seen=\[CW-ONE\]/);
    await ask(agent.session.resume, { sessionId: id, cwd: '/tmp', mcpServers: [] });
    for (const kind of ['user_message_chunk', 'agent_message_chunk', 'agent_thought_chunk', 'tool_call',
        'plan', 'available_commands_update', 'current_mode_update', 'usage_update', 'session_info_update'])
        assert(kinds().has(kind), kind);
    await assert.rejects(ask(agent.session.load, { sessionId: 'x', cwd: '/', mcpServers: [] }), { code: -32002 });
});
child.stdin.end();
assert.equal(await ended, 0);
assert.deepEqual(trouble, []);
