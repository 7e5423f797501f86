"""Opens what keeps responses, and forgets those that nobody comes back to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
import structlog
from sqlalchemy.exc import SQLAlchemyError

from gateway.config import Config
from gateway.config.responses import ResponsesConfig
from gateway.keeping import Kept
from gateway.reasons import why_of
from gateway.runs.book import RunBook
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.journal.records import RunName
from gateway.stores.responses.records import Cover
from gateway.stores.responses.shelf import Shelf
from gateway.stores.responses.table import ResponseTable
from techniques.core.groups import task_group

_EVERY_S: Final = 60.0
_PAUSE_S: Final = 0.05
"""Between two batches: whoever writes meanwhile does not wait for all of them."""
_MOST: Final = 100
_LOOK_S: Final = 1.0

_log = structlog.get_logger()


@dataclass(slots=True)
class Remembered:
    """Where responses are kept, and what is *stated* of that at the moment."""

    shelf: Shelf
    stated: ResponsesConfig

    def configure(self, config: Config) -> None:
        """Sweep by what *config* says from now on."""
        self.stated = config.responses

    async def sweep(self) -> int:
        """Forget what is too old or too much, and return how many; a batch at a time.

        Raises:
            DatabaseLost: The database does not answer.
        """
        table, stated = self.shelf.table, self.stated
        before_ms = self.shelf.clock() - int(stated.retention * 1000)
        gone = 0
        while found := await table.purge(before_ms):
            gone += found
            await anyio.sleep(_PAUSE_S)
        for owner, more in (await table.crowded(stated.per_key)).items():
            left = more
            while left > 0 and (found := await table.thin(owner, left)):
                gone, left = gone + found, left - found
                await anyio.sleep(_PAUSE_S)
        return gone

    async def serve(self) -> None:
        """Sweep now and then, until cancelled."""
        while True:
            await anyio.sleep(_EVERY_S)
            await _told(self.sweep)


@asynccontextmanager
async def remembering(
    config: Config, kept: Kept, runs: RunBook | None
) -> AsyncGenerator[Remembered | None, None]:
    """Open what keeps responses in the database, None without one.

    Those that are to be stopped, of *runs* that are carried out here, are.
    """
    if kept.database is None:
        yield None
        return
    shelf = Shelf(ResponseTable(kept.database), Cover(config.journal.keys))
    remembered = Remembered(shelf, config.responses)
    async with task_group() as group:
        group.start_soon(shelf.serve)
        group.start_soon(remembered.serve)
        if runs is not None:
            group.start_soon(_stopping, shelf, runs)
        try:
            yield remembered
        finally:
            group.cancel_scope.cancel()


async def _stopping(shelf: Shelf, runs: RunBook) -> None:
    """Stop what other replicas were told to stop and is carried out here, until cancelled."""

    async def stop() -> None:
        found = await shelf.table.cancelled(_MOST)
        runs.cut_off([RunName(*name) for name in found])

    while True:
        await anyio.sleep(_LOOK_S)
        if any(name.run.startswith("resp_") for name in runs.floor.here):
            await _told(stop)


async def _told(work: Callable[[], Awaitable[object]]) -> None:
    try:
        await work()
    except (DatabaseLost, SQLAlchemyError) as lost:  # tried again, whatever it is
        _log.warning("responses.lost", reason=why_of(lost))
