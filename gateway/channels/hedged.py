"""Sends a second call when the first is slow to begin, and passes on whichever begins first."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from techniques.core.channel import Channel
from techniques.core.errors import GatewayError, UpstreamFailed
from techniques.core.events import Event
from techniques.core.groups import task_group
from techniques.core.request import Request


class HedgedChannel:
    """A channel with a spare: the tail of the time to begin becomes that of two calls.

    The spare starts *after* seconds without a beginning. A first call that fails before that
    fails the whole: trying again is the retry's matter.

    Source: Dean and Barroso 2013, "The Tail at Scale", hedged requests.
    """

    def __init__(self, inner: Channel, *, after: float) -> None:
        self._inner = inner
        self._after = after

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Send *request*, and once more if no answer began in time."""
        sender, receiver = anyio.create_memory_object_stream[Event](0)
        async with sender, receiver, task_group() as group:
            race = _Race(self._inner, request, sender)
            group.start_soon(race.run)
            with anyio.move_on_after(self._after):
                await race.decided.wait()
            if not race.decided.is_set():
                group.start_soon(race.run)
                await race.decided.wait()
            yield race.winner(receiver)
            group.cancel_scope.cancel()


class _Race:
    def __init__(
        self, inner: Channel, request: Request, sender: MemoryObjectSendStream[Event]
    ) -> None:
        self.decided = anyio.Event()
        self._inner = inner
        self._request = request
        self._sender = sender
        self._scopes: list[anyio.CancelScope] = []
        self._failures: list[GatewayError] = []
        self._winner: anyio.CancelScope | None = None

    async def run(self) -> None:
        """Make one of the calls; the first whose answer begins cancels the others."""
        scope = anyio.CancelScope()
        self._scopes.append(scope)
        with scope:
            try:
                await self._call(scope)
            except GatewayError as error:
                if self._winner is scope:
                    raise
                if self._winner is None:  # a loser's failure is nobody's after the race
                    self._lose(error)

    def winner(self, receiver: AsyncIterator[Event]) -> AsyncIterator[Event]:
        """Return the events of the call that won.

        Raises:
            GatewayError: All calls failed. The first failure of a provider is raised rather than
                that of a call which this gateway did not let start.
        """
        if self._winner is None:
            told = (error for error in self._failures if isinstance(error, UpstreamFailed))
            raise next(told, self._failures[0])
        return receiver

    async def _call(self, scope: anyio.CancelScope) -> None:
        async with self._inner.open(self._request) as events:
            if self._winner is not None:
                return  # both began in one turn of the loop: too late to be cancelled before here
            self._winner = scope
            self.decided.set()
            for other in self._scopes:
                if other is not scope:
                    other.cancel()
            async for event in events:
                await self._sender.send(event)
        self._sender.close()

    def _lose(self, error: GatewayError) -> None:
        self._failures.append(error)
        if len(self._failures) == len(self._scopes):
            self.decided.set()
