"""What is observed of a request that a router chose for, and that it is kept, off the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway.metering.ledger import RequestFinished
from gateway.routing.observing import Ended, Observer, observation_of
from gateway.routing.pace import Pace
from pricing.usage import Usage
from router_service.contract import Feedback, Observation
from techniques.core.events import Warned
from tests.gateway.metering.facts import request, row
from tests.gateway.routing.scene import LAST, Scene, Scripted, asked

VOTE = "self_consistency/3"
CENT = 10**10


async def ended(arm: str = "none", fact: RequestFinished | None = None, **more: Any) -> Ended:
    """Return how a request ended for which a router took *arm*."""
    scene = Scene(Scripted(arm, said={"propensity": 0.25, "explored": True}))
    plan = await scene.routed(asked(params={"num_samples": 3} if "/" in arm else None))
    rows = (row(model="fast", cost=CENT), row(model="fast", cost=2 * CENT))
    fact = fact or request(rows=rows, key="k", run="r", request_id="q", seconds=2.0, begun_s=0.5)
    return Ended(fact, plan, **more)


async def test_what_came_of_an_arm_is_observed_with_how_likely_it_was() -> None:
    seen = observation_of(await ended(VOTE))

    assert seen is not None
    assert (seen.id, seen.request_id, seen.caller) == ("k/r", "q", "k")
    assert (seen.model, seen.arm, seen.propensity, seen.explored) == ("fast", VOTE, 0.25, True)
    assert seen.cost_usd == pytest.approx(0.03)
    assert seen.cost == pytest.approx(3)
    assert seen.calls == 2
    assert (seen.latency_ms, seen.first_token_ms, seen.outcome) == (2000, 500, "success")
    assert (seen.vector, seen.features.kind) == (LAST, "number")
    assert seen.quality is seen.plain_quality is None
    assert Observation.model_validate(seen.model_dump()) == seen


async def test_rows_of_two_keys_are_never_one_whatever_keys_and_runs_are_called() -> None:
    names = [("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("", "a/b/c")]
    rows = (row(model="fast", cost=CENT),)
    seen = [
        observation_of(await ended(fact=request(rows=rows, key=key, run=run))) for key, run in names
    ]

    assert len({one.id for one in seen if one is not None}) == len(names)


async def test_no_word_of_the_request_is_in_what_is_observed() -> None:
    scene = Scene(Scripted(VOTE))
    plan = await scene.routed(asked(params={"num_samples": 3}))

    seen = observation_of(Ended(request(rows=(row(),)), plan, {"secret": "Zanzibar"}))

    assert seen is not None
    assert "Zanzibar" not in seen.model_dump_json()
    assert seen.params_hash


async def test_a_plain_call_costs_one_of_itself_and_a_dearer_model_what_it_is_dearer() -> None:
    plain = observation_of(await ended("none"))
    used = row(model="strong", cost=10 * 300, usage=Usage(100, 200))
    dear = observation_of(await ended("none/-/strong", request(rows=(used,))))

    assert plain is not None
    assert dear is not None
    assert plain.cost == 1.0
    assert dear.cost == pytest.approx(10)


async def test_what_a_run_had_paid_before_counts_and_its_time_does_not() -> None:
    seen = observation_of(await ended(VOTE, replayed=2, saved=3 * CENT))

    assert seen is not None
    assert seen.calls == 4
    assert seen.cost_usd == pytest.approx(0.06)
    assert seen.latency_ms is seen.first_token_ms is None


async def test_an_answer_that_lost_its_form_is_worth_nothing_without_any_judge() -> None:
    lost = request(rows=(row(model="fast"),), warnings=(Warned("invalid_answer", "form"),))

    for arm, plain in (("none", 0.0), (VOTE, None)):
        seen = observation_of(await ended(arm, lost))
        assert seen is not None
        assert (seen.quality, seen.plain_quality, seen.source) == (0.0, plain, "schema")


@pytest.mark.parametrize(
    "fact",
    [
        request(outcome="client_disconnect", rows=(row(),)),
        request(outcome="rejected", rows=(row(),)),
        request(rows=()),
    ],
)
async def test_what_says_nothing_of_its_arm_is_not_observed(fact: RequestFinished) -> None:
    assert observation_of(await ended(fact=fact)) is None


async def test_a_price_that_is_not_known_is_no_cost() -> None:
    seen = observation_of(await ended(VOTE, request(rows=(row(cost=None),))))

    assert seen is not None
    assert seen.cost_usd is seen.cost is None


@dataclass
class Kept:
    """Observations in memory; it fails as often as *failing* says."""

    failing: int = 0
    rows: dict[str, Observation] = field(default_factory=dict)
    said: list[Feedback] = field(default_factory=list)

    async def observe(self, rows: Sequence[Observation]) -> None:
        await anyio.lowlevel.checkpoint()
        if self.failing:
            self.failing -= 1
            raise OSError("away")
        self.rows |= {one.id: one for one in rows}

    async def feedback(self, said: Feedback) -> bool:
        self.said.append(said)
        return True

    async def forget(self, caller: str) -> int:
        gone = [name for name, one in self.rows.items() if one.caller == caller]
        for name in gone:
            del self.rows[name]
        return len(gone)


def counted(kept: Kept, most: int = 10_000) -> tuple[Observer, Counter[str]]:
    counts: Counter[str] = Counter()

    def count(result: str, number: int) -> None:
        counts[result] += number

    return Observer(kept, count, Pace(), most=most), counts


async def numbered(number: int) -> Ended:
    one = await ended()
    return replace(one, fact=one.fact._replace(run=f"r{number}", request_id=f"q{number}"))


async def test_what_is_observed_is_kept_soon_and_by_nobody_who_waits() -> None:
    kept = Kept()
    observer, counts = counted(kept)
    async with anyio.create_task_group() as group:
        group.start_soon(observer.serve)
        for number in range(600):
            observer.ended(await numbered(number))
        assert kept.rows == {}
        await anyio.sleep(5)
        group.cancel_scope.cancel()

    assert len(kept.rows) == counts["kept"] == 600


async def test_what_cannot_be_kept_now_is_kept_later_and_what_is_too_much_is_dropped() -> None:
    kept = Kept(failing=3)
    observer, counts = counted(kept, most=5)
    async with anyio.create_task_group() as group:
        group.start_soon(observer.serve)
        for number in range(7):
            observer.ended(await numbered(number))
        await anyio.sleep(10)
        group.cancel_scope.cancel()

    assert (len(kept.rows), counts) == (5, {"dropped": 2, "failed": 3, "kept": 5})


async def test_a_request_is_remembered_for_its_own_key_alone() -> None:
    observer, _ = counted(Kept(), most=2)
    for number in range(3):
        observer.ended(await numbered(number))

    assert observer.arm_of("q2", "k") == "none"
    assert observer.arm_of("q2", "other") is observer.arm_of("q2", None) is None
    assert observer.arm_of("q0", "k") is None, "of too many the first is forgotten"


async def test_what_is_forgotten_of_a_key_does_not_come_again() -> None:
    kept = Kept()
    observer, _ = counted(kept)
    observer.ended(await numbered(1))
    await observer.flush()
    observer.ended(await numbered(2))

    assert await observer.forget("k") == 2
    await observer.flush()
    assert kept.rows == {}


async def test_what_took_long_is_known_to_who_looks_at_deadlines() -> None:
    observer, _ = counted(Kept())
    for number in range(20):
        observer.ended(await numbered(number))

    assert observer.pace.is_too_slow("fast", "none", 1.9)
    assert not observer.pace.is_too_slow("fast", "none", 2.1)


async def test_who_stands_beside_is_told_of_each_at_once() -> None:
    observer, _ = counted(Kept())
    told: list[str] = []
    observer.beside.append(lambda _ended, seen: told.append(seen.request_id))

    observer.ended(await numbered(1))

    assert told == ["q1"]
