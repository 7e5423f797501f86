"""The simulation behind the driver and codec that real providers use."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.simulated.grading import is_right
from gateway.upstream.simulated.settings import Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from gateway.upstream.transport import Transport
from techniques.core.channel import ask
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event, Finished, TextDelta
from techniques.core.request import (
    Request,
    ResponseFormat,
    Sampling,
    Tool,
    ToolChoice,
    said,
)

QUESTION = "What is 17 * 23?"


def channel(simulation: Simulation | None = None, model: str = "sim-large") -> HttpChannel:
    transport: Transport = SimulatedTransport(simulation)
    target = Target("fast", "sim", model)
    return HttpChannel(transport, OpenAIChat(), target, Patience(10, 10))


def request(text: str = QUESTION, *, stream: bool = False) -> Request:
    sampling = Sampling(seed=2)
    return Request("fast", (said("user", text),), sampling=sampling, stream=stream)


async def collected(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


async def test_an_answer_is_the_same_streamed_and_whole() -> None:
    simulated = channel()

    whole = await ask(simulated, request())
    async with simulated.open(request(stream=True)) as events:
        streamed = await collected(events)

    assert is_right(QUESTION, whole.text)
    assert whole.usage is not None
    assert whole.usage.output_tokens > 10
    pieces = [event.text for event in streamed if isinstance(event, TextDelta)]
    assert "".join(pieces) == whole.text
    assert len(pieces) > 10
    assert streamed[-1] == Finished("stop")


async def test_tools_are_called_through_the_codec() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    asked = Request(
        "fast",
        (said("user", "What is the weather in Lima?"),),
        tools=(Tool("get_weather", "Weather in a city", schema),),
        tool_choice=ToolChoice("required"),
        sampling=Sampling(seed=2),
    )

    reply = await ask(channel(), asked)

    assert reply.finish_reason == "tool_calls"
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [
        ("get_weather", '{"city":"Lima"}')
    ]


async def test_a_schema_is_kept_through_the_codec() -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "integer"}}}
    form = ResponseFormat("json_schema", schema, "sum", strict=True)
    asked = Request(
        "fast", (said("user", QUESTION),), response_format=form, sampling=Sampling(seed=2)
    )

    assert (await ask(channel(), asked)).text == '{"answer":391}'


async def test_a_rate_limit_is_told_with_the_time_to_wait() -> None:
    simulated = channel(Simulation(rpm=1))
    await ask(simulated, request())

    with pytest.raises(UpstreamFailed) as caught:
        await ask(simulated, request())

    assert caught.value.kind == "rate_limited"
    assert caught.value.retryable
    assert caught.value.retry_after == pytest.approx(60, abs=0.1)


async def test_an_unknown_model_is_no_reason_to_try_again() -> None:
    with pytest.raises(UpstreamFailed) as caught:
        await ask(channel(model="sim-none"), request())

    assert not caught.value.retryable
    assert caught.value.said.status == 404
