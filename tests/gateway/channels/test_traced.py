from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from gateway.channels.settled import settled
from gateway.channels.traced import MOST, Trace, TracedChannel, TracingChannel
from techniques.core.channel import Channel, Channels, Member, Technique, TechniqueChannel
from techniques.core.errors import TechniqueFailed
from techniques.core.events import (
    Event,
    Finished,
    Note,
    Provisional,
    Started,
    TextDelta,
    Traced,
    Warned,
)
from techniques.core.fanout import Asking, ask_each
from techniques.core.reply import Reply, replied, unfold
from techniques.core.request import Refusal, Request, Text, Thinking, ToolCall, said
from techniques.core.task import Task
from techniques.testing import Line, ScriptedChannel

QUESTION = Request("m", (said("user", "?"),))
ANSWER = (Started(), TextDelta("the answer"), Finished())


async def consulting(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask a candidate and a judge at once, then answer."""
    roles = ("candidate", "judge")
    calls = [Asking(channels.primary, replace(task.request, role=r, step=r[0])) for r in roles]
    yield Note("progress", {"stage": "asking"})
    await ask_each(calls)
    for event in ANSWER:
        yield event


def traced(technique: Technique, channel: Channel, trace: Trace) -> TracedChannel:
    member = Member("0", "m", TracingChannel(channel, "fast", trace))
    task = Task(QUESTION, None)
    return TracedChannel(technique, task, Channels(member, (member,)), trace)


async def seen(channel: Channel, trace: Trace, technique: Technique = consulting) -> list[Event]:
    async with traced(technique, channel, trace).open(QUESTION) as events:
        return [event async for event in events]


def pieces(events: list[Event]) -> list[Traced]:
    return [event for event in events if isinstance(event, Traced)]


def by_role(answers: dict[str, Reply]) -> Callable[[Request], Line]:
    return lambda request: Line(answers[request.role])


SHORT = {"candidate": replied("It is 4."), "judge": replied("1.0")}


async def test_what_each_call_writes_is_shown_before_the_answer() -> None:
    events = await seen(ScriptedChannel(by_role(SHORT)), Trace(live=True))

    assert sorted(pieces(events), key=lambda piece: piece.step) == [
        Traced("c", "candidate", "fast", "It is 4."),
        Traced("j", "judge", "fast", "1.0"),
    ]
    assert tuple(events[-3:]) == ANSWER
    assert isinstance(events[0], Note)


class Slow:
    """A channel that says a word a second."""

    @asynccontextmanager
    async def open(self, _request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        async with aclosing(self._speak()) as events:
            yield events

    async def _speak(self) -> AsyncGenerator[Event, None]:
        for word in ("one ", "two "):
            yield TextDelta(word)
            await anyio.sleep(1)
        yield Finished()


async def test_a_text_is_shown_while_it_is_written() -> None:
    came = []
    async with traced(consulting, Slow(), Trace(live=True)).open(QUESTION) as events:
        async for event in events:
            if isinstance(event, Traced) and event.role == "judge":
                came.append((event.text, anyio.current_time()))

    (first, at), (second, later) = came
    assert (first, second) == ("one ", "two ")
    assert later - at == pytest.approx(1)


async def test_what_is_no_text_is_shown_as_what_it_is() -> None:
    parts = (Thinking("Hm.", "sig"), Text("So: "), Refusal("No."), ToolCall("1", "look", '{"q":1}'))
    answers = {**SHORT, "candidate": Reply(parts, "tool_calls")}

    events = await seen(ScriptedChannel(by_role(answers)), Trace(live=False))

    told = [(piece.kind, piece.text) for piece in pieces(events) if piece.step == "c"]
    assert told == [
        ("thinking", "Hm."),
        ("text", "So: "),
        ("refusal", "No."),
        ("call", 'look {"q":1}'),
    ]


@pytest.mark.parametrize(("live", "streamed"), [(True, True), (False, False)])
async def test_calls_are_streamed_where_somebody_sees_it(*, live: bool, streamed: bool) -> None:
    channel = ScriptedChannel(by_role(SHORT))

    await seen(channel, Trace(live=live))

    assert [request.stream for request in channel.asked] == [streamed, streamed]


async def test_a_call_for_the_answer_is_neither_shown_nor_changed() -> None:
    async def plain(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        async with channels.primary.open(task.request) as events:
            async for event in events:
                yield event

    channel = ScriptedChannel(["the answer"])
    events = await seen(channel, Trace(live=True), plain)

    assert events == list(unfold(replied("the answer")))
    assert channel.asked == [QUESTION]


async def test_without_a_stream_each_call_is_one_piece_at_the_end() -> None:
    long = {**SHORT, "candidate": replied("word " * 200)}

    events = await seen(ScriptedChannel(by_role(long)), Trace(live=False))

    places = [place for place, event in enumerate(events) if isinstance(event, Traced)]
    assert sorted(piece.text for piece in pieces(events)) == ["1.0", "word " * 200]
    assert places == [len(events) - 3, len(events) - 2]


@pytest.mark.parametrize("live", [True, False])
async def test_what_has_no_room_is_left_out_and_told(*, live: bool) -> None:
    huge = {**SHORT, "candidate": replied("x" * MOST)}
    channel = ScriptedChannel(by_role(huge))
    trace = Trace(live=live)
    async with traced(consulting, channel, trace).open(QUESTION) as stream:
        await anyio.sleep(60)  # the client takes nothing; the calls go on
        assert (len(channel.asked), channel.open_calls) == (2, 0)
        events = [event async for event in stream]

    kept = sum(len(piece.text) for piece in pieces(events))
    lost = MOST + len("1.0") - kept
    assert kept == MOST
    assert events[-2] == Warned("trace_cut", f"{lost} characters")
    assert [event for event in events if isinstance(event, TextDelta)] == [ANSWER[1]]


async def test_a_slow_client_gets_what_came_meanwhile_in_few_pieces() -> None:
    long = {**SHORT, "candidate": replied("word " * 400)}
    async with traced(consulting, ScriptedChannel(by_role(long)), Trace(live=True)).open(
        QUESTION
    ) as stream:
        await anyio.sleep(60)
        events = [event async for event in stream]

    written = [piece.text for piece in pieces(events) if piece.step == "c"]
    assert "".join(written) == "word " * 400
    assert len(written) == 1


async def test_a_failure_comes_after_what_came_before_it() -> None:
    async def failing(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        async with aclosing(consulting(task, channels)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    raise TechniqueFailed("none was good enough")
                yield event

    events: list[Event] = []
    with pytest.raises(TechniqueFailed, match="good enough"):
        await read(traced(failing, ScriptedChannel(by_role(SHORT)), Trace(live=True)), events)

    assert len(pieces(events)) == 2
    assert events[-1] == TextDelta("the answer")


async def read(channel: TracedChannel, events: list[Event]) -> None:
    async with channel.open(QUESTION) as stream:
        async for event in stream:
            events.append(event)


@pytest.mark.parametrize("leaves", [True, False])
async def test_leaving_or_being_cancelled_closes_every_call(*, leaves: bool) -> None:
    channel = ScriptedChannel(lambda _request: Line(replied("late"), after=3600))
    with anyio.move_on_after(1):
        async with traced(consulting, channel, Trace(live=True)).open(QUESTION) as events:
            await anext(aiter(events))
            await anyio.sleep(0.5 if leaves else 3600)

    assert (len(channel.asked), channel.open_calls) == (2, 0)


async def test_what_may_be_replaced_is_kept_back_where_nobody_wants_it() -> None:
    async def hasty(_task: Task[Any], _channels: Channels) -> AsyncGenerator[Event, None]:
        yield Provisional("perhaps 5")
        for event in ANSWER:
            yield event

    member = Member("0", "m", ScriptedChannel([]))
    run = TechniqueChannel(settled(hasty), Task(QUESTION, None), Channels(member, (member,)))
    async with run.open(QUESTION) as events:
        assert [event async for event in events] == list(ANSWER)
