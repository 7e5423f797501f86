"""A journal in Redis or Valkey: shared by replicas, and lasting as long as that does.

A run is one hash, so that each operation on it is one script on one key, also in a cluster. Which
runs have the same body, are of one owner or go on in the background is kept beside it, in sets
that are only ever hints: what they name is looked up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote, unquote

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import NoScriptError, RedisError

from gateway.stores.journal.journal import (
    Answer,
    Claim,
    Claimed,
    Hold,
    JournalLost,
    StaleToken,
    Write,
    claimable,
)
from gateway.stores.journal.records import (
    RunName,
    RunRecord,
    Standing,
    Stored,
    run_read,
    standing_read,
    step_read,
    written,
)

_STEP: Final = "s:"
_TRIES: Final = 8


class RedisJournal:
    """Keeps runs at *client*, under keys that begin with *prefix*, for *keep_s* seconds.

    *clock* gives the milliseconds of the epoch, for tests; None: the server's own time.
    """

    def __init__(
        self,
        client: Redis | RedisCluster,
        prefix: str,
        keep_s: float = 86_400,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._keep_ms = int(keep_s * 1000)
        self._clock = clock

    async def claim(self, claim: Claim) -> Answer:
        """Return the run that *claim* is about."""
        name = claim.record.name
        for _ in range(_TRIES):  # between looking and taking another may have been quicker
            found = await self.find(name) or await self._like(claim)
            if found is None:
                fresh = Standing()
                new = await self._do(
                    name, "begin", written(claim.record), written(fresh), claim.lease_ms
                )
                if new:
                    await self._index(claim.record)
                    stored = Stored(claim.record, fresh, 1, claim.lease_ms)
                    return Claimed(Hold(name, 1), stored, is_new=True)
            elif not claimable(found, claim):
                return found
            elif await self._taken(found, claim.lease_ms):
                token = found.token + 1
                return Claimed(Hold(found.record.name, token), replace(found, token=token))
        raise JournalLost("others were quicker each time")

    async def write(self, write: Write) -> None:
        """Write all of *write* or nothing."""
        fields: list[str] = []
        for step in write.steps:
            fields += (_STEP + step.path, written(step))
        if write.standing is not None:
            fields += ("standing", written(write.standing))
        if write.record is not None:
            fields += ("record", written(write.record))
        hold = write.hold
        if not await self._do(hold.name, "write", hold.token, int(write.ends), *fields):
            raise StaleToken
        if write.record is not None:
            await self._index(write.record)

    async def renew(self, holds: Sequence[Hold], lease_ms: int) -> Sequence[Hold]:
        """Hold on to *holds*; return those that were lost."""
        return [
            hold for hold in holds if not await self._do(hold.name, "renew", hold.token, lease_ms)
        ]

    async def find(self, name: RunName) -> Stored | None:
        """Return a run with its steps."""
        now, flat = await self._do(name, "find")
        found = dict(zip(flat[::2], flat[1::2], strict=True))
        return _stored(found, now) if found else None

    async def abandoned(self, limit: int) -> Sequence[RunRecord]:
        """Return runs of the background that nobody is at work on."""
        found: list[RunRecord] = []
        for name in await self._named(self._background()):
            stored = await self.find(name)
            if stored is None or stored.standing.state in ("completed", "failed", "cancelled"):
                await self._told(self._client.srem(self._background(), _packed(name)))
            elif stored.is_waiting and len(found) < limit:
                found.append(stored.record)
        return found

    async def purge(self, before_ms: int) -> int:
        """Return 0: what is old goes by itself."""
        del before_ms
        return 0

    async def erase(self, owner: str) -> int:
        """Forget all runs of *owner*."""
        index = self._owner(owner)
        gone = 0
        for name in await self._named(index):
            gone += int(await self._told(self._client.delete(self._key(name))))
        await self._told(self._client.delete(index))
        return gone

    async def _like(self, claim: Claim) -> Stored | None:
        """Return a run of the same body: the oldest that waits, else the last of all."""
        if claim.matching == "name":
            return None
        like = []
        for name in await self._named(self._body(claim.record)):
            stored = await self.find(name)
            if stored is not None and stored.record.body == claim.record.body:
                like.append(stored)
        like.sort(key=lambda stored: stored.record.created_ms)
        waiting = [stored for stored in like if stored.is_waiting]
        if waiting:
            return waiting[0]
        return like[-1] if like and claim.matching == "any" else None

    async def _taken(self, found: Stored, lease_ms: int) -> bool:
        standing = written(replace(found.standing, state="executing"))
        return bool(await self._do(found.record.name, "take", found.token, lease_ms, standing))

    async def _index(self, record: RunRecord) -> None:
        """Note where *record* is to be looked for."""
        member = _packed(record.name)
        indexes = [self._body(record), self._owner(record.name.owner)]
        if record.background:
            indexes.append(self._background())
        for index in indexes:
            await self._told(self._client.sadd(index, member))
            await self._told(self._client.pexpire(index, self._keep_ms))

    async def _named(self, index: str) -> Sequence[RunName]:
        members = await self._told(self._client.smembers(index))
        return [RunName(*map(unquote, _text(one).split(" "))) for one in members]

    async def _do(self, name: RunName, operation: str, *values: str | int) -> Any:
        """Carry out an operation on a run, where it is."""
        now = "" if self._clock is None else self._clock()
        given = (self._key(name), operation, now, self._keep_ms, *values)
        try:
            return await self._client.evalsha(_digest(), 1, *given)
        except NoScriptError:
            return await self._told(self._client.eval(_source(), 1, *given))
        except (RedisError, OSError) as error:
            raise JournalLost(str(error)) from error

    async def _told(self, answer: Any) -> Any:
        try:
            return await answer
        except (RedisError, OSError) as error:
            raise JournalLost(str(error)) from error

    def _key(self, name: RunName) -> str:
        return f"{self._prefix}:run:{_packed(name)}"

    def _body(self, record: RunRecord) -> str:
        return f"{self._prefix}:runs:body:{quote(record.name.owner, safe='')}:{record.body}"

    def _owner(self, owner: str) -> str:
        return f"{self._prefix}:runs:owner:{quote(owner, safe='')}"

    def _background(self) -> str:
        return f"{self._prefix}:runs:background"


def _stored(found: Mapping[bytes, bytes], now: int) -> Stored:
    steps = [
        step_read(_text(value)) for name, value in found.items() if _text(name).startswith(_STEP)
    ]
    return Stored(
        run_read(_text(found[b"record"])),
        standing_read(_text(found[b"standing"])),
        int(found[b"token"]),
        max(int(found[b"until"]) - now, 0),
        tuple(steps),
    )


def _packed(name: RunName) -> str:
    return f"{quote(name.owner, safe='')} {quote(name.run, safe='')}"


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


@cache
def _source() -> str:
    return (files(__package__) / "journal.lua").read_text("utf-8")


@cache
def _digest() -> str:
    return hashlib.sha1(_source().encode(), usedforsecurity=False).hexdigest()
