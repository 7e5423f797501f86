from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.stores.database.engine import opened
from gateway.stores.journal.apart import ApartJournal
from gateway.stores.journal.journal import Journal
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.seal import Seal
from gateway.stores.journal.sealed import SealedJournal
from gateway.stores.journal.sql import sql_journal
from tests.contract.journal.desk import Clock
from tests.services.postgres import Postgres
from tests.services.valkey import Valkey


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio, which databases and the client of Redis need."""
    return "asyncio"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sealed", "apart", "valkey", "sqlite", "postgresql"])
async def journal(
    request: pytest.FixtureRequest, clock: Clock, tmp_path: Path
) -> AsyncIterator[Journal]:
    """Take a new journal of each kind, whose time is *clock*'s."""
    match request.param:
        case "memory":
            yield MemoryJournal(clock)
        case "sealed":
            yield SealedJournal(MemoryJournal(clock), Seal([b"k" * 32]))
        case "apart":
            both = MemoryJournal(clock), MemoryJournal(clock)
            yield ApartJournal(*both, lambda owner: owner == "key")
        case "valkey":
            from redis.asyncio import Redis

            from gateway.stores.journal.redis import RedisJournal

            server: Valkey = request.getfixturevalue("valkey")
            client = Redis.from_url(server.url)
            await client.flushall()
            yield RedisJournal(client, "test", clock=clock)
            await client.aclose()
        case kind:
            postgres: Postgres | None = None
            if kind == "postgresql":
                postgres = request.getfixturevalue("postgres")
            path = tmp_path / "journal.db"
            url = postgres.database() if postgres else f"sqlite+aiosqlite:///{path}"
            async with opened(url) as database, sql_journal(database, url, clock) as kept:
                yield kept
