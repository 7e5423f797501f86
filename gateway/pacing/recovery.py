"""Writes into the database what was charged in the ledger by replicas that could not write it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, TypeAlias

import anyio
import structlog

from gateway.clock import utc_now
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.rows import LedgerRow, instant, unpacked
from gateway.stores.ledger import LedgerStore, StoreLost

_EVERY_S: Final = 5.0
_OLD_MS: Final = 5000
_MOST: Final = 500
_ORPHAN: Final = "orphan:"

Write: TypeAlias = Callable[[Sequence[LedgerRow]], Awaitable[None]]
"""Writes rows, each once however often it is given."""

_log = structlog.get_logger()


class Recovery:
    """One for the process: of the pools that *pools* gives it takes what is old enough.

    A row lies in the ledger from the moment in which its money is charged. Usually its replica has
    written it soon, and takes it out; of a replica that was killed it is the only one.
    """

    def __init__(
        self, store: LedgerStore, pools: Callable[[], Iterable[str]], write: Write
    ) -> None:
        self._store = store
        self._pools = pools
        self._write = write

    async def serve(self) -> None:
        """Do so until it is cancelled."""
        while True:
            await anyio.sleep(_EVERY_S)
            for pool in list(self._pools()):
                try:
                    while await self.recover(pool) == _MOST:
                        pass
                except (StoreLost, DatabaseLost):
                    break
                except Exception:  # noqa: BLE001 - one of the boundaries: a service goes on
                    _log.exception("recovery.failed")

    def written(self, rows: Iterable[LedgerRow]) -> None:
        """Take out of the ledger what the database has."""
        pools = set(self._pools())
        leases: defaultdict[str, list[str]] = defaultdict(list)
        for row in rows:
            leases[f"key:{row.key}" if row.team is None else f"team:{row.team}"].append(row.id)
        for pool in pools & leases.keys():
            self._store.acknowledge(pool, leases[pool])

    async def recover(self, pool: str, older_ms: int = _OLD_MS) -> int:
        """Write the rows of *pool* that are *older_ms*, and return how many there were.

        Raises:
            StoreLost: The ledger does not answer.
            DatabaseLost: The database does not.
        """
        found = await self._store.rows(pool, _MOST, older_ms)
        if not found:
            return 0
        now = utc_now()
        await self._write(list(_read(pool, found, now)))
        self._store.acknowledge(pool, [lease for lease, _ in found])
        return len(found)


def _read(pool: str, found: Sequence[tuple[str, str]], now: datetime) -> Iterator[LedgerRow]:
    for lease, line in found:
        if line.startswith(_ORPHAN):
            yield _orphan(pool, lease, line.removeprefix(_ORPHAN), now)
            continue
        try:
            yield unpacked(line)
        except ValueError:
            _log.error("recovery.unreadable", pool=pool, lease=lease)


def _orphan(pool: str, lease: str, held: str, now: datetime) -> LedgerRow:
    """Return the row of a call whose replica was lost while it lasted: what it held is its cost."""
    amounts = dict(part.rpartition("=")[::2] for part in held.split(","))
    keys = [name.partition(":usd:")[0] for name in amounts]
    kind, _, owner = pool.partition(":")
    request_id = lease.rpartition("-")[0]
    return LedgerRow(
        id=lease,
        request_id=request_id,
        run=request_id,
        step="",
        role="answer",
        key=next((key for key in keys if key != "*"), owner if kind == "key" else None),
        team=owner if kind == "team" else None,
        model="",
        provider="",
        input_tokens=0,
        output_tokens=0,
        cache_read_tokens=0,
        cache_write_tokens=0,
        reasoning_tokens=0,
        cost=max(map(int, amounts.values())),
        cost_source="default",  # whose price it was held by is not known any more
        estimated=True,
        reasoning_estimated=False,
        outcome="ambiguous",
        started_at=instant(now.timestamp()),
        ms=0.0,
    )
