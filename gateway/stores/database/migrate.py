"""Brings a database to the present shape, once, however many processes start at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

HEAD: Final = "v0001"
"""The last step; a test holds it against the modules in ``migrations/versions``."""

_STEPS: Final = Path(__file__).parent / "migrations"
_LOCK: Final = 7_240_113_905_561
"""A number of our own among PostgreSQL's advisory locks."""


class NewerDatabase(Exception):
    """A newer release has changed this database."""


def bring_up(connection: Connection) -> None:
    """Apply the steps that *connection*'s database lacks, in the transaction it is in.

    On SQLite that transaction is the lock, for it began with ``BEGIN IMMEDIATE``.

    Raises:
        NewerDatabase: The database has a step that is not known here.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if version_of(connection) == HEAD:
        return
    from alembic import command  # it takes long to import, and most starts need none of it
    from alembic.config import Config
    from alembic.util import CommandError

    settings = Config(attributes={"connection": connection})
    settings.set_main_option("script_location", str(_STEPS).replace("%", "%%"))
    try:
        command.upgrade(settings, "head")
    except CommandError as error:
        raise NewerDatabase(f"it was made by a newer release of Lockgate ({error})") from error


def version_of(connection: Connection) -> str | None:
    """Return the last step that was applied, None if there was none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found
