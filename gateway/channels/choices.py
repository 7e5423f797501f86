"""Several answers to one request: a technique carried out again, and a word if some are missing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from random import Random  # noqa: TID251 - seeded from the run's own
from typing import Any

from pricing.record import record
from techniques.core.channel import (
    Channel,
    Channels,
    EventStream,
    Member,
    Technique,
    TechniqueChannel,
)
from techniques.core.events import Choice, Event, Finished, Note, Warned
from techniques.core.fanout import Asking, ask_each
from techniques.core.reply import Reply, unfold
from techniques.core.request import Request
from techniques.core.task import Task
from techniques.parts.sampling import seed_of


def repeated(technique: Technique, times: int) -> Technique:
    """Return *technique*, carried out so many *times*; each further answer is a choice.

    The first run is over before the others begin, all at once: where caps or a deadline cut
    something off, it is they. One that fails is missing.
    """

    async def run(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        task = replace(task, choices=1)
        finished = Finished()
        async with aclosing(technique(task, channels)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    finished = event
                else:
                    yield event
        yield Note("progress", {"stage": "repeating", "most": times - 1})
        again = [_again(technique, task, channels, place) for place in range(1, times)]
        outcomes = await ask_each(again, until=task.deadline)
        replies = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
        for index, reply in enumerate(replies, 1):
            for event in unfold(reply):
                yield Choice(index, event)
        yield finished

    return run


def counted(technique: Technique, wanted: int) -> Technique:
    """Return *technique*, with a warning where it gives fewer answers than are *wanted*."""

    async def run(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        given = 1
        async with aclosing(technique(task, channels)) as events:
            async for event in events:
                if isinstance(event, Choice):
                    given = event.index + 1
                if isinstance(event, Finished) and given < wanted:
                    yield Warned("fewer_choices", f"{given} of {wanted}")
                yield event

    return run


def _again(technique: Technique, task: Task[Any], channels: Channels, place: int) -> Asking:
    """Return the call that carries *technique* out once more, as unlike the other runs as draws."""
    sampling = task.request.sampling
    if sampling.seed is not None:
        sampling = replace(sampling, seed=seed_of(sampling.seed, "repeat", place))
    request = replace(task.request, sampling=sampling)
    other = replace(task, random=Random(task.random.getrandbits(64)))
    return Asking(TechniqueChannel(technique, other, _numbered(channels, place)), request)


def _numbered(channels: Channels, place: int) -> Channels:
    """Return *channels* with the number of the run before the step of each call."""

    def numbered(member: Member) -> Member:
        return replace(member, channel=_Numbered(member.channel, f"{place}."))

    return Channels(
        numbered(channels.primary),
        tuple(map(numbered, channels.pool)),
        channels.judge and numbered(channels.judge),
        channels.critic and numbered(channels.critic),
    )


@record(frozen=True, slots=True)
class _Numbered:
    inner: Channel
    prefix: str

    def open(self, request: Request) -> EventStream:
        """Send *request* on under another step."""
        return self.inner.open(replace(request, step=self.prefix + request.step))
