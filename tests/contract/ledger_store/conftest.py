from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract.ledger_store.desk import Desk, opened
from tests.services.valkey import Valkey


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio, which the client of Redis needs; the clock of the tests is their own."""
    return "asyncio"


@pytest.fixture(params=["memory", "valkey"])
async def desk(request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    """Take a new pool of each kind of ledger."""
    server: Valkey | None = None
    if request.param == "valkey":
        server = request.getfixturevalue("valkey")
    async with opened(server) as pool:
        yield pool
