"""How leases end: settled, refused, given back."""

from __future__ import annotations

from typing import Final

from gateway.admission.windows import Window
from gateway.stores.ledger import Refusal, Settlement
from gateway.stores.memory.pool import Pool

_SHORT_MS: Final = 60_000


def settle(pool: Pool, settlement: Settlement) -> None:
    """Charge a lease with what was used; a later settlement corrects an earlier."""
    lease = pool.lease(settlement.lease)
    known = lease is not None
    if lease is None:
        lease = pool.stranger(settlement.lease)
    used = {name: amount if amount > 0 else 0 for name, amount in settlement.used.items()}
    row = settlement.row
    if lease.ended:
        changed = any(lease.amounts.get(name) != amount for name, amount in used.items())
        if known and not changed and lease.row == hash(row):
            row = None
        pool.charge(lease, used)
    else:
        pool.charge(lease, {**lease.amounts, **used})
    if row is not None:
        pool.keep_row(lease, row)
    if known:
        pool.read(lease, settlement.readings)


def reject(pool: Pool, refusal: Refusal) -> None:
    """Take in a 429: the lease comes back, and nobody passes before the time that it names."""
    lease = pool.lease(refusal.lease)
    holds = {} if lease is None else dict(lease.amounts)
    if lease is not None:
        pool.charge(
            lease,
            {k: v if refusal.counts and _counts_requests(k) else 0 for k, v in holds.items()},
        )
    for window in _refused(pool, refusal, holds):
        window.refuse(
            holds.get(window.name, 0),
            refusal.retry_after_ms,
            drained=refusal.window is not None or _short(window),
        )
    if lease is not None:
        pool.read(lease, refusal.readings, refused=True)


def _counts_requests(window: str) -> bool:
    return window.rpartition(":")[0].endswith(":requests")


def _refused(pool: Pool, refusal: Refusal, holds: dict[str, int]) -> list[Window]:
    names = [refusal.window] if refusal.window is not None else sorted(holds)
    windows = (pool.window(name) for name in names)
    return [
        w
        for w in windows
        if isinstance(w, Window) and (refusal.window is not None or w.kind != "gauge")
    ]


def _short(window: Window) -> bool:
    # A refusal that names no window is hardly ever about the day's: that is not emptied for it.
    return window.kind == "bucket" and window.period <= _SHORT_MS
