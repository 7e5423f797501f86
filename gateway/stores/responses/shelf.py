"""Keeps responses: what ends at the same time is written together, and found when that returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio
import anyio.lowlevel
import structlog
from sqlalchemy.exc import SQLAlchemyError

from gateway.reasons import why_of
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.journal.memory import wall_ms
from gateway.stores.responses.records import Cover, Response, ResponseName, is_id
from gateway.stores.responses.table import ResponseTable, Row, Written

_BATCH: Final = 64
_WAIT_S: Final = 2.0
"""How long an answer is held up by a database that does not take it."""
_AGAIN_S: Final = 5.0
"""How long a database that was lost is left alone: no answer is to wait for it in vain."""

_log = structlog.get_logger()


class TooBig(Exception):
    """A response is larger than one may be that is kept."""


@dataclass(slots=True)
class _Waiting:
    """What somebody waits to be written."""

    written: Written
    done: anyio.Event = field(default_factory=anyio.Event)
    lost: DatabaseLost | None = None


class Shelf:
    """Responses in the database. Operations that look for one may raise ``DatabaseLost``.

    *clock* tells the milliseconds of the epoch.
    """

    def __init__(
        self, table: ResponseTable, cover: Cover, clock: Callable[[], int] = wall_ms
    ) -> None:
        self.table = table
        self.clock = clock
        self._cover = cover
        self._waiting: list[_Waiting] = []
        self._come = anyio.Event()
        self._again_at = 0.0

    async def put(self, response: Response, most: int) -> None:
        """Keep *response*; who asks any replica for it finds it when this returns.

        Raises:
            TooBig: It has more than *most* bytes.
            DatabaseLost: The database does not take it in time.
        """
        record = self._cover.closed(response)
        if len(record) > most:
            raise TooBig(f"{len(record)} bytes")
        if anyio.current_time() < self._again_at:
            raise DatabaseLost("it was lost a moment ago")
        waiting = _Waiting(_written(response, record, self.clock()))
        self._waiting.append(waiting)
        self._come.set()
        try:
            with anyio.move_on_after(_WAIT_S):
                await waiting.done.wait()
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
        if not waiting.done.is_set():
            self._again_at = anyio.current_time() + _AGAIN_S
            raise DatabaseLost("it takes too long")
        if waiting.lost is not None:
            raise waiting.lost

    async def serve(self) -> None:
        """Write what is put in, until cancelled."""
        while True:
            await self._come.wait()
            self._come = anyio.Event()
            while self._waiting:
                batch = self._waiting[:_BATCH]
                del self._waiting[:_BATCH]
                await self._write(batch)

    async def find(self, name: ResponseName) -> Response | None:
        """Return a response, None if there is none.

        Raises:
            ResponseSealed: It cannot be opened.
        """
        row = await self.table.find(name)
        return None if row is None else self._opened(row)

    async def chain(self, name: ResponseName, most: int) -> Sequence[Response]:
        """Return a response and those before it, the first of all first: see ``table.chain``.

        Raises:
            ResponseSealed: One of them cannot be opened.
        """
        found: list[Response] = []
        for row in await self.table.chain(name, most):
            found.append(self._opened(row))
            await anyio.lowlevel.checkpoint()  # a long one is not opened in one go
        return found

    def _opened(self, row: Row) -> Response:
        told, said = self._cover.opened(row.name, row.record)
        return Response(
            row.name,
            row.parent,
            row.state,
            row.created_ms,
            told,
            said,
            background=bool(row.background),
            used_ms=row.used_ms,
        )

    async def _write(self, batch: Sequence[_Waiting]) -> None:
        try:
            with anyio.CancelScope(shield=True):  # a connection cut off in the middle is lost
                await self.table.write([one.written for one in batch])
        except DatabaseLost as lost:
            self._again_at = anyio.current_time() + _AGAIN_S
            _log.warning("response.unwritten", responses=len(batch), reason=why_of(lost))
            _tell(batch, lost)
        except SQLAlchemyError as error:  # one of them must not cost the others
            if len(batch) > 1:
                for one in batch:
                    await self._write([one])
            else:
                _log.warning("response.unwritten", responses=1, reason=why_of(error))
                _tell(batch, DatabaseLost(type(error).__name__))
        else:
            _tell(batch, None)


def _tell(batch: Sequence[_Waiting], lost: DatabaseLost | None) -> None:
    for one in batch:
        one.lost = lost
        one.done.set()


def _written(response: Response, record: str, now_ms: int) -> Written:
    row = Row(
        *response.name,
        parent=response.parent,
        state=response.state,
        background=int(response.background),
        created_ms=response.created_ms,
        used_ms=now_ms,
        size=len(record),
        record=record,
    )
    ids = (item.get("id") for item in response.output)
    begun = response.background and response.state != "queued"
    return Written(row, tuple(dict.fromkeys(one for one in ids if is_id(one))), begun)
