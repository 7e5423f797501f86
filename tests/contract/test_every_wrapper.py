"""What must hold of every channel that wraps a channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import anyio
import pytest

from gateway.channels.capped import CappedChannel
from gateway.channels.fallback import FallbackChannel
from gateway.channels.hedged import HedgedChannel
from gateway.channels.metered import MeteredChannel
from gateway.channels.rescued import rescued
from gateway.channels.retrying import RetryingChannel, RetryPolicy
from gateway.channels.settled import settled
from gateway.channels.slimmed import SlimmedChannel
from gateway.channels.timed import Deadline, TimedChannel
from gateway.channels.traced import Trace, TracedChannel, TracingChannel
from gateway.metering.caps import Caps, RunAllowance
from gateway.metering.ledger import Ledger
from gateway.upstream.provider import Target
from techniques.catalog.baseline import Options, baseline
from techniques.core.channel import (
    Channel,
    Channels,
    EventStream,
    Member,
    TechniqueChannel,
    ask,
)
from techniques.core.errors import RequestRejected, StreamBroken, UpstreamFailed
from techniques.core.events import Event, TextDelta
from techniques.core.reply import Reply, replied, unfold
from techniques.core.request import Request, ToolCall, said
from techniques.core.task import Task
from techniques.testing import Line, ScriptedChannel
from tests.gateway.context.scene import Scene as Slimmed
from tests.gateway.pacing.scene import Paced

Wrap = Callable[[Channel], Channel]
QUESTION = Request("m", (said("user", "?"),))
TARGET = Target("m", "p", "m")
TASK = Task(QUESTION, Options())


def _ignore(*_told: object) -> None:
    pass


def _fallback(inner: Channel) -> Channel:
    return FallbackChannel([Member("0", "m", inner)], _ignore)


def _technique(inner: Channel) -> Channel:
    member = Member("0", "m", inner)
    return TechniqueChannel(settled(rescued(baseline)), TASK, Channels(member, (member,)))


def _traced(inner: Channel) -> Channel:
    member = Member("0", "m", inner)
    return TracedChannel(baseline, TASK, Channels(member, (member,)), Trace(live=True))


def _admitted(inner: Channel) -> Channel:
    return Paced().channel(inner)


class _Candidate:
    """A channel that is asked for a candidate, not for the answer."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner

    def open(self, request: Request) -> EventStream:
        return self._inner.open(replace(request, role="candidate"))


WRAPPERS: dict[str, Wrap] = {
    "admitted": _admitted,
    "capped": lambda inner: CappedChannel(inner, RunAllowance(Caps(9), Ledger())),
    "fallback": _fallback,
    "hedged": lambda inner: HedgedChannel(inner, after=600),
    "metered": lambda inner: MeteredChannel(inner, TARGET, None, Ledger()),
    "retrying": lambda inner: RetryingChannel(inner, RetryPolicy(), Random(1), _ignore),
    "slimmed": lambda inner: SlimmedChannel(inner, Slimmed("summarise").slimming(), []),
    "timed": lambda inner: TimedChannel(inner, Deadline(anyio.current_time() + 9e9, 9e9)),
    "tracing": lambda inner: _Candidate(TracingChannel(inner, "m", Trace(live=False))),
    "settled and rescued technique": _technique,
    "traced technique": _traced,
}
every_wrapper = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)


async def read(channel: Channel, seen: list[Event]) -> None:
    """Read *channel* to its end; what came is in *seen*, also when it failed."""
    async with channel.open(QUESTION) as events:
        async for event in events:
            seen.append(event)


@every_wrapper
async def test_passes_every_event_on(wrap: Wrap) -> None:
    reply = Reply((*replied("hello " * 90).parts, ToolCall("1", "f", "{}")), "tool_calls")
    async with wrap(ScriptedChannel([Line(reply)])).open(QUESTION) as events:
        seen = [event async for event in events]

    assert seen == list(unfold(reply))


@every_wrapper
async def test_sends_the_request_once_and_as_it_is(wrap: Wrap) -> None:
    channel = ScriptedChannel(["hello"])

    await ask(wrap(channel), QUESTION)

    assert [request.messages for request in channel.asked] == [QUESTION.messages]
    assert channel.open_calls == 0


@every_wrapper
async def test_entering_returns_only_when_the_answer_has_begun(wrap: Wrap) -> None:
    started = anyio.current_time()
    async with wrap(ScriptedChannel([Line(replied("x"), after=7)])).open(QUESTION) as events:
        await anext(aiter(events))

    assert anyio.current_time() - started == pytest.approx(7)


@every_wrapper
async def test_a_failure_to_begin_comes_out_as_itself(wrap: Wrap) -> None:
    channel = ScriptedChannel(lambda _request: Line(UpstreamFailed("down", "rejected")))
    with pytest.raises(UpstreamFailed, match="down"):
        await ask(wrap(channel), QUESTION)

    assert (len(channel.asked), channel.open_calls) == (1, 0)


@every_wrapper
async def test_a_request_that_is_wrong_is_not_sent_again(wrap: Wrap) -> None:
    channel = ScriptedChannel(lambda _request: Line(RequestRejected("no tools")))
    with pytest.raises(RequestRejected, match="no tools"):
        await ask(wrap(channel), QUESTION)

    assert (len(channel.asked), channel.open_calls) == (1, 0)


@every_wrapper
async def test_an_answer_that_breaks_off_is_passed_on_and_then_fails_as_itself(wrap: Wrap) -> None:
    line = Line(replied("half an answer"), breaks=StreamBroken("cut"))
    channel = ScriptedChannel(lambda _request: line)
    seen: list[Event] = []
    with pytest.raises(StreamBroken, match="cut"):
        await read(wrap(channel), seen)

    assert TextDelta("half an answer") in seen
    assert (len(channel.asked), channel.open_calls) == (1, 0)


@every_wrapper
async def test_cancelled_before_it_begins_closes_the_inner_call(wrap: Wrap) -> None:
    channel = ScriptedChannel([Line(Reply(), after=3600)])
    started = anyio.current_time()
    with anyio.move_on_after(1):
        await ask(wrap(channel), QUESTION)

    assert (len(channel.asked), channel.open_calls) == (1, 0)
    assert anyio.current_time() - started == pytest.approx(1)


@every_wrapper
async def test_cancelled_in_mid_answer_closes_the_inner_call(wrap: Wrap) -> None:
    channel = ScriptedChannel(["hello " * 90])
    with anyio.move_on_after(1):
        async with wrap(channel).open(QUESTION) as events:
            await anext(aiter(events))
            await anyio.sleep(3600)

    assert channel.open_calls == 0


@every_wrapper
async def test_left_early_closes_the_inner_call(wrap: Wrap) -> None:
    channel = ScriptedChannel(["hello " * 90])
    async with wrap(channel).open(QUESTION) as events:
        await anext(aiter(events))

    assert channel.open_calls == 0


@every_wrapper
async def test_a_callers_own_failure_closes_the_inner_call_and_comes_out(wrap: Wrap) -> None:
    channel = ScriptedChannel(["hello " * 90])

    async def failing() -> None:
        async with wrap(channel).open(QUESTION) as events:
            await anext(aiter(events))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await failing()

    assert channel.open_calls == 0


@every_wrapper
async def test_a_bug_further_in_comes_out_as_what_it_is(wrap: Wrap) -> None:
    def broken(_request: Request) -> str:
        raise ZeroDivisionError

    channel = ScriptedChannel(broken)
    with pytest.raises(ZeroDivisionError):
        await ask(wrap(channel), QUESTION)

    assert len(channel.asked) == 1
