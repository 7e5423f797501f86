"""Two journals: what lasts, and beside it what a process keeps to itself of keys that want that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from gateway.stores.journal.journal import (
    Answer,
    Claim,
    Claimed,
    Hold,
    Journal,
    Sought,
    Write,
)
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import RunName, RunRecord, Stored

_PASSING: Final = 1 << 62
"""Is added to the tokens of what is kept apart, so that a hold tells where it is to be written."""


class ApartJournal:
    """Keeps runs in *lasting*, and in *passing* those of owners that *is_apart*.

    A run stays where it began; which runs an owner has is decided by where they would begin now.
    What is erased is erased in both.
    """

    def __init__(self, lasting: Journal, passing: Journal, is_apart: Callable[[str], bool]) -> None:
        self._lasting = lasting
        self._passing = passing
        self._is_apart = is_apart
        self._passed_over = 0

    @property
    def is_shared(self) -> bool:
        """Whether what lasts is shared by replicas: it is not in this process's memory, too."""
        return not isinstance(self._lasting, MemoryJournal)

    async def claim(self, claim: Claim) -> Answer:
        """Return the run that *claim* is about."""
        journal = self._of(claim.record.name.owner)
        answer = await journal.claim(claim)
        if journal is self._passing and isinstance(answer, Claimed):
            name, token = answer.hold
            return replace(answer, hold=Hold(name, token + _PASSING))
        return answer

    async def write(self, write: Write) -> None:
        """Write all of *write* or nothing."""
        own = _own(write.hold)
        if own is None:
            await self._lasting.write(write)
        else:
            await self._passing.write(replace(write, hold=own))

    async def renew(self, holds: Sequence[Hold], lease_ms: int) -> Sequence[Hold]:
        """Hold on to *holds*; return those that were lost."""
        passing = {own: hold for hold in holds if (own := _own(hold)) is not None}
        lost = [passing[own] for own in await self._passing.renew(list(passing), lease_ms)]
        lasting = [hold for hold in holds if _own(hold) is None]
        return [*lost, *await self._lasting.renew(lasting, lease_ms)] if lasting else lost

    async def find(self, name: RunName) -> Stored | None:
        """Return a run with its steps."""
        return await self._of(name.owner).find(name)

    async def waits(self, owner: str, body: str) -> bool:
        """Return whether a run of that key and body waits to be taken up."""
        return await self._of(owner).waits(owner, body)

    async def abandoned(self, limit: int) -> Sequence[RunRecord]:
        """Return runs of the background that nobody is at work on, where they may go on."""
        found: list[RunRecord] = []
        passed_over = 0
        for journal in (self._passing, self._lasting):
            for record in await journal.abandoned(limit + self._passed_over):
                if self._of(record.name.owner) is journal:
                    found.append(record)
                else:
                    passed_over += 1
        self._passed_over = passed_over
        return found[:limit]

    async def suspended(self, limit: int) -> Sequence[int | None] | None:
        """Return when the runs that are put away can go on, those of both journals."""
        lasting = await self._lasting.suspended(limit)
        passing = await self._passing.suspended(limit)
        return None if lasting is None else [*(passing or ()), *lasting][:limit]

    async def listed(self, sought: Sought) -> Sequence[Stored]:
        """Return the runs that are sought; of all owners, those of both journals."""
        if sought.owner is not None:
            return await self._of(sought.owner).listed(sought)
        found = [*await self._passing.listed(sought), *await self._lasting.listed(sought)]
        return sought.page(found)

    async def put(self, brought: Stored, *, replaces: bool = False) -> Stored | None:
        """Put a run in; return what is in its way."""
        journal = self._of(brought.record.name.owner)
        return await journal.put(brought, replaces=replaces)

    async def forget(self, names: Sequence[RunName]) -> int:
        """Forget these runs, wherever they are."""
        return await self._passing.forget(names) + await self._lasting.forget(names)

    async def purge(self, before_ms: int) -> int:
        """Forget what is old."""
        return await self._passing.purge(before_ms) + await self._lasting.purge(before_ms)

    async def erase(self, owner: str) -> int:
        """Forget all runs of *owner*, wherever they are."""
        return await self._passing.erase(owner) + await self._lasting.erase(owner)

    def _of(self, owner: str) -> Journal:
        return self._passing if self._is_apart(owner) else self._lasting


def _own(hold: Hold) -> Hold | None:
    """Return *hold* as the journal has it that keeps it apart, None if it is none of its."""
    return Hold(hold.name, hold.token - _PASSING) if hold.token >= _PASSING else None
