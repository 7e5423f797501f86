from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio
import pytest
import trio
from pydantic import BaseModel
from trio.testing import MockClock

from gateway.app import CHAT
from gateway.channels.retrying import RetryPolicy
from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked, Pipeline
from gateway.planning.plan import Defaults
from gateway.planning.planner import Planner
from gateway.policy.keys import OPEN
from gateway.policy.models import Catalogue, Model
from gateway.policy.wishes import Wishes
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.provider import Target
from techniques.core.channel import Channels, Technique, ask
from techniques.core.errors import DeadlinePassed
from techniques.core.events import Event
from techniques.core.registry import Card, Traits
from techniques.core.reply import Reply, fold, replied, unfold
from techniques.core.task import Ran, Task
from tests.gateway.surfaces.scene import DIALECTS, Upstream, streamed, whole

SECONDS = 10


class NoOptions(BaseModel):
    """Nothing to choose."""


class Echo:
    """A sandbox that gives back the program."""

    async def run(self, program: str) -> Ran:
        return Ran("ok", program)


async def run_something(task: Task[NoOptions], channels: Channels) -> AsyncGenerator[Event, None]:
    ran = await task.sandbox.run("print(1)") if task.sandbox else Ran("unavailable")
    for event in unfold(replied(f"{ran.ended} {ran.out}")):
        yield event


async def answer(
    technique: Technique,
    provider: Upstream,
    sandbox: Echo | None = None,
    deadline_ms: int | None = None,
) -> Reply:
    """Return the answer of *technique*, run by the pipeline over *provider*."""
    channel = HttpChannel(
        provider, DIALECTS["openai_chat"], Target("m", "p", "m"), Patience(99, 99)
    )
    card = Card("runs", "", Traits("", "", "", "", ""), NoOptions, technique)
    planner = Planner(Catalogue([Model(channel)]), {"runs": card}, Defaults())
    pipeline = Pipeline(planner, RetryPolicy(), sandbox=sandbox)
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    wishes = Wishes(technique="runs", deadline_ms=deadline_ms)
    asked = Asked(CHAT.decode(body, b""), OPEN, wishes)
    async with pipeline.answer(asked, pipeline.plan(asked), Ledger()) as events:
        return await fold(events)


async def test_a_technique_gets_the_sandbox_that_there_is() -> None:
    assert (await answer(run_something, Upstream([]), Echo())).text == "ok print(1)"
    assert (await answer(run_something, Upstream([]))).text == "unavailable "


async def late(task: Task[NoOptions], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask, work on the answer until long after the deadline, and ask for a better one."""
    draft = await ask(channels.primary, task.request)
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, MockClock)
    clock.jump(3 * SECONDS)
    await anyio.lowlevel.checkpoint()
    try:
        await ask(channels.primary, task.request)
    except DeadlinePassed:
        for event in unfold(draft):
            yield event


async def once(task: Task[NoOptions], channels: Channels) -> AsyncGenerator[Event, None]:
    """Pass on one call as it comes."""
    async with channels.primary.open(task.request) as events:
        async for event in events:
            yield event


async def test_what_a_technique_has_at_its_deadline_is_given_however_long_it_works_on_it() -> None:
    upstream = Upstream([whole("The draft.")])

    reply = await answer(late, upstream, deadline_ms=1000 * SECONDS)

    assert reply.text == "The draft."
    assert len(upstream.calls) == 1


async def test_no_call_of_a_technique_goes_on_after_the_deadline() -> None:
    upstream = Upstream([streamed(600.0)])
    began = anyio.current_time()

    with pytest.raises(DeadlinePassed, match="No answer within 10 seconds"):
        await answer(once, upstream, deadline_ms=1000 * SECONDS)

    assert anyio.current_time() == pytest.approx(began + SECONDS)
    assert upstream.given[0].closed
