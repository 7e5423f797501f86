from __future__ import annotations

import anyio
import pytest

from techniques.core.groups import task_group
from techniques.core.passage import Passage


async def test_who_gives_an_item_waits_until_it_was_taken() -> None:
    passage: Passage[str] = Passage()
    given: list[str] = []

    async def give() -> None:
        for item in "ab":
            await passage.give(item)
            given.append(item)

    async with task_group() as group:
        group.start_soon(give)
        await anyio.sleep(1)
        assert given == []
        assert await anext(passage) == "a"
        await anyio.sleep(1)
        assert given == ["a"]
        assert await anext(passage) == "b"


async def test_items_come_in_order_and_then_the_end_as_often_as_it_is_asked_for() -> None:
    passage: Passage[int] = Passage()

    async def give() -> None:
        for item in range(5):
            await passage.give(item)
        passage.end()

    async with task_group() as group:
        group.start_soon(give)
        with anyio.fail_after(9):
            assert [item async for item in passage] == [0, 1, 2, 3, 4]

    assert passage.ended
    for _ in range(2):
        with pytest.raises(StopAsyncIteration), anyio.fail_after(9):
            await anext(passage)


async def test_who_waits_for_an_item_learns_of_the_end() -> None:
    passage: Passage[int] = Passage()

    async def end() -> None:
        await anyio.sleep(1)
        passage.end()

    async with task_group() as group:
        group.start_soon(end)
        with anyio.fail_after(9):
            assert [item async for item in passage] == []


async def test_a_taker_that_gave_up_waiting_takes_the_next_item_later() -> None:
    passage: Passage[str] = Passage()
    with anyio.move_on_after(1) as waited:
        await anext(passage)
    assert waited.cancelled_caught

    async with task_group() as group:
        group.start_soon(passage.give, "a")
        assert await anext(passage) == "a"
