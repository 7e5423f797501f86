"""What is done when a technique fails: the question is asked once, plainly."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Any, get_args

from techniques.core.channel import Channels, Technique
from techniques.core.errors import CapReached, GatewayError, TechniqueFailed, UpstreamFailed
from techniques.core.events import Event, Piece, Warned
from techniques.core.task import Task

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
        async with AsyncExitStack() as stack:
            try:
                answer = await stack.enter_async_context(channels.primary.open(task.request))
            except CapReached:
                raise failure from None  # what the caller must know is why a rescue was needed
            async for event in answer:
                yield event

    return run
