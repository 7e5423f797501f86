"""The OpenAI SDK for Python, over responses."""

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


_FIELDS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
_WEATHER: Any = {
    "type": "function",
    "name": "weather",
    "description": "How warm it is.",
    "parameters": _FIELDS,
    "strict": True,
}


def _client(place: Place, retries: int = 0) -> Any:
    return openai.OpenAI(
        api_key=place.key,
        base_url=place.url,
        max_retries=retries,
        default_headers=dict(place.headers),
    )


def whole(place: Place, retries: int = 0) -> Any:
    """Ask once."""
    answer = _client(place, retries).responses.create(
        model=place.model, instructions="Be brief.", input=place.ask, **place.more
    )
    assert answer.status == "completed", answer
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens
    return {
        "text": answer.output_text,
        "usage": [answer.usage.input_tokens, answer.usage.output_tokens],
    }


def stream(place: Place) -> Any:
    """Read a stream."""
    pieces, kinds, numbers = [], [], []
    used: Any = None
    for event in _client(place).responses.create(
        model=place.model, input=place.ask, stream=True, **place.more
    ):
        kinds.append(event.type)
        numbers.append(event.sequence_number)
        if event.type == "response.output_text.delta":
            pieces.append(event.delta)
        if event.type == "response.completed":
            used = event.response.usage
    assert kinds[:2] == ["response.created", "response.in_progress"], kinds
    assert numbers == list(range(len(numbers))), numbers
    return {"pieces": pieces, "usage": [used.input_tokens, used.output_tokens]}


def _loop(place: Place, ask: Any) -> Any:
    called: list[str] = []
    turns: list[Any] = [{"role": "user", "content": place.ask}]
    while True:
        answer = ask(turns)
        turns += [item.model_dump(exclude_none=True) for item in answer.output]
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return {"text": answer.output_text, "called": called}
        for call in calls:
            city = json.loads(call.arguments)["city"]
            called.append(city)
            said = {"type": "function_call_output", "call_id": call.call_id}
            turns.append({**said, "output": f"{city}: 21"})


def tools(place: Place) -> Any:
    """Loop by hand."""
    client = _client(place)

    def ask(turns: Any) -> Any:
        return client.responses.create(
            model=place.model, input=turns, tools=[_WEATHER], parallel_tool_calls=True
        )

    return _loop(place, ask)


def tools_streamed(place: Place) -> Any:
    """Loop by hand over the stream helper."""
    client = _client(place)

    def ask(turns: Any) -> Any:
        with client.responses.stream(model=place.model, input=turns, tools=[_WEATHER]) as stream:
            return stream.get_final_response()

    def plain(turns: Any) -> Any:
        return ask([_without_parsed(turn) for turn in turns])

    return _loop(place, plain)


def _without_parsed(turn: Any) -> Any:
    return {name: value for name, value in turn.items() if not name.startswith("parsed")}


def structured(place: Place) -> Any:
    """Ask for an object of a class."""
    answer = _client(place).responses.parse(model=place.model, input=place.ask, text_format=Spot)
    return answer.output_parsed.model_dump()


def image(place: Place) -> Any:
    """Show an image."""
    shown = {"type": "input_image", "image_url": f"data:image/png;base64,{IMAGE}", "detail": "auto"}
    content = [{"type": "input_text", "text": place.ask}, shown]
    answer = _client(place).responses.create(
        model=place.model, input=[{"role": "user", "content": content}]
    )
    return {"text": answer.output_text}


def reasoning(place: Place) -> Any:
    """Ask for thoughts as well, and send them back with the next turn."""
    client = _client(place)
    common: Any = {
        "model": place.model,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
    }
    turns: list[Any] = [{"role": "user", "content": place.ask}]
    first = client.responses.create(input=turns, **common)
    turns += [item.model_dump(exclude_none=True) for item in first.output]
    turns.append({"role": "user", "content": "And then?"})
    second = client.responses.create(input=turns, **common)
    thoughts = [item for item in first.output if item.type == "reasoning"]
    thought = "".join(part.text for item in thoughts for part in item.summary)
    return {"thought": thought, "text": second.output_text}


def chained(place: Place) -> Any:
    """Go on with a response by its name, then look at it and delete it."""
    client = _client(place)
    first = client.responses.create(model=place.model, input=place.ask)
    second = client.responses.create(
        model=place.model, input="And then?", previous_response_id=first.id
    )
    same = client.responses.retrieve(first.id)
    assert (same.id, same.output_text) == (first.id, first.output_text)
    client.responses.delete(first.id)
    return {"text": second.output_text}


def retried(place: Place) -> Any:
    """Ask once, and again after a failure."""
    return {"text": whole(place, 2)["text"]}


if __name__ == "__main__":
    serve(
        {
            "whole": whole,
            "stream": stream,
            "tools": tools,
            "tools_streamed": tools_streamed,
            "structured": structured,
            "image": image,
            "reasoning": reasoning,
            "chained": chained,
            "retried": retried,
        }
    )
