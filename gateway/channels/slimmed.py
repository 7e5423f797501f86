"""Shortens a conversation that is too long, before a technique makes its first call with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from gateway.context.slimming import Slimming
from gateway.metering.ledger import CallFinished
from techniques.core.channel import Channel
from techniques.core.events import Event
from techniques.core.request import Request


class SlimmedChannel:
    """A channel that *slimming* hands its requests to; *rows* are the calls made for them."""

    def __init__(self, inner: Channel, slimming: Slimming, rows: Sequence[CallFinished]) -> None:
        self._inner = inner
        self._slimming = slimming
        self._rows = rows

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Send what is left of *request*."""
        slim = await self._slimming.slim(request)
        try:
            async with self._inner.open(slim) as events:
                yield events
        finally:
            self._slimming.learn(slim, self._rows)
