// LangChain for Node: its chat models of OpenAI and Anthropic.
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { z } from 'zod';
import { IMAGE, serve, url } from './serving.mjs';

const Spot = z.object({ city: z.string(), degrees: z.number().int() });

function model(place) {
  const { key: apiKey, headers: defaultHeaders, more } = place;
  const common = { apiKey, model: place.model, maxRetries: 0, ...more };
  if (place.surface === 'messages') {
    const clientOptions = { defaultHeaders };
    return new ChatAnthropic({ ...common, maxTokens: 900, anthropicApiUrl: url(place), clientOptions });
  }
  const configuration = { baseURL: url(place), defaultHeaders };
  const useResponsesApi = place.surface === 'responses';
  return new ChatOpenAI({ ...common, configuration, useResponsesApi, streamUsage: true });
}

function counts(message) {
  const used = message.usage_metadata ?? {};
  return [used.input_tokens, used.output_tokens];
}

async function whole(place) {
  const answer = await model(place).invoke([
    ['system', 'Be brief.'],
    ['user', place.ask],
  ]);
  return { text: answer.text, usage: counts(answer) };
}

async function stream(place) {
  const pieces = [];
  let total;
  for await (const chunk of await model(place).stream(place.ask)) {
    if (chunk.text) pieces.push(chunk.text);
    total = total ? total.concat(chunk) : chunk;
  }
  return { pieces, usage: counts(total) };
}

async function tools(place) {
  const called = [];
  const weather = tool(
    ({ city }) => {
      called.push(city);
      return `${city}: 21`;
    },
    { name: 'weather', description: 'How warm it is.', schema: z.object({ city: z.string() }) },
  );
  const bound = model(place).bindTools([weather]);
  const turns = [new HumanMessage(place.ask)];
  for (;;) {
    const answer = await bound.invoke(turns);
    if (!answer.tool_calls?.length) return { text: answer.text, called };
    turns.push(answer);
    for (const call of answer.tool_calls) {
      const content = await weather.invoke(call.args);
      turns.push(new ToolMessage({ content, tool_call_id: call.id }));
    }
  }
}

const structured = (place) => model(place).withStructuredOutput(Spot).invoke(place.ask);

async function image(place) {
  const shown = { type: 'image_url', image_url: { url: `data:image/png;base64,${IMAGE}` } };
  const turn = new HumanMessage({ content: [{ type: 'text', text: place.ask }, shown] });
  return { text: (await model(place).invoke([turn])).text };
}

async function embed(place) {
  const made = new OpenAIEmbeddings({
    apiKey: place.key,
    model: place.model,
    configuration: { baseURL: url(place) },
  });
  return { vectors: await made.embedDocuments(['one', 'two']) };
}

await serve({ whole, stream, tools, structured, image, embed });
