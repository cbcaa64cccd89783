// The tools that both servers offer: the table of servers/tools.py, and how a call is run.
//
// No protocol, no transport: `call` returns the result of `tools/call`, or throws BadArguments,
// whose code either SDK puts into its error answer.

import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';

import { getTicket, MAX_RESULTS, searchTickets, STATUSES, ToolError } from './tickets.mjs';

const MAX_DURATION_MS = 600_000;

/** The call fits no tool or not the tool's schema; no tool ran. */
export class BadArguments extends Error {
  code = -32602;
}

function object(properties, ...required) {
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

const DURATION = object(
  {
    duration_ms: {
      type: 'number',
      minimum: 0,
      maximum: MAX_DURATION_MS,
      description: 'How long, in milliseconds',
    },
  },
  'duration_ms',
);

/** Wait; never shorter than asked for, where a timer of Node counts whole milliseconds only. */
async function sleep({ duration_ms: duration }) {
  const end = performance.now() + duration;
  for (let rest = duration; rest > 0; rest = end - performance.now()) {
    await wait(Math.ceil(rest));
  }
  return 'ok';
}

function spin({ duration_ms: duration }) {
  const end = performance.now() + duration;
  while (performance.now() < end);
  return 'ok';
}

const TABLE = [
  {
    name: 'noop',
    description: 'Do nothing and answer ok.',
    inputSchema: object({}),
    run: () => 'ok',
  },
  {
    name: 'echo',
    description: 'Answer with the payload, unchanged.',
    inputSchema: object({ payload: { type: 'string', description: 'Any text' } }, 'payload'),
    run: ({ payload }) => payload,
  },
  {
    name: 'sleep',
    description: 'Wait for a given time without using the processor.',
    inputSchema: DURATION,
    run: sleep,
  },
  {
    name: 'spin',
    description: 'Keep the processor busy for a given time.',
    inputSchema: DURATION,
    run: spin,
  },
  {
    name: 'search_tickets',
    description:
      'Search the support tickets by words in their subject and body, best match first. ' +
      'All words have to occur.',
    inputSchema: object(
      {
        query: { type: 'string', description: 'Words to look for' },
        status: { type: 'string', enum: STATUSES, description: 'Only tickets in this state' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_RESULTS,
          default: 10,
          description: 'The most tickets to return',
        },
      },
      'query',
    ),
    run: searchTickets,
  },
  {
    name: 'get_ticket',
    description: 'Read one support ticket in full, by the id that search_tickets returned.',
    inputSchema: object({ id: { type: 'integer', description: 'The id of the ticket' } }, 'id'),
    run: getTicket,
  },
];

const TOOLS = new Map(TABLE.map((tool) => [tool.name, tool]));

/** The result of `tools/list`. */
export const LIST = {
  tools: TABLE.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
};

/** Run one call and return the result of `tools/call`. */
export async function call({ name, arguments: args = {} }) {
  const tool = TOOLS.get(name);
  if (tool === undefined) throw new BadArguments(`Unknown tool: ${name}`);
  const flaw = flawOf(args, tool.inputSchema);
  if (flaw) throw new BadArguments(`Invalid arguments for ${name}: ${flaw}`);
  try {
    return { content: [{ type: 'text', text: await tool.run(args) }] };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { content: [{ type: 'text', text: error.message }], isError: true };
  }
}

/** Say what is wrong with the arguments, by the part of JSON Schema that the table uses. */
function flawOf(args, { properties, required = [] }) {
  for (const name of required) {
    if (!Object.hasOwn(args, name)) return `${name} is missing`;
  }
  for (const [name, value] of Object.entries(args)) {
    if (!Object.hasOwn(properties, name)) return `'${name}' is not an argument of this tool`;
    const flaw = flawOfValue(value, properties[name]);
    if (flaw) return `${name} must be ${flaw}`;
  }
  return null;
}

const IS_OF_TYPE = {
  string: (value) => typeof value === 'string',
  integer: Number.isInteger, // true for 5.0 too, which JSON.parse no longer tells from 5
  number: Number.isFinite,
};

function flawOfValue(value, schema) {
  if (!IS_OF_TYPE[schema.type](value)) return `of type ${schema.type}`;
  if (schema.enum && !schema.enum.includes(value)) return `one of ${schema.enum.join(', ')}`;
  if ('minimum' in schema && value < schema.minimum) return `at least ${schema.minimum}`;
  if ('maximum' in schema && value > schema.maximum) return `at most ${schema.maximum}`;
  return null;
}
