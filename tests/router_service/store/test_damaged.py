"""A row that is not as it was written is passed over: it must not cost what others tell."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from router_service.groundwork.database import opened
from router_service.store.observations import ObservationTable
from router_service.store.steps import STEPS
from tests.router_service.store.scene import FULL, observation, read


@pytest.fixture
def anyio_backend() -> str:
    """SQLAlchemy runs on asyncio alone."""
    return "asyncio"


@pytest.mark.parametrize(
    "damage",
    [
        "features = '{'",
        "features = '5'",
        """features = '{"tokens": "many"}'""",
        "pool = '5'",
        "pool = '[5]'",
        "vector = x'000102'",
        "vector = x'007e007e'",
        "vector = x'007c0000'",
        "vector = 'abc'",
        "quality = 'abc'",
        "cost = 'abc'",
        "at = 'abc'",
    ],
)
async def test_it_is_passed_over_and_the_others_are_read(damage: str, tmp_path: object) -> None:
    async with opened(f"sqlite+aiosqlite:///{tmp_path}/lockgate.db", STEPS) as database:
        table = ObservationTable(database)
        await table.observe([observation("a"), FULL, observation("b")])
        async with database.writing() as connection:
            said = f"UPDATE router_observations SET {damage} WHERE id = 'full'"
            await connection.execute(text(said))

        assert [row.id for row in await read(table)] == ["a", "b"]
        page = await table.since()
        assert (await table.since(page.cursor)).rows == []
        assert [row.id async for row in table.all()] == ["a", "b"]
