from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from gateway.channels.capped import CappedChannel
from gateway.channels.rescued import rescued
from gateway.metering.caps import Caps, RunAllowance
from gateway.metering.ledger import Ledger
from techniques.core.channel import Channel, Channels, Member, TechniqueChannel
from techniques.core.errors import (
    CapReached,
    DeadlinePassed,
    GatewayError,
    RequestRejected,
    StreamBroken,
    TechniqueFailed,
    UpstreamFailed,
)
from techniques.core.events import Event, Note, Started, TextDelta, Warned
from techniques.core.request import Request, said
from techniques.core.task import Task
from techniques.testing import ScriptedChannel

QUESTION = Request("m", (said("user", "?"),))


class Failing:
    """A technique that yields *before* and then fails."""

    def __init__(self, failure: Exception, *before: Event) -> None:
        self.failure = failure
        self.before = before

    async def __call__(self, task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        for event in self.before:
            yield event
        raise self.failure


async def run(technique: Failing, channel: Channel) -> list[Event]:
    member = Member("0", "m", channel)
    task = Task(QUESTION, None)
    over = TechniqueChannel(rescued(technique), task, Channels(member, (member,)))
    async with over.open(QUESTION) as events:
        return [event async for event in events]


def text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    "failure",
    [
        TechniqueFailed("none was good enough"),
        UpstreamFailed("down", "overloaded"),
        StreamBroken("cut off while judging"),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_the_question_is_asked_once_plainly_and_that_is_told(failure: GatewayError) -> None:
    channel = ScriptedChannel(["plain"])

    events = await run(Failing(failure, Started(), Note("progress", {})), channel)

    assert text(events) == "plain"
    assert Warned("technique_failed", failure.code) in events
    assert channel.asked == [QUESTION]


@pytest.mark.parametrize(
    "failure",
    [
        UpstreamFailed("wrong", "rejected"),
        RequestRejected("wrong"),
        CapReached("spent"),
        DeadlinePassed("late"),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_what_another_call_would_not_mend_is_raised(failure: GatewayError) -> None:
    channel = ScriptedChannel([])
    with pytest.raises(type(failure)):
        await run(Failing(failure), channel)

    assert channel.asked == []


async def test_an_answer_that_has_begun_is_not_replaced() -> None:
    channel = ScriptedChannel([])
    with pytest.raises(TechniqueFailed):
        await run(Failing(TechniqueFailed("late"), TextDelta("so")), channel)

    assert channel.asked == []


async def test_a_bug_is_not_rescued() -> None:
    channel = ScriptedChannel([])
    with pytest.raises(ZeroDivisionError):
        await run(Failing(ZeroDivisionError()), channel)

    assert channel.asked == []


async def test_where_the_caps_leave_no_plain_call_the_techniques_failure_is_raised() -> None:
    allowance = RunAllowance(Caps(max_calls=1), Ledger())
    allowance.take()
    with pytest.raises(TechniqueFailed, match="none was good enough"):
        await run(
            Failing(TechniqueFailed("none was good enough")),
            CappedChannel(ScriptedChannel([]), allowance),
        )
