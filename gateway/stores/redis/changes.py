"""Tells other replicas of changes, over the store that they share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
import structlog
from redis.asyncio import Redis

from gateway.reasons import why_of
from gateway.stores.changes import Hear, Wait
from gateway.stores.lost import LOST

_CHANNEL: Final = "lockgate:changes"

_KEPT_S: Final = 600

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
        except LOST as error:
            _log.warning("changes.untold", reason=why_of(error))

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
            except LOST:
                await anyio.sleep(seconds)

        try:
            yield wait
        finally:
            await listening.aclose()


class RedisAnnouncements:
    """What was announced last, for ten minutes, to every replica that is connected to it.

    In a cluster only who listens at the moment is told, for the text may be at another node.
    """

    def __init__(self, client: Redis, channel: str) -> None:
        self._client = client
        self._channel = channel

    async def announce(self, text: str) -> None:
        """Tell everyone, this process too, if Redis is there."""
        with suppress(*LOST):
            await self._client.set(self._channel, text, ex=_KEPT_S)
        try:
            await self._client.publish(self._channel, text)
        except LOST as error:
            _log.warning("changes.untold", reason=why_of(error))

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[Hear, None]:
        """Give what waits for what is announced next."""
        listening = self._client.pubsub(ignore_subscribe_messages=True)
        last: str | None = None

        async def hear(seconds: float) -> str | None:
            nonlocal last
            try:
                with anyio.move_on_after(seconds):
                    if not listening.subscribed:
                        await listening.subscribe(self._channel)
                    while (told := await listening.get_message(timeout=seconds)) is None:
                        pass
                    last = _text(told["data"])
                    return last
            except LOST:
                await anyio.sleep(seconds)
            with suppress(*LOST):  # it may have come while nobody listened
                last = _text(await self._client.get(self._channel)) or last
            return last

        try:
            yield hear
        finally:
            await listening.aclose()


def _text(data: object) -> str | None:
    if isinstance(data, bytes):
        return data.decode("ascii", "replace")
    return data if isinstance(data, str) else None
