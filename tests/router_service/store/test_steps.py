"""The tables, alone in a database and beside the gateway's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, MetaData, text

from gateway.stores.database.engine import opened as gateway_opened
from gateway.stores.database.migrate import STEPS as GATEWAY
from router_service.groundwork.database import Database, DatabaseUnusable, opened
from router_service.groundwork.steps import Steps
from router_service.store import steps
from router_service.store.observations import ObservationTable
from router_service.store.steps import STEPS
from router_service.store.tables import CHANGES, METADATA
from tests.router_service.store.scene import FULL, read


def _own(name: str | None, kind: str, _parents: object) -> bool:
    return kind != "table" or (name or "").startswith("router_")


def _differences(connection: Connection) -> object:
    opts = {"compare_type": True, "include_name": _own, "version_table": STEPS.version}
    return compare_metadata(MigrationContext.configure(connection, opts=opts), METADATA)


def _stepwise(connection: Connection) -> None:
    METADATA.drop_all(connection)
    connection.execute(text(f"DROP TABLE {STEPS.version}"))
    STEPS.upgrade(connection)


async def test_the_steps_lead_to_the_tables_that_the_code_knows(database_url: str) -> None:
    async with opened(database_url, STEPS) as database:
        async with database.writing() as connection:
            begun = (await connection.execute(CHANGES.select())).all()
            await connection.run_sync(_stepwise)
        async with database.reading() as connection:
            assert await connection.run_sync(_differences) == []
            assert await connection.run_sync(STEPS.version_of) == STEPS.head
            assert (await connection.execute(CHANGES.select())).all() == begun
        await ObservationTable(database).observe([FULL])
        assert await read(ObservationTable(database)) == [FULL]


def test_every_step_is_known_and_the_last_is_the_head() -> None:
    found = sorted((Path(steps.__file__).parent / "migrations/versions").glob("v*.py"))

    assert found[-1].stem.startswith(steps.HEAD)


Opens = Callable[[str], AbstractAsyncContextManager[Database]]


def _router(url: str) -> AbstractAsyncContextManager[Database]:
    return opened(url, STEPS)


@pytest.mark.parametrize("order", [(_router, gateway_opened), (gateway_opened, _router)])
async def test_they_live_beside_the_gateways_whoever_comes_first(
    database_url: str, order: tuple[Opens, Opens]
) -> None:
    for _ in range(2):
        for opens in order:
            async with opens(database_url):
                pass

    async with opened(database_url, STEPS) as database:
        async with database.reading() as connection:
            assert await connection.run_sync(STEPS.version_of) == STEPS.head
            assert await connection.run_sync(GATEWAY.version_of) == GATEWAY.head
        table = ObservationTable(database)
        await table.observe([FULL])
        assert await read(table) == [FULL]


def test_no_table_is_called_like_one_of_the_gateways() -> None:
    def names(of: Steps) -> set[str]:
        tables: MetaData = of.metadata
        return {*tables.tables, of.version}

    assert names(STEPS) & names(GATEWAY) == set()


async def test_tables_of_a_newer_release_are_refused(database_url: str) -> None:
    async with opened(database_url, STEPS) as database, database.writing() as connection:
        await connection.execute(text(f"UPDATE {STEPS.version} SET version_num = 'v9999'"))

    with pytest.raises(DatabaseUnusable, match="newer release"):
        async with opened(database_url, STEPS):
            pass
