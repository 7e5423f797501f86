"""Writes the ledger in the background: many rows at a time, and never in a request's way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Literal, TypeAlias

import anyio
import structlog
from sqlalchemy.exc import SQLAlchemyError

from gateway.reasons import why_of
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.rows import LedgerRow, RequestRow
from pricing.record import record

Result: TypeAlias = Literal["written", "dropped", "failed"]
"""Of a request with its rows: written, or given up; of an attempt to write: failed."""

_BATCH: Final = 250
_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0
_MOST: Final = 20_000

_log = structlog.get_logger()


@record(frozen=True, slots=True)
class Written:
    """A request and its rows; they go in together. No request: rows that were found elsewhere."""

    request: RequestRow | None
    rows: Sequence[LedgerRow]


class RowWriter:
    """Takes what is to be written and writes it soon, *most* of them waiting at a time.

    What does not fit is dropped, and counted by *count*; so is what the database refuses for its
    own sake. While the database is lost, everything waits.
    """

    def __init__(
        self,
        ledger: LedgerTable,
        count: Callable[[Result, int], None] = lambda _result, _number: None,
        *,
        most: int = _MOST,
    ) -> None:
        self._ledger = ledger
        self._count = count
        self._most = most
        self._waiting: list[Written] = []
        self._come = anyio.Event()
        self._full = anyio.Event()
        self._turn = anyio.Lock()  # whoever asks for what waits must not pass what is being written
        self._failing = False
        self.on_written: Callable[[Sequence[LedgerRow]], None] = _forgotten
        """Told of the rows that the database has."""
        self.on_tried: Callable[[float, Literal["done", "failed"]], None] = _unmeasured
        """Told how many seconds an attempt took, and how it ended."""

    def put(self, written: Written) -> None:
        """Take *written*; never waits, never fails."""
        if len(self._waiting) >= self._most:
            self._drop(1, "it has not been written for too long")
            return
        self._waiting.append(written)
        self._come.set()
        if len(self._waiting) >= _BATCH:
            self._full.set()

    async def run(self) -> None:
        """Write what comes, until cancelled."""
        pause = _PAUSE_S
        while True:
            await self._come.wait()
            with anyio.move_on_after(pause):
                await self._full.wait()
            self._come, self._full = anyio.Event(), anyio.Event()
            try:
                await self.flush()
            except DatabaseLost:
                await anyio.sleep(pause)
                self._come.set()
                pause = min(pause * 2, _LONGEST_PAUSE_S)
            else:
                pause = _PAUSE_S

    async def flush(self) -> None:
        """Write everything that waits, now.

        Raises:
            DatabaseLost: It could not be written, and waits on.
        """
        async with self._turn:
            while self._waiting:
                batch = self._waiting[:_BATCH]
                await self._write(batch)
                del self._waiting[: len(batch)]

    async def finish(self, seconds: float = 5.0) -> None:
        """Write what waits, for *seconds* at the most; what is left then is dropped."""
        with anyio.move_on_after(seconds, shield=True):
            with suppress(DatabaseLost):  # logged
                await self.flush()
        if self._waiting:
            self._drop(len(self._waiting), "the gateway ends")
            self._waiting.clear()

    async def _write(self, batch: Sequence[Written]) -> None:
        rows = [row for written in batch for row in written.rows]
        requests = [written.request for written in batch if written.request is not None]
        began = anyio.current_time()
        try:
            with anyio.CancelScope(shield=True):  # a connection cut off in the middle is lost
                await self._ledger.write(rows, requests)
        except DatabaseLost as error:
            self.on_tried(anyio.current_time() - began, "failed")
            self._count("failed", 1)
            if not self._failing:
                _log.warning("ledger.unwritten", waiting=len(self._waiting), reason=why_of(error))
            self._failing = True
            raise
        except (SQLAlchemyError, OverflowError) as error:
            await self._write_apart(batch, error)
        else:
            self.on_tried(anyio.current_time() - began, "done")
            self._count("written", len(batch))
            self._failing = False
            self.on_written(rows)

    async def _write_apart(self, batch: Sequence[Written], error: Exception) -> None:
        """Write each of *batch* alone, for the database refuses one of them: that is dropped."""
        if len(batch) == 1:
            self._drop(1, type(error).__name__)
            return
        middle = len(batch) // 2
        await self._write(batch[:middle])
        await self._write(batch[middle:])

    def _drop(self, number: int, reason: str) -> None:
        self._count("dropped", number)
        _log.error("ledger.dropped", requests=number, reason=reason)


def _unmeasured(_seconds: float, _end: Literal["done", "failed"]) -> None:
    pass


def _forgotten(_rows: Sequence[LedgerRow]) -> None:
    pass
