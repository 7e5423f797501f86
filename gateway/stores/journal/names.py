"""Where runs are found in Redis: by body, by owner, with nobody waiting, or not over yet.

That is kept in sets beside the runs, which are only ever hints: what they name is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote, unquote

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from gateway.stores.journal.journal import JournalLost
from gateway.stores.journal.records import RunName, RunRecord
from gateway.stores.lost import LOST

_PAGE: Final = 1000
_LOOKED_AT: Final = 2


class Names:
    """The sets of names at *client*, under keys that begin with *prefix*, for *keep_ms*."""

    def __init__(self, client: Redis | RedisCluster, prefix: str, keep_ms: int) -> None:
        self._client = client
        self._prefix = prefix
        self._keep_ms = keep_ms

    def key(self, name: RunName) -> str:
        """Return where a run is."""
        return f"{self._prefix}:run:{_packed(name)}"

    async def note(self, record: RunRecord) -> None:
        """Note where *record* is to be looked for."""
        member = _packed(record.name)
        indexes = [self._body(record), self._owner(record.name.owner), self._live]
        if record.background:
            indexes.append(self._background)
        for index in indexes:
            await self._add(index, member)
        await self._tidy(self._owner(record.name.owner))

    async def drop(self, record: RunRecord) -> None:
        """Do not name *record* any more."""
        own = self._body(record), self._owner(record.name.owner)
        for index in (*own, self._background, self._live):
            await told(self._client.srem(index, _packed(record.name)))

    async def begin_again(self, name: RunName) -> None:
        """Note that a run, which may have been over, goes on."""
        await self._add(self._live, _packed(name))

    async def end(self, name: RunName) -> None:
        """Note that a run is over."""
        await told(self._client.srem(self._live, _packed(name)))

    async def settle(self, name: RunName) -> None:
        """Note that a run need not go on any more with nobody waiting."""
        await told(self._client.srem(self._background, _packed(name)))

    async def erase(self, owner: str) -> None:
        """Forget all that is kept here of *owner*."""
        bodies = await self._scanned(f"runs:body:{quote(owner, safe='')}:")
        for index in (self._owner(owner), *bodies):
            await told(self._client.delete(index))

    async def alike(self, record: RunRecord) -> Sequence[RunName]:
        """Return the runs that are found by the body of *record*."""
        return await self._named(self._body(record))

    async def background(self) -> Sequence[RunName]:
        """Return the runs that nobody waits for."""
        return await self._named(self._background)

    async def live(self) -> Sequence[RunName]:
        """Return the runs that are not over; some may be, and some may be gone."""
        return await self._named(self._live)

    async def of(self, owner: str | None) -> Sequence[RunName]:
        """Return the runs of *owner*, of all for None; some may be gone."""
        return await (self.there(None) if owner is None else self._named(self._owner(owner)))

    async def there(self, owner: str | None) -> Sequence[RunName]:
        """Return all runs that are there, of *owner* or of all, whether anything leads to them."""
        whose = "" if owner is None else f"{quote(owner, safe='')} "
        start = f"{self._prefix}:run:"
        return [_name(key.removeprefix(start)) for key in await self._scanned(f"run:{whose}")]

    async def _scanned(self, start: str) -> Sequence[str]:
        """Return the keys that begin with our prefix and *start*."""
        plain = re.sub(r"([\[\]?*\\])", r"\\\1", f"{self._prefix}:{start}")
        try:
            found = self._client.scan_iter(match=f"{plain}*", count=_PAGE)
            return list({text(key) async for key in found})  # one may come twice
        except LOST as error:
            raise JournalLost(str(error)) from error

    async def _tidy(self, index: str) -> None:
        """Look at two names in *index*, and drop those whose runs are gone.

        As each that is added has two looked at, about half of them are there at the least.
        """
        for member in await told(self._client.srandmember(index, _LOOKED_AT)):
            if not await told(self._client.exists(self.key(_name(text(member))))):
                await told(self._client.srem(index, member))

    async def _add(self, index: str, member: str) -> None:
        await told(self._client.sadd(index, member))
        await told(self._client.pexpire(index, self._keep_ms))

    async def _named(self, index: str) -> Sequence[RunName]:
        return [_name(text(one)) for one in await told(self._client.smembers(index))]

    def _body(self, record: RunRecord) -> str:
        return f"{self._prefix}:runs:body:{quote(record.name.owner, safe='')}:{record.matched}"

    def _owner(self, owner: str) -> str:
        return f"{self._prefix}:runs:owner:{quote(owner, safe='')}"

    @property
    def _live(self) -> str:
        return f"{self._prefix}:runs:live"

    @property
    def _background(self) -> str:
        return f"{self._prefix}:runs:background"


async def told(answer: Any) -> Any:
    """Return what Redis answers.

    Raises:
        JournalLost: It does not.
    """
    try:
        return await answer
    except LOST as error:
        raise JournalLost(str(error)) from error


def text(value: bytes | str) -> str:
    """Return what Redis gave back as text."""
    return value.decode() if isinstance(value, bytes) else value


def _packed(name: RunName) -> str:
    return f"{quote(name.owner, safe='')} {quote(name.run, safe='')}"


def _name(packed: str) -> RunName:
    return RunName(*map(unquote, packed.split(" ")))
