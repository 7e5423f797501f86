"""``GET /admin/bill``: what sub-calls came to in a period, parted as one likes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from gateway.policy.asked import Faulty
from gateway.stores.database.bills import MOST_LINES, TOKENS, Bill, Sums, TooManyLines
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.rows import instant, moment
from gateway.stores.database.sought import Sought
from gateway.surfaces.books import Books
from gateway.surfaces.operations import json_answer
from gateway.surfaces.seeking import choice_of, fields_of, groups_of, sought_of
from gateway.surfaces.sheets import csv_answer, csv_text
from pricing.cost import dollars
from techniques.core.json import JsonObject

SUMS: Final = (
    "calls",
    *TOKENS,
    "cost_usd",
    "at_least_usd",
    "unknown_calls",
    "estimated_calls",
    "estimated_usd",
    "cost",
)
"""What is told of each line, after what it is of."""


class BillEndpoint:
    """Answers with the sums of the rows that are asked for."""

    def __init__(self, books: Books) -> None:
        self._books = books

    async def serve(self, request: Request) -> Response:
        """Serve the bill that is asked for."""
        fields = fields_of(request.query_params.multi_items(), ("by", "format"))
        by = groups_of(fields.get("by"))
        form = choice_of("format", fields.get("format"), ("json", "csv"))
        sought = in_period(sought_of(fields), datetime.now(UTC))
        bill = await billed((await self._books.current()).ledger, sought, by)
        if form == "csv":
            return csv_answer(bill_csv(bill), "bill")
        return json_answer(told_bill(bill, sought))


def in_period(sought: Sought, now: datetime) -> Sought:
    """Return *sought* with both ends: the beginning of this month, of UTC, and *now* at the latest.

    Raises:
        Faulty: The end is not after the beginning.
    """
    month = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    since = instant(month.timestamp()) if sought.since is None else sought.since
    until = instant(now.timestamp()) if sought.until is None else sought.until
    if since >= until:
        raise Faulty("until", f"{moment(until)} is not after {moment(since)}")
    return replace(sought, since=since, until=until)


async def billed(ledger: LedgerTable, sought: Sought, by: Sequence[str]) -> Bill:
    """Return the bill of what is *sought*, parted by *by*.

    Raises:
        DatabaseLost: The database does not answer.
        Faulty: It would be too long.
    """
    try:
        return await ledger.bill(sought, by)
    except TooManyLines as error:
        raise Faulty(
            "by", f"that would be more than {MOST_LINES} lines: ask for less, or export the rows"
        ) from error


def told_bill(bill: Bill, sought: Sought) -> JsonObject:
    """Return *bill* of what was *sought* as it is answered with."""
    return {
        "since": moment(sought.since or 0),
        "until": moment(sought.until or 0),
        "by": list(bill.by),
        "lines": told_lines(bill),
        "total": told_sums(bill.total),
    }


def told_lines(bill: Bill) -> list[JsonObject]:
    """Return the lines of *bill*: what each is of, and what it comes to."""
    return [
        {**dict(zip(bill.by, line.group, strict=True)), **told_sums(line.sums)}
        for line in bill.lines
    ]


def told_sums(sums: Sums) -> JsonObject:
    """Return *sums* with the names of ``SUMS``; ``cost_usd`` is null if a part is not known."""
    counts: Mapping[str, int] = dict(zip(TOKENS, sums.counts, strict=True))
    return {
        "calls": sums.calls,
        **counts,
        "cost_usd": None if sums.unknown else dollars(sums.cost),
        "at_least_usd": dollars(sums.cost),
        "unknown_calls": sums.unknown,
        "estimated_calls": sums.estimated,
        "estimated_usd": dollars(sums.estimated_cost),
        "cost": worded(sums),
    }


def worded(sums: Sums) -> str:
    """Return the cost for people: a sum without its unknown parts says so."""
    known = dollars(sums.cost)
    return f"≥ {known}, {sums.unknown} unknown" if sums.unknown else known


def bill_csv(bill: Bill) -> str:
    """Return the lines of *bill* as CSV; without the total, which would be added to them."""
    return csv_text((*bill.by, *SUMS), told_lines(bill))
