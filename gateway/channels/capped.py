"""Keeps a run within the caps that were set for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import TracebackType

from gateway.metering.caps import RunAllowance
from techniques.core.channel import Channel, EventStream
from techniques.core.events import Event
from techniques.core.request import Request


class CappedChannel:
    """A channel that opens no call beyond the allowance.

    *expected* tells about what a call will cost, in picodollars; 0 if that is not known.
    """

    def __init__(
        self,
        inner: Channel,
        allowance: RunAllowance,
        expected: Callable[[Request], int] = lambda _request: 0,
    ) -> None:
        self._inner = inner
        self._allowance = allowance
        self._expected = expected

    def open(self, request: Request) -> EventStream:
        """Send *request* on, if one more call fits.

        Raises:
            CapReached: It does not.
        """
        held = self._allowance.take(self._expected(request))
        return _Held(self._inner.open(request), self._allowance, held)


class _Held:
    """A call whose cost is held until it has ended, and its row tells what it was."""

    __slots__ = ("_allowance", "_call", "_held")

    def __init__(self, call: EventStream, allowance: RunAllowance, held: int) -> None:
        self._call = call
        self._allowance = allowance
        self._held = held

    async def __aenter__(self) -> AsyncIterator[Event]:
        try:
            return await self._call.__aenter__()
        except BaseException:
            self._allowance.give_back(self._held)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._call.__aexit__(kind, error, trace)
        finally:
            self._allowance.give_back(self._held)
