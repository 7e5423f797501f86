// The AI SDK of Vercel, with each of its providers.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Output, embedMany, generateText, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';
import { IMAGE, serve } from './serving.mjs';

const Spot = z.object({ city: z.string(), degrees: z.number().int() });

function model(place) {
  const { key: apiKey, headers, root, surface } = place;
  const common = { apiKey, headers, baseURL: `${root}/v1` };
  if (surface === 'messages') return createAnthropic(common)(place.model);
  if (surface === 'responses') return createOpenAI(common).responses(place.model);
  if (surface === 'compatible') {
    const made = createOpenAICompatible({
      ...common,
      name: 'gateway',
      includeUsage: true,
      supportsStructuredOutputs: true,
    });
    return made(place.model);
  }
  return createOpenAI(common).chat(place.model);
}

function asked(place, more = {}) {
  return { model: model(place), prompt: place.ask, maxRetries: 0, ...more, ...place.more };
}

const counts = (used) => [used.inputTokens, used.outputTokens];

async function whole(place) {
  const { text, usage } = await generateText(asked(place, { instructions: 'Be brief.' }));
  return { text, usage: counts(usage) };
}

async function stream(place) {
  let failed;
  const onError = ({ error }) => (failed = error);
  const running = streamText(asked(place, { onError }));
  const pieces = [];
  for await (const piece of running.textStream) pieces.push(piece);
  if (failed) throw failed;
  return { pieces, usage: counts(await running.usage) };
}

function looping(place) {
  const called = [];
  const weather = tool({
    description: 'How warm it is.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      called.push(city);
      return `${city}: 21`;
    },
  });
  return [called, asked(place, { tools: { weather }, stopWhen: isStepCount(4) })];
}

async function tools(place) {
  const [called, request] = looping(place);
  const { text } = await generateText(request);
  return { text, called: called.sort() };
}

async function toolsStreamed(place) {
  const [called, request] = looping(place);
  let text = '';
  for await (const piece of streamText(request).textStream) text += piece;
  return { text, called: called.sort() };
}

async function structured(place) {
  const { output } = await generateText(asked(place, { output: Output.object({ schema: Spot }) }));
  return output;
}

async function image(place) {
  const content = [
    { type: 'text', text: place.ask },
    { type: 'file', mediaType: 'image/png', data: IMAGE },
  ];
  const { prompt, ...rest } = asked(place);
  const { text } = await generateText({ ...rest, messages: [{ role: 'user', content }] });
  return { text };
}

async function reasoning(place) {
  const { prompt, ...rest } = asked(place);
  const messages = [{ role: 'user', content: prompt }];
  const first = await generateText({ ...rest, messages });
  messages.push(...first.response.messages, { role: 'user', content: 'And then?' });
  const second = await generateText({ ...rest, messages });
  return { thought: first.reasoningText ?? '', text: second.text };
}

async function embed(place) {
  const { key: apiKey, root } = place;
  const made = createOpenAI({ apiKey, baseURL: `${root}/v1` }).embedding(place.model);
  const { embeddings, usage } = await embedMany({ model: made, values: ['one', 'two'] });
  return { vectors: embeddings, used: usage.tokens };
}

const retried = async (place) => {
  const { text } = await generateText(asked({ ...place }, { maxRetries: 2 }));
  return { text };
};

await serve({
  whole,
  stream,
  tools,
  tools_streamed: toolsStreamed,
  structured,
  image,
  reasoning,
  retried,
  embed,
});
