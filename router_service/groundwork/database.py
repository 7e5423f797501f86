"""The one connection pool of a process to its database: a file of SQLite, or PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from time import sleep
from typing import Any, Final

import anyio
from sqlalchemy import event
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    SQLAlchemyError,
)
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from router_service.groundwork.steps import NewerDatabase, Steps

_BEGINS: Final = "lockgate_begins"
"""The option of a connection that says how its transactions begin on SQLite."""

_BUSY_MS: Final = 10_000
_TRIES: Final = 50
_WRONG: Final = ("22", "23")
"""Classes of PostgreSQL's errors: data, and constraints."""


class DatabaseUnusable(Exception):
    """The database cannot be opened; the message says why, without its password."""


class DatabaseLost(Exception):
    """The database does not answer now."""


class Database:
    """A database that is open. One transaction at a time writes to SQLite; others wait for it."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite."""
        return self._engine.dialect.name == "sqlite"

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncConnection, None]:
        """Give a connection to read by.

        Raises:
            DatabaseLost: There is none.
        """
        with _told():
            async with self._engine.connect() as plain:
                yield await plain.execution_options(**{_BEGINS: "BEGIN"})

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[AsyncConnection, None]:
        """Give a connection to write by: all of it at the end, nothing after an error.

        Raises:
            DatabaseLost: There is none, or it was lost on the way.
        """
        with _told():
            async with self._engine.begin() as connection:
                yield connection


@contextmanager
def _told() -> Iterator[None]:
    """Tell of every failure that lies in the database and not in what was asked of it."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:  # without a connection asyncpg says it plainly
        if refuses(error):
            raise
        told = error.orig if isinstance(error, DBAPIError) else error
        raise DatabaseLost(str(told) or type(told).__name__) from error


def refuses(error: Exception) -> bool:
    """Return whether *error* says that the values are wrong: it would be the same again."""
    if not isinstance(error, DBAPIError) or error.connection_invalidated:
        return False
    if isinstance(error, IntegrityError | DataError):
        return True
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return str(state)[:2] in _WRONG
    cause = error.orig and error.orig.__cause__
    return isinstance(error, InterfaceError) and isinstance(cause, ValueError)


@asynccontextmanager
async def opened(url: str, steps: Steps, *, pool: int = 5) -> AsyncGenerator[Database, None]:
    """Open the database at *url* and bring it up by *steps*; leaving closes it.

    Raises:
        DatabaseUnusable: It cannot be reached or written, or a newer release has changed it.
    """
    engine = _engine(url, pool)
    try:
        try:
            await _prepare(engine, steps)
        except (SQLAlchemyError, sqlite3.Error, OSError, NewerDatabase) as error:
            raise unusable(url, error) from error
        yield Database(engine)
    finally:
        await engine.dispose()


@asynccontextmanager
async def as_it_is(url: str) -> AsyncGenerator[Database, None]:
    """Give the database at *url* to be read: it is neither made nor changed, nor reached yet.

    Raises:
        DatabaseUnusable: It is a file that is not there.
    """
    if not await is_there(url):
        raise unusable(url, FileNotFoundError("there is no such file"))
    engine = _engine(url, 1)
    try:
        yield Database(engine)
    finally:
        await engine.dispose()


async def is_there(url: str) -> bool:
    """Return False of a file that is yet to be made."""
    named = make_url(url)
    is_file = named.get_backend_name() == "sqlite"
    return not is_file or await anyio.Path(named.database or "").exists()


@asynccontextmanager
async def connecting(url: str) -> AsyncGenerator[AsyncConnection, None]:
    """Connect to the database at *url* to read what is there; it is left as it is.

    Raises:
        DatabaseUnusable: It cannot be reached.
    """
    engine = _engine(url, 1)
    try:
        async with engine.connect() as plain:
            yield await plain.execution_options(**{_BEGINS: "BEGIN"})
    except (SQLAlchemyError, OSError) as error:
        raise unusable(url, error) from error
    finally:
        await engine.dispose()


def unusable(url: str, error: Exception) -> DatabaseUnusable:
    """Return what says that of the database at *url*, and why: *error*."""
    told = error.orig if isinstance(error, DBAPIError) else error
    return DatabaseUnusable(f"{make_url(url).render_as_string(hide_password=True)}: {told}")


def _engine(url: str, pool: int) -> AsyncEngine:
    if not url.startswith("sqlite"):
        return create_async_engine(
            url,
            pool_size=pool,
            max_overflow=0,
            pool_timeout=5,
            pool_pre_ping=True,
            connect_args={"timeout": 5, "command_timeout": 30},
            hide_parameters=True,  # prompts are among them, and what goes wrong is logged
        )
    engine = create_async_engine(
        url, pool_size=pool, max_overflow=0, pool_timeout=5, hide_parameters=True
    )
    event.listen(engine.sync_engine, "connect", _set_up)
    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def _set_up(connection: Any, _record: object) -> None:
    """Set up a connection to SQLite; ``_begin`` begins its transactions, the driver none."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


def _begin(connection: Connection) -> None:
    """Begin a transaction; one that writes says so first, so that it never has to give way."""
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGINS, "BEGIN IMMEDIATE"))


async def _prepare(engine: AsyncEngine, steps: Steps) -> None:
    if engine.dialect.name == "sqlite":
        await anyio.to_thread.run_sync(_write_ahead, engine.url.database or "")
    async with engine.begin() as connection:
        await connection.run_sync(steps.bring_up)


def _write_ahead(path: str) -> None:
    """Have SQLite write ahead, so that who reads and who writes do not wait for each other.

    Several processes may start at once, and SQLite does not wait for a lock on this.
    """
    with closing(sqlite3.connect(path, timeout=_BUSY_MS / 1000)) as connection:
        for attempt in range(_TRIES):
            try:
                connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:
                if attempt == _TRIES - 1:
                    raise
                sleep(0.1)
            else:
                return
