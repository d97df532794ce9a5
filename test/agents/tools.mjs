// A client on the official SDK of the Model Context Protocol, in front of `mas mcp`.
// node tools.mjs SDK-DIR MAS SESSION
import assert from 'node:assert';

const [sdk, mas, session] = process.argv.slice(2);
const from = `${sdk}/node_modules/@modelcontextprotocol/sdk/dist/esm/client`;
const { Client } = await import(`${from}/index.js`);
const { StdioClientTransport } = await import(`${from}/stdio.js`);

const client = new Client({ name: 'tools', version: '1' });
await client.connect(new StdioClientTransport({ command: mas, args: ['mcp', session], env: process.env }));
assert.equal(client.getServerVersion().name, 'mas');
const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).sort(), ['diff', 'list_agents', 'merge', 'read_messages',
    'search_history', 'send_message', 'sync', 'wait_for']);
const call = async (name, args) => (await client.callTool({ name, arguments: args })).structuredContent;
const { agents } = await call('list_agents', {});
assert.equal(agents.length, 1);
await call('send_message', { target: agents[0].id, text: 'CW-TOOLS' });
assert.deepEqual(await call('wait_for', { target: agents[0].id, timeout: 60 }), { reached: true });
const { messages } = await call('read_messages', { agent: agents[0].id });
assert.match(messages.at(-1).text, /CW-TOOLS/);
await client.close();
