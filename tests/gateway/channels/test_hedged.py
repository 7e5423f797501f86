from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager

import anyio
import pytest

from gateway.channels.hedged import HedgedChannel
from techniques.core.channel import ask
from techniques.core.errors import (
    CapReached,
    DeadlinePassed,
    GatewayError,
    StreamBroken,
    UpstreamFailed,
)
from techniques.core.events import Event
from techniques.core.reply import replied, unfold
from techniques.core.request import Request
from techniques.testing import Line, ScriptedChannel

QUESTION = Request("m")


def answers(lines: Iterable[Line]) -> ScriptedChannel:
    """Answer the first call with the first of *lines*: the spare starts later, so order is sure."""
    return ScriptedChannel(lines)


async def _one() -> AsyncGenerator[Event, None]:
    for event in unfold(replied("one")):
        yield event


class Together:
    """Lets all its calls begin in the same turn of the event loop."""

    def __init__(self) -> None:
        self.opened = self.open_calls = 0
        self._begun = anyio.Event()

    async def begin_at(self, seconds: float) -> None:
        await anyio.sleep(seconds)
        self._begun.set()

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        self.opened += 1
        self.open_calls += 1
        try:
            await self._begun.wait()
            async with aclosing(_one()) as events:
                yield events
        finally:
            self.open_calls -= 1


def later(text: str, seconds: float) -> Line:
    return Line(replied(text), after=seconds)


def failing(message: str, seconds: float) -> Line:
    return Line(UpstreamFailed(message, retryable=True), after=seconds)


async def test_a_call_that_begins_in_time_needs_no_spare() -> None:
    channel = answers([later("first", 4)])

    assert (await ask(HedgedChannel(channel, after=5), QUESTION)).text == "first"
    assert len(channel.asked) == 1


async def test_the_spare_wins_when_it_begins_first_and_the_loser_is_cancelled() -> None:
    channel = answers([later("first", 3600), later("spare", 1)])
    started = anyio.current_time()

    assert (await ask(HedgedChannel(channel, after=5), QUESTION)).text == "spare"
    assert anyio.current_time() - started == pytest.approx(6)
    assert (len(channel.asked), channel.open_calls) == (2, 0)


async def test_the_loser_is_cancelled_when_the_winner_begins_and_not_when_it_ends() -> None:
    channel = answers([later("first", 3600), later("spare " * 60, 1)])
    async with HedgedChannel(channel, after=5).open(QUESTION) as events:
        await anext(aiter(events))
        await anyio.sleep(1)
        assert channel.open_calls == 1


async def test_the_first_call_may_still_win_after_the_spare_has_started() -> None:
    channel = answers([later("first", 6), later("spare", 60)])
    started = anyio.current_time()

    assert (await ask(HedgedChannel(channel, after=5), QUESTION)).text == "first"
    assert anyio.current_time() - started == pytest.approx(6)
    assert channel.open_calls == 0


async def test_of_two_calls_that_begin_at_the_same_moment_one_answers() -> None:
    channel = Together()
    async with anyio.create_task_group() as group:
        group.start_soon(channel.begin_at, 6)
        with anyio.fail_after(60):
            reply = await ask(HedgedChannel(channel, after=5), QUESTION)

    assert reply == replied("one")
    assert (channel.opened, channel.open_calls) == (2, 0)


async def test_a_failure_before_the_spare_fails_the_whole_at_once() -> None:
    channel = answers([failing("down", 1)])
    started = anyio.current_time()
    with pytest.raises(UpstreamFailed, match="down"):
        await ask(HedgedChannel(channel, after=5), QUESTION)

    assert anyio.current_time() - started == pytest.approx(1)
    assert len(channel.asked) == 1


@pytest.mark.parametrize(
    "lines",
    [
        [failing("down", 6), later("fine", 10)],
        [later("fine", 10), failing("down", 1)],
    ],
    ids=["the first fails", "the spare fails"],
)
async def test_while_one_call_may_still_answer_the_others_failure_is_no_end(
    lines: list[Line],
) -> None:
    channel = answers(lines)

    assert (await ask(HedgedChannel(channel, after=5), QUESTION)).text == "fine"
    assert channel.open_calls == 0


async def test_when_both_fail_the_earlier_failure_is_raised() -> None:
    channel = answers([failing("second to fail", 9), failing("first to fail", 1)])
    with pytest.raises(UpstreamFailed, match="first to fail"):
        await ask(HedgedChannel(channel, after=5), QUESTION)

    assert (len(channel.asked), channel.open_calls) == (2, 0)


@pytest.mark.parametrize("refusal", [CapReached("no call"), DeadlinePassed("late")])
@pytest.mark.parametrize("seconds", [0, 1, 9])
async def test_a_spare_that_may_not_start_does_not_hide_how_the_provider_failed(
    refusal: GatewayError, seconds: float
) -> None:
    channel = answers([failing("down", 7), Line(refusal, after=seconds)])
    with pytest.raises(UpstreamFailed, match="down"):
        await ask(HedgedChannel(channel, after=5), QUESTION)


async def test_where_none_may_start_the_first_refusal_is_raised() -> None:
    channel = answers([Line(CapReached("first"), after=7), Line(DeadlinePassed("late"), after=9)])
    with pytest.raises(CapReached, match="first"):
        await ask(HedgedChannel(channel, after=5), QUESTION)


async def test_a_winner_that_breaks_off_fails_the_whole() -> None:
    broken = Line(replied("half"), after=1, breaks=StreamBroken("cut"))
    channel = answers([later("first", 3600), broken])
    with pytest.raises(GatewayError, match="cut"):
        await ask(HedgedChannel(channel, after=5), QUESTION)

    assert channel.open_calls == 0


async def test_cancelled_while_both_run_closes_both() -> None:
    channel = answers([later("first", 3600), later("spare", 3600)])
    with anyio.move_on_after(10):
        await ask(HedgedChannel(channel, after=5), QUESTION)

    assert (len(channel.asked), channel.open_calls) == (2, 0)


class OneFails(Together):
    """Lets all its calls end in the same turn; the *failing*-th of them fails."""

    def __init__(self, failing: int) -> None:
        super().__init__()
        self._failing = failing

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        place = self.opened
        async with super().open(request) as events:
            if place == self._failing:
                raise UpstreamFailed("the loser")
            yield events


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize("_again", range(10))
async def test_a_loser_that_fails_as_the_other_wins_takes_nothing_with_it(
    failing: int, _again: int
) -> None:
    channel = OneFails(failing)
    async with anyio.create_task_group() as group:
        group.start_soon(channel.begin_at, 7)

        assert (await ask(HedgedChannel(channel, after=5), QUESTION)).text == "one"
    assert (channel.opened, channel.open_calls) == (2, 0)
