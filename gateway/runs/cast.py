"""The events of a run for all who listen: what was said before they came, then what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio

from techniques.core.errors import GatewayError
from techniques.core.events import Event


class Cast:
    """Keeps what a run says. Nobody who listens is waited for."""

    def __init__(self) -> None:
        self.said: list[Event] = []
        self.ended = False
        self.listening = 0
        self._failure: GatewayError | None = None
        self._more: anyio.Event | None = None  # as long as somebody waits

    def say(self, event: Event) -> None:
        """Let all hear *event*."""
        self.said.append(event)
        self._wake()

    def end(self, failure: GatewayError | None = None) -> None:
        """Let all hear that this was all, or that it ends with *failure*."""
        if not self.ended:
            self._failure, self.ended = failure, True
            self._wake()

    async def wait(self) -> None:
        """Wait until it has ended."""
        while not self.ended:
            await self._wait()

    async def hear(self, place: int) -> Event | None:
        """Return the event at *place* when it is said, None if the end comes before.

        Raises:
            GatewayError: It ended with it.
        """
        while place >= len(self.said):
            if self._failure is not None:
                raise self._failure
            if self.ended:
                return None
            await self._wait()
        return self.said[place]

    async def _wait(self) -> None:
        if self._more is None:
            self._more = anyio.Event()
        await self._more.wait()

    def _wake(self) -> None:
        if self._more is not None:
            self._more.set()
            self._more = None


class Hearing(AsyncIterator[Event]):
    """One listener, from the first event on. The first is there before a caller is told so."""

    def __init__(self, cast: Cast) -> None:
        self._cast = cast
        self._place = 0

    async def begun(self) -> None:
        """Wait for the first event.

        Raises:
            GatewayError: There is none.
        """
        await self._cast.hear(0)

    async def __anext__(self) -> Event:
        event = await self._cast.hear(self._place)
        if event is None:
            raise StopAsyncIteration
        self._place += 1
        return event
