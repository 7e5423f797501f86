"""A journal in a database: SQLite by a thread of its own, PostgreSQL by its pool.

What is asked for while one transaction is under way goes into the next one together, so that many
steps share one commit, and nobody waits on the event loop.

Source: group commit, as in DeWitt et al. 1984, "Implementation Techniques for Main Memory Database
Systems".
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

import structlog
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.stores.database.engine import Database, DatabaseLost
from gateway.stores.journal import statements
from gateway.stores.journal.journal import Answer, Claim, Hold, Sought, StaleToken, Write
from gateway.stores.journal.memory import wall_ms
from gateway.stores.journal.records import JournalLost, RunName, RunRecord, Stored
from gateway.stores.journal.statements import Operation
from techniques.core.groups import task_group

_MOST: Final = 256
"""Operations in one transaction."""
_BUSY_MS: Final = 10_000
_AT_ONCE: Final = 8
"""Who waits for a batch is woken so many in a turn of the event loop: each has work to do then."""
T = TypeVar("T")
_log = structlog.get_logger()


@dataclass(slots=True)
class _Asked:
    """An operation that somebody waits for."""

    operation: Callable[[], Operation[Any]]
    done: asyncio.Future[Any]
    result: Any = None


class SqlJournal:
    """Keeps runs in the tables ``runs`` and ``steps``; *put* hands operations on.

    What is asked for in one turn of the event loop is handed on together.
    """

    def __init__(
        self, put: Callable[[list[_Asked]], None], clock: Callable[[], int] = wall_ms
    ) -> None:
        self._put = put
        self._clock = clock
        self._turn: list[_Asked] = []

    async def claim(self, claim: Claim) -> Answer:
        """Return the run that *claim* is about."""
        return await self._ask(lambda: statements.claim(claim, self._clock()))

    async def write(self, write: Write) -> None:
        """Write all of *write* or nothing."""
        if not await self._ask(lambda: statements.write(write, self._clock())):
            raise StaleToken

    async def renew(self, holds: Sequence[Hold], lease_ms: int) -> Sequence[Hold]:
        """Hold on to *holds*; return those that were lost."""
        return await self._ask(lambda: statements.renew(holds, self._clock() + lease_ms))

    async def find(self, name: RunName) -> Stored | None:
        """Return a run with its steps."""
        return await self._ask(lambda: statements.find(name, self._clock()))

    async def waits(self, owner: str, body: str) -> bool:
        """Return whether a run of that key and body waits to be taken up."""
        return await self._ask(lambda: statements.waits(owner, body, self._clock()))

    async def abandoned(self, limit: int) -> Sequence[RunRecord]:
        """Return runs of the background that nobody is at work on."""
        return await self._ask(lambda: statements.abandoned(limit, self._clock()))

    async def suspended(self, limit: int) -> Sequence[int | None]:
        """Return when the runs that are put away can go on."""
        return await self._ask(lambda: statements.suspended(limit))

    async def listed(self, sought: Sought) -> Sequence[Stored]:
        """Return the runs that are sought; steps are read a run at a time, between writes."""
        found = await self._ask(lambda: statements.listed(sought, self._clock()))
        return [await self._ask(partial(statements.with_steps, one)) for one in found]

    async def put(self, brought: Stored, *, replaces: bool = False) -> Stored | None:
        """Put a run here; return what is in its way."""
        return await self._ask(lambda: statements.put(brought, self._clock(), replaces=replaces))

    async def forget(self, names: Sequence[RunName]) -> int:
        """Forget these runs."""
        return await self._ask(lambda: statements.forget(names))

    async def purge(self, before_ms: int) -> int:
        """Forget what is old."""
        return await self._ask(lambda: statements.purge(before_ms, self._clock()))

    async def erase(self, owner: str) -> int:
        """Forget what is of *owner*."""
        return await self._ask(lambda: statements.erase(owner))

    async def _ask(self, operation: Callable[[], Operation[T]]) -> T:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        if not self._turn:
            loop.call_soon(self._hand_on)
        self._turn.append(_Asked(operation, done))
        return await done

    def _hand_on(self) -> None:
        asked, self._turn = self._turn, []
        self._put(asked)


@asynccontextmanager
async def sql_journal(
    database: Database, url: str, clock: Callable[[], int] = wall_ms
) -> AsyncGenerator[SqlJournal, None]:
    """Open the journal in *database*, which is at *url*; leaving writes what waits."""
    if not database.is_sqlite:
        async with _pooled(database) as put:
            yield SqlJournal(put, clock)
        return
    thread = _SqliteThread(make_url(url).database or "", asyncio.get_running_loop())
    thread.start()
    try:
        yield SqlJournal(thread.put, clock)
    finally:
        thread.put(None)
        await asyncio.to_thread(thread.join)


class _SqliteThread(Thread):
    """Carries operations out on one connection, all that wait in one transaction."""

    def __init__(self, path: str, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(name="journal", daemon=True)
        self._path = path
        self._loop = loop
        self._connection: sqlite3.Connection | None = None
        self._waiting: SimpleQueue[list[_Asked] | None] = SimpleQueue()
        self.put = self._waiting.put

    def run(self) -> None:
        """Work until None is put in."""
        going = True
        while going:
            batch, going = self._batch()
            failed = self._tried(batch)
            if len(batch) > 1 and failed is not None:  # one of them must not cost the others
                for asked in batch:
                    self._tell([asked], self._tried([asked]))
            elif batch:
                self._tell(batch, failed)
        if self._connection is not None:
            self._connection.close()

    def _tried(self, batch: Sequence[_Asked]) -> JournalLost | None:
        try:
            self._connection = self._connection or _connected(self._path)
            _carry_out(self._connection, batch)
        except Exception as error:  # noqa: BLE001 - this thread keeps the runs of all
            if not isinstance(error, sqlite3.Error | JournalLost):
                _log.exception("journal.bug")
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            return JournalLost(str(error))
        return None

    def _batch(self) -> tuple[list[_Asked], bool]:
        batch: list[_Asked] = []
        asked = self._waiting.get()
        while asked is not None:
            batch += asked
            if self._waiting.empty() or len(batch) >= _MOST:
                return batch, True
            asked = self._waiting.get()
        return batch, False

    def _tell(self, batch: Sequence[_Asked], error: Exception | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_resolve, batch, error)


def _connected(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_MS / 1000, isolation_level=None)
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _carry_out(connection: sqlite3.Connection, batch: Sequence[_Asked]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for asked in batch:
        operation = asked.operation()
        try:
            statement = next(operation)
            while True:
                rows = connection.execute(*statement).fetchall()
                statement = operation.send(rows)
        except StopIteration as end:
            asked.result = end.value
    connection.execute("COMMIT")


def _resolve(batch: Sequence[_Asked], error: Exception | None) -> None:
    """Tell all of *batch* what came of it, not all in one turn of the event loop."""
    if len(batch) > _AT_ONCE:
        asyncio.get_running_loop().call_soon(_resolve, batch[_AT_ONCE:], error)
    for asked in batch[:_AT_ONCE]:
        if asked.done.done():  # nobody waits for it any more
            continue
        if error is None:
            asked.done.set_result(asked.result)
        else:
            asked.done.set_exception(error)


@asynccontextmanager
async def _pooled(database: Database) -> AsyncGenerator[Callable[[list[_Asked]], None], None]:
    """Give what takes operations for PostgreSQL, and carry them out until the context ends."""
    waiting: asyncio.Queue[list[_Asked] | None] = asyncio.Queue()
    async with task_group() as group:
        group.start_soon(_serve, database, waiting)
        try:
            yield waiting.put_nowait
        finally:
            waiting.put_nowait(None)


async def _serve(database: Database, waiting: asyncio.Queue[list[_Asked] | None]) -> None:
    asked = await waiting.get()
    while asked is not None:
        batch = asked
        while len(batch) < _MOST and not waiting.empty():
            asked = waiting.get_nowait()
            if asked is None:
                break
            batch += asked
        await _committed(database, batch)
        if asked is not None:
            asked = await waiting.get()


async def _committed(database: Database, batch: Sequence[_Asked]) -> None:
    failed = await _tried(database, batch)
    if failed is not None and len(batch) > 1:  # one of them must not cost the others
        for asked in batch:
            _resolve([asked], await _tried(database, [asked]))
    else:
        _resolve(batch, failed)


async def _tried(database: Database, batch: Sequence[_Asked]) -> JournalLost | None:
    try:
        async with database.writing() as connection:
            for asked in batch:
                asked.result = await _asked_of(connection, asked.operation())
    except Exception as error:  # noqa: BLE001 - this task keeps the runs of all
        if not isinstance(error, DatabaseLost | SQLAlchemyError | OSError | JournalLost):
            _log.exception("journal.bug")
        return JournalLost(str(error))
    return None


async def _asked_of(connection: AsyncConnection, operation: Operation[Any]) -> Any:
    try:
        sql, values = next(operation)
        while True:
            found = await connection.exec_driver_sql(_numbered(sql), values)
            rows = found.fetchall() if found.returns_rows else []
            sql, values = operation.send(rows)
    except StopIteration as end:
        return end.value


@cache
def _numbered(sql: str) -> str:
    """Return *sql* as PostgreSQL's driver has it: with ``$1`` and so on."""
    numbers = count(1)
    marked = re.sub(r"\?", lambda _mark: f"${next(numbers)}", sql)
    plain = marked.replace(statements.PLAIN, ' COLLATE "C"')
    return plain.replace(statements.SHARED, "FOR SHARE")
