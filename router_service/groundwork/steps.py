"""Brings a database to the present shape, once, however many processes start at the same time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, MetaData, inspect, text

_LOCK: Final = 7_240_113_905_561
"""A number of our own among PostgreSQL's advisory locks."""


class NewerDatabase(Exception):
    """A newer release has changed this database."""


@dataclass(frozen=True, slots=True)
class Steps:
    """How tables came to be as they are: Alembic's steps in *folder*, the last of them *head*.

    *version* is the table that says which step was the last here; several that keep their tables
    in one database have one each. *begin* writes what stands in new tables at first.
    """

    metadata: MetaData
    folder: Path
    head: str
    version: str
    begin: Callable[[Connection], None] = lambda _connection: None

    def bring_up(self, connection: Connection) -> None:
        """Apply the steps that *connection*'s database lacks, in the transaction it is in.

        One that has no table of these gets them as they are now, at once: so a first start needs no
        Alembic, which takes long to import. On SQLite the transaction is the lock: ``BEGIN
        IMMEDIATE`` began it.

        Raises:
            NewerDatabase: The database has a step that is not known here.
        """
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        version = self.version_of(connection)
        if version == self.head:
            return
        if version is None and not self._are_there(connection):
            self._begin(connection)
            return
        self.upgrade(connection)

    def upgrade(self, connection: Connection, last: str = "head") -> None:
        """Apply the steps that *connection*'s database lacks, one after the other, up to *last*.

        Raises:
            NewerDatabase: The database has a step that is not known here.
        """
        from alembic import command
        from alembic.config import Config
        from alembic.util import CommandError

        settings = Config(attributes={"connection": connection, "version": self.version})
        settings.set_main_option("script_location", str(self.folder).replace("%", "%%"))
        try:
            command.upgrade(settings, last)
        except CommandError as error:
            raise NewerDatabase(f"it was made by a newer release of Lockgate ({error})") from error

    def version_of(self, connection: Connection) -> str | None:
        """Return the last step that was applied, None if there was none."""
        if not inspect(connection).has_table(self.version):
            return None
        found: str | None = connection.scalar(text(f"SELECT version_num FROM {self.version}"))
        return found

    def _are_there(self, connection: Connection) -> bool:
        return not self.metadata.tables.keys().isdisjoint(inspect(connection).get_table_names())

    def _begin(self, connection: Connection) -> None:
        self.metadata.create_all(connection)
        self.begin(connection)
        connection.execute(
            text(
                f"CREATE TABLE {self.version} (version_num VARCHAR(32) NOT NULL, "
                f"CONSTRAINT {self.version}_pkc PRIMARY KEY (version_num))"
            )
        )
        connection.execute(text(f"INSERT INTO {self.version} VALUES (:head)"), {"head": self.head})
