// The OpenAI SDK for Node, over responses.
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { CITY, IMAGE, serve, url } from './serving.mjs';

const Spot = z.object({ city: z.string(), degrees: z.number().int() });
const WEATHER = {
  type: 'function',
  name: 'weather',
  description: 'How warm it is.',
  parameters: CITY,
  strict: true,
};

function client(place, retries = 0) {
  const { key, headers } = place;
  return new OpenAI({ apiKey: key, baseURL: url(place), maxRetries: retries, defaultHeaders: headers });
}

const user = (content) => ({ role: 'user', content });

async function whole(place, retries = 0) {
  const { model, ask, more } = place;
  const answer = await client(place, retries).responses.create({
    model,
    instructions: 'Be brief.',
    input: ask,
    ...more,
  });
  return { text: answer.output_text, usage: [answer.usage.input_tokens, answer.usage.output_tokens] };
}

async function stream(place) {
  const pieces = [];
  const running = client(place)
    .responses.stream({ model: place.model, input: place.ask })
    .on('response.output_text.delta', (event) => pieces.push(event.delta));
  const { usage } = await running.finalResponse();
  return { pieces, usage: [usage.input_tokens, usage.output_tokens] };
}

async function loop(place, ask) {
  const called = [];
  const turns = [user(place.ask)];
  for (;;) {
    const answer = await ask({ model: place.model, input: turns, tools: [WEATHER] });
    const calls = answer.output.filter((item) => item.type === 'function_call');
    if (!calls.length) return { text: answer.output_text, called };
    turns.push(...answer.output.map(({ parsed_arguments, ...item }) => item));
    for (const call of calls) {
      const { city } = JSON.parse(call.arguments);
      called.push(city);
      const said = { type: 'function_call_output', call_id: call.call_id };
      turns.push({ ...said, output: `${city}: 21` });
    }
  }
}

const tools = (place) => loop(place, (asked) => client(place).responses.create(asked));
const toolsStreamed = (place) =>
  loop(place, (asked) => client(place).responses.stream(asked).finalResponse());

async function structured(place) {
  const answer = await client(place).responses.parse({
    model: place.model,
    input: place.ask,
    text: { format: zodTextFormat(Spot, 'spot') },
  });
  return answer.output_parsed;
}

async function image(place) {
  const shown = {
    type: 'input_image',
    image_url: `data:image/png;base64,${IMAGE}`,
    detail: 'auto',
  };
  const answer = await client(place).responses.create({
    model: place.model,
    input: [user([{ type: 'input_text', text: place.ask }, shown])],
  });
  return { text: answer.output_text };
}

async function reasoning(place) {
  const common = {
    model: place.model,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'low', summary: 'auto' },
    store: false,
  };
  const input = [user(place.ask)];
  const first = await client(place).responses.create({ ...common, input });
  input.push(...first.output, user('And then?'));
  const second = await client(place).responses.create({ ...common, input });
  const thoughts = first.output.filter((item) => item.type === 'reasoning');
  const thought = thoughts.flatMap((item) => item.summary.map((part) => part.text)).join('');
  return { thought, text: second.output_text };
}

async function chained(place) {
  const { responses } = client(place);
  const { model, ask: input } = place;
  const first = await responses.create({ model, input });
  const more = { input: 'And then?', previous_response_id: first.id };
  const second = await responses.create({ model, ...more });
  const same = await responses.retrieve(first.id);
  if (same.output_text !== first.output_text) throw new Error(JSON.stringify(same));
  await responses.delete(first.id);
  return { text: second.output_text };
}

const retried = async (place) => ({ text: (await whole(place, 2)).text });

await serve({
  whole,
  stream,
  tools,
  tools_streamed: toolsStreamed,
  structured,
  image,
  reasoning,
  chained,
  retried,
});
