"""The ledger of one process, behind the interface that it shares with the one in Redis."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Final

from gateway.admission.purse import Purse
from gateway.stores.ledger import (
    Amounts,
    Answer,
    Entry,
    PoolState,
    Refusal,
    Settlement,
    WindowReading,
    WindowSpec,
    WindowState,
)
from gateway.stores.memory.admitting import QueueLimits, admit, check, leave
from gateway.stores.memory.defining import AnyWindow, define
from gateway.stores.memory.ending import reject, settle
from gateway.stores.memory.pool import Pool
from gateway.stores.memory.pump import pump

_LIMITS: Final = QueueLimits()
_IDLE_MS: Final = 8 * 86_400_000


def _now_ms() -> int:
    return int(monotonic() * 1000)


class MemoryLedger:
    """Keeps pools in this process.

    Args:
        clock: The time in milliseconds, from anywhere.
        share: The part of every window that this process takes for itself, of money the part of
            what is left: less than 1 where others go by a ledger of their own, too.
        limits: How many may wait.
    """

    def __init__(
        self,
        clock: Callable[[], int] = _now_ms,
        *,
        share: float = 1.0,
        limits: QueueLimits = _LIMITS,
    ) -> None:
        self._clock = clock
        self._share = share
        self._limits = limits
        self._pools: OrderedDict[str, Pool] = OrderedDict()

    def _pool(self, name: str) -> Pool:
        now = self._clock()
        pool = self._pools.get(name)
        if pool is None:
            self._drop_idle(now)
            pool = self._pools[name] = Pool()
        else:
            self._pools.move_to_end(name)
        pool.begin(now)
        return pool

    def _drop_idle(self, now: float) -> None:
        while self._pools:
            name, oldest = next(iter(self._pools.items()))
            if now - oldest.now <= _IDLE_MS:
                return
            del self._pools[name]

    async def define(self, pool: str, windows: Sequence[WindowSpec]) -> None:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        for spec in windows:
            there.windows[spec.name] = define(
                there.window(spec.name), _scaled(spec, self._share), there.now
            )

    async def admit(self, pool: str, entry: Entry, *, dispatched: bool = False) -> Answer:
        """See ``LedgerStore``."""
        return admit(self._pool(pool), entry, self._limits, dispatched=dispatched)

    async def admit_both(
        self, first: tuple[str, Entry], second: tuple[str, Entry], *, dispatched: bool = False
    ) -> tuple[Answer, Answer]:
        """See ``LedgerStore``."""
        (own, mine), (other, theirs) = first, second
        one = admit(self._pool(own), mine, self._limits, dispatched=dispatched)
        return one, admit(self._pool(other), theirs, self._limits, dispatched=dispatched)

    async def check(self, pool: str, entry: str) -> Answer:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        there.bells.forget(entry)
        return check(there, entry)

    async def wait(self, pool: str, entry: str, timeout_s: float) -> None:
        """See ``LedgerStore``."""
        await self._pool(pool).bells.wait(entry, timeout_s)

    def leave(self, pool: str, entry: str) -> None:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        there.bells.forget(entry)
        leave(there, entry)

    def dispatch(self, pool: str, leases: Sequence[str]) -> None:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        for lease in leases:
            there.dispatch(lease)

    def renew(self, pool: str, leases: Sequence[str]) -> None:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        for lease in leases:
            there.renew(lease)

    def extend(self, pool: str, lease: str, more: Amounts) -> None:
        """See ``LedgerStore``."""
        self._pool(pool).extend(lease, more)

    def tell(self, pool: str, lease: str, readings: Sequence[WindowReading]) -> None:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        known = there.lease(lease)
        if known is not None:
            there.read(known, self._shares(readings))
        pump(there)

    def settle(self, pool: str, settlement: Settlement) -> None:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        if settlement.readings and self._share != 1:
            settlement = settlement._replace(readings=self._shares(settlement.readings))
        settle(there, settlement)
        if there.line.entries:
            pump(there)

    def cancel(self, pool: str, lease: str) -> None:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        known = there.lease(lease)
        if known is not None and not known.ended:
            there.free(known)
        pump(there)

    def reject(self, pool: str, refusal: Refusal) -> None:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        if refusal.readings and self._share != 1:
            refusal = replace(refusal, readings=self._shares(refusal.readings))
        reject(there, refusal)
        pump(there)

    async def peek(self, pool: str) -> PoolState:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        windows = (there.window(name) for name in sorted(there.windows))
        return PoolState(
            tuple(_state(window, there.now) for window in windows if window is not None),
            len(there.line.entries),
            len(there.live),
            there.orphans,
            there.ungrabbed,
        )

    async def rows(self, pool: str, most: int, older_ms: int) -> Sequence[tuple[str, str]]:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        old = sorted(
            (at, lease, row)
            for lease, (at, row) in there.rows.items()
            if at <= there.now - older_ms
        )
        return [(lease, row) for _, lease, row in old[:most]]

    def acknowledge(self, pool: str, leases: Sequence[str]) -> None:
        """See ``LedgerStore``."""
        there = self._pool(pool)
        for lease in leases:
            there.rows.pop(lease, None)

    def _shares(self, readings: Sequence[WindowReading]) -> Sequence[WindowReading]:
        if self._share == 1:
            return readings
        return [
            reading._replace(
                limit=None if reading.limit is None else reading.limit * self._share,
                remaining=None if reading.remaining is None else reading.remaining * self._share,
            )
            for reading in readings
        ]


def _scaled(spec: WindowSpec, share: float) -> WindowSpec:
    if share == 1:
        return spec
    if spec.kind == "never":
        left = math.floor(max(spec.cap - spec.used, 0) * share)
        return replace(spec, used=spec.cap - left)
    level = None if spec.level is None else math.floor(spec.level * share)
    return replace(spec, cap=max(1, math.floor(spec.cap * share)), level=level)


def _state(window: AnyWindow, now: float) -> WindowState:
    if isinstance(window, Purse):
        return WindowState(
            name=window.name,
            kind="never",
            cap=window.cap,
            level=window.left,
            margin=0,
            rate=0,
            drain=0,
            blocked_ms=0,
            ends_in_ms=None,
            held=window.held,
            provisional=False,
        )
    return WindowState(
        name=window.name,
        kind=window.kind,
        cap=math.floor(window.cap),
        level=window.level,
        margin=window.margin,
        rate=window.flow * 1000,
        drain=window.ext * 1000,
        blocked_ms=math.ceil(max(0, window.blocked - now)),
        ends_in_ms=math.ceil(window.ends - now) if window.kind == "fixed" else None,
        held=math.floor(window.held),
        provisional=window.provisional,
    )
