"""Has the engine learn what is new in the database, whoever has written it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Final, Protocol

import anyio
import structlog

from router_service.contract import Observation
from router_service.groundwork.database import DatabaseLost
from router_service.store.observations import ObservationTable
from router_service.store.pages import Cursor
from router_service.store.served import Served

_AT_ONCE: Final = 5_000
"""Rows that are learnt together: their vectors take some ten kilobytes each until then."""
_DAY_S: Final = 86_400.0
_EXPIRE_EVERY_S: Final = 3_600.0
_REST: Final = 20
"""How many times as long as it learnt it rests: learning takes no more than a part of the time."""

_log = structlog.get_logger()


class Learns(Protocol):
    """What learns."""

    def learn(self, rows: Sequence[Observation], *, afresh: bool = False) -> None:
        """Learn *rows* too, or nothing but them."""
        ...


class Tells(Protocol):
    """What is told of it."""

    def refreshed(self, *, done: bool) -> None:
        """It was looked for something new, and that was ``done`` or failed."""
        ...

    def fitted(self, seconds: float, rows: int) -> None:
        """It took so long to learn what was new; so many *rows* are learnt by now."""
        ...


class Learner:
    """Brings what *table* has to *engine*, one after the other, and what is *served* of fits.

    It rests by *sleep*, which takes seconds.

    Attributes:
        loaded: All that there was has been learnt once.
        lost: The database did not answer the last time.
        rows: How many rows were learnt, since the last time that all were learnt anew.
    """

    def __init__(
        self,
        table: ObservationTable,
        engine: Learns,
        counts: Tells,
        served: Served | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._table = table
        self._sleep = sleep
        self._served = served
        self._engine = engine
        self._counts = counts
        self._cursor: Cursor | None = None
        self._turn = anyio.Lock()  # an engine learns one thing at a time
        self._sealed = False
        self._learning_s = 0.0
        self.loaded = False
        self.lost = False
        self.rows = 0

    async def refresh(self) -> int:
        """Learn what is new and return how many rows that were.

        Raises:
            DatabaseLost: It could not be read.
        """
        number = 0
        async with self._turn:
            try:
                while True:
                    learnt, more = await self._some()
                    number += learnt
                    if not more:
                        break
                if self._served is not None:
                    await self._served.follow()
            except DatabaseLost:
                self._counts.refreshed(done=False)
                self.lost = True
                raise
        self._counts.refreshed(done=True)
        self.lost, self.loaded = False, True
        return number

    async def _some(self) -> tuple[int, bool]:
        """Learn some rows; return how many, and whether there are more."""
        rows: list[Observation] = []
        cursor, afresh, more, sealed = self._cursor, False, True, 0
        while more and len(rows) < _AT_ONCE:
            page = await self._table.since(cursor)
            if page.anew:
                rows, afresh, sealed = [], True, 0
            rows += page.rows
            cursor, more, sealed = page.cursor, page.more, sealed + page.sealed
        if rows or afresh:
            began = perf_counter()
            with anyio.CancelScope(shield=True):  # the thread would go on, and not be waited for
                await anyio.to_thread.run_sync(lambda: self._engine.learn(rows, afresh=afresh))
            self._learning_s += perf_counter() - began
            self.rows = len(rows) + (0 if afresh else self.rows)
            self._counts.fitted(perf_counter() - began, self.rows)
        self._cursor = cursor
        self._tell_sealed(sealed)
        return len(rows), more

    async def run(self, every_s: float, ttl_days: float) -> None:
        """Learn what is new every so many seconds and delete what is old, until cancelled.

        The more there is, the longer it takes to learn, and the more seldom that is done.
        """
        expired = -_EXPIRE_EVERY_S
        while True:
            failing, self._learning_s = self.lost, 0.0
            try:
                await self.refresh()
                if anyio.current_time() - expired >= _EXPIRE_EVERY_S:
                    await self._table.expire(datetime.now(UTC).timestamp() - ttl_days * _DAY_S)
                    expired = anyio.current_time()
            except DatabaseLost as error:
                self.lost = True
                if not failing:
                    _log.warning("observations.unread", reason=str(error))
            except Exception:  # noqa: BLE001 - what cannot be learnt must not end who decides
                self.lost = True
                if not failing:
                    _log.exception("observations.unlearnt")
            await self._sleep(max(every_s, _REST * self._learning_s))

    def _tell_sealed(self, number: int) -> None:
        if number and not self._sealed:
            self._sealed = True
            _log.warning("observations.sealed", rows=number, missing="router.store.encryption")
