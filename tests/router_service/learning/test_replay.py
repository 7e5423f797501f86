from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, permutations
from random import Random
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from router_service.arms import PLAIN, Arm, arm_of
from router_service.contract import Observation
from router_service.learning import replay
from router_service.learning.replay import observed, replayed
from router_service.learning.selection import best_of, winning
from router_service.learning.trace import MOST_ORDERS, Outcome, Sample, Spent, Trace, orders
from techniques.catalog.best_of_n import Options as BestOfN
from techniques.catalog.best_of_n import best_of_n
from techniques.catalog.fountain import Judged, fountain
from techniques.catalog.self_consistency import Options as SelfConsistency
from techniques.catalog.self_consistency import self_consistency
from techniques.catalog.weighted_bon import weighted_bon
from techniques.parts.agree import elect
from techniques.parts.options import JudgedVote
from tests.router_service.learning.worlds import World, graded, world

REAL: dict[str, tuple[Callable[..., Any], Callable[..., BaseModel], str]] = {
    "self_consistency": (self_consistency, SelfConsistency, "num_samples"),
    "best_of_n": (best_of_n, BestOfN, "num_samples"),
    "weighted_bon": (weighted_bon, JudgedVote, "num_samples"),
    "fountain": (fountain, Judged, "max_samples"),
}
SEEDS = range(12)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def as_came(trace: Trace, arm: Arm) -> Outcome | None:
    """Replay *arm* for the one order in which the samples are."""
    options = {"num_samples": arm.size}
    if arm.technique == "fountain":
        options = {"max_samples": arm.size}
    return replay._REPLAYS[arm.technique](trace, options, [trace.samples])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("kind", ["number", "letter", "tool"])
@pytest.mark.parametrize("technique", ["self_consistency", "best_of_n", "weighted_bon"])
async def test_a_replay_takes_the_answer_the_calls_and_the_time_of_the_technique(
    technique: str, kind: str, size: int, seed: int
) -> None:
    scene = world(seed, kind, refusals=0.15)
    outcome = as_came(scene.trace, Arm(technique, size))

    assert outcome is not None
    await compare(scene, technique, size, outcome)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["number", "letter"])
async def test_the_rateless_one_is_replayed_where_answers_are_voted_on(
    kind: str, seed: int
) -> None:
    scene = world(seed, kind, 8)
    outcome = as_came(scene.trace, Arm("fountain", 8))

    assert outcome is not None
    await compare(scene, "fountain", 8, outcome)


async def compare(scene: World, technique: str, size: int, outcome: Outcome) -> None:
    run, options, named = REAL[technique]
    played, took = await scene.run(run, options(**{named: size}))

    assert outcome.quality == scene.place(played.reply) / 10
    assert outcome.calls == len(played.asked)
    assert outcome.ms == pytest.approx(took)


@pytest.mark.parametrize("seed", SEEDS)
async def test_what_a_replay_costs_is_the_sum_of_the_calls_that_are_made(seed: int) -> None:
    scene = world(seed, "number")
    for technique in ("self_consistency", "best_of_n", "weighted_bon"):
        outcome = as_came(scene.trace, Arm(technique, 5))
        run, options, named = REAL[technique]
        played, _ = await scene.run(run, options(**{named: 5}))
        spent = [price(scene.trace, one.step) for one in played.asked]

        assert outcome is not None
        assert outcome.usd == pytest.approx(sum(spent))


def price(trace: Trace, step: str) -> float:
    if step[0] == "p":
        return trace.compared.usd
    sample = trace.samples[int(step[1:])]
    return {"c": sample.drawn, "j": sample.judged}[step[0]].usd


@given(st.integers(1, 9), st.data())
def test_the_chances_to_be_the_best_are_those_of_all_that_could_be_drawn(
    count: int, data: st.DataObject
) -> None:
    draws = data.draw(st.integers(1, count))
    first = data.draw(st.none() | st.integers(0, count - 1))
    drawn = [
        subset for subset in combinations(range(count), draws) if first is None or first in subset
    ]
    seen = [sum(max(subset) == place for subset in drawn) / len(drawn) for place in range(count)]

    assert winning(count, draws, first) == pytest.approx(seen)
    assert sum(winning(count, draws, first)) == pytest.approx(1)


@pytest.mark.parametrize("drawn", ["alike", "unlike"])
@pytest.mark.parametrize("seed", SEEDS)
def test_best_of_n_without_an_early_end_is_the_mean_over_all_draws(seed: int, drawn: str) -> None:
    trace = replace(world(seed, "number").trace, alike=drawn == "alike")
    options = {"best_of_n": {"expected_improvement": False, "pairwise": False, "stop_at": 1.0}}
    for draws in (2, 3, 4, 5):
        ways = [way[:draws] for way in possible(trace)]
        expected = fmean(max(way, key=score).value or 0 for way in ways)
        usd = fmean(sum(one.drawn.usd + one.judged.usd for one in way) for way in ways)
        arm = Arm("best_of_n", draws)
        outcome = replayed(trace, [arm], options, rng())[arm]

        assert outcome == best_of(trace, draws)
        assert outcome.quality == pytest.approx(expected)
        assert outcome.usd == pytest.approx(usd)


def possible(trace: Trace) -> list[tuple[Sample, ...]]:
    """All orders in which the samples might have come."""
    ways = permutations(trace.samples)
    return [way for way in ways if trace.alike or way[0].candidate.place == 0]


def score(sample: Sample) -> tuple[float, int]:
    return sample.score or 0.0, -sample.candidate.place


@pytest.mark.parametrize("drawn", ["alike", "unlike"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_vote_of_n_is_the_mean_of_the_votes_of_all_subsets(seed: int, drawn: str) -> None:
    trace = replace(world(seed, "number").trace, alike=drawn == "alike")
    values = {"number|42|": 1.0, "number|41|": 0.4, "number|7|": 0.0}
    trace = graded(trace, values)
    options = {"self_consistency": {"stop": "exact"}}
    for draws in (3, 5):
        ways = [way[:draws] for way in possible(trace)]
        voted = [
            elect([replace(one.candidate, place=at) for at, one in enumerate(way)], trace.expected)
            for way in ways
        ]
        expected = fmean(values[one.chosen.key or ""] for one in voted)
        arm = Arm("self_consistency", draws)
        outcome = replayed(trace, [arm], options, rng())[arm]

        tolerance = 0.12 if trace.alike else 1e-9  # of 120 orders half are looked at
        assert outcome.quality == pytest.approx(expected, abs=tolerance)


def test_what_is_chosen_by_a_score_is_worth_what_another_says() -> None:
    """All answers are as good, and scores are noise: choosing must come out as good as plain."""
    random, gains, naive = Random(4), [], []
    base = world(0, "number").trace
    for _ in range(400):
        samples = tuple(
            replace(one, score=min(random.gauss(0.6, 0.1), 0.89), value=random.gauss(0.6, 0.1))
            for one in base.samples
        )
        trace = replace(base, samples=samples)
        arm = Arm("best_of_n", 5)
        outcomes = replayed(trace, [arm], {}, rng())
        gains.append(outcomes[arm].quality - outcomes[PLAIN].quality)
        naive.append(max(one.score or 0 for one in samples) - 0.6)

    assert fmean(naive) > 0.1
    assert abs(fmean(gains)) < 3 * 0.15 / 400**0.5


@pytest.mark.parametrize(
    "arm",
    [
        "best_of_n/6",
        "self_consistency/6",
        "self_consistency/3/smart",
        "self_consistency/3/primary/high",
        "harq_ir/2",
        "none/-/unheard",
        "none/-/primary/low",
        "cascade",
        "cisc/3",
    ],
)
def test_what_cannot_be_told_is_left_out(arm: str) -> None:
    trace = replace(world(1, "number").trace, sure_by="none")

    assert set(replayed(trace, [arm_of(arm)], {}, rng())) == {PLAIN}


def test_nothing_is_told_where_the_worth_of_the_plain_answer_is_not_known() -> None:
    trace = world(1, "number").trace
    first = replace(trace.samples[0], value=None)

    assert replayed(replace(trace, samples=(first, *trace.samples[1:])), [PLAIN], {}, rng()) == {}


def test_nobody_chooses_by_scores_that_are_missing() -> None:
    trace = world(1, "number").trace
    last = replace(trace.samples[-1], score=None)
    trace = replace(trace, samples=(*trace.samples[:-1], last))
    arms = [Arm("best_of_n", 3), Arm("weighted_bon", 3), Arm("self_consistency", 3)]

    assert set(replayed(trace, arms, {}, rng())) == {PLAIN, Arm("self_consistency", 3)}


def test_prose_that_somebody_would_have_to_sort_is_not_voted_on() -> None:
    arms = [Arm("self_consistency", 5), Arm("best_of_n", 5)]

    assert set(replayed(world(1, "prose").trace, arms, {}, rng())) == {PLAIN, arms[1]}


def other(value: float, usd: float = 0.02) -> Sample:
    return replace(world(1, "number").trace.samples[0], value=value, drawn=Spent(usd, 2000))


def test_another_model_or_more_effort_is_one_call() -> None:
    trace = replace(
        world(1, "number").trace, stronger={"smart": other(0.9)}, harder={"high": other(0.8, 0.01)}
    )
    arms = [Arm(channel="smart"), Arm(effort="high")]
    found = replayed(trace, arms, {}, rng())

    assert found[arms[0]] == Outcome(0.9, 0.02, 1, 2000)
    assert found[arms[1]] == Outcome(0.8, 0.01, 1, 2000)


@pytest.mark.parametrize(("sure", "calls", "quality"), [(0.8, 2, 0.0), (0.6, 3, 0.9)])
def test_a_cascade_goes_on_where_the_model_is_less_sure_than_the_threshold(
    sure: float, calls: int, quality: float
) -> None:
    trace = world(1, "number").trace
    first = replace(trace.samples[0], sure=sure, checked=Spent(0.0001, 10))
    trace = replace(
        trace,
        samples=(first, *trace.samples[1:]),
        stronger={"smart": other(0.9)},
        sure_by="p_true",
    )
    arm = Arm("cascade", None, "smart")
    outcome = replayed(trace, [arm], {}, rng())[arm]

    paid = first.drawn.usd + 0.0001 + (0.02 if calls == 3 else 0)
    assert (outcome.calls, outcome.quality) == (calls, quality)
    assert outcome.usd == pytest.approx(paid)


def test_a_cascade_without_sureness_goes_on_where_two_answers_differ() -> None:
    trace = replace(world(1, "number").trace, stronger={"smart": other(0.9)}, sure_by="none")
    keys = [one.candidate.key for one in trace.samples]
    agree = fmean(key == keys[0] for key in keys[1:])
    arm = Arm("cascade")
    outcome = replayed(trace, [arm], {}, rng())[arm]

    assert 0 < agree < 1
    assert outcome.calls == pytest.approx(3 - agree)


@given(st.integers(2, 10), st.sampled_from(["alike", "unlike"]))
def test_orders_are_all_there_are_or_as_many_as_are_looked_at(size: int, drawn: str) -> None:
    trace = replace(world(0, "number", size).trace, alike=drawn == "alike")
    ways = orders(trace, rng())
    said = [tuple(one.candidate.reply.text for one in way) for way in ways]

    assert len(ways) <= MOST_ORDERS
    assert all(set(way) == set(said[0]) for way in said)
    assert all([one.candidate.place for one in way] == list(range(size)) for way in ways)
    if not trace.alike:
        assert {way[0] for way in said} == {trace.samples[0].candidate.reply.text}
    assert ways == orders(trace, rng())


def test_what_was_worked_out_is_told_beside_the_plain_call() -> None:
    trace = world(3, "number").trace
    arm = Arm("self_consistency", 5)
    plainly = Observation(id="x", request_id="r1", at=5.0, model="m", arm="none", explored=True)
    outcomes = replayed(trace, [arm], {}, rng())
    rows = {row.arm: row for row in observed(outcomes, plainly, "judge", 0.6)}

    assert set(rows) == {"none", "self_consistency/5"}
    row = rows["self_consistency/5"]
    assert row.id == "r1:self_consistency/5"
    assert (row.counterfactual, row.explored, row.propensity) == (True, False, 1.0)
    assert (row.source, row.reliability, row.request_id, row.at) == ("judge", 0.6, "r1", 5.0)
    assert row.plain_quality == outcomes[PLAIN].quality
    assert row.cost == pytest.approx(outcomes[arm].usd / outcomes[PLAIN].usd)
    assert rows["none"].cost == 1
