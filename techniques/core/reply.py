"""A whole reply, and the two ways between it and a stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace

from pricing.record import record
from pricing.usage import Usage
from techniques.core.citation import Citation, fitted, within
from techniques.core.errors import StreamBroken
from techniques.core.events import (
    BlockAdded,
    Choice,
    Cited,
    Event,
    Finished,
    FinishReason,
    Redacted,
    RefusalDelta,
    Signed,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
)
from techniques.core.json import Json
from techniques.core.pieces import pieces
from techniques.core.request import (
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    Text,
    Thinking,
    ToolCall,
)


@record(frozen=True, slots=True)
class Reply:
    """A finished answer. ``logprobs`` is OpenAI's object for the whole text, if it was given.

    ``others`` are further answers, where more than one was asked for. ``mode`` is what the provider
    calls the way in which it served the call, "" if it did not tell, ``searches`` how often it
    searched the web. ``details``: see ``Finished``.
    """

    parts: tuple[Part, ...] = ()
    finish_reason: FinishReason = "stop"
    stop_sequence: str | None = None
    usage: Usage | None = None
    logprobs: Json = None
    id: str = ""
    model: str = ""
    fingerprint: str = ""
    others: tuple[Reply, ...] = ()
    mode: str = ""
    citations: tuple[Citation, ...] = ()
    details: Json = None
    searches: int = 0

    @property
    def text(self) -> str:
        """The answer's text, without thinking and refusals."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def thinking(self) -> str:
        """The reasoning that can be read."""
        return "".join(part.text for part in self.parts if isinstance(part, Thinking))

    @property
    def refusal(self) -> str:
        """The words of refusal, "" if there are none."""
        return "".join(part.text for part in self.parts if isinstance(part, Refusal))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def used(self) -> Usage | None:
        """The tokens of this answer and of the others, None if this one's are not known."""
        if self.usage is None:
            return None
        return sum((other.usage for other in self.others if other.usage), self.usage)


def replied(text: str, finish_reason: FinishReason = "stop", usage: Usage | None = None) -> Reply:
    """Return a reply that is only *text*."""
    return Reply((Text(text),) if text else (), finish_reason, usage=usage)


class Fold:
    """Collects events into the reply they spell."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._open: list[str] = []
        self._kind: type | None = None
        self._calls: dict[int, list[str]] = {}
        self._places: dict[int, int] = {}
        self._logprobs: dict[str, list[Json]] = {}
        self._citations: list[Citation] = []
        self._usage: Usage | None = None
        self._started = Started()
        self._finished: Finished | None = None
        self._others: dict[int, Fold] = {}
        self._mode = ""
        self._searches = 0

    def feed(self, event: Event) -> None:
        """Take *event* in; notes, warnings and relayed bytes are no part of a reply."""
        match event:
            case TextDelta():
                self._add(Text, event.text)
                self._add_logprobs(event.logprobs)
            case ThinkingDelta():
                self._add(Thinking, event.text)
            case Signed():
                self._sign(event.signature)
            case Redacted():
                self._whole(RedactedThinking(event.data))
            case RefusalDelta():
                self._add(Refusal, event.text)
                self._add_logprobs(event.logprobs)
            case BlockAdded():
                self._whole(event.block)
            case ToolCallStarted() | ToolCallDelta():
                self._call(event)
            case _:
                self._frame(event)

    def reply(self) -> Reply:
        """Return what was collected.

        Raises:
            StreamBroken: No ``Finished`` came, or none to another choice.
        """
        if self._finished is None:
            raise StreamBroken("The answer ended before the model finished.")
        own = self.so_far(self._finished)
        if not self._others:
            return own
        others = tuple(other.reply() for _, other in sorted(self._others.items()))
        return replace(own, others=others)

    def so_far(self, finished: Finished | None = None) -> Reply:
        """Return what was collected up to now, as if it had *finished* so."""
        self._close()
        finished = finished or Finished()
        parts = list(self._parts)
        for index, place in self._places.items():
            call = parts[place]
            assert isinstance(call, ToolCall)
            parts[place] = replace(call, arguments="".join(self._calls[index]))
        said = sum(len(part.text) for part in parts if isinstance(part, Text))
        return Reply(
            tuple(parts),
            finished.reason,
            finished.stop_sequence,
            self._usage,
            self._logprobs or None,
            self._started.id,
            self._started.model,
            self._started.fingerprint,
            mode=self._mode,
            citations=fitted(self._citations, said),
            details=finished.details,
            searches=self._searches,
        )

    def _frame(self, event: Event) -> None:
        match event:
            case UsageReported():
                self._usage, self._mode = event.usage, event.mode or self._mode
                self._searches = event.searches
            case Started():
                self._started = event
            case Finished():
                self._finished = event
            case Cited():
                self._citations.append(event.citation)
            case Choice():
                self._others.setdefault(event.index, Fold()).feed(event.event)
            case _:
                pass

    def _add(self, kind: type[Text | Thinking | Refusal], text: str) -> None:
        if self._kind is not kind:
            self._close()
            self._kind = kind
        self._open.append(text)

    def _add_logprobs(self, logprobs: Json) -> None:
        if isinstance(logprobs, dict):
            for name, tokens in logprobs.items():
                if isinstance(tokens, list):
                    self._logprobs.setdefault(name, []).extend(tokens)

    def _sign(self, signature: str) -> None:
        text = "".join(self._open) if self._kind is Thinking else ""
        if self._kind is not Thinking:
            self._close()
        self._open, self._kind = [], None
        self._parts.append(Thinking(text, signature))

    def _call(self, event: ToolCallStarted | ToolCallDelta) -> None:
        if isinstance(event, ToolCallStarted):
            self._close()
            self._places[event.index] = len(self._parts)
            self._calls[event.index] = []
            self._parts.append(ToolCall(event.id, event.name, "", extra=event.extra))
        else:
            self._calls[event.index].append(event.arguments)
            self._extend(self._places[event.index], event.extra)

    def _extend(self, place: int, extra: Mapping[str, Json]) -> None:
        call = self._parts[place]
        if extra and isinstance(call, ToolCall):
            self._parts[place] = replace(call, extra={**call.extra, **extra})

    def _whole(self, part: RedactedThinking | Opaque) -> None:
        if not (isinstance(part, Opaque) and part.thinking):  # which comes beside what it is of
            self._close()
        self._parts.append(part)

    def _close(self) -> None:
        text = "".join(self._open)
        if self._kind is Thinking or (text and self._kind is not None):
            self._parts.append(self._kind(text))
        self._open, self._kind = [], None


async def fold(events: AsyncIterator[Event]) -> Reply:
    """Read *events* to their end and return the reply they spell.

    Raises:
        StreamBroken: The events ended without a ``Finished``.
    """
    folded = Fold()
    async for event in events:
        folded.feed(event)
    return folded.reply()


def unfold(reply: Reply) -> Iterator[Event]:
    """Yield the stream that spells *reply*, its text in pieces."""
    yield Started(reply.id, reply.model, reply.fingerprint)
    index = said = 0
    logprobs = reply.logprobs
    for part in reply.parts:
        if isinstance(part, ToolCall):
            yield ToolCallStarted(index, part.id, part.name, part.extra)
            yield ToolCallDelta(index, part.arguments)
            index += 1
        elif isinstance(part, Text):
            cited = within(reply.citations, said, said + len(part.text))
            yield from pieces(part.text, logprobs, cited, said)
            said, logprobs = said + len(part.text), None
        elif isinstance(part, Refusal):
            yield RefusalDelta(part.text, logprobs)
            logprobs = None
        else:
            yield from _other(part)
    if reply.usage is not None:
        yield UsageReported(reply.usage, reply.mode, searches=reply.searches)
    yield from choices(reply.others)
    yield Finished(reply.finish_reason, reply.stop_sequence, details=reply.details)


def choices(others: Sequence[Reply]) -> Iterator[Event]:
    """Yield what spells *others* as the further answers of a stream, before it ends."""
    for place, other in enumerate(others, 1):
        for event in unfold(other):
            yield Choice(place, event)


def _other(part: Part) -> Iterator[Event]:
    match part:
        case Thinking():
            yield ThinkingDelta(part.text)
            if part.signature is not None:
                yield Signed(part.signature)
        case RedactedThinking():
            yield Redacted(part.data)
        case Opaque():
            yield BlockAdded(part)
        case _:
            raise TypeError(f"{type(part).__name__} is no part of a reply.")
