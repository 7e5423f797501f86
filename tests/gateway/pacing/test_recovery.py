"""What a killed replica charged is written by another, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.pacing.recovery import Recovery
from gateway.stores.database.engine import opened
from gateway.stores.database.ledger import LedgerTable, Spender
from gateway.stores.database.sought import Sought
from gateway.stores.ledger import Ask, Entry, Settlement, WindowSpec
from gateway.stores.redis.store import RedisSettings, redis_ledger
from tests.contract.ledger_store.desk import Clock
from tests.services.valkey import Valkey

POOL = "key:app"
BUDGET = WindowSpec("app:usd:2026-03-10/day", "never", 1000)


@pytest.fixture
def anyio_backend() -> str:
    """A real server needs a real clock."""
    return "asyncio"


@pytest.mark.anyio
async def test_a_call_that_was_sent_by_a_killed_replica_gets_a_row_after_its_lease(
    valkey: Valkey, tmp_path: Path
) -> None:
    clock = Clock()
    url = f"sqlite+aiosqlite:///{tmp_path}/lockgate.db"
    shared = RedisSettings([valkey.url], prefix=tmp_path.name, deadline_s=5)
    async with redis_ledger(shared, clock) as killed:
        await killed.define(POOL, [BUDGET])
        for lease in ("r1-1", "r2-1", "r3-1"):
            entry = Entry((Ask(lease, {BUDGET.name: 100}),))
            await killed.admit(POOL, entry, dispatched=lease != "r3-1")
        killed.settle(POOL, Settlement("r1-1", {BUDGET.name: 0}))
        await killed.peek(POOL)
    async with redis_ledger(shared, clock) as other, opened(url) as database:
        ledger = LedgerTable(database)
        recovery = Recovery(other, lambda: [POOL], ledger.write)
        clock.pass_(59_999)
        before = await recovery.recover(POOL, older_ms=0)
        clock.pass_(1)
        state = await other.peek(POOL)
        written = await recovery.recover(POOL, older_ms=0)
        again = await recovery.recover(POOL, older_ms=0)
        spent = await ledger.spent(Spender("app"), None, None)
        (row,) = await ledger.rows(Sought())

    (window,) = state.windows
    assert (before, written, again) == (0, 1, 0)
    assert window.cap - window.level == spent == 100
    assert (window.held, state.leases, state.orphans) == (0, 0, 1)
    assert (row.cost_source, row.estimated, row.outcome) == ("default", True, "ambiguous")
