"""Makes several calls of what is too much for one, and one answer of theirs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

from gateway.upstream.embeddings.batches import Batch, joined, parts_of
from gateway.upstream.embeddings.sheet import Scanner, Sheet
from pricing.usage import Usage
from techniques.core.channel import Channel, EventStream
from techniques.core.errors import GatewayError
from techniques.core.events import Event, Finished, Relayed, UsageReported, Warned
from techniques.core.groups import task_group
from techniques.core.request import Request

_AT_ONCE: Final = 4


class SplitChannel:
    """A channel to which no call is larger than *most*; what is larger goes in several.

    An answer is begun only when all its parts are there, so that a failed part costs no more than
    the call would have: each is tried again by itself, and what is above may ask elsewhere.
    """

    def __init__(self, inner: Channel, most: Batch) -> None:
        self._inner = inner
        self._most = most

    def open(self, request: Request) -> EventStream:
        """Send *request*, in parts where it has to be."""
        parts = parts_of(request, self._most)
        return self._inner.open(parts[0]) if len(parts) == 1 else self._joined(parts)

    @asynccontextmanager
    async def _joined(self, parts: Sequence[Request]) -> AsyncGenerator[AsyncIterator[Event], None]:
        asking = _Parts(self._inner, [_Part() for _ in parts])
        await asking.ask(parts)
        yield _told(asking.parts)


@dataclass(slots=True)
class _Part:
    """What came of one part."""

    sheet: Sheet = field(default_factory=Sheet)
    usage: Usage | None = None
    warnings: list[Warned] = field(default_factory=list)


class _Parts:
    def __init__(self, inner: Channel, parts: list[_Part]) -> None:
        self.parts = parts
        self._inner = inner
        self._width = anyio.CapacityLimiter(_AT_ONCE)
        self._failure: GatewayError | None = None

    async def ask(self, requests: Sequence[Request]) -> None:
        """Ask for all parts, a few at a time; the first that fails ends the others."""
        async with task_group() as group:
            for part, request in zip(self.parts, requests, strict=True):
                group.start_soon(self._one, part, request, group.cancel_scope)
        if self._failure is not None:
            raise self._failure

    async def _one(self, part: _Part, request: Request, scope: anyio.CancelScope) -> None:
        async with self._width:
            if self._failure is not None:
                return
            try:
                await self._heard(part, request)
            except GatewayError as error:
                self._fail(error)
                scope.cancel()

    def _fail(self, error: GatewayError) -> None:
        self._failure = self._failure or error

    async def _heard(self, part: _Part, request: Request) -> None:
        scanner = Scanner()
        async with self._inner.open(request) as events:
            async for event in events:
                if isinstance(event, Relayed):
                    scanner.feed(event.raw)
                elif isinstance(event, UsageReported):
                    part.usage = event.usage
                elif isinstance(event, Warned):
                    part.warnings.append(event)
        part.sheet = scanner.sheet()


async def _told(parts: Sequence[_Part]) -> AsyncGenerator[Event, None]:
    for part in parts:
        for warning in part.warnings:
            yield warning
    for piece in joined([part.sheet for part in parts]):
        yield Relayed(piece)
    counts = [part.usage for part in parts if part.usage is not None]
    if len(counts) == len(parts):
        yield UsageReported(sum(counts, Usage()))
    yield Finished()
