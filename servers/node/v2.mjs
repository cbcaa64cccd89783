// The tools on version 2 of the official TypeScript SDK.
//
// The low-level `Server` here too, so that the two versions differ by nothing but themselves. Stdio
// by default; `--port N` serves streamable HTTP, where the SDK builds a fresh server for each
// request. Answers are event streams, or plain JSON (`--json`). Clients of both eras are served:
// those that open with a handshake and those that put an envelope on each request.

import {
  createMcpHandler,
  isLegacyRequest,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

import { leaveInTime, listen, readOptions } from './process.mjs';
import { call, LIST } from './tools.mjs';

function build() {
  const server = new Server(
    { name: 'mcp-latency-node-v2', version: '1' },
    { capabilities: { tools: {} } },
  );
  server.setRequestHandler('tools/list', () => LIST);
  server.setRequestHandler('tools/call', ({ params }) => call(params));
  return server;
}

async function serveStdio() {
  const stdio = await import('@modelcontextprotocol/server/stdio');
  stdio.serveStdio(build);
}

async function serveHttp({ port, json }) {
  const { toNodeHandler } = await import('@modelcontextprotocol/node');
  const handler = json ? jsonHandler() : createMcpHandler(build, { responseMode: 'sse' });
  listen(port, toNodeHandler(handler));
}

/** The SDK answers clients that open with a handshake by streams only: wired by hand for them. */
function jsonHandler() {
  // 'auto' is plain JSON unless a tool speaks before its result, which none does.
  const modern = createMcpHandler(build, { responseMode: 'auto', legacy: 'reject' });

  async function legacy(request, options) {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    const server = build();
    await server.connect(transport);
    try {
      return await transport.handleRequest(request, options);
    } finally {
      await server.close();
    }
  }

  return {
    async fetch(request, options) {
      const isLegacy = request.method === 'POST' && (await isLegacyRequest(request));
      return isLegacy ? legacy(request, options) : modern.fetch(request, options);
    },
  };
}

const options = readOptions('json');
leaveInTime(options);
await (options.port === undefined ? serveStdio() : serveHttp(options));
