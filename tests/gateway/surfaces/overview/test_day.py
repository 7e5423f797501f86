"""What a day's ledger is told as, by a database of either kind and by memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.metering.ledger import RequestFinished
from gateway.metering.meters.durable import request_row, rows_of
from gateway.metering.meters.rows import RecentRows
from gateway.stores.database.day import LOOKED_AT, DayTable
from gateway.stores.database.engine import opened
from gateway.stores.database.ledger import LedgerTable
from gateway.surfaces.overview.day import ERRORS, MOST, Day
from pricing.cost import dollars
from techniques.core.json import Json
from tests.gateway.metering.facts import request, row

NOW = datetime(2026, 3, 5, 14, 30, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 5, tzinfo=UTC).timestamp()
USD = 10**12


@pytest.fixture
def anyio_backend() -> str:
    """SQLAlchemy runs on asyncio alone."""
    return "asyncio"


@dataclass
class Told:
    """Tells of facts as a day, out of a database at *url*, or of memory where that is None."""

    url: str | None

    async def __call__(self, facts: Sequence[RequestFinished]) -> Json:
        recent = RecentRows()
        if self.url is None:
            recent(facts)
            return await Day(None, recent).told(NOW)
        async with opened(self.url) as database:
            rows = [one for fact in facts for one in rows_of(fact)]
            whole = [request_row(fact, place) for place, fact in enumerate(facts)]
            await LedgerTable(database).write(rows, whole)
            return await Day(DayTable(database), recent).told(NOW)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def told(request: pytest.FixtureRequest, tmp_path: Any) -> Told:
    match request.param:
        case "memory":
            return Told(None)
        case "sqlite":
            return Told(f"sqlite+aiosqlite:///{tmp_path}/lockgate.db")
        case _:
            return Told(request.getfixturevalue("postgres").database())


def ended(name: str, *costs: tuple[str, int | None], hour: float = 9, **more: Any) -> Any:
    """Return a request whose calls of these models cost so much."""
    calls = [
        row(model=model, cost=cost, started_at=MIDNIGHT + 3600 * hour) for model, cost in costs
    ]
    return request(request_id=name, run=name, rows=tuple(calls), **more)


def bars(list_: Json) -> list[tuple[str, str, int, int]]:
    return [(it["name"], it["usd"], it["calls"], it["unknown"]) for it in list_]


async def test_the_day_is_summed_by_hour_technique_and_model(told: Told) -> None:
    day = await told(
        [
            ended("a", ("fast", USD), ("smart", 3 * USD), technique="best_of_n"),
            ended("b", ("fast", 2), ("free", None), hour=13.99),
            ended("c", ("fast", USD), hour=0, technique="best_of_n"),
            ended("yesterday", ("fast", 9 * USD), hour=-0.001),
        ]
    )
    spend = day["spend"]

    assert day["since"] == "2026-03-05T00:00:00+00:00"
    assert (spend["usd"], spend["calls"], spend["unknown"]) == ("5.000000000002", 5, 1)
    assert bars(spend["by_technique"]) == [
        ("best_of_n", "5", 3, 0),
        ("none", "0.000000000002", 2, 1),
    ]
    assert bars(spend["by_model"]) == [
        ("smart", "3", 1, 0),
        ("fast", "2.000000000002", 3, 0),
        ("free", "0", 1, 1),
    ]
    hours = {hour: it["usd"] for hour, it in enumerate(spend["by_hour"]) if it["calls"]}
    assert hours == {0: "1", 9: "4", 13: "0.000000000002"}
    assert len(spend["by_hour"]) == 24


async def test_the_least_of_very_many_bars_are_one_and_nothing_is_lost(told: Told) -> None:
    many = MOST + 5
    day = await told([ended("a", *((f"m{number:02}", number * USD) for number in range(many)))])
    found = day["spend"]["by_model"]

    assert [it["name"] for it in found[:2]] == [f"m{many - 1}", f"m{many - 2}"]
    assert (len(found), found[-1]["others"], found[-1]["calls"]) == (MOST + 1, 5, 5)
    assert sum(int(it["usd"]) for it in found) == int(day["spend"]["usd"]) == sum(range(many))


async def test_the_last_failures_are_told_the_last_first_with_what_failed_in_them(
    told: Told,
) -> None:
    failing = (row(outcome="rate_limited"), row(model="smart", provider="an", outcome="server"))
    day = await told(
        [
            request(request_id="fine"),
            request(
                request_id="first",
                outcome="upstream_error",
                status=502,
                rows=(*failing, row(), *failing),
            ),
            request(request_id="late", outcome="deadline", status=408, rows=(row(), row())),
            request(request_id="gone", outcome="client_disconnect", status=499),
            request(request_id="last", outcome="denied", status=403, rows=(), technique="cisc"),
        ]
    )
    last, late, first = day["errors"]

    assert (last["request_id"], last["outcome"], last["status"]) == ("last", "denied", 403)
    assert (last["technique"], last["calls"], last["calls_made"]) == ("cisc", [], 0)
    assert (late["request_id"], late["calls"], late["calls_made"]) == ("late", [], 2)
    assert first["request_id"] == "first"
    assert [(it["provider"], it["outcome"]) for it in first["calls"]] == [
        ("oa", "rate_limited"),
        ("an", "server"),
        ("oa", "rate_limited"),
    ]
    assert (first["more_calls"], first["calls_made"]) == (1, 5)


async def test_so_many_failures_are_told_and_no_more(told: Told) -> None:
    facts = [
        request(request_id=f"r{number:03}", outcome="deadline", rows=())
        for number in range(ERRORS + 7)
    ]

    assert [it["request_id"] for it in (await told(facts))["errors"]] == [
        fact.request_id for fact in reversed(facts[7:])
    ]


async def test_sums_of_what_a_provider_lied_about_are_told_too(told: Told) -> None:
    most = 2**63 - 1
    day = await told([ended(name, ("fast", most)) for name in ("a", "b", "c")])

    assert day["spend"]["usd"] == dollars(3 * most)


async def test_a_day_without_a_call_is_empty(told: Told) -> None:
    day = await told([])

    assert (day["spend"]["calls"], day["spend"]["by_model"], day["errors"]) == (0, [], [])


async def test_calls_whose_request_has_not_ended_are_counted(database_url: str) -> None:
    async with opened(database_url) as database:
        (call,) = rows_of(ended("open", ("fast", USD)))
        await LedgerTable(database).write([call])
        day = await Day(DayTable(database), RecentRows()).told(NOW)

    assert bars(day["spend"]["by_technique"]) == [("", "1", 1, 0)]


async def test_failures_are_looked_for_among_the_last_requests_only(tmp_path: Any) -> None:
    def at(place: int, **more: Any) -> Any:
        return request_row(request(request_id=f"r{place}", **more), place)

    async with opened(f"sqlite+aiosqlite:///{tmp_path}/lockgate.db") as database:
        rows = [at(place) for place in range(2, LOOKED_AT + 1)]
        old = [at(0, outcome="denied"), at(1, outcome="denied")]
        await LedgerTable(database).write([], [*old, *rows])
        found = await DayTable(database).failed(10)

    assert [it.request.request_id for it in found] == ["r1"]


async def test_our_name_of_what_went_wrong_is_told_by_all(tmp_path: Any) -> None:
    facts = [request(request_id="r", outcome="denied", code="model_not_allowed", rows=())]
    recent = RecentRows()
    recent(facts)
    async with opened(f"sqlite+aiosqlite:///{tmp_path}/lockgate.db") as database:
        rows = [request_row(fact, 1) for fact in facts]
        await LedgerTable(database).write(
            [], [*rows, rows[0]._replace(request_id="old", code=None)]
        )
        here = await Day(DayTable(database), recent).told(NOW)
        elsewhere = await Day(DayTable(database), RecentRows()).told(NOW)

    for told in (here, elsewhere):  # of a request of an older release nobody knows it
        codes = {error["request_id"]: error["code"] for error in told["errors"]}
        assert codes == {"r": "model_not_allowed", "old": None}
