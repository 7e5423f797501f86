from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from techniques.core.channel import Channel, Channels, Member, Technique, TechniqueChannel, ask
from techniques.core.errors import TechniqueFailed, UpstreamFailed
from techniques.core.events import Event, Finished, Started, TextDelta
from techniques.core.groups import task_group
from techniques.core.reply import replied
from techniques.core.request import Request, said
from techniques.core.task import Task, Unlimited
from techniques.testing import Line, ScriptedChannel

QUESTION = Request("m", (said("user", "?"),))


def over(technique: Technique, channel: ScriptedChannel) -> TechniqueChannel:
    member = Member("0", "m", channel)
    return TechniqueChannel(technique, Task(Request("other"), None), Channels(member, (member,)))


async def passing_on(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
    async with channels.primary.open(task.request) as events:
        async for event in events:
            yield event


async def failing_after_a_word(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
    yield TextDelta("so")
    raise TechniqueFailed("No answer was good enough.")


async def read(channel: Channel, seen: list[Event]) -> None:
    """Read *channel* to its end; what came is in *seen*, also when it failed."""
    async with channel.open(QUESTION) as events:
        async for event in events:
            seen.append(event)


async def test_a_technique_over_a_channel_is_a_channel() -> None:
    assert await ask(over(passing_on, ScriptedChannel(["hello"])), QUESTION) == replied("hello")


async def test_the_technique_works_on_the_request_that_is_opened() -> None:
    channel = ScriptedChannel(["hello"])

    await ask(over(passing_on, channel), QUESTION)

    assert channel.asked == [QUESTION]


async def test_what_came_before_a_failure_is_seen_and_then_the_failure() -> None:
    seen: list[Event] = []
    with pytest.raises(TechniqueFailed):
        await read(over(failing_after_a_word, ScriptedChannel([])), seen)

    assert seen == [TextDelta("so")]


async def test_a_failure_reaches_a_caller_that_is_busy_elsewhere() -> None:
    channel = ScriptedChannel(lambda _request: Line(UpstreamFailed("down"), after=1))
    started = anyio.current_time()

    async def busy() -> None:
        async with over(passing_on, channel).open(QUESTION):
            await anyio.sleep(60)

    with pytest.raises(UpstreamFailed, match="down"):
        await busy()

    assert anyio.current_time() - started == pytest.approx(1)
    assert channel.open_calls == 0


async def test_a_technique_runs_no_further_than_it_is_read() -> None:
    made: list[int] = []

    async def counting(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        for number in range(100):
            made.append(number)
            yield TextDelta(str(number))
        yield Finished()

    async with over(counting, ScriptedChannel([])).open(QUESTION) as events:
        await anext(aiter(events))
        await anyio.sleep(1)

    assert len(made) <= 2


async def test_leaving_early_closes_the_technique_and_its_call() -> None:
    closed: list[bool] = []
    channel = ScriptedChannel(["hello " * 100])

    async def watched(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        try:
            async with channels.primary.open(task.request) as events:
                async for event in events:
                    yield event
        finally:
            closed.append(True)

    async with over(watched, channel).open(QUESTION) as events:
        await anext(aiter(events))

    assert closed == [True]
    assert channel.open_calls == 0


async def test_an_idle_timeout_around_each_event_ends_the_wait_and_nothing_else() -> None:
    channel = ScriptedChannel(["hello"])
    async with over(passing_on, channel).open(QUESTION) as events:
        for _ in range(2):
            with anyio.fail_after(5):
                await anext(aiter(events))

    assert channel.open_calls == 0


async def test_techniques_nest() -> None:
    inner = over(passing_on, ScriptedChannel([Line(replied("deep"), after=1)]))
    member = Member("0", "m", inner)
    outer = TechniqueChannel(passing_on, Task(QUESTION, None), Channels(member, (member,)))

    assert (await ask(outer, QUESTION)).text == "deep"


async def test_a_technique_may_hold_a_task_group_open_across_its_events() -> None:
    async def grouped(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 1)
            yield Started()
            yield Finished()

    assert (await ask(over(grouped, ScriptedChannel([])), QUESTION)).parts == ()


async def test_a_member_asks_for_its_own_model() -> None:
    channel = ScriptedChannel(["hello"])

    await ask(Member("1", "its-own", channel), QUESTION)

    assert channel.asked == [replace(QUESTION, model="its-own")]


async def test_one_failure_leaves_a_task_group_as_itself() -> None:
    async def fail() -> None:
        raise UpstreamFailed("down")

    async def nested() -> None:
        async with task_group() as outer, task_group() as inner:
            inner.start_soon(fail)
            outer.start_soon(anyio.sleep, 1)

    with pytest.raises(UpstreamFailed, match="down"):
        await nested()


async def test_two_failures_at_once_are_a_group() -> None:
    async def fail() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(1)
        raise UpstreamFailed("down")

    async def twice() -> None:
        async with task_group() as group:
            group.start_soon(fail)
            group.start_soon(fail)

    with pytest.raises(ExceptionGroup) as caught:
        await twice()

    assert len(caught.value.exceptions) == 2


def test_without_caps_everything_is_affordable() -> None:
    assert Unlimited().affordable(10**6) == 10**6
    assert Task(QUESTION, None).allowance.affordable(3) == 3


def test_a_task_has_dice_of_its_own_that_fall_alike() -> None:
    one, other = Task(QUESTION, None), Task(QUESTION, None)

    assert one.random is not other.random
    assert one.random.random() == other.random.random()
