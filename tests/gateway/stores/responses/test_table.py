from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from gateway.stores.database.engine import Database, opened
from gateway.stores.responses.records import ResponseName
from gateway.stores.responses.table import ResponseTable, Written
from tests.gateway.stores.responses.scene import AT, row, written


class Silent:
    """A database that nothing may be asked of."""

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[None, None]:
        yield None


@pytest.fixture
async def table(database_url: str) -> AsyncIterator[ResponseTable]:
    async with opened(database_url) as database:
        yield ResponseTable(database)


def name(number: int, owner: str = "k1") -> ResponseName:
    return ResponseName(owner, f"resp_{number}")


async def test_a_response_is_found_by_its_key_alone(table: ResponseTable) -> None:
    await table.write(written(row(1)))

    assert await table.find(name(1)) == row(1)
    assert await table.find(name(1, "k2")) is None
    assert await table.find(name(2)) is None


async def test_what_has_ended_stays_as_it_ended(table: ResponseTable) -> None:
    await table.write(written(row(1, state="queued")))
    await table.write(written(row(1, state="cancelled", record="[1,[]]", created_ms=7)))
    await table.write(written(row(1, state="completed", record="[2,[]]")))

    found = await table.find(name(1))
    assert found == row(1, state="cancelled", record="[1,[]]")


async def test_one_that_was_deleted_while_it_was_under_way_does_not_come_back(
    table: ResponseTable,
) -> None:
    await table.write(written(row(1, state="queued", background=1), row(2, state="queued")))
    await table.delete(name(1))

    ends = [row(1, background=1, record="[1,[]]"), row(2, background=1, record="[2,[]]")]
    await table.write([Written(one, (f"end_{one.id}",), begun=True) for one in ends])

    assert await table.find(name(1)) is None
    assert await table.find(name(2)) == ends[1]
    assert await table.holders("k1", ["end_resp_1", "end_resp_2"]) == {"end_resp_2": "resp_2"}


async def test_a_chain_is_read_from_its_beginning_whatever_else_goes_on_with_it(
    table: ResponseTable,
) -> None:
    chain = [row(0), row(1, 0), row(2, 1)]
    await table.write(written(*chain, row(3, 1), row(4, 0), row(2, 4, owner="k2")))

    assert await table.chain(name(2), 1000) == chain
    assert await table.chain(name(3), 1000) == [*chain[:2], row(3, 1)]
    assert await table.chain(name(9), 1000) == []


async def test_a_chain_is_read_no_further_than_it_may_be_large(table: ResponseTable) -> None:
    await table.write(written(row(0), *(row(number, number - 1) for number in range(1, 30))))

    found = await table.chain(name(29), 95)

    assert [one.id for one in found] == [f"resp_{number}" for number in range(20, 30)]


async def test_a_chain_of_which_some_is_gone_begins_with_one_that_has_a_parent(
    table: ResponseTable,
) -> None:
    await table.write(written(row(0), row(1, 0), row(2, 1)))
    assert await table.delete(name(0))
    assert not await table.delete(name(0))

    assert await table.chain(name(2), 1000) == [row(1, 0), row(2, 1)]


async def test_items_are_found_in_their_responses_and_go_with_them(table: ResponseTable) -> None:
    await table.write(written(row(1), row(2), row(3, owner="k2")))

    asked = ["msg_1", "msg_2", "msg_3", "other"]
    assert await table.holders("k1", asked) == {"msg_1": "resp_1", "msg_2": "resp_2"}
    await table.delete(name(1))
    assert await table.holders("k1", asked) == {"msg_2": "resp_2"}


async def test_any_number_of_items_can_be_looked_for(table: ResponseTable) -> None:
    await table.write(written(row(1), row(2)))
    asked = ["msg_1", *(f"other_{n}" for n in range(300_000)), "msg_2"]
    assert await table.holders("k1", asked) == {"msg_1": "resp_1", "msg_2": "resp_2"}


async def test_no_database_is_asked_for_a_name_with_a_nul() -> None:
    table = ResponseTable(cast("Database", Silent()))
    odd = ResponseName("k1", "resp_1\0")

    assert await table.find(odd) is None
    assert await table.chain(odd, 1000) == []
    assert await table.holders("k1", ["msg_1\0", "\0"]) == {}


async def test_what_was_not_used_for_long_is_purged_a_batch_at_a_time(
    table: ResponseTable,
) -> None:
    await table.write(written(*(row(number) for number in range(10))))
    await table.touch([name(1), name(3)], AT + 100)

    assert [await table.purge(AT + 8, most=4) for _ in range(3)] == [4, 2, 0]

    left = [number for number in range(10) if await table.find(name(number)) is not None]
    assert left == [1, 3, 8, 9]


async def test_the_oldest_of_a_key_that_has_too_many_go_first(table: ResponseTable) -> None:
    await table.write(written(*(row(number) for number in range(6)), row(1, owner="k2")))

    assert await table.crowded(4) == {"k1": 2}
    assert await table.thin("k1", 2) == 2
    assert await table.crowded(4) == {}
    assert await table.find(name(1)) is None
    assert await table.find(name(1, "k2")) is not None


async def test_all_of_a_key_are_erased_and_no_others(table: ResponseTable) -> None:
    behind = row(4, background=1)
    await table.write(written(*(row(number) for number in range(3)), behind, row(1, owner="")))

    assert await table.unheard("k1") == [behind.name]
    assert [await table.erase("k1", most=3) for _ in range(3)] == [3, 1, 0]
    assert await table.find(name(1, "")) is not None


async def test_only_one_that_is_under_way_is_to_be_stopped(table: ResponseTable) -> None:
    await table.write(written(row(1, state="queued"), row(2)))

    await table.cancel(name(1))
    await table.cancel(name(2))

    assert await table.cancelled(10) == [name(1)]
    await table.write(written(row(1, state="cancelled")))
    assert await table.cancelled(10) == []
