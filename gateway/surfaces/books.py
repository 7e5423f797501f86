"""The ledger as it is asked for over HTTP: with what has ended by now, of this worker at least."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio

from gateway.keeping import Durable
from gateway.metering.meters.rows import RecentRows
from gateway.metering.spool import Spool
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.records import NotThere

_FLUSH_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Books:
    """Where rows are: on their way, in memory, and in the database, if there is one."""

    spool: Spool
    recent: RecentRows
    durable: Durable | None

    async def current(self) -> Durable:
        """Return the database, with what waits to be written if that can be done.

        Raises:
            NotThere: There is none.
        """
        self.spool.drain()
        if self.durable is None:
            raise NotThere("There is no database here: set database.url.")
        with suppress(DatabaseLost), anyio.move_on_after(_FLUSH_S):
            await self.durable.writer.flush()
        return self.durable
