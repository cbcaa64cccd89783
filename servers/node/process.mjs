// What both servers are as processes: their options, how they listen and how they leave.

import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

const HOSTS = new Set(['127.0.0.1', 'localhost']);

/** Read the command line; exits with a sentence where it makes no sense. */
export function readOptions(...flags) {
  const options = { port: { type: 'string' } };
  for (const flag of flags) options[flag] = { type: 'boolean', default: false };
  try {
    const { values } = parseArgs({ options });
    if (values.port === undefined) {
      const idle = flags.filter((flag) => values[flag]);
      if (idle.length > 0) throw new Error(`--${idle[0]} needs --port`);
      return values;
    }
    const port = Number(values.port);
    if (!/^\d+$/.test(values.port) || port > 65_535) {
      throw new Error(`--port must be a number from 0 to 65535, not '${values.port}'`);
    }
    return { ...values, port };
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

/** Leave when told to; over stdio also when the client has gone. */
export function leaveInTime(options) {
  const leave = () => process.exit(0);
  process.once('SIGTERM', leave);
  process.once('SIGINT', leave);
  if (options.port !== undefined) return;
  // One turn later and after the last byte, so that what stood before the end of stdin is answered.
  process.stdin.once('end', () => setImmediate(() => process.stdout.write('', leave)));
}

/** Serve `handle(request, response)` at /mcp; port 0 means any. The address goes to stderr. */
export function listen(port, handle) {
  const server = createServer((request, response) => {
    if (!isLocal(request.headers)) return refuse(response, 403, 'Host or Origin is not local');
    if (request.url.split('?', 1)[0] !== '/mcp') return refuse(response, 404, 'Not Found');
    return handle(request, response);
  });
  server.once('error', (error) => {
    console.error(error.message);
    process.exit(1);
  });
  server.listen(port, '127.0.0.1', () => {
    console.error(`http://127.0.0.1:${server.address().port}/mcp`);
  });
}

/** Answer a request that never reaches the SDK, as the SDKs word theirs. */
export function refuse(response, status, message, code = -32000) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
}

// A page in a browser that reaches this port through a name of its own is not served.
function isLocal({ host, origin }) {
  return [host && `http://${host}`, origin].every(
    (url) => url === undefined || (URL.canParse(url) && HOSTS.has(new URL(url).hostname)),
  );
}
