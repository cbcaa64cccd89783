// The tools on version 1 of the official TypeScript SDK.
//
// The low-level `Server`: its high-level sibling would publish schemas of its own making and turn
// an unknown tool into a result. Stdio by default; `--port N` serves streamable HTTP with one
// session per client, or with a fresh server for each request (`--stateless`); answers are event
// streams, or plain JSON (`--json`).

import { randomUUID } from 'node:crypto';

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { leaveInTime, listen, readOptions, refuse } from './process.mjs';
import { call, LIST } from './tools.mjs';

function build() {
  const server = new Server(
    { name: 'mcp-latency-node-v1', version: '1' },
    { capabilities: { tools: {} } },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => LIST);
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => call(params));
  return server;
}

async function serveStdio() {
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  await build().connect(new StdioServerTransport());
}

async function serveHttp({ port, json, stateless }) {
  const { StreamableHTTPServerTransport } = await import(
    '@modelcontextprotocol/sdk/server/streamableHttp.js'
  );
  const sessions = new Map();

  async function stateful(request, response) {
    const id = request.headers['mcp-session-id'];
    if (id !== undefined) {
      const transport = sessions.get(id);
      if (transport === undefined) return refuse(response, 404, 'Session not found', -32001);
      return transport.handleRequest(request, response);
    }
    // The transport itself refuses whatever does not open a session.
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: json,
      onsessioninitialized: (opened) => sessions.set(opened, transport),
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await build().connect(transport);
    return transport.handleRequest(request, response);
  }

  async function oneRequest(request, response) {
    if (request.method !== 'POST') return refuse(response, 405, 'Method not allowed.');
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: json });
    const server = build();
    response.once('close', () => server.close());
    await server.connect(transport);
    return transport.handleRequest(request, response);
  }

  listen(port, stateless ? oneRequest : stateful);
}

const options = readOptions('json', 'stateless');
leaveInTime(options);
await (options.port === undefined ? serveStdio() : serveHttp(options));
