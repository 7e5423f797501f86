// Ollama's client for Node.
import { Ollama } from 'ollama';
import { CITY, IMAGE, SPOT, serve } from './serving.mjs';

function client(place) {
  const headers = { authorization: `Bearer ${place.key}`, ...place.headers };
  return new Ollama({ host: place.root, headers });
}

const user = (content, more = {}) => ({ role: 'user', content, ...more });
const ask = (place, messages, more = {}) =>
  client(place).chat({ model: place.model, messages, ...more });

async function whole(place) {
  const answer = await ask(place, [{ role: 'system', content: 'Be brief.' }, user(place.ask)]);
  return { text: answer.message.content, usage: [answer.prompt_eval_count, answer.eval_count] };
}

async function stream(place) {
  const pieces = [];
  let usage;
  for await (const chunk of await ask(place, [user(place.ask)], { stream: true })) {
    if (chunk.message.content) pieces.push(chunk.message.content);
    if (chunk.done) usage = [chunk.prompt_eval_count, chunk.eval_count];
  }
  return { pieces, usage };
}

async function tools(place) {
  const called = [];
  const weather = { name: 'weather', description: 'How warm it is.', parameters: CITY };
  const turns = [user(place.ask)];
  for (;;) {
    const offered = [{ type: 'function', function: weather }];
    const { message } = await ask(place, turns, { tools: offered });
    turns.push(message);
    if (!message.tool_calls?.length) return { text: message.content, called };
    for (const call of message.tool_calls) {
      const { city } = call.function.arguments;
      called.push(city);
      turns.push({ role: 'tool', tool_name: 'weather', content: `${city}: 21` });
    }
  }
}

async function structured(place) {
  const answer = await ask(place, [user(place.ask)], { format: SPOT });
  return JSON.parse(answer.message.content);
}

async function image(place) {
  const answer = await ask(place, [user(place.ask, { images: [IMAGE] })]);
  return { text: answer.message.content };
}

async function reasoning(place) {
  const turns = [user(place.ask)];
  const { message } = await ask(place, turns, { think: true });
  const second = await ask(place, [...turns, message, user('And then?')], { think: true });
  return { thought: message.thinking, text: second.message.content };
}

async function listed(place) {
  const { models } = await client(place).list();
  await client(place).show({ model: place.model });
  return { all: models.map((one) => one.model), one: place.model };
}

async function embed(place) {
  const made = await client(place).embed({ model: place.model, input: ['one', 'two'] });
  return { vectors: made.embeddings };
}

await serve({ whole, stream, tools, structured, image, reasoning, listed, embed });
