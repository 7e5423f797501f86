"""Responses are written together, and found when that returns; a database that is lost costs
answers little."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from sqlalchemy.exc import DataError

from gateway.stores.database.engine import DatabaseLost
from gateway.stores.responses.shelf import Shelf, TooBig
from gateway.stores.responses.table import ResponseTable, Written
from tests.gateway.stores.responses.scene import AT, OPEN, response

MOST = 10_000


class Table(ResponseTable):
    """A table that takes *seconds* for a write, is lost at times, and takes no ``resp_13``."""

    def __init__(self, seconds: float = 0.01) -> None:
        self.seconds = seconds
        self.lost = False
        self.batches: list[list[str]] = []
        self.written: list[Written] = []

    async def write(self, several: Sequence[Written]) -> None:
        self.batches.append([one.row.id for one in several])
        await anyio.sleep(self.seconds)
        if self.lost:
            raise DatabaseLost("the disk is full")
        if any(one.row.id == "resp_13" for one in several):
            raise DataError("INSERT", None, ValueError("too large"))
        self.written += several


@asynccontextmanager
async def serving(table: Table) -> AsyncIterator[Shelf]:
    shelf = Shelf(table, OPEN, lambda: AT)
    async with anyio.create_task_group() as group:
        group.start_soon(shelf.serve)
        yield shelf
        group.cancel_scope.cancel()


async def put(shelf: Shelf, number: int, outcomes: dict[int, str]) -> None:
    try:
        await shelf.put(response(number), MOST)
        outcomes[number] = "kept"
    except DatabaseLost as lost:
        outcomes[number] = str(lost)


async def test_what_ends_while_another_is_written_is_written_together() -> None:
    table = Table()
    outcomes: dict[int, str] = {}
    async with serving(table) as shelf, anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(put, shelf, number, outcomes)
            await anyio.sleep(0.001)

    assert outcomes == dict.fromkeys(range(5), "kept")
    assert sorted(map(len, table.batches)) == [1, 4]
    assert {one.row.used_ms for one in table.written} == {AT}
    assert {one.items for one in table.written} == {(f"msg_{number}",) for number in range(5)}


async def test_one_that_the_database_refuses_costs_no_other() -> None:
    table = Table()
    outcomes: dict[int, str] = {}
    async with serving(table) as shelf, anyio.create_task_group() as group:
        for number in (12, 13, 14, 15):
            group.start_soon(put, shelf, number, outcomes)

    assert outcomes.pop(13) == "DataError"
    assert outcomes == dict.fromkeys((12, 14, 15), "kept")


async def test_a_database_that_is_lost_is_left_alone_for_a_while() -> None:
    table = Table()
    table.lost = True
    async with serving(table) as shelf:
        for _ in range(5):
            with pytest.raises(DatabaseLost):
                await shelf.put(response(), MOST)
        assert len(table.batches) == 1
        table.lost = False
        await anyio.sleep(5)
        await shelf.put(response(), MOST)

    assert len(table.written) == 1


async def test_no_answer_waits_long_for_a_database_that_hangs() -> None:
    table = Table(seconds=60)
    async with serving(table) as shelf:
        began = anyio.current_time()
        with pytest.raises(DatabaseLost):
            await shelf.put(response(1), MOST)
        assert anyio.current_time() - began == pytest.approx(2.0)
        with pytest.raises(DatabaseLost):
            await shelf.put(response(2), MOST)
        assert anyio.current_time() - began == pytest.approx(2.0)
        await anyio.sleep(100)
        assert [one.row.id for one in table.written] == ["resp_1"]


async def test_one_that_is_too_large_is_not_written() -> None:
    table = Table()
    async with serving(table) as shelf:
        with pytest.raises(TooBig):
            await shelf.put(response(words="x" * MOST), MOST)
    assert table.batches == []


async def test_an_item_is_not_found_by_a_name_that_no_database_takes() -> None:
    table = Table()
    one = response(1)
    items = [{"id": "a\0b"}, {"id": "msg_1"}, {"id": 5}]
    async with serving(table) as shelf:
        await shelf.put(replace(one, object={**one.object, "output": items}), MOST)

    assert table.written[0].items == ("msg_1",)
