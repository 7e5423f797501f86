"""Listens to a technique: its answer, and what the model had answered plainly."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from techniques.core.channel import Channel, Channels, EventStream, Technique
from techniques.core.events import Event, Finished
from techniques.core.reply import Fold, Reply
from techniques.core.request import Request
from techniques.core.task import Task
from techniques.parts.cue import uncued

_ANSWERS: Final = frozenset({"answer", "candidate"})
_FIRST: Final = re.compile(r"\D+0")
"""The step of a technique's first answer; of calls that run at once any may come first."""


@dataclass(slots=True)
class Heard:
    """What was heard of one request: None, until it was heard to its end.

    ``first`` is the first answer of the model itself, asked as the client asks: the plain one.
    """

    answer: Reply | None = None
    first: Reply | None = None


def overheard(technique: Technique, heard: Heard) -> Technique:
    """Return *technique*; what it answers, and what it made of, is written down in *heard*."""

    async def run(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        inner = _Listening(channels.primary.channel, heard, task.request)
        listening = replace(channels.primary, channel=inner)
        pool = (listening, *channels.pool[1:])
        folded = Fold()
        async with aclosing(technique(task, replace(channels, primary=listening, pool=pool))) as (
            events
        ):
            async for event in events:
                folded.feed(event)
                if isinstance(event, Finished):
                    heard.answer = folded.so_far()
                yield event

    return run


class _Listening:
    """A channel on which the first answer is written down."""

    def __init__(self, inner: Channel, heard: Heard, asked: Request) -> None:
        self._inner = inner
        self._heard = heard
        self._asked = asked

    def open(self, request: Request) -> EventStream:
        """Send *request* on."""
        if request.role not in _ANSWERS or not _FIRST.fullmatch(request.step):
            return self._inner.open(request)
        return self._watched(request)

    @asynccontextmanager
    async def _watched(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        async with (
            self._inner.open(request) as events,
            aclosing(self._folded(request, events)) as passed,
        ):
            yield passed

    async def _folded(
        self, request: Request, events: AsyncIterator[Event]
    ) -> AsyncGenerator[Event, None]:
        folded = Fold()
        cued = request.messages != self._asked.decoded().messages
        async for event in events:
            folded.feed(event)
            if isinstance(event, Finished):
                reply = folded.so_far()
                self._heard.first = uncued(reply) if cued else reply
            yield event
