"""Items of answers of the last minutes, in memory, for clients that only refer to them.

Some clients send of an answer's items nothing but their ids, as if all answers were kept. For a
loop of tool calls, which goes on within minutes at the same process, this is enough.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import anyio
import orjson

from gateway.responses.items import by_id
from techniques.core.json import JsonObject

_MOST_BYTES: Final = 16 * 2**20
_KEEP_S: Final = 900.0


class _Noted(NamedTuple):
    raw: bytes
    at: float


class Recent:
    """Remembers items for *keep_s* seconds, *most* bytes of them at the most."""

    def __init__(
        self,
        most: int = _MOST_BYTES,
        keep_s: float = _KEEP_S,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._most = most
        self._keep_s = keep_s
        self._clock = clock
        self._items: OrderedDict[tuple[str, str], _Noted] = OrderedDict()
        self._bytes = 0

    def note(self, owner: str, items: Sequence[JsonObject]) -> None:
        """Remember *items* of an answer to the key *owner*."""
        now = self._clock()
        for item_id, item in by_id(items).items():
            self._drop((owner, item_id))
            noted = _Noted(orjson.dumps(item), now)
            self._items[owner, item_id] = noted
            self._bytes += len(noted.raw)
        while self._items and (
            self._bytes > self._most or next(iter(self._items.values())).at < now - self._keep_s
        ):
            self._drop(next(iter(self._items)))

    def find(self, owner: str, ids: Sequence[str]) -> dict[str, JsonObject]:
        """Return those of the items called *ids* that are known, by their ids."""
        since = self._clock() - self._keep_s
        found = ((one, self._items.get((owner, one))) for one in ids)
        return {one: orjson.loads(it.raw) for one, it in found if it is not None and it.at >= since}

    def forget(self, owner: str) -> None:
        """Forget what is of the key *owner*."""
        for key in [key for key in self._items if key[0] == owner]:
            self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        gone = self._items.pop(key, None)
        if gone is not None:
            self._bytes -= len(gone.raw)
