"""Goes on to another model when one is down."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from techniques.core.channel import Member
from techniques.core.errors import CapReached, UpstreamFailed
from techniques.core.events import Event
from techniques.core.request import Request

_CALLERS_OWN = "rejected"
"""The kind of failure that another model would not mend."""


class FallbackChannel:
    """Tries *members* in order, as long as nothing of an answer has been passed on.

    *moved* is told of each failure that was answered by going on, with the member asked next.
    """

    def __init__(
        self,
        members: Sequence[Member],
        moved: Callable[[UpstreamFailed, Member], None],
    ) -> None:
        self._members = members
        self._moved = moved

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Send *request* to the first member that begins to answer."""
        async with AsyncExitStack() as stack:
            yield await self._entered(stack, request)

    async def _entered(self, stack: AsyncExitStack, request: Request) -> AsyncIterator[Event]:
        failure: UpstreamFailed | None = None
        for member in self._members:
            try:
                events = await stack.enter_async_context(member.open(request))
            except UpstreamFailed as error:
                self._told(failure, member)
                if error.kind == _CALLERS_OWN:
                    raise
                failure = error
            except CapReached:
                if failure is None:
                    raise
                break  # what failed before is what went wrong
            else:
                self._told(failure, member)
                return events
        assert failure is not None, "there is a member"
        raise failure

    def _told(self, failure: UpstreamFailed | None, member: Member) -> None:
        if failure is not None:
            self._moved(failure, member)
