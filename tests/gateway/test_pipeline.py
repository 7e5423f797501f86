from __future__ import annotations

from collections.abc import AsyncGenerator

from pydantic import BaseModel

from gateway.app import CHAT
from gateway.channels.retrying import RetryPolicy
from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked, Pipeline
from gateway.planning.plan import Defaults, Planner
from gateway.policy.keys import OPEN
from gateway.policy.models import Catalogue, Model
from gateway.policy.wishes import Wishes
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.provider import Target
from router_service.engine import Engine
from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import Card, Traits
from techniques.core.reply import fold, replied, unfold
from techniques.core.task import Ran, Task
from tests.gateway.surfaces.scene import DIALECTS, Upstream


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


async def answered(sandbox: Echo | None) -> str:
    """Return the answer of a technique that runs a program in *sandbox*."""
    channel = HttpChannel(
        Upstream([]), DIALECTS["openai_chat"], Target("m", "p", "m"), Patience(1, 1)
    )
    card = Card("runs", "", Traits("", "", "", "", ""), NoOptions, run_something)
    planner = Planner(Catalogue([Model(channel)]), {"runs": card}, Defaults(), Engine("fixed"))
    pipeline = Pipeline(planner, RetryPolicy(), sandbox=sandbox)
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    asked = Asked(CHAT.decode(body, b""), OPEN, Wishes(technique="runs"))
    async with pipeline.answer(asked, pipeline.plan(asked), Ledger()) as events:
        return (await fold(events)).text


async def test_a_technique_gets_the_sandbox_that_there_is() -> None:
    assert await answered(Echo()) == "ok print(1)"
    assert await answered(None) == "unavailable "
