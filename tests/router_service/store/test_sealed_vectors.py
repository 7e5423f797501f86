"""Vectors that are encrypted: who has only the database reads none of them."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from router_service.groundwork.database import opened
from router_service.store.observations import ObservationTable
from router_service.store.rows import packed
from router_service.store.steps import STEPS
from router_service.store.tables import OBSERVATIONS
from tests.router_service.store.scene import FULL, observation, read, tabled

OLD, NEW = b"o" * 32, b"n" * 32
assert FULL.vector is not None
VECTOR = packed(FULL.vector.values)


async def _kept(url: str) -> list[bytes]:
    async with opened(url, STEPS) as database, database.reading() as connection:
        return list((await connection.execute(select(OBSERVATIONS.c.vector))).scalars())


async def test_a_vector_is_in_no_database_as_it_is(database_url: str) -> None:
    async with tabled(database_url, [NEW]) as table:
        await table.observe([FULL])
        assert await read(table) == [FULL]
    (kept,) = await _kept(database_url)
    async with tabled(database_url) as plain:
        await plain.observe([FULL])
    (bare,) = await _kept(database_url)

    assert VECTOR not in kept
    assert bare == VECTOR


async def test_an_older_key_still_opens(database_url: str) -> None:
    async with tabled(database_url, [OLD]) as table:
        await table.observe([FULL])
    async with tabled(database_url, [NEW, OLD]) as table:
        assert await read(table) == [FULL]


async def test_without_its_key_a_row_is_read_without_its_vector(database_url: str) -> None:
    async with tabled(database_url, [OLD]) as table:
        await table.observe([FULL, observation()])
    async with tabled(database_url, [NEW]) as table:
        page = await table.since()

    assert list(page.rows) == [FULL.model_copy(update={"vector": None}), observation()]
    assert page.sealed == 1


@pytest.mark.parametrize("column", ["id", "encoder"])
async def test_a_vector_that_was_moved_elsewhere_opens_nowhere(
    database_url: str, column: str
) -> None:
    async with opened(database_url, STEPS) as database:
        table = ObservationTable(database, [NEW])
        await table.observe([FULL])
        async with database.writing() as connection:
            await connection.execute(update(OBSERVATIONS).values({column: "other"}))
        page = await table.since()

    assert page.rows[0].vector is None
    assert page.sealed == 1
