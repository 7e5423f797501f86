"""The OpenAI SDK for Python, over chat completions or responses."""

from __future__ import annotations

import json
from typing import Any

import openai
from pydantic import BaseModel

from tests.clients.programs.serving import IMAGE, Place, serve


class Spot(BaseModel):
    """Where it is how warm."""

    city: str
    degrees: int


_FIELDS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_WEATHER: Any = {
    "type": "function",
    "function": {"name": "weather", "description": "How warm it is.", "parameters": _FIELDS},
}


def _client(place: Place, retries: int = 0) -> Any:
    return openai.OpenAI(
        api_key=place.key,
        base_url=place.url,
        max_retries=retries,
        default_headers=dict(place.headers),
    )


def _turn(content: Any) -> Any:
    return {"role": "user", "content": content}


def whole(place: Place) -> Any:
    """Ask once."""
    turns = [{"role": "system", "content": "Be brief."}, _turn(place.ask)]
    answer = _client(place).chat.completions.create(model=place.model, messages=turns, **place.more)
    used = answer.usage
    return {
        "text": answer.choices[0].message.content,
        "usage": [used.prompt_tokens, used.completion_tokens],
    }


def stream(place: Place) -> Any:
    """Read a stream."""
    pieces: list[str] = []
    used: Any = None
    for chunk in _client(place).chat.completions.create(
        model=place.model,
        messages=[_turn(place.ask)],
        stream=True,
        stream_options={"include_usage": True},
    ):
        pieces += [choice.delta.content for choice in chunk.choices if choice.delta.content]
        used = chunk.usage or used
    return {"pieces": pieces, "usage": [used.prompt_tokens, used.completion_tokens]}


def _loop(place: Place, ask: Any) -> Any:
    called: list[str] = []
    turns: list[Any] = [_turn(place.ask)]
    while True:
        message = ask(turns)
        turns.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        if not message.tool_calls:
            return {"text": message.content, "called": called}
        for call in message.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            called.append(city)
            turns.append({"role": "tool", "tool_call_id": call.id, "content": f"{city}: 21"})


def tools(place: Place) -> Any:
    """Loop by hand."""
    client = _client(place)

    def ask(turns: Any) -> Any:
        made = client.chat.completions.create(
            model=place.model, messages=turns, tools=[_WEATHER], parallel_tool_calls=True
        )
        return made.choices[0].message

    return _loop(place, ask)


def tools_streamed(place: Place) -> Any:
    """Loop by hand over the stream helper."""
    client = _client(place)

    def ask(turns: Any) -> Any:
        with client.chat.completions.stream(
            model=place.model, messages=turns, tools=[_WEATHER]
        ) as stream:
            return stream.get_final_completion().choices[0].message

    return _loop(place, ask)


def structured(place: Place) -> Any:
    """Ask for an object of a class."""
    answer = _client(place).chat.completions.parse(
        model=place.model, messages=[_turn(place.ask)], response_format=Spot
    )
    return answer.choices[0].message.parsed.model_dump()


def image(place: Place) -> Any:
    """Show an image."""
    shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}}
    answer = _client(place).chat.completions.create(
        model=place.model, messages=[_turn([{"type": "text", "text": place.ask}, shown])]
    )
    return {"text": answer.choices[0].message.content}


def retried(place: Place) -> Any:
    """Ask once, and again after a failure."""
    answer = _client(place, 2).chat.completions.create(
        model=place.model, messages=[_turn(place.ask)]
    )
    return {"text": answer.choices[0].message.content}


def listed(place: Place) -> Any:
    """List the models, and look at one."""
    client = _client(place)
    one = client.models.retrieve(place.model)
    return {"all": [model.id for model in client.models.list()], "one": one.id}


def embed(place: Place) -> Any:
    """Ask for vectors."""
    made = _client(place).embeddings.create(model=place.model, input=["one", "two"])
    return {"vectors": [one.embedding for one in made.data], "used": made.usage.prompt_tokens}


if __name__ == "__main__":
    serve(
        {
            "whole": whole,
            "stream": stream,
            "tools": tools,
            "tools_streamed": tools_streamed,
            "structured": structured,
            "image": image,
            "retried": retried,
            "listed": listed,
            "embed": embed,
        }
    )
