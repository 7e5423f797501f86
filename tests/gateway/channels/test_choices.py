from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from gateway.channels.capped import CappedChannel
from gateway.channels.choices import counted, repeated
from gateway.metering.caps import Caps, RunAllowance
from gateway.metering.ledger import Ledger
from techniques.catalog.baseline import Options, baseline
from techniques.core.channel import Channel, Channels, Member, Technique, TechniqueChannel
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Choice, Event, Finished, TextDelta, Warned
from techniques.core.reply import Reply, fold, replied
from techniques.core.request import Request, Sampling, said
from techniques.core.task import Task
from techniques.testing import Line, ScriptedChannel
from tests.techniques.scene import each, scripted

QUESTION = Request("m", (said("user", "?"),), sampling=Sampling(seed=5))


async def seen(technique: Technique, channel: Channel, **task: Any) -> list[Event]:
    member = Member("0", "m", channel)
    channels = Channels(member, (member,), judge=member)
    over = TechniqueChannel(technique, Task(QUESTION, Options(), **task), channels)
    async with over.open(QUESTION) as events:
        return [event async for event in events]


async def reply_of(technique: Technique, channel: Channel, **task: Any) -> Reply:
    return await fold(each(await seen(technique, channel, **task)))


def texts(reply: Reply) -> list[str]:
    return [one.text for one in (reply, *reply.others)]


async def test_each_further_run_is_a_choice_of_its_own() -> None:
    channel = scripted(lambda request: f"from {request.step}")

    reply = await reply_of(repeated(baseline, 3), channel)

    assert texts(reply) == ["from a0", "from 1.a0", "from 2.a0"]
    assert len({request.sampling.seed for request in channel.asked}) == 3
    assert channel.asked[0].sampling.seed == 5
    assert channel.open_calls == 0


async def test_the_first_answer_does_not_wait_for_the_others_which_run_at_once() -> None:
    channel = scripted(lambda _request: Line(replied("x"), after=10))
    started = anyio.current_time()
    first = last = 0.0
    member = Member("0", "m", channel)
    over = TechniqueChannel(
        repeated(baseline, 4), Task(QUESTION, Options()), Channels(member, (member,))
    )
    async with over.open(QUESTION) as events:
        async for event in events:
            first = first or (isinstance(event, TextDelta) and anyio.current_time() - started)
            last = anyio.current_time() - started

    assert first == pytest.approx(10)
    assert last == pytest.approx(20)


async def test_a_run_that_fails_is_missing_and_that_is_told() -> None:
    down = UpstreamFailed("down", "overloaded")
    channel = scripted(lambda request: down if request.step == "1.a0" else request.step)

    events = await seen(counted(repeated(baseline, 3), 3), channel)

    assert texts(await fold(each(events))) == ["a0", "2.a0"]
    assert events[-2:] == [Warned("fewer_choices", "2 of 3"), Finished()]


async def test_a_first_run_that_fails_is_a_failure() -> None:
    channel = scripted(lambda _request: UpstreamFailed("down", "overloaded"))
    with pytest.raises(UpstreamFailed, match="down"):
        await seen(repeated(baseline, 3), channel)

    assert len(channel.asked) == 1


async def test_caps_hold_over_all_runs_and_the_first_comes_first() -> None:
    allowance = RunAllowance(Caps(max_calls=2), Ledger())
    channel = ScriptedChannel(lambda request: request.step)

    reply = await reply_of(
        repeated(baseline, 4), CappedChannel(channel, allowance), allowance=allowance
    )

    assert len(channel.asked) == 2
    assert texts(reply)[0] == "a0"
    assert len(reply.others) == 1


async def test_the_deadline_holds_over_all_runs() -> None:
    channel = scripted(lambda _request: Line(replied("x"), after=4))

    reply = await reply_of(repeated(baseline, 3), channel, deadline=anyio.current_time() + 6)

    assert texts(reply) == ["x"]
    assert channel.open_calls == 0


async def test_a_repeated_technique_does_not_rank_as_well() -> None:
    async def ranking(task: Task[Any], _channels: Channels) -> AsyncGenerator[Event, None]:
        yield TextDelta(f"{task.choices}")
        yield Finished()

    reply = await reply_of(repeated(ranking, 2), ScriptedChannel([]), choices=2)

    assert texts(reply) == ["1", "1"]


async def test_as_many_answers_as_are_wanted_are_no_reason_for_a_warning() -> None:
    async def ranking(_task: Task[Any], _channels: Channels) -> AsyncGenerator[Event, None]:
        yield TextDelta("a")
        for event in (TextDelta("b"), Finished()):
            yield Choice(1, event)
        yield Finished()

    assert not any(
        isinstance(event, Warned) for event in await seen(counted(ranking, 2), ScriptedChannel([]))
    )


async def test_cancelled_it_leaves_no_run_open() -> None:
    channel = scripted(
        lambda request: Line(replied("x"), after=3600 if request.step != "a0" else 0)
    )
    with anyio.move_on_after(5):
        await seen(repeated(baseline, 3), channel)

    assert len(channel.asked) == 3
    assert channel.open_calls == 0
