"""A journal in Redis or Valkey: shared by replicas, and lasting as long as that does.

A run is one hash, so that each operation on it is one script on one key, also in a cluster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import NoScriptError

from gateway.stores.journal.journal import (
    Answer,
    Claim,
    Claimed,
    Hold,
    JournalLost,
    Sought,
    StaleToken,
    Write,
    claimable,
)
from gateway.stores.journal.names import Names, text, told
from gateway.stores.journal.records import (
    LIVE,
    RunName,
    RunRecord,
    Standing,
    StepRecord,
    Stored,
    run_read,
    standing_read,
    step_read,
    written,
)
from gateway.stores.lost import LOST

_STEP: Final = "s:"
_TRIES: Final = 8
_LOOKED_AT: Final = 4


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
        self._keep_ms = int(keep_s * 1000)
        self._names = Names(client, prefix, self._keep_ms)
        self._clock = clock

    async def claim(self, claim: Claim) -> Answer:
        """Return the run that *claim* is about."""
        name = claim.record.name
        for _ in range(_TRIES):  # between looking and taking another may have been quicker
            found = await self.find(name) or await self._like(claim)
            if found is None:
                fresh = Stored(claim.record, Standing(), claim.record.created_ms, claim.lease_ms)
                if await self._begun(fresh):
                    return Claimed(Hold(name, fresh.token), fresh, is_new=True)
            elif not claimable(found, claim):
                return found
            elif await self._taken(found, claim.lease_ms):
                await self._names.begin_again(found.record.name)
                token = found.token + 1
                return Claimed(Hold(found.record.name, token), replace(found, token=token))
        raise JournalLost("others were quicker each time")

    async def write(self, write: Write) -> None:
        """Write all of *write* or nothing."""
        fields = _of_steps(write.steps)
        if write.standing is not None:
            fields += ("standing", written(write.standing))
        if write.record is not None:
            fields += ("record", written(write.record))
        hold = write.hold
        if not await self._do(hold.name, "write", hold.token, int(write.ends), *fields):
            raise StaleToken
        if write.record is not None:
            await self._names.note(write.record)
        if write.ends and write.standing is not None and write.standing.state not in LIVE:
            await self._names.end(hold.name)

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

    async def waits(self, owner: str, body: str) -> bool:
        """Return whether a run of that key and body waits to be taken up."""
        for name in await self._names.alike(
            RunRecord(RunName(owner, ""), body, plan="", secret="", created_ms=0)
        ):
            found = await self.find(name)
            if found is not None and found.record.body == body and found.is_waiting:
                return True
        return False

    async def abandoned(self, limit: int) -> Sequence[RunRecord]:
        """Return runs of the background that nobody is at work on."""
        found: list[RunRecord] = []
        for name in await self._names.background():
            stored = await self.find(name)
            if stored is None or not (stored.record.background and stored.standing.state in LIVE):
                await self._names.settle(name)
            elif stored.is_waiting and len(found) < limit:
                found.append(stored.record)
        return found

    async def suspended(self, limit: int) -> Sequence[int | None]:
        """Return when the runs that are put away can go on, of so many that are not over."""
        found: list[int | None] = []
        for name in (await self._names.live())[: _LOOKED_AT * limit]:
            line = await told(self._client.hget(self._key(name), "standing"))
            standing = None if line is None else standing_read(text(line))
            if standing is not None and standing.state == "suspended":
                found.append(standing.eta_ms)
            if len(found) == limit:
                break
        return found

    async def listed(self, sought: Sought) -> Sequence[Stored]:
        """Return the runs that are sought."""
        found: list[Stored] = []
        all_live = sought.states and LIVE.issuperset(sought.states)
        for name in await (self._names.live() if all_live else self._names.of(sought.owner)):
            stored = await self.find(name)
            if stored is not None and sought.fits(stored.record, stored.standing):
                found.append(stored)
            elif all_live and (stored is None or stored.standing.state not in LIVE):
                await self._names.end(name)
        return sought.page(found)

    async def put(self, brought: Stored, *, replaces: bool = False) -> Stored | None:
        """Put a run here; return what is in its way."""
        record = brought.record
        fields = _of_steps(brought.steps)
        fields += ("record", written(record), "standing", written(brought.standing))
        for _ in range(_TRIES):
            if await self._do(record.name, "put", int(replaces), record.created_ms, *fields):
                await self._names.note(record)
                return None
            there = await self.find(record.name)
            if there is not None:  # else it has gone in between
                return there
        raise JournalLost("others were quicker each time")

    async def forget(self, names: Sequence[RunName]) -> int:
        """Forget these runs."""
        gone = 0
        for name in names:
            stored = await self.find(name)
            gone += int(await told(self._client.delete(self._key(name))))
            if stored is not None:
                await self._names.drop(stored.record)
        return gone

    async def purge(self, before_ms: int) -> int:
        """Return 0: what is old goes by itself, its names as in ``Names``."""
        del before_ms
        return 0

    async def erase(self, owner: str) -> int:
        """Forget all runs of *owner*, also one that nothing leads to."""
        gone = await self.forget(await self._names.there(owner))
        await self._names.erase(owner)
        return gone

    async def _begun(self, fresh: Stored) -> bool:
        given = written(fresh.record), written(fresh.standing), fresh.lease_ms, fresh.token
        if not await self._do(fresh.record.name, "begin", *given):
            return False
        await self._names.note(fresh.record)
        return True

    async def _like(self, claim: Claim) -> Stored | None:
        """Return a run of the same body: the oldest that waits, else the last of all."""
        if claim.matching == "name":
            return None
        like = []
        for name in await self._names.alike(claim.record):
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

    async def _do(self, name: RunName, operation: str, *values: str | int) -> Any:
        """Carry out an operation on a run, where it is."""
        now = "" if self._clock is None else self._clock()
        given = (self._key(name), operation, now, self._keep_ms, *values)
        try:
            return await self._client.evalsha(_digest(), 1, *given)
        except NoScriptError:
            return await told(self._client.eval(_source(), 1, *given))
        except LOST as error:
            raise JournalLost(str(error)) from error

    def _key(self, name: RunName) -> str:
        return self._names.key(name)


def _stored(found: Mapping[bytes, bytes], now: int) -> Stored:
    steps = [
        step_read(text(value)) for name, value in found.items() if text(name).startswith(_STEP)
    ]
    return Stored(
        run_read(text(found[b"record"])),
        standing_read(text(found[b"standing"])),
        int(found[b"token"]),
        max(int(found[b"until"]) - now, 0),
        tuple(steps),
    )


def _of_steps(steps: Iterable[StepRecord]) -> list[str]:
    """Return the fields of *steps*, each before its value."""
    return [field for step in steps for field in (_STEP + step.path, written(step))]


@cache
def _source() -> str:
    return (files(__package__) / "journal.lua").read_text("utf-8")


@cache
def _digest() -> str:
    return hashlib.sha1(_source().encode(), usedforsecurity=False).hexdigest()
