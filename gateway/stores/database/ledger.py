"""The ledger in the database: rows go in once, and are found by request, run, key and time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import anyio
import anyio.lowlevel
from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.stores.database.bills import Bill, halves, joined, read, summed
from gateway.stores.database.engine import Database
from gateway.stores.database.rows import LedgerRow, RequestRow, instant
from gateway.stores.database.sought import MOST, Sought, asked, place_of
from gateway.stores.database.tables import LEDGER, REQUESTS


@dataclass(frozen=True, slots=True)
class Spender:
    """Whose rows: a key's, or with ``is_team`` those of all keys of a team."""

    name: str
    is_team: bool = False


class LedgerTable:
    """What requests did, for good."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ledger = _insert(LEDGER, database)
        self._requests = _insert(REQUESTS, database)

    async def write(self, rows: Sequence[LedgerRow], requests: Sequence[RequestRow] = ()) -> None:
        """Write *rows* and *requests*, all or none; those that are there already stay as they are.

        Raises:
            DatabaseLost: The database does not take them now.
        """
        async with self._database.writing() as connection:
            await _written(connection, self._ledger, rows)
            await _written(connection, self._requests, requests)

    async def rows(self, sought: Sought) -> list[LedgerRow]:
        """Return rows: those of a request or a run from first to last, others from the last on.

        Raises:
            DatabaseLost: The database does not answer.
        """
        async with self._database.reading() as connection:
            found = await connection.execute(asked(sought))
            return [LedgerRow(*row) for row in found]

    async def pages(self, sought: Sought) -> AsyncGenerator[list[LedgerRow], None]:
        """Yield all rows that are *sought*, many at a time, and hold nothing open in between.

        Raises:
            DatabaseLost: The database does not answer.
        """
        rows: list[LedgerRow] | None = None
        while rows is None or len(rows) == MOST:
            with anyio.CancelScope(shield=True):  # a connection cut off in the middle is lost
                rows = await self.rows(replace(sought, limit=MOST))
            await anyio.lowlevel.checkpoint()  # who has left wants no more, though none waits
            if rows:
                yield rows
                sought = replace(sought, after=place_of(rows[-1]))

    async def bill(self, sought: Sought, by: Sequence[str] = ()) -> Bill:
        """Return the sums of the rows that are *sought*, parted by *by*, names of ``GROUPS``.

        Raises:
            DatabaseLost: The database does not answer.
            TooManyLines: There are too many groups.
        """
        async with self._database.reading() as connection:
            return read(by, await connection.execute(summed(sought, by)))

    async def request(self, request_id: str) -> RequestRow | None:
        """Return the request of that id, None if it is not known.

        Raises:
            DatabaseLost: The database does not answer.
        """
        query = select(REQUESTS).where(REQUESTS.c.request_id == request_id)
        async with self._database.reading() as connection:
            found = (await connection.execute(query)).first()
        return None if found is None else RequestRow(*found)

    async def spent(
        self, spender: Spender, start: datetime | None = None, end: datetime | None = None
    ) -> int:
        """Return the picodollars of the sub-calls that began from *start* to before *end*.

        Raises:
            DatabaseLost: The database does not answer.
        """
        owner = LEDGER.c.team if spender.is_team else LEDGER.c.key
        query = select(*halves(LEDGER.c.cost)).where(owner == spender.name)
        if start is not None:
            query = query.where(LEDGER.c.started_at >= instant(start.timestamp()))
        if end is not None:
            query = query.where(LEDGER.c.started_at < instant(end.timestamp()))
        async with self._database.reading() as connection:
            return joined(*(await connection.execute(query)).one())


def _insert(table: Table, database: Database) -> str:
    """Return a statement for the driver itself: SQLAlchemy's own costs four times as much a row."""
    names = [column.name for column in table.columns]
    marks = ["?" if database.is_sqlite else f"${place}" for place in range(1, len(names) + 1)]
    listed = ", ".join(f'"{name}"' for name in names)
    return f"INSERT INTO {table.name} ({listed}) VALUES ({', '.join(marks)}) ON CONFLICT DO NOTHING"


async def _written(connection: AsyncConnection, insert: str, rows: Sequence[Any]) -> None:
    if rows:  # as plain tuples: drivers read named ones item by item
        await connection.exec_driver_sql(insert, [row[:] for row in rows])
