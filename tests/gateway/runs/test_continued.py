"""A streamed answer that broke off is gone on with where its model can; else it is asked anew."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from gateway.metering.ledger import StepAmbiguous
from techniques.core.errors import GatewayError, StreamBroken, UpstreamFailed
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import Request
from techniques.testing import Line
from tests.gateway.runs.scene import POLICY, Replica, World

LEASE_S = 15
LONG = "The answer goes on and on. " * 60
REST = " And here it ends."
ANEW = "Something else altogether."
STREAM: Mapping[str, Json] = {"stream": True, "max_tokens": 2000}
WHOLE = 3
"""Words that a plain call writes: that it is sent, what there is of its answer, what came of it."""


def goes_on(request: Request) -> Line | str:
    """Answer at length; to who shows the beginning of the answer, the rest."""
    if request.messages and request.messages[-1].role == "assistant":
        return REST
    return LONG


def world_of(prefill: str = "message", *, continues: bool = True) -> World:
    policy = replace(POLICY, continues=continues)
    return World(goes_on, policy=policy, prefill=prefill)  # type: ignore[arg-type]


@asynccontextmanager
async def killed(
    world: World, at: int = WHOLE - 1, wants: Mapping[str, Json] = STREAM
) -> AsyncGenerator[Replica, None]:
    """Give another replica, after one died while it wrote its word numbered *at*."""
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(at, "none", wants=wants)
        await anyio.sleep(LEASE_S)
        yield second


def warnings(world: World) -> list[str]:
    return [fact.code for fact in world.facts if isinstance(fact, Warned)]


async def test_an_answer_that_a_replica_had_begun_is_gone_on_with_by_another() -> None:
    world = world_of()
    async with killed(world) as second:
        begun = (await world.stored()).steps[0].partial or ""
        reply = await second.ask("none", wants=STREAM)

    assert len(begun) >= 1024
    assert LONG.startswith(begun)
    assert reply.text == begun.rstrip() + REST
    again = world.provider.asked[1]
    assert again.continues
    assert (again.messages[-1].role, again.messages[-1].text) == ("assistant", begun.rstrip())
    assert again.sampling.max_output_tokens == 2000 - len(begun.rstrip()) // 4
    assert "answer_continued" in warnings(world)
    assert [fact for fact in world.facts if isinstance(fact, StepAmbiguous)]
    (step,) = (await world.stored()).steps
    assert (step.state, step.partial, step.attempts) == ("completed", None, 2)


async def test_who_asks_once_more_hears_the_whole_answer_and_nobody_is_asked() -> None:
    world = world_of()
    async with killed(world) as second:
        first = await second.ask("none", wants=STREAM)
        asked = len(world.asked)
        assert (await second.ask("none", wants=STREAM)).text == first.text
        assert len(world.asked) == asked


async def test_an_answer_that_the_provider_broke_off_is_gone_on_with() -> None:
    world = world_of()
    world.script = lambda request: (
        REST
        if request.messages[-1].role == "assistant"
        else Line(replied(LONG), breaks=StreamBroken("The stream ended."))
    )
    async with world.replica() as replica:
        with pytest.raises(StreamBroken):
            await replica.ask("none", wants=STREAM)
        reply = await replica.ask("none", wants=STREAM)

    assert reply.text == LONG.rstrip() + REST


async def test_a_model_that_refuses_to_go_on_is_asked_anew() -> None:
    world = world_of()

    def refuses(request: Request) -> Line | str:
        if request.continues:
            error = UpstreamFailed("No assistant turn may come last.", "rejected")
            return Line(error)
        return ANEW if len(world.provider.asked) > 1 else LONG

    world.script = refuses
    async with killed(world) as second:
        assert (await second.ask("none", wants=STREAM)).text == ANEW
    assert "answer_continued" not in warnings(world)


@pytest.mark.parametrize(
    ("prefill", "continues", "wants"),
    [
        ("none", True, STREAM),
        ("message", False, STREAM),
        ("message", True, {"max_tokens": 2000}),
        ("message", True, {**STREAM, "response_format": {"type": "json_object"}}),
        ("message", True, {**STREAM, "logprobs": True}),
        ("message", True, {**STREAM, "reasoning_effort": "high"}),
        (
            "message",
            True,
            {**STREAM, "tools": [{"type": "function", "function": {"name": "f"}}]},
        ),
    ],
    ids=["no model", "no wish", "no stream", "a form", "logprobs", "thinking", "tools"],
)
async def test_other_answers_are_asked_anew_and_nothing_is_mixed(
    prefill: str, *, continues: bool, wants: Mapping[str, Json]
) -> None:
    world = world_of(prefill, continues=continues)
    world.script = lambda _request: ANEW if len(world.provider.asked) > 1 else LONG
    async with killed(world, 1, wants) as second:
        assert (await world.stored()).steps[0].partial is None
        assert (await second.ask("none", wants=wants)).text == ANEW
    assert not any(request.continues for request in world.provider.asked)


async def test_a_limit_that_meets_the_rest_puts_the_run_away_and_forgets_nothing() -> None:
    world = world_of()
    limited = UpstreamFailed("Slow down.", "rate_limited", retryable=True, retry_after=1.0)
    async with killed(world) as second:
        begun = (await world.stored()).steps[0].partial or ""
        world.script = lambda _request: Line(limited)
        with pytest.raises(GatewayError):
            await second.ask("none", wants=STREAM)
        world.script = goes_on
        assert (await second.ask("none", wants=STREAM)).text == begun.rstrip() + REST
