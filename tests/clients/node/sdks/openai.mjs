// The OpenAI SDK for Node, over chat completions.
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { CITY, IMAGE, serve, url } from './serving.mjs';

const Spot = z.object({ city: z.string(), degrees: z.number().int() });

function client(place, retries = 0) {
  const { key, headers } = place;
  return new OpenAI({ apiKey: key, baseURL: url(place), maxRetries: retries, defaultHeaders: headers });
}

const user = (content) => ({ role: 'user', content });

async function whole(place, retries = 0) {
  const answer = await client(place, retries).chat.completions.create({
    model: place.model,
    messages: [{ role: 'system', content: 'Be brief.' }, user(place.ask)],
    ...place.more,
  });
  const { prompt_tokens, completion_tokens } = answer.usage;
  return { text: answer.choices[0].message.content, usage: [prompt_tokens, completion_tokens] };
}

async function stream(place) {
  const pieces = [];
  let used;
  const chunks = await client(place).chat.completions.create({
    model: place.model,
    messages: [user(place.ask)],
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of chunks) {
    const piece = chunk.choices[0]?.delta?.content;
    if (piece) pieces.push(piece);
    used = chunk.usage ?? used;
  }
  return { pieces, usage: [used.prompt_tokens, used.completion_tokens] };
}

function runner(place, streamed) {
  const called = [];
  const weather = ({ city }) => {
    called.push(city);
    return `${city}: 21`;
  };
  const tool = {
    type: 'function',
    function: { name: 'weather', parse: JSON.parse, function: weather, parameters: CITY },
  };
  const asked = { model: place.model, messages: [user(place.ask)], tools: [tool] };
  return [called, client(place).chat.completions.runTools({ ...asked, stream: streamed })];
}

async function tools(place) {
  const [called, running] = runner(place, false);
  return { text: await running.finalContent(), called };
}

async function toolsStreamed(place) {
  const [called, running] = runner(place, true);
  return { text: await running.finalContent(), called };
}

async function structured(place) {
  const answer = await client(place).chat.completions.parse({
    model: place.model,
    messages: [user(place.ask)],
    response_format: zodResponseFormat(Spot, 'spot'),
  });
  return answer.choices[0].message.parsed;
}

async function image(place) {
  const shown = { type: 'image_url', image_url: { url: `data:image/png;base64,${IMAGE}` } };
  const answer = await client(place).chat.completions.create({
    model: place.model,
    messages: [user([{ type: 'text', text: place.ask }, shown])],
  });
  return { text: answer.choices[0].message.content };
}

async function listed(place) {
  const all = [];
  for await (const model of client(place).models.list()) all.push(model.id);
  return { all, one: (await client(place).models.retrieve(place.model)).id };
}

async function embed(place) {
  const made = await client(place).embeddings.create({ model: place.model, input: ['one', 'two'] });
  return { vectors: made.data.map((one) => one.embedding), used: made.usage.prompt_tokens };
}

const retried = async (place) => ({ text: (await whole(place, 2)).text });

await serve({
  whole,
  stream,
  tools,
  tools_streamed: toolsStreamed,
  structured,
  image,
  retried,
  listed,
  embed,
});
