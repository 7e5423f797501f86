"""How every ledger shares what there is among those who wait."""

from __future__ import annotations

from collections import Counter

import pytest

from gateway.stores.ledger import Granted, Place, Waiting
from tests.contract.ledger_store.desk import Desk, bucket, gauge

pytestmark = pytest.mark.anyio


async def serve(desk: Desk, waiting: set[str], ms: int) -> list[str]:
    """Go on by *ms* and return who was granted; they are settled as held."""
    desk.clock.pass_(ms)
    gone = [name for name in sorted(waiting) if isinstance(await desk.check(name), Granted)]
    for name in gone:
        waiting.remove(name)
        desk.dispatch(name)
        desk.settle(name)
    return gone


async def test_two_tenants_share_alike_though_one_asks_ten_times_as_much(desk: Desk) -> None:
    await desk.define(bucket("req", 10, 10_000))
    await desk.ask("first", dispatched=True, req=10)
    waiting: set[str] = set()
    counts: Counter[str] = Counter()
    for turn in range(40):
        for name in [f"b{turn}", *(f"a{turn}-{number}" for number in range(10))]:
            if isinstance(await desk.ask(name, Place(tenant=name[0]), req=1), Waiting):
                waiting.add(name)
        counts.update(name[0] for name in await serve(desk, waiting, 1000))
    a, b = counts["a"], counts["b"]
    assert a + b >= 38
    assert (a + b) ** 2 / (2 * (a**2 + b**2)) >= 0.95


async def test_weights_share_in_proportion(desk: Desk) -> None:
    await desk.define(bucket("req", 10, 10_000))
    await desk.ask("first", dispatched=True, req=10)
    waiting: set[str] = set()
    for number in range(20):
        for tenant, weight in (("a", 3.0), ("b", 1.0)):
            name = f"{tenant}{number}"
            await desk.ask(name, Place(tenant=tenant, weight=weight), req=1)
            waiting.add(name)
    counts: Counter[str] = Counter()
    for _ in range(16):
        counts.update(name[0] for name in await serve(desk, waiting, 1000))
    assert counts == {"a": 12, "b": 4}


async def test_a_tenant_of_no_weight_waits_and_is_not_refused(desk: Desk) -> None:
    await desk.define(gauge("flying", 1))
    await desk.ask("first", dispatched=True, flying=1)
    await desk.ask("a", Place(tenant="a", weight=0), flying=1)
    await desk.ask("b", Place(tenant="b"), flying=1)
    desk.settle("first")
    assert isinstance(await desk.check("b"), Granted)
    desk.settle("b")
    assert isinstance(await desk.check("a"), Granted)


async def test_who_comes_late_does_not_catch_up_for_the_time_it_was_away(desk: Desk) -> None:
    await desk.define(gauge("flying", 1))
    await desk.ask("a0", dispatched=True, flying=1)
    for number in range(1, 12):
        await desk.ask(f"a{number}", Place(tenant="a"), flying=1)
    for number in range(8):
        desk.settle(f"a{number}")
    for number in range(3):
        await desk.ask(f"b{number}", Place(tenant="b"), flying=1)
    order, now, waiting = "", "a8", {"a9", "a10", "a11", "b0", "b1", "b2"}
    while waiting:
        desk.settle(now)
        (now,) = [name for name in waiting if isinstance(await desk.check(name), Granted)]
        waiting.remove(now)
        order += now[0]
    assert order == "ababab"


async def test_the_last_class_is_served_within_ninety_seconds_under_load_of_the_first(
    desk: Desk,
) -> None:
    await desk.define(bucket("req", 10, 10_000))
    await desk.ask("first", dispatched=True, req=10)
    await desk.ask("low", Place(priority=8, tenant="low"), req=1)
    waiting = {"low"}
    for turn in range(90):
        if turn % 10:  # nine in ten seconds: 90 % of what comes back
            name = f"a{turn}"
            if isinstance(await desk.ask(name, Place(priority=1, tenant="high"), req=1), Waiting):
                waiting.add(name)
        await serve(desk, waiting, 1000)
    assert "low" not in waiting


async def test_the_last_class_is_served_by_its_age_under_full_load_of_the_first(
    desk: Desk,
) -> None:
    await desk.define(bucket("req", 10, 10_000))
    await desk.ask("first", dispatched=True, req=10)
    await desk.ask("low", Place(priority=8, tenant="low"), req=1)
    waiting, served = {"low"}, 0
    for turn in range(90):
        name = f"a{turn}"
        if isinstance(await desk.ask(name, Place(priority=1, tenant="high"), req=1), Waiting):
            waiting.add(name)
        if "low" in await serve(desk, waiting, 1000):
            served = turn + 1
    assert 70 <= served <= 90


async def test_a_small_one_goes_before_a_large_that_it_does_not_delay(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), gauge("flying", 2))
    await desk.ask("first", dispatched=True, tok=100, flying=1)
    await desk.ask("second", dispatched=True, tok=100, flying=1)
    large = await desk.ask("large", tok=3000, flying=1)
    assert isinstance(large, Waiting)
    assert large.binding == "flying"
    # It takes of the tokens, of which there are enough for both, and of no place in flight.
    assert isinstance(await desk.ask("small", tok=500), Granted)


async def test_a_small_one_does_not_put_off_the_planned_start_of_a_large(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("first", dispatched=True, tok=4000)
    large = await desk.ask("large", tok=4000)
    assert isinstance(large, Waiting)
    assert large.eta_ms is not None
    for number in range(8):
        assert isinstance(await desk.ask(f"small{number}", tok=10), Waiting)
    for _ in range(4):
        desk.clock.pass_(large.eta_ms // 4)
        assert isinstance(await desk.check("large"), Waiting if _ < 3 else Granted)
    assert isinstance(await desk.check("large"), Granted)


async def test_a_small_one_does_not_take_the_place_that_a_large_waits_for(desk: Desk) -> None:
    await desk.define(gauge("flying", 3), bucket("tok", 6000))
    await desk.ask("first", dispatched=True, flying=2)
    wave = await desk.ask("large", flying=2)
    assert isinstance(wave, Waiting)
    assert isinstance(await desk.ask("small", flying=1, tok=1), Waiting)


async def test_no_more_than_eight_are_looked_at_behind_a_large_one(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), gauge("flying", 1))
    await desk.ask("first", dispatched=True, tok=100, flying=1)
    for number in range(9):
        assert isinstance(await desk.ask(f"large{number}", tok=10, flying=1), Waiting)
    assert isinstance(await desk.ask("small", tok=10), Waiting)
    desk.leave("large8")
    assert isinstance(await desk.check("small"), Granted)
