"""What every ledger does with those who wait: order, shares, ageing, backfill."""

from __future__ import annotations

import anyio
import pytest

from gateway.stores.ledger import Ask, Entry, Granted, Never, Place, QueueFull, Unknown, Waiting
from tests.contract.ledger_store.desk import Desk, bucket, gauge, money

pytestmark = pytest.mark.anyio


async def granted(desk: Desk, *entries: str) -> list[str]:
    """Return which of *entries* are granted now."""
    return [name for name in entries if isinstance(await desk.check(name), Granted)]


async def full(desk: Desk, cap: int = 1) -> None:
    """Define a gauge that is full."""
    await desk.define(gauge("flying", cap))
    for number in range(cap):
        await desk.ask(f"first{number}", dispatched=True, flying=1)


async def test_who_comes_first_goes_first(desk: Desk) -> None:
    await full(desk)
    for number, name in enumerate(("a", "b", "c")):
        answer = await desk.ask(name, flying=1)
        assert isinstance(answer, Waiting)
        assert answer.position == number
    desk.settle("first0")
    assert await granted(desk, "a", "b", "c") == ["a"]
    desk.settle("a")
    assert await granted(desk, "b", "c") == ["b"]


async def test_a_better_class_goes_first(desk: Desk) -> None:
    await full(desk)
    await desk.ask("a", Place(priority=5), flying=1)
    answer = await desk.ask("b", Place(priority=2), flying=1)
    assert isinstance(answer, Waiting)
    assert answer.position == 0
    desk.settle("first0")
    assert await granted(desk, "a", "b") == ["b"]


async def test_nobody_overtakes_who_waits_for_the_same_window(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("big", tok=5000)
    await desk.ask("a", tok=5000)
    answer = await desk.ask("b", tok=1000)
    assert isinstance(answer, Waiting)
    assert answer.position == 1
    assert isinstance(await desk.probe("c", tok=1000), Waiting)


async def test_who_needs_other_windows_is_not_held_up(desk: Desk) -> None:
    await desk.define(bucket("m", 100), bucket("n", 100))
    await desk.ask("a", m=90)
    await desk.ask("b", m=90)
    assert isinstance(await desk.ask("c", n=90), Granted)


async def test_of_one_window_for_three_callers_exactly_one_goes(desk: Desk) -> None:
    await desk.define(bucket("req", 1, 86_400_000))
    answers = [await desk.ask(name, req=1) for name in ("a", "b", "c")]
    assert [isinstance(answer, Granted) for answer in answers] == [True, False, False]


async def test_the_wait_of_who_is_behind_counts_who_is_before_it(desk: Desk) -> None:
    await desk.define(bucket("tok", 60))
    await desk.ask("first", tok=60)
    await desk.ask("a", tok=10)
    answer = await desk.ask("b", tok=10)
    assert isinstance(answer, Waiting)
    assert answer.eta_ms == 20_000


async def test_who_only_asks_how_long_leaves_no_trace(desk: Desk) -> None:
    await full(desk)
    before = await desk.peek()
    assert isinstance(await desk.probe("a", flying=1), Waiting)
    assert await desk.peek() == before
    assert await desk.check("a") == Unknown("")


async def test_who_leaves_is_passed_over_and_lets_the_next_go(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("first", tok=3000)
    await desk.ask("a", tok=5000)
    await desk.ask("b", tok=2000)
    desk.leave("a")
    assert await granted(desk, "a", "b") == ["b"]


async def test_who_does_not_look_for_fifteen_seconds_is_dropped(desk: Desk) -> None:
    await full(desk)
    await desk.ask("a", flying=1)
    await desk.ask("b", flying=1)
    desk.clock.pass_(14_999)
    await desk.check("b")
    desk.clock.pass_(1)
    assert (await desk.peek()).queued == 1
    assert await desk.check("a") == Unknown("")
    desk.settle("first0")
    assert await granted(desk, "b") == ["b"]


async def test_a_grant_that_nobody_fetches_goes_to_the_next(desk: Desk) -> None:
    await full(desk)
    await desk.ask("a", flying=1)
    await desk.ask("b", flying=1)
    desk.settle("first0")
    desk.clock.pass_(10_000)
    await desk.check("b")
    desk.clock.pass_(5000)
    assert await granted(desk, "a", "b") == ["b"]
    assert (await desk.peek()).ungrabbed == 1


async def test_who_waits_ten_seconds_rises_a_class(desk: Desk) -> None:
    await full(desk)
    await desk.ask("a", Place(priority=3), flying=1)
    desk.clock.pass_(9999)
    await desk.check("a")
    await desk.ask("b", Place(priority=2), flying=1)
    assert (await desk.check("a")).position == 1  # type: ignore[union-attr]
    desk.clock.pass_(1)
    await desk.ask("c", Place(priority=2, tenant="late"), flying=1)
    desk.settle("first0")
    assert await granted(desk, "a", "b", "c") == ["a"]


async def test_nobody_rises_into_the_class_of_those_who_go_before_all(desk: Desk) -> None:
    await full(desk)
    await desk.ask("a", Place(priority=3, since_ms=1_000_000), flying=1)
    await desk.ask("b", Place(priority=0), flying=1)
    desk.settle("first0")
    assert await granted(desk, "a", "b") == ["b"]


async def test_who_comes_back_with_its_tag_takes_its_old_place(desk: Desk) -> None:
    await full(desk)
    first = await desk.ask("a", flying=1)
    await desk.ask("b", flying=1)
    assert isinstance(first, Waiting)
    desk.leave("a")
    answer = await desk.ask("again", Place(tag=first.tag), flying=1)
    assert isinstance(answer, Waiting)
    assert answer.position == 0


async def test_a_queue_takes_so_many_and_of_one_tenant_so_many(desk: Desk) -> None:
    await full(desk)
    for number in range(30):
        await desk.ask(f"a{number}", Place(tenant="a"), flying=1)
    assert await desk.ask("more", Place(tenant="a"), flying=1) == QueueFull(tenant=True)
    for number in range(10):
        await desk.ask(f"b{number}", Place(tenant="b"), flying=1)
    assert await desk.ask("more", Place(tenant="b"), flying=1) == QueueFull(tenant=False)
    desk.leave("a7")
    assert isinstance(await desk.ask("more", Place(tenant="a"), flying=1), Waiting)


async def test_who_can_never_go_any_more_is_told_so_when_it_asks_again(desk: Desk) -> None:
    await desk.define(money("usd", 1000))
    await desk.ask("a", usd=600)
    await desk.ask("b", usd=600)
    desk.settle("a", usd=600)
    assert await desk.check("b") == Unknown("")
    assert await desk.ask("b", usd=600) == Never("usd", 400)


async def test_who_is_granted_is_woken(desk: Desk) -> None:
    await full(desk)
    await desk.ask("a", flying=1)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(desk.ledger.wait, desk.pool, "a", 60.0)
            await anyio.wait_all_tasks_blocked()
            desk.settle("first0")
    assert await granted(desk, "a") == ["a"]


async def test_who_was_granted_before_it_waited_does_not_wait(desk: Desk) -> None:
    await full(desk)
    await desk.ask("a", flying=1)
    desk.settle("first0")
    await desk.peek()
    with anyio.move_on_after(5) as late:
        await desk.ledger.wait(desk.pool, "a", 60.0)
    assert not late.cancelled_caught
    assert await granted(desk, "a") == ["a"]


async def test_waiting_ends_with_its_time(desk: Desk) -> None:
    with anyio.move_on_after(5) as late:
        await desk.ledger.wait(desk.pool, "a", 0.001)
    assert not late.cancelled_caught


async def test_a_wave_that_waits_is_granted_whole_and_left_whole(desk: Desk) -> None:
    await full(desk, cap=2)
    wave = Entry((Ask("a", {"flying": 1}), Ask("b", {"flying": 1})))
    assert isinstance(await desk.ledger.admit(desk.pool, wave), Waiting)
    desk.settle("first0")
    assert isinstance(await desk.check("a"), Waiting)
    desk.settle("first1")
    assert isinstance(await desk.check("a"), Granted)
    assert await desk.level("flying") == 0
    desk.leave("a")
    assert await desk.level("flying") == 2
