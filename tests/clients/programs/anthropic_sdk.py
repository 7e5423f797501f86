"""The Anthropic SDK for Python."""

from __future__ import annotations

from typing import Any

import anthropic
from pydantic import BaseModel

from tests.clients.programs.serving import IMAGE, Place, serve


class Spot(BaseModel):
    """Where it is how warm."""

    city: str
    degrees: int


_FIELDS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_WEATHER: Any = {"name": "weather", "description": "How warm it is.", "input_schema": _FIELDS}


def _client(place: Place, retries: int = 0) -> Any:
    return anthropic.Anthropic(
        api_key=place.key,
        base_url=place.url,
        max_retries=retries,
        default_headers=dict(place.headers),
    )


def _asked(place: Place, content: Any) -> Any:
    turns = [{"role": "user", "content": content}]
    return {"model": place.model, "max_tokens": 900, "messages": turns, **place.more}


def _text(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def whole(place: Place) -> Any:
    """Ask once."""
    answer = _client(place).messages.create(system="Be brief.", **_asked(place, place.ask))
    return {
        "text": _text(answer),
        "usage": [answer.usage.input_tokens, answer.usage.output_tokens],
    }


def stream(place: Place) -> Any:
    """Read a stream."""
    with _client(place).messages.stream(**_asked(place, place.ask)) as stream:
        pieces = list(stream.text_stream)
        used = stream.get_final_message().usage
    return {"pieces": pieces, "usage": [used.input_tokens, used.output_tokens]}


def _loop(place: Place, ask: Any) -> Any:
    called: list[str] = []
    asked = _asked(place, place.ask)
    while True:
        message = ask({**asked, "tools": [_WEATHER]})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return {"text": _text(message), "called": called}
        results = []
        for call in calls:
            called.append(call.input["city"])
            said = f"{call.input['city']}: 21"
            results.append({"type": "tool_result", "tool_use_id": call.id, "content": said})
        asked["messages"] += [
            {"role": "assistant", "content": message.content},
            {"role": "user", "content": results},
        ]


def tools(place: Place) -> Any:
    """Loop by hand."""
    client = _client(place)
    return _loop(place, lambda asked: client.messages.create(**asked))


def tools_streamed(place: Place) -> Any:
    """Loop by hand over the stream helper."""
    client = _client(place)

    def ask(asked: Any) -> Any:
        with client.messages.stream(**asked) as stream:
            return stream.get_final_message()

    return _loop(place, ask)


def runner(place: Place) -> Any:
    """Let the SDK's own runner loop, over its beta API."""
    called: list[str] = []

    @anthropic.beta_tool
    def weather(city: str) -> str:
        """Tell how warm it is in a city.

        Args:
            city: Its name.
        """
        called.append(city)
        return f"{city}: 21"

    turns = _client(place).beta.messages.tool_runner(tools=[weather], **_asked(place, place.ask))
    return {"text": _text(turns.until_done()), "called": called}


def structured(place: Place) -> Any:
    """Ask for an object of a class."""
    answer = _client(place).messages.parse(output_format=Spot, **_asked(place, place.ask))
    return answer.parsed_output.model_dump()


def image(place: Place) -> Any:
    """Show an image."""
    source = {"type": "base64", "media_type": "image/png", "data": IMAGE}
    content = [{"type": "text", "text": place.ask}, {"type": "image", "source": source}]
    return {"text": _text(_client(place).messages.create(**_asked(place, content)))}


def reasoning(place: Place) -> Any:
    """Ask for thoughts as well, and send them back with the next turn."""
    client, asked = _client(place), _asked(place, place.ask)
    first = client.messages.create(**asked)
    asked["messages"] += [
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": "And then?"},
    ]
    thought = "".join(block.thinking for block in first.content if block.type == "thinking")
    return {"thought": thought, "text": _text(client.messages.create(**asked))}


def retried(place: Place) -> Any:
    """Ask once, and again after a failure."""
    return {"text": _text(_client(place, 2).messages.create(**_asked(place, place.ask)))}


def listed(place: Place) -> Any:
    """List the models, and look at one."""
    client = _client(place)
    one = client.models.retrieve(place.model)
    return {"all": [model.id for model in client.models.list()], "one": one.id}


def counted(place: Place) -> Any:
    """Count the tokens of a prompt."""
    turns = [{"role": "user", "content": place.ask}]
    made = _client(place).messages.count_tokens(model=place.model, messages=turns)
    return {"tokens": made.input_tokens}


if __name__ == "__main__":
    serve(
        {
            "whole": whole,
            "stream": stream,
            "tools": tools,
            "tools_streamed": tools_streamed,
            "runner": runner,
            "structured": structured,
            "image": image,
            "reasoning": reasoning,
            "retried": retried,
            "listed": listed,
            "counted": counted,
        }
    )
