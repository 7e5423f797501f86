"""The gateway's database: opened with its tables, or looked into as it is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from sqlalchemy import inspect, select
from sqlalchemy.engine import Connection

from gateway.stores.database.migrate import STEPS
from gateway.stores.database.tables import KEYS
from router_service.groundwork import database
from router_service.groundwork.database import (
    Database,
    DatabaseLost,
    DatabaseUnusable,
    connecting,
    is_there,
    refuses,
    unusable,
)
from router_service.groundwork.steps import NewerDatabase

__all__ = [
    "Database",
    "DatabaseLost",
    "DatabaseUnusable",
    "connecting",
    "holds_keys",
    "keys_that_go",
    "opened",
    "read_only",
    "refuses",
]

_OTHER: Final = (
    "its tables are not those of this release; a gateway that starts brings older ones up to date"
)


@asynccontextmanager
async def opened(url: str, *, pool: int = 5) -> AsyncGenerator[Database, None]:
    """Open the database at *url* and bring it to the present shape; leaving closes it.

    Raises:
        DatabaseUnusable: It cannot be reached or written, or a newer release has changed it.
    """
    async with database.opened(url, STEPS, pool=pool) as it:
        yield it


@asynccontextmanager
async def read_only(url: str) -> AsyncGenerator[Database, None]:
    """Open the database at *url* to be read as it is: it is neither made nor changed.

    Raises:
        DatabaseUnusable: There is none, it cannot be reached, or another release has left it.
    """
    async with database.as_it_is(url) as it:
        try:
            async with it.reading() as connection:
                version = await connection.run_sync(STEPS.version_of)
        except DatabaseLost as error:
            raise unusable(url, error) from error
        if version != STEPS.head:
            raise unusable(url, NewerDatabase(_OTHER))
        yield it


async def holds_keys(url: str) -> bool:
    """Return whether the database at *url* has keys, revoked ones too; it is left as it is.

    Raises:
        DatabaseUnusable: It cannot be reached.
    """
    if not await is_there(url):
        return False
    async with connecting(url) as connection:
        return await connection.run_sync(_holds_keys)


async def keys_that_go(url: str) -> list[tuple[str, int]]:
    """Return the keys of the database at *url* that expire, and when; it is left as it is.

    Raises:
        DatabaseUnusable: It cannot be reached.
    """
    if not await is_there(url):
        return []
    async with connecting(url) as connection:
        return await connection.run_sync(_keys_that_go)


def _keys_that_go(connection: Connection) -> list[tuple[str, int]]:
    looked = inspect(connection)
    if not looked.has_table(KEYS.name):
        return []
    if KEYS.c.expires.name not in {column["name"] for column in looked.get_columns(KEYS.name)}:
        return []  # of an older release
    asked = select(KEYS.c.name, KEYS.c.expires).where(
        KEYS.c.revoked_at.is_(None), KEYS.c.expires.is_not(None)
    )
    return [(name, expires) for name, expires in connection.execute(asked.order_by(KEYS.c.expires))]


def _holds_keys(connection: Connection) -> bool:
    if not inspect(connection).has_table(KEYS.name):
        return False
    return connection.scalar(select(KEYS.c.name).limit(1)) is not None
