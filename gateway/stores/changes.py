"""How replicas tell each other at once that keys, teams or budgets have changed.

Only a hint: who misses one finds the change in the database a moment later.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Protocol, TypeAlias

import anyio
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

Wait: TypeAlias = Callable[[float], Awaitable[None]]
"""Returns when something has changed, or after so many seconds."""

_CHANNEL: Final = "lockgate:changes"

_log = structlog.get_logger()


class Changes(Protocol):
    """Tells of changes, and of nothing that changed."""

    async def publish(self) -> None:
        """Tell everyone, this process too. Never fails: it is a hint."""
        ...

    def subscribe(self) -> AbstractAsyncContextManager[Wait]:
        """Give what waits for the next change; nothing told while it is open is missed."""
        ...


class LocalChanges:
    """Within one process."""

    def __init__(self) -> None:
        self._told = anyio.Event()

    async def publish(self) -> None:
        """Tell every subscriber."""
        self._told.set()
        self._told = anyio.Event()

    @asynccontextmanager
    async def subscribe(self) -> AsyncGenerator[Wait, None]:
        """Give what waits for the next change."""
        seen = self._told

        async def wait(seconds: float) -> None:
            nonlocal seen
            with anyio.move_on_after(seconds):
                await seen.wait()
            seen = self._told

        yield wait


class RedisChanges:
    """Over Redis: every replica that is connected to it. *client* is closed by who made it."""

    def __init__(self, client: Redis, channel: str = _CHANNEL) -> None:
        self._client = client
        self._channel = channel

    async def publish(self) -> None:
        """Tell every subscriber, if Redis is there."""
        try:
            await self._client.publish(self._channel, b"")
        except (RedisError, OSError) as error:
            _log.warning("changes.untold", reason=str(error))

    @asynccontextmanager
    async def subscribe(self) -> AsyncGenerator[Wait, None]:
        """Give what waits for the next change; without Redis it is just the time that passes."""
        listening = self._client.pubsub(ignore_subscribe_messages=True)

        async def wait(seconds: float) -> None:
            try:
                with anyio.move_on_after(seconds):
                    if not listening.subscribed:
                        await listening.subscribe(self._channel)
                    while await listening.get_message(timeout=seconds) is None:
                        pass
            except (RedisError, OSError):
                await anyio.sleep(seconds)

        try:
            yield wait
        finally:
            await listening.aclose()
