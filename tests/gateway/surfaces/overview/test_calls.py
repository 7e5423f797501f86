"""What is told of requests and runs that are under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gateway.runs.book import RunBook
from gateway.stores.journal.records import RunName, Stored
from gateway.surfaces.overview.calls import under_way
from gateway.surfaces.visit import Visit
from techniques.core.json import JsonObject
from tests.gateway.metering.facts import row
from tests.gateway.surfaces.overview.scene import NOW_MS, book, stored, visit


def told_of(
    visits: Sequence[Visit], book: RunBook | None, elsewhere: Sequence[Stored]
) -> list[JsonObject]:
    return [seen.told(NOW_MS) for seen in under_way(visits, book, elsewhere, NOW_MS)]


async def test_a_plain_call_is_told_with_its_steps_and_what_they_cost_so_far() -> None:
    one = visit("r1")
    one.ledger.record(row(cost=2 * 10**9, outcome="server"))
    one.ledger.record(row(cost=10**9))

    (told,) = told_of([one], None, [])

    assert (told["id"], told["state"], told["here"]) == ("r1", "executing", True)
    assert (told["technique"], told["model"]) == ("none", "fast")
    assert (told["key"], told["session"]) == ("app", "s")
    assert told["steps"] == {"states": ["failed", "completed", "dispatched"], "earlier": 0}
    assert (told["cost_usd"], told["cost_known"], told["calls"]) == ("0.003", True, 2)


async def test_a_cost_that_is_not_known_is_said_to_be() -> None:
    one = visit("r1")
    one.ledger.record(row(cost=None))
    one.ledger.record(row(cost=10**9))

    (told,) = told_of([one], None, [])

    assert (told["cost_usd"], told["cost_known"]) == ("0.001", False)


async def test_what_waits_is_held_and_told_why_where_and_until_when() -> None:
    one = visit("r1")
    one.ledger.holds.hold("l1", 7_000, 3, "tokens", of=("fast", "oa"))
    one.ledger.holds.hold("l2", None, 0, "tool", of=("search", ""))

    (told,) = told_of([one], None, [])
    first, second = told["waits"]

    assert told["state"] == "held"
    assert (first["of"], first["account"], first["reason"]) == ("fast", "oa", "tokens")
    assert (first["position"], first["eta_ms"]) == (3, 7_000)
    assert first["waited_ms"] >= 0
    assert (second["of"], second["account"], second["eta_ms"]) == ("search", None, None)

    for lease in ("l1", "l2"):
        one.ledger.holds.release(lease)
    (told,) = told_of([one], None, [])
    assert told["state"] == "executing"
    assert "waits" not in told


async def test_a_run_that_is_carried_out_here_is_told_once_as_it_is_in_memory() -> None:
    here = stored("run-1", "completed", "dispatched")
    kept = book(here)
    as_written = replace(here, steps=here.steps[:1])
    listeners = [visit("r1", run="run-1"), visit("r2", run="run-1")]
    live = kept.floor.here[here.record.name].live
    live.ledger.holds.hold("l", 500, 0, "requests", of=("fast", "oa"))

    (told,) = told_of(listeners, kept, [as_written])

    assert (told["id"], told["state"], told["here"]) == ("run-1", "held", True)
    assert told["technique"] == "self_consistency"
    assert told["steps"]["states"] == ["completed", "dispatched"]
    assert told["age_ms"] == 5_000


async def test_a_run_that_nobody_waits_for_is_told_with_what_it_waits_for() -> None:
    kept = book(stored("run-1", "planned"))
    live = kept.floor.here[RunName("app", "run-1")].live
    live.ledger.holds.hold("l", 900, 1, "requests", of=("fast", "oa"))

    (told,) = told_of([], kept, [])

    assert (told["state"], told["waits"][0]["eta_ms"]) == ("held", 900)


async def test_two_keys_may_have_runs_of_one_name() -> None:
    kept = book(stored("run-1", owner="app"), stored("run-1", owner="other"))

    told = told_of([visit("r1", "app", "run-1")], kept, [])

    assert sorted(one["key"] for one in told) == ["app", "other"]


async def test_runs_that_are_not_carried_out_here_are_told_as_the_journal_has_them() -> None:
    away = stored("b", "completed", state="suspended", eta_ms=NOW_MS + 4_000, reason="rate_limit")
    broken = replace(stored("c", "dispatched"), lease_ms=0)

    told = told_of([visit("r1")], book(), [away, broken, stored("a", "dispatched")])

    assert [(one["id"], one["state"], one["here"]) for one in told] == [
        ("a", "executing", False),
        ("r1", "executing", True),
        ("b", "suspended", False),
        ("c", "interrupted", False),
    ]
    assert (told[2]["eta_ms"], told[2]["reason"]) == (4_000, "rate_limit")


async def test_what_is_held_keeps_its_place_so_that_nothing_jumps() -> None:
    visits = [visit(f"r{9 - number}") for number in range(9)]
    for place, one in enumerate(visits):
        one.came = place * 0.0003
    names = [one.request_id for one in visits]
    for _ in range(20):
        assert [it["id"] for it in told_of(visits, None, [])] == names
    visits[2].ledger.holds.hold("l", 1, 0, "requests")

    assert [it["id"] for it in told_of(visits, None, [])] == names


async def test_a_request_of_which_nobody_knows_whose_it_is_is_not_told() -> None:
    stranger = visit("r1")
    stranger.asked = stranger.plan = None

    assert told_of([stranger], None, []) == []


async def test_of_very_many_steps_the_last_are_told_and_how_many_came_before() -> None:
    (told,) = told_of([], None, [stored("a", *["completed"] * 100, "dispatched")])

    assert told["steps"]["earlier"] == 77
    assert told["steps"]["states"] == ["completed"] * 23 + ["dispatched"]
    assert told["cost_usd"] == "0.101"
