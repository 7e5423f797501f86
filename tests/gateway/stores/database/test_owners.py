from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.policy.callers import recorded
from gateway.stores.database.engine import opened
from gateway.stores.database.owners import OwnerTables
from gateway.stores.database.records import BudgetRecord, KeyRecord, NotThere, Taken

APP = KeyRecord("app", "lg-abc", "hmac-sha256:01", team="research", models=("a", "b*"), rpm=5)
DAY = BudgetRecord("key", "app", "day", 10**12)
MONTH = BudgetRecord("team", "research", "month", 5 * 10**13, "Europe/Berlin")


async def test_a_key_is_read_as_it_was_written(database_url: str) -> None:
    async with opened(database_url) as database:
        owners = OwnerTables(database)
        made = await owners.add_key(APP, [DAY])

        assert await owners.keys() == [made]
        assert (made.models, made.techniques, made.revoked_at) == (("a", "b*"), None, None)
        assert made.created_at > 0
        assert await owners.budgets() == [DAY]


async def test_a_key_is_kept_apart_as_it_is_said(database_url: str) -> None:
    async with opened(database_url) as database:
        owners = OwnerTables(database)
        made = await owners.add_key(replace(APP, journal="memory"))
        assert made.journal == "memory"
        assert recorded(made, ()).kept_apart
        await owners.change_key("app", {"journal": None})
        (changed,) = await owners.keys()
        assert changed.journal is None
        assert not recorded(changed, ()).kept_apart


async def test_what_has_changed_is_told_once_with_all_budgets_that_hold(database_url: str) -> None:
    async with opened(database_url) as database:
        owners = OwnerTables(database)
        await owners.add_team("research")
        await owners.add_key(APP)
        other = await owners.add_key(KeyRecord("other", "lg-def", "hmac-sha256:02"))
        first = await owners.changes(0)
        await owners.add_budget(MONTH)
        second = await owners.changes(first.number)
        await owners.add_budget(DAY)
        third = await owners.changes(second.number)

        assert {key.name for key in first.keys} == {"app", "other"}
        assert ([key.name for key in second.keys], list(second.budgets)) == (["app"], [MONTH])
        assert {budget.kind for budget in third.budgets} == {"key", "team"}
        assert other not in third.keys
        assert (await owners.changes(third.number)).keys == ()


async def test_every_change_of_a_budget_is_told(database_url: str) -> None:
    async with opened(database_url) as database:
        owners = OwnerTables(database)
        await owners.add_key(APP, [DAY])
        before = (await owners.changes(0)).number
        await owners.change_budget(BudgetRecord("key", "app", "day", 7, "Asia/Tokyo"))
        changed = await owners.changes(before)
        await owners.remove_budget(DAY)
        removed = await owners.changes(changed.number)

        assert [(budget.cap, budget.tz) for budget in changed.budgets] == [(7, "Asia/Tokyo")]
        assert ([key.name for key in removed.keys], list(removed.budgets)) == (["app"], [])


async def test_a_key_that_is_revoked_is_told_of_and_cannot_be_changed(database_url: str) -> None:
    async with opened(database_url) as database:
        owners = OwnerTables(database)
        await owners.add_key(APP)
        seen = (await owners.changes(0)).number
        await owners.revoke_key("app")

        (told,) = (await owners.changes(seen)).keys
        assert told.revoked_at is not None
        for attempt in (owners.revoke_key("app"), owners.change_key("app", {"rpm": 1})):
            with pytest.raises(NotThere):
                await attempt
        with pytest.raises(Taken, match="'app'"):
            await owners.add_key(KeyRecord("app", "lg-new", "hmac-sha256:03"))


async def test_what_is_there_already_or_not_at_all_is_said(database_url: str) -> None:
    async with opened(database_url) as database:
        owners = OwnerTables(database)
        await owners.add_team("research", [MONTH])
        await owners.add_key(APP, [DAY])
        for attempt in (
            owners.add_team("research"),
            owners.add_budget(DAY),
            owners.add_key(KeyRecord("again", "lg-abc", APP.hash)),
            owners.remove_team("research"),
        ):
            with pytest.raises(Taken):
                await attempt
        for missing in (
            owners.remove_team("none"),
            owners.change_budget(BudgetRecord("key", "none", "day", 1)),
            owners.remove_budget(BudgetRecord("key", "app", "week", 1)),
            owners.change_key("none", {"rpm": 1}),
        ):
            with pytest.raises(NotThere):
                await missing
        assert len(await owners.keys()) == 1


async def test_a_team_goes_with_its_budgets_when_its_keys_are_gone(database_url: str) -> None:
    async with opened(database_url) as database:
        owners = OwnerTables(database)
        await owners.add_team("research", [MONTH])
        await owners.add_key(APP)
        await owners.revoke_key("app")

        await owners.remove_team("research")

        assert (await owners.teams(), await owners.budgets()) == ([], [])
