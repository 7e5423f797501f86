"""What every ledger does with leases whose holders are lost."""

from __future__ import annotations

import pytest

from gateway.admission.left import Left
from gateway.stores.ledger import Granted, Unknown, Waiting
from tests.contract.ledger_store.desk import Desk, bucket, fixed, gauge, money

pytestmark = pytest.mark.anyio


async def test_a_lease_that_was_never_sent_comes_back_after_fifteen_seconds(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), money("usd", 100), gauge("flying", 1))
    await desk.ask("a", tok=6000, usd=100, flying=1)
    desk.clock.pass_(14_999)
    assert (await desk.peek()).ungrabbed == 0
    desk.clock.pass_(1)
    state = await desk.peek()
    assert [window.level for window in state.windows] == [1, 6000, 100]
    assert (state.ungrabbed, state.leases) == (1, 0)


async def test_a_lost_call_that_was_sent_stays_charged_and_frees_its_place(desk: Desk) -> None:
    await desk.define(bucket("day", 6000, 86_400_000_000), gauge("flying", 1))
    await desk.ask("a", day=1000, flying=1)
    desk.dispatch("a")
    desk.clock.pass_(59_999)
    assert await desk.level("flying") == 0
    desk.clock.pass_(1)
    assert await desk.level("flying") == 1
    assert await desk.level("day") == pytest.approx(5000, abs=1)


async def test_a_grant_tells_what_is_left_of_rates(desk: Desk) -> None:
    await desk.define(bucket("tok", 60), fixed("day", 10, 500), gauge("at", 3), money("usd", 9))
    answer = await desk.ask("a", tok=30, day=4, at=1, usd=2)
    assert isinstance(answer, Granted)
    assert answer.left == (Left("day", 10, 6, 500), Left("tok", 60, 30, 30_000))
    assert await desk.check("a") == answer


async def test_a_cancelled_lease_that_is_asked_for_again_is_held_again(desk: Desk) -> None:
    await desk.define(money("usd", 100))
    await desk.ask("a", dispatched=True, usd=80)
    desk.cancel("a")
    assert isinstance(await desk.ask("a", dispatched=True, usd=80), Granted)
    assert await desk.level("usd") == 20


async def test_what_is_granted_as_sent_lives_as_what_was_sent(desk: Desk) -> None:
    await desk.define(gauge("flying", 1))
    await desk.ask("a", dispatched=True, flying=1)
    desk.clock.pass_(59_999)
    assert (await desk.peek()).leases == 1


async def test_a_renewed_lease_lives_on(desk: Desk) -> None:
    await desk.define(gauge("flying", 2))
    await desk.ask("a", flying=1)
    await desk.ask("b", dispatched=True, flying=1)
    desk.clock.pass_(10_000)
    desk.renew("a", "b")
    desk.clock.pass_(14_999)
    assert (await desk.peek()).leases == 2
    desk.clock.pass_(1)
    assert (await desk.peek()).leases == 1
    desk.clock.pass_(44_999)
    assert (await desk.peek()).leases == 1
    desk.clock.pass_(1)
    assert (await desk.peek()).leases == 0


async def test_a_lost_gauge_frees_its_place_for_who_waits(desk: Desk) -> None:
    await desk.define(gauge("flying", 1))
    await desk.ask("a", dispatched=True, flying=1)
    desk.clock.pass_(50_000)
    assert isinstance(await desk.ask("b", flying=1), Waiting)
    desk.clock.pass_(10_000)
    assert isinstance(await desk.check("b"), Granted)


async def test_a_late_settlement_of_a_lost_rate_corrects_it_within_two_minutes(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000, 6_000_000_000))
    await desk.ask("a", dispatched=True, tok=1000)
    desk.clock.pass_(60_000)
    await desk.peek()
    desk.clock.pass_(119_999)
    desk.settle("a", tok=400)
    assert await desk.level("tok") == pytest.approx(5600, abs=1)


async def test_a_call_that_ends_after_its_lease_came_back_is_charged(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), money("usd", 100))
    await desk.ask("a", tok=1000, usd=50)
    desk.clock.pass_(15_000)
    await desk.peek()
    desk.settle("a", tok=400, usd=20)
    assert await desk.level("tok") == 5600
    assert await desk.level("usd") == 80


async def test_who_comes_again_after_its_lease_came_back_is_granted_anew(desk: Desk) -> None:
    await desk.define(gauge("flying", 1))
    await desk.ask("a", flying=1)
    desk.clock.pass_(15_000)
    assert await desk.check("a") == Unknown("")
    assert isinstance(await desk.ask("a", flying=1), Granted)
    assert await desk.level("flying") == 0


async def test_sending_or_renewing_a_lease_that_is_not_there_does_nothing(desk: Desk) -> None:
    await desk.define(gauge("flying", 1))
    before = await desk.peek()
    desk.dispatch("x")
    desk.renew("x")
    desk.cancel("x")
    desk.leave("x")
    desk.extend("x", flying=1)
    assert await desk.peek() == before


async def test_leaving_gives_back_what_was_granted_and_not_what_was_sent(desk: Desk) -> None:
    await desk.define(gauge("flying", 2))
    await desk.ask("a", flying=1)
    await desk.ask("b", dispatched=True, flying=1)
    desk.leave("a")
    desk.leave("b")
    assert await desk.level("flying") == 1
