from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio
import pytest

from router_service.contract import Feedback, Observation, Vector
from router_service.store.observations import ObservationTable
from router_service.store.pages import Learnt
from router_service.store.rows import Unfit
from techniques.core.groups import task_group
from tests.router_service.store.scene import AT, FULL, observation, read, tabled


@pytest.fixture
async def table(database_url: str) -> AsyncGenerator[ObservationTable, None]:
    async with tabled(database_url) as it:
        yield it


def test_the_full_one_leaves_nothing_at_its_default() -> None:
    fields = Observation.model_fields.items()

    assert [name for name, field in fields if getattr(FULL, name) == field.default] == []


@pytest.mark.parametrize("observed", [FULL, observation()])
async def test_what_was_observed_is_read_as_it_was_written(
    table: ObservationTable, observed: Observation
) -> None:
    await table.observe([observed])

    assert await read(table) == [observed]


async def test_one_whose_id_is_known_takes_its_place_also_within_one_writing(
    table: ObservationTable,
) -> None:
    await table.observe([observation("a"), observation("a", calls=2), observation("b")])
    await table.observe([observation("a", calls=3)])

    assert {row.id: row.calls for row in await read(table)} == {"a": 3, "b": 1}
    assert await table.count() == 2


async def test_writing_a_row_again_does_not_unsay_what_was_said_of_it(
    table: ObservationTable,
) -> None:
    await table.observe([observation("a")])
    await table.feedback(Feedback(request_id="r-a", quality=0.9))
    await table.observe([observation("a", calls=3)])
    (row,) = await read(table)
    await table.observe([observation("a", quality=0.1, source="judge", reliability=0.6)])
    (after,) = await read(table)

    assert (row.quality, row.source, row.calls) == (0.9, "feedback", 3)
    assert (after.quality, after.source) == (0.1, "judge")


async def test_a_reader_gets_everything_in_pages_and_then_what_is_new(
    table: ObservationTable,
) -> None:
    await table.observe([observation(str(number)) for number in range(5)])

    first = await table.since(limit=2)
    second = await table.since(first.cursor, limit=2)
    third = await table.since(second.cursor, limit=2)
    nothing = await table.since(third.cursor)
    await table.observe([observation("5")])
    new = await table.since(nothing.cursor)

    pages = (first, second, third, nothing, new)
    assert [[row.id for row in page.rows] for page in pages] == [
        ["0", "1"],
        ["2", "3"],
        ["4"],
        [],
        ["5"],
    ]
    assert [page.more for page in pages] == [True, True, False, False, False]
    assert not any(page.anew for page in pages)


async def test_what_was_said_of_an_answer_comes_to_who_has_read_it_before(
    table: ObservationTable,
) -> None:
    await table.observe([observation("a"), observation("b"), observation("a2", request_id="r-a")])
    read_to = (await table.since()).cursor

    known = await table.feedback(Feedback(request_id="r-a", quality=1.0, plain_quality=0.5))
    page = await table.since(read_to)

    assert known
    assert [(row.id, row.quality, row.plain_quality) for row in page.rows] == [
        ("a", 1.0, 0.5),
        ("a2", 1.0, 0.5),
    ]


async def test_nothing_is_said_of_what_was_not_carried_out_or_is_not_known(
    table: ObservationTable,
) -> None:
    await table.observe([observation("a", counterfactual=True, quality=0.5)])
    read_to = (await table.since()).cursor

    assert not await table.feedback(Feedback(request_id="r-a", quality=1.0))
    assert not await table.feedback(Feedback(request_id="r-none", quality=1.0))
    assert await read(table, read_to) == []


@pytest.mark.parametrize(
    ("reliability", "quality"), [(0.5, 0.75), (-0.3, 0.75), (0.6, 0.0), (1.0, 0.0)]
)
async def test_who_is_less_to_be_believed_does_not_overrule(
    table: ObservationTable, reliability: float, quality: float
) -> None:
    await table.observe([observation("a", quality=0.75, source="judge", reliability=0.6)])

    said = Feedback(request_id="r-a", quality=0.0, source="x", reliability=reliability)
    assert await table.feedback(said)

    assert [row.quality for row in await read(table)] == [quality]


async def test_what_a_caller_is_to_be_forgotten_goes_and_readers_begin_anew(
    table: ObservationTable,
) -> None:
    await table.observe([observation("a"), observation("b", caller="other")])
    read_to = (await table.since()).cursor

    gone = await table.forget("app")
    page = await table.since(read_to)
    after = await table.since(page.cursor)

    assert gone == 1
    assert (page.anew, [row.id for row in page.rows]) == (True, ["b"])
    assert (after.anew, after.rows) == (False, [])


async def test_where_nothing_is_to_be_forgotten_nobody_begins_anew(
    table: ObservationTable,
) -> None:
    await table.observe([observation("a")])
    read_to = (await table.since()).cursor

    assert await table.forget("nobody") == 0
    assert await table.expire(AT) == 0
    assert not (await table.since(read_to)).anew


async def test_what_is_old_goes(table: ObservationTable) -> None:
    await table.observe([observation("old", at=AT - 1), observation("new")])

    assert await table.expire(AT) == 1
    assert [row.id for row in await read(table)] == ["new"]


async def test_everything_can_be_taken_out_while_rows_come(
    table: ObservationTable,
) -> None:
    await table.observe([observation(str(number)) for number in range(2_100)])
    taken: set[str] = set()
    async for row in table.all():
        if row.id == "0":
            await table.feedback(Feedback(request_id="r-1500", quality=1.0))
        taken.add(row.id)

    assert taken == {str(number) for number in range(2_100)}


async def test_it_tells_what_there_is_of_each_model_and_pool(table: ObservationTable) -> None:
    other = observation("c", arm="best_of_n/3", quality=0.5, at=AT + 9)
    await table.observe([observation("a"), observation("b", quality=0.5), other, FULL])

    told = {(it.pool, it.encoder): it.arms for it in await table.profiles()}

    assert told == {
        ((), ""): {"none": Learnt(2, 1, AT), "best_of_n/3": Learnt(1, 1, AT + 9)},
        (FULL.pool, "hashed/4"): {"self_consistency/5": Learnt(1, 1, AT)},
    }


async def test_no_reader_misses_a_row_that_many_write_at_once(database_url: str) -> None:
    async with tabled(database_url) as one, tabled(database_url) as other:
        seen: set[str] = set()
        ended = anyio.Event()

        async def write(table: ObservationTable, name: str) -> None:
            for number in range(15):
                await table.observe([observation(f"{name}-{number}-{part}") for part in range(3)])

        async def follow() -> None:
            cursor = None
            while True:
                last = ended.is_set()
                page = await one.since(cursor)
                cursor = page.cursor
                seen.update(row.id for row in page.rows)
                if last and not page.more:
                    return

        async with task_group() as group:
            group.start_soon(follow)
            async with task_group() as writing:
                for table, name in ((one, "a"), (one, "b"), (other, "c"), (other, "d")):
                    writing.start_soon(write, table, name)
            ended.set()

    assert len(seen) == 4 * 15 * 3


@pytest.mark.parametrize(
    "observed",
    [
        observation("large", vector=Vector(encoder="e", values=(1e30,))),
        observation("never", at=float("inf")),
    ],
)
async def test_what_cannot_be_kept_is_refused_with_all_that_came_with_it(
    table: ObservationTable, observed: Observation
) -> None:
    with pytest.raises(Unfit):
        await table.observe([observation("a"), observed])

    assert await table.count() == 0


async def test_any_name_and_number_can_be_kept(table: ObservationTable) -> None:
    odd = observation("a\0b", model="\ud800", calls=2**70, at=1e300, outcome="x" * 10_000)
    content = {"not": float("nan"), "is": 1.0}
    observed = odd.model_copy(
        update={"features": FULL.features.model_copy(update={"content": content})}
    )

    await table.observe([observed])
    (row,) = await read(table)

    assert (row.id, row.model, row.calls) == ("a\N{REPLACEMENT CHARACTER}b", "?", 2**63 - 1)
    assert row.features.content == {"is": 1.0}
