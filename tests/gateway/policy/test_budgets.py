from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gateway.config import Config
from gateway.policy.budgets import Budget
from gateway.policy.callers import configured
from gateway.policy.keys import Caller
from gateway.stores.database.engine import opened
from gateway.stores.database.ledger import LedgerTable, Spender
from gateway.stores.database.rows import instant
from tests.gateway.stores.database.scene import ledger_row

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = Budget(Spender("app"), 5 * 10**12, "day", "Asia/Tokyo")
TEAM = Budget(Spender("research", is_team=True), 10**13, "month")


def test_a_budget_is_a_window_of_money_that_never_comes_back() -> None:
    window = DAY.window(NOW, 7)

    assert (window.name, window.kind) == ("app:usd:2026-03-10/day", "never")
    assert (window.cap, window.used) == (5 * 10**12, 7)
    assert TEAM.window_name(NOW) == "*:usd:2026-03-01/month"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_new_period_begins_with_nothing_spent_and_no_job_that_resets(
    database_url: str,
) -> None:
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write([ledger_row(cost=9, started_at=instant(NOW.timestamp()))])
        tomorrow = datetime(2026, 3, 10, 15, tzinfo=UTC)

        assert await DAY.spent(ledger, NOW) == 9
        assert await DAY.spent(ledger, tomorrow) == 0
        assert DAY.window_name(tomorrow) == "app:usd:2026-03-11/day"
        assert await TEAM.spent(ledger, tomorrow) == 9


def test_a_configured_key_has_its_own_budgets_and_its_teams() -> None:
    config = Config.model_validate(
        {
            "teams": [{"name": "t", "budget": {"usd": "0.5"}}],
            "keys": [
                {
                    "name": "k",
                    "hash": "hmac-sha256:" + "0" * 64,
                    "team": "t",
                    "weight": 2,
                    "rpm": 3,
                    "budget": {"usd": 5},
                    "budgets": [{"usd": 1, "period": "day", "tz": "Asia/Tokyo"}],
                }
            ],
        }
    )

    ((_, caller),) = configured(config)

    assert caller.budgets == (
        Budget(Spender("k"), 5 * 10**12, "month"),
        Budget(Spender("k"), 10**12, "day", "Asia/Tokyo"),
        Budget(Spender("t", is_team=True), 5 * 10**11, "month"),
    )
    assert (caller.team, caller.weight, caller.rpm, caller.pool) == ("t", 2, 3, "team:t")
    assert caller.budgeted


def test_a_key_without_a_team_is_a_team_of_its_own() -> None:
    assert Caller("app").pool == "key:app"
