"""Asks again where a server was too busy, or failed before it had answered: not for ever."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random  # noqa: TID251 - how long is waited decides nothing
from typing import Final

from gateway.channels.retrying import RetryingChannel, RetryPolicy
from techniques.core.channel import Channel
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event
from techniques.core.request import Request

AGAIN: Final = RetryPolicy(retries=3, backoff_s=1.0, max_wait_s=60.0)
"""How often, and how long is waited; a server that asks for longer is not asked again."""

_BUSY: Final = frozenset({"rate_limited", "overloaded", "server"})


def insisting(
    inner: Channel, policy: RetryPolicy, again: Callable[[UpstreamFailed], None]
) -> RetryingChannel:
    """Return *inner*, asked again after 429 and 5xx; *again* is told of each failure of these."""
    return RetryingChannel(_Told(inner), policy, Random(), again)


class _Told:
    """Lets no other failure than a server's own word be tried again: who is not there is gone."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Send *request*."""
        async with AsyncExitStack() as stack:
            try:
                events = await stack.enter_async_context(self._inner.open(request))
            except UpstreamFailed as error:
                error.retryable = error.retryable and error.kind in _BUSY
                raise
            yield events
