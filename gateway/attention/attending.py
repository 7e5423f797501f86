"""Whether a person may be asked now: how often they were, and whether they are away.

The one place that decides it. The ledger counts; what the database knows of asks is told to it, so
that neither a restart nor another replica makes anybody be asked more often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gateway.attention.persons import Person
from gateway.attention.questions import ApprovalStore
from gateway.attention.quota import Meter, Taken

_MS = 1000
"""Microseconds."""


@dataclass(frozen=True, slots=True)
class Go:
    """They can be asked now, and *left* times in all."""

    left: int


@dataclass(frozen=True, slots=True)
class Hold:
    """They can be asked *until* then not; microseconds since the epoch."""

    until: int


@dataclass(frozen=True, slots=True)
class Suspend:
    """Nobody knows when they can be asked: they are away."""


Verdict: TypeAlias = Go | Hold | Suspend


class Attending:
    """Counts asks. *clock* tells microseconds since the epoch."""

    def __init__(self, store: ApprovalStore, meter: Meter, clock: Callable[[], int]) -> None:
        self.store = store
        self._meter = meter
        self.clock = clock

    async def verdict(self, person: Person) -> Verdict:
        """Return whether *person* can be asked, and take nothing.

        Raises:
            StoreLost: The ledger does not answer.
            DatabaseLost: The database does not.
        """
        absent = await self.absent(person)
        if isinstance(absent, Suspend):
            return absent
        look = await self._meter.look(person.quota, await self._past(person))
        until = 0 if look.granted else self.clock() + look.wait_ms * _MS
        if absent is not None or until:
            return Hold(max(until, absent.until if absent else 0))
        return Go(look.left)

    async def take(self, person: Person, ask: str) -> Taken | None:
        """Hold one ask of *person*, None while they are away.

        Raises:
            StoreLost: As ``verdict`` does.
            DatabaseLost: As ``verdict`` does.
        """
        if await self.absent(person) is not None:
            return None
        return await self._meter.take(person.quota, ask, await self._past(person))

    def spend(self, person: Person, taken: Taken) -> None:
        """Note that *person* was asked."""
        self._meter.spend(person.quota, taken)

    def give_back(self, person: Person, taken: Taken) -> None:
        """Note that *person* was not asked after all."""
        self._meter.give_back(person.quota, taken)

    async def absent(self, person: Person) -> Hold | Suspend | None:
        """Return until when *person* is away, None if they are there."""
        absence = await self.store.absence(person.name)
        if absence is None or not absence.holds(self.clock()):
            return None
        return Suspend() if absence.until is None else Hold(absence.until)

    async def _past(self, person: Person) -> list[float]:
        """Return which part of its period has gone by since each ask that is still counted."""
        now, period = self.clock(), person.quota.period_ms * _MS
        asked = await self.store.asked_since(person.name, now - period)
        return sorted(max(now - at, 0) / period for at in asked)
