"""A journal in memory: what a process knows of its runs, for as long as it lives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice

from gateway.clock import utc_now
from gateway.stores.journal.journal import (
    Answer,
    Claim,
    Claimed,
    Hold,
    Sought,
    StaleToken,
    Write,
    claimable,
)
from gateway.stores.journal.records import (
    RunName,
    RunRecord,
    Standing,
    StepRecord,
    Stored,
)


def wall_ms() -> int:
    """Return the wall's time in milliseconds."""
    return int(utc_now().timestamp() * 1000)


@dataclass(slots=True)
class _Kept:
    record: RunRecord
    standing: Standing
    token: int
    until_ms: int
    written_ms: int
    steps: dict[str, StepRecord] = field(default_factory=dict)


class MemoryJournal:
    """Keeps runs in this process, *most* of them. *clock* gives milliseconds of the epoch."""

    def __init__(self, clock: Callable[[], int] = wall_ms, *, most: int = 10_000) -> None:
        self._clock = clock
        self._most = most
        self._runs: dict[RunName, _Kept] = {}
        self._bodies: dict[tuple[str, str], dict[RunName, None]] = {}

    async def claim(self, claim: Claim) -> Answer:
        """Return the run that *claim* is about."""
        kept = self._runs.get(claim.record.name) or self._like(claim)
        now = self._clock()
        if kept is None:
            record = claim.record
            token = record.created_ms
            kept = _Kept(record, Standing(), token, now + claim.lease_ms, now)
            self._take_in(kept)
            self._bound(now)
            return Claimed(Hold(record.name, token), self._stored(kept), is_new=True)
        found = self._stored(kept)
        if not claimable(found, claim):
            return found
        kept.token += 1
        kept.until_ms, kept.written_ms = now + claim.lease_ms, now
        kept.standing = replace(kept.standing, state="executing")
        return Claimed(Hold(kept.record.name, kept.token), replace(found, token=kept.token))

    async def write(self, write: Write) -> None:
        """Write all of *write* or nothing."""
        kept = self._runs.get(write.hold.name)
        if kept is None or kept.token != write.hold.token:
            raise StaleToken
        kept.steps.update({step.path: copy(step) for step in write.steps})
        kept.standing = write.standing or kept.standing
        kept.record = write.record or kept.record
        kept.written_ms = self._clock()
        if write.ends:
            kept.until_ms = 0

    async def renew(self, holds: Sequence[Hold], lease_ms: int) -> Sequence[Hold]:
        """Hold on to *holds*; return those that were lost."""
        lost: list[Hold] = []
        for hold in holds:
            kept = self._runs.get(hold.name)
            if kept is None or kept.token != hold.token:
                lost.append(hold)
            elif kept.until_ms:  # one that has just ended is not held any more
                kept.until_ms = self._clock() + lease_ms
        return lost

    async def find(self, name: RunName) -> Stored | None:
        """Return a run with its steps."""
        kept = self._runs.get(name)
        return None if kept is None else self._stored(kept)

    async def waits(self, owner: str, body: str) -> bool:
        """Return whether a run of that key and body waits to be taken up."""
        like = self._bodies.get((owner, body), ())
        return any(self._stored(self._runs[name]).is_waiting for name in like)

    async def abandoned(self, limit: int) -> Sequence[RunRecord]:
        """Return runs of the background that nobody is at work on."""
        found = [
            kept.record
            for kept in self._runs.values()
            if kept.record.background and self._stored(kept).is_waiting
        ]
        return found[:limit]

    async def suspended(self, limit: int) -> Sequence[int | None] | None:
        """Return when the runs that are put away can go on."""
        standings = (kept.standing for kept in self._runs.values())
        return [one.eta_ms for one in standings if one.state == "suspended"][:limit]

    async def listed(self, sought: Sought) -> Sequence[Stored]:
        """Return the runs that are sought."""
        every = self._runs.values()
        found = [kept for kept in every if sought.fits(kept.record, kept.standing)]
        return [self._stored(kept) for kept in sought.page(found)]

    async def put(self, brought: Stored, *, replaces: bool = False) -> Stored | None:
        """Put a run here; return what is in its way."""
        record, now = brought.record, self._clock()
        there = self._runs.get(record.name)
        token = record.created_ms
        if there is not None:
            if not replaces or there.until_ms > now:
                return self._stored(there)
            token = there.token + 1
            self._forget([record.name])
        steps = {step.path: step for step in brought.steps}
        self._take_in(_Kept(record, brought.standing, token, 0, now, steps))
        self._bound(now)
        return None

    async def forget(self, names: Sequence[RunName]) -> int:
        """Forget these runs."""
        return self._forget([name for name in names if name in self._runs])

    async def purge(self, before_ms: int) -> int:
        """Forget runs of which nothing was written since *before_ms*."""
        now = self._clock()
        return self._forget(
            [
                name
                for name, kept in self._runs.items()
                if kept.written_ms < before_ms and kept.until_ms <= now
            ]
        )

    async def erase(self, owner: str) -> int:
        """Forget all runs of *owner*."""
        return self._forget([name for name in self._runs if name.owner == owner])

    def _forget(self, names: Sequence[RunName]) -> int:
        for name in names:
            body = name.owner, self._runs.pop(name).record.matched
            alike = self._bodies[body]
            del alike[name]
            if not alike:
                del self._bodies[body]
        return len(names)

    def _take_in(self, kept: _Kept) -> None:
        name = kept.record.name
        self._runs[name] = kept
        self._bodies.setdefault((name.owner, kept.record.matched), {})[name] = None

    def _bound(self, now: int) -> None:
        """Forget the oldest run that nobody is at work on, where there are too many."""
        if len(self._runs) > self._most:
            over = (name for name, kept in self._runs.items() if kept.until_ms <= now)
            self._forget(list(islice(over, 1)))

    def _like(self, claim: Claim) -> _Kept | None:
        """Return a run of the same body: the oldest that waits, else the last of all."""
        if claim.matching == "name":
            return None
        body = claim.record.name.owner, claim.record.body
        like = [self._runs[name] for name in self._bodies.get(body, ())]
        waiting = [kept for kept in like if self._stored(kept).is_waiting]
        if waiting:
            return waiting[0]
        return like[-1] if like and claim.matching == "any" else None

    def _stored(self, kept: _Kept) -> Stored:
        left = max(kept.until_ms - self._clock(), 0)
        steps = tuple(copy(step) for step in kept.steps.values())
        return Stored(kept.record, kept.standing, kept.token, left, steps)
