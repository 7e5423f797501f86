"""Looks at a database as it is, and leaves it so."""

from __future__ import annotations

from dataclasses import dataclass

import anyio
from sqlalchemy import text
from sqlalchemy.engine import Connection, make_url

from gateway.stores.database.engine import connecting
from gateway.stores.database.migrate import HEAD, STEPS


@dataclass(frozen=True, slots=True)
class Look:
    """What there is; of a database that is yet to be made nothing.

    ``now`` is its clock, in seconds since 1970, ``connections`` how many it takes; None of a file.
    """

    server: str = ""
    revision: str | None = None
    now: float | None = None
    connections: int | None = None

    @property
    def is_current(self) -> bool:
        """Whether it has the present shape."""
        return self.revision == HEAD


def file_of(url: str) -> str | None:
    """Return the file that a database is, None of a server."""
    named = make_url(url)
    return named.database or "" if named.get_backend_name() == "sqlite" else None


async def look(url: str) -> Look | None:
    """Return how the database at *url* is, None: it is a file that is not there yet.

    Raises:
        DatabaseUnusable: It cannot be reached.
    """
    file = file_of(url)
    if file is not None and not await anyio.Path(file).exists():
        return None
    async with connecting(url) as connection:
        return await connection.run_sync(_looked)


def _looked(connection: Connection) -> Look:
    revision = STEPS.version_of(connection)
    if connection.dialect.name == "sqlite":
        version = connection.scalar(text("SELECT sqlite_version()"))
        return Look(f"SQLite {version}", revision)
    return Look(
        f"PostgreSQL {connection.scalar(text('SHOW server_version'))}",
        revision,
        connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())::float8")),
        int(connection.scalar(text("SHOW max_connections")) or 0),
    )
