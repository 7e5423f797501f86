"""Answers of runs: of one that is carried out here, of one elsewhere, of one that is over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType

import anyio

from gateway.runs.cast import Cast, Hearing
from gateway.runs.wanted import Begun
from techniques.core.channel import EventStream
from techniques.core.events import Event


class Listening:
    """The answer of a run that is carried out here. *begin* begins it, *left* is told at the end.

    Who began it stays until it stops, for what it costs is written down with their request.
    """

    def __init__(
        self, cast: Cast, left: Callable[[], None], begin: Callable[[], None] | None = None
    ) -> None:
        self._cast = cast
        self._left = left
        self._begin = begin

    async def __aenter__(self) -> AsyncIterator[Event]:
        self._cast.listening += 1
        hearing = Hearing(self._cast)
        try:
            if self._begin is not None:
                self._begin()
            await hearing.begun()
        except BaseException:
            await self._leave()
            raise
        return hearing

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._leave()

    async def _leave(self) -> None:
        self._cast.listening -= 1
        self._left()
        if self._begin is not None:
            with anyio.CancelScope(shield=True):
                await self._cast.wait()


class Elsewhere:
    """The answer of a run that another is at work on: *patient* waits, then *again* asks."""

    def __init__(
        self,
        patient: Callable[[], Awaitable[None]],
        again: Callable[[], Awaitable[Begun]],
    ) -> None:
        self._patient = patient
        self._again = again
        self._answer: EventStream | None = None

    async def __aenter__(self) -> AsyncIterator[Event]:
        await self._patient()
        begun = await self._again()
        self._answer = begun.answer
        return await begun.answer.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        assert self._answer is not None, "it was entered"
        return await self._answer.__aexit__(kind, error, trace)


class Told(AsyncIterator[Event]):
    """An answer that the journal has whole."""

    def __init__(self, events: list[Event]) -> None:
        self._events = iter(events)

    async def __aenter__(self) -> AsyncIterator[Event]:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    async def __anext__(self) -> Event:
        event = next(self._events, None)
        if event is None:
            raise StopAsyncIteration
        return event
