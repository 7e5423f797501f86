"""How many replicas share a store: each says now and then that it is there."""

from __future__ import annotations

from typing import Final

import anyio

from gateway.stores.lost import LOST
from gateway.stores.redis.store import RedisSettings, connect

_BEAT_S: Final = 3.0
_SILENT_S: Final = 10.0


class Replicas:
    """Counts them. ``count`` is what was last seen, this one at least."""

    def __init__(self, settings: RedisSettings) -> None:
        self._settings = settings
        self._key = f"{settings.prefix}:replicas"
        self.count = 1

    async def serve(self) -> None:
        """Say so, and count, until cancelled; while the store is lost the last count stands."""
        client = connect(self._settings)
        try:
            while True:
                try:
                    seconds, _ = await client.time()
                    await client.zadd(self._key, {self._settings.replica: seconds})
                    await client.zremrangebyscore(self._key, "-inf", seconds - _SILENT_S)
                    await client.expire(self._key, int(10 * _SILENT_S))
                    self.count = max(1, int(await client.zcard(self._key)))
                except LOST:
                    pass
                await anyio.sleep(_BEAT_S)
        finally:
            with anyio.move_on_after(1, shield=True):
                await client.aclose()
