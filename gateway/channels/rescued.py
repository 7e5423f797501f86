"""What is done when a technique fails: the question is asked once, plainly."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from typing import Any, get_args

from techniques.core.channel import Channels, Technique
from techniques.core.errors import CapReached, GatewayError, TechniqueFailed, UpstreamFailed
from techniques.core.events import Event, Piece, Warned
from techniques.core.reply import Reply, fold, unfold
from techniques.core.task import Task
from techniques.parts.checks import Checks, must_keep_form

_PIECES = get_args(Piece)


def rescued(technique: Technique) -> Technique:
    """Return *technique*, followed by one plain call where it fails before it has answered.

    Caps, deadlines and a request that the provider calls wrong are no reason for another call.
    """

    async def run(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        begun = False
        failure: GatewayError | None = None
        try:
            async with aclosing(technique(task, channels)) as events:
                async for event in events:
                    begun = begun or isinstance(event, _PIECES)
                    yield event
        except (TechniqueFailed, UpstreamFailed) as error:
            if begun or getattr(error, "kind", None) == "rejected":
                raise
            failure = error
        if failure is None:
            return
        yield Warned("technique_failed", failure.code)
        async with aclosing(_plainly(task, channels, failure)) as events:
            async for event in events:
                yield event

    return run


async def _plainly(
    task: Task[Any], channels: Channels, failure: GatewayError
) -> AsyncGenerator[Event, None]:
    """Ask once more; what does not keep to a form that the caller insists on rescues nothing.

    What the caller must know where no call is left is why one was needed: *failure*.
    """
    checks = Checks(task.request)
    async with AsyncExitStack() as stack:
        try:
            answer = await stack.enter_async_context(channels.primary.open(task.request))
        except CapReached:
            raise failure from None
        if checks.strict:
            reply = await fold(answer)
            must_keep_form(checks, reply)
            answer = _replayed(reply)
        async for event in answer:
            yield event


async def _replayed(reply: Reply) -> AsyncIterator[Event]:
    """Yield the events that spell *reply*."""
    for event in unfold(reply):
        yield event
