from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import IntegrityError

from gateway.stores.database import migrate
from gateway.stores.database.engine import (
    Database,
    DatabaseLost,
    DatabaseUnusable,
    holds_keys,
    opened,
)
from gateway.stores.database.tables import METADATA
from tests.architecture.source import ROOT
from tests.patience import PATIENCE_S

OPENS = """
import anyio, sys
from gateway.stores.database.engine import opened
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.sought import Sought
from tests.gateway.stores.database.scene import ledger_row

async def main(url, name):
    async with opened(url) as database:
        ledger = LedgerTable(database)
        for number in range(20):
            await ledger.write([ledger_row(f"{name}-{number}.0")])
        print(len(await ledger.rows(Sought(key="app"))))

anyio.run(main, *sys.argv[1:])
"""


def _differences(connection: Connection) -> object:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return compare_metadata(context, METADATA)


def _shape(connection: Connection) -> object:
    """Return all that a database says of its tables, and what stands in them at first."""
    found = inspect(connection)
    kinds: dict[str, object] = {}
    for table in sorted(found.get_table_names()):
        columns = [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table)]
        indexes = sorted((i["name"] or "", i["column_names"]) for i in found.get_indexes(table))
        checks = sorted(str(one["sqltext"]) for one in found.get_check_constraints(table))
        unique = sorted(str(one["column_names"]) for one in found.get_unique_constraints(table))
        key = found.get_pk_constraint(table)["constrained_columns"]
        rows = list(map(tuple, connection.execute(text(f"SELECT * FROM {table}"))))
        kinds[table] = (columns, indexes, checks, unique, key, rows)
    return kinds


def _stepwise(connection: Connection) -> None:
    METADATA.drop_all(connection)
    connection.execute(text("DROP TABLE alembic_version"))
    migrate.STEPS.upgrade(connection)


async def test_the_steps_lead_to_the_tables_that_the_code_knows_and_begins_with(
    database_url: str,
) -> None:
    async with opened(database_url) as database:
        async with database.writing() as connection:
            begun = await connection.run_sync(_shape)
            await connection.run_sync(_stepwise)
        async with database.reading() as connection:
            assert await connection.run_sync(_differences) == []
            assert await connection.run_sync(migrate.STEPS.version_of) == migrate.HEAD
            assert await connection.run_sync(_shape) == begun


async def test_a_database_that_is_opened_again_has_what_it_had(database_url: str) -> None:
    for expected in (0, 1):
        async with opened(database_url) as database:
            async with database.writing() as connection:
                number = await connection.scalar(text("SELECT number FROM changes"))
                await connection.execute(text("UPDATE changes SET number = number + 1"))
            assert number == expected


def test_two_processes_that_start_at_once_share_a_new_database(database_url: str) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", OPENS, database_url, name],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    ended = [(process.communicate(timeout=PATIENCE_S), process.returncode) for process in started]

    assert [code for _, code in ended] == [0, 0], ended
    assert max(int(out) for (out, _), _ in ended) == 40


async def _fail_half_way(database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(text("UPDATE changes SET number = 7"))
        raise ZeroDivisionError


async def test_what_failed_half_way_is_not_there(database_url: str) -> None:
    async with opened(database_url) as database:
        with pytest.raises(ZeroDivisionError):
            await _fail_half_way(database)
        async with database.reading() as connection:
            assert await connection.scalar(text("SELECT number FROM changes")) == 0


async def test_a_database_of_a_newer_release_is_refused(database_url: str) -> None:
    async with opened(database_url) as database, database.writing() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = 'v9999'"))

    with pytest.raises(DatabaseUnusable, match="newer release"):
        async with opened(database_url):
            pass


@pytest.mark.parametrize(
    "url",
    [
        "sqlite+aiosqlite:////no/such/folder/x.db",
        "sqlite+aiosqlite:////dev/null",
        "postgresql+asyncpg://me:hidden-word@127.0.0.1:1/x",
    ],
)
async def test_why_it_cannot_be_opened_is_said_without_its_password(url: str) -> None:
    with pytest.raises(DatabaseUnusable) as caught:
        async with opened(url):
            pass

    assert "hidden-word" not in str(caught.value)
    assert len(str(caught.value)) > len(url)


async def test_a_connection_that_is_lost_is_told_as_lost(database_url: str) -> None:
    async with opened(database_url) as database:
        with pytest.raises(DatabaseLost):
            async with database.reading() as connection:
                await connection.execute(text("SELECT * FROM not_there"))
        async with database.reading() as connection:
            assert await connection.scalar(text("SELECT number FROM changes")) == 0


def test_looking_for_keys_leaves_everything_as_it_is(database_url: str, tmp_path: Path) -> None:
    assert not anyio.run(holds_keys, database_url)
    assert list(tmp_path.iterdir()) == []


def test_every_step_is_known_and_the_last_is_the_head() -> None:
    steps = sorted((Path(migrate.__file__).parent / "migrations/versions").glob("v*.py"))

    assert steps[-1].stem.startswith(migrate.HEAD)


async def test_what_was_to_be_written_is_in_no_error(database_url: str) -> None:
    insert = (
        "INSERT INTO runs (owner, run, body, state, background, token, until_ms, created_ms,"
        " written_ms, record, standing) VALUES ('o', 'r', 'b', 's', 0, 0, 0, 0, 0, :record, '{}')"
    )

    async def write(database: Database) -> None:
        async with database.writing() as connection:
            await connection.execute(text(insert), {"record": "a prompt"})

    async with opened(database_url) as database:
        await write(database)
        with pytest.raises(IntegrityError) as told:
            await write(database)
    assert "INSERT INTO runs" in str(told.value)
    assert "a prompt" not in str(told.value)
