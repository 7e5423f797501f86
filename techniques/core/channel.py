"""The narrow waist: anything a request can be sent through.

A provider, a retry around it, a cache before it and a whole technique over it all look
the same from above. That is why wrappers nest in any order, and why tests need one fake.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import field, replace
from typing import Any, Protocol, TypeAlias

from pricing.record import record
from techniques.core.capabilities import Capabilities
from techniques.core.events import Event
from techniques.core.groups import task_group
from techniques.core.passage import Passage
from techniques.core.reply import Reply, fold
from techniques.core.request import Request
from techniques.core.task import Task

EventStream: TypeAlias = AbstractAsyncContextManager[AsyncIterator[Event]]


class Channel(Protocol):
    """Somewhere to send a request."""

    def open(self, request: Request) -> EventStream:
        """Send *request*; leaving the context closes the call, finished or not.

        Entering returns when the answer has begun: until then a failure costs the caller
        nothing, and the call may be made again.

        A context manager, not a bare generator, so that a caller that stops early cannot
        leave the connection to the garbage collector, and an implementation may hold a
        task group or a permit for as long as the stream is open.

        Raises:
            GatewayError: On entering, before any event, or later from the iterator.
        """
        ...


@record(frozen=True, slots=True)
class Member:
    """A channel that a technique may use, and what the model behind it can do.

    ``id`` is unique within a request, also where two members share a model. ``name`` is what the
    operator calls the model, "" if it has no such name. ``cost`` is what a token of its output
    costs against one of the primary model; None if that is not known.
    """

    id: str
    model: str
    channel: Channel
    capabilities: Capabilities = field(default_factory=Capabilities)
    name: str = ""
    cost: float | None = None

    def open(self, request: Request) -> EventStream:
        """Send *request* to this member's own model."""
        if request.model != self.model:
            request = replace(request, model=self.model)
        return self.channel.open(request)


@record(frozen=True, slots=True)
class Channels:
    """The members that a technique may use.

    ``pool`` starts with ``primary``. ``judge`` and ``critic`` are None where none is configured:
    the technique then judges with ``primary``, and warns that it did.
    """

    primary: Member
    pool: tuple[Member, ...]
    judge: Member | None = None
    critic: Member | None = None


Technique: TypeAlias = Callable[[Task[Any], Channels], AsyncGenerator[Event, None]]


async def ask(channel: Channel | Member, request: Request) -> Reply:
    """Send *request* and wait for the whole reply."""
    async with channel.open(request) as events:
        return await fold(events)


class TechniqueChannel:
    """A technique over channels, itself a channel; so techniques nest.

    The generator gets a task of its own. What it holds open while it is suspended at a
    yield, such as a hedged call's task group, then never encloses the caller's code, which
    a plain ``async for`` over it would let happen (PEP 789).
    """

    def __init__(self, technique: Technique, task: Task[Any], channels: Channels) -> None:
        self._technique = technique
        self._task = task
        self._channels = channels

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Run the technique for *request*."""
        task = self._task
        if request is not task.request:
            task = replace(task, request=request)
        passage: Passage[Event] = Passage()
        async with task_group() as group:
            group.start_soon(_pump, self._technique(task, self._channels), passage)
            yield passage
            if not passage.ended:
                passage.end()
                group.cancel_scope.cancel()


async def _pump(events: AsyncGenerator[Event, None], passage: Passage[Event]) -> None:
    async with aclosing(events):
        async for event in events:
            await passage.give(event)
    passage.end()  # only after success: after a failure the caller must see that, not an end
