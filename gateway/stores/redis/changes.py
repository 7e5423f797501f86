"""Tells other replicas of changes, over the store that they share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import anyio
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from gateway.stores.changes import Wait

_CHANNEL: Final = "lockgate:changes"

_log = structlog.get_logger()


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
