"""What cannot be read or written is told as what it is, and costs nobody else anything."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from redis.asyncio import Redis
from sqlalchemy import text

from bench.ports import free_port
from gateway.stores.database.engine import opened
from gateway.stores.journal.journal import Journal, JournalLost, Write
from gateway.stores.journal.redis import RedisJournal
from gateway.stores.journal.sql import sql_journal
from tests.contract.journal.desk import claimed, run, step
from tests.services.valkey import Valkey

pytestmark = pytest.mark.anyio


async def test_a56_a_record_that_is_corrupt_is_told_and_the_others_are_read(
    database_url: str,
) -> None:
    async with opened(database_url) as database, sql_journal(database, database_url) as journal:
        for name in ("sound", "corrupt"):
            await claimed(journal, run(name))
        async with database.writing() as connection:
            await connection.execute(text("UPDATE runs SET record = '{' WHERE run = 'corrupt'"))
        found: dict[str, object] = {}

        async def find(name: str) -> None:
            try:
                found[name] = await journal.find(run(name).name)
            except JournalLost as error:
                found[name] = error

        async with anyio.create_task_group() as group:
            for name in ("sound", "corrupt"):
                group.start_soon(find, name)
        assert isinstance(found["corrupt"], JournalLost)
        assert getattr(found["sound"], "record", None) == run("sound")


async def test_a56_a_database_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/journal.db"
    async with opened(url) as database, sql_journal(database, url) as journal:
        hold = (await claimed(journal, run())).hold
        async with database.writing() as connection:
            await connection.execute(text("DROP TABLE steps"))
        with pytest.raises(JournalLost):
            await journal.write(Write(hold, (step(),)))


async def test_a_redis_that_is_away_is_told() -> None:
    client = Redis.from_url(f"redis://127.0.0.1:{free_port()}/0")
    with pytest.raises(JournalLost):
        await claimed(RedisJournal(client, "test"), run())
    await client.aclose()


async def test_a_redis_that_was_emptied_has_no_claim_of_anybody(valkey: Valkey) -> None:
    client = Redis.from_url(valkey.url)
    journal: Journal = RedisJournal(client, "emptied")
    hold = (await claimed(journal, run())).hold
    await client.flushall()
    assert list(await journal.renew([hold], 1000)) == [hold]
    await client.aclose()


async def test_what_no_record_can_hold_costs_no_other_run_anything(database_url: str) -> None:
    async with opened(database_url) as database, sql_journal(database, database_url) as journal:
        good, bad = [(await claimed(journal, run(name))).hold for name in ("good", "bad")]
        failed: list[JournalLost] = []

        async def write(write: Write) -> None:
            try:
                await journal.write(write)
            except JournalLost as error:
                failed.append(error)

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for change in (Write(bad, (step(cost=2**64),)), Write(good, (step(),))):
                    group.start_soon(write, change)
            assert len(failed) == 1
            found = await journal.find(run("good").name)
            assert found is not None
            assert found.steps == (step(),)
            await journal.write(Write(bad, (step(cost=1),)))
