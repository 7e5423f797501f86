"""Rows are found by what is said of them, and sums over them are exact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from gateway.stores.database import bills
from gateway.stores.database.bills import GROUPS, TOKENS, BillLine, Sums, TooManyLines
from gateway.stores.database.engine import opened
from gateway.stores.database.ledger import LedgerTable, Spender
from gateway.stores.database.rows import MOST, LedgerRow
from gateway.stores.database.sought import FILTERS, Sought
from tests.gateway.stores.database.scene import AT, ledger_row

DAY = 86_400_000_000
MIDNIGHT = AT // DAY * DAY

USUAL = ledger_row("usual.0", technique="none", session="s", tags="a b", price="operator:fast")
OTHER: dict[str, str] = {
    "request": "other",
    "run": "run-9",
    "key": "key-9",
    "team": "team-9",
    "provider": "an",
    "model": "smart",
    "technique": "cisc",
    "role": "judge",
    "session": "S",
    "tag": "A",
    "outcome": "timeout",
    "source": "table",
}
"""Another value for each field that rows are sought by."""


def _by(name: str, value: str) -> Sought:
    said: dict[str, Any] = {name: value}
    return Sought(**said)


def _other(name: str) -> LedgerRow:
    """Return a row that differs from the usual one in what *name* means."""
    said: dict[str, Any] = {FILTERS[name].name: OTHER[name]}
    return USUAL._replace(id="other.0", **said)


@pytest.mark.parametrize("name", FILTERS)
async def test_rows_are_found_by_each_field_and_by_its_want(name: str, database_url: str) -> None:
    column = FILTERS[name]
    rows = [USUAL, _other(name)]
    if column.nullable:
        nothing: dict[str, Any] = {column.name: None}
        rows.append(USUAL._replace(id="none.0", **nothing))
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write(rows)
        found, none, wanting = [
            await ledger.rows(_by(name, value)) for value in (OTHER[name], "nobody", "")
        ]
        bill = await ledger.bill(_by(name, OTHER[name]))

    assert (found, none, wanting) == ([rows[1]], [], rows[2:])
    assert bill.total.calls == 1


@pytest.mark.parametrize("tag", ["nightly", "job=7", "x", "ü"])
async def test_a_tag_is_a_whole_word_of_a_rows_tags(tag: str, database_url: str) -> None:
    row = ledger_row(tags="nightly job=7 x ü")
    near = [ledger_row(f"near.{n}", tags=text) for n, text in enumerate([f"{tag}s", f"0{tag}"])]
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write([row, *near, ledger_row("none.0")])

        assert await ledger.rows(Sought(tag=tag)) == [row]


async def test_a_period_has_its_first_instant_and_not_its_last(database_url: str) -> None:
    rows = [ledger_row(f"r{n}.0", started_at=MIDNIGHT + n) for n in (-1, 0, DAY - 1, DAY)]
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write(rows)
        sought = Sought(since=MIDNIGHT, until=MIDNIGHT + DAY, ascending=True)

        assert await ledger.rows(sought) == rows[1:3]
        days = await ledger.bill(Sought(), ["day"])
        assert [line.sums.calls for line in days.lines] == [1, 2, 1]
        assert [line.group for line in days.lines] == [
            ("2025-11-23",),
            ("2025-11-24",),
            ("2025-11-25",),
        ]


@pytest.mark.parametrize("order", ["ascending", "descending"])
async def test_pages_have_each_row_once_also_of_one_instant(order: str, database_url: str) -> None:
    rows = [ledger_row(f"r{n:04}.0", started_at=AT + n // 700) for n in range(2_100)]
    sought = Sought(ascending=order == "ascending")
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write(rows)
        pages = [page async for page in ledger.pages(sought)]
        none = [page async for page in ledger.pages(Sought(key="nobody"))]

    assert [len(page) for page in pages] == [1_000, 1_000, 100]
    assert [row for page in pages for row in page] == (rows if sought.ascending else rows[::-1])
    assert none == []


def _dice(number: int, dice: Random) -> LedgerRow:
    names = ("key", "team", "session", "price", "model", "role", "technique", "outcome")
    chosen: dict[str, Any] = {name: dice.choice("ab") for name in names}
    counts = {name: dice.choice([0, 0, dice.randrange(10**6)]) for name in TOKENS}
    for name in names[:4]:
        chosen[name] = dice.choice([chosen[name], None])
    return ledger_row(
        f"r{number}.0",
        started_at=MIDNIGHT + dice.randrange(3 * DAY),
        cost=dice.choice([None, 0, dice.randrange(10**14), MOST]),
        estimated=dice.random() < 0.3,
        **chosen,
        **counts,
    )


def _by_hand(rows: Sequence[LedgerRow], by: Sequence[str]) -> dict[tuple[str | None, ...], Sums]:
    """Return the sums of *rows*, parted by *by*, as they are worked out without a database."""
    groups: defaultdict[tuple[str | None, ...], Sums] = defaultdict(Sums)
    for row in rows:
        day = row.started_at // DAY - MIDNIGHT // DAY + 24
        told = {**row._asdict(), "source": row.cost_source, "day": f"2025-11-{day}"}
        cost = row.cost or 0
        groups[tuple(told[name] for name in by)] += Sums(
            1,
            tuple(getattr(row, name) for name in TOKENS),
            cost,
            int(row.cost is None),
            int(row.estimated),
            cost if row.estimated else 0,
        )
    return dict(groups)


async def test_sums_are_exact_by_whatever_they_are_parted(database_url: str) -> None:
    dice = Random(5)
    rows = [_dice(number, dice) for number in range(300)]
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write(rows)
        for by in ((), *((name,) for name in GROUPS), ("team", "day", "role"), tuple(GROUPS)):
            bill = await ledger.bill(Sought(), by)
            assert {line.group: line.sums for line in bill.lines} == _by_hand(rows, by)
            assert bill.total == _by_hand(rows, ())[()]
        spent = await ledger.spent(Spender("a"))

    assert spent == sum(row.cost or 0 for row in rows if row.key == "a")
    assert spent > MOST


async def test_a_bill_without_rows_has_a_total_of_nothing(database_url: str) -> None:
    async with opened(database_url) as database:
        ledger = LedgerTable(database)

        assert (await ledger.bill(Sought(), ["key"])).lines == []
        assert (await ledger.bill(Sought())).total == Sums()


async def test_lines_are_in_order_those_without_a_name_last(database_url: str) -> None:
    keys = ("b", None, "a")
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write([ledger_row(f"r{n}.0", key=key) for n, key in enumerate(keys)])
        lines: Sequence[BillLine] = (await ledger.bill(Sought(), ["key"])).lines

    assert [line.group for line in lines] == [("a",), ("b",), (None,)]


async def test_a_bill_has_so_many_lines_and_no_more(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bills, "MOST_LINES", 3)
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write([ledger_row(f"r{n}.0", run=f"run-{n}") for n in range(4)])
        three = await ledger.bill(Sought(key="app", until=AT + 1, run="run-1"), ["run"])
        with pytest.raises(TooManyLines):
            await ledger.bill(Sought(), ["run"])

    assert len(three.lines) == 1
