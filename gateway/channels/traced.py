"""Lets a client look on while a technique works: what each of its calls writes, as it comes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from techniques.core.channel import Channel, Channels, EventStream, Technique
from techniques.core.errors import GatewayError
from techniques.core.events import (
    Event,
    Finished,
    RefusalDelta,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    Traced,
    TracedKind,
    Warned,
)
from techniques.core.groups import task_group
from techniques.core.request import Request
from techniques.core.task import Task

MOST: Final = 262_144
"""Characters that may wait to be taken."""
_Item: TypeAlias = Event | GatewayError | None
"""None: there is something to take from the trace."""


@dataclass(slots=True)
class Trace:
    """What the calls of one run write, until it is taken to be shown.

    Nobody is waited for: what finds no room is left out, and its length is added to ``lost``. With
    ``live`` the calls are streamed and shown while they are written, else when all is done.
    """

    live: bool
    lost: int = 0
    sender: MemoryObjectSendStream[_Item] | None = None
    _length: int = 0
    _waiting: dict[tuple[str, str, str, TracedKind], list[str]] = field(default_factory=dict)

    def show(self, piece: Traced) -> None:
        """Keep as much of *piece* as there is room for."""
        kept = piece.text[: MOST - self._length]
        self.lost += len(piece.text) - len(kept)
        if not kept:
            return
        self._length += len(kept)
        call = piece.step, piece.role, piece.model, piece.kind
        self._waiting.setdefault(call, []).append(kept)
        if self.live and self.sender is not None:
            with suppress(anyio.WouldBlock):  # what stands in the way will have it taken along
                self.sender.send_nowait(None)

    def take(self) -> list[Traced]:
        """Return what waits, one piece a call and kind."""
        taken = [
            Traced(step, role, model, "".join(texts), kind)
            for (step, role, model, kind), texts in self._waiting.items()
        ]
        self._waiting.clear()
        self._length = 0
        return taken


class TracingChannel:
    """A channel to *model* that shows what is written on it.

    A call for the answer itself is not shown: the client gets that as it is.
    """

    def __init__(self, inner: Channel, model: str, trace: Trace) -> None:
        self._inner = inner
        self._model = model
        self._trace = trace

    def open(self, request: Request) -> EventStream:
        """Send *request* on."""
        if request.role == "answer":
            return self._inner.open(request)
        return self._watched(replace(request, stream=request.stream or self._trace.live))

    @asynccontextmanager
    async def _watched(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        async with (
            self._inner.open(request) as events,
            aclosing(self._shown(request, events)) as shown,
        ):
            yield shown

    async def _shown(
        self, request: Request, events: AsyncIterator[Event]
    ) -> AsyncGenerator[Event, None]:
        async for event in events:
            kind, text = _said(event)
            if text:
                piece = Traced(request.step, request.role, self._model, text, kind)
                self._trace.show(piece)
            yield event


class TracedChannel:
    """A technique over *channels*, with what its calls write in *trace* between its own events.

    Its own events are never left out; where a client is slow they wait, and the run with them, as
    they do without a trace.
    """

    def __init__(
        self, technique: Technique, task: Task[Any], channels: Channels, trace: Trace
    ) -> None:
        self._technique = technique
        self._task = task
        self._channels = channels
        self._trace = trace

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Run the technique for *request*."""
        task = replace(self._task, request=request)
        sender, receiver = anyio.create_memory_object_stream[_Item](1)
        self._trace.sender = sender
        async with sender, receiver, task_group() as group:
            group.start_soon(_pump, self._technique(task, self._channels), sender)
            async with aclosing(self._merged(receiver)) as events:
                yield events
            group.cancel_scope.cancel()

    async def _merged(
        self, receiver: MemoryObjectReceiveStream[_Item]
    ) -> AsyncGenerator[Event, None]:
        async for item in receiver:
            if self._trace.live or isinstance(item, Finished):
                for piece in self._trace.take():
                    yield piece
            if isinstance(item, GatewayError):
                raise item
            if isinstance(item, Finished) and self._trace.lost:
                yield Warned("trace_cut", f"{self._trace.lost} characters")
            if item is not None:
                yield item


async def _pump(events: AsyncGenerator[Event, None], sender: MemoryObjectSendStream[_Item]) -> None:
    try:
        async with aclosing(events):
            async for event in events:
                await sender.send(event)
    except GatewayError as failure:  # it has its turn after what came before it
        await sender.send(failure)
    sender.close()


def _said(event: Event) -> tuple[TracedKind, str]:
    """Return what *event* adds to the text of a call; it may be nothing."""
    kind: TracedKind = "text"
    text = ""
    match event:
        case TextDelta():
            text = event.text
        case ThinkingDelta():
            kind, text = "thinking", event.text
        case RefusalDelta():
            kind, text = "refusal", event.text
        case ToolCallStarted():
            kind, text = "call", f"{event.name} "
        case ToolCallDelta():
            kind, text = "call", event.arguments
        case _:
            pass
    return kind, text
