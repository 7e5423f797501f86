"""A quota is the same on either ledger, and exact however many ask at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.attention.quota import Meter, Quota, Refill, Taken
from techniques.core.groups import task_group
from tests.contract.ledger_store.desk import MINUTE_MS, Desk


def quota(desk: Desk, most: int = 3) -> Quota:
    return Quota(desk.pool, "tool:search", "calls", most, MINUTE_MS)


async def spend(meter: Meter, of: Quota, lease: str) -> Taken:
    taken = await meter.take(of, lease)
    if taken.granted:
        meter.spend(of, taken)
    return taken


async def test_a_use_comes_back_its_period_after_it_was_made(desk: Desk) -> None:
    meter, of = Meter(desk.ledger), quota(desk)

    for lease in "abc":
        assert (await spend(meter, of, lease)).granted
        desk.clock.pass_(7_000)
    refused = await spend(meter, of, "d")
    desk.clock.pass_(refused.wait_ms - 1)
    early = await spend(meter, of, "d")
    desk.clock.pass_(1)

    assert (refused.wait_ms, early.wait_ms) == (39_000, 1)
    assert (await spend(meter, of, "d")).granted
    assert (await meter.look(of)).wait_ms == 7_000


async def test_a_use_has_a_name_and_can_be_given_back_until_it_is_spent(desk: Desk) -> None:
    meter, of = Meter(desk.ledger), quota(desk)

    taken = await meter.take(of, "a")
    again = await meter.take(of, "a")
    meter.give_back(of, taken)
    back = await meter.look(of)
    anew = await spend(meter, of, "a")
    meter.give_back(of, anew)

    assert taken.granted
    assert again.granted
    assert (back.left, (await meter.look(of)).left) == (3, 2)


async def test_what_is_known_of_the_past_is_taken_in_once(desk: Desk) -> None:
    meter, of = Meter(desk.ledger), quota(desk)

    looks = [await meter.look(of, past=[0.5, 0.75]) for _ in range(3)]
    taken = await meter.take(of, "a", past=[0.5, 0.75])

    assert [look.left for look in looks] == [1, 1, 1]
    assert taken.granted
    assert (await meter.look(of)).wait_ms == 15_000


@pytest.mark.parametrize("refill", ["rolling", "continuous", "fixed"])
async def test_of_many_at_once_as_many_are_granted_as_there_are_uses(
    desk: Desk, refill: Refill
) -> None:
    meters, of = [Meter(desk.ledger), Meter(desk.ledger)], replace(quota(desk, 6), refill=refill)
    granted: list[str] = []

    async def take(meter: Meter, lease: str) -> None:
        if (await spend(meter, of, lease)).granted:
            granted.append(lease)

    async with task_group() as group:
        for number in range(20):
            group.start_soon(take, meters[number % 2], f"use-{number}")

    assert len(granted) == 6
