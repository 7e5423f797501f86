from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import anyio
import anyio.lowlevel
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DataError

from gateway.stores.database.engine import Database, DatabaseLost, opened
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.rows import LedgerRow, RequestRow
from gateway.stores.database.sought import Sought
from gateway.stores.database.writer import Result, RowWriter, Written
from tests.gateway.stores.database.scene import ledger_row, request_row


class Store(LedgerTable):
    """A table that is lost for its first *losses* writes, and takes no row called ``poison``."""

    def __init__(self, losses: int = 0) -> None:
        self.losses = losses
        self.written: list[str] = []
        self.batches: list[int] = []
        self._more = anyio.Event()

    async def has(self, number: int) -> None:
        """Wait until *number* rows are written."""
        while len(self.written) < number:
            await self._more.wait()

    async def write(self, rows: Sequence[LedgerRow], requests: Sequence[RequestRow] = ()) -> None:
        await anyio.sleep(0.01)
        if self.losses:
            self.losses -= 1
            raise DatabaseLost("the disk is full")
        if any(row.id == "poison" for row in rows):
            raise DataError("INSERT", None, ValueError("too large"))
        self.batches.append(len(rows))
        self.written += [row.id for row in rows]
        self._more.set()
        self._more = anyio.Event()


class Counted(Counter[Result]):
    def __call__(self, result: Result, number: int) -> None:
        self[result] += number


def put(writer: RowWriter, *names: str) -> None:
    for name in names:
        writer.put(Written(request_row(name), (ledger_row(name),)))


async def test_what_is_put_is_written_a_moment_later_in_one_go() -> None:
    store, counted = Store(), Counted()
    writer = RowWriter(store, counted)
    async with anyio.create_task_group() as group:
        group.start_soon(writer.run)
        put(writer, "a", "b", "c")
        assert store.written == []
        with anyio.fail_after(5):
            await store.has(1)
        group.cancel_scope.cancel()

    assert store.batches == [3]
    assert counted == {"written": 3}


async def test_many_are_not_made_to_wait() -> None:
    store = Store()
    writer = RowWriter(store)
    async with anyio.create_task_group() as group:
        group.start_soon(writer.run)
        put(writer, *(str(number) for number in range(1000)))
        with anyio.fail_after(5):
            await store.has(1000)
        group.cancel_scope.cancel()

    assert store.batches == [250] * 4


async def test_what_could_not_be_written_is_written_when_it_can_be() -> None:
    store, counted = Store(losses=2), Counted()
    writer = RowWriter(store, counted)
    async with anyio.create_task_group() as group:
        group.start_soon(writer.run)
        put(writer, "a", "b")
        with anyio.fail_after(8):
            await store.has(1)
        group.cancel_scope.cancel()

    assert store.written == ["a", "b"]
    assert counted == {"failed": 2, "written": 2}


async def test_one_that_is_refused_costs_the_others_nothing() -> None:
    store, counted = Store(), Counted()
    writer = RowWriter(store, counted)
    put(writer, "a", "b", "poison", "c", "d")

    await writer.flush()

    assert store.written == ["a", "b", "c", "d"]
    assert counted == {"written": 4, "dropped": 1}


async def test_no_more_wait_than_there_is_room_for() -> None:
    store, counted = Store(losses=1), Counted()
    writer = RowWriter(store, counted, most=3)
    put(writer, "a", "b", "c", "d", "e")

    with pytest.raises(DatabaseLost):
        await writer.flush()
    await writer.flush()

    assert store.written == ["a", "b", "c"]
    assert counted == {"dropped": 2, "failed": 1, "written": 3}


async def test_at_the_end_what_waits_is_written_or_counted_as_lost() -> None:
    store, counted = Store(), Counted()
    writer = RowWriter(store, counted)
    put(writer, "a")
    await writer.finish()
    store.losses = 1
    put(writer, "b")
    await writer.finish()

    assert store.written == ["a"]
    assert counted == {"written": 1, "failed": 1, "dropped": 1}


async def test_who_asks_for_what_waits_also_waits_for_what_is_being_written() -> None:
    store = Store()
    writer = RowWriter(store)
    put(writer, "a")
    async with anyio.create_task_group() as group:
        group.start_soon(writer.flush)
        await anyio.lowlevel.checkpoint()
        await writer.flush()
        assert store.written == ["a"]


async def test_a_number_that_no_database_holds_is_refused_alone(database_url: str) -> None:
    async with opened(database_url) as database:
        ledger, counted = LedgerTable(database), Counted()
        writer = RowWriter(ledger, counted)
        rows = [ledger_row("a.0"), ledger_row("b.0", cost=2**70), ledger_row("c.0", model="x\0y")]
        for row in rows:
            writer.put(Written(request_row(row.request_id), (row,)))

        await writer.flush()

        kept = {row.id for row in await ledger.rows(Sought(key="app"))}
    assert "a.0" in kept
    assert "b.0" not in kept
    assert counted["written"] == len(kept)
    assert counted["failed"] == 0


async def test_rows_wait_for_a_database_that_has_gone(database_url: str) -> None:
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        writer = RowWriter(ledger)
        put(writer, "a.0")
        await _rename(database, "ledger", "gone")
        with pytest.raises(DatabaseLost):
            await writer.flush()
        await _rename(database, "gone", "ledger")

        await writer.flush()

        assert [row.id for row in await ledger.rows(Sought(key="app"))] == ["a.0"]


async def _rename(database: Database, old: str, new: str) -> None:
    async with database.writing() as connection:
        await connection.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))


async def test_each_attempt_is_told_with_its_time_and_its_end() -> None:
    told: list[tuple[float, str]] = []
    writer = RowWriter(Store(losses=1))
    writer.on_tried = lambda *attempt: told.append(attempt)
    put(writer, "a")

    with pytest.raises(DatabaseLost):
        await writer.flush()
    await writer.flush()

    assert [end for _, end in told] == ["failed", "done"]
    assert all(seconds >= 0.01 for seconds, _ in told)
