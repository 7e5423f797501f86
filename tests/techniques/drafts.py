"""Candidates that were drawn, and a writer that makes one answer of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio
from pydantic import BaseModel

from techniques.core.channel import Channels, Member, Technique
from techniques.core.errors import GatewayError
from techniques.core.events import Event, Finished, Started, TextDelta
from techniques.core.reply import Reply, replied
from techniques.core.request import Request
from techniques.core.task import Task
from techniques.parts.answers import expect
from techniques.parts.candidates import Candidate
from techniques.parts.keys import key_of
from techniques.phases.attempt import begin
from techniques.phases.combining import Combining, combined
from tests.techniques.scene import Answer, Played, Setting, asks, channels, play, scripted

CHEAP = Combining(guard="cheap")
SEA = asks("Tell me of the sea.")
DEEP = "The sea is deep. It covers most of the earth. Nobody knows all that lives in it."
SALT = "The sea is salt. It is deep in most places. Few know all that lives in it."
BOTH = "The sea is deep and salt. It covers most of the earth. Few know what lives in it."


class NoOptions(BaseModel, frozen=True):
    pass


def drawn(
    *answers: str | Reply, request: Request = SEA, weights: Sequence[float] = ()
) -> list[Candidate]:
    """The candidates that *answers* to *request* are, all of one weight if none is given."""
    replies = [replied(one) if isinstance(one, str) else one for one in answers]
    weighing = weights or [1.0] * len(replies)
    return [
        Candidate(place, reply, key_of(reply, expect(request)), weight=weight)
        for place, (reply, weight) in enumerate(zip(replies, weighing, strict=True))
    ]


def combining(candidates: Sequence[Candidate], settings: Combining = CHEAP) -> Technique:
    def technique(task: Task[NoOptions], models: Channels) -> AsyncGenerator[Event, None]:
        return combined(begin(task, models, "test"), candidates, settings)

    return technique


async def combine(
    candidates: Sequence[Candidate],
    written: Answer | Callable[[Request], Answer] = BOTH,
    request: Request = SEA,
    settings: Combining = CHEAP,
) -> Played:
    """Combine *candidates* with a model that answers everything with, or by, *written*."""
    answer = written if callable(written) else (lambda _request: written)
    technique = combining(candidates, settings)
    return await play(technique, channels(scripted(answer)), request, Setting(NoOptions()))


@dataclass
class Dictated:
    """A channel that gives *pieces* of text, a second each; then it ends, fails or just stops."""

    pieces: Sequence[str]
    failure: GatewayError | None = None
    ends: bool = True
    closed_at: float | None = None

    @asynccontextmanager
    async def open(self, _request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        events = self._events()
        try:
            yield events
        finally:
            await events.aclose()
            self.closed_at = anyio.current_time()

    async def _events(self) -> AsyncGenerator[Event, None]:
        yield Started()
        for piece in self.pieces:
            await anyio.sleep(1)
            yield TextDelta(piece)
        if self.failure is not None:
            raise self.failure
        if self.ends:
            yield Finished()


def dictating(channel: Dictated) -> Channels:
    member = Member("m", "model", channel)
    return replace(channels(scripted(lambda _request: "")), primary=member, pool=(member,))
