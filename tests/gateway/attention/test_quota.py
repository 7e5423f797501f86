"""Quotas in virtual time; A-71 is that of a tool."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from gateway.attention.quota import Meter, Quota, Refill, Taken
from gateway.stores.memory import MemoryLedger
from techniques.core.groups import task_group

SEARCH = Quota("tool:search:app", "tool:search", "calls", most=3, period_ms=60_000)


def meter() -> Meter:
    return Meter(MemoryLedger(lambda: round(anyio.current_time() * 1000)))


async def used_up(made: Meter, quota: Quota = SEARCH, pause_s: float = 0) -> None:
    for number in range(quota.most):
        assert (await made.take(quota, f"use-{number}")).granted
        await anyio.sleep(pause_s)


async def test_a_tool_is_ready_and_then_waits_exactly_until_the_oldest_use_leaves() -> None:
    made = meter()

    first = await made.take(SEARCH, "a")
    await anyio.sleep(10)
    await made.take(SEARCH, "b")
    await anyio.sleep(5)
    third = await made.take(SEARCH, "c")
    refused = await made.take(SEARCH, "d")
    await anyio.sleep(44.999)
    still = await made.take(SEARCH, "d")
    await anyio.sleep(0.001)
    again = await made.take(SEARCH, "d")
    next_one = await made.take(SEARCH, "e")

    assert (first.granted, first.left, third.left) == (True, 2, 0)
    assert refused == Taken(granted=False, wait_ms=45_000)
    assert still.wait_ms == 1
    assert again.granted
    assert next_one.wait_ms == 10_000


async def test_acquire_sleeps_exactly_as_long_as_it_must() -> None:
    made = meter()
    await used_up(made, pause_s=1)
    began = anyio.current_time()

    taken = await made.acquire(SEARCH, "x", patience_s=60)

    assert taken.granted
    assert anyio.current_time() - began == pytest.approx(57, abs=0.001)


async def test_acquire_that_may_not_wait_so_long_is_told_at_once() -> None:
    made = meter()
    await used_up(made)
    began = anyio.current_time()

    taken = await made.acquire(SEARCH, "x", patience_s=59)

    assert taken == Taken(granted=False, wait_ms=60_000)
    assert anyio.current_time() == began


async def test_who_waits_goes_in_order_and_nobody_who_comes_later_goes_before() -> None:
    made = meter()
    await used_up(made, pause_s=1)
    granted: list[tuple[str, int]] = []

    async def wait(name: str) -> None:
        if (await made.acquire(SEARCH, name, patience_s=200)).granted:
            granted.append((name, round(anyio.current_time() - began)))

    began = anyio.current_time()
    async with task_group() as group:
        for name in "abcd":
            group.start_soon(wait, name)
            await anyio.sleep(0.5)
        await anyio.sleep(55.1)
        late = await made.acquire(SEARCH, "late", patience_s=0)

    assert granted == [("a", 57), ("b", 58), ("c", 59), ("d", 117)]
    assert not late.granted


async def test_one_whose_turn_does_not_come_is_told_and_holds_nobody_up() -> None:
    made = meter()
    await used_up(made)
    told: list[Taken] = []

    async def wait(name: str, patience_s: float) -> None:
        told.append(await made.acquire(SEARCH, name, patience_s))

    async with task_group() as group:
        group.start_soon(wait, "a", 100)
        await anyio.sleep(1)
        group.start_soon(wait, "b", 50)
        await anyio.sleep(1)
        group.start_soon(wait, "c", 59.5)

    assert [taken.granted for taken in told] == [False, True, True]
    assert told[0].wait_ms == pytest.approx(9_000, abs=1)
    assert (await made.look(SEARCH)).left == 1


async def test_the_same_use_asked_for_again_is_one_use() -> None:
    made = meter()

    for _ in range(5):
        assert (await made.take(SEARCH, "call_1")).granted

    assert (await made.look(SEARCH)).left == 2


async def test_a_use_that_came_to_nothing_is_given_back() -> None:
    made = meter()
    taken = await made.take(SEARCH, "a")

    made.give_back(SEARCH, taken)
    back = await made.look(SEARCH)
    again = await made.take(SEARCH, "a")

    assert (back.left, again.left) == (3, 2)


async def test_a_use_of_which_nothing_more_is_heard_stays_one() -> None:
    made = meter()
    hour = replace(SEARCH, period_ms=3_600_000)
    taken = await made.take(hour, "a")

    await anyio.sleep(120)
    made.give_back(hour, taken)

    assert (await made.look(hour)).left == 2


async def test_what_the_ledger_has_forgotten_is_told_to_it_once() -> None:
    made = meter()

    known = [await made.look(SEARCH, past=[0.25, 0.5]) for _ in range(3)]
    taken = await made.take(SEARCH, "a", past=[0.25, 0.5])
    wait = await made.look(SEARCH, past=[0.0, 0.25, 0.5])

    assert [one.left for one in known] == [1, 1, 1]
    assert taken.granted
    assert wait == Taken(granted=False, wait_ms=30_000)


@pytest.mark.parametrize(
    ("refill", "wait_ms"), [("rolling", 60_000), ("continuous", 20_000), ("fixed", 60_000)]
)
async def test_each_way_of_coming_back_has_its_wait(refill: Refill, wait_ms: int) -> None:
    made = meter()
    quota = replace(SEARCH, refill=refill)
    await used_up(made, quota)

    taken = await made.take(quota, "x")
    await anyio.sleep(wait_ms / 1000)
    again = await made.take(quota, "x")

    assert taken == Taken(granted=False, wait_ms=wait_ms)
    assert again.granted


async def test_a_large_quota_waits_as_long_as_its_margin_wants() -> None:
    made = meter()
    quota = replace(SEARCH, most=1000, refill="continuous")
    taken = Taken(granted=True)
    for number in range(1001):
        taken = await made.take(quota, f"{number}")
        if not taken.granted:
            break

    await anyio.sleep(taken.wait_ms / 1000)

    assert not taken.granted
    assert (await made.look(quota)).granted
    assert (await made.take(quota, "again")).granted


async def test_a_quota_that_grows_has_more_at_once() -> None:
    made = meter()
    await used_up(made)

    grown = await made.take(replace(SEARCH, most=4), "x")

    assert grown.granted
    assert not (await made.take(replace(SEARCH, most=4), "y")).granted
