"""A journal whose prompts and answers nobody reads who has only what it is kept in.

What is looked for stays in the clear: names, hashes, states, models, tokens and costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import anyio
import structlog

from gateway.reasons import why_of
from gateway.stores.journal.journal import (
    Answer,
    Claim,
    Claimed,
    Hold,
    Journal,
    Sought,
    StaleToken,
    Write,
)
from gateway.stores.journal.records import RunName, RunRecord, Stored
from gateway.stores.journal.seal import JournalSealed, Seal
from gateway.stores.journal.sealing import Sealing, without_contents

_log = structlog.get_logger()


class SealedJournal:
    """Keeps runs in *inner*, closed with *seal*; what was written before that is read as it is.

    A *seal* without keys closes nothing, and tells of what is closed that it is.
    """

    def __init__(self, inner: Journal, seal: Seal) -> None:
        self._inner = inner
        self._closes = seal.closes
        self._sealing = Sealing(seal)
        self._stuck: set[RunName] = set()

    async def claim(self, claim: Claim) -> Answer:
        """Return the run that *claim* is about; one that cannot be opened is let go again."""
        given = claim
        if self._closes:
            given = replace(claim, record=self._sealing.record(claim.record))
        answer = await self._inner.claim(given)
        if not isinstance(answer, Claimed):
            return self._sealing.opened(answer)
        if answer.is_new:
            return replace(answer, stored=replace(answer.stored, record=claim.record))
        try:
            return replace(answer, stored=self._sealing.opened(answer.stored))
        except JournalSealed:
            with suppress(StaleToken):
                await self._inner.write(Write(answer.hold, (), answer.stored.standing, ends=True))
            raise

    async def write(self, write: Write) -> None:
        """Write all of *write* or nothing."""
        await self._inner.write(self._sealing.write(write) if self._closes else write)

    async def renew(self, holds: Sequence[Hold], lease_ms: int) -> Sequence[Hold]:
        """Hold on to *holds*; return those that were lost."""
        return await self._inner.renew(holds, lease_ms)

    async def find(self, name: RunName) -> Stored | None:
        """Return a run with its steps."""
        found = await self._inner.find(name)
        return None if found is None else self._sealing.opened(found)

    async def waits(self, owner: str, body: str) -> bool:
        """Return whether a run of that key and body waits to be taken up."""
        return await self._inner.waits(owner, body)

    async def abandoned(self, limit: int) -> Sequence[RunRecord]:
        """Return runs of the background; those that cannot be opened are in nobody's way."""
        found: list[RunRecord] = []
        stuck: set[RunName] = set()
        for record in await self._inner.abandoned(limit + len(self._stuck)):
            try:
                found.append(self._sealing.opened_record(record))
            except JournalSealed as sealed:
                stuck.add(record.name)
                if record.name not in self._stuck:
                    _log.warning("run.sealed", run=record.name.run, reason=why_of(sealed))
        self._stuck = stuck
        return found[:limit]

    async def suspended(self, limit: int) -> Sequence[int | None] | None:
        """Return when the runs that are put away can go on: that is not closed."""
        return await self._inner.suspended(limit)

    async def listed(self, sought: Sought) -> Sequence[Stored]:
        """Return the runs that are sought; those that cannot be opened without their contents."""
        found: list[Stored] = []
        for stored in await self._inner.listed(sought):
            found.append(self._looked_at(stored))
            await anyio.lowlevel.checkpoint()  # a thousand runs are not opened in one go
        return found

    async def put(self, brought: Stored, *, replaces: bool = False) -> Stored | None:
        """Put a run here; return what is in its way."""
        given = self._sealing.closed(brought) if self._closes else brought
        there = await self._inner.put(given, replaces=replaces)
        return None if there is None else self._looked_at(there)

    async def forget(self, names: Sequence[RunName]) -> int:
        """Forget these runs."""
        return await self._inner.forget(names)

    async def purge(self, before_ms: int) -> int:
        """Forget what is old."""
        return await self._inner.purge(before_ms)

    async def erase(self, owner: str) -> int:
        """Forget all runs of *owner*."""
        return await self._inner.erase(owner)

    def _looked_at(self, stored: Stored) -> Stored:
        try:
            return self._sealing.opened(stored)
        except JournalSealed:
            return without_contents(stored)
