"""A first answer that is at hand: who asks its question first is given it, and pays nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from techniques.core.channel import Channel, Channels, EventStream
from techniques.core.events import Event
from techniques.core.reply import Reply, unfold
from techniques.core.request import Message, Request, Text
from techniques.core.task import Allowance
from techniques.parts.answers import expect
from techniques.parts.confidence import ASK
from techniques.parts.cue import cue

_ANSWERS: Final = frozenset({"answer", "candidate"})


@dataclass(slots=True)
class Held:
    """The *reply* to *question*, for one taker; None once it was taken."""

    question: Request
    reply: Reply | None

    def taken(self, request: Request) -> Reply | None:
        """Return the reply, as *request* would have got it, if that is its question."""
        if self.reply is None or not _same(self.question, request):
            return None
        reply, self.reply = self.reply, None
        return reply if request.sampling.logprobs else replace(reply, logprobs=None)


@dataclass(frozen=True, slots=True)
class Prepaid:
    """What an *allowance* leaves, and the call that was made already."""

    allowance: Allowance
    held: Held

    def affordable(self, calls: int) -> int:
        """Return how many of *calls* further sub-calls still fit."""
        free = self.held.reply is not None
        return min(calls, self.allowance.affordable(calls) + free)


def holding(channels: Channels, held: Held) -> Channels:
    """Return *channels* with their first model giving what is *held* to who asks for it."""
    first = channels.primary
    primary = replace(first, channel=_HeldChannel(first.channel, held))
    pool = tuple(primary if member.id == first.id else member for member in channels.pool)
    return replace(channels, primary=primary, pool=pool)


@dataclass(frozen=True, slots=True)
class _HeldChannel:
    """A channel in front of which a reply is held."""

    channel: Channel
    held: Held

    def open(self, request: Request) -> EventStream:
        """Send *request*, or give it what is held."""
        reply = self.held.taken(request)
        return self.channel.open(request) if reply is None else _given(reply)


@asynccontextmanager
async def _given(reply: Reply) -> AsyncGenerator[AsyncIterator[Event], None]:
    async with aclosing(_each(reply)) as events:
        yield events


async def _each(reply: Reply) -> AsyncGenerator[Event, None]:
    for event in unfold(reply):
        yield event


def _same(question: Request, request: Request) -> bool:
    """Tell whether *request* is for the first of a technique's answers, as the client put it.

    Only what a technique adds to read the answer more easily (a marked last line, the confidence
    in it) may stand after the question: it asks for no other answer.
    """
    first = request.role in _ANSWERS and request.step[1:] == "0"
    return first and _settings(question) == _settings(request) and _says_same(question, request)


def _settings(request: Request) -> Request:
    sampling = replace(request.sampling, logprobs=False, top_logprobs=None)
    plain = replace(request, messages=(), sampling=sampling, model="", stream=False)
    return replace(plain, role="", step="")


def _says_same(question: Request, request: Request) -> bool:
    if len(question.messages) != len(request.messages):
        return False
    added = [Text(text) for text in (cue(expect(question)), ASK) if text is not None]
    turns = zip(question.messages, request.messages, strict=True)
    return all(_begins(own, asked, added) for own, asked in turns)


def _begins(own: Message, asked: Message, added: list[Text]) -> bool:
    count = len(own.parts)
    rest = asked.parts[count:]
    return replace(asked, parts=asked.parts[:count]) == own and all(part in added for part in rest)
