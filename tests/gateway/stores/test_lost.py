"""Whatever a client of Redis raises when it is gone, who follows changes goes on."""

from __future__ import annotations

from typing import cast

import anyio
import pytest
import redis.exceptions
from redis.asyncio import Redis

from gateway.stores.redis.changes import RedisAnnouncements, RedisChanges


class Gone:
    """A client, and what it listens by, that raise *error* whatever they are asked to do."""

    subscribed = False

    def __init__(self, error: Exception) -> None:
        self._error = error

    def pubsub(self, **_: object) -> Gone:
        return self

    async def subscribe(self, *_: object) -> None:
        raise self._error

    async def get(self, *_: object) -> None:
        raise self._error

    async def set(self, *_: object, **__: object) -> None:
        raise self._error

    async def publish(self, *_: object) -> None:
        raise self._error

    async def aclose(self) -> None:
        return None


@pytest.mark.parametrize(
    "error",
    [
        redis.exceptions.ConnectionError("refused"),
        OSError("reset"),
        RuntimeError("unable to perform operation on <TCPTransport>; the handler is closed"),
    ],
)
async def test_who_follows_changes_outlives_a_redis_that_is_gone(error: Exception) -> None:
    changes = RedisAnnouncements(cast("Redis", Gone(error)), "channel")

    await changes.announce("told")
    async with changes.listen() as hear:
        assert await hear(0.01) is None


async def test_who_waits_for_changes_outlives_it_too() -> None:
    changes = RedisChanges(cast("Redis", Gone(RuntimeError("the handler is closed"))), "channel")

    await changes.publish()
    async with changes.subscribe() as wait:
        began = anyio.current_time()
        await wait(0.01)
        assert anyio.current_time() - began >= 0.01
