"""What a person can paste to try the gateway that has just started."""

from __future__ import annotations

from gateway.config import Config

_TEMPLATE = """
Try it{with_key}:

  curl {address}/v1/chat/completions -H 'content-type: application/json'{curl_key} \\
    -d '{{"model": "{model}", "messages": [{{"role": "user", "content": "What is 17 * 23?"}}]}}'

  # pip install openai
  from openai import OpenAI
  client = OpenAI(base_url="{address}/v1", api_key="{key}")
  answer = client.chat.completions.create(
      model="{model}",
      messages=[{{"role": "user", "content": "What is 17 * 23?"}}],
      extra_headers={{"x-lockgate-technique": "self_consistency"}},
  )
  print(answer.choices[0].message.content)

  # pip install anthropic
  from anthropic import Anthropic
  client = Anthropic(base_url="{address}", api_key="{key}")
  with client.messages.stream(
      model="{model}",
      max_tokens=200,
      messages=[{{"role": "user", "content": "What is 17 * 23?"}}],
  ) as stream:
      for text in stream.text_stream:
          print(text, end="", flush=True)
"""


def pastes(address: str, config: Config, *, keyed: bool) -> str:
    """Return a curl command and two SDK snippets for the gateway at *address*.

    *keyed* tells that callers need a key.
    """
    names = [model.name for model in config.models if not model.name.endswith("*")]
    return _TEMPLATE.format(
        address=address,
        model=names[0] if names else config.models[0].name.replace("*", "MODEL"),
        key="YOUR_KEY" if keyed else "any",
        with_key=" (with a key of yours)" if keyed else "",
        curl_key=" -H 'authorization: Bearer YOUR_KEY'" if keyed else "",
    )
