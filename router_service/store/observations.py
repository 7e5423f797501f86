"""Keeps what was observed in the database; several processes may write and read it at a time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final

import structlog
from anyio import to_thread
from sqlalchemy import ColumnElement, RowMapping, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from router_service.contract import Feedback, Observation
from router_service.groundwork.database import Database
from router_service.groundwork.seal import Seal
from router_service.store import statements
from router_service.store.pages import Cursor, Learnt, Page, Profile
from router_service.store.rows import Damaged, instant, observation_of, pool_of, row_of
from router_service.store.tables import CHANGES, OBSERVATIONS

MOST: Final = 1_000
"""How many rows are read at once, at the most."""

_BATCH: Final = 500
_PURPOSE: Final = b"lockgate router"
_MICRO: Final = 1_000_000
_LONGEST: Final = 200

_log = structlog.get_logger()


class ObservationTable:
    """The contract's ``Observations`` in *database*, and what readers of them need.

    Vectors are closed with the first of *keys*; without any they are not.
    """

    def __init__(self, database: Database, keys: Sequence[bytes] = ()) -> None:
        self._database = database
        self._seal = Seal(keys, _PURPOSE)
        self._damaged = False

    async def observe(self, rows: Sequence[Observation]) -> None:
        """Keep *rows*; one whose id is known already takes its place.

        What was said of that one stays, if nothing is said of it now: a row may be written again
        by who does not know that it was written.

        Raises:
            DatabaseLost: They are not all kept.
            Unfit: One of them cannot be, and none is.
        """
        kept = {row["id"]: row for row in (row_of(each, self._seal) for each in rows)}
        values = list(kept.values())
        for start in range(0, len(values), _BATCH):
            await self._put(values[start : start + _BATCH])

    async def _put(self, rows: list[dict[str, Any]]) -> None:
        async with self._database.writing() as connection:
            last = await _claim(connection, len(rows))
            for revision, row in enumerate(rows, last - len(rows) + 1):
                row["revision"] = revision
            await connection.execute(statements.put(is_sqlite=self._database.is_sqlite), rows)

    async def feedback(self, said: Feedback) -> bool:
        """Write down what was *said*; False if nothing is known of its request.

        Who is less to be believed than who spoke before is not written down.

        Raises:
            DatabaseLost: Nobody knows.
        """
        async with self._database.writing() as connection:
            await _claim(connection, 0)
            asked = statements.of_request(said.request_id, said.reliability)
            found = (await connection.execute(asked)).all()
            rows = [row.id for row in found if row.changes]
            if rows:
                await self._say(connection, said, rows)
        return bool(found)

    async def _say(self, connection: AsyncConnection, said: Feedback, rows: Sequence[str]) -> None:
        last = await _claim(connection, len(rows))
        values = said.model_dump(exclude={"request_id"}) | {"repeats": 1, "spread": None}
        numbered = enumerate(rows, last - len(rows) + 1)
        await connection.execute(
            statements.said(),
            [{**values, "row": row, "revision": revision} for revision, row in numbered],
        )

    async def forget(self, caller: str) -> int:
        """Delete what was observed of *caller* and return how many rows that were.

        Raises:
            DatabaseLost: Nobody knows.
        """
        return await self._delete(OBSERVATIONS.c.caller == caller)

    async def expire(self, before: float) -> int:
        """Delete what was observed before that instant and return how many rows that were.

        Raises:
            DatabaseLost: Nobody knows.
        """
        return await self._delete(OBSERVATIONS.c.at < instant(before))

    async def _delete(self, which: ColumnElement[bool]) -> int:
        async with self._database.writing() as connection:
            await _claim(connection, 0)
            gone = (await connection.execute(delete(OBSERVATIONS).where(which))).rowcount
            if gone:
                await connection.execute(statements.deleted())
        return gone

    async def since(self, cursor: Cursor | None = None, limit: int = MOST) -> Page:
        """Return what is new since *cursor*, from the first row on without one.

        A row that was written again, or of which something was said, is new again.

        Raises:
            DatabaseLost: It does not answer.
        """
        limit = min(limit, MOST)
        async with self._database.reading() as connection:
            epoch: int = (await connection.execute(select(CHANGES.c.epoch))).scalar_one()
            anew = cursor is not None and cursor.epoch != epoch
            after = 0 if cursor is None or anew else cursor.revision
            found = await connection.execute(statements.newer(after, limit + 1))
            rows = found.mappings().all()
        page = rows[:limit]
        # it takes long for the loop
        observed, sealed = await to_thread.run_sync(self._observed, page)
        here = Cursor(epoch, page[-1]["revision"] if page else after)
        return Page(observed, here, len(rows) > limit, anew, sealed)

    def _observed(self, rows: Sequence[RowMapping]) -> tuple[list[Observation], int]:
        """Return what *rows* are, without those that are damaged, and how many stayed sealed."""
        observed, sealed = [], 0
        for row in rows:
            try:
                it = observation_of(row, self._seal)
            except Damaged as damaged:
                self._tell_damaged(row, damaged)
                continue
            sealed += row["vector"] is not None and it.vector is None
            observed.append(it)
        return observed, sealed

    def _tell_damaged(self, row: RowMapping, damaged: Damaged) -> None:
        if not self._damaged:
            self._damaged = True
            reason = str(damaged)[:_LONGEST]
            _log.error("observations.damaged", revision=row["revision"], reason=reason)

    async def all(self) -> AsyncGenerator[Observation, None]:
        """Yield what there is, the last written last; what changes meanwhile may come twice.

        Raises:
            DatabaseLost: It does not answer any more.
        """
        page = await self.since()
        while True:
            for observed in page.rows:
                yield observed
            if not page.more:
                return
            page = await self.since(Cursor(page.cursor.epoch, page.cursor.revision))

    async def recent(self, most: int) -> list[Observation]:
        """Return those that were written last, *most* of them, the last one last.

        Raises:
            DatabaseLost: It does not answer.
        """
        async with self._database.reading() as connection:
            epoch: int = (await connection.execute(select(CHANGES.c.epoch))).scalar_one()
            before = (await connection.execute(statements.before_last(most))).scalar() or 0
        found: dict[str, Observation] = {}
        page = await self.since(Cursor(epoch, before))
        while True:
            found = {} if page.anew else found
            found |= {row.id: row for row in page.rows}
            if not page.more:
                return list(found.values())[-most:]
            page = await self.since(page.cursor)

    async def count(self) -> int:
        """Return how many rows there are.

        Raises:
            DatabaseLost: It does not answer.
        """
        async with self._database.reading() as connection:
            asked = select(func.count()).select_from(OBSERVATIONS)
            return int((await connection.execute(asked)).scalar_one())

    async def profiles(self) -> list[Profile]:
        """Return of which models and pools there is something, and how much of each arm.

        Raises:
            DatabaseLost: It does not answer.
        """
        async with self._database.reading() as connection:
            rows = (await connection.execute(statements.by_profile())).all()
        found: dict[tuple[str, str, str], dict[str, Learnt]] = {}
        for model, pool, encoder, arm, number, judged, at in rows:
            arms = found.setdefault((model, pool, encoder), {})
            arms[arm] = Learnt(number, judged, at / _MICRO)
        return [
            Profile(model, pool_of(pool), encoder, arms)
            for (model, pool, encoder), arms in found.items()
        ]


async def _claim(connection: AsyncConnection, number: int) -> int:
    """Take *number* revisions, and lock out who else writes; return the last of them."""
    last: int = (await connection.execute(statements.claimed(number))).scalar_one()
    return last
