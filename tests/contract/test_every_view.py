"""Whatever a client is shown of a technique at work, its answer is the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Literal, TypeAlias

import anyio
import pytest

from gateway.channels.settled import settled
from gateway.channels.traced import Trace, TracedChannel, TracingChannel
from techniques import catalog
from techniques.core.channel import Channel, Channels, Member, TechniqueChannel
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event, Note, Provisional, TextDelta, Traced
from techniques.core.registry import Card, load
from techniques.core.reply import Reply, fold, replied
from techniques.core.task import Task
from techniques.testing import Line, ScriptedChannel
from tests.techniques.scene import asks, each, line, scripted, sensible, usual

View: TypeAlias = Literal["final", "trace", "optimistic"]
CARDS = load(catalog)
QUESTION = asks("Tell me of the sea.", stream=True)
every_technique = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)
every_view = pytest.mark.parametrize("view", ["final", "trace", "optimistic"])


def viewed(card: Card, view: View, channel: ScriptedChannel) -> Channel:
    """Return *card* over two models as a client with *view* sees it."""
    trace = Trace(live=True)
    inner = TracingChannel(channel, "fast", trace) if view == "trace" else channel
    pool = tuple(Member(f"m{place}", f"model-{place}", inner) for place in range(2))
    channels = Channels(pool[0], pool)
    task = Task(QUESTION, usual(card), Random(7))
    if view == "trace":
        return TracedChannel(settled(card.run), task, channels, trace)
    return TechniqueChannel(settled(card.run) if view == "final" else card.run, task, channels)


async def seen(card: Card, view: View, channel: ScriptedChannel) -> list[Event]:
    async with viewed(card, view, channel).open(QUESTION) as events:
        return [event async for event in events]


@every_technique
async def test_the_answer_and_what_is_noted_are_the_same_in_every_view(card: Card) -> None:
    views: dict[View, list[Event]] = {
        view: await seen(card, view, scripted(sensible))
        for view in ("final", "trace", "optimistic")
    }

    assert not any(isinstance(event, Provisional | Traced) for event in views["final"])
    for events in views.values():
        assert [e for e in events if not isinstance(e, Provisional | Traced)] == views["final"]


@every_technique
async def test_a_trace_holds_every_text_of_every_call_that_is_not_the_answer(card: Card) -> None:
    channel = scripted(sensible)
    events = await seen(card, "trace", channel)

    shown: dict[tuple[str, str], str] = {}
    for event in events:
        if isinstance(event, Traced):
            shown[event.step, event.role] = shown.get((event.step, event.role), "") + event.text
    written: dict[tuple[str, str], str] = {}
    for request in channel.asked:
        reply = line(sensible(request)).reply
        assert isinstance(reply, Reply)
        written[request.step, request.role] = reply.text
    cut = {call for call in written if len(shown.get(call, "")) < len(written[call])}
    assert shown.keys() <= written.keys()
    assert all(written[call].startswith(text) for call, text in shown.items())
    assert all(role == "answer" or step.startswith("c") for step, role in cut)


@every_technique
async def test_best_answers_so_far_come_before_the_answer_and_each_is_new(card: Card) -> None:
    events = await seen(card, "optimistic", scripted(sensible))

    drafts = [place for place, event in enumerate(events) if isinstance(event, Provisional)]
    answer = [place for place, event in enumerate(events) if isinstance(event, TextDelta)]
    texts = [event.text for event in events if isinstance(event, Provisional)]
    assert all(place < answer[0] for place in drafts)
    assert all(texts)
    assert all(text != after for text, after in pairwise(texts))


@every_technique
@every_view
async def test_nothing_stays_open_when_cancelled_in_any_view(card: Card, view: View) -> None:
    channel = scripted(lambda _request: Line(replied("late"), after=3600))
    with anyio.move_on_after(1):
        await seen(card, view, channel)

    assert channel.asked
    assert channel.open_calls == 0


@every_technique
@every_view
async def test_nothing_stays_open_when_left_at_any_event(card: Card, view: View) -> None:
    count = len(await seen(card, view, scripted(sensible)))
    for leaves_after in range(0, count, 3):
        channel = scripted(sensible)
        async with viewed(card, view, channel).open(QUESTION) as events:
            stream = aiter(events)
            for _ in range(min(leaves_after, count)):
                if await anext(stream, None) is None:
                    break
        assert channel.open_calls == 0


@every_technique
async def test_a_client_that_takes_nothing_of_a_trace_holds_no_call_open(card: Card) -> None:
    channel = scripted(lambda request: replace(line(sensible(request)), after=1))
    async with viewed(card, "trace", channel).open(QUESTION) as events:
        await anyio.sleep(3600)
        answering = [request for request in channel.asked if request.role == "answer"]
        assert channel.open_calls == len(answering)
        rest = [event async for event in events]

    assert (await fold(each(rest))).text


@every_technique
async def test_a_failure_is_the_same_failure_in_a_trace(card: Card) -> None:
    down = UpstreamFailed("down", "overloaded", retryable=True)
    with pytest.raises(UpstreamFailed, match="down"):
        await seen(card, "trace", scripted(lambda _request: down))


@every_technique
async def test_progress_is_told_before_the_first_calls_of_a_technique(card: Card) -> None:
    channel = scripted(lambda request: replace(line(sensible(request)), after=1))
    events = await seen(card, "final", channel)

    if any(request.role != "answer" for request in channel.asked):
        first = events[0]
        assert isinstance(first, Note)
        assert first.topic == "progress"
