"""What the ledger in the database tells of a day: what was spent, and what went wrong last."""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.stores.database.bills import halves, joined
from gateway.stores.database.engine import Database
from gateway.stores.database.rows import RequestRow
from gateway.stores.database.tables import LEDGER, REQUESTS

HOUR: Final = 3_600_000_000
"""Microseconds."""
FINE: Final = ("success", "client_disconnect")
"""Outcomes of requests with which nothing was wrong on our side of the wire."""
LOOKED_AT: Final = 5_000
"""So many of the last requests are looked at for failures, however few of them failed."""


class Spent(NamedTuple):
    """What some sub-calls cost that began in the same hour: *cost* is what is known of it.

    ``hour`` counts from the start that was asked for; ``technique`` is None of a request that has
    not ended. ``unknown`` of the ``calls`` have no known cost.
    """

    hour: int
    technique: str | None
    model: str
    cost: int
    calls: int
    unknown: int


class Failed(NamedTuple):
    """A request that failed, and the sub-calls that it ``made``: model, provider, outcome."""

    request: RequestRow
    made: tuple[tuple[str, str, str], ...] = ()

    @property
    def calls(self) -> tuple[tuple[str, str, str], ...]:
        """Those of its sub-calls that failed."""
        return tuple(call for call in self.made if call[-1] != "ok")


class DayTable:
    """Reads, and writes nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def spent(self, start: int) -> list[Spent]:
        """Return what was spent since the instant *start*, by hour, technique and model.

        Raises:
            DatabaseLost: The database does not answer.
        """
        hour = ((LEDGER.c.started_at - start) // HOUR).label("hour")
        technique, model = REQUESTS.c.technique, LEDGER.c.model
        known = func.count(LEDGER.c.cost)
        query = (
            select(
                hour,
                technique,
                model,
                *halves(LEDGER.c.cost),
                func.count(),
                func.count() - known,
            )
            .select_from(LEDGER.outerjoin(REQUESTS, REQUESTS.c.request_id == LEDGER.c.request_id))
            .where(LEDGER.c.started_at >= start)
            .group_by("hour", technique, model)
        )
        async with self._database.reading() as connection:
            found = await connection.execute(query)
            return [
                Spent(int(at), of, by, joined(more, less), *rest)
                for at, of, by, more, less, *rest in found
            ]

    async def failed(self, limit: int) -> list[Failed]:
        """Return the last requests that failed, the last first.

        Raises:
            DatabaseLost: The database does not answer.
        """
        last = select(REQUESTS).order_by(REQUESTS.c.ended_at.desc()).limit(LOOKED_AT).subquery()
        query = (
            select(last)
            .where(last.c.outcome.not_in(FINE))
            .order_by(last.c.ended_at.desc())
            .limit(limit)
        )
        async with self._database.reading() as connection:
            rows = [RequestRow(*row) for row in await connection.execute(query)]
            calls = await _calls(connection, [row.request_id for row in rows])
        return [Failed(row, tuple(calls.get(row.request_id, ()))) for row in rows]


async def _calls(
    connection: AsyncConnection, requests: list[str]
) -> dict[str, list[tuple[str, str, str]]]:
    of = LEDGER.c
    query = (
        select(of.request_id, of.model, of.provider, of.outcome)
        .where(of.request_id.in_(requests))
        .order_by(of.started_at, of.id)
    )
    found: dict[str, list[tuple[str, str, str]]] = {}
    for request_id, *call in await connection.execute(query):
        found.setdefault(request_id, []).append(tuple(call))
    return found
