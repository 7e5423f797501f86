"""Goes on to another model when one is down."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, TypeAlias

from techniques.core.channel import Member
from techniques.core.errors import CapReached, HeldBack, UpstreamFailed
from techniques.core.events import Event
from techniques.core.request import Request

Order: TypeAlias = Callable[[Request], Awaitable[Sequence[int]]]

_CALLERS_OWN: Final = frozenset({"rejected"})
"""The kinds of failure that another model would not mend."""
_NAMED_BY_CALLER: Final = _CALLERS_OWN | {"unknown_model"}
"""The same where the caller has named the provider's model, which may be a slip of the pen."""


class FallbackChannel:
    """Tries *members* in order, as long as nothing of an answer has been passed on.

    *moved* is told of each failure that was answered by going on, with the member asked next.
    *order* gives the places of the members in the order in which they are to be tried for a
    request. *patient* are the same members, willing to be held for longer: where no member would
    take a request at once, the one that can take it soonest is asked again. *named*: the caller
    wrote the provider's own name of the first model; there may never have been one.
    """

    def __init__(
        self,
        members: Sequence[Member],
        moved: Callable[[UpstreamFailed, Member], None],
        order: Order | None = None,
        patient: Sequence[Member] = (),
        *,
        named: bool = False,
    ) -> None:
        self._members = members
        self._moved = moved
        self._order = order
        self._patient = patient
        self._final = _NAMED_BY_CALLER if named else _CALLERS_OWN

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Send *request* to the first member that begins to answer."""
        async with AsyncExitStack() as stack:
            yield await self._entered(stack, request)

    async def _entered(self, stack: AsyncExitStack, request: Request) -> AsyncIterator[Event]:
        failure: UpstreamFailed | None = None
        held = False
        for member in await self._ordered(self._members, request):
            try:
                events = await stack.enter_async_context(member.open(request))
            except UpstreamFailed as error:
                self._told(failure, member)
                if error.kind in self._final:
                    raise
                held = held or isinstance(error, HeldBack)
                failure = error
            except CapReached:
                if failure is None:
                    raise
                break  # what failed before is what went wrong
            else:
                self._told(failure, member)
                return events
        assert failure is not None, "there is a member"
        if held and self._patient:
            soonest = (await self._ordered(self._patient, request))[0]
            return await stack.enter_async_context(soonest.open(request))
        raise failure

    async def _ordered(self, members: Sequence[Member], request: Request) -> Sequence[Member]:
        if self._order is None:
            return members
        return [members[place] for place in await self._order(request)]

    def _told(self, failure: UpstreamFailed | None, member: Member) -> None:
        if failure is not None:
            self._moved(failure, member)
