"""The OpenAI Agents SDK, over chat completions or responses."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

from tests.clients.programs.serving import IMAGE, Place, serve

set_tracing_disabled(disabled=True)


class Spot(BaseModel):
    """Where it is how warm."""

    city: str
    degrees: int


def _agent(place: Place, **more: Any) -> Any:
    client = AsyncOpenAI(
        api_key=place.key,
        base_url=place.url,
        max_retries=0,
        default_headers=dict(place.headers),
    )
    kind = OpenAIResponsesModel if place.surface == "responses" else OpenAIChatCompletionsModel
    settings = ModelSettings(include_usage=True, **place.more)
    model = kind(place.model, openai_client=client)
    return Agent(name="one", model=model, model_settings=settings, **more)


def _usage(result: Any) -> list[int]:
    used = result.context_wrapper.usage
    return [used.input_tokens, used.output_tokens]


def _weather(called: list[str]) -> Any:
    @function_tool
    def weather(city: str) -> str:
        """Tell how warm it is in a city."""
        called.append(city)
        return f"{city}: 21"

    return weather


async def _streamed(agent: Any, ask: str) -> tuple[list[str], Any]:
    result = Runner.run_streamed(agent, ask)
    pieces = [
        event.data.delta
        async for event in result.stream_events()
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    ]
    return pieces, result


async def whole(place: Place) -> Any:
    """Run once."""
    result = await Runner.run(_agent(place, instructions="Be brief."), place.ask)
    return {"text": result.final_output, "usage": _usage(result)}


async def stream(place: Place) -> Any:
    """Read a stream."""
    pieces, result = await _streamed(_agent(place), place.ask)
    return {"pieces": pieces, "usage": _usage(result)}


async def tools(place: Place) -> Any:
    """Let the agent loop."""
    called: list[str] = []
    result = await Runner.run(_agent(place, tools=[_weather(called)]), place.ask)
    return {"text": result.final_output, "called": sorted(called)}


async def tools_streamed(place: Place) -> Any:
    """Let the agent loop, all of it streamed."""
    called: list[str] = []
    pieces, _ = await _streamed(_agent(place, tools=[_weather(called)]), place.ask)
    return {"text": "".join(pieces), "called": sorted(called)}


async def handoff(place: Place) -> Any:
    """Hand over to another agent, which answers."""
    other = _agent(place)
    other.name = "other"
    result = await Runner.run(_agent(place, handoffs=[other]), place.ask)
    return {"text": result.final_output, "by": result.last_agent.name}


async def structured(place: Place) -> Any:
    """Ask for an object of a class."""
    result = await Runner.run(_agent(place, output_type=Spot), place.ask)
    return result.final_output.model_dump()


async def image(place: Place) -> Any:
    """Show an image."""
    shown = {"type": "input_image", "image_url": f"data:image/png;base64,{IMAGE}", "detail": "auto"}
    content = [{"type": "input_text", "text": place.ask}, shown]
    result = await Runner.run(_agent(place), [{"role": "user", "content": content}])
    return {"text": result.final_output}


async def reasoning(place: Place) -> Any:
    """Ask for thoughts as well, and send them back with the next turn."""
    agent = _agent(place)
    first = await Runner.run(agent, place.ask)
    turns = [*first.to_input_list(), {"role": "user", "content": "And then?"}]
    second = await Runner.run(agent, turns)
    items = [item.raw_item for item in first.new_items if item.type == "reasoning_item"]
    thought = "".join(part.text for item in items for part in item.summary or item.content or ())
    return {"thought": thought, "text": second.final_output}


async def chained(place: Place) -> Any:
    """Go on with a response by its name."""
    agent = _agent(place)
    first = await Runner.run(agent, place.ask)
    named = first.last_response_id
    return {"text": (await Runner.run(agent, "And then?", previous_response_id=named)).final_output}


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
                "handoff": _run(handoff),
                "structured": _run(structured),
                "image": _run(image),
                "reasoning": _run(reasoning),
                "chained": _run(chained),
            }
        )
