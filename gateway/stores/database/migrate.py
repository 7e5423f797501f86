"""Brings a database to the present shape, once, however many processes start at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from gateway.stores.database.tables import CHANGES, METADATA

HEAD: Final = "v0005"
"""The last step; a test holds it against the modules in ``migrations/versions``."""

_STEPS: Final = Path(__file__).parent / "migrations"
_LOCK: Final = 7_240_113_905_561
"""A number of our own among PostgreSQL's advisory locks."""


class NewerDatabase(Exception):
    """A newer release has changed this database."""


def bring_up(connection: Connection) -> None:
    """Apply the steps that *connection*'s database lacks, in the transaction it is in.

    An empty one gets the tables as they are now, at once: so a first start needs no Alembic, which
    takes long to import. On SQLite the transaction is the lock: ``BEGIN IMMEDIATE`` began it.

    Raises:
        NewerDatabase: The database has a step that is not known here.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    version = version_of(connection)
    if version == HEAD:
        return
    if version is None and not inspect(connection).get_table_names():
        _begin(connection)
        return
    upgrade(connection)


def _begin(connection: Connection) -> None:
    METADATA.create_all(connection)
    connection.execute(CHANGES.insert().values(id=1, number=0))
    connection.execute(
        text(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
    )
    connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})


def upgrade(connection: Connection) -> None:
    """Apply the steps that *connection*'s database lacks, one after the other.

    Raises:
        NewerDatabase: The database has a step that is not known here.
    """
    from alembic import command
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
