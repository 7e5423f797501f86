// The Anthropic SDK for Node.
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { z } from 'zod';
import { CITY, IMAGE, serve, url } from './serving.mjs';

const Spot = z.object({ city: z.string(), degrees: z.number().int() });
const WEATHER = { name: 'weather', description: 'How warm it is.', input_schema: CITY };

function client(place, retries = 0) {
  const { key, headers } = place;
  return new Anthropic({
    apiKey: key,
    baseURL: url(place),
    maxRetries: retries,
    defaultHeaders: headers,
  });
}

function asked(place, content = place.ask) {
  return {
    model: place.model,
    max_tokens: 900,
    messages: [{ role: 'user', content }],
    ...place.more,
  };
}

function text(message) {
  return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

async function whole(place, retries = 0) {
  const answer = await client(place, retries).messages.create({
    system: 'Be brief.',
    ...asked(place),
  });
  return { text: text(answer), usage: [answer.usage.input_tokens, answer.usage.output_tokens] };
}

async function stream(place) {
  const pieces = [];
  const running = client(place)
    .messages.stream(asked(place))
    .on('text', (piece) => pieces.push(piece));
  const { usage } = await running.finalMessage();
  return { pieces, usage: [usage.input_tokens, usage.output_tokens] };
}

async function loop(place, ask) {
  const called = [];
  const turns = asked(place);
  for (;;) {
    const message = await ask({ ...turns, tools: [WEATHER] });
    const calls = message.content.filter((block) => block.type === 'tool_use');
    if (!calls.length) return { text: text(message), called };
    const results = calls.map((call) => {
      called.push(call.input.city);
      return { type: 'tool_result', tool_use_id: call.id, content: `${call.input.city}: 21` };
    });
    turns.messages.push(
      { role: 'assistant', content: message.content },
      { role: 'user', content: results },
    );
  }
}

const tools = (place) => loop(place, (turns) => client(place).messages.create(turns));
const toolsStreamed = (place) =>
  loop(place, (turns) => client(place).messages.stream(turns).finalMessage());

async function runner(place) {
  const called = [];
  const weather = betaZodTool({
    name: 'weather',
    description: 'How warm it is.',
    inputSchema: z.object({ city: z.string() }),
    run: ({ city }) => {
      called.push(city);
      return `${city}: 21`;
    },
  });
  const done = await client(place).beta.messages.toolRunner({ ...asked(place), tools: [weather] });
  return { text: text(done), called };
}

async function structured(place) {
  const answer = await client(place).messages.parse({
    ...asked(place),
    output_config: { format: zodOutputFormat(Spot) },
  });
  return answer.parsed_output;
}

async function image(place) {
  const source = { type: 'base64', media_type: 'image/png', data: IMAGE };
  const content = [
    { type: 'text', text: place.ask },
    { type: 'image', source },
  ];
  return { text: text(await client(place).messages.create(asked(place, content))) };
}

async function reasoning(place) {
  const turns = asked(place);
  const first = await client(place).messages.create(turns);
  turns.messages.push(
    { role: 'assistant', content: first.content },
    { role: 'user', content: 'And then?' },
  );
  const second = await client(place).messages.create(turns);
  const thought = first.content.map((block) => block.thinking ?? '').join('');
  return { thought, text: text(second) };
}

async function listed(place) {
  const all = [];
  for await (const model of client(place).models.list()) all.push(model.id);
  return { all, one: (await client(place).models.retrieve(place.model)).id };
}

async function counted(place) {
  const { model, messages } = asked(place);
  const made = await client(place).messages.countTokens({ model, messages });
  return { tokens: made.input_tokens };
}

const retried = async (place) => ({ text: (await whole(place, 2)).text });

await serve({
  whole,
  stream,
  tools,
  tools_streamed: toolsStreamed,
  runner,
  structured,
  image,
  reasoning,
  retried,
  listed,
  counted,
});
