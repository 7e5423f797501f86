"""pydantic-ai: an agent over each of its models of OpenAI and Anthropic."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import ThinkingPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.clients.programs.serving import IMAGE, Place, serve


class Spot(BaseModel):
    """Where it is how warm."""

    city: str
    degrees: int


def _model(place: Place) -> Any:
    common: dict[str, Any] = {
        "api_key": place.key,
        "base_url": place.url,
        "max_retries": 0,
        "default_headers": dict(place.headers),
    }
    if place.surface == "messages":
        provider = AnthropicProvider(anthropic_client=AsyncAnthropic(**common))
        return AnthropicModel(place.model, provider=provider)
    kind = OpenAIResponsesModel if place.surface == "responses" else OpenAIChatModel
    return kind(place.model, provider=OpenAIProvider(openai_client=AsyncOpenAI(**common)))


def _agent(place: Place, **more: Any) -> Any:
    return Agent(_model(place), model_settings=dict(place.more), **more)


def _usage(used: Any) -> list[int]:
    return [used.input_tokens, used.output_tokens]


def _use(result: Any) -> Any:
    return result.usage() if callable(result.usage) else result.usage


async def whole(place: Place) -> Any:
    """Run once."""
    result = await _agent(place, instructions="Be brief.").run(place.ask)
    return {"text": result.output, "usage": _usage(_use(result))}


async def stream(place: Place) -> Any:
    """Read a stream."""
    async with _agent(place).run_stream(place.ask) as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
    return {"pieces": pieces, "usage": _usage(_use(result))}


def _with_weather(place: Place, called: list[str]) -> Any:
    agent = _agent(place)

    @agent.tool_plain
    def weather(city: str) -> str:
        """Tell how warm it is in a city."""
        called.append(city)
        return f"{city}: 21"

    return agent


async def tools(place: Place) -> Any:
    """Let the agent loop."""
    called: list[str] = []
    result = await _with_weather(place, called).run(place.ask)
    return {"text": result.output, "called": sorted(called)}


async def tools_streamed(place: Place) -> Any:
    """Let the agent loop, all of it streamed."""
    called: list[str] = []
    seen: list[str] = []

    async def watch(_: Any, events: Any) -> None:
        seen.extend([event.event_kind async for event in events])

    agent = _with_weather(place, called)
    result = await agent.run(place.ask, event_stream_handler=watch)
    assert "part_delta" in seen, seen
    return {"text": result.output, "called": sorted(called)}


async def structured(place: Place) -> Any:
    """Ask for an object of a class."""
    result = await _agent(place, output_type=Spot).run(place.ask)
    return result.output.model_dump()


async def image(place: Place) -> Any:
    """Show an image."""
    shown = BinaryContent(base64.b64decode(IMAGE), media_type="image/png")
    return {"text": (await _agent(place).run([place.ask, shown])).output}


async def reasoning(place: Place) -> Any:
    """Ask for thoughts as well, and send them back with the next turn."""
    agent = _agent(place)
    first = await agent.run(place.ask)
    second = await agent.run("And then?", message_history=first.all_messages())
    parts = [part for turn in first.all_messages() for part in turn.parts]
    thought = "".join(part.content for part in parts if isinstance(part, ThinkingPart))
    return {"thought": thought, "text": second.output}


if __name__ == "__main__":
    with asyncio.Runner() as runner:

        def _run(operation: Any) -> Any:
            return lambda place: runner.run(operation(place))

        serve(
            {
                "whole": _run(whole),
                "stream": _run(stream),
                "tools": _run(tools),
                "tools_streamed": _run(tools_streamed),
                "structured": _run(structured),
                "image": _run(image),
                "reasoning": _run(reasoning),
            }
        )
