"""instructor: objects of a class, over chat completions or messages."""

from __future__ import annotations

from typing import Any

import anthropic
import instructor
import openai
from pydantic import BaseModel

from tests.clients.programs.serving import Place, serve


class Spot(BaseModel):
    """Where it is how warm."""

    city: str
    degrees: int


def _client(place: Place, mode: str | None = None) -> Any:
    common: dict[str, Any] = {
        "api_key": place.key,
        "base_url": place.url,
        "max_retries": 0,
        "default_headers": dict(place.headers),
    }
    chosen = {} if mode is None else {"mode": instructor.Mode[mode]}
    if place.surface == "messages":
        return instructor.from_anthropic(anthropic.Anthropic(**common), **chosen)
    return instructor.from_openai(openai.OpenAI(**common), **chosen)


def _asked(place: Place, client: Any, response_model: Any = Spot, **more: Any) -> Any:
    return client.chat.completions.create(
        model=place.model,
        max_tokens=900,
        max_retries=1,
        response_model=response_model,
        messages=[{"role": "user", "content": place.ask}],
        **more,
    )


def structured(place: Place) -> Any:
    """Ask for an object in the mode that is usual."""
    return _asked(place, _client(place)).model_dump()


def as_json(place: Place) -> Any:
    """Ask for an object in the mode that ``more`` names."""
    return _asked(place, _client(place, place.more["mode"])).model_dump()


def partial(place: Place) -> Any:
    """Read an object while it is written."""
    seen = list(_asked(place, _client(place), instructor.Partial[Spot], stream=True))
    return {"last": seen[-1].model_dump(), "seen": len(seen)}


def again(place: Place) -> Any:
    """Ask again where the first answer does not fit."""
    client = _client(place)
    answer = client.chat.completions.create(
        model=place.model,
        max_tokens=900,
        max_retries=2,
        response_model=Spot,
        messages=[{"role": "user", "content": place.ask}],
    )
    return answer.model_dump()


if __name__ == "__main__":
    serve({"structured": structured, "as_json": as_json, "partial": partial, "again": again})
