"""Ollama's client for Python."""

from __future__ import annotations

from typing import Any

import ollama
from pydantic import BaseModel

from tests.clients.programs.serving import IMAGE, Place, serve


class Spot(BaseModel):
    """Where it is how warm."""

    city: str
    degrees: int


def _client(place: Place) -> Any:
    headers = {"authorization": f"Bearer {place.key}", **place.headers}
    return ollama.Client(host=place.url, headers=headers)


def _turn(content: str, **more: Any) -> Any:
    return {"role": "user", "content": content, **more}


def whole(place: Place) -> Any:
    """Ask once."""
    turns = [{"role": "system", "content": "Be brief."}, _turn(place.ask)]
    answer = _client(place).chat(place.model, turns)
    return {"text": answer.message.content, "usage": [answer.prompt_eval_count, answer.eval_count]}


def stream(place: Place) -> Any:
    """Read a stream."""
    pieces: list[str] = []
    used: list[Any] = []
    for chunk in _client(place).chat(place.model, [_turn(place.ask)], stream=True):
        pieces += [chunk.message.content] if chunk.message.content else []
        if chunk.done:
            used = [chunk.prompt_eval_count, chunk.eval_count]
    return {"pieces": pieces, "usage": used}


def tools(place: Place) -> Any:
    """Loop by hand."""
    called: list[str] = []

    def weather(city: str) -> str:
        """Tell how warm it is in a city.

        Args:
            city: Its name.
        """
        called.append(city)
        return f"{city}: 21"

    turns: list[Any] = [_turn(place.ask)]
    while True:
        message = _client(place).chat(place.model, turns, tools=[weather]).message
        turns.append(message)
        if not message.tool_calls:
            return {"text": message.content, "called": called}
        for call in message.tool_calls:
            said = weather(**call.function.arguments)
            turns.append({"role": "tool", "tool_name": call.function.name, "content": said})


def structured(place: Place) -> Any:
    """Ask for an object of a class."""
    form = Spot.model_json_schema()
    answer = _client(place).chat(place.model, [_turn(place.ask)], format=form)
    return Spot.model_validate_json(answer.message.content).model_dump()


def image(place: Place) -> Any:
    """Show an image."""
    answer = _client(place).chat(place.model, [_turn(place.ask, images=[IMAGE])])
    return {"text": answer.message.content}


def reasoning(place: Place) -> Any:
    """Ask for thoughts as well, and send them back with the next turn."""
    turns = [_turn(place.ask)]
    first = _client(place).chat(place.model, turns, think=True).message
    second = _client(place).chat(place.model, [*turns, first, _turn("And then?")], think=True)
    return {"thought": first.thinking, "text": second.message.content}


def listed(place: Place) -> Any:
    """List the models, and look at one."""
    client = _client(place)
    capable = client.show(place.model).capabilities
    assert "completion" in capable, capable
    return {"all": [one.model for one in client.list().models], "one": place.model}


def embed(place: Place) -> Any:
    """Ask for vectors."""
    made = _client(place).embed(place.model, ["one", "two"])
    return {"vectors": [list(one) for one in made.embeddings]}


if __name__ == "__main__":
    serve(
        {
            "whole": whole,
            "stream": stream,
            "tools": tools,
            "structured": structured,
            "image": image,
            "reasoning": reasoning,
            "listed": listed,
            "embed": embed,
        }
    )
