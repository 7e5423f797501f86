from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from structlog.testing import capture_logs

from gateway.policy import key_book
from gateway.policy.key_book import KeyBook
from gateway.policy.keys import OPEN, Caller, digest
from gateway.stores.changes import LocalChanges
from gateway.stores.database.engine import Database, DatabaseLost, opened
from gateway.stores.database.owners import OwnerTables
from gateway.stores.database.records import BudgetRecord, Changed, KeyRecord
from techniques.core.errors import Unauthenticated, Unavailable
from tests.patience import NEVER_S, PATIENCE_S, until

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


def key(name: str = "app", text: str = "lg-app") -> KeyRecord:
    return KeyRecord(name, text[:9], digest("s", text))


class Owners(OwnerTables):
    """Counts how often it is asked for what has changed, and may be lost."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.looks = 0
        self.lost = False

    async def changes(self, since: int) -> Changed:
        self.looks += 1
        if self.lost:
            raise DatabaseLost("gone")
        return await super().changes(since)


@asynccontextmanager
async def book(
    url: str, *configured: tuple[str, Caller], secret: str | None = "s"
) -> AsyncGenerator[tuple[KeyBook, Owners]]:
    async with opened(url) as database:
        owners = Owners(database)
        made = KeyBook(secret, configured, owners)
        await made.refresh()
        yield made, owners


def sent(text: str) -> dict[str, str]:
    return {"x-api-key": text}


async def refused(book: KeyBook, text: str) -> bool:
    try:
        await book.caller(sent(text))
    except Unauthenticated:
        return True
    return False


async def test_without_any_key_everyone_is_let_in_until_one_is_made(database_url: str) -> None:
    async with book(database_url) as (keys, owners):
        assert await keys.caller({}) is OPEN
        assert await keys.caller(sent("anything")) is OPEN
        await owners.add_key(key())

        assert (await keys.caller(sent("lg-app"))).name == "app"
        assert await refused(keys, "anything")
        assert await refused(keys, "")


async def test_that_the_first_key_closes_a_gateway_is_logged_once(database_url: str) -> None:
    async with book(database_url) as (keys, owners):
        with capture_logs() as logs:
            await owners.add_key(key())
            await keys.refresh()
            await owners.add_key(key("other", "lg-other"))
            await keys.refresh()
        assert [line["event"] for line in logs] == ["keys.closed"]
    with capture_logs() as logs:
        async with book(database_url):
            pass
    assert logs == []


async def test_who_made_the_first_key_of_a_gateway_without_a_secret_is_told(
    database_url: str,
) -> None:
    async with book(database_url, secret=None) as (keys, owners):
        assert await keys.caller({}) is OPEN
        with capture_logs() as logs:
            await owners.add_key(key())
            with pytest.raises(Unavailable, match="LOCKGATE_KEY_SECRET"):
                await keys.caller(sent("lg-app"))
        with pytest.raises(Unauthenticated):
            await keys.caller({})
    assert "LOCKGATE_KEY_SECRET" in logs[0]["reason"]


async def test_a_gateway_that_had_keys_is_never_open_again(database_url: str) -> None:
    async with book(database_url) as (keys, owners):
        await owners.add_key(key())
        await owners.revoke_key("app")
        await keys.refresh()
        assert await refused(keys, "lg-app")
    async with book(database_url) as (keys, _):
        assert await refused(keys, "lg-app")


async def test_a_key_that_was_just_made_elsewhere_works_at_once(database_url: str) -> None:
    async with book(database_url, (digest("s", "file"), Caller("file"))) as (keys, owners):
        await owners.add_key(key(), [BudgetRecord("key", "app", "day", 5)])

        caller = await keys.caller(sent("lg-app"))

        assert (caller.name, caller.budgeted) == ("app", True)
        assert [budget.cap for budget in caller.budgets] == [5]
        assert (await keys.caller(sent("file"))).name == "file"


async def test_a_key_that_was_rotated_is_valid_by_its_new_text_alone(database_url: str) -> None:
    async with book(database_url) as (keys, owners):
        await owners.add_key(key())
        await keys.refresh()
        await owners.change_key("app", {"hash": digest("s", "lg-new"), "rpm": 7})

        assert (await keys.caller(sent("lg-new"))).rpm == 7
        assert await refused(keys, "lg-app")


async def test_everywhere_a_revoked_key_is_refused_within_a_second(database_url: str) -> None:
    async with book(database_url) as (here, owners), book(database_url) as (there, _):
        await owners.add_key(key())
        await here.refresh()
        await there.refresh()
        async with anyio.create_task_group() as group:
            group.start_soon(there.run, LocalChanges())
            await owners.revoke_key("app")
            with anyio.fail_after(PATIENCE_S):
                while not await refused(there, "lg-app"):  # noqa: ASYNC110 - it is found out by asking
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    assert key_book._EVERY_S < 1.0  # how often all look, beside what a busy machine adds


async def test_who_is_told_of_a_change_does_not_wait(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_book, "_EVERY_S", NEVER_S)
    changes = LocalChanges()
    async with book(database_url) as (keys, owners), anyio.create_task_group() as group:
        await owners.add_key(key())
        await keys.refresh()
        group.start_soon(keys.run, changes)
        await anyio.wait_all_tasks_blocked()
        before = owners.looks
        await owners.revoke_key("app")
        await changes.publish()
        await until(lambda: owners.looks > before)
        group.cancel_scope.cancel()


async def test_guessing_keys_is_no_load_on_the_database(database_url: str) -> None:
    async with book(database_url, (digest("s", "file"), Caller("file"))) as (keys, owners):
        before, began = owners.looks, anyio.current_time()
        for _ in range(300):
            assert await refused(keys, "the same")
        same, same_s = owners.looks - before, anyio.current_time() - began
        with anyio.fail_after(PATIENCE_S):
            results = [await refused(keys, f"guess-{number}") for number in range(1000)]
        took_s = anyio.current_time() - began

        assert all(results)
        assert same <= 2 + same_s / key_book._EVERY_S
        assert owners.looks - before <= (1 + took_s) * key_book._PER_SECOND + 2


async def test_many_who_come_with_one_new_key_share_one_look(database_url: str) -> None:
    async with book(database_url) as (keys, owners):
        await owners.add_key(key("other", "lg-other"))
        await keys.refresh()
        await owners.add_key(key())
        before = owners.looks
        names: list[str | None] = []

        async def ask() -> None:
            names.append((await keys.caller(sent("lg-app"))).name)

        async with anyio.create_task_group() as group:
            for _ in range(100):
                group.start_soon(ask)

        assert names == ["app"] * 100
        assert owners.looks - before == 1


async def test_while_the_database_is_lost_known_keys_work_and_others_are_not_judged(
    database_url: str,
) -> None:
    async with book(database_url) as (keys, owners):
        await owners.add_key(key())
        await keys.refresh()
        owners.lost = True

        assert (await keys.caller(sent("lg-app"))).name == "app"
        with pytest.raises(Unavailable):
            await keys.caller(sent("lg-new"))


async def test_an_open_gateway_stays_open_while_the_database_is_lost(database_url: str) -> None:
    async with book(database_url) as (keys, owners):
        owners.lost = True

        assert await keys.caller(sent("anything")) is OPEN


async def test_who_is_configured_may_change_and_who_is_in_the_database_stays(
    database_url: str,
) -> None:
    async with book(database_url, (digest("s", "old"), Caller("file"))) as (keys, owners):
        await owners.add_key(key())
        await keys.refresh()
        assert await refused(keys, "new")

        keys.configure([(digest("s", "new"), Caller("file", rpm=7))])

        assert (await keys.caller(sent("new"))).rpm == 7
        assert (await keys.caller(sent("lg-app"))).name == "app"
        assert await refused(keys, "old")
        await owners.revoke_key("app")
        await keys.refresh()
        assert await refused(keys, "lg-app")


async def test_without_configured_keys_it_is_open_only_where_there_never_was_one(
    database_url: str,
) -> None:
    async with book(database_url, (digest("s", "file"), Caller("file"))) as (keys, owners):
        assert not keys.is_open
        keys.configure([])
        assert keys.is_open
        keys.configure([(digest("s", "file"), Caller("file"))])
        assert not keys.is_open
        await owners.add_key(key())
        await owners.revoke_key("app")
        await keys.refresh()

        keys.configure([])

        assert not keys.is_open
        assert await refused(keys, "file")
