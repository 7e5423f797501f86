"""Many calls at once. The only module of the package with more than one task."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    nullcontext,
)
from typing import TypeAlias

import anyio

from pricing.record import record
from techniques.core.channel import Channel, Member, ask
from techniques.core.errors import DeadlinePassed, GatewayError
from techniques.core.events import Event
from techniques.core.groups import task_group
from techniques.core.passage import Passage
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.core.task import Ran, Sandbox

Outcome: TypeAlias = Reply | GatewayError
Heard: TypeAlias = Event | GatewayError
"""What is heard of a call that is under way; its failure, if it fails, comes last."""


@record(frozen=True, slots=True)
class Asking:
    """One call to make: ``request`` to ``member``.

    ``again`` looks at the reply and may return what to ask in its place, once; should that fail,
    the reply stands.
    """

    member: Channel | Member
    request: Request
    again: Callable[[Reply], Request | None] = lambda _reply: None


@record(frozen=True, slots=True)
class Answered:
    """How the call at *place* of the sequence ended."""

    place: int
    outcome: Outcome


@asynccontextmanager
async def asking(
    calls: Sequence[Asking], *, until: float | None = None, width: int = 16
) -> AsyncGenerator[AsyncIterator[Answered], None]:
    """Make all *calls*, at most *width* at a time, and yield each end as it comes.

    A failed call does not stop the others. Leaving the context cancels the calls still running.
    At time *until* (of ``anyio.current_time()``) they are cancelled too, and the iterator ends with
    a ``DeadlinePassed`` for each.
    """
    ends = _Ends(len(calls))
    limiter = anyio.CapacityLimiter(width) if len(calls) > width else nullcontext()
    async with task_group() as group:
        for place, call in enumerate(calls):
            group.start_soon(_one, place, call, ends, limiter, until)
        yield ends
        if ends.left:
            group.cancel_scope.cancel()


async def ask_each(
    calls: Sequence[Asking], *, until: float | None = None, width: int = 16
) -> list[Outcome]:
    """Make all *calls* and return their outcomes, in the order of *calls*."""
    outcomes: dict[int, Outcome] = {}
    async with asking(calls, until=until, width=width) as answers:
        async for answered in answers:
            outcomes[answered.place] = answered.outcome
    return [outcomes[place] for place in range(len(calls))]


async def ask_by(call: Asking, until: float | None) -> Outcome:
    """Make one *call* and return how it ended, not later than *until*."""
    (outcome,) = await ask_each([call], until=until)
    return outcome


@asynccontextmanager
async def hearing(
    call: Asking, *, until: float | None = None
) -> AsyncGenerator[AsyncIterator[Heard], None]:
    """Make one *call* and yield its events as they come, then its failure if it failed.

    Leaving the context cancels the call. At time *until* (of ``anyio.current_time()``) it is
    cancelled too, and the iterator ends with a ``DeadlinePassed``. What is open between two events
    is a task of its own, so that a caller may pass them on from inside a generator.
    """
    passage: Passage[Heard] = Passage()
    left: GeneratorExit | None = None
    async with task_group() as group:
        group.start_soon(_hear, call, passage, until)
        try:
            yield passage
        except GeneratorExit as left_early:  # a task group would put it into an exception group
            left = left_early
        if not passage.ended:
            passage.end()
            group.cancel_scope.cancel()
    if left is not None:
        raise left


async def run_each(
    sandbox: Sandbox, programs: Sequence[str], *, until: float | None = None
) -> list[Ran | None]:
    """Run all *programs* at once in *sandbox* and return what they did, in order.

    None for one that still ran at time *until* (of ``anyio.current_time()``); it is stopped then.
    """
    runs: list[Ran | None] = [None] * len(programs)

    async def run(place: int, program: str) -> None:
        runs[place] = await sandbox.run(program)

    with _until(until):
        async with task_group() as group:
            for place, program in enumerate(programs):
                group.start_soon(run, place, program)
    return runs


class _Ends:
    """The ends of calls, in the order in which they come; *left* of them are still to be taken."""

    def __init__(self, left: int) -> None:
        self.left = left
        self._come: deque[Answered] = deque()
        self._waiting = anyio.Semaphore(0, fast_acquire=True)

    def add(self, end: Answered) -> None:
        """Let *end* be taken."""
        self._come.append(end)
        self._waiting.release()

    def __aiter__(self) -> AsyncIterator[Answered]:
        return self

    async def __anext__(self) -> Answered:
        if not self.left:
            raise StopAsyncIteration
        await self._waiting.acquire()
        self.left -= 1
        return self._come.popleft()


def _until(moment: float | None) -> AbstractContextManager[object]:
    """Return what cancels what is within it at that *moment*, if there is one."""
    return nullcontext() if moment is None else anyio.CancelScope(deadline=moment)


async def _hear(call: Asking, passage: Passage[Heard], until: float | None) -> None:
    end: GatewayError | None = DeadlinePassed("The answer did not end before the deadline.")
    with _until(until):
        try:
            async with call.member.open(call.request) as events:
                async for event in events:
                    await passage.give(event)
            end = None
        except GatewayError as error:
            end = error
    if end is not None:
        await passage.give(end)
    passage.end()


async def _one(  # noqa: PLR0917 - started by a task group, which passes by position
    place: int,
    call: Asking,
    ends: _Ends,
    limiter: AbstractAsyncContextManager[None],
    until: float | None,
) -> None:
    outcome: Outcome = DeadlinePassed("No answer came before the deadline.")
    with _until(until):
        async with limiter:
            try:
                outcome = reply = await ask(call.member, call.request)
                if (better := call.again(reply)) is not None:
                    outcome = await _instead(call.member, better, reply)
            except GatewayError as error:
                outcome = error
    ends.add(Answered(place, outcome))


async def _instead(member: Channel | Member, request: Request, reply: Reply) -> Reply:
    try:
        return await ask(member, request)
    except GatewayError:
        return reply
