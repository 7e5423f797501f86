from __future__ import annotations

import anyio
import pytest

from techniques.core.channel import Member
from techniques.core.errors import DeadlinePassed, UpstreamFailed
from techniques.core.events import Started, TextDelta
from techniques.core.fanout import (
    Answered,
    Asking,
    ask_by,
    ask_each,
    asking,
    hearing,
    run_each,
)
from techniques.core.reply import Reply, replied
from techniques.core.request import Request
from techniques.core.task import Ran
from techniques.testing import Line, ScriptedChannel


def by_step(lines: dict[str, Line | str]) -> ScriptedChannel:
    return ScriptedChannel(lambda request: lines[request.step])


def calls(channel: ScriptedChannel, steps: str) -> list[Asking]:
    return [Asking(channel, Request("m", step=step)) for step in steps]


def later(text: str, seconds: float) -> Line:
    return Line(replied(text), after=seconds)


async def test_outcomes_come_in_the_order_of_the_calls() -> None:
    channel = by_step({"a": later("A", 3), "b": later("B", 1), "c": later("C", 2)})

    outcomes = await ask_each(calls(channel, "abc"))

    assert [outcome.text for outcome in outcomes if isinstance(outcome, Reply)] == ["A", "B", "C"]
    assert channel.most_open == 3


async def test_each_end_is_told_as_it_comes() -> None:
    channel = by_step({"a": later("A", 3), "b": later("B", 1), "c": later("C", 2)})
    async with asking(calls(channel, "abc")) as answers:
        places = [answered.place async for answered in answers]

    assert places == [1, 2, 0]


async def test_a_failed_call_does_not_stop_the_others() -> None:
    failure = UpstreamFailed("down")
    channel = by_step({"a": Line(failure), "b": later("B", 1)})

    assert await ask_each(calls(channel, "ab")) == [failure, replied("B")]


async def test_a_bug_is_no_outcome() -> None:
    def broken(_request: Request) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await ask_each(calls(ScriptedChannel(broken), "a"))


async def test_no_more_calls_than_the_width_run_at_once() -> None:
    channel = ScriptedChannel(lambda request: later(request.step, 1))
    started = anyio.current_time()

    await ask_each(calls(channel, "abcdefg"), width=3)

    assert channel.most_open == 3
    assert anyio.current_time() - started == pytest.approx(3)


async def test_at_the_deadline_what_still_runs_is_cancelled() -> None:
    channel = by_step({"a": later("A", 1), "b": later("B", 60)})
    started = anyio.current_time()

    first, second = await ask_each(calls(channel, "ab"), until=started + 5)

    assert first == replied("A")
    assert isinstance(second, DeadlinePassed)
    assert anyio.current_time() - started == pytest.approx(5)
    assert channel.open_calls == 0


async def test_a_call_that_waits_for_its_turn_has_the_same_deadline() -> None:
    channel = ScriptedChannel(lambda _request: later("x", 60))
    until = anyio.current_time() + 5

    outcomes = await ask_each(calls(channel, "abc"), until=until, width=1)

    assert [type(outcome) for outcome in outcomes] == [DeadlinePassed] * 3
    assert len(channel.asked) == 1


async def test_leaving_early_cancels_the_calls_that_still_run() -> None:
    channel = by_step({"a": later("A", 1), "b": later("B", 3600)})
    started = anyio.current_time()
    async with asking(calls(channel, "ab")) as answers:
        async for answered in answers:
            assert answered == Answered(0, replied("A"))
            break

    assert channel.open_calls == 0
    assert anyio.current_time() - started == pytest.approx(1)


async def test_being_cancelled_closes_every_call() -> None:
    channel = ScriptedChannel(lambda _request: later("x", 3600))
    with anyio.move_on_after(1):
        await ask_each(calls(channel, "abc"))

    assert (len(channel.asked), channel.open_calls) == (3, 0)


async def test_no_calls_have_no_outcomes() -> None:
    assert await ask_each([]) == []


async def test_one_call_may_be_asked_for_by_a_time() -> None:
    channel = by_step({"a": later("A", 1), "b": later("B", 9)})
    quick, slow = calls(channel, "ab")

    assert await ask_by(quick, None) == replied("A")
    assert isinstance(await ask_by(slow, anyio.current_time() + 2), DeadlinePassed)


async def test_a_member_is_asked_for_its_own_model() -> None:
    channel = ScriptedChannel(["A"])

    await ask_each([Asking(Member("0", "its-own", channel), Request("m", step="a"))])

    assert [request.model for request in channel.asked] == ["its-own"]


async def test_a_call_is_heard_as_it_comes_and_its_failure_last() -> None:
    failure = UpstreamFailed("broke")
    broken = Line(replied("half an"), breaks=failure)
    channel = by_step({"a": broken})
    async with hearing(Asking(channel, Request("m", step="a"))) as heard:
        told = [event async for event in heard]

    assert told == [Started(), TextDelta("half an"), failure]


async def test_a_call_that_is_left_is_closed() -> None:
    channel = by_step({"a": later("A", 0)})
    async with hearing(Asking(channel, Request("m", step="a"))) as heard:
        await anext(aiter(heard))
        assert channel.open_calls == 1

    assert channel.open_calls == 0


async def test_a_call_is_not_heard_past_the_deadline() -> None:
    channel = by_step({"a": later("A", 60)})
    until = anyio.current_time() + 5
    async with hearing(Asking(channel, Request("m", step="a")), until=until) as heard:
        told = [event async for event in heard]

    assert [type(event) for event in told] == [DeadlinePassed]
    assert anyio.current_time() == until


async def test_what_is_asked_in_place_of_a_first_reply_counts() -> None:
    channel = by_step({"a": "half", "b": "whole"})
    call = Asking(channel, Request("m", step="a"), lambda _reply: Request("m", step="b"))

    assert await ask_by(call, None) == replied("whole")


async def test_a_first_reply_stands_if_nothing_better_comes() -> None:
    channel = by_step({"a": "half", "b": Line(UpstreamFailed("down"))})
    call = Asking(channel, Request("m", step="a"), lambda _reply: Request("m", step="b"))

    assert await ask_by(call, None) == replied("half")


async def test_a_first_reply_stands_if_the_deadline_comes_before_a_better_one() -> None:
    channel = by_step({"a": "half", "b": later("whole", 9)})
    call = Asking(channel, Request("m", step="a"), lambda _reply: Request("m", step="b"))

    assert await ask_by(call, anyio.current_time() + 5) == replied("half")
    assert channel.open_calls == 0


class Sleeping:
    """Runs a program of seconds for so long."""

    async def run(self, program: str) -> Ran:
        await anyio.sleep(float(program))
        return Ran("ok", program)


async def test_programs_run_at_once_and_are_told_in_order() -> None:
    began = anyio.current_time()

    runs = await run_each(Sleeping(), ["3", "1"])

    assert runs == [Ran("ok", "3"), Ran("ok", "1")]
    assert anyio.current_time() - began == 3


async def test_a_program_that_takes_too_long_is_stopped() -> None:
    began = anyio.current_time()

    assert await run_each(Sleeping(), ["3", "1"], until=began + 2) == [None, Ran("ok", "1")]
    assert anyio.current_time() - began == 2
