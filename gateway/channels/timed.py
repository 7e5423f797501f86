"""Ends a technique's calls at the run's deadline; what it has by then, it may still say."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio

from pricing.record import record
from techniques.core.channel import Channel, EventStream
from techniques.core.errors import DeadlinePassed, GatewayError
from techniques.core.events import Event
from techniques.core.fanout import Asking, Heard, hearing
from techniques.core.request import Request


@record(frozen=True, slots=True)
class Deadline:
    """The time of ``anyio.current_time()`` that is *seconds* after a run began."""

    at: float
    seconds: float

    def passed(self) -> DeadlinePassed:
        """Return what a caller is told who has no answer by then."""
        return DeadlinePassed(f"No answer within {self.seconds:g} seconds.")


class TimedChannel:
    """A channel of which no call goes on after *deadline*, and none begins."""

    def __init__(self, inner: Channel, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Send *request* on.

        Raises:
            DeadlinePassed: There is no time left, on entering or later.
        """
        if anyio.current_time() >= self._deadline.at:
            raise self._deadline.passed()
        call = Asking(self._inner, request)
        async with hearing(call, until=self._deadline.at) as heard:
            first = self._told(await anext(heard, None))
            async with aclosing(self._events(first, heard)) as events:
                yield events

    async def _events(
        self, first: Event | None, heard: AsyncIterator[Heard]
    ) -> AsyncGenerator[Event, None]:
        if first is not None:
            yield first
        async for item in heard:
            event = self._told(item)
            assert event is not None
            yield event

    def _told(self, item: Heard | None) -> Event | None:
        if isinstance(item, DeadlinePassed):
            raise self._deadline.passed()
        if isinstance(item, GatewayError):
            raise item
        return item


@asynccontextmanager
async def within(
    deadline: Deadline, answer: EventStream
) -> AsyncGenerator[AsyncIterator[Event], None]:
    """Give the events of *answer*, all of which come before *deadline*.

    Raises:
        DeadlinePassed: They do not.
    """
    try:
        with anyio.fail_after(deadline.at - anyio.current_time()):
            async with answer as events:
                yield events
    except TimeoutError as error:
        raise deadline.passed() from error
