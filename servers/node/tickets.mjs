// The ticket tools: the same SQL on the same file as servers/tickets.py, and the same text.
//
// Only reads; `python -m servers.tickets` builds the file. SQLite is native code that ships ready
// inside its npm package, with the interface of Node's own `node:sqlite`. It is loaded by the first
// call that needs it, so that a server that only answers `noop` does not pay for it.

import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

export const STATUSES = ['open', 'pending', 'closed'];
export const MAX_RESULTS = 50;

const DEFAULT_FILE = 'tickets-10000-v1.sqlite3';
const BUSY_TIMEOUT_MS = 250;
const MAX_ROWID = 2n ** 63n - 1n;
const BUILD = '`python -m servers.tickets`';

const SEARCH = `
SELECT t.id, t.subject, t.status, t.customer, t.created_at,
       snippet(tickets_index, 1, '', '', '…', 24) AS snippet
FROM tickets_index JOIN tickets AS t ON t.id = tickets_index.rowid
WHERE tickets_index MATCH ?1 AND (?2 IS NULL OR t.status = ?2)
ORDER BY tickets_index.rank, t.id
LIMIT ?3
`;
const GET = 'SELECT id, subject, status, customer, created_at, body FROM tickets WHERE id = ?1';

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_CANTOPEN = 14;

/** The tool ran and could not do its work: a result with `isError: true` and this sentence. */
export class ToolError extends Error {}

export function searchTickets({ query, status = null, limit = 10 }) {
  const expression = quote(query);
  if (!expression) {
    throw new ToolError('The query holds no word to search for; pass one or more plain words.');
  }
  return JSON.stringify({ tickets: rows(SEARCH, expression, status, limit) });
}

export function getTicket({ id }) {
  // A number past 2**53 is no longer exact here, yet none of them is the id of a ticket.
  const exact = BigInt(id);
  const [ticket] = exact >= 0n && exact <= MAX_ROWID ? rows(GET, exact) : [];
  if (!ticket) {
    throw new ToolError(`There is no ticket ${exact}; take an id from a result of search_tickets.`);
  }
  return JSON.stringify(ticket);
}

// What separates words to Python's str.split(): unlike \s without U+FEFF, but with the four
// separators of ASCII and U+0085. NUL is among them because SQLite ends a text there.
const SPACE =
  /[\0\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;

/** Turn words into a full-text expression in which nothing is an operator. */
function quote(query) {
  return query
    .replace(/\p{Surrogate}/gu, '?') // lone ones only, which SQLite refuses
    .split(SPACE)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .map((word) => `"${word.replaceAll('"', '""')}"`)
    .join(' ');
}

const require = createRequire(import.meta.url);

let connection = null;
const statements = new Map();

function rows(sql, ...parameters) {
  try {
    if (connection === null) {
      const { DatabaseSync } = require('@photostructure/sqlite');
      connection = new DatabaseSync(path(), { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    }
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = connection.prepare(sql);
      statements.set(sql, statement);
    }
    return statement.all(...parameters);
  } catch (error) {
    if (error.code !== 'ERR_SQLITE_ERROR') throw error;
    // Closed, so that the next call sees a database that was built or repaired meanwhile.
    close();
    throw new ToolError(sentence(error));
  }
}

function close() {
  statements.clear();
  connection?.close();
  connection = null;
}

function path() {
  if (process.env.MCP_LATENCY_TICKETS) return process.env.MCP_LATENCY_TICKETS;
  const configured = process.env.XDG_CACHE_HOME ?? '';
  let folder = join(homedir(), '.cache');
  if (isAbsolute(configured)) folder = configured;
  else if (process.platform === 'darwin') folder = join(homedir(), 'Library', 'Caches');
  return join(folder, 'mcp-latency', DEFAULT_FILE);
}

function sentence(error) {
  const code = error.errcode & 0xff; // the rest tells which kind of it
  if (code === SQLITE_BUSY || code === SQLITE_LOCKED) {
    return (
      'The ticket database is locked by another program; ' +
      'wait a second and call the tool again.'
    );
  }
  if (code === SQLITE_CANTOPEN) {
    return (
      'The ticket database is missing or may not be opened; ' +
      `ask the operator to build it with ${BUILD}, then call the tool again.`
    );
  }
  return (
    `The ticket database cannot be read (${error.message}); ` +
    `ask the operator to rebuild it with ${BUILD}, then call the tool again.`
  );
}
