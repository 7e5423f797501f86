"""Both ledgers under one test clock, and short words for what is asked of them."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gateway.stores.ledger import (
    Answer,
    Ask,
    Entry,
    LedgerStore,
    Place,
    PoolState,
    Refusal,
    Settlement,
    WindowReading,
    WindowSpec,
    WindowState,
)
from gateway.stores.memory import MemoryLedger
from gateway.stores.memory.admitting import QueueLimits
from gateway.stores.redis import RedisSettings, redis_ledger
from tests.services.valkey import Valkey

START_MS = 1_000_000
MINUTE_MS = 60_000
DAY_MS = 86_400_000

QUEUE = QueueLimits(pool=40, tenant=30)


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: int = START_MS

    def __call__(self) -> int:
        return self.now

    def pass_(self, ms: int) -> None:
        self.now += ms


def bucket(name: str, cap: int, period_ms: int = MINUTE_MS, level: int | None = None) -> WindowSpec:
    return WindowSpec(name, "bucket", cap, period_ms, level=level)


def fixed(name: str, cap: int, ends_in_ms: int, period_ms: int = DAY_MS) -> WindowSpec:
    return WindowSpec(name, "fixed", cap, period_ms, ends_in_ms)


def gauge(name: str, cap: int) -> WindowSpec:
    return WindowSpec(name, "gauge", cap)


def money(name: str, cap: int, used: int = 0) -> WindowSpec:
    return WindowSpec(name, "never", cap, used=used)


@dataclass
class Desk:
    """One pool of a ledger."""

    ledger: LedgerStore
    clock: Clock
    pool: str = field(default_factory=lambda: f"up:{uuid.uuid4().hex[:8]}")

    async def define(self, *windows: WindowSpec) -> None:
        await self.ledger.define(self.pool, windows)

    async def ask(
        self, lease: str, place: Place | None = None, *, dispatched: bool = False, **needs: int
    ) -> Answer:
        entry = Entry((Ask(lease, needs),), place or Place())
        return await self.ledger.admit(self.pool, entry, dispatched=dispatched)

    async def probe(self, lease: str, **needs: int) -> Answer:
        """Ask without waiting in line."""
        entry = Entry((Ask(lease, needs),), Place(queue=False))
        return await self.ledger.admit(self.pool, entry)

    async def check(self, entry: str) -> Answer:
        return await self.ledger.check(self.pool, entry)

    def leave(self, entry: str) -> None:
        self.ledger.leave(self.pool, entry)

    def dispatch(self, *leases: str) -> None:
        self.ledger.dispatch(self.pool, leases)

    def renew(self, *leases: str) -> None:
        self.ledger.renew(self.pool, leases)

    def extend(self, lease: str, **more: int) -> None:
        self.ledger.extend(self.pool, lease, more)

    def cancel(self, lease: str) -> None:
        self.ledger.cancel(self.pool, lease)

    def settle(self, lease: str, row: str | None = None, **used: int) -> None:
        self.ledger.settle(self.pool, Settlement(lease, used, row=row))

    def tell(self, lease: str, *readings: WindowReading) -> None:
        self.ledger.tell(self.pool, lease, readings)

    def reject(
        self, lease: str, window: str | None, retry_after_ms: int | None, *, counts: bool = False
    ) -> None:
        self.ledger.reject(self.pool, Refusal(lease, window, retry_after_ms, counts=counts))

    async def peek(self) -> PoolState:
        return await self.ledger.peek(self.pool)

    async def window(self, name: str) -> WindowState:
        return next(window for window in (await self.peek()).windows if window.name == name)

    async def level(self, name: str) -> float:
        return (await self.window(name)).level

    async def rows(self, most: int = 100, older_ms: int = 0) -> list[tuple[str, str]]:
        return list(await self.ledger.rows(self.pool, most, older_ms))


@asynccontextmanager
async def opened(server: Valkey | None) -> AsyncIterator[Desk]:
    """Open the ledger on *server*, or that in memory, and take a new pool of it."""
    clock = Clock()
    if server is None:
        yield Desk(MemoryLedger(clock, limits=QUEUE), clock)
        return
    settings = RedisSettings(
        [server.url], deadline_s=5, queue=QUEUE.pool, queue_of_tenant=QUEUE.tenant
    )
    async with redis_ledger(settings, clock) as ledger:
        yield Desk(ledger, clock)
