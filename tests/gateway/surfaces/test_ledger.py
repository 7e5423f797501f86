"""The ledger as an administrator asks for it: page by page, as a file, and as a bill."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from gateway.stores.database.engine import DatabaseLost, opened
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.rows import TOLD, LedgerRow, told
from gateway.stores.database.sought import FILTERS, Sought
from techniques.core.json import Json
from tests.gateway.stores.database.scene import AT, ledger_row
from tests.gateway.surfaces.test_operations import OPEN, Answer, chat, serving

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

DURING = "since=2025-11-24&until=2025-11-25"
"""The day of the rows that are written here."""


@pytest.fixture
def database(tmp_path: Path) -> dict[str, Json]:
    return {"url": f"sqlite:///{tmp_path}/lockgate.db"}


async def written(database: Json, rows: Sequence[LedgerRow]) -> None:
    async with opened(database["url"].replace("sqlite", "sqlite+aiosqlite")) as it:
        await LedgerTable(it).write(rows)


async def asked(database: Json, *queries: str) -> list[Answer]:
    async with serving(database=database) as gateway:
        return [await gateway.ask(f"/admin/{query}", OPEN) for query in queries]


def sheet(answer: Answer) -> list[dict[str, str]]:
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    return list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))


async def test_pages_follow_each_other_by_their_cursor(database: Json) -> None:
    rows = [ledger_row(f"r{n}.0", started_at=AT + n // 2) for n in range(5)]
    await written(database, rows)
    pages: list[Json] = [{"next": ""}]
    async with serving(database=database) as gateway:
        while "next" in pages[-1]:
            query = f"key=app&limit=2&cursor={pages[-1]['next']}"
            pages.append((await gateway.ask(f"/admin/ledger?{query}", OPEN)).json)

    assert [[row["id"] for row in page["rows"]] for page in pages[1:]] == [
        ["r4.0", "r3.0"],
        ["r2.0", "r1.0"],
        ["r0.0"],
    ]


async def test_a_request_is_told_whole_also_if_it_made_many_calls(database: Json) -> None:
    await written(database, [ledger_row(f"r1.{n}") for n in range(150)])
    (answer,) = await asked(database, "ledger?run=run-1")

    assert len(answer.json["rows"]) == 150


async def test_calls_that_were_made_are_found_by_what_they_were_made_with(database: Json) -> None:
    said = {
        "x-lockgate-session": "s-1",
        "x-lockgate-tags": "nightly, job=7",
        "x-lockgate-technique": "self_consistency",
    }
    async with serving(database=database) as gateway:
        answer = await gateway.ask("/v1/chat/completions", said, chat())
        await gateway.ask("/v1/chat/completions", body=chat())
        query = "session=s-1&tag=job%3D7&technique=self_consistency&model=small&role=candidate"
        found = await gateway.ask(f"/admin/ledger?{query}&source=operator&outcome=ok&key=", OPEN)
        billed = await gateway.ask("/admin/bill?by=technique", OPEN)

    rows = found.json["rows"]
    assert len(rows) == int(answer.headers["x-lockgate-calls"]) > 1
    assert {row["price"] for row in rows} == {"operator:small"}
    assert {row["tags"] for row in rows} == {"nightly job=7"}
    assert {line["technique"]: line["cost_usd"] for line in billed.json["lines"]} == {
        "none": "0.25",
        "self_consistency": answer.headers["x-lockgate-cost-usd"],
    }


async def test_an_export_has_every_row_from_the_first_on(database: Json) -> None:
    rows = [ledger_row(f"r{n:04}.0", started_at=AT + n) for n in range(2_500)]
    await written(database, [*rows, ledger_row("later.0", started_at=2**62)])
    as_csv, as_lines, none = await asked(
        database, "ledger?format=csv", "ledger?format=ndjson", "ledger?format=csv&key=nobody"
    )

    assert [row["id"] for row in sheet(as_csv)] == [row.id for row in rows]
    assert [orjson.loads(line) for line in as_lines.body.splitlines()] == [told(r) for r in rows]
    assert as_lines.headers["content-type"].startswith("application/x-ndjson")
    assert none.body.decode().splitlines() == [",".join(TOLD)]


async def test_what_a_client_wrote_is_no_formula_in_a_sheet(database: Json) -> None:
    row = ledger_row(session="=1+1", tags='@x "y", z', run="-run\r\n", caveats="a b", cost=None)
    await written(database, [row])
    (answer,) = await asked(database, "ledger?format=csv")

    (shown,) = sheet(answer)
    assert (shown["session"], shown["tags"]) == ("'=1+1", '\'@x "y", z')
    assert (shown["run"], shown["caveats"]) == ("'-run\r\n", "a b")
    assert (shown["cost_usd"], shown["estimated"]) == ("", "false")


async def test_a_database_that_is_lost_cuts_an_export_off_or_refuses_it(
    database: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[list[LedgerRow]] = [[ledger_row()]]

    async def breaking(_self: LedgerTable, _sought: Sought) -> AsyncGenerator[list[LedgerRow]]:
        for page in pages:
            yield page
        raise DatabaseLost("gone")

    monkeypatch.setattr(LedgerTable, "pages", breaking)
    async with serving(database=database) as gateway:
        with pytest.raises(DatabaseLost):
            await gateway.ask("/admin/ledger?format=csv", OPEN)
        pages.clear()
        refused = await gateway.ask("/admin/ledger?format=csv", OPEN)

    assert refused.status == 503


async def test_a_bill_has_lines_and_a_total_that_agree(database: Json) -> None:
    rows = [
        ledger_row("a.0", role="answer", cost=10**12),
        ledger_row("b.0", role="judge", cost=1, estimated=True, cache_write_1h_tokens=2),
        ledger_row("c.0", role="judge", cost=None),
        ledger_row("d.0", started_at=AT - 86_400_000_000),
    ]
    await written(database, rows)
    bill, as_csv, whole = await asked(
        database,
        f"bill?by=role,%20source&{DURING}",
        f"bill?by=role&{DURING}&format=csv",
        f"bill?{DURING}&role=answer",
    )

    answered, judged = bill.json["lines"]
    assert (answered["role"], answered["source"], answered["cost"]) == ("answer", "operator", "1")
    assert (judged["calls"], judged["cost_usd"], judged["unknown_calls"]) == (2, None, 1)
    assert (judged["at_least_usd"], judged["cost"]) == (
        "0.000000000001",
        "≥ 0.000000000001, 1 unknown",
    )
    assert (judged["estimated_calls"], judged["estimated_usd"]) == (1, "0.000000000001")
    assert bill.json["total"]["cost"] == "≥ 1.000000000001, 1 unknown"
    assert (bill.json["total"]["calls"], bill.json["total"]["cache_write_1h_tokens"]) == (3, 2)
    assert bill.json["since"] == "2025-11-24T00:00:00+00:00"
    assert [line["calls"] for line in sheet(as_csv)] == ["1", "2"]
    assert whole.json["total"]["cost_usd"] == "1"


async def test_a_bill_is_of_this_month_until_now_if_nothing_is_said(database: Json) -> None:
    now = datetime.now(UTC)
    (bill,) = await asked(database, "bill")

    assert datetime.fromisoformat(bill.json["since"]).day == 1
    assert datetime.fromisoformat(bill.json["until"]) >= now
    assert (bill.json["lines"], bill.json["total"]["cost_usd"]) == ([], "0")


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("ledger?nope=1", "nope"),
        ("ledger?key=a&key=b", "key"),
        ("ledger?model=", "model"),
        ("ledger?format=xml", "format"),
        ("ledger?cursor=abc", "cursor"),
        ("ledger?cursor=WzEsIDJd", "cursor"),
        ("ledger?cursor=WzEsIlx1MDAwMCJd", "cursor"),
        ("ledger?cursor=W3RydWUsImEiXQ", "cursor"),
        ("ledger?limit=00000000199999", "limit"),
        ("ledger?limit=000000001" + "9" * 5000, "limit"),
        ("ledger?limit=%D9%A1", "limit"),
        ("ledger?until=never", "until"),
        ("ledger?format=csv&limit=5", "limit"),
        ("ledger?format=ndjson&cursor=x", "cursor"),
        ("bill?by=request", "by"),
        ("bill?limit=1", "limit"),
        ("bill?since=2026-01-02&until=2026-01-02", "until"),
        ("bill?format=ndjson", "format"),
    ],
)
async def test_what_cannot_be_meant_is_refused_by_name(
    query: str, param: str, database: Json
) -> None:
    (answer,) = await asked(database, query)

    assert answer.status == 400
    assert answer.json["error"]["param"] == param


async def test_every_field_that_rows_are_sought_by_is_taken(database: Json) -> None:
    queries = [f"{path}?{name}=x" for name in FILTERS for path in ("ledger", "bill")]
    answers = await asked(database, *queries)

    assert {answer.status for answer in answers} == {200, 404}
    assert [q for q, a in zip(queries, answers, strict=True) if a.status == 404] == [
        "ledger?request=x"
    ]


async def test_a_bill_that_would_be_too_long_says_so(
    database: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.stores.database.bills.MOST_LINES", 1)
    await written(database, [ledger_row("a.0", run="1"), ledger_row("b.0", run="2")])
    (answer,) = await asked(database, f"bill?by=run&{DURING}")

    assert (answer.status, answer.json["error"]["param"]) == (400, "by")


async def test_without_a_database_there_are_requests_and_no_bills() -> None:
    async with serving() as gateway:
        answer = await gateway.ask("/v1/chat/completions", body=chat())
        name = answer.headers["x-lockgate-request-id"]
        as_csv = await gateway.ask(f"/admin/ledger?request={name}&format=csv", OPEN)
        as_lines = await gateway.ask(f"/admin/ledger?request={name}&format=ndjson", OPEN)
        narrowed = await gateway.ask(f"/admin/ledger?request={name}&role=judge", OPEN)
        bill = await gateway.ask("/admin/bill", OPEN)
        closed = await gateway.ask("/admin/bill")

    assert [row["request_id"] for row in sheet(as_csv)] == [name]
    assert orjson.loads(as_lines.body)["request_id"] == name
    assert (narrowed.status, bill.status, closed.status) == (400, 404, 401)
