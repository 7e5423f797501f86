"""What every ledger does with money: exact, never more than the cap, and kept with its rows."""

from __future__ import annotations

import pytest

from gateway.stores.ledger import Granted, Never, Waiting
from tests.contract.ledger_store.desk import DAY_MS, Desk, bucket, money

pytestmark = pytest.mark.anyio

HUGE = 4_000_000_000_000_000_001


async def test_money_is_exact_beyond_what_floating_numbers_hold(desk: Desk) -> None:
    await desk.define(money("usd", HUGE))
    assert await desk.probe("a", usd=HUGE + 1) == Never("usd", HUGE)
    assert isinstance(await desk.probe("a", usd=HUGE), Granted)
    desk.settle("a", usd=HUGE - 1)
    assert await desk.level("usd") == 1
    assert isinstance(await desk.probe("b", usd=1), Granted)


async def test_more_money_than_can_be_counted_is_never_granted(desk: Desk) -> None:
    await desk.define(money("usd", 1000))
    assert await desk.ask("a", usd=10**30) == Never("usd", 1000)


async def test_money_that_was_spent_does_not_come_back_with_time(desk: Desk) -> None:
    await desk.define(money("usd", 1000))
    await desk.ask("a", usd=600)
    desk.settle("a", usd=600)
    desk.clock.pass_(30 * DAY_MS)
    assert await desk.ask("b", usd=401) == Never("usd", 400)


async def test_who_would_fit_if_others_spent_nothing_waits_for_them(desk: Desk) -> None:
    await desk.define(money("usd", 1000))
    await desk.ask("a", usd=600)
    answer = await desk.ask("b", usd=600)
    assert isinstance(answer, Waiting)
    assert (answer.eta_ms, answer.binding) == (None, "usd")
    desk.settle("a", usd=100)
    assert isinstance(await desk.check("b"), Granted)


async def test_what_the_database_knows_was_spent_is_counted_once(desk: Desk) -> None:
    await desk.define(money("usd", 1000, used=300))
    await desk.ask("a", usd=100)
    desk.settle("a", usd=100)
    await desk.define(money("usd", 1000, used=300))
    assert await desk.level("usd") == 600


async def test_another_cap_keeps_what_was_spent_and_what_is_held(desk: Desk) -> None:
    await desk.define(money("usd", 1000))
    await desk.ask("a", usd=100)
    desk.settle("a", usd=50)
    await desk.ask("b", usd=200)
    await desk.define(money("usd", 300))
    state = await desk.window("usd")
    assert (state.cap, state.level, state.held) == (300, 50, 200)


async def test_a_row_is_kept_with_its_charge_until_it_is_acknowledged(desk: Desk) -> None:
    await desk.define(money("usd", 1000))
    await desk.ask("a", usd=100)
    desk.settle("a", row="what happened", usd=50)
    assert await desk.rows() == [("a", "what happened")]
    assert await desk.rows(older_ms=1) == []
    desk.clock.pass_(1)
    assert await desk.rows(older_ms=1) == [("a", "what happened")]
    desk.ledger.acknowledge(desk.pool, ["a"])
    assert await desk.rows() == []


async def test_a_repeated_settlement_does_not_bring_an_acknowledged_row_back(desk: Desk) -> None:
    await desk.define(money("usd", 1000))
    await desk.ask("a", usd=100)
    desk.settle("a", row="r", usd=50)
    desk.ledger.acknowledge(desk.pool, ["a"])
    desk.settle("a", row="r", usd=50)
    assert await desk.rows() == []
    desk.settle("a", row="r2", usd=60)
    assert await desk.rows() == [("a", "r2")]


async def test_rows_come_oldest_first_and_no_more_than_are_asked_for(desk: Desk) -> None:
    await desk.define(money("usd", 1000))
    for name in ("b", "a"):
        desk.clock.pass_(5)
        desk.settle(name, row=name, usd=1)
    assert await desk.rows(most=1) == [("b", "b")]


async def test_a_settlement_of_a_lease_that_the_store_lost_is_charged(desk: Desk) -> None:
    await desk.define(money("usd", 1000))
    desk.settle("gone", row="r", usd=70)
    desk.settle("gone", row="r", usd=70)
    assert await desk.level("usd") == 930
    assert await desk.rows() == [("gone", "r")]


async def test_a_lost_call_that_was_sent_stays_charged_and_leaves_a_row(desk: Desk) -> None:
    await desk.define(money("usd", 1000), money("all", 2000), bucket("tok", 6000))
    await desk.ask("a", dispatched=True, usd=100, all=100, tok=5)
    desk.clock.pass_(60_000)
    state = await desk.peek()
    assert (state.orphans, state.leases) == (1, 0)
    assert await desk.level("usd") == 900
    assert await desk.rows() == [("a", "orphan:all=100,usd=100")]


async def test_a_lost_call_that_is_settled_after_all_is_corrected(desk: Desk) -> None:
    await desk.define(money("usd", 1000))
    await desk.ask("a", dispatched=True, usd=100)
    desk.clock.pass_(DAY_MS // 2)
    await desk.peek()
    desk.settle("a", row="r", usd=30)
    assert await desk.level("usd") == 970
    assert await desk.rows() == [("a", "r")]
