"""What takes reading is read once for many, and seldom where it takes long."""

from __future__ import annotations

import anyio
import pytest

from gateway.stores.ledger import StoreLost
from gateway.surfaces.overview.fresh import Fresh
from techniques.core.groups import task_group


class Slow:
    """Takes *seconds* to count how often it was read; *failing* readings fail."""

    def __init__(self, seconds: float = 0.0, failing: int = 0) -> None:
        self.seconds = seconds
        self.failing = failing
        self.read = 0

    async def __call__(self) -> int:
        self.read += 1
        await anyio.sleep(self.seconds)
        if self.read <= self.failing:
            raise StoreLost(f"reading {self.read}")
        return self.read


async def test_many_who_ask_at_once_are_answered_by_one_reading() -> None:
    slow = Slow(0.5)
    fresh = Fresh(slow, 1.0)
    found: list[int] = []

    async def ask() -> None:
        found.append(await fresh.get())

    async with task_group() as group:
        for _ in range(50):
            group.start_soon(ask)

    assert (slow.read, found) == (1, [1] * 50)


@pytest.mark.parametrize(("seconds", "readings"), [(0.0, 100), (0.01, 100), (0.5, 10), (2.0, 3)])
async def test_a_twentieth_of_the_time_at_most_goes_into_reading(
    seconds: float, readings: int
) -> None:
    slow = Slow(seconds)
    fresh = Fresh(slow, 1.0)
    began = anyio.current_time()
    while anyio.current_time() < began + 100:
        await fresh.get()
        await anyio.sleep(0.25)

    assert slow.read == pytest.approx(readings, abs=2)
    assert slow.read * seconds <= 100 / 20 + seconds


async def test_a_failure_is_told_for_as_long_as_it_is_fresh_and_then_it_is_tried_again() -> None:
    slow = Slow(failing=2)
    fresh = Fresh(slow, 1.0)
    told: list[str] = []
    for _ in range(6):
        try:
            told.append(str(await fresh.get()))
        except StoreLost as error:
            told.append(str(error))
        await anyio.sleep(0.6)

    assert told == ["reading 1", "reading 1", "reading 2", "reading 2", "3", "3"]


async def test_who_leaves_while_it_is_read_leaves_it_to_the_next() -> None:
    slow = Slow(1.0)
    fresh = Fresh(slow, 1.0)
    with anyio.move_on_after(0.5):
        await fresh.get()

    assert await fresh.get() == 2
