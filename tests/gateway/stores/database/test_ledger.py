from __future__ import annotations

from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway.stores.database.engine import opened
from gateway.stores.database.ledger import LedgerTable, Spender
from gateway.stores.database.rows import MOST, LedgerRow, instant, kept, packed, told, unpacked
from gateway.stores.database.sought import MOST as MOST_AT_ONCE
from gateway.stores.database.sought import Sought
from tests.gateway.stores.database.scene import AT, ledger_row, request_row


async def test_what_is_written_is_read_as_it_was(database_url: str) -> None:
    counts: dict[str, Any] = {
        name: n for n, name in enumerate(LedgerRow._fields) if name.endswith("_tokens")
    }
    row = ledger_row(
        cost=MOST,
        key=None,
        team=None,
        technique="cisc",
        session="s",
        tags="a b",
        price="operator:fast",
        caveats="peak_rate audio_at_text_rate",
        images=2,
        **counts,
    )
    whole = request_row(tags="\N{SNOWMAN} and 'quotes'")
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write([row], [whole])

        assert await ledger.rows(Sought(request="r1")) == [row]
        assert await ledger.request("r1") == whole
        assert await ledger.request("r2") is None


async def test_who_leaves_an_export_ends_it_and_cuts_off_no_connection(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bool] = []

    async def slowly(_self: LedgerTable, _sought: Sought) -> list[LedgerRow]:
        assert len(read) < 2, "nobody wants a second page"
        read.append(False)
        group.cancel_scope.cancel()
        await anyio.lowlevel.checkpoint()
        read.append(True)
        return [ledger_row()] * MOST_AT_ONCE

    async with opened(database_url) as database:
        monkeypatch.setattr(LedgerTable, "rows", slowly)
        async with (
            anyio.create_task_group() as group,
            aclosing(LedgerTable(database).pages(Sought())) as pages,
        ):
            async for _ in pages:
                pass

    assert read == [False, True]


async def test_a_row_that_is_written_again_is_written_once(database_url: str) -> None:
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write([ledger_row()], [request_row()])
        await ledger.write([ledger_row(cost=7), ledger_row("r1.1")], [request_row(status=500)])

        rows = await ledger.rows(Sought(request="r1"))
        whole = await ledger.request("r1")

    assert [(row.id, row.cost) for row in rows] == [("r1.0", 1_500_000), ("r1.1", 1_500_000)]
    assert whole is not None
    assert whole.status == 200


async def test_rows_of_a_run_come_in_order_and_those_of_a_key_from_the_last_on(
    database_url: str,
) -> None:
    rows = [ledger_row(f"r{n}.0", started_at=AT + n, run=f"run-{n // 3}") for n in range(6)]
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write([*rows, ledger_row("x.0", key="other", run="other")])

        of_run = await ledger.rows(Sought(run="run-1"))
        of_key = await ledger.rows(Sought(key="app", since=AT + 1, limit=3))
        of_both = await ledger.rows(Sought(key="other", run="run-1"))

    assert of_run == rows[3:]
    assert of_key == [rows[5], rows[4], rows[3]]
    assert of_both == []


async def test_what_was_spent_is_the_sum_of_the_rows_of_the_period(database_url: str) -> None:
    start, end = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
    first, last = instant(start.timestamp()), instant(end.timestamp())
    rows = [
        ledger_row("before.0", started_at=first - 1),
        ledger_row("first.0", started_at=first, cost=10**15),
        ledger_row("unknown.0", started_at=first, cost=None),
        ledger_row("other.0", started_at=first, cost=7, key="other"),
        ledger_row("last.0", started_at=last - 1, cost=3),
        ledger_row("after.0", started_at=last),
    ]
    async with opened(database_url) as database:
        ledger = LedgerTable(database)
        await ledger.write(rows)

        assert await ledger.spent(Spender("app"), start, end) == 10**15 + 3
        assert await ledger.spent(Spender("research", is_team=True), start, end) == 10**15 + 10
        assert await ledger.spent(Spender("app")) == 10**15 + 3 + 2 * 1_500_000
        assert await ledger.spent(Spender("research"), start, end) == 0


def test_a_row_can_be_kept_as_a_line() -> None:
    row = ledger_row(cost=None, team=None)

    assert unpacked(packed(row)) == row
    for line in ("[1, 2]", "{}", "nothing"):
        with pytest.raises(ValueError, match=r"no row|invalid literal"):
            unpacked(line)


def test_a_row_is_told_in_dollars_and_by_the_clock() -> None:
    row = told(ledger_row())

    assert (row["cost_usd"], row["started_at"]) == ("0.0000015", "2025-11-24T16:00:00+00:00")
    assert "cost" not in row
    assert (row["caveats"], row["cost_tier"]) == ([], "exact_user_rate")
    guess = told(ledger_row(caveats="peak_rate image_at_text_rate", estimated=True))
    assert guess["caveats"] == ["peak_rate", "image_at_text_rate"]
    assert guess["cost_tier"] == "tokens_estimated_with_thinking_chars"
    assert told(ledger_row(cost=None))["cost_usd"] is None


def test_text_that_a_database_cannot_hold_is_cut_to_what_it_can() -> None:
    assert kept("a\0b") == "a\N{REPLACEMENT CHARACTER}b"
    assert len(kept("x" * 10_000)) == 2000
