"""So many uses in a period, on the ledger of windows, with exact waits.

The ledger's windows fill evenly or at a boundary. A *rolling* quota, of which each use comes back
its period after it was made, is made of as many windows as it has uses, each a bucket of one that
takes a period to fill: the one that is full first is that of the oldest use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias
from zlib import crc32

import anyio

from gateway.clock import loop_time
from gateway.stores.eta import eta_s
from gateway.stores.ledger import (
    Ask,
    Entry,
    Granted,
    LedgerStore,
    Place,
    PoolState,
    Settlement,
    Waiting,
    WindowSpec,
    WindowState,
)

Refill: TypeAlias = Literal["rolling", "continuous", "fixed"]

_FULL: Final = 1 - 1e-6
_EARLIER: Final = 0.001
"""By how much less of a window must be there than is thought, to be told to the ledger."""
_SPARE_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Quota:
    """*most* uses in any *period_ms*, kept in the ledger's *pool* under *name*; *unit* is a word.

    ``refill`` tells how uses come back: each a period after it was made, evenly, or all at a
    boundary.
    """

    pool: str
    name: str
    unit: str
    most: int
    period_ms: int
    refill: Refill = "rolling"

    def windows(self) -> dict[str, WindowSpec]:
        """Return what it is made of."""
        if self.refill == "rolling":
            names = [f"{self.name}#{n}:{self.unit}:{self.period_ms}" for n in range(self.most)]
            return {name: WindowSpec(name, "bucket", 1, self.period_ms) for name in names}
        kind: Literal["bucket", "fixed"] = "fixed" if self.refill == "fixed" else "bucket"
        name = f"{self.name}:{self.unit}:{self.period_ms}"
        return {name: WindowSpec(name, kind, self.most, self.period_ms)}


class Taken(NamedTuple):
    """How a use was answered: granted, or to come again in ``wait_ms``; ``left`` are more uses."""

    granted: bool
    wait_ms: int = 0
    left: int = 0
    lease: str = ""


class Meter:
    """Takes uses of quotas from a ledger. One for a process: who waits here, waits in line."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self._lines: dict[str, anyio.Lock] = {}

    async def take(self, quota: Quota, lease: str, past: Sequence[float] = ()) -> Taken:
        """Hold one use if there is one now; the same *lease* again gets the same.

        It is spent, or given back; one of which nothing more is heard is spent after a minute.

        *past* tells which parts of their period have gone by since uses that the ledger may not
        know of.

        Raises:
            StoreLost: The ledger does not answer, and nothing is let through without it.
        """
        rolling = quota.refill == "rolling"
        for _ in range(_SPARE_TRIES + (quota.most if rolling else 0)):
            windows = await self._windows(quota, past)
            best = max(
                windows, key=lambda it: (min(it.level, _FULL), crc32(f"{lease}{it.name}".encode()))
            )
            entry = Entry((Ask(lease, {best.name: 1}),), Place(queue=False))
            told = await self._store.admit(quota.pool, entry, dispatched=True)
            match told:
                case Granted():
                    return Taken(granted=True, left=max(_left(windows) - 1, 0), lease=lease)
                case Waiting() if best.level < _FULL or not rolling:
                    return Taken(granted=False, wait_ms=max(told.eta_ms or 1, 1))
                case _:  # it is not there any more, or somebody else has just taken it
                    continue
        return Taken(granted=False, wait_ms=1)

    async def acquire(self, quota: Quota, lease: str, patience_s: float) -> Taken:
        """Hold one use, and wait for it for *patience_s* at most; who came first goes first.

        Raises:
            StoreLost: As ``take`` does.
        """
        if quota.pool not in self._lines:
            taken = await self.take(quota, lease)
            if taken.granted or taken.wait_ms > 1000 * patience_s:
                return taken
        turn = await self._in_line(quota, lease, loop_time() + patience_s)
        return turn or await self.look(quota)

    async def look(self, quota: Quota, past: Sequence[float] = ()) -> Taken:
        """Return how a use would be answered now, and take none.

        Raises:
            StoreLost: As ``take`` does.
        """
        windows = await self._windows(quota, past)
        left = _left(windows)
        if left:
            return Taken(granted=True, left=left)
        waits = (eta_s(PoolState((it,), 0, 0, 0, 0), {it.name: 1}) for it in windows)
        return Taken(granted=False, wait_ms=max(1, math.ceil(1000 * min(waits))))

    def spend(self, quota: Quota, taken: Taken) -> None:
        """Spend a use that is held."""
        self._store.settle(quota.pool, Settlement(taken.lease))

    def give_back(self, quota: Quota, taken: Taken) -> None:
        """Give back a use that is held, and came to nothing."""
        self._store.cancel(quota.pool, taken.lease)

    async def _in_line(self, quota: Quota, lease: str, until: float) -> Taken | None:
        """Return what the first in line gets; None: its turn did not come."""
        line = self._lines.setdefault(quota.pool, anyio.Lock())
        try:
            with anyio.move_on_after(until - loop_time()):
                await line.acquire()
                try:
                    return await self._first_in_line(quota, lease, until)
                finally:
                    line.release()
            return None
        finally:
            seen = line.statistics()
            if not seen.locked and not seen.tasks_waiting:
                self._lines.pop(quota.pool, None)

    async def _first_in_line(self, quota: Quota, lease: str, until: float) -> Taken:
        while True:
            with anyio.CancelScope(shield=True):  # what is taken must be known to be
                taken = await self.take(quota, lease)
            wait_s = taken.wait_ms / 1000
            if taken.granted or loop_time() + wait_s > until:
                return taken
            await anyio.sleep(wait_s)

    async def _windows(self, quota: Quota, past: Sequence[float]) -> list[WindowState]:
        """Return the windows of *quota* as they are, after the ledger was told what it lacks."""
        wanted = quota.windows()
        there = await self._states(quota, wanted)
        lacking = [spec for name, spec in wanted.items() if _differs(there.get(name), spec)]
        if lacking:
            await self._store.define(quota.pool, lacking)
            there = await self._states(quota, wanted)
        lower = _lower(there, past, wanted)
        if lower:
            await self._store.define(quota.pool, lower)
            there = await self._states(quota, wanted)
        return list(there.values())

    async def _states(self, quota: Quota, wanted: dict[str, WindowSpec]) -> dict[str, WindowState]:
        found = await self._store.peek(quota.pool)
        return {it.name: it for it in found.windows if it.name in wanted}


def _differs(there: WindowState | None, spec: WindowSpec) -> bool:
    return there is None or (there.cap != spec.cap and spec.cap > 1)


def _lower(
    there: dict[str, WindowState], past: Sequence[float], wanted: dict[str, WindowSpec]
) -> list[WindowSpec]:
    """Return the windows of which less is there than by what is known of the *past*."""
    emptiest = sorted(there.values(), key=lambda it: it.level)
    return [
        WindowSpec(it.name, "bucket", 1, wanted[it.name].period_ms, level=part)
        for it, part in zip(emptiest, sorted(past), strict=False)
        if part < it.level - _EARLIER
    ]


def _left(windows: Sequence[WindowState]) -> int:
    return sum(max(math.floor(it.level - it.margin + 1e-6), 0) for it in windows)
