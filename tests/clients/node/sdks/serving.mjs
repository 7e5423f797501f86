// How a client program is asked: a line of JSON an operation, a line of JSON for what it saw.
import { createInterface } from 'node:readline';

export const IMAGE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const SPOT = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'integer' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};

export const CITY = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

// Where clients of the surface want the gateway to be.
export function url(place) {
  return place.surface === 'messages' ? place.root : `${place.root}/v1`;
}

// What a program can see of an error, and of what caused it.
function failure(error) {
  const kinds = [];
  for (let kind = error; kind && kind.constructor !== Object; kind = Object.getPrototypeOf(kind)) {
    if (!kinds.includes(kind.constructor.name)) kinds.push(kind.constructor.name);
  }
  const told = error.headers ?? error.responseHeaders ?? {};
  const cause = error.cause ?? error.lastError;
  return {
    kinds,
    status: error.status ?? error.statusCode ?? null,
    code: error.code ?? null,
    message: String(error.message).slice(0, 2000),
    headers: told instanceof Headers ? Object.fromEntries(told) : told,
    cause: cause instanceof Error ? failure(cause) : null,
  };
}

// Carry out what standard input asks for, until it ends.
export async function serve(operations) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...place } = JSON.parse(line);
    let said;
    try {
      said = await operations[name]({ ask: 'Hello?', headers: {}, more: {}, ...place });
    } catch (error) {
      said = { failed: failure(error) };
    }
    process.stdout.write(`\x1e${JSON.stringify(said)}\n`);
  }
}
